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

static void decide (const struct row *row, const char *conf, int64_t age_s)
{
    struct dn_job job = job_of (row->qos);
    char *rows = unit_text ("%s%s", IDLE, row->rows);
    struct dn_advice *advice = scene_see (conf, rows, age_s, &job);

    if ((advice->decision.gpu != NULL) != row->moved
        || (advice->decision.cpus_per_task != DN_UNSET) != row->trimmed)
        scene_need_reason (advice, row->rows);
    if (row->reason)
        scene_need_reason (advice, row->reason);
}

static const struct row limits[] = {
    {"", NULL, true, true, NULL},
    /* A job that names no type would escape a limit of one. */
    {QOS ("q", LIMIT ("job", "gres/gpu:v100 Count=0")), "q", false, true, "by type"},
    {QOS ("q", LIMIT ("job", "gres/gpu:v100 Count=4")), "q", false, true, "by type"},
    {QOS ("q", LIMIT ("job", "GRES/GPU:V100 Count=0")), "q", false, true, "by type"},
    {QOS ("q", LIMIT ("job", "gres/gpu:v100 Count=0")), "Q", false, true, "by type"},
    {QOS ("q", LIMIT ("job", "gres/gpu:v100 Count=0")),
     "qq",
     false,
     true,
     "its QOS is not in the snapshot"},
    {QOS ("q", LIMIT ("user", "gres/gpu:a100 Count=8")), "q", false, true, "by type"},
    {QOS ("q", LIMIT ("group", "gres/gpu Count=8 Used=5")), "q", true, true, NULL},
    /* One that the job exceeds in any case. */
    {QOS ("q", LIMIT ("job", "gres/gpu Count=2")), "q", true, true, NULL},
    /* CPUs. */
    {QOS ("q", LIMIT ("min_job", "cpu Count=80")),
     "q",
     true,
     false,
     "cpus: kept, below MinTRESPerJob=cpu=80 of the QOS 'q'"},
    {QOS ("q", LIMIT ("min_job", "cpu Count=81")), "q", true, true, NULL},
    {QOS ("q", LIMIT ("min_job", "cpu Count=2")), "q", true, true, NULL},
    {QOS ("q", LIMIT ("min_job", "billing Count=2")), "q", true, true, NULL},
    {QOS ("q", LIMIT ("min_job", "billing Count=80")),
     "q",
     true,
     false,
     "cpus: kept, below MinTRESPerJob=billing=80"},
    /* The QOS that a job has without naming it. */
    {QOS ("normal", LIMIT ("job", "gres/gpu:v100 Count=0")), NULL, false, true, NULL},
    {QOS ("normal", LIMIT ("job", "gres/gpu:v100 Count=0")) QOS ("q", "")
         ASSOC ("a User=1000 Default=yes QOS=q", ""),
     NULL,
     true,
     true,
     NULL},
    {QOS ("q", LIMIT ("job", "gres/gpu:v100 Count=0"))
         ASSOC ("a User=1000 Default=yes QOS=q", ""),
     NULL,
     false,
     true,
     NULL},
};

TEST ("limits of a QOS are kept")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (limits); i++)
        decide (&limits[i], "", 0);
}

#define ONE_LINE(type, device)                                                         \
    "Gpu Type=" type " Device=" device                                                 \
    " PerNode=4 NodeCpus=96 NodeMemory=512000 Partitions=ALL "

/* As without a snapshot: what is not known does not bind. */
TEST ("limits of a stale snapshot are not known")
{
    static const char conf[] = ONE_LINE ("v100", "v100_16gb") "Cost=1\n" ONE_LINE (
        "a100", "a100_40gb") "Cost=4\n";
    struct row row = {QOS ("q",
                           LIMIT ("job", "gres/gpu:v100 Count=0")
                               LIMIT ("min_job", "cpu Count=80")),
                      "q",
                      false,
                      false,
                      NULL};

    decide (&row, conf, 0);
    row.trimmed = true;
    decide (&row, conf, 301);
}

