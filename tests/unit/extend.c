/* extend.c - tests of limits that a guard extends, and of soft ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

#define ENFORCE "Mode=enforce GpuType=keep Cpus=keep TimeMin=1 "

/* Seven runs of the scene's job, which took what was predicted. */
static char types[1][DN_NAME_MAX] = {"a100"};
static struct dn_app_row row = {.gpus = 4,
                                .unit = DN_WORK_PREDICTED,
                                .freedom = 10,
                                .runs = 7,
                                .unit_s = 1,
                                .sigma = 0.3F,
                                .longest_s = 7000,
                                .work_min = 7000,
                                .work_max = 7000};
static const struct dn_apps apps = {.types = types,
                                    .n_types = 1,
                                    .rows = &row,
                                    .n_rows = 1};

/* A guard that was alive a minute ago, and what else the scene has. */
static const struct dn_guarded guard = {.time_s = 999940, .interval_s = 60};
static const struct dn_view with_guard = {.guarded = &guard,
                                          .apps = &apps,
                                          .now_s = 1000000};
static const struct dn_view with_history = {.apps = &apps, .now_s = 1000000};
static const struct dn_view with_words = {.guarded = &guard, .now_s = 1000000};
static const struct dn_view without_guard = {.now_s = 1000000};

/* The job of the test, the last advice on it, and its decision. */
static struct dn_job job;
static struct dn_advice *advice;
static const struct dn_decision *d;

int before_test (void **state)
{
    job = scene_job ();
    return 0;
}

/* Advise on it; the limit that it gets, or DN_UNSET: it is kept. */
static int64_t limit_of (const char *conf, const struct dn_view *view)
{
    advice = scene_advise_in (conf, view, &job);
    d = &advice->decision;
    return d->time_limit_s;
}

/* Give the job a name. */
static void name_job (void)
{
    row.key = dn_app_key_of_user (1000, "rn");
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet,app=rn";
}

TEST ("a living guard makes limits lower")
{
    int64_t safe;

    name_job ();
    safe = limit_of (ENFORCE, &with_history);
    assert_false (d->extended);
    assert_near (d->time_quantile, 0.99);
    assert_null (strstr (advice->patch.user_text, "extended"));
    assert_contains (scene_record (advice), "\"bound_bp\":9900");
    assert_true (limit_of (ENFORCE, &with_guard) < safe);
    assert_true ((double) d->time_limit_s > advice->estimates[d->chosen].train_s.p50);
    assert_true (d->extended && d->time_limit_s % 300 == 0);
    assert_near (d->time_quantile, 0.8);
    assert_contains (advice->patch.user_text, " (extended up to 1-00:00:00 if needed)");
    scene_need_reason (advice, "extended if needed");
    assert_contains (scene_record (advice), "\"bound_bp\":8000");
}

TEST ("a guard that is dead or new changes nothing")
{
    static const int64_t times[] = {1000001, 999759, 0, -1000};
    int64_t safe = limit_of (ENFORCE, NULL);

    assert_true (safe > 0);
    assert_int_equal (limit_of (ENFORCE, &without_guard), safe);
    for (size_t i = 0; i < DN_N_ELEMENTS (times); i++) {
        struct dn_guarded old = guard;
        const struct dn_view view = {.guarded = &old, .now_s = 1000000};

        old.time_s = times[i];
        assert_int_equal (limit_of (ENFORCE, &view), safe);
    }
}

