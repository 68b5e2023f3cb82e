/* options.c - tests of the table of options: what a command can have
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "options.h"

/* A table of so many options without letters, and one to end it. */
static const struct dn_option *rows_of (int n)
{
    static struct dn_option rows[DN_OPTIONS_MAX + 2];
    static char names[DN_OPTIONS_MAX + 2][16];

    memset (rows, 0, sizeof (rows));
    for (int i = 0; i < n; i++) {
        snprintf (names[i], sizeof (names[i]), "option-%d", i);
        rows[i].name = names[i];
    }
    return rows;
}

/* What the first call for an option returns when the command line has the last one. */
static int next_of (int n, int *exit_code)
{
    struct dn_options *given = unit_keep (calloc (1, sizeof (*given)), free);
    const struct dn_command command = {.name = "test", .options = rows_of (n)};
    char name[] = "test";
    char *last = unit_text ("--option-%d", n - 1);
    char *argv[] = {name, last, NULL};
    int row;

    dn_options_begin_bare (given, &command, 2, argv);
    row = dn_options_next (given);
    *exit_code = given->exit_code;
    return row;
}

TEST ("the last of the most options is found")
{
    int exit_code;

    assert_int_equal (next_of (3, &exit_code), 2);
    assert_int_equal (next_of (DN_OPTIONS_MAX, &exit_code), DN_OPTIONS_MAX - 1);
}

TEST ("more options than there is room for are an error")
{
    int exit_code;

    assert_int_equal (next_of (DN_OPTIONS_MAX + 1, &exit_code), DN_OPTION_LEAVE);
    assert_int_equal (exit_code, DN_EXIT_BUG);
}
