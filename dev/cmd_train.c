/* cmd_train.c - makes a model bundle from measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json_read.h"
#include "common.h"
#include "directory.h"
#include "host/load.h"
#include "host/people.h"
#include "learn/run_spec.h"
#include "learn/site_fit.h"
#include "output/grid.h"
#include "output/json.h"
#include "learn/train.h"
#include "output/progress.h"
#include "output/show.h"
#include "read_runs.h"
#include "site.h"

#define FILES_MAX 64

/* The options of a call. */
struct call {
    struct dn_training training;
    struct dn_training_file files[FILES_MAX];
    struct dn_digester sha256; /* of the file that is read */
    struct dn_directory out;
    const char *site_tables[FILES_MAX]; /* none: train a bundle */
    int n_site_tables;
    const char *base;
    const char *families_file; /* NULL: every source and every model is alone */
    struct dn_families families;
    int64_t seed;
    int64_t folds;
    int64_t max_rows;
    const char *rollback; /* the place to roll back */
    bool features;
    /* of a site's own runs */
    struct dn_site *site; /* borrowed; its bundle is the base */
    struct dn_site_fit *fit;
    struct dn_reading reading;
    int64_t n_rows;
    int64_t n_skipped;
};

static void free_call (struct call *call)
{
    dn_training_free (&call->training);
    dn_site_fit_free (call->fit);
}

static int take_out (struct dn_options *given, void *to)
{
    const char *dir = given->argument ? given->argument : DNNEST_MODEL_DIR;

    *(struct dn_directory *) to =
        (struct dn_directory){dir, strcmp (given->row->name, "install") == 0};
    return DN_EXIT_DONE;
}

static int take_site (struct dn_options *given, void *to)
{
    struct call *call = to;

    if (call->n_site_tables == FILES_MAX)
        return dn_options_misuse (given, "--site: more than %d", FILES_MAX);
    call->site_tables[call->n_site_tables++] = given->argument;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TAKE ("out",
                 "DIR",
                 "write the bundle there, replacing an existing one",
                 take_out,
                 DN_OPT_AT (out, .letter = 'o')),
    DN_OPT_TAKE ("install",
                 "[=DIR]",
                 "write it for slurmctld, and keep the previous one",
                 take_out,
                 DN_OPT_AT (out)),
    DN_OPT_TEXT ("rollback",
                 "[=DIR]",
                 "exchange the installed bundle and the previous one",
                 rollback,
                 .usual = DNNEST_MODEL_DIR),
    DN_OPT_OLD ("name", "NAME", "every bundle has the name default"),
    DN_OPT_INT ("seed", "N", "seed of the random numbers (1)", seed, 0, INT32_MAX),
    DN_OPT_INT ("folds",
                "N",
                "leave values out in at most N groups (12)",
                folds,
                2,
                4096),
    DN_OPT_INT ("max-rows",
                "N",
                "train on a sample of N rows (100000)",
                max_rows,
                20,
                10000000),
    DN_OPT_REAL ("margin",
                 "F",
                 "widen the bounds: factor on their logarithm (1)",
                 training.margin,
                 0.5,
                 10),
    DN_OPT_FLAG ("bounds-only",
                 "learn bounds only: times are those of the white box",
                 training.bounds_only),
    DN_OPT_TEXT ("families",
                 "FILE",
                 "which sources and which models are alike (CSV)",
                 families_file),
    DN_OPT_FLAG ("features", "print the features that the trees use", features),
    DN_OPT_TAKE ("site",
                 "FILE",
                 "fit a bundle to the site's runs; may be repeated",
                 take_site),
    DN_OPT_TEXT ("base", "DIR", "the bundle that --site starts from", base),
    DN_OPT_END,
};

static int print_features (void)
{
    for (int i = 0; i < DN_N_FEATURES; i++) {
        const struct dn_feature_key *key = &dn_feature_keys ()[i];

        printf ("%-20s %-22s %s\n", key->name, key->unit, key->meaning);
    }
    return DN_EXIT_DONE;
}

