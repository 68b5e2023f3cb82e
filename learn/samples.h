/* samples.h - what dnnest-bench has measured, a row per kernel
 *
 * In: the text of a samples file (dnnest-bench(1)), which is only ever appended to.
 * Out: struct dn_samples. Never: what it means (learn/bench_fit.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SAMPLES_H
#define DN_SAMPLES_H

#include "base/limits.h"
#include "base/text.h"
#include "spec/spec.h"

/* A whole set has some 400 rows of 100 bytes. */
#define DN_SAMPLES_TEXT_MAX (1024 * 1024)
#define DN_SAMPLES_MAX      5000
#define DN_SAMPLE_SHAPE_MAX 96

enum dn_sample_op {
    DN_SAMPLE_UNKNOWN,
    DN_SAMPLE_FACT, /* of the device: the shape is "key=value" */
    DN_SAMPLE_GEMM,
    DN_SAMPLE_BMM,
    DN_SAMPLE_CONV,
    DN_SAMPLE_DEPTHWISE,
    DN_SAMPLE_ATTENTION,
    DN_SAMPLE_NORM,
    DN_SAMPLE_SOFTMAX,
    DN_SAMPLE_ELEMENTWISE,
    DN_SAMPLE_EMBEDDING,
    DN_SAMPLE_RNN,
    DN_SAMPLE_OPTIMIZER,
    DN_SAMPLE_COPY,   /* within the device */
    DN_SAMPLE_H2D,    /* from pinned memory of the host */
    DN_SAMPLE_LAUNCH, /* an empty kernel behind others */
    DN_SAMPLE_SYNC,   /* an empty kernel that the host waits for */
    DN_SAMPLE_ALLREDUCE,
    DN_SAMPLE_JPEG, /* of the host: one sample on one core */
    DN_SAMPLE_TEXT,
    DN_SAMPLE_ARRAY,
    DN_N_SAMPLE_OPS
};

extern const struct dn_names dn_sample_op_names;

enum dn_sample_pass {
    DN_SAMPLE_NO_PASS,
    DN_SAMPLE_FORWARD,
    DN_SAMPLE_BACKWARD_DATA,
    DN_SAMPLE_BACKWARD_WEIGHT,
    DN_SAMPLE_BACKWARD, /* both */
    DN_N_SAMPLE_PASSES
};

extern const struct dn_names dn_sample_pass_names;

struct dn_sample {
    enum dn_sample_op op;
    enum dn_precision precision; /* unknown where it has none */
    enum dn_sample_pass pass;
    char shape[DN_SAMPLE_SHAPE_MAX];
    int64_t devices; /* that took part: GPUs, of the host cores; 0 for a fact */
    double flops;    /* of one kernel */
    double bytes;    /* that it has to move; tokens of a text */
    double seconds;  /* median */
    double spread;   /* half the distance of the quartiles, over the median */
    int64_t runs;    /* that the median is of */
};

struct dn_samples {
    struct dn_sample *rows; /* owned */
    int n_rows;
    size_t whole; /* bytes of the text up to the end of its last whole line */
};

/* The head of a samples file, with its line break. */
extern const char dn_samples_head[];

/* Read a samples file. What stands behind the last line break was cut off in the middle
 * of writing and is passed over. Return -1 with 'err' naming the line.
 */
int dn_samples_read (struct dn_span text,
                     struct dn_samples *samples,
                     struct dn_err *err);

/* NULL-safe, leaves none. */
void dn_samples_free (struct dn_samples *samples);

/* Add a row. What a CSV cell cannot hold in 'shape' has to be gone (dn_sample_tidy ()).
 */
int dn_samples_add (struct dn_samples *samples,
                    const struct dn_sample *row,
                    struct dn_err *err);

/* Has this been measured: the same operator, precision, pass, shape and devices? */
bool dn_samples_has (const struct dn_samples *samples, const struct dn_sample *like);

/* The value of the fact 'key', or NULL. */
const char *dn_samples_fact (const struct dn_samples *samples, const char *key);

/* The row as a line with its line break. */
#define DN_SAMPLE_LINE_MAX 512
void dn_sample_write (const struct dn_sample *row, char line[DN_SAMPLE_LINE_MAX]);

/* Put blanks where a CSV cell cannot hold a character. */
void dn_sample_tidy (char *text);

#endif
