/* cmd_check.c - validate metadata before it is submitted
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process/sbatch.h"
#include "request/script.h"
#include "output/show.h"
#include "subject.h"
#include "what_if.h"
#include "output/rows.h"

struct call {
    bool keys;
};

static const struct dn_option options[] = {
    DN_OPT_FLAG ("keys", "list the metadata keys instead", keys),
    DN_OPT_END,
};

static const char *const type_text[] = {
    [DN_KEY_INT] = "int",
    [DN_KEY_REAL] = "real",
    [DN_KEY_ENUM] = "enum",
    [DN_KEY_NAME] = "name",
    [DN_KEY_IMAGE] = "image",
    [DN_KEY_TIME] = "time",
};
static const struct dn_names type_names = DN_NAMES (type_text, DN_N_KEY_TYPES);

static bool has_range (const struct dn_key *key)
{
    return key->type != DN_KEY_ENUM && key->type != DN_KEY_NAME;
}

/* The valid values: "1..4096", "fp32 tf32 ...". */
static void write_range (const struct dn_key *key, struct dn_buf *buf)
{
    if (has_range (key))
        dn_show_bounds (buf, key->min, key->max, key->type == DN_KEY_TIME);
    else if (key->type == DN_KEY_NAME)
        dn_buf_add (buf, "letters, digits, _ . - + and one /");
    if (dn_key_takes_words (key))
        dn_buf_add (buf, ", or names");
    dn_show_names (buf, &key->names, " ");
}

static void add_key (struct json_object *array, const struct dn_key *key)
{
    struct json_object *row = dn_json_append_object (array);
    struct json_object *values = NULL;
    char range[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (range, sizeof (range));

    dn_json_add_text (row, "key", key->name);
    dn_json_add_text (row, "group", key->group);
    dn_json_add_text (row, "type", dn_names_get (&type_names, (int) key->type));
    dn_json_add_real (row, "min", has_range (key) ? key->min : -1);
    dn_json_add_real (row, "max", has_range (key) ? key->max : -1);
    write_range (key, &buf);
    dn_json_add_text (row, "range", range);
    if (key->type == DN_KEY_ENUM)
        values = dn_json_add_array (row, "values");
    for (int i = 1; i < key->names.n_names; i++)
        json_object_array_add (values, dn_json_text (key->names.names[i]));
    dn_json_add_text (row, "help", key->help);
}

static int print_keys (bool as_json)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    struct json_object *array = dn_json_add_array (json, "keys");
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++)
        add_key (array, &keys[i]);
    if (!as_json)
        return dn_rows_print (json_object_get (array),
                              "GROUP=group|KEY=key|TYPE=type|MEANING=help|RANGE=range",
                              NULL);
    dn_json_print (json);
    return DN_EXIT_DONE;
}

/* The metadata as given, before values are derived. */
struct finding {
    const struct dn_site *site;
    int64_t n_gpus; /* that a script requests; DN_UNSET: unknown */
    enum dn_metadata metadata;
    struct dn_spec given;
    struct dn_subject subject;
    bool by_history;             /* there is no network */
    char ignored[DN_REASON_MAX]; /* why a text like metadata is not read; "" */
};

/* Is it metadata, the name of a file of a network, the name of a network, or near one,
 * as "gtp2"? A script's path with a '=' must begin with '/' or '.', and a missing
 * script is no network.
 */
static bool is_subject (const struct dn_site *site, const char *argument)
{
    bool path = argument[0] == '/' || argument[0] == '.';

    if ((!path && strchr (argument, '=')) || dn_subject_is_json (argument))
        return true;
    return access (argument, F_OK) < 0
           && (dn_subject_is_network (site, argument)
               || (!path && dn_model_nearest (&site->networks, argument)));
}

/* Has it the mark of a comment, even where the plugin does not find it? */
static bool is_comment (const char *argument)
{
    static const char mark[] = DN_COMMENT_MARK;
    const size_t len = sizeof (mark) - 1;

    for (; strlen (argument) >= len; argument++)
        if (dn_word_equal (argument, len, mark, len))
            return true;
    return false;
}

