/* warnings.c - tests of policy/ and rewrite/: what dooms a job is said, and a job is
 * moved to a more expensive GPU only to save it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

/* Work that needs more than the 16 GiB of a v100, and less than the 40 of an a100. */
#define LARGE                                                                          \
    "dnnest:model=resnet50,batch=256,precision=fp32,optimizer=momentum,epochs=1,"      \
    "dataset=imagenet"

/* The job of the scene on four of the small GPUs. */
static struct dn_job small_job (const char *comment)
{
    struct dn_job job = scene_job ();

    job.tres[DN_GPU_PER_NODE] = "gres:gpu:v100:4";
    job.comment = comment;
    return job;
}

/* Advise with 'conf': there is one line with a warning, which has that part; NULL:
 * none. */
static struct dn_advice *expect_line (const char *conf,
                                      const struct dn_job *job,
                                      const char *part)
{
    struct dn_advice *advice = scene_advise (conf, job);

    for (int i = 0; i < advice->patch.n_warnings; i++)
        print_message ("# %s\n", advice->patch.warnings[i]);
    assert_int_equal (advice->patch.n_warnings, part ? 1 : 0);
    if (part) {
        assert_int_equal (strncmp (advice->patch.warnings[0], "dnnest: warning: ", 17),
                          0);
        assert_contains (advice->patch.warnings[0], part);
        assert_null (strchr (advice->patch.warnings[0], '\n'));
    }
    return advice;
}

TEST ("the most serious warnings are kept in order")
{
    static const enum dn_warning_kind kinds[] = {DN_WARNING_OPEN,
                                                 DN_WARNING_METADATA,
                                                 DN_WARNING_LIMIT,
                                                 DN_WARNING_METADATA,
                                                 DN_WARNING_MEMORY,
                                                 DN_WARNING_OPEN,
                                                 DN_WARNING_LIMIT};
    struct dn_decision decision;

    dn_policy_begin (&decision);
    for (int i = 0; i < (int) DN_N_ELEMENTS (kinds); i++)
        dn_decision_warn (&decision,
                          kinds[i],
                          &DN_REASON (warn_gpus, dn_arg_count (i), dn_arg_count (4)));
    assert_int_equal (decision.n_warnings, DN_WARNINGS_MAX);
    assert_int_equal (decision.warnings[0].parts[0].args[0].number, 4);
    assert_int_equal (decision.warnings[1].parts[0].args[0].number, 2);
    assert_int_equal (decision.warnings[2].parts[0].args[0].number, 6);
    assert_null (dn_decision_warning (&decision, DN_WARNING_OPEN));
}

TEST ("a job that does not fit moves to a type that holds it")
{
    struct dn_job job = small_job (LARGE);
    struct dn_advice *advice = scene_advise ("Mode=enforce", &job);

    assert_int_equal (advice->decision.verdict, DN_VERDICT_CHANGE);
    assert_true (advice->decision.rescued);
    assert_int_equal (advice->decision.chosen, 1);
    assert_contains (advice->patch.user_text, "gpu v100:4 -> a100:4");
    assert_null (strstr (advice->patch.user_text, "x the time"));
    assert_contains (advice->patch.record, "\"warn\":\"memory\"");
    assert_contains (scene_log, " warned=memory because=");
    expect_line (
        "Mode=enforce", &job, " GiB of GPU memory, v100 has 16; moved to a100");
    expect_line ("Mode=advise", &job, "v100 has 16; a100 can run it");
}

/* The batch that a warning suggests, 0 for none. */
static int suggested (const struct dn_advice *advice)
{
    const char *at = advice->patch.n_warnings > 0
                         ? strstr (advice->patch.warnings[0], "; batch=")
                         : NULL;

    return at ? atoi (at + 8) : 0;
}

