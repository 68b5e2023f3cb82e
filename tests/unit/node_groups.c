/* node_groups.c - tests of GPUs in Slurm's texts, of lists of nodes, and of groups
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "watch/lists.h"
#include "watch/node_groups.h"

/* --- GPUs ------------------------------------------------------------------------- */

TEST ("GPUs of nodes and jobs are read")
{
    static const char *const cases[][2] = {
        /* "TYPE=COUNT ..." */
        {NULL, ""},
        {"", ""},
        {"(null)", ""},
        {"N/A", ""},
        {"gpu:4", "=4"},
        {"gpu", "=1"},
        {"gpu:a100:4", "a100=4"},
        {"gpu:a100:4(S:0-1)", "a100=4"},
        {"gpu:a100:4(S:0-1),gpu:v100:2", "a100=4 v100=2"},
        {"gpu:a100:2(S:0),gpu:a100:2(S:1)", "a100=4"},
        {"gpu:a100:1(IDX:0)", "a100=1"},
        {"gpu:a100:3(IDX:0,2-3),gpu:v100:0(IDX:N/A)", "a100=3 v100=0"},
        {"gpu:0(IDX:N/A)", "=0"},
        {"gpu:a100:no_consume:4", "a100=4"},
        {"shard:8,gpu:l40s:2,mps:400,craynetwork:4", "l40s=2"},
        {"gpu:1g.10gb:7(S:0),gpu:a100_3g.20gb:2,gpu:a100:1",
         "1g.10gb=7 a100_3g.20gb=2 a100=1"},
        {"gpu_mem:40G,gpu:a100:1", "a100=1"},
        {"cpu=4,mem=8G,node=1,billing=4,gres/gpu=2,gres/gpu:a100=2", "=2 a100=2"},
        {"gres:gpu:v100:2", "v100=2"},
        {"gres/gpu:h100:8", "h100=8"},
        {"gpu:a100:99999999999", "a100=1000000"},
        {"gpu:2080:4", "2080=4"},
        {"gpu:1080ti", "1080ti=1"},
        {"gpu::4", "=4"},
        {"gpu:a100:4(S:0-1", "a100=4"},
        {"gpu:a100:4)),gpu:b:1", "b=1"},
        {",,,gpu:4,,", "=4"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_gres gres = dn_gres_read (cases[i][0]);
        char text[256];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        for (int j = 0; j < gres.n_gpus; j++)
            dn_buf_add (&buf,
                        "%s%s=%d",
                        j ? " " : "",
                        gres.gpus[j].type,
                        (int) gres.gpus[j].count);
        if (strcmp (text, cases[i][1]) != 0)
            fail_msg ("%s: '%s' is not '%s'", cases[i][0], text, cases[i][1]);
    }
}

TEST ("idle GPUs without CPUs or memory beside them are stranded")
{
    static const struct {
        int64_t idle_cpus;
        int64_t idle_mem_mb;
        int64_t no_cpus;
        int64_t no_memory;
    } cases[] = {
        {96, 500000, 0, 0},
        {6, 500000, 0, 0},
        {3, 500000, 2, 0},
        {0, 500000, 3, 0},
        {96, 20000, 0, 1},
        {96, 0, 0, 3},
        {1, 9999, 3, 3},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        dn_cleanup (dn_node_groups_free) struct dn_node_groups groups = {
            .cpus_per_gpu = 2, .mem_per_gpu_mb = 10000};
        struct dn_link_node node = {.gres = "gpu:a100:4",
                                    .gres_used = "gpu:a100:1(IDX:0)",
                                    .cpus = 96,
                                    .idle_cpus = cases[i].idle_cpus,
                                    .mem_mb = 512000,
                                    .idle_mem_mb = cases[i].idle_mem_mb,
                                    .up = true};

        assert_int_equal (dn_node_groups_add (&groups, &node, NULL), 0);
        assert_int_equal (groups.groups[0].stranded_cpus, cases[i].no_cpus);
        assert_int_equal (groups.groups[0].stranded_mem, cases[i].no_memory);
        node.busy = true;
        assert_int_equal (dn_node_groups_add (&groups, &node, NULL), 0);
        assert_int_equal (groups.groups[0].stranded_cpus, cases[i].no_cpus);
    }
}

TEST ("a text with many types is bounded")
{
    char text[2000];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < 100; i++)
        dn_buf_add (&buf, "gpu:t%d:1,", i);
    assert_int_equal (dn_gres_read (text).n_gpus, DN_GRES_TYPES_MAX);
}

/* --- lists of nodes --------------------------------------------------------------- */