/* Read all metadata of the job. Return an enum dn_exit. */
static int describe (struct dn_job *job, struct finding *finding, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_reading reading;
    struct dn_carriers carriers;
    struct dn_sidecar sidecar;

    if (dn_subject_carry (finding->site, job, &text, err) < 0)
        return dn_subject_fail (err);
    carriers = dn_carriers_of (job, &reading.marks);
    if (dn_reading_of (&finding->site->words, job, false, NULL, NULL, &reading, err) < 0
        || dn_describe (&carriers, &sidecar, &finding->metadata, err) < 0)
        return dn_fail (DN_EXIT_USAGE, err);
    dn_spec_ignored (&carriers, finding->ignored);
    if (finding->ignored[0] != '\0')
        dn_complain ("warning: metadata ignored: %s", finding->ignored);
    finding->given = sidecar.spec;
    finding->subject.layers = sidecar.layers;
    return DN_EXIT_DONE;
}

/* The metadata of a script, including its #SBATCH options, and its requested GPUs. */
static int collect_script (const struct dn_options *given,
                           struct finding *finding,
                           struct dn_err *err)
{
    dn_cleanup (dn_sbatch_free) struct dn_sbatch sbatch = {.script = NULL};
    struct dn_request request;
    char *script;
    int rc;

    if (dn_read_input (given->args[0], &script, err) < 0)
        return dn_fail (DN_EXIT_DATA, err);
    rc = dn_sbatch_read_script (&sbatch, script);
    if (rc != DN_EXIT_DONE)
        return rc;
    if (dn_sbatch_fill (&sbatch, given->slurm_version, err) < 0
        || dn_request_read (&sbatch.job, NULL, &request, err) < 0)
        return dn_fail (DN_EXIT_USAGE, err);
    finding->n_gpus = request.n_gpus;
    return describe (&sbatch.job, finding, err);
}

/* Return an enum dn_exit. */
static int collect (struct dn_options *given,
                    struct finding *finding,
                    struct dn_err *err)
{
    const char *argument = given->args[0];
    struct dn_job job = dn_job_empty ();

    if (argument[0] == '\0') {
        dn_err_set (err,
                    DN_E_SYNTAX,
                    "the argument is empty, expected metadata, a comment, a sidecar or "
                    "a batch script");
        return dn_fail (DN_EXIT_USAGE, err);
    }
    finding->given = dn_spec_empty ();
    finding->metadata = DN_METADATA_GIVEN;
    if (is_comment (argument)) {
        job.comment = argument;
        job.user_id = (int64_t) getuid ();
        return describe (&job, finding, err);
    }
    if (dn_subject_refuse_weights (argument, err) < 0)
        return dn_fail (DN_EXIT_USAGE, err);
    if (is_subject (finding->site, argument)) {
        if (dn_subject_parse (given->args, given->n_args, &finding->subject, err) < 0)
            return dn_subject_fail (err);
        finding->given = finding->subject.spec;
        if (finding->subject.open_batch)
            finding->given.batch = DN_UNSET;
        return DN_EXIT_DONE;
    }
    if (given->n_args > 1)
        return dn_options_misuse (
            given,
            "unexpected argument '%s' after a script",
            dn_quote (given->args[1], strlen (given->args[1])).text);
    return collect_script (given, finding, err);
}

static int print_json (const struct finding *finding)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    bool given = finding->metadata == DN_METADATA_GIVEN;
    bool built = given && !finding->by_history;
    struct json_object *candidates = NULL;
    struct dn_err err = {0};
    struct dn_reason lacks = {
        .code = built ? dn_spec_lacks_work (&finding->subject.spec) : DN_REASON_NONE};

    dn_json_add_text (json,
                      "metadata",
                      given                                  ? "given"
                      : finding->metadata == DN_METADATA_OFF ? "off"
                                                             : "none");
    json_object_object_add (
        json, "given", given ? dn_show_spec_json (&finding->given) : NULL);
    json_object_object_add (
        json, "spec", given ? dn_show_spec_json (&finding->subject.spec) : NULL);
    json_object_object_add (
        json, "model", built ? dn_show_model_json (&finding->subject.graph) : NULL);
    dn_json_add_bool (json, "by_history", finding->by_history);
    json_object_object_add (
        json,
        "unread",
        dn_show_keys_json (built ? dn_subject_unread (&finding->subject)
                                 : (struct dn_keyset){{0}}));
    json_object_object_add (
        json,
        "assumed",
        built ? dn_effects_json (&finding->subject, dn_usual_device (finding->site))
              : NULL);
    if (built)
        candidates = dn_fits_json (&finding->subject, &err);
    if (built && !candidates)
        return dn_fail (DN_EXIT_DATA, &err);
    json_object_object_add (json, "candidates", candidates);
    dn_json_add_text (json,
                      "lacks_work",
                      lacks.code != DN_REASON_NONE ? dn_reason_text (&lacks).text
                                                   : NULL);
    dn_json_add_name (json, "ignored", finding->ignored);
    dn_json_print (json);
    return DN_EXIT_DONE;
}

