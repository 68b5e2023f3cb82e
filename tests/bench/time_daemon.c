/* time_daemon.c - the time and memory of rounds of dnnestd, without Slurm
 *
 * usage: time_daemon [NODES [JOBS]]
 *
 * In place of daemon/slurm stands a cluster of that many nodes (5000) with three GPU
 * types, and that many running jobs (20000) with the decision record of dnnest, one in
 * a hundred of them near its limit. Prints the CPU time of the first round, the median
 * of the next ones, and the most memory of the process. The table of jobs takes the
 * memory that libslurm's takes; what libslurm computes is not in the times.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "daemon_log.h"
#include "jobs_table.h"
#include "tasks.h"
#include "ticks.h"

#define ROUNDS  21
#define NOW     INT64_C (1795000000)
#define N_TYPES 3

/* Of one job in libslurm's table. */
#define JOB_BYTES 3300

static const char *const types[N_TYPES] = {"a100", "v100", "h100"};

struct dn_link {
    long n_nodes;
    long n_jobs;
    char *table; /* NULL: not read */
    int64_t *limits;
    long n_changes;
};

static void must (bool ok)
{
    if (ok)
        return;
    fprintf (stderr, "time_daemon: out of memory\n");
    exit (1);
}

/* --- a slurmctld that is made up ---------------------------------------------------
 */

static const char record[] =
    "{\"dnnest\":1,\"version\":\"" PACKAGE_VERSION
    "\",\"mode\":\"enforce\",\"verdict\":\"change\","
    "\"req\":{\"time_s\":86400,\"gpu\":\"a100\",\"gpus\":4,\"nodes\":1,\"tasks\":1,"
    "\"cpus_per_task\":80,\"mem_mb\":400000},\"set\":{\"time_s\":36000,\"gpu\":"
    "\"v100\",\"cpus_per_task\":24},\"pred\":{\"gpu\":\"v100_sxm2_16gb\",\"step_us\":"
    "228000,\"train_s\":30000,\"bound_s\":32000,\"bound_bp\":8000,\"p95_s\":50400,"
    "\"p99_s\":64800,\"mem_mb\":13000,\"cpus_per_gpu\":6,\"conf\":65,\"bundle\":"
    "\"2026-11\"},\"spec\":\"model=resnet50,batch=64,precision=fp16,epochs=20,"
    "dataset=imagenet\"}";

int dn_link_jobs (struct dn_link *link, struct dn_err *err)
{
    (void) err;
    link->table = malloc ((size_t) link->n_jobs * JOB_BYTES);
    must (link->table || link->n_jobs == 0);
    memset (link->table, 1, (size_t) link->n_jobs * JOB_BYTES);
    return 0;
}

void dn_link_jobs_drop (struct dn_link *link)
{
    free (link->table);
    link->table = NULL;
}

static int take_job (struct dn_link *link, long i, dn_link_job_f take, void *to)
{
    char tres[96];
    char list[48];
    const int64_t ran_s = i % 100 ? i % 27000 : 35500;
    struct dn_link_job job = {.job_id = i + 1,
                              .raw_id = i + 1,
                              .array_task = DN_UNSET,
                              .het_offset = DN_UNSET,
                              .user_id = 1000 + i % 400,
                              .group_id = 100,
                              .phase = DN_PHASE_RUNNING,
                              .state = "RUNNING",
                              .limit_s = link->limits[i],
                              .submit = NOW - ran_s - 600,
                              .eligible = NOW - ran_s - 600,
                              .start = NOW - ran_s,
                              .end = NOW - ran_s + link->limits[i],
                              .n_nodes = i % 8 ? 1 : 4,
                              .n_cpus = 24,
                              .batch = true,
                              .partition = "gpu",
                              .account = "research",
                              .qos = "normal",
                              .nodes = list,
                              .tres = tres,
                              .admin_comment = record};

    snprintf (job.name, sizeof (job.name), "%ld", i + 1);
    snprintf (tres,
              sizeof (tres),
              "cpu=24,mem=64G,node=1,billing=16,gres/gpu=%ld,gres/gpu:%s=%ld",
              1 + i % 4,
              types[i % N_TYPES],
              1 + i % 4);
    snprintf (list,
              sizeof (list),
              i % 8 ? "n%05ld" : "n[%05ld-%05ld]",
              i % link->n_nodes,
              i % link->n_nodes + 3);
    return take (to, &job);
}

