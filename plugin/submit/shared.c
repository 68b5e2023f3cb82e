/* shared.c - values that threads share: replaced whole, and freed by their last user
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/shared.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Of all holders and all counts. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void dn_holder_put (struct dn_holder *holder, struct dn_shared *value)
{
    struct dn_shared *old;

    pthread_mutex_lock (&lock);
    old = holder->present;
    holder->present = value;
    pthread_mutex_unlock (&lock);
    dn_shared_give (old);
}

struct dn_shared *dn_holder_take (struct dn_holder *holder)
{
    struct dn_shared *value;

    pthread_mutex_lock (&lock);
    value = holder->present;
    if (value)
        value->n_users++;
    pthread_mutex_unlock (&lock);
    return value;
}

struct dn_shared *dn_shared_take (struct dn_shared *value)
{
    pthread_mutex_lock (&lock);
    value->n_users++;
    pthread_mutex_unlock (&lock);
    return value;
}

void dn_shared_give (struct dn_shared *value)
{
    bool last;

    if (!value)
        return;
    pthread_mutex_lock (&lock);
    last = --value->n_users == 0;
    pthread_mutex_unlock (&lock);
    if (last)
        value->free (value);
}
