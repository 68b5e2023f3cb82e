/* time_watch.c - the time and memory of groups and waits, without Slurm
 *
 * usage: time_watch [NODES [JOBS]]
 *
 * A cluster of that many nodes (5000) with three GPU types, and that many jobs (20000):
 * half of them queued, a quarter running, a quarter ended lately. Prints milliseconds
 * of CPU time of each part, the median of ROUNDS, and the most memory of the process.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "watch/node_groups.h"
#include "watch/waits.h"

#define ROUNDS  11
#define NOW     1795000000
#define N_TYPES 3

static const char *const types[N_TYPES] = {"a100", "v100", "h100"};

static double cpu_ms (void)
{
    struct timespec at;

    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double) at.tv_sec * 1e3 + (double) at.tv_nsec / 1e6;
}

static void must (bool ok)
{
    if (ok)
        return;
    fprintf (stderr, "time_watch: out of memory\n");
    exit (1);
}

static void add_node (long i, struct dn_node_groups *groups, struct dn_gpu_nodes *nodes)
{
    char name[32];
    char gres[32];
    char used[48];
    struct dn_link_node node = {.name = name,
                                .gres = gres,
                                .gres_used = used,
                                .features = i % 5 ? "ib,nvme" : "ib",
                                .partitions = i % 2 ? "gpu,long" : "gpu",
                                .cpus = 96,
                                .idle_cpus = 96,
                                .mem_mb = 512000,
                                .idle_mem_mb = 512000,
                                .threads_per_core = 2,
                                .up = i % 50 != 0};

    snprintf (name, sizeof (name), "n%05ld", i);
    snprintf (gres, sizeof (gres), "gpu:%s:4(S:0-1)", types[i % N_TYPES]);
    snprintf (used, sizeof (used), "gpu:%s:%ld(IDX:0)", types[i % N_TYPES], i % 5);
    must (dn_node_groups_add (groups, &node, NULL) == 0
          && dn_gpu_nodes_add (nodes, &node, NULL) == 0);
}

static void add_job (long i, long n_nodes, struct dn_queue *queue)
{
    char tres[96];
    char list[48];
    struct dn_link_job job = {
        .phase = i % 2 ? DN_PHASE_PENDING : (i % 4 ? DN_PHASE_RUNNING : DN_PHASE_ENDED),
        .queued = i % 2,
        .eligible = NOW - i % 9000 - 100,
        .start = NOW - i % 9000 + (i % 2 ? 9000 : 0),
        .end = NOW + i % 80000,
        .n_nodes = i % 8 ? 1 : 4,
        .partition = i % 3 ? "gpu" : "gpu,long",
        .nodes = list,
        .tres = tres};

    snprintf (tres,
              sizeof (tres),
              "cpu=16,mem=64G,node=1,billing=16,gres/gpu=%ld,gres/gpu:%s=%ld",
              1 + i % 4,
              types[i % N_TYPES],
              1 + i % 4);
    snprintf (list,
              sizeof (list),
              i % 8 ? "n%05ld" : "n[%05ld-%05ld]",
              i % n_nodes,
              i % n_nodes + 3);
    must (dn_queue_add (queue, &job, NOW, NULL) == 0);
}

static int by_value (const void *a, const void *b)
{
    double one = *(const double *) a;
    double two = *(const double *) b;

    return (one > two) - (one < two);
}

/* One pass; the times of its parts into 'parts'. Returns the number of groups. */
static int64_t pass (long n_nodes, long n_jobs, double parts[3])
{
    struct dn_node_groups *groups = calloc (1, sizeof (*groups));
    struct dn_gpu_nodes *nodes = dn_gpu_nodes_new ();
    struct dn_queue *queue = dn_queue_new ();
    struct dn_cluster cluster = {.n_groups = 0};
    double at = cpu_ms ();

    must (groups && nodes && queue);
    for (long i = 0; i < n_nodes; i++)
        add_node (i, groups, nodes);
    parts[0] = cpu_ms () - at;
    at = cpu_ms ();
    for (long i = 0; i < n_jobs; i++)
        add_job (i, n_nodes, queue);
    parts[1] = cpu_ms () - at;
    at = cpu_ms ();
    dn_node_groups_move (groups, &cluster);
    must (dn_waits_estimate (queue, nodes, NOW, &cluster, NULL) == 0);
    parts[2] = cpu_ms () - at;
    dn_gpu_nodes_free (nodes);
    dn_queue_free (queue);
    free (groups);
    free (cluster.groups);
    free (cluster.waits);
    return cluster.n_groups;
}

int main (int argc, char **argv)
{
    static const char *const names[] = {"nodes into groups", "jobs", "waits"};
    long n_nodes = argc > 1 ? strtol (argv[1], NULL, 10) : 5000;
    long n_jobs = argc > 2 ? strtol (argv[2], NULL, 10) : 20000;
    double times[3][ROUNDS];
    struct rusage usage;
    int64_t n_groups = 0;

    if (n_nodes < 1 || n_jobs < 0) {
        fprintf (stderr, "usage: time_watch [NODES [JOBS]]\n");
        return 2;
    }
    for (int i = 0; i < ROUNDS; i++) {
        double parts[3];

        n_groups = pass (n_nodes, n_jobs, parts);
        for (int j = 0; j < 3; j++)
            times[j][i] = parts[j];
    }
    printf ("%ld nodes in %d groups, %ld jobs\n", n_nodes, (int) n_groups, n_jobs);
    for (int j = 0; j < 3; j++) {
        qsort (times[j], ROUNDS, sizeof (times[j][0]), by_value);
        printf ("%-18s %7.1f ms\n", names[j], times[j][ROUNDS / 2]);
    }
    getrusage (RUSAGE_SELF, &usage);
    printf ("%-18s %7.1f MB\n", "memory", (double) usage.ru_maxrss / 1024);
    return 0;
}
