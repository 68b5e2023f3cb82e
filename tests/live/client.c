/* client.c - what clients of Slurm's have in common
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "client.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void client_die (const char *why)
{
    fprintf (stderr, "%s: %s\n", program_invocation_short_name, why);
    exit (2);
}

static void find (void *library, const char *name, void *pointer)
{
    void *found = dlsym (library, name);

    if (!found)
        client_die (name);
    memcpy (pointer, (void *) &found, sizeof (found));
}

void client_open (struct client *client)
{
    void *library = dlopen ("libslurm.so", RTLD_NOW | RTLD_GLOBAL);
    void (*init) (const char *);

    if (!library)
        client_die (dlerror ());
    find (library, "slurm_init", (void *) &init);
    find (library, "slurm_init_job_desc_msg", (void *) &client->init_desc);
    find (library, "slurm_submit_batch_job", (void *) &client->submit);
    find (library,
          "slurm_free_submit_response_response_msg",
          (void *) &client->free_answer);
    find (library, "slurm_strerror", (void *) &client->why);
    init (NULL);
}
