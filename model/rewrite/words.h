/* words.h - the texts of a patch, private to rewrite/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WORDS_H
#define DN_WORDS_H

#include "rewrite/rewrite.h"

/* The one line for the user, empty when there is no message. */
void dn_words_user (const struct dn_story *story, char text[DN_USER_TEXT_MAX]) DN_COLD;

/* The decision record: JSON on one line of printable ASCII without '|', at most
 * DN_RECORD_MAX characters. 'names': with the names in the metadata. Return -1 with
 * DN_E_NOMEM.
 */
int dn_record_write (const struct dn_story *story,
                     bool names,
                     char text[DN_RECORD_MAX + 1],
                     struct dn_err *err) DN_COLD;

#endif
