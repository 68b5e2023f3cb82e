/* learned.c - tests of what the history of an application makes of a decision
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <inttypes.h>

#include "scene.h"

#define GIB (1024.0 * 1024 * 1024)

/* Rows of one application, as the test likes them. */
static struct past {
    char types[2][DN_NAME_MAX];
    struct dn_app_row rows[2];
    struct dn_apps apps;
} past;
static struct dn_app_row *const row = past.rows;

/* 'n' rows of seven runs of an hour each, on a100 and v100. */
static void past_init (dn_app_key key, int n)
{
    past = (struct past){.types = {"a100", "v100"}};
    for (int i = 0; i < n; i++)
        past.rows[i] = (struct dn_app_row){.key = key,
                                           .type = i,
                                           .gpus = 4,
                                           .unit = DN_WORK_RUN,
                                           .freedom = 10,
                                           .runs = 7,
                                           .unit_s = 3600,
                                           .sigma = 0.05F,
                                           .longest_s = 3700,
                                           .work_min = 1,
                                           .work_max = 1};
    past.apps = (struct dn_apps){
        .types = past.types, .n_types = 2, .rows = past.rows, .n_rows = n};
}

/* One row of runs that took 'factor' of what is predicted, 'base_s'. */
static void past_predicted (dn_app_key key, double base_s, float factor)
{
    past_init (key, 1);
    row->unit = DN_WORK_PREDICTED;
    row->unit_s = factor;
    row->work_min = row->work_max = (float) base_s;
}

static void assert_alike (double value, double expected)
{
    if (fabs (value - expected) > 1e-4 * fabs (expected))
        fail_msg ("%g, expected %g", value, expected);
}

/* The job of the test, the last advice on it, and its estimates on a100 and v100. */
static struct dn_job job;
static struct dn_advice *advice;
static struct dn_decision *d;
static const struct dn_estimate *a100;
static const struct dn_estimate *v100;

/* All nodes are idle, and in all partitions. */
static bool sees;

int before_test (void **state)
{
    job = scene_job ();
    return 0;
}

/* With these rules, where runs are known or not. */
static void advise (const char *rules, bool known)
{
    struct dn_view view = {.now_s = SCENE_NOW};

    if (sees)
        scene_idle (&view);
    view.apps = known ? &past.apps : NULL;
    advice = scene_advise_in (unit_text ("Mode=enforce\n%s", rules), &view, &job);
    d = &advice->decision;
    for (int i = 0; i < advice->candidates.n_candidates; i++)
        *(strcmp (advice->candidates.list[i].gpu->type, "a100") == 0 ? &a100 : &v100) =
            &advice->estimates[i];
}

#define HISTORY "OptIn=history\n"
#define LIMIT   "TimeLimit=limit\n"

/* The job is a script without metadata, with one row of runs of its own. */
static void know_script (void)
{
    job.comment = NULL;
    job.script = "#!/bin/sh\npython train.py --model resnet50\n";
    advise (HISTORY, false);
    assert_int_equal (d->verdict, DN_VERDICT_ABSTAIN);
    assert_int_equal (d->abstain, DN_ABSTAIN_HISTORY);
    past_init (dn_app_key_of_user (job.user_id, d->app), 1);
}

TEST ("a job without metadata follows its runs")
{
    know_script ();
    advise (HISTORY LIMIT, true);
    assert_int_equal (d->verdict, DN_VERDICT_CHANGE);
    /* 3600 s * exp (0.05 * 2.764) * 1.1, in steps of five minutes */
    assert_int_equal (d->time_limit_s, 4800);
    assert_null (d->gpu);
    assert_int_equal (d->cpus_per_task, DN_UNSET);
    assert_contains (advice->patch.user_text, "likely 1h00m by 7 of your runs");
    assert_contains (advice->patch.record, "\"hist\":7");
    assert_contains (advice->patch.record, "\"unit\":\"run\",\"work\":1");
    /* Without the rule, or with that for records, nothing is changed. */
    advise ("", true);
    assert_int_equal (d->verdict, DN_VERDICT_NONE);
    advise ("OptIn=all\n", true);
    assert_int_equal (d->abstain, DN_ABSTAIN_NO_METADATA);
}

