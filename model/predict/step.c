/* step.c - wall time of one optimizer step
 *
 * The work of all operators (work.c). The host launches their kernels meanwhile,
 * launch_s each, and runs ahead where the device is the slower one (struct dn_lag).
 * Then follow a fixed host time, the input pipeline (a smooth maximum), stragglers, and
 * the part of the communication that is not overlapped. Only this file overlaps stages.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/work.h"

#include <math.h>

/* nn.DataParallel drives all devices from one process: its threads take turns in the
 * interpreter during the forward pass, and each time every module is copied for every
 * device. The backward pass runs outside of the interpreter, a thread per device, but
 * these wait for one another, too.
 */
double dn_host_copies (const struct dn_setup *c, int direction)
{
    const struct dn_constants *k = c->constants;

    if (c->parallel != DN_PARALLEL_DATAPARALLEL || c->replicas <= 1)
        return 1;
    return direction == DN_FORWARD ? c->replicas * (1 + k->dataparallel_host)
                                   : 1 + k->dataparallel_threads;
}

/* Seconds of a group on one device, by what runs first. */
struct span {
    double device[2]; /* forward and backward */
    double host[2];
};

/* Blocks that devices share exchange activations, once per pass. */
static void add_blocks (const struct dn_lane *lane, struct span *span)
{
    struct dn_exchange exchange = dn_block_exchange (&lane->setup);
    double calls = exchange.calls * lane->rates.launch_s;
    const double *others = lane->setup.graph->exchanges;
    double forward = 1 + others[0];
    double backward = (1 + others[1]) * (dn_split_passes (&lane->setup) - 1);

    span->device[0] += forward * exchange.seconds;
    span->host[0] += forward * calls;
    span->device[1] += backward * exchange.seconds;
    span->host[1] += backward * calls;
}

/* Add the sums of a group to the pass. */
static struct span take_sums (struct dn_lane *lane, bool block)
{
    struct dn_pass *pass = &lane->pass;
    struct dn_sums *sums = &pass->sums;
    const double open[2] = {sums->open[0], sums->open[1]};
    double *device = block ? pass->block_device : pass->device;
    double time[DN_N_PARTS];
    double host[DN_N_PARTS];

    for (int i = 0; i < DN_N_PARTS; i++)
        time[i] = lane->rates.slowdown
                  * (sums->device[i] + sums->launches[i] * lane->rates.kernel_s);
    for (int i = 0; i < DN_N_PARTS; i++)
        host[i] = sums->launches[i] * pass->launch_s[i];
    for (int i = 0; i < DN_N_PARTS; i++)
        device[i] += time[i];
    *sums = (struct dn_sums){0};
    return (struct span){
        {time[DN_FORWARD] + open[0],
         time[DN_DATA] + time[DN_WEIGHT] + time[DN_AGAIN] + open[1]},
        {host[DN_FORWARD], host[DN_DATA] + host[DN_WEIGHT] + host[DN_AGAIN]}};
}

static void close_group (struct dn_lane *lane, bool block)
{
    struct dn_pass *pass = &lane->pass;
    struct dn_lag *lag = &pass->lag;
    struct span span = take_sums (lane, block);
    double ahead; /* of the device, forward */
    double behind;

    if (block && pass->block_seconds <= 0)
        add_blocks (lane, &span);
    ahead = span.device[0] - span.host[0];
    behind = span.device[1] - span.host[1];
    if (pass->in_turn) {
        pass->waits += dn_max (ahead, 0) + dn_max (behind, 0);
    } else {
        lag->now = dn_max (lag->now + ahead, 0);
        lag->floor = dn_max (lag->slope, lag->floor);
        lag->slope += behind;
    }
    pass->host += span.host[0] + span.host[1];
    if (block)
        pass->block_seconds += dn_max (span.device[0], span.host[0])
                               + dn_max (span.device[1], span.host[1]);
}

/* Share of the multiprocessors that one time step of a recurrent layer keeps busy. Its
 * product has few rows, those of the batch, and the next one waits for it: the last
 * wave of tiles is never full. Those without a tile draw little.
 */
static double filled (const struct dn_setup *c, const struct dn_op *op)
{
    const double tile = 64;
    double sms = (double) c->device->sms;
    double rows = op->m * c->computed / op->steps;
    double tiles = ceil (rows / tile) * ceil (op->n / tile);

    return sms > 0 && tiles > 0 ? tiles / (ceil (tiles / sms) * sms) : 1;
}

