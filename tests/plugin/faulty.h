/* faulty.h - a computer that fails on demand, for a plugin loaded into a test
 *
 * The loader resolves functions of libc and json-c that the plugin calls in the program
 * first. The functions here do the same as the originals, unless a test orders a fault.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FAULTY_H
#define DN_FAULTY_H

#include <stdbool.h>
#include <stdint.h>

/* A sanitizer has its own allocator, and needs more stack. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAULTY_SANITIZED 1
#else
#define FAULTY_SANITIZED 0
#endif

/* All faults that can be ordered; zero: none. */
struct faulty {
    /* The file whose path ends in this. */
    const char *file;
    int open_errno;             /* it cannot be opened */
    int read_errno;             /* nor read */
    void (*before_open) (void); /* called once, before it is opened */
    int opens_left;             /* but not before the first so many */
    /* For all files that are written: a write () takes so many bytes, then fails. */
    int write_errno;
    int write_takes;  /* bytes, by the first one if there is an error */
    int thread_errno; /* there is no thread */
    /* Seconds that the real-time clock is wrong. */
    int64_t clock_off_s;
};

extern struct faulty faulty;

/* Of the next allocations, by any thread, the n-th fails (1: the first), and with 'all'
 * every later one, too. 0: none fails.
 */
void faulty_memory (long n, bool all);

/* Allocations since then. */
long faulty_allocations (void);

#endif
