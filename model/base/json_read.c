/* json_read.c - JSON that comes from others, read strictly
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/json_read.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <string.h>

void dn_json_free (struct json_object **json)
{
    json_object_put (*json);
    *json = NULL;
}

/* Keys of the objects that are open while the text is read once more: json-c keeps the
 * last of two equal ones without a word.
 */
struct scan {
    struct dn_span keys[DN_JSON_KEYS_MAX];
    int n_keys;                        /* of all open objects */
    int first_key[DN_JSON_DEPTH_MAX];  /* of each open object or array */
    bool is_object[DN_JSON_DEPTH_MAX]; /* what is open there */
    int depth;
};

/* Where a byte stands, as editors count. */
struct place {
    size_t line;
    size_t column;
};

static struct place place_of (struct dn_span text, size_t at)
{
    struct place place = {1, 1};

    for (size_t i = 0; i < at && i < text.len; i++) {
        place.column++;
        if (text.text[i] == '\n')
            place = (struct place){place.line + 1, 1};
    }
    return place;
}

static int fail_at (struct dn_span text,
                    size_t at,
                    enum dn_errc code,
                    const char *what,
                    struct dn_err *err)
{
    struct place place = place_of (text, at);

    return dn_err_set (
        err, code, "line %zu, column %zu: %s", place.line, place.column, what);
}

/* The string that begins at 'at', without its quotes; *at comes to stand behind it. The
 * text is valid JSON.
 */
static struct dn_span scan_string (struct dn_span text, size_t *at)
{
    size_t begin = ++*at;

    while (*at < text.len && text.text[*at] != '"')
        *at += text.text[*at] == '\\' ? 2 : 1;
    if (*at > text.len)
        *at = text.len;
    return (struct dn_span){text.text + begin, (*at)++ - begin};
}

static bool is_key (struct dn_span text, size_t at)
{
    while (at < text.len && strchr (" \t\r\n", text.text[at]))
        at++;
    return at < text.len && text.text[at] == ':';
}

static int scan_key (struct scan *scan,
                     struct dn_span text,
                     struct dn_span key,
                     struct dn_err *err)
{
    int first = scan->first_key[scan->depth - 1];
    struct dn_quoted quoted = dn_quote (key.text, key.len);
    struct place place;

    if (memchr (key.text, '\\', key.len))
        return dn_err_set (
            err, DN_E_SYNTAX, "'%s': a key with an escape, expected none", quoted.text);
    for (int i = first; i < scan->n_keys; i++)
        if (scan->keys[i].len == key.len
            && memcmp (scan->keys[i].text, key.text, key.len) == 0) {
            place = place_of (text, (size_t) (key.text - text.text));
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "line %zu, column %zu: '%s': stands twice in one object",
                               place.line,
                               place.column,
                               quoted.text);
        }
    if (scan->n_keys == DN_JSON_KEYS_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "'%s': more than %d keys, expected fewer",
                           quoted.text,
                           DN_JSON_KEYS_MAX);
    scan->keys[scan->n_keys++] = key;
    return 0;
}

/* Look at the keys of 'text', which json-c has found to be valid and no deeper than
 * DN_JSON_DEPTH_MAX.
 */
static int scan_keys (struct dn_span text, struct dn_err *err)
{
    struct scan scan = {.depth = 0};
    size_t at = 0;

    while (at < text.len) {
        char c = text.text[at];

        if (c == '"') {
            struct dn_span string = scan_string (text, &at);

            if (scan.depth > 0 && scan.is_object[scan.depth - 1] && is_key (text, at)
                && scan_key (&scan, text, string, err) < 0)
                return -1;
            continue;
        }
        /* json-c takes these for keys even when it is strict. */
        if (c == '\'')
            return fail_at (text, at, DN_E_SYNTAX, "no JSON (single quotes)", err);
        if (c == '{' || c == '[') {
            if (scan.depth == DN_JSON_DEPTH_MAX)
                return dn_err_set (err, DN_E_LIMIT, "nested too deeply");
            scan.first_key[scan.depth] = scan.n_keys;
            scan.is_object[scan.depth++] = c == '{';
        } else if ((c == '}' || c == ']') && scan.depth > 0) {
            scan.n_keys = scan.first_key[--scan.depth];
        }
        at++;
    }
    return 0;
}

