/* remedy.c - what would make a run fit the GPU's memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/remedy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

/* A network of so many parameters is seldom trained from scratch on a few GPUs: it is
 * fine-tuned, and adapters may do.
 */
#define ADAPTED_PARAMS 1e9

/* Above that many operators the search for a batch would take milliseconds. */
#define SEARCHED_OPS 300

/* A smaller batch besides is tried only where nothing else helps, or it takes so many
 * times as long.
 */
#define SLOW 1.25

/* When a row is tried. */
enum {
    OPEN_BF16 = 1 << 0, /* nothing states a precision, and the device has bf16 */
    OPEN_FP16 = 1 << 1, /* or has it not */
    STORED = 1 << 2,    /* activations are not computed again */
    SHARED = 1 << 3,    /* several GPUs hold what this row shards */
    ADAM = 1 << 4,      /* the optimizer keeps two numbers a parameter */
    LARGE = 1 << 5,     /* all of a large network is trained */
    ADAPTED = 1 << 6,   /* what is frozen is not quantised */
    OTHER = 1 << 7,     /* it does not train the same; no condition */
    /* Rows that do more of the same are not tried where one has helped. */
    DEGREES = SHARED | ADAPTED | LARGE,
};

static const struct row {
    const char *change;
    unsigned when;
} rows[] = {
    {"", 0}, /* the largest batch */
    {"precision=bf16", OPEN_BF16},
    {"precision=fp16", OPEN_FP16},
    {"checkpointing=full", STORED},
    {"parallel=zero1", SHARED},
    {"parallel=zero2", SHARED},
    {"parallel=zero3", SHARED},
    {"parallel=zero3,checkpointing=full", SHARED | STORED},
    {"optimizer=adam8bit", ADAM | OTHER},
    {"quant=nf4", ADAPTED | OTHER},
    {"quant=nf4,checkpointing=full", ADAPTED | STORED | OTHER},
    {"lora=16", LARGE | OTHER},
    {"lora=16,checkpointing=full", LARGE | STORED | OTHER},
    {"parallel=zero3,lora=16", SHARED | LARGE | OTHER},
    {"parallel=zero3,lora=16,checkpointing=full", SHARED | LARGE | STORED | OTHER},
    {"lora=16,quant=nf4", LARGE | OTHER},
    {"lora=16,quant=nf4,checkpointing=full", LARGE | STORED | OTHER},
};

/* A row that is tried. It is too large for a small stack. */
struct trial {
    const struct dn_patient *patient;
    struct dn_spec spec;
    struct dn_graph graph; /* owned */
    struct dn_case c;
    struct dn_remedy found;
};

static bool has_adam (const struct dn_spec *spec)
{
    return spec->optimizer == DN_OPTIMIZER_UNKNOWN
           || spec->optimizer == DN_OPTIMIZER_ADAM
           || spec->optimizer == DN_OPTIMIZER_ADAMW;
}

static bool applies (unsigned when, const struct dn_case *c)
{
    const struct dn_spec *spec = c->spec;
    bool open = spec->precision == DN_PRECISION_UNKNOWN;
    const unsigned held =
        (open && c->device->bf16 > 0 ? OPEN_BF16 : 0U)
        | (open && c->device->bf16 <= 0 ? OPEN_FP16 : 0U)
        | (spec->checkpointing <= DN_CHECKPOINTING_NONE ? STORED : 0U)
        | (spec->gpus > 1 && spec->parallel != DN_PARALLEL_DATAPARALLEL ? SHARED : 0U)
        | (has_adam (spec) ? ADAM : 0U)
        | (spec->lora != DN_UNSET && spec->quant <= DN_QUANT_NONE ? ADAPTED : 0U)
        | (spec->lora == DN_UNSET && spec->frozen[0] == '\0' && spec->trainable < 0
                   && c->graph->params >= ADAPTED_PARAMS
               ? LARGE
               : 0U);

    return (when & ~(held | OTHER)) == 0;
}

/* The batch in the trial's description: the largest one that fits and divides the work
 * of a step. False if there is none that is smaller.
 */
static bool shrink (struct trial *t, const struct dn_estimate *estimate)
{
    struct dn_spec *spec = &t->spec;
    int64_t samples = spec->batch * spec->grad_accum;
    bool costly = t->patient->predictor->deadline && t->c.graph->n_ops > SEARCHED_OPS;
    int64_t batch =
        costly ? 0 : dn_policy_fitting_batch (t->patient->rules, &t->c, estimate);

    if (batch >= spec->batch)
        batch = spec->batch - 1;
    while (batch > 1 && samples % batch != 0)
        batch--;
    if (batch < 1)
        return false;
    spec->batch = batch;
    spec->grad_accum = samples / batch;
    return true;
}

static bool predict (struct trial *t)
{
    struct dn_estimate *estimate = &t->found.estimate;

    return dn_predict (t->patient->predictor, &t->c, &t->c.device, 1, estimate, NULL)
               == 0
           && estimate->supported;
}

