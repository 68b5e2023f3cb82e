/* eyes.c - tests of decisions with a snapshot of the cluster: nodes, prices, waits
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

#define SEES(conf, rows, moved, reason)                                                \
    do {                                                                               \
        struct dn_advice *seen = scene_see (conf, rows, 0, &job);                      \
                                                                                       \
        if ((seen->decision.gpu != NULL) != (moved))                                   \
            scene_need_reason (seen, "MOVED OR NOT");                                  \
        scene_need_reason (seen, reason);                                              \
    } while (0)

#define MOVED "of the time of a100"

TEST ("a line with Type and Device suffices with a fresh snapshot")
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    SEES ("", A100_IDLE V100_IDLE QUEUE, true, MOVED);
    for (int age_s = 299; age_s <= 301; age_s++) {
        advice = scene_see ("", A100_IDLE V100_IDLE QUEUE, age_s, &job);
        assert_int_equal (advice->decision.gpu != NULL, age_s <= 300);
        if (age_s > 300)
            scene_need_reason (advice, "no feature or partition of their own");
    }
    advice = scene_see ("", A100_IDLE V100_IDLE QUEUE, -1, &job);
    assert_null (advice->decision.gpu);
}

TEST ("no job moves to a type without an available node")
{
    struct dn_job job = scene_job ();

    SEES ("",
          A100_IDLE V100_DOWN QUEUE,
          false,
          "its 2 nodes are down, drained or reserved");
    SEES ("",
          A100_BUSY V100_DOWN QUEUE,
          false,
          "its 2 nodes are down, drained or reserved");
    SEES ("", A100_IDLE QUEUE, false, "not v100: the cluster has no node with it");
    SEES ("", A100_DOWN V100_IDLE QUEUE, true, MOVED);
    job.min_nodes = job.max_nodes = 2;
    job.num_tasks = 2;
    job.cpus_per_task = job.pn_min_cpus = 40;
    SEES ("", A100_IDLE V100_IDLE QUEUE, true, MOVED);
    SEES ("",
          A100_IDLE "Group Type=v100" SCENE_SHAPE
                    "Partitions=gpu Nodes=3 Up=1 Idle=0,0,0,0,1\n" QUEUE,
          false,
          "2 nodes are needed or excluded, 1 of its 3 can be used");
}

TEST ("a stale snapshot is not believed")
{
    static const char line[] =
        " PerNode=4 NodeCpus=96 NodeMemory=512000 Partitions=ALL\n";
    struct dn_job job = scene_job ();
    struct dn_advice *advice;
    char conf[512];

    snprintf (conf,
              sizeof (conf),
              "Gpu Type=v100 Device=v100_16gb Cost=1%sGpu Type=a100 Device=a100_40gb "
              "Cost=4%s",
              line,
              line);
    advice = scene_see (conf, A100_IDLE V100_DOWN QUEUE, 0, &job);
    assert_null (advice->decision.gpu);
    advice = scene_see (conf, A100_IDLE V100_DOWN QUEUE, 600, &job);
    assert_null (advice->decision.gpu);
    assert_false (scene_has_reason (advice, "drained"));
    strcat (conf, "SnapshotAge=3600\n");
    advice = scene_see (conf, A100_IDLE V100_DOWN QUEUE, 600, &job);
    assert_null (advice->decision.gpu);
    scene_need_reason (advice, "drained");
}

/* The job's limit is a day. */
TEST ("a reservation must begin after the limit")
{
    struct dn_job job = scene_job ();
    char *rows;

    for (int hours = 23; hours <= 25; hours += 2) {
        rows =
            unit_text (A100_IDLE QUEUE
                       "Group Type=v100" SCENE_SHAPE
                       "Partitions=gpu ReservedFrom=%d ReservedUntil=%d Nodes=2 Up=2 "
                       "Idle=0,0,0,0,2\n",
                       SCENE_NOW + hours * 3600,
                       SCENE_NOW + 40 * 3600);
        if (hours == 25)
            SEES ("", rows, true, MOVED);
        else
            SEES ("", rows, false, "its nodes are reserved in 23:00:00, before");
    }
    /* Without a limit the partition's default holds, and its MaxTime where it has none.
     */
    job.time_limit_min = DN_UNSET;
    SEES (
        "", rows, false, "its nodes are reserved in 1-01:00:00, before the time limit");
}

