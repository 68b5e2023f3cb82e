/* policy.c - tests of policy/: what is changed, and what must not be changed
 *
 * They go through dn_advise (), so that the estimates are real ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <pthread.h>

#include "scene.h"

/* The description of the scene's job, which has 20 epochs of imagenet more. */
#define RESNET "dnnest:model=resnet50,batch=128,precision=fp16"
#define WORK   RESNET ",epochs=20,dataset=imagenet"

static int set_rule (struct dn_rules *rules,
                     const char *key,
                     const char *value,
                     struct dn_err *err)
{
    const struct dn_rule_key *row = dn_rules_find (dn_span_of (key));

    assert_non_null (row);
    return dn_rules_read (row, dn_span_of (value), rules, err);
}

TEST ("the default rules are those of the table")
{
    struct dn_rules rules = dn_rules_default ();
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct dn_rules again = rules;

        assert_int_equal (set_rule (&again, keys[i].name, keys[i].value, NULL), 0);
        assert_memory_equal (&again, &rules, sizeof (rules));
    }
    assert_int_equal (rules.mode, DN_MODE_ADVISE);
    assert_near (rules.time_quantile, 0.99);
}

TEST ("rules out of range are refused")
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

    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        if (set_rule (&rules, bad[i][0], bad[i][1], &unit_err) == 0)
            fail_msg ("%s=%s was accepted", bad[i][0], bad[i][1]);
        assert_contains (unit_err.text, bad[i][0]);
    }
    assert_memory_equal (&rules, &before, sizeof (rules));
}

#define NO_KERNELS "not v100: the stated software has no kernels for it"

static char *comment_of (const char *more)
{
    return unit_text ("dnnest:model=resnet50,optimizer=momentum,dataset=imagenet,%s",
                      more);
}

