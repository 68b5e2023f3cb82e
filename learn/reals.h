/* reals.h - order and median of numbers
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_REALS_H
#define DN_REALS_H

/* Compares two doubles, for qsort (). */
int dn_reals_compare (const void *a, const void *b);

/* The median, or the mean of both; NaN if 'n' is 0. Sorts 'values'. */
double dn_reals_median (double values[], int n);

#endif
