/* reals.c - order, median and drawing of numbers
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

uint64_t dn_random (uint64_t *state)
{
    uint64_t z = *state += UINT64_C (0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t dn_xorshift (uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}
