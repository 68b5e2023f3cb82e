/* capture_file.h - what a job has measured and described of itself
 *
 * The hook in the first Python process of a job (python/) writes the file
 * ProgressDir/JOBID.capture and replaces it whole: after the warm-up, then every ten
 * minutes, and at the end. It is JSON, one object, in the form that dnnestd(8)
 * shows. As with progress (host/progress_file.h), dnnestd believes a file only
 * if the user of the job owns it; the text may come from anywhere.
 *
 * What a job says of itself describes it, and may raise a need. It lowers nothing: run
 * times are those of accounting.
 *
 * In: the text. Out: struct dn_capture. Members that this version does not know are
 * ignored, and one of a wrong type or out of range is unknown. A file that is no JSON,
 * too long, has too many values, or no time, is an error.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CAPTURE_FILE_H
#define DN_CAPTURE_FILE_H

#include <sys/types.h>

#include "base/limits.h"
#include "base/text.h"
#include "host/progress_file.h"

#define DN_CAPTURE_VERSION 1

/* What follows the number of the job in the name of the file. */
#define DN_CAPTURE_SUFFIX ".capture"

/* Bytes of the file, of the description in it as it is kept, and of what
 * dn_capture_write () writes.
 */
#define DN_CAPTURE_BYTES_MAX   (256 * 1024)
#define DN_CAPTURE_SIDECAR_MAX 4096
#define DN_CAPTURE_KEPT_MAX    5120

/* Texts are printable ASCII, "" where unknown; counts are DN_UNSET, numbers NaN. */
struct dn_capture {
    int64_t time_s;    /* when it was written, seconds since 1970 */
    int64_t started_s; /* when the program started */
    /* software */
    char framework[DN_NAME_MAX]; /* "pytorch", "tensorflow", "jax" */
    char version[DN_NAME_MAX];
    char cuda[DN_NAME_MAX];
    char python[DN_NAME_MAX];
    char arch[DN_ARCH_MAX]; /* for which it has kernels: "sm_70,sm_80,compute_90" */
    /* devices */
    int64_t gpus_seen;
    int64_t gpus_used;
    char device[DN_NAME_MAX];
    /* run */
    int64_t world;
    char parallel[DN_NAME_MAX];
    int64_t trainings; /* one after another, so far */
    int64_t step;      /* of the present one */
    int64_t steps;
    int64_t steps_per_epoch;
    int64_t epochs;
    int64_t workers;
    double loader_share; /* of the time, in which it waited for data */
    /* measured */
    double start_up_s;
    double step_ms; /* median */
    double step_p95_ms;
    int64_t steps_measured;
    double gpu_allocated_gb; /* GiB */
    double gpu_reserved_gb;
    double gpu_device_gb;
    /* the description as a sidecar (graph/sidecar.h), compact; owned; NULL: none, or it
     * is not valid or cannot be made short enough */
    char *sidecar;
};

/* What becomes of the description. */
enum dn_capture_sidecar {
    DN_SIDECAR_COMPACT,
    DN_SIDECAR_LEFT_OUT, /* it takes longest to read; nothing is to be freed */
    DN_SIDECAR_AS_KEPT   /* by dn_capture_write (): it is not checked again */
};

/* Read the text of a file. -1 with 'err', which names 'file', and an empty 'capture'.
 * Freed with dn_capture_free ().
 */
int dn_capture_read (struct dn_span text,
                     const char *file,
                     enum dn_capture_sidecar how,
                     struct dn_capture *capture,
                     struct dn_err *err);
void dn_capture_free (struct dn_capture *capture);

/* Write what is not measured, as dn_capture_read () reads it: at most
 * DN_CAPTURE_KEPT_MAX bytes, the description left out if it does not fit. NULL without
 * memory; freed with free ().
 */
char *dn_capture_write (const struct dn_capture *capture);

/* How far the run is, in steps, as reports of the first measured step and the last one.
 * False: not known, or the program trains several times.
 */
bool dn_capture_progress (const struct dn_capture *capture,
                          struct dn_progress *progress);

/* How far the job of that number and user is: what it has reported in the directory
 * (ProgressDir), or else the steps of its capture there. -1 with 'err', and an empty
 * 'progress', if neither can be believed.
 */
int dn_job_progress (const char *dir,
                     int64_t id,
                     uid_t owner,
                     struct dn_progress *progress,
                     struct dn_err *err);

#endif
