/* cholesky.h - equations with a small symmetric matrix
 *
 * A matrix is its lower triangle by rows: n (n + 1) / 2 numbers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CHOLESKY_H
#define DN_CHOLESKY_H

#include <stdbool.h>

/* Replace a matrix by its factor L, A = L L'; false if it is not positive definite. */
bool dn_cholesky (double *a, int n);

/* x becomes L^-1 x, and L'^-1 x. */
void dn_cholesky_lower (const double *l, double *x, int n);
void dn_cholesky_upper (const double *l, double *x, int n);

#endif
