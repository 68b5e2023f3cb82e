/* calibrate_kernels.c - fit the constants of learn/kernel.c to measured kernels
 *
 * usage: calibrate_kernels HARDWARE-FOLDER linear.csv bmm.csv conv.csv elementwise.csv
 *                          SWEEPS [gpu]
 *
 * Writes learn/kernel_constants.inc to the standard output, and to the standard
 * error the errors by class and chip: with constants of all chips and the law of the
 * sustained clock; with one more factor per chip; and with the constants of the other
 * chips. With the word "gpu" only the last of these, and no constants; without sweeps
 * nothing is fitted. The fit lowers the mean of |ln (predicted / measured)|^0.65 by a
 * pattern search on the logarithms of the constants, within physical bounds; it calls
 * dn_kernel_time () itself, so that nothing is written down twice.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "learn/kernel.h"
#include "learn/score.h"

#define ROWS_MAX  60000
#define CHIPS_MAX 8
#define N_FILES   4

/* Errors count by this power: some kernels run at half the rate of similar ones (mainly
 * on the P4), and should not influence the constants.
 */
#define ROBUST 0.65

static const char *const file_names[N_FILES] = {"linear", "bmm", "conv", "elementwise"};

struct row {
    struct dn_kernel kernel;
    double measured_s;
    int chip;
    int file;
};

struct data {
    struct dn_catalogue catalogue;
    struct row *rows;
    int n_rows;
    int file; /* being read */
    char chip_names[CHIPS_MAX][DN_NAME_MAX];
    const struct dn_device *chips[CHIPS_MAX];
    int family[CHIPS_MAX]; /* first chip of the same name up to '_': a100 */
    int n_chips;
};

struct point {
    struct dn_kernel_constants k;
    double factor[CHIPS_MAX]; /* measured efficiency, by family */
    double host[CHIPS_MAX]; /* measured floor, by family: each chip had another host */
};

/* A constant: its name in C, its location, its bounds, the files that it is fitted to
 * (a bit each; 0: not fitted) and the source of one that is not fitted.
 */
struct constant {
    const char *text;
    size_t offset;
    double min;
    double max;
    unsigned files;
    const char *source;
};

#define AT(member)            #member, offsetof(struct dn_kernel_constants, member)
#define VECTOR(class, member) AT (product[DN_KERNEL_##class][DN_KERNEL_VECTOR].member)
#define MATRIX(class, member) AT (product[DN_KERNEL_##class][DN_KERNEL_MATRIX].member)
#define LINEAR                1U
#define BMM                   2U
#define CONV                  4U
#define LIGHT                 8U
#define NEVER                 "address translation: seen in linear layers alone"
#define STEPS                 "to be fitted on whole steps"
#define ENERGY                "at most this: H200 keeps its clock in bf16; " STEPS

