/* client.h - what clients of Slurm's have in common
 *
 * libslurm is found when they run: dnnest is not linked with it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LIVE_CLIENT_H
#define DN_LIVE_CLIENT_H

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* What is used of libslurm. */
struct client {
    void (*init_desc) (job_desc_msg_t *);
    int (*submit) (job_desc_msg_t *, submit_response_msg_t **);
    void (*free_answer) (submit_response_msg_t *);
    const char *(*why) (int);
};

/* Find libslurm and begin to use it, or end the program. */
void client_open (struct client *client);

/* End the program with its name and the reason. */
_Noreturn void client_die (const char *why);

#endif
