/* open.c - tests of GPU types that are left open until a job can start
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

#define OPEN "Mode=enforce GpuType=open MinConfidence=0\n"

TEST ("an opened request is the same request")
{
    static const struct {
        const char *features;
        const char *partition;
        const char *place; /* of the requested type, and of the other */
        const char *other;
        const char *edit; /* of the constraint; NULL: none */
    } cases[] = {
        {NULL, NULL, "ampere", "volta", "ampere"},
        {"ib", NULL, "ib&ampere", "ib&volta", "ib&ampere"},
        {"ampere", NULL, "ampere", "volta", NULL},
        {"ib&ampere", NULL, "ib&ampere", "ib&volta", NULL},
        {NULL, "gpu-a100", "", "", NULL},
        {"ib", "gpu-a100", "", "", NULL},
        {"ampere", "gpu-a100", "ampere", "volta", NULL},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;
        const struct dn_decision *decision;

        job.features = cases[i].features;
        job.partition = cases[i].partition;
        job.time_limit_min = 600;
        advice = scene_advise (OPEN, &job);
        decision = &advice->decision;
        assert_int_equal (decision->verdict, DN_VERDICT_CHANGE);
        assert_null (decision->gpu);
        assert_false (decision->either);
        assert_numbers ("1 2", decision->factor, decision->n_open);
        assert_string_equal (decision->open[0].gpu->type, "a100");
        assert_near (decision->open[0].slow, 1);
        assert_true (decision->open[1].slow > 1);
        assert_string_equal (advice->patch.places[0], cases[i].place);
        assert_string_equal (advice->patch.places[1], cases[i].other);
        assert_string_equal (scene_text (advice, DN_FIELD_TRES_PER_NODE), "gres:gpu:4");
        assert_null (scene_text (advice, DN_FIELD_PARTITION));
        assert_null (scene_text (advice, DN_FIELD_PREFER));
        if (cases[i].edit)
            assert_string_equal (scene_text (advice, DN_FIELD_FEATURES), cases[i].edit);
        else
            assert_null (scene_text (advice, DN_FIELD_FEATURES));
        assert_contains (advice->patch.user_text,
                         "gpu a100:4 -> a100 or v100, whichever can start it first");
    }
}

TEST ("the record has the types and what selects them")
{
    struct dn_advice *advice = SCENE_ADVICE (OPEN, );

    assert_contains (
        advice->patch.record,
        "\"open\":[{\"gpu\":\"a100\",\"features\":\"ampere\",\"slow\":100},"
        "{\"gpu\":\"v100\",\"features\":\"volta\",\"slow\":1");
    assert_null (strstr (advice->patch.record, "cap_s"));
    advice =
        SCENE_ADVICE (OPEN, (job.partition = "gpu-a100", job.time_limit_min = 600));
    assert_contains (advice->patch.record,
                     "{\"gpu\":\"v100\",\"partition\":\"gpu-v100\",\"slow\":1");
}

