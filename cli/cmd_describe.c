/* cmd_describe.c - the description of a job, of a script, or of a program, as it runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "describe/described.h"
#include "hardware/gpu_names.h"
#include "jobs/accounting.h"
#include "jobs/history/fit_apps.h"
#include "output/json.h"
#include "predict/learned.h"
#include "process/run_program.h"
#include "process/sacct.h"
#include "rewrite/recorded.h"
#include "rewrite/rewrite.h"
#include "seen.h"
#include "site_gpus.h"
#include "subject.h"

#define GRACE_S 10
#define DAY_S   86400

/* --- the whole run of a program, by the steps that it has measured -----------------
 */

/* Its run on GPUs, as the plugin sees a job whose application has run once, with
 * dnnest:auto (predict/learned.h): the measured time, on another device times the ratio
 * of the predicted steps. A CPU and a GPU have nothing in common: what one measured
 * says nothing of the other, whose rows are by the model alone.
 */
struct known_run {
    const struct dn_device *device; /* that was measured; NULL: nothing is predicted */
    int64_t steps;                  /* that were measured */
    struct dn_subject subject;
    struct dn_site_gpus gpus;
    struct dn_estimate *estimates; /* owned; of the GPUs, then of the device */
    struct dn_forecast runs[DN_DEVICES_MAX];
};

/* The type of the measured device in the history of one run; others have no name. */
static char types[1][DN_NAME_MAX] = {"measured"};

/* A history of one application and run. */
struct past {
    struct dn_spec spec; /* with the number of steps, as far as it is known */
    struct dn_app_row row;
    struct dn_app_known known;
    struct dn_apps apps;
    struct dn_learner learner;
};

/* The GPU that the program names; a CPU if it used none. */
static const struct dn_device *find_device (const struct dn_catalogue *catalogue,
                                            const struct dn_capture *capture,
                                            struct dn_err *err)
{
    const char *name = capture->device;
    const struct dn_device *device = NULL;

    if (name[0] != '\0') {
        device = dn_catalogue_find_product (catalogue, name, 0, NULL);
        if (!device)
            dn_err_set (err,
                        DN_E_RANGE,
                        "the GPU '%s' is not in the catalogue",
                        dn_quote (name, strlen (name)).text);
        return device;
    }
    for (int i = 0; i < catalogue->n_devices && capture->gpus_used <= 0; i++)
        if (catalogue->devices[i].generation->host)
            return &catalogue->devices[i];
    dn_err_set (err, DN_E_RANGE, "the device that it ran on is unknown");
    return NULL;
}

struct call {
    const struct dn_site *site;
    const char *out;
    const char *dir; /* NULL: that of the site */
    /* of a program */
    char *const *argv; /* NULL: a job or a script */
    const char *given; /* metadata, which hold; NULL: none */
    int64_t steps;
    int64_t seconds;
    struct dn_gpus_wanted wanted;
    double cores; /* that it kept busy */
    struct known_run known;
    /* what is described */
    char job[DN_NAME_MAX]; /* as a number; "" a program */
    char name[DN_NAME_MAX];
    char found[DN_NAME_MAX]; /* the number of its newest record */
    char shown[DN_NAME_MAX]; /* as the user knows it: 12_3 */
    int64_t submit_s;
    uid_t owner;
    char
        recorded[DN_RECORD_MAX + 1]; /* as the job described itself at its submission */
    struct dn_described described;
};

/* The GPUs of the table; of a site's, the measured device is one. */
static int find_gpus (struct call *call, struct dn_err *err)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen;
    struct known_run *known = &call->known;

    dn_seen_read (&seen, call->site, NULL);
    known->gpus.site = call->site;
    known->gpus.cluster = dn_seen_cluster (&seen);
    if (dn_site_gpus_find (&known->gpus, &call->wanted, err) < 0)
        return -1;
    if (call->wanted.n_names == 0)
        dn_site_gpus_add (&known->gpus, known->device);
    return 0;
}

/* The model's predictions for all GPUs, and for the measured device behind them. */
static int predict (struct known_run *known, struct dn_err *err)
{
    const struct dn_device *devices[DN_DEVICES_MAX + 1];
    int n = known->gpus.n;

    for (int i = 0; i < n; i++)
        devices[i] = known->gpus.devices[i];
    devices[n] = known->device;
    known->estimates = calloc ((size_t) n + 1, sizeof (*known->estimates));
    if (!known->estimates)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    return dn_subject_predict (&known->subject, devices, n + 1, known->estimates, err);
}

