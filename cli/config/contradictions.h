/* contradictions.h - what is wrong in a dnnest.conf whose lines are all valid
 *
 * The plugin loads such a file: rules that contradict each other leave jobs unchanged,
 * and a file that cannot be written is reported in its log. An admin who checks the
 * file wants to know before.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONTRADICTIONS_H
#define DN_CONTRADICTIONS_H

#include "hardware/cluster.h"
#include "site.h"

/* Report the contradictions of a site: bounds of which the lower one is above the upper
 * one, also by a Policy line; a mode that changes nothing; nodes that cannot be as a
 * Gpu line says; GPU types to which no job can be moved though the rules choose one;
 * files and directories that are not there. 'warnings' gets what is one only until
 * dnnestd writes a snapshot. 'cluster' is the snapshot, or NULL. An error is DN_E_RANGE
 * and begins with 'file', the name of the configuration.
 */
void dn_contradictions_find (const struct dn_site *site,
                             const struct dn_cluster *cluster,
                             const char *file,
                             struct dn_problems *problems,
                             struct dn_problems *warnings);

#endif
