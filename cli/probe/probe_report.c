/* probe_report.c - the result of a probe, and the prediction of the whole run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probe_report.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "predict/history.h"
#include "own_records.h"
#include "seen.h"
#include "hardware/gpu_names.h"

/* Time limits are rounded up to multiples of this, as in the policy. */
#define TIME_STEP_S 300

/* CPUs requested per core that was busy on average. */
#define CPU_ROOM 1.2

void dn_shell_word (struct dn_buf *buf, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-+=:,./@%";

    if (text[0] != '\0' && text[strspn (text, plain)] == '\0') {
        dn_buf_add (buf, "%s", text);
        return;
    }
    dn_buf_add (buf, "'");
    for (; *text; text++)
        if (*text == '\'')
            dn_buf_add (buf, "'\\''");
        else
            dn_buf_add (buf, "%c", *text);
    dn_buf_add (buf, "'");
}

/* --- what was measured ----------------------------------------------------------- */

static int64_t usable_cpus (void)
{
    cpu_set_t set;

    if (sched_getaffinity (0, sizeof (set), &set) == 0)
        return CPU_COUNT (&set);
    return sysconf (_SC_NPROCESSORS_ONLN);
}

/* Seconds of a step that were spent in waiting for data, between two marks. */
static double stall_of (const struct dn_feed_counter *counter, int64_t from)
{
    int i = 0;
    int last = counter->n_marks - 1;

    while (i < last && counter->marks[i].step < from)
        i++;
    if (counter->marks[last].step <= counter->marks[i].step)
        return 0;
    return fmax (counter->loader_s[last] - counter->loader_s[i], 0)
           / (double) (counter->marks[last].step - counter->marks[i].step);
}

static void find_steady (struct dn_probe_report *report, int64_t warmup)
{
    const struct dn_feed_counter *counter = dn_feed_best (&report->run->feed);
    struct dn_steady *steady = &report->steady;
    struct dn_probed *m = &report->measured;
    double from_s = 0;
    double to_s = report->run->wall_s;

    report->stall_share = -1;
    m->start_s = -1;
    if (!counter)
        dn_err_set (&report->why, DN_E_RANGE, "no step was seen");
    else if (dn_steady_find (
                 counter->marks, counter->n_marks, warmup, steady, &report->why)
             == 0)
        report->steady_known = true;
    if (counter && report->steady_known) {
        to_s = counter->marks[counter->n_marks - 1].time_s;
        from_s = to_s - (double) steady->steps * steady->step_s;
        m->step_s = steady->step_s;
        m->sigma = steady->sigma;
        m->confidence = steady->confidence;
        m->start_s = steady->start_s;
        if (report->run->feed.hooked) {
            m->stall_s = fmin (stall_of (counter, steady->warmup), steady->step_s);
            m->serial = report->run->feed.workers == 0;
            report->stall_share = m->stall_s / steady->step_s;
        }
    }
    report->cores = dn_probe_cores (report->run, from_s, to_s);
    report->gpus = dn_gpu_watch_use (report->run->gpus, from_s, to_s);
    m->gpu_mem = report->gpus.peak;
    m->power_w = fmax (report->gpus.power_w, 0);
}

static const struct dn_device *find_cpu (const struct dn_catalogue *catalogue)
{
    for (int i = 0; i < catalogue->n_devices; i++)
        if (catalogue->devices[i].generation->host)
            return &catalogue->devices[i];
    dn_complain ("warning: the catalogue has no CPU; name the device with --gpu");
    return NULL;
}

/* The GPU that the driver reports, else the one that the program reports, else a CPU.
 */
static const struct dn_device *guess_device (const struct dn_probe_report *report)
{
    const struct dn_catalogue *catalogue = &report->site->catalogue;
    const struct dn_feed *feed = &report->run->feed;
    const char *product =
        report->gpus.n_gpus > 0 ? report->gpus.product : feed->product;
    const struct dn_device *device;

    if (report->gpus.n_gpus == 0 && !feed->cuda)
        return find_cpu (catalogue);
    device = dn_catalogue_find_product (catalogue,
                                        product,
                                        report->gpus.n_gpus > 0 ? report->gpus.memory
                                                                : feed->memory);
    if (!device)
        dn_complain ("warning: the GPU '%s' is not in the catalogue; name the device "
                     "with --gpu",
                     dn_quote (product, strlen (product)).text);
    return device;
}

/* --- prediction of the whole run ------------------------------------------------- */