static const struct constant constants[] = {
    {VECTOR (LINEAR, efficiency), 0.3, 1, LINEAR, NULL},
    {VECTOR (LINEAR, edge), 1, 1000, LINEAR, NULL},
    {VECTOR (LINEAR, tail), 0.002, 30, LINEAR, NULL},
    {VECTOR (LINEAR, ramp), 1, 300, LINEAR, NULL},
    {VECTOR (LINEAR, memory), 0.4, 1, LINEAR, NULL},
    {VECTOR (LINEAR, overlap), 1, 8, LINEAR, NULL},
    {VECTOR (LINEAR, warm_s), 2e-4, 2e-2, LINEAR, NULL},
    {VECTOR (LINEAR, row), 2e4, 1e9, LINEAR, NULL},
    {VECTOR (LINEAR, row_pascal), 1e4, 1e6, LINEAR, NULL},
    {VECTOR (BMM, efficiency), 0.3, 1, BMM, NULL},
    {VECTOR (BMM, edge), 1, 1000, BMM, NULL},
    {VECTOR (BMM, tail), 0.002, 30, BMM, NULL},
    {VECTOR (BMM, ramp), 1, 300, BMM, NULL},
    {VECTOR (BMM, memory), 0.4, 1, BMM, NULL},
    {VECTOR (BMM, overlap), 1, 8, BMM, NULL},
    {VECTOR (BMM, warm_s), 2e-4, 2e-2, BMM, NULL},
    {VECTOR (BMM, row), 0, 0, 0, NEVER},
    {VECTOR (BMM, row_pascal), 0, 0, 0, NEVER},
    {VECTOR (CONV, efficiency), 0.7, 1, CONV, NULL},
    {VECTOR (CONV, edge), 1, 1000, CONV, NULL},
    {VECTOR (CONV, tail), 0.002, 30, CONV, NULL},
    {VECTOR (CONV, ramp), 1, 100, CONV, NULL},
    {VECTOR (CONV, memory), 0.4, 1, CONV, NULL},
    {VECTOR (CONV, overlap), 1, 8, CONV, NULL},
    {VECTOR (CONV, warm_s), 2e-4, 2e-2, CONV, NULL},
    {VECTOR (CONV, row), 0, 0, 0, NEVER},
    {VECTOR (CONV, row_pascal), 0, 0, 0, NEVER},
    {MATRIX (LINEAR, efficiency), 0, 0, 0, "H200, bf16, 8192^3: 0.78-0.81 of the peak"},
    {MATRIX (LINEAR, edge), 0, 0, 0, STEPS},
    {MATRIX (LINEAR, tail), 0, 0, 0, STEPS},
    {MATRIX (LINEAR, ramp), 0, 0, 0, STEPS},
    {MATRIX (LINEAR, memory), 0, 0, 0, STEPS},
    {MATRIX (LINEAR, overlap), 0, 0, 0, STEPS},
    {MATRIX (LINEAR, warm_s), 0, 0, 0, STEPS},
    {MATRIX (LINEAR, row), 0, 0, 0, NEVER},
    {MATRIX (LINEAR, row_pascal), 0, 0, 0, NEVER},
    {MATRIX (BMM, efficiency), 0, 0, 0, STEPS},
    {MATRIX (BMM, edge), 0, 0, 0, STEPS},
    {MATRIX (BMM, tail), 0, 0, 0, STEPS},
    {MATRIX (BMM, ramp), 0, 0, 0, STEPS},
    {MATRIX (BMM, memory), 0, 0, 0, STEPS},
    {MATRIX (BMM, overlap), 0, 0, 0, STEPS},
    {MATRIX (BMM, warm_s), 0, 0, 0, STEPS},
    {MATRIX (BMM, row), 0, 0, 0, NEVER},
    {MATRIX (BMM, row_pascal), 0, 0, 0, NEVER},
    {MATRIX (CONV, efficiency), 0, 0, 0, STEPS},
    {MATRIX (CONV, edge), 0, 0, 0, STEPS},
    {MATRIX (CONV, tail), 0, 0, 0, STEPS},
    {MATRIX (CONV, ramp), 0, 0, 0, STEPS},
    {MATRIX (CONV, memory), 0, 0, 0, STEPS},
    {MATRIX (CONV, overlap), 0, 0, 0, STEPS},
    {MATRIX (CONV, warm_s), 0, 0, 0, STEPS},
    {MATRIX (CONV, row), 0, 0, 0, NEVER},
    {MATRIX (CONV, row_pascal), 0, 0, 0, NEVER},
    {AT (winograd.efficiency4), 0.2, 0.95, CONV, NULL},
    {AT (winograd.tail4), 0.02, 30, CONV, NULL},
    {AT (winograd.ramp4), 1, 300, CONV, NULL},
    {AT (winograd.efficiency2), 0.2, 0.95, CONV, NULL},
    {AT (winograd.tail2), 0.02, 30, CONV, NULL},
    {AT (winograd.ramp2), 1, 300, CONV, NULL},
    {AT (winograd.transform), 0.1, 1.5, CONV, NULL},
    {AT (winograd.weights), 0.1, 10, CONV, NULL},
    {AT (direct), 0, 0, 0, "joint fit on whole steps, constants.c"},
    {AT (light[0]), 0.3, 1, LIGHT, NULL},
    {AT (light[DN_KERNEL_SOFTMAX - DN_KERNEL_LIGHT]), 0.2, 1, LIGHT, NULL},
    {AT (light[DN_KERNEL_NORM - DN_KERNEL_LIGHT]), 0.2, 1, LIGHT, NULL},
    {AT (energy[DN_KERNEL_LINEAR][DN_KERNEL_VECTOR]), 8e-12, 4e-11, LINEAR, NULL},
    {AT (energy[DN_KERNEL_BMM][DN_KERNEL_VECTOR]), 8e-12, 4e-11, BMM, NULL},
    {AT (energy[DN_KERNEL_CONV][DN_KERNEL_VECTOR]), 8e-12, 4e-11, CONV, NULL},
    {AT (energy[DN_KERNEL_LINEAR][DN_KERNEL_MATRIX]), 0, 0, 0, ENERGY},
    {AT (energy[DN_KERNEL_BMM][DN_KERNEL_MATRIX]), 0, 0, 0, ENERGY},
    {AT (energy[DN_KERNEL_CONV][DN_KERNEL_MATRIX]), 0, 0, 0, ENERGY},
    {AT (floor_s[DN_KERNEL_LINEAR]), 2e-5, 7e-5, LINEAR, NULL},
    {AT (floor_s[DN_KERNEL_BMM]), 2e-5, 7e-5, BMM, NULL},
    {AT (floor_s[DN_KERNEL_CONV]), 2e-5, 7e-5, CONV, NULL},
    {AT (floor_s[DN_KERNEL_LIGHT]), 2e-5, 7e-5, LIGHT, NULL},
    {AT (floor_s[DN_KERNEL_SOFTMAX]), 2e-5, 7e-5, LIGHT, NULL},
    {AT (floor_s[DN_KERNEL_NORM]), 2e-5, 7e-5, LIGHT, NULL},
    /* End of constants */
};