/* What json-c made of the text. */
static int judge (struct json_tokener *tokener,
                  struct json_object *json,
                  struct dn_span text,
                  struct dn_err *err)
{
    enum json_tokener_error error = json_tokener_get_error (tokener);
    size_t end = json_tokener_get_parse_end (tokener);

    if (error == json_tokener_error_depth)
        return fail_at (text, end, DN_E_LIMIT, "nested too deeply", err);
    if (error == json_tokener_continue)
        return fail_at (text, text.len, DN_E_SYNTAX, "ends in the middle of JSON", err);
    if (error != json_tokener_success) {
        dn_err_set (err, DN_E_SYNTAX, "no JSON (%s)", json_tokener_error_desc (error));
        return dn_err_wrap (err,
                            "line %zu, column %zu",
                            place_of (text, end).line,
                            place_of (text, end).column);
    }
    if (dn_span_trim ((struct dn_span){text.text + end, text.len - end}).len > 0)
        return fail_at (text, end, DN_E_SYNTAX, "text behind the JSON value", err);
    if (!json_object_is_type (json, json_type_object))
        return dn_err_set (err, DN_E_SYNTAX, "no JSON object, expected {...}");
    return scan_keys (text, err);
}

struct json_object *dn_json_read (struct dn_span text, int depth, struct dn_err *err)
{
    struct json_tokener *tokener;
    struct json_object *json;

    text = dn_span_trim (text);
    if (text.len == 0 || text.len > INT_MAX - 1) {
        dn_err_set (err, DN_E_SYNTAX, "empty, expected a JSON object");
        return NULL;
    }
    if (memchr (text.text, '\0', text.len)) {
        dn_err_set (err, DN_E_SYNTAX, "a NUL byte, expected JSON in UTF-8");
        return NULL;
    }
    tokener = json_tokener_new_ex (depth);
    if (!tokener) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    json_tokener_set_flags (tokener,
                            JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8
                                | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    json = json_tokener_parse_ex (tokener, text.text, (int) text.len);
    if (judge (tokener, json, text, err) < 0) {
        json_object_put (json);
        json = NULL;
    }
    json_tokener_free (tokener);
    return json;
}

/* "a, b, c": what a key may be called. */
static void write_keys (const char *const keys[], struct dn_buf *buf)
{
    for (int i = 0; keys[i]; i++)
        dn_buf_add (buf, "%s%s", i > 0 ? " " : "", keys[i]);
}

static bool is_known (const char *key, const char *const keys[])
{
    for (int i = 0; keys[i]; i++)
        if (strcmp (key, keys[i]) == 0)
            return true;
    return false;
}

int dn_json_read_keys (struct json_object *json,
                       const char *const keys[],
                       struct dn_err *err)
{
    if (!json_object_is_type (json, json_type_object))
        return dn_err_set (err, DN_E_SYNTAX, "no object, expected {...}");
    json_object_object_foreach (json, key, value)
    {
        char known[DN_ERR_TEXT_MAX];
        struct dn_buf buf = dn_buf_on (known, sizeof (known));

        (void) value;
        if (is_known (key, keys))
            continue;
        write_keys (keys, &buf);
        return dn_err_set (err,
                           DN_E_RANGE,
                           "'%s': unknown, expected one of %s",
                           dn_quote (key, strlen (key)).text,
                           known);
    }
    return 0;
}

struct json_object *dn_json_member (struct json_object *json, const char *key)
{
    struct json_object *member = NULL;

    json_object_object_get_ex (json, key, &member);
    return member;
}

/* "found an array, expected a number". */
static int fail_type (const char *key,
                      struct json_object *found,
                      const char *expected,
                      struct dn_err *err)
{
    return dn_err_set (err,
                       DN_E_SYNTAX,
                       "%s: found %s, expected %s",
                       key,
                       json_type_to_name (json_object_get_type (found)),
                       expected);
}

static bool is_there (struct json_object *json,
                      const char *key,
                      struct json_object **member)
{
    return json_object_object_get_ex (json, key, member);
}

static int read_number (struct json_object *value,
                        const char *what,
                        double min,
                        double max,
                        double *out,
                        struct dn_err *err)
{
    double number;

