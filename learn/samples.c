/* samples.c - read and write the rows of dnnest-dev bench
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "learn/table.h"

const char dn_samples_head[] =
    "op,precision,pass,shape,devices,flops,bytes,seconds,spread,runs\n";

static const char *const op_text[] = {
    [DN_SAMPLE_UNKNOWN] = "unknown",
    [DN_SAMPLE_FACT] = "fact",
    [DN_SAMPLE_GEMM] = "gemm",
    [DN_SAMPLE_BMM] = "bmm",
    [DN_SAMPLE_CONV] = "conv",
    [DN_SAMPLE_DEPTHWISE] = "depthwise",
    [DN_SAMPLE_ATTENTION] = "attention",
    [DN_SAMPLE_NORM] = "norm",
    [DN_SAMPLE_SOFTMAX] = "softmax",
    [DN_SAMPLE_ELEMENTWISE] = "elementwise",
    [DN_SAMPLE_EMBEDDING] = "embedding",
    [DN_SAMPLE_RNN] = "rnn",
    [DN_SAMPLE_OPTIMIZER] = "optimizer",
    [DN_SAMPLE_COPY] = "copy",
    [DN_SAMPLE_H2D] = "h2d",
    [DN_SAMPLE_LAUNCH] = "launch",
    [DN_SAMPLE_SYNC] = "sync",
    [DN_SAMPLE_ALLREDUCE] = "allreduce",
    [DN_SAMPLE_JPEG] = "jpeg",
    [DN_SAMPLE_TEXT] = "text",
    [DN_SAMPLE_ARRAY] = "array",
};

static const char *const pass_text[] = {
    [DN_SAMPLE_NO_PASS] = "none",
    [DN_SAMPLE_FORWARD] = "forward",
    [DN_SAMPLE_BACKWARD_DATA] = "backward_data",
    [DN_SAMPLE_BACKWARD_WEIGHT] = "backward_weight",
    [DN_SAMPLE_BACKWARD] = "backward",
};

/* The precisions that kernels are measured in. */
static const char *const precision_text[] = {
    [DN_PRECISION_UNKNOWN] = "none",
    [DN_PRECISION_FP32] = "fp32",
    [DN_PRECISION_TF32] = "tf32",
    [DN_PRECISION_FP16] = "fp16",
    [DN_PRECISION_BF16] = "bf16",
};

const struct dn_names dn_sample_op_names = DN_NAMES (op_text, DN_N_SAMPLE_OPS);
const struct dn_names dn_sample_pass_names = DN_NAMES (pass_text, DN_N_SAMPLE_PASSES);
static const struct dn_names precision_names =
    DN_NAMES (precision_text, DN_PRECISION_BF16 + 1);

/* An empty cell is entry 0 of the table. */
static int read_name (const struct dn_row *row,
                      const char *column,
                      const struct dn_names *names,
                      int *value,
                      struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    *value = 0;
    if (!text)
        return dn_err_set (err, DN_E_SYNTAX, "column '%s' is missing", column);
    if (text[0] == '\0')
        return 0;
    return dn_enum_read (dn_span_of (text), column, names, value, err);
}

static int read_real (const struct dn_row *row,
                      const char *column,
                      double max,
                      double *value,
                      struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    *value = 0;
    if (!text)
        return dn_err_set (err, DN_E_SYNTAX, "column '%s' is missing", column);
    if (text[0] == '\0')
        return 0;
    return dn_real_read (dn_span_of (text), column, 0, max, value, err);
}

static int read_count (const struct dn_row *row,
                       const char *column,
                       int64_t *value,
                       struct dn_err *err)
{
    const char *text = dn_row_get (row, column);

    *value = 0;
    if (!text)
        return dn_err_set (err, DN_E_SYNTAX, "column '%s' is missing", column);
    if (text[0] == '\0')
        return 0;
    return dn_int_read (dn_span_of (text), column, 0, 1000000000, value, err);
}

static int read_row (const struct dn_row *row,
                     struct dn_sample *sample,
                     struct dn_err *err)
{
    const char *shape = dn_row_get (row, "shape");
    int op;
    int precision;
    int pass;

