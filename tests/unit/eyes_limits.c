/* eyes_limits.c - tests of decisions within the limits that a snapshot has
 *
 * The job requests four A100 and 80 CPUs; in every other respect a V100 would do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

#define IDLE                A100_IDLE V100_IDLE QUEUE
#define QOS(name, limits)   "Qos Name=" name "\n" limits
#define LIMIT(scope, rest)  "Limit Scope=" scope " Tres=" rest "\n"
#define ASSOC(rest, limits) "Assoc Account=" rest "\n" limits
#define OF(user)            "a User=" user " Default=yes"
#define ME                  OF ("1000")
#define OF_V100(name)       QOS (name, LIMIT ("job", "gres/gpu:v100 Count=0"))
#define OF_Q(scope, rest)   QOS ("q", LIMIT (scope, rest))

/* A job with few CPUs needed. */
static struct dn_job job_of (const char *qos)
{
    struct dn_job job = scene_job ();

    job.qos = qos;
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet,input=gpu";
    return job;
}

struct row {
    const char *rows; /* besides nodes and partition */
    const char *qos;
    bool moved;
    bool trimmed; /* fewer CPUs */
    const char *reason;
};

/* Of what is decided with these rows: does the job move? Its reason, unless NULL. */
static struct dn_advice *decide (const char *conf,
                                 const char *rows,
                                 int64_t age_s,
                                 const struct dn_job *job,
                                 bool moved,
                                 const char *reason)
{
    struct dn_advice *advice = scene_see (conf, rows, age_s, job);

    if ((advice->decision.gpu != NULL) != moved)
        scene_need_reason (advice, rows);
    if (reason)
        scene_need_reason (advice, reason);
    return advice;
}

static void decide_row (const struct row *row, const char *conf, int64_t age_s)
{
    struct dn_job job = job_of (row->qos);
    struct dn_advice *advice = decide (conf,
                                       unit_text ("%s%s", IDLE, row->rows),
                                       age_s,
                                       &job,
                                       row->moved,
                                       row->reason);

    if ((advice->decision.cpus_per_task != DN_UNSET) != row->trimmed)
        scene_need_reason (advice, row->rows);
}

static const struct row limits[] = {
    {"", NULL, true, true, NULL},
    /* A job that names no type would escape a limit of one. */
    {OF_V100 ("q"), "q", false, true, "by type"},
    {OF_Q ("job", "gres/gpu:v100 Count=4"), "q", false, true, "by type"},
    {OF_Q ("job", "GRES/GPU:V100 Count=0"), "q", false, true, "by type"},
    {OF_V100 ("q"), "Q", false, true, "by type"},
    {OF_V100 ("q"), "qq", false, true, "its QOS is not in the snapshot"},
    {OF_Q ("user", "gres/gpu:a100 Count=8"), "q", false, true, "by type"},
    {OF_Q ("group", "gres/gpu Count=8 Used=5"), "q", true, true, NULL},
    /* One that the job exceeds in any case. */
    {OF_Q ("job", "gres/gpu Count=2"), "q", true, true, NULL},
    /* CPUs. */
    {OF_Q ("min_job", "cpu Count=80"), "q", true, false, "=cpu=80 of the QOS 'q'"},
    {OF_Q ("min_job", "cpu Count=80"), "q", true, false, "kept, below MinTRESPerJob"},
    {OF_Q ("min_job", "cpu Count=81"), "q", true, true, NULL},
    {OF_Q ("min_job", "cpu Count=2"), "q", true, true, NULL},
    {OF_Q ("min_job", "billing Count=2"), "q", true, true, NULL},
    {OF_Q ("min_job", "billing Count=80"), "q", true, false, "PerJob=billing=80"},
    /* The QOS that a job has without naming it. */
    {OF_V100 ("normal"), NULL, false, true, NULL},
    {OF_V100 ("normal") QOS ("q", "") ASSOC (ME " QOS=q", ""), NULL, true, true, NULL},
    {OF_V100 ("q") ASSOC (ME " QOS=q", ""), NULL, false, true, NULL},
};

