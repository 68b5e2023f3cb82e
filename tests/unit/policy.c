/* policy.c - tests of policy/: what is changed, and what must not be changed
 *
 * They go through dn_advise (), so that the estimates are real ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

static int set_rule (struct dn_rules *rules,
                     const char *key,
                     const char *value,
                     struct dn_err *err)
{
    const struct dn_rule_key *row = dn_rules_find (dn_span_of (key));

    assert_non_null (row);
    return dn_rules_read (row, dn_span_of (value), rules, err);
}

static void the_default_rules_are_those_of_the_table (void **state)
{
    struct dn_rules rules = dn_rules_default ();
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    (void) state;
    for (int i = 0; i < n_keys; i++) {
        struct dn_rules again = rules;

        assert_int_equal (set_rule (&again, keys[i].name, keys[i].value, NULL), 0);
        assert_memory_equal (&again, &rules, sizeof (rules));
    }
    assert_int_equal (rules.mode, DN_MODE_ADVISE);
    assert_near (rules.time_quantile, 0.99);
}

static void rules_out_of_range_are_refused (void **state)
{
    static const char *const bad[][2] = {
        {"Mode", "destroy"},     {"Mode", "unknown"},     {"TimeQuantile", "1"},
        {"TimeQuantile", "0"},   {"TimeMin", "0"},        {"TimeMin", "x"},
        {"MaxSlowdown", "0.5"},  {"CpusPerGpuMin", "0"},  {"CpusPerGpuMin", "1.5"},
        {"MinConfidence", "2"},  {"Message", ""},         {"OptIn", "none"},
        {"OptIn", "1"},          {"ControlGroup", "-1"},  {"ControlGroup", "100.1"},
        {"ControlGroup", "10%"}, {"NeverRaise", "maybe"}, {"TimeLimit", "timemin"},
        {"Upgrade", "maybe"},    {"Upgrade", "unknown"},  {"UserObjective", "1"},
        {"Record", "nobody"},    {"TimeMax", "0"},        {"TimeMax", "9999-0"}};
    struct dn_rules rules = dn_rules_default ();
    struct dn_rules before = rules;
    struct dn_err err;

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        if (set_rule (&rules, bad[i][0], bad[i][1], &err) == 0)
            fail_msg ("%s=%s was accepted", bad[i][0], bad[i][1]);
        assert_contains (err.text, bad[i][0]);
    }
    assert_memory_equal (&rules, &before, sizeof (rules));
}

static void an_oversized_job_is_moved_trimmed_and_shortened (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_advise ("Mode=enforce", &job);

    (void) state;
    assert_int_equal (advice->decision.verdict, DN_VERDICT_CHANGE);
    assert_non_null (advice->decision.gpu);
    assert_int_equal (advice->decision.chosen, 0);
    assert_true (advice->decision.time_limit_s < 86400);
    assert_int_equal (advice->decision.time_limit_s % 300, 0);
    assert_true ((double) advice->decision.time_limit_s
                 > 1.5 * advice->estimates[0].train_s.p50);
    assert_true (advice->decision.cpus_per_task < 80);
    assert_true (advice->decision.cpus_per_task >= 8);
}

/* 'more': of the description, with "dnnest:model=resnet50,...,dataset=imagenet". */
static void a_device_that_cannot_run_the_job_is_no_target (void **state)
{
    static const struct {
        const char *more;
        const char *says;
    } cases[] = {
        {"batch=128,precision=bf16", "not v100: cannot run this precision"},
        {"batch=256,precision=fp32,epochs=1", "not v100: may need"},
        {"batch=128,precision=fp16,torch=2.14",
         "not v100: the stated software has no kernels for it"},
        {"batch=128,precision=fp16,since=2026",
         "not v100: the stated software has no kernels for it"},
    };

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;
        char comment[200];

        snprintf (comment,
                  sizeof (comment),
                  "dnnest:model=resnet50,optimizer=momentum,dataset=imagenet,%s%s",
                  cases[i].more,
                  strstr (cases[i].more, "epochs") ? "" : ",epochs=20");
        job.comment = comment;
        advice = scene_advise ("", &job);
        assert_null (advice->decision.gpu);
        scene_need_reason (advice, cases[i].says);
    }
}

