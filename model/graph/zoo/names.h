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

/* A row of patterns.c, and the name that it stands for. In 'text' a '*' stands for any
 * text, which replaces the '*' of 'name', and a '%' for a number, the size of images.
 * Names are in lower case, with '-' for '_' and without the part before '/'.
 */
struct dn_pattern {
    const char *text;
    const char *name;
};

/* In order: the first match counts. A row of NULL ends it. */
extern const struct dn_pattern dn_patterns[];

/* An organisation whose networks are all of some families: its name in lower case, and
 * what the names of these begin with, separated by commas.
 */
struct dn_publisher {
    const char *name;
    const char *families;
};

/* A row of NULL ends it. */
extern const struct dn_publisher dn_publishers[];

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

/* A word within names of networks that the zoo does not have, as patterns write names,
 * with a '-' before the first and after the last letter; and what is of their kind: a
 * network, the one of a family ("swin_*") whose numbers and words are the most alike,
 * or a class, such as cnn.
 */
struct dn_kin {
    const char *word;
    const char *name;
};

/* In order: the first whose word is in the name counts. A row of NULL ends each: those
 * of families, and those that tell the class of any other name.
 */
extern const struct dn_kin dn_kins[];
extern const struct dn_kin dn_classes[];

/* What the rows say of 'text', or NULL. */
const char *dn_name_kin (const struct dn_kin *rows,
                         const char *text,
                         dn_name_at_f at,
                         const void *names) DN_COLD;

#endif
