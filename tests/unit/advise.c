/* advise.c - tests of the stages of a decision, its deadline and its cache
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <time.h>

#include "host/stopwatch.h"
#include "predict/tuning.h"
#include "scene.h"
#include "small_bundle.h"

/* A clock that reads 0 until a given number of reads, then jumps. */
struct clock {
    struct dn_deadline deadline;
    int looks;
    int jumps_at; /* this read; 0: never */
};

static double spent_ms (const struct dn_deadline *deadline)
{
    struct clock *clock = (struct clock *) (void *) deadline;

    clock->looks++;
    return clock->jumps_at > 0 && clock->looks >= clock->jumps_at ? 1e9 : 0;
}

static struct clock clock_that_jumps_at (int look)
{
    return (struct clock){.deadline = {spent_ms, 5}, .jumps_at = look};
}

/* A cache without a lock that counts the uses of estimates. */
struct counted_cache {
    struct dn_cache_access access;
    struct dn_cache *cache;
    int n_found;
    int n_put;
    int n_read; /* scripts */
};

static bool is_of_estimates (const struct dn_cache_key *key)
{
    return key->input.len == sizeof (struct dn_run_input);
}

static bool find (struct dn_cache_access *self,
                  const struct dn_cache_key *key,
                  void *value,
                  size_t size)
{
    struct counted_cache *counted = (struct counted_cache *) (void *) self;
    bool found = dn_cache_find (counted->cache, key, value, size);

    counted->n_found += found && is_of_estimates (key);
    return found;
}

static void put (struct dn_cache_access *self,
                 const struct dn_cache_key *key,
                 const void *value,
                 size_t size)
{
    struct counted_cache *counted = (struct counted_cache *) (void *) self;

    counted->n_put += is_of_estimates (key);
    counted->n_read += !is_of_estimates (key);
    dn_cache_put (counted->cache, key, value, size);
}

static struct counted_cache counted;

/* What every test has: a site with a bundle, so that a decision has all of its stages.
 */
static struct dn_site *site;
static struct dn_job job;
static struct dn_advice *advice;

int before_test (void **state)
{
    struct small_bundle small = small_bundle_make ();

    site = scene_site ("Mode=enforce\nMinConfidence=0\n");
    site->bundle = assert_made (small_bundle_read (&small, &unit_err));
    small_bundle_free (&small);
    job = scene_job ();
    advice = scene_new ();
    counted = (struct counted_cache){
        .access = {find, put},
        .cache = unit_keep (calloc (1, sizeof (struct dn_cache)), free)};
    return 0;
}

/* Advise on the job, into 'to'. */
static int advise_in (struct dn_advice *to, struct clock *clock, bool cached)
{
    return dn_advise (site,
                      NULL,
                      &job,
                      clock ? &clock->deadline : NULL,
                      cached ? &counted.access : NULL,
                      to,
                      &unit_err);
}
static int advise (void)
{
    return advise_in (advice, NULL, false);
}

/* Advise, with a clock that jumps at every look in turn, until it jumps too late.
 * The message must name the 'stages' in that order; others may be between them. The
 * number of looks.
 */
static int assert_stages (const char *const stages[])
{
    static const char said[] = "took longer than 5 ms, given up before the ";
    int seen = 0;

    for (int i = 1;; i++) {
        struct clock clock = clock_that_jumps_at (i);
        const char *stage;

        if (advise_in (advice, &clock, false) == 0) {
            if (stages[seen])
                fail_msg ("no look before the stage '%s'", stages[seen]);
            return i - 1;
        }
        assert_int_equal (unit_err.code, DN_E_TIME);
        assert_int_equal (advice->patch.n_edits, 0);
        assert_string_equal (advice->patch.record, "");
        assert_contains (unit_err.text, said);
        stage = strstr (unit_err.text, said) + strlen (said);
        if (stages[seen] && strcmp (stage, stages[seen]) == 0)
            seen++;
    }
}

TEST ("the time is looked at before every stage")
{
    static const char text[] =
        "description|request|network|estimate|estimate|residual|residual|residual|"
        "refined estimate|refined estimate|policy|rewrite";
    const char *stages[13];

    unit_cut (text, stages, 13);
    assert_stages (stages);
}

