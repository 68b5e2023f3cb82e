/* counters.c - what the plugin has done since it was loaded, for Prometheus
 *
 * The file is for the textfile collector of node_exporter, which reads *.prom in one
 * directory. The new file is written beside it under a name that the collector does not
 * read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "trace/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/files.h"

/* All families together take about 6 KiB. */
#define TEXT_MAX 16384

static const struct dn_names change_names = DN_NAMES_OF (COUNTED);
static const struct dn_names drop_names = DN_NAMES_OF (DROPS);
static const struct dn_names result_names = DN_NAMES_OF (RESULTS);
static const struct dn_names error_names = DN_NAMES_OF (ERRORS);

/* Counters with one name: a single one, or one per value of a label. */
struct family {
    const char *name;
    size_t offset; /* in struct dn_counters */
    const char *help;
    const char *label; /* NULL: a single counter */
    const struct dn_names *values;
};

#define MANY(name, member, help, label, values)                                        \
    {                                                                                  \
        name, offsetof (struct dn_counters, member), help, label, values               \
    }
#define ONE(name, member, help) MANY (name, member, help, NULL, NULL)

static const struct family families[] = {
    ONE ("submissions", submissions, "Jobs that slurmctld passed to the plugin."),
    ONE ("modifications",
         modifications,
         "Updates of jobs, which the plugin never changes."),
    ONE ("described",
         described,
         "Jobs that described their network, understood or not."),
    ONE ("opted_out", opted_out, "Jobs that opted out."),
    ONE ("estimates_reused",
         estimates_reused,
         "Decisions with the estimates of an earlier, equal job."),
    MANY ("verdicts", verdicts, "Decisions.", "verdict", &dn_verdict_names),
    MANY ("abstained",
          abstained,
          "Decisions without advice.",
          "reason",
          &dn_abstain_names),
    MANY ("changed", changed, "Fields rewritten.", "field", &change_names),
    MANY ("advised",
          advised,
          "Fields that would have been rewritten in mode enforce.",
          "field",
          &change_names),
    MANY ("errors",
          errors,
          "Jobs unchanged because of an error.",
          "kind",
          &error_names),
    ONE ("decision_log_lines", lines, "Lines written to the decision log."),
    MANY ("decision_log_dropped",
          dropped,
          "Lines missing from the decision log.",
          "reason",
          &drop_names),
    MANY ("config_loads",
          loads,
          "Loads of the configuration, with catalogue, data sets and bundle.",
          "result",
          &result_names),
};

static const int latency_us[DN_LATENCY_BUCKETS] =
    {100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};

void dn_counters_took (struct dn_counters *counters, int64_t us)
{
    int bucket = 0;

    if (us < 0)
        us = 0;
    while (bucket < DN_LATENCY_BUCKETS && us > latency_us[bucket])
        bucket++;
    dn_count (&counters->latency[bucket]);
    atomic_fetch_add_explicit (
        &counters->latency_us, (unsigned long long) us, memory_order_relaxed);
}

static unsigned long long get (dn_counter *counter)
{
    return atomic_load_explicit (counter, memory_order_relaxed);
}

static void add_head (struct dn_buf *buf,
                      const char *name,
                      const char *suffix,
                      const char *help,
                      const char *type)
{
    dn_buf_add (buf, "# HELP dnnest_%s%s %s\n", name, suffix, help);
    dn_buf_add (buf, "# TYPE dnnest_%s%s %s\n", name, suffix, type);
}

static void add_family (struct dn_buf *buf,
                        const struct family *family,
                        struct dn_counters *counters)
{
    dn_counter *first = (dn_counter *) (void *) ((char *) counters + family->offset);

    add_head (buf, family->name, "_total", family->help, "counter");
    if (!family->values)
        dn_buf_add (buf, "dnnest_%s_total %llu\n", family->name, get (first));
    for (int i = 1; family->values && i < family->values->n_names; i++)
        dn_buf_add (buf,
                    "dnnest_%s_total{%s=\"%s\"} %llu\n",
                    family->name,
                    family->label,
                    dn_names_get (family->values, i),
                    get (&first[i]));
}

