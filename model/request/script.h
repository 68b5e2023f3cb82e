/* script.h - the one pass over a batch script
 *
 * One tokeniser reads the text once. Three readers take its tokens: the marks of
 * dnnest, the rule of words, and the fingerprint.
 *
 * The rule works by tables of words; nothing is run and no variable is followed. A
 * script is plain if it runs one training and nothing in it counts CPUs, time,
 * trainings or companions by itself. Else fields of the job are kept, and the first
 * word that says so is the reason. In doubt a field is kept.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCRIPT_H
#define DN_SCRIPT_H

#include "base/cache.h"
#include "request/fingerprint.h"
#include "request/marks.h"
#include "request/request.h"

/* What was read. The marks borrow from the script. */
struct dn_reading {
    struct dn_script script;
    struct dn_print print;
    struct dn_marks marks; /* last, as few of its list are filled */
};

/* The reading of a job without a script. 'words' must outlive it, as below. */
void dn_reading_begin (struct dn_reading *reading, const struct dn_words *words);

/* Read the script of 'job'. What precedes the first command, and the marks, are read
 * always; the rest where it is 'wanted' or one of these marks is exact. Linear in the
 * length of the script. The same script of a job of the same shape is read once, if
 * there is a 'cache' (NULL: none). Return -1 with DN_E_TIME when 'deadline' (NULL:
 * none) passes.
 */
int dn_reading_of (const struct dn_words *words,
                   const struct dn_job *job,
                   bool wanted,
                   struct dn_cache_access *cache,
                   const struct dn_deadline *deadline,
                   struct dn_reading *reading,
                   struct dn_err *err);

/* Of an image's name, that much is read. */
#define DN_IMAGE_MAX 256

/* What the reading depends on besides the text. */
struct dn_script_job {
    int64_t n_tasks; /* DN_UNSET if unknown, as the next two */
    int64_t n_nodes;
    int64_t n_gpus;
    char gpu_type[DN_NAME_MAX]; /* "" for none */
    char image[DN_IMAGE_MAX];   /* "" for that of the script's head; cut if longer */
    bool wanted;                /* more than the marks */
};

/* The same for the text 'script', which may be NULL, without a cache. */
int dn_script_read (const struct dn_words *words,
                    const char *script,
                    const struct dn_script_job *job,
                    const struct dn_deadline *deadline,
                    struct dn_reading *reading,
                    struct dn_err *err);

#endif