TEST ("the suggested batch fits, and twice as many may not")
{
    struct dn_job job = small_job (LARGE);
    struct dn_advice *advice = scene_advise ("Upgrade=no", &job);
    struct dn_rules rules = advice->rules;
    int batch = suggested (advice);

    assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
    assert_int_equal (advice->decision.abstain, DN_ABSTAIN_MEMORY);
    assert_in_range (batch, 8, 255);
    for (int times = 1; times <= 2; times++) {
        const struct dn_estimate *estimate;

        job.comment = unit_text (
            "dnnest:model=resnet50,batch=%d,precision=fp32,optimizer=momentum",
            batch * times);
        advice = scene_advise ("Upgrade=no", &job);
        estimate = &advice->estimates[0];
        assert_int_equal (dn_policy_memory (&rules, estimate)
                              <= 16.0 * 1024 * 1024 * 1024,
                          times == 1);
    }
    job = small_job ("dnnest:model=llama_2_70b,batch=64,precision=fp16");
    expect_line ("",
                 &job,
                 "; no other type can run it; not even batch=1 would fit; assumed: "
                 "seq_len=4096, attention=");
}

TEST ("only a likely failure is a warning")
{
    int n_doubtful = 0;

    for (int batch = 32; batch <= 256; batch += 4) {
        struct dn_job job = small_job (unit_text (
            "dnnest:model=resnet50,batch=%d,precision=fp32,optimizer=momentum", batch));
        struct dn_advice *advice = scene_advise ("", &job);
        bool fits = advice->estimates[0].fits;

        assert_int_equal (advice->patch.n_warnings, fits ? 0 : 1);
        if (fits
            && dn_policy_memory (&advice->rules, &advice->estimates[0])
                   > 16.0 * 1024 * 1024 * 1024)
            n_doubtful++;
    }
    assert_true (n_doubtful > 0);
}