TEST ("limits of a QOS are kept")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (limits); i++)
        decide_row (&limits[i], "", 0);
}

#define ONE_LINE(type, device, cost)                                                   \
    "Gpu Type=" type " Device=" device                                                 \
    " PerNode=4 NodeCpus=96 NodeMemory=512000 Partitions=ALL Cost=" cost "\n"

/* As without a snapshot: what is not known does not bind. */
TEST ("limits of a stale snapshot are not known")
{
    static const char conf[] =
        ONE_LINE ("v100", "v100_16gb", "1") ONE_LINE ("a100", "a100_40gb", "4");
    struct row row = {
        OF_V100 ("q") LIMIT ("min_job", "cpu Count=80"), "q", false, false, NULL};

    decide_row (&row, conf, 0);
    row.trimmed = true;
    decide_row (&row, conf, 301);
}

TEST ("limits of associations are kept")
{
#define V0   LIMIT ("job", "gres/gpu:v100 Count=0")
#define ROOT ASSOC ("root", LIMIT ("group", "gres/gpu:v100 Count=0"))
#define IN   "a User=1000 Partition="
    static const struct {
        const char *rows;
        const char *account;
        bool moved;
    } cases[] = {
        {ASSOC (ME, V0), NULL, false},
        {ASSOC (ME, V0), "a", false},
        {ASSOC (ME, V0), "A", false},
        {ASSOC (ME, V0), "b", true},
        {ASSOC ("a User=1000", V0), NULL, true},
        {ASSOC (OF ("1001"), V0), NULL, true},
        {ASSOC (OF ("999"), V0) ASSOC (ME, "") ASSOC (OF ("1001"), V0), NULL, true},
        /* Of an account above. */
        {ASSOC ("a Parent=1", "") ROOT ASSOC (ME " Parent=0", ""), NULL, false},
        {ASSOC ("a", "") ROOT ASSOC (ME " Parent=0", ""), NULL, true},
        /* That of the partition goes before the other. */
        {ASSOC (ME, "") ASSOC (IN "gpu Default=yes", V0), NULL, false},
        {ASSOC (ME, V0) ASSOC (IN "gpu Default=yes", ""), NULL, true},
        {ASSOC (ME, "") ASSOC (IN "other Default=yes", V0), NULL, true},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = job_of (NULL);

        job.account = cases[i].account;
        decide (
            "", unit_text ("%s%s", IDLE, cases[i].rows), 0, &job, cases[i].moved, NULL);
    }
#undef V0
#undef ROOT
#undef IN
}

TEST ("names of a job may be anything")
{
    static const char rows[] =
        IDLE OF_V100 ("q") ASSOC ("q User=1000", LIMIT ("job", "cpu Count=0"));
    const char *const odd[] = {
        "", ",", "\xff\xfe", "%s%n", "q\n", "*", unit_repeat ("q", 99999)};

    for (size_t i = 0; i < DN_N_ELEMENTS (odd); i++) {
        struct dn_job job = job_of (odd[i]);

        job.account = job.partition = odd[i];
        job.memory_default = true;
        scene_see ("", rows, 0, &job);
    }
}

/* --- the limits of a partition ------------------------------------------------------
 */