TEST ("limits of associations are kept")
{
#define V0 LIMIT ("job", "gres/gpu:v100 Count=0")
#define G0 LIMIT ("group", "gres/gpu:v100 Count=0")
    static const struct {
        const char *rows;
        const char *account;
        bool moved;
    } cases[] = {
        {ASSOC ("a User=1000 Default=yes", V0), NULL, false},
        {ASSOC ("a User=1000 Default=yes", V0), "a", false},
        {ASSOC ("a User=1000 Default=yes", V0), "A", false},
        {ASSOC ("a User=1000 Default=yes", V0), "b", true},
        {ASSOC ("a User=1000", V0), NULL, true},
        {ASSOC ("a User=1001 Default=yes", V0), NULL, true},
        {ASSOC ("a User=999 Default=yes", V0) ASSOC ("a User=1000 Default=yes", "")
             ASSOC ("a User=1001 Default=yes", V0),
         NULL,
         true},
        /* Of an account above. */
        {ASSOC ("a Parent=1", "") ASSOC ("root", G0)
             ASSOC ("a User=1000 Default=yes Parent=0", ""),
         NULL,
         false},
        {ASSOC ("a", "") ASSOC ("root", G0)
             ASSOC ("a User=1000 Default=yes Parent=0", ""),
         NULL,
         true},
        /* That of the partition goes before the other. */
        {ASSOC ("a User=1000 Default=yes", "")
             ASSOC ("a User=1000 Partition=gpu Default=yes", V0),
         NULL,
         false},
        {ASSOC ("a User=1000 Default=yes", V0)
             ASSOC ("a User=1000 Partition=gpu Default=yes", ""),
         NULL,
         true},
        {ASSOC ("a User=1000 Default=yes", "")
             ASSOC ("a User=1000 Partition=other Default=yes", V0),
         NULL,
         true},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = job_of (NULL);
        struct dn_advice *advice;
        char *rows;

        job.account = cases[i].account;
        rows = unit_text ("%s%s", IDLE, cases[i].rows);
        advice = scene_see ("", rows, 0, &job);
        if ((advice->decision.gpu != NULL) != cases[i].moved)
            scene_need_reason (advice, cases[i].rows);
    }
#undef V0
#undef G0
}

TEST ("names of a job may be anything")
{
    char *name = unit_keep (malloc (100000), free);
    static const char *const odd[] = {"", ",", "\xff\xfe", "%s%n", "q\n", "*"};

    memset (name, 'q', 99999);
    name[99999] = '\0';
    for (size_t i = 0; i <= DN_N_ELEMENTS (odd); i++) {
        const char *text = i < DN_N_ELEMENTS (odd) ? odd[i] : name;
        struct dn_job job = job_of (text);

        job.account = job.partition = text;
        job.memory_default = true;
        scene_see ("",
                   IDLE QOS ("q", LIMIT ("job", "gres/gpu:v100 Count=0"))
                       ASSOC ("q User=1000", LIMIT ("job", "cpu Count=0")),
                   0,
                   &job);
    }
}

/* --- the limits of a partition ------------------------------------------------------
 */

TEST ("the billing of a partition is kept")
{
#define BILLED(weights, limit)                                                         \
    A100_IDLE V100_IDLE "Partition Name=gpu Default=yes Up=yes QOS=part "              \
                        "BillingWeights=" weights "\n" QOS ("part", limit)

    static const struct {
        const char *rows;
        bool moved;
    } cases[] = {
        /* 4 V100: 40, 4 A100: 4, and at most 80 CPUs. */
        {BILLED ("CPU=0.01,GRES/gpu:v100=10,GRES/gpu:a100=1",
                 LIMIT ("job", "billing Count=30")),
         false},
        {BILLED ("CPU=0.01,GRES/gpu:v100=10,GRES/gpu:a100=1",
                 LIMIT ("job", "billing Count=41")),
         true},
        {BILLED ("CPU=0.01,GRES/gpu:v100=10,GRES/gpu:a100=1",
                 LIMIT ("job", "billing Count=3")),
         true},
        {BILLED ("GRES/gpu:v100=1,GRES/gpu:a100=10",
                 LIMIT ("min_job", "billing Count=40")),
         false},
        {BILLED ("GRES/gpu:v100=1,GRES/gpu:a100=10",
                 LIMIT ("job", "gres/gpu:v100 Count=0")),
         false},
    };
    struct dn_job job = job_of (NULL);

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_advice *advice = scene_see ("", cases[i].rows, 0, &job);

        if ((advice->decision.gpu != NULL) != cases[i].moved)
            scene_need_reason (advice, cases[i].rows);
    }
#undef BILLED
}

/* The new memory of a node in the patch; DN_UNSET: it does not change. */
static int64_t new_memory (const struct dn_advice *advice)
{
    for (int i = 0; i < advice->patch.n_edits; i++)
        if (advice->patch.edits[i].field == DN_FIELD_MEM_PER_NODE)
            return advice->patch.edits[i].new_number;
    return DN_UNSET;
}

TEST ("memory follows the CPUs as the partition says")
{
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
        {WITH ("DefMemPerCPU=2000 MaxMemPerCPU=2000"),
         NULL,
         false,
         DN_UNSET,
         "its memory per CPU would be above the MaxMemPerCPU"},
        {WITH ("DefMemPerCPU=2000 MaxMemPerCPU=160000"), NULL, false, 160000, ""},
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
        if (new_memory (advice) != cases[i].memory)
            scene_need_reason (advice, cases[i].rows);
        scene_need_reason (advice, cases[i].reason);
    }
#undef WITH
}

