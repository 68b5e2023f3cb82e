/* stages.h - the parts of the white box, private to predict/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STAGES_H
#define DN_STAGES_H

#include "predict/setup.h"

/* Operators between two looks at the deadline: some 20 microseconds. */
#define DN_OPS_PER_LOOK 256

/* Has the time for the decision passed, in a loop over operators that has looked at 'i'
 * and looks at 'n' more?
 */
static inline bool dn_time_is_up (const struct dn_setup *c, int i, int n)
{
    return i % DN_OPS_PER_LOOK + n >= DN_OPS_PER_LOOK
           && dn_deadline_passed (c->deadline);
}

/* The device's seconds of one pass that the stages count as work but draw little. */
struct dn_hollow {
    double waits;    /* the minimum time of kernels, and waits of one for another */
    double unfilled; /* seconds of work times the share that stands idle meanwhile */
};

/* How far the device lags the host, which launches kernels without waiting for them.
 * After a group of operators that takes the device t and the host h seconds, a lag of x
 * becomes max (x + t - h, 0). Where the device is slower, a lag builds up that covers
 * later operators whose launches are slower than their work. The backward pass runs the
 * operators in the opposite order. A sequence of groups turns x into max (x + slope,
 * floor), so that one loop covers both passes.
 */
struct dn_lag {
    double now;   /* in the forward pass */
    double slope; /* of the known part of the backward pass, its end */
    double floor;
};

/* The three directions of an operator: forward, gradient of the activation, gradient of
 * the weights; and what a pass has besides.
 */
enum {
    DN_FORWARD,
    DN_DATA,
    DN_WEIGHT,
    DN_N_DIRECTIONS,
    DN_AGAIN = DN_N_DIRECTIONS, /* forward, computed again in the backward pass */
    DN_N_PARTS
};

/* Operators of equal repetition: their launches alternate. */
struct dn_group {
    double repeat;
    bool every; /* they occur in every block */
    bool block;
};

/* What a group takes of one device so far. */
struct dn_sums {
    double device[DN_N_PARTS]; /* seconds, but for launches and the power limit */
    double launches[DN_N_PARTS];
    double open[2]; /* seconds of communication that takes longer than the work it
                       overlaps, forward and backward */
};

/* One pass of one micro-batch, forward and backward. Blocks are spread over the stages
 * of a pipeline, the rest (head, embedding) stays on one.
 */
struct dn_pass {
    bool in_turn; /* parts wait for one another: stages of a pipeline, or of a step */
    double launch_s[DN_N_PARTS];     /* of the host, for one kernel */
    double block_device[DN_N_PARTS]; /* seconds of the device's work in blocks */
    double device[DN_N_PARTS];       /* and in the other operators */
    double kernels;   /* of one direction, but for those that are launched twice */
    double ring;      /* of communication behind attention */
    double ring_open; /* of it that takes longer than the work it overlaps */
    double host;      /* seconds that the host needs to launch it all */
    double waits;     /* more seconds that it waits, before the end */
    double seconds;
    double block_seconds; /* of it in blocks */
    struct dn_hollow hollow;
    struct dn_sums sums; /* of the group that is not yet in these */
    struct dn_lag lag;
};

struct dn_lane; /* a device (work.h) */

/* Find the passes of 'n' devices, of which nothing but the setups is set: those of one
 * graph, specification and set of constants. When the deadline passes meanwhile, they
 * are unusable.
 */
void dn_passes_find (struct dn_lane *lanes, int n);

/* Fill step_s.p50, stage_s and cpus_per_gpu. */
void dn_whitebox_step (const struct dn_lane *lane, struct dn_estimate *estimate);

/* Seconds of all passes of one optimizer step when one takes 'blocks' in the pipeline's
 * blocks and 'rest' in the other operators: p stages process m micro-batches.
 */
double dn_pipeline (const struct dn_setup *c, double blocks, double rest);

/* How many times the host launches the kernels of one device. */
double dn_host_copies (const struct dn_setup *c, int direction);

/* Devices that take part, and their nodes. */
struct dn_ring {
    double n;
    double nodes;
    double sharing; /* rings of the same job that share a node's network */
};

/* The ring of n devices of which every 'stride'-th of the job is one. */
struct dn_ring dn_ring_of (const struct dn_setup *c, double n, double stride);

/* The devices of one node in that ring, as a ring. */
struct dn_ring dn_ring_in_node (const struct dn_ring *ring);

/* Seconds of the part of a reduce-scatter or an all-gather of 'bytes' between nodes. */
double dn_half_between (const struct dn_setup *c,
                        double bytes,
                        const struct dn_ring *ring);

/* Communication between the data-parallel copies of one job in an optimizer step,
 * seconds.
 */
struct dn_traffic {
    double behind; /* may overlap work on the device ... */
    double last;   /* ... except this part, which starts after that work */
    double open;   /* does not overlap */
    bool passes;   /* 'behind' overlaps all passes, not only the last backward pass */
    bool far;      /* it passes the network between nodes */
};

