/* tune_words.h - the words that keys of fine-tuning list
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TUNE_WORDS_H
#define DN_TUNE_WORDS_H

#include "graph/graph.h"

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

#endif