static int roll_back (const char *place)
{
    struct dn_err err = {0};

    if (dn_directory_rollback (place, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    printf ("%s: the previous bundle is installed again\n", place);
    return DN_EXIT_DONE;
}

/* Refuse options that exclude each other. Return an enum dn_exit. */
static int check_options (struct dn_options *given, const struct call *call)
{
    static const char *const training_only[] = {
        "seed", "folds", "max-rows", "margin", "bounds-only", "families"};

    if (!call->out.path)
        return dn_options_misuse (given, "--out=DIR or --install is missing");
    if (call->base && call->n_site_tables == 0)
        return dn_options_misuse (given, "--base needs --site");
    for (size_t i = 0; i < DN_N_ELEMENTS (training_only); i++)
        if (call->n_site_tables > 0 && dn_options_has (given, training_only[i]))
            return dn_options_misuse (
                given, "--%s cannot be combined with --site", training_only[i]);
    return DN_EXIT_DONE;
}

static int take_options (struct dn_options *given, struct call *call)
{
    struct dn_training *training = &call->training;
    bool site;

    if (dn_options_take (given, call) != DN_OPTION_END)
        return -1;
    if (call->features || call->rollback) {
        given->exit_code =
            call->features ? print_features () : roll_back (call->rollback);
        return -1;
    }
    site = call->n_site_tables > 0;
    if (!dn_options_count (given, site ? 0 : 1, site ? 0 : FILES_MAX))
        return -1;
    training->seed = training->runs.state = (uint64_t) call->seed;
    training->max_folds = (int) call->folds;
    training->runs.max = (int) call->max_rows;
    return check_options (given, call) == DN_EXIT_DONE ? 0 : -1;
}

/* --- reading --------------------------------------------------------------------- */

static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;

    return dn_runs_add (&call->training.runs, row, err);
}

static void take_piece (struct dn_span piece, void *context)
{
    struct call *call = context;

    dn_digest_add (&call->sha256, piece);
}

static int read_file (const char *path,
                      struct dn_training_file *file,
                      struct call *call,
                      struct dn_err *err)
{
    struct dn_reading reading = {.row = take_row,
                                 .piece = take_piece,
                                 .context = call,
                                 .unit = "rows",
                                 .n = &call->training.runs.n_rows};
    int64_t before = call->training.runs.n_rows;

    call->sha256 = dn_digest_begin ();
    if (dn_read_runs (path, &reading, err) < 0)
        return -1;
    file->digest = dn_digest_end (&call->sha256);
    file->name = strcmp (path, "-") == 0 ? "stdin" : dn_base_name (path);
    file->rows = call->training.runs.n_rows - before;
    return 0;
}

static int read_families (struct call *call, struct dn_err *err)
{
    struct dn_reading reading = {.row = dn_families_add, .context = &call->families};

    if (!call->families_file)
        return 0;
    call->training.runs.families = &call->families;
    return dn_read_runs (call->families_file, &reading, err);
}

static int read_files (const struct dn_options *given,
                       struct call *call,
                       struct dn_err *err)
{
    if (read_families (call, err) < 0)
        return -1;
    for (int i = 0; i < given->n_args; i++)
        if (read_file (given->args[i], &call->files[i], call, err) < 0)
            return -1;
    call->training.files = call->files;
    call->training.n_files = given->n_args;
    return 0;
}

/* --- training and showing -------------------------------------------------------- */

static void show_progress (void *context, int n, double share)
{
    dn_progress_show (context, n, share);
}

static int train (struct call *call, struct dn_err *err)
{
    dn_cleanup (dn_progress_end) struct dn_progress progress =
        dn_progress_begin ("folds");

    call->training.progress = show_progress;
    call->training.context = &progress;
    return dn_training_run (&call->training, err);
}

static int write_bundle (const struct call *call, struct dn_err *err)
{
    const struct dn_output files[] = {
        {DN_TRAIN_POINTS_FILE, dn_flat_file_span (&call->training.points)},
        {DN_BUNDLE_MANIFEST, dn_span_of (call->training.manifest)},
        {DN_TRAIN_STEP_FILE, dn_flat_file_span (&call->training.step)},
    };
    int n = (int) DN_N_ELEMENTS (files) - (call->training.bounds_only ? 1 : 0);

    return dn_directory_write (&call->out, files, n, err);
}

static void print_table (const struct call *call)
{
    const struct dn_runs *runs = &call->training.runs;

    printf ("%lld rows, %d used: %d models, %d sources, %d GPUs\n\n",
            (long long) runs->n_rows,
            runs->n,
            runs->labels[DN_LABEL_MODEL].n,
            runs->labels[DN_LABEL_SOURCE].n,
            runs->labels[DN_LABEL_GPU].n);
    printf ("                     white box, %%          learned, %%     95 %% bound\n"
            "left out    rows  mean  med.  model   mean  med.  model   below  wide\n");
    for (int s = 0; s < DN_N_SCHEMES; s++) {
        const struct dn_judgement *j = &call->training.judgements[s];

        if (j->n == 0)
            continue;
        printf ("%-8s %7d %5.1f %5.1f  %5.1f  %5.1f %5.1f  %5.1f  %5.1f%% %5.2f\n",
                dn_names_get (&dn_scheme_names, s),
                j->n,
                100 * j->white_box.mean,
                100 * j->white_box.median,
                100 * j->white_box.per_model,
                100 * j->learned.mean,
                100 * j->learned.median,
                100 * j->learned.per_model,
                100 * j->coverage[DN_JUDGED_P95],
                j->tightness[DN_JUDGED_P95]);
    }
    printf (
        "\nMean and median of |predicted / measured - 1| over rows; model: mean over "
        "models of\nthe model's median. Written to %s\n",
        call->out.path);
}

/* Print the members of the manifest that describe the training. */
static int print_json (const struct call *call)
{
    dn_cleanup (dn_json_free) struct json_object *manifest =
        json_tokener_parse (call->training.manifest);
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    static const char *const kept[] = {"name", "data", "training", "metrics", "files"};

    if (!manifest)
        return DN_EXIT_BUG;
    for (size_t i = 0; i < DN_N_ELEMENTS (kept); i++)
        json_object_object_add (
            json,
            kept[i],
            json_object_get (json_object_object_get (manifest, kept[i])));
    dn_json_print (json);
    return DN_EXIT_DONE;
}

/* --- a site's own runs ------------------------------------------------------------ */

/* The result is the base bundle with a new site.json. The base's residuals are applied
 * to the runs before the fit; the base's own site.json is not.
 */

/* Reasons that are printed; the others are counted. */
#define REASONS_MAX 10

#define TUNING "site.json"

static void free_tuning (struct dn_tuning **tuning)
{
    dn_tuning_free (*tuning);
}

/* Set the corrections of the base's residuals to the white box with its default
 * constants. On failure the run's graph is freed.
 */
static int set_residuals (const struct call *call,
                          struct dn_site_run *run,
                          struct dn_err *err)
{
    const struct dn_predictor predictor = {.constants = &dn_constants_default,
                                           .bundle = call->site->bundle};
    const struct dn_case c = {.constants = predictor.constants,
                              .spec = &run->spec,
                              .graph = &run->graph,
                              .device = run->device,
                              .cpus_per_gpu = run->cpus_per_gpu};
    struct dn_estimate white;
    struct dn_estimate corrected;

    dn_whitebox (&c, &white);
    if (dn_predict (&predictor, &c, &run->device, 1, &corrected, err) < 0) {
        dn_graph_free (&run->graph);
        return -1;
    }
    run->step_residual = log (corrected.step_s.p50 / white.step_s.p50);
    run->memory_residual = log (corrected.gpu_mem.p50 / white.gpu_mem.p50);
    run->power_residual = log (corrected.power_w / white.power_w);
    return 0;
}

static int check_run (const struct dn_run_case *found, struct dn_err *err)
{
    const struct dn_run *run = &found->run;

    if (found->device->generation->host)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpu: %s is a CPU, whose runs do not apply to GPUs",
                           found->device->name);
    if (isnan (run->step_ms) && isnan (run->peak_mem_gb) && isnan (run->power_w))
        return dn_err_set (
            err, DN_E_RANGE, "nothing was measured: no step_ms, peak_mem_gb, power_w");
    return 0;
}

