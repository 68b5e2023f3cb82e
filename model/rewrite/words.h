/* words.h - the texts of a patch, private to rewrite/
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_WORDS_H
#define DN_WORDS_H

#include "rewrite/rewrite.h"

/* The input of the texts. */
struct dn_story {
    const struct dn_rules *rules;
    const struct dn_request *request;
    const struct dn_spec *spec;
    const struct dn_estimate *base;   /* on the requested type; NULL: unknown */
    const struct dn_estimate *chosen; /* NULL when no candidate was chosen */
    const struct dn_decision *decision;
    const struct dn_patch *patch; /* for its partition and constraint */
};

/* The one line for the user, empty when there is no message. */
void dn_words_user (const struct dn_story *story, char text[DN_USER_TEXT_MAX]);

/* The lines about what is likely to go wrong with the job; none for jobs of the control
 * group. They are part of what Message switches, and are not in mode observe.
 */
void dn_words_warn (const struct dn_rules *rules,
                    const struct dn_decision *decision,
                    struct dn_patch *patch);

/* The decision record: JSON on one line of printable ASCII without '|', at most
 * DN_RECORD_MAX characters. 'names': with the names in the metadata. Return -1 with
 * DN_E_NOMEM.
 */
int dn_record_write (const struct dn_story *story,
                     bool names,
                     char text[DN_RECORD_MAX + 1],
                     struct dn_err *err);

#endif
