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
 * data set "imagenet". 'conf' holds further lines of dnnest.conf. The caller frees it
 * with scene_free ().
 */
struct dn_site *scene_site (const char *conf);
void scene_free (struct dn_site *site);

/* A batch job asking for four A100s, 80 CPUs and a day, of a few epochs of ResNet-50.
 */
struct dn_job scene_job (void);

/* Advise on 'job' under 'conf'; fails the test on an error. What points into the site
 * must not be looked at. The caller frees it with dn_advice_free ().
 */
struct dn_advice *scene_advise (const char *conf, const struct dn_job *job);

#endif
