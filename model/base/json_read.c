/* json_read.c - strict reading of untrusted JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/json_read.h"
#include "base/messages.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void dn_json_free (struct json_object **json)
{
    json_object_put (*json);
    *json = NULL;
}

/* Keys of the objects that are open while the text is scanned a second time. Of
 * duplicate keys json-c silently keeps the last. It has 33 KiB, so it is on the heap.
 */
struct scan {
    struct dn_span keys[DN_JSON_KEYS_MAX];
    int n_keys;                        /* of all open objects */
    int first_key[DN_JSON_DEPTH_MAX];  /* of each open object or array */
    bool is_object[DN_JSON_DEPTH_MAX]; /* else an array */
    int depth;
};

/* The position of a byte, as editors count. */
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

static int wrap_place (struct dn_span text, size_t at, struct dn_err *err)
{
    struct place place = place_of (text, at);

    return dn_err_wrap (err, dn_say_err_place, place.line, place.column);
}

static int fail_at (struct dn_span text,
                    size_t at,
                    enum dn_errc code,
                    const char *what,
                    struct dn_err *err)
{
    dn_err_set (err, code, "%s", what);
    return wrap_place (text, at, err);
}

/* The string that begins at 'at', without its quotes; *at is moved to the character
 * after it. The text is valid JSON.
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

static int scan_key (struct scan *scan, struct dn_span key, struct dn_err *err)
{
    if (memchr (key.text, '\\', key.len))
        return dn_refuse (err, json_escape, DN_QUOTED_SPAN (key));
    if (scan->n_keys == DN_JSON_KEYS_MAX)
        return dn_refuse (err, json_keys, DN_QUOTED_SPAN (key), DN_JSON_KEYS_MAX);
    scan->keys[scan->n_keys++] = key;
    return 0;
}

/* Equal keys are ordered by their place in the text. */
static int compare_keys (const void *a, const void *b)
{
    const struct dn_span *x = a;
    const struct dn_span *y = b;
    int order;

    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    order = memcmp (x->text, y->text, x->len);
    return order != 0 ? order : (x->text > y->text) - (x->text < y->text);
}

/* The keys are sorted, so that the time for a text of many keys does not grow with the
 * square of its length.
 */
static int close_object (const struct scan *scan,
                         struct dn_span *keys,
                         struct dn_span text,
                         struct dn_err *err)
{
    size_t n = (size_t) (scan->keys + scan->n_keys - keys);

    if (n > 1)
        qsort (keys, n, sizeof (*keys), compare_keys);
    for (size_t i = 1; i < n; i++) {
        if (keys[i].len != keys[i - 1].len
            || memcmp (keys[i].text, keys[i - 1].text, keys[i].len) != 0)
            continue;
        dn_refuse (err, json_twice, dn_quote (keys[i].text, keys[i].len).text);
        return wrap_place (text, (size_t) (keys[i].text - text.text), err);
    }
    return 0;
}

/* A bracket outside of strings. */
static int scan_bracket (struct scan *scan,
                         struct dn_span text,
                         char c,
                         struct dn_err *err)
{
    int first;

    if (c == '{' || c == '[') {
        if (scan->depth == DN_JSON_DEPTH_MAX)
            return dn_refuse (err, json_deep);
        scan->first_key[scan->depth] = scan->n_keys;
        scan->is_object[scan->depth++] = c == '{';
        return 0;
    }
    if (scan->depth == 0)
        return 0;
    first = scan->first_key[--scan->depth];
    if (close_object (scan, scan->keys + first, text, err) < 0)
        return -1;
    scan->n_keys = first;
    return 0;
}

/* Characters at which the scan stops. Most of a text is numbers. */
static const bool stops[UCHAR_MAX + 1] = {['"'] = true,
                                          ['\''] = true,
                                          ['{'] = true,
                                          ['}'] = true,
                                          ['['] = true,
                                          [']'] = true};

/* Strings and brackets between two looks at the deadline: some 10 microseconds. */
#define STOPS_PER_LOOK 256

static int scan_text (struct scan *scan,
                      struct dn_span text,
                      const struct dn_deadline *deadline,
                      struct dn_err *err)
{
    struct dn_span string;
    size_t at = 0;