TEST ("names of a list are found")
{
    static const char *const cases[][2] = {
        {NULL, ""},
        {"", ""},
        {"a1", "a1 "},
        {"a1,b", "a1 b "},
        {"a[1-3]", "a1 a2 a3 "},
        {"a[08-11,14],b2", "a08 a09 a10 a11 a14 b2 "},
        {"n[001-002]-ib,c[1]", "n001-ib n002-ib c1 "},
        {"a[3-1]", ""},
        {"a[1-", ""},
        {"a[x]", ""},
        {"r[1-2]n[1-2]", ""},
        {"a[]", "a "},
        {"a[1-99999999999]", ""},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_hosts hosts = dn_hosts_of (cases[i][0]);
        char name[DN_NAME_MAX];
        char text[256];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        while (dn_hosts_next (&hosts, name))
            dn_buf_add (&buf, "%s ", name);
        if (strcmp (text, cases[i][1]) != 0)
            fail_msg ("%s: '%s' is not '%s'", cases[i][0], text, cases[i][1]);
    }
}

TEST ("a list without end is bounded")
{
    struct dn_hosts hosts = dn_hosts_of ("a[0-999999999]");
    char name[DN_NAME_MAX];
    int n = 0;

    while (dn_hosts_next (&hosts, name))
        n++;
    assert_int_equal (n, DN_HOSTS_MAX);
}

TEST ("texts keep their numbers")
{
    dn_cleanup (dn_interned_free) struct dn_interned interned = {.n = 0};

    assert_int_equal (dn_interned_find (&interned, "n1"), -1);
    for (int i = 0; i < 20000; i++) {
        assert_int_equal (dn_interned_put (&interned, unit_text ("n%d", i % 10000)),
                          i % 10000);
    }
    assert_int_equal (dn_interned_find (&interned, "n9999"), 9999);
    assert_int_equal (dn_interned_find (&interned, "m"), -1);
}

/* --- groups ----------------------------------------------------------------------- */

static const struct dn_link_node a100 = {
    .name = "a1",
    .gres = "gpu:a100:4(S:0-1)",
    .gres_used = "gpu:a100:0(IDX:N/A)",
    .gres_drain = "N/A",
    .features = "ib,nvme",
    .partitions = "gpu,long",
    .cpus = 64,
    .idle_cpus = 64,
    .mem_mb = 512000,
    .idle_mem_mb = 512000,
    .tmp_mb = 100000,
    .threads_per_core = 2,
    .up = true,
};

static struct dn_node_groups groups; /* of the test */
static struct dn_link_node node;     /* that it adds */

int before_test (void **state)
{
    node = a100;
    return 0;
}

int after_test (void **state)
{
    dn_node_groups_free (&groups);
    return 0;
}

static void add (void)
{
    assert_int_equal (dn_node_groups_add (&groups, &node, NULL), 0);
}

TEST ("like nodes are one group")
{
    add ();
    node.name = "a2";
    node.gres = "gpu:a100:4(S:0)";
    node.gres_used = "gpu:a100:3(IDX:0-2)";
    add ();
    node.up = false;
    add ();
    assert_int_equal (groups.n_groups, 1);
    assert_string_equal (groups.groups[0].type, "a100");
    assert_numbers ("4 64", groups.groups[0].gpus, groups.groups[0].cpus);
    assert_string_equal (groups.groups[0].features, "ib,nvme");
    assert_string_equal (groups.groups[0].partitions, "gpu,long");
    assert_int_equal (groups.groups[0].n_nodes, 3);
    assert_numbers ("2 1", groups.groups[0].n_up, groups.groups[0].n_idle[4]);
    assert_numbers ("1 0", groups.groups[0].n_idle[1], groups.groups[0].n_idle[0]);
}

TEST ("other nodes are other groups")
{
    struct dn_link_node nodes[] = {a100, a100, a100, a100, a100, a100, a100, a100};

    nodes[1].gres = "gpu:a100:8";
    nodes[2].cpus = 32;
    nodes[3].mem_mb = 256000;
    nodes[4].features = "ib";
    nodes[5].partitions = "gpu";
    nodes[6].reserved_from = 2000;
    nodes[6].reserved_until = 3000;
    nodes[7].gres = "gpu:4";
    for (size_t i = 0; i < DN_N_ELEMENTS (nodes); i++)
        assert_int_equal (dn_node_groups_add (&groups, &nodes[i], NULL), 0);
    assert_numbers ("8 2000", groups.n_groups, groups.groups[6].reserved_from);
    assert_int_equal (groups.groups[6].reserved_until, 3000);
    assert_string_equal (groups.groups[7].type, "");
}

TEST ("a node with two types is in two groups")
{
    struct dn_cluster cluster = {.n_groups = 0};

    node.gres = "gpu:v100:2,gpu:a100:4,shard:16";
    node.gres_used = "gpu:v100:2(IDX:0-1),gpu:a100:1(IDX:0)";
    add ();
    dn_node_groups_move (&groups, &cluster);
    assert_null (groups.groups);
    assert_int_equal (cluster.n_groups, 2);
    assert_string_equal (cluster.groups[0].type, "a100");
    assert_int_equal (cluster.groups[0].n_idle[3], 1);
    assert_string_equal (cluster.groups[1].type, "v100");
    assert_int_equal (cluster.groups[1].n_idle[0], 1);
    free (cluster.groups);
}