static int print_text (const struct finding *finding)
{
    const struct dn_device *device = dn_usual_device (finding->site);
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of ("KEY|VALUE|FROM|MEANING");
    int n_keys;
    int rc;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    if (finding->metadata != DN_METADATA_GIVEN) {
        printf (finding->metadata == DN_METADATA_OFF ? "the job opts out (dnnest:off)\n"
                                                     : "no metadata\n");
        return DN_EXIT_DONE;
    }
    if (finding->by_history)
        printf ("no network: the limits follow earlier runs of this application\n");
    else
        dn_show_model (&finding->subject.graph);
    for (int i = 0; i < n_keys; i++) {
        char value[DN_VALUE_MAX];

        if (!dn_spec_has (&finding->subject.spec, &keys[i]))
            continue;
        dn_spec_write_value (&finding->subject.spec, &keys[i], value);
        dn_grid_add (&grid, "%s", keys[i].name);
        dn_grid_add (&grid, "%s", value);
        dn_grid_add (&grid,
                     dn_spec_has (&finding->given, &keys[i]) ? "given" : "derived");
        dn_grid_add (&grid, "%s", keys[i].help);
    }
    rc = dn_grid_print (&grid);
    if (!finding->by_history && rc == DN_EXIT_DONE)
        rc = dn_fits_print (&finding->subject);
    if (finding->by_history || rc != DN_EXIT_DONE)
        return rc;
    return dn_effects_print (&finding->subject, device ? device->name : NULL, device);
}

/* The network, and what follows from the keys. A job that follows its history has no
 * network.
 */
static int derive (struct finding *finding, struct dn_err *err)
{
    struct dn_subject *subject = &finding->subject;

    subject->spec = finding->given;
    subject->user = (int64_t) getuid ();
    if (subject->open_batch)
        subject->spec.batch = 1;
    if (finding->metadata != DN_METADATA_GIVEN)
        return 0;
    finding->by_history =
        subject->layers.n == 0 && dn_spec_is_by_history (&finding->given);
    return finding->by_history
               ? 0
               : dn_subject_build (finding->site, finding->n_gpus, subject, err);
}

static void free_finding (struct finding *finding)
{
    dn_subject_free (&finding->subject);
}

static int check (struct dn_options *given)
{
    dn_cleanup (free_finding) struct finding finding = {.n_gpus = DN_UNSET,
                                                        .metadata = DN_METADATA_NONE};
    struct dn_err err = {0};
    int rc;

    if (!dn_options_site (given, NULL))
        return given->exit_code;
    finding.site = given->site;
    rc = collect (given, &finding, &err);
    if (rc != DN_EXIT_DONE)
        return rc;
    if (derive (&finding, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    rc = given->json ? print_json (&finding) : print_text (&finding);
    if (rc == DN_EXIT_DONE && finding.metadata != DN_METADATA_GIVEN)
        rc = DN_EXIT_ABSTAINED;
    return rc;
}

static int run (struct dn_options *given)
{
    struct call call = {.keys = false};

    if (dn_options_take (given, &call) != DN_OPTION_END
        || !dn_options_count (given, call.keys ? 0 : 1, call.keys ? 0 : -1))
        return given->exit_code;
    return call.keys ? print_keys (given->json) : check (given);
}

const struct dn_command dn_cmd_check = {
    .name = "check",
    .summary = "Validate metadata, a comment, a sidecar or a batch script",
    .arguments = "SPEC|FILE.json|SCRIPT",
    .options = options,
    .run = run,
};