TEST ("a long description is given up within it")
{
    const char *stages[9];
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream (&text, &len);

    fprintf (file, "{\"dnnest\": 1, \"graph\": {\"ops\": [{\"op\": \"copy\"}");
    for (int i = 1; i < 300; i++)
        fprintf (file, ", {\"op\": \"copy\", \"in\": [[%d]], \"out\": [[%d]]}", i, i);
    fprintf (file, "]}}");
    fclose (file);
    job.comment = "dnnest:batch=4,epochs=1,samples=1000";
    job.sidecar = text;
    unit_cut ("description|rest of the JSON|keys|rest of the operators|request|network|"
              "rest of the network|estimate",
              stages,
              9);
    assert_true (assert_stages (stages) > 30);
    free (text);
}

static void assert_same_log (const struct dn_advice *a, const struct dn_advice *b)
{
    char log[DN_LOG_TEXT_MAX];
    char other[DN_LOG_TEXT_MAX];

    dn_advice_log (a, log);
    dn_advice_log (b, other);
    assert_string_equal (log, other);
}

TEST ("in time, a decision is the same")
{
    struct dn_advice *without = scene_new ();
    struct dn_advice *with = scene_new ();
    struct clock clock = clock_that_jumps_at (0);

    job.comment = "dnnest:model=resnet50,batch=128,precision=fp32,optimizer=momentum,"
                  "epochs=20,dataset=imagenet";
    assert_int_equal (advise_in (without, NULL, false), 0);
    assert_int_equal (advise_in (with, &clock, false), 0);
    assert_in_range (clock.looks, 12, 40);
    assert_true (with->patch.n_edits > 1);
    assert_same_log (with, without);
    /* Without a limit the clock is not read. */
    clock = clock_that_jumps_at (1);
    clock.deadline.limit_ms = 0;
    assert_int_equal (advise_in (with, &clock, false), 0);
    assert_int_equal (clock.looks, 0);
}

TEST ("the deadline of a job without metadata is checked, too")
{
    static const char *const stages[] = {
        "description", "request", "policy", "rewrite", NULL};

    site = scene_site ("OptIn=all\n");
    job.comment = NULL;
    assert_stages (stages);
}

TEST ("a job of too many variables is left alone")
{
    static const char *variables[DN_ENV_MAX + 1];

    site = scene_site ("OptIn=all\n");
    for (int i = 0; i <= DN_ENV_MAX; i++)
        variables[i] = "A=1";
    job.env = variables;
    job.n_env = DN_ENV_MAX;
    assert_done (advise ());
    job.n_env++;
    assert_int_equal (advise (), -1);
    assert_string_equal (unit_err.text,
                         "environment: 8193 variables, expected at most 8192");
    /* Without metadata it is not a job for dnnest. */
    job.comment = NULL;
    assert_done (advise ());
    assert_int_equal (advice->decision.verdict, DN_VERDICT_NONE);
}

TEST ("an error names the text that was ignored")
{
#define BLANK "in the comment is after a blank or a semicolon, which ends the metadata"
    /* the comment, the error, the script */
    static const char *const cases[] = {
        "model=resnet50, batch=256, precision=fp16|batch: missing, expected batch=N per "
        "GPU; metadata ignored: 'batch=256' " BLANK,
        "model=resnet50,bach=4; batch=256|comment: column 23: unknown key 'bach', did you "
        "mean 'batch'? expected key=value with a key that 'dnnest check --keys' lists; "
        "metadata ignored: 'batch=256' " BLANK,
        "model=resnet50|batch: missing, expected batch=N per GPU; metadata ignored: script "
        "line 3: #DNNEST is after the first command, expected before it"
        "|#!/bin/sh\nmodule load cuda\n#DNNEST batch=64\n",
        "model=resnet50|batch: missing, expected batch=N per GPU",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        const char *c[3];

        unit_cut (cases[i], c, 3);
        job = scene_job ();
        job.comment = unit_text ("dnnest:%s", c[0]);
        if (c[2])
            job.script = c[2];
        assert_int_equal (advise (), -1);
        assert_string_equal (unit_err.text, c[1]);
        assert_int_equal (dn_advise (site, NULL, &job, NULL, NULL, advice, NULL), -1);
    }
#undef BLANK
}

