/* base.h - what every room shares: values for absent, names of enums, clean-up
 *
 * Ownership, for all of model/: the caller owns what it passes in and what it gets
 * out; a function keeps nothing after it returns. Where a structure borrows a string
 * from its caller, the member says so.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BASE_H
#define DN_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values of a quantity that is absent, and of one without a limit. */
#define DN_UNSET     (INT64_C (-1))
#define DN_UNLIMITED (INT64_C (-2))

#define DN_GIB 1073741824.0 /* bytes */

#define DN_N_ELEMENTS(array) (sizeof (array) / sizeof ((array)[0]))

/* Run 'function (&variable)' when the variable leaves its scope. */
#define dn_cleanup(function) __attribute__ ((cleanup (function)))

/* Runs seldom, as when something is wrong or a site is loaded, or once for a job: it
 * and what only it calls are small code, away from what runs often.
 */
#define DN_COLD __attribute__ ((cold))

#define DN_PRINTF(at, first) __attribute__ ((format (printf, at, first)))

/* A table of an enum's names, in the order of its constants; index 0 is "unknown" or
 * "none". Terminated by the count, not by NULL.
 */
struct dn_names {
    const char *const *names;
    int n_names;
};

/* Initialise a table of names from 'text', an array with a designated initialiser per
 * constant of the enum, of which there are 'count': another number does not compile.
 */
#define DN_NAMES(text, count)                                                          \
    {                                                                                  \
        (text), (count) + 0 * (int) sizeof (struct {                                   \
                              _Static_assert(DN_N_ELEMENTS (text) == (count),          \
                                             "a name for each constant");              \
                              int size;                                                \
                          })                                                           \
    }

/* An enum and its words are made from one list of rows: ROW (X_A, "a") is the constant
 * DN_X_A and its word.
 */
#define DN_ENUM_CONSTANT(constant, ...)   DN_##constant,
#define DN_ENUM_WORD(constant, word, ...) [DN_##constant] = (word),

/* The enum of the list DN_XS, with their number, DN_N_XS: DN_ENUM (dn_x, XS). Its words
 * as a struct dn_names: DN_NAMES_OF (XS).
 */
#define DN_ENUM(name, list)                                                            \
    enum name {                                                                        \
        DN_##list (DN_ENUM_CONSTANT) DN_N_##list                                       \
    }
#define DN_NAMES_OF(list)                                                              \
    {                                                                                  \
        (const char *const[]){DN_##list (DN_ENUM_WORD)}, DN_N_##list                   \
    }

/* Return the name of 'value', or "?" for a value outside the table. */
const char *dn_names_get (const struct dn_names *names, int value);

/* Return the value that 'text' of 'len' bytes names, ignoring case and taking '-' for
 * '_', or -1.
 */
int dn_names_find (const struct dn_names *names, const char *text, size_t len);

/* ASCII in every locale: that of the host must not decide what a key is. */
static inline bool dn_is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static inline char dn_lower (char c)
{
    return (char) (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static inline bool dn_is_letter (char c)
{
    return dn_lower (c) >= 'a' && dn_lower (c) <= 'z';
}

/* fmax () and fmin () without a call, for what is no NaN. Of a NaN and a number, in
 * this order, both are the number.
 */
static inline double dn_max (double a, double b)
{
    return a > b ? a : b;
}

static inline double dn_min (double a, double b)
{
    return a < b ? a : b;
}

/* Return true when the two words are equal, ignoring case and taking '-' for '_'. */
bool dn_word_equal (const char *a, size_t a_len, const char *b, size_t b_len);

/* The same of two whole texts, fast where they differ at the beginning. */
bool dn_texts_equal (const char *a, const char *b);

/* Return true when 'size' bytes can be allocated now. Call it before a library function
 * that does not handle a failed allocation: json-c's parser crashes (0.16, when a key
 * cannot be copied).
 */
bool dn_has_room (size_t size);

/* free () for dn_cleanup: takes the address of the pointer. */
void dn_free_ptr (void *ptr_to_ptr);

#endif
