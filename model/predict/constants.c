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
    /* gpu_memory.csv, gpu_memory_2.csv, gpu_memory_3.csv, networks_2.csv: 95 % of the
     * rows are below the bound, one vote per network and source, times Student's factor
     * for that number of votes (46, 82, 41 and 20); factors of 1.23, 1.52, 1.42 and
     * 1.87 over the median. Of a kind that fewer than three codes were measured of
     * nothing is known where the code is another: it has the widest spread of the
     * others. The 3,000 networks of linear layers have one vote: theirs is set by hand,
     * a factor of 1.30, though 95 % of them are within 5 %.
     */
    .sigma_memory =
        {
            [DN_MEMORY_KIND_IMAGES] = 0.13,
            [DN_MEMORY_KIND_DENSE] = 0.16,
            [DN_MEMORY_KIND_DETECTORS] = 0.25,
            [DN_MEMORY_KIND_ATTENTION] = 0.21,
            [DN_MEMORY_KIND_TUNED] = 0.38,
            [DN_MEMORY_KIND_SPLIT] = 0.38,
            [DN_MEMORY_KIND_OTHER] = 0.38,
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
