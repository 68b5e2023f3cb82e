/* hosts.h - the names in a list of nodes, as slurmctld writes it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HOSTS_H
#define DN_HOSTS_H

#include "base/limits.h"
#include "base/text.h"

/* Names of one list, at most. */
#define DN_HOSTS_MAX 200000

/* Goes through "a1,b[08-11,14]"; borrows the text. */
struct dn_hosts {
    struct dn_span rest;   /* entries after the present one */
    struct dn_span prefix; /* "b" */
    struct dn_span ranges; /* "14", those after the present one */
    struct dn_span suffix; /* after the bracket, usually empty */
    int64_t next;          /* of the present range; above 'last': at its end */
    int64_t last;
    int digits;
    int n; /* names so far */
};

struct dn_hosts dn_hosts_of (const char *list);

/* Put the next name into 'name'. False at the end, and at an entry that has no such
 * form or does not fit.
 */
bool dn_hosts_next (struct dn_hosts *hosts, char name[DN_NAME_MAX]);

#endif