/* With a decimal point in any locale. */
static void add_seconds (struct dn_buf *buf, unsigned long long us)
{
    dn_buf_add (buf, "%llu.%06llu", us / 1000000, us % 1000000);
}

/* Buckets are cumulative. The count is the sum of the buckets that were read, so that
 * it agrees with them if a job is counted meanwhile.
 */
static void add_latency (struct dn_buf *buf, struct dn_counters *counters)
{
    unsigned long long sum = 0;

    add_head (buf,
              "submission_seconds",
              "",
              "Time that the plugin took for jobs that concern it.",
              "histogram");
    for (int i = 0; i < DN_LATENCY_BUCKETS; i++) {
        sum += get (&counters->latency[i]);
        dn_buf_add (buf, "dnnest_submission_seconds_bucket{le=\"");
        add_seconds (buf, (unsigned long long) latency_us[i]);
        dn_buf_add (buf, "\"} %llu\n", sum);
    }
    sum += get (&counters->latency[DN_LATENCY_BUCKETS]);
    dn_buf_add (buf, "dnnest_submission_seconds_bucket{le=\"+Inf\"} %llu\n", sum);
    dn_buf_add (buf, "dnnest_submission_seconds_sum ");
    add_seconds (buf, get (&counters->latency_us));
    dn_buf_add (buf, "\ndnnest_submission_seconds_count %llu\n", sum);
}

static void add_gauges (struct dn_buf *buf, const struct dn_gauges *gauges)
{
    add_head (buf, "info", "", "Versions of dnnest and of its Slurm.", "gauge");
    dn_buf_add (buf,
                "dnnest_info{version=\"%s\",slurm=\"%s\"} 1\n",
                PACKAGE_VERSION,
                gauges->slurm);
    add_head (buf, "start_time_seconds", "", "When the plugin was loaded.", "gauge");
    dn_buf_add (buf, "dnnest_start_time_seconds %" PRId64 "\n", gauges->started_s);
    add_head (buf,
              "config_time_seconds",
              "",
              "When the configuration in force was loaded.",
              "gauge");
    dn_buf_add (buf, "dnnest_config_time_seconds %" PRId64 "\n", gauges->configured_s);
}

/* Write the new file 'beside'. Readable for the exporter's user, with any umask. */
static bool write_new (const char *beside, const struct dn_buf *text)
{
    dn_cleanup (dn_fd_cleanup) int fd = -1;
    ssize_t written;

    if (unlink (beside) < 0 && errno != ENOENT)
        return false;
    fd = open (beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod (fd, 0644) < 0)
        return false;
    written = write (fd, text->text, text->len);
    if (written >= 0)
        errno = ENOSPC;
    return written == (ssize_t) text->len;
}

static int replace (const char *path, const struct dn_buf *text, struct dn_err *err)
{
    char beside[1024];
    struct dn_buf buf = dn_buf_on (beside, sizeof (beside));

    dn_buf_add (&buf, "%s.new", path);
    if (buf.cut)
        return dn_refuse (err, counters_path);
    if (write_new (beside, text) && rename (beside, path) == 0)
        return 0;
    dn_file_fail (path, dn_say_file_written, err);
    unlink (beside);
    return -1;
}

int dn_counters_write (struct dn_counters *counters,
                       const struct dn_gauges *gauges,
                       const char *path,
                       struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = malloc (TEXT_MAX);
    struct dn_buf buf;

    if (!text)
        return dn_refuse (err, no_memory_for, path);
    buf = dn_buf_on (text, TEXT_MAX);
    add_gauges (&buf, gauges);
    for (size_t i = 0; i < DN_N_ELEMENTS (families); i++)
        add_family (&buf, &families[i], counters);
    add_latency (&buf, counters);
    return replace (path, &buf, err);
}