TEST ("the name of a network is for people only")
{
    struct dn_advice *plain = scene_advise ("Mode=enforce", &job);
    struct dn_advice *named;

    job.comment = unit_text ("%s,name=mine", job.comment);
    named = scene_advise ("Mode=enforce", &job);
    assert_true (plain->decision.app[0] != '\0');
    assert_string_equal (named->decision.app, plain->decision.app);
    assert_int_equal (named->decision.time_limit_s, plain->decision.time_limit_s);
    assert_true (named->estimates[0].confidence == plain->estimates[0].confidence);
}

#define N_RUNS 6

/* Runs that differ in one property each; two of them are the same run of two users. */
static void set_run (int run)
{
    static const char network[] =
        "{\"dnnest\":1,\"spec\":{\"batch\":128,\"precision\":\"fp16\",\"steps\":100000},"
        "\"graph\":{\"ops\":[{\"op\":\"linear\",\"in\":[[1024]],\"out\":[[%d]],"
        "\"params\":%d}]}}";

    job = scene_job ();
    job.user_id = 1000 + run;
    if (run == 2)
        job.cpus_per_task = job.pn_min_cpus = job.min_cpus = 4;
    if (run == 3)
        job.comment = "dnnest:model=resnet50,batch=32,precision=fp16,epochs=2,"
                      "dataset=imagenet";
    if (run < 4)
        return;
    job.sidecar = unit_text (network, run * 1024, run * 1024 * 1024);
    job.comment = NULL;
}

static void assert_same (const struct dn_advice *a, const struct dn_advice *b)
{
    for (int i = 0; i < b->candidates.n_candidates; i++) {
        assert_true (a->estimates[i].device == b->estimates[i].device);
        assert_true (a->estimates[i].step_s.p50 == b->estimates[i].step_s.p50);
        assert_true (a->estimates[i].gpu_mem.p50 == b->estimates[i].gpu_mem.p50);
        assert_true (a->estimates[i].step_s.quantiles
                     == b->estimates[i].step_s.quantiles);
    }
    assert_same_log (a, b);
    assert_string_equal (a->patch.record, b->patch.record);
    assert_int_equal (a->patch.n_edits, b->patch.n_edits);
    assert_int_equal (a->decision.n_reasons, b->decision.n_reasons);
}

TEST ("with a cache every advice is the same")
{
    struct dn_advice *without = scene_new ();
    struct dn_advice *with = scene_new ();

    for (int i = 0; i < 4 * N_RUNS; i++) {
        set_run (i * 5 % N_RUNS);
        assert_done (advise_in (without, NULL, false));
        assert_done (advise_in (with, NULL, true));
        assert_int_equal (with->candidates.n_candidates, 2);
        assert_same (with, without);
    }
    /* Runs 0 and 1 are the same run of two users. */
    assert_numbers ("5 19", counted.n_put, counted.n_found);
}

/* Each text is freed after its job: what is kept of it must not refer to it. */
TEST ("a script that was read before is not read again")
{
    static const char *const scripts[] = {
        "#!/bin/bash\n#DNNEST model=resnet50 batch=64 epochs=1\npython train.py\n",
        "#!/bin/bash\n#DNNEST model=resnet50 batch=32 epochs=1\npython train.py\n",
        "#!/bin/bash\n#DNNEST model=resnet50 batch=64 epochs=1\ntaskset -c 0 python x\n",
        "#!/bin/bash\n# dnnest model=resnet50\npython train.py\n",
    };
    struct dn_advice *without = scene_new ();
    struct dn_advice *with = scene_new ();

    for (size_t i = 0; i < 4 * DN_N_ELEMENTS (scripts); i++) {
        char *script = strdup (scripts[i * 3 % DN_N_ELEMENTS (scripts)]);

        job.script = script;
        job.comment = NULL;
        if (i >= 2 * DN_N_ELEMENTS (scripts))
            job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:2";
        assert_done (advise_in (without, NULL, false));
        assert_done (advise_in (with, NULL, true));
        assert_int_equal (with->decision.verdict, without->decision.verdict);
        if (with->decision.verdict != DN_VERDICT_NONE)
            assert_same (with, without);
        assert_string_equal (with->ignored, without->ignored);
        assert_string_equal (with->decision.app, without->decision.app);
        free (script);
    }
    /* Jobs of two shapes. */
    assert_int_equal (counted.n_read, 2 * DN_N_ELEMENTS (scripts));
}

