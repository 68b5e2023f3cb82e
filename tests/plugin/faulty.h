/* faulty.h - a computer that fails on demand, for a plugin loaded into a test
 *
 * What the plugin wants of libc and json-c it finds in the program first. Here these
 * functions do what they always do, unless a test has ordered otherwise.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FAULTY_H
#define DN_FAULTY_H

#include <stdbool.h>
#include <stdint.h>

/* A sanitizer has an allocator of its own, and needs more stack. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FAULTY_SANITIZED 1
#else
#define FAULTY_SANITIZED 0
#endif

/* All that can be ordered; zeroed, nothing is. */
struct faulty {
    /* The file whose path ends in this. */
    const char *file;
    int open_errno;             /* it cannot be opened */
    int read_errno;             /* nor read */
    void (*before_open) (void); /* called once, before it is opened */
    int opens_left;             /* but not before the first so many */
    /* Of all files that are written: each write () takes so many bytes, then fails. */
    int write_errno;
    int write_takes;  /* by the first one, if there is an error */
    int thread_errno; /* there is no thread */
    /* Seconds that the clock on the wall is wrong. */
    int64_t clock_off_s;
};

extern struct faulty faulty;

/* Of the allocations from now on, by any thread, the n-th fails (1: the first), with
 * 'all' those behind it, too. 0: none does.
 */
void faulty_memory (long n, bool all);

/* Allocations since then. */
long faulty_allocations (void);

#endif