static void add_hollow (struct dn_lane *lane,
                        const struct dn_op *op,
                        const struct dn_work *work)
{
    struct dn_hollow *hollow = &lane->pass.hollow;
    double slowdown = lane->rates.slowdown;

    if (op->kind != DN_OP_RNN || op->steps <= 1)
        return;
    hollow->waits += slowdown * work->wait_s;
    hollow->unfilled +=
        slowdown * (work->compute_s + work->memory_s) * (1 - filled (&lane->setup, op));
}

/* Communication behind attention overlaps the work of its direction. Return what of it
 * takes longer.
 */
static double open_ring (struct dn_pass *pass, double ring, double time)
{
    double open = dn_max (ring - time, 0);

    pass->ring += ring;
    pass->ring_open += open;
    return open;
}

/* What is computed again in the backward pass communicates again. */
static void add_ring (struct dn_lane *lane,
                      const struct dn_load *load,
                      const struct dn_work *work,
                      int direction)
{
    struct dn_pass *pass = &lane->pass;
    const struct dn_rates *r = &lane->rates;
    double ring = dn_ring_attention (&lane->setup, load->op);
    double time = r->slowdown
                  * (work->compute_s + work->memory_s + work->wait_s
                     + work->launches * r->kernel_s);
    double open;

    if (ring <= 0 || direction == DN_WEIGHT)
        return;
    open = open_ring (pass, direction == DN_DATA ? 2 * ring : ring, time);
    pass->sums.open[direction != DN_FORWARD] += open;
    if (direction != DN_FORWARD || !load->again)
        return;
    open_ring (pass, ring, time);
    pass->sums.open[1] += open;
}

/* What is computed again in the backward pass runs in it. */
static inline void add_work (struct dn_sums *sums,
                             const struct dn_load *load,
                             int direction,
                             double time,
                             double launches)
{
    sums->device[direction] += time;
    sums->launches[direction] += launches;
    if (direction != DN_FORWARD || !load->again)
        return;
    sums->device[DN_AGAIN] += time;
    sums->launches[DN_AGAIN] += launches;
}

/* The seconds of a direction to a part of the sums of all devices that run it alike. */
static inline void add_part (struct dn_lane *first,
                             const struct dn_load *load,
                             int direction,
                             int part)
{
    const struct dn_amount *amount = &load->amount[direction];
    double launches = load->launches[direction];

    if (launches <= 0)
        return;
    for (struct dn_lane *lane = first; lane; lane = lane->next) {
        lane->pass.sums.device[part] +=
            amount->arithmetic / lane->rates.flops[amount->by]
            + amount->bytes / lane->rates.route[amount->route];
        lane->pass.sums.launches[part] += launches;
    }
}

static void add_plain (struct dn_lane *first, const struct dn_load *load)
{
    for (int d = 0; d < DN_N_DIRECTIONS; d++)
        add_part (first, load, d, d);
    if (load->again)
        add_part (first, load, DN_FORWARD, DN_AGAIN);
}

static void add_other (struct dn_lane *lane, const struct dn_load *load)
{
    for (int d = 0; d < DN_N_DIRECTIONS; d++) {
        struct dn_work work = dn_work_of (lane, load, d);

        add_work (&lane->pass.sums,
                  load,
                  d,
                  work.compute_s + work.memory_s + work.wait_s,
                  work.launches);
        add_hollow (lane, load->op, &work);
        if (lane->setup.context > 1)
            add_ring (lane, load, &work, d);
    }
}

/* Add a load to 'first' and the devices that run it alike. */
static void add_load (struct dn_lane *first, const struct dn_load *load)
{
    struct dn_group *group = &first->group;
    double repeat = load->op->repeat;
    bool every = load->block && repeat >= (double) first->setup.graph->block_layers;
    bool ends = load->block != group->block || every != group->every
                || (!every && (repeat != group->repeat || repeat <= 1));

    for (struct dn_lane *lane = first; lane; lane = lane->next) {
        if (ends)
            close_group (lane, group->block);
        if (!load->plain)
            add_other (lane, load);
        lane->pass.kernels += load->kernels;
    }
    if (load->plain)
        add_plain (first, load);
    *group = (struct dn_group){repeat, every, load->block};
}

/* Add one operator, or the kernels that run in its place, to devices that run it alike.
 */
static void add_operator (struct dn_lane *first, const struct dn_op *op)
{
    const struct dn_setup *c = &first->setup;
    struct dn_op room[DN_PARTS_MAX];
    struct dn_load load;
    int n;
    const struct dn_op *parts =
        dn_parts_of (c->spec, c->device, c->share, op, room, &n);

    for (int i = 0; i < n; i++) {
        dn_load_of (first, &parts[i], &load);
        add_load (first, &load);
    }
}