TEST ("a device that cannot run the job is no target")
{
    static const char *const cases[][2] = {
        {"batch=128,precision=bf16,epochs=20", "not v100: cannot run this precision"},
        {"batch=256,precision=fp32,epochs=1", "not v100: may need"},
        {"batch=128,precision=fp16,epochs=20,torch=2.14", NO_KERNELS},
        {"batch=128,precision=fp16,epochs=20,since=2026", NO_KERNELS},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        SCENE_EXPECT ("", job.comment = comment_of (cases[i][0]), !d->gpu, cases[i][1]);
}

/* An untyped request may start on any type. */
TEST ("a type that cannot run an untyped job does not stop decisions about the others")
{
    static const struct {
        const char *more;
        const char *says;
        enum dn_warning_kind warns;
    } cases[] = {
        {"batch=128,precision=bf16",
         "not v100: cannot run this precision",
         DN_WARNING_PRECISION},
        {"batch=330,precision=fp32", "not v100: may need", DN_WARNING_MEMORY},
        {"batch=128,precision=fp16,torch=2.14", NO_KERNELS, DN_WARNING_NONE},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_advice *advice = SCENE_ADVICE (
            "Mode=enforce",
            (job.tres[DN_GPU_PER_NODE] = "gres:gpu:4",
             job.comment = comment_of (unit_text ("epochs=2,%s", cases[i].more))));

        assert_int_equal (advice->decision.verdict, DN_VERDICT_CHANGE);
        assert_int_equal (advice->decision.base, 1);
        assert_in_range (advice->decision.time_limit_s, 1, 86399);
        scene_need_reason (advice, cases[i].says);
        if (cases[i].warns != DN_WARNING_NONE)
            assert_true (dn_decision_warning (&advice->decision, cases[i].warns));
    }
}

TEST ("software in the script that has no kernels for a device leaves it out")
{
    SCENE_EXPECT ("",
                  job.script = "#!/bin/sh\nmodule load cuda/12.4\nsrun hostname\n",
                  d->chosen == 0,
                  "");
    SCENE_EXPECT (
        "",
        job.script = "#!/bin/sh\nmodule load cuda/13.0.2\nsrun hostname\n",
        !d->gpu,
        "gpu: not v100: the script, line 2: 'cuda/13.0.2' has no kernels for it");
    SCENE_EXPECT (
        "",
        (job.script = "#SBATCH --container-image=pytorch:25.08\nsrun hostname\n",
         job.image = "nvidia/pytorch:24.05-py3"), /* of the command line */
        d->chosen == 0,
        "");
    SCENE_EXPECT (
        "",
        (job.script = NULL, job.image = "nvidia/pytorch:25.08-py3"),
        !d->gpu,
        "gpu: not v100: --container-image: 'nvidia/pytorch:25.08-py3' has no kernels");
}

TEST ("a loop of trainings keeps time and GPU type, unless runs= counts them")
{
    static const char loop[] =
        "#!/bin/sh\nfor seed in 0 1 2; do python train.py --seed $seed; done\n";

    SCENE_EXPECT ("Mode=enforce",
                  job.script = loop,
                  d->time_limit_s == DN_UNSET && !d->gpu,
                  "time: kept, the script, line 2: ");
    SCENE_EXPECT ("Mode=enforce",
                  (job.script = loop, job.comment = WORK ",runs=3"),
                  d->time_limit_s > 0 && d->gpu && d->cpus_per_task > 0,
                  "");
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

TEST ("nothing is ever raised")
{
    static const char *const says[] = {
        "time: kept, the bound is",
        "cpus: kept, -c 4 gives 4 of 88 that the input pipeline needs"};

    for (size_t i = 0; i < DN_N_ELEMENTS (says); i++)
        SCENE_EXPECT ("GpuType=keep",
                      job = tight_job (),
                      d->verdict == DN_VERDICT_KEEP && d->time_limit_s == DN_UNSET
                          && d->cpus_per_task == DN_UNSET && !d->gpu,
                      says[i]);
}

TEST ("doubts make it abstain")
{
    static const struct {
        const char *keys; /* of the description; NULL: the scene's */
        const char *tres; /* behind "gres:gpu:"; NULL: none */
        const char *conf;
        const char *reason;
    } cases[] = {
        {NULL, "h100:4", "", "type 'h100' has no Gpu line"},
        {NULL, "V100:4", "", "capital letters, did you mean v100?"},
        {NULL, NULL, "", "no GPU was requested"},
        {NULL, NULL, "MinConfidence=0.9", "no GPU was requested"},
        {NULL, "a100:4", "MinConfidence=0.9", "is below MinConfidence"},
        {"resnet50,batch=8,gpus=8",
         "a100:4",
         "",
         "metadata says 8 GPUs, 4 were requested"},
        {"gpt2_xl,batch=64,precision=fp16", "a100:4", "", "of GPU memory, a100 has"},
        {"resnet50,batch=8,precision=bf16",
         "v100:4",
         "Upgrade=no",
         "v100 cannot run this precision"},
        {"mistral_7b,batch=1,experts=8,top_k=2",
         "a100:4",
         "",
         "keys experts=, top_k= are not read by mistral_7b"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job doubtful = scene_job ();

        doubtful.tres[DN_GPU_PER_NODE] =
            cases[i].tres ? unit_text ("gres:gpu:%s", cases[i].tres) : NULL;
        if (cases[i].keys)
            doubtful.comment = unit_text ("dnnest:model=%s", cases[i].keys);
        SCENE_EXPECT (cases[i].conf,
                      job = doubtful,
                      d->verdict == DN_VERDICT_ABSTAIN,
                      cases[i].reason);
    }
}

TEST ("the policy can keep every field")
{
    static const char *const fields[] = {"time", "gpu", "cpus"};

    for (size_t i = 0; i < DN_N_ELEMENTS (fields); i++)
        SCENE_EXPECT ("TimeLimit=keep\nGpuType=keep\nCpus=keep",
                      ,
                      d->verdict == DN_VERDICT_KEEP,
                      unit_text ("%s: kept, the policy", fields[i]));
}

TEST ("a move must be worth it and quick enough")
{
    SCENE_EXPECT ("MaxSlowdown=1.01", , true, "% of the time");
    SCENE_EXPECT ("Objective=time", , !d->gpu, "");
    SCENE_EXPECT ("",
                  job.comment = WORK ",deadline=2:00:00",
                  true,
                  "might not meet the deadline");
}

/* With Cost=3 of the v100 and Cost=4 of the a100. */
static struct dn_advice *advise_prices (const char *from,
                                        const char *objective,
                                        const char *steps)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_new ();
    struct dn_view view;
    struct dn_site *site = scene_site (unit_text (
        "Mode=enforce\nMinConfidence=0\nUpgrade=yes\nObjective=%s", objective));

    site->gpu_types.types[0].cost = 3;
    job.tres[DN_GPU_PER_NODE] = from;
    job.comment = unit_text (RESNET ",steps=%s", steps);
    scene_idle (&view);
    assert_int_equal (dn_advise (site, &view, &job, NULL, NULL, advice, NULL), 0);
    return advice;
}

/* A step on the a100 is so much faster that it is cheaper there. A short run is mostly
 * its start, which takes as long on both types and costs less on the v100.
 */
TEST ("the start of a run counts")
{
    static const char *const objectives[] = {"cost", "time", "energy"};
    struct dn_advice *advice;

    for (size_t i = 0; i < DN_N_ELEMENTS (objectives); i++) {
        advice = advise_prices ("gres:gpu:v100:4", objectives[i], "100000");
        assert_non_null (advice->decision.gpu);
        advice = advise_prices ("gres:gpu:v100:4", objectives[i], "10");
        assert_null (advice->decision.gpu);
        scene_need_reason (advice, "gpu: not a100: too little gain");
    }
    /* The words give the ratios of the times and costs of the table. */
    advice = advise_prices ("gres:gpu:a100:4", "cost", "10");
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

TEST ("a move keeps the budget of the job")
{
    SCENE_EXPECT (
        "", job.comment = WORK ",budget=0.5", !d->gpu, "above the budget of 0.50");
    SCENE_EXPECT ("", job.comment = WORK ",budget=1M", d->gpu, "");
}

TEST ("without an amount of work the time stays, or is as much longer")
{
    SCENE_EXPECT ("",
                  job.comment = RESNET,
                  d->gpu && d->cpus_per_task < 80
                      && (double) d->time_limit_s == ceil (1440 * d->factor) * 60,
                  "the amount of work is unknown");
    SCENE_EXPECT ("GpuType=open",
                  job.comment = RESNET,
                  d->time_limit_s == DN_UNSET && d->n_open == 2,
                  "");
}

TEST ("an unset limit is filled only if the admin says so")
{
    SCENE_EXPECT ("",
                  job.time_limit_min = DN_UNSET,
                  d->time_limit_s == DN_UNSET,
                  "no limit was requested");
    SCENE_EXPECT (
        "FillUnset=yes", job.time_limit_min = DN_UNSET, d->time_limit_s > 0, "");
}

TEST ("without a limit no slower GPU is chosen")
{
    SCENE_EXPECT ("",
                  job.time_limit_min = DN_UNSET,
                  !d->gpu,
                  "slower, and the partition's limit is unknown");
}

TEST ("unstated precision stays where bf16 runs")
{
    SCENE_EXPECT ("MinConfidence=0.1",
                  job.comment =
                      "dnnest:model=resnet50,batch=64,epochs=1,dataset=imagenet",
                  !d->gpu,
                  "precision= is not stated, and it has no bf16");
}

TEST ("a warning before the limit lengthens it")
{
    int64_t plain_s = SCENE_ADVICE ("GpuType=keep", )->decision.time_limit_s;

    SCENE_EXPECT ("GpuType=keep",
                  job.signal_s = 3600,
                  d->time_limit_s >= plain_s + 3600
                      && d->time_limit_s <= plain_s + 3900,
                  "");
}

TEST ("limits are raised only if the admin says so")
{
    struct dn_job tight = tight_job ();
    struct dn_advice *advice =
        scene_advise ("GpuType=keep Mode=enforce NeverRaise=no", &tight);
    int64_t bound = advice->decision.time_limit_s;

    assert_true (bound > 30 * 60);
    assert_null (advice->decision.gpu);
    assert_contains (advice->patch.user_text, "time 00:30:00 -> ");
    SCENE_EXPECT ("GpuType=keep Mode=enforce NeverRaise=yes",
                  job = tight,
                  d->time_limit_s == DN_UNSET,
                  "NeverRaise=yes");
    SCENE_EXPECT ("GpuType=keep NeverRaise=no TimeMax=00:40:00",
                  job = tight,
                  d->time_limit_s == DN_UNSET,
                  "above TimeMax");
    tight.deadline_s = bound - 1;
    SCENE_EXPECT ("GpuType=keep NeverRaise=no",
                  job = tight,
                  d->time_limit_s == DN_UNSET,
                  "beyond the deadline");
    tight.deadline_s = bound;
    SCENE_EXPECT (
        "GpuType=keep NeverRaise=no", job = tight, d->time_limit_s == bound, "");
}

TEST ("CPUs are raised within their bounds")
{
    struct dn_job tight = tight_job ();
    struct dn_advice *advice = scene_advise ("Mode=enforce NeverRaise=no", &tight);
    int64_t cpus = advice->decision.cpus_per_task;

    assert_true (cpus > 4);
    assert_int_equal (scene_number (advice, DN_FIELD_CPUS_PER_TASK), cpus);
    assert_int_equal (scene_number (advice, DN_FIELD_MIN_CPUS), cpus);
    assert_int_equal (scene_number (advice, DN_FIELD_PN_MIN_CPUS), cpus);
    SCENE_EXPECT (unit_text ("NeverRaise=no CpusPerGpuMax=%d", (int) cpus / 4 - 1),
                  job = tight,
                  d->cpus_per_task == DN_UNSET,
                  "CpusPerGpuMax");
    /* A node of the scene has 96. */
    SCENE_EXPECT ("NeverRaise=no CpusPerGpuMin=25",
                  job = tight,
                  d->cpus_per_task == DN_UNSET,
                  "");
    SCENE_EXPECT (
        "NeverRaise=no CpusPerGpuMin=24", job = tight, d->cpus_per_task == 96, "");
    SCENE_EXPECT (
        "NeverRaise=no Cpus=keep", job = tight, d->cpus_per_task == DN_UNSET, "");
}

TEST ("no limit is filled in above its maximum")
{
    SCENE_EXPECT ("FillUnset=yes TimeMax=00:31:00",
                  job.time_limit_min = DN_UNSET,
                  d->time_limit_s == DN_UNSET,
                  "above TimeMax");
    /* Lowering is not bound by it. */
    SCENE_EXPECT ("TimeMax=00:31:00", , d->time_limit_s > 31 * 60, "");
}

TEST ("the least time is set and the limit left")
{
    struct dn_advice *limit = SCENE_ADVICE ("Mode=enforce GpuType=keep", );
    struct dn_advice *least = SCENE_ADVICE (
        "Mode=enforce GpuType=keep TimeLimit=time_min GuardedQuantile=0.99", );

    assert_int_equal (least->decision.verdict, DN_VERDICT_CHANGE);
    assert_int_equal (least->decision.time_limit_s, DN_UNSET);
    assert_int_equal (least->decision.time_min_s, limit->decision.time_limit_s);
    assert_null (scene_edit (least, DN_FIELD_TIME_LIMIT, NULL));
    assert_int_equal (scene_edit (least, DN_FIELD_TIME_MIN, NULL)->old_number,
                      DN_UNSET);
    assert_int_equal (scene_number (least, DN_FIELD_TIME_MIN),
                      limit->decision.time_limit_s / 60);
    assert_contains (least->patch.user_text, "dnnest: planned as ");
    assert_contains (least->patch.user_text, " of 1-00:00:00 (resnet50");
    assert_contains (scene_log, " changes=planned as ");
    assert_contains (scene_record (least), "\"time_min_s\":");
}

TEST ("the least time is left where it would hurt")
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

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        SCENE_EXPECT ("GpuType=keep TimeLimit=time_min FillUnset=yes NeverRaise=no",
                      (job.time_limit_min = cases[i].time_limit_min,
                       job.time_min_min = cases[i].time_min_min,
                       job.deadline_s = cases[i].deadline_s),
                      d->time_min_s == DN_UNSET && d->time_limit_s == DN_UNSET,
                      cases[i].reason);
}

TEST ("a move keeps the deadline of the job")
{
    const struct dn_decision *moved = &SCENE_ADVICE ("", )->decision;

    assert_non_null (moved->gpu);
    SCENE_EXPECT ("", job.deadline_s = moved->time_limit_s, d->gpu, "");
    SCENE_EXPECT ("",
                  job.deadline_s = moved->time_limit_s - 1,
                  !d->gpu,
                  "might not meet the deadline");
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

TEST ("the choice minimises the objective")
{
    static const char *const objectives[] = {"cost", "time", "energy"};

    for (int i = 0; i < 6; i++) {
        struct dn_job job = scene_job ();
        const char *objective = objectives[i / 2];
        struct dn_advice *advice;

        /* In every other case the job sets the objective, and the site another one. */
        job.comment = unit_text (
            "%s%s%s", job.comment, i % 2 ? ",objective=" : "", i % 2 ? objective : "");
        advice =
            scene_advise (unit_text ("MaxSlowdown=99 MinConfidence=0 Upgrade=yes "
                                     "UserObjective=yes Objective=%s",
                                     i % 2 ? objectives[(i / 2 + 1) % 3] : objective),
                          &job);
        assert_int_equal (advice->candidates.n_candidates, 2);
        assert_true (price (advice, objective, advice->decision.chosen)
                     <= price (advice, objective, 1 - advice->decision.chosen));
    }
}

TEST ("the slowdown is bounded where it is stated")
{
    struct dn_advice *advice = SCENE_ADVICE ("", );
    double slowdown = advice->estimates[0].step_s.p50 / advice->estimates[1].step_s.p50;

    assert_true (slowdown > 1.05);
    SCENE_EXPECT (unit_text ("MaxSlowdown=%.6f", slowdown * 1.01), , d->gpu, "");
    SCENE_EXPECT (unit_text ("MaxSlowdown=%.6f", slowdown * 0.99), , !d->gpu, "");
}

TEST ("all jobs with GPUs are examined if the admin says so")
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
        edit = scene_edit (advice, DN_FIELD_ADMIN_COMMENT, NULL);
        assert_int_equal (edit != NULL, cases[i].recorded);
        assert_int_equal (advice->patch.n_edits, cases[i].recorded);
        assert_string_equal (advice->patch.user_text, "");
        if (edit) {
            assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
            assert_contains (edit->new_text, "\"verdict\":\"abstain\"");
            dn_advice_log (advice, scene_log);
            assert_contains (scene_log, "the job has no metadata");
        }
    }
}

TEST ("the user of an undescribed job gets a message if the admin says so")
{
    assert_string_equal (
        SCENE_ADVICE ("OptIn=all Message=always", job.comment = NULL)->patch.user_text,
        "dnnest: job unchanged (the job has no metadata)");
}

/* With that share, is a submission with that number in the control group? */
static bool is_control (double percent, int64_t draw)
{
    struct dn_rules rules = dn_rules_default ();
    struct dn_spec spec = dn_spec_empty ();
    struct dn_job job = scene_job ();

    rules.control_group = percent;
    job.draw = draw;
    return dn_policy_in_control (&rules, &job, &spec);
}

/* How many of 'n' submissions of a job are in it? */
static int count_control (double percent, int n)
{
    int count = 0;

    for (int64_t draw = 1000; draw < 1000 + n; draw++)
        count += is_control (percent, draw);
    return count;
}

TEST ("the control group has its share")
{
    assert_numbers ("0 1000", count_control (0, 1000), count_control (100, 1000));
    /* Four standard deviations of 10000 draws. */
    assert_in_range (count_control (10, 10000), 880, 1120);
    assert_in_range (count_control (0.5, 10000), 22, 78);
    assert_in_range (count_control (50, 10000), 4800, 5200);
}

/* How many of 'n' more jobs may be changed 's' seconds after the start? */
static int count_changes (struct dn_view *view, int64_t s, int n)
{
    int count = 0;

    view->now_s = view->begun_s + s;
    for (int i = 0; i < n; i++)
        count += dn_policy_may_change (view, 20);
    return count;
}

TEST ("after a start the jobs that are changed in an hour double each hour")
{
    uint64_t changes = 0;
    struct dn_view view = {.begun_s = 1700000000, .changes = &changes};

    assert_int_equal (count_changes (&view, 0, 15), 15);
    assert_int_equal (count_changes (&view, 3599, 100), 5);
    assert_int_equal (count_changes (&view, 3600, 100), 40);
    assert_int_equal (count_changes (&view, 3 * 3600 + 1800, 1000), 160);
    assert_int_equal (count_changes (&view, 3 * 3600 + 1801, 1000), 0);
    assert_int_equal (count_changes (&view, 9 * 3600, 20000), 20 * 512);
    assert_int_equal (count_changes (&view, 10 * 3600, 20000), 20000);
}

TEST ("no hour is counted again, also if the clock is set back")
{
    uint64_t changes = 0;
    struct dn_view view = {.begun_s = 1700000000, .changes = &changes};

    assert_int_equal (count_changes (&view, 3600, 100), 40);
    assert_int_equal (count_changes (&view, 0, 100), 0);
    assert_int_equal (count_changes (&view, -86400, 100), 0);
    assert_int_equal (count_changes (&view, 3600, 100), 0);
    view.begun_s += 3700; /* another start */
    assert_int_equal (count_changes (&view, 0, 100), 20);
}

TEST ("without a count, and with StartChanges=0, all jobs are changed")
{
    uint64_t changes = 0;
    struct dn_view view = {.begun_s = 1700000000, .changes = NULL};

    assert_int_equal (count_changes (&view, 0, 1000), 1000);
    view.changes = &changes;
    assert_true (dn_policy_may_change (&view, 0));
    assert_int_equal (changes, 0);
}

static void *count_in_thread (void *view)
{
    intptr_t count = 0;

    for (int i = 0; i < 20000; i++)
        count += dn_policy_may_change (view, 5000);
    return (void *) count;
}

TEST ("threads that count at once change as many jobs as one")
{
    uint64_t changes = 0;
    struct dn_view view = {
        .begun_s = 1700000000, .now_s = 1700000000, .changes = &changes};
    pthread_t threads[4];
    intptr_t sum = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (threads); i++)
        assert_int_equal (pthread_create (&threads[i], NULL, count_in_thread, &view),
                          0);
    for (size_t i = 0; i < DN_N_ELEMENTS (threads); i++) {
        void *count;

        assert_int_equal (pthread_join (threads[i], &count), 0);
        sum += (intptr_t) count;
    }
    assert_int_equal (sum, 5000);
}

