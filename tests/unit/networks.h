/* networks.h - the networks of etc/zoo, for tests without the files of a site
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_UNIT_NETWORKS_H
#define DN_UNIT_NETWORKS_H

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/network.h"

static inline void add_shipped (struct dn_networks *networks, const char *path)
{
    FILE *file = fopen (path, "r");
    char *text = calloc (1, DN_NETWORK_FILE_MAX + 1);
    struct dn_err err;

    if (!file || !text)
        abort ();
    if (dn_networks_add (networks,
                         strrchr (path, '/') + 1,
                         text,
                         fread (text, 1, DN_NETWORK_FILE_MAX, file),
                         false,
                         &err)
        < 0) {
        fprintf (stderr, "%s\n", err.text);
        abort ();
    }
    fclose (file);
}

/* Of a member of the operators of a graph, with their repetitions. */
#define SUM_OF(graph, member)                                                          \
    ({                                                                                 \
        double sum_ = 0;                                                               \
                                                                                       \
        for (int i_ = 0; i_ < (graph)->n_ops; i_++)                                    \
            sum_ += (graph)->ops[i_].repeat * (graph)->ops[i_].member;                 \
        sum_;                                                                          \
    })

/* All of them, read once and never freed. */
static inline const struct dn_networks *shipped_networks (void)
{
    static struct dn_networks networks;
    const char *top = getenv ("srcdir");
    char pattern[4096];
    glob_t found;

    if (networks.n > 0)
        return &networks;
    snprintf (pattern, sizeof (pattern), "%s/etc/zoo/*.json", top ? top : ".");
    if (glob (pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            add_shipped (&networks, found.gl_pathv[i]);
    globfree (&found);
    return &networks;
}

#endif