/* Append the i-th device to those that run operators alike. */
static void begin_lane (struct dn_lane lanes[], int i)
{
    struct dn_lane *lane = &lanes[i];
    const struct dn_setup *c = &lane->setup;

    dn_rates_init (&lane->rates, c);
    lane->next = NULL;
    lane->follows = false;
    lane->group = (struct dn_group){0};
    lane->pass = (struct dn_pass){.in_turn = c->spec->pp > 1
                                             || dn_has_habit (c, DN_HABIT_IN_TURN)};
    for (int d = 0; d < DN_N_PARTS; d++)
        lane->pass.launch_s[d] =
            lane->rates.launch_s * dn_host_copies (c, d == DN_AGAIN ? DN_FORWARD : d);
    for (int j = i - 1; j >= 0 && !lane->follows; j--)
        if (dn_runs_alike (&lanes[j], lane)) {
            lanes[j].next = lane;
            lane->follows = true;
        }
}

/* AdaptDL's AdaptiveDataParallel sums the squares of all gradients in every step
 * (petuum/adaptdl, adaptdl/torch/parallel.py and gradient_noise_scale.py). Its
 * operations on a tensor of parameters, counted there: hooks of the backward pass
 * record an event, square, sum, and add the sum to an element of a vector. Behind the
 * pass come two quotients, a square, a sum and an addition, and the host waits for
 * their result. With one copy only, the gradient of the step before stands in for that
 * of another one: it gets a square, a sum and an addition, the mean of both takes two
 * operations and the same three, and a copy is kept.
 */
#define HOOK_CALLS 6

static const struct statistics {
    double calls;  /* behind the backward pass */
    double passes; /* over the gradients, reads and writes, with those of the hooks */
} statistics_of_one = {5 + 9, 10 + 13}, statistics_of_several = {5, 10};

/* The host's seconds of so many operations on each tensor. */
static double statistics_host (const struct dn_setup *c, double calls)
{
    return c->parallel == DN_PARALLEL_ADAPTDL
               ? c->tensors * calls * c->constants->python_s * c->stack.launch
               : 0;
}

static double statistics_time (const struct dn_setup *c, const struct dn_rates *r)
{
    const struct statistics *s =
        c->replicas > 1 ? &statistics_of_several : &statistics_of_one;

    if (c->parallel != DN_PARALLEL_ADAPTDL)
        return 0;
    return dn_max (statistics_host (c, s->calls),
                   dn_own_params (c) * 4 * s->passes / r->copy);
}

/* The rest of the pass, after the last group, which is of blocks or not. */
static void end_pass (struct dn_lane *lane, bool block)
{
    struct dn_pass *pass = &lane->pass;
    double kernel_s = lane->setup.constants->kernel_s;

    close_group (lane, block);
    pass->hollow.waits += DN_N_DIRECTIONS * pass->kernels * kernel_s;
    pass->seconds = pass->host + pass->waits
                    + dn_max (pass->lag.now + pass->lag.slope, pass->lag.floor);
    pass->host += statistics_host (&lane->setup, HOOK_CALLS);
    pass->seconds = dn_max (pass->seconds, pass->host);
}

void dn_passes_find (struct dn_lane lanes[], int n)
{
    const struct dn_setup *c = &lanes->setup;

    for (int l = 0; l < n; l++)
        begin_lane (lanes, l);
    for (int i = 0; i < c->graph->n_ops; i++) {
        if (dn_time_is_up (c, i * n, n))
            return;
        for (int l = 0; l < n; l++)
            if (!lanes[l].follows)
                add_operator (&lanes[l], &c->graph->ops[i]);
    }
    for (int l = 0; l < n; l++)
        if (!lanes[l].follows)
            for (struct dn_lane *lane = &lanes[l]; lane; lane = lane->next)
                end_pass (lane, lanes[l].group.block);
}

/* The slowest stage limits the rate, and filling the pipeline takes one pass through
 * all stages, or through a chunk of each (Narayanan et al. 2021, section 2.2).
 */
double dn_pipeline (const struct dn_setup *c, double blocks, double rest)
{
    double turns = (double) c->spec->grad_accum - 1;
    double stages = (double) c->spec->pp;
    double filling = blocks * (1 + (stages - 1) / c->chunks) / stages;

    return turns * (blocks / stages + rest) + filling + rest;
}