TEST ("what the line states overrides the snapshot")
{
    static const struct {
        const char *keys;
        bool moved;
        const char *reason;
    } cases[] = {
        {"", true, MOVED},
        {"PerNode=2", false, "4 GPUs per node, it has 2"},
        {"NodeMemory=1000", false, "256000 MB of memory per node, it has 1000"},
        {"NodeMemory=600000 NodeCpus=128", true, MOVED},
        {"NodeCpus=1", false, "CPUs per node, it has 1"},
        {"Partitions=other", false, "it is not in the job's partition"},
        {"Partitions=gpu", true, MOVED},
        {"MoveTo=no", false, "its Gpu line says MoveTo=no"},
    };
    struct dn_job job = scene_job ();

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char *conf = unit_text ("Gpu Type=v100 Device=v100_16gb Cost=1 %s\n"
                                "Gpu Type=a100 Device=a100_40gb Cost=4\n",
                                cases[i].keys);

        SEES (conf, A100_IDLE V100_IDLE QUEUE, cases[i].moved, cases[i].reason);
    }
}

/* Nodes of a group that lacks something do not count. */
TEST ("a group must fit the job")
{
#define GROUP(what, n)                                                                 \
    "Group Type=v100 " what " Nodes=" n " Up=" n " Idle=0,0,0,0," n "\n"
    static const char big[] = A100_IDLE QUEUE GROUP (
        "Gpus=4 Cpus=96 Memory=512000 Tmp=900000 ThreadsPerCore=2 "
        "Features=ib,new Partitions=gpu,long",
        "1");
    static const char both[] = A100_IDLE QUEUE GROUP (
        "Gpus=4 Cpus=96 Memory=512000 Tmp=900000 ThreadsPerCore=2 "
        "Features=ib,new Partitions=gpu,long",
        "1") "Group Type=v100 Gpus=2 Cpus=8 Memory=64000 Partitions=gpu Nodes=9 Up=9 "
             "Idle=0,0,9\n";
    struct dn_job job = scene_job ();

    SEES ("", big, true, MOVED);
    SEES ("", both, true, MOVED);
    job.features = "ib&new";
    SEES ("", both, true, MOVED);
    job.features = "ib&old";
    SEES ("", both, false, "'old' of the constraint is not among its features");
    job.features = NULL;
    job.partition = "gpu,long";
    SEES ("", both, true, MOVED);
    job.partition = "gpu,short";
    SEES ("", both, false, "it is not in the job's partition");
    job.partition = NULL;
    job.tmp_disk_mb = 900001;
    SEES ("", both, false, "900001 MB of temporary disk per node, it has 900000");
    job.tmp_disk_mb = DN_UNSET;
    job.exc_nodes = "g1";
    SEES ("", both, false, "2 nodes are needed or excluded, 1 of its 1 can be used");
    job.exc_nodes = NULL;
    job.mem_per_node_mb = 600000;
    SEES ("", both, false, "600000 MB of memory per node, it has 512000");
#undef GROUP
}

/* The job needs some 88 CPUs on four V100, which only the second group has. */
TEST ("CPUs are those of the groups that fit")
{
#define V(cpus, up, idle)                                                              \
    "Group Type=v100 Gpus=4 Cpus=" cpus " Memory=512000 ThreadsPerCore=2 "             \
    "Partitions=gpu Nodes=4 Up=" up " Idle=0,0,0,0," idle "\n"
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    advice =
        scene_see ("", A100_IDLE V ("16", "4", "4") V ("96", "2", "0") QUEUE, 0, &job);
    assert_int_equal (advice->candidates.list[0].node_cpus, 96);
    assert_int_equal (advice->candidates.list[0].idle_cpus, 16);
    scene_need_reason (advice, "not v100: its GPUs are busy");
    advice =
        scene_see ("", A100_IDLE V ("16", "4", "4") V ("96", "0", "0") QUEUE, 0, &job);
    assert_int_equal (advice->candidates.list[0].node_cpus, 16);
    scene_need_reason (advice, "CPUs per node, it has 16");
    job.whole_cores = true;
    advice =
        scene_see ("", A100_IDLE V ("16", "4", "4") V ("96", "1", "1") QUEUE, 0, &job);
    assert_int_equal (advice->candidates.list[0].node_cpus, 48);
    job.whole_cores = false;
    job.min_nodes = job.max_nodes = 5;
    job.num_tasks = 5;
    advice =
        scene_see ("", A100_IDLE V ("16", "4", "4") V ("96", "2", "2") QUEUE, 0, &job);
    assert_int_equal (advice->candidates.list[0].node_cpus, 16);
#undef V
}

