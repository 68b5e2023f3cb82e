/* sbatch.c - fuzz target: a batch script as 'dnnest advise' reads it
 *
 * Attack surface: #SBATCH lines, quotes and options, counts, times, sizes. A script
 * that is read gives a request, in every version of Slurm.
 *
 * Aims at: cli/process/sbatch.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "process/sbatch.h"

/* Replaces cli/common.c: messages are checked, and not written to stderr. */
const char *dn_program = "dnnest";

void dn_complain (const char *format, ...)
{
    char text[4096];
    va_list args;

    va_start (args, format);
    vsnprintf (text, sizeof (text), format, args);
    va_end (args);
    expect (text[0] != '\0', "an empty complaint");
}

int dn_fail (enum dn_exit code, const struct dn_err *err)
{
    expect_message (err);
    return code;
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static const int versions[] = {2205, 2311, 2411};
    struct dn_sbatch *sbatch = calloc (1, sizeof (*sbatch));
    struct dn_request request;
    struct dn_err err = {0};

    if (!sbatch)
        abort ();
    if (dn_sbatch_read_script (sbatch, take_text (data, size)) == DN_EXIT_DONE)
        for (size_t i = 0; i < DN_N_ELEMENTS (versions); i++)
            if (dn_sbatch_fill (sbatch, versions[i], &err) < 0
                || dn_request_read (&sbatch->job, NULL, &request, &err) < 0)
                expect_message (&err);
    dn_sbatch_free (sbatch);
    free (sbatch);
    return 0;
}
