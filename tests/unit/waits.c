/* waits.c - tests of the waits that are expected by GPU type and shape
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <inttypes.h>

#include "watch/node_groups.h"
#include "watch/waits.h"

#define NOW 1000000

/* A cluster: four nodes a1..a4 of four a100, two nodes v1 v2 of two v100, in partition
 * gpu; the v100 also in partition old.
 */
struct scene {
    struct dn_waits *waits;
    struct dn_node_groups groups;
    struct dn_cluster cluster;
};

static struct scene scene; /* of the test */

static void end (void)
{
    dn_waits_free (scene.waits);
    dn_node_groups_free (&scene.groups);
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
    assert_int_equal (dn_waits_add_node (scene.waits, &node, NULL), 0);
    assert_int_equal (dn_node_groups_add (&scene.groups, &node, NULL), 0);
}

/* Nodes whose a100 are all used but for 'idle' on a1. */
static void begin (int idle)
{
    char *used = unit_text ("gpu:a100:%d(IDX:0)", 4 - idle);

    end ();
    scene.waits = dn_waits_new ();
    assert_non_null (scene.waits);
    for (int i = 0; i < 4; i++)
        add_node ((struct dn_link_node){.name = unit_text ("a%d", i + 1),
                                        .gres = "gpu:a100:4",
                                        .gres_used = i == 0 ? used : "gpu:a100:4",
                                        .partitions = "gpu",
                                        .up = true});
    for (int i = 0; i < 2; i++)
        add_node ((struct dn_link_node){.name = i ? "v2" : "v1",
                                        .gres = "gpu:v100:2",
                                        .gres_used = "gpu:v100:0",
                                        .partitions = "gpu,old",
                                        .up = true});
}

static void add_job (const struct dn_link_job *job)
{
    if (!scene.cluster.groups)
        dn_node_groups_move (&scene.groups, &scene.cluster);
    assert_done (dn_waits_add_job (scene.waits, &scene.cluster, job, NOW, &unit_err));
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
        if (!scene.cluster.groups)
            dn_node_groups_move (&scene.groups, &scene.cluster);
        assert_int_equal (dn_waits_fill (scene.waits, NOW, &scene.cluster, NULL), 0);
    }
    for (int64_t i = 0; i < scene.cluster.n_waits; i++)
        if (strcmp (scene.cluster.waits[i].type, type) == 0)
            return scene.cluster.waits[i].wait_s[shape];
    fail_msg ("no wait for %s", type);
    return 0;
}

/* A job with another value of a member. */
#define WITH(job, member, value)                                                       \
    ({                                                                                 \
        struct dn_link_job with_ = (job);                                              \
                                                                                       \
        with_.member = value;                                                          \
        with_;                                                                         \
    })

struct wait_case {
    const char *what;
    const char *waits; /* idle a100, a type: its waits of a GPU, a node, nodes */
    struct dn_link_job jobs[6];
};

/* A wait as a text, "-" if there is none. */
static const char *shown (const char *type, enum dn_job_shape shape)
{
    int64_t wait_s = wait_of (type, shape);

    return wait_s == DN_UNSET ? "-" : unit_text ("%" PRId64, wait_s);
}

static void check_waits (const struct wait_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char type[DN_NAME_MAX];
        char *found;

        begin (cases[i].waits[0] - '0');
        add_node ((struct dn_link_node){.name = "k1", .gres = "gpu:k80:2"});
        add_node ((struct dn_link_node){
            .name = "t1", .gres = "gpu:t4:1", .gres_used = "gpu:t4:1", .up = true});
        add_node ((struct dn_link_node){
            .name = "p1", .gres = "gpu:p100:2", .up = true, .busy = true});
        for (int k = 0; k < 6 && cases[i].jobs[k].tres; k++)
            add_job (&cases[i].jobs[k]);
        assert_int_equal (sscanf (cases[i].waits, "%*d %31[^:]", type), 1);
        found = unit_text ("%c %s: %s %s %s",
                           cases[i].waits[0],
                           type,
                           shown (type, DN_SHAPE_GPU),
                           shown (type, DN_SHAPE_NODE),
                           shown (type, DN_SHAPE_NODES));
        if (strcmp (found, cases[i].waits) != 0)
            fail_msg ("%s: '%s', expected '%s'", cases[i].what, found, cases[i].waits);
    }
}