/* The run as if it had been finished: all its steps take as long as those measured. */
static void set_row (const struct dn_capture *capture,
                     double cores,
                     int64_t steps,
                     struct past *past)
{
    double runs = dn_spec_runs (&past->spec);
    double start_s = fmax (capture->start_up_s, 0) * runs; /* 0 if it is NaN */
    double step_s = capture->step_ms / 1000;
    double work = (double) steps * runs;
    const struct dn_fit_run run = {.end_s = (int64_t) time (NULL),
                                   .ran_s = start_s + work * step_s,
                                   .work = work,
                                   .exact = true,
                                   .cores = cores,
                                   .gpu_mem_gb = NAN,
                                   .said_gpu_mem_gb = capture->gpu_reserved_gb,
                                   .step_s = step_s,
                                   .start_up_s = start_s,
                                   .mem_gb = NAN};

    dn_fit_row (&run, 1, DN_WORK_STEPS, &dn_fit_prior_default, &past->row);
    past->row.start_s = (float) start_s;
    past->row.unit_s = (float) step_s;
}

static void make_past (const struct dn_capture *capture,
                       double cores,
                       const struct known_run *known,
                       struct past *past)
{
    const struct dn_estimate *own = &known->estimates[known->gpus.n];
    int64_t gpus = known->subject.spec.gpus;

    *past = (struct past){.spec = known->subject.spec};
    if (own->n_steps >= 1)
        past->spec.steps = (int64_t) own->n_steps;
    past->row.key = past->known.key = 1;
    past->known.loader_share = (float) capture->loader_share;
    past->row.gpus = (uint16_t) gpus;
    set_row (capture,
             cores / (double) gpus,
             past->spec.steps > 0 ? past->spec.steps : capture->steps_measured,
             past);
    past->known.workers = (int16_t) fmin (
        (double) (capture->workers < 0 ? -1 : capture->workers), INT16_MAX);
    past->apps =
        (struct dn_apps){.types = types, .n_types = 1, .rows = &past->row, .n_rows = 1};
    past->learner = (struct dn_learner){.apps = &past->apps,
                                        .key = 1,
                                        .gpus = gpus,
                                        .spec = &past->spec,
                                        .known = &past->known};
}

/* Correct the model's prediction for a device by the run. */
static void learn (const struct past *past,
                   const struct dn_capture *capture,
                   const struct dn_estimate *own,
                   struct dn_estimate *estimate)
{
    const struct dn_setting measured = {
        &past->spec, own, !(past->known.loader_share >= DN_LEARNED_LOADER_SHARE)};
    const struct dn_estimate model = *estimate;
    const struct dn_setting wanted = {.spec = &past->spec, .estimate = &model};
    bool here = estimate->device == own->device;
    const char *type = here ? types[0] : "";
    struct dn_learned_source source = dn_learned_source_of (&past->learner, type);
    /* the law of a step; on the measured device it is as measured */
    struct dn_range step_s = {.p50 = capture->step_ms / 1000};

    if (!here && !dn_device_runs_arch (estimate->device, capture->arch))
        estimate->supported = estimate->fits = false;
    if (estimate->device->generation->host != own->device->generation->host
        || (!here && !estimate->supported))
        return;
    if (!here)
        source.measured = measured;
    dn_learned_known (&past->learner, &source, type, estimate);
    if (!here)
        step_s = dn_translate_step (step_s.p50, &measured, &wanted);
    if (step_s.p50 <= 0)
        return;
    estimate->step_s = step_s;
    estimate->samples_per_s = (double) past->spec.global_batch / step_s.p50;
}

/* Predict the run; the network of what is described moves to it. -1 with 'err', and
 * nothing is predicted.
 */
static int find_run (struct call *call, struct dn_err *err)
{
    struct dn_described *described = &call->described;
    const struct dn_capture *capture = &described->capture;
    struct known_run *known = &call->known;
    struct past past;

    if (!(capture->step_ms > 0) || capture->steps_measured <= 0)
        return dn_err_set (err, DN_E_RANGE, "no step was measured");
    known->steps = capture->steps_measured;
    known->device = find_device (&call->site->catalogue, capture, err);
    known->subject.spec = described->sidecar.spec;
    known->subject.layers = described->sidecar.layers;
    described->sidecar.layers = (struct dn_layers){.n = 0};
    if (!known->device
        || dn_subject_build (call->site, DN_UNSET, &known->subject, err) < 0
        || find_gpus (call, err) < 0 || predict (known, err) < 0) {
        known->device = NULL;
        return -1;
    }
    make_past (capture, call->cores, known, &past);
    for (int i = 0; i < known->gpus.n; i++) {
        learn (&past, capture, &known->estimates[known->gpus.n], &known->estimates[i]);
        known->runs[i] = dn_site_gpus_run (
            &known->subject, &known->gpus.list[i], &known->estimates[i]);
    }
    return 0;
}