TEST ("the user is told of runs that are much longer")
{
    know_script ();
    row->unit_s = 90;
    row->longest_s = 36000;
    advise (HISTORY LIMIT, true);
    assert_int_equal (d->time_limit_s, 39600);
    assert_contains (advice->patch.user_text, "by 7 of your runs, the longest 10h00m");
}

TEST ("what is not known is left alone")
{
    for (int i = 0; i < 6; i++) {
        know_script ();
        row->runs = i == 0 ? 1 : 7;
        row->gpus = i == 1 ? 2 : 4;
        row->key += i == 2;
        row->type = i == 3;
        row->unit = i == 4 ? DN_WORK_EPOCHS : DN_WORK_RUN;
        row->sigma = i == 5 ? 1 : 0.05F;
        advise (HISTORY LIMIT, true);
        if (d->verdict != DN_VERDICT_ABSTAIN)
            fail_msg ("case %d is decided", i);
        assert_int_equal (advice->patch.n_edits, 1);
    }
}

/* The estimate on a100 of the demonstration's job, by the history of "rn" or none. */
static struct dn_estimate estimate_by (bool known)
{
    job = scene_job ();
    job.comment = unit_text ("%s,app=rn", job.comment);
    advise ("", known);
    assert_non_null (a100->device);
    return *a100;
}

static dn_app_key rn_key (void)
{
    return dn_app_key_of_user (scene_job ().user_id, "rn");
}

TEST ("a prediction is corrected")
{
    struct dn_estimate plain = estimate_by (false);
    struct dn_estimate learned;

    assert_true (plain.base_s > 0 && plain.history_runs == 0);
    past_predicted (rn_key (), plain.base_s, 1.5F);
    row->longest_s = (float) (1.5 * plain.base_s);
    learned = estimate_by (true);
    assert_alike (learned.base_s, plain.base_s);
    assert_alike (learned.train_s.p50, 1.5 * plain.base_s);
    assert_alike (learned.step_s.p50, 1.5 * plain.step_s.p50);
    assert_int_equal (learned.history_runs, 7);
    assert_true (dn_range_at (learned.train_s, 0.99) / learned.train_s.p50
                 < dn_range_at (plain.train_s, 0.99) / plain.train_s.p50);
    /* Another bundle has predicted other seconds. */
    memcpy (past.apps.bundle, "old", 4);
    assert_int_equal (estimate_by (true).history_runs, 0);
}

TEST ("runs of a known network suffice, however far their times scatter")
{
    const char *rules = "MinConfidence=0.95\n";
    double base_s = estimate_by (false).base_s;
    advise (rules, false);
    assert_int_equal (d->abstain, DN_ABSTAIN_CONFIDENCE);
    past_predicted (rn_key (), base_s, 1);
    row->sigma = 1;
    advise (rules, true);
    assert_true (a100->confidence < 0.5);
    assert_int_equal (d->abstain, DN_ABSTAIN_NONE);
}

TEST ("work far from that of the runs is less certain")
{
    struct dn_estimate plain = estimate_by (false);
    const double factors[] = {1, 1.9, 4, 9, 11};
    double before = 0;

    past_predicted (rn_key (), plain.base_s, 1);
    row->longest_s = 1;
    for (size_t i = 0; i < DN_N_ELEMENTS (factors); i++) {
        struct dn_estimate learned;

        row->work_min = row->work_max = (float) (plain.base_s * factors[i]);
        learned = estimate_by (true);
        if (i == DN_N_ELEMENTS (factors) - 1) {
            assert_int_equal (learned.history_runs, 0);
            break;
        }
        assert_int_equal (learned.history_runs, 7);
        assert_true (i < 2 ? fabs (learned.train_s.sigma - 0.05) < 1e-6
                           : learned.train_s.sigma > before);
        before = learned.train_s.sigma;
    }
}