int dn_link_jobs_each (struct dn_link *link, dn_link_job_f take, void *to)
{
    int rc = 0;

    for (long i = 0; i < link->n_jobs && rc == 0; i++)
        rc = take_job (link, i, take, to);
    return rc;
}

int dn_link_job_now (struct dn_link *link,
                     int64_t raw_id,
                     dn_link_job_f take,
                     void *to,
                     struct dn_err *err)
{
    (void) err;
    return take_job (link, (long) raw_id - 1, take, to);
}

/* The record of the table stays as it is: in the next round somebody has changed the
 * limit, and the guard leaves the job alone.
 */
int dn_link_update (struct dn_link *link,
                    const struct dn_link_change *change,
                    struct dn_err *err)
{
    (void) err;
    link->limits[strtol (change->name, NULL, 10) - 1] = change->limit_s;
    link->n_changes++;
    return 0;
}

int dn_link_nodes (struct dn_link *link,
                   int64_t now_s,
                   dn_link_node_f take,
                   void *to,
                   struct dn_err *err)
{
    int rc = 0;

    (void) now_s;
    (void) err;
    for (long i = 0; i < link->n_nodes && rc == 0; i++) {
        char name[32];
        char gres[32];
        char used[48];
        struct dn_link_node node = {.name = name,
                                    .gres = gres,
                                    .gres_used = used,
                                    .features = i % 5 ? "ib,nvme" : "ib",
                                    .partitions = i % 2 ? "gpu,long" : "gpu",
                                    .cpus = 96,
                                    .idle_cpus = 24 * (i % 5),
                                    .mem_mb = 512000,
                                    .idle_mem_mb = 100000,
                                    .threads_per_core = 2,
                                    .up = i % 50 != 0};

        snprintf (name, sizeof (name), "n%05ld", i);
        snprintf (gres, sizeof (gres), "gpu:%s:4(S:0-1)", types[i % N_TYPES]);
        snprintf (used, sizeof (used), "gpu:%s:%ld(IDX:0)", types[i % N_TYPES], i % 5);
        rc = take (to, &node);
    }
    return rc;
}

int dn_link_cluster (struct dn_link *link,
                     struct dn_cluster *cluster,
                     struct dn_err *err)
{
    (void) link;
    (void) err;
    *cluster = (struct dn_cluster){.name = "alps", .slurm = 2411, .enforces = true};
    cluster->partitions = calloc (1, sizeof (*cluster->partitions));
    must (cluster->partitions);
    cluster->n_partitions = 1;
    strcpy (cluster->partitions[0].name, "gpu");
    cluster->partitions[0].up = cluster->partitions[0].is_default = true;
    cluster->partitions[0].max_time_s = DN_UNLIMITED;
    cluster->partitions[0].max_nodes = DN_UNLIMITED;
    cluster->partitions[0].default_time_s = DN_UNSET;
    cluster->partitions[0].def_mem_per_cpu_mb = DN_UNSET;
    cluster->partitions[0].def_mem_per_node_mb = DN_UNSET;
    cluster->partitions[0].max_mem_per_cpu_mb = DN_UNSET;
    cluster->partitions[0].max_mem_per_node_mb = DN_UNSET;
    return 0;
}

int dn_link_reservations (struct dn_link *link,
                          dn_link_reservation_f take,
                          void *to,
                          struct dn_err *err)
{
    (void) link;
    (void) take;
    (void) to;
    (void) err;
    return 0;
}

bool dn_link_share_node (const char *a, const char *b)
{
    return a && b && strcmp (a, b) == 0;
}

int dn_link_conf (struct dn_link *link, struct dn_link_conf *conf, struct dn_err *err)
{
    (void) link;
    (void) err;
    *conf = (struct dn_link_conf){.cluster = "alps",
                                  .slurm = 2411,
                                  .scheduler_parameters = "",
                                  .slurmctld_parameters = "",
                                  .state_save = "/nonexistent",
                                  .def_mem_per_cpu_mb = DN_UNSET,
                                  .def_mem_per_node_mb = DN_UNSET};
    return 0;
}

int dn_link_notify (struct dn_link *link,
                    const struct dn_link_job *job,
                    const char *line,
                    struct dn_err *err)
{
    (void) link;
    (void) job;
    (void) line;
    (void) err;
    return 0;
}

int dn_link_requeue (struct dn_link *link,
                     const char *name,
                     bool hold,
                     struct dn_err *err)
{
    (void) link;
    (void) name;
    (void) hold;
    (void) err;
    return 0;
}

