/* json_member.h - members of the JSON that training writes
 *
 * A member whose value cannot be allocated is null; the reader of the file refuses it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JSON_MEMBER_H
#define DN_JSON_MEMBER_H

#include <json-c/json.h>

void dn_member_text (struct json_object *to, const char *key, const char *text);

/* Add an empty object or array and return it; it belongs to 'to'. */
struct json_object *dn_member_object (struct json_object *to, const char *key);
struct json_object *dn_member_array (struct json_object *to, const char *key);

#endif