TEST ("the billing of a partition is kept")
{
#define BILLED(weights, limit)                                                         \
    A100_IDLE V100_IDLE "Partition Name=gpu Default=yes Up=yes QOS=part "              \
                        "BillingWeights=" weights "\n" QOS ("part", limit)
#define V10(count)                                                                     \
    BILLED ("CPU=0.01,GRES/gpu:v100=10,GRES/gpu:a100=1",                               \
            LIMIT ("job", "billing Count=" count))
#define A10(limit) BILLED ("GRES/gpu:v100=1,GRES/gpu:a100=10", limit)
    static const struct {
        const char *rows;
        bool moved;
    } cases[] = {
        /* 4 V100: 40, 4 A100: 4, and at most 80 CPUs. */
        {V10 ("30"), false},
        {V10 ("41"), true},
        {V10 ("3"), true},
        {A10 (LIMIT ("min_job", "billing Count=40")), false},
        {A10 (LIMIT ("job", "gres/gpu:v100 Count=0")), false},
    };
    struct dn_job job = job_of (NULL);

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        decide ("", cases[i].rows, 0, &job, cases[i].moved, NULL);
#undef BILLED
#undef V10
#undef A10
}

TEST ("memory follows the CPUs as the partition says")
{
#define PER_CPU "DefMemPerCPU=2000"
#define WITH(keys)                                                                     \
    A100_IDLE V100_IDLE "Partition Name=gpu Default=yes Up=yes " keys "\n"             \
                        "Partition Name=long Up=yes DefMemPerCPU=3000\n"
    static const struct {
        const char *rows;
        const char *partition;
        bool open; /* the cluster has no default */
        int64_t memory;
        const char *reason;
    } cases[] = {
        {WITH (""), NULL, false, 80 * 1000, ""},
        {WITH ("DefMemPerCPU=2000"), NULL, false, 80 * 2000, ""},
        {WITH ("DefMemPerCPU=2000"), "gpu", true, 80 * 2000, ""},
        {WITH ("DefMemPerNode=64000"), "gpu", true, DN_UNSET, "-c"},
        {WITH ("DefMemPerCPU=2000 DefMemPerGPU=64000"), "gpu", true, DN_UNSET, "-c"},
        {WITH ("DefMemPerGPU=64000"), "gpu,long", true, DN_UNSET, "may depend on"},
        {WITH ("DefMemPerNode=64000"), "gpu", false, DN_UNSET, "-c"},
        {WITH (""), NULL, true, DN_UNSET, "its default may depend on the CPUs"},
        {WITH ("DefMemPerCPU=2000"), "gpu,long", false, DN_UNSET, "may depend on"},
        {WITH ("DefMemPerCPU=3000"), "gpu,long", false, 80 * 3000, ""},
        {WITH ("DefMemPerCPU=3000"), "gpu,lost", false, DN_UNSET, "may depend on"},
        {WITH (PER_CPU " MaxMemPerCPU=2000"),
         NULL,
         false,
         DN_UNSET,
         "above the MaxMemPer"},
        {WITH (PER_CPU " MaxMemPerCPU=160000"), NULL, false, 160000, ""},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = job_of (NULL);
        struct dn_advice *advice;

        job.partition = cases[i].partition;
        job.mem_per_node_mb = DN_UNSET;
        job.memory_default = true;
        job.memory_open = cases[i].open;
        job.default_mem_per_cpu_mb = cases[i].open ? DN_UNSET : 1000;
        advice = scene_see ("Mode=enforce", cases[i].rows, 0, &job);
        if (scene_number (advice, DN_FIELD_MEM_PER_NODE) != cases[i].memory)
            scene_need_reason (advice, cases[i].rows);
        scene_need_reason (advice, cases[i].reason);
    }
#undef WITH
#undef PER_CPU
}

#define GPU(keys)   A100_IDLE "Partition Name=gpu Default=yes Up=yes" keys "\n"
#define HOUR(of)    of " MaxWall=3600\n"
#define OF_HOUR(of) A100_IDLE QUEUE HOUR (of)