static void nothing_is_ever_raised (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.time_limit_min = 30;
    job.cpus_per_task = 4;
    job.min_cpus = 4;
    job.pn_min_cpus = 4;
    advice = scene_advise ("", &job);
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    assert_int_equal (advice->decision.cpus_per_task, DN_UNSET);
    assert_null (advice->decision.gpu);
    assert_int_equal (advice->decision.verdict, DN_VERDICT_KEEP);
    scene_need_reason (advice, "above the requested limit");
    scene_need_reason (advice, "time: kept, the bound is");
    scene_need_reason (advice,
                       "cpus: kept, -c 4 gives 4 of 84 that the input pipeline needs");
}

static void doubts_make_it_abstain (void **state)
{
    static const struct {
        const char *comment;
        const char *tres;
        const char *conf;
        const char *reason;
    } cases[] = {
        {NULL, "gres:gpu:h100:4", "", "type 'h100' has no Gpu line"},
        {NULL, "gres:gpu:V100:4", "", "capital letters, did you mean v100?"},
        {NULL, NULL, "", "no GPU was requested"},
        {NULL, NULL, "MinConfidence=0.9", "no GPU was requested"},
        {NULL, "gres:gpu:a100:4", "MinConfidence=0.9", "is below MinConfidence"},
        {"dnnest:model=resnet50,batch=8,gpus=8",
         "gres:gpu:a100:4",
         "",
         "metadata says 8 GPUs, 4 were requested"},
        {"dnnest:model=gpt2_xl,batch=64,precision=fp16",
         "gres:gpu:a100:4",
         "",
         "of GPU memory, a100 has"},
        {"dnnest:model=resnet50,batch=8,precision=bf16",
         "gres:gpu:v100:4",
         "Upgrade=no",
         "v100 cannot run this precision"},
        {"dnnest:model=mistral_7b,batch=1,experts=8,top_k=2",
         "gres:gpu:a100:4",
         "",
         "keys experts=, top_k= are not read by mistral_7b"},
    };

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;

        job.tres[DN_GPU_PER_NODE] = cases[i].tres;
        if (cases[i].comment)
            job.comment = cases[i].comment;
        advice = scene_advise (cases[i].conf, &job);
        assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
        scene_need_reason (advice, cases[i].reason);
    }
}

static void the_policy_can_keep_every_field (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice =
        scene_advise ("TimeLimit=keep\nGpuType=keep\nCpus=keep", &job);

    (void) state;
    assert_int_equal (advice->decision.verdict, DN_VERDICT_KEEP);
    scene_need_reason (advice, "time: kept, the policy");
    scene_need_reason (advice, "gpu: kept, the policy");
    scene_need_reason (advice, "cpus: kept, the policy");
}

static void a_move_must_be_worth_it_and_quick_enough (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_advise ("MinGain=0.99", &job);

    (void) state;
    scene_need_reason (advice, "too little gain");
    advice = scene_advise ("MaxSlowdown=1.01", &job);
    scene_need_reason (advice, "% of the time");
    advice = scene_advise ("Objective=time", &job);
    assert_null (advice->decision.gpu);
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,epochs=20,"
                  "dataset=imagenet,deadline=2:00:00";
    advice = scene_advise ("", &job);
    scene_need_reason (advice, "above the deadline");
}

/* With Cost=3 of the v100 and Cost=4 of the a100. */
static struct dn_advice *advise_prices (const char *from,
                                        const char *objective,
                                        const char *steps)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_new ();
    struct dn_site *site;
    char conf[100];
    char comment[100];

    snprintf (conf,
              sizeof (conf),
              "Mode=enforce\nMinConfidence=0\nUpgrade=yes\nObjective=%s",
              objective);
    snprintf (comment,
              sizeof (comment),
              "dnnest:model=resnet50,batch=128,precision=fp16,steps=%s",
              steps);
    site = scene_site (conf);
    site->gpu_types.types[0].cost = 3;
    job.tres[DN_GPU_PER_NODE] = from;
    job.comment = comment;
    assert_int_equal (dn_advise (site, NULL, &job, NULL, NULL, advice, NULL), 0);
    scene_free (site);
    return advice;
}

