/* stack.h - how well the code and the host of a run are tuned; private to predict/
 *
 * The same network on the same device differs between sites by a factor of 1.2 in the
 * median: containers, versions, host and care. No key states it. It is a share here,
 * from 0, code written with a framework as it is taught, to 1, the vendor's containers
 * (stack=ngc): what the keys of a run say of it shifts the share, and the constants of
 * the white box lie between those of both ends. What is left is the spread between
 * sites, which a site's own runs take away (tuning.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STACK_H
#define DN_STACK_H

#include "predict/constants.h"
#include "predict/whitebox.h"

/* Factors on constants of untuned code. */
struct dn_stack_factors {
    double tuned;   /* 0 to 1 */
    double tensor;  /* on the efficiencies of matrix units */
    double memory;  /* on the shares of the memory bandwidth */
    double grouped; /* on eff_grouped */
    double launch;  /* on launch_s */
    double step;    /* on step_s */
};

struct dn_stack_factors dn_stack_factors_of (const struct dn_case *c);

/* Has the network convolutions over images that run on matrix units, of the device or
 * of some device if the case has none? Only these need an order of the channels;
 * kernels for groups exist for both orders.
 */
bool dn_reads_layout (const struct dn_case *c);

/* Does the age of the software (since=, torch=) that was stated, or that could be,
 * decide how well the code is tuned? On Hopper and later, code is taken as that of 2023
 * or later: a statement of older software is not believed.
 */
bool dn_reads_age (const struct dn_case *c);

#endif