struct dn_traffic dn_data_traffic (const struct dn_setup *c);

/* Communication between the devices that share the blocks, in one direction of one
 * micro-batch; nothing overlaps it.
 */
struct dn_exchange {
    double calls;
    double seconds;
    double far; /* of them, those of collectives between nodes */
};

struct dn_exchange dn_block_exchange (const struct dn_setup *c);

/* The number of directions: more than two where the forward pass runs again. */
double dn_split_passes (const struct dn_setup *c);

/* Seconds in which keys or values of an operator pass all devices that share a
 * sequence, forward; twice that backward. They overlap the operator's work.
 */
double dn_ring_attention (const struct dn_setup *c, const struct dn_op *op);

/* Seconds to send a micro-batch to the next stage of a pipeline and its gradient back,
 * and how often that happens one after another in a step.
 */
double dn_handing_time (const struct dn_setup *c);
double dn_handings (const struct dn_setup *c);

/* Bytes of activations that one pass leaves on the host, of one device. */
double dn_stored_activations (const struct dn_setup *c);

/* Bytes of the host that hold state of one device. */
double dn_offload_bytes (const struct dn_setup *c);

/* Does the version of PyTorch (torch=) decide which kernels run a recurrent layer? */
bool dn_recurrent_reads_torch (const struct dn_case *c);

/* Do neighbouring element-wise operators share kernels? */
bool dn_is_fused (const struct dn_setup *c);

/* The optimizer: bytes of its states per parameter, where each number has 'state'
 * bytes, and the device's seconds of a step.
 */
double dn_optimizer_bytes (const struct dn_setup *c, double state);
double dn_optimizer_time (const struct dn_setup *c);

/* Does it need no copies while it works through lists of tensors? */
bool dn_optimizer_is_fused (const struct dn_setup *c);

/* Does selective checkpointing keep products of blocks, as PyTorch's policies do, and
 * not only leave out the scores of attention, as Megatron-LM does?
 */
bool dn_keeps_products (const struct dn_spec *spec);

/* Does the age of the software (since=, torch=) decide how many kernels its process
 * loads, whether norms and GELU are composed of single ones, which keep more for the
 * backward pass, whether gradients stay between steps, or whether FSDP gathers the
 * network for a checkpoint?
 */
bool dn_memory_reads_age (const struct dn_case *c);

/* What the operators keep and use, bytes of one micro-batch in all stages. */
struct dn_content {
    double blocks;   /* kept for the backward pass */
    double inside;   /* more while one block is computed again */
    double rest;     /* kept outside of blocks */
    double products; /* of 'blocks', what selective checkpointing keeps of them */
    double largest;  /* input, output and gradient of one operator */
    double inner;    /* the same of one in blocks */
    double loss;     /* two copies of the logits in the precision of losses */
    double unpacked; /* a weight that is unpacked from fewer bits */
    double window;   /* input and output of the largest convolution that transforms */
    bool images;     /* convolutions over more than one dimension */
    bool loops;      /* sample by sample */
    enum dn_memory_kind kind;
};

struct dn_content dn_content_find (const struct dn_setup *c);

/* Fill gpu_mem.p50, memory[] and host_mem; devices that run operators alike have the
 * same content.
 */
void dn_whitebox_memory (const struct dn_setup *c,
                         const struct dn_content *content,
                         struct dn_estimate *estimate);

/* What a loader decodes: what decode= says, else what such a network usually reads. */
enum dn_decode dn_decode_of (const struct dn_spec *spec, const struct dn_graph *graph);
enum dn_augment dn_augment_of (const struct dn_spec *spec,
                               const struct dn_graph *graph);

/* Does augment= matter? Only pictures, volumes and clips that CPUs load are changed. */
bool dn_reads_augment (const struct dn_spec *spec, const struct dn_graph *graph);

/* The loader of one device: fill cpus_per_gpu with the minimum number of cores that
 * keep up with 'compute_s' seconds of work per optimizer step. Return the seconds that
 * these cores (or those of the job, if they are fewer) take for the step's samples; 0
 * without a loader.
 */
double dn_whitebox_input (const struct dn_setup *c,
                          double compute_s,
                          struct dn_estimate *estimate);

/* Fill power_w and its bound from the step and its stages. */
void dn_whitebox_power (const struct dn_setup *c,
                        const struct dn_hollow *hollow,
                        struct dn_estimate *estimate);

/* Fill n_steps, train_s, energy_j, samples_per_s from step time and power. */
void dn_run_fill (const struct dn_case *c, struct dn_estimate *estimate);

/* dn_unread_keys () of a case whose specification has the keys 'given'. */
struct dn_keyset dn_unread_of (const struct dn_case *c, const struct dn_keyset *given);

#endif
