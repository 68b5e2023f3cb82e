/* apps.h - what the finished runs of each user's applications say of the next one
 *
 * In: the text of the file 'history', lines of Key=Value that dnnestd writes
 * (jobs/history/fit_apps.h). Out: struct dn_apps, and for a run of an application the
 * law of its run time, what it needs of CPUs and GPU memory. Const after reading,
 * shared by all threads; a lookup takes microseconds and allocates nothing.
 *
 * An application is of one user. Where the site shares histories by account, there are
 * rows of the account in addition, of the runs of all its users. Its name is app=, or
 * else the fingerprint of script and description (request/fingerprint.h). Per
 * application, GPU type and number of GPUs there is one row, fitted outside slurmctld:
 *
 *   run time = start_s + unit_s * work, up to a factor of spread 'sigma' with 'freedom'
 *   degrees of freedom: a bound is the predictive one of Student's t-distribution.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_APPS_H
#define DN_APPS_H

#include "base/fields.h"
#include "predict/estimate.h"

/* Version 1 had no host memory, version 2 nothing that runs have described. */
#define DN_APPS_VERSION 3

/* Its name in StateDir. */
#define DN_APPS_FILE "history"

/* Rows at most, 72 bytes each, applications that have described themselves, and bytes
 * of their texts with what malloc () adds to each: 16 MB in all. Those that are most
 * useful are kept.
 */
#define DN_APPS_MAX       100000
#define DN_APPS_KNOWN_MAX 20000
#define DN_APPS_TEXTS_MAX 7000000
#define DN_APPS_TEXT_MORE 16

/* Bytes of a description, with its NUL, and of a network. */
#define DN_APPS_SPEC_MAX    513
#define DN_APPS_NETWORK_MAX 4097

/* In which unit the work of a run is known. */
/* clang-format off */
#define DN_WORK_UNITS(ROW)                                                             \
    ROW (WORK_RUN, "run") /* 1: all runs do the same */                                \
    ROW (WORK_EPOCHS, "epochs") /* epochs= of the metadata */                          \
    ROW (WORK_STEPS, "steps") /* steps= */                                             \
    /* seconds predicted on that type without history */                               \
    ROW (WORK_PREDICTED, "predicted")
DN_ENUM (dn_work_unit, WORK_UNITS);
/* clang-format on */

extern const struct dn_names dn_work_unit_names;

/* The key of an application: the first 8 bytes of SHA-256 of "user:UID:NAME" or
 * "account:ACCOUNT:NAME".
 */
typedef uint64_t dn_app_key;
dn_app_key dn_app_key_of_user (int64_t user, const char *app);
dn_app_key dn_app_key_of_account (const char *account, const char *app);

struct dn_app_row {
    dn_app_key key;
    int32_t type;     /* index into dn_apps.types: GPU type as Slurm names it */
    uint16_t gpus;    /* of the job; 0: any number of them was seen */
    uint8_t unit;     /* enum dn_work_unit */
    uint8_t freedom;  /* of the t-distribution, 1 to 255 */
    uint32_t runs;    /* of the owner that were learned from */
    uint32_t last_s;  /* end of the newest, seconds since 1970 */
    float start_s;    /* before the first step */
    float unit_s;     /* per unit of work; of DN_WORK_RUN, of the whole run */
    float sigma;      /* predictive spread of ln (run time) */
    float longest_s;  /* of the longest recent mode, with work_max (fit_apps.h) */
    float cores;      /* CPUs busy per GPU, the largest of recent runs; 0 unknown */
    float gpu_mem_gb; /* peak of one GPU, the largest of recent runs; 0 unknown */
    float mem_gb; /* peak of host memory, as if the job were on one node; the same */
    uint8_t mem_runs; /* recent runs that measured it */
    bool mem_kept;    /* one was killed when its memory had been lowered: it stays */
    bool
        gpu_mem_said; /* 'gpu_mem_gb' is what runs have said, and nothing measured it */
    float work_min;   /* of the runs, in its unit */
    float work_max;
    float step_s;     /* of a step, and before the first one, as the newest run that */
    float start_up_s; /* measured itself says (host/capture_file.h); 0 unknown */
};

/* What the newest completed run of a user's application has described of itself. It
 * describes, and may raise a need; nothing here is confirmed by accounting. One that
 * describes nothing and left GPUs idle, as the site has measured, has an empty 'spec'.
 */
struct dn_app_known {
    dn_app_key key;
    dn_app_key kin;     /* of runs that differ in their batch; 0: as 'key' */
    char *spec;         /* metadata without the amount of work; owned */
    const char *arch;   /* "sm_70,sm_80,compute_90", or ""; in the memory of 'spec' */
    const char *job;    /* of that run, as the user knows it, or ""; the same */
    int32_t network;    /* index into dn_apps.networks; -1: none */
    int32_t batch;      /* that its script states; 0: none */
    uint32_t last_s;    /* end of that run, seconds since 1970 */
    float steps;        /* of one training of it; 0 unknown */
    float epochs;       /* the same */
    float loader_share; /* of its time, in which it waited for data; -1 unknown */
    int16_t workers;    /* loader processes; -1 unknown */
    uint16_t gpus;      /* that the newest run had; 0 unknown */
    uint16_t gpus_used; /* the most that the last two runs with as many have used */
    uint8_t gpus_runs;  /* how many of these two have said it */
};

