/* zoo.h - the families of networks that the zoo is made of
 *
 * A family is one file: a table with a row of hyper-parameters per name, and a builder
 * that reads a row, lets the keys of the specification override it, and builds the
 * network with the functions of build.h. A new model of a family is a new row.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ZOO_H
#define DN_ZOO_H

#include "graph/build.h"

typedef void (*dn_zoo_build_f) (struct dn_build *build, const void *row);

struct dn_zoo_family {
    const char *name;
    const void *rows; /* each begins with its name */
    size_t row_size;
    int n_rows;
    dn_zoo_build_f build;
};

/* A row whose last members may be left out. */
#define ROW(...)                                                                       \
    {                                                                                  \
        .name = __VA_ARGS__                                                            \
    }

#define DN_ZOO_FAMILY(family, table, function)                                         \
    {                                                                                  \
        (family), (table), sizeof ((table)[0]), (int) DN_N_ELEMENTS (table),           \
            (function)                                                                 \
    }

/* The families, in the order of dn_zoo_at (): dn_zoo_NAME is defined in NAME.c or in
 * that of its kin. A new one is registered by its line here.
 */
/* clang-format off */
#define DN_ZOO_FAMILIES(X)                                                             \
    X (resnet)                                                                         \
    X (mobilenet)                                                                      \
    X (efficientnet)                                                                   \
    X (vit)                                                                            \
    X (swin)                                                                           \
    X (unet)                                                                           \
    X (bert)                                                                           \
    X (gpt)                                                                            \
    X (hybrid)                                                                         \
    X (seq2seq)                                                                        \
    X (lstm)                                                                           \
    X (mlp)                                                                            \
    X (dlrm)                                                                           \
    X (ncf)                                                                            \
    X (generic)                                                                        \
    /* End of DN_ZOO_FAMILIES */
/* clang-format on */

#define DN_ZOO_DECLARE(name) extern const struct dn_zoo_family dn_zoo_##name;
DN_ZOO_FAMILIES (DN_ZOO_DECLARE)

/* A chain of equal operators that adds up to params=, flops= and activations=. */
void dn_zoo_unknown (struct dn_build *build) DN_COLD;

#endif