    if (!json_object_is_type (value, json_type_int)
        && !json_object_is_type (value, json_type_double))
        return fail_type (what, value, "a number", err);
    number = json_object_get_double (value);
    if (!isfinite (number) || number < min || number > max)
        return dn_err_set (
            err, DN_E_RANGE, "%s: %g out of range %g..%g", what, number, min, max);
    *out = number;
    return 0;
}

int dn_json_read_real (struct json_object *json,
                       const char *key,
                       double min,
                       double max,
                       double *out,
                       struct dn_err *err)
{
    struct json_object *member;

    return is_there (json, key, &member) ? read_number (member, key, min, max, out, err)
                                         : 0;
}

int dn_json_read_int (struct json_object *json,
                      const char *key,
                      int64_t min,
                      int64_t max,
                      int64_t *out,
                      struct dn_err *err)
{
    struct json_object *member;
    double number;

    if (!is_there (json, key, &member))
        return 0;
    if (!json_object_is_type (member, json_type_int))
        return fail_type (key, member, "a whole number", err);
    if (read_number (member, key, (double) min, (double) max, &number, err) < 0)
        return -1;
    *out = json_object_get_int64 (member);
    return 0;
}

int dn_json_read_bool (struct json_object *json,
                       const char *key,
                       bool *out,
                       struct dn_err *err)
{
    struct json_object *member;

    if (!is_there (json, key, &member))
        return 0;
    if (!json_object_is_type (member, json_type_boolean))
        return fail_type (key, member, "true or false", err);
    *out = json_object_get_boolean (member);
    return 0;
}

int dn_json_read_text (struct json_object *json,
                       const char *key,
                       char *out,
                       size_t size,
                       struct dn_err *err)
{
    struct json_object *member;
    struct dn_span span;

    if (!is_there (json, key, &member))
        return 0;
    if (!json_object_is_type (member, json_type_string))
        return fail_type (key, member, "a string", err);
    span.text = json_object_get_string (member);
    span.len = (size_t) json_object_get_string_len (member);
    for (size_t i = 0; i < span.len; i++)
        if (span.text[i] < ' ' || span.text[i] > '~')
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "%s: '%s', expected printable ASCII",
                               key,
                               dn_quote (span.text, span.len).text);
    return dn_span_copy (span, out, size, key, err);
}

int dn_json_read_enum (struct json_object *json,
                       const char *key,
                       const struct dn_names *names,
                       int *out,
                       struct dn_err *err)
{
    struct json_object *member;

    if (!is_there (json, key, &member))
        return 0;
    if (!json_object_is_type (member, json_type_string))
        return fail_type (key, member, "a string", err);
    return dn_enum_read (
        dn_span_of (json_object_get_string (member)), key, names, out, err);
}

int dn_json_read_reals (struct json_object *json,
                        const char *key,
                        double min,
                        double max,
                        int min_n,
                        int max_n,
                        double out[],
                        int *n,
                        struct dn_err *err)
{
    struct json_object *array = NULL;
    size_t length;

    if (dn_json_read_array (json, key, (size_t) max_n, &array, err) < 0)
        return -1;
    if (!array)
        return 0;
    length = json_object_array_length (array);
    if (length < (size_t) min_n)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: %zu entries, expected %d or more",
                           key,
                           length,
                           min_n);
    for (size_t i = 0; i < length; i++)
        if (read_number (
                json_object_array_get_idx (array, i), key, min, max, &out[i], err)
            < 0)
            return -1;
    *n = (int) length;
    return 0;
}

int dn_json_read_array (struct json_object *json,
                        const char *key,
                        size_t max_n,
                        struct json_object **out,
                        struct dn_err *err)
{
    struct json_object *member;

    *out = NULL;
    if (!is_there (json, key, &member))
        return 0;
    if (!json_object_is_type (member, json_type_array))
        return fail_type (key, member, "an array", err);
    if (json_object_array_length (member) > max_n)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%s: %zu entries, expected at most %zu",
                           key,
                           json_object_array_length (member),
                           max_n);
    *out = member;
    return 0;
}

int dn_json_read_object (struct json_object *json,
                         const char *key,
                         struct json_object **out,
                         struct dn_err *err)
{
    struct json_object *member;

    *out = NULL;
    if (!is_there (json, key, &member))
        return 0;
    if (!json_object_is_type (member, json_type_object))
        return fail_type (key, member, "an object", err);
    *out = member;
    return 0;
}