/* Of runs 0 and 1, which are the same run of two users, the second one has a history.
 */
TEST ("estimates by a user's history are that user's own")
{
    struct dn_tuning *tuning = dn_tuning_new ();
    struct dn_history *history = dn_history_new (1);
    double steps[3];

    history->runs[0] =
        (struct dn_past){.user = 1001,
                         .trace = {.application = "resnet50", .device = "a100_40gb"},
                         .error = 1,
                         .own = 1,
                         .noise = 0.05,
                         .level = 1};
    history->likeness.spread = 0.3;
    history->likeness.noise = 0.05;
    for (int i = 0; i < DN_N_AXES; i++)
        history->likeness.lengths[i] = 100;
    history->alone = 1;
    assert_int_equal (dn_history_close (history, NULL), 0);
    tuning->history = history;
    site->bundle->tuning = tuning;
    for (int i = 0; i < 3; i++) {
        set_run (i % 2);
        assert_int_equal (advise_in (advice, NULL, true), 0);
        steps[i] = advice->estimates[0].step_s.p50;
    }
    assert_numbers ("2 1", counted.n_put, counted.n_found);
    assert_true (steps[1] > 1.5 * steps[0]);
    assert_true (steps[2] == steps[0]);
}

TEST ("what failed is not cached")
{
    struct clock clock = clock_that_jumps_at (9);

    assert_int_equal (advise_in (advice, &clock, true), -1);
    job.comment = "dnnest:model=nosuchnet,batch=128,precision=fp16";
    assert_int_equal (advise_in (advice, NULL, true), -1);
    job.comment = NULL;
    assert_int_equal (advise_in (advice, NULL, true), 0);
    assert_int_equal (counted.n_put, 0);
}

static void compute_for_ms (double ms)
{
    double end_s = unit_cpu_s () + ms / 1e3;

    while (unit_cpu_s () < end_s)
        ;
}

TEST ("what is computed counts, and what is waited does not")
{
    const struct timespec pause = {0, 80 * 1000 * 1000};
    struct dn_stopwatch watch;

    dn_stopwatch_start (&watch, 20);
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), 0);
    nanosleep (&pause, NULL);
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), 0);
    assert_true (dn_stopwatch_ms (&watch) < 20);
    compute_for_ms (25);
    assert_true (dn_stopwatch_ms (&watch) >= 25);
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), -1);
    watch.deadline.limit_ms = 0;
    assert_int_equal (dn_deadline_check (&watch.deadline, "test", NULL), 0);
    assert_int_equal (dn_deadline_check (NULL, "test", NULL), 0);
}

/* Nothing of it can change, so that nothing is predicted. */
TEST ("a component of a heterogeneous job is not predicted")
{
    const struct dn_edit *edit;

    job.het = true;
    assert_int_equal (advise (), 0);
    assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
    assert_int_equal (advice->decision.abstain, DN_ABSTAIN_COMPONENT);
    assert_numbers ("0 1", advice->candidates.n_candidates, advice->patch.n_edits);
    edit = &advice->patch.edits[0];
    assert_int_equal (edit->field, DN_FIELD_ADMIN_COMMENT);
    assert_contains (edit->new_text, "\"abstain\"");
    assert_contains (edit->new_text, "\"why\":[\"component\"]");
}

/* A limit must hold wherever Slurm places the tasks. */
TEST ("tasks that may spread are predicted on separate nodes")
{
    static const struct {
        int64_t num_tasks, min_nodes, max_nodes, n_nodes;
    } rows[] = {{4, -1, -1, 4}, {4, 1, 1, 1}, {4, 1, 2, 2}, {1, -1, -1, 1}};
    double spread = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        job.tres[DN_GPU_PER_NODE] = NULL;
        job.tres[DN_GPU_PER_TASK] =
            rows[i].num_tasks == 4 ? "gpu:a100:1" : "gpu:a100:4";
        job.num_tasks = rows[i].num_tasks;
        job.min_nodes = rows[i].min_nodes;
        job.max_nodes = rows[i].max_nodes;
        assert_int_equal (advise (), 0);
        assert_int_equal (advice->spec.nodes, rows[i].n_nodes);
        if (i == 0)
            spread = advice->estimates[1].train_s.p50;
        else
            assert_true (advice->estimates[1].train_s.p50 <= spread);
    }
}
