/* dev_import.c - a sidecar from an ONNX model or an HLO module
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/hlo_layers.h"
#include "import/onnx_layers.h"
#include "output/grid.h"
#include "output/json.h"
#include "output/show.h"
#include "sidecar_put.h"

/* The options of a call. */
struct call {
    const char *hlo;
    const char *onnx;
    const char *out;
    int64_t batch; /* 0: to be found */
    bool step;
    bool forward;
    struct dn_onnx_sizes sizes;
};

/* "seq=128" */
static int read_symbol (const char *argument,
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

static int take_symbol (struct dn_options *given, void *to)
{
    struct call *call = to;
    struct dn_err err = {0};

    return read_symbol (given->argument, &call->sizes, &err) < 0
               ? dn_options_misuse (given->command, "%s", err.text)
               : DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("hlo", 0, "FILE", "text of an XLA HLO module", hlo),
    DN_OPT_TEXT ("onnx", 0, "FILE", "an ONNX model", onnx),
    DN_OPT_INT ("batch",
                0,
                "N",
                "samples of one step, if FILE does not show it",
                batch,
                1,
                DN_COUNT_MAX),
    DN_OPT_TAKE ("dim",
                 0,
                 "NAME=N",
                 "of ONNX: the size of a symbol; may be repeated",
                 take_symbol),
    DN_OPT_FLAG ("step", 0, "of HLO: FILE is a whole training step", step),
    DN_OPT_FLAG ("forward", 0, "of HLO: FILE is a forward pass", forward),
    DN_OPT_TEXT ("out", 0, "FILE", "write the sidecar there and print a summary", out),
    DN_OPT_END,
};

static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct call *call)
{
    const char *wrong = NULL;

    if (!dn_options_all (given, call, 0, 1))
        return -1;
    if (!call->hlo == !call->onnx)
        wrong = call->hlo ? "--hlo and --onnx: expected one of them"
                          : "--hlo=FILE or --onnx=FILE is missing";
    else if (call->onnx && (call->step || call->forward))
        wrong = "--step, --forward: an ONNX model is a forward pass";
    else if (call->hlo && call->sizes.n_symbols > 0)
        wrong = "--dim: HLO has no symbols";
    if (!wrong)
        return 0;
    given->exit_code = dn_options_misuse (self, "%s", wrong);
    return -1;
}

static int read_hlo (const struct call *call,
                     struct dn_sidecar *sidecar,
                     struct dn_hlo_summary *summary,
                     struct dn_err *err)
{
    enum dn_hlo_pass pass = call->step      ? DN_HLO_PASS_STEP
                            : call->forward ? DN_HLO_PASS_FORWARD
                                            : DN_HLO_PASS_GUESS;
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_hlo module;
    int rc;

    if (dn_read_large_input (call->hlo, DN_HLO_TEXT_MAX, &text, err) < 0)
        return -1;
    if (dn_hlo_parse (dn_span_of (text), &module, err) < 0)
        return dn_err_wrap (err, "%s", call->hlo);
    rc = dn_hlo_layers (&module, pass, (double) call->batch, sidecar, summary, err);
    dn_hlo_free (&module);
    return rc < 0 ? dn_err_wrap (err, "%s", call->hlo) : 0;
}

static void warn_hlo (const struct dn_hlo_summary *summary)
{
    if (summary->unknown_trips > 0)
        dn_complain ("warning: %d loops have no known trip count, counted once",
                     summary->unknown_trips);
    if (summary->unknown_calls > 0)
        dn_complain (
            "warning: %d custom calls are unknown, only their bytes are counted",
            summary->unknown_calls);
    if (summary->products <= 0)
        dn_complain ("warning: the module has no matrix product and no convolution");
}

static void print_hlo_json (const struct dn_sidecar *sidecar,
                            const struct dn_hlo_summary *summary)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();

    json_object_object_add (json, "spec", dn_show_spec_json (&sidecar->spec));
    dn_json_add_bool (json, "step", summary->step);
    dn_json_add_bool (json, "optimised", summary->optimised);
    dn_json_add_real (json, "batch", summary->batch);
    dn_json_add_real (json, "replicas", summary->replicas);
    dn_json_add_real (json, "params", summary->params);
    dn_json_add_real (json, "flops", summary->flops);
    dn_json_add_real (json, "product_flops", summary->products);
    dn_json_add_real (json, "bytes", summary->bytes);
    dn_json_add_real (json, "kernels", summary->kernels);
    dn_json_add_count (json, "operators", sidecar->layers.n);
    dn_json_add_count (json, "instructions", summary->instructions);
    dn_json_add_count (json, "computations", summary->computations);
    dn_json_add_count (json, "unknown_loops", summary->unknown_trips);
    dn_json_add_count (json, "unknown_calls", summary->unknown_calls);
    dn_json_print (json);
}