TEST ("a rescue needs what a move needs")
{
    static const struct {
        const char *conf;
        const char *nodes;
        const char *says;
    } cases[] = {
        {"Upgrade=no", NULL, "(not moved: its Cost is higher (Upgrade=no))"},
        {"GpuType=keep", NULL, "(not moved: the policy keeps GPU types)"},
        {"", "v1", "(not moved: nodes were named"},
        {"MinConfidence=0.99", NULL, "; a100 may run it, but this is not certain"},
        {"MemoryHeadroom=5", NULL, "; a100 may run it, but this is not certain"},
        {"Policy User=1000 Upgrade=yes\nPolicy Group=0 Upgrade=no\nUpgrade=rescue",
         NULL,
         "(not moved: its Cost is higher (Upgrade=no))"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = small_job (LARGE);
        struct dn_advice *advice;

        job.group_id = 0;
        job.req_nodes = cases[i].nodes;
        advice = expect_line (
            unit_text ("Mode=enforce\n%s", cases[i].conf), &job, cases[i].says);
        assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
        assert_null (advice->decision.gpu);
    }
}

TEST ("a rescue stays within the partition and the limit")
{
    struct dn_job job = small_job (LARGE);
    struct dn_advice *advice;

    job.features = "volta&nowhere";
    expect_line ("Mode=enforce", &job, "(not moved: 'nowhere' of the constraint");
    job.features = NULL;
    job.time_limit_min = 1;
    expect_line ("Mode=enforce NeverRaise=no", &job, "(not moved: would likely need ");
    /* Enough for the likely time, too little for the bound. */
    job.time_limit_min = 1440;
    advice = scene_advise ("Mode=enforce TimeLimit=keep", &job);
    job.time_limit_min = (int64_t) (advice->estimates[1].train_s.p50 / 60) + 2;
    advice = scene_advise ("Mode=enforce", &job);
    assert_true (advice->decision.rescued);
    assert_int_equal (advice->decision.time_limit_s, DN_UNSET);
    scene_need_reason (advice, "NeverRaise=yes");
}

TEST ("a rescue takes the best type by the objective")
{
    static const char third[] =
        "Gpu Type=big Device=a100_40gb Cost=0.5 PerNode=4 NodeCpus=96 "
        "NodeMemory=512000 Partitions=ALL\nMode=enforce\n";
    struct dn_job job = small_job (LARGE);

    expect_line (third, &job, "; moved to big");
    expect_line (unit_text ("%sUpgrade=no", third), &job, "; moved to big");
}

TEST ("a precision without a unit is said and rescued")
{
    struct dn_job job =
        small_job ("dnnest:model=resnet50,batch=64,precision=bf16,epochs=1,"
                   "dataset=imagenet");
    struct dn_advice *advice = scene_advise ("Mode=enforce", &job);

    assert_true (advice->decision.rescued);
    expect_line ("Mode=enforce", &job, "v100 cannot run precision=bf16; moved to a100");
    expect_line ("Mode=advise", &job, "v100 cannot run precision=bf16; a100 can");
    expect_line ("Upgrade=no",
                 &job,
                 "a100 can run it (not moved: its Cost is higher (Upgrade=no))");
}

/* Decide again about a job as if its request had been read with 'need' or 'open'. */
static struct dn_advice *decide_with (const char *conf,
                                      const struct dn_job *job,
                                      enum dn_need need,
                                      struct dn_reason open)
{
    struct dn_view view;
    struct dn_advice *advice = scene_advise (conf, job);

    scene_idle (&view);
    advice->request.need = need;
    advice->request.need_why =
        DN_REASON (script_fp8, dn_arg_count (7), dn_arg_text ("--word"));
    advice->request.open_why = open;
    dn_policy_begin (&advice->decision);
    dn_policy_decide (&advice->rules,
                      &advice->request,
                      &advice->spec,
                      &advice->candidates,
                      advice->estimates,
                      &view,
                      &advice->decision);
    return advice;
}

TEST ("what the script needs blocks types without it")
{
#define NEEDS_FP8 "the script, line 7: '--word' needs a GPU with fp8"
    static const struct {
        const char *type;
        enum dn_need need;
        bool moves;
        const char *warns; /* behind NEEDS_FP8 */
    } cases[] = {
        {"a100", DN_NEED_NONE, true, NULL},
        {"a100", DN_NEED_BF16, false, NULL},
        {"a100", DN_NEED_FP8, false, "; a100 does not have it, and no other type does"},
        {"v100", DN_NEED_BF16, false, "; v100 does not have it, a100 does"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;

        job.tres[DN_GPU_PER_NODE] = unit_text ("gres:gpu:%s:4", cases[i].type);
        advice = decide_with ("Mode=enforce", &job, cases[i].need, DN_NO_REASON);
        assert_int_equal (advice->decision.gpu != NULL, cases[i].moves);
        assert_int_equal (advice->decision.n_warnings, cases[i].warns ? 1 : 0);
        if (cases[i].warns)
            assert_string_equal (dn_warning_text (&advice->decision.warnings[0]).text,
                                 unit_text (NEEDS_FP8 "%s", cases[i].warns));
        else if (!cases[i].moves)
            scene_need_reason (advice, "gpu: not v100: " NEEDS_FP8);
    }
}

TEST ("a rescue heeds what the script needs")
{
    struct dn_job job = small_job (LARGE);
    struct dn_advice *advice =
        decide_with ("Mode=enforce", &job, DN_NEED_FP8, DN_NO_REASON);

    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "gpu: not a100: " NEEDS_FP8);
    advice = decide_with ("Mode=enforce", &job, DN_NEED_BF16, DN_NO_REASON);
    assert_true (advice->decision.rescued);
}

TEST ("an open number of GPUs is said last")
{
    struct dn_job job = small_job (LARGE);
    struct dn_advice *advice =
        decide_with ("", &job, DN_NEED_NONE, DN_REASON (req_gpus_spread));

    assert_int_equal (advice->decision.n_warnings, 2);
    assert_int_equal (advice->decision.warnings[0].kind, DN_WARNING_MEMORY);
    assert_string_equal (dn_warning_text (&advice->decision.warnings[1]).text,
                         "the GPUs may spread over nodes: add -N, such as -N 1");
}

TEST ("time that does not suffice is said")
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_advise ("GpuType=keep TimeLimit=keep", &job);
    int64_t likely_min = (int64_t) (advice->estimates[1].train_s.p50 / 60);

    assert_int_equal (advice->patch.n_warnings, 0);
    job.time_limit_min = likely_min + 30;
    expect_line ("GpuType=keep", &job, NULL);
    job.signal_s = 3600;
    expect_line ("GpuType=keep", &job, " before --signal, less than the likely ");
    job.signal_s = 0;
    job.time_limit_min = 60;
    advice =
        expect_line ("GpuType=keep", &job, "-t 01:00:00 is shorter than the likely ");
    assert_int_equal (advice->decision.warnings[0].kind, DN_WARNING_LIMIT);
    expect_line ("GpuType=keep MinConfidence=0.9", &job, NULL);
    expect_line ("Mode=enforce GpuType=keep NeverRaise=no", &job, NULL);
    expect_line (
        "Mode=advise GpuType=keep NeverRaise=no", &job, "-t 01:00:00 is shorter than");
}

