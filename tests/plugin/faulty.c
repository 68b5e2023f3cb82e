/* faulty.c - a computer that fails on demand, for a plugin loaded into a test
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "faulty.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "fake_site.h"

struct faulty faulty;

/* --- memory ---------------------------------------------------------------------- */

static atomic_long memory_at; /* this one fails; 0: none */
static atomic_bool memory_all;
static atomic_long memory_n;

void faulty_memory (long n, bool all)
{
    atomic_store (&memory_at, 0);
    atomic_store (&memory_n, 0);
    atomic_store (&memory_all, all);
    atomic_store (&memory_at, n);
}

long faulty_allocations (void)
{
    return atomic_load (&memory_n);
}

#if !FAULTY_SANITIZED
void *__libc_malloc (size_t size);
void *__libc_calloc (size_t n, size_t size);
void *__libc_realloc (void *ptr, size_t size);

/* Allocations that Slurm itself needs are no fault of the plugin. */
static bool is_out_of_memory (void)
{
    long at = atomic_load (&memory_at);
    long n;

    if (at == 0 || stand_in_essential)
        return false;
    n = atomic_fetch_add (&memory_n, 1) + 1;
    if (n != at && !(n > at && atomic_load (&memory_all)))
        return false;
    errno = ENOMEM;
    return true;
}

SLURM_SYMBOL void *malloc (size_t size)
{
    return is_out_of_memory () ? NULL : __libc_malloc (size);
}

SLURM_SYMBOL void *calloc (size_t n, size_t size)
{
    return is_out_of_memory () ? NULL : __libc_calloc (n, size);
}

SLURM_SYMBOL void *realloc (void *ptr, size_t size)
{
    return is_out_of_memory () ? NULL : __libc_realloc (ptr, size);
}
#endif

/* --- threads --------------------------------------------------------------------- */

#if !FAULTY_SANITIZED
SLURM_SYMBOL int pthread_create (pthread_t *thread,
                                 const pthread_attr_t *attr,
                                 void *(*function) (void *),
                                 void *context)
{
    static int (*create) (
        pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);

    if (faulty.thread_errno)
        return faulty.thread_errno;
    if (!create)
        *(void **) &create = dlsym (RTLD_NEXT, "pthread_create");
    return create (thread, attr, function, context);
}
#endif

/* --- files ----------------------------------------------------------------------- */

static bool is_the_file (const char *path)
{
    size_t len = strlen (path);
    size_t end = faulty.file ? strlen (faulty.file) : 0;

    return faulty.file && len >= end && strcmp (path + len - end, faulty.file) == 0;
}

static int faulty_fd = -1;

static int open_really (int dir, const char *path, int flags, mode_t mode)
{
    bool faults = is_the_file (path);
    int fd;

    if (faults && faulty.before_open && faulty.opens_left-- == 0) {
        void (*before_open) (void) = faulty.before_open;

        faulty.before_open = NULL;
        before_open ();
    }
    if (faults && faulty.open_errno) {
        errno = faulty.open_errno;
        return -1;
    }
    fd = (int) syscall (SYS_openat, dir, path, flags, mode);
    if (faults && faulty.read_errno)
        faulty_fd = fd;
    return fd;
}

/* The mode is passed only if a file may be created. */
#define MODE(flags, args)                                                              \
    (((flags) & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg (args, mode_t) : 0)

SLURM_SYMBOL int openat (int dir, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start (args, flags);
    mode = MODE (flags, args);
    va_end (args);
    return open_really (dir, path, flags, mode);
}

SLURM_SYMBOL int open (const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start (args, flags);
    mode = MODE (flags, args);
    va_end (args);
    return open_really (AT_FDCWD, path, flags, mode);
}

SLURM_SYMBOL ssize_t read (int fd, void *bytes, size_t size)
{
    if (fd >= 0 && fd == faulty_fd && faulty.read_errno) {
        faulty_fd = -1;
        errno = faulty.read_errno;
        return -1;
    }
    return syscall (SYS_read, fd, bytes, size);
}

/* read () in a build with _FORTIFY_SOURCE. */
ssize_t __read_chk (int fd, void *bytes, size_t size, size_t room);

SLURM_SYMBOL ssize_t __read_chk (int fd, void *bytes, size_t size, size_t room)
{
    if (size > room)
        abort ();
    return read (fd, bytes, size);
}

SLURM_SYMBOL ssize_t write (int fd, const void *bytes, size_t size)
{
    if (faulty.write_errno && fd > STDERR_FILENO) {
        size_t takes = (size_t) faulty.write_takes;

        faulty.write_takes = 0;
        errno = faulty.write_errno;
        return takes == 0 ? -1
                          : syscall (SYS_write, fd, bytes, takes < size ? takes : size);
    }
    return syscall (SYS_write, fd, bytes, size);
}

/* --- clocks ---------------------------------------------------------------------- */

SLURM_SYMBOL int clock_gettime (clockid_t clock, struct timespec *now)
{
    int rc = (int) syscall (SYS_clock_gettime, clock, now);

    if (rc == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += faulty.clock_off_s;
    return rc;
}

SLURM_SYMBOL time_t time (time_t *at)
{
    struct timespec now;

    clock_gettime (CLOCK_REALTIME, &now);
    if (at)
        *at = now.tv_sec;
    return now.tv_sec;
}

/* --- json-c does not handle it (see model/base/base.h) ---------------------------- */

SLURM_SYMBOL struct json_object *json_tokener_parse_ex (struct json_tokener *tokener,
                                                        const char *text,
                                                        int len)
{
    static struct json_object *(*parse) (
        struct json_tokener * tokener, const char *text, int len);
    struct json_object *json;

    stand_in_essential = true;
    if (!parse)
        *(void **) &parse = dlsym (plugin_handle, "json_tokener_parse_ex");
    json = parse (tokener, text, len);
    stand_in_essential = false;
    return json;
}
