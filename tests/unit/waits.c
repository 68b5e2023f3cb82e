/* waits.c - tests of the waits that are expected by GPU type and shape
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "watch/node_groups.h"
#include "watch/waits.h"

#define NOW 1000000

/* A cluster: four nodes a1..a4 of four a100, two nodes v1 v2 of two v100, in partition
 * gpu; the v100 also in partition old.
 */
struct scene {
    struct dn_gpu_nodes *nodes;
    struct dn_node_groups groups;
    struct dn_queue *queue;
    struct dn_cluster cluster;
};

static struct scene scene; /* of the test */

static void end (void)
{
    dn_gpu_nodes_free (scene.nodes);
    dn_node_groups_free (&scene.groups);
    dn_queue_free (scene.queue);
    free (scene.cluster.groups);
    free (scene.cluster.waits);
    memset (&scene, 0, sizeof (scene));
}

int after_test (void **state)
{
    end ();
    return 0;
}

static void add_node (struct dn_link_node node)
{
    node.cpus = node.idle_cpus = 64;
    node.mem_mb = node.idle_mem_mb = 1000;
    assert_int_equal (dn_gpu_nodes_add (scene.nodes, &node, NULL), 0);
    assert_int_equal (dn_node_groups_add (&scene.groups, &node, NULL), 0);
}

/* Nodes whose a100 are all used but for 'idle' on a1. */
static void begin (int idle)
{
    char *used;

    end ();
    scene.nodes = dn_gpu_nodes_new ();
    scene.queue = dn_queue_new ();
    assert_true (scene.nodes && scene.queue);
    used = unit_text ("gpu:a100:%d(IDX:0)", 4 - idle);
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"a1", "a2", "a3", "a4"};

        add_node ((struct dn_link_node){.name = names[i],
                                        .gres = "gpu:a100:4",
                                        .gres_used = i == 0 ? used : "gpu:a100:4",
                                        .partitions = "gpu",
                                        .up = true});
    }
    for (int i = 0; i < 2; i++)
        add_node ((struct dn_link_node){.name = i ? "v2" : "v1",
                                        .gres = "gpu:v100:2",
                                        .gres_used = "gpu:v100:0",
                                        .partitions = "gpu,old",
                                        .up = true});
}

static void add_job (const struct dn_link_job *job)
{
    assert_int_equal (dn_queue_add (scene.queue, job, NOW, NULL), 0);
}

static struct dn_link_job running (const char *tres, const char *nodes, int64_t end_s)
{
    return (struct dn_link_job){.phase = DN_PHASE_RUNNING,
                                .start = NOW - 20000,
                                .eligible = NOW - 20000,
                                .end = NOW + end_s,
                                .n_nodes = strchr (nodes, '[') ? 2 : 1,
                                .partition = "gpu",
                                .nodes = nodes,
                                .tres = tres};
}

static struct dn_link_job queued (const char *tres, int64_t n_nodes, int64_t start_s)
{
    return (struct dn_link_job){.phase = DN_PHASE_PENDING,
                                .queued = true,
                                .start = start_s ? NOW + start_s : 0,
                                .n_nodes = n_nodes,
                                .partition = "gpu",
                                .tres = tres};
}

static struct dn_link_job started (const char *nodes, int64_t wait_s)
{
    struct dn_link_job job = running ("gres/gpu=1", nodes, 50000);

    job.start = NOW - 600;
    job.eligible = job.start - wait_s;
    return job;
}

static int64_t wait_of (const char *type, enum dn_job_shape shape)
{
    if (!scene.cluster.waits) {
        dn_node_groups_move (&scene.groups, &scene.cluster);
        assert_int_equal (
            dn_waits_estimate (scene.queue, scene.nodes, NOW, &scene.cluster, NULL), 0);
    }
    for (int64_t i = 0; i < scene.cluster.n_waits; i++)
        if (strcmp (scene.cluster.waits[i].type, type) == 0)
            return scene.cluster.waits[i].wait_s[shape];
    fail_msg ("no wait for %s", type);
    return 0;
}

