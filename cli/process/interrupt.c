/* interrupt.c - orderly termination on a signal
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "interrupt.h"

#include <signal.h>
#include <stdio.h>

static const int signals[] = {SIGHUP, SIGINT, SIGTERM};

static struct sigaction before[DN_N_ELEMENTS (signals)];
static volatile sig_atomic_t came;

static void note (int number)
{
    if (!came)
        came = number;
}

void dn_interrupt_hold (void)
{
    struct sigaction action = {.sa_handler = note};

    came = 0;
    sigemptyset (&action.sa_mask);
    for (size_t i = 0; i < DN_N_ELEMENTS (signals); i++) {
        sigaction (signals[i], NULL, &before[i]);
        /* a signal that is ignored, as by nohup, stays ignored */
        if (before[i].sa_handler != SIG_IGN)
            sigaction (signals[i], &action, NULL);
    }
}

bool dn_interrupted (void)
{
    return came != 0;
}

void dn_interrupt_release (void)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (signals); i++)
        sigaction (signals[i], &before[i], NULL);
    if (!came)
        return;
    fflush (stdout);
    raise (came);
}
