/* fake_site.h - the built plugin, a site for it, and jobs
 *
 * Loads job_submit_dnnest.so as slurmctld does, gives it a site in a temporary
 * directory, and calls job_submit () directly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FAKE_SITE_H
#define DN_FAKE_SITE_H

#include "scratch.h"
#include "stand_in.h"

#include "submit/versions.h"

#define RESNET                                                                         \
    "dnnest:model=resnet50,batch=64,precision=fp16,epochs=20,dataset=imagenet"

/* Within the limit on both types even if it takes twice as long. */
#define SHORT_RESNET                                                                   \
    "dnnest:model=resnet50,batch=64,precision=fp16,epochs=5,dataset=imagenet"

#define GPU_LINES                                                                      \
    "Gpu Type=a100 Device=a100_sxm4_40gb Cost=4 PerNode=4 Nodes=2 NodeCpus=96 "        \
    "NodeMemory=512000 Partitions=gpu ByFeature=a100\n"                                \
    "Gpu Type=v100 Device=v100_sxm2_16gb Cost=1 PerNode=4 Nodes=2 NodeCpus=96 "        \
    "NodeMemory=512000 Partitions=gpu ByFeature=v100\n"
#define ENFORCE                                                                        \
    "Mode=enforce EvidenceTime=words\nMaxSlowdown=9\nMinConfidence=0\n" GPU_LINES

struct plugin {
    int (*init) (void);
    int (*fini) (void);
    int (*job_submit) (job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg);
    int (*job_modify) (DN_JOB_MODIFY_PARAMETERS);
};
extern struct plugin plugin;
extern void *plugin_handle;

/* For the group of tests: load the plugin and write the site's files to the folder of
 * scratch.h.
 */
int load_plugin (void **state);

/* A file of the site. */
void write_file (const char *name, const char *text, const char *more);

/* Write dnnest.conf: the paths of the site's files in two lines, then 'text'. */
void write_conf (const char *text);

/* The small bundle of tests/unit, below the site's directory, for the configurations
 * that are written from now on.
 */
void make_bundle (void);
void remove_bundle (void);
extern char bundle_dir[256];

/* Start the plugin as slurmctld does, with this configuration (NULL: none). One that
 * runs is stopped before, and this one at the end of the test.
 */
void start_plugin (const char *conf);

/* ClusterName from the next start on; NULL: none. */
extern char *cluster_name;
void stop_plugin (void);

/* Reconfigure: the next job gets the new configuration. */
void reconfigure (void);

/* The same for a change of slurm_conf with an unchanged last_update. */
void await_news (void);

/* sbatch --gres=gpu:a100:4 -c 80 -t 1-0 --mem=400000 */
void make_job (job_desc_msg_t *desc, const char *comment);

/* The same, kept until the plugin is stopped. */
job_desc_msg_t *a_job (const char *comment);

/* Submit and return the message to the user, in Slurm's memory. */
char *submit (job_desc_msg_t *desc);

/* Submit, whatever the message; and a job of make_job () that is freed. */
void submit_quietly (job_desc_msg_t *desc);
void submit_and_free (job_desc_msg_t *desc);

/* The job is unchanged, and the user gets 'expected' (NULL: nothing). */
void assert_untouched (job_desc_msg_t *desc, const char *expected);
void assert_comment_untouched (const char *comment, const char *expected);

/* The job is rewritten, and the user gets a message. */
void assert_moved (job_desc_msg_t *desc);

/* The time limit that make_job (RESNET) gets, 1440 if it is unchanged. */
uint32_t limit_given (void);

/* 'conf' with a decision log, log.jsonl, and counters, dnnest.prom; remove both. */
const char *with_traces (const char *conf);
void forget_traces (void);

/* Lines of a file of the site that have this part; 0 without the file. */
int count_lines (const char *name, const char *part);

/* The sum of the counters whose line begins with 'name'. */
long counter (const char *name);

/* Threads of this process. */
int count_threads (void);

#endif
