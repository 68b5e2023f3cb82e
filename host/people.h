/* people.h - users and groups of the system, for the Policy lines of dnnest.conf
 *
 * A lookup may query a server over the network. It is done when slurmctld loads the
 * plugin, as slurmctld itself does then, and never during a submission.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PEOPLE_H
#define DN_PEOPLE_H

#include "policy/scope.h"

extern const struct dn_people dn_people_of_system;

#endif
