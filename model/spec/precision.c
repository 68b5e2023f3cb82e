/* precision.c - names and traits of precisions, made from the list in precision.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/precision.h"

#define NAME(constant, name, ...)   [DN_PRECISION_##constant] = (name),
#define TRAITS(constant, name, ...) [DN_PRECISION_##constant] = {__VA_ARGS__},

const char *const dn_precision_text[DN_N_PRECISIONS] = {DN_PRECISIONS (NAME)};
const struct dn_precision_traits dn_precision_traits[DN_N_PRECISIONS] = {
    DN_PRECISIONS (TRAITS)};