/* Read one run, whose graph the caller frees. -1 with the reason why it is of no use.
 */
static int read_run (const struct dn_row *row,
                     const struct dn_site *site,
                     struct dn_site_run *run,
                     struct dn_err *err)
{
    const struct dn_run_tables tables = {
        &site->catalogue, &site->datasets, &site->networks};
    struct dn_run_case found = {.device = NULL};

    if (dn_run_case_read (row, DN_RUN_JUDGE, &tables, &found, err) < 0
        || check_run (&found, err) < 0) {
        dn_run_case_free (&found);
        return -1;
    }
    *run =
        (struct dn_site_run){.user = dn_run_user (found.run.user, &dn_people_of_system),
                             .spec = found.spec,
                             .graph = found.graph,
                             .device = found.device,
                             .cpus_per_gpu = dn_run_known (found.run.cores_per_gpu),
                             .step_s = dn_run_known (found.run.step_ms) * 1e-3,
                             .gpu_mem = dn_run_known (found.run.peak_mem_gb) * DN_GIB,
                             .memory_count = dn_run_memory_count (&found.run),
                             .power_w = dn_run_known (found.run.power_w)};
    return 0;
}

static int take_site_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct call *call = context;
    struct dn_site_run run;
    struct dn_err why = {0};

    if (dn_run_check (row, err) < 0)
        return -1;
    call->n_rows++;
    if (read_run (row, call->site, &run, &why) == 0
        && set_residuals (call, &run, &why) == 0) {
        if (call->reading.user)
            run.user = dn_run_user (call->reading.user, NULL);
        return dn_site_fit_add (call->fit, &run, err);
    }
    if (why.code == DN_E_NOMEM)
        return dn_err_set (err, DN_E_NOMEM, "%s", why.text);
    if (call->n_skipped++ < REASONS_MAX)
        dn_complain ("line %lld is left out: %s", (long long) row->line, why.text);
    return 0;
}

