/* resolve.c - checking keys against each other, and deriving values
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/messages.h"

/* Who published it does not count, unless the table has it so: tatsu-lab/alpaca. */
static const struct dn_dataset *find_dataset (const struct dn_datasets *datasets,
                                              const char *name)
{
    const char *slash = strrchr (name, '/');
    const char *own = slash ? slash + 1 : name;
    const struct dn_dataset *found = NULL;

    for (int i = 0; i < datasets->n_rows; i++) {
        const struct dn_dataset *row = &datasets->rows[i];

        if (dn_span_is (dn_span_of (name), row->name))
            return row;
        if (dn_span_is (dn_span_of (own), row->name))
            found = row;
    }
    return found;
}

static const char *dataset_at (const void *names, int i)
{
    const struct dn_datasets *datasets = names;

    return i < datasets->n_rows ? datasets->rows[i].name : NULL;
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
        if (spec->epochs < 0 || spec->samples != DN_UNSET || spec->tokens >= 0)
            return 0;
        return dn_refuse (
            err,
            no_dataset,
            spec->dataset,
            dn_word_meant (dn_span_of (spec->dataset), dataset_at, datasets).text);
    }
    if (spec->samples == DN_UNSET)
        spec->samples = row->samples;
    if (spec->samples == DN_UNSET && spec->tokens < 0 && spec->epochs >= 0)
        spec->tokens = spec->epochs * row->tokens;
    if (spec->sample_bytes == DN_UNSET)
        spec->sample_bytes = row->sample_bytes;
    if (spec->decode == DN_DECODE_UNKNOWN)
        spec->decode = row->decode;
    return 0;
}

/* A key that counts devices or parts; 1 where it was not given. */
static int64_t count_of (int64_t value)
{
    return value == DN_UNSET ? 1 : value;
}

/* GPUs that share the work on one batch. */
static int64_t sharers (const struct dn_spec *spec)
{
    return spec->tp * spec->pp * count_of (spec->cp);
}

/* Expert parallelism splits the copies of the weights, and the experts. */
static int check_experts (const struct dn_spec *spec, struct dn_err *err)
{
    int64_t ep = count_of (spec->ep);
    int64_t copies = spec->gpus / (spec->tp * spec->pp);

    if (copies % ep != 0)
        return dn_refuse (err, ep_gpus, ep, copies);
    if (spec->experts != DN_UNSET && spec->experts % ep != 0)
        return dn_refuse (err, ep_experts, ep, spec->experts);
    return 0;
}

/* The first and the last stage of an interleaved schedule may have a layer less, in
 * whose place they have the embedding and the loss (Megatron-LM).
 */
static bool are_chunks_even (int64_t layers, int64_t chunks)
{
    return layers % chunks == 0 || (layers + 1) % chunks == 0
           || (layers + 2) % chunks == 0;
}

static int check_split (const struct dn_spec *spec, struct dn_err *err)
{
    int64_t cp = count_of (spec->cp);
    int64_t vpp = count_of (spec->vpp);

    if (spec->sp == 1 && spec->tp <= 1)
        return dn_refuse (err, sp);
    if (vpp > 1 && spec->pp <= 1)
        return dn_refuse (err, vpp_pp, vpp);
    if (vpp > 1 && spec->layers != DN_UNSET
        && !are_chunks_even (spec->layers, spec->pp * vpp))
        return dn_refuse (err, vpp_layers, spec->pp * vpp, spec->layers);
    if (cp > 1 && spec->seq_len != DN_UNSET && spec->seq_len % cp != 0)
        return dn_refuse (err, cp, cp, spec->seq_len);
    return 0;
}

/* The host takes over what a device owns alone: its shard, or all of it on one GPU.
 * DeepSpeed has weights there with ZeRO-3 only, PyTorch with FSDP.
 */
static int check_offload (const struct dn_spec *spec, struct dn_err *err)
{
    bool weights = spec->offload == DN_OFFLOAD_PARAMS;

    if ((spec->offload != DN_OFFLOAD_OPTIMIZER && !weights) || spec->gpus == 1)
        return 0;
    if (spec->parallel >= (weights ? DN_PARALLEL_ZERO3 : DN_PARALLEL_ZERO1))
        return 0;
    return dn_refuse (err,
                      offload,
                      weights ? "params" : "optimizer",
                      spec->gpus,
                      weights ? "zero3" : dn_say_zero_stages);
}