#define assert_waits(type, gpu, node, nodes)                                           \
    do {                                                                               \
        assert_int_equal (wait_of (type, DN_SHAPE_GPU), gpu);                          \
        assert_int_equal (wait_of (type, DN_SHAPE_NODE), node);                        \
        assert_int_equal (wait_of (type, DN_SHAPE_NODES), nodes);                      \
    } while (0)

TEST ("idle GPUs mean no wait")
{
    begin (1);
    assert_waits ("a100", 0, DN_UNSET, DN_UNSET);
    assert_waits ("v100", 0, 0, 0);
}

TEST ("without a queue running jobs end at their limits")
{
    struct dn_link_job jobs[] = {
        running ("gres/gpu:a100=4", "a1", 5000),
        running ("gres/gpu:a100=1", "a2", 100),
        running ("gres/gpu:a100=3", "a2", 7000),
        running ("cpu=4,gres/gpu=8", "a[3-4]", 9000),
        running ("gres/gpu=1", "v1", 50),
    };

    begin (0);
    for (size_t i = 0; i < DN_N_ELEMENTS (jobs); i++)
        add_job (&jobs[i]);
    assert_waits ("a100", 100, 5000, 7000);
}

TEST ("the queue takes what is freed first")
{
    struct dn_link_job run = running ("gres/gpu:a100=2", "a1", 100);
    struct dn_link_job later = running ("gres/gpu:a100=2", "a1", 900);
    struct dn_link_job wait = queued ("gres/gpu:a100=1", 1, 0);

    begin (0);
    add_job (&run);
    add_job (&later);
    add_job (&wait);
    add_job (&wait);
    assert_waits ("a100", 900, 900, DN_UNSET);
}

TEST ("a new job starts after those that backfill planned")
{
    struct dn_link_job one = queued ("gres/gpu:a100=1", 1, 300);
    struct dn_link_job two = queued ("gres/gpu:a100=1", 1, 1200);
    struct dn_link_job none = queued ("gres/gpu:a100=1", 1, 0);
    struct dn_link_job node = queued ("gres/gpu:a100=4", 1, 5000);
    struct dn_link_job nodes = queued ("gres/gpu:a100=8", 2, 8000);

    begin (1); /* idle, but others wait for it */
    add_job (&one);
    add_job (&two);
    add_job (&none);
    add_job (&none);
    add_job (&node);
    add_job (&nodes);
    assert_waits ("a100", 2400, 5000, 8000);
    assert_waits ("v100", 0, 0, 0);
}

TEST ("recent waits of jobs that waited are their median")
{
    static const int64_t waits[] = {10, 4000, 0, 20, 30, 9000, 0};

    begin (0);
    for (size_t i = 0; i < DN_N_ELEMENTS (waits); i++) {
        struct dn_link_job job = started ("a2", waits[i]);

        add_job (&job);
    }
    assert_int_equal (wait_of ("a100", DN_SHAPE_GPU), 4000);
    assert_int_equal (wait_of ("a100", DN_SHAPE_NODE), 50000);
}

TEST ("few recent waits count last")
{
    struct dn_link_job run = running ("gres/gpu:a100=4", "a1", 5000);
    struct dn_link_job job = started ("a2", 400);

    begin (0);
    add_job (&job);
    add_job (&run);
    assert_int_equal (wait_of ("a100", DN_SHAPE_GPU), 5000);
    begin (0);
    job.phase = DN_PHASE_ENDED;
    add_job (&job);
    assert_int_equal (wait_of ("a100", DN_SHAPE_GPU), 400);
}