TEST ("without a number of its own a submission is drawn only if all are")
{
    assert_false (is_control (99.9, scene_job ().draw));
    assert_true (is_control (100, scene_job ().draw));
}

TEST ("by applications the draw sees owner, script and description")
{
    struct dn_rules rules = dn_rules_default ();
    struct dn_spec spec = dn_spec_empty ();
    struct dn_job job = scene_job ();
    int by_user = 0;
    int by_script = 0;
    int by_spec = 0;

    rules.control_group = 50;
    rules.control_by = DN_DRAW_APP;
    for (int i = 0; i < 1000; i++) {
        struct dn_job request = job;
        struct dn_job other = job;
        struct dn_spec changed = spec;
        bool control = dn_policy_in_control (&rules, &job, &spec);

        request.time_limit_min = i;
        request.cpus_per_task = i;
        request.tres[DN_GPU_PER_NODE] = NULL;
        request.partition = "p";
        assert_int_equal (dn_policy_in_control (&rules, &request, &spec), control);
        other.user_id = i;
        by_user += dn_policy_in_control (&rules, &other, &spec);
        request.script = unit_text ("#!/bin/sh\n# %d\n", i);
        by_script += dn_policy_in_control (&rules, &request, &spec);
        changed.batch = i + 1;
        by_spec += dn_policy_in_control (&rules, &job, &changed);
    }
    assert_in_range (by_user, 436, 564);
    assert_in_range (by_script, 436, 564);
    assert_in_range (by_spec, 436, 564);
}

TEST ("a larger control group keeps its members")
{
    for (int64_t draw = 0; draw < 1000; draw++)
        assert_true (is_control (11, draw) || !is_control (10, draw));
}

TEST ("a job of the control group is not changed")
{
    struct dn_advice *advice =
        SCENE_ADVICE ("Mode=enforce ControlGroup=100 Message=always", );

    assert_int_equal (advice->decision.verdict, DN_VERDICT_CONTROL);
    assert_int_equal (advice->patch.n_edits, 1);
    assert_contains (scene_record (advice), "\"verdict\":\"control\"");
    assert_contains (scene_record (advice), "\"set\":{");
    assert_string_equal (advice->patch.user_text, "");
    assert_contains (scene_log, "verdict=control");
    scene_need_reason (advice, "the job is in the control group");
    SCENE_EXPECT (
        "Mode=observe ControlGroup=100", , d->verdict == DN_VERDICT_CHANGE, "");
    SCENE_EXPECT ("Mode=enforce ControlGroup=100 MinConfidence=1",
                  ,
                  d->verdict == DN_VERDICT_ABSTAIN,
                  "");
}
