/* reals.c - order and median of numbers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/reals.h"

#include <math.h>
#include <stdlib.h>

int dn_reals_compare (const void *a, const void *b)
{
    double x = *(const double *) a;
    double y = *(const double *) b;

    return (x > y) - (x < y);
}

double dn_reals_median (double values[], int n)
{
    if (n == 0)
        return NAN;
    qsort (values, (size_t) n, sizeof (*values), dn_reals_compare);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}