TEST ("another type is only raised")
{
    struct dn_estimate plain = estimate_by (false);

    past_predicted (rn_key (), plain.base_s, 3);
    row->type = 1; /* v100 */
    assert_alike (estimate_by (true).train_s.p50, 3 * plain.base_s);
    row->unit_s = 0.5F;
    assert_alike (estimate_by (true).train_s.p50, plain.base_s);
}

TEST ("measured memory raises the bound")
{
    struct dn_estimate plain = estimate_by (false);
    struct dn_estimate learned;

    past_init (rn_key (), 1);
    row->gpu_mem_gb = 30;
    learned = estimate_by (true);
    assert_true (dn_range_at (learned.gpu_mem, 0.95) >= 29.9 * GIB);
    assert_alike (learned.gpu_mem.p50, plain.gpu_mem.p50);
    /* app= may name runs of other sizes, so it lowers nothing. */
    row->gpu_mem_gb = 1;
    learned = estimate_by (true);
    assert_alike (learned.gpu_mem.p50, plain.gpu_mem.p50);
}

TEST ("measured CPUs raise the need")
{
    struct dn_estimate plain = estimate_by (false);

    past_init (rn_key (), 1);
    row->cores = (float) plain.cpus_per_gpu;
    assert_true (estimate_by (true).cpus_per_gpu > plain.cpus_per_gpu);
    row->cores = 0.1F;
    assert_int_equal (estimate_by (true).cpus_per_gpu, plain.cpus_per_gpu);
}

#define SHARED LIMIT "HistoryShare=account\n"

/* An hour by the user's own runs; what others of his account had of it. */
static void past_shared (bool own, double theirs_s)
{
    struct dn_app_row lab;
    bool first;

    past_init (dn_app_key_of_user (1000, "rn"), 2);
    lab = row[0];
    lab.key = dn_app_key_of_account ("lab", "rn");
    lab.unit_s = lab.longest_s = (float) theirs_s;
    lab.cores = 40;
    lab.runs = 40;
    first = lab.key < row[0].key;
    row[1] = row[0];
    row[own && !first] = lab;
    past.apps.n_rows = own ? 2 : 1;
    past.apps.by_account = true;
    job.comment = "dnnest:app=rn";
    job.account = "lab";
    job.user_id = 1000;
}

TEST ("others of the account widen and never narrow")
{
    past_shared (true, 60);
    advise (SHARED, true);
    assert_int_equal (d->time_limit_s, 4800);
    assert_contains (advice->patch.user_text, "by 7 of your runs");
    past_shared (true, 7200);
    advise (SHARED, true);
    assert_int_equal (d->time_limit_s, 8100); /* 2 h and a tenth */
    assert_contains (advice->patch.user_text, "and longer ones of your account");
    advise (LIMIT, true);
    assert_int_equal (d->time_limit_s, 4800);
    job.account = "other";
    advise (SHARED, true);
    assert_int_equal (d->time_limit_s, 4800);
}

TEST ("who has not run it gets nothing lower by runs of others")
{
    past_shared (false, 60);
    advise (SHARED, true);
    assert_int_equal (d->verdict, DN_VERDICT_ABSTAIN);
}

TEST ("auto alone opts in")
{
    static const char *const comments[] = {
        "dnnest:auto", "dnnest:auto=1", "dnnest:auto,gpus=4", "dnnest:app=x"};

    for (size_t i = 0; i < DN_N_ELEMENTS (comments); i++) {
        job.script = "#!/bin/sh\ntrain\n";
        job.comment = comments[i];
        advise ("", false);
        assert_int_equal (d->abstain, DN_ABSTAIN_HISTORY);
        job.comment = NULL;
        job.option = comments[i] + strlen ("dnnest:");
        advise ("", false);
        assert_int_equal (d->abstain, DN_ABSTAIN_HISTORY);
    }
}

