/* probe_show.c - the result of a probe, as tables and as JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "probe_report.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common.h"
#include "output/grid.h"

static const char *const end_text[] = {
    [DN_PROBE_ENDED] = "itself",
    [DN_PROBE_STEPS] = "steps",
    [DN_PROBE_TIME] = "seconds",
    [DN_PROBE_INTERRUPTED] = "signal",
};
static const struct dn_names end_names = DN_NAMES (end_text, DN_N_PROBE_ENDS);

static void add_row (struct dn_grid *grid,
                     const struct dn_probe_report *report,
                     const struct dn_probe_row *row)
{
    const struct dn_estimate *e = &row->estimate;
    double cost =
        dn_estimate_cost (e, report->subject->spec.gpus, row->run.cost_per_hour);

    dn_grid_add (grid, "%s", row->run.name);
    dn_grid_add (grid, "%s", dn_names_get (&dn_basis_names, (int) row->basis));
    if (!e->supported) {
        dn_grid_add (grid, "unsupported");
        for (int i = 3; i < grid->n_columns; i++)
            dn_grid_add (grid, "-");
        return;
    }
    dn_grid_add (grid, "%s", e->fits ? "yes" : "no");
    dn_grid_add (grid, "%s", dn_show_real (e->step_s.p50 * 1000, 1).text);
    dn_grid_add (grid, "%s", dn_show_time (e->train_s.p50).text);
    dn_grid_add (grid, "%s", dn_show_time (dn_shown_upper (e->train_s)).text);
    dn_grid_add (grid, "%s", dn_show_bytes (e->gpu_mem.p50).text);
    dn_grid_add (grid, "%s", dn_show_real (cost, 2).text);
    dn_grid_add (grid, "%s", dn_show_real (e->confidence, 2).text);
}

static int print_rows (const struct dn_probe_report *report)
{
    static const struct dn_grid_column columns[] = {{"GPU", false},
                                                    {"BY", false},
                                                    {"FITS", false},
                                                    {"STEP ms", true},
                                                    {"TIME likely", true},
                                                    {"TIME p95", true},
                                                    {"GPU MEMORY", true},
                                                    {"COST", true},
                                                    {"CONFIDENCE", true}};
    static const char *const spare[] = {"CONFIDENCE", "STEP ms", NULL};
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (columns, (int) DN_N_ELEMENTS (columns));

    grid.spare = spare;
    for (int i = 0; i < report->n_rows; i++)
        add_row (&grid, report, &report->rows[i]);
    return dn_grid_print (&grid);
}

static void print_loader (const struct dn_probe_report *report)
{
    if (report->stall_share < 0)
        return;
    printf ("  loader  %.0f %% of a step waits for data", 100 * report->stall_share);
    if (report->run->feed.workers > 0)
        printf (" (%lld workers)\n", (long long) report->run->feed.workers);
    else
        printf (" (no workers)\n");
}

static void print_measured (const struct dn_probe_report *report)
{
    const struct dn_steady *s = &report->steady;
    const struct dn_gpu_use *gpus = &report->gpus;
    const struct dn_device *device = report->measured.device;

    printf ("\n%lld steps after %lld of warm-up, on %s:\n",
            (long long) s->steps,
            (long long) s->warmup,
            device ? device->name : "an unknown device");
    printf ("  step    %s ms, known to %s %% (median %s ms)\n",
            dn_show_real (s->step_s * 1000, 1).text,
            dn_show_real (100 * s->sigma, 1).text,
            dn_show_real (s->median_s * 1000, 1).text);
    printf ("  start   %s s until the steps were steady\n",
            dn_show_real (s->start_s, 1).text);
    print_loader (report);
    if (report->cores >= 0)
        printf ("  CPU     %s cores busy, of %lld\n",
                dn_show_real (report->cores, 1).text,
                (long long) report->cpus);
    if (gpus->n_gpus > 0)
        printf ("  GPU     %d: %s each at most, %s %% in use, %s W\n",
                gpus->n_gpus,
                dn_show_bytes (gpus->peak).text,
                dn_show_real (100 * gpus->utilisation, 0).text,
                dn_show_real (gpus->power_w, 0).text);
    if (report->model_step_s > 0)
        printf ("  model   %s ms predicted; measured / predicted is %s\n",
                dn_show_real (report->model_step_s * 1000, 1).text,
                dn_show_real (s->step_s / report->model_step_s, 2).text);
}

int dn_probe_report_print (const struct dn_probe_report *report)
{
    const struct dn_device *device = report->measured.device;
    int exit_code;

    if (!report->steady_known)
        return DN_EXIT_ABSTAINED;
    print_measured (report);
    if (!report->subject) {
        printf ("\nThe whole run cannot be predicted without SPEC.\n");
        return DN_EXIT_DONE;
    }
    if (device && device->generation->host)
        printf ("\nA CPU was measured; times on GPUs are by the model alone.\n");
    printf ("\n");
    exit_code = print_rows (report);
    dn_show_assumed (&report->subject->spec, &report->subject->graph);
    dn_site_gpus_explain (&report->gpus_listed);
    if (report->sbatch[0] != '\0')
        printf ("\n%s\n", report->sbatch);
    return exit_code;
}

static void add_measured (struct json_object *to, const struct dn_probe_report *report)
{
    const struct dn_steady *s = &report->steady;
    const struct dn_device *device = report->measured.device;
    struct json_object *json;
    bool hooked = report->stall_share >= 0;

    if (!report->steady_known) {
        json_object_object_add (to, "measured", NULL);
        return;
    }
    json = dn_json_add_object (to, "measured");
    dn_json_add_text (json, "gpu", device ? device->name : NULL);
    dn_json_add_count (json, "steps", s->steps);
    dn_json_add_count (json, "warmup", s->warmup);
    dn_json_add_real (json, "step_ms", s->step_s * 1000);
    dn_json_add_real (json, "median_ms", s->median_s * 1000);
    dn_json_add_real (json, "sigma", s->sigma);
    dn_json_add_signed (json, "drift", s->drift);
    dn_json_add_count (json, "outliers", s->outliers);
    dn_json_add_real (json, "confidence", s->confidence);
    dn_json_add_real (json, "start_s", s->start_s);
    dn_json_add_real (json, "loader_share", report->stall_share);
    dn_json_add_count (json, "loader_workers", hooked ? report->run->feed.workers : -1);
    dn_json_add_real (json, "cores_busy", report->cores);
    dn_json_add_count (json, "cpus", report->cpus);
    dn_json_add_count (json, "gpus", report->gpus.n_gpus);
    dn_json_add_real (
        json, "peak_mem_bytes", report->gpus.n_gpus > 0 ? report->gpus.peak : -1);
    dn_json_add_real (json, "gpu_utilisation", report->gpus.utilisation);
    dn_json_add_real (json, "power_w", report->gpus.power_w);
    dn_json_add_real (json, "model_step_ms", report->model_step_s * 1000);
    dn_json_add_text (
        json, "torch", report->run->feed.hooked ? report->run->feed.torch : NULL);
}

static void add_program (struct json_object *to, const struct dn_probe_report *report)
{
    struct json_object *program = dn_json_add_object (to, "program");
    struct json_object *command = dn_json_add_array (program, "command");
    int status = report->run->status;

    for (int i = 0; report->argv[i]; i++)
        json_object_array_add (command, dn_json_text (report->argv[i]));
    dn_json_add_text (
        program, "ended_by", dn_names_get (&end_names, (int) report->run->end));
    dn_json_add_count (
        program, "exit_status", WIFEXITED (status) ? WEXITSTATUS (status) : -1);
    dn_json_add_count (
        program, "signal", WIFSIGNALED (status) ? WTERMSIG (status) : -1);
    dn_json_add_real (program, "wall_s", report->run->wall_s);
}

void dn_probe_report_print_json (const struct dn_probe_report *report)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const struct dn_subject *subject = report->subject;
    const struct dn_bundle *bundle = report->site->bundle;
    struct json_object *candidates;

    add_program (json, report);
    add_measured (json, report);
    json_object_object_add (
        json, "spec", subject ? dn_show_spec_json (&subject->spec) : NULL);
    json_object_object_add (
        json, "model", subject ? dn_show_model_json (&subject->graph) : NULL);
    dn_json_add_text (json, "model_bundle", bundle ? bundle->name : NULL);
    candidates = dn_json_add_array (json, "candidates");
    for (int i = 0; i < report->n_rows; i++) {
        const struct dn_probe_row *row = &report->rows[i];
        struct json_object *entry = dn_show_run_json (&row->run, &subject->spec);

        dn_json_add_text (
            entry, "basis", dn_names_get (&dn_basis_names, (int) row->basis));
        json_object_array_add (candidates, entry);
    }
    json_object_object_add (
        json,
        "assumed",
        subject ? dn_show_assumed_json (&subject->spec, &subject->graph) : NULL);
    dn_json_add_text (json, "sbatch", report->sbatch[0] ? report->sbatch : NULL);
    dn_json_add_text (json, "record", report->record[0] ? report->record : NULL);
    dn_json_print (json);
}