/* Operators of the optimizer per tensor of parameters. */
static double optimizer_launches (const struct dn_setup *c)
{
    if (c->spec->optimizer == DN_OPTIMIZER_NONE || dn_is_offloaded (c))
        return 0;
    return dn_habit_number (
        c->constants, c->spec, c->stack.tuned, DN_HABIT_OPTIMIZER_LAUNCHES);
}

/* The time of two things that run in parallel: a smooth maximum. */
static double norm (double a, double b, double p)
{
    return pow (pow (a, p) + pow (b, p), 1 / p);
}

/* The host's seconds to launch the optimizer. */
static double optimizer_host (const struct dn_setup *c, const struct dn_rates *r)
{
    return c->tensors / (double) c->spec->pp * optimizer_launches (c) * r->launch_s;
}

/* The device's seconds by stage, of one optimizer step. */
static void fill_stages (const struct dn_setup *c,
                         const struct dn_pass *pass,
                         struct dn_estimate *estimate)
{
    static const enum dn_stage stages[DN_N_DIRECTIONS] = {
        DN_STAGE_FORWARD, DN_STAGE_BACKWARD_DATA, DN_STAGE_BACKWARD_WEIGHT};

    for (int d = 0; d < DN_N_DIRECTIONS; d++)
        estimate->stage_s[stages[d]] =
            dn_pipeline (c, pass->block_device[d], pass->device[d]);
    estimate->stage_s[DN_STAGE_RECOMPUTE] =
        dn_pipeline (c, pass->block_device[DN_AGAIN], pass->device[DN_AGAIN]);
    estimate->stage_s[DN_STAGE_OPTIMIZER] =
        dn_optimizer_time (c)
        * dn_power_slowdown (c->constants, c->device, c->spec->power_limit);
}

/* Seconds of the backward pass of the last micro-batch: gradients of its last layers
 * are sent while the first ones are still computed.
 */
static double last_backward (const struct dn_setup *c, const struct dn_pass *pass)
{
    double all = 0;
    double forward = pass->device[DN_FORWARD] + pass->block_device[DN_FORWARD];

    for (int d = 0; d < DN_N_DIRECTIONS; d++)
        all += pass->device[d] + pass->block_device[d];
    return all > 0 ? pass->seconds * (1 - forward / all) / (double) c->spec->pp : 0;
}

/* What waiting for the slowest of n devices adds to their mean time, relative. The mean
 * of the largest of n normal values grows as log2 (n)^.78, within 2 % from 2 to 1024.
 */
static double slowest_of (const struct dn_setup *c, double n)
{
    return c->constants->straggler * pow (log2 (dn_max (n, 1)), 0.78);
}

/* The copies wait for one another once per optimizer step, and the passes of a step
 * differ independently. Devices that share the blocks wait in every pass.
 */
static double waiting (const struct dn_setup *c)
{
    return slowest_of (c, c->replicas) / sqrt ((double) c->spec->grad_accum)
           + slowest_of (c, (double) c->spec->tp * c->experts);
}

/* The share of a pass in which the links that the copies use are idle: blocks that are
 * split over devices use those of a node or the network between nodes themselves.
 */
static double idle_links (const struct dn_setup *c,
                          const struct dn_pass *pass,
                          const struct dn_traffic *traffic)
{
    struct dn_exchange exchange = dn_block_exchange (c);
    double busy =
        dn_split_passes (c) * (traffic->far ? exchange.far : exchange.seconds);

    return pass->seconds > busy ? 1 - busy / pass->seconds : 0;
}

/* Communication of the copies of the weights. */
static void fill_traffic (const struct dn_setup *c,
                          const struct dn_pass *pass,
                          struct dn_estimate *estimate)
{
    struct dn_traffic traffic = dn_data_traffic (c);
    double hiding = traffic.passes ? (double) c->spec->grad_accum * pass->seconds
                                   : last_backward (c, pass);

    hiding *= idle_links (c, pass, &traffic);
    estimate->stage_s[DN_STAGE_COMMUNICATION] = traffic.behind + traffic.open;
    estimate->stage_s[DN_STAGE_EXPOSED] =
        traffic.open
        + dn_max (traffic.behind - c->constants->overlap * hiding, traffic.last);
}

/* Communication within the passes. What of it is exposed is a part of their time. */
static void add_exchange (const struct dn_setup *c,
                          const struct dn_pass *pass,
                          struct dn_estimate *estimate)
{
    double split_s =
        dn_pipeline (c, dn_split_passes (c) * dn_block_exchange (c).seconds, 0);