/* The words give the ratios of the times and costs of the table. */
static void advice_of_a_short_move (void)
{
    struct dn_advice *advice = advise_prices ("gres:gpu:a100:4", "cost", "10");

    assert_non_null (advice->decision.gpu);
    assert_in_range (100 * advice->estimates[0].train_s.p50
                         / advice->estimates[1].train_s.p50,
                     100,
                     104);
    assert_true (advice->estimates[0].step_s.p50
                 > 1.2 * advice->estimates[1].step_s.p50);
    assert_non_null (
        strstr (advice->patch.user_text, "(1.0x the time, 0.8x the cost)"));
    scene_need_reason (advice, "% of the time of a100 at 7");
}

/* A step on the a100 is so much faster that it is cheaper there. A short run is mostly
 * its start, which takes as long on both types and costs less on the v100.
 */
static void the_start_of_a_run_counts (void **state)
{
    static const char *const objectives[] = {"cost", "time", "energy"};

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (objectives); i++) {
        struct dn_advice *advice =
            advise_prices ("gres:gpu:v100:4", objectives[i], "100000");
        assert_non_null (advice->decision.gpu);
        advice = advise_prices ("gres:gpu:v100:4", objectives[i], "10");
        assert_null (advice->decision.gpu);
        scene_need_reason (advice, "gpu: not a100: too little gain");
    }
    advice_of_a_short_move ();
}

static void a_move_keeps_the_budget_of_the_job (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,epochs=20,"
                  "dataset=imagenet,budget=0.5";
    advice = scene_advise ("", &job);
    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "above the budget of 0.50");
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,epochs=20,"
                  "dataset=imagenet,budget=1M";
    advice = scene_advise ("", &job);
    assert_non_null (advice->decision.gpu);
}

static void without_an_amount_of_work_time_stays_and_no_slower_gpu_is_chosen (
    void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16";
    advice = scene_advise ("", &job);
    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "the amount of work is unknown");
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    assert_true (advice->decision.cpus_per_task < 80);
}

static void an_unset_limit_is_filled_only_if_the_admin_says_so (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.time_limit_min = DN_UNSET;
    advice = scene_advise ("", &job);
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    scene_need_reason (advice, "no limit was requested");
    advice = scene_advise ("FillUnset=yes", &job);
    assert_true (advice->decision.time_limit_s > 0);
}

static void without_a_limit_no_slower_gpu_is_chosen (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.time_limit_min = DN_UNSET;
    advice = scene_advise ("", &job);
    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "slower, and the partition's limit is unknown");
}

static void unstated_precision_stays_where_bf16_runs (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.comment = "dnnest:model=resnet50,batch=64,epochs=1,dataset=imagenet";
    advice = scene_advise ("MinConfidence=0.1", &job);
    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "precision= is not stated, and it has no bf16");
}

static void a_warning_before_the_limit_lengthens_it (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *plain = scene_advise ("GpuType=keep", &job);
    struct dn_advice *warned;

    (void) state;
    job.signal_s = 3600;
    warned = scene_advise ("GpuType=keep", &job);
    assert_in_range (
        warned->decision.time_limit_s - plain->decision.time_limit_s, 3600, 3900);
}

static void few_cpus_make_the_bound_longer_not_shorter (void **state)
{
    struct dn_job many = scene_job ();
    struct dn_job few = scene_job ();
    struct dn_advice *with_many = scene_advise ("GpuType=keep", &many);
    struct dn_advice *with_few;

    (void) state;
    few.cpus_per_task = 2;
    few.min_cpus = 2;
    with_few = scene_advise ("GpuType=keep", &few);
    assert_true (with_few->estimates[1].train_s.p50
                 > 2 * with_many->estimates[1].train_s.p50);
}

/* A job with half an hour for work of hours, and one CPU per GPU. */
static struct dn_job tight_job (void)
{
    struct dn_job job = scene_job ();

    job.time_limit_min = 30;
    job.cpus_per_task = 4;
    job.min_cpus = 4;
    job.pn_min_cpus = 4;
    return job;
}

static void limits_are_raised_only_if_the_admin_says_so (void **state)
{
    struct dn_job job = tight_job ();
    struct dn_advice *advice = scene_advise ("Mode=enforce NeverRaise=yes", &job);
    int64_t bound;

    (void) state;
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    scene_need_reason (advice, "NeverRaise=yes");
    advice = scene_advise ("Mode=enforce NeverRaise=no", &job);
    bound = advice->decision.time_limit_s;
    assert_true (bound > 30 * 60);
    assert_null (advice->decision.gpu);
    assert_contains (advice->patch.user_text, "time 00:30:00 -> ");
    advice = scene_advise ("NeverRaise=no TimeMax=00:40:00", &job);
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    scene_need_reason (advice, "above TimeMax");
    job.deadline_s = bound - 1;
    advice = scene_advise ("NeverRaise=no", &job);
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    scene_need_reason (advice, "beyond the deadline");
    job.deadline_s = bound;
    advice = scene_advise ("NeverRaise=no", &job);
    assert_int_equal (advice->decision.time_limit_s, bound);
}