    for (size_t n = 1;; n++) {
        if (n % STOPS_PER_LOOK == 0 && dn_deadline_check (deadline, "keys", err) < 0)
            return -1;
        while (at < text.len && !stops[(unsigned char) text.text[at]])
            at++;
        if (at >= text.len)
            return 0;
        /* json-c accepts keys in single quotes even in strict mode. */
        if (text.text[at] == '\'')
            return fail_at (text, at, DN_E_SYNTAX, dn_say_err_json_quotes, err);
        if (text.text[at] != '"') {
            if (scan_bracket (scan, text, text.text[at++], err) < 0)
                return -1;
            continue;
        }
        string = scan_string (text, &at);
        if (scan->depth > 0 && scan->is_object[scan->depth - 1] && is_key (text, at)
            && scan_key (scan, string, err) < 0)
            return -1;
    }
}

/* Check the keys of 'text', which json-c has parsed as valid and no deeper than
 * DN_JSON_DEPTH_MAX.
 */
static int scan_keys (struct dn_span text,
                      const struct dn_deadline *deadline,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct scan *scan = malloc (sizeof (*scan));

    if (!scan)
        return dn_refuse (err, no_memory);
    scan->n_keys = scan->depth = 0; /* other members are written before they are read */
    return scan_text (scan, text, deadline, err);
}

/* Bytes of a text that json-c parses at once, in about 50 microseconds. A part ends
 * after a comma, so that no number or character is divided.
 */
#define PART_LEN 4096

/* Parse the text in parts. '*begin' is the place of the last one. */
static int parse (struct json_tokener *tokener,
                  struct dn_span text,
                  const struct dn_deadline *deadline,
                  struct json_object **json,
                  size_t *begin,
                  struct dn_err *err)
{
    size_t end = 0;

    do {
        const char *comma = NULL;

        *begin = end;
        if (dn_deadline_check (deadline, dn_say_rest_of_json, err) < 0)
            return -1;
        if (text.len - end > PART_LEN)
            comma = memchr (text.text + end + PART_LEN, ',', text.len - end - PART_LEN);
        end = comma ? (size_t) (comma + 1 - text.text) : text.len;
        *json =
            json_tokener_parse_ex (tokener, text.text + *begin, (int) (end - *begin));
    } while (end < text.len
             && json_tokener_get_error (tokener) == json_tokener_continue);
    return 0;
}

/* Check the result of json-c, whose last part began at 'begin'. */
static int judge (struct json_tokener *tokener,
                  struct json_object *json,
                  struct dn_span text,
                  size_t begin,
                  struct dn_err *err)
{
    enum json_tokener_error error = json_tokener_get_error (tokener);
    size_t end = begin + json_tokener_get_parse_end (tokener);

    if (error == json_tokener_error_depth)
        return fail_at (text, end, DN_E_LIMIT, dn_say_err_json_deep, err);
    if (error == json_tokener_continue)
        return fail_at (text, text.len, DN_E_SYNTAX, dn_say_err_json_end, err);
    if (error != json_tokener_success) {
        dn_refuse (err, json_syntax, json_tokener_error_desc (error));
        return wrap_place (text, end, err);
    }
    if (dn_span_trim ((struct dn_span){text.text + end, text.len - end}).len > 0)
        return fail_at (text, end, DN_E_SYNTAX, dn_say_err_json_more, err);
    if (!json_object_is_type (json, json_type_object))
        return dn_refuse (err, json_value);
    return 0;
}

bool dn_json_has_more (struct dn_span text, char c, size_t n)
{
    const char *end = text.text + text.len;
    size_t found = 0;

    for (const char *at = text.text;
         found <= n && (at = memchr (at, c, (size_t) (end - at)));
         at++)
        found++;
    return found > n;
}

/* Bytes that json-c needs to parse a text: 8 times its length if it is mostly numbers.
 */
#define ROOM        65536
#define ROOM_FACTOR 16

struct json_object *dn_json_read_by (struct dn_span text,
                                     int depth,
                                     size_t n_values,
                                     const struct dn_deadline *deadline,
                                     struct dn_err *err)
{
    struct json_tokener *tokener;
    struct json_object *json = NULL;
    size_t begin;

