/* network.h - networks that are files: see dnnest.sidecar(5)
 *
 * In: files NAME.json of the installation and of the site. Out: the graph of such a
 * network, at its own sizes or at those that the specification gives, as far as the
 * file has these. A file is read when its network is asked for. Never: a file, which
 * the caller has opened and trusts; its text may be wrong all the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_NETWORK_H
#define DN_NETWORK_H

#include "graph/graph.h"

#define DN_NETWORK_SUFFIX ".json"

/* Bytes of one file and of all of them, and how many there are. */
#define DN_NETWORK_FILE_MAX (256 * 1024)
#define DN_NETWORKS_BYTES   (8 * 1024 * 1024)
#define DN_NETWORKS_MAX     1024

struct dn_network {
    char name[DN_NAME_MAX];
    char family[DN_NAME_MAX];
    char *text; /* owned */
    size_t len;
};

struct dn_networks {
    struct dn_network **list; /* owned */
    int n;
    size_t bytes;
};

/* Add the file 'file', a name without a folder, with this text, which is then owned by
 * 'networks', and freed if it is refused. -1 with 'err' if the name is none for a
 * network, or is that of another network, or a limit is exceeded, or if 'check' finds
 * an error in the text: it is read whole.
 */
int dn_networks_add (struct dn_networks *networks,
                     const char *file,
                     char *text,
                     size_t len,
                     bool check,
                     struct dn_err *err) DN_COLD;

/* The network of that very name; NULL if there is none. 'networks' may be NULL. */
const struct dn_network *dn_networks_find (const struct dn_networks *networks,
                                           const char *name);

/* The i-th, or NULL after the last. 'networks' may be NULL. */
const struct dn_network *dn_networks_at (const struct dn_networks *networks, int i);

/* Put the operators of the network into 'build', which has been started. */
struct dn_build;
void dn_network_build (struct dn_build *build, const struct dn_network *network);

/* NULL-safe, leaves none. */
void dn_networks_free (struct dn_networks *networks);

#endif
