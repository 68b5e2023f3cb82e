/* anatomy_plot.c - stages, operators and memory of a step as a picture
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "anatomy.h"
#include "plot.h"

/* The parts of an operator's time, as the legend names them. The colours can be
 * distinguished by colour-blind readers (Paul Tol's "bright" scheme).
 */
static const struct part {
    enum dn_bottleneck bottleneck;
    const char *colour;
} parts[] = {
    {DN_BOTTLENECK_COMPUTE, "#4477AA"},
    {DN_BOTTLENECK_BANDWIDTH, "#CCBB44"},
    {DN_BOTTLENECK_LAUNCH, "#EE6677"},
};

static double part_of (const struct dn_op_time *time, enum dn_bottleneck bottleneck)
{
    if (bottleneck == DN_BOTTLENECK_COMPUTE)
        return time->compute_s;
    return bottleneck == DN_BOTTLENECK_BANDWIDTH ? time->memory_s : time->fixed_s;
}

/* A bar from 'from' to 'to' with its name, a line of an inline data block. */
static void write_bar (struct dn_plot *plot, double from, double to, const char *name)
{
    fprintf (plot->script, "%.6g %.6g ", from, to);
    dn_plot_text (plot, name);
    fputc ('\n', plot->script);
}

/* Begin a panel of horizontal bars, the first on top. */
static void begin_panel (struct dn_plot *plot,
                         const char *title,
                         const char *unit,
                         int n_bars)
{
    fprintf (plot->script, "set title '%s'\nset xlabel '%s'\n", title, unit);
    fprintf (plot->script, "set yrange [%d.5:-0.5]\n", n_bars > 0 ? n_bars - 1 : 0);
}

#define BARS "using (0):0:1:2:($0-0.4):($0+0.4):ytic(3) with boxxyerror"

static void plot_stages (struct dn_plot *plot, const struct dn_estimate *estimate)
{
    int n = 0;

    fputs ("$stages << END\n", plot->script);
    for (int i = 0; i < DN_N_STAGES; i++)
        if (estimate->stage_s[i] > 0) {
            write_bar (plot,
                       0,
                       estimate->stage_s[i] * 1000,
                       dn_names_get (&dn_stage_names, i));
            n++;
        }
    fputs ("END\n", plot->script);
    begin_panel (plot, "Stages of a step (they overlap)", "ms", n);
    fputs ("plot $stages " BARS " lc rgb '#4477AA' notitle\n", plot->script);
}

static void plot_operators (struct dn_plot *plot, const struct dn_anatomy *anatomy)
{
    double ends[DN_N_OP_KINDS] = {0};
    int n = 0;

    for (size_t p = 0; p < DN_N_ELEMENTS (parts); p++) {
        fprintf (plot->script, "$part%zu << END\n", p);
        n = 0;
        for (int i = 0; i < DN_N_OP_KINDS; i++) {
            double from = ends[i];

            if (!anatomy->kinds[i].op)
                continue;
            ends[i] += part_of (&anatomy->kinds[i].time, parts[p].bottleneck) * 1000;
            write_bar (plot, from, ends[i], dn_names_get (&dn_op_kind_names, i));
            n++;
        }
        fputs ("END\n", plot->script);
    }
    begin_panel (plot, "Operators, forward and backward", "ms", n);
    for (size_t p = 0; p < DN_N_ELEMENTS (parts); p++)
        fprintf (plot->script,
                 "%s $part%zu " BARS " lc rgb '%s' title '%s'",
                 p == 0 ? "plot" : ",",
                 p,
                 parts[p].colour,
                 dn_names_get (&dn_bottleneck_names, (int) parts[p].bottleneck));
    fputc ('\n', plot->script);
}

static void plot_memory (struct dn_plot *plot, const struct dn_estimate *estimate)
{
    int n = 0;

    fputs ("$memory << END\n", plot->script);
    for (int i = 0; i < DN_N_MEMORY_CLASSES; i++)
        if (estimate->memory[i] > 0) {
            write_bar (plot,
                       0,
                       estimate->memory[i] / DN_GIB,
                       dn_names_get (&dn_memory_class_names, i));
            n++;
        }
    fputs ("END\n", plot->script);
    begin_panel (plot, "Memory of one GPU", "GiB", n);
    fputs ("plot $memory " BARS " lc rgb '#228833' notitle\n", plot->script);
}

static void write_title (struct dn_plot *plot, const struct dn_anatomy *anatomy)
{
    char text[256];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf,
                "%s, batch %lld, on %s: %.4g ms a step, bound by %s",
                anatomy->subject->graph.name,
                (long long) anatomy->subject->spec.batch,
                anatomy->estimate.device->name,
                anatomy->estimate.step_s.p50 * 1000,
                dn_names_get (&dn_bottleneck_names, (int) anatomy->bottleneck));
    fputs ("set multiplot layout 3,1 title ", plot->script);
    dn_plot_text (plot, text);
    fputc ('\n', plot->script);
}

int dn_anatomy_plot (const struct dn_anatomy *anatomy,
                     const char *path,
                     struct dn_err *err)
{
    dn_cleanup (dn_plot_free) struct dn_plot plot = {.script = NULL};

    if (dn_plot_open (&plot, path, 800, 900, err) < 0)
        return -1;
    write_title (&plot, anatomy);
    fputs ("set style fill solid noborder\nset xrange [0:*]\nset lmargin 24\n"
           "set grid xtics\nset tics nomirror scale 0.5\nset border 3\n"
           "set key outside right top\nset rmargin 16\n",
           plot.script);
    plot_stages (&plot, &anatomy->estimate);
    plot_operators (&plot, anatomy);
    plot_memory (&plot, &anatomy->estimate);
    fputs ("unset multiplot\n", plot.script);
    return dn_plot_finish (&plot, err);
}
