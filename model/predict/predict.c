/* predict.c - one run on one device: the parts in order, and how sure they are
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/predict.h"

#include <math.h>
#include <string.h>

#include "predict/stages.h"

static const char *const stage_text[] = {"forward",
                                         "backward_data",
                                         "backward_weight",
                                         "recompute",
                                         "optimizer",
                                         "communication",
                                         "exposed_communication",
                                         "input",
                                         "host"};
static const char *const memory_text[] = {"weights",
                                          "gradients",
                                          "optimizer",
                                          "activations",
                                          "workspace",
                                          "buckets",
                                          "context",
                                          "slack"};

const struct dn_names dn_stage_names = {stage_text, (int) DN_N_ELEMENTS (stage_text)};
const struct dn_names dn_memory_class_names = {memory_text,
                                               (int) DN_N_ELEMENTS (memory_text)};

double dn_activation_bytes (enum dn_precision precision)
{
    return precision == DN_PRECISION_FP16 || precision == DN_PRECISION_BF16
                   || precision == DN_PRECISION_HALF
               ? 2
               : 4;
}

bool dn_is_sparse (const struct dn_op *op)
{
    /* Language models read hundreds of rows per sample; the tables of NCF are smaller.
     */
    return op->kind == DN_OP_EMBEDDING && op->in <= 64 && op->params > 64e6;
}

static double dense_params (const struct dn_graph *graph)
{
    double params = graph->params;

    for (int i = 0; i < graph->n_ops; i++)
        if (dn_is_sparse (&graph->ops[i]))
            params -= graph->ops[i].repeat * graph->ops[i].params;
    return params;
}

/* tf32 work runs as fp32 where the catalogue has no such unit. Without a stated
 * precision the slowest is assumed: a limit must not be built on hope.
 */
static enum dn_precision effective_precision (const struct dn_spec *spec,
                                              const struct dn_device *device)
{
    if (spec->precision == DN_PRECISION_UNKNOWN)
        return DN_PRECISION_FP32;
    if (spec->precision == DN_PRECISION_TF32 && device->tf32 <= 0)
        return DN_PRECISION_FP32;
    return spec->precision;
}

/* Jobs of more devices than a node holds run across nodes, whatever was said. */
static double node_count (const struct dn_spec *spec, const struct dn_device *device)
{
    return fmax ((double) spec->nodes,
                 ceil ((double) spec->gpus / (double) device->per_node));
}

/* A run of forward and backward passes alone on several GPUs of one node times a
 * network, it does not train one. In PyTorch that takes one line, nn.DataParallel; all
 * else needs a launcher, process groups and a sampler, which belong to a training
 * script, and that has an optimizer.
 */
static enum dn_parallel effective_parallel (const struct dn_spec *spec)
{
    bool simple = spec->framework == DN_FRAMEWORK_PYTORCH && spec->stack != DN_STACK_NGC
                  && spec->nodes <= 1 && spec->tp <= 1 && spec->pp <= 1;

    if (spec->parallel != DN_PARALLEL_UNKNOWN)
        return spec->parallel;
    return simple && spec->gpus > 1 && spec->optimizer == DN_OPTIMIZER_NONE
               ? DN_PARALLEL_DATAPARALLEL
               : DN_PARALLEL_DP;
}

double dn_step_doubt (const struct dn_case *c, bool learned)
{
    const struct dn_constants *k = c->constants;
    const struct dn_spec *spec = c->spec;
    double variance = 0;
    int n_assumed = 0;

    if (spec->precision == DN_PRECISION_UNKNOWN)
        variance += k->sigma_precision * k->sigma_precision;
    /* No run of learn/data is on a CPU, and libraries make all the difference there: a
     * factor of ten either way is two and a half standard deviations, a guess. */
    if (c->device->arch == DN_ARCH_CPU)
        variance += 0.9 * 0.9;
    n_assumed += spec->optimizer == DN_OPTIMIZER_UNKNOWN ? 1 : 0;
    n_assumed += spec->model[0] == '\0' ? 1 : 0;
    n_assumed += !learned && c->device->sms == 0 ? 1 : 0;
    /* The network between nodes is not known. */
    n_assumed += !learned && spec->nodes > 1 ? 1 : 0;
    variance += n_assumed * k->sigma_assumed * k->sigma_assumed;
    if (c->model_parallel > 1 && !learned)
        variance += k->sigma_parallel * k->sigma_parallel;
    return variance;
}

struct dn_case dn_case_of (const struct dn_constants *constants,
                           const struct dn_spec *spec,
                           const struct dn_graph *graph,
                           const struct dn_device *device,
                           double cpus_per_gpu)
{
    double model_parallel = (double) (spec->tp * spec->pp);

    return (struct dn_case){
        .constants = constants,
        .spec = spec,
        .graph = graph,
        .device = device,
        .precision = effective_precision (spec, device),
        .batch = (double) spec->batch,
        .padded = (double) spec->batch * graph->padding,
        .replicas = (double) spec->gpus / model_parallel,
        .model_parallel = model_parallel,
        .dense_params = dense_params (graph),
        .nodes = node_count (spec, device),
        .parallel = effective_parallel (spec),
        .cpus_per_gpu = cpus_per_gpu,
    };
}

/* The power law was fitted to what data sheets say of a step: how busy the device is by
 * them. What was measured would count twice.
 */
static void predict_power (const struct dn_case *c, struct dn_estimate *estimate)
{
    struct dn_device sheet;
    struct dn_case other = *c;
    struct dn_estimate by_sheet = *estimate;

    if (!dn_device_is_measured (c->device)) {
        dn_predict_power (c, estimate);
        return;
    }
    sheet = dn_device_sheet (c->device);
    other.device = by_sheet.device = &sheet;
    dn_predict_step (&other, &by_sheet);
    dn_predict_power (&other, &by_sheet);
    estimate->power_w = by_sheet.power_w;
}

void dn_predict (const struct dn_constants *constants,
                 const struct dn_spec *spec,
                 const struct dn_graph *graph,
                 const struct dn_device *device,
                 double cpus_per_gpu,
                 struct dn_estimate *estimate)
{
    struct dn_case c = dn_case_of (constants, spec, graph, device, cpus_per_gpu);

    memset (estimate, 0, sizeof (*estimate));
    estimate->device = device;
    estimate->supported = dn_device_supports (device, spec->precision);
    dn_predict_step (&c, estimate);
    estimate->white_step_s = estimate->step_s.p50;
    estimate->site = 1;
    /* What the white box misses on a model it has never seen, and every assumption. */
    estimate->step_s.sigma = sqrt (constants->sigma_step * constants->sigma_step
                                   + dn_step_doubt (&c, false));
    estimate->confidence = exp (-estimate->step_s.sigma);
    dn_predict_memory (&c, estimate);
    estimate->fits = estimate->supported && estimate->gpu_mem.p50 <= device->memory;
    predict_power (&c, estimate);
    dn_predict_run (&c, estimate);
}

double dn_estimate_cost (const struct dn_estimate *estimate,
                         int64_t n_gpus,
                         double cost_per_hour)
{
    if (estimate->train_s.p50 < 0)
        return -1;
    return estimate->train_s.p50 / 3600 * (double) n_gpus * cost_per_hour;
}

double dn_estimate_price_performance (const struct dn_estimate *estimate,
                                      int64_t n_gpus,
                                      double cost_per_hour)
{
    if (cost_per_hour <= 0 || n_gpus < 1)
        return -1;
    return estimate->samples_per_s / ((double) n_gpus * cost_per_hour);
}