/* Print the table of 'dnnest predict'. Return an enum dn_exit. */
static int print_run (struct known_run *known)
{
    const struct dn_subject *subject = &known->subject;
    int exit_code;

    printf ("\nThe whole run, by %lld steps on %s:\n",
            (long long) known->steps,
            known->device->name);
    if (known->device->generation->host)
        printf ("A CPU was measured; times on GPUs are by the model alone.\n");
    exit_code = dn_show_runs (known->runs, known->gpus.n, &subject->spec);
    dn_show_assumed (&subject->spec, &subject->graph);
    dn_site_gpus_explain (&known->gpus);
    return exit_code;
}

/* Add the members "measured_on", "candidates" and "assumed". */
static void add_run_json (struct json_object *to, const struct known_run *known)
{
    const struct dn_subject *subject = &known->subject;
    struct json_object *candidates;

    dn_json_add_text (to, "measured_on", known->device ? known->device->name : NULL);
    candidates = dn_json_add_array (to, "candidates");
    for (int i = 0; known->device && i < known->gpus.n; i++)
        json_object_array_add (candidates,
                               dn_show_run_json (&known->runs[i], &subject->spec));
    json_object_object_add (
        to,
        "assumed",
        known->device ? dn_show_assumed_json (&subject->spec, &subject->graph) : NULL);
}

static void free_call (struct call *call)
{
    dn_described_free (&call->described);
    dn_subject_free (&call->known.subject);
    free (call->known.estimates);
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("output",
                 "FILE",
                 "write the whole description there",
                 out,
                 .letter = 'o'),
    DN_OPT_INT ("steps",
                "N",
                "of a program: end it after N measured steps (30)",
                steps,
                1,
                100000),
    DN_OPT_INT ("seconds",
                "S",
                "of a program: end it after S seconds (600)",
                seconds,
                1,
                DAY_S),
    DN_OPT_TAKE ("gpu",
                 "NAME",
                 "predict on this GPU type or device; may be repeated",
                 dn_gpus_wanted_take,
                 DN_OPT_AT (wanted)),
    DN_OPT_FLAG ("all", "predict on every device of the catalogue", wanted.all),
    DN_OPT_TEXT ("dir", "DIR", "where jobs describe themselves (ProgressDir)", dir),
    DN_OPT_END,
};

/* --- output ----------------------------------------------------------------------- */

static void print_json (const struct call *call, const char *spec)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    const struct dn_capture *c = &call->described.capture;

    dn_json_add_name (json, "job", call->job);
    dn_json_add_name (json, "spec", spec);
    dn_json_add_name (json, "framework", c->framework);
    dn_json_add_name (json, "version", c->version);
    dn_json_add_name (json, "cuda", c->cuda);
    dn_json_add_name (json, "kernels", c->arch);
    dn_json_add_name (json, "device", c->device);
    dn_json_add_count (json, "gpus_seen", c->gpus_seen);
    dn_json_add_count (json, "gpus_used", c->gpus_used);
    dn_json_add_signed (json, "start_up_s", c->start_up_s);
    dn_json_add_signed (json, "step_ms", c->step_ms);
    dn_json_add_signed (json, "step_p95_ms", c->step_p95_ms);
    dn_json_add_signed (json, "loader_share", c->loader_share);
    add_run_json (json, &call->known);
    dn_json_print (json);
}

/* What was measured, as comments. */
static void print_measured (const struct dn_capture *c)
{
    if (c->time_s <= 0)
        return;
    printf (
        "# %s %s", c->framework[0] ? c->framework : "framework unknown", c->version);
    if (c->device[0] != '\0')
        printf (", on %s", c->device);
    if (c->gpus_seen > 0 && c->gpus_used >= 0)
        printf (", uses %" PRId64 " of %" PRId64 " GPUs", c->gpus_used, c->gpus_seen);
    printf ("\n");
    if (!(c->step_ms > 0))
        return;
    printf ("# a step takes %s ms", dn_show_real (c->step_ms, 1).text);
    if (c->step_p95_ms > 0)
        printf (", 95 %% at most %s", dn_show_real (c->step_p95_ms, 1).text);
    if (c->start_up_s >= 0)
        printf (", the start-up %s s", dn_show_real (c->start_up_s, 0).text);
    if (c->loader_share >= 0)
        printf (", %s %% of the time it waits for data",
                dn_show_real (100 * c->loader_share, 0).text);
    printf ("\n");
}

