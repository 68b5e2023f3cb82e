/* eyes.c - tests of decisions with a snapshot of the cluster: nodes, prices, waits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

/* The job of the test, and the last advice on it. */
static struct dn_job job;
static struct dn_advice *advice;
static const struct dn_candidate *v100; /* of it; the next one is a100 */

int before_test (void **state)
{
    job = scene_job ();
    return 0;
}

/* Advise on it; is it moved? */
static bool moves (const char *conf, const char *rows, int64_t age_s)
{
    advice = scene_see (conf, rows, age_s, &job);
    v100 = advice->candidates.list;
    return advice->decision.gpu != NULL;
}

/* The job is moved, or not for that reason. */
#define MOVES(conf, rows)                                                              \
    do {                                                                               \
        assert_true (moves (conf, rows, 0));                                           \
        scene_need_reason (advice, MOVED);                                             \
    } while (0)
#define STAYS(conf, rows, reason)                                                      \
    do {                                                                               \
        assert_false (moves (conf, rows, 0));                                          \
        scene_need_reason (advice, reason);                                            \
    } while (0)
#define IDLE A100_IDLE V100_IDLE QUEUE

#define MOVED "of the time of a100"

TEST ("a line with Type and Device suffices with a fresh snapshot")
{

    MOVES ("", IDLE);
    assert_true (moves ("", IDLE, 299) && moves ("", IDLE, 300));
    assert_false (moves ("", IDLE, 301));
    scene_need_reason (advice, "no feature or partition of their own");
    assert_false (moves ("", IDLE, -1));
}

TEST ("no job moves to a type without an available node")
{

    STAYS ("", A100_IDLE V100_DOWN QUEUE, "its 2 nodes are down, drained or reserved");
    STAYS ("", A100_BUSY V100_DOWN QUEUE, "its 2 nodes are down, drained or reserved");
    STAYS ("", A100_IDLE QUEUE, "not v100: the cluster has no node with it");
    MOVES ("", A100_DOWN V100_IDLE QUEUE);
    job.min_nodes = job.max_nodes = 2;
    job.num_tasks = 2;
    job.cpus_per_task = job.pn_min_cpus = 40;
    MOVES ("", IDLE);
    STAYS ("",
           A100_IDLE "Group Type=v100" SCENE_SHAPE
                     "Partitions=gpu Nodes=3 Up=1 Idle=0,0,0,0,1\n" QUEUE,
           "2 nodes are needed or excluded, 1 of its 3 can be used");
}

TEST ("a stale snapshot is not believed")
{
#define OLD                                                                            \
    "Gpu Type=v100 Device=v100_16gb Cost=1 PerNode=4 NodeCpus=96 NodeMemory=512000 "   \
    "Partitions=ALL\nGpu Type=a100 Device=a100_40gb Cost=4 PerNode=4 NodeCpus=96 "     \
    "NodeMemory=512000 Partitions=ALL\n"
    assert_false (moves (OLD, A100_IDLE V100_DOWN QUEUE, 0));
    assert_false (moves (OLD, A100_IDLE V100_DOWN QUEUE, 600));
    assert_false (scene_has_reason (advice, "drained"));
    assert_false (moves (OLD "SnapshotAge=3600\n", A100_IDLE V100_DOWN QUEUE, 600));
    scene_need_reason (advice, "drained");
#undef OLD
}

/* The job's limit is a day. */
TEST ("a reservation must begin after the limit")
{
#define RESERVED(hours)                                                                \
    unit_text (A100_IDLE QUEUE "Group Type=v100" SCENE_SHAPE                           \
                               "Partitions=gpu ReservedFrom=%d ReservedUntil=%d "      \
                               "Nodes=2 Up=2 Idle=0,0,0,0,2\n",                        \
               SCENE_NOW + (hours) *3600,                                              \
               SCENE_NOW + 40 * 3600)
    STAYS ("", RESERVED (23), "its nodes are reserved in 23:00:00, before");
    MOVES ("", RESERVED (25));
    /* Without a limit the partition's default holds, and its MaxTime where it has none.
     */
    job.time_limit_min = DN_UNSET;
    STAYS ("", RESERVED (25), "are reserved in 1-01:00:00, before the time limit");
#undef RESERVED
}