    text = dn_span_trim (text);
    if (text.len == 0)
        return DN_NULL (dn_refuse (err, json_empty));
    /* A comma follows every value of an array or object but the last. */
    if (text.len > INT_MAX - 1 || dn_json_has_more (text, ',', n_values))
        return DN_NULL (dn_refuse (err, json_values, n_values));
    if (memchr (text.text, '\0', text.len))
        return DN_NULL (dn_refuse (err, json_nul));
    tokener = dn_has_room (ROOM + ROOM_FACTOR * text.len) ? json_tokener_new_ex (depth)
                                                          : NULL;
    if (!tokener)
        return DN_NULL (dn_refuse (err, no_memory));
    json_tokener_set_flags (tokener,
                            JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8
                                | JSON_TOKENER_ALLOW_TRAILING_CHARS);
    if (parse (tokener, text, deadline, &json, &begin, err) < 0
        || judge (tokener, json, text, begin, err) < 0
        || scan_keys (text, deadline, err) < 0) {
        json_object_put (json);
        json = NULL;
    }
    json_tokener_free (tokener);
    return json;
}

bool dn_json_is_key (const char *key, const char *keys)
{
    size_t len = strchr (key, ' ') ? 0 : strlen (key);

    for (const char *at = keys; len > 0 && (at = strstr (at, key)); at += len)
        if ((at == keys || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

int dn_json_read_keys (struct json_object *json, const char *keys, struct dn_err *err)
{
    if (!json_object_is_type (json, json_type_object))
        return dn_refuse (err, json_object);
    json_object_object_foreach (json, key, value)
    {
        (void) value;
        if (!dn_json_is_key (key, keys))
            return dn_refuse (err, json_unknown, DN_QUOTED (key), keys);
    }
    return 0;
}

struct json_object *dn_json_member (const struct json_object *json, const char *key)
{
    struct json_object *member = NULL;

    json_object_object_get_ex (json, key, &member);
    return member;
}

/* What a member must be, for errors. An integer is a number, too. */
static const char *const type_text[] = {
    [json_type_boolean] = dn_say_json_flag,
    [json_type_double] = dn_say_json_number,
    [json_type_int] = dn_say_json_int,
    [json_type_object] = dn_say_json_map,
    [json_type_array] = dn_say_json_array,
    [json_type_string] = dn_say_json_text,
};

/* Find a member of that type. Return 1, 0 if it is missing, or -1 with 'err': "found an
 * array, expected a number".
 */
static int find (const struct json_object *json,
                 const char *key,
                 json_type type,
                 struct json_object **member,
                 struct dn_err *err)
{
    json_type found;

    *member = NULL;
    if (!json_object_object_get_ex (json, key, member))
        return 0;
    found = json_object_get_type (*member);
    if (found == type || (type == json_type_double && found == json_type_int))
        return 1;
    *member = NULL;
    return dn_refuse (err, json_type, key, json_type_to_name (found), type_text[type]);
}

bool dn_json_number (const struct json_object *value, double *out)
{
    if (!json_object_is_type (value, json_type_double)
        && !json_object_is_type (value, json_type_int))
        return false;
    *out = json_object_get_double (value);
    return isfinite (*out);
}

int dn_json_read_real (const struct json_object *json,
                       const char *key,
                       double min,
                       double max,
                       double *out,
                       struct dn_err *err)
{
    struct json_object *member;
    int there = find (json, key, json_type_double, &member, err);
    double real = 0;

    if (there <= 0)
        return there;
    if (!dn_json_number (member, &real) || real < min || real > max)
        return dn_refuse (err, real_range, key, real, min, max);
    *out = real;
    return 0;
}

int dn_json_read_int (const struct json_object *json,
                      const char *key,
                      int64_t min,
                      int64_t max,
                      int64_t *out,
                      struct dn_err *err)
{
    struct json_object *member;
    int there = find (json, key, json_type_int, &member, err);
    int64_t number;

    if (there <= 0)
        return there;
    number = json_object_get_int64 (member);
    if (number < min || number > max)
        return dn_refuse (err, int_range, key, number, min, max);
    *out = number;
    return 0;
}

int dn_json_read_bool (const struct json_object *json,
                       const char *key,
                       bool *out,
                       struct dn_err *err)
{
    struct json_object *member;
    int there = find (json, key, json_type_boolean, &member, err);

    if (there > 0)
        *out = json_object_get_boolean (member);
    return there < 0 ? -1 : 0;
}

int dn_json_read_text (const struct json_object *json,
                       const char *key,
                       char *out,
                       size_t size,
                       struct dn_err *err)
{
    struct json_object *member;
    int there = find (json, key, json_type_string, &member, err);
    struct dn_span span;

    if (there <= 0)
        return there;
    span.text = json_object_get_string (member);
    span.len = (size_t) json_object_get_string_len (member);
    for (size_t i = 0; i < span.len; i++)
        if (span.text[i] < ' ' || span.text[i] > '~')
            return dn_refuse (err, json_ascii, key, DN_QUOTED_SPAN (span));
    return dn_span_copy (span, out, size, key, err);
}

int dn_json_read_enum (const struct json_object *json,
                       const char *key,
                       const struct dn_names *names,
                       int *out,
                       struct dn_err *err)
{
    struct json_object *member;
    int there = find (json, key, json_type_string, &member, err);

    if (there <= 0)
        return there;
    return dn_enum_read (
        dn_span_of (json_object_get_string (member)), key, names, out, err);
}

/* -1 with 'err' unless the array 'key', of 'n' values, has min..max of them. */
static int check_length (size_t n,
                         const char *key,
                         size_t min,
                         size_t max,
                         struct dn_err *err)
{
    enum dn_errc code = n > max ? DN_E_LIMIT : DN_E_RANGE;

    if (n >= min && n <= max)
        return 0;
    if (min == max)
        return dn_err_set (err, code, dn_say_err_json_count, key, n, min);
    return dn_err_set (err, code, dn_say_err_json_counts, key, n, min, max);
}

int dn_json_read_array (const struct json_object *json,
                        const char *key,
                        size_t max_n,
                        struct json_object **out,
                        struct dn_err *err)
{
    int there = find (json, key, json_type_array, out, err);

    if (there <= 0
        || check_length (json_object_array_length (*out), key, 0, max_n, err) == 0)
        return there < 0 ? -1 : 0;
    *out = NULL;
    return -1;
}

int dn_json_read_reals (const struct json_object *json,
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
    if (check_length (length, key, (size_t) min_n, (size_t) max_n, err) < 0)
        return -1;
    for (size_t i = 0; i < length; i++)
        if (!dn_json_number (json_object_array_get_idx (array, i), &out[i])
            || out[i] < min || out[i] > max)
            return dn_refuse (err, json_element, key, i, min, max);
    *n = (int) length;
    return 0;
}

int dn_json_read_object (const struct json_object *json,
                         const char *key,
                         struct json_object **out,
                         struct dn_err *err)
{
    return find (json, key, json_type_object, out, err) < 0 ? -1 : 0;
}

/* --- required members ------------------------------------------------------------ */

static int need (const struct json_object *json,
                 const char *key,
                 json_type type,
                 struct dn_err *err)
{
    struct json_object *member;

    if (json_object_object_get_ex (json, key, &member))
        return 0;
    return dn_refuse (err, json_missing, key, type_text[type]);
}

struct json_object *dn_json_need_object (const struct json_object *json,
                                         const char *key,
                                         struct dn_err *err)
{
    struct json_object *member = NULL;

    if (need (json, key, json_type_object, err) == 0)
        dn_json_read_object (json, key, &member, err);
    return member;
}

struct json_object *dn_json_need_array (const struct json_object *json,
                                        const char *key,
                                        size_t min_n,
                                        size_t max_n,
                                        struct dn_err *err)
{
    struct json_object *member;

    if (need (json, key, json_type_array, err) < 0
        || dn_json_read_array (json, key, SIZE_MAX, &member, err) < 0
        || check_length (json_object_array_length (member), key, min_n, max_n, err) < 0)
        return NULL;
    return member;
}

int dn_json_need_real (const struct json_object *json,
                       const char *key,
                       double min,
                       double max,
                       double *out,
                       struct dn_err *err)
{
    return need (json, key, json_type_double, err) < 0
               ? -1
               : dn_json_read_real (json, key, min, max, out, err);
}

int dn_json_need_int (const struct json_object *json,
                      const char *key,
                      int64_t min,
                      int64_t max,
                      int64_t *out,
                      struct dn_err *err)
{
    return need (json, key, json_type_int, err) < 0
               ? -1
               : dn_json_read_int (json, key, min, max, out, err);
}

int dn_json_need_text (const struct json_object *json,
                       const char *key,
                       char *out,
                       size_t size,
                       struct dn_err *err)
{
    return need (json, key, json_type_string, err) < 0
               ? -1
               : dn_json_read_text (json, key, out, size, err);
}

int dn_json_need_reals (const struct json_object *json,
                        const char *key,
                        double min,
                        double max,
                        double out[],
                        int n,
                        struct dn_err *err)
{
    return dn_json_need_array (json, key, (size_t) n, (size_t) n, err)
               ? dn_json_read_reals (json, key, min, max, n, n, out, &n, err)
               : -1;
}
