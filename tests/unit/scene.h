/* scene.h - a small site and the demonstration's job, for the tests of advise
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SCENE_H
#define DN_SCENE_H

#include "advise.h"

/* A site with v100 (16 GB, cheap) and a100 (40 GB, dear), both with four GPUs, 96 CPUs
 * and 512,000 MB per node, in all partitions; with the partitions gpu-v100 and
 * gpu-a100, the features volta and ampere of their own, and the feature ib; and the
 * data set "imagenet". 'conf' holds further lines of dnnest.conf. It is kept for the
 * test (unit_keep ()), as all that the scene hands out.
 */
struct dn_site *scene_site (const char *conf);

/* The texts of its devices and of its data set. */
extern const char scene_v100[];
extern const char scene_a100[];
extern const char scene_datasets[];

/* The one without further lines, made once and never freed. */
const struct dn_site *scene_plain (void);

/* Add a file of the source tree, such as etc/hardware/t4_16gb.conf. */
void scene_catalogue_add (struct dn_catalogue *catalogue, const char *path);

/* Add all of etc/hardware. */
void scene_shipped (struct dn_catalogue *catalogue);

/* Read the generations of etc/hardware into the catalogue, and connect its devices. */
void scene_generations (struct dn_catalogue *catalogue);

/* One of them. */
const struct dn_generation *scene_generation (const char *name);

/* A batch job asking for four A100s, 80 CPUs and a day, of a few epochs of ResNet-50.
 */
struct dn_job scene_job (void);

/* An empty advice. */
struct dn_advice *scene_new (void);

/* A view in which all nodes are idle. */
void scene_idle (struct dn_view *view);

/* Advise on 'job' under 'conf', where all nodes are idle; fails the test on an error.
 */
struct dn_advice *scene_advise (const char *conf, const struct dn_job *job);

/* The line for slurmctld's log of the last of them. */
extern char scene_log[DN_LOG_TEXT_MAX];

/* The same with Gpu lines that have Type, Device and Cost only, unless 'conf' has Gpu
 * lines, and with a snapshot of these rows, in any order, that is 'age_s' old.
 */
#define SCENE_NOW 1800000000 /* when the snapshot was taken */
struct dn_advice *scene_see (const char *conf,
                             const char *rows,
                             int64_t age_s,
                             const struct dn_job *job);

/* The same with a view of the test's own; NULL: there is none. */
struct dn_advice *scene_advise_in (const char *conf,
                                   const struct dn_view *view,
                                   const struct dn_job *job);

/* The first edit of a field whose new text has that part, NULL for any; NULL: there is
 * none. Its new text; its new number, or DN_UNSET. The text of the record.
 */
const struct dn_edit *scene_edit (const struct dn_advice *advice,
                                  enum dn_field field,
                                  const char *with);
const char *scene_text (const struct dn_advice *advice, enum dn_field field);
int64_t scene_number (const struct dn_advice *advice, enum dn_field field);
const char *scene_record (const struct dn_advice *advice);

/* Has the decision a reason with that part? The second fails the test if not. */
bool scene_has_reason (const struct dn_advice *advice, const char *part);
void scene_need_reason (const struct dn_advice *advice, const char *part);

/* The advice on the scene's job with changes, such as job.features = "ib". */
#define SCENE_ADVICE(conf, changes)                                                    \
    ({                                                                                 \
        struct dn_job job = scene_job ();                                              \
                                                                                       \
        changes;                                                                       \
        scene_advise (conf, &job);                                                     \
    })

/* The scene's job with changes is advised on, and of the decision 'd' this holds, and
 * it has a reason with that part; "": any.
 */
#define SCENE_EXPECT(conf, changes, holds, part)                                       \
    do {                                                                               \
        struct dn_job job = scene_job ();                                              \
        const struct dn_decision *d;                                                   \
                                                                                       \
        changes;                                                                       \
        d = &scene_advise (conf, &job)->decision;                                      \
        scene_holds (d, holds, __FILE__, __LINE__, #holds, part);                      \
    } while (0)
void scene_holds (const struct dn_decision *decision,
                  bool holds,
                  const char *file,
                  int line,
                  const char *what,
                  const char *part);

/* Rows of a snapshot. All nodes are like those of scene_site (), in partition gpu. */
#define SCENE_SHAPE " Gpus=4 Cpus=96 Memory=512000 Tmp=900000 ThreadsPerCore=2 "
#define SCENE_NODES(type, up, idle)                                                    \
    "Group Type=" type SCENE_SHAPE "Partitions=gpu Nodes=2 Up=" up " Idle=" idle "\n"
#define A100_IDLE SCENE_NODES ("a100", "2", "0,0,0,0,2")
#define A100_BUSY SCENE_NODES ("a100", "2", "2")
#define A100_DOWN SCENE_NODES ("a100", "0", "0")
#define V100_IDLE SCENE_NODES ("v100", "2", "0,0,0,0,2")
#define V100_BUSY SCENE_NODES ("v100", "2", "2")
#define V100_DOWN SCENE_NODES ("v100", "0", "0")
#define QUEUE     "Partition Name=gpu Default=yes Up=yes MaxTime=604800\n"
#define SCENE_ALL(type)                                                                \
    "Group Type=" type SCENE_SHAPE                                                     \
    "Features=ib Partitions=gpu,gpu-a100,gpu-v100 Nodes=2 Up=2 Idle=0,0,0,0,2\n"
#define SCENE_IDLE                                                                     \
    SCENE_ALL ("a100")                                                                 \
    SCENE_ALL ("v100")                                                                 \
    SCENE_ALL ("big")                                                                  \
    QUEUE "Partition Name=gpu-a100 Up=yes MaxTime=172800\n"                            \
          "Partition Name=gpu-v100 Up=yes MaxTime=172800\n"

#endif
