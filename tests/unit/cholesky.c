/* cholesky.c - tests of equations with a symmetric matrix
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "base/cholesky.h"

#define N 5

/* A matrix and the product of it with 1, 2, ... N. */
static void make_problem (double *a, double *x)
{
    double *at = a;

    for (int i = 0; i < N; i++)
        for (int j = 0; j <= i; j++)
            *at++ = (i == j ? 3.0 : 1.0) / (1 + i - j);
    for (int i = 0; i < N; i++) {
        x[i] = 0;
        for (int j = 0; j < N; j++) {
            int high = i > j ? i : j;
            int low = i > j ? j : i;

            x[i] += a[high * (high + 1) / 2 + low] * (j + 1);
        }
    }
}

TEST ("equations are solved")
{
    double a[N * (N + 1) / 2];
    double x[N];

    make_problem (a, x);
    assert_true (dn_cholesky (a, N));
    dn_cholesky_lower (a, x, N);
    dn_cholesky_upper (a, x, N);
    for (int i = 0; i < N; i++)
        assert_near (x[i], i + 1);
}

TEST ("a matrix that is not positive has no factor")
{
    double indefinite[] = {1, 2, 1};
    double unknown[] = {NAN};
    double zero[] = {0};

    assert_false (dn_cholesky (indefinite, 2));
    assert_false (dn_cholesky (unknown, 1));
    assert_false (dn_cholesky (zero, 1));
    assert_true (dn_cholesky (NULL, 0));
}
