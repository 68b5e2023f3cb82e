/* shared.h - values that threads share: replaced whole, and freed by their last user
 *
 * From Slurm 23.02 on, job_submit () runs in several threads at the same time. Each
 * takes the value in force and gives it back. One mutex is held for a few instructions
 * only, never while files are read: a separate thread reads them, see keeper.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SHARED_H
#define DN_SHARED_H

/* The first member of a value. The one who makes the value is its first user. */
struct dn_shared {
    void (*free) (struct dn_shared *value); /* called once, without the mutex */
    int n_users;
};

/* A value that is in force; NULL: none. */
struct dn_holder {
    struct dn_shared *present;
};

/* Put 'value' (NULL: none) in force. The holder becomes its user in place of the
 * caller, and gives back the old one.
 */
void dn_holder_put (struct dn_holder *holder, struct dn_shared *value);

/* The value in force, of which the caller becomes a user; NULL: none. */
struct dn_shared *dn_holder_take (struct dn_holder *holder);

/* One more user of a value that has one. Return it. */
struct dn_shared *dn_shared_take (struct dn_shared *value);

/* NULL-safe. */
void dn_shared_give (struct dn_shared *value);

#endif
