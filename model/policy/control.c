/* control.c - which jobs are left unchanged: the control group, and many after a start
 *
 * SHA-256 is used because the library has it and it is uniform. Hashing a submission
 * takes a few microseconds, and is only done where ControlGroup is set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"

/* Each text is preceded by its length, so that two texts never hash as one. */
static void add_text (struct dn_digester *digester, const char *text, size_t len)
{
    char head[24];
    int n = snprintf (head, sizeof (head), "%zu:", len);

    dn_digest_add (digester, (struct dn_span){head, (size_t) n});
    dn_digest_add (digester, (struct dn_span){text, len});
}

static void add_script (struct dn_digester *digester,
                        const struct dn_job *job,
                        const struct dn_spec *spec)
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    add_text (digester,
              job->script ? job->script : "",
              job->script ? strnlen (job->script, DN_SCRIPT_HEAD_MAX) : 0);
    for (int i = 0; i < n_keys; i++) {
        char value[DN_VALUE_MAX];

        if (!dn_spec_has (spec, &keys[i]))
            continue;
        dn_spec_write_value (spec, &keys[i], value);
        add_text (digester, keys[i].name, strlen (keys[i].name));
        add_text (digester, value, strlen (value));
    }
}

/* The first 52 bits of a digest, as a share of their range: 0..1, below 1. */
static double share_of (const struct dn_digest *digest)
{
    static const char hex[] = "0123456789abcdef";
    double share = 0;

    for (int i = 12; i >= 0; i--)
        share = (share + (double) (strchr (hex, digest->hex[i]) - hex)) / 16;
    return share;
}

bool dn_policy_in_control (const struct dn_rules *rules,
                           const struct dn_job *job,
                           const struct dn_spec *spec)
{
    struct dn_digester digester;
    struct dn_digest digest;
    char owner[64];
    bool by_job = rules->control_by == DN_DRAW_JOB;

    /* Mode observe changes no job, so it needs no control group. */
    if (rules->control_group <= 0 || rules->mode == DN_MODE_OBSERVE)
        return false;
    if (by_job && job->draw == DN_UNSET)
        return rules->control_group >= 100;
    digester = dn_digest_begin ();
    snprintf (owner, sizeof (owner), "dnnest control group %" PRId64, job->user_id);
    add_text (&digester, owner, strlen (owner));
    snprintf (owner, sizeof (owner), "%" PRId64, by_job ? job->draw : 0);
    add_text (&digester, owner, strlen (owner));
    if (!by_job)
        add_script (&digester, job, spec);
    digest = dn_digest_end (&digester);
    return 100 * share_of (&digest) < rules->control_group;
}

void dn_policy_set_control (struct dn_decision *decision)
{
    if (decision->verdict != DN_VERDICT_KEEP && decision->verdict != DN_VERDICT_CHANGE)
        return;
    decision->verdict = DN_VERDICT_CONTROL;
    dn_decision_say (decision, &DN_REASON (control));
}

/* --- after a start ---------------------------------------------------------------- */

/* After so many hours all jobs are changed: the limit has grown a thousandfold. */
#define GENTLE_HOURS 10

/* The counter is the time of the hour, shifted, plus the changes in it. */
#define COUNT_BITS 24

/* Of two threads with different hours both count in the later one, so that no hour is
 * ever counted again.
 */
bool dn_policy_may_change (const struct dn_view *view, double first)
{
    int64_t hours = (view->now_s - view->begun_s) / 3600;
    uint64_t counted;
    uint64_t now;
    uint64_t next;
    double most;

    if (!view->changes || first <= 0 || hours >= GENTLE_HOURS)
        return true;
    if (hours < 0) /* the clock was set back */
        hours = 0;
    most = first * (double) (1 << hours);
    now = (uint64_t) (view->begun_s + hours * 3600) << COUNT_BITS;
    counted = __atomic_load_n (view->changes, __ATOMIC_RELAXED);
    do {
        next = (counted > now ? counted : now) + 1;
        if ((double) (next & ((1 << COUNT_BITS) - 1)) > most)
            return false;
    } while (!__atomic_compare_exchange_n (
        view->changes, &counted, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

void dn_policy_leave (struct dn_decision *decision)
{
    decision->python_dir = NULL;
    if (decision->verdict != DN_VERDICT_CHANGE)
        return;
    decision->n_warnings = 0; /* they say what the job becomes */
    decision->note = DN_REASON (start_changes);
    dn_policy_abstain (decision, DN_ABSTAIN_START, &decision->note);
}
