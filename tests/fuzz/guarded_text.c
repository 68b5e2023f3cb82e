/* guarded_text.c - fuzz target: the file of the guard
 *
 * What is read is consistent, and what is written of it is read as the same.
 *
 * Aims at: model/policy/guarded.c model/base/fields.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "text_file.h"

#include "policy/guarded.h"

/* Noting a job changes a tally, and keeps their order. */
static void check (struct dn_guarded *guarded)
{
    struct dn_guarded_run run = {1000, 7, 77, true, true, 5};
    struct dn_err err = {0};
    const struct dn_tally *tally;

    expect_done (dn_guarded_note (guarded, &run, &err) == 0, "a note", &err);
    run.needed = false;
    run.job_id = 78;
    expect_done (dn_guarded_note (guarded, &run, &err) == 0, "a note", &err);
    tally = dn_guarded_find (guarded, 1000, 0);
    expect (tally && tally->n_jobs <= DN_GUARDED_JOBS, "the tally of a job");
    for (int64_t i = 1; i < guarded->n_tallies; i++)
        expect (guarded->tallies[i - 1].user_id < guarded->tallies[i].user_id
                    || (guarded->tallies[i - 1].user_id == guarded->tallies[i].user_id
                        && guarded->tallies[i - 1].app < guarded->tallies[i].app),
                "the order of users");
    dn_guarded_trusts (guarded, 1000);
    dn_guarded_earned (guarded, 1000, "train");
    dn_guarded_is_alive (guarded, 1700000000);
}

TEXT_FILE (guarded, check)
