/* tune.h - fine-tuning: what of a network learns, and the adapters beside it
 *
 * Applied to the graph of a network of the zoo after its builder. What does not learn
 * counts as frozen: no gradient of its weights, no optimizer; gradients of activations
 * pass through it as far back as something learns.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TUNE_H
#define DN_TUNE_H

#include "base/deadline.h"
#include "graph/graph.h"

/* Apply trainable=, frozen=, lora=, lora_targets= and quant= to the graph. Return 0, or
 * -1 with 'err' naming the key, and what exists where a name does not, or when
 * 'deadline' (may be NULL) has passed.
 */
int dn_tune (struct dn_graph *graph,
             const struct dn_spec *spec,
             const struct dn_deadline *deadline,
             struct dn_err *err) DN_COLD;

/* What the parameters of an operator belong to, as a set: the layer, then the part. */
enum {
    QUERY = 1 << 0,
    KEY = 1 << 1,
    VALUE = 1 << 2,
    WHOLE = 1 << 3, /* query, key and value in one */
    OUT = 1 << 4,
    GATE = 1 << 5,
    UP = 1 << 6,
    DOWN = 1 << 7,
    OTHER = 1 << 8,
    HEAD = 1 << 9,
    ATTENTION = QUERY | KEY | VALUE | WHOLE | OUT,
    INNER = GATE | UP | DOWN,
    LAYERS = ATTENTION | INNER | OTHER,
    EMBEDDING = 1 << 10,
    NORM = 1 << 11,
    BIAS = 1 << 12,
    ENCODER = 1 << 13,
    DECODER = 1 << 14,
    BACKBONE = 1 << 15
};

/* That of the i-th operator; 'head' is the graph's. */
unsigned dn_tune_sets (const struct dn_graph *graph, int i, int head);

/* Words of a key of fine-tuning that mean the same, between blanks, what they mean as a
 * set of bits, and of what a network must have something for errors to list the first.
 */
struct dn_tune_word {
    const char *words;
    unsigned sets;
    unsigned shown;
};

struct dn_tune_words {
    const char *key;  /* "frozen" */
    const char *what; /* "part": what a word names */
    const char *more; /* what may be written besides, for errors; "" nothing */
    const struct dn_tune_word *list;
    int n;
};

/* The words of frozen= and trainable=, and of lora_targets=. */
extern const struct dn_tune_words dn_part_words;
extern const struct dn_tune_words dn_adapter_words;

/* Set 'err' for a word that names nothing of 'existing', the sets of which the network
 * has something. Return -1.
 */
int dn_tune_fail (const struct dn_tune_words *known,
                  const struct dn_graph *graph,
                  struct dn_span word,
                  unsigned existing,
                  struct dn_err *err);

/* The sets of the words in 'text' that '+' joins, each without what comes before its
 * last '.', in *sets. -1 with dn_tune_fail ().
 */
int dn_tune_read (const struct dn_tune_words *known,
                  const struct dn_graph *graph,
                  struct dn_span text,
                  unsigned existing,
                  unsigned *sets,
                  struct dn_err *err);

/* Who needs an input for the gradient of weights. */
#define DN_NEEDED_LAYER   1
#define DN_NEEDED_ADAPTER 2

/* Add low-rank adapters of rank 'rank' beside the layers in 'names' ("": query and
 * value): two products, a scale and a sum for each (Hu et al., arXiv 2106.09685).
 * needed[op.source] has DN_NEEDED_ADAPTER for the inputs that they keep. -1 with 'err'
 * set and the graph unchanged.
 */
int dn_adapters_add (struct dn_graph *graph,
                     double rank,
                     const char *names,
                     unsigned char *needed,
                     struct dn_err *err) DN_COLD;

#endif