/* --- jobs that an earlier run describes --------------------------------------------
 */

static char graph[] =
    "{\"dnnest\":1,\"graph\":{\"ops\":[{\"op\":\"linear\",\"in\":[[4096]],\"out\":[[4096]],"
    "\"params\":16781312,\"repeat\":40}]}}";

/* A job with auto, whose newest run was on a100, and what that says of itself. */
static struct known_scene {
    struct dn_app_known known;
    char *networks[1];
    struct dn_app_kin kin;
} scene;

static void know (const char *comment, const char *spec)
{
    job = scene_job ();
    job.comment = comment;
    job.script = "#!/bin/sh\npython train.py\n";
    advise ("", false);
    past_init (dn_app_key_of_user (job.user_id, d->app), 1);
    row->cores = 2;
    scene = (struct known_scene){.networks = {graph},
                                 .known = {.key = row->key,
                                           .spec = unit_text ("%s", spec),
                                           .arch = "",
                                           .job = "12_3",
                                           .network = -1,
                                           .loader_share = 0.01F,
                                           .workers = 4,
                                           .gpus = 4,
                                           .gpus_used = 4,
                                           .gpus_runs = 2}};
    past.apps.known = &scene.known;
    past.apps.n_known = 1;
    past.apps.networks = scene.networks;
    past.apps.n_networks = 1;
}

#define RUN_SPEC "model=resnet50,batch=128,precision=fp16,optimizer=momentum"

TEST ("what an earlier run has described predicts the next one on all types")
{
    struct dn_estimate measured;
    struct dn_estimate other;
    struct dn_range translated;
    double step_s;

    know ("dnnest:auto", RUN_SPEC);
    advise ("", true);
    assert_true (advice->by_run);
    assert_alike (a100->train_s.p50, 3600);
    assert_numbers ("7 0", a100->history_runs, v100->history_runs);
    assert_string_equal (v100->history_from, "a100");
    measured = *a100;
    other = *v100;
    measured.by_history = other.by_history = false;
    step_s = measured.step_s.p50;
    translated = dn_translate_step (
        step_s,
        &(struct dn_setting){
            .spec = &advice->spec, .estimate = &measured, .unbound = true},
        &(struct dn_setting){
            .spec = &advice->spec, .estimate = &other, .unbound = true});
    assert_true (translated.p50 > 1.05 * step_s);
    assert_alike (v100->train_s.p50, 3600 * translated.p50 / step_s);
    assert_true (v100->train_s.sigma > 2 * a100->train_s.sigma);
    scene_need_reason (advice, "described by the run of job 12_3: 4 keys");
    assert_contains (advice->patch.user_text, ", described by the run of job 12_3");
    assert_contains (advice->patch.record, "\"by\":\"12_3\"");
    assert_null (strstr (advice->patch.record, "model=")); /* words of the job only */
    assert_contains (advice->patch.record, "\"spec\":\"auto=1\"");
}

TEST ("a network that an earlier run has described is predicted by its operators")
{
    know ("dnnest:app=mine", "batch=64,precision=fp32,optimizer=sgd");
    scene.known.network = 0;
    advise ("", true);
    assert_true (advice->by_run);
    assert_true (a100->step_s.p50 > 0);
    scene_need_reason (advice, " keys and the network");
}

TEST ("what an earlier run has described is no error, whatever it is")
{
    static const char *const specs[] = {
        "", "batch=64", "model=unheard_of,batch=1", "model=resnet50", "colour=blue"};

    for (size_t i = 0; i < DN_N_ELEMENTS (specs); i++) {
        know ("dnnest:auto", specs[i]);
        advise ("", true);
        assert_false (advice->by_run);
        assert_true (advice->by_history);
        assert_alike (a100->train_s.p50, 3600);
    }
}

