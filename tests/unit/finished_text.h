/* finished_text.h - finished jobs as texts, for tests
 *
 * A text has columns with their values, such as "gpu=a100 gpus=4 limit_s=unlimited"; an
 * empty value is unknown.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_FINISHED_TEXT_H
#define DN_TEST_FINISHED_TEXT_H

#include "jobs/finished.h"

/* One of which nothing else is known; its texts are kept for the test. */
struct dn_finished finished_of (const char *text);

/* Give a job these values. */
void finished_set (struct dn_finished *job, const char *text);

/* The job must have these values; a failure names the column. */
#define assert_finished(job, text) finished_is (job, text, __FILE__, __LINE__)
void finished_is (const struct dn_finished *job,
                  const char *text,
                  const char *file,
                  int line);

#endif