TEST ("many kinds of nodes lose CPUs, but no node")
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice;
    char rows[8192] = A100_IDLE QUEUE;
    struct dn_buf buf = {rows, sizeof (rows), strlen (rows), false};

    for (int i = 0; i < 40; i++)
        dn_buf_add (&buf,
                    "Group Type=v100 Gpus=4 Cpus=%d Memory=512000 Partitions=gpu "
                    "Nodes=1 Up=1 Idle=0,0,0,0,1\n",
                    20 + (i * 7) % 40);
    job.min_nodes = job.max_nodes = 40;
    job.num_tasks = 40;
    advice = scene_see ("", rows, 0, &job);
    assert_int_equal (advice->candidates.list[0].node_cpus, 20);
    job.min_nodes = job.max_nodes = 1;
    job.num_tasks = 1;
    advice = scene_see ("", rows, 0, &job);
    assert_in_range (advice->candidates.list[0].node_cpus, 50, 59);
}

/* --- prices ------------------------------------------------------------------------
 */

TEST ("prices are billing weights where no line states one")
{
    static const char lines[] =
        "Gpu Type=v100 Device=v100_16gb\nGpu Type=a100 Device=a100_40gb\n";
#define P(weights) "Partition Name=gpu Default=yes Up=yes BillingWeights=" weights "\n"
    struct dn_job job = scene_job ();
    struct dn_advice *advice;

    advice =
        scene_see (lines,
                   A100_IDLE V100_IDLE P ("CPU=1,GRES/gpu:v100=0.5,gres/gpu:A100=4"),
                   0,
                   &job);
    assert_near (advice->candidates.list[0].cost, 0.5);
    assert_near (advice->candidates.list[1].cost, 4);
    assert_non_null (advice->decision.gpu);
    advice = scene_see (
        lines, A100_IDLE V100_IDLE P ("GRES/gpu=2,GRES/gpu:a100=3"), 0, &job);
    assert_near (advice->candidates.list[0].cost, 2);
    assert_near (advice->candidates.list[1].cost, 5);
    advice = scene_see (lines, A100_IDLE V100_IDLE P ("GRES/gpu:v100=2"), 0, &job);
    assert_near (advice->candidates.list[0].cost, 1);
    scene_need_reason (advice, "TRESBillingWeights has a price for 1 of 2 GPU types");
    advice = scene_see (
        "Gpu Type=v100 Device=v100_16gb Cost=3\nGpu Type=a100 Device=a100_40gb\n",
        A100_IDLE V100_IDLE P ("GRES/gpu:v100=2,GRES/gpu:a100=2"),
        0,
        &job);
    assert_near (advice->candidates.list[0].cost, 3);
    assert_near (advice->candidates.list[1].cost, 1);
    for (int i = 0; i < 3; i++) {
        static const char *const bad[] = {
            P ("GRES/gpu:v100=x,GRES/gpu:a100=2"), P ("=,=,="), P ("GRES/gpu:v100")};

        advice = scene_see (lines, A100_IDLE V100_IDLE, 0, &job);
        advice = scene_see (lines, bad[i], 0, &job);
        assert_near (advice->candidates.list[0].cost, 1);
    }
#undef P
}

/* --- waits -------------------------------------------------------------------------
 */

