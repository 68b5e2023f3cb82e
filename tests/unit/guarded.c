/* guarded.c - tests of the heartbeat of the guard and of its tallies
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "policy/guarded.h"

#include "base/limits.h"
#include "state_text.h"

static const char whole[] = "Guard Version=2 Cluster=alps Time=1700000000 Interval=60\n"
                            "User Id=0 Jobs=7\n"
                            "User Id=1000 Jobs=14+,13,12+,11+ Debt=7200 Worst=750\n"
                            "User Id=1000 App=0000000000000abc Jobs=14+ Debt=1200\n"
                            "User Id=1000 App=fedcba9876543210 Jobs=12+ Debt=6000\n"
                            "End Users=4\n";

STATE_READER (struct dn_guarded, dn_guarded_read, dn_guarded_free, "guard")

TEST ("what is read is written again")
{
    struct dn_guarded *guarded = read_text (whole);
    struct text text = {NULL, 0};

    assert_true (guarded->time_s == 1700000000 && guarded->interval_s == 60);
    assert_string_equal (guarded->cluster, "alps");
    assert_int_equal (guarded->n_tallies, 4);
    assert_true (guarded->tallies[1].debt_s == 7200
                 && guarded->tallies[1].worst == 750);
    assert_true (guarded->tallies[1].app == 0 && guarded->tallies[2].app == 0xabc
                 && guarded->tallies[3].app == 0xfedcba9876543210);
    assert_numbers ("4 13", guarded->tallies[1].n_jobs, guarded->tallies[1].jobs[1]);
    assert_int_equal (guarded->tallies[1].needed, 1 + 4 + 8);
    assert_int_equal (dn_guarded_write (guarded, text_put, &text), 0);
    assert_string_equal (text.text, whole);
}

static const char *const wrong_texts[] = {
    "Version=2|Version=7 Other=x|line 1: Version: 7, this program reads 2",
    "Version=2 ||line 1: Version is missing, expected in a Guard line",
    "Time=1700000000|Time=soon|line 1: Time: 'soon' is not a whole number",
    "Interval=60|Interval=0|line 1: Interval: 0 out of range 1..86400",
    "Interval=60|Intervals=60|line 1: unknown key 'Intervals' of a Guard line, "
    "expected one of Version Cluster Time Interval",
    "Guard|Guards|line 1: 'Guards' is unknown, expected Guard, User or End",
    "Guard|User Id=1 Jobs=1\nGuard|line 1: the User line is out of order",
    "User|Guard Version=2 Time=0 Interval=1\nUser|line 2: the Guard line is out of order",
    "Id=0|Id=1000 App=0000000000000aaa|line 3: Id: 1000 is not in the order",
    "0000000000000abc|ffffffffffffffff|line 5: Id: 1000 is not in the order",
    "0000000000000abc|abc|line 4: Key: 'abc'",
    " Cluster=alps|",
    "Debt=7200|Debt=-1|line 3: Debt: -1 out of range",
    "Worst=750|Worst=1001|line 3: Worst: 1001 out of range 1..1000",
    "Id=0|Id=4294967296|line 2: Id: 4294967296 out of range",
    "Jobs=7|Jobs=|line 2: Jobs: '' is empty",
    "Jobs=7|Jobs=0|line 2: Jobs: 0 out of range 1..4294967295",
    "Jobs=7|Jobs=+|line 2: Jobs: '' is not a whole number",
    "Jobs=7|Jobs=7++|line 2: Jobs: '7+' is not a whole number",
    "Jobs=7|Jobs=7,|line 2: Jobs: '' is not a whole number",
    "Jobs=7|Jobs=7,7+|line 2: Jobs: 7 is given twice",
    "Jobs=7|Jobs=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20",
    "Jobs=7|Jobs=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21|"
    "line 2: Jobs: more than 20 jobs",
    "Users=4|Users=3|line 6: Users: 3, expected 4",
    "End Users=4\n||guard: the End line is missing, the text was cut",
    "End Users=4\n|End Users=4\nUser Id=2000 Jobs=9\n|line 7: the User line is out of order",
};

TEST ("what is wrong is named by line and key")
{
    assert_wrong_rows (
        whole, wrong_texts, DN_N_ELEMENTS (wrong_texts), "guard: ", read_in);
}

TEST ("every cut of the text is noticed")
{
    assert_no_cut (whole, read_in);
}

/* What a guard of that interval has noted in the test. */
static struct dn_guarded guarded;

int before_test (void **state)
{
    guarded = (struct dn_guarded){.time_s = 1700000000, .interval_s = 60};
    return 0;
}

