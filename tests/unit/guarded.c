/* guarded.c - tests of the heartbeat of the guard and of its tallies
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/guarded.h"

#include "base/limits.h"
#include "state_text.h"

static const char whole[] = "Guard Version=1 Time=1700000000 Interval=60\n"
                            "User Id=0 Jobs=7\n"
                            "User Id=1000 Jobs=14+,13,12+,11+\n"
                            "End Users=2\n";

static struct dn_guarded *read_text (const char *text)
{
    struct dn_err err = {0};
    struct dn_guarded *guarded = dn_guarded_read (dn_span_of (text), "guard", &err);

    if (!guarded)
        fail_msg ("%s", err.text);
    return guarded;
}

TEST ("what is read is written again")
{
    struct dn_guarded *guarded = read_text (whole);
    struct text text = {NULL, 0};

    assert_true (guarded->time_s == 1700000000 && guarded->interval_s == 60);
    assert_int_equal (guarded->n_tallies, 2);
    assert_int_equal (guarded->tallies[1].n_jobs, 4);
    assert_int_equal (guarded->tallies[1].jobs[1], 13);
    assert_int_equal (guarded->tallies[1].needed, 1 + 4 + 8);
    assert_int_equal (dn_guarded_write (guarded, text_put, &text), 0);
    assert_string_equal (text.text, whole);
    dn_guarded_free (guarded);
    free (text.text);
}

TEST ("what is wrong is named by line and key")
{
    static const struct {
        const char *old;
        const char *new;
        const char *says;
    } cases[] = {
        {"Version=1", "Version=7 Other=x", "line 1: Version: 7, this program reads 1"},
        {"Version=1 ", "", "line 1: Version is missing, expected in a Guard line"},
        {"Time=1700000000", "Time=soon", "line 1: Time: 'soon' is not a whole number"},
        {"Interval=60", "Interval=0", "line 1: Interval: 0 out of range 1..86400"},
        {"Interval=60",
         "Intervals=60",
         "line 1: unknown key 'Intervals' of a Guard line, expected one of Version Time "
         "Interval"},
        {"Guard", "Guards", "line 1: 'Guards' is unknown, expected Guard, User or End"},
        {"Guard", "User Id=1 Jobs=1\nGuard", "line 1: the User line is out of order"},
        {"User",
         "Guard Version=1 Time=0 Interval=1\nUser",
         "line 2: the Guard line is out of order"},
        {"Id=0", "Id=1000", "line 3: Id: 1000 is not in the order of users"},
        {"Id=0", "Id=4294967296", "line 2: Id: 4294967296 out of range"},
        {"Jobs=7", "Jobs=", "line 2: Jobs: '' is empty"},
        {"Jobs=7", "Jobs=0", "line 2: Jobs: 0 out of range 1..4294967295"},
        {"Jobs=7", "Jobs=+", "line 2: Jobs: '' is not a whole number"},
        {"Jobs=7", "Jobs=7++", "line 2: Jobs: '7+' is not a whole number"},
        {"Jobs=7", "Jobs=7,", "line 2: Jobs: '' is not a whole number"},
        {"Jobs=7", "Jobs=7,7+", "line 2: Jobs: 7 is given twice"},
        {"Jobs=7", "Jobs=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20", NULL},
        {"Jobs=7",
         "Jobs=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21",
         "line 2: Jobs: more than 20 jobs"},
        {"Users=2", "Users=3", "line 4: Users: 3, expected 2"},
        {"End Users=2\n", "", "guard: the End line is missing, the text was cut"},
        {"End Users=2\n",
         "End Users=2\nUser Id=2000 Jobs=9\n",
         "line 5: the User line is out of order"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char *text = text_with (whole, cases[i].old, cases[i].new);
        struct dn_err err = {0};
        struct dn_guarded *guarded = dn_guarded_read (dn_span_of (text), "guard", &err);

        if (!cases[i].says && !guarded)
            fail_msg ("case %zu: %s", i, err.text);
        if (cases[i].says && guarded)
            fail_msg ("case %zu is read", i);
        if (cases[i].says && !strstr (err.text, cases[i].says))
            fail_msg ("case %zu: '%s', expected '%s'", i, err.text, cases[i].says);
        if (cases[i].says && strncmp (err.text, "guard: ", 7) != 0)
            fail_msg ("case %zu: '%s' names no file", i, err.text);
        dn_guarded_free (guarded);
        free (text);
    }
}

TEST ("every cut of the text is noticed")
{
    for (size_t len = 0; len + 1 < sizeof (whole) - 1; len++) {
        struct dn_guarded *guarded =
            dn_guarded_read ((struct dn_span){whole, len}, "guard", NULL);

        if (guarded)
            fail_msg ("%zu bytes are read", len);
    }
}

static void note (struct dn_guarded *guarded, int64_t user, int64_t job, bool needed)
{
    struct dn_err err = {0};

    if (dn_guarded_note (guarded, user, job, needed, &err) < 0)
        fail_msg ("%s", err.text);
}

TEST ("users are found in any order")
{
    struct dn_guarded guarded = {.interval_s = 60};

    for (int64_t i = 0; i < 1000; i++)
        note (&guarded, i * 7919 % 1009, i + 1, i % 2);
    assert_int_equal (guarded.n_tallies, 1000);
    for (int64_t i = 1; i < 1000; i++)
        assert_true (guarded.tallies[i - 1].user_id < guarded.tallies[i].user_id);
    for (int64_t i = 0; i < 1000; i++) {
        const struct dn_tally *tally = dn_guarded_find (&guarded, i * 7919 % 1009);

        assert_true (tally && tally->jobs[0] == i + 1 && tally->needed == i % 2);
    }
    assert_null (dn_guarded_find (&guarded, 1009));
    assert_null (dn_guarded_find (&guarded, -1));
    free (guarded.tallies);
}

TEST ("the last twenty jobs count")
{
    struct dn_guarded guarded = {.interval_s = 60};
    const struct dn_tally *tally;

    for (int64_t job = 1; job <= 5; job++)
        note (&guarded, 1, job, true);
    assert_false (dn_guarded_trusts (&guarded, 1, 0.25));
    for (int64_t job = 6; job <= 20; job++)
        note (&guarded, 1, job, false);
    /* 5 of 20 are not less than a quarter. */
    assert_false (dn_guarded_trusts (&guarded, 1, 0.25));
    note (&guarded, 1, 21, false);
    tally = dn_guarded_find (&guarded, 1);
    assert_int_equal (tally->n_jobs, DN_GUARDED_JOBS);
    assert_true (tally->jobs[0] == 21 && tally->jobs[19] == 2);
    assert_int_equal (tally->needed, 0xf << 16);
    assert_true (dn_guarded_trusts (&guarded, 1, 0.25));
    free (guarded.tallies);
}

