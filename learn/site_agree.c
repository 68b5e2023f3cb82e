/* site_agree.c - do a site's applications agree on what is different at the site?
 *
 * Every application, with the runs of all its users, is predicted once by the constants
 * and scales that all other runs give: what is left of its errors is
 *
 *   (inverse covariance of all errors, its own rows)^-1 * its weights
 *
 * (Rasmussen and Williams 2006, 5.12, by blocks), where the covariance includes the
 * parameters. The constants and scales are of use to an application that is not among
 * the runs if they were so to those that are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/site_solve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cholesky.h"

/* Share of the votes (site_solve.c) whose errors must get smaller: false runs of some
 * users cannot undo what all others show. After 20 runs of other applications one
 * source of both tables of runs lost more than two points: seven, of 26 runs.
 */
#define GAINING 0.8

/* One application that is left out. */
struct left_out {
    int members[DN_HISTORY_MAX];
    int n;
    double *matrix; /* its own rows of the inverse covariance, a lower triangle */
    double *known;  /* of each member, what the parameters have to do with it */
};

/* What the runs of all others do for an application. */
struct gain {
    double votes;   /* of all its users */
    double gaining; /* of those whose mean error gets smaller */
    double sum;     /* of votes times what it gets smaller by */
};

static bool is_of (const struct dn_site_solution *solution, int a, int b)
{
    return strcmp (solution->members[a].trace.application,
                   solution->members[b].trace.application)
           == 0;
}

/* No block before this one is of its application. */
static bool is_first (const struct dn_site_solution *solution, int first)
{
    for (int i = 0; i < first; i = dn_site_block_end (solution, i))
        if (is_of (solution, i, first))
            return false;
    return true;
}

/* Add the block's inverse covariance, parameters apart. */
static bool add_block (const struct dn_site_solution *solution,
                       int first,
                       struct left_out *out)
{
    double factor[DN_HISTORY_OWN_MAX * (DN_HISTORY_OWN_MAX + 1) / 2];
    double x[DN_HISTORY_OWN_MAX];
    int end = dn_site_block_end (solution, first);
    int at = out->n;

    if (!dn_site_block_factor (solution, first, end, factor))
        return false;
    for (int i = 0; i < end - first; i++) {
        double *row = out->matrix + (ptrdiff_t) (at + i) * (at + i + 1) / 2;

        memset (x, 0, sizeof (x));
        x[i] = 1;
        dn_cholesky_lower (factor, x, end - first);
        dn_cholesky_upper (factor, x, end - first);
        memset (row, 0, (size_t) at * sizeof (*row));
        memcpy (row + at, x, ((size_t) i + 1) * sizeof (*row));
        out->members[out->n++] = first + i;
    }
    return true;
}

/* Take away what the parameters explain. */
static void subtract_parameters (const struct dn_site_solution *solution,
                                 struct left_out *out)
{
    int width = solution->n_parameters;
    double *entry = out->matrix;

    for (int i = 0; i < out->n; i++) {
        double *own = out->known + (ptrdiff_t) i * width;

        memcpy (own,
                solution->solved + (ptrdiff_t) out->members[i] * width,
                (size_t) width * sizeof (*own));
        dn_cholesky_lower (solution->factor, own, width);
        for (int j = 0; j <= i; j++, entry++)
            for (int k = 0; k < width; k++)
                *entry -= own[k] * out->known[(ptrdiff_t) j * width + k];
    }
}

/* Add a user's runs of the application, whose errors by the runs of all others these
 * are.
 */
static void add_user (const struct dn_site_member *members,
                      const double *left,
                      int n,
                      struct gain *gain)
{
    double before = 0;
    double after = 0;
    double value;

    for (int i = 0; i < n; i++) {
        before += members[i].shipped / n;
        after += left[i] / n;
    }
    value = fabs (before) - fabs (after);
    gain->votes += members->vote;
    gain->sum += members->vote * value;
    gain->gaining += value > 0 ? members->vote : 0;
}

/* By how much the mean errors of the application's users get smaller. False where it
 * has no covariance.
 */
static bool find_gain (const struct dn_site_solution *solution,
                       struct left_out *out,
                       struct gain *gain)
{
    double left[DN_HISTORY_MAX];
    int n;

    memset (gain, 0, sizeof (*gain));
    subtract_parameters (solution, out);
    if (!dn_cholesky (out->matrix, out->n))
        return false;
    for (int i = 0; i < out->n; i++)
        left[i] = solution->members[out->members[i]].weight;
    dn_cholesky_lower (out->matrix, left, out->n);
    dn_cholesky_upper (out->matrix, left, out->n);
    for (int i = 0; i < out->n; i += n) {
        int first = out->members[i];

        n = dn_site_block_end (solution, first) - first;
        add_user (&solution->members[first], left + i, n, gain);
    }
    return true;
}

/* Room for as many members as an application may have. */
static bool make_room (const struct dn_site_solution *solution, struct left_out *out)
{
    size_t n = (size_t) solution->n_members;

    out->matrix = calloc (n * (n + 1) / 2 + 1, sizeof (*out->matrix));
    out->known = calloc (n * (size_t) solution->n_parameters + 1, sizeof (*out->known));
    return out->matrix && out->known;
}

/* The runs of the application that begins at 'first', of all users. */
static bool add_application (const struct dn_site_solution *solution,
                             int first,
                             struct left_out *out)
{
    out->n = 0;
    for (int i = first; i < solution->n_members; i = dn_site_block_end (solution, i))
        if (is_of (solution, i, first) && !add_block (solution, i, out))
            return false;
    return true;
}

/* Sums over applications, by votes. */
struct evidence {
    double votes;
    double squares; /* of votes */
    double gaining; /* votes of those who gain */
    double sum;     /* of gains */
    double sum2;    /* of their squares */
};

/* The mean gain against its standard error, without a root of what may be below 0,
 * where as much is known as of 'n' applications with one vote each.
 */
static bool is_enough (const struct evidence *evidence)
{
    double n = evidence->votes * evidence->votes / evidence->squares;
    double mean = evidence->sum / evidence->votes;
    double variance = evidence->sum2 / evidence->votes - mean * mean;

    return mean > 0 && evidence->gaining >= GAINING * evidence->votes
           && mean * mean * (n - 1) > variance;
}

static bool judge (const struct dn_site_solution *solution, struct left_out *out)
{
    double most = solution->likeness.spread;
    struct evidence evidence = {0};

    for (int first = 0; first < solution->n_members;
         first = dn_site_block_end (solution, first)) {
        struct gain gain;
        double value;

        if (!is_first (solution, first))
            continue;
        if (!add_application (solution, first, out)
            || !find_gain (solution, out, &gain))
            return false;
        value = fmin (fmax (gain.sum / gain.votes, -most), most);
        evidence.votes += gain.votes;
        evidence.squares += gain.votes * gain.votes;
        evidence.gaining += gain.gaining;
        evidence.sum += gain.votes * value;
        evidence.sum2 += gain.votes * value * value;
    }
    return is_enough (&evidence);
}

bool dn_site_agrees (const struct dn_site_solution *solution)
{
    struct left_out *out = calloc (1, sizeof (*out));
    bool agrees = out && make_room (solution, out) && judge (solution, out);

    if (out) {
        free (out->matrix);
        free (out->known);
    }
    free (out);
    return agrees;
}
