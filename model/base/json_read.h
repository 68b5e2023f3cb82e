/* json_read.h - strict reading of untrusted JSON
 *
 * In: untrusted text. Out: a json-c object, or one error that names the place. Stricter
 * than json-c: no duplicate keys in an object, no text after the value, no NaN or
 * infinity, and bounds on depth, keys per object and number of values.
 *
 * Members are read by name. If a member is missing, dn_json_read_... leave the caller's
 * variable unchanged, so that it keeps its default, and dn_json_need_... fail. Errors
 * name the member; the caller adds the place of the object.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JSON_READ_H
#define DN_JSON_READ_H

#include "base/deadline.h"
#include "base/text.h"

struct json_object;

/* No object that dnnest writes has as many members; the scales of a site have most. */
#define DN_JSON_KEYS_MAX 2048

/* Largest value of 'depth'. */
#define DN_JSON_DEPTH_MAX 32

/* Parse the whole of 'text', an object nested at most 'depth' deep, the innermost
 * number counted. A text that may have more than 'n_values' values is refused before
 * json-c parses it. Return the object, to be freed with json_object_put (), or NULL
 * with 'err': DN_E_TIME when the deadline (NULL: none) has passed.
 */
struct json_object *dn_json_read_by (struct dn_span text,
                                     int depth,
                                     size_t n_values,
                                     const struct dn_deadline *deadline,
                                     struct dn_err *err) DN_COLD;
#define dn_json_read(text, depth, n_values, err)                                       \
    dn_json_read_by (text, depth, n_values, NULL, err)

/* json_object_put () for dn_cleanup. */
void dn_json_free (struct json_object **json);

/* Does the character occur more than 'n' times? Those within strings are counted too,
 * so the answer is on the safe side.
 */
bool dn_json_has_more (struct dn_span text, char c, size_t n);

/* -1 unless 'json' is an object all of whose members are among 'keys': "a b c". */
int dn_json_read_keys (struct json_object *json, const char *keys, struct dn_err *err);
bool dn_json_is_key (const char *key, const char *keys);

/* The member of an object, or NULL if it is missing or 'json' is not an object. */
struct json_object *dn_json_member (const struct json_object *json, const char *key);

/* Read a finite number, such as an element of an array. Return false for any other
 * value.
 */
bool dn_json_number (const struct json_object *value, double *out);

/* A number within min..max, whole or not. */
int dn_json_read_real (const struct json_object *json,
                       const char *key,
                       double min,
                       double max,
                       double *out,
                       struct dn_err *err);
int dn_json_read_int (const struct json_object *json,
                      const char *key,
                      int64_t min,
                      int64_t max,
                      int64_t *out,
                      struct dn_err *err);
int dn_json_read_bool (const struct json_object *json,
                       const char *key,
                       bool *out,
                       struct dn_err *err);

/* A string of printable ASCII, shorter than 'size'. */
int dn_json_read_text (const struct json_object *json,
                       const char *key,
                       char *out,
                       size_t size,
                       struct dn_err *err);

/* The index of a string among 'names'; index 0 of the table is not accepted. */
int dn_json_read_enum (const struct json_object *json,
                       const char *key,
                       const struct dn_names *names,
                       int *out,
                       struct dn_err *err);

/* An array of min_n..max_n numbers within min..max; their count in *n, which is
 * unchanged if the member is missing.
 */
int dn_json_read_reals (const struct json_object *json,
                        const char *key,
                        double min,
                        double max,
                        int min_n,
                        int max_n,
                        double out[],
                        int *n,
                        struct dn_err *err);

/* A member that must be an array of at most 'max_n' (an object); NULL in *out if it is
 * missing.
 */
int dn_json_read_array (const struct json_object *json,
                        const char *key,
                        size_t max_n,
                        struct json_object **out,
                        struct dn_err *err);
int dn_json_read_object (const struct json_object *json,
                         const char *key,
                         struct json_object **out,
                         struct dn_err *err);

/* The same for required members. Objects and arrays are borrowed; NULL means an error.
 * 'reals' must be exactly 'n' numbers.
 */
struct json_object *dn_json_need_object (const struct json_object *json,
                                         const char *key,
                                         struct dn_err *err);
struct json_object *dn_json_need_array (const struct json_object *json,
                                        const char *key,
                                        size_t min_n,
                                        size_t max_n,
                                        struct dn_err *err);
int dn_json_need_real (const struct json_object *json,
                       const char *key,
                       double min,
                       double max,
                       double *out,
                       struct dn_err *err);
int dn_json_need_int (const struct json_object *json,
                      const char *key,
                      int64_t min,
                      int64_t max,
                      int64_t *out,
                      struct dn_err *err);
int dn_json_need_text (const struct json_object *json,
                       const char *key,
                       char *out,
                       size_t size,
                       struct dn_err *err);
int dn_json_need_reals (const struct json_object *json,
                        const char *key,
                        double min,
                        double max,
                        double out[],
                        int n,
                        struct dn_err *err);

#endif
