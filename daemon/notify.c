/* notify.c - what dnnestd tells systemd (sd_notify); nothing without libsystemd
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "notify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#ifdef DN_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

#define STATUS_MAX 512

static void tell (const char *state)
{
#ifdef DN_SYSTEMD
    sd_notify (0, state);
#else
    (void) state;
#endif
}

void dn_notify_ready (void)
{
    tell ("READY=1");
}

/* A manager that started the reload waits for READY=1 with a later time than this. */
void dn_notify_reloading (void)
{
    char state[80];
    struct timespec now = {0, 0};

    clock_gettime (CLOCK_MONOTONIC, &now);
    snprintf (state,
              sizeof (state),
              "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
              (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000);
    tell (state);
}

void dn_notify_stopping (void)
{
    tell ("STOPPING=1");
}

void dn_notify_status (const char *format, ...)
{
    char state[STATUS_MAX] = "STATUS=";
    const size_t len = sizeof ("STATUS=") - 1;
    va_list args;

    va_start (args, format);
    vsnprintf (state + len, sizeof (state) - len, format, args);
    va_end (args);
    tell (state);
}

void dn_notify_alive (void)
{
    tell ("WATCHDOG=1");
}

int64_t dn_notify_alive_ms (void)
{
#ifdef DN_SYSTEMD
    uint64_t us;

    if (sd_watchdog_enabled (0, &us) > 0 && us >= 2000)
        return (int64_t) (us / 2000);
#endif
    return 0;
}