TEST ("words of the job hold, and the measured time is translated to them")
{
    know ("dnnest:app=mine,batch=256", RUN_SPEC);
    advise ("", true);
    assert_int_equal (advice->spec.batch, 256);
    /* The same samples in larger steps. */
    assert_true (a100->train_s.p50 > 1800 && a100->train_s.p50 < 3600);
    assert_int_equal (a100->history_runs, 0);
    /* Half the GPUs take nearly twice the time. */
    job.comment = "dnnest:app=mine";
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a100:2";
    advise ("", true);
    assert_true (a100->train_s.p50 > 1.5 * 3600 && a100->train_s.p50 < 2.1 * 3600);
}

#define PLAIN "#!/bin/sh\npython train.py\n"

/* A history of one script or description, and a job with another. */
static void advise_kin (const char *measured,
                        const char *script,
                        const char *wanted,
                        const char *next)
{
    const char *batch;

    know (measured, RUN_SPEC);
    job.script = script;
    advise ("", false);
    batch = strchr (d->kin, '/');
    row->key = scene.known.key = dn_app_key_of_user (job.user_id, d->app);
    if (d->kin[0] != '\0')
        scene.known.kin = dn_app_key_of_user (
            job.user_id, unit_text ("%.*s", (int) strcspn (d->kin, "/"), d->kin));
    scene.known.batch = batch ? (int32_t) strtol (batch + 1, NULL, 10) : 0;
    scene.kin = (struct dn_app_kin){.kin = scene.known.kin};
    past.apps.kin = &scene.kin;
    past.apps.n_kin = scene.known.kin != 0;
    job.comment = wanted;
    job.script = next;
    advise ("", true);
}

TEST ("another batch in the metadata keeps the history of the application")
{
    static const char *const words[] = {
        "dnnest:auto,batch=128", "dnnest:auto", "dnnest:auto,batch=64"};

    for (size_t i = 0; i < DN_N_ELEMENTS (words); i++) {
        advise_kin (words[i], PLAIN, "dnnest:auto,batch=256", PLAIN);
        assert_true (advice->by_run);
        assert_int_equal (advice->spec.batch, 256);
        assert_true (a100->train_s.p50 > 1800 && a100->train_s.p50 < 3600);
        assert_int_equal (a100->history_runs, 0);
        scene_need_reason (advice, "described by the run of job 12_3");
    }
}

TEST ("another precision or none is translated, another network is not")
{
    advise_kin ("dnnest:auto,precision=fp16", PLAIN, "dnnest:auto", PLAIN);
    assert_true (advice->by_run);
    assert_alike (a100->train_s.p50, 3600);
    advise_kin ("dnnest:auto", PLAIN, "dnnest:auto,batch=64,grad_accum=2", PLAIN);
    assert_true (advice->by_run);
    advise_kin ("dnnest:auto", PLAIN, "dnnest:auto", "#!/bin/sh\npython other.py\n");
    assert_false (advice->by_run);
    job.script = PLAIN;
    job.user_id++;
    advise ("", true);
    assert_false (advice->by_run);
    assert_alike (a100->train_s.p50, -1);
}

TEST ("another batch in the script is translated by its ratio")
{
    static const struct {
        const char *old;
        const char *new;
        int64_t batch; /* of the next run; 0: it is not known */
    } cases[] = {
        {"python train.py --batch-size 512", "python train.py --batch-size 1024", 256},
        {"BS=128 python train.py", "BS=32 python train.py", 32},
        {"python train.py --bs 512", "python train.py --bs 3", 0},
        {"python train.py --bs 512", "python train.py --bs 9000000000", 0},
        {"python train.py --bs 512", "python train.py --bs $B", 0},
        {"python train.py --bs 512", "python train.py --bs 512 --batch-size 4", 0},
        {"python train.py --bs 512", "python train.py", 0},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        advise_kin ("dnnest:auto",
                    unit_text ("#!/bin/sh\n%s\n", cases[i].old),
                    "dnnest:auto",
                    unit_text ("#!/bin/sh\n%s\n", cases[i].new));
        if (advice->by_run != (cases[i].batch > 0)
            || (cases[i].batch > 0 && advice->spec.batch != cases[i].batch))
            fail_msg ("case %zu: %" PRId64, i, advice->spec.batch);
        if (cases[i].batch == 0)
            assert_int_equal (d->abstain, DN_ABSTAIN_HISTORY);
    }
}

