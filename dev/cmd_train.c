/* cmd_train.c - makes a model bundle from measured runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <string.h>

#include "directory.h"
#include "output/json.h"
#include "learn/train.h"
#include "output/progress.h"
#include "read_runs.h"
#include "site_train.h"

#define FILES_MAX 64

/* The options of a call. */
struct call {
    struct dn_training training;
    struct dn_training_file files[FILES_MAX];
    struct dn_progress progress;
    struct dn_digester sha256; /* of the file that is read */
    const struct dn_site *site;
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
};

static void free_call (struct call *call)
{
    dn_training_free (&call->training);
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

    dn_progress_show (&call->progress, call->training.runs.n_rows, -1);
    return dn_runs_add (&call->training.runs,
                        row,
                        &call->site->catalogue,
                        &call->site->datasets,
                        &call->site->networks,
                        err);
}

static void take_piece (struct dn_span piece, double share, void *context)
{
    struct call *call = context;

    (void) share;
    dn_digest_add (&call->sha256, piece);
}

static int read_file (const char *path,
                      struct dn_training_file *file,
                      struct call *call,
                      struct dn_err *err)
{
    struct dn_reading reading = {.row = take_row, .piece = take_piece, .context = call};
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
    call->progress = dn_progress_begin ("rows");
    for (int i = 0; i < given->n_args; i++)
        if (read_file (given->args[i], &call->files[i], call, err) < 0) {
            dn_progress_end (&call->progress);
            return -1;
        }
    dn_progress_end (&call->progress);
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
    int rc;

    call->progress = dn_progress_begin ("folds");
    call->training.progress = show_progress;
    call->training.context = &call->progress;
    rc = dn_training_run (&call->training, err);
    dn_progress_end (&call->progress);
    return rc;
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

/* Fit a site's runs around the bundle that is configured or named. */
static int fit_site (struct dn_options *given, const struct call *call)
{
    const struct dn_site_train fit = {.tables = call->site_tables,
                                      .n_tables = call->n_site_tables,
                                      .out = call->out,
                                      .json = given->json};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;

    if (call->base)
        dn_options_model (given, call->base);
    site = dn_options_site (given, NULL);
    return site ? dn_site_train (site, &fit) : given->exit_code;
}

static int run (struct dn_options *given)
{
    struct dn_err err = {0};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (free_call) struct call call = {.training =
                                                   dn_training_start (DN_RUNS_MAX, 1),
                                               .seed = 1,
                                               .folds = 12,
                                               .max_rows = DN_RUNS_MAX};

    if (take_options (given, &call) < 0)
        return given->exit_code;
    if (call.n_site_tables > 0)
        return fit_site (given, &call);
    given->paths.model = DN_SITE_NONE;
    site = dn_options_site (given, NULL);
    if (!site)
        return given->exit_code;
    call.site = site;
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
