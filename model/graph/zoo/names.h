/* names.h - the names that people write, and the names of the zoo
 *
 * In: a name as hubs and libraries write it: "meta-llama/Llama-3.1-8B-Instruct",
 * "vit_base_patch16_384.augreg_in21k", "resnet-50". Out: the names of the zoo that it
 * can mean, the surest first. Nothing here knows which names the zoo has.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ZOO_NAMES_H
#define DN_ZOO_NAMES_H

#include <stdbool.h>

#include "base/limits.h"
#include "base/text.h"

#define DN_SPELLINGS_MAX 32

struct dn_spelling {
    char name[DN_NAME_MAX];
    int64_t image; /* size of the images that the name states; DN_UNSET: none */
};

/* The spellings of 'text', at most DN_SPELLINGS_MAX. Return how many: none if the text
 * is too long. The first is the text itself.
 *
 * The part before the last '/' (who published it) does not count, nor letter case, nor
 * endings that name a version of the weights and not of the network: -instruct, -hf,
 * .in1k. The last spellings are families and sizes within a name: a fine-tuned decoder
 * has the shape of what it is made from.
 */
int dn_spellings_of (const char *text,
                     struct dn_spelling spellings[DN_SPELLINGS_MAX]) DN_COLD;

/* A row of patterns.inc. One of NULL ends it. */
struct dn_pattern {
    const char *text;
    const char *name;
};

extern const struct dn_pattern dn_patterns[];

/* Can the network be what its publisher, the part of 'text' before the '/', calls so?
 * True where 'text' has no such part, or one without a row.
 */
bool dn_publishes (const char *text, const char *network);

/* The network that someone who writes 'text' means most likely: by family first, then
 * by numbers and words. NULL: none is of that family.
 */
const char *dn_name_nearest (const char *text,
                             dn_name_at_f at,
                             const void *names) DN_COLD;

/* A row of kin.inc or classes.inc. */
struct dn_kin {
    const char *word;
    const char *name;
};

/* A row of NULL ends each. */
extern const struct dn_kin dn_kins[];
extern const struct dn_kin dn_classes[];

/* What the rows say of 'text', or NULL. */
const char *dn_name_kin (const struct dn_kin *rows,
                         const char *text,
                         dn_name_at_f at,
                         const void *names) DN_COLD;

#endif