static const struct dn_edit *find_edit (const struct dn_advice *advice,
                                        enum dn_field field)
{
    for (int i = 0; i < advice->patch.n_edits; i++)
        if (advice->patch.edits[i].field == field)
            return &advice->patch.edits[i];
    return NULL;
}

static void cpus_are_raised_within_their_bounds (void **state)
{
    struct dn_job job = tight_job ();
    struct dn_advice *advice = scene_advise ("Mode=enforce NeverRaise=no", &job);
    int64_t cpus = advice->decision.cpus_per_task;
    char conf[64];

    (void) state;
    assert_true (cpus > 4);
    assert_int_equal (find_edit (advice, DN_FIELD_CPUS_PER_TASK)->new_number, cpus);
    assert_int_equal (find_edit (advice, DN_FIELD_MIN_CPUS)->new_number, cpus);
    assert_int_equal (find_edit (advice, DN_FIELD_PN_MIN_CPUS)->new_number, cpus);
    snprintf (
        conf, sizeof (conf), "NeverRaise=no CpusPerGpuMax=%d", (int) cpus / 4 - 1);
    advice = scene_advise (conf, &job);
    assert_int_equal (advice->decision.cpus_per_task, DN_UNSET);
    scene_need_reason (advice, "CpusPerGpuMax");
    /* A node of the scene has 96. */
    advice = scene_advise ("NeverRaise=no CpusPerGpuMin=25", &job);
    assert_int_equal (advice->decision.cpus_per_task, DN_UNSET);
    advice = scene_advise ("NeverRaise=no CpusPerGpuMin=24", &job);
    assert_int_equal (advice->decision.cpus_per_task, 96);
    advice = scene_advise ("NeverRaise=no Cpus=keep", &job);
    assert_int_equal (advice->decision.cpus_per_task, DN_UNSET);
}

static void no_limit_is_filled_in_above_its_maximum (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.time_limit_min = DN_UNSET;
    advice = scene_advise ("FillUnset=yes TimeMax=00:31:00", &job);
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    scene_need_reason (advice, "above TimeMax");
    /* Lowering is not bound by it. */
    job.time_limit_min = 1440;
    advice = scene_advise ("TimeMax=00:31:00", &job);
    assert_true (advice->decision.time_limit_s > 31 * 60);
}

static void the_least_time_is_set_and_the_limit_left (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *limit = scene_advise ("Mode=enforce GpuType=keep", &job);
    struct dn_advice *least = scene_advise (
        "Mode=enforce GpuType=keep TimeLimit=time_min GuardedQuantile=0.99", &job);

    (void) state;
    assert_int_equal (least->decision.verdict, DN_VERDICT_CHANGE);
    assert_int_equal (least->decision.time_limit_s, DN_UNSET);
    assert_int_equal (least->decision.time_min_s, limit->decision.time_limit_s);
    assert_null (find_edit (least, DN_FIELD_TIME_LIMIT));
    assert_int_equal (find_edit (least, DN_FIELD_TIME_MIN)->old_number, DN_UNSET);
    assert_int_equal (find_edit (least, DN_FIELD_TIME_MIN)->new_number,
                      limit->decision.time_limit_s / 60);
    assert_contains (least->patch.user_text, "dnnest: planned as ");
    assert_contains (least->patch.user_text, " of 1-00:00:00 (resnet50");
    assert_contains (scene_log, " time_min=unset>");
    assert_contains (find_edit (least, DN_FIELD_ADMIN_COMMENT)->new_text,
                     "\"time_min_s\":");
}

