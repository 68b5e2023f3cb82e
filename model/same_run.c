/* same_run.c - when the estimates of an earlier job are those of this one
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "same_run.h"

#include <string.h>

_Static_assert(sizeof (struct dn_run_input) + DN_SIDECAR_HANDOVER_MAX
                       + DN_CANDIDATES_MAX * sizeof (struct dn_estimate)
                   <= DN_CACHE_BYTES_MAX,
               "the longest run fits in an entry");

/* Names may have remains of longer ones behind their end. */
static void copy_spec (const struct dn_spec *spec, struct dn_spec *copy)
{
    int n_rows;
    const struct dn_key *rows = dn_spec_keys (&n_rows);

    memcpy (copy, spec, sizeof (*spec));
    for (int i = 0; i < n_rows; i++)
        if (rows[i].type == DN_KEY_NAME) {
            char *name = (char *) copy + rows[i].offset;
            size_t len = strlen (name);

            memset (name + len, 0, DN_NAME_MAX - len);
        }
}

struct dn_cache_key dn_run_key (const struct dn_spec *spec,
                                const char *sidecar,
                                const struct dn_device *const devices[],
                                int n_devices,
                                double cpus_per_gpu,
                                int64_t user,
                                struct dn_run_input *input)
{
    const size_t max = DN_SIDECAR_HANDOVER_MAX;
    struct dn_span text = {sidecar, sidecar ? strnlen (sidecar, max + 1) : 0};

    memset (input, 0, sizeof (*input));
    if (text.len > max || n_devices > DN_CANDIDATES_MAX)
        return (struct dn_cache_key){.hash = 0};
    copy_spec (spec, &input->spec);
    input->cpus_per_gpu = cpus_per_gpu;
    input->user = user;
    input->n_devices = (size_t) n_devices;
    for (int i = 0; i < n_devices; i++)
        input->devices[i] = devices[i];
    return dn_cache_key_of ((struct dn_span){(const char *) input, sizeof (*input)},
                            text);
}