/* The description with the row's change, and its network. */
static bool change (struct trial *t, const struct row *row)
{
    const struct dn_patient *patient = t->patient;
    const struct dn_spec *before = patient->c->spec;

    t->c = *patient->c;
    t->spec = *before;
    t->c.spec = &t->spec;
    if (row->change[0] == '\0')
        return true;
    if (dn_spec_read (dn_span_of (row->change), &t->spec, NULL) < 0
        || dn_spec_resolve (&t->spec, patient->datasets, before->gpus, NULL) < 0
        || ((row->when & SHARED) && t->spec.parallel <= before->parallel))
        return false;
    if (!(row->when & (LARGE | ADAPTED)))
        return true;
    if (dn_sidecar_graph_by (patient->networks,
                             patient->layers,
                             &t->spec,
                             patient->predictor->deadline,
                             &t->graph,
                             NULL)
        < 0)
        return false;
    t->c.graph = &t->graph;
    return true;
}

static void write_change (struct trial *t, const struct row *row)
{
    struct dn_remedy *remedy = &t->found;
    struct dn_buf buf = dn_buf_on (remedy->change, sizeof (remedy->change));

    dn_buf_text (&buf, row->change);
    if (t->spec.batch != t->patient->c->spec->batch)
        dn_buf_add (&buf,
                    "%sbatch=%" PRId64 ",grad_accum=%" PRId64,
                    buf.len > 0 ? "," : "",
                    t->spec.batch,
                    t->spec.grad_accum);
    remedy->other = (row->when & OTHER) != 0;
    remedy->slow = remedy->estimate.step_s.p50 / t->patient->estimate->step_s.p50;
}

/* Does the changed run fit, with a smaller batch besides if that is 'wanted'? */
static bool fits (struct trial *t, const struct row *row, bool wanted)
{
    const struct dn_patient *patient = t->patient;
    const struct dn_estimate *found = &t->found.estimate;

    if (row->change[0] == '\0')
        return shrink (t, patient->estimate) && predict (t)
               && dn_estimate_surely_fits (found);
    if (!predict (t)
        || !dn_keyset_is_empty (
            dn_keyset_minus (found->unread, patient->estimate->unread)))
        return false;
    return dn_estimate_surely_fits (found)
           || (wanted && shrink (t, found) && predict (t)
               && dn_estimate_surely_fits (found));
}

int dn_remedy_keep (const struct dn_remedy *found,
                    struct dn_remedy *list,
                    int n,
                    int most)
{
    int at = n;

    while (
        at > 0
        && (list[at - 1].other > found->other
            || (list[at - 1].other == found->other && list[at - 1].slow > found->slow)))
        at--;
    if (at == most)
        return n;
    n = n < most ? n + 1 : most;
    memmove (&list[at + 1], &list[at], (size_t) (n - at - 1) * sizeof (*list));
    list[at] = *found;
    return n;
}

int dn_remedies (const struct dn_patient *patient, int most, struct dn_remedy *list)
{
    struct trial *t = calloc (1, sizeof (*t)); /* the stack may be small */
    unsigned found = 0;
    int n = 0;

    for (size_t i = 0; t && i < DN_N_ELEMENTS (rows); i++) {
        const struct row *row = &rows[i];

        t->patient = patient;
        if (dn_deadline_check (patient->predictor->deadline, "remedy", NULL) < 0) {
            n = -1;
            break;
        }
        if (!applies (row->when, patient->c) || (row->when & found & DEGREES)
            || ((row->when & OTHER) && n == most && !list[n - 1].other))
            continue;
        if (change (t, row) && fits (t, row, n == 0 || list[0].slow > SLOW)) {
            write_change (t, row);
            n = dn_remedy_keep (&t->found, list, n, most);
            found |= row->when;
        }
        dn_graph_free (&t->graph);
    }
    free (t);
    return n;
}

/* --- batches that fit ------------------------------------------------------------- */

/* The bound on the GPU memory of a move; MemoryHeadroom is added to it. */
#define MEMORY_QUANTILE 0.95

/* That of dn_estimate_may_fit (). */
#define LIKELY_QUANTILE 0.3

double dn_policy_memory (const struct dn_rules *rules,
                         const struct dn_estimate *estimate)
{
    return dn_range_at (estimate->gpu_mem, MEMORY_QUANTILE)
           * (1 + rules->memory_headroom);
}

int64_t dn_policy_largest_batch (const struct dn_rules *rules, const struct dn_case *c)
{
    return dn_whitebox_largest_batch (c, MEMORY_QUANTILE, rules->memory_headroom);
}

bool dn_policy_may_hold_one (const struct dn_case *c)
{
    return dn_whitebox_largest_batch (c, LIKELY_QUANTILE, 0) > 0;
}

int64_t dn_policy_fitting_batch (const struct dn_rules *rules,
                                 const struct dn_case *c,
                                 const struct dn_estimate *estimate)
{
    struct dn_estimate white;

    dn_whitebox (c, &white);
    return dn_whitebox_largest_batch (
        c, 0.5, dn_max (dn_policy_memory (rules, estimate) / white.gpu_mem.p50 - 1, 0));
}
