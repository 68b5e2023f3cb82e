/* json_lean.h - long arrays of numbers, without an object for each
 *
 * json-c makes an object of every value; from its text until it is freed again a number
 * costs more than a thousand instructions, and a bundle has a hundred thousand of them.
 * So long arrays of nothing but numbers are taken out of a text before json-c reads it,
 * and a string stands in their place, "#" and a number. All else is in the line that it
 * was in, which errors name. Nothing is believed by that: what was taken out has
 * the characters of numbers, commas and blanks alone, and is read strictly when it is
 * asked for; a text that brings such a string itself gets at numbers that it has
 * brought as well.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JSON_LEAN_H
#define DN_JSON_LEAN_H

#include "base/text.h"

struct json_object;

/* Shorter arrays stay: whoever may meet a longer one asks for it by this file. */
#define DN_JSON_LEAN_MIN 32

struct dn_json_lean {
    char *text; /* without the arrays; owned, as is the next */
    size_t len;
    struct dn_span *arrays; /* what stood between brackets, in the text it was in */
    int n_arrays;
};

/* Take the arrays out of 'json', which is to live as long as 'lean'. -1 with 'err'
 * without memory. Free with dn_json_lean_free ().
 */
int dn_json_lean_make (struct dn_span json,
                       struct dn_json_lean *lean,
                       struct dn_err *err);
void dn_json_lean_free (struct dn_json_lean *lean);

/* The member 'key' of an object: an array of min_n..max_n values, taken out or not. How
 * many it has in '*n'. NULL with 'err'.
 */
const struct json_object *dn_json_lean_need (const struct dn_json_lean *lean,
                                             const struct json_object *json,
                                             const char *key,
                                             size_t min_n,
                                             size_t max_n,
                                             size_t *n,
                                             struct dn_err *err);

/* How many values an array has, taken out or not; -1 if 'array' is none. */
int64_t dn_json_lean_count (const struct dn_json_lean *lean,
                            const struct json_object *array);

/* Its 'n' values as numbers, true and false as 1 and 0; NaN for what is no finite
 * number.
 */
void dn_json_lean_read (const struct dn_json_lean *lean,
                        const struct json_object *array,
                        double out[],
                        size_t n);

#endif
