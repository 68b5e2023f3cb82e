/* expect.h - what fuzz targets share: their input as text, and properties
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_EXPECT_H
#define DN_EXPECT_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/sidecar.h"

/* The entry of a target. */
int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

/* 'right' holds, or the run ends and says what does not, and why. */
void expect (bool right, const char *what);
void expect_done (bool right, const char *what, const struct dn_err *err);

/* What failed has said why, in words that any terminal can show. */
void expect_message (const struct dn_err *err);

/* Printable ASCII, in one line. */
bool is_printable (const char *text);

/* The input, terminated, in a buffer of exactly its size; freed with free (). */
char *take_text (const uint8_t *data, size_t size);
#define INPUT_TEXT(name) dn_cleanup (dn_free_ptr) char *name = take_text (data, size)

/* A text that grows; 'text' is freed with free (). */
struct fuzz_text {
    char *text;
    size_t len;
};

/* Appends to a struct fuzz_text: a dn_put_f. */
int put_text (void *to, const char *piece, size_t len);

/* Cut 'text' at its form feeds; parts that are not there are NULL. */
void cut_parts (char *text, char *parts[], int n);

/* What was imported can be written, read again, and is then written the same. */
void expect_read_again (const struct dn_sidecar *sidecar);

#endif
