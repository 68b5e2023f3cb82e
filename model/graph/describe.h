/* describe.h - a job's description, collected from all carriers
 *
 * In: the texts that came with a job. Out: the specification and, where there is a
 * sidecar with a graph, its layers. Never: a file, which the caller has read. All texts
 * may be hostile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DESCRIBE_H
#define DN_DESCRIBE_H

#include "graph/sidecar.h"
#include "request/request.h"

/* The carriers of a submission, borrowed from 'job' and the marks of its script. */
struct dn_carriers dn_carriers_of (const struct dn_job *job,
                                   const struct dn_marks *marks);

/* Describe a job from the sidecar, the lines of the script, the comment and the option;
 * each overrides those before it. "off" in the comment, the option or the script opts
 * out. Return 0 with *state set and 'sidecar' to be freed with dn_sidecar_free (),
 * filled where *state is GIVEN; or -1 with 'err', which names the carrier and the place
 * in it, and 'sidecar' empty.
 */
int dn_describe (const struct dn_carriers *carriers,
                 struct dn_sidecar *sidecar,
                 enum dn_metadata *state,
                 struct dn_err *err);

/* The keys of the network in 'own', a sidecar's, that have another value in 'all'. */
struct dn_keyset dn_describe_overridden (const struct dn_spec *own,
                                         const struct dn_spec *all);

#endif