static void print_hlo (const struct dn_sidecar *sidecar,
                       const struct dn_hlo_summary *summary)
{
    printf ("%s: %s of %s samples, %s parameters\n",
            sidecar->layers.name,
            summary->step ? "a training step" : "a forward pass",
            dn_show_real (summary->batch, 0).text,
            dn_show_count (summary->params).text);
    printf ("%s GFLOP, %s of them in products; %s moved by %s kernels (%s)\n",
            dn_show_real (summary->flops / 1e9, 3).text,
            dn_show_real (summary->products / 1e9, 3).text,
            dn_show_bytes (summary->bytes).text,
            dn_show_real (summary->kernels, 0).text,
            summary->optimised ? "as XLA fused them" : "fusions estimated");
    if (summary->replicas > 1)
        printf ("on %s devices, this is the part of one\n",
                dn_show_real (summary->replicas, 0).text);
}

static int read_onnx (struct call *call,
                      struct dn_sidecar *sidecar,
                      struct dn_onnx_summary *summary,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *bytes = NULL;
    struct dn_onnx file;
    size_t len;
    int rc;

    if (dn_read_bytes (call->onnx, DN_ONNX_FILE_MAX, &bytes, &len, err) < 0)
        return -1;
    call->sizes.samples = call->batch > 0 ? (double) call->batch : 0;
    if (sidecar->spec.seq_len > 0)
        call->sizes.seq_len = (double) sidecar->spec.seq_len;
    if (dn_onnx_read (bytes, len, &file, err) < 0)
        return dn_err_wrap (err, "%s", call->onnx);
    rc = dn_onnx_layers (&file, &call->sizes, sidecar, summary, err);
    dn_onnx_free (&file);
    return rc < 0 ? dn_err_wrap (err, "%s", call->onnx) : 0;
}

static void print_onnx (const struct dn_sidecar *sidecar,
                        const struct dn_onnx_summary *summary,
                        bool json)
{
    dn_cleanup (dn_json_free) struct json_object *document = NULL;

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

static int import_hlo (const struct call *call, struct dn_sidecar *sidecar, bool json)
{
    struct dn_hlo_summary summary;
    struct dn_err err = {0};

    if (read_hlo (call, sidecar, &summary, &err) < 0
        || dn_sidecar_put (sidecar, call->out, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    warn_hlo (&summary);
    if (call->out && json)
        print_hlo_json (sidecar, &summary);
    else if (call->out)
        print_hlo (sidecar, &summary);
    return DN_EXIT_DONE;
}

static int import_onnx (struct call *call, struct dn_sidecar *sidecar, bool json)
{
    struct dn_onnx_summary summary;
    struct dn_err err = {0};

    if (read_onnx (call, sidecar, &summary, &err) < 0
        || dn_sidecar_put (sidecar, call->out, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (summary.n_unknown > 0)
        dn_complain ("warning: %d operators are unknown, such as %s, only their bytes "
                     "are counted",
                     summary.n_unknown,
                     summary.unknown);
    if (call->out)
        print_onnx (sidecar, &summary, json);
    return DN_EXIT_DONE;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    struct call call = {.hlo = NULL};
    struct dn_err err = {0};
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};

    dn_options_begin (&given, self, argc, argv);
    if (take_options (self, &given, &call) < 0)
        return given.exit_code;
    if (given.n_args > 0
        && dn_spec_read (dn_span_of (given.args[0]), &sidecar.spec, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    return call.hlo ? import_hlo (&call, &sidecar, given.json)
                    : import_onnx (&call, &sidecar, given.json);
}

const struct dn_command dn_cmd_import = {
    .name = "import",
    .summary = "Make a sidecar from an ONNX model or the HLO of a program",
    .arguments = "[SPEC]",
    .options = options,
    .run = run,
};
