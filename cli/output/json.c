/* json.c - building and printing JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every whole number up to this one is exact in a double. Numbers from a million on are
 * printed without a fraction; tables of rows show them with it. */
#define WHOLE_MAX 9007199254740992.0
#define WHOLE_MIN 1e6

struct json_object *dn_json_real (double value)
{
    char text[32];

    if (!isfinite (value))
        return NULL;
    if (value == floor (value) && fabs (value) <= WHOLE_MAX)
        return json_object_new_int64 ((int64_t) value);
    if (fabs (value) >= WHOLE_MIN && value != floor (value))
        snprintf (text, sizeof (text), "%.0f", round (value));
    else
        snprintf (text, sizeof (text), "%.10g", value);
    return json_object_new_double_s (value, text);
}

/* Length of the UTF-8 character at 'text', 0 if there is none. */
static size_t utf8_len (const unsigned char *text)
{
    size_t n;

    if (text[0] < 0x80)
        return 1;
    if (text[0] >= 0xc2 && text[0] <= 0xdf)
        n = 2;
    else if (text[0] >= 0xe0 && text[0] <= 0xef)
        n = 3;
    else if (text[0] >= 0xf0 && text[0] <= 0xf4)
        n = 4;
    else
        return 0;
    for (size_t i = 1; i < n; i++)
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    /* overlong forms, surrogates, beyond U+10FFFF */
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f)
        || (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return n;
}

struct json_object *dn_json_text (const char *text)
{
    dn_cleanup (dn_free_ptr) char *copy = text ? strdup (text) : NULL;

    if (!copy)
        return NULL;
    for (unsigned char *c = (unsigned char *) copy; *c;) {
        size_t n = utf8_len (c);

        if (n == 0)
            *c = '?';
        c += n == 0 ? 1 : n;
    }
    return json_object_new_string (copy);
}

void dn_json_add_real (struct json_object *to, const char *key, double value)
{
    json_object_object_add (to, key, value < 0 ? NULL : dn_json_real (value));
}

void dn_json_add_signed (struct json_object *to, const char *key, double value)
{
    json_object_object_add (to, key, dn_json_real (value));
}

void dn_json_add_count (struct json_object *to, const char *key, int64_t value)
{
    json_object_object_add (to, key, value < 0 ? NULL : json_object_new_int64 (value));
}

void dn_json_add_bool (struct json_object *to, const char *key, bool value)
{
    json_object_object_add (to, key, json_object_new_boolean (value));
}

void dn_json_add_text (struct json_object *to, const char *key, const char *text)
{
    json_object_object_add (to, key, dn_json_text (text));
}

void dn_json_add_name (struct json_object *to, const char *key, const char *name)
{
    dn_json_add_text (to, key, name && name[0] != '\0' ? name : NULL);
}

struct json_object *dn_json_add_object (struct json_object *to, const char *key)
{
    struct json_object *member = json_object_new_object ();

    json_object_object_add (to, key, member);
    return member;
}

struct json_object *dn_json_add_array (struct json_object *to, const char *key)
{
    struct json_object *member = json_object_new_array ();

    json_object_object_add (to, key, member);
    return member;
}

struct json_object *dn_json_append_object (struct json_object *array)
{
    struct json_object *member = json_object_new_object ();

    json_object_array_add (array, member);
    return member;
}

void dn_json_print (struct json_object *document)
{
    puts (json_object_to_json_string_ext (
        document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
}