TEST ("nodes without GPUs are in no group")
{
    node.gres = NULL;
    add ();
    node.gres = "shard:4,mps:7";
    add ();
    node.gres = "gpu:a100:0";
    add ();
    assert_int_equal (groups.n_groups, 0);
}

/* With a change of the node the one group has so many idle GPUs on it; -1: it is down.
 */
#define IDLE(change, n)                                                                \
    do {                                                                               \
        dn_node_groups_free (&groups);                                                 \
        node = a100;                                                                   \
        change;                                                                        \
        add ();                                                                        \
        assert_int_equal (groups.n_groups, 1);                                         \
        for (int i = 0; i <= DN_NODE_GPUS_MAX; i++)                                    \
            assert_int_equal (groups.groups[0].n_idle[i], i == (n));                   \
    } while (0)

TEST ("idle GPUs need an idle node with CPUs and memory")
{
    IDLE (, 4);
    IDLE (node.idle_cpus = 2, 2);
    IDLE (node.idle_cpus = 0, 0);
    IDLE (node.idle_mem_mb = 0, 0);
    IDLE (node.busy = true, 0);
    IDLE (node.up = false, -1);
    IDLE (node.gres_drain = "gpu:a100:1(IDX:0)", 3);
    IDLE (node.gres_used = "gpu:3(IDX:0-2)", 1);
    IDLE (node.gres_used = "gpu:a100:9", 0);
    IDLE (node.gres = "gpu:a100:64", DN_NODE_GPUS_MAX);
}

TEST ("names that cannot be written are left out")
{
    char features[1000];

    node.features = "ib,a\"b,c d,\xc3\xa9,,nvme,#x";
    add ();
    assert_string_equal (groups.groups[0].features, "ib,nvme");
    memset (features, 'x', sizeof (features));
    features[300] = ',';
    features[304] = '\0';
    node.features = features;
    add ();
    assert_string_equal (groups.groups[1].features, "xxx");
}

/* 5000 nodes, each of a kind of its own. */
TEST ("many kinds of nodes are merged")
{
    const struct dn_node_group *last;
    int64_t n_nodes = 0;

    for (int i = 0; i < 5000; i++) {
        node.features = unit_text ("ib,rack%d", i);
        node.partitions = i % 2 ? "gpu,long" : "gpu";
        node.mem_mb = 512000 - i;
        node.reserved_from = i == 4000 ? 9000 : 0;
        node.reserved_until = i == 4000 ? 9500 : 0;
        node.gres = i == 4999 ? "gpu:v100:2" : "gpu:a100:4";
        add ();
    }
    assert_true (groups.n_groups <= DN_NODE_KINDS_MAX);
    assert_int_equal (groups.n_left_out, 0);
    for (int64_t i = 0; i < groups.n_groups; i++)
        n_nodes += groups.groups[i].n_nodes;
    assert_int_equal (n_nodes, 5000);
    last = &groups.groups[groups.n_groups - 2];
    assert_string_equal (last->type, "a100");
    assert_string_equal (last->features, "ib");
    assert_string_equal (last->partitions, "gpu");
    assert_int_equal (last->mem_mb, 512000 - 4998);
    assert_numbers ("9000 9500", last->reserved_from, last->reserved_until);
    assert_string_equal (groups.groups[groups.n_groups - 1].type, "v100");
}

TEST ("any number of types is bounded")
{
    for (int i = 0; i < 3000; i++) {
        node.gres = unit_text ("gpu:t%d:4", i);
        add ();
    }
    assert_int_equal (groups.n_groups, DN_NODE_KINDS_MAX);
    assert_int_equal (groups.n_left_out, 3000 - DN_NODE_KINDS_MAX);
}

/* Each case has the features of nodes with a100 and of those with v100. */
TEST ("a type is named by a feature of its own")
{
    static const struct {
        const char *a100;
        const char *v100;
        const char *expected; /* of a100 */
    } cases[] = {
        {"a100", "v100", "a100"},
        {"ib,ampere", "ib", "ampere"},
        {"big,a100", "v100", "a100"},
        {"big|b,b&2,b*2,(b,[b],ampere", "", "ampere"},
        {"x,y", "", "x"},
        {"ib", "ib", ""},
        {"", "ib", ""},
        {"a100,ib", "a100,v100", "ib"},
        {NULL, NULL, ""},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_cluster *cluster = calloc (1, sizeof (*cluster));

        node = a100;
        node.features = cases[i].a100;
        add ();
        node.mem_mb++;
        add ();
        node.gres = "gpu:v100:4";
        node.features = cases[i].v100;
        add ();
        assert_non_null (cluster);
        dn_node_groups_move (&groups, cluster);
        cluster->n_waits = 1;
        cluster->waits = calloc (1, sizeof (*cluster->waits));
        strcpy (cluster->waits[0].type, "a100");
        dn_node_groups_name (cluster);
        assert_string_equal (dn_cluster_wait (cluster, "a100")->feature,
                             cases[i].expected);
        dn_cluster_free (cluster);
    }
}
