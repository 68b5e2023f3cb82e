/* unread.c - keys that were given and that the estimate does not depend on
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"
#include "base/messages.h"

#include <stdio.h>

/* "experts=, top_k=": the keys of 'set' that describe the network, or the others.
 * Return how many they are.
 */
static int write_keys (struct dn_keyset set, bool network, char text[DN_REASON_MAX])
{
    struct dn_buf buf = dn_buf_on (text, DN_REASON_MAX);
    const struct dn_key *key;
    int n = 0;

    for (int i = 0; (key = dn_spec_key_of (set, i)); i++)
        if (dn_key_is_network (key) == network)
            dn_buf_add (&buf, "%s%s=", n++ > 0 ? ", " : "", key->name);
    return n;
}

static const char *network_of (const struct dn_spec *spec)
{
    const char *name = dn_spec_shown (spec);

    return name[0] != '\0' ? name : dn_say_unread_network;
}

bool dn_policy_reads_network (const struct dn_spec *spec,
                              const struct dn_estimate *estimate,
                              struct dn_decision *decision)
{
    char keys[DN_REASON_MAX];
    char *reason;
    int n;

    if (decision->n_reasons == DN_REASONS_MAX)
        return dn_keyset_is_empty (estimate->unread);
    reason = decision->reasons[decision->n_reasons];
    n = write_keys (estimate->unread, true, keys);
    if (n > 0) {
        snprintf (reason,
                  DN_REASON_MAX,
                  n > 1 ? dn_say_unread_keys : dn_say_unread_key,
                  keys,
                  network_of (spec));
        decision->n_reasons++;
        snprintf (decision->note, DN_REASON_MAX, "%s", reason);
        return false;
    }
    n = write_keys (estimate->unread, false, keys);
    if (n > 0) {
        snprintf (reason, DN_REASON_MAX, dn_say_unread_others, keys);
        decision->n_reasons++;
    }
    return true;
}
