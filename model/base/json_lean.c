/* json_lean.c - long arrays of numbers, without an object for each
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/json_lean.h"

#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"

/* No number of ours is longer as text. */
#define NUMBER_MAX 40

/* --- taking out ------------------------------------------------------------------ */

/* What may stand between the brackets of an array that is taken out. */
static const bool of_numbers[UCHAR_MAX + 1] = {
    ['0'] = true, ['1'] = true, ['2'] = true,  ['3'] = true,  ['4'] = true,
    ['5'] = true, ['6'] = true, ['7'] = true,  ['8'] = true,  ['9'] = true,
    ['+'] = true, ['-'] = true, ['.'] = true,  ['e'] = true,  ['E'] = true,
    [','] = true, [' '] = true, ['\t'] = true, ['\r'] = true, ['\n'] = true};

static size_t count_commas (struct dn_span text)
{
    const char *end = text.text + text.len;
    size_t n = 0;

    for (const char *at = text.text; (at = memchr (at, ',', (size_t) (end - at))); at++)
        n++;
    return n;
}

/* What stands behind the bracket at 'at', if that is an array to take out, or nothing.
 */
static struct dn_span find_numbers (struct dn_span json, size_t at)
{
    struct dn_span inside = {json.text + at + 1, 0};

    for (at++; at < json.len && of_numbers[(unsigned char) json.text[at]]; at++)
        inside.len++;
    if (at == json.len || json.text[at] != ']'
        || count_commas (inside) + 1 < DN_JSON_LEAN_MIN)
        inside.len = 0;
    return inside;
}

/* Behind the string that begins at 'at'. */
static size_t pass_string (struct dn_span json, size_t at)
{
    for (at++; at < json.len && json.text[at] != '"'; at++)
        if (json.text[at] == '\\')
            at++;
    return at < json.len ? at + 1 : json.len;
}

static int keep_array (struct dn_json_lean *lean,
                       struct dn_span inside,
                       struct dn_err *err)
{
    const size_t step = 256;

    if ((size_t) lean->n_arrays % step == 0) {
        size_t n = (size_t) lean->n_arrays + step;
        struct dn_span *grown = realloc (lean->arrays, n * sizeof (*grown));

        if (!grown)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
        lean->arrays = grown;
    }
    lean->arrays[lean->n_arrays++] = inside;
    return 0;
}

/* Append 'len' bytes; what is written is never longer than what was read. */
static void put (struct dn_json_lean *lean, const char *text, size_t len)
{
    if (len > 0)
        memcpy (lean->text + lean->len, text, len);
    lean->len += len;
}

/* A string in place of an array, and as many ends of lines. */
static void put_mark (struct dn_json_lean *lean, struct dn_span inside)
{
    const char *end = inside.text + inside.len;
    char mark[24];
    int n = snprintf (mark, sizeof (mark), "\"#%d\"", lean->n_arrays - 1);

    put (lean, mark, (size_t) n);
    for (const char *at = inside.text; (at = memchr (at, '\n', (size_t) (end - at)));
         at++)
        put (lean, "\n", 1);
}

static int take_out (struct dn_span json, struct dn_json_lean *lean, struct dn_err *err)
{
    size_t from = 0; /* not yet put */
    size_t at = 0;

    while (at < json.len) {
        struct dn_span inside;

        if (json.text[at] == '"') {
            at = pass_string (json, at);
            continue;
        }
        if (json.text[at++] != '[')
            continue;
        inside = find_numbers (json, at - 1);
        if (inside.len == 0)
            continue;
        if (keep_array (lean, inside, err) < 0)
            return -1;
        put (lean, json.text + from, at - 1 - from);
        put_mark (lean, inside);
        at += inside.len + 1;
        from = at;
    }
    put (lean, json.text + from, json.len - from);
    return 0;
}