TEST ("no limit is set above that of the partition or QOS")
{
    static const struct {
        const char *rows;
        const char *qos;
        bool set;
    } cases[] = {
        {GPU (" MaxTime=604800"), NULL, true},
        {GPU (" MaxTime=3600"), NULL, false},
        {OF_HOUR ("Qos Name=q"), "q", false},
        {OF_HOUR ("Qos Name=q") "Qos Name=n\n", "n", true},
        {OF_HOUR ("Assoc Account=" ME), NULL, false},
        {OF_HOUR ("Assoc Account=root") ASSOC (ME " Parent=0", ""), NULL, false},
        {GPU (" QOS=p") HOUR ("Qos Name=p"), NULL, false},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;

        job.qos = cases[i].qos;
        job.time_limit_min = DN_UNSET;
        advice = scene_see ("FillUnset=yes\nTimeLimit=limit\n", cases[i].rows, 0, &job);
        assert_int_equal (advice->decision.time_limit_s != DN_UNSET, cases[i].set);
        if (!cases[i].set)
            scene_need_reason (advice, "above the MaxTime of the partition, or");
    }
}

/* Slurm charges the limit: a lower one would pass them. */
TEST ("limits of TRES minutes keep the time limit")
{
#define MINE    "Assoc Account=" ME
#define PART    "Partition Name=gpu Default=yes Up=yes QOS="
#define LAB     "Assoc Account=lab Parent=1\nAssoc Account=root"
#define CHARGED " Minutes=yes\n"
    static const struct {
        const char *rows;
        const char *qos;
        const char *reason; /* NULL: it is lowered */
    } cases[] = {
        {"Qos Name=q\n", "q", NULL},
        {"Qos Name=q Minutes=no\n", "q", NULL},
        {"Qos Name=q" CHARGED, "q", "the QOS 'q' limits minutes (TRESMins"},
        {"Qos Name=q\nQos Name=r" CHARGED, "q", NULL},
        {"Qos Name=normal" CHARGED, NULL, "the QOS 'normal' limits minutes"},
        {"Qos Name=q\n", "r", "its QOS is not in the snapshot"},
        {"Qos Name=q" CHARGED MINE " QOS=q\n", NULL, "the QOS 'q' limits minutes"},
        {MINE CHARGED, NULL, "the account 'a' limits minutes"},
        {"Assoc Account=a User=1001 Default=yes" CHARGED, NULL, NULL},
        {LAB CHARGED MINE " Parent=0\n", NULL, "the account 'root' limits minutes"},
        {"Qos Name=p" CHARGED, "p", "the QOS 'p' limits minutes"},
        {"Partition Name=fast Up=yes QOS=p\nQos Name=p" CHARGED, NULL, NULL},
        {PART "p\nQos Name=p" CHARGED, NULL, "the partition's QOS 'p' limits minutes"},
        {PART "new\nQos Name=p\n", NULL, "its QOS is not in the snapshot"},
    };
    static const char *const confs[] = {"GpuType=keep\nTimeLimit=time_min\n",
                                        "GpuType=keep\nTimeLimit=limit\n"};

    for (size_t i = 0; i < 2 * DN_N_ELEMENTS (cases); i++) {
        const char *reason = cases[i / 2].reason;
        const char *queue = strstr (cases[i / 2].rows, "Name=gpu") ? "" : QUEUE;
        char *rows = unit_text ("%s%s%s", A100_IDLE, queue, cases[i / 2].rows);
        struct dn_job job = scene_job ();
        struct dn_advice *advice;

        job.qos = cases[i / 2].qos;
        advice = decide (confs[i % 2], rows, 0, &job, false, reason);
        if ((advice->decision.time_limit_s == DN_UNSET
             && advice->decision.time_min_s == DN_UNSET)
            != (reason != NULL))
            fail_msg ("case %zu", i / 2);
    }
#undef MINE
#undef PART
#undef LAB
#undef CHARGED
}

/* Its limit grows with the time there, and these minutes with it. */
TEST ("no job under such limits goes to a slower type")
{
    static const char rows[] = A100_IDLE V100_IDLE QUEUE "Qos Name=q Minutes=yes\n";
    struct dn_job job = scene_job ();

    decide ("", rows, 0, &job, true, NULL);
    job.qos = "q";
    decide ("", rows, 0, &job, false, "not v100: the QOS 'q' limits minutes");
}