TEST ("a job that is noted again only becomes needed")
{
    struct dn_guarded guarded = {.interval_s = 60};
    const struct dn_tally *tally;

    note (&guarded, 1, 10, false);
    note (&guarded, 1, 11, true);
    note (&guarded, 1, 10, true);
    note (&guarded, 1, 11, false);
    tally = dn_guarded_find (&guarded, 1);
    assert_int_equal (tally->n_jobs, 2);
    assert_true (tally->jobs[0] == 11 && tally->jobs[1] == 10);
    assert_int_equal (tally->needed, 3);
    free (guarded.tallies);
}

TEST ("two jobs that needed more are no habit")
{
    struct dn_guarded guarded = {.interval_s = 60};

    assert_true (dn_guarded_trusts (&guarded, 1, 0));
    note (&guarded, 1, 1, true);
    note (&guarded, 1, 2, true);
    assert_true (dn_guarded_trusts (&guarded, 1, 0.25));
    note (&guarded, 1, 3, true);
    assert_false (dn_guarded_trusts (&guarded, 1, 0.25));
    assert_false (dn_guarded_trusts (&guarded, 1, 1));
    for (int64_t job = 4; job <= 12; job++)
        note (&guarded, 1, job, false);
    assert_false (dn_guarded_trusts (&guarded, 1, 0.25));
    note (&guarded, 1, 13, false);
    assert_true (dn_guarded_trusts (&guarded, 1, 0.25));
    assert_true (dn_guarded_trusts (&guarded, 2, 0.25));
    assert_false (dn_guarded_trusts (NULL, 2, 0.25));
    free (guarded.tallies);
}

TEST ("the users with the newest jobs are kept")
{
    struct dn_guarded guarded = {.interval_s = 60};
    struct text text = {NULL, 0};

    for (int64_t i = 0; i < DN_GUARDED_USERS_MAX; i++)
        note (&guarded, i, i + 1, false);
    note (&guarded, 0, DN_GUARDED_USERS_MAX + 1, false);
    note (&guarded, 1000000, DN_GUARDED_USERS_MAX + 2, true);
    assert_int_equal (guarded.n_tallies, DN_GUARDED_USERS_MAX);
    assert_null (dn_guarded_find (&guarded, 1));
    assert_non_null (dn_guarded_find (&guarded, 0));
    assert_non_null (dn_guarded_find (&guarded, 1000000));
    assert_int_equal (dn_guarded_write (&guarded, text_put, &text), 0);
    dn_guarded_free (read_text (text.text));
    free (text.text);
    free (guarded.tallies);
}

/* The longest file must be one that is read. */
TEST ("the longest file is read")
{
    struct dn_guarded guarded = {.time_s = 1700000000, .interval_s = 60};
    struct text text = {NULL, 0};

    for (int64_t i = 0; i < DN_GUARDED_USERS_MAX; i++)
        for (int64_t job = 0; job < DN_GUARDED_JOBS; job++)
            note (&guarded,
                  4294967295 - DN_GUARDED_USERS_MAX + i,
                  4294967295 - job,
                  true);
    assert_int_equal (dn_guarded_write (&guarded, text_put, &text), 0);
    assert_true (text.len < DN_STATE_FILE_MAX);
    dn_guarded_free (read_text (text.text));
    free (text.text);
    free (guarded.tallies);
}

TEST ("the heartbeat lasts three intervals")
{
    const struct dn_guarded guarded = {.time_s = 1000, .interval_s = 60};

    assert_false (dn_guarded_is_alive (&guarded, 999));
    assert_true (dn_guarded_is_alive (&guarded, 1000));
    assert_true (dn_guarded_is_alive (&guarded, 1180));
    assert_false (dn_guarded_is_alive (&guarded, 1181));
    assert_false (dn_guarded_is_alive (NULL, 1000));
}

TEST ("dnnest.snapshot(5) has every line and key")
{
    char *page = read_page ();
    /* Both files end with a line of this word, and the page has two of them. */
    char *second = strstr (page, "\n# LINES OF GUARD");

    assert_non_null (second);
    for (int i = 0; i < DN_N_GUARDED_LINES; i++)
        assert_documented (second, dn_guarded_line ((enum dn_guarded_line) i));
    free (page);
}