    estimate->stage_s[DN_STAGE_COMMUNICATION] +=
        split_s + dn_pipeline (c, pass->ring, 0);
    estimate->stage_s[DN_STAGE_EXPOSED] +=
        split_s + dn_pipeline (c, pass->ring_open, 0);
}

/* What the host's memory holds instead of the device's (offload=): seconds per
 * optimizer step.
 */
struct offloaded {
    double update; /* of the optimizer on the host */
    double open;   /* to bring its result back; does not overlap */
    double behind; /* gradients out and weights in, behind all passes */
    double stored; /* activations out, in one forward pass; back in a backward pass */
};

/* The optimizer of all devices of a node, on the cores that the job has there. */
static double update_time (const struct dn_setup *c)
{
    const struct dn_constants *k = c->constants;
    double cores = c->cpus_per_gpu > 0 ? c->cpus_per_gpu : dn_usual_cores (c);
    double devices = (double) c->spec->gpus / c->nodes;
    double bytes = dn_shard_params (c) * devices * 4
                   * dn_optimizer_traits[c->spec->optimizer].passes;

    return bytes / k->host_optimizer
           / dn_min (cores * devices / k->host_optimizer_cores, 1);
}

static struct offloaded offload_time (const struct dn_setup *c)
{
    struct offloaded result = {0};
    double rate = c->device->pcie_bw * c->constants->dataparallel_pcie;
    double passes = (double) c->spec->grad_accum;
    double element = c->traits->activation;
    double learned = dn_shard_params (c);
    double frozen = c->dense.frozen_bytes / c->shards
                    + c->in_experts.frozen_bytes / c->expert_shards;

    if (rate <= 0)
        return result;
    result.stored = dn_stored_activations (c) / rate;
    if (!dn_is_offloaded (c))
        return result;
    result.update = update_time (c);
    result.behind = passes * learned * element / rate;
    if (c->spec->offload == DN_OFFLOAD_PARAMS)
        result.behind += 2 * passes * (learned * element + frozen) / rate;
    else
        result.open = learned * element / rate;
    return result;
}

/* Transfers to the host and back, behind the passes: seconds that they add to a step.
 */
static double add_offload (const struct dn_setup *c,
                           const struct dn_pass *pass,
                           struct dn_estimate *estimate)
{
    struct offloaded offload = offload_time (c);
    double passes = (double) c->spec->grad_accum;
    double seconds = pass->seconds / (double) c->spec->pp;
    double backward = dn_min (last_backward (c, pass), seconds);
    double open = offload.open + dn_max (offload.behind - passes * seconds, 0);

    open += passes
            * (dn_max (offload.stored - (seconds - backward), 0)
               + dn_max (offload.stored - backward, 0));
    estimate->stage_s[DN_STAGE_COMMUNICATION] +=
        offload.open + offload.behind + 2 * passes * offload.stored;
    estimate->stage_s[DN_STAGE_EXPOSED] += open;
    estimate->stage_s[DN_STAGE_HOST] += offload.update;
    return open + offload.update;
}

void dn_whitebox_step (const struct dn_lane *lane, struct dn_estimate *estimate)
{
    const struct dn_setup *c = &lane->setup;
    const struct dn_pass *pass = &lane->pass;
    double *stage = estimate->stage_s;
    double fixed = c->device->compiled ? 0 : c->constants->step_s * c->stack.step;
    double optimizer = optimizer_host (c, &lane->rates);
    double statistics = statistics_time (c, &lane->rates);
    double compute;

    fill_stages (c, pass, estimate);
    compute = dn_pipeline (c, pass->block_seconds, pass->seconds - pass->block_seconds)
              + dn_max (stage[DN_STAGE_OPTIMIZER], optimizer) + statistics;
    if (c->spec->pp > 1)
        compute += dn_handings (c) * dn_handing_time (c);
    compute = dn_has_habit (c, DN_HABIT_RUNS_AHEAD) ? dn_max (compute, fixed)
                                                    : compute + fixed;
    stage[DN_STAGE_HOST] =
        (double) c->spec->grad_accum * pass->host / (double) c->spec->pp + optimizer
        + statistics + fixed;
    fill_traffic (c, pass, estimate);
    stage[DN_STAGE_INPUT] = dn_whitebox_input (c, compute, estimate);
    estimate->step_s.p50 = norm (compute, stage[DN_STAGE_INPUT], 4) * (1 + waiting (c))
                           + stage[DN_STAGE_EXPOSED];
    estimate->step_s.p50 += add_offload (c, pass, estimate);
    add_exchange (c, pass, estimate);
}