TEST ("a job moves at its submission only to idle GPUs")
{
    struct dn_job job = scene_job ();

    SEES ("", A100_IDLE V100_IDLE QUEUE, true, MOVED);
    SEES ("", A100_BUSY V100_IDLE QUEUE, true, MOVED);
    SEES ("", A100_IDLE V100_BUSY QUEUE, false, "its GPUs are busy");
    SEES ("", A100_BUSY V100_BUSY QUEUE "Wait Type=v100 Node=60\n", false, "busy");
    SEES ("GpuType=open", A100_BUSY V100_IDLE QUEUE, false, "v100, too, if");
    SEES ("Objective=finish",
          A100_BUSY V100_IDLE QUEUE "Wait Type=a100 Node=432000\n",
          true,
          "% of its wait and run");
    SEES ("Objective=finish", A100_IDLE V100_IDLE QUEUE, false, "too little gain");
    job.comment = "dnnest:model=resnet50,batch=128,precision=fp16,optimizer=momentum,"
                  "epochs=20,dataset=imagenet,objective=finish";
    SEES ("Objective=time\nUserObjective=yes",
          A100_BUSY V100_IDLE QUEUE "Wait Type=a100 Node=432000\n",
          true,
          MOVED);
    SEES ("Objective=time",
          A100_BUSY V100_IDLE QUEUE "Wait Type=a100 Node=432000\n",
          false,
          "objective=finish is not honoured");
}

TEST ("the expected start is said, and recorded")
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice =
        scene_see ("Mode=enforce\nGpuType=open",
                   A100_BUSY V100_BUSY QUEUE
                   "Wait Type=a100 Node=36000\nWait Type=v100 Node=600\n",
                   0,
                   &job);

    assert_contains (advice->patch.user_text,
                     "x the time; start in about 00:10:00, on a100 alone 10:00:00)");
    assert_contains (advice->patch.record, "\"wait_s\":600");
    advice =
        scene_see ("Mode=enforce\nGpuType=open", A100_IDLE V100_IDLE QUEUE, 0, &job);
    assert_null (strstr (advice->patch.user_text, "start in about"));
    assert_contains (advice->patch.record, "\"wait_s\":0");
    advice =
        scene_see ("Mode=enforce\nGpuType=open", A100_BUSY V100_BUSY QUEUE, 0, &job);
    assert_null (strstr (advice->patch.record, "\"wait_s\""));
}

/* Two nodes of four GPUs are idle: for two jobs, until the next snapshot. */
TEST ("idle GPUs are not promised twice")
{
    struct dn_site *site = scene_site ("Mode=enforce");
    struct dn_job job = scene_job ();
    struct dn_view view;

    scene_idle (&view);
    for (int i = 0; i < 4; i++) {
        struct dn_advice *advice = scene_new ();

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
    struct dn_job job = scene_job ();
    struct dn_advice *advice =
        scene_see ("GpuType=keep", A100_DOWN V100_IDLE QUEUE, 0, &job);
    struct dn_warning *warning =
        dn_decision_warning (&advice->decision, DN_WARNING_NODES);

    assert_non_null (warning);
    assert_string_equal (
        dn_warning_text (warning).text,
        "no node with a100 is available (its 2 nodes are down, drained "
        "or reserved); v100 has idle ones");
    assert_null (advice->decision.gpu);
    advice = scene_see ("GpuType=keep", A100_DOWN V100_DOWN QUEUE, 0, &job);
    assert_null (dn_decision_warning (&advice->decision, DN_WARNING_NODES));
    advice = scene_see ("GpuType=keep", A100_DOWN V100_IDLE QUEUE, 301, &job);
    assert_null (dn_decision_warning (&advice->decision, DN_WARNING_NODES));
}

TEST ("a move to idle GPUs says so")
{
    struct dn_job job = scene_job ();
    struct dn_advice *advice =
        scene_see ("Mode=enforce", A100_BUSY V100_IDLE QUEUE, 0, &job);

    assert_contains (advice->patch.user_text, "(starts now, ");
    advice = scene_see ("Mode=enforce", A100_IDLE V100_IDLE QUEUE, 0, &job);
    assert_null (strstr (advice->patch.user_text, "starts now"));
}
