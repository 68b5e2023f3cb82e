/* batches_plot.c - throughput, memory, time and cost over the batch size as a picture
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "batches.h"
#include "plot.h"

/* Colours that colour-blind readers can distinguish (Paul Tol's "muted" scheme, and
 * black). Rows are sorted by throughput, so that the slowest are left out.
 */
static const char *const colours[] = {"#332288",
                                      "#CC6677",
                                      "#117733",
                                      "#88CCEE",
                                      "#DDCC77",
                                      "#AA4499",
                                      "#44AA99",
                                      "#882255",
                                      "#999933",
                                      "#000000"};

#define LINES_MAX ((int) DN_N_ELEMENTS (colours))

static const struct panel {
    const char *title;
    int column;
    bool of_run; /* only where the amount of work is known */
} panels[] = {
    {"Samples per second", 2, false},
    {"Memory of one GPU, GiB", 3, false},
    {"Time of the run, hours", 4, true},
    {"Cost of the run", 5, true},
};

static void write_number (struct dn_plot *plot, double value, bool known)
{
    if (known && value >= 0)
        fprintf (plot->script, " %.6g", value);
    else
        fputs (" ?", plot->script);
}

/* Columns: batch, the quantities of the panels. A size that does not fit has only its
 * memory. */
static void write_point (struct dn_plot *plot,
                         int64_t size,
                         const struct dn_batch_point *point)
{
    const struct dn_estimate *e = &point->estimate;

    fprintf (plot->script, "%lld", (long long) size);
    write_number (plot, e->samples_per_s, point->fits);
    write_number (plot, e->gpu_mem.p50 / DN_GIB, e->supported);
    write_number (plot, e->train_s.p50 / 3600, point->fits && e->train_s.p50 >= 0);
    write_number (plot, point->cost, point->fits);
    fputc ('\n', plot->script);
}

/* The lines as inline data, and the knees as blocks of one point. */
static int write_data (struct dn_plot *plot, const struct dn_batches *batches)
{
    int n = 0;

    for (; n < batches->n_rows && n < LINES_MAX && batches->rows[n].knee >= 0; n++) {
        const struct dn_batch_row *row = &batches->rows[n];

        fprintf (plot->script, "$line%d << END\n", n);
        for (int i = 0; i < batches->sizes.n; i++)
            write_point (plot, batches->sizes.sizes[i], &row->points[i]);
        fprintf (plot->script, "END\n$knee%d << END\n", n);
        write_point (plot, batches->sizes.sizes[row->knee], &row->points[row->knee]);
        fputs ("END\n", plot->script);
    }
    return n;
}

static void write_panel (struct dn_plot *plot,
                         const struct dn_batches *batches,
                         const struct panel *panel,
                         int n_lines)
{
    fprintf (plot->script, "set title '%s'\n", panel->title);
    if (panel->of_run) /* spans decades */
        fputs ("set logscale y\nset yrange [*:*]\n", plot->script);
    for (int i = 0; i < n_lines; i++) {
        fprintf (
            plot->script,
            "%s $line%d using 1:%d with linespoints lc rgb '%s' pt 7 ps 0.3 title ",
            i == 0 ? "plot" : ",",
            i,
            panel->column,
            colours[i]);
        dn_plot_text (plot, batches->rows[i].gpu->name);
        fprintf (plot->script,
                 ", $knee%d using 1:%d with points lc rgb '%s' pt 6 ps 1.2 notitle",
                 i,
                 panel->column,
                 colours[i]);
    }
    fputs ("\nunset key\n", plot->script); /* the first panel has the legend */
}

int dn_batches_plot (const struct dn_batches *batches,
                     const struct dn_graph *graph,
                     const char *path,
                     struct dn_err *err)
{
    dn_cleanup (dn_plot_free) struct dn_plot plot = {.script = NULL};
    char text[128];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    int n;

    if (dn_plot_open (&plot, path, 1200, batches->timed ? 860 : 480, err) < 0)
        return -1;
    dn_buf_add (&buf, "%s by batch per GPU (ring: the knee)", graph->name);
    fputs ("set datafile missing '?'\n", plot.script);
    n = write_data (&plot, batches);
    fprintf (plot.script, "set multiplot layout %d,2 title ", batches->timed ? 2 : 1);
    dn_plot_text (&plot, text);
    fputs ("\nset logscale x 2\nset grid\nset tics nomirror scale 0.5\nset border 3\n"
           "set yrange [0:*]\nset key left top opaque font ',9'\nset xlabel 'batch'\n",
           plot.script);
    fprintf (plot.script,
             "set xrange [%lld*0.9:%lld*1.1]\n",
             (long long) batches->sizes.sizes[0],
             (long long) batches->sizes.sizes[batches->sizes.n - 1]);
    for (size_t i = 0; i < DN_N_ELEMENTS (panels) && n > 0; i++)
        if (batches->timed || !panels[i].of_run)
            write_panel (&plot, batches, &panels[i], n);
    fputs ("unset multiplot\n", plot.script);
    if (n == 0)
        return dn_err_set (
            err, DN_E_RANGE, "no batch size fits any of the devices: nothing to draw");
    return dn_plot_finish (&plot, err);
}
