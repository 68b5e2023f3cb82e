/* unit.h - cmocka with its headers, and the shorthand of our tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_UNIT_H
#define DN_UNIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A test whose title is a sentence. */
#define TEST(sentence, function)                                                       \
    {                                                                                  \
        sentence, function, NULL, NULL, NULL                                           \
    }

/* 'text' must contain 'part'. */
#define assert_contains(text, part)                                                    \
    do {                                                                               \
        if (!strstr (text, part))                                                      \
            fail_msg ("'%s' does not contain '%s'", text, part);                       \
    } while (0)

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
