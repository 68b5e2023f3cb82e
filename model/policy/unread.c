/* unread.c - keys that were given and that the estimate does not depend on
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"
#include "base/messages.h"

/* The network was not estimated as described: which of its keys are not read. */
static struct dn_reason name_keys (const struct dn_spec *spec,
                                   const struct dn_key *keys[2],
                                   int n)
{
    const char *name = dn_spec_shown (spec);
    struct dn_arg network =
        name[0] != '\0' ? dn_arg_word (name) : dn_arg_text (dn_say_unread_network);
    struct dn_arg first = dn_arg_text (keys[0]->name);

    if (n == 1)
        return DN_REASON (unread_key, first, network);
    if (n == 2)
        return DN_REASON (unread_keys, first, dn_arg_text (keys[1]->name), network);
    return DN_REASON (
        unread_many, first, dn_arg_text (keys[1]->name), dn_arg_count (n - 2), network);
}

bool dn_policy_reads_network (const struct dn_spec *spec,
                              const struct dn_estimate *estimate,
                              struct dn_decision *decision)
{
    const struct dn_key *keys[2] = {NULL, NULL};
    const struct dn_key *key;
    int n = 0;

    for (int i = 0; (key = dn_spec_key_of (estimate->unread, i)); i++)
        if (dn_key_is_network (key) && n++ < 2)
            keys[n - 1] = key;
    if (n > 0) {
        decision->note = name_keys (spec, keys, n);
        dn_decision_say (decision, &decision->note);
        return false;
    }
    for (int i = 0; (key = dn_spec_key_of (estimate->unread, i)); i++)
        dn_decision_say (decision, &DN_REASON (unread_other, dn_arg_text (key->name)));
    return true;
}
