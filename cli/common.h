/* common.h - exit codes, messages, input and output of all commands
 *
 * Data goes to stdout, messages to stderr with the prefix "dnnest: ". The program never
 * calls setlocale (): its output is the same everywhere.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COMMON_H
#define DN_COMMON_H

#include <stdio.h>

#include "base/text.h"

enum dn_exit {
    DN_EXIT_DONE,
    DN_EXIT_ABSTAINED, /* no error, but no answer */
    DN_EXIT_USAGE,     /* an option or the metadata */
    DN_EXIT_CONF,      /* dnnest.conf, the catalogue or the table of data sets */
    DN_EXIT_DATA,      /* a file of the user, a model bundle */
    DN_EXIT_BUG        /* memory, output, or a bug */
};

/* The name of the program in messages; "dnnest" unless it is another one. */
extern const char *dn_program;

/* Print "dnnest: <formatted>" on stderr. Other bytes than printable ASCII become '?'.
 */
void dn_complain (const char *format, ...) DN_PRINTF (1, 2);

/* Print 'err' and return its exit code: 'code', unless it is an error that the user
 * cannot correct.
 */
int dn_fail (enum dn_exit code, const struct dn_err *err);

/* Set 'err' to the present errno: what has failed of 'path'. Return -1. */
int dn_err_errno (const char *path, struct dn_err *err);

/* Flush stdout; on a write error print a message and return DN_EXIT_BUG. A reader that
 * has read enough ("| head") is no error.
 */
int dn_finish (int exit_code);

/* The name of a file without its directories; NULL of NULL. */
const char *dn_base_name (const char *path);

/* Open a file of the user for reading, "-" being stdin, or what gzip makes of one whose
 * name ends in .gz; NULL with 'err'.
 */
FILE *dn_open_input (const char *path, struct dn_err *err);

/* fclose () for dn_cleanup; leaves stdin open. */
void dn_close_input (FILE **stream);

/* Read a file of the user whole, "-" being stdin. '*text' is terminated, owned by the
 * caller, and has no NUL inside.
 */
int dn_read_input (const char *path, char **text, struct dn_err *err);

/* The same of up to 'max' bytes instead of a sidecar's. */
int dn_read_large_input (const char *path, size_t max, char **text, struct dn_err *err);
/* Read a file of any bytes, up to 'max' of them. */
int dn_read_bytes (const char *path,
                   size_t max,
                   char **bytes,
                   size_t *len,
                   struct dn_err *err);

/* Write 'text' and a newline to a file of the user. An incomplete file is removed.
 */
int dn_write_output (const char *path, const char *text, struct dn_err *err);

/* Add ", near: a b c" to 'buf': those of the names that resemble 'wanted'. 'name' gives
 * the i-th name, NULL after the last.
 */
void dn_add_near (struct dn_buf *buf,
                  const char *wanted,
                  dn_name_at_f name,
                  const void *names);

/* Write one cell, quoted where necessary (RFC 4180). A text that a spreadsheet would
 * compute begins with "'", and control bytes become '?'.
 */
void dn_csv_cell (FILE *file, const char *text);

#endif
