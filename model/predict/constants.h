/* constants.h - the constants of the white box, in one table
 *
 * They were calibrated on measured runs; constants.inc states the source of each. They
 * are valid only together: launch and step absorb host time, efficiencies above 1
 * absorb algorithms that need fewer operations than are counted (Winograd). A site may
 * replace them with its own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONSTANTS_H
#define DN_CONSTANTS_H

#include "base/text.h"

/* How well the memory of a run is known: kinds that measured runs tell apart. */
enum dn_memory_kind {
    DN_MEMORY_KIND_IMAGES,    /* convolutions */
    DN_MEMORY_KIND_DENSE,     /* linear layers alone */
    DN_MEMORY_KIND_DETECTORS, /* shapes change with every sample */
    DN_MEMORY_KIND_ATTENTION,
    DN_MEMORY_KIND_TUNED, /* NVIDIA's examples, without convolutions */
    DN_MEMORY_KIND_SPLIT, /* networks or their state over devices, or on the host */
    DN_MEMORY_KIND_OTHER, /* recurrent ones, tables, graphs */
    DN_N_MEMORY_KINDS
};

struct dn_constants {
#define DN_CONSTANT(name, ...) double name;
#define DN_TUNABLE(name, ...)  double name;
#include "predict/constants.inc"
#undef DN_CONSTANT
#undef DN_TUNABLE
    /* Spread of ln (measured / predicted) memory */
    double sigma_memory[DN_N_MEMORY_KINDS];
};

extern const struct dn_constants dn_constants_default;

/* A constant that a site may replace; constants.inc has the meaning of the members. */
struct dn_constant_field {
    const char *name;
    size_t offset; /* in struct dn_constants */
    const char *unit;
    const char *help;
    double min;
    double max;
    double spread;
};

/* The number of rows of the table. */
#define DN_CONSTANT_FIELDS 75

extern const struct dn_constant_field dn_constant_fields[DN_CONSTANT_FIELDS];

/* The row of that name, or -1. */
int dn_constant_find (const char *name, size_t len);

double dn_constant_get (const struct dn_constants *constants, int field);
void dn_constant_set (struct dn_constants *constants, int field, double value);

#endif
