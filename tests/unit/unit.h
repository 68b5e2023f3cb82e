/* unit.h - cmocka with its headers, and the shorthand of our tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_UNIT_H
#define DN_UNIT_H

/* A test has the parameter that cmocka gives, and no prototype. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

/* cmocka 2 has one for each kind of number. */
#ifdef assert_int_in_range
#undef assert_in_range
#define assert_in_range assert_int_in_range
#endif

/* A test, whose title is a sentence: TEST ("one is one") {...}. The main () of
 * unit_main.c runs those of a program in their order. With a function, TEST (sentence,
 * function) is a row of the table that a main () of the program has.
 */
#define TEST(...)                                    TEST_CHOSEN (__VA_ARGS__, TEST_ROW, TEST_OF_LINE, ) (__VA_ARGS__)
#define TEST_CHOSEN(sentence, function, chosen, ...) chosen
#define TEST_ROW(sentence, function)                                                   \
    {                                                                                  \
        sentence, function, NULL, NULL, NULL                                           \
    }
#define TEST_OF_LINE(sentence)        TEST_AT (sentence, __LINE__)
#define TEST_AT(sentence, line)       TEST_NUMBERED (sentence, line)
#define TEST_NUMBERED(sentence, line) TEST_NAMED (sentence, line_##line, add_##line)
#define TEST_NAMED(sentence, function, add)                                            \
    static void function (void **state);                                               \
    static __attribute__ ((constructor)) void add (void)                               \
    {                                                                                  \
        unit_add (sentence, function);                                                 \
    }                                                                                  \
    static void function (void **state)

void unit_add (const char *sentence, CMUnitTestFunction function);

/* What a program may define: called before and after all its tests, or each. Not 0:
 * failed. */
int before_tests (void **state);
int after_tests (void **state);
int before_test (void **state);
int after_test (void **state);

/* Give 'thing' to 'release' after the test, behind its after_test (), the newest first;
 * what is kept before the first test, after the last. Returns the thing.
 */
void *unit_keep (void *thing, void (*release) (void *thing));

/* The same now, for tests that keep many. */
void unit_release (void *thing);

/* How many are kept, and release the newest until they are 'n'. */
size_t unit_kept (void);
void unit_release_to (size_t n);

/* A text that is kept, as printf () writes it. */
char *unit_text (const char *format, ...) __attribute__ ((format (printf, 1, 2)));

/* So many bytes of a text that repeats, kept. */
char *unit_repeat (const char *text, size_t len);

/* Calls that take &unit_err last and return -1, or NULL, where they fail: the first
 * must succeed, the second one make something, which it returns, the third fail with an
 * error that contains 'part'.
 */
extern struct dn_err unit_err;
#define assert_done(call)                                                              \
    do {                                                                               \
        if ((call) != 0)                                                               \
            fail_msg ("%s", unit_err.text);                                            \
    } while (0)
#define assert_made(call)                                                              \
    ({                                                                                 \
        __typeof__ (call) made_ = (call);                                              \
                                                                                       \
        if (!made_)                                                                    \
            fail_msg ("%s", unit_err.text);                                            \
        made_;                                                                         \
    })
#define assert_error(call, part)                                                       \
    do {                                                                               \
        unit_err.text[0] = '\0';                                                       \
        assert_true ((call) < 0);                                                      \
        assert_contains (unit_err.text, part);                                         \
    } while (0)

/* Cut a row of a table "a|b|c" into at most 'n' parts, which are kept; ` becomes a
 * quote, and what the row lacks is NULL.
 */
void unit_cut (const char *row, const char *parts[], size_t n);

/* The monotonic clock, or the CPU time of this thread, in seconds. */
double unit_clock_s (void);
double unit_cpu_s (void);

/* A text, and what is said of it. */
struct unit_said {
    const char *text;
    const char *says;
};

/* 'text' must contain 'part'. */
#define assert_contains(text, part)                                                    \
    do {                                                                               \
        if (!strstr (text, part))                                                      \
            fail_msg ("'%s' does not contain '%s'", text, part);                       \
    } while (0)

/* Some numbers as one text, such as "7 -1 0.25", which is kept; they must be
 * 'expected'. A failure shows all of them.
 */
char *unit_numbers (const long double numbers[], size_t n);
#define assert_numbers(expected, ...)                                                  \
    assert_string_equal (unit_numbers ((const long double[]){__VA_ARGS__},             \
                                       sizeof ((const long double[]){__VA_ARGS__})     \
                                           / sizeof (long double)),                    \
                         expected)

/* The text of a reason. */
#define SAID(reason) dn_reason_text (&(reason)).text

/* Equal up to rounding. */
#define assert_near(value, expected)                                                   \
    do {                                                                               \
        double value_ = (value);                                                       \
        double expected_ = (expected);                                                 \
        if (!(fabs (value_ - expected_) <= 1e-9 * (1 + fabs (expected_))))             \
            fail_msg ("%.12g is not %.12g", value_, expected_);                        \
    } while (0)

#endif
