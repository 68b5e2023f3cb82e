/* dev_import.c - a sidecar from an ONNX model
 *
 * A program in Python reads the file (import/). What it writes is read as any sidecar
 * is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/json_read.h"
#include "host/files.h"
#include "output/grid.h"
#include "output/json.h"
#include "output/show.h"
#include "process/child.h"
#include "subject.h"

#define SYMBOLS_MAX 16

/* Limit of what a reader writes: more operators than a sidecar may have. */
#define ANSWER_MAX    (64 * 1024 * 1024)
#define COMPLAINT_MAX (64 * 1024)

/* The options of a call. */
struct call {
    const char *onnx;
    const char *out;
    int64_t batch;                    /* 0: to be found */
    const char *symbols[SYMBOLS_MAX]; /* "time=7" */
    int n_symbols;
};

/* "seq=128" */
static int read_symbol (const char *argument, struct call *call, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (argument);
    struct dn_span name = dn_span_cut (&rest, "=");
    int64_t size;

    if (call->n_symbols == SYMBOLS_MAX)
        return dn_err_set (err, DN_E_LIMIT, "--dim: more than %d of them", SYMBOLS_MAX);
    if (!rest.text || name.len == 0)
        return dn_err_set (err, DN_E_SYNTAX, "--dim: expected NAME=N");
    if (dn_int_read (rest, "--dim", 1, 1000000000, &size, err) < 0)
        return -1;
    call->symbols[call->n_symbols++] = argument;
    return 0;
}

static int take_symbol (struct dn_options *given, void *to)
{
    struct call *call = to;
    struct dn_err err = {0};

    return read_symbol (given->argument, call, &err) < 0
               ? dn_options_misuse (given, "%s", err.text)
               : DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("onnx", "FILE", "an ONNX model", onnx),
    DN_OPT_INT ("batch",
                "N",
                "samples of one step, if FILE does not show it",
                batch,
                1,
                DN_COUNT_MAX),
    DN_OPT_TAKE ("dim", "NAME=N", "the size of a symbol; may be repeated", take_symbol),
    DN_OPT_TEXT ("out", "FILE", "write the sidecar there and print a summary", out),
    DN_OPT_END,
};

static int take_options (struct dn_options *given, struct call *call)
{
    if (!dn_options_all (given, call, 0, 1))
        return -1;
    if (call->onnx)
        return 0;
    dn_options_misuse (given, "--onnx=FILE is missing");
    return -1;
}

/* Read an anonymous file that a child has written. */
static int read_back (int fd, size_t max, char **text, size_t *len, struct dn_err *err)
{
    char path[32];

    snprintf (path, sizeof (path), "/dev/fd/%d", fd);
    return dn_read_bytes (path, max, text, len, err);
}

/* The first line of what a failed reader complained of. */
static int complain (int fd, int status, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (WIFSIGNALED (status))
        return dn_err_set (
            err, DN_E_LIMIT, "its reader was stopped by signal %d", WTERMSIG (status));
    if (read_back (fd, COMPLAINT_MAX, &text, &len, err) < 0)
        return -1;
    text[strcspn (text, "\n")] = '\0';
    return dn_err_set (
        err, DN_E_SYNTAX, "%s", text[0] ? text : "its reader failed without a reason");
}

