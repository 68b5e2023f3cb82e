/* reading.h - what a script says, for tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_READING_H
#define DN_TEST_READING_H

#include "unit.h"

#include "all_words.h"
#include "request/script.h"

/* All of the script of 'job'. */
static inline struct dn_reading reading_of (const struct dn_job *job)
{
    struct dn_reading reading;
    struct dn_err err = {0};

    if (dn_reading_of (all_words (), job, true, NULL, NULL, &reading, &err) < 0)
        fail_msg ("%s", err.text);
    return reading;
}

/* The marks of 'script', valid until the next call. */
static inline const struct dn_marks *marks_of (const char *script)
{
    static struct dn_reading reading;
    struct dn_job job = dn_job_empty ();

    job.script = script;
    reading = reading_of (&job);
    return &reading.marks;
}

/* Read the request of 'job' and what its script keeps. */
static inline int read_request (const struct dn_job *job, struct dn_request *request)
{
    struct dn_reading reading = reading_of (job);

    if (dn_request_read (job, NULL, request, NULL) < 0)
        return -1;
    dn_request_keep_by_script (request, &reading.script);
    return 0;
}

#endif
