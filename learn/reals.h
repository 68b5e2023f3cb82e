/* reals.h - order, median and drawing of numbers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REALS_H
#define DN_REALS_H

#include <stdint.h>

/* Compares two doubles, for qsort (). */
int dn_reals_compare (const void *a, const void *b);

/* The median, or the mean of both; NaN if 'n' is 0. Sorts 'values'. */
double dn_reals_median (double values[], int n);

/* A random number of 64 bits: splitmix64 (Steele, Lea, Flood 2014), and xorshift64
 * (Marsaglia 2003), whose state is not 0. The same on every machine.
 */
uint64_t dn_random (uint64_t *state);
uint64_t dn_xorshift (uint64_t *state);

#endif