static int find_chip (struct data *data, const char *name)
{
    int i = 0;

    while (i < data->n_chips && strcmp (data->chip_names[i], name) != 0)
        i++;
    if (i < data->n_chips)
        return i;
    if (i == CHIPS_MAX)
        bench_die (name, "too many chips");
    snprintf (data->chip_names[i], DN_NAME_MAX, "%s", name);
    data->chips[i] = dn_catalogue_find (&data->catalogue, name);
    if (!data->chips[i])
        bench_die (name, "is not in the catalogue");
    data->family[i] = i;
    for (int j = i - 1; j >= 0; j--)
        if (strncmp (data->chip_names[j], name, strcspn (name, "_") + 1) == 0)
            data->family[i] = j;
    data->n_chips++;
    return i;
}

static const char *text_of (const struct dn_row *line, const char *name)
{
    const char *text = dn_row_get (line, name);

    if (!text)
        bench_die (name, "no such column");
    return text;
}

static double number (const struct dn_row *line, const char *name)
{
    return strtod (text_of (line, name), NULL);
}

static struct dn_kernel product_of (const struct dn_row *line,
                                    enum dn_kernel_class class)
{
    struct dn_kernel kernel = {.class = class,
                               .m = number (line, "m"),
                               .n = number (line, "n"),
                               .k = number (line, "k"),
                               .batches = number (line, "b")};

    kernel.bytes = 4 * kernel.batches
                   * (kernel.m * kernel.k + kernel.k * kernel.n + kernel.m * kernel.n);
    kernel.row = class == DN_KERNEL_LINEAR ? kernel.k : 0;
    return kernel;
}

