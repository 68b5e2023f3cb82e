/* unit_main.c - runs the tests of a program
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <errno.h>

#define TESTS_MAX 64

static int end_test (void **state);

static struct CMUnitTest tests[TESTS_MAX];
static size_t n_tests;
static size_t n_common; /* things that are kept for all tests */

void unit_add (const char *sentence, CMUnitTestFunction function)
{
    if (n_tests == TESTS_MAX)
        abort ();
    tests[n_tests++] = (struct CMUnitTest){.name = sentence,
                                           .test_func = function,
                                           .setup_func = before_test,
                                           .teardown_func = end_test};
}

__attribute__ ((weak)) int before_tests (void **state)
{
    return 0;
}

__attribute__ ((weak)) int before_test (void **state)
{
    return 0;
}

__attribute__ ((weak)) int after_tests (void **state)
{
    return 0;
}

__attribute__ ((weak)) int after_test (void **state)
{
    return 0;
}

static int begin_tests (void **state)
{
    int rc = before_tests (state);

    n_common = unit_kept ();
    return rc;
}

static int end_test (void **state)
{
    int rc = after_test (state);

    unit_release_to (n_common);
    return rc;
}

static int end_tests (void **state)
{
    int rc = after_tests (state);

    unit_release_to (0);
    return rc;
}

int main (void)
{
    if (n_tests == 0) {
        puts ("1..0 # SKIP no test in this build");
        return 0;
    }
    /* What cmocka_run_group_tests_name () calls, for a number of tests that is not
     * known when this is compiled.
     */
    return _cmocka_run_group_tests (
        program_invocation_short_name, tests, n_tests, begin_tests, end_tests);
}
