/* json_write.c - building JSON objects; every step reports a failed allocation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/json_write.h"

#include <json-c/json.h>
#include <string.h>

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

/* The longest line, of blanks. json-c takes it as a variable, but only reads it. */
static char longest[] = {[0 ... DN_JSON_LINE_MAX - 1] = ' ', [DN_JSON_LINE_MAX] = '\0'};

/* If json-c cannot grow its buffer, it omits the text that does not fit and continues
 * (0.16 does not check whether the buffer grew), so a key or a digit may be missing. It
 * reuses an object's buffer, so the buffer is first grown by writing the longest line
 * in the place of the object. The functions of json-c that grow a buffer directly are
 * private to it (symbol version JSONC_PRIVATE), and may be missing in another version.
 */
const char *dn_json_line (struct json_object *object)
{
    const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
    const char *line;

    json_object_set_serializer (
        object, json_object_userdata_to_json_string, longest, NULL);
    line = json_object_to_json_string_ext (object, flags);
    json_object_set_serializer (object, NULL, NULL, NULL);
    if (!line || strlen (line) < DN_JSON_LINE_MAX)
        return NULL;
    return json_object_to_json_string_ext (object, flags);
}
