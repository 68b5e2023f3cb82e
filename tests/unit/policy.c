/* policy.c - tests of policy/: what is changed, and above all what is not
 *
 * They go through dn_advise (), so that the estimates are real ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

static bool has_reason (const struct dn_advice *advice, const char *part)
{
    for (int i = 0; i < advice->decision.n_reasons; i++)
        if (strstr (advice->decision.reasons[i], part))
            return true;
    return false;
}

static void assert_reason (const struct dn_advice *advice, const char *part)
{
    if (has_reason (advice, part))
        return;
    for (int i = 0; i < advice->decision.n_reasons; i++)
        print_message ("# %s\n", advice->decision.reasons[i]);
    fail_msg ("no reason contains '%s'", part);
}

static void the_default_rules_are_those_of_the_table (void **state)
{
    struct dn_rules rules = dn_rules_default ();
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    (void) state;
    for (int i = 0; i < n_keys; i++) {
        struct dn_rules again = rules;

        assert_int_equal (
            dn_rules_set (
                &again, dn_span_of (keys[i].name), dn_span_of (keys[i].value), NULL),
            0);
        assert_memory_equal (&again, &rules, sizeof (rules));
    }
    assert_int_equal (rules.mode, DN_MODE_ADVISE);
    assert_near (rules.time_quantile, 0.99);
}

static void rules_out_of_range_are_refused (void **state)
{
    static const char *const bad[][2] = {{"Mode", "destroy"},
                                         {"Mode", "unknown"},
                                         {"TimeQuantile", "1"},
                                         {"TimeQuantile", "0"},
                                         {"TimeMin", "0"},
                                         {"TimeMin", "x"},
                                         {"MaxSlowdown", "0.5"},
                                         {"CpusPerGpuMin", "0"},
                                         {"CpusPerGpuMin", "1.5"},
                                         {"MinConfidence", "2"},
                                         {"Message", ""},
                                         {"NoSuchKey", "1"}};
    struct dn_rules rules = dn_rules_default ();
    struct dn_rules before = rules;
    struct dn_err err;

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        if (dn_rules_set (&rules, dn_span_of (bad[i][0]), dn_span_of (bad[i][1]), &err)
            == 0)
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
    dn_advice_free (advice);
}

static void bf16_work_is_not_moved_to_a_volta (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.comment = "dnnest:model=resnet50,batch=128,precision=bf16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet";
    advice = scene_advise ("", &job);
    assert_null (advice->decision.gpu);
    assert_reason (advice, "not v100: cannot run this precision");
    dn_advice_free (advice);
}

static void a_job_that_needs_more_memory_is_not_moved (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.comment = "dnnest:model=resnet50,batch=256,precision=fp32,optimizer=momentum,"
                  "epochs=1,dataset=imagenet";
    advice = scene_advise ("", &job);
    assert_null (advice->decision.gpu);
    assert_reason (advice, "not v100: may need");
    dn_advice_free (advice);
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
    assert_reason (advice, "above the requested limit");
    assert_reason (advice, "time: kept, the bound is");
    dn_advice_free (advice);
}

static void doubts_make_it_abstain (void **state)
{
    static const struct {
        const char *comment;
        const char *tres;
        const char *conf;
        const char *reason;
    } cases[] = {
        {NULL, "gres:gpu:h100:4", "", "type 'h100' is not mapped"},
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
         "",
         "v100 cannot run this precision"},
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
        assert_reason (advice, cases[i].reason);
        dn_advice_free (advice);
    }
}

static void the_policy_can_keep_every_field (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice =
        scene_advise ("TimeLimit=keep\nGpuType=keep\nCpus=keep", &job);

    (void) state;
    assert_int_equal (advice->decision.verdict, DN_VERDICT_KEEP);
    assert_reason (advice, "time: kept, the policy");
    assert_reason (advice, "gpu: kept, the policy");
    assert_reason (advice, "cpus: kept, the policy");
    dn_advice_free (advice);
}

static void a_move_must_be_worth_it_and_quick_enough (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_advise ("MinGain=0.99", &job);

    (void) state;
    assert_reason (advice, "too little gain");
    dn_advice_free (advice);
    advice = scene_advise ("MaxSlowdown=1.01", &job);
    assert_reason (advice, "% of the time");
    dn_advice_free (advice);
    advice = scene_advise ("Objective=time", &job);
    assert_null (advice->decision.gpu);
    dn_advice_free (advice);
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,epochs=20,"
                  "dataset=imagenet,deadline=2:00:00";
    advice = scene_advise ("", &job);
    assert_reason (advice, "above the deadline");
    dn_advice_free (advice);
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
    assert_reason (advice, "the amount of work is unknown");
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    assert_true (advice->decision.cpus_per_task < 80);
    dn_advice_free (advice);
}

static void an_unset_limit_is_filled_only_if_the_admin_says_so (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.time_limit_min = DN_UNSET;
    advice = scene_advise ("", &job);
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    assert_reason (advice, "no limit was requested");
    dn_advice_free (advice);
    advice = scene_advise ("FillUnset=yes", &job);
    assert_true (advice->decision.time_limit_s > 0);
    dn_advice_free (advice);
}

static void without_a_limit_no_slower_gpu_is_chosen (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.time_limit_min = DN_UNSET;
    advice = scene_advise ("", &job);
    assert_null (advice->decision.gpu);
    assert_reason (advice, "slower, and the partition's limit is unknown");
    dn_advice_free (advice);
}

static void unstated_precision_stays_where_bf16_runs (void **state)
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    (void) state;
    job.comment = "dnnest:model=resnet50,batch=64,epochs=1,dataset=imagenet";
    advice = scene_advise ("MinConfidence=0.1", &job);
    assert_null (advice->decision.gpu);
    assert_reason (advice, "precision= is not stated, and it has no bf16");
    dn_advice_free (advice);
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
    dn_advice_free (plain);
    dn_advice_free (warned);
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
    dn_advice_free (with_many);
    dn_advice_free (with_few);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("the default rules are those of the table",
              the_default_rules_are_those_of_the_table),
        TEST ("rules out of range are refused", rules_out_of_range_are_refused),
        TEST ("an oversized job is moved, trimmed and shortened",
              an_oversized_job_is_moved_trimmed_and_shortened),
        TEST ("bf16 work is not moved to a Volta", bf16_work_is_not_moved_to_a_volta),
        TEST ("a job that needs more memory is not moved",
              a_job_that_needs_more_memory_is_not_moved),
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
    };

    return cmocka_run_group_tests_name ("policy", tests, NULL, NULL);
}
