/* signals.c - the signals of dnnestd, and the only place where it waits
 *
 * A handler adds to an eventfd, which ends the waiting in whatever thread of libslurm
 * it ran.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/messages.h"

/* Seconds after SIGTERM in which a round may come to its own end. */
#define ROUND_S 1

/* Longest wait: poll () takes an int. */
#define WAIT_MAX_MS 3600000

static int wake_fd = -1;
static unsigned grace_s;
static volatile sig_atomic_t end_asked;
static volatile sig_atomic_t reload_asked;

static void wake (void)
{
    const uint64_t one = 1;

    /* It cannot fail but where it has been woken already. */
    if (write (wake_fd, &one, sizeof (one)) < 0)
        return;
}

static void on_end (int number)
{
    const int saved = errno;

    (void) number;
    end_asked = 1;
    alarm (grace_s);
    wake ();
    errno = saved;
}

static void on_reload (int number)
{
    const int saved = errno;

    (void) number;
    reload_asked = 1;
    wake ();
    errno = saved;
}

static void on_alarm (int number)
{
    (void) number;
    _exit (0);
}

static int handle (int number, void (*handler) (int), struct dn_err *err)
{
    struct sigaction action;

    memset (&action, 0, sizeof (action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset (&action.sa_mask);
    if (sigaction (number, &action, NULL) < 0)
        return dn_err_set (
            err, DN_E_IO, dn_say_err_signal, number, dn_errno_text (errno).text);
    return 0;
}

int dn_signals_begin (int leave_s, struct dn_err *err)
{
    grace_s = ROUND_S + (unsigned) leave_s;
    end_asked = reload_asked = 0;
    wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return dn_err_set (err, DN_E_IO, "eventfd: %s", dn_errno_text (errno).text);
    if (handle (SIGTERM, on_end, err) < 0 || handle (SIGINT, on_end, err) < 0
        || handle (SIGHUP, on_reload, err) < 0 || handle (SIGALRM, on_alarm, err) < 0
        || handle (SIGPIPE, SIG_IGN, err) < 0)
        return -1;
    return 0;
}

bool dn_signals_end (void)
{
    return end_asked != 0;
}

bool dn_signals_reload (void)
{
    const bool asked = reload_asked != 0;

    reload_asked = 0;
    return asked;
}

void dn_signals_wait (int64_t ms)
{
    struct pollfd wait_for = {.fd = wake_fd, .events = POLLIN};
    uint64_t n;

    if (ms > WAIT_MAX_MS)
        ms = WAIT_MAX_MS;
    if (poll (&wait_for, 1, ms < 0 ? 0 : (int) ms) > 0
        && read (wake_fd, &n, sizeof (n)) < 0)
        return;
}
