/* whitebox.c - one run on one device: the parts in order, their uncertainty, and the
 * run around the steps: duration, energy, throughput
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/whitebox.h"

#include <math.h>
#include <stdlib.h>

#include "base/messages.h"
#include "predict/work.h"

/* Spread of the time over the values of a key that the estimate does not depend on. The
 * largest of these effects is checkpointing (4/3 of the time): one standard deviation.
 */
#define SIGMA_UNREAD 0.3

double dn_whitebox_doubt (const struct dn_case *c,
                          const struct dn_estimate *estimate,
                          bool learned)
{
    const struct dn_constants *k = c->constants;
    const struct dn_spec *spec = c->spec;
    double variance = 0;
    int n_assumed = 0;
    int n_unread =
        dn_keyset_count (dn_keyset_minus (estimate->unread, c->graph->unread));

    if (spec->precision == DN_PRECISION_UNKNOWN)
        variance += k->sigma_precision * k->sigma_precision;
    variance += c->device->generation->sigma * c->device->generation->sigma;
    n_assumed += spec->optimizer == DN_OPTIMIZER_UNKNOWN ? 1 : 0;
    n_assumed += spec->model[0] == '\0' ? 1 : 0;
    /* Which of the parameters learn. */
    n_assumed += spec->trainable >= 0 && spec->trainable < 1 ? 1 : 0;
    /* No step of several passes has been measured. */
    n_assumed += c->graph->others > 0 ? 1 : 0;
    n_assumed += !learned && c->device->sms == 0 ? 1 : 0;
    /* The network between nodes is unknown. */
    n_assumed += !learned && spec->nodes > 1 && spec->net[0] == '\0' ? 1 : 0;
    variance += n_assumed * k->sigma_assumed * k->sigma_assumed;
    variance += n_unread * SIGMA_UNREAD * SIGMA_UNREAD;
    if ((spec->tp * spec->pp > 1 || spec->cp > 1
         || (spec->ep > 1 && c->graph->experts > 0))
        && !learned)
        variance += k->sigma_parallel * k->sigma_parallel;
    return variance;
}

/* Seconds of all trainings of a job (runs=), whose steps take 'step_s', with 'start_s'
 * before the steps of each are steady and 'epochs_s' between its epochs; -1 when the
 * amount of work is unknown.
 */
static double run_seconds (const struct dn_constants *constants,
                           const struct dn_spec *spec,
                           double step_s,
                           double start_s,
                           double epochs_s)
{
    double n_steps = dn_spec_steps (spec);
    double evaluations = constants->eval_share;

    if (n_steps < 0)
        return -1;
    /* Evaluation is a forward pass: about a third of a training step's time. */
    if (spec->eval_every > 0 && spec->eval_samples > 0)
        evaluations = (double) spec->eval_samples / (double) spec->global_batch
                      / (double) spec->eval_every / 3;
    return dn_spec_runs (spec)
           * (n_steps * step_s * (1 + evaluations) + start_s + epochs_s);
}

/* Seconds until steps are steady: the program, weights that were trained before, the
 * names of a data set of files, other nodes, compilation.
 */
static double start_seconds (const struct dn_case *c)
{
    const struct dn_constants *k = c->constants;
    const struct dn_spec *spec = c->spec;
    unsigned compiles = DN_HABIT_COMPILES_STEP | DN_HABIT_CAPTURES;
    double loaded = c->graph->frozen_params;
    double start = k->start_s + k->join_s * log2 (dn_max ((double) spec->nodes, 1));

    if (loaded > 0)
        start += 2 * (loaded + c->graph->params) / k->storage;
    if (dn_decode_of (spec, c->graph) == DN_DECODE_JPEG && spec->samples > 0
        && spec->input != DN_INPUT_SYNTHETIC)
        start += (double) spec->samples / k->listing;
    if (spec->compile == 1 || (dn_habits_of (spec) & compiles) == compiles)
        for (int i = 0; i < c->graph->n_ops; i++)
            start += k->compile_s * c->graph->ops[i].repeat;
    return start;
}

/* Seconds between two epochs: loaders start again, what learns is written with its
 * optimizer.
 */
static double epoch_seconds (const struct dn_case *c)
{
    double states = dn_optimizer_traits[c->spec->optimizer].states;

    return c->constants->epoch_s
           + c->graph->params * 4 * (1 + states) / c->constants->storage;
}

void dn_run_fill (const struct dn_case *c, struct dn_estimate *estimate)
{
    double gpus = (double) c->spec->gpus;
    double epochs = c->spec->epochs > 0 ? c->spec->epochs : 1;

    estimate->samples_per_s = (double) c->spec->global_batch / estimate->step_s.p50;
    estimate->n_steps = dn_spec_steps (c->spec);
    estimate->train_s = estimate->step_s;
    estimate->train_s.p50 = run_seconds (c->constants,
                                         c->spec,
                                         estimate->step_s.p50,
                                         start_seconds (c),
                                         epochs * epoch_seconds (c));
    estimate->energy_j = -1;
    if (estimate->n_steps >= 0)
        estimate->energy_j = estimate->train_s.p50 * estimate->power_w * gpus;
}

/* Attention over fewer tokens is a small part of the work. */
#define MANY_TOKENS 512

/* Are the kernels of an attention that matters those that are usual? */
static bool is_attention_open (const struct dn_case *c)
{
    const struct dn_spec *spec = c->spec;

    if (spec->attention > DN_ATTENTION_AUTO || dn_age_of (spec) != DN_AGE_UNKNOWN
        || !dn_attention_reads_age (c))
        return false;
    for (int i = 0; i < c->graph->n_ops; i++)
        if (c->graph->ops[i].kind == DN_OP_ATTENTION
            && c->graph->ops[i].n >= MANY_TOKENS)
            return true;
    return false;
}

