/* synonyms.h - what other programs call the keys and values of metadata
 *
 * A word of one meaning is read as the key or value that it means; others are for
 * suggestions in errors.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SYNONYMS_H
#define DN_SYNONYMS_H

#include "base/text.h"

struct dn_synonym {
    const char *words; /* with a blank between them */
    const char *key;   /* NULL: a word is read, and nothing depends on it */
    const char *on;    /* what "true" and a word alone mean; NULL: not taken */
    enum dn_synonym_use {
        DN_SYNONYM_TAKEN,
        DN_SYNONYM_SUGGESTED, /* not taken: programs use it for several things */
        DN_SYNONYM_GONE       /* one word, which was a key: taken for one version, with
                                 a warning */
    } use;
};

/* NULL if no other program has that name. Static. */
const struct dn_synonym *dn_spec_synonym (struct dn_span word);

/* What 'word' means as the value of 'key', NULL if nothing. '*other' is the second of
 * two values that it may mean, or NULL.
 */
const char *dn_spec_value_synonym (const char *key,
                                   struct dn_span word,
                                   const char **other);

#endif