/* A run on type 'from' with few workers, that waited for that share of its time: the
 * time on v100 over that on a100.
 */
static double ratio_of (int from, float loader_share, int64_t *a100_cpus)
{
    know ("dnnest:auto", RUN_SPEC ",workers=1");
    scene.known.loader_share = loader_share;
    row->type = from;
    advise ("", true);
    assert_true (advice->by_run);
    *a100_cpus = a100->cpus_per_gpu;
    return v100->train_s.p50 / a100->train_s.p50;
}

TEST ("a run that did not wait for its data is bound by its GPU, whatever is predicted")
{
    int64_t cpus[2];

    assert_true (ratio_of (0, 0.5F, &cpus[0]) < 1.1);
    assert_true (ratio_of (0, 0.001F, &cpus[0]) > 1.3);
    assert_true (ratio_of (0, -1, &cpus[0]) > 1.3);
    /* A faster GPU may then need more CPUs, and is not believed to be faster. */
    assert_true (ratio_of (1, 0.5F, &cpus[0]) < 1.1);
    assert_true (ratio_of (1, 0.001F, &cpus[1]) < 1.1);
    assert_true (cpus[1] >= cpus[0]);
}

/* The memory on v100 after a peak of so many GB on a100, which the job only said. */
static double memory_elsewhere (float gb, bool said)
{
    row->gpu_mem_gb = gb;
    row->gpu_mem_said = said;
    advise ("", true);
    return v100->gpu_mem.p50;
}

TEST ("a measured peak is translated, and a said one lowers nothing")
{
    double predicted;

    know ("dnnest:auto", RUN_SPEC);
    predicted = memory_elsewhere (0, false);
    assert_true (memory_elsewhere (1, true) >= predicted);
    assert_true (memory_elsewhere (1, false) < 0.5 * predicted);
    assert_true (memory_elsewhere (30, true) > 25 * GIB);
}

TEST ("one run keeps the time limit, and CPUs that it was busy with")
{
    know ("dnnest:auto", RUN_SPEC);
    row->runs = 1;
    advise (LIMIT "EvidenceTime=words\n", true);
    assert_int_equal (d->time_limit_s, DN_UNSET);
    /* 1.25 * 2 cores are fewer than the 4 workers of the run. */
    assert_int_equal (d->cpus_per_task, 4 * 4);
    scene.known.loader_share = 0.06F;
    advise ("", true);
    assert_int_equal (d->cpus_per_task, DN_UNSET);
    scene_need_reason (advice, "its last run waited for its data");
    scene.known.loader_share = -1;
    row->cores = 0; /* what only the job says */
    advise ("", true);
    assert_int_equal (d->cpus_per_task, DN_UNSET);
}

TEST ("a type for which the software has no kernels is left out")
{
    know ("dnnest:auto", RUN_SPEC);
    scene.known.arch = "sm_75,sm_80,sm_86,sm_90,compute_90";
    sees = true;
    advise ("", true);
    assert_true (v100->no_kernels);
    assert_false (a100->no_kernels);
    assert_int_equal (d->n_open, 0);
    scene_need_reason (advice, "the software of its last run has no kernels for it");
    scene.known.arch = "sm_70,sm_80";
    advise ("", true);
    sees = false;
    assert_int_equal (d->n_open, 2);
    assert_false (v100->no_kernels);
}

