/* site_history.c - the runs of a site that others are compared with
 *
 * With more runs than anchors the process is approximated by what the anchors tell
 * (Quinonero-Candela and Rasmussen 2005, "fully independent training conditional"); up
 * to there it is exact.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs whose features differ by less are one anchor. */
#define LEAST_REST 1e-4

#define WIDTH DN_ANCHORS_MAX

void dn_anchors_free (struct dn_anchors *anchors)
{
    free (anchors->rows);
    free (anchors->rest);
    anchors->rows = anchors->rest = NULL;
}

static int largest (const double *values, int n)
{
    int at = -1;

    for (int i = 0; i < n; i++)
        if (values[i] > 0 && (at < 0 || values[i] > values[at]))
            at = i;
    return at;
}

int dn_anchors_choose (const struct dn_kernel *kernel,
                       const struct dn_trace *const *traces,
                       int n,
                       struct dn_anchors *anchors,
                       struct dn_err *err)
{
    double all = kernel->smooth * kernel->smooth;

    memset (anchors, 0, sizeof (*anchors));
    anchors->rows = calloc ((size_t) n * WIDTH + 1, sizeof (double));
    anchors->rest = calloc ((size_t) n + 1, sizeof (double));
    if (!anchors->rows || !anchors->rest) {
        dn_anchors_free (anchors);
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    for (int i = 0; i < n; i++)
        anchors->rest[i] = traces[i] ? all : 0;
    while (anchors->n < WIDTH) {
        int pivot = largest (anchors->rest, n);
        const double *row =
            pivot < 0 ? NULL : anchors->rows + (ptrdiff_t) pivot * WIDTH;
        double root;

        if (!row || anchors->rest[pivot] < LEAST_REST * all)
            break;
        root = sqrt (anchors->rest[pivot]);
        for (int i = 0; i < n; i++) {
            double *other = anchors->rows + (ptrdiff_t) i * WIDTH;
            double sum;

            if (!traces[i])
                continue;
            sum = dn_kernel_smooth (kernel, traces[i], traces[pivot]);
            for (int k = 0; k < anchors->n; k++)
                sum -= other[k] * row[k];
            other[anchors->n] = i == pivot ? root : sum / root;
            anchors->rest[i] -= other[anchors->n] * other[anchors->n];
        }
        anchors->rest[pivot] = 0;
        anchors->at[anchors->n++] = pivot;
    }
    for (int i = 0; i < n; i++)
        anchors->rest[i] = fmax (anchors->rest[i], 0);
    return 0;
}

/* Square matrices of the anchors, lower triangle. */
struct square {
    double a[WIDTH][WIDTH];
};

/* Replace a matrix by its lower Cholesky factor; false if it has none. */
static bool factor (struct square *m, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = m->a[i][j];

            for (int k = 0; k < j; k++)
                sum -= m->a[i][k] * m->a[j][k];
            if (i == j && !(sum > 0))
                return false;
            m->a[i][j] = i == j ? sqrt (sum) : sum / m->a[j][j];
        }
    return true;
}

/* x becomes L^-1 x. */
static void solve_lower (const struct square *l, double *x, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            /* The lower triangle is set.
             * NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
            x[i] -= l->a[i][k] * x[k];
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the same */
        x[i] /= l->a[i][i];
    }
}

/* x becomes L'^-1 x. */
static void solve_upper (const struct square *l, double *x, int n)
{
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++)
            x[i] -= l->a[k][i] * x[k];
        x[i] /= l->a[i][i];
    }
}

/* Weights of the anchors' smooth covariances, which make the mean. */
static void set_weights (const struct dn_anchors *anchors,
                         const double *values,
                         struct square *work,
                         struct dn_history *history)
{
    int n = anchors->n;

    for (int i = 0; i < n; i++) {
        history->weight[i] = values[i];
        for (int j = 0; j <= i; j++)
            work->a[i][j] = anchors->rows[(ptrdiff_t) anchors->at[i] * WIDTH + j];
    }
    solve_upper (work, history->weight, n);
}

/* The anchors' covariance with all effects, as its factor. */
static bool set_prior (const struct dn_kernel *kernel,
                       const struct dn_trace *const *traces,
                       const struct dn_anchors *anchors,
                       struct square *prior)
{
    for (int i = 0; i < anchors->n; i++) {
        const struct dn_trace *trace = traces[anchors->at[i]];

        for (int j = 0; j <= i; j++)
            prior->a[i][j] = dn_kernel_all (kernel, trace, traces[anchors->at[j]]);
        prior->a[i][i] += 1e-6 * dn_kernel_variance (kernel, trace);
    }
    return factor (prior, anchors->n);
}

/* What the runs tell of the anchors, in units of the prior's factor: 1 + sum v v' /
 * noise, as its factor.
 */
static bool set_told (const struct dn_kernel *kernel,
                      const struct dn_trace *const *traces,
                      int n_runs,
                      const struct dn_anchors *anchors,
                      const double *noise,
                      const struct square *prior,
                      struct square *told)
{
    int n = anchors->n;

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            told->a[i][j] = i == j;
    for (int r = 0; r < n_runs; r++) {
        double v[WIDTH];
        double rest;

        if (!traces[r])
            continue;
        rest = dn_kernel_variance (kernel, traces[r]);
        for (int i = 0; i < n; i++)
            v[i] = dn_kernel_all (kernel, traces[r], traces[anchors->at[i]]);
        solve_lower (prior, v, n);
        for (int i = 0; i < n; i++)
            rest -= v[i] * v[i];
        rest = fmax (rest, 0) + noise[r];
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++)
                told->a[i][j] += v[i] * v[j] / rest;
    }
    return factor (told, n);
}

/* L'^-1 (1 - told^-1) L^-1, L being the prior's factor. */
static void set_matrix (const struct square *prior,
                        const struct square *told,
                        struct dn_history *history)
{
    int n = history->n;

    for (int i = 0; i < n; i++) {
        double x[WIDTH] = {0};
        double y[WIDTH];

        x[i] = 1;
        solve_lower (prior, x, n);
        memcpy (y, x, sizeof (y));
        solve_lower (told, y, n);
        solve_upper (told, y, n);
        for (int j = 0; j < n; j++)
            x[j] -= y[j];
        solve_upper (prior, x, n);
        for (int j = 0; j <= i; j++)
            history->matrix[i * (i + 1) / 2 + j] = x[j];
    }
}

/* Scratch of 64 KiB: not for the stack. */
struct work {
    struct square prior;
    struct square told;
};

struct dn_history *dn_history_make (const struct dn_kernel *kernel,
                                    const struct dn_trace *const *traces,
                                    int n,
                                    const struct dn_anchors *anchors,
                                    const double *values,
                                    const double *noise,
                                    struct dn_err *err)
{
    struct dn_history *history = dn_history_new (anchors->n);
    dn_cleanup (dn_free_ptr) struct work *work = malloc (sizeof (*work));

    if (!history || !work) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        dn_history_free (history);
        return NULL;
    }
    history->kernel = *kernel;
    for (int i = 0; i < anchors->n; i++)
        history->anchors[i] = *traces[anchors->at[i]];
    set_weights (anchors, values, &work->prior, history);
    if (set_prior (kernel, traces, anchors, &work->prior)
        && set_told (kernel, traces, n, anchors, noise, &work->prior, &work->told)) {
        set_matrix (&work->prior, &work->told, history);
        return history;
    }
    dn_err_set (err, DN_E_BUG, "the runs of the site have no covariance");
    dn_history_free (history);
    return NULL;
}