TEST ("a known reservation keeps the limit that would run into it")
{
    static const struct {
        int from_s; /* after now */
        const char *partitions;
        bool lowered;
    } cases[] = {
        {86399, "gpu", false},
        {86401, "gpu", true},
        {1, "gpu", false},
        {3600, "other", true},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();
        struct dn_advice *advice;
        char *rows =
            unit_text (A100_IDLE QUEUE "Group Type=a100" SCENE_SHAPE
                                       "Partitions=%s ReservedFrom=%d ReservedUntil=%d "
                                       "Nodes=1 Up=1 Idle=0,0,0,0,1\n",
                       cases[i].partitions,
                       SCENE_NOW + cases[i].from_s,
                       SCENE_NOW + cases[i].from_s + 3600);
        job.partition = "gpu";
        advice = scene_see ("GpuType=keep\nTimeLimit=limit\n", rows, 0, &job);
        if ((advice->decision.time_limit_s != DN_UNSET) != cases[i].lowered)
            fail_msg ("case %zu", i);
        if (!cases[i].lowered)
            scene_need_reason (advice, "ends after a reservation of such nodes");
    }
}

/* The type is selected by the partition, and the lines have no MaxTime. */
TEST ("a move to another partition asks its snapshot")
{
#define TWO(keys)                                                                      \
    "Group Type=a100" SCENE_SHAPE "Partitions=pa Nodes=1 Up=1 Idle=0,0,0,0,1\n"        \
    "Group Type=v100" SCENE_SHAPE "Partitions=pv Nodes=1 Up=1 Idle=0,0,0,0,1\n"        \
    "Partition Name=pa Default=yes Up=yes\nPartition Name=pv " keys "\n"
    static const char conf[] = "Gpu Type=v100 Device=v100_16gb Cost=1 ByPartition=pv\n"
                               "Gpu Type=a100 Device=a100_40gb Cost=4 ByPartition=pa\n";
    static const struct {
        const char *rows;
        const char *account;
        const char *reason; /* NULL: moved */
    } cases[] = {
        {TWO ("Up=yes MaxTime=86400"), NULL, NULL},
        {TWO ("Up=yes"), NULL, NULL},
        {TWO ("Up=yes MaxTime=35999"), NULL, "above the MaxTime of its partition"},
        {TWO ("Up=yes MaxTime=36000"), NULL, "which is not known to be allowed"},
        {TWO ("Up=no"), NULL, "its partition is not up"},
        {TWO ("Up=yes AllowAccounts=x,y"), NULL, "may not admit the job's account"},
        {TWO ("Up=yes AllowAccounts=x,y"), "Y", NULL},
        {TWO ("Up=yes AllowAccounts=*"), "x", "may not admit"},
        {TWO ("Up=yes DenyAccounts=x"), "x", "may not admit"},
        {TWO ("Up=yes DenyAccounts=x"), "y", NULL},
        {TWO ("Up=yes DenyAccounts=*"), "y", "may not admit"},
        {TWO ("Up=yes AllowQOS=q"), "y", "may not admit"},
        {TWO ("Up=yes MaxNodes=0"), "y", "its partition allows fewer nodes"},
        {TWO ("Up=yes MaxMemPerNode=1000"), "y", "limits the memory of a job"},
        {TWO ("Up=yes QOS=p") OF_V100 ("p"), "y", "of the partition's QOS 'p'"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = job_of (NULL);

        job.partition = "pa";
        job.time_limit_min = 600;
        job.account = cases[i].account;
        job.min_nodes = job.max_nodes = 1;
        decide (conf, cases[i].rows, 0, &job, !cases[i].reason, cases[i].reason);
    }
#undef TWO
}
