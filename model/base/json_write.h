/* json_write.h - building JSON objects; every step reports a failed allocation
 *
 * Unknown values (a negative number, an empty text) are left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JSON_WRITE_H
#define DN_JSON_WRITE_H

#include <json-c/json.h>

#include "base/base.h"

/* Add 'value' to 'object', which takes ownership. NULL, from a failed allocation, is an
 * error. Return 0 or -1.
 */
int dn_json_put (struct json_object *object,
                 const char *key,
                 struct json_object *value);

/* Add a whole number, unless it is negative. */
int dn_json_put_number (struct json_object *object, const char *key, int64_t value);

/* Add a text, unless it is empty. */
int dn_json_put_text (struct json_object *object, const char *key, const char *value);

/* Add the empty object 'key' and return it, or NULL. It belongs to 'object'. */
struct json_object *dn_json_put_object (struct json_object *object, const char *key);

/* Longer than any line: a record has at most 1 KiB, a decision with all reasons 10 KiB.
 */
#define DN_JSON_LINE_MAX 16384

/* The object on one line, without blanks; NULL if out of memory. It belongs to
 * 'object'.
 */
const char *dn_json_line (struct json_object *object);

#endif