static int compare_rows (const void *a, const void *b)
{
    const struct dn_probe_row *x = a;
    const struct dn_probe_row *y = b;
    int x_class = x->estimate.fits + x->estimate.supported;
    int y_class = y->estimate.fits + y->estimate.supported;
    int x_measured = x->basis == DN_BASIS_MEASURED;
    int y_measured = y->basis == DN_BASIS_MEASURED;

    if (x_measured != y_measured)
        return y_measured - x_measured;
    if (x_class != y_class)
        return y_class - x_class;
    if (x->estimate.step_s.p50 != y->estimate.step_s.p50)
        return x->estimate.step_s.p50 < y->estimate.step_s.p50 ? -1 : 1;
    return strcmp (x->gpu->name, y->gpu->name);
}

/* The GPUs of the table: those of the site, and the measured device. */
static int list_gpus (struct dn_probe_report *report, struct dn_err *err)
{
    const struct dn_site *site = report->site;
    struct dn_gpus_wanted wanted = {.all = report->all};
    dn_cleanup (dn_seen_free) struct dn_seen seen;

    dn_seen_read (&seen, site, NULL);
    if (dn_site_gpus_find (
            site, dn_seen_cluster (&seen), &wanted, &report->gpus_listed, err)
        < 0)
        return -1;
    if (report->measured.device)
        dn_site_gpus_add (&report->gpus_listed,
                          site,
                          dn_seen_cluster (&seen),
                          report->measured.device);
    return 0;
}

static void fill_rows (struct dn_probe_report *report,
                       const struct dn_estimate *estimates,
                       const struct dn_estimate *own)
{
    const struct dn_site_gpus *gpus = &report->gpus_listed;

    for (int i = 0; i < gpus->n; i++) {
        struct dn_probe_row *row = &report->rows[i];

        row->gpu = &gpus->list[i];
        row->estimate = estimates[i];
        row->basis = dn_calibrate (&report->measured,
                                   &report->site->constants,
                                   &report->subject->spec,
                                   own,
                                   &row->estimate);
    }
    qsort (report->rows, (size_t) gpus->n, sizeof (*report->rows), compare_rows);
    for (int i = 0; i < gpus->n; i++) {
        struct dn_probe_row *row = &report->rows[i];

        row->run =
            dn_site_gpus_run (report->site, report->subject, row->gpu, &row->estimate);
    }
    report->n_rows = gpus->n;
}

static int find_rows (struct dn_probe_report *report, struct dn_err *err)
{
    struct dn_estimate own = {.device = NULL};
    const struct dn_site_gpus *gpus = &report->gpus_listed;
    dn_cleanup (dn_free_ptr) struct dn_estimate *estimates = NULL;

    if (list_gpus (report, err) < 0)
        return -1;
    estimates = calloc ((size_t) gpus->n + 1, sizeof (*estimates));
    report->rows = calloc ((size_t) gpus->n + 1, sizeof (*report->rows));
    if (!estimates || !report->rows)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (dn_subject_predict (
            report->site, report->subject, gpus->devices, gpus->n, estimates, err)
        < 0)
        return -1;
    for (int i = 0; i < gpus->n; i++)
        if (gpus->devices[i] == report->measured.device)
            own = estimates[i];
    if (own.device)
        report->model_step_s = own.step_s.p50;
    fill_rows (report, estimates, &own);
    return 0;
}

/* --- how to submit --------------------------------------------------------------- */

/* The quantity that the objective minimises. */
static double price_of (const struct dn_probe_report *report,
                        const struct dn_probe_row *row)
{
    const struct dn_estimate *e = &row->estimate;
    const struct dn_spec *spec = &report->subject->spec;
    enum dn_objective objective = spec->objective != DN_OBJECTIVE_UNKNOWN
                                      ? spec->objective
                                      : report->site->rules.objective;

    if (e->train_s.p50 < 0 || objective == DN_OBJECTIVE_TIME
        || objective == DN_OBJECTIVE_FINISH)
        return e->step_s.p50;
    if (objective == DN_OBJECTIVE_ENERGY)
        return e->energy_j;
    return dn_estimate_cost (e, spec->gpus, row->run.cost_per_hour);
}

/* The device to submit to: the measured one, or a better GPU type of the site whose
 * prediction is reliable enough.
 */
static const struct dn_probe_row *choose (const struct dn_probe_report *report)
{
    const struct dn_probe_row *best = NULL;

    for (int i = 0; i < report->n_rows; i++) {
        const struct dn_probe_row *row = &report->rows[i];
        bool measured = row->basis == DN_BASIS_MEASURED;

        if (!row->estimate.fits
            || (!measured
                && (!dn_subject_type (report->site, row->estimate.device)
                    || row->basis == DN_BASIS_MODEL
                    || row->estimate.confidence < report->site->rules.min_confidence)))
            continue;
        if (!best || price_of (report, row) < price_of (report, best))
            best = row;
    }
    return best;
}