int dn_json_lean_make (struct dn_span json,
                       struct dn_json_lean *lean,
                       struct dn_err *err)
{
    *lean = (struct dn_json_lean){.text = malloc (json.len + 1)};
    if (!lean->text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (take_out (json, lean, err) == 0)
        return 0;
    dn_json_lean_free (lean);
    return -1;
}

void dn_json_lean_free (struct dn_json_lean *lean)
{
    free (lean->text);
    free (lean->arrays);
    *lean = (struct dn_json_lean){.text = NULL};
}

/* --- reading --------------------------------------------------------------------- */

/* What the text of a number says: its digits without the point, and how many powers of
 * ten they are to be multiplied with.
 */
struct decimal {
    bool negative;
    uint64_t digits;
    int n_digits; /* leading zeros left aside */
    int exponent;
};

static bool is_digit (struct dn_span text, size_t at)
{
    return at < text.len && text.text[at] >= '0' && text.text[at] <= '9';
}

/* Digits from '*at' on; false if there are none. */
static bool read_digits (struct dn_span text, size_t *at, struct decimal *decimal)
{
    size_t begin = *at;

    for (; is_digit (text, *at); (*at)++) {
        decimal->digits = decimal->digits * 10 + (uint64_t) (text.text[*at] - '0');
        if (decimal->digits > 0)
            decimal->n_digits++;
    }
    return *at > begin;
}

static bool read_exponent (struct dn_span text, size_t *at, struct decimal *decimal)
{
    struct decimal exponent = {.negative = false};

    if (*at < text.len && (text.text[*at] == '-' || text.text[*at] == '+'))
        exponent.negative = text.text[(*at)++] == '-';
    if (!read_digits (text, at, &exponent) || exponent.n_digits > 4)
        return false;
    decimal->exponent +=
        exponent.negative ? -(int) exponent.digits : (int) exponent.digits;
    return true;
}

/* -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?, as JSON has it. */
static bool read_decimal (struct dn_span text, struct decimal *decimal)
{
    size_t at = 0;
    size_t first;

    *decimal = (struct decimal){.negative = text.text[0] == '-'};
    at += decimal->negative;
    first = at;
    if (!read_digits (text, &at, decimal)
        || (text.text[first] == '0' && at > first + 1))
        return false;
    if (at < text.len && text.text[at] == '.') {
        size_t point = at++;

        if (!read_digits (text, &at, decimal))
            return false;
        decimal->exponent = -(int) (at - point - 1);
    }
    if (at < text.len && (text.text[at] == 'e' || text.text[at] == 'E')) {
        at++;
        if (!read_exponent (text, &at, decimal))
            return false;
    }
    return at == text.len;
}

/* The nearest number to any text, by json-c, which knows how to go round the locale. To
 * that a whole number is a 64-bit one, and what is beyond is the last of those; so
 * there is an exponent in any case.
 */
static double read_by_json (struct dn_span text)
{
    bool whole = !memchr (text.text, '.', text.len)
                 && !memchr (text.text, 'e', text.len)
                 && !memchr (text.text, 'E', text.len);
    char copy[NUMBER_MAX + sizeof ("{\"n\":e0}")];
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    double value;
    int len = snprintf (copy,
                        sizeof (copy),
                        "{\"n\":%.*s%s}",
                        (int) text.len,
                        text.text,
                        whole ? "e0" : "");

    document = dn_json_read ((struct dn_span){copy, (size_t) len}, 2, 2, NULL);
    return dn_json_number (dn_json_member (document, "n"), &value) ? value : NAN;
}

/* The number that 'text' is, or NaN. Up to 15 digits and 10^22 are exact as doubles;
 * their product or quotient is rounded once, so it is the nearest (Clinger 1990).
 */
static double read_number (struct dn_span text)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int most = (int) DN_N_ELEMENTS (powers) - 1;
    struct decimal decimal;
    double value;

    if (text.len == 0 || text.len > NUMBER_MAX || !read_decimal (text, &decimal))
        return NAN;
    if (decimal.n_digits > 15 || decimal.exponent > most || decimal.exponent < -most)
        return read_by_json (text);
    value = (double) decimal.digits;
    if (decimal.exponent < 0)
        value /= powers[-decimal.exponent];
    else
        value *= powers[decimal.exponent];
    return decimal.negative ? -value : value;
}

/* The array that stands for 'value', or NULL. */
static const struct dn_span *find_array (const struct dn_json_lean *lean,
                                         const struct json_object *value)
{
    struct json_object *mark = (struct json_object *) value;
    struct dn_span text;
    int64_t number;

    if (!json_object_is_type (mark, json_type_string))
        return NULL;
    text = dn_span_of (json_object_get_string (mark));
    if (text.len < 2 || text.text[0] != '#')
        return NULL;
    text = (struct dn_span){text.text + 1, text.len - 1};
    if (dn_int_read (text, "", 0, (int64_t) lean->n_arrays - 1, &number, NULL) < 0)
        return NULL;
    return &lean->arrays[number];
}

int64_t dn_json_lean_count (const struct dn_json_lean *lean,
                            const struct json_object *array)
{
    const struct dn_span *inside = find_array (lean, array);

    if (inside)
        return (int64_t) count_commas (*inside) + 1;
    if (json_object_is_type ((struct json_object *) array, json_type_array))
        return (int64_t) json_object_array_length (array);
    return -1;
}

const struct json_object *dn_json_lean_need (const struct dn_json_lean *lean,
                                             const struct json_object *json,
                                             const char *key,
                                             size_t min_n,
                                             size_t max_n,
                                             size_t *n,
                                             struct dn_err *err)
{
    const struct json_object *array = dn_json_member (json, key);
    const struct dn_span *inside = find_array (lean, array);

    if (!inside)
        array = dn_json_need_array (json, key, min_n, max_n, err);
    if (!array)
        return NULL;
    *n = (size_t) dn_json_lean_count (lean, array);
    return dn_json_check_length (*n, key, min_n, max_n, err) < 0 ? NULL : array;
}

/* Cut what stands before the next comma off. A hundred thousand times: memchr () is
 * what makes this worth while.
 */
static struct dn_span cut (struct dn_span *rest)
{
    const char *comma = memchr (rest->text, ',', rest->len);
    struct dn_span piece = *rest;

    if (comma)
        piece.len = (size_t) (comma - rest->text);
    rest->text += piece.len + (comma ? 1 : 0);
    rest->len -= piece.len + (comma ? 1 : 0);
    return piece;
}

static double value_of (struct json_object *value)
{
    double number;

    if (json_object_is_type (value, json_type_boolean))
        return json_object_get_boolean (value) ? 1 : 0;
    return dn_json_number (value, &number) ? number : NAN;
}

void dn_json_lean_read (const struct dn_json_lean *lean,
                        const struct json_object *array,
                        double out[],
                        size_t n)
{
    const struct dn_span *inside = find_array (lean, array);
    struct dn_span rest;

    if (!inside) {
        for (size_t i = 0; i < n; i++)
            out[i] = value_of (json_object_array_get_idx (array, i));
        return;
    }
    rest = *inside;
    for (size_t i = 0; i < n; i++)
        out[i] = read_number (dn_span_trim (cut (&rest)));
}
