/* samples.h - the measurements of dnnest-dev bench, a row per kernel
 *
 * In: the text of a samples file (dnnest-dev(1)), to which rows are only appended.
 * Out: struct dn_samples. Never: what they mean (learn/bench_fit.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SAMPLES_H
#define DN_SAMPLES_H

#include "base/limits.h"
#include "base/text.h"
#include "spec/spec.h"

/* A complete set has about 400 rows of 100 bytes. */
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
    DN_SAMPLE_LAUNCH, /* an empty kernel queued after others */
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
    enum dn_precision precision; /* unknown if the row has none */
    enum dn_sample_pass pass;
    char shape[DN_SAMPLE_SHAPE_MAX];
    int64_t devices; /* that took part: GPUs, or cores of the host; 0 for a fact */
    double flops;    /* of one kernel */
    double bytes;    /* that it must move; tokens of a text */
    double seconds;  /* median */
    double spread;   /* half the interquartile range, over the median */
    int64_t runs;    /* of which this is the median */
};

struct dn_samples {
    struct dn_sample *rows; /* owned */
    int n_rows;
    size_t whole; /* bytes of the text up to the end of its last whole line */
};

/* The head of a samples file, with its line break. */
extern const char dn_samples_head[];

/* Read a samples file. Text after the last line break was cut off during a write and is
 * ignored. Return -1 with 'err' naming the line.
 */
int dn_samples_read (struct dn_span text,
                     struct dn_samples *samples,
                     struct dn_err *err);

/* NULL-safe, leaves none. */
void dn_samples_free (struct dn_samples *samples);

/* Add a row. 'shape' must not contain characters that a CSV cell cannot hold
 * (dn_sample_tidy ()).
 */
int dn_samples_add (struct dn_samples *samples,
                    const struct dn_sample *row,
                    struct dn_err *err);

/* Has the same operator, precision, pass, shape and number of devices been measured? */
bool dn_samples_has (const struct dn_samples *samples, const struct dn_sample *like);

/* The value of the fact 'key', or NULL. */
const char *dn_samples_fact (const struct dn_samples *samples, const char *key);

/* The row as a line with its line break. */
#define DN_SAMPLE_LINE_MAX 512
void dn_sample_write (const struct dn_sample *row, char line[DN_SAMPLE_LINE_MAX]);

/* Replace characters that a CSV cell cannot hold by blanks. */
void dn_sample_tidy (char *text);

#endif