int dn_link_release (struct dn_link *link, const char *name, struct dn_err *err)
{
    (void) link;
    (void) name;
    (void) err;
    return 0;
}

bool dn_link_is_lost (const struct dn_err *err)
{
    (void) err;
    return false;
}

/* --- rounds ------------------------------------------------------------------------
 */

static double cpu_ms (void)
{
    struct timespec at;

    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double) at.tv_sec * 1e3 + (double) at.tv_nsec / 1e6;
}

static int by_value (const void *a, const void *b)
{
    double one = *(const double *) a;
    double two = *(const double *) b;

    return (one > two) - (one < two);
}

/* One round of all tasks; the CPU time of each into 'ms'. */
static void run_round (struct dn_daemon *d, void *memory[], double ms[])
{
    for (int i = 0; dn_tasks[i]; i++) {
        struct dn_err err = {.code = DN_E_NONE};
        double from_ms = cpu_ms ();

        if (dn_tasks[i]->run (memory[i], d, &err) < 0) {
            fprintf (stderr, "time_daemon: %s: %s\n", dn_tasks[i]->name, err.text);
            exit (1);
        }
        ms[i] = cpu_ms () - from_ms;
    }
    dn_jobs_drop (d);
    d->now_s++;
}

static void print_times (double times[DN_TASKS_MAX + 1][ROUNDS])
{
    int n = 0;

    printf ("%-8s %12s %12s\n", "CPU ms", "first round", "later round");
    for (int i = 0; dn_tasks[i]; i++, n++)
        for (int round = 0; round < ROUNDS; round++)
            times[DN_TASKS_MAX][round] += times[i][round];
    for (int i = 0; i <= n; i++) {
        double *row = times[i < n ? i : DN_TASKS_MAX];
        double first = row[0];

        qsort (row + 1, ROUNDS - 1, sizeof (*row), by_value);
        printf ("%-8s %12.1f %12.1f\n",
                i < n ? dn_tasks[i]->name : "both",
                first,
                row[ROUNDS / 2]);
    }
}

static void remove_files (const char *dir)
{
    static const char *const files[] = {"cluster.snapshot", "guard"};
    char path[128];

    for (size_t i = 0; i < DN_N_ELEMENTS (files); i++) {
        snprintf (path, sizeof (path), "%s/%s", dir, files[i]);
        unlink (path);
    }
    rmdir (dir);
}

int main (int argc, char **argv)
{
    char dir[] = "/tmp/dnnest-time.XXXXXX";
    static struct dn_site site;
    static double times[DN_TASKS_MAX + 1][ROUNDS];
    struct dn_link link = {.n_nodes = argc > 1 ? strtol (argv[1], NULL, 10) : 5000,
                           .n_jobs = argc > 2 ? strtol (argv[2], NULL, 10) : 20000};
    struct dn_daemon d = {.site = &site, .link = &link, .now_s = NOW};
    void *memory[DN_TASKS_MAX] = {NULL};
    struct rusage usage;

    if (link.n_nodes < 1 || link.n_jobs < 0 || !mkdtemp (dir)) {
        fprintf (stderr, "usage: time_daemon [NODES [JOBS]]\n");
        return 2;
    }
    dn_log_begin (DN_LOG_PLAIN, DN_LOG_ERROR);
    site.guard_interval_s = site.watch_interval_s = 60;
    site.rules.time_margin = 0.1;
    snprintf (site.state_dir, sizeof (site.state_dir), "%s", dir);
    link.limits = calloc ((size_t) link.n_jobs + 1, sizeof (*link.limits));
    must (link.limits);
    for (long i = 0; i < link.n_jobs; i++)
        link.limits[i] = 36000;
    for (int i = 0; dn_tasks[i]; i++)
        must ((memory[i] = dn_tasks[i]->begin ()) != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        double ms[DN_TASKS_MAX];

        run_round (&d, memory, ms);
        for (int i = 0; dn_tasks[i]; i++)
            times[i][round] = ms[i];
    }
    printf ("%ld nodes, %ld jobs with a record, %ld extended\n",
            link.n_nodes,
            link.n_jobs,
            link.n_changes);
    print_times (times);
    getrusage (RUSAGE_SELF, &usage);
    printf ("memory   %12.1f MB\n", (double) usage.ru_maxrss / 1024);
    for (int i = 0; dn_tasks[i]; i++)
        dn_tasks[i]->end (memory[i]);
    free (link.limits);
    remove_files (dir);
    return 0;
}