/* CPUs of the whole job: the busy cores, scaled to the predicted throughput; the
 * model's estimate if they were not measured.
 */
static double cpus_for (const struct dn_probe_report *report,
                        const struct dn_probe_row *row)
{
    const struct dn_estimate *e = &row->estimate;
    double gpus = (double) report->subject->spec.gpus;

    if (report->cores >= 0)
        return fmax (
            ceil (report->cores * CPU_ROOM * report->measured.step_s / e->step_s.p50),
            1);
    return e->cpus_per_gpu > 0 ? (double) e->cpus_per_gpu * gpus : -1;
}

static void add_time (struct dn_buf *buf,
                      const struct dn_rules *rules,
                      const struct dn_estimate *estimate)
{
    double bound = dn_range_at (estimate->train_s, rules->time_quantile)
                   * (1 + rules->time_margin);

    if (estimate->train_s.p50 < 0 || bound > 1e10)
        return;
    bound = fmax (bound, (double) rules->time_min_s);
    dn_buf_add (
        buf,
        " --time=%s",
        dn_time_write ((int64_t) ceil (bound / TIME_STEP_S) * TIME_STEP_S).text);
}

static void add_gpus (struct dn_buf *buf,
                      const struct dn_probe_report *report,
                      const struct dn_device *device)
{
    const struct dn_gpu_type *type = dn_subject_type (report->site, device);
    const struct dn_spec *spec = &report->subject->spec;

    if (spec->nodes > 1)
        dn_buf_add (buf, " --nodes=%lld", (long long) spec->nodes);
    /* types that are selected by partition or feature may have no gres type */
    if (type && type->by_partition[0] != '\0')
        dn_buf_add (buf, " --partition=%s", type->by_partition);
    else if (type && type->by_feature[0] != '\0')
        dn_buf_add (buf, " --constraint=%s", type->by_feature);
    dn_buf_add (buf, " --gpus=");
    if (type && type->by_partition[0] == '\0' && type->by_feature[0] == '\0')
        dn_buf_add (buf, "%s:", type->type);
    dn_buf_add (buf, "%lld", (long long) spec->gpus);
}

/* If the job's script has probe=, the option or comment must override it. */
static void add_metadata (struct dn_buf *buf, const struct dn_probe_report *report)
{
    bool sidecar = dn_subject_is_sidecar (report->spec);
    char note[DN_COMMAND_TEXT_MAX];
    struct dn_buf comment = dn_buf_on (note, sizeof (note));

    dn_buf_add (&comment,
                "%s%s%s",
                sidecar ? "--dnnest=" : "--comment=dnnest:",
                report->within_job ? "probe=0," : "",
                report->spec + (sidecar && report->spec[0] == '@'));
    dn_buf_add (buf, " ");
    dn_shell_word (buf, note);
    buf->cut = buf->cut || comment.cut;
}

static void find_sbatch (struct dn_probe_report *report)
{
    struct dn_buf buf = dn_buf_on (report->sbatch, sizeof (report->sbatch));
    const struct dn_probe_row *row = choose (report);
    const struct dn_spec *spec = &report->subject->spec;
    bool on_cpu;
    double cpus;

    if (!row)
        return;
    cpus = cpus_for (report, row);
    dn_buf_add (&buf, "sbatch");
    on_cpu = row->estimate.device->generation->host;
    if (on_cpu)
        dn_buf_add (&buf, " --cpus-per-task=%.0f", fmax (cpus, 1));
    else
        add_gpus (&buf, report, row->estimate.device);
    if (!on_cpu && cpus > 0)
        dn_buf_add (&buf, " --cpus-per-gpu=%.0f", ceil (cpus / (double) spec->gpus));
    add_time (&buf, &report->site->rules, &row->estimate);
    if (!on_cpu || report->within_job)
        add_metadata (&buf, report);
    dn_buf_add (&buf, " job.sh");
    if (buf.cut)
        report->sbatch[0] = '\0';
}

int dn_probe_report_find (struct dn_probe_report *report,
                          int64_t warmup,
                          const char *gpu,
                          struct dn_err *err)
{
    int64_t n_gpus;

