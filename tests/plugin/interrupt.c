/* interrupt.c - a decision looks at its deadline often, and can be given up at any look
 *
 * The code of the plugin is compiled once more, so that it counts the basic blocks that
 * it runs: a measure of work that is the same on every machine. The submissions are the
 * most expensive ones that a search has found, on its site (tests/fuzz/costly). The
 * clock is simulated. Work of libc and json-c is not counted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "costly_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/stopwatch.h"

/* Basic blocks between two looks at the deadline: a third of a millisecond. */
#define BLOCKS_MAX 500000

/* Decisions that are given up, per submission: at the first looks, then at some. */
#define FIRST_LOOKS 24
#define MORE_LOOKS  12

/* Looks after the one that found the time up: until the callers have noticed. */
#define LATE_LOOKS_MAX 4

/* --- the clock and the counter --------------------------------------------------- */

static long blocks; /* since the last look */
static long most;   /* ever */
static int looks;
static int late_looks; /* with the time up */
static int expires_at; /* this look; 0: never */

void __sanitizer_cov_trace_pc (void);

void __sanitizer_cov_trace_pc (void)
{
    blocks++;
}

static void end_stretch (void)
{
    if (blocks > most)
        most = blocks;
    blocks = 0;
}

static double spent_ms (const struct dn_deadline *deadline)
{
    end_stretch ();
    looks++;
    if (expires_at == 0 || looks < expires_at)
        return 0;
    late_looks++;
    return deadline->limit_ms + 1;
}

/* In the place of host/stopwatch.c. */
void dn_stopwatch_start (struct dn_stopwatch *watch, double limit_ms)
{
    watch->deadline = (struct dn_deadline){spent_ms, limit_ms};
}

double dn_stopwatch_ms (const struct dn_stopwatch *watch)
{
    return spent_ms (&watch->deadline);
}

/* --- jobs ------------------------------------------------------------------------ */

static struct recipe_book book;

int before_tests (void **state)
{
    if (!recipe_load_all (&book))
        return -1;
    costly_site_start ();
    costly_site_limit (5);
    return 0;
}

int after_tests (void **state)
{
    recipe_free_all (&book);
    costly_site_stop ();
    return 0;
}

/* What of a job must not change; the environments by their pointers. */
struct before {
    job_desc_msg_t desc;
    char *texts[64];
    char **env;
};

static struct before remember (job_desc_msg_t *desc)
{
    struct before before = {.desc = *desc};
    size_t size = desc->env_size * sizeof (*before.env);

    for (int i = 0; job_text (desc, i); i++)
        before.texts[i] = *job_text (desc, i) ? strdup (*job_text (desc, i)) : NULL;
    before.env = malloc (size + 1);
    if (size > 0)
        memcpy (before.env, desc->environment, size);
    return before;
}

static void assert_unchanged (struct before *before, job_desc_msg_t *desc)
{
    for (int i = 0; job_text (desc, i); i++) {
        char **now = job_text (desc, i);

        assert_true (before->texts[i] ? *now && strcmp (*now, before->texts[i]) == 0
                                      : !*now);
        free (before->texts[i]);
    }
    /* The carried description is consumed. */
    before->desc.spank_job_env_size = desc->spank_job_env_size;
    assert_memory_equal (&before->desc, desc, sizeof (*desc));
    assert_memory_equal (
        before->env, desc->environment, desc->env_size * sizeof (*before->env));
    free (before->env);
}

/* Submit; the time is up at look 'at' (0: never). The number of looks. */
static int submit_until (const struct recipe *recipe, int at)
{
    job_desc_msg_t desc;
    struct before before;
    char *message;
    char *file;
    int blocks_before = stand_in_blocks;

    recipe_cook (recipe, &desc, &file);
    costly_site_file (file);
    stand_in_forget ();
    before = remember (&desc);
    expires_at = at;
    looks = late_looks = 0;
    blocks = 0;
    message = costly_site_submit (&desc);
    end_stretch ();
    if (late_looks > 0) {
        assert_unchanged (&before, &desc);
        assert_int_equal (stand_in_n_infos, 1);
        /* On a busy machine it may have taken long by the clock on the wall. */
        if (stand_in_n_errors > 0)
            assert_contains (stand_in_error, "a submission took");
        assert_true (stand_in_n_errors <= 1);
        assert_contains (stand_in_info, "took longer than 5 ms");
        assert_contains (stand_in_info, "job unchanged");
        assert_true (late_looks <= LATE_LOOKS_MAX);
    } else {
        for (int i = 0; job_text (&desc, i); i++)
            free (before.texts[i]);
        free (before.env);
    }
    slurm_text_free (&message);
    job_free (&desc);
    free (file);
    assert_int_equal (stand_in_blocks, blocks_before);
    return looks;
}

/* --- tests ----------------------------------------------------------------------- */

TEST ("every stretch of the most expensive decisions is short")
{
    long worst = 0;

    for (int i = 0; i < book.n; i++) {
        int n;

        most = 0;
        n = submit_until (&book.recipes[i], 0);
        print_message (
            "%s: %d looks, at most %ld blocks between two\n", book.names[i], n, most);
        worst = most > worst ? most : worst;
    }
    if (worst > BLOCKS_MAX)
        fail_msg ("%ld blocks without a look at the deadline, expected at most %d",
                  worst,
                  BLOCKS_MAX);
}

TEST ("at any look a decision is given up, and the job unchanged")
{
    for (int i = 0; i < book.n; i++) {
        int n = submit_until (&book.recipes[i], 0);
        int step = 1 + n / MORE_LOOKS;

        most = 0;
        for (int at = 1; at <= n; at += at < FIRST_LOOKS ? 1 : step)
            submit_until (&book.recipes[i], at);
        if (n > 0)
            submit_until (&book.recipes[i], n);
        if (most > BLOCKS_MAX)
            fail_msg ("%s: %ld blocks after the time was up, expected at most %d",
                      book.names[i],
                      most,
                      BLOCKS_MAX);
    }
}