/* What all devices of a case have in common. */
struct common {
    const struct dn_case *any;
    struct dn_keyset given;
    bool attention_open;
};

/* One device, whose operators are known; 'content' is that of its memory.
 *
 * The power law was fitted to steps predicted from data sheets, that is, to how busy
 * the device is by them. Measured rates would count twice: with them the power is that
 * of 'sheet' (NULL: there are none).
 */
static void fill (const struct common *common,
                  const struct dn_lane *lane,
                  const struct dn_content *content,
                  const struct dn_estimate *sheet,
                  struct dn_estimate *estimate)
{
    struct dn_case c = *common->any;
    const struct dn_constants *k = c.constants;

    c.device = lane->setup.device;
    *estimate = (struct dn_estimate){
        .device = c.device,
        .unread = dn_unread_of (&c, &common->given),
        .supported = dn_device_supports (c.device, c.spec->precision),
        .tokens = (int32_t) c.graph->tokens,
        .attention_open = common->attention_open,
        .site = 1};
    dn_whitebox_step (lane, estimate);
    estimate->white_step_s = estimate->step_s.p50;
    /* The error of the white box on a model that it was not fitted to, and every
     * assumption.
     */
    estimate->step_s.sigma =
        sqrt (k->sigma_step * k->sigma_step + dn_whitebox_doubt (&c, estimate, false));
    estimate->confidence = dn_range_within (estimate->step_s, DN_CONFIDENCE_FACTOR);
    dn_whitebox_memory (&lane->setup, content, estimate);
    estimate->fits = dn_estimate_may_fit (estimate);
    if (sheet) {
        estimate->power_w = sheet->power_w;
        estimate->power_w_p95 = sheet->power_w_p95;
    } else {
        dn_whitebox_power (&lane->setup, &lane->pass.hollow, estimate);
    }
    dn_run_fill (&c, estimate);
}

/* One device, and the same by its data sheet, which differs where rates are measured.
 */
static void fill_both (const struct common *common,
                       const struct dn_lane *lane,
                       const struct dn_content *content,
                       struct dn_estimate *estimate,
                       struct dn_estimate *sheet)
{
    if (!lane->sheet) {
        fill (common, lane, content, NULL, estimate);
        *sheet = *estimate;
        return;
    }
    fill (common, lane->sheet, content, NULL, sheet);
    sheet->device = lane->setup.device;
    fill (common, lane, content, sheet, estimate);
}

/* Append to the lanes of 'n' devices those of their data sheets, where rates are
 * measured: one pass over the operators is for all. Return the number of lanes.
 */
static int add_sheets (struct dn_lane lanes[], int n, struct dn_device sheets[])
{
    int n_lanes = n;

    for (int i = 0; i < n; i++) {
        struct dn_lane *lane = &lanes[i];
        struct dn_lane *sheet = &lanes[n_lanes];

        lane->sheet = NULL;
        if (!dn_device_is_measured (lane->setup.device))
            continue;
        dn_device_sheet (lane->setup.device, sheets);
        sheet->setup = lane->setup;
        sheet->setup.device = sheets++;
        lane->sheet = sheet;
        n_lanes++;
    }
    return n_lanes;
}

/* The first 'n' of the lanes, by the deadline; 'sheets' NULL: not wanted. */
static void estimate_all (const struct dn_case *c,
                          struct dn_lane lanes[],
                          int n,
                          int n_lanes,
                          struct dn_estimate estimates[],
                          struct dn_estimate sheets[])
{
    const struct dn_deadline *deadline = lanes->setup.deadline;
    const struct common common = {c, dn_spec_given (c->spec), is_attention_open (c)};

    if (dn_deadline_passed (deadline))
        return;
    dn_passes_find (lanes, n_lanes);
    for (int i = 0; i < n; i++) {
        struct dn_content content;

        if (lanes[i].follows)
            continue;
        content = dn_content_find (&lanes[i].setup);
        for (struct dn_lane *lane = &lanes[i]; lane && lane < lanes + n;
             lane = lane->next) {
            struct dn_estimate sheet;
            ptrdiff_t at = lane - lanes;

            if (dn_deadline_passed (deadline))
                return;
            fill_both (
                &common, lane, &content, &estimates[at], sheets ? &sheets[at] : &sheet);
        }
    }
}

void dn_whitebox (const struct dn_case *c, struct dn_estimate *estimate)
{
    struct dn_lane lanes[2];
    struct dn_device sheet;

    dn_setup_init (&lanes->setup, c, NULL);
    lanes->setup.deadline = NULL;
    estimate_all (c, lanes, 1, add_sheets (lanes, 1, &sheet), estimate, NULL);
}

int dn_whitebox_all (const struct dn_case *c,
                     const struct dn_device *const devices[],
                     int n,
                     const struct dn_deadline *deadline,
                     struct dn_estimate estimates[],
                     struct dn_estimate sheets[],
                     struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct dn_lane *lanes =
        malloc (2 * (size_t) n * sizeof (*lanes));
    dn_cleanup (dn_free_ptr) struct dn_device *by_sheet =
        malloc ((size_t) n * sizeof (*by_sheet));

    if (!lanes || !by_sheet)
        return dn_refuse (err, no_memory);
    for (int i = 0; i < n; i++) {
        struct dn_case own = *c;

        if (dn_deadline_passed (deadline))
            return 0;
        own.device = devices[i];
        dn_setup_init (&lanes[i].setup, &own, i > 0 ? &lanes[i - 1].setup : NULL);
        lanes[i].setup.deadline = deadline;
    }
    if (n > 0)
        estimate_all (c, lanes, n, add_sheets (lanes, n, by_sheet), estimates, sheets);
    return 0;
}
