/* json_read.h - JSON that comes from others, read strictly
 *
 * In: text of which nothing is trusted. Out: a json-c object, or one error that names
 * the place. Stricter than json-c: no key twice in an object, no text behind the value,
 * no NaN or infinity, bounded depth, keys per object and values.
 *
 * Members are read by name. dn_json_read_... leave the caller's variable as it was
 * where the member is missing, so that it holds the default; for dn_json_need_... that
 * is an error. Errors name the member; the caller wraps them in where the object
 * stands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_JSON_READ_H
#define DN_JSON_READ_H

#include "base/text.h"

struct json_object;

/* No object of ours has as many members: the longest are the scales of a site. */
#define DN_JSON_KEYS_MAX 2048

/* Nesting that can be asked for. */
#define DN_JSON_DEPTH_MAX 32

/* Parse the whole of 'text', an object nested at most 'depth' deep, the innermost
 * number counted. Before json-c makes anything of it, it is refused if it may have more
 * than 'n_values' values. Return the object, to be freed with json_object_put (), or
 * NULL with 'err'.
 */
struct json_object *dn_json_read (struct dn_span text,
                                  int depth,
                                  size_t n_values,
                                  struct dn_err *err);

/* json_object_put () for dn_cleanup. */
void dn_json_free (struct json_object **json);

/* -1 unless 'json' is an object all of whose members are among 'keys', which end with
 * NULL.
 */
int dn_json_read_keys (struct json_object *json,
                       const char *const keys[],
                       struct dn_err *err);

/* The member of an object, or NULL where there is none or 'json' is no object. */
struct json_object *dn_json_member (const struct json_object *json, const char *key);

/* An element of an array: a finite number. Return false if it is none. */
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

/* The index of a string among 'names'; 0 of the table cannot be written. */
int dn_json_read_enum (const struct json_object *json,
                       const char *key,
                       const struct dn_names *names,
                       int *out,
                       struct dn_err *err);

/* An array of min_n..max_n numbers within min..max; their count in *n, which stays as
 * it was where the member is missing.
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

/* A member that must be an array of at most 'max_n' (an object); NULL in *out where it
 * is missing.
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

/* The same of members that must be there. Objects and arrays are borrowed, NULL is an
 * error; of 'reals' there are exactly 'n'.
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