static struct dn_kernel conv_of (const struct dn_row *line)
{
    double in = number (line, "in_channels");
    double size = number (line, "kernel");
    double stride = number (line, "stride");
    double side_in = number (line, "input_size");
    double side = floor ((side_in + 2 * number (line, "padding") - size) / stride) + 1;
    double batch = number (line, "batch");
    struct dn_kernel kernel = {.class = DN_KERNEL_CONV,
                               .m = batch * side * side,
                               .n = number (line, "out_channels"),
                               .k = in * size * size,
                               .batches = 1};

    kernel.weight = 4 * kernel.k * kernel.n;
    kernel.bytes =
        kernel.weight + 4 * (batch * side_in * side_in * in + kernel.m * kernel.n);
    /* The file has only such convolutions. 'side' selects Winograd. */
    kernel.side = size > 2.5 && size < 3.5 && stride < 1.5 ? side : 0;
    return kernel;
}

static struct dn_kernel light_of (const struct dn_row *line)
{
    const char *op = text_of (line, "op");
    bool two = strcmp (op, "add") == 0 || strcmp (op, "mul") == 0
               || strcmp (op, "div") == 0 || strcmp (op, "pow") == 0;

    return (struct dn_kernel){.class = strcmp (op, "softmax") == 0 ? DN_KERNEL_SOFTMAX
                                       : strcmp (op, "ln") == 0    ? DN_KERNEL_NORM
                                                                   : DN_KERNEL_LIGHT,
                              .bytes = 4 * number (line, "b") * number (line, "h")
                                       * (two ? 3 : 2)};
}

