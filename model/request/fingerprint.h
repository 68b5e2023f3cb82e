/* fingerprint.h - which application a job runs, without a name for it
 *
 * In: the head of the batch script, the arguments, and the text of the metadata. Out: a
 * name of 64 bits, "fp:" and 16 hexadecimal digits, that two jobs share if they run the
 * same program on the same network. The script is not understood as a shell does; its
 * words are compared, and these do not count:
 *
 * - comments, #SBATCH and #DNNEST lines, blank lines, blanks, quotes, and how a command
 *   is broken into lines;
 * - commands that only print or look after files: echo (unless into a file), cd, mkdir,
 *   rm, ls, date, sleep, tee and the like;
 * - the folders of an absolute path, one below ~ or a variable; of a file of settings
 *   (.yaml, .json, .toml, .ini, .cfg) the last one counts;
 * - files that output goes to (>), dates, the seconds since 1970, and a port at the end
 *   of a word;
 * - the value of an option, assignment or setting (--seed 1, SEED=1, run.seed=1, seed:
 *   1) that is a seed, port, name of a run, output or log folder, checkpoint to resume
 *   from, cache, token, or anything of wandb, mlflow, hydra and loggers;
 * - the number of nodes, GPUs, processes, which a history keeps apart anyway;
 * - epochs and steps, but only where the metadata state how many there are.
 *
 * All else counts: programs, configurations, models, options, the order of words, the
 * number of values of a loop. In doubt the fingerprint changes, and the job has no
 * history yet.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FINGERPRINT_H
#define DN_FINGERPRINT_H

#include "request/request.h"

#define DN_FINGERPRINT_MARK "fp:"
#define DN_FINGERPRINT_MAX  24

struct dn_fingerprint {
    char text[DN_FINGERPRINT_MAX];
};

/* The fingerprint of a job with this text of metadata (may be ""), 'counted' where
 * these state its epochs or steps. Text "" where the job has neither a script nor a
 * command. Linear in the head of the script, DN_SCRIPT_HEAD_MAX. Return -1 with
 * DN_E_TIME when 'deadline' (NULL: none) passes.
 */
int dn_fingerprint_of (const struct dn_job *job,
                       const char *metadata,
                       bool counted,
                       const struct dn_deadline *deadline,
                       struct dn_fingerprint *out,
                       struct dn_err *err);

/* A fingerprint in place of a name, where names are not recorded. */
struct dn_fingerprint dn_fingerprint_of_name (const char *name);

#endif
