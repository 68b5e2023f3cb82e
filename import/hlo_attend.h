/* hlo_attend.h - cuDNN's attention in HLO
 *
 * XLA writes attention that one kernel of cuDNN computes as a custom call, forward
 * "__cudnn$fmha..." and backward "__cudnn$fmha...Backward". Operands are query, key and
 * value, in whatever order of dimensions; the size of the scores, which are never
 * written, is in its backend_config.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HLO_ATTEND_H
#define DN_HLO_ATTEND_H

#include "import/hlo_text.h"

struct dn_hlo_attention {
    const struct dn_hlo_array *query;
    double batch;
    double heads;
    double kv_heads;
    double tokens;
    double keys;
    double size;       /* of a head's query and key */
    double value_size; /* of its value */
    double window;     /* keys that a query attends to; 0: all */
    double flops;      /* of all scores, in this direction */
    bool causal;
    bool dropout;
    bool backward;
};

/* Is the instruction such a call, with sizes that fit each other? */
bool dn_hlo_attention (const struct dn_hlo *module,
                       const struct dn_hlo_instruction *instruction,
                       struct dn_hlo_attention *attention);

#endif