static int add_row (const struct dn_row *line, void *context, struct dn_err *err)
{
    struct data *data = context;
    struct row *row = &data->rows[data->n_rows];
    int file = data->file;

    if (data->n_rows == ROWS_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d rows", ROWS_MAX);
    data->n_rows++;
    row->file = file;
    row->measured_s = number (line, "latency_ms") * 1e-3;
    row->chip = find_chip (data, text_of (line, "gpu"));
    row->kernel = file == 0   ? product_of (line, DN_KERNEL_LINEAR)
                  : file == 1 ? product_of (line, DN_KERNEL_BMM)
                  : file == 2 ? conv_of (line)
                              : light_of (line);
    return 0;
}

/* The overhead of a timed call. Light kernels hide part of the launch, products none.
 */
static double timed (const struct data *data,
                     const struct point *at,
                     const struct dn_kernel_device *device,
                     const struct row *row)
{
    const struct dn_kernel *kernel = &row->kernel;
    double busy = dn_kernel_time (&at->k, device, kernel);
    double floor_s = at->k.floor_s[kernel->class] * at->host[data->family[row->chip]];

    return kernel->class < DN_N_KERNEL_PRODUCTS ? busy + floor_s
                                                : hypot (busy, floor_s);
}

static void devices_of (const struct data *data,
                        const struct point *at,
                        struct dn_kernel_device devices[])
{
    for (int i = 0; i < data->n_chips; i++) {
        devices[i] = dn_kernel_device_of (&at->k, data->chips[i], DN_PRECISION_FP32);
        devices[i].factor = at->factor[data->family[i]];
        devices[i].rested = true;
    }
}

/* Mean |ln (predicted / measured)|^ROBUST of the files in 'files', each with the same
 * weight, without one family of chips (-1: with all).
 */
static double loss (const struct data *data,
                    const struct point *at,
                    unsigned files,
                    int without)
{
    struct dn_kernel_device devices[CHIPS_MAX];
    double sum[N_FILES] = {0};
    double n[N_FILES] = {0};
    double all = 0;

    devices_of (data, at, devices);
    for (int i = 0; i < data->n_rows; i++) {
        const struct row *row = &data->rows[i];

        if (!(files & 1U << row->file) || data->family[row->chip] == without)
            continue;
        sum[row->file] += pow (
            fabs (log (timed (data, at, &devices[row->chip], row) / row->measured_s)),
            ROBUST);
        n[row->file]++;
    }
    for (int i = 0; i < N_FILES; i++)
        all += n[i] > 0 ? sum[i] / n[i] : 0;
    return all;
}

/* Try value * e^step and value * e^-step, and keep the one that lowers the loss. */
static bool improve (const struct data *data,
                     struct point *at,
                     double *value,
                     const struct constant *c,
                     double step,
                     int without)
{
    double old = *value;
    double best = loss (data, at, c->files, without);
    double kept = old;

    for (int sign = -1; sign <= 1; sign += 2) {
        double now;

        *value = fmin (c->max, fmax (c->min, old * exp (sign * step)));
        now = loss (data, at, c->files, without);
        if (now < best - 1e-7) {
            best = now;
            kept = *value;
        }
    }
    *value = kept;
    return kept < old || kept > old;
}

static void fit (const struct data *data,
                 struct point *at,
                 bool factors,
                 int without,
                 int sweeps)
{
    static const struct constant factor = {
        NULL, 0, 0.3, 1.6, LINEAR | BMM | CONV, NULL};
    static const struct constant host = {NULL, 0, 0.7, 2, LINEAR | BMM | LIGHT, NULL};
    double step = 0.3;

    for (int sweep = 0; sweep < sweeps && step > 0.004; sweep++) {
        bool moved = false;

        for (size_t i = 0; i < DN_N_ELEMENTS (constants); i++)
            if (constants[i].files
                && improve (data,
                            at,
                            (double *) (void *) ((char *) &at->k + constants[i].offset),
                            &constants[i],
                            step,
                            without))
                moved = true;
        for (int i = 0; factors && i < data->n_chips; i++) {
            if (data->family[i] != i)
                continue;
            if (improve (data, at, &at->factor[i], &factor, step, without))
                moved = true;
            if (improve (data, at, &at->host[i], &host, step, without))
                moved = true;
        }
        if (!moved)
            step /= 2;
    }
}

/* Errors by file, and of each file by chip. */
struct scores {
    struct dn_score files;
    struct dn_score chips[N_FILES];
};

/* Add the rows of one family of chips, or with -1 of all. */
static void add_errors (const struct data *data,
                        const struct point *at,
                        int family,
                        struct scores *scores)
{
    struct dn_kernel_device devices[CHIPS_MAX];

    devices_of (data, at, devices);
    for (int i = 0; i < data->n_rows; i++) {
        const struct row *row = &data->rows[i];
        const char *file = file_names[row->file];
        const char *chip = data->chip_names[row->chip];
        double s = timed (data, at, &devices[row->chip], row);
        struct dn_err err;

        if (family >= 0 && data->family[row->chip] != family)
            continue;
        if (dn_score_add (&scores->files, file, s, NULL, row->measured_s, &err) < 0
            || dn_score_add (
                   &scores->chips[row->file], chip, s, NULL, row->measured_s, &err)
                   < 0)
            bench_die ("scores", err.text);
    }
}

static void print_figures (const char *file, const char *chip, struct dn_pairs *pairs)
{
    struct dn_figures figures = dn_pairs_figures (pairs);

    fprintf (stderr,
             "%-12s %-16s %6zu %6.1f %6.1f\n",
             file,
             chip,
             figures.n,
             100 * figures.mape,
             100 * figures.median_ape);
}

/* Print the scores and free them. */
static void print_scores (const char *title, struct scores *scores)
{
    fprintf (
        stderr, "\n%s\n%-12s %-16s   rows   mean median\n", title, "class", "chip");
    for (int i = 0; i < scores->files.n_groups; i++) {
        struct dn_score *chips = &scores->chips[i];

        print_figures (scores->files.groups[i].name, "all", &scores->files.groups[i]);
        for (int j = 0; j < chips->n_groups; j++)
            print_figures (
                scores->files.groups[i].name, chips->groups[j].name, &chips->groups[j]);
        dn_score_free (chips);
    }
    dn_score_free (&scores->files);
}

static void print_table (const struct data *data,
                         const struct point *at,
                         const char *title)
{
    struct scores scores;

    memset (&scores, 0, sizeof (scores));
    add_errors (data, at, -1, &scores);
    print_scores (title, &scores);
}

static void print_constants (const struct dn_kernel_constants *k)
{
    puts (
        "/* kernel_constants.inc - made by tests/bench/calibrate-kernels, do not edit\n"
        " *\n"
        " * fit, FILE: least mean |ln (predicted / measured)|^0.65 over kernels_FILE.csv\n"
        " * (sitar-lab/NeuSight, FP32, forward; V100, A100, P100, T4, P4), all chips,\n"
        " * no constant of a chip.\n"
        " *\n"
        " * SPDX-License-Identifier: GPL-2.0-or-later\n"
        " */");
    for (size_t i = 0; i < DN_N_ELEMENTS (constants); i++) {
        const struct constant *c = &constants[i];
        double value;

        memcpy (&value, (const char *) k + c->offset, sizeof (value));
        printf (".%s = %.4g, /* %s", c->text, value, c->files ? "fit" : c->source);
        for (int file = 0; file < N_FILES; file++)
            if (c->files & 1U << file)
                printf (", %s", file_names[file]);
        puts (" */");
    }
}

/* The same form with a factor per chip. */
static void print_factors (const struct data *data, const struct point *all, int sweeps)
{
    struct point own = *all;

    fit (data, &own, true, -1, sweeps);
    print_table (data, &own, "one measured factor per chip, and the floor of its host");
    for (int i = 0; i < data->n_chips; i++)
        if (data->family[i] == i)
            fprintf (stderr,
                     "%s: factor %.3f, floor %.3f\n",
                     data->chip_names[i],
                     own.factor[i],
                     own.host[i]);
}

/* Leave every family of chips out of the fit once, and score its rows. */
static void cross_validate (const struct data *data,
                            const struct point *start,
                            int sweeps)
{
    struct scores scores;

    memset (&scores, 0, sizeof (scores));
    for (int i = 0; i < data->n_chips; i++) {
        struct point others = *start;

        if (data->family[i] != i)
            continue;
        fit (data, &others, false, i, sweeps);
        add_errors (data, &others, i, &scores);
    }
    print_scores ("constants of the other chips", &scores);
}

int main (int argc, char *argv[])
{
    struct data data = {.rows = calloc (ROWS_MAX, sizeof (struct row))};
    struct point all = {.k = dn_kernel_constants_default};
    int sweeps;

    if (argc < N_FILES + 3 || !data.rows)
        bench_die ("usage", "HARDWARE-FOLDER LINEAR BMM CONV ELEMENTWISE SWEEPS [gpu]");
    if (argc > N_FILES + 3 && strcmp (argv[N_FILES + 3], "gpu") != 0)
        bench_die (argv[N_FILES + 3], "only gpu can be left out");
    sweeps = (int) strtol (argv[N_FILES + 2], NULL, 10);
    bench_read_catalogue (argv[1], &data.catalogue);
    for (data.file = 0; data.file < N_FILES; data.file++)
        bench_read_table (argv[2 + data.file], add_row, &data);
    for (int i = 0; i < CHIPS_MAX; i++)
        all.factor[i] = all.host[i] = 1;
    if (argc == N_FILES + 3) {
        fit (&data, &all, false, -1, sweeps);
        print_constants (&all.k);
        print_table (&data, &all, "law of the sustained clock alone");
        if (sweeps > 0)
            print_factors (&data, &all, sweeps);
    }
    if (sweeps > 0)
        cross_validate (&data, &all, sweeps);
    dn_catalogue_free (&data.catalogue);
    free (data.rows);
    return 0;
}