static int read_tables (struct call *call, struct dn_err *err)
{
    int rc = 0;

    call->reading = (struct dn_reading){
        .row = take_site_row, .context = call, .unit = "rows", .n = &call->n_rows};
    for (int i = 0; i < call->n_site_tables && rc == 0; i++)
        rc = dn_read_runs (call->site_tables[i], &call->reading, err);
    if (call->n_skipped > REASONS_MAX)
        dn_complain ("%lld more rows are left out",
                     (long long) (call->n_skipped - REASONS_MAX));
    if (rc == 0 && call->n_skipped == call->n_rows)
        return dn_err_set (
            err, DN_E_RANGE, "%s: no row is a usable run", call->site_tables[0]);
    return rc;
}

/* --- the bundle ------------------------------------------------------------------ */

/* Names may contain '/', and the reader refuses keys with escapes. */
#define PLAIN (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
#define PRETTY                                                                         \
    (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

/* The base's files with site.json in its place, and the manifest at the end. */
struct made {
    struct dn_output outputs[DN_BUNDLE_FILES_MAX + 2];
    char *texts[DN_BUNDLE_FILES_MAX + 2]; /* owned */
    int n;
};

static void free_made (struct made *made)
{
    for (int i = 0; i < made->n; i++)
        free (made->texts[i]);
}

/* Owns 'text' from now on. */
static void add_output (struct made *made, const char *name, char *text, size_t len)
{
    made->outputs[made->n] = (struct dn_output){name, {text, len}};
    made->texts[made->n++] = text;
}

static int add_document (struct made *made,
                         const char *name,
                         struct json_object *document,
                         int flags,
                         struct dn_err *err)
{
    const char *written = json_object_to_json_string_ext (document, flags);
    char *text = NULL;
    int len = written ? asprintf (&text, "%s\n", written) : -1;

    if (len < 0)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    add_output (made, name, text, (size_t) len);
    return 0;
}

static int copy_files (const struct dn_site *site,
                       struct made *made,
                       struct dn_err *err)
{
    for (int i = 0; i < site->bundle->n_files; i++) {
        const char *name = site->bundle->files[i].name;
        char *text;
        size_t len;

        if (strcmp (name, TUNING) == 0)
            continue;
        if (dn_load_member (site->bundle_dir, name, &text, &len, err) < 0)
            return -1;
        add_output (made, name, text, len);
    }
    return 0;
}

/* The base's manifest with an entry for site.json. */
static int add_manifest (const struct dn_site *site,
                         struct made *made,
                         struct dn_err *err)
{
    struct dn_span tuning = made->outputs[made->n - 1].text;
    dn_cleanup (dn_free_ptr) char *text = NULL;
    dn_cleanup (dn_json_free) struct json_object *manifest = NULL;
    struct json_object *entry;
    struct json_object *files;
    size_t len;

    if (dn_load_member (site->bundle_dir, DN_BUNDLE_MANIFEST, &text, &len, err) < 0)
        return -1;
    manifest = dn_json_read_by ((struct dn_span){text, len},
                                DN_BUNDLE_DEPTH_MAX,
                                DN_MANIFEST_VALUES_MAX,
                                NULL,
                                err);
    files = manifest ? dn_json_need_object (manifest, "files", err) : NULL;
    if (!files)
        return dn_err_wrap (err, "%s/%s", site->bundle_dir, DN_BUNDLE_MANIFEST);
    entry = json_object_new_object ();
    json_object_object_add (
        entry, "bytes", json_object_new_int64 ((int64_t) tuning.len));
    json_object_object_add (
        entry, "sha256", json_object_new_string (dn_digest_of (tuning).hex));
    json_object_object_del (files, TUNING);
    json_object_object_add (files, TUNING, entry);
    return add_document (made, DN_BUNDLE_MANIFEST, manifest, PLAIN, err);
}

/* Read the new bundle as the plugin will, before it is written, because the base may
 * have changed meanwhile.
 */
static int check_made (const struct made *made, struct dn_err *err)
{
    struct dn_bundle *bundle = dn_bundle_open (made->outputs[made->n - 1].text, err);
    int rc = bundle ? 0 : -1;

    for (int i = 0; i < made->n - 1 && rc == 0; i++)
        rc = dn_bundle_add (bundle, made->outputs[i].name, made->outputs[i].text, err);
    if (rc == 0)
        rc = dn_bundle_close (bundle, err);
    dn_bundle_free (bundle);
    return rc;
}

static int write_tuned (const struct call *call,
                        struct json_object *tuning,
                        struct dn_err *err)
{
    dn_cleanup (free_made) struct made made = {.n = 0};

    if (copy_files (call->site, &made, err) < 0
        || add_document (&made, TUNING, tuning, PRETTY, err) < 0
        || add_manifest (call->site, &made, err) < 0 || check_made (&made, err) < 0)
        return -1;
    return dn_directory_write (&call->out, made.outputs, made.n, err);
}

/* --- showing --------------------------------------------------------------------- */

static void add_devices (struct dn_grid *grid, const struct dn_scales *devices)
{
    for (int i = 0; i < devices->n_rows; i++) {
        const struct dn_scale *scale = &devices->rows[i];

        dn_grid_add (grid, "device %s", scale->name);
        dn_grid_add (grid, "%.3f", scale->scale);
        dn_grid_add (grid, "1");
        dn_grid_add (grid, "%.0f %%", 100 * scale->sigma);
        dn_grid_add (grid, "%lld", (long long) scale->runs);
    }
}

/* Are these runs of one user and application? */
static bool same_group (const struct dn_past *a, const struct dn_past *b)
{
    return a->user == b->user
           && strcmp (a->trace.application, b->trace.application) == 0;
}

/* The mean factor of a user's runs of an application, and how far they are from it. */
static void add_applications (struct dn_grid *grid, const struct dn_history *history)
{
    int end;

    for (int first = 0; first < history->n; first = end) {
        const struct dn_past *run = &history->runs[first];
        double sum = 0;
        double squares = 0;
        double mean;

        for (end = first; end < history->n && same_group (run, &history->runs[end]);
             end++) {
            sum += history->runs[end].error;
            squares += history->runs[end].error * history->runs[end].error;
        }
        mean = sum / (end - first);
        if (run->user >= 0)
            dn_grid_add (grid,
                         "application %s of user %lld",
                         run->trace.application,
                         (long long) run->user);
        else
            dn_grid_add (grid, "application %s", run->trace.application);
        dn_grid_add (grid, "%.3f", exp (mean));
        dn_grid_add (grid, "1");
        dn_grid_add (grid,
                     "%.0f %%",
                     100 * sqrt (fmax (squares / (end - first) - mean * mean, 0)));
        dn_grid_add (grid, "%d", end - first);
    }
}

/* The spread of a run, 'own' being that of its application. */
static double spread_left (const struct dn_history *history, double own)
{
    double shared = own > 0 ? history->shared : 0;
    double noise = history->likeness.noise;

    return history->level * sqrt (own * own + shared * shared + noise * noise);
}

static int print_tuning (const struct dn_tuning *tuning)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("LEARNED|VALUE>|SHIPPED>|SURE TO>|RUNS>");
    int exit_code;

    for (int i = 0; i < DN_CONSTANT_FIELDS; i++) {
        if (!tuning->tuned[i].set)
            continue;
        dn_grid_add (&grid, "%s", dn_constant_fields[i].name);
        dn_grid_add (&grid, "%.4g", dn_constant_get (&tuning->constants, i));
        dn_grid_add (&grid, "%.4g", tuning->tuned[i].shipped);
        dn_grid_add (&grid, "%.0f %%", 100 * tuning->tuned[i].sigma);
        dn_grid_add (&grid, "-");
    }
    add_devices (&grid, &tuning->devices);
    if (tuning->history)
        add_applications (&grid, tuning->history);
    exit_code = dn_grid_print (&grid);
    if (tuning->history)
        printf (
            "\nRemaining spread: %.0f %% where a run of the application is like this "
            "one, %.0f %% where none is\n",
            100 * spread_left (tuning->history, 0),
            100 * spread_left (tuning->history, tuning->history->likeness.spread));
    return exit_code;
}