/* An entry of the index of 'kin'. */
struct dn_app_kin {
    dn_app_key kin;
    uint32_t last_s;
    int32_t at; /* index into dn_apps.known */
};

/* GPU types, at most. */
#define DN_APP_TYPES_MAX 256

struct dn_apps {
    int64_t version;            /* of the file */
    char cluster[DN_NAME_MAX];  /* whose it is; "" not known */
    int64_t time_s;             /* when it was learned, seconds since 1970 */
    bool by_account;            /* there are rows of accounts, too */
    char bundle[DN_NAME_MAX];   /* that DN_WORK_PREDICTED refers to; "" none */
    char (*types)[DN_NAME_MAX]; /* owned */
    int32_t n_types;
    struct dn_app_row *rows; /* by key, type, gpus; owned */
    int64_t n_rows;
    struct dn_app_known *known; /* by key; owned */
    int64_t n_known;
    struct dn_app_kin *kin; /* those that have it, by it, the newest last; owned */
    int64_t n_kin;
    char **networks; /* sidecars with a graph and no metadata; owned, so are they */
    int64_t n_networks;
    size_t n_text; /* bytes of all descriptions and networks, as they are limited */
};

/* The kinds of lines of the file, in the order in which they come. */
enum dn_apps_line {
    DN_APPS_LINE_HISTORY,
    DN_APPS_LINE_TYPE,
    DN_APPS_LINE_NETWORK,
    DN_APPS_LINE_APP,
    DN_APPS_LINE_CAPTURED,
    DN_APPS_LINE_END,
    DN_N_APPS_LINES
};

extern const struct dn_line_kind dn_apps_kinds[];

/* Read the file. NULL with 'err'; freed with dn_apps_free (), which is NULL-safe. */
struct dn_apps *dn_apps_read (struct dn_span text,
                              const char *file,
                              struct dn_err *err) DN_COLD;
void dn_apps_free (struct dn_apps *apps) DN_COLD;

/* Keep the rows alone. */
void dn_apps_forget_known (struct dn_apps *apps) DN_COLD;

/* Write it, by calls of 'put' with pieces of the text. Return what 'put' returned, if
 * not 0. Rows and descriptions must be in order.
 */
int dn_apps_write (const struct dn_apps *apps, dn_put_f put, void *to);

/* The row of an application for runs on that GPU type and number of GPUs, or NULL.
 * NULL-safe.
 */
const struct dn_app_row *dn_apps_find (const struct dn_apps *apps,
                                       dn_app_key key,
                                       const char *type,
                                       int64_t gpus);

/* All rows of an application: the first, and how many. NULL-safe. */
const struct dn_app_row *dn_apps_all (const struct dn_apps *apps,
                                      dn_app_key key,
                                      int64_t *n_rows);

/* What is known of an application by its own words, or NULL. NULL-safe. */
const struct dn_app_known *dn_apps_known (const struct dn_apps *apps, dn_app_key key);

/* What is known of the newest of the applications that are kin, by their common key:
 * they have it, or their 'kin' is it. NULL: none. NULL-safe.
 */
const struct dn_app_known *dn_apps_kin (const struct dn_apps *apps, dn_app_key kin);

/* The network of an application, a sidecar in JSON (graph/sidecar.h); NULL: none. */
const char *dn_apps_network (const struct dn_apps *apps,
                             const struct dn_app_known *known);

/* Bytes of the texts of a description, as they are limited. */
size_t dn_app_known_size (const struct dn_app_known *known);

/* Replace its texts by copies in one piece of memory, that of 'spec', which the caller
 * frees. -1 with 'err', and nothing is replaced: no memory.
 */
int dn_app_known_copy (struct dn_app_known *known, struct dn_err *err);

/* Add a description, or a network, to the end. The texts are copied. -1 with 'err':
 * without memory, or DN_E_LIMIT where there is no room.
 */
int dn_apps_add_known (struct dn_apps *apps,
                       const struct dn_app_known *known,
                       struct dn_err *err);
int dn_apps_add_network (struct dn_apps *apps, const char *sidecar, struct dn_err *err);

/* Student's law of as many degrees of freedom, or of the next smaller number that is
 * known, which is wider. Static.
 */
const struct dn_quantiles *dn_student_law (int freedom);

/* The law of the run time for that work; its quantiles are static. */
struct dn_range dn_app_row_time (const struct dn_app_row *row, double work);

/* How far the work is outside that of the runs, as a factor. */
double dn_app_row_reach (const struct dn_app_row *row, double work);

/* Ten years, above any limit [s]. */
#define DN_APP_TIME_MAX_S 3.2e8

/* The same law, at most that long, not below the longest run in proportion to the work,
 * and wider the further the work is outside that of the runs.
 */
struct dn_range dn_app_row_law (const struct dn_app_row *row, double work);

#endif
