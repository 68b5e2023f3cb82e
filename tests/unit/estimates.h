/* estimates.h - what is predicted of a description on the A100 of the scene
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_ESTIMATES_H
#define DN_TEST_ESTIMATES_H

#include "white.h"

static inline struct dn_estimate estimate (const char *text)
{
    return white_estimate (text, A100, 0);
}

/* Seconds of a step, or of a stage of it. */
static inline double step (const char *text)
{
    return estimate (text).step_s.p50;
}

static inline double stage (const char *text, enum dn_stage which)
{
    return estimate (text).stage_s[which];
}

static inline double communication (const char *text)
{
    return stage (text, DN_STAGE_COMMUNICATION);
}

/* The same on a device of the test's own. */
static inline double communication_on (const char *text, const struct dn_device *device)
{
    return white_estimate_on (text, device, 0).stage_s[DN_STAGE_COMMUNICATION];
}

/* Bytes of device memory. */
static inline double memory (const char *text)
{
    return estimate (text).gpu_mem.p50;
}

#endif