static void the_least_time_is_left_where_it_would_hurt (void **state)
{
    static const struct {
        int64_t time_limit_min;
        int64_t time_min_min;
        int64_t deadline_s;
        const char *reason;
    } cases[] = {
        {DN_UNSET, DN_UNSET, DN_UNSET, "no limit was requested"},
        {DN_UNLIMITED, DN_UNSET, DN_UNSET, "an unlimited time was requested"},
        {1440, 60, DN_UNSET, "a minimum time was requested"},
        {1440, DN_UNSET, 1000000, "a deadline was requested"},
        {30, DN_UNSET, DN_UNSET, "time: kept, the bound is"},
    };

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;

        job.time_limit_min = cases[i].time_limit_min;
        job.time_min_min = cases[i].time_min_min;
        job.deadline_s = cases[i].deadline_s;
        advice = scene_advise ("TimeLimit=time_min FillUnset=yes NeverRaise=no", &job);
        scene_need_reason (advice, cases[i].reason);
        assert_int_equal (advice->decision.time_min_s, DN_UNSET);
        assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    }
}

static void a_move_keeps_the_deadline_of_the_job (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_advise ("", &job);
    int64_t bound = advice->decision.time_limit_s;

    (void) state;
    assert_non_null (advice->decision.gpu);
    job.deadline_s = bound;
    advice = scene_advise ("", &job);
    assert_non_null (advice->decision.gpu);
    job.deadline_s = bound - 1;
    advice = scene_advise ("", &job);
    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "above the deadline");
}

/* The objective's value of a step on candidate 'i'; the scene's costs are 1 and 4. */
static double price (const struct dn_advice *advice, const char *objective, int i)
{
    const struct dn_estimate *estimate = &advice->estimates[i];

    if (strcmp (objective, "time") == 0)
        return estimate->step_s.p50;
    return estimate->step_s.p50
           * (strcmp (objective, "energy") == 0 ? estimate->power_w
              : i == 0                          ? 1
                                                : 4);
}

static void the_choice_minimises_the_objective (void **state)
{
    static const char *const objectives[] = {"cost", "time", "energy"};

    (void) state;
    for (int i = 0; i < 6; i++) {
        struct dn_job job = scene_job ();
        const char *objective = objectives[i / 2];
        struct dn_advice *advice;
        char conf[128];
        char comment[256];

        /* In every other case the job sets the objective, and the site another one. */
        snprintf (conf,
                  sizeof (conf),
                  "MaxSlowdown=99 MinGain=0 MinConfidence=0 Upgrade=yes "
                  "UserObjective=yes Objective=%s",
                  i % 2 ? objectives[(i / 2 + 1) % 3] : objective);
        snprintf (comment,
                  sizeof (comment),
                  "%s%s%s",
                  job.comment,
                  i % 2 ? ",objective=" : "",
                  i % 2 ? objective : "");
        job.comment = comment;
        advice = scene_advise (conf, &job);
        assert_int_equal (advice->candidates.n_candidates, 2);
        assert_true (price (advice, objective, advice->decision.chosen)
                     <= price (advice, objective, 1 - advice->decision.chosen));
    }
}

static void the_slowdown_is_bounded_where_it_is_stated (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_advise ("", &job);
    double slowdown = advice->estimates[0].step_s.p50 / advice->estimates[1].step_s.p50;
    char conf[64];

    (void) state;
    assert_true (slowdown > 1.05);
    snprintf (conf, sizeof (conf), "MaxSlowdown=%.6f", slowdown * 1.01);
    advice = scene_advise (conf, &job);
    assert_non_null (advice->decision.gpu);
    snprintf (conf, sizeof (conf), "MaxSlowdown=%.6f", slowdown * 0.99);
    advice = scene_advise (conf, &job);
    assert_null (advice->decision.gpu);
}

