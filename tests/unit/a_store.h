/* a_store.h - a store in the folder of a test, and what SQLite sees in it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_A_STORE_H
#define DN_TEST_A_STORE_H

#include "jobs/store.h"

const char *store_path (void);

/* With its journal. */
void store_remove (void);

/* Change it without its interface. */
void store_execute (const char *sql);

/* A number from it. */
int64_t store_ask (const char *sql);

/* Open it; and how many jobs it has, by a filter or (NULL) in all. */
struct dn_store *store_open (bool adding);
int64_t store_count (const struct dn_store_filter *filter);

/* Counts into an int64_t. */
int store_count_one (void *to, const struct dn_finished *job);

#endif
