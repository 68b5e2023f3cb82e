/* limit.c - the power of a chip under its board's limit, and the slow-down by it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/stages.h"

#include <math.h>

double dn_full_power (const struct dn_constants *k,
                      const struct dn_device *device,
                      double intensity,
                      double limit)
{
    const double sharpness = 6;
    double demand = device->tdp_w * (k->power_traffic + k->power_work * intensity)
                    * (device->generation->low_power ? k->power_old : 1);
    double regulated = limit * k->power_regulated;

    if (demand <= 0 || regulated <= 0)
        return 0;
    return demand / pow (1 + pow (demand / regulated, sharpness), 1 / sharpness);
}

double dn_power_slowdown (const struct dn_constants *constants,
                          const struct dn_device *device,
                          int64_t power_limit)
{
    const double usual = 0.6; /* share of the arithmetic that training reaches */
    double lack;

    if (power_limit <= 0 || (double) power_limit >= device->tdp_w)
        return 1;
    lack = dn_full_power (constants, device, usual, device->tdp_w)
               / dn_full_power (constants, device, usual, (double) power_limit)
           - 1;
    return 1 + constants->power_slow * lack
           + constants->power_slow_deep * lack * lack * lack;
}