static void print_site_json (const struct call *call, struct json_object *tuning)
{
    dn_cleanup (dn_json_free) struct json_object *document = json_object_new_object ();

    dn_json_add_text (document, "bundle", call->out.path);
    dn_json_add_count (document, "rows", call->n_rows);
    dn_json_add_count (document, "used", call->n_rows - call->n_skipped);
    json_object_object_add (document, "site", json_object_get (tuning));
    dn_json_print (document);
}

static int solve_site (struct call *call, struct dn_tuning **tuning, struct dn_err *err)
{
    call->fit = dn_site_fit_new ();
    if (!call->fit)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (read_tables (call, err) < 0)
        return -1;
    *tuning = dn_site_fit_solve (call->fit, err);
    return *tuning ? 0 : -1;
}

/* Read the runs, fit them, write the bundle and print a summary. It starts from the
 * bundle that is configured or named, whose tuning is removed. Return an enum dn_exit;
 * errors are printed.
 */
static int train_site (struct call *call, bool json)
{
    dn_cleanup (free_tuning) struct dn_tuning *tuning = NULL;
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    struct dn_bundle *base = call->site->bundle;
    struct dn_err err = {0};

    if (!base) {
        dn_err_set (
            &err, DN_E_RANGE, "--site: no bundle to start from, expected --base");
        return dn_fail (DN_EXIT_DATA, &err);
    }
    dn_tuning_free (base->tuning);
    base->tuning = NULL;
    if (dn_directory_check (&call->out, &err) < 0
        || solve_site (call, &tuning, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    document = dn_tuning_write (tuning);
    if (!document || write_tuned (call, document, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (!json)
        return print_tuning (tuning);
    print_site_json (call, document);
    return DN_EXIT_DONE;
}

static int run (struct dn_options *given)
{
    struct dn_err err = {0};
    dn_cleanup (free_call) struct call call = {.training =
                                                   dn_training_start (DN_RUNS_MAX, 1),
                                               .seed = 1,
                                               .folds = 12,
                                               .max_rows = DN_RUNS_MAX};

    if (take_options (given, &call) < 0)
        return given->exit_code;
    if (call.base)
        dn_options_model (given, call.base);
    if (call.n_site_tables == 0)
        given->paths.model = DN_SITE_NONE;
    if (!dn_options_site (given, NULL))
        return given->exit_code;
    call.site = given->site;
    if (call.n_site_tables > 0)
        return train_site (&call, given->json);
    call.training.runs.tables = (struct dn_run_tables){
        &given->site->catalogue, &given->site->datasets, &given->site->networks};
    if (dn_directory_check (&call.out, &err) < 0 || read_files (given, &call, &err) < 0
        || train (&call, &err) < 0 || write_bundle (&call, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (given->json)
        return print_json (&call);
    print_table (&call);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_train = {
    .name = "train",
    .summary = "Make a model bundle from measured runs",
    .arguments = "--out DIR|--install FILE... | --out DIR|--install --site FILE...",
    .options = options,
    .run = run,
};
