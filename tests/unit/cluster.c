/* cluster.c - tests of the text of the snapshot: complete, exact, and distrusted
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/cluster.h"

#include "state_text.h"

/* Every kind of line and every key, as they are written. */
static const char whole[] =
    "Cluster Version=1 Name=alps Time=1700000000 Slurm=2411 SoftTimeMin=yes "
    "Enforces=no\n"
    "Group Type=a100 Gpus=4 Cpus=128 Memory=512000 Tmp=1000000 ThreadsPerCore=2 "
    "ReservedFrom=1700003600 ReservedUntil=1700007200 Features=ib,nvme "
    "Partitions=gpu,debug Nodes=12 Up=10 Idle=6,1,0,0,3\n"
    "Group Gpus=0 Nodes=3 Up=0 Idle=0\n"
    "Wait Type=a100 Gpu=0 Node=600 Nodes=86400\n"
    "Wait Gpu=60\n"
    "Partition Name=gpu Default=yes Up=yes MaxTime=604800 DefaultTime=3600 MaxNodes=16 "
    "DefMemPerCPU=4000 DefMemPerNode=0 DefMemPerGPU=9 MaxMemPerCPU=8000 MaxMemPerNode=500000 "
    "QOS=part AllowAccounts=a,b DenyAccounts=c AllowQOS=normal DenyQOS=* "
    "BillingWeights=\"CPU=1.0,Mem=0.25G #x\"\n"
    "Partition Name=debug Up=no\n"
    "Qos Name=normal MaxWall=86400\n"
    "Limit Scope=user Tres=gres/gpu Count=8\n"
    "Limit Scope=group Tres=cpu Count=1000 Used=999\n"
    "Qos Name=long\n"
    "Assoc Account=physics Parent=1\n"
    "Limit Scope=job Tres=node Count=2\n"
    "Assoc Account=root\n"
    "Assoc Account=physics User=1000 Partition=gpu QOS=normal Default=yes Parent=0 "
    "MaxWall=7200\n"
    "Limit Scope=min_job Tres=gres/gpu:a100 Count=1\n"
    "End Rows=15\n";

STATE_READER (struct dn_cluster, dn_cluster_read, dn_cluster_free, "snapshot")

TEST ("what is read is written again")
{
    struct dn_cluster *cluster = read_text (whole);
    struct text text = {NULL, 0};

    assert_int_equal (dn_cluster_write (cluster, text_put, &text), 0);
    assert_string_equal (text.text, whole);
}

TEST ("every member is read")
{
    struct dn_cluster *c = read_text (whole);

    assert_string_equal (c->name, "alps");
    assert_true (c->time_s == 1700000000 && c->slurm == 2411 && c->soft_time_min);
    assert_false (c->enforces);
    assert_true (c->n_groups == 2 && c->n_waits == 2 && c->n_partitions == 2);
    assert_true (c->n_qos == 2 && c->n_assocs == 3 && c->n_limits == 4);
    assert_true (c->groups[0].n_idle[4] == 3 && c->groups[0].n_up == 10);
    assert_string_equal (c->groups[0].features, "ib,nvme");
    assert_true (c->groups[1].cpus == DN_UNSET && c->groups[1].reserved_from == 0);
    assert_true (dn_cluster_wait (c, "a100")->wait_s[DN_SHAPE_NODES] == 86400);
    assert_true (dn_cluster_wait (c, "")->wait_s[DN_SHAPE_NODE] == DN_UNSET);
    assert_null (dn_cluster_wait (c, "A100"));
    assert_string_equal (dn_cluster_partition (c, "gpu")->weights,
                         "CPU=1.0,Mem=0.25G #x");
    assert_true (dn_cluster_partition (c, "debug")->max_time_s == DN_UNLIMITED);
    assert_true (dn_cluster_partition (c, "debug")->default_time_s == DN_UNSET);
    assert_null (dn_cluster_partition (c, "none"));
    assert_true (c->qos[0].first_limit == 0 && c->qos[0].n_limits == 2);
    assert_true (c->limits[1].used == 999 && c->limits[0].used == DN_UNSET);
    assert_true (c->qos[1].n_limits == 0 && c->qos[1].max_wall_s == DN_UNLIMITED);
    assert_true (c->qos[1].user_id == DN_UNSET && c->qos[1].parent == DN_UNSET);
    assert_true (c->assocs[0].user_id == DN_UNSET && c->assocs[0].parent == 1);
    assert_true (c->assocs[2].first_limit == 3 && c->assocs[2].n_limits == 1);
    assert_true (c->limits[3].scope == DN_LIMIT_MIN_JOB && c->assocs[2].is_default);
}