TEST ("no limit is set above that of the partition or QOS")
{
    static const struct {
        const char *rows;
        const char *qos;
        bool set;
    } cases[] = {
        {A100_IDLE "Partition Name=gpu Default=yes Up=yes MaxTime=604800\n",
         NULL,
         true},
        {A100_IDLE "Partition Name=gpu Default=yes Up=yes MaxTime=3600\n", NULL, false},
        {A100_IDLE QUEUE "Qos Name=q MaxWall=3600\n", "q", false},
        {A100_IDLE QUEUE "Qos Name=q MaxWall=3600\nQos Name=n\n", "n", true},
        {A100_IDLE QUEUE "Assoc Account=a User=1000 Default=yes MaxWall=3600\n",
         NULL,
         false},
        {A100_IDLE QUEUE "Assoc Account=root MaxWall=3600\n"
                         "Assoc Account=a User=1000 Default=yes Parent=0\n",
         NULL,
         false},
        {A100_IDLE "Partition Name=gpu Default=yes Up=yes QOS=p\n"
                   "Qos Name=p MaxWall=3600\n",
         NULL,
         false},
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
    static const struct {
        const char *rows;
        const char *qos;
        const char *reason; /* NULL: it is lowered */
    } cases[] = {
        {"Qos Name=q\n", "q", NULL},
        {"Qos Name=q Minutes=no\n", "q", NULL},
        {"Qos Name=q Minutes=yes\n", "q", "the QOS 'q' limits minutes (TRESMins"},
        {"Qos Name=q\nQos Name=r Minutes=yes\n", "q", NULL},
        {"Qos Name=normal Minutes=yes\n", NULL, "the QOS 'normal' limits minutes"},
        {"Qos Name=q\n", "r", "its QOS is not in the snapshot"},
        {"Qos Name=q Minutes=yes\nAssoc Account=a User=1000 Default=yes QOS=q\n",
         NULL,
         "the QOS 'q' limits minutes"},
        {"Assoc Account=a User=1000 Default=yes Minutes=yes\n",
         NULL,
         "the account 'a' limits minutes"},
        {"Assoc Account=a User=1001 Default=yes Minutes=yes\n", NULL, NULL},
        {"Assoc Account=lab Parent=1\nAssoc Account=root Minutes=yes\n"
         "Assoc Account=a User=1000 Default=yes Parent=0\n",
         NULL,
         "the account 'root' limits minutes"},
        {"Qos Name=p Minutes=yes\n", "p", "the QOS 'p' limits minutes"},
        {"Partition Name=fast Up=yes QOS=p\nQos Name=p Minutes=yes\n", NULL, NULL},
        {"Partition Name=gpu Default=yes Up=yes QOS=p\nQos Name=p Minutes=yes\n",
         NULL,
         "the partition's QOS 'p' limits minutes"},
        {"Partition Name=gpu Default=yes Up=yes QOS=new\nQos Name=p\n",
         NULL,
         "its QOS is not in the snapshot"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        for (int soft = 0; soft <= 1; soft++) {
            struct dn_job job = scene_job ();
            struct dn_advice *advice;
            char *rows;

            job.qos = cases[i].qos;
            rows = unit_text ("%s%s%s",
                              A100_IDLE,
                              strstr (cases[i].rows, "Name=gpu") ? "" : QUEUE,
                              cases[i].rows);
            advice = scene_see (soft ? "GpuType=keep\nTimeLimit=time_min\n"
                                     : "GpuType=keep\nTimeLimit=limit\n",
                                rows,
                                0,
                                &job);
            if ((advice->decision.time_limit_s == DN_UNSET
                 && advice->decision.time_min_s == DN_UNSET)
                != (cases[i].reason != NULL))
                fail_msg ("case %zu", i);
            if (cases[i].reason)
                scene_need_reason (advice, cases[i].reason);
        }
}

/* Its limit grows with the time there, and these minutes with it. */
TEST ("no job under such limits goes to a slower type")
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice =
        scene_see ("", A100_IDLE V100_IDLE QUEUE "Qos Name=q Minutes=yes\n", 0, &job);

    assert_non_null (advice->decision.gpu);
    job.qos = "q";
    advice =
        scene_see ("", A100_IDLE V100_IDLE QUEUE "Qos Name=q Minutes=yes\n", 0, &job);
    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "not v100: the QOS 'q' limits minutes");
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
        char *rows;

        job.partition = "gpu";
        rows =
            unit_text (A100_IDLE QUEUE "Group Type=a100" SCENE_SHAPE
                                       "Partitions=%s ReservedFrom=%d ReservedUntil=%d "
                                       "Nodes=1 Up=1 Idle=0,0,0,0,1\n",
                       cases[i].partitions,
                       SCENE_NOW + cases[i].from_s,
                       SCENE_NOW + cases[i].from_s + 3600);
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
        {TWO ("Up=yes QOS=p") QOS ("p", LIMIT ("job", "gres/gpu:v100 Count=1")),
         "y",
         "of the partition's QOS 'p'"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = job_of (NULL);
        struct dn_advice *advice;

        job.partition = "pa";
        job.time_limit_min = 600;
        job.account = cases[i].account;
        job.min_nodes = job.max_nodes = 1;
        advice = scene_see (conf, cases[i].rows, 0, &job);
        if (cases[i].reason)
            scene_need_reason (advice, cases[i].reason);
        if ((advice->decision.gpu != NULL) != !cases[i].reason)
            scene_need_reason (advice, cases[i].rows);
    }
#undef TWO
}