TEST ("a type that must not be open stays as it is")
{
    static const struct {
        const char *conf;
        const char *features;
        const char *variable;
        enum dn_job_kind kind;
        int64_t limit_min;
        const char *reason;
    } cases[] = {
        {"GpuType=keep", NULL, NULL, DN_JOB_BATCH, 1440, "the policy keeps GPU types"},
        {"Steer=no", NULL, NULL, DN_JOB_BATCH, 1440, "the policy keeps GPU types"},
        {"Record=none", NULL, NULL, DN_JOB_BATCH, 1440, "gpu: kept, Record=none"},
        {"", NULL, NULL, DN_JOB_SRUN, 1440, "gpu: kept, only"},
        {"", "ampere|volta", NULL, DN_JOB_BATCH, 1440, "gpu: kept, "},
        {"", "ampere", "SLURM_CONSTRAINT=ampere", DN_JOB_BATCH, 1440, "gpu: kept, "},
        {"MaxSlowdown=1", NULL, NULL, DN_JOB_BATCH, 1440, "% of the time"},
        /* MaxTime is a week. */
        {"", NULL, NULL, DN_JOB_BATCH, 5 * 1440, "is not known to be allowed"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;

        job.kind = cases[i].kind;
        job.features = cases[i].features;
        job.time_limit_min = cases[i].limit_min;
        job.env = &cases[i].variable;
        job.n_env = cases[i].variable ? 1 : 0;
        advice = scene_advise (unit_text (OPEN "%s", cases[i].conf), &job);
        assert_int_equal (advice->decision.n_open, 0);
        assert_null (scene_text (advice, DN_FIELD_TRES_PER_NODE));
        scene_need_reason (advice, cases[i].reason);
    }
}

TEST ("a job with a minimum time is not open to slower types")
{
    SCENE_EXPECT (OPEN, job.time_min_min = 60, d->n_open == 0, "(--time-min)");
}

TEST ("a higher cost closes a type only if the admin says so")
{
    static const char *const confs[] = {
        "", "Upgrade=rescue", "Steer=cheaper", "Upgrade=no"};

    for (size_t i = 0; i < DN_N_ELEMENTS (confs); i++)
        SCENE_EXPECT (unit_text (OPEN "%s", confs[i]),
                      job.tres[DN_GPU_PER_NODE] = "gres:gpu:v100:4",
                      d->n_open == (i < 2 ? 2 : 0),
                      "");
}

/* Without a snapshot nothing above the requested limit is known to be allowed. */
TEST ("without dnnestd the job may start on any of the types")
{
    static const struct {
        int64_t nodes;
        const char *features;
        const char *constraint; /* NULL: not opened */
    } cases[] = {{1, NULL, "ampere|volta"},
                 {1, "ampere", "ampere|volta"},
                 {2, NULL, "[ampere|volta]"},
                 {1, "ib", NULL}};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_advice *advice;
        struct dn_job job = scene_job ();

        job.partition = "gpu";
        job.min_nodes = job.max_nodes = cases[i].nodes;
        job.num_tasks = cases[i].nodes;
        job.features = cases[i].features;
        advice = scene_advise_in (OPEN, NULL, &job);
        assert_int_equal (advice->decision.either, cases[i].constraint != NULL);
        if (!cases[i].constraint) {
            scene_need_reason (advice, "without dnnestd only a type");
        } else {
            assert_string_equal (scene_text (advice, DN_FIELD_FEATURES),
                                 cases[i].constraint);
            assert_string_equal (scene_text (advice, DN_FIELD_PREFER), "ampere");
            assert_true (advice->decision.time_limit_s <= 86400);
            assert_true ((double) advice->decision.time_limit_s
                         > 1.5 * advice->estimates[0].train_s.p50);
            assert_contains (advice->patch.record, "\"either\":1");
            assert_contains (advice->patch.record, "\"cap_s\":");
        }
    }
}

TEST ("a limit means work")
{
    assert_near (dn_open_factor (0.5), 1);
    assert_numbers ("1.3 2.6", dn_open_factor (1), dn_open_factor (2));
}

/* The job moves at once; its limit is as much longer, if it is not lowered. */
TEST ("a moved job has the time for the same work")
{
    struct dn_advice *advice =
        SCENE_ADVICE ("Mode=enforce TimeLimit=keep GpuType=choose", );
    double factor = dn_open_factor (advice->decision.open[1].slow);

    assert_non_null (advice->decision.gpu);
    assert_near (advice->decision.factor, factor);
    assert_near ((double) advice->decision.time_limit_s, ceil (1440 * factor) * 60);
    assert_string_equal (scene_text (advice, DN_FIELD_TRES_PER_NODE), "gres:gpu:4");
    assert_string_equal (scene_text (advice, DN_FIELD_FEATURES), "volta");
    assert_contains (advice->patch.record, "\"cap_s\":");
}