static const char *const wrong_texts[] = {
    "Version=1|Version=2 New=x|line 1: Version: 2, this program reads 1",
    "Version=1|Version=x|line 1: Version: 'x' is not a whole number",
    "Version=1 ||line 1: Version is missing, expected in a Cluster line",
    "Name=alps|Name=alps Name=b|line 1: Name is given twice",
    "Name=alps|Name=``|line 1: Name: '' is empty, expected a text",
    "Name=alps|Name=al`ps|line 1: Name: 'al?ps' is not a text",
    "Name=alps|Name=\xc3\xa4|is not a name, expected printable",
    "Time=1700000000|Time=-1|line 1: Time: -1 out of range 0..100000000000",
    "SoftTimeMin=yes|SoftTimeMin=1|line 1: SoftTimeMin: '1' is neither yes nor no",
    "Enforces=no|Enforce=no|line 1: unknown key 'Enforce' of a Cluster line, "
    "expected one of Version Name Time Slurm SoftTimeMin Enforces",
    "Gpus=4|Gpus=17|line 2: Gpus: 17 out of range 0..16",
    "Gpus=4|Gpus=3|line 2: Idle: nodes with 4 idle GPUs, expected at most 3",
    "Type=a100|Type=012345678901234567890123456789012345678901234567890123456789012",
    "Type=a100|Type=0123456789012345678901234567890123456789012345678901234567890123|"
    "is longer than 63 characters",
    "Up=10|Up=13|line 2: Up: 13 nodes, expected at most Nodes=12",
    "Up=10|Up=9|line 2: Idle: 10 nodes, expected at most Up=9",
    "Idle=6,1,0,0,3|Idle=6,,1|line 2: Idle: '' is not a whole number",
    "Idle=6,1,0,0,3|Idle=0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0|line 2: Idle: more than 17 numbers",
    "Idle=6,1,0,0,3|Idle=1,-1|line 2: Idle: -1 out of range",
    "ReservedFrom=1700003600|ReservedFrom=1700007201|"
    "line 2: ReservedUntil: 1700007200 is before ReservedFrom",
    "Nodes=3 ||line 3: Nodes is missing",
    "Node=600|Nodes=600|line 4: Nodes is given twice",
    "Wait Gpu|Weight Gpu|line 5: 'Weight' is unknown, expected Cluster, Group,",
    "Wait Gpu=60|Gpu=60|line 5: '' is unknown, expected Cluster, Group,",
    "Wait Gpu=60\n|Wait Gpu=60\nGroup Gpus=0 Nodes=1 Up=0 Idle=0\n|"
    "line 6: the Group line is out of order",
    "Cluster|Group Gpus=0 Nodes=1 Up=0 Idle=0\nCluster|line 1: the Group line is out of order",
    "Wait Gpu=60\n|Wait Gpu=60\nLimit Scope=job Tres=cpu Count=1\n|"
    "line 6: the Limit line is out of order",
    "Group Gpus|Cluster Version=1 Name=a Time=0 Slurm=0 SoftTimeMin=no "
    "Enforces=no\nGroup Gpus|line 3: the Cluster line is out of order",
    "CPU=1.0,Mem=0.25G #x`|CPU=1.0|line 6: a quote is not closed",
    "Scope=user|Scope=users|line 9: Scope: 'users' is unknown, expected one of job "
    "node user account group min_job",
    "Count=8|Count=9e15",
    "Count=8|Count=9000000000000001|line 9: Count: 9000000000000001 out of",
    "Count=8|Count=nan|line 9: Count: 'nan' is not a whole number",
    "Account=root|Account=math|line 14: Account: 'math' is not in the order of users",
    "Account=root|Account=physics|line 14: Account: 'physics' is not in the",
    "User=1000|User=4294967296|line 15: User: 4294967296 out of range",
    "Parent=1|Parent=3|line 17: Parent: 3 of association 0 leads to no root",
    "Parent=1|Parent=0|line 17: Parent: 0 of association 0 leads to no root",
    "Account=root|Account=root Parent=0|"
    "line 17: Parent: 1 of association 0 leads to no root in 64 steps",
    "Rows=15|Rows=14|line 17: Rows: 14, expected 15",
    "End Rows=15\n|End Rows=15\nEnd Rows=15\n|line 18: the End line is out of order",
    "End Rows=15\n||snapshot: the End line is missing, the text was cut",
    "End Rows=15\n|End|line 17: Rows is missing",
    "\n|\n# a comment\n\n",
};

