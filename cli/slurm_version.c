/* slurm_version.c - the version of Slurm that the command line answers for
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm_version.h"

#include <string.h>

#include "base/text.h"

/* Without Slurm's headers: the oldest version that is supported. */
#ifndef DN_SLURM_VERSION
#define DN_SLURM_VERSION "22.05"
#endif

#define YEAR_OLDEST 20

const char *const dn_slurm_version_default = DN_SLURM_VERSION;

int dn_slurm_version_read (const char *text, int *version, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span year = dn_span_cut (&rest, ".");
    struct dn_span month = dn_span_cut (&rest, ".");
    int64_t number[2];

    if (dn_int_read (year, "year", YEAR_OLDEST, 99, &number[0], NULL) < 0 || !month.text
        || month.len != 2 || dn_int_read (month, "month", 1, 12, &number[1], NULL) < 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "--slurm: '%s' is not a version, expected 20.02 or later, "
                           "such as 22.05 or 24.11.5",
                           dn_quote (text, strlen (text)).text);
    *version = (int) (number[0] * 100 + number[1]);
    return 0;
}
