/* json_write.h - building JSON objects where memory may end: every step can fail
 *
 * What is unknown (a negative number, an empty text) is left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JSON_WRITE_H
#define DN_JSON_WRITE_H

#include <json-c/json.h>

#include "base/base.h"

/* Add 'value' to 'object' and take it over; NULL, which is no memory, is an error.
 * Return 0 or -1.
 */
int dn_json_put (struct json_object *object,
                 const char *key,
                 struct json_object *value);

/* Add a whole number, unless it is negative. */
int dn_json_put_number (struct json_object *object, const char *key, int64_t value);

/* Add a real, rounded to whole, so that no locale can spoil it; one that is negative or
 * absurd is left out.
 */
int dn_json_put_real (struct json_object *object, const char *key, double value);

/* Add a text, unless it is empty. */
int dn_json_put_text (struct json_object *object, const char *key, const char *value);

/* Add the empty object 'key' and return it, or NULL. It belongs to 'object'. */
struct json_object *dn_json_put_object (struct json_object *object, const char *key);

/* A line is shorter: a record has 1 KiB at most, a decision with all of its reasons 10.
 */
#define DN_JSON_LINE_MAX 16384

/* The object on one line, without blanks; NULL without memory. It belongs to 'object'.
 */
const char *dn_json_line (struct json_object *object);

#endif