/* Run a reader: 'words' follow the interpreter. */
static int ask (char *const words[], char **text, size_t *len, struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int out = dn_child_file ("", 0);
    dn_cleanup (dn_fd_cleanup) int complaints = dn_child_file ("", 0);
    const int files[] = {-1, out, complaints};
    pid_t pid;
    int status;
    int rc;

    if (out < 0 || complaints < 0)
        return dn_err_set (err, DN_E_IO, "%s", strerror (errno));
    rc = dn_child_start (words, files, &pid);
    if (rc != 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", words[0], strerror (rc));
    if (dn_child_wait (pid, &status) < 0)
        return dn_err_set (err, DN_E_IO, "%s", strerror (errno));
    return status == 0 ? read_back (out, ANSWER_MAX, text, len, err)
                       : complain (complaints, status, err);
}

static int ask_reader (const struct call *call,
                       const struct dn_spec *spec,
                       char **text,
                       size_t *len,
                       struct dn_err *err)
{
    const char *dir = getenv ("DNNEST_IMPORT_DIR");
    char script[PATH_MAX];
    char batch[32];
    char seq_len[32];
    char *words[7 + SYMBOLS_MAX] = {(char *) DNNEST_PYTHON,
                                    (char *) "-B",
                                    script,
                                    (char *) call->onnx,
                                    batch,
                                    seq_len};

    snprintf (
        script, sizeof (script), "%s/import_onnx.py", dir ? dir : DNNEST_IMPORT_DIR);
    snprintf (batch, sizeof (batch), "%" PRId64, call->batch);
    snprintf (seq_len,
              sizeof (seq_len),
              "%" PRId64,
              spec->seq_len > 0 ? (int64_t) spec->seq_len : (int64_t) 0);
    for (int i = 0; i < call->n_symbols; i++)
        words[6 + i] = (char *) call->symbols[i];
    return ask (words, text, len, err);
}

/* A line of JSON with what was counted, and a line with the sidecar. */
static int import_file (const struct call *call,
                        struct dn_sidecar *sidecar,
                        struct json_object **summary,
                        struct dn_err *err)
{
    bool named = sidecar->spec.model[0] != '\0';
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_span rest = {NULL, 0};
    int rc = ask_reader (call, &sidecar->spec, &text, &rest.len, err);

    rest.text = text;
    if (rc == 0) {
        *summary = dn_json_read (dn_span_cut (&rest, "\n"), 2, 64, err);
        rc = *summary ? dn_sidecar_read (dn_span_trim (rest), sidecar, err) : -1;
    }
    if (rc == 0 && !named) /* reading has named it as its graph */
        sidecar->spec.model[0] = '\0';
    return rc < 0 ? dn_err_wrap (err, "%s", call->onnx) : 0;
}

static double number_of (struct json_object *summary, const char *key)
{
    return json_object_get_double (json_object_object_get (summary, key));
}

static void warn (struct json_object *summary)
{
    double unknown = number_of (summary, "unknown");

    if (unknown > 0)
        dn_complain (
            "warning: %.0f operators are unknown, such as %s, only their bytes are "
            "counted",
            unknown,
            json_object_get_string (json_object_object_get (summary, "such_as")));
}

static void print_json (const struct dn_sidecar *sidecar, struct json_object *summary)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();

    json_object_object_add (json, "spec", dn_show_spec_json (&sidecar->spec));
    dn_json_add_real (json, "params", number_of (summary, "params"));
    dn_json_add_count (json, "operators", sidecar->layers.n);
    dn_json_add_count (
        json, "instructions", (int64_t) number_of (summary, "instructions"));
    dn_json_print (json);
}

static void print (const struct dn_sidecar *sidecar, struct json_object *summary)
{
    printf ("%s: a forward pass of %d operators (%.0f nodes), %s parameters\n",
            sidecar->layers.name,
            sidecar->layers.n,
            number_of (summary, "instructions"),
            dn_show_count (number_of (summary, "params")).text);
}

static int run (struct dn_options *given)
{
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_json_free) struct json_object *summary = NULL;
    struct call call = {.batch = 0};
    struct dn_err err = {0};

    if (take_options (given, &call) < 0)
        return given->exit_code;
    if (given->n_args > 0
        && dn_spec_read (dn_span_of (given->args[0]), &sidecar.spec, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (import_file (&call, &sidecar, &summary, &err) < 0
        || dn_sidecar_put (&sidecar, call.out, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    warn (summary);
    if (call.out && given->json)
        print_json (&sidecar, summary);
    else if (call.out)
        print (&sidecar, summary);
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_import = {
    .name = "import",
    .summary = "Make a sidecar from an ONNX model",
    .arguments = "[SPEC]",
    .options = options,
    .run = run,
};
