/* document.h - JSON that comes from a file: parsed within limits, read with errors
 *
 * Depth and number of values are bounded before anything is built from them. A reader
 * takes the object, the member's name and what is allowed; its error names the member.
 * json-c keeps the last of two members with one name: nothing is decided by the first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_DOCUMENT_H
#define DN_DOCUMENT_H

#include <json-c/json.h>

#include "base/text.h"

/* Parse one object. At most 'n_values' values and a depth of 16. NULL with 'err'. Freed
 * with json_object_put ().
 */
struct json_object *dn_document_parse (struct dn_span text,
                                       size_t n_values,
                                       struct dn_err *err);

/* json_object_put () for dn_cleanup. */
void dn_document_cleanup (struct json_object **document);

/* A member that must be there and of that type; NULL with 'err'. Borrowed. */
struct json_object *dn_document_object (const struct json_object *in,
                                        const char *key,
                                        struct dn_err *err);
struct json_object *dn_document_array (const struct json_object *in,
                                       const char *key,
                                       size_t min,
                                       size_t max,
                                       struct dn_err *err);

/* A member that may be missing: NULL. */
struct json_object *dn_document_find (const struct json_object *in, const char *key);

int dn_document_count (const struct json_object *in,
                       const char *key,
                       int64_t min,
                       int64_t max,
                       int64_t *out,
                       struct dn_err *err);
int dn_document_real (const struct json_object *in,
                      const char *key,
                      double min,
                      double max,
                      double *out,
                      struct dn_err *err);

/* A string of printable ASCII that fits 'size' with its end. */
int dn_document_text (const struct json_object *in,
                      const char *key,
                      char *out,
                      size_t size,
                      struct dn_err *err);

/* An array of exactly 'n' numbers. */
int dn_document_reals (const struct json_object *in,
                       const char *key,
                       double min,
                       double max,
                       double *out,
                       size_t n,
                       struct dn_err *err);

/* A value of an array: a finite number. Return false if it is none. */
bool dn_document_number (const struct json_object *value, double *out);

#endif
