/* csv.h - reading the tables of tests/data
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_CSV_H
#define DN_TEST_CSV_H

#define CSV_FIELDS_MAX 16

/* Open tests/data/NAME of the source tree (srcdir, else the current directory), skip
 * its head and call 'row' for every line with its fields. Fails the test if it cannot.
 */
void csv_each (const char *name,
               void (*row) (char *const fields[], int n_fields, void *context),
               void *context);

#endif