TEST ("a deadline that another type meets names it")
{
    char *meets;
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_advise ("GpuType=keep", &job);
    int64_t slow = (int64_t) advice->estimates[0].train_s.p50;
    int64_t fast = (int64_t) advice->estimates[1].train_s.p50;

    assert_true (fast + 240 < slow);
    job = small_job (job.comment);
    job.deadline_s = fast + 120;
    expect_line ("", &job, "--deadline in ");
    expect_line ("", &job, "; a100 would meet it (likely ");
    job.deadline_s = fast - 120;
    meets = unit_text ("v100 would miss --deadline in %s (likely ",
                       dn_time_write (job.deadline_s).text);
    advice = expect_line ("", &job, meets);
    assert_int_equal (advice->decision.warnings[0].kind, DN_WARNING_DEADLINE);
    assert_null (strstr (advice->patch.warnings[0], "would meet"));
    /* A wish of the metadata, which buys no more expensive type. */
    job.comment = unit_text ("%s,deadline=01:00:00", job.comment);
    job.deadline_s = DN_UNSET;
    advice = expect_line ("Mode=enforce", &job, "v100 would miss deadline=01:00:00");
    assert_null (advice->decision.gpu);
}

TEST ("metadata that contradict the request are said")
{
    struct dn_job job = small_job ("dnnest:model=resnet50,batch=8,gpus=2,"
                                   "precision=fp16");
    struct dn_advice *advice;

    expect_line ("", &job, "metadata says 2 GPUs, 4 were requested");
    job.comment = "dnnest:model=resnet50,batch=8,gpus=8,precision=fp16";
    advice = expect_line ("", &job, "metadata says 8 GPUs, 4 were requested");
    assert_int_equal (advice->decision.abstain, DN_ABSTAIN_GPUS);
    assert_string_equal (advice->patch.user_text, "");
}

TEST ("warnings are messages")
{
    struct dn_job job = small_job (LARGE);
    struct dn_advice *advice;
    struct dn_patch patch;
    struct dn_rules rules = dn_rules_default ();
    struct dn_decision decision;
    const struct dn_story story = {
        .rules = &rules, .decision = &decision, .patch = &patch};

    expect_line ("Mode=observe", &job, NULL);
    expect_line ("Message=never", &job, NULL);
    expect_line ("Mode=enforce ControlGroup=100", &job, NULL);
    advice = scene_advise ("Message=always Upgrade=no", &job);
    assert_int_equal (advice->patch.n_warnings, 1);
    assert_string_equal (advice->patch.user_text, "");
    /* Without a verdict, as for metadata that were not read. */
    dn_policy_begin (&decision);
    dn_decision_warn (&decision, DN_WARNING_METADATA, &DN_REASON (ignored_quote));
    dn_patch_begin (&patch);
    dn_rewrite_warn (&story, &patch);
    assert_int_equal (patch.n_warnings, 1);
    assert_string_equal (
        patch.warnings[0],
        "dnnest: warning: the comment has a quote before 'dnnest:'; write --comment=dnnest:... without inner quotes");
    rules.message = DN_MESSAGE_NEVER;
    dn_patch_begin (&patch);
    dn_rewrite_warn (&story, &patch);
    assert_int_equal (patch.n_warnings, 0);
}

