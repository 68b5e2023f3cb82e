/* recorded.c - tests of what is read back from a record, and written into it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "rewrite/recorded.h"
#include "scene.h"

/* The record in 'text' is read into 'r'. */
#define READ(text, r) assert_int_equal (dn_record_read (text, &(r), NULL), 1)

#define WHOLE                                                                          \
    "{\"dnnest\":1,\"version\":\"0.2\",\"mode\":\"enforce\",\"verdict\":\"change\","   \
    "\"req\":{\"time_s\":86400,\"signal_s\":90,\"gpu\":\"a100\"},"                     \
    "\"set\":{\"time_s\":3600,\"gpu\":\"v100\"},"                                      \
    "\"pred\":{\"train_s\":3000,\"p95_s\":5000,\"p99_s\":7000},"                       \
    "\"spec\":\"app={x}\\\"\\u007c\"}"

TEST ("a record is found in other text")
{
    struct dn_recorded r;

    READ ("note {a} \" " WHOLE " JS1:H4sI {\"x\":1}", r);
    assert_true (r.changed);
    assert_numbers ("86400 90 3600", r.asked_s, r.signal_s, r.set_s);
    assert_int_equal (r.soft_s, DN_UNSET);
    assert_numbers ("3000 5000 7000", r.likely_s, r.p95_s, r.p99_s);
    assert_string_equal (r.asked_gpu, "a100");
    assert_string_equal (r.set_gpu, "v100");
    assert_numbers ("0 0", r.n_later, r.rescued);
    assert_int_equal (dn_record_read (NULL, &r, NULL), 0);
    assert_int_equal (dn_record_read ("JS1:{\"dnnest\" ", &r, NULL), 0);
    READ ("{\"dnnest\":1,\"req\":{\"unlimited\":1}}", r);
    assert_int_equal (r.asked_s, DN_UNLIMITED);
    assert_false (r.changed);
}

/* A record with a limit noted; and one with a move; kept for the test. */
static char *note (const char *text, int64_t limit_s)
{
    return unit_keep (assert_made (dn_record_note (text, limit_s, &unit_err)), free);
}

static char *steer (const char *text, const struct dn_steering *to)
{
    return unit_keep (assert_made (dn_record_steer (text, to, &unit_err)), free);
}

TEST ("a record that is accepted is accepted when it was written again")
{
    static const char *const refused[] = {
        "{\"dnnest\":1,\"a\x04 b\":1}",
        "{\"dnnest\":1,\"a|b\":1}",
        "{\"dnnest\":1,\"\xc3\xa9\":1}",
        "{\"dnnest\":1,\"why\":\"a|b\"}",
    };
    struct dn_recorded r;
    char *noted;

    for (size_t i = 0; i < DN_N_ELEMENTS (refused); i++) {
        assert_int_equal (dn_record_read (refused[i], &r, &unit_err), -1);
        assert_string_equal (
            unit_err.text,
            "record: a '|' or a byte that is not printable ASCII, expected none");
    }
    noted = note ("{\"dnnest\":1,\"x\":\"\\u0004\\u007c\\u00e9\\u007f\"}", 7200);
    assert_string_equal (noted,
                         "{\"dnnest\":1,\"x\":\"\\u0004\\u007c???\","
                         "\"later\":[7200]}");
    READ (noted, r);
}

TEST ("a record that is not valid is refused")
{
    static const char *const records[] = {
        WHOLE " " WHOLE,
        "{\"dnnest\":1,",
        "{\"dnnest\":2}",
        "{\"dnnest\":\"1\"}",
        "{\"dnnest\":1,\"dnnest\":1}",
        "{\"dnnest\":1,\"set\":7}",
        "{\"dnnest\":1,\"set\":{\"time_s\":-60}}",
        "{\"dnnest\":1,\"set\":{\"time_s\":1e300}}",
        "{\"dnnest\":1,\"set\":{\"time_s\":\"3600\"}}",
        "{\"dnnest\":1,\"set\":{\"time_s\":NaN}}",
        "{\"dnnest\":1,\"req\":{\"unlimited\":2}}",
        "{\"dnnest\":1,\"later\":60}",
        "{\"dnnest\":1,\"later\":[]}",
        "{\"dnnest\":1,\"later\":[59]}",
        "{\"dnnest\":1,\"later\":[60,60,60,60,60,60,60,60,60]}",
        "{\"dnnest\":1,\"later\":[\"60\"]}",
        "{\"dnnest\":1,\"rescued\":2}",
        "{\"dnnest\":1,\"mode\":\"enforce\tx\"}",
        "{\"dnnest\":1,\"a\":{\"b\":{\"c\":{\"d\":{\"e\":1}}}}}",
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (records); i++) {
        struct dn_recorded r;

        if (dn_record_read (records[i], &r, &unit_err) != -1)
            fail_msg ("%s is accepted", records[i]);
        assert_contains (unit_err.text, "record: ");
        assert_null (dn_record_note (records[i], 3600, &unit_err));
    }
}

