/* keys.c - fuzz target: public keys, and the signature of a bundle
 *
 * The input is split at its form feed: a file of keys, a signature. No signature in an
 * input can be valid.
 *
 * Aims at: cli/bundle/signature.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/signature.h"
#include "scratch.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    char *text = take_text (data, size);
    char path[PATH_MAX];
    char *parts[2];
    struct dn_keys keys;
    struct dn_err err = {0};

    cut_parts (text, parts, 2);
    scratch_write ("keys.pub", parts[0], strlen (parts[0]));
    snprintf (path, sizeof (path), "%s", scratch_path ("keys.pub"));
    if (dn_keys_load (path, &keys, &err) < 0) {
        expect_message (&err);
        expect (keys.n_keys == 0, "keys in spite of an error", NULL);
    }
    for (int i = 0; i < keys.n_keys; i++)
        expect (is_printable (keys.keys[i].comment), "a comment", NULL);
    dn_signature_check (&keys, dn_span_of ("{}"), dn_span_of (parts[1]), &err);
    if (keys.n_keys == 0)
        expect_message (&err);
    free (text);
    return 0;
}