static void all_jobs_with_gpus_are_examined_if_the_admin_says_so (void **state)
{
    static const struct {
        const char *conf;
        const char *comment;
        const char *tres;
        bool recorded;
    } cases[] = {
        {"OptIn=all", NULL, "gres:gpu:a100:4", true},
        {"OptIn=all", NULL, "gres:gpu:2", true},
        {"OptIn=all", "ticket:1", "gres:gpu:a100:4", true},
        {"OptIn=all Record=none", NULL, "gres:gpu:a100:4", false},
        {"OptIn=metadata", NULL, "gres:gpu:a100:4", false},
        {"OptIn=all", "dnnest:off", "gres:gpu:a100:4", false},
        {"OptIn=all", NULL, NULL, false},
        {"OptIn=all", NULL, "gres:fpga:1", false},
        {"OptIn=all", NULL, "gres:gpu:a100:-1", false},
        {"Policy User=1000 OptIn=all", NULL, "gres:gpu:a100:4", true},
        {"Policy User=1001 OptIn=all", NULL, "gres:gpu:a100:4", false},
    };

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_site *site = scene_site (cases[i].conf);
        struct dn_advice *advice = scene_new ();
        const struct dn_edit *edit;
        bool all = strstr (cases[i].conf, "OptIn=all") != NULL;

        job.comment = cases[i].comment;
        job.tres[DN_GPU_PER_NODE] = cases[i].tres;
        assert_int_equal (dn_advise_concerns (site, &job),
                          (all && cases[i].tres) || cases[i].comment);
        assert_int_equal (dn_advise (site, NULL, &job, NULL, NULL, advice, NULL), 0);
        edit = find_edit (advice, DN_FIELD_ADMIN_COMMENT);
        assert_int_equal (edit != NULL, cases[i].recorded);
        assert_int_equal (advice->patch.n_edits, cases[i].recorded);
        assert_string_equal (advice->patch.user_text, "");
        if (edit) {
            assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
            assert_contains (edit->new_text, "\"verdict\":\"abstain\"");
            dn_advice_log (advice, scene_log);
            assert_contains (scene_log, "the job has no metadata");
        }
        scene_free (site);
    }
}

static void the_user_of_an_undescribed_job_gets_a_message_if_the_admin_says_so (
    void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.comment = NULL;
    advice = scene_advise ("OptIn=all Message=always", &job);
    assert_string_equal (advice->patch.user_text,
                         "dnnest: job unchanged (the job has no metadata)");
}

/* For how many of 'n' users is the job in the control group? */
static int count_control (const char *percent, int n)
{
    struct dn_rules rules = dn_rules_default ();
    struct dn_spec spec = dn_spec_empty ();
    struct dn_job job = scene_job ();
    int count = 0;

    set_rule (&rules, "ControlGroup", percent, NULL);
    for (job.user_id = 1000; job.user_id < 1000 + n; job.user_id++)
        count += dn_policy_in_control (&rules, &job, &spec, "");
    return count;
}

static void the_control_group_has_its_share (void **state)
{
    (void) state;
    assert_int_equal (count_control ("0", 1000), 0);
    assert_int_equal (count_control ("100", 1000), 1000);
    /* Four standard deviations of 10000 draws. */
    assert_in_range (count_control ("10", 10000), 880, 1120);
    assert_in_range (count_control ("0.5", 10000), 22, 78);
    assert_in_range (count_control ("50", 10000), 4800, 5200);
}

static void the_draw_sees_owner_script_and_description (void **state)
{
    struct dn_rules rules = dn_rules_default ();
    struct dn_spec spec = dn_spec_empty ();
    struct dn_job job = scene_job ();
    int by_user = 0;
    int by_script = 0;
    int by_spec = 0;

    (void) state;
    rules.control_group = 50;
    for (int i = 0; i < 1000; i++) {
        struct dn_job request = job;
        struct dn_job other = job;
        struct dn_spec changed = spec;
        char script[32];
        bool control = dn_policy_in_control (&rules, &job, &spec, "");

        request.time_limit_min = i;
        request.cpus_per_task = i;
        request.tres[DN_GPU_PER_NODE] = NULL;
        request.partition = "p";
        assert_int_equal (dn_policy_in_control (&rules, &request, &spec, ""), control);
        other.user_id = i;
        by_user += dn_policy_in_control (&rules, &other, &spec, "");
        snprintf (script, sizeof (script), "#!/bin/sh\n# %d\n", i);
        request.script = script;
        by_script += dn_policy_in_control (&rules, &request, &spec, "");
        changed.batch = i + 1;
        by_spec += dn_policy_in_control (&rules, &job, &changed, "");
    }
    assert_in_range (by_user, 436, 564);
    assert_in_range (by_script, 436, 564);
    assert_in_range (by_spec, 436, 564);
}

static void a_larger_control_group_keeps_its_members (void **state)
{
    struct dn_rules small = dn_rules_default ();
    struct dn_rules large = dn_rules_default ();
    struct dn_spec spec = dn_spec_empty ();
    struct dn_job job = scene_job ();

    (void) state;
    small.control_group = 10;
    large.control_group = 11;
    for (job.user_id = 0; job.user_id < 1000; job.user_id++)
        if (dn_policy_in_control (&small, &job, &spec, ""))
            assert_true (dn_policy_in_control (&large, &job, &spec, ""));
}