TEST ("plans and recent waits are averaged")
{
    struct dn_link_job plan = queued ("gres/gpu:a100=1", 1, 2000);

    begin (0);
    add_job (&plan);
    for (int i = 0; i < 2; i++) {
        struct dn_link_job job = started ("a2", 100);

        add_job (&job);
    }
    assert_int_equal (wait_of ("a100", DN_SHAPE_GPU), 2000);
    begin (0);
    add_job (&plan);
    for (int i = 0; i < 3; i++) {
        struct dn_link_job job = started ("a2", 100);

        add_job (&job);
    }
    assert_int_equal (wait_of ("a100", DN_SHAPE_GPU), 1050);
}

TEST ("jobs that name no type wait for those of their partitions")
{
    struct dn_link_job any = queued ("gres/gpu=1", 1, 700);
    struct dn_link_job old = queued ("gres/gpu=1", 1, 900);

    old.partition = "old,other";
    begin (0);
    add_job (&any);
    add_job (&old);
    assert_int_equal (wait_of ("a100", DN_SHAPE_GPU), 700);
    assert_int_equal (wait_of ("v100", DN_SHAPE_GPU), 900);
}

TEST ("a request names the type where TRES do not")
{
    struct dn_link_job job = queued ("cpu=1,gres/gpu=1", 1, 700);

    job.gres = "gres:gpu:a100:1";
    begin (0);
    add_job (&job);
    assert_int_equal (wait_of ("a100", DN_SHAPE_GPU), 700);
    assert_int_equal (wait_of ("v100", DN_SHAPE_GPU), 0);
}

TEST ("other jobs do not count")
{
    struct dn_link_job held = queued ("gres/gpu:a100=1", 1, 0);
    struct dn_link_job cpus = queued ("cpu=4", 1, 9000);
    struct dn_link_job gone = queued ("gres/gpu:k80=1", 1, 9000);
    struct dn_link_job ended = started ("a1", 10);
    struct dn_link_job elsewhere = started ("x[1-3]", 10);

    held.queued = false;
    ended.start = NOW - DN_WAIT_RECENT_S - 1;
    ended.phase = DN_PHASE_ENDED;
    begin (1);
    add_job (&held);
    add_job (&cpus);
    add_job (&gone);
    add_job (&ended);
    add_job (&elsewhere);
    assert_waits ("a100", 0, DN_UNSET, DN_UNSET);
}

TEST ("a type that is up nowhere has no wait")
{
    struct dn_link_job job = queued ("gres/gpu:k80=1", 1, 100);

    begin (0);
    add_node ((struct dn_link_node){.name = "k1", .gres = "gpu:k80:2", .up = false});
    add_job (&job);
    assert_waits ("k80", DN_UNSET, DN_UNSET, DN_UNSET);
}

TEST ("nodes with one GPU have one wait")
{
    struct dn_link_job job = queued ("gres/gpu:t4=1", 1, 100);

    begin (0);
    add_node ((struct dn_link_node){
        .name = "t1", .gres = "gpu:t4:1", .gres_used = "gpu:t4:1", .up = true});
    add_job (&job);
    assert_waits ("t4", 100, 100, DN_UNSET);
}

TEST ("a busy node without jobs frees nothing")
{
    begin (0);
    add_node ((struct dn_link_node){
        .name = "t1", .gres = "gpu:t4:2", .up = true, .busy = true});
    assert_waits ("t4", DN_UNSET, DN_UNSET, DN_UNSET);
}

/* More types, partitions and jobs than are kept; nothing is written beyond. */
TEST ("any number is bounded")
{
    char *name;
    char *gres;

    begin (0);
    for (int i = 0; i < 300; i++) {
        struct dn_link_job job = queued (NULL, 1, 100 + i);

        name = unit_text ("n%d", i);
        gres = unit_text ("gpu:t%d:4", i);
        add_node ((struct dn_link_node){.name = name, .gres = gres, .up = true});
        job.tres = gres;
        job.partition = name;
        add_job (&job);
        job.tres = "gres/gpu=1";
        add_job (&job);
    }
    wait_of ("t0", DN_SHAPE_GPU);
    assert_int_equal (scene.cluster.n_waits, DN_WAIT_TYPES_MAX);
}
