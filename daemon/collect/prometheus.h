/* prometheus.h - what Prometheus measured of the GPUs of finished jobs
 *
 * For each stored job with GPUs and without a mean utilisation one question: four
 * expressions at the end of the job, over the time that it ran. An exporter must have
 * labelled or joined its samples with the number of the job.
 *
 * A job is asked for by two or three passes, which begin a while before the last one,
 * and while it ended less than a day ago. So a job that no exporter has seen is not
 * asked for again and again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROMETHEUS_H
#define DN_PROMETHEUS_H

#include "base/text.h"
#include "jobs/store.h"

/* Jobs that are asked for in a pass, and the age up to which. */
#define DN_PROMETHEUS_JOBS  100
#define DN_PROMETHEUS_AGE_S 86400

enum dn_gpu_measure {
    DN_MEASURED_UTILISATION, /* mean share of time, 0 to 1 */
    DN_MEASURED_MEMORY,      /* peak of one GPU [byte] */
    DN_MEASURED_POWER,       /* mean of one GPU [W] */
    DN_MEASURED_ENERGY,      /* of all GPUs [J] */
    DN_MEASURED_IDLE,        /* GPUs that computed nothing and held no data */
    DN_N_MEASURED
};

#define DN_EXPRESSION_MAX 1024

/* An expression of each; "": none. In them "%j" is the number of the job, "%J" as the
 * user knows it, "%s" the seconds that it ran, "%h" its first node, "%c" its cluster,
 * "%%" a percent sign.
 */
struct dn_expressions {
    char text[DN_N_MEASURED][DN_EXPRESSION_MAX];
};

/* The built-in ones: NVIDIA's DCGM exporter with the mapping of HPC jobs, or the GPU
 * exporter of jobstats.
 */
void dn_expressions_default (struct dn_expressions *expressions);

/* Read a file of lines "Utilisation=...", "Memory=...", "Power=...", "Energy=...",
 * "Idle=..."; a measure without a line is not asked for. -1 with 'err', which names the
 * line.
 */
int dn_expressions_read (struct dn_span text,
                         const char *file,
                         struct dn_expressions *expressions,
                         struct dn_err *err);

/* The path and query of a job; false if it does not fit, or the job never ran. */
bool dn_prometheus_query (const struct dn_expressions *expressions,
                          const struct dn_finished *job,
                          struct dn_buf *buf);

/* Set what an answer has. 1 if there was anything, 0 if not, -1 with 'err'. */
int dn_prometheus_read (struct dn_span text,
                        struct dn_finished *job,
                        struct dn_err *err);

/* Complete jobs of the store that ended from 'since_s' on, and commit. 'queries' is a
 * file, or "". 'n' jobs were completed. -1 with 'err'; DN_E_TIME: try again later.
 */
struct dn_measuring {
    const char *url;
    const char *queries;
    int64_t now_s;
    int64_t since_s;
    int64_t n;
};
int dn_prometheus_measure (struct dn_measuring *measuring,
                           struct dn_store *store,
                           struct dn_err *err);

/* Get the body of 'path', which begins with '/' and is percent-encoded, from the server
 * 'url', http://HOST:PORT or https://..., within 'limit_s' seconds. '*text' is
 * terminated and freed with free (). -1 with 'err', which names the URL; DN_E_LIMIT if
 * the answer has more than 'max' bytes.
 */
int dn_http_get (const char *url,
                 const char *path,
                 size_t max,
                 int limit_s,
                 char **text,
                 size_t *len,
                 struct dn_err *err);

#endif