/* The line to be pasted. A network without a name is described by a file alone. */
static void print_line (const struct call *call, const char *spec)
{
    char absolute[PATH_MAX];

    if (call->described.sidecar.layers.n == 0)
        printf ("#DNNEST %s\n", spec);
    else if (call->out)
        printf ("#SBATCH --dnnest=%s\n", dn_options_absolute (absolute, call->out));
    else
        printf ("# %s\n# the network has no name: -o FILE writes its description\n"
                "#DNNEST auto\n",
                spec);
}

static void print_text (const struct call *call, const char *spec)
{
    if (call->job[0] != '\0')
        printf ("# job %s, %s\n",
                call->job,
                dn_quote (call->name, strlen (call->name)).text);
    print_measured (&call->described.capture);
    print_line (call, spec);
}

static int put (struct call *call, const struct dn_options *given)
{
    const struct dn_described *d = &call->described;
    char spec[DN_METADATA_MAX] = "";
    struct dn_err err = {0};

    if (dn_subject_write (&d->sidecar.spec, spec, sizeof (spec), &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (spec[0] == '\0')
        snprintf (spec, sizeof (spec), "%s", call->recorded);
    if (spec[0] == '\0' && d->sidecar.layers.n == 0 && d->capture.time_s <= 0) {
        if (call->argv)
            dn_complain (
                "%s has described nothing: is it in Python, and does it train?",
                dn_quote (call->argv[0], strlen (call->argv[0])).text);
        else
            dn_complain (
                "job %s has described nothing: did it run with dnnest:auto, in Python?",
                dn_quote (call->shown, strlen (call->shown)).text);
        return DN_EXIT_ABSTAINED;
    }
    if (spec[0] == '\0')
        snprintf (spec, sizeof (spec), "auto");
    if (call->out && dn_sidecar_put (&d->sidecar, call->out, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (!given->json)
        print_text (call, spec);
    /* of a program that describes what it trains, the prediction of its whole run */
    if (call->argv && find_run (call, &err) < 0)
        dn_complain ("the whole run cannot be predicted: %s", err.text);
    if (given->json)
        print_json (call, spec);
    else if (call->known.device)
        return print_run (&call->known);
    return DN_EXIT_DONE;
}

/* --- a job, or the newest of a script --------------------------------------------- */

/* Keep the newest of the jobs with the name that is looked for, if any. */
static int take_job (void *to, const struct dn_accounted *job)
{
    struct call *call = to;
    struct dn_recorded recorded;

    if ((call->job[0] == '\0' && strcmp (job->job.name, call->name) != 0)
        || job->job.submit_s < call->submit_s)
        return 0;
    dn_record_read (job->admin_comment, &recorded, NULL);
    call->submit_s = job->job.submit_s;
    call->owner = job->job.user >= 0 ? (uid_t) job->job.user : geteuid ();
    memcpy (call->recorded, recorded.spec, sizeof (call->recorded));
    snprintf (call->name, sizeof (call->name), "%s", job->job.name);
    snprintf (call->found, sizeof (call->found), "%" PRId64, job->job.raw_id);
    snprintf (call->shown, sizeof (call->shown), "%s", job->job.job);
    return 0;
}

/* What stands in quotes, or before a blank. */
static struct dn_span value_of (struct dn_span text)
{
    const char *ends = " \t";

    if (text.len > 0 && (text.text[0] == '"' || text.text[0] == '\'')) {
        ends = text.text[0] == '"' ? "\"" : "'";
        text = dn_span_after (text, 1);
    }
    return dn_span_cut (&text, ends);
}

/* The value of "#SBATCH --job-name=NAME", "-J NAME"; else the name of the script. */
static void name_of_script (const char *path, struct call *call)
{
    dn_cleanup (dn_free_ptr) char *script = NULL;
    struct dn_span rest;
    struct dn_span line;

    snprintf (call->name, sizeof (call->name), "%s", dn_base_name (path));
    if (dn_read_input (path, &script, NULL) < 0)
        return;
    rest = dn_span_of (script);
    while ((line = dn_span_cut (&rest, "\n")).text) {
        struct dn_span word = dn_span_cut (&line, " \t");

        if (!dn_span_is (word, "#SBATCH"))
            continue;
        line = dn_span_trim (line);
        word = dn_span_cut (&line, " \t=");
        line = dn_span_trim (line);
        if ((dn_span_is (word, "--job-name") || dn_span_is (word, "-J")) && line.text)
            dn_span_copy (
                value_of (line), call->name, sizeof (call->name), "name", NULL);
    }
}

static int find_job (struct call *call, const char *given, struct dn_err *err)
{
    struct dn_sacct which = dn_sacct_mine ();
    bool is_number = strspn (given, "0123456789_+") == strlen (given);

    call->owner = geteuid ();
    if (is_number) {
        which.job = given;
        snprintf (call->job, sizeof (call->job), "%s", given);
        snprintf (call->shown, sizeof (call->shown), "%s", given);
    } else {
        name_of_script (given, call);
    }
    if (dn_sacct_read (&which, take_job, call, err) == 0 && call->found[0] != '\0')
        snprintf (call->job, sizeof (call->job), "%s", call->found);
    else if (!is_number && err->code == DN_E_NONE)
        dn_err_set (err,
                    DN_E_RANGE,
                    "no job with the name %s in the last 30 days",
                    dn_quote (call->name, strlen (call->name)).text);
    return call->job[0] != '\0' ? 0 : -1;
}

static int take_captured (void *to, const struct dn_finished *job)
{
    struct call *call = to;

    if (job->captured[0] != '\0') {
        dn_described_free (&call->described);
        dn_described_take (
            dn_span_of (job->captured), "captured", &call->described, NULL);
        call->described.capture.step_ms = job->step_ms;
        call->described.capture.step_p95_ms = job->step_p95_ms;
        call->described.capture.start_up_s = job->start_up_s;
    }
    return 0;
}

/* What dnnestd has kept of a job whose file is gone, for those who may read its store.
 */
static bool find_captured (struct call *call)
{
    dn_cleanup (dn_store_cleanup) struct dn_store *store = NULL;
    struct dn_store_filter filter = dn_store_all ();
    char usual[PATH_MAX];
    const char *path = dn_site_store_path (call->site, NULL, usual);

    filter.job = call->shown;
    store = dn_site_store_open (&path, NULL, NULL);
    return store && dn_store_read (store, &filter, take_captured, call, NULL) == 0
           && call->described.capture.time_s > 0;
}

static int describe_job (struct call *call, const char *given)
{
    struct dn_err err = {0};

    if (find_job (call, given, &err) < 0)
        return dn_fail (err.code == DN_E_RANGE ? DN_EXIT_ABSTAINED : DN_EXIT_DATA,
                        &err);
    if (call->dir
        && dn_described_read (call->dir, call->job, call->owner, &call->described, &err)
               == 0
        && call->described.capture.time_s > 0)
        return DN_EXIT_DONE;
    if (find_captured (call) || call->recorded[0] != '\0')
        return DN_EXIT_DONE;
    if (err.code == DN_E_NONE)
        return DN_EXIT_DONE; /* put () says it */
    return dn_fail (DN_EXIT_ABSTAINED, &err);
}

/* --- a program -------------------------------------------------------------------- */

/* The exit code of a program that failed by itself. */
static int exit_of (const struct dn_program_run *run)
{
    if (run->end != DN_PROGRAM_ENDED)
        return DN_EXIT_DONE;
    return WIFSIGNALED (run->status) ? 128 + WTERMSIG (run->status)
                                     : WEXITSTATUS (run->status);
}

static int run_program (struct call *call,
                        const char *hook_dir,
                        const struct dn_described_place *place,
                        struct dn_program_run *run,
                        struct dn_err *err)
{
    const struct dn_program_task task = {.argv = call->argv,
                                         .hook_dir = hook_dir,
                                         .steps = call->steps,
                                         .seconds = (double) call->seconds,
                                         .grace_s = GRACE_S,
                                         .place = place};

    if (dn_run_program (&task, run, err) < 0)
        return dn_fail (run->unable ? DN_EXIT_USAGE : DN_EXIT_BUG, err);
    if (run->n_left > 0)
        dn_complain ("warning: %d processes of the program did not end", run->n_left);
    call->cores = run->cpu_s / fmax (run->wall_s, 0.1);
    return exit_of (run);
}

/* What is given holds; it may state the amount of work in another way. */
static int add_given (const struct call *call, struct dn_spec *spec, struct dn_err *err)
{
    const struct dn_spec empty = dn_spec_empty ();
    struct dn_spec given = empty;

    if (!call->given)
        return 0;
    if (dn_spec_read (dn_span_of (call->given), &given, err) < 0)
        return -1;
    if (dn_learned_counted (&given)) {
        spec->steps = empty.steps;
        spec->epochs = empty.epochs;
        spec->tokens = empty.tokens;
    }
    return dn_spec_read (dn_span_of (call->given), spec, err);
}

/* Check before it runs what is needed after. Return an enum dn_exit. */
static int check_call (const struct call *call)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_err err = {0};

    for (int i = 0; i < call->wanted.n_names; i++)
        if (!dn_subject_device (call->site, call->wanted.names[i], &err))
            return dn_fail (DN_EXIT_USAGE, &err);
    return add_given (call, &spec, &err) < 0 ? dn_fail (DN_EXIT_USAGE, &err)
                                             : DN_EXIT_DONE;
}

static int describe_program (struct call *call)
{
    dn_cleanup (dn_described_remove) struct dn_described_place place = {.dir = ""};
    const char *python_dir = dn_site_python_dir (call->site);
    char hook_dir[PATH_MAX];
    struct dn_program_run run;
    struct dn_err err = {0};
    int rc = check_call (call);

    if (rc != DN_EXIT_DONE)
        return rc;
    snprintf (hook_dir,
              sizeof (hook_dir),
              "%s" DN_HOOK_FOLDER,
              python_dir ? python_dir : DNNEST_PYTHON_DIR);
    if (dn_described_make (&place, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    dn_interrupt_hold ();
    rc = run_program (call, hook_dir, &place, &run, &err);
    if (rc != DN_EXIT_DONE || dn_interrupted ())
        dn_described_remove (&place);
    dn_interrupt_release (); /* ends this process if a signal came */
    if (rc != DN_EXIT_DONE)
        return rc;
    return dn_described_read (place.dir, place.job, geteuid (), &call->described, &err)
                       < 0
                   || add_given (call, &call->described.sidecar.spec, &err) < 0
               ? dn_fail (DN_EXIT_ABSTAINED, &err)
               : DN_EXIT_DONE;
}

/* --- the command ------------------------------------------------------------------ */

/* Refuse what is for a program alone, and a program that is none. */
static int check_options (struct dn_options *given, const struct call *call)
{
    if (!call->argv && (call->wanted.all || call->wanted.n_names > 0))
        return dn_options_misuse (given, "--gpu and --all need -- COMMAND");
    if (call->argv && !call->argv[0])
        return dn_options_misuse (given, "COMMAND is missing, expected -- COMMAND");
    if (!call->argv && given->args[0][0] == '\0')
        return dn_options_misuse (given, "'' is neither a job nor a script");
    return DN_EXIT_DONE;
}

/* The words after "--" are the command of the program. */
static void cut (struct dn_options *given, struct call *call)
{
    for (int i = 1; i < given->argc; i++)
        if (strcmp (given->argv[i], "--") == 0) {
            call->argv = given->argv + i + 1;
            given->argc = i;
        }
}

static int run (struct dn_options *given)
{
    dn_cleanup (free_call) struct call call = {.steps = 30, .seconds = 600};
    int rc;

    dn_described_free (&call.described); /* nothing is known */
    cut (given, &call);
    if (!dn_options_all (given, &call, call.argv ? 0 : 1, 1))
        return given->exit_code;
    rc = check_options (given, &call);
    if (rc != DN_EXIT_DONE)
        return rc;
    if (!dn_options_site (given, NULL))
        return given->exit_code;
    call.site = given->site;
    if (!call.dir && given->site->progress_dir[0] != '\0')
        call.dir = given->site->progress_dir;
    call.given = call.argv && given->n_args > 0 ? given->args[0] : NULL;
    rc = call.argv ? describe_program (&call) : describe_job (&call, given->args[0]);
    return rc == DN_EXIT_DONE ? put (&call, given) : rc;
}

const struct dn_command dn_cmd_describe = {
    .name = "describe",
    .summary = "Print the description of a job or program, and predict a program",
    .arguments = "JOBID|SCRIPT|[SPEC] -- COMMAND [ARGUMENT]...",
    .options = options,
    .run = run,
};
