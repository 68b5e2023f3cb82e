/* document.c - JSON that comes from a file
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/document.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define DEPTH_MAX 16

/* Every value but one of an array or object ends at a comma. Those within strings count
 * too: it is a bound.
 */
static bool has_more_values (struct dn_span text, size_t n_values)
{
    const char *end = text.text + text.len;
    size_t n_commas = 0;

    for (const char *at = text.text;
         n_commas <= n_values && (at = memchr (at, ',', (size_t) (end - at)));
         at++)
        n_commas++;
    return n_commas > n_values;
}

/* json-c knows single quotes, comments and NaN otherwise. */
static struct json_object *parse (struct json_tokener *tokener,
                                  struct dn_span text,
                                  struct dn_err *err)
{
    struct json_object *document;
    enum json_tokener_error error;

    json_tokener_set_flags (tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    document = json_tokener_parse_ex (tokener, text.text, (int) text.len);
    error = json_tokener_get_error (tokener);
    if (error == json_tokener_continue)
        dn_err_set (err, DN_E_SYNTAX, "no JSON: ends too early");
    else if (error != json_tokener_success)
        dn_err_set (err,
                    DN_E_SYNTAX,
                    "no JSON: %s at byte %zu",
                    json_tokener_error_desc (error),
                    json_tokener_get_parse_end (tokener));
    else if (dn_span_trim (
                 (struct dn_span){text.text + json_tokener_get_parse_end (tokener),
                                  text.len - json_tokener_get_parse_end (tokener)})
                 .len
             > 0)
        dn_err_set (err, DN_E_SYNTAX, "no JSON: more text behind its end");
    else if (!json_object_is_type (document, json_type_object))
        dn_err_set (err, DN_E_SYNTAX, "expected a JSON object");
    else
        return document;
    json_object_put (document);
    return NULL;
}

struct json_object *dn_document_parse (struct dn_span text,
                                       size_t n_values,
                                       struct dn_err *err)
{
    struct json_object *document;
    struct json_tokener *tokener;

    if (text.len == 0) {
        dn_err_set (err, DN_E_SYNTAX, "no JSON: empty");
        return NULL;
    }
    if (text.len > INT_MAX || has_more_values (text, n_values)) {
        dn_err_set (err, DN_E_LIMIT, "more than %zu values", n_values);
        return NULL;
    }
    tokener = json_tokener_new_ex (DEPTH_MAX);
    if (!tokener) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    document = parse (tokener, text, err);
    json_tokener_free (tokener);
    return document;
}

void dn_document_cleanup (struct json_object **document)
{
    json_object_put (*document);
}

struct json_object *dn_document_find (const struct json_object *in, const char *key)
{
    struct json_object *value = NULL;

    return json_object_object_get_ex (in, key, &value) ? value : NULL;
}

/* The member, of one of two types; 'expected' names them. */
static struct json_object *find (const struct json_object *in,
                                 const char *key,
                                 enum json_type type,
                                 const char *expected,
                                 struct dn_err *err)
{
    struct json_object *value = dn_document_find (in, key);

    if (value && json_object_is_type (value, type))
        return value;
    if (value && type == json_type_double && json_object_is_type (value, json_type_int))
        return value;
    dn_err_set (err,
                DN_E_SYNTAX,
                value ? "%s: expected %s" : "%s: missing, expected %s",
                key,
                expected);
    return NULL;
}

struct json_object *dn_document_object (const struct json_object *in,
                                        const char *key,
                                        struct dn_err *err)
{
    return find (in, key, json_type_object, "an object", err);
}

struct json_object *dn_document_array (const struct json_object *in,
                                       const char *key,
                                       size_t min,
                                       size_t max,
                                       struct dn_err *err)
{
    struct json_object *array = find (in, key, json_type_array, "an array", err);
    size_t n = array ? json_object_array_length (array) : 0;

    if (!array || (n >= min && n <= max))
        return array;
    if (min == max)
        dn_err_set (err, DN_E_RANGE, "%s: %zu values, expected %zu", key, n, min);
    else
        dn_err_set (
            err, DN_E_RANGE, "%s: %zu values, expected %zu..%zu", key, n, min, max);
    return NULL;
}

int dn_document_count (const struct json_object *in,
                       const char *key,
                       int64_t min,
                       int64_t max,
                       int64_t *out,
                       struct dn_err *err)
{
    struct json_object *value = find (in, key, json_type_int, "a whole number", err);
    int64_t count;

    if (!value)
        return -1;
    count = json_object_get_int64 (value);
    if (count < min || count > max)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: %lld out of range %lld..%lld",
                           key,
                           (long long) count,
                           (long long) min,
                           (long long) max);
    *out = count;
    return 0;
}

bool dn_document_number (const struct json_object *value, double *out)
{
    if (!json_object_is_type (value, json_type_double)
        && !json_object_is_type (value, json_type_int))
        return false;
    *out = json_object_get_double (value);
    return isfinite (*out);
}

int dn_document_real (const struct json_object *in,
                      const char *key,
                      double min,
                      double max,
                      double *out,
                      struct dn_err *err)
{
    struct json_object *value = find (in, key, json_type_double, "a number", err);
    double real;

    if (!value)
        return -1;
    if (!dn_document_number (value, &real) || real < min || real > max)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: %g out of range %g..%g",
                           key,
                           json_object_get_double (value),
                           min,
                           max);
    *out = real;
    return 0;
}

int dn_document_text (const struct json_object *in,
                      const char *key,
                      char *out,
                      size_t size,
                      struct dn_err *err)
{
    struct json_object *value = find (in, key, json_type_string, "a string", err);
    struct dn_span text;

    if (!value)
        return -1;
    text = (struct dn_span){json_object_get_string (value),
                            (size_t) json_object_get_string_len (value)};
    for (size_t i = 0; i < text.len; i++)
        if (text.text[i] < ' ' || text.text[i] > '~')
            return dn_err_set (err, DN_E_SYNTAX, "%s: expected printable ASCII", key);
    return dn_span_copy (text, out, size, key, err);
}

int dn_document_reals (const struct json_object *in,
                       const char *key,
                       double min,
                       double max,
                       double *out,
                       size_t n,
                       struct dn_err *err)
{
    struct json_object *array = dn_document_array (in, key, n, n, err);

    if (!array)
        return -1;
    for (size_t i = 0; i < n; i++) {
        struct json_object *value = json_object_array_get_idx (array, i);

        if (!dn_document_number (value, &out[i]) || out[i] < min || out[i] > max)
            return dn_err_set (err,
                               DN_E_RANGE,
                               "%s: value %zu is no number of %g..%g",
                               key,
                               i,
                               min,
                               max);
    }
    return 0;
}
