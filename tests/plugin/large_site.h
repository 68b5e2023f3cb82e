/* large_site.h - a site of eight GPU types with the bundle that comes with dnnest
 *
 * For programs that measure decisions and do not test them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LARGE_SITE_H
#define DN_LARGE_SITE_H

#include "fake_site.h"

/* The rules and the GPU types, for start_plugin () or write_conf (). Any job that
 * requests an a100 may be moved to any other of them.
 */
#define LARGE_GPU(type, device)                                                        \
    "Gpu Type=" type " Device=" device " Cost=4 PerNode=4 Nodes=2 NodeCpus=96 "        \
    "NodeMemory=512000 Partitions=gpu\n"
#define LARGE_SITE                                                                     \
    "Mode=enforce EvidenceTime=words\nMaxSlowdown=9\nMinConfidence=0\n" LARGE_GPU (    \
        "t4", "t4_16gb") LARGE_GPU ("v100", "v100_sxm2_16gb")                          \
        LARGE_GPU ("v100l", "v100_sxm2_32gb") LARGE_GPU ("rtx3090", "rtx_3090_24gb")   \
            LARGE_GPU ("a100", "a100_sxm4_40gb") LARGE_GPU ("a100l", "a100_sxm4_80gb") \
                LARGE_GPU ("h100", "h100_sxm5_80gb")                                   \
                    LARGE_GPU ("h200", "h200_sxm_141gb")

/* The kinds of submissions of a site. */
enum large_job {
    LARGE_SILENT,      /* has no description */
    LARGE_REMARK,      /* has a comment of its owner, which must be checked */
    LARGE_RESNET,      /* describes itself, always in the same way: a repeated job */
    LARGE_NEW_RESNET,  /* the same, every time with another number of epochs: a new one
                        */
    LARGE_BERT,        /* another network, repeated */
    LARGE_NEW_BERT,    /* and new */
    LARGE_SIDECAR,     /* a description in a sidecar, repeated */
    LARGE_NEW_SIDECAR, /* and new */
    LARGE_MISTAKEN,    /* describes itself wrongly */
    LARGE_TOO_LARGE,   /* does not fit, but would with a smaller batch */
    LARGE_HOPELESS,    /* nor would it with any remedy */
    N_LARGE_JOBS
};
extern const struct large_kind {
    const char *name;
    const char *text; /* its description, which may have a number */
    bool is_new;      /* of its own at every submission */
} large_jobs[N_LARGE_JOBS];
void make_large_job (job_desc_msg_t *desc, enum large_job kind);

/* After load_plugin (): copy the files of the site, with another bundle if
 * DNNEST_BUNDLE names one.
 */
void make_large_site (void);

#endif
