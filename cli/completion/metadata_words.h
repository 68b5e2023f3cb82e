/* metadata_words.h - keys and values that may follow in metadata
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_METADATA_WORDS_H
#define DN_METADATA_WORDS_H

#include "completion/answer.h"

/* The end of the word is metadata, "key=value,key": offer the keys that it does not
 * have, or the values of its last one.
 */
void dn_metadata_words (struct dn_answer *answer);

/* The same where "@FILE,key=value" names a file, too. */
void dn_metadata_words_of_note (struct dn_answer *answer);

/* The end of the word is a comment of a job: offer the mark, and what follows it. */
void dn_metadata_words_of_comment (struct dn_answer *answer);

/* Offer the names that model= knows, and those of hubs when the word begins one. */
void dn_network_words (struct dn_answer *answer);

/* Offer the devices of the site, those of its Gpu lines by their gres types, too. Where
 * none of these begins with the word, offer those of the catalogue.
 */
void dn_device_words (struct dn_answer *answer, const char *tail);

/* Offer the rules and numbers of dnnest.conf that --set= takes, or a rule's values. */
void dn_rule_words (struct dn_answer *answer);

#endif