TEST ("a record has no more than its bytes")
{
    char text[2 * DN_RECORD_MAX];
    struct dn_recorded r;

    memset (text, ' ', sizeof (text));
    memcpy (text, "{\"dnnest\":1", 11);
    memcpy (text + DN_RECORD_MAX - 1, "} x", 4);
    READ (text, r);
    memcpy (text + DN_RECORD_MAX - 1, " }x", 4);
    assert_int_equal (dn_record_read (text, &r, NULL), -1);
}

TEST ("a limit is noted and all else is kept")
{
    struct dn_recorded r;
    char *text = note ("note " WHOLE " JS1:abc", 7200);
    char *twice = note (text, DN_UNSET);

    assert_string_equal (text,
                         "note {\"dnnest\":1,\"version\":\"0.2\",\"mode\":\"enforce\","
                         "\"verdict\":\"change\",\"req\":{\"time_s\":86400,"
                         "\"signal_s\":90,\"gpu\":\"a100\"},\"set\":{\"time_s\":3600,"
                         "\"gpu\":\"v100\"},\"pred\":{\"train_s\":3000,\"p95_s\":5000,"
                         "\"p99_s\":7000},\"spec\":\"app={x}\\\"\\u007c\","
                         "\"later\":[7200]} JS1:abc");
    assert_contains (twice, "\"later\":[7200],\"rescued\":1} JS1:abc");
    READ (twice, r);
    assert_numbers ("1 7200 1", r.n_later, r.later_s[0], r.rescued);
    assert_null (dn_record_note ("no record", 60, NULL));
}

TEST ("the last limits are kept")
{
    const char *text = WHOLE;
    struct dn_recorded r;

    for (int i = 1; i <= DN_EXTENSIONS_MAX + 3; i++)
        text = note (text, 3600 * i);
    READ (text, r);
    assert_int_equal (r.n_later, DN_EXTENSIONS_MAX);
    for (int i = 0; i < DN_EXTENSIONS_MAX; i++)
        assert_int_equal (r.later_s[i], 3600 * (i + 4));
}

#define OPENED                                                                              \
    "{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\",\"req\":{\"time_s\":36000,"  \
    "\"gpu\":\"a\"},\"set\":{\"time_s\":3600,\"features\":\"a\"},\"open\":[{\"gpu\":\"a\"," \
    "\"features\":\"a\",\"slow\":100},{\"gpu\":\"b\",\"partition\":\"p\",\"slow\":150},"    \
    "{\"gpu\":\"c\",\"features\":\"c&x\",\"slow\":60},{\"gpu\":\"d\",\"slow\":90}]"

TEST ("the types of an open job are read")
{
    struct dn_recorded r;

    READ (OPENED "}", r);
    assert_int_equal (r.n_open, 4);
    assert_string_equal (r.set_features, "a");
    assert_string_equal (r.open[1].partition, "p");
    assert_string_equal (r.open[2].features, "c&x");
    assert_int_equal (r.open[2].slow, 60);
    assert_int_equal (dn_open_find (&r, "c"), 2);
    assert_int_equal (dn_open_find (&r, "z"), -1);
    assert_int_equal (dn_open_now (&r), 0);
    assert_string_equal (dn_recorded_gpu (&r), "a");
    assert_int_equal (dn_recorded_cap (&r), 36000);
    assert_int_equal (
        dn_record_read ("{\"dnnest\":1,\"open\":[{\"gpu\":\"a\"}]}", &r, NULL), -1);
    assert_int_equal (
        dn_record_read (
            "{\"dnnest\":1,\"open\":[{\"gpu\":\"a\",\"slow\":0}]}", &r, NULL),
        -1);
}

TEST ("a limit follows the type, and back again")
{
    struct dn_recorded r;

    READ (OPENED "}", r);
    assert_int_equal (dn_open_limit (&r, 3600, 0, 0), 3600);
    assert_int_equal (dn_open_limit (&r, 3600, 0, 1), 7020);
    assert_int_equal (dn_open_limit (&r, 3660, 0, 1), 7140); /* 118.95 minutes */
    assert_int_equal (dn_open_limit (&r, 3600, 0, 2), 3600);
    assert_int_equal (dn_open_limit (&r, 3600, 0, 3), 4260); /* 0.9 x 1.3 */
    for (int to = 0; to < 4; to++)
        for (int64_t minutes = 1; minutes < 5000; minutes += 7)
            assert_int_equal (
                dn_open_limit (&r, dn_open_limit (&r, 60 * minutes, 0, to), to, 0),
                60 * minutes);
    assert_int_equal (dn_open_limit (&r, DN_UNLIMITED, 0, 1), DN_UNLIMITED);
    assert_int_equal (dn_open_limit (&r, DN_UNSET, 0, 1), DN_UNSET);
}