    report->model_step_s = -1;
    report->cpus = usable_cpus ();
    find_steady (report, warmup);
    if (gpu) {
        report->measured.device = dn_subject_device (report->site, gpu, err);
        if (!report->measured.device)
            return -1;
    } else if (report->steady_known) {
        report->measured.device = guess_device (report);
    }
    if (!report->steady_known || !report->subject)
        return 0;
    n_gpus = report->subject->spec.gpus;
    if (report->gpus.n_gpus > 0 && report->gpus.n_gpus != n_gpus)
        dn_complain ("warning: the program used %d GPUs here, and gpus=%lld",
                     report->gpus.n_gpus,
                     (long long) n_gpus);
    if (find_rows (report, err) < 0)
        return -1;
    find_sbatch (report);
    return 0;
}

void dn_probe_report_free (struct dn_probe_report *report)
{
    if (!report)
        return;
    free (report->rows);
    report->rows = NULL;
    report->n_rows = 0;
}

/* --- history --------------------------------------------------------------------- */

/* The value with so many digits, as in cells of a table; NaN if it is unknown. */
static double rounded (double value, int digits)
{
    char text[32];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    double result;

    if (!(value >= 0) || !isfinite (value))
        return NAN;
    dn_buf_add (&buf, "%.*g", digits, value);
    return dn_real_read (dn_span_of (text), "", 0, DN_RUN_REAL_MAX, &result, NULL) == 0
               ? result
               : NAN;
}

/* Texts of a run that have no other owner; "" if unknown. */
struct texts {
    char time[32];
    char host[64];
    char job[64];
};

static void find_time (struct texts *texts)
{
    time_t now = time (NULL);
    struct tm parts;

    if (!gmtime_r (&now, &parts)
        || strftime (texts->time, sizeof (texts->time), "%Y-%m-%dT%H:%M:%SZ", &parts)
               == 0)
        texts->time[0] = '\0';
}

static void find_host (struct texts *texts)
{
    if (gethostname (texts->host, sizeof (texts->host) - 1) < 0)
        texts->host[0] = '\0';
}

/* Find the ID of the job that this process runs in, in the form of sacct. */
static void find_job (struct texts *texts)
{
    const char *array = getenv ("SLURM_ARRAY_JOB_ID");
    const char *task = getenv ("SLURM_ARRAY_TASK_ID");
    const char *job = getenv ("SLURM_JOB_ID");
    struct dn_buf buf = dn_buf_on (texts->job, sizeof (texts->job));

    if (array && task)
        dn_buf_add (&buf, "%s_%s", array, task);
    else if (job)
        dn_buf_add (&buf, "%s", job);
    if (buf.cut)
        texts->job[0] = '\0';
}

static const char *cluster_name (void)
{
    const char *name = getenv ("SLURM_CLUSTER_NAME");

    return name && strlen (name) < DN_NAME_MAX ? name : "";
}

int dn_probe_report_record (const struct dn_probe_report *report,
                            const char *path,
                            struct dn_err *err)
{
    const struct dn_steady *steady = &report->steady;
    const struct dn_probed *m = &report->measured;
    double gpus = (double) report->subject->spec.gpus;
    struct texts texts = {.time = ""};
    struct dn_run run;

    find_time (&texts);
    find_host (&texts);
    find_job (&texts);
    dn_run_clear (&run);
    run.spec = report->spec;
    run.sidecar = report->sidecar ? report->sidecar : "";
    run.gpu = m->device->name;
    run.gpus = report->subject->spec.gpus;
    run.step_ms = rounded (steady->step_s * 1000, 6);
    run.peak_mem_gb = rounded (m->gpu_mem > 0 ? m->gpu_mem / DN_GIB : -1, 4);
    run.power_w = rounded (m->power_w > 0 ? m->power_w : -1, 4);
    run.cores_per_gpu = rounded ((double) report->cpus / gpus, 4);
    run.group = dn_application_of (&report->subject->spec);
    run.source = "probe";
    run.time = texts.time;
    run.cluster = cluster_name ();
    run.job = texts.job;
    run.host = texts.host;
    run.steps = steady->steps;
    run.sigma = rounded (steady->sigma, 3);
    run.confidence = rounded (steady->confidence, 3);
    run.start_s = rounded (steady->start_s, 4);
    run.loader_share = rounded (report->stall_share, 3);
    run.loader_workers =
        report->stall_share >= 0 ? report->run->feed.workers : DN_UNSET;
    run.cores_busy = rounded (report->cores, 3);
    run.gpu_utilisation = rounded (report->gpus.utilisation, 3);
    run.torch = report->run->feed.torch;
    return dn_records_keep (path, &run, err);
}
