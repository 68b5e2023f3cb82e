/* remedy.h - what would make a run fit the GPU's memory
 *
 * In: a run that does not, or perhaps not, fit its device. Out: changes of its
 * description with which it does, each predicted as any description is. A smaller batch
 * comes with the gradient accumulation that keeps the global one, so that the times of
 * a step compare.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REMEDY_H
#define DN_REMEDY_H

#include "graph/sidecar.h"
#include "policy/rules.h"
#include "predict/predict.h"

/* What is said about one run. */
#define DN_REMEDIES_MAX 3

/* A run. All is borrowed. */
struct dn_patient {
    const struct dn_predictor *predictor;
    const struct dn_rules *rules;
    const struct dn_datasets *datasets;
    const struct dn_networks *networks;
    const struct dn_layers *layers;
    const struct dn_case *c;            /* with its device */
    const struct dn_estimate *estimate; /* of it */
};

struct dn_remedy {
    char change[DN_REMEDY_MAX];  /* "checkpointing=full,batch=4,grad_accum=2" */
    bool other;                  /* it does not train the same: LoRA, 8-bit states */
    struct dn_estimate estimate; /* of the changed run, whose 95 % bound fits */
    double slow;                 /* time of a step, over that of the run */
};

/* Fill 'list' with at most 'most' remedies, the best first: those that train the same
 * before others, each by time. Return their number, or -1 where the predictor's
 * deadline has passed. The cost is at most two predictions and a search for the largest
 * batch for each row of the table.
 */
int dn_remedies (const struct dn_patient *patient,
                 int most,
                 struct dn_remedy *list) DN_COLD;

/* Put another remedy into such a list of 'n'. Return its new length. */
int dn_remedy_keep (const struct dn_remedy *found,
                    struct dn_remedy *list,
                    int n,
                    int most);

#endif