TEST ("an objective buys a more expensive type only if allowed")
{
    static const struct {
        const char *conf;
        bool moves;
        const char *reason;
    } cases[] = {
        {"", false, "objective=time is not honoured (UserObjective=no)"},
        {"Upgrade=yes", false, "objective=time is not honoured (UserObjective=no)"},
        {"UserObjective=yes", false, "gpu: a100, too, if it can start the job first"},
        {"Objective=time", false, "gpu: a100, too, if it can start the job first"},
        {"UserObjective=yes Upgrade=no", false, "its Cost is higher (Upgrade=no)"},
        {"UserObjective=yes Upgrade=yes", true, "of its time"},
        {"Objective=time Upgrade=yes", true, "of its time"},
        {"UserObjective=yes Upgrade=yes\nPolicy User=1000 Upgrade=rescue",
         false,
         "gpu: a100, too, if it can start the job first"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        SCENE_EXPECT (cases[i].conf,
                      job = small_job (unit_text ("%s,objective=time", job.comment)),
                      (d->gpu != NULL) == cases[i].moves,
                      cases[i].reason);
}

TEST ("without a word about the input CPUs are kept")
{
    static const struct {
        const char *keys;
        bool lowers;
    } cases[] = {
        {"transformer,batch=8", false},
        {"resnet50,batch=128", false},
        {"resnet50,batch=128,decode=jpeg", true},
        {"resnet50,batch=128,dataset=imagenet", true},
        {"resnet50,batch=128,workers=4", true},
        {"resnet50,batch=128,input=synthetic", true},
        {"resnet50,batch=128,sample_bytes=110k", true},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        SCENE_EXPECT (
            "",
            job.comment = unit_text ("dnnest:precision=fp32,model=%s", cases[i].keys),
            (d->cpus_per_task != DN_UNSET) == cases[i].lowers,
            cases[i].lowers ? ""
                            : "cpus: kept, what the input pipeline needs is unknown "
                              "(dataset=, decode= or workers=)");
}

TEST ("the missing key of the amount of work is named")
{
    SCENE_EXPECT (
        "",
        job = small_job ("dnnest:model=resnet50,batch=8,epochs=3,precision=fp16"),
        true,
        "(epochs= needs dataset= or samples=)");
    SCENE_EXPECT ("",
                  job = small_job ("dnnest:model=resnet50,batch=8,precision=fp16"),
                  true,
                  "(epochs= with dataset= or samples=, steps=, or tokens=");
}

TEST ("an anonymous record has no name of the metadata")
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,epochs=20,"
                  "dataset=imagenet,app=secretplan";
    advice = scene_advise ("Record=anonymous", &job);
    assert_null (strstr (scene_record (advice), "secretplan"));
    assert_null (strstr (scene_record (advice), "resnet50"));
    assert_null (strstr (scene_record (advice), "imagenet"));
    assert_contains (scene_record (advice), "\"spec\":\"");
    assert_contains (scene_record (advice), "batch=128,");
    assert_contains (scene_record (advice), "\"req\":{\"time_s\":86400,");
    /* The decision log, which users cannot read, has all. */
    assert_contains (advice->patch.record, "app=secretplan");
    advice = scene_advise ("", &job);
    assert_contains (scene_record (advice), "app=secretplan");
}
