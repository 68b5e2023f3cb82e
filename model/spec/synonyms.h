/* synonyms.h - what other programs call the keys and values of metadata
 *
 * They are for suggestions in errors only; none of them is accepted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SYNONYMS_H
#define DN_SYNONYMS_H

#include "base/text.h"

/* The key that 'word' means, NULL if it is the name of none. */
const char *dn_spec_key_synonym (struct dn_span word);

/* What 'word' means as the value of 'key', NULL if nothing. '*other' is the second of
 * two values that it may mean, or NULL.
 */
const char *dn_spec_value_synonym (const char *key,
                                   struct dn_span word,
                                   const char **other);

#endif
