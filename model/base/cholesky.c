/* cholesky.c - equations with a small symmetric matrix
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/cholesky.h"

#include <math.h>

bool dn_cholesky (double *a, int n)
{
    double *row = a;

    for (int i = 0; i < n; row += ++i) {
        const double *other = a;

        for (int j = 0; j <= i; other += ++j) {
            double sum = row[j];

            for (int k = 0; k < j; k++)
                sum -= row[k] * other[k];
            if (i == j && !(sum > 0))
                return false;
            row[j] = i == j ? sqrt (sum) : sum / other[j];
        }
    }
    return true;
}

void dn_cholesky_lower (const double *l, double *x, int n)
{
    for (int i = 0; i < n; l += ++i) {
        for (int k = 0; k < i; k++)
            x[i] -= l[k] * x[k];
        x[i] /= l[i];
    }
}

void dn_cholesky_upper (const double *l, double *x, int n)
{
    for (int i = n; i-- > 0;) {
        const double *row = l + i * (i + 1) / 2;

        x[i] /= row[i];
        for (int k = 0; k < i; k++)
            x[k] -= row[k] * x[i];
    }
}
