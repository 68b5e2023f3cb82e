/* event.h - one decision as a line of the decision log
 *
 * A submission only copies the data for its line, some kilobytes at most. Another
 * thread writes the line later.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_EVENT_H
#define DN_EVENT_H

#include "advise.h"

/* Characters of the name of a job, partition, account or QOS. Longer names are cut and
 * end in "...".
 */
#define DN_EVENT_NAME_MAX 128

struct dn_event {
    int64_t time_ms; /* since 1970 */
    int64_t user_id;
    int64_t taken_us;
    enum dn_job_kind kind;
    bool applied;            /* the job was rewritten as the record says */
    enum dn_verdict verdict; /* NONE: there was an error */
    enum dn_abstain abstain;
    char name[DN_EVENT_NAME_MAX + 4];
    char partition[DN_EVENT_NAME_MAX + 4];
    char account[DN_EVENT_NAME_MAX + 4];
    char qos[DN_EVENT_NAME_MAX + 4];
    char error[DN_ERR_TEXT_MAX];
    char record[DN_RECORD_MAX + 1];
    int n_reasons;
    char reasons[][DN_REASON_MAX];
};

/* The event of 'job', from 'advice' and 'err'; either may be NULL. Return NULL without
 * memory. Free it with free ().
 */
struct dn_event *dn_event_new (const struct dn_job *job,
                               const struct dn_advice *advice,
                               const struct dn_err *err);

/* The line, a JSON object of printable ASCII, with a newline at its end. NULL without
 * memory. Free it with free ().
 */
char *dn_event_line (const struct dn_event *event);

#endif
