/* cases.c - the runs of one quantity: their votes, and the predictions made for each
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learn/parts.h"

static const char *const scheme_text[] = {
    [DN_SCHEME_RUN] = "run",
    [DN_SCHEME_MODEL] = "model",
    [DN_SCHEME_SOURCE] = "source",
    [DN_SCHEME_GPU] = "gpu",
    [DN_SCHEME_CODE] = "code",
    [DN_SCHEME_FAMILY] = "family",
};

const struct dn_names dn_scheme_names = DN_NAMES (scheme_text, DN_N_SCHEMES);

const enum dn_label dn_scheme_labels[DN_N_SCHEMES][2] = {
    [DN_SCHEME_RUN] = {DN_N_LABELS, DN_N_LABELS},
    [DN_SCHEME_MODEL] = {DN_LABEL_MODEL, DN_N_LABELS},
    [DN_SCHEME_SOURCE] = {DN_LABEL_SOURCE, DN_N_LABELS},
    [DN_SCHEME_GPU] = {DN_LABEL_GPU, DN_N_LABELS},
    [DN_SCHEME_CODE] = {DN_LABEL_CODE, DN_N_LABELS},
    [DN_SCHEME_FAMILY] = {DN_LABEL_CODE, DN_LABEL_FAMILY},
};

void dn_weights_scale (double *values, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += values[i];
    for (int i = 0; i < n; i++)
        values[i] *= (double) n / sum;
}

/* Fill 'out' with the share of a vote that each case has where all cases with the same
 * two labels have one together. 'number' (may be NULL) receives the number of the pair
 * of each. Return the number of pairs, -1 without memory.
 */
static int count_votes (const struct dn_case_set *set,
                        const struct dn_runs *runs,
                        const enum dn_label labels[2],
                        double *out,
                        int *number)
{
    size_t n_seconds = (size_t) runs->labels[labels[1]].n;
    size_t n_pairs = (size_t) runs->labels[labels[0]].n * n_seconds;
    dn_cleanup (dn_free_ptr) int *counts = calloc (2 * n_pairs + 1, sizeof (int));
    int n = 0;

    if (!counts)
        return -1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < set->n; i++) {
            const int *label = runs->runs[set->index[i]].label;
            size_t pair =
                (size_t) label[labels[0]] * n_seconds + (size_t) label[labels[1]];

            if (pass == 0 && counts[pair]++ == 0)
                counts[n_pairs + pair] = n++;
            out[i] = 1.0 / counts[pair];
            if (number)
                number[i] = counts[n_pairs + pair];
        }
    return n;
}

/* Runs of one model from one source are similar, and their number is arbitrary. The
 * times of a code have an error in common; its memory is counted, and each model has an
 * error of its own.
 */
static int weigh (struct dn_case_set *set, const struct dn_runs *runs)
{
    static const enum dn_label alike[2] = {DN_LABEL_MODEL, DN_LABEL_SOURCE};
    static const enum dn_label families[2] = {DN_LABEL_CODE, DN_LABEL_FAMILY};

    set->n_units = count_votes (set,
                                runs,
                                set->quantity == DN_QUANTITY_MEMORY ? alike : families,
                                set->vote,
                                set->unit);
    if (set->n_units < 0 || count_votes (set, runs, alike, set->weight, NULL) < 0)
        return -1;
    for (int i = 0; i < set->n; i++)
        set->weight[i] = sqrt (set->weight[i]);
    dn_weights_scale (set->vote, set->n);
    dn_weights_scale (set->weight, set->n);
    return 0;
}

struct dn_left_out *dn_left_out_by (const struct dn_case_set *set, int scheme)
{
    return set->left_out + (ptrdiff_t) scheme * set->n;
}

bool dn_scheme_is_unseen (const struct dn_case_set *set, int scheme)
{
    bool sources = set->done[DN_SCHEME_CODE];
    bool models = !sources && set->done[DN_SCHEME_MODEL];

    switch (scheme) {
    case DN_SCHEME_CODE:
    case DN_SCHEME_FAMILY:
        return sources && set->done[scheme];
    case DN_SCHEME_MODEL:
        return models;
    case DN_SCHEME_RUN:
        return !sources && !models;
    default:
        return false;
    }
}

void dn_unseen_list (struct dn_case_set *set)
{
    set->n_unseen = 0;
    for (int s = 0; s < DN_N_SCHEMES; s++)
        for (int i = 0; dn_scheme_is_unseen (set, s) && i < set->n; i++)
            if (dn_left_out_by (set, s)[i].judged)
                set->unseen[set->n_unseen++] = dn_left_out_by (set, s) + i;
}

int dn_case_set_init (struct dn_case_set *set,
                      const struct dn_runs *runs,
                      enum dn_quantity quantity,
                      struct dn_err *err)
{
    size_t n;

    *set = (struct dn_case_set){.quantity = quantity};
    set->index = dn_runs_with (runs, quantity, &set->n);
    n = (size_t) (set->n > 0 ? set->n : 1);
    set->unit = calloc (n, sizeof (int));
    set->vote = calloc (n, sizeof (double));
    set->weight = calloc (n, sizeof (double));
    set->left_out = calloc (n * DN_N_SCHEMES, sizeof (*set->left_out));
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): it is an array of pointers */
    set->unseen = calloc (n * DN_N_SCHEMES, sizeof (*set->unseen));
    if (!set->index || !set->unit || !set->vote || !set->weight || !set->left_out
        || !set->unseen || (set->n > 0 && weigh (set, runs) < 0)) {
        dn_case_set_free (set);
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    for (int i = 0; i < set->n * DN_N_SCHEMES; i++) {
        int at = i % set->n;
        const struct dn_example *run = &runs->runs[set->index[at]];

        set->left_out[i] = (struct dn_left_out){
            .run = run, .at = at, .vote = set->vote[at], .ratio = run->ratio[quantity]};
    }
    return 0;
}

void dn_case_set_free (struct dn_case_set *set)
{
    free (set->index);
    free (set->unit);
    free (set->vote);
    free (set->weight);
    free (set->left_out);
    free (set->unseen);
    memset (set, 0, sizeof (*set));
}
