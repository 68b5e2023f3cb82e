/* known_build.h - what applications have described of themselves, for the history
 *
 * In: the finished jobs of users, those of an application together, the oldest first.
 * Out: the descriptions of dn_apps (predict/apps.h): for each application of a user
 * that of its newest completed run with a capture (host/capture_file.h), how many of
 * its GPUs its last two runs have used, and the networks, each once.
 *
 * Memory is bounded: at any time at most DN_KNOWN_ITEMS_MAX descriptions and
 * DN_KNOWN_BYTES_MAX bytes of texts are kept, the most useful ones: those that ran on
 * the latest day, then those with the most GPU hours.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KNOWN_BUILD_H
#define DN_KNOWN_BUILD_H

#include "jobs/finished.h"
#include "predict/apps.h"

#define DN_KNOWN_ITEMS_MAX ((int64_t) 3 * DN_APPS_KNOWN_MAX / 2)
#define DN_KNOWN_BYTES_MAX ((size_t) 2 * DN_APPS_TEXTS_MAX)

struct dn_known_list;

/* An empty list, or NULL without memory; freed with dn_known_list_free (). */
struct dn_known_list *dn_known_list_new (void);
void dn_known_list_free (struct dn_known_list *list);

/* Note a completed job of the application. -1 with 'err' without memory. */
int dn_known_note (struct dn_known_list *list,
                   dn_app_key key,
                   const struct dn_finished *job,
                   struct dn_err *err);

/* After the last job: add the most useful descriptions to 'apps', in its order. */
int dn_known_end (struct dn_known_list *list, struct dn_apps *apps, struct dn_err *err);

#endif
