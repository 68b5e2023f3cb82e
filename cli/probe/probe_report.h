/* probe_report.h - the result of a probe, and the prediction of the whole run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PROBE_REPORT_H
#define DN_PROBE_REPORT_H

#include "learn/calibrate.h"
#include "probe_run.h"
#include "site_gpus.h"

#define DN_COMMAND_TEXT_MAX 6144

/* One GPU of the table. */
struct dn_probe_row {
    const struct dn_site_gpu *gpu; /* of the report's list */
    struct dn_estimate estimate;
    struct dn_forecast run; /* borrows the estimate */
    enum dn_basis basis;
};

struct dn_probe_report {
    const struct dn_site *site;
    const struct dn_subject *subject; /* NULL: nothing can be predicted */
    const char *spec;                 /* as it was given, on one line */
    const char *sidecar;              /* JSON of the sidecar it names; NULL: none */
    const struct dn_probe_run *run;
    char *const *argv;
    bool within_job; /* in a job with probe= */
    bool all;        /* list the whole catalogue, not the site's GPUs */
    bool steady_known;
    struct dn_steady steady;
    struct dn_err why; /* why no step time is known */
    struct dn_gpu_use gpus;
    struct dn_probed measured;
    double cores;        /* mean number that was busy; -1 unknown */
    int64_t cpus;        /* that the program may use */
    double stall_share;  /* of a step; -1 unknown */
    double model_step_s; /* of the measured device, by the model; -1 unknown */
    struct dn_site_gpus gpus_listed;
    struct dn_probe_row *rows; /* owned; measured, then what fits, then by time */
    int n_rows;
    char sbatch[DN_COMMAND_TEXT_MAX]; /* how to submit the whole run; "" unknown */
    char record[4096];                /* where the row was kept; "" nowhere */
};

/* Evaluate the run after so many steps of warm-up. 'gpu' is the name of the device that
 * it ran on; NULL: find it. -1 with 'err' for an unknown name, or if out of memory.
 * Free with dn_probe_report_free ().
 */
int dn_probe_report_find (struct dn_probe_report *report,
                          int64_t warmup,
                          const char *gpu,
                          struct dn_err *err);

/* Add what was measured to the store 'path'. */
int dn_probe_report_record (const struct dn_probe_report *report,
                            const char *path,
                            struct dn_err *err);

/* Print it. Return an enum dn_exit. */
int dn_probe_report_print (const struct dn_probe_report *report);
void dn_probe_report_print_json (const struct dn_probe_report *report);

/* NULL-safe. */
void dn_probe_report_free (struct dn_probe_report *report);

/* Append 'text' to a shell's command line as one word. */
void dn_shell_word (struct dn_buf *buf, const char *text);

#endif
