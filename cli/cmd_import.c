/* cmd_import.c - a sidecar from what another program says of a network
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/onnx_layers.h"
#include "json.h"
#include "show.h"

enum {
    OPTION_ONNX,
    OPTION_BATCH,
    OPTION_DIM,
    OPTION_OUT
};

static const struct dn_option options[] = {
    [OPTION_ONNX] = {"onnx", 0, "FILE", "an ONNX model"},
    [OPTION_BATCH] = {"batch", 0, "N", "samples of one step, if FILE does not show it"},
    [OPTION_DIM] = {"dim", 0, "NAME=N", "the size of a symbol; may be repeated"},
    [OPTION_OUT] = {"out", 0, "FILE", "write the sidecar there and print a summary"},
    {NULL, 0, NULL, NULL},
};

struct wish {
    const char *onnx;
    const char *out;
    struct dn_onnx_sizes sizes;
};

/* "seq=128" */
static int take_symbol (const char *argument,
                        struct dn_onnx_sizes *sizes,
                        struct dn_err *err)
{
    struct dn_span rest = dn_span_of (argument);
    struct dn_span name = dn_span_cut (&rest, "=");
    struct dn_onnx_symbol *symbol = &sizes->symbols[sizes->n_symbols];
    int64_t size;

    if (sizes->n_symbols == DN_ONNX_SYMBOLS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "--dim: more than %d of them", DN_ONNX_SYMBOLS_MAX);
    if (!rest.text || name.len == 0)
        return dn_err_set (err, DN_E_SYNTAX, "--dim: expected NAME=N");
    if (dn_span_copy (name, symbol->name, sizeof (symbol->name), "--dim", err) < 0
        || dn_int_read (rest, "--dim", 1, 1000000000, &size, err) < 0)
        return -1;
    symbol->size = (double) size;
    sizes->n_symbols++;
    return 0;
}

static int take_option (struct dn_options *given, int option, struct wish *wish)
{
    struct dn_err err = {0};
    int64_t samples = 0;
    int rc = 0;

    if (option == OPTION_ONNX)
        wish->onnx = given->argument;
    else if (option == OPTION_OUT)
        wish->out = given->argument;
    else if (option == OPTION_DIM)
        rc = take_symbol (given->argument, &wish->sizes, &err);
    else
        rc = dn_int_read (
            dn_span_of (given->argument), "--batch", 1, 1000000, &samples, &err);
    if (samples > 0)
        wish->sizes.samples = (double) samples;
    if (rc < 0)
        given->exit_code = dn_options_misuse (given->command, "%s", err.text);
    return rc;
}

static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct wish *wish)
{
    int option;

    while ((option = dn_options_next (given)) >= 0)
        if (take_option (given, option, wish) < 0)
            return -1;
    if (option != DN_OPTION_END || !dn_options_count (given, 0, 1))
        return -1;
    if (wish->onnx)
        return 0;
    given->exit_code = dn_options_misuse (self, "--onnx=FILE is missing");
    return -1;
}

static int read_onnx (struct wish *wish,
                      struct dn_sidecar *sidecar,
                      struct dn_onnx_summary *summary,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *bytes = NULL;
    struct dn_onnx file;
    size_t len;
    int rc;

    if (dn_read_bytes (wish->onnx, DN_ONNX_FILE_MAX, &bytes, &len, err) < 0)
        return -1;
    if (sidecar->spec.seq_len > 0)
        wish->sizes.seq_len = (double) sidecar->spec.seq_len;
    if (dn_onnx_read (bytes, len, &file, err) < 0)
        return dn_err_wrap (err, "%s", wish->onnx);
    rc = dn_onnx_layers (&file, &wish->sizes, sidecar, summary, err);
    dn_onnx_free (&file);
    return rc < 0 ? dn_err_wrap (err, "%s", wish->onnx) : 0;
}

static int write_sidecar (const struct wish *wish,
                          const struct dn_sidecar *sidecar,
                          struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = dn_sidecar_write (sidecar);

    if (!text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (wish->out)
        return dn_write_output (wish->out, text, err);
    printf ("%s\n", text);
    return 0;
}

static void print_summary (const struct dn_sidecar *sidecar,
                           const struct dn_onnx_summary *summary,
                           bool json)
{
    dn_cleanup (dn_json_cleanup) struct json_object *document = NULL;

    if (!json) {
        printf ("%s: a forward pass of %d operators (%d nodes), %s parameters\n",
                sidecar->layers.name,
                sidecar->layers.n,
                summary->n_nodes,
                dn_show_count (summary->params).text);
        return;
    }
    document = json_object_new_object ();
    json_object_object_add (document, "spec", dn_show_spec_json (&sidecar->spec));
    dn_json_add_bool (document, "step", false);
    dn_json_add_real (document, "params", summary->params);
    dn_json_add_count (document, "operators", sidecar->layers.n);
    dn_json_add_count (document, "instructions", summary->n_nodes);
    dn_json_print (document);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    struct wish wish = {.onnx = NULL};
    struct dn_err err = {0};
    struct dn_onnx_summary summary;
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};

    dn_options_begin (&given, self, argc, argv);
    if (take_options (self, &given, &wish) < 0)
        return given.exit_code;
    if (given.n_args > 0
        && dn_spec_read (dn_span_of (given.args[0]), &sidecar.spec, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (read_onnx (&wish, &sidecar, &summary, &err) < 0
        || write_sidecar (&wish, &sidecar, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (summary.n_unknown > 0)
        dn_complain ("warning: %d operators are not known, such as %s: only their "
                     "bytes count",
                     summary.n_unknown,
                     summary.unknown);
    if (wish.out)
        print_summary (&sidecar, &summary, given.json);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_import = {
    .name = "import",
    .summary = "Make a sidecar of what another program says of a network",
    .arguments = "[SPEC]",
    .options = options,
    .run = run,
};
