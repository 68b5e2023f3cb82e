/* resolve.c - checking keys against each other, and deriving values
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct dn_dataset *find_dataset (const struct dn_datasets *datasets,
                                              const char *name)
{
    for (int i = 0; i < datasets->n_rows; i++)
        if (dn_span_is (dn_span_of (name), datasets->rows[i].name))
            return &datasets->rows[i];
    return NULL;
}

/* Fill in from the table what the metadata does not give. An unknown data set is an
 * error only if one of its values is needed.
 */
static int apply_dataset (struct dn_spec *spec,
                          const struct dn_datasets *datasets,
                          struct dn_err *err)
{
    const struct dn_dataset *row;

    if (spec->dataset[0] == '\0')
        return 0;
    row = find_dataset (datasets, spec->dataset);
    if (!row) {
        if (spec->epochs < 0 || spec->samples != DN_UNSET)
            return 0;
        return dn_err_set (
            err,
            DN_E_RANGE,
            "dataset: '%s' is not in the table, expected a known data set "
            "or samples=N",
            spec->dataset);
    }
    if (spec->samples == DN_UNSET)
        spec->samples = row->samples;
    if (spec->sample_bytes == DN_UNSET)
        spec->sample_bytes = row->sample_bytes;
    if (spec->decode == DN_DECODE_UNKNOWN)
        spec->decode = row->decode;
    return 0;
}

static int resolve_gpus (struct dn_spec *spec, int64_t n_gpus, struct dn_err *err)
{
    int64_t model_parallel;

    if (spec->gpus == DN_UNSET)
        spec->gpus = n_gpus > 0 ? n_gpus : 1;
    if (spec->tp == DN_UNSET)
        spec->tp = 1;
    if (spec->pp == DN_UNSET)
        spec->pp = 1;
    if (spec->nodes == DN_UNSET)
        spec->nodes = 1;
    model_parallel = spec->tp * spec->pp;
    if (spec->parallel == DN_PARALLEL_DATAPARALLEL
        && (spec->nodes > 1 || model_parallel > 1))
        return dn_err_set (
            err,
            DN_E_RANGE,
            "parallel: dataparallel is one process on one node, expected "
            "nodes=1, tp=1 and pp=1");
    if (spec->gpus % model_parallel != 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "gpus: %" PRId64 " is not a multiple of tp * pp = %" PRId64,
                           spec->gpus,
                           model_parallel);
    if (spec->nodes > spec->gpus)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "nodes: %" PRId64 " nodes for %" PRId64
                           " GPUs, expected at most one "
                           "per GPU",
                           spec->nodes,
                           spec->gpus);
    return 0;
}

/* batch, grad_accum and global_batch determine one another:
 * global_batch = batch * replicas * grad_accum.
 */
static int resolve_batch (struct dn_spec *spec, struct dn_err *err)
{
    int64_t replicas = spec->gpus / (spec->tp * spec->pp);

    if (spec->batch == DN_UNSET)
        spec->batch = spec->micro_batch;
    if (spec->batch == DN_UNSET && spec->global_batch == DN_UNSET)
        return dn_err_set (
            err, DN_E_SYNTAX, "batch: missing, expected batch=N per GPU");
    if (spec->batch == DN_UNSET) {
        int64_t parts =
            replicas * (spec->grad_accum == DN_UNSET ? 1 : spec->grad_accum);

        if (spec->global_batch % parts != 0)
            return dn_err_set (err,
                               DN_E_RANGE,
                               "global_batch: %" PRId64 " is not a multiple of GPUs * "
                               "grad_accum = %" PRId64,
                               spec->global_batch,
                               parts);
        spec->batch = spec->global_batch / parts;
    }
    if (spec->grad_accum == DN_UNSET) {
        spec->grad_accum = 1;
        if (spec->global_batch > spec->batch * replicas)
            spec->grad_accum = spec->global_batch / (spec->batch * replicas);
    }
    if (spec->global_batch != DN_UNSET
        && spec->global_batch != spec->batch * replicas * spec->grad_accum)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "global_batch: %" PRId64
                           " is not batch * GPUs * grad_accum = "
                           "%" PRId64,
                           spec->global_batch,
                           spec->batch * replicas * spec->grad_accum);
    spec->global_batch = spec->batch * replicas * spec->grad_accum;
    return 0;
}

/* A number of one or two digits at *text, which is moved past it; -1 if there is none.
 */
static int read_part (const char **text)
{
    int value = -1;

    for (int i = 0; i < 2 && **text >= '0' && **text <= '9'; i++)
        value = (value < 0 ? 0 : 10 * value) + *(*text)++ - '0';
    return **text >= '0' && **text <= '9' ? -1 : value;
}

int dn_spec_torch (const struct dn_spec *spec)
{
    const char *at = spec->torch;
    int major = read_part (&at);
    int minor;

    if (major < 0 || *at++ != '.')
        return -1;
    minor = read_part (&at);
    return minor < 0 ? -1 : 100 * major + minor;
}

/* Sizes and versions that no key's range can state. */
static int check_software (const struct dn_spec *spec, struct dn_err *err)
{
    if (spec->torch[0] != '\0' && dn_spec_torch (spec) < 0)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "torch: '%s' is not a version, expected one such as 2.4",
                           spec->torch);
    if (spec->seq_mean != DN_UNSET && spec->seq_len != DN_UNSET
        && spec->seq_mean > spec->seq_len)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "seq_mean: %" PRId64 ", expected at most seq_len %" PRId64,
                           spec->seq_mean,
                           spec->seq_len);
    return 0;
}

/* The keys that 'result' has and 'given' has not. */
static struct dn_keyset find_derived (const struct dn_spec *given,
                                      const struct dn_spec *result)
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);
    struct dn_keyset derived = given->derived;

    for (int i = 0; i < n_keys; i++)
        if (dn_spec_has (result, &keys[i]) && !dn_spec_has (given, &keys[i]))
            dn_keyset_add (&derived, i);
    return derived;
}

int dn_spec_resolve (struct dn_spec *spec,
                     const struct dn_datasets *datasets,
                     int64_t n_gpus,
                     struct dn_err *err)
{
    struct dn_spec result = *spec;

    if (result.model[0] == '\0' && (result.params < 0 || result.flops < 0))
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "model: missing, expected model=NAME, or params= and flops= "
                           "of an unknown network");
    if (check_software (&result, err) < 0 || apply_dataset (&result, datasets, err) < 0
        || resolve_gpus (&result, n_gpus, err) < 0 || resolve_batch (&result, err) < 0)
        return -1;
    result.derived = find_derived (spec, &result);
    *spec = result;
    return 0;
}

double dn_spec_runs (const struct dn_spec *spec)
{
    return spec->runs == DN_UNSET ? 1 : (double) spec->runs;
}

double dn_spec_steps (const struct dn_spec *spec)
{
    double per_step = (double) spec->global_batch;

    if (spec->steps != DN_UNSET)
        return (double) spec->steps;
    if (spec->epochs >= 0 && spec->samples != DN_UNSET)
        return spec->epochs * ceil ((double) spec->samples / per_step);
    if (spec->tokens >= 0 && spec->seq_len != DN_UNSET)
        return ceil (spec->tokens / (per_step * (double) spec->seq_len));
    return -1;
}
