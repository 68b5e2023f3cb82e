/* experts.h - a feed-forward part that is a mixture of experts
 *
 * A router scores the experts for each token, the best top_k= of them process it, and
 * the sum of their outputs, weighed by the scores, is passed on (Shazeer et al.,
 * arXiv 1701.06538; Fedus et al., arXiv 2101.03961). Shared experts process every token
 * (Dai et al., arXiv 2401.06066). Tokens are assumed to spread evenly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_EXPERTS_H
#define DN_EXPERTS_H

#include "graph/transformer.h"

struct dn_experts {
    double n; /* 0: none, the part is dense */
    double top_k;
    double ffn;        /* inner size of one; 0: as the transformer's */
    double shared;     /* experts that process every token */
    double shared_ffn; /* inner size of all of these together; 0: shared * ffn */
    double capacity;   /* places over the mean load; 0: every token has a place */
    bool router_bias;
    bool shared_gate;   /* the shared part is scaled by a score of its own */
    bool inner_dropout; /* within an expert */
};

/* Read experts=, top_k=, expert_ffn=, shared_experts= and capacity=, with 'experts' as
 * defaults, which it replaces. Reads nothing where 'experts' has none, so that these
 * keys stay unread on a dense network. Fails when top_k exceeds experts, or when ep=
 * does not divide them.
 */
void dn_experts_read (struct dn_build *build, struct dn_experts *experts);

/* The part with its norm and residual, in the place of dn_transformer_add_ffn (). */
void dn_experts_add (struct dn_build *build,
                     const struct dn_transformer *transformer,
                     const struct dn_experts *experts) DN_COLD;

#endif