    if (read_name (row, "op", &dn_sample_op_names, &op, err) < 0
        || read_name (row, "precision", &precision_names, &precision, err) < 0
        || read_name (row, "pass", &dn_sample_pass_names, &pass, err) < 0
        || read_count (row, "devices", &sample->devices, err) < 0
        || read_count (row, "runs", &sample->runs, err) < 0
        || read_real (row, "flops", 1e18, &sample->flops, err) < 0
        || read_real (row, "bytes", 1e15, &sample->bytes, err) < 0
        || read_real (row, "seconds", 1e5, &sample->seconds, err) < 0
        || read_real (row, "spread", 1e6, &sample->spread, err) < 0
        || dn_span_copy (dn_span_of (shape ? shape : ""),
                         sample->shape,
                         sizeof (sample->shape),
                         "shape",
                         err)
               < 0)
        return -1;
    /* Shapes become comments of other files. */
    dn_sample_tidy (sample->shape);
    sample->op = (enum dn_sample_op) op;
    sample->precision = (enum dn_precision) precision;
    sample->pass = (enum dn_sample_pass) pass;
    if (sample->op == DN_SAMPLE_UNKNOWN)
        return dn_err_set (err, DN_E_SYNTAX, "op is empty");
    if (sample->op == DN_SAMPLE_FACT && !strchr (sample->shape, '='))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "shape: '%s' is not a fact of the form key=value",
                           dn_quote (sample->shape, strlen (sample->shape)).text);
    if (sample->op != DN_SAMPLE_FACT && sample->seconds < 1e-9)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "seconds: %g is not the time of a kernel",
                           sample->seconds);
    return 0;
}

static int take_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct dn_sample sample;

    if (read_row (row, &sample, err) < 0)
        return -1;
    return dn_samples_add (context, &sample, err);
}

/* Bytes up to and including the last line break. */
static size_t whole_lines (struct dn_span text)
{
    while (text.len > 0 && text.text[text.len - 1] != '\n')
        text.len--;
    return text.len;
}

int dn_samples_read (struct dn_span text,
                     struct dn_samples *samples,
                     struct dn_err *err)
{
    dn_cleanup (dn_table_cleanup) struct dn_table *table = NULL;

    *samples = (struct dn_samples){NULL, 0, whole_lines (text)};
    if (text.len > DN_SAMPLES_TEXT_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "larger than %d bytes", DN_SAMPLES_TEXT_MAX);
    if (samples->whole == 0)
        return 0;
    table = dn_table_new (take_row, samples);
    if (!table)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (dn_table_feed (table, text.text, samples->whole, err) == 0
        && dn_table_feed (table, "", 0, err) == 0)
        return 0;
    dn_samples_free (samples);
    return -1;
}

void dn_samples_free (struct dn_samples *samples)
{
    if (!samples)
        return;
    free (samples->rows);
    *samples = (struct dn_samples){NULL, 0, 0};
}

int dn_samples_add (struct dn_samples *samples,
                    const struct dn_sample *row,
                    struct dn_err *err)
{
    int n = samples->n_rows;

    if (n == DN_SAMPLES_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d samples", DN_SAMPLES_MAX);
    /* The array grows at powers of two. */
    if ((n & (n - 1)) == 0) {
        size_t size = n > 0 ? 2 * (size_t) n : 1;
        struct dn_sample *grown = realloc (samples->rows, size * sizeof (*grown));

        if (!grown)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        samples->rows = grown;
    }
    samples->rows[samples->n_rows++] = *row;
    return 0;
}

bool dn_samples_has (const struct dn_samples *samples, const struct dn_sample *like)
{
    for (int i = 0; i < samples->n_rows; i++) {
        const struct dn_sample *row = &samples->rows[i];

        if (row->op == like->op && row->precision == like->precision
            && row->pass == like->pass && row->devices == like->devices
            && strcmp (row->shape, like->shape) == 0)
            return true;
    }
    return false;
}

const char *dn_samples_fact (const struct dn_samples *samples, const char *key)
{
    size_t len = strlen (key);

    for (int i = 0; i < samples->n_rows; i++) {
        const struct dn_sample *row = &samples->rows[i];

        if (row->op == DN_SAMPLE_FACT && strncmp (row->shape, key, len) == 0
            && row->shape[len] == '=')
            return row->shape + len + 1;
    }
    return NULL;
}

void dn_sample_write (const struct dn_sample *row, char line[DN_SAMPLE_LINE_MAX])
{
    struct dn_buf buf = dn_buf_on (line, DN_SAMPLE_LINE_MAX);

    dn_buf_add (&buf,
                "%s,%s,%s,%s,",
                op_text[row->op],
                row->precision == DN_PRECISION_UNKNOWN ? ""
                                                       : precision_text[row->precision],
                row->pass == DN_SAMPLE_NO_PASS ? "" : pass_text[row->pass],
                row->shape);
    if (row->op == DN_SAMPLE_FACT)
        dn_buf_add (&buf, ",,,,,\n");
    else
        dn_buf_add (&buf,
                    "%" PRId64 ",%.6g,%.6g,%.6g,%.3g,%" PRId64 "\n",
                    row->devices,
                    row->flops,
                    row->bytes,
                    row->seconds,
                    row->spread,
                    row->runs);
}

void dn_sample_tidy (char *text)
{
    for (; *text; text++)
        if ((unsigned char) *text < ' ' || *text == ',' || *text == '"')
            *text = ' ';
}