TEST ("a job of which Slurm chooses the type has the limit of the slowest")
{
    struct dn_recorded r;

    READ (OPENED ",\"either\":1}", r);
    assert_int_equal (dn_open_now (&r), 1);
    assert_string_equal (dn_recorded_gpu (&r), "");
    assert_true (dn_recorded_there (&r, 100) == 100);
}

TEST ("a job that was moved at its submission is at home there")
{
#define OPEN "\"open\":[{\"gpu\":\"a\",\"slow\":100},{\"gpu\":\"b\",\"slow\":150}]"
    const struct dn_steering to = {"a", 3600, 36000, 1700000000};
    struct dn_recorded r;

    READ ("{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\",\"req\":"
          "{\"time_s\":36000},\"set\":{\"time_s\":7020,\"cap_s\":70200,"
          "\"gpu\":\"b\"}," OPEN "}",
          r);
    assert_int_equal (dn_open_home (&r), 1);
    assert_numbers ("1 70200", dn_open_now (&r), dn_recorded_cap (&r));
    assert_true (dn_recorded_there (&r, 150) == 150);
    assert_int_equal (dn_open_limit (&r, 7020, 1, 0), 3600);
    READ (steer ("{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\",\"set\":{"
                 "\"gpu\":\"b\"}," OPEN "}",
                 &to),
          r);
    assert_int_equal (dn_open_now (&r), 0);
    assert_true (dn_recorded_there (&r, 150) == 100);
    assert_int_equal (dn_recorded_cap (&r), 36000);
}

TEST ("a move is set, replaced and dropped, and ends what came later")
{
    const struct dn_steering steering = {"b", 7020, 70200, 1700000000};
    const struct dn_steering other = {"c", 3600, DN_UNSET, 1700000060};
    char *moved = steer (OPENED ",\"later\":[7200]}", &steering);
    char *again = steer (moved, &other);
    struct dn_recorded r;

    assert_contains (moved,
                     "],\"steer\":{\"gpu\":\"b\",\"time_s\":7020,\"cap_s\":70200,"
                     "\"at_s\":1700000000}}");
    READ (moved, r);
    assert_numbers ("0 1", r.n_later, dn_open_now (&r));
    assert_string_equal (dn_recorded_gpu (&r), "b");
    assert_int_equal (dn_recorded_cap (&r), 70200);
    assert_numbers ("7020 7020", dn_recorded_set (&r), dn_recorded_written (&r));
    assert_true (dn_recorded_there (&r, 100) == 150);
    READ (again, r);
    assert_string_equal (r.steer_gpu, "c");
    assert_int_equal (r.cap_s, DN_UNSET);
    assert_string_equal (steer (again, NULL), OPENED "}");
    assert_null (dn_record_steer ("none", &steering, NULL));
}

TEST ("a long record loses what it can spare")
{
    char text[DN_RECORD_MAX + 1];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_recorded r;
    char *noted;

    dn_buf_add (&buf,
                "{\"dnnest\":1,\"req\":{\"time_s\":86400},\"pred\":{\"p95_s\":5000},"
                "\"why\":\"long\",\"warn\":\"limit\",\"spec\":\"");
    dn_buf_add (&buf, "%s\"}", unit_repeat ("x", DN_RECORD_MAX - 2 - buf.len));
    noted = note (text, 7200);
    assert_true (strlen (noted) <= DN_RECORD_MAX);
    assert_null (strstr (noted, "why"));
    READ (noted, r);
    assert_numbers ("5000 86400 7200", r.p95_s, r.asked_s, r.later_s[0]);
}

TEST ("what the plugin writes is read")
{
    struct dn_advice *advice =
        SCENE_ADVICE ("Mode=enforce\nTimeLimit=limit", job.signal_s = 120);
    struct dn_recorded r;

    READ (advice->patch.record, r);
    assert_true (r.changed);
    assert_numbers ("86400 120", r.asked_s, r.signal_s);
    assert_int_equal (r.set_s, advice->decision.time_limit_s);
    assert_in_range (r.p95_s, r.likely_s, r.p99_s);
    assert_string_equal (r.asked_gpu, "a100");
    assert_string_equal (r.set_gpu, "v100");
}
