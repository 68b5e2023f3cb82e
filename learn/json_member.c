/* json_member.c - members of the JSON that training writes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/json_member.h"

void dn_member_text (struct json_object *to, const char *key, const char *text)
{
    json_object_object_add (to, key, json_object_new_string (text));
}

struct json_object *dn_member_object (struct json_object *to, const char *key)
{
    struct json_object *made = json_object_new_object ();

    json_object_object_add (to, key, made);
    return made;
}

struct json_object *dn_member_array (struct json_object *to, const char *key)
{
    struct json_object *made = json_object_new_array ();

    json_object_object_add (to, key, made);
    return made;
}
