/* json.h - building and printing JSON; unknown values are null
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JSON_H
#define DN_JSON_H

#include <json-c/json.h>

#include "base/json_read.h"
#include "base/text.h"

/* A number with up to ten digits, whole from a million on; whole numbers have no
 * exponent and no point; null if it is not finite. */
struct json_object *dn_json_real (double value);

/* A string in valid UTF-8, other bytes as '?'; null for NULL. */
struct json_object *dn_json_text (const char *text);

/* Add a member. A negative real or count stands for "unknown" and becomes null; a
 * signed real is null where it is not finite.
 */
void dn_json_add_real (struct json_object *to, const char *key, double value);
void dn_json_add_signed (struct json_object *to, const char *key, double value);
void dn_json_add_count (struct json_object *to, const char *key, int64_t value);
void dn_json_add_bool (struct json_object *to, const char *key, bool value);
void dn_json_add_text (struct json_object *to, const char *key, const char *text);

/* The same of a name, which is null where it is empty. */
void dn_json_add_name (struct json_object *to, const char *key, const char *name);

/* Add an empty object or array and return it; it belongs to 'to'. */
struct json_object *dn_json_add_object (struct json_object *to, const char *key);
struct json_object *dn_json_add_array (struct json_object *to, const char *key);

/* Append an empty object to an array and return it. */
struct json_object *dn_json_append_object (struct json_object *array);

/* Print the document on stdout. */
void dn_json_print (struct json_object *document);

#endif
