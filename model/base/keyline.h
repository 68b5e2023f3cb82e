/* keyline.h - lines of "Key=Value Key=Value", the style of Slurm's configuration
 *
 * Configuration, hardware catalogue and data-set table are written in it. '#' begins a
 * comment, a value with blanks is in double quotes, keys ignore case.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_KEYLINE_H
#define DN_KEYLINE_H

#include "base/text.h"

#define DN_KEYLINE_PAIRS_MAX 64

struct dn_pair {
    struct dn_span key;
    struct dn_span value;
};

struct dn_keyline {
    bool words;          /* set by the caller: a line may begin with a keyword */
    int line;            /* number of the line, from 1 */
    struct dn_span word; /* the keyword, as in "Gpu Type=a100"; or empty */
    struct dn_pair pairs[DN_KEYLINE_PAIRS_MAX];
    int n_pairs;
};

/* Read the next line that has a pair from 'rest' into 'keyline', whose 'line' continues
 * from its previous value. Return 1, 0 at the end of the text, or -1 with 'err' ("line
 * N:").
 */
int dn_keyline_next (struct dn_span *rest,
                     struct dn_keyline *keyline,
                     struct dn_err *err) DN_COLD;

/* Put "FILE: line N" in front of the error and return -1. */
int dn_keyline_wrap (const struct dn_keyline *keyline,
                     const char *file,
                     struct dn_err *err) DN_COLD;

#endif