TEST ("the waits for a type follow from running and waiting jobs")
{
    const struct dn_link_job one = queued ("gres/gpu:a100=1", 1, 0);
    const struct wait_case cases[] = {
        {"idle GPUs mean no wait", "1 a100: 0 - -", {{0}}},
        {"idle nodes mean no wait", "1 v100: 0 0 0", {{0}}},
        {"without a queue running jobs end at their limits",
         "0 a100: 100 5000 7000",
         {running ("gres/gpu:a100=4", "a1", 5000),
          running ("gres/gpu:a100=1", "a2", 100),
          running ("gres/gpu:a100=3", "a2", 7000),
          running ("cpu=4,gres/gpu=8", "a[3-4]", 9000),
          running ("gres/gpu=1", "v1", 50)}},
        {"the queue takes what is freed first",
         "0 a100: 900 900 -",
         {running ("gres/gpu:a100=2", "a1", 100),
          running ("gres/gpu:a100=2", "a1", 900),
          one,
          one}},
        {"a new job starts after those that backfill planned, also where GPUs are idle",
         "1 a100: 2400 5000 8000",
         {queued ("gres/gpu:a100=1", 1, 300),
          queued ("gres/gpu:a100=1", 1, 1200),
          one,
          one,
          queued ("gres/gpu:a100=4", 1, 5000),
          queued ("gres/gpu:a100=8", 2, 8000)}},
        {"jobs of another type are waited for there",
         "1 v100: 0 0 0",
         {queued ("gres/gpu:a100=1", 1, 2000)}},
    };

    check_waits (cases, DN_N_ELEMENTS (cases));
}

TEST ("waits of jobs that started lately count beside plans")
{
    const struct dn_link_job planned = queued ("gres/gpu:a100=1", 1, 2000);
    const struct dn_link_job recent = started ("a2", 100);
    const struct dn_link_job waited = started ("a2", 400);
    const struct wait_case cases[] = {
        {"few recent waits count last",
         "0 a100: 5000 5000 50000",
         {waited, running ("gres/gpu:a100=4", "a1", 5000)}},
        {"but they count", "0 a100: 400 - -", {WITH (waited, phase, DN_PHASE_ENDED)}},
        {"two recent waits do not change a plan",
         "0 a100: 2000 50000 -",
         {planned, recent, recent}},
        {"a plan and three recent waits are averaged",
         "0 a100: 1050 50000 -",
         {planned, recent, recent, recent}},
    };

    check_waits (cases, DN_N_ELEMENTS (cases));
}

TEST ("jobs wait for the types and partitions that they may use")
{
    const struct dn_link_job one = queued ("gres/gpu:a100=1", 1, 0);
    const struct dn_link_job any = queued ("gres/gpu=1", 1, 700);
    const struct dn_link_job ended = WITH (started ("a1", 10), phase, DN_PHASE_ENDED);
    const struct wait_case cases[] = {
        {"jobs that name no type wait for those of their partitions",
         "0 a100: 700 - -",
         {any}},
        {"other partitions have other waits",
         "0 v100: 900 0 0",
         {any, WITH (queued ("gres/gpu=1", 1, 900), partition, "old,other")}},
        {"a request names the type where TRES do not",
         "0 a100: 700 - -",
         {WITH (any, gres, "gres:gpu:a100:1")}},
        {"and not another one", "0 v100: 0 0 0", {WITH (any, gres, "gres:gpu:a100:1")}},
        {"held, other, ended and jobs elsewhere do not count",
         "1 a100: 0 - -",
         {WITH (one, queued, false),
          queued ("cpu=4", 1, 9000),
          queued ("gres/gpu:k80=1", 1, 9000),
          WITH (ended, start, NOW - DN_WAIT_RECENT_S - 1),
          started ("x[1-3]", 10)}},
        {"a type that is up nowhere has no wait",
         "0 k80: - - -",
         {queued ("gres/gpu:k80=1", 1, 100)}},
        {"nodes with one GPU have one wait",
         "0 t4: 100 100 -",
         {queued ("gres/gpu:t4=1", 1, 100)}},
        {"a busy node without jobs frees nothing", "0 p100: - - -", {{0}}},
    };

    check_waits (cases, DN_N_ELEMENTS (cases));
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

/* More types, partitions and jobs than are kept; nothing is written beyond. */
TEST ("any number is bounded")
{
    begin (0);
    for (int i = 0; i < 300; i++) {
        char *name = unit_text ("n%d", i);
        struct dn_link_job job = queued (unit_text ("gpu:t%d:4", i), 1, 100 + i);

        add_node ((struct dn_link_node){.name = name, .gres = job.tres, .up = true});
        job.partition = name;
        add_job (&job);
        job.tres = "gres/gpu=1";
        add_job (&job);
    }
    wait_of ("t0", DN_SHAPE_GPU);
    assert_int_equal (scene.cluster.n_waits, DN_WAIT_TYPES_MAX);
}
