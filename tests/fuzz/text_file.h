/* text_file.h - fuzz targets for the files that dnnestd and the guard write as lines
 *
 * TEXT_FILE (KIND, check) is the target of struct dn_KIND: what dn_KIND_read () takes
 * is given to 'check', and is written, read and written again as the same text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEXT_FILE_H
#define DN_TEXT_FILE_H

#include "expect.h"

#define TEXT_FILE(kind, check)                                                         \
    static void write_twice (const struct dn_##kind *value)                            \
    {                                                                                  \
        struct fuzz_text first = {NULL, 0};                                            \
        struct fuzz_text second = {NULL, 0};                                           \
        struct dn_err err = {0};                                                       \
        struct dn_##kind *again;                                                       \
                                                                                       \
        dn_##kind##_write (value, put_text, &first);                                   \
        again = dn_##kind##_read (dn_span_of (first.text), "file", &err);              \
        expect_done (again != NULL, "what was written is not read", &err);             \
        dn_##kind##_write (again, put_text, &second);                                  \
        expect (strcmp (first.text, second.text) == 0, "another text");                \
        dn_##kind##_free (again);                                                      \
        free (first.text);                                                             \
        free (second.text);                                                            \
    }                                                                                  \
                                                                                       \
    int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)                      \
    {                                                                                  \
        INPUT_TEXT (text);                                                             \
        struct dn_err err = {0};                                                       \
        struct dn_##kind *value = dn_##kind##_read (dn_span_of (text), "file", &err);  \
                                                                                       \
        if (value) {                                                                   \
            write_twice (value);                                                       \
            check (value);                                                             \
        } else {                                                                       \
            expect_message (&err);                                                     \
        }                                                                              \
        dn_##kind##_free (value);                                                      \
        return 0;                                                                      \
    }

#endif
