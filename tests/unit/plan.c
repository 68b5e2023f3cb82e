/* plan.c - tests of the planner of queues
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "jobs/plan/plan.h"

enum {
    A100,
    V100
};

static struct dn_plan *plan;
static int32_t at[64];

int before_test (void **state)
{
    plan = dn_plan_new ();
    return plan ? 0 : -1;
}

int after_test (void **state)
{
    dn_plan_free (plan);
    return 0;
}

/* A node of a type with these idle GPUs, 8 idle CPUs for each, and 1 GB. */
static void node (int type, int32_t gpus)
{
    assert_int_not_equal (
        dn_plan_node (plan, type, &(struct dn_plan_need){1, gpus, 8 * gpus, 1000}), -1);
}

static void runs (int32_t on, double by, int32_t gpus)
{
    assert_int_equal (
        dn_plan_run (plan, on, by, &(struct dn_plan_need){1, gpus, 8 * gpus, 0}, 7), 0);
}

static double when (int type, int32_t nodes, int32_t gpus, double length)
{
    struct dn_plan_need need = {nodes, gpus, 8 * gpus, 0};

    return dn_plan_when (plan, &need, type, 100, length, at);
}

static void keep (int32_t on, double from, double length)
{
    struct dn_plan_need need = {.nodes = 1};

    assert_int_equal (dn_plan_reserve (plan, &need, &on, from, length), 0);
}

#define assert_when(is, expected) assert_float_equal (is, expected, 1e-9)

TEST ("a job starts now on the node of its type with the fewest idle GPUs")
{
    node (A100, 4);
    node (V100, 1);
    node (A100, 2);
    assert_when (when (A100, 1, 1, 50), 100);
    assert_int_equal (at[0], 2);
    assert_when (when (A100, 1, 3, 50), 100);
    assert_int_equal (at[0], 0);
}

TEST ("of nodes with equally many idle GPUs it takes that with the fewest CPUs")
{
    dn_plan_node (plan, A100, &(struct dn_plan_need){1, 4, 80, 0});
    dn_plan_node (plan, A100, &(struct dn_plan_need){1, 4, 40, 0});
    dn_plan_node (plan, A100, &(struct dn_plan_need){1, 4, 60, 0});
    when (A100, 1, 1, 50);
    assert_int_equal (at[0], 1);
}

TEST ("a job waits until the limits of enough running jobs end")
{
    node (A100, 1);
    runs (0, 300, 1);
    runs (0, 200, 1);
    assert_when (when (A100, 1, 1, 50), 100);
    assert_when (when (A100, 1, 2, 50), 200);
    assert_when (when (A100, 1, 3, 50), 300);
    assert_true (isinf (when (A100, 1, 4, 50)));
    assert_true (isinf (when (V100, 1, 1, 50)));
}

TEST ("a running job past its limit, or without one, is not idle now")
{
    node (A100, 0);
    runs (0, 90, 1);
    assert_when (when (A100, 1, 1, 50), 101);
    runs (0, INFINITY, 1);
    assert_true (isinf (when (A100, 1, 2, 50)));
}

TEST ("CPUs and memory count, and a need of 0 does not")
{
    struct dn_plan_need need = {1, 1, 9, 0};

    dn_plan_node (plan, A100, &(struct dn_plan_need){1, 4, 8, 1000});
    dn_plan_run (plan, 0, 200, &(struct dn_plan_need){1, 0, 1, 0}, 1);
    dn_plan_run (plan, 0, 300, &(struct dn_plan_need){1, 0, 0, 500}, 2);
    assert_when (dn_plan_when (plan, &need, A100, 100, 50, at), 200);
    need.mem_mb = 1500;
    assert_when (dn_plan_when (plan, &need, A100, 100, 50, at), 300);
    need.mem_mb = 1501;
    assert_true (isinf (dn_plan_when (plan, &need, A100, 100, 50, at)));
    need = (struct dn_plan_need){1, 4, 0, 0};
    assert_when (dn_plan_when (plan, &need, A100, 100, 50, at), 100);
}

TEST ("a reservation keeps its whole node; a job that ends before it is not kept out")
{
    node (A100, 4);
    keep (0, 200, 100);
    assert_when (when (A100, 1, 1, 100), 100);
    assert_when (when (A100, 1, 1, 101), 300);
    keep (0, 310, 50);
    assert_when (when (A100, 1, 1, 101), 360);
    dn_plan_forget (plan);
    assert_when (when (A100, 1, 1, 101), 100);
}

TEST ("a job of several nodes starts when all of them are free as long as it needs")
{
    for (int i = 0; i < 3; i++)
        node (A100, 2);
    runs (0, 150, 2);
    runs (1, 250, 2);
    dn_plan_start (plan, &(struct dn_plan_need){1, 2, 0, 0}, (int32_t[]){2}, 400, 9);
    assert_when (when (A100, 2, 2, 50), 100);
    assert_when (when (A100, 2, 4, 50), 250);
    assert_int_equal (at[0] + at[1], 1);
    assert_when (when (A100, 3, 2, 50), 400);
    assert_true (isinf (when (A100, 4, 2, 50)));
    keep (0, 260, 100);
    assert_when (when (A100, 2, 4, 50), 360);
}

TEST ("a job of several nodes is planned behind all if no gap is found")
{
    node (A100, 2);
    node (A100, 2);
    /* One of both is reserved at any time for a second too short. */
    for (int i = 0; i < 3 * DN_PLAN_TRIES; i++)
        keep (i % 2, 100 + 10 * i, 11);
    assert_when (when (A100, 2, 1, 5), 101 + 30 * DN_PLAN_TRIES);
}

TEST ("a job starts, is extended and ends on its nodes")
{
    struct dn_plan_need need = {2, 3, 24, 400};

    for (int i = 0; i < 3; i++)
        node (V100, 4);
    assert_int_equal (dn_plan_idle (plan, V100), 12);
    assert_int_equal (dn_plan_start (plan, &need, (int32_t[]){0, 2}, 200, 5), 0);
    assert_int_equal (dn_plan_idle (plan, V100), 6);
    assert_when (when (V100, 2, 2, 10), 200);
    dn_plan_extend (plan, V100, 5, 300);
    assert_when (when (V100, 2, 2, 10), 300);
    need = (struct dn_plan_need){1, 1, 1, 601};
    assert_when (dn_plan_when (plan, &need, V100, 100, 10, at), 100);
    assert_int_equal (at[0], 1);
    dn_plan_end (plan, V100, 5);
    assert_int_equal (dn_plan_idle (plan, V100), 12);
    assert_when (when (V100, 3, 4, 10), 100);
}

TEST ("1,000 jobs on 2 types of 500 full nodes are planned in less than 0.1 s")
{
    double took;

    for (int i = 0; i < 1000; i++) {
        node (i / 500, 0);
        for (int k = 0; k < 8; k++)
            runs (i, 1000 + 37 * ((i * 8 + k) % 211), 1);
    }
    took = -unit_cpu_s ();
    for (int i = 0; i < 1000; i++) {
        struct dn_plan_need need = {i % 20 == 0 ? 16 : 1, 1 + i % 8, 0, 0};
        double start = dn_plan_when (plan, &need, i % 2, 100, 3600, at);

        assert_true (start < INFINITY);
        assert_int_equal (dn_plan_reserve (plan, &need, at, start, 3600), 0);
    }
    took += unit_cpu_s ();
    print_message ("%.1f ms\n", 1000 * took);
    assert_true (took < 0.1);
}