static void a_job_of_the_control_group_is_not_changed (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice =
        scene_advise ("Mode=enforce ControlGroup=100 Message=always", &job);

    (void) state;
    assert_int_equal (advice->decision.verdict, DN_VERDICT_CONTROL);
    assert_int_equal (advice->patch.n_edits, 1);
    assert_contains (find_edit (advice, DN_FIELD_ADMIN_COMMENT)->new_text,
                     "\"verdict\":\"control\"");
    assert_contains (find_edit (advice, DN_FIELD_ADMIN_COMMENT)->new_text, "\"set\":{");
    assert_string_equal (advice->patch.user_text, "");
    assert_contains (scene_log, "verdict=control");
    scene_need_reason (advice, "the job is in the control group");
    advice = scene_advise ("Mode=observe ControlGroup=100", &job);
    assert_int_equal (advice->decision.verdict, DN_VERDICT_CHANGE);
    advice = scene_advise ("Mode=enforce ControlGroup=100 MinConfidence=1", &job);
    assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("the default rules are those of the table",
              the_default_rules_are_those_of_the_table),
        TEST ("rules out of range are refused", rules_out_of_range_are_refused),
        TEST ("an oversized job is moved, trimmed and shortened",
              an_oversized_job_is_moved_trimmed_and_shortened),
        TEST ("a device that cannot run the job is no target",
              a_device_that_cannot_run_the_job_is_no_target),
        TEST ("nothing is ever raised", nothing_is_ever_raised),
        TEST ("doubts make it abstain", doubts_make_it_abstain),
        TEST ("the policy can keep every field", the_policy_can_keep_every_field),
        TEST ("a move must be worth it and quick enough",
              a_move_must_be_worth_it_and_quick_enough),
        TEST ("without an amount of work time stays and no slower GPU is chosen",
              without_an_amount_of_work_time_stays_and_no_slower_gpu_is_chosen),
        TEST ("an unset limit is filled only if the admin says so",
              an_unset_limit_is_filled_only_if_the_admin_says_so),
        TEST ("without a limit no slower GPU is chosen",
              without_a_limit_no_slower_gpu_is_chosen),
        TEST ("unstated precision stays where bf16 runs",
              unstated_precision_stays_where_bf16_runs),
        TEST ("a warning before the limit lengthens it",
              a_warning_before_the_limit_lengthens_it),
        TEST ("few CPUs make the bound longer, not shorter",
              few_cpus_make_the_bound_longer_not_shorter),
        TEST ("limits are raised only if the admin says so",
              limits_are_raised_only_if_the_admin_says_so),
        TEST ("CPUs are raised within their bounds",
              cpus_are_raised_within_their_bounds),
        TEST ("no limit is filled in above its maximum",
              no_limit_is_filled_in_above_its_maximum),
        TEST ("the least time is set and the limit left",
              the_least_time_is_set_and_the_limit_left),
        TEST ("the least time is left where it would hurt",
              the_least_time_is_left_where_it_would_hurt),
        TEST ("a move keeps the deadline of the job",
              a_move_keeps_the_deadline_of_the_job),
        TEST ("the start of a run counts", the_start_of_a_run_counts),
        TEST ("a move keeps the budget of the job", a_move_keeps_the_budget_of_the_job),
        TEST ("the choice minimises the objective", the_choice_minimises_the_objective),
        TEST ("the slowdown is bounded where it is stated",
              the_slowdown_is_bounded_where_it_is_stated),
        TEST ("all jobs with GPUs are examined if the admin says so",
              all_jobs_with_gpus_are_examined_if_the_admin_says_so),
        TEST ("the user of an undescribed job gets a message if the admin says so",
              the_user_of_an_undescribed_job_gets_a_message_if_the_admin_says_so),
        TEST ("the control group has its share", the_control_group_has_its_share),
        TEST ("the draw sees owner, script and description",
              the_draw_sees_owner_script_and_description),
        TEST ("a larger control group keeps its members",
              a_larger_control_group_keeps_its_members),
        TEST ("a job of the control group is not changed",
              a_job_of_the_control_group_is_not_changed),
    };

    return cmocka_run_group_tests_name ("policy", tests, NULL, NULL);
}