TEST ("what is wrong is named by line and key")
{
    assert_wrong_rows (
        whole, wrong_texts, DN_N_ELEMENTS (wrong_texts), "snapshot: ", read_in);
}

TEST ("every cut of the text is noticed")
{
    assert_no_cut (whole, read_in);
}

/* Append lines until they are 'n'. */
static void add_lines (struct text *text, const char *line, int n)
{
    for (int i = 0; i < n; i++)
        text_put (text, line, strlen (line));
}

TEST ("the number of lines is bounded")
{
    static const struct {
        const char *line;
        int most;
        const char *says;
    } cases[] = {
        {"Group Gpus=0 Nodes=1 Up=0 Idle=0\n",
         DN_NODE_GROUPS_MAX,
         "line 4098: more than 4096 Group lines"},
        {"Wait\n", DN_WAITS_MAX, "line 258: more than 256 Wait lines"},
        {"Partition Name=p Up=no\n",
         DN_CLUSTER_PARTITIONS_MAX,
         "line 1026: more than 1024 Partition lines"},
        {"Qos Name=q\n", DN_QOS_MAX, "line 4098: more than 4096 Qos lines"},
    };
    static const char head[] =
        "Cluster Version=1 Name=c Time=0 Slurm=0 SoftTimeMin=no Enforces=no\n";

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct text text = {NULL, 0};

        text_put (&text, head, strlen (head));
        add_lines (&text, cases[i].line, cases[i].most + 1);
        assert_null (dn_cluster_read (dn_span_of (text.text), "snapshot", &unit_err));
        assert_contains (unit_err.text, cases[i].says);
    }
}

TEST ("a text that is too large is not read")
{
    char *text = unit_keep (malloc (DN_STATE_FILE_MAX + 1), free);

    memset (text, '\n', DN_STATE_FILE_MAX + 1);
    assert_null (dn_cluster_read (
        (struct dn_span){text, DN_STATE_FILE_MAX + 1}, "snapshot", &unit_err));
    assert_contains (unit_err.text, "8388609 bytes, expected at most 8388608");
}

/* What no snapshot may have is written as what is nearest. */
TEST ("what is written is read")
{
    struct dn_node_group group = {.gpus = 99,
                                  .cpus = DN_UNSET,
                                  .mem_mb = DN_UNLIMITED,
                                  .tmp_mb = DN_UNSET,
                                  .threads_per_core = DN_UNSET,
                                  .features = "a\"b \n",
                                  .n_nodes = 1};
    struct dn_limited assoc = {.name = "",
                               .user_id = DN_UNSET,
                               .parent = DN_UNSET,
                               .max_wall_s = DN_UNSET,
                               .n_limits = 1};
    struct dn_tres_limit limit = {DN_LIMIT_NODE, "cpu", INT64_MAX, DN_UNSET};
    struct dn_cluster cluster = {.name = "c",
                                 .time_s = -5,
                                 .groups = &group,
                                 .n_groups = 1,
                                 .assocs = &assoc,
                                 .n_assocs = 1,
                                 .limits = &limit,
                                 .n_limits = 1};
    struct text text = {NULL, 0};
    struct dn_cluster *again;

    assert_int_equal (dn_cluster_write (&cluster, text_put, &text), 0);
    again = read_text (text.text);
    assert_true (again->time_s == 0 && again->groups[0].gpus == 16);
    assert_true (again->groups[0].mem_mb == DN_UNSET);
    assert_string_equal (again->groups[0].features, "a?b ?");
    assert_string_equal (again->assocs[0].name, "?");
    assert_true (again->assocs[0].max_wall_s == DN_UNLIMITED);
    assert_true (again->limits[0].count == INT64_C (9000000000000000));
}

/* Take that many pieces, then fail. */
static int put_some (void *to, const char *text, size_t len)
{
    int *left = to;

    (void) text;
    assert_true (len > 0);
    return (*left)-- > 0 ? 0 : 7;
}

TEST ("a failed write ends at once")
{
    struct dn_cluster *cluster = read_text (whole);

    for (int n = 0; n < 17; n++) {
        int left = n;

        assert_int_equal (dn_cluster_write (cluster, put_some, &left), 7);
        assert_int_equal (left, -1);
    }
}
