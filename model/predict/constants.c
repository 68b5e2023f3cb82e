/* constants.c - the rows of constants.inc as values and as a table
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/constants.h"

#include <string.h>

const struct dn_constants dn_constants_default = {
#define DN_CONSTANT(name, value, help) .name = (value),
#define DN_TUNABLE(name, value, ...)   .name = (value),
#include "predict/constants.inc"
#undef DN_CONSTANT
#undef DN_TUNABLE
    /* gpu_memory.csv, gpu_memory_2.csv, networks_2.csv: 95 % bounds that hold for rows
     * whose code and networks were left out, one vote per network and source; factors
     * of 1.30, 1.61, 1.69, 2.5 and 1.98 over the median. The 3,000 networks of linear
     * layers have one vote: theirs is the least spread by hand, though 95 % of them are
     * within 4 %. No code of the last kind but WaveGlow's and DGL's was measured: a
     * factor of 2.5.
     */
    .sigma_memory =
        {
            [DN_MEMORY_KIND_IMAGES] = 0.16,
            [DN_MEMORY_KIND_DENSE] = 0.16,
            [DN_MEMORY_KIND_DETECTORS] = 0.29,
            [DN_MEMORY_KIND_ATTENTION] = 0.32,
            [DN_MEMORY_KIND_TUNED] = 0.557,
            [DN_MEMORY_KIND_SPLIT] = 0.415,
            [DN_MEMORY_KIND_OTHER] = 0.557,
        },
};

/* clang-format off */
const struct dn_constant_field dn_constant_fields[DN_CONSTANT_FIELDS] = {
#define DN_CONSTANT(...)
#define DN_TUNABLE(name, value, unit, min, max, spread, help)                          \
    {#name, offsetof (struct dn_constants, name), unit, help, min, max, spread},
#include "predict/constants.inc"
};
/* clang-format on */

int dn_constant_find (const char *name, size_t len)
{
    for (int i = 0; i < DN_CONSTANT_FIELDS; i++)
        if (strlen (dn_constant_fields[i].name) == len
            && memcmp (dn_constant_fields[i].name, name, len) == 0)
            return i;
    return -1;
}

void dn_constant_set (struct dn_constants *constants, int field, double value)
{
    memcpy (
        (char *) constants + dn_constant_fields[field].offset, &value, sizeof (value));
}