TEST ("what the line states overrides the snapshot")
{
    static const struct {
        const char *keys;
        const char *reason; /* NULL: it moves */
    } cases[] = {
        {"", NULL},
        {"PerNode=2", "4 GPUs per node, it has 2"},
        {"NodeMemory=1000", "256000 MB of memory per node, it has 1000"},
        {"NodeMemory=600000 NodeCpus=128", NULL},
        {"NodeCpus=1", "CPUs per node, it has 1"},
        {"Partitions=other", "it is not in the job's partition"},
        {"Partitions=gpu", NULL},
        {"MoveTo=no", "its Gpu line says MoveTo=no"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char *conf = unit_text ("Gpu Type=v100 Device=v100_16gb Cost=1 %s\n"
                                "Gpu Type=a100 Device=a100_40gb Cost=4\n",
                                cases[i].keys);

        if (cases[i].reason)
            STAYS (conf, IDLE, cases[i].reason);
        else
            MOVES (conf, IDLE);
    }
}

/* Nodes of a group that lacks something do not count. */
TEST ("a group must fit the job")
{
#define BIG                                                                            \
    A100_IDLE QUEUE                                                                    \
        "Group Type=v100 Gpus=4 Cpus=96 Memory=512000 Tmp=900000 ThreadsPerCore=2 "    \
        "Features=ib,new Partitions=gpu,long Nodes=1 Up=1 Idle=0,0,0,0,1\n"
    static const char both[] = BIG "Group Type=v100 Gpus=2 Cpus=8 Memory=64000 "
                                   "Partitions=gpu Nodes=9 Up=9 Idle=0,0,9\n";

    MOVES ("", BIG);
    MOVES ("", both);
    job.features = "ib&new";
    MOVES ("", both);
    job.features = "ib&old";
    STAYS ("", both, "'old' of the constraint is not among its features");
    job.features = NULL;
    job.partition = "gpu,long";
    MOVES ("", both);
    job.partition = "gpu,short";
    STAYS ("", both, "it is not in the job's partition");
    job.partition = NULL;
    job.tmp_disk_mb = 900001;
    STAYS ("", both, "900001 MB of temporary disk per node, it has 900000");
    job.tmp_disk_mb = DN_UNSET;
    job.exc_nodes = "g1";
    STAYS ("", both, "2 nodes are needed or excluded, 1 of its 1 can be used");
    job.exc_nodes = NULL;
    job.mem_per_node_mb = 600000;
    STAYS ("", both, "600000 MB of memory per node, it has 512000");
#undef BIG
}

/* The job needs some 88 CPUs on four V100, which only the second group has. */
TEST ("CPUs are those of the groups that fit")
{
#define V(up, idle)                                                                    \
    A100_IDLE "Group Type=v100 Gpus=4 Cpus=16 Memory=512000 ThreadsPerCore=2 "         \
              "Partitions=gpu Nodes=4 Up=4 Idle=0,0,0,0,4\n"                           \
              "Group Type=v100 Gpus=4 Cpus=96 Memory=512000 ThreadsPerCore=2 "         \
              "Partitions=gpu Nodes=4 Up=" up " Idle=0,0,0,0," idle "\n" QUEUE
    STAYS ("", V ("2", "0"), "not v100: its GPUs are busy");
    assert_numbers ("96 16", v100->node_cpus, v100->idle_cpus);
    STAYS ("", V ("0", "0"), "CPUs per node, it has 16");
    assert_int_equal (v100->node_cpus, 16);
    job.whole_cores = true;
    moves ("", V ("1", "1"), 0);
    assert_int_equal (v100->node_cpus, 48);
    job.whole_cores = false;
    job.min_nodes = job.max_nodes = 5;
    job.num_tasks = 5;
    moves ("", V ("2", "2"), 0);
    assert_int_equal (v100->node_cpus, 16);
#undef V
}

TEST ("many kinds of nodes lose CPUs, but no node")
{
    char rows[8192] = A100_IDLE QUEUE;
    struct dn_buf buf = {rows, sizeof (rows), strlen (rows), false};

    for (int i = 0; i < 40; i++)
        dn_buf_add (&buf,
                    "Group Type=v100 Gpus=4 Cpus=%d Memory=512000 Partitions=gpu "
                    "Nodes=1 Up=1 Idle=0,0,0,0,1\n",
                    20 + (i * 7) % 40);
    job.min_nodes = job.max_nodes = 40;
    job.num_tasks = 40;
    moves ("", rows, 0);
    assert_int_equal (v100->node_cpus, 20);
    job.min_nodes = job.max_nodes = 1;
    job.num_tasks = 1;
    moves ("", rows, 0);
    assert_in_range (v100->node_cpus, 50, 59);
}

/* --- prices ------------------------------------------------------------------------
 */

TEST ("prices are billing weights where no line states one")
{
#define LINES(more)                                                                    \
    "Gpu Type=v100 Device=v100_16gb" more "\nGpu Type=a100 Device=a100_40gb\n"
#define P(weights)                                                                     \
    A100_IDLE V100_IDLE                                                                \
        "Partition Name=gpu Default=yes Up=yes BillingWeights=" weights "\n"
    static const char *const bad[] = {
        P ("GRES/gpu:v100=x,GRES/gpu:a100=2"), P ("=,=,="), P ("GRES/gpu:v100")};

    assert_true (moves (LINES (""), P ("CPU=1,GRES/gpu:v100=0.5,gres/gpu:A100=4"), 0));
    assert_numbers ("0.5 4", v100->cost, v100[1].cost);
    moves (LINES (""), P ("GRES/gpu=2,GRES/gpu:a100=3"), 0);
    assert_numbers ("2 5", v100->cost, v100[1].cost);
    moves (LINES (""), P ("GRES/gpu:v100=2"), 0);
    assert_near (v100->cost, 1);
    scene_need_reason (advice, "TRESBillingWeights has a price for 1 of 2 GPU types");
    moves (LINES (" Cost=3"), P ("GRES/gpu:v100=2,GRES/gpu:a100=2"), 0);
    assert_numbers ("3 1", v100->cost, v100[1].cost);
    for (int i = 0; i < 3; i++) {
        moves (LINES (""), bad[i], 0);
        assert_near (v100->cost, 1);
    }
#undef LINES
#undef P
}

/* --- waits -------------------------------------------------------------------------
 */

TEST ("a job moves at its submission only to idle GPUs")
{
    MOVES ("", IDLE);
    MOVES ("", A100_BUSY V100_IDLE QUEUE);
    STAYS ("", A100_IDLE V100_BUSY QUEUE, "its GPUs are busy");
    STAYS ("", A100_BUSY V100_BUSY QUEUE "Wait Type=v100 Node=60\n", "busy");
    STAYS ("GpuType=open", A100_BUSY V100_IDLE QUEUE, "v100, too, if");
    assert_true (moves ("Objective=finish",
                        A100_BUSY V100_IDLE QUEUE "Wait Type=a100 Node=432000\n",
                        0));
    scene_need_reason (advice, "% of its wait and run");
    STAYS ("Objective=finish", IDLE, "too little gain");
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet,objective=finish";
    MOVES ("Objective=time\nUserObjective=yes",
           A100_BUSY V100_IDLE QUEUE "Wait Type=a100 Node=432000\n");
    STAYS ("Objective=time",
           A100_BUSY V100_IDLE QUEUE "Wait Type=a100 Node=432000\n",
           "objective=finish is not honoured");
}

TEST ("the expected start is said, and recorded")
{
    moves ("Mode=enforce\nGpuType=open",
           A100_BUSY V100_BUSY QUEUE
           "Wait Type=a100 Node=36000\nWait Type=v100 Node=600\n",
           0);
    assert_contains (advice->patch.user_text,
                     "x the time; start in about 00:10:00, on a100 alone 10:00:00)");
    assert_contains (advice->patch.record, "\"wait_s\":600");
    moves ("Mode=enforce\nGpuType=open", IDLE, 0);
    assert_null (strstr (advice->patch.user_text, "start in about"));
    assert_contains (advice->patch.record, "\"wait_s\":0");
    moves ("Mode=enforce\nGpuType=open", A100_BUSY V100_BUSY QUEUE, 0);
    assert_null (strstr (advice->patch.record, "\"wait_s\""));
}

/* Two nodes of four GPUs are idle: for two jobs, until the next snapshot. */
TEST ("idle GPUs are not promised twice")
{
    struct dn_site *site = scene_site ("Mode=enforce");
    struct dn_view view;

    scene_idle (&view);
    for (int i = 0; i < 4; i++) {
        advice = scene_new ();
        if (i == 3)
            scene_idle (&view);
        assert_int_equal (dn_advise (site, &view, &job, NULL, NULL, advice, NULL), 0);
        assert_int_equal (advice->decision.gpu != NULL, i != 2);
        assert_int_equal (advice->decision.n_open, 2);
    }
}

/* --- what the user is told ----------------------------------------------------------
 */

TEST ("a type without nodes is warned of")
{
    struct dn_warning *warning;

    assert_false (moves ("GpuType=keep", A100_DOWN V100_IDLE QUEUE, 0));
    warning = dn_decision_warning (&advice->decision, DN_WARNING_NODES);
    assert_non_null (warning);
    assert_string_equal (
        dn_warning_text (warning).text,
        "no node with a100 is available (its 2 nodes are down, drained "
        "or reserved); v100 has idle ones");
    moves ("GpuType=keep", A100_DOWN V100_DOWN QUEUE, 0);
    assert_null (dn_decision_warning (&advice->decision, DN_WARNING_NODES));
    moves ("GpuType=keep", A100_DOWN V100_IDLE QUEUE, 301);
    assert_null (dn_decision_warning (&advice->decision, DN_WARNING_NODES));
}

TEST ("a move to idle GPUs says so")
{
    moves ("Mode=enforce", A100_BUSY V100_IDLE QUEUE, 0);
    assert_contains (advice->patch.user_text, "(starts now, ");
    moves ("Mode=enforce", IDLE, 0);
    assert_null (strstr (advice->patch.user_text, "starts now"));
}