static int check_gpus (const struct dn_spec *spec, struct dn_err *err)
{
    if (spec->parallel == DN_PARALLEL_DATAPARALLEL
        && (spec->nodes > 1 || sharers (spec) > 1 || count_of (spec->ep) > 1))
        return dn_refuse (err, dataparallel);
    if (spec->gpus % sharers (spec) != 0)
        return dn_refuse (err,
                          gpus_multiple,
                          spec->gpus,
                          count_of (spec->cp) > 1 ? dn_say_times_cp : "",
                          sharers (spec));
    if (spec->nodes > spec->gpus)
        return dn_refuse (err, nodes_gpus, spec->nodes, spec->gpus);
    return 0;
}

static int resolve_gpus (struct dn_spec *spec, int64_t n_gpus, struct dn_err *err)
{
    struct dn_net net;

    if (spec->gpus == DN_UNSET)
        spec->gpus = n_gpus > 0 ? n_gpus : 1;
    spec->tp = count_of (spec->tp);
    spec->pp = count_of (spec->pp);
    spec->nodes = count_of (spec->nodes);
    if (check_gpus (spec, err) < 0 || check_experts (spec, err) < 0
        || check_split (spec, err) < 0 || check_offload (spec, err) < 0)
        return -1;
    return spec->net[0] != '\0' ? dn_net_read (spec->net, &net, err) : 0;
}

/* batch, grad_accum and global_batch determine one another:
 * global_batch = batch * replicas * grad_accum.
 */
static int resolve_batch (struct dn_spec *spec, struct dn_err *err)
{
    int64_t replicas = spec->gpus / sharers (spec);

    if (spec->batch == DN_UNSET && spec->global_batch == DN_UNSET)
        return dn_refuse (err, no_batch);
    if (spec->batch == DN_UNSET) {
        int64_t parts =
            replicas * (spec->grad_accum == DN_UNSET ? 1 : spec->grad_accum);

        if (spec->global_batch % parts != 0)
            return dn_refuse (err, batch_multiple, spec->global_batch, parts);
        spec->batch = spec->global_batch / parts;
    }
    if (spec->grad_accum == DN_UNSET) {
        spec->grad_accum = 1;
        if (spec->global_batch > spec->batch * replicas)
            spec->grad_accum = spec->global_batch / (spec->batch * replicas);
    }
    if (spec->global_batch != DN_UNSET
        && spec->global_batch != spec->batch * replicas * spec->grad_accum)
        return dn_refuse (err,
                          batch_product,
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

const char *dn_spec_shown (const struct dn_spec *spec)
{
    return spec->name[0] != '\0' ? spec->name : spec->model;
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
        return dn_refuse (err, torch, spec->torch);
    if (spec->seq_mean != DN_UNSET && spec->seq_len != DN_UNSET
        && spec->seq_mean > spec->seq_len)
        return dn_refuse (err, seq_mean, spec->seq_mean, spec->seq_len);
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
        return dn_refuse (err, no_model);
    if (check_software (&result, err) < 0 || apply_dataset (&result, datasets, err) < 0
        || resolve_gpus (&result, n_gpus, err) < 0 || resolve_batch (&result, err) < 0)
        return -1;
    if (result.lora != DN_UNSET && result.quant == DN_QUANT_UNKNOWN)
        result.quant = dn_spec_quant_named (result.model);
    /* That of a config.json has the format at its end. */
    if (result.lora != DN_UNSET && result.quant == DN_QUANT_UNKNOWN)
        result.quant = dn_spec_quant_named (result.name);
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

enum dn_reason_code dn_spec_lacks_work (const struct dn_spec *spec)
{
    if (dn_spec_steps (spec) >= 0)
        return DN_REASON_NONE;
    if (spec->epochs >= 0 && spec->tokens < 0)
        return DN_REASON_work_unknown_epochs;
    return spec->tokens >= 0 ? DN_REASON_work_unknown_tokens : DN_REASON_work_unknown;
}
