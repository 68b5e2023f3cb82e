/* json_write.c - building JSON objects where memory may end: every step can fail
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/json_write.h"

#include <math.h>

int dn_json_put (struct json_object *object, const char *key, struct json_object *value)
{
    if (!value)
        return -1;
    if (json_object_object_add (object, key, value) < 0) {
        json_object_put (value);
        return -1;
    }
    return 0;
}

int dn_json_put_number (struct json_object *object, const char *key, int64_t value)
{
    return value < 0 ? 0 : dn_json_put (object, key, json_object_new_int64 (value));
}

int dn_json_put_real (struct json_object *object, const char *key, double value)
{
    /* Not for a NaN, either. */
    return value >= 0 && value <= 9e15
               ? dn_json_put_number (object, key, llround (value))
               : 0;
}

int dn_json_put_text (struct json_object *object, const char *key, const char *value)
{
    return value[0] == '\0' ? 0
                            : dn_json_put (object, key, json_object_new_string (value));
}

struct json_object *dn_json_put_object (struct json_object *object, const char *key)
{
    struct json_object *part = json_object_new_object ();

    return dn_json_put (object, key, part) < 0 ? NULL : part;
}

const char *dn_json_line (struct json_object *object)
{
    return json_object_to_json_string_ext (
        object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}
