/* gates.c - where the residual counts
 *
 * Trees learn how the runs of their sources were set up, too, and that is wrong for
 * others. So the residual counts only for a kind of network in a stack of which several
 * sources had runs, and where it made none of them worse while that one was left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "learn/parts.h"

/* One source that is not worse may be chance. */
#define SOURCES_MIN 2

/* Sums of |ln (measured / predicted)|, by kind, stack and source. */
struct sums {
    const struct dn_runs *runs;
    enum dn_label label; /* the source, or what stands for it */
    double *white_box;
    double *learned;
    bool *known; /* by kind and stack */
};

static void free_sums (struct sums *sums)
{
    free (sums->white_box);
    free (sums->learned);
    free (sums->known);
}

static size_t cell_of (const struct sums *sums, const struct dn_example *run)
{
    return (size_t) run->label[DN_LABEL_KIND]
               * (size_t) sums->runs->labels[DN_LABEL_STACK].n
           + (size_t) run->label[DN_LABEL_STACK];
}

static int make_sums (const struct dn_training *training,
                      const struct dn_case_set *set,
                      struct sums *sums,
                      struct dn_err *err)
{
    const struct dn_label_names *labels = training->runs.labels;
    size_t n_cells =
        (size_t) labels[DN_LABEL_KIND].n * (size_t) labels[DN_LABEL_STACK].n;
    size_t n;

    sums->runs = &training->runs;
    sums->label =
        dn_scheme_is_unseen (set, DN_SCHEME_CODE) ? DN_LABEL_CODE : DN_LABEL_MODEL;
    n = n_cells * (size_t) labels[sums->label].n;
    sums->white_box = calloc (n + 1, sizeof (double));
    sums->learned = calloc (n + 1, sizeof (double));
    sums->known = calloc (n_cells + 1, sizeof (bool));
    return sums->white_box && sums->learned && sums->known
               ? 0
               : dn_err_set (err, DN_E_NOMEM, "out of memory");
}

static void add_cases (const struct dn_case_set *set,
                       const struct dn_domain *domain,
                       struct sums *sums)
{
    int n_sources = sums->runs->labels[sums->label].n;

    for (int i = 0; i < set->n; i++)
        sums->known[cell_of (sums, set->left_out[i].run)] = true;
    for (int i = 0; i < set->n_unseen; i++) {
        struct dn_left_out out = *set->unseen[i];
        size_t place = cell_of (sums, out.run) * (size_t) n_sources
                       + (size_t) out.run->label[sums->label];

        if (out.run->censored)
            continue;
        out.corrected = true; /* as if */
        sums->learned[place] += out.vote * fabs (dn_left_out_error (&out, domain));
        sums->white_box[place] += out.vote * fabs (out.ratio);
    }
}

/* Did the residual help there, by all sources but 'skip'? */
static bool helps (const struct sums *sums, size_t cell, int skip)
{
    int n = sums->runs->labels[sums->label].n;
    const double *learned = sums->learned + cell * (size_t) n;
    const double *white_box = sums->white_box + cell * (size_t) n;
    double gain = 0;
    int n_sources = 0;

    for (int i = 0; i < n; i++) {
        if (i == skip || white_box[i] <= 0)
            continue;
        if (learned[i] > white_box[i])
            return false;
        gain += white_box[i] - learned[i];
        n_sources++;
    }
    return n_sources >= SOURCES_MIN && gain > 0;
}

static void list_validated (const struct sums *sums, struct dn_training *training)
{
    const struct dn_label_names *kinds = &sums->runs->labels[DN_LABEL_KIND];
    const struct dn_label_names *stacks = &sums->runs->labels[DN_LABEL_STACK];

    training->n_validated = 0;
    for (int k = 0; k < kinds->n; k++)
        for (int s = 0; s < stacks->n; s++) {
            size_t cell = (size_t) k * (size_t) stacks->n + (size_t) s;
            struct dn_validated *validated =
                &training->validated[training->n_validated];

            if (!sums->known[cell] || training->n_validated == DN_VALIDATED_MAX)
                continue;
            snprintf (validated->kind, sizeof (validated->kind), "%s", kinds->names[k]);
            snprintf (
                validated->stack, sizeof (validated->stack), "%s", stacks->names[s]);
            validated->corrected = helps (sums, cell, -1);
            training->n_validated++;
        }
}

int dn_gates_fit (struct dn_training *training,
                  const struct dn_case_set *set,
                  const struct dn_domain *domain,
                  struct dn_err *err)
{
    dn_cleanup (free_sums) struct sums sums = {0};

    if (make_sums (training, set, &sums, err) < 0)
        return -1;
    add_cases (set, domain, &sums);
    for (int s = 0; s < DN_N_SCHEMES; s++)
        for (int i = 0; set->done[s] && i < set->n; i++) {
            struct dn_left_out *out = dn_left_out_by (set, s) + i;
            bool unseen = dn_scheme_is_unseen (set, s) || s == DN_SCHEME_SOURCE;

            out->corrected = out->judged
                             && helps (&sums,
                                       cell_of (&sums, out->run),
                                       unseen ? out->run->label[sums.label] : -1);
        }
    list_validated (&sums, training);
    return 0;
}