int after_test (void **state)
{
    free (guarded.tallies);
    return 0;
}

/* A job of a user's application whose limit was lowered. */
static void run (int64_t user, dn_app_key app, int64_t job, bool needed, int64_t gpu_s)
{
    const struct dn_guarded_run one = {user, app, job, true, needed, gpu_s};

    assert_done (dn_guarded_note (&guarded, &one, &unit_err));
}

/* One that is no debt. */
static void note (int64_t user, int64_t job, bool needed)
{
    run (user, 0, job, needed, 0);
}

TEST ("users are found in any order")
{
    for (int64_t i = 0; i < 1000; i++)
        note (i * 7919 % 1009, i + 1, i % 2);
    assert_int_equal (guarded.n_tallies, 1000);
    for (int64_t i = 1; i < 1000; i++)
        assert_true (guarded.tallies[i - 1].user_id < guarded.tallies[i].user_id);
    for (int64_t i = 0; i < 1000; i++) {
        const struct dn_tally *tally = dn_guarded_find (&guarded, i * 7919 % 1009, 0);

        assert_true (tally && tally->jobs[0] == i + 1 && tally->needed == i % 2);
    }
    assert_null (dn_guarded_find (&guarded, 1009, 0));
    assert_null (dn_guarded_find (&guarded, -1, 0));
}

TEST ("the last twenty jobs count")
{
    const struct dn_tally *tally;

    for (int64_t job = 1; job <= 5; job++)
        note (1, job, true);
    assert_false (dn_guarded_trusts (&guarded, 1));
    for (int64_t job = 6; job <= 20; job++)
        note (1, job, false);
    /* 5 of 20 are not less than a quarter. */
    assert_false (dn_guarded_trusts (&guarded, 1));
    note (1, 21, false);
    tally = dn_guarded_find (&guarded, 1, 0);
    assert_int_equal (tally->n_jobs, DN_GUARDED_JOBS);
    assert_true (tally->jobs[0] == 21 && tally->jobs[19] == 2);
    assert_int_equal (tally->needed, 0xf << 16);
    assert_true (dn_guarded_trusts (&guarded, 1));
}

TEST ("a job that is noted again only becomes needed")
{
    const struct dn_tally *tally;

    note (1, 10, false);
    note (1, 11, true);
    note (1, 10, true);
    note (1, 11, false);
    tally = dn_guarded_find (&guarded, 1, 0);
    assert_int_equal (tally->n_jobs, 2);
    assert_true (tally->jobs[0] == 11 && tally->jobs[1] == 10);
    assert_int_equal (tally->needed, 3);
}

TEST ("two jobs that needed more are no habit")
{
    assert_true (dn_guarded_trusts (&guarded, 1));
    note (1, 1, true);
    note (1, 2, true);
    assert_true (dn_guarded_trusts (&guarded, 1));
    note (1, 3, true);
    assert_false (dn_guarded_trusts (&guarded, 1));
    for (int64_t job = 4; job <= 12; job++)
        note (1, job, false);
    assert_false (dn_guarded_trusts (&guarded, 1));
    note (1, 13, false);
    assert_true (dn_guarded_trusts (&guarded, 1));
    assert_true (dn_guarded_trusts (&guarded, 2));
    assert_true (dn_guarded_trusts (NULL, 2));
}

TEST ("the users with the newest jobs are kept")
{
    struct text text = {NULL, 0};

    for (int64_t i = 0; i < DN_GUARDED_USERS_MAX; i++)
        note (i, i + 1, false);
    note (0, DN_GUARDED_USERS_MAX + 1, false);
    note (1000000, DN_GUARDED_USERS_MAX + 2, true);
    assert_int_equal (guarded.n_tallies, DN_GUARDED_USERS_MAX);
    assert_null (dn_guarded_find (&guarded, 1, 0));
    assert_non_null (dn_guarded_find (&guarded, 0, 0));
    assert_non_null (dn_guarded_find (&guarded, 1000000, 0));
    assert_int_equal (dn_guarded_write (&guarded, text_put, &text), 0);
    read_text (text.text);
}

/* The longest file must be one that is read. */
TEST ("the longest file is read")
{
    struct text text = {NULL, 0};

    for (int64_t i = 0; i < DN_GUARDED_USERS_MAX; i++)
        for (int64_t job = 0; job < DN_GUARDED_JOBS; job++)
            note (4294967295 - DN_GUARDED_USERS_MAX + i, 4294967295 - job, true);
    for (int64_t i = 0; i < guarded.n_tallies; i++) {
        guarded.tallies[i].debt_s = INT64_MAX;
        guarded.tallies[i].worst = 1000;
        guarded.tallies[i].app = UINT64_MAX - 1;
    }
    assert_int_equal (dn_guarded_write (&guarded, text_put, &text), 0);
    assert_true (text.len < DN_STATE_FILE_MAX);
    read_text (text.text);
}