TEST ("jobs that the guard cannot extend get safe limits")
{
    static const struct {
        const char *conf;
        int64_t time_min_min;
        int64_t deadline_s;
        const char *reservation;
        const char *reason;
    } cases[] = {
        {ENFORCE, 60, DN_UNSET, NULL, "a minimum time was requested"},
        {ENFORCE, DN_UNSET, 86399, NULL, "the deadline is before the requested limit"},
        {ENFORCE, DN_UNSET, DN_UNSET, "maint", "a reservation was requested"},
        {ENFORCE "Record=none", DN_UNSET, DN_UNSET, NULL, "Record=none"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        int64_t safe;

        job.time_min_min = cases[i].time_min_min;
        job.deadline_s = cases[i].deadline_s;
        job.reservation = cases[i].reservation;
        safe = limit_of (cases[i].conf, &without_guard);
        assert_true (safe > 0);
        assert_int_equal (limit_of (cases[i].conf, &with_guard), safe);
        assert_false (d->extended);
        assert_near (d->time_quantile, 0.99);
        scene_need_reason (advice, cases[i].reason);
    }
}

TEST ("a deadline after the requested limit is no obstacle")
{
    job.deadline_s = 86400;
    limit_of (ENFORCE, &with_guard);
    assert_true (d->extended);
}

TEST ("a request above what is allowed keeps its limit")
{
    struct dn_partition partitions[] = {
        {.name = "short", .up = true, .max_time_s = 86399},
        {.name = "long", .up = true, .max_time_s = 86400},
        {.name = "open", .up = true, .max_time_s = DN_UNLIMITED},
    };
    struct dn_cluster cluster = {
        .time_s = 999990, .partitions = partitions, .n_partitions = 3};
    struct dn_view view = {.cluster = &cluster, .guarded = &guard, .now_s = 1000000};
    static const struct {
        const char *partition;
        bool extended;
    } cases[] = {
        {"short", false},
        {"long", true},
        {"open", true},
        {"open,long", true},
        {"long, short", false},
        {"unknown", true},
        {"", true},
        {NULL, true},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        job.partition = cases[i].partition;
        limit_of (ENFORCE, &view);
        if (d->extended != cases[i].extended
            || (d->time_limit_s != DN_UNSET) != cases[i].extended
            || scene_has_reason (advice, "is above a MaxTime") == cases[i].extended)
            fail_msg ("case %zu", i);
    }
}

TEST ("a user whose jobs needed more gets no lower limit")
{
    static const char *const modes[] = {ENFORCE, ENFORCE "TimeLimit=time_min"};
    struct dn_tally tally = {.user_id = 1000, .n_jobs = 10, .needed = 7};
    struct dn_guarded tallied = {
        .time_s = 1000000, .interval_s = 60, .tallies = &tally, .n_tallies = 1};
    struct dn_view view = {.guarded = &tallied, .apps = &apps, .now_s = 1000000};

    name_job ();
    for (int dead = 0; dead <= 1; dead++)
        for (size_t i = 0; i < DN_N_ELEMENTS (modes); i++) {
            view.now_s = dead ? 2000000 : 1000000;
            limit_of (modes[i], &view);
            assert_int_equal (d->time_limit_s, DN_UNSET);
            assert_int_equal (d->time_min_s, DN_UNSET);
            scene_need_reason (advice, "needed more than");
        }
    view.now_s = 1000000;
    tally.needed = 3;
    assert_int_equal (limit_of (ENFORCE, &view), limit_of (ENFORCE, &with_guard));
    tally.needed = 7;
    job = scene_job ();
    job.user_id = 1001;
    assert_int_equal (limit_of (ENFORCE, &view), limit_of (ENFORCE, &with_words));
}

TEST ("an application in debt has no guarded quantile")
{
    struct dn_tally tally = {
        .user_id = 1000, .app = dn_app_key_of_user (1000, "rn"), .debt_s = 1};
    struct dn_guarded tallied = {
        .time_s = 1000000, .interval_s = 60, .tallies = &tally, .n_tallies = 1};
    const struct dn_view view = {.guarded = &tallied, .apps = &apps, .now_s = 1000000};
    int64_t safe;

    name_job ();
    safe = limit_of (ENFORCE, &with_history);
    assert_int_equal (limit_of (ENFORCE, &view), safe);
    assert_near (d->time_quantile, 0.99);
    scene_need_reason (advice, "it has earned");
    /* The guard extends what dnnest has set, for any user. */
    assert_contains (advice->patch.user_text, "(extended up to 1-00:00:00 if needed)");
    limit_of (ENFORCE "TimeLimit=time_min", &view);
    assert_near (d->time_quantile, 0.99);
}

/* What is known of runs, and whether the limit is lowered and by which quantile. */
static const struct {
    const char *conf;
    int runs;
    bool guard;
    bool cluster;
    double quantile; /* 0: the limit stays */
} bold[] = {
    {"EvidenceTime=auto", 0, false, true, 0},
    {"EvidenceTime=auto", 1, false, true, 0},
    {"EvidenceTime=auto", 2, false, true, 0.99},
    {"EvidenceTime=auto", 2, false, false, 0.99},
    {"EvidenceTime=auto", 0, true, true, 0.99},
    {"EvidenceTime=auto", 1, true, true, 0.99},
    {"EvidenceTime=auto", 2, true, true, 0.8},
    /* Limits of minutes are not known. */
    {"EvidenceTime=auto", 1, true, false, 0},
    {"EvidenceTime=auto", 2, true, false, 0.8},
    {"EvidenceTime=words", 0, false, false, 0.99},
    {"EvidenceTime=words", 0, true, false, 0.99},
    {"EvidenceTime=some", 0, true, true, 0},
    {"EvidenceTime=some", 1, false, false, 0.99},
    {"EvidenceTime=enough", 1, true, true, 0},
    {"EvidenceTime=enough", 2, true, true, 0.8},
    /* Nothing is taken, or nothing ends at it. */
    {"EvidenceTime=auto Mode=advise", 0, false, false, 0.99},
    {"EvidenceTime=auto Mode=observe", 0, false, false, 0},
    {"EvidenceTime=auto TimeLimit=time_min", 0, false, false, 0.99},
    {"EvidenceTime=auto TimeLimit=time_min", 1, false, false, 0.99},
    {"EvidenceTime=auto TimeLimit=time_min", 2, false, false, 0.8},
    {"EvidenceTime=some TimeLimit=time_min", 0, true, true, 0},
    /* Nor is it lowered, but raised. */
    {"EvidenceTime=enough NeverRaise=no TimeMin=2-0 TimeMax=9-0", 0, true, true, 0.99},
};

TEST ("limits are as bold as their evidence")
{
    struct dn_cluster cluster = {.time_s = 999990};

    name_job ();
    for (size_t i = 0; i < DN_N_ELEMENTS (bold); i++) {
        const struct dn_view view = {.guarded = bold[i].guard ? &guard : NULL,
                                     .cluster = bold[i].cluster ? &cluster : NULL,
                                     .apps = bold[i].runs > 0 ? &apps : NULL,
                                     .now_s = 1000000};
        bool set;
        char *conf = unit_text ("GpuType=keep Cpus=keep %s%s",
                                bold[i].conf,
                                strstr (bold[i].conf, "Mode=") ? "" : " Mode=enforce");

        row.runs = (uint32_t) bold[i].runs;
        limit_of (conf, &view);
        set = d->time_limit_s != DN_UNSET || d->time_min_s != DN_UNSET;
        if (set != (bold[i].quantile > 0))
            fail_msg ("case %zu: %s", i, set ? "is lowered" : "stays");
        if (set && fabs (d->time_quantile - bold[i].quantile) > 1e-9)
            fail_msg ("case %zu: by %g", i, d->time_quantile);
        if (!set && !scene_has_reason (advice, "finished run"))
            fail_msg ("case %zu gives no reason", i);
    }
    row.runs = 7;
}

TEST ("CPUs are as bold as their evidence")
{
    name_job ();
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet,app=rn,input=gpu";
    limit_of ("Mode=enforce GpuType=keep", &without_guard);
    assert_true (d->cpus_per_task > 0);
    limit_of ("Mode=enforce GpuType=keep EvidenceCpus=some", &without_guard);
    assert_int_equal (d->cpus_per_task, DN_UNSET);
    scene_need_reason (advice, "cpus: kept, EvidenceCpus takes 1 finished run of");
    limit_of ("Mode=enforce GpuType=keep EvidenceCpus=enough", &with_history);
    assert_true (d->cpus_per_task > 0);
}

TEST ("limits without an end are kept")
{
    static const int64_t limits[] = {DN_UNSET, DN_UNLIMITED};

    for (size_t i = 0; i < DN_N_ELEMENTS (limits); i++) {
        job.time_limit_min = limits[i];
        assert_int_equal (limit_of (ENFORCE, &with_guard), DN_UNSET);
    }
}

TEST ("what is raised or filled in is safe")
{
    static const char conf[] = ENFORCE "NeverRaise=no FillUnset=yes";

    for (job.time_limit_min = DN_UNSET; job.time_limit_min <= 1;
         job.time_limit_min += 1 - DN_UNSET) {
        int64_t safe = limit_of (conf, &without_guard);

        assert_true (safe > 0);
        assert_int_equal (limit_of (conf, &with_guard), safe);
        assert_false (d->extended);
        assert_near (d->time_quantile, 0.99);
    }
}

TEST ("a request between the two bounds is lowered only by a guard")
{
    int64_t safe;
    int64_t guarded;

    name_job ();
    safe = limit_of (ENFORCE, &with_history);
    guarded = limit_of (ENFORCE, &with_guard);
    job.time_limit_min = (safe + guarded) / 2 / 60;
    assert_int_equal (limit_of (ENFORCE, &with_history), DN_UNSET);
    assert_int_equal (limit_of (ENFORCE, &with_guard), guarded);
    job.time_limit_min = guarded / 60;
    assert_int_equal (limit_of (ENFORCE, &with_guard), DN_UNSET);
}

TEST ("what is only advised is safe")
{
    name_job ();
    limit_of ("GpuType=keep", &with_guard);
    assert_near (d->time_quantile, 0.99);
    assert_contains (advice->patch.user_text, "would suffice: time 1-00:00:00 -> ");
    assert_null (strstr (advice->patch.user_text, "extended"));
    limit_of ("Mode=observe GpuType=keep", &with_guard);
    assert_near (d->time_quantile, 0.8);
}

TEST ("the guarded bound is never above the safe one")
{
    name_job ();
    limit_of (ENFORCE "TimeQuantile=0.7", &with_guard);
    assert_near (d->time_quantile, 0.7);
    assert_true (d->extended);
}

TEST ("the guard has time to see a short job")
{
    struct dn_guarded slow = guard;
    const struct dn_view view = {.guarded = &slow, .now_s = 1000000};

    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "steps=100,dataset=imagenet";
    slow.interval_s = 120;
    /* Twice seven intervals and the half minute between Slurm's own looks. */
    assert_int_equal (limit_of (ENFORCE, &view), 1740);
    job.signal_s = 100;
    assert_int_equal (limit_of (ENFORCE, &view), 2100);
    job.signal_s = 0;
    slow.interval_s = 600;
    assert_int_equal (limit_of (ENFORCE, &view), 8700);
}

TEST ("short limits are whole minutes")
{
    bool odd = false;

    for (int steps = 100; steps <= 20000; steps += steps / 4) {
        int64_t limit;

        job.comment = unit_text (
            "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
            "steps=%d,dataset=imagenet",
            steps);
        limit = limit_of (ENFORCE, &without_guard);
        assert_int_equal (limit % (limit < 1800 ? 60 : 300), 0);
        odd = odd || limit % 300 != 0;
    }
    assert_true (odd);
}

TEST ("a soft limit follows the guarded quantile")
{
    int64_t guarded;

    name_job ();
    guarded = limit_of (ENFORCE, &with_guard);
    assert_int_equal (limit_of (ENFORCE "TimeLimit=time_min", &with_history), DN_UNSET);
    assert_int_equal (d->time_min_s, guarded);
    assert_false (d->extended);
    assert_contains (advice->patch.user_text, "dnnest: planned as ");
    assert_contains (scene_record (advice), "\"bound_bp\":8000");
    limit_of ("GpuType=keep TimeLimit=time_min", &with_guard);
    assert_contains (advice->patch.user_text, "would suffice: --time-min ");
}

TEST ("auto is what the controller has")
{
#define BOTH(user, group)                                                              \
    "Policy User=7 TimeLimit=" user "\nPolicy Group=8 TimeLimit=" group
    static const struct {
        const char *conf;
        bool soft;
        enum dn_time_mode mode;
    } cases[] = {
        {"", false, DN_TIME_LIMIT},
        {"", true, DN_TIME_TIME_MIN},
        {"TimeLimit=keep", true, DN_TIME_KEEP},
        {"TimeLimit=limit", true, DN_TIME_LIMIT},
        {"Policy User=7 TimeLimit=limit", true, DN_TIME_LIMIT},
        {BOTH ("limit", "auto"), true, DN_TIME_TIME_MIN},
        {BOTH ("limit", "auto"), false, DN_TIME_LIMIT},
        {BOTH ("time_min", "auto"), false, DN_TIME_KEEP},
        {BOTH ("keep", "auto"), true, DN_TIME_KEEP},
    };
    const struct dn_submitter who = {.user_id = 7, .group_id = 8};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_site *site = scene_site (cases[i].conf);

        site->time_min_is_soft = cases[i].soft;
        if (!cases[i].soft)
            dn_site_refuse_time_min (site);
        if (dn_site_rules_in_force (site, &who).time_limit != cases[i].mode)
            fail_msg ("case %zu", i);
    }
}
