/* mlp.c - linear layers with rectifiers between them
 *
 * layers= is the number of all linear layers, including the last; in_channels= is the
 * number of input features. Where params= is given and hidden= is not, hidden is
 * computed so that the network has that number of parameters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "zoo.h"

#include <math.h>

struct mlp {
    const char *name;
};

static const struct mlp rows[] = {
    {"mlp"},
    /* End of rows */
};

/* The positive root of (layers - 2) h^2 + (in + classes + layers - 1) h + classes =
 * params; the left side is the number of the layers' weights and biases.
 */
static double solve_hidden (double params, double layers, double in, double classes)
{
    double a = layers - 2;
    double b = in + classes + layers - 1;
    double c = classes - params;
    double h = a > 0 ? (sqrt (fmax (b * b - 4 * a * c, 0)) - b) / (2 * a) : -c / b;

    return fmax (1, round (h));
}

static void build_mlp (struct dn_build *build, const void *row)
{
    double in = DN_WANT (build, in_channels, 784);
    double layers = DN_WANT (build, layers, 3);
    double classes = DN_WANT (build, classes, 10);
    double params = DN_WANT_REAL (build, params, 0);
    double hidden = DN_WANT (
        build, hidden, params > 0 ? solve_hidden (params, layers, in, classes) : 512);

    (void) row;
    dn_build_features (build, in, 0);
    if (layers > 1) {
        double outer;

        dn_build_linear (build, hidden, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        outer = dn_build_repeat (build, layers - 2);
        dn_build_linear (build, hidden, true);
        dn_build_activation (build, DN_ACTIVATION_RELU);
        dn_build_repeat_end (build, outer);
    }
    dn_build_linear (build, classes, true);
    dn_build_loss (build);
}

const struct dn_zoo_family dn_zoo_mlp = DN_ZOO_FAMILY ("mlp", rows, build_mlp);