/* Four GPUs, three jobs of 18 minutes beyond a limit of two. */
static void lie (dn_app_key app)
{
    for (int64_t job = 1; job <= 3; job++)
        for (int pass = 0; pass < 18; pass++)
            run (1, app, job, true, 4 * 60);
}

TEST ("eighteen jobs of a second restore no trust")
{
    int64_t debt_s = 3 * 18 * 4 * 60;

    lie (0);
    assert_int_equal (dn_guarded_find (&guarded, 1, 0)->debt_s, debt_s);
    assert_false (dn_guarded_trusts (&guarded, 1));
    for (int64_t job = 4; job < 4 + 20; job++)
        run (1, 0, job, false, 4);
    assert_int_equal (dn_guarded_find (&guarded, 1, 0)->needed, 0);
    assert_false (dn_guarded_trusts (&guarded, 1));
    /* Nor does one that is noted twice, or whose limit was its user's own. */
    run (1, 0, 23, false, debt_s);
    assert_false (dn_guarded_trusts (&guarded, 1));
    run (1, 0, 24, false, debt_s - 81);
    assert_int_equal (dn_guarded_find (&guarded, 1, 0)->debt_s, 1);
    assert_false (dn_guarded_trusts (&guarded, 1));
    run (1, 0, 25, false, 1);
    assert_true (dn_guarded_trusts (&guarded, 1));
}

TEST ("what a user owes with few such jobs is not distrusted")
{
    run (1, 0, 1, true, 1000000);
    run (1, 0, 2, true, 1000000);
    for (int64_t job = 3; job < 20; job++)
        run (1, 0, job, false, 1);
    run (1, 0, 20, true, 1000000);
    assert_int_equal (dn_guarded_find (&guarded, 1, 0)->worst, 150);
    assert_true (dn_guarded_trusts (&guarded, 1));
}

TEST ("jobs with their own limits only pay")
{
    const struct dn_guarded_run other = {2, 7, 99, false, false, 1000};
    struct dn_guarded_run own = {1, 7, 98, false, false, 1000};

    lie (7);
    assert_int_equal (dn_guarded_note (&guarded, &other, NULL), 0);
    assert_null (dn_guarded_find (&guarded, 2, 0));
    assert_int_equal (dn_guarded_note (&guarded, &own, NULL), 0);
    assert_int_equal (dn_guarded_find (&guarded, 1, 0)->debt_s, 12960 - 1000);
    assert_int_equal (dn_guarded_find (&guarded, 1, 7)->debt_s, 12960 - 1000);
}

TEST ("an application in debt has earned nothing")
{
    dn_app_key app = dn_app_key_of_user (1, "train");

    assert_true (dn_guarded_earned (NULL, 1, "train"));
    run (1, app, 1, true, 100);
    assert_false (dn_guarded_earned (&guarded, 1, "train"));
    assert_true (dn_guarded_earned (&guarded, 1, "other"));
    assert_true (dn_guarded_earned (&guarded, 2, "train"));
    assert_true (dn_guarded_earned (&guarded, 1, ""));
    run (1, dn_app_key_of_user (1, "other"), 2, false, 1000);
    assert_false (dn_guarded_earned (&guarded, 1, "train"));
    run (1, app, 3, false, 99);
    assert_false (dn_guarded_earned (&guarded, 1, "train"));
    run (1, app, 4, false, 1);
    assert_true (dn_guarded_earned (&guarded, 1, "train"));
    /* Its tally goes, that of the user stays. */
    assert_int_equal (guarded.n_tallies, 1);
}

TEST ("the heartbeat lasts four intervals")
{
    const struct dn_guarded beat = {.time_s = 1000, .interval_s = 60};

    assert_false (dn_guarded_is_alive (&beat, 939));
    /* The pass ended after the one who asks has looked at the clock. */
    assert_true (dn_guarded_is_alive (&beat, 999));
    assert_true (dn_guarded_is_alive (&beat, 1240));
    assert_false (dn_guarded_is_alive (&beat, 1241));
    assert_false (dn_guarded_is_alive (&(struct dn_guarded){.interval_s = 600}, 2401));
    assert_false (dn_guarded_is_alive (NULL, 1000));
}