TEST ("GPUs that two runs did not use are a warning, and stay")
{
    know ("dnnest:auto", RUN_SPEC);
    scene.known.gpus_used = 1;
    advise ("Gpus=choose\n", true);
    assert_string_equal (
        dn_warning_text (dn_decision_warning (d, DN_WARNING_IDLE)).text,
        "its last 2 runs used 1 of 4 GPUs");
    assert_int_equal (d->gpus, DN_UNSET);
    scene.known.gpus_runs = 1;
    advise ("", true);
    assert_null (dn_decision_warning (d, DN_WARNING_IDLE));
    scene.known.gpus_runs = 2;
    scene.known.spec = ""; /* measured by the site alone */
    advise ("", true);
    assert_non_null (dn_decision_warning (d, DN_WARNING_IDLE));
    assert_null (d->by_run);
    scene.known.gpus = 8; /* of another number */
    advise ("", true);
    assert_null (dn_decision_warning (d, DN_WARNING_IDLE));
}

/* Scripts whose words say less than they do: several trainings, several programs on one
 * GPU, programs beside the training, stated workers, staging, stop times. Their whole
 * jobs took an hour, and an earlier run has described one training of them.
 */
TEST ("a second submission takes nothing that such a script needs")
{
    static const char *const scripts[] = {
        "python train.py --run-all-folds",
        "python train.py --n_folds 5 --kfold",
        "python -m x.sweep_y",
        "python hpo.py",
        "python grid_search.py",
        "orion hunt python train.py",
        "nnUNetv2_train_folds_parallel 1 2",
        "srun --ntasks-per-gpu=2 -n 2 python train.py",
        "python train.py &\npython train.py &\nwait",
        "vllm serve m &\npython train.py",
        "ray start --head --num-cpus $SLURM_CPUS_PER_TASK\npython train.py",
        "export nnUNet_n_proc_DA=12\npython train.py",
        "python prepare.py --preprocessing_num_workers 32\npython train.py",
        "tar xf data.tar\npip install x\npython train.py",
        "make -j8\npython train.py",
        "timeout 23h python train.py",
        "python train.py --max_time 23:00:00",
        "sleep infinity",
        "jupyter lab",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (scripts); i++) {
        know ("dnnest:auto", RUN_SPEC);
        job.script = unit_text ("#!/bin/sh\n%s\n", scripts[i]);
        advise ("", false);
        row->key = scene.known.key = dn_app_key_of_user (job.user_id, d->app);
        advise (LIMIT, true);
        /* Not below the longest run, nor the workers that were busy, nor GPUs. */
        if ((d->time_limit_s != DN_UNSET && d->time_limit_s < 3700)
            || (d->cpus_per_task != DN_UNSET && d->cpus_per_task < 4 * 4)
            || d->gpus != DN_UNSET
            || (d->verdict == DN_VERDICT_CHANGE && a100->train_s.p50 < 3600 * 0.99))
            fail_msg ("%s", scripts[i]);
    }
}

/* What a decision costs with 10^5 rows; the number is for the log of the test. */
TEST ("a decision is made in less than a millisecond")
{
    const int n = 2000;
    struct dn_site *site = scene_site ("Mode=enforce\nOptIn=history\n");
    struct dn_app_row *rows = unit_keep (calloc (DN_APPS_MAX, sizeof (*rows)), free);
    const struct dn_view view = {.apps = &past.apps, .now_s = SCENE_NOW};
    double us;

    know_script ();
    for (int64_t i = 0; i < DN_APPS_MAX; i++) {
        rows[i] = past.rows[0];
        rows[i].key = UINT64_MAX / DN_APPS_MAX * (uint64_t) i;
    }
    past.apps.rows = rows;
    past.apps.n_rows = DN_APPS_MAX;
    us = -1e6 * unit_clock_s () / n;
    for (int i = 0; i < n; i++)
        assert_int_equal (dn_advise (site, &view, &job, NULL, NULL, advice, NULL), 0);
    us += 1e6 * unit_clock_s () / n;
    print_message ("a decision by history alone takes %.1f us\n", us);
    assert_true (us < 1000);
}
