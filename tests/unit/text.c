/* text.c - tests of base/: numbers, times, quoting, key lines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <limits.h>
#include <locale.h>

#include "base/keyline.h"
#include "base/limits.h"
#include "base/text.h"

TEST ("bad numbers are refused by name")
{
    char bad[] = "|-|.|x|1x|1.5|0x10|1e400|NaN|inf|1 2|--1|+-1|\xd9\xa1|1e|1kk|1,5";
    char *rest = bad;
    char *text;
    int64_t value = 7;

    while ((text = strsep (&rest, "|"))) {
        assert_error (
            dn_int_read (dn_span_of (text), "thing", 0, 10, &value, &unit_err),
            "thing");
        assert_int_equal (value, 7);
    }
}

TEST ("numbers out of range are refused")
{
    static const char *const bad[] = {
        "-1", "11", "1k", "99999999999999999999", "1e18", "1e300", "9T"};
    int64_t value;

    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++)
        assert_error (
            dn_int_read (dn_span_of (bad[i]), "thing", 0, 10, &value, &unit_err),
            "out of range 0..10");
}

TEST ("numbers take multipliers and exponents")
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},
                 {"12", 12},
                 {"1k", 1e3},
                 {"2.5M", 2.5e6},
                 {"3G", 3e9},
                 {"1T", 1e12},
                 {"1e3", 1e3},
                 {"+4", 4},
                 {"1.5e-1", .15},
                 {".5", .5},
                 {"5.", 5},
                 {"1e3k", 1e6}};
    double value;

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        assert_int_equal (
            dn_real_read (dn_span_of (cases[i].text), "n", -1e15, 1e15, &value, NULL),
            0);
        assert_near (value, cases[i].value);
    }
}

TEST ("the locale does not change numbers")
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "C"};
    double value = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (locales); i++) {
        setlocale (LC_ALL, locales[i]);
        assert_int_equal (dn_real_read (dn_span_of ("1.5"), "n", 0, 9, &value, NULL),
                          0);
        assert_near (value, 1.5);
    }
    setlocale (LC_ALL, "C");
}

TEST ("times are read as Slurm reads them")
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {{"30", 1800},
                 {"1:30", 90},
                 {"1:00:00", 3600},
                 {"1-0", 86400},
                 {"2-12", 216000},
                 {"1-2:30", 95400},
                 {"1-2:30:05", 95405}};
    static const char *const bad[] = {
        "", "1-", "-1", "1:2:3:4", "x", "1:", "1-2-3", "1.5"};
    int64_t seconds;

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        assert_done (
            dn_time_read (dn_span_of (cases[i].text), "t", &seconds, &unit_err));
        assert_int_equal (seconds, cases[i].seconds);
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++)
        assert_int_equal (dn_time_read (dn_span_of (bad[i]), "t", &seconds, NULL), -1);
}

TEST ("times are written as Slurm writes them")
{
    assert_string_equal (dn_time_write (86400).text, "1-00:00:00");
    assert_string_equal (dn_time_write (13200).text, "03:40:00");
    assert_string_equal (dn_time_write (DN_UNSET).text, "unset");
    assert_string_equal (dn_time_write (DN_UNLIMITED).text, "unlimited");
}

TEST ("quoting leaves only plain ASCII")
{
    const char hostile[] = "a\033[31m\n\"'\\\xc3\xa9";

    assert_string_equal (dn_quote (hostile, sizeof (hostile) - 1).text, "a?[31m??????");
    assert_int_equal (strlen (dn_quote (unit_repeat ("x", 300), 300).text),
                      DN_QUOTE_MAX + 3);
    assert_string_equal (dn_quote (NULL, 0).text, "");
}

TEST ("a long error is cut with a mark")
{
    struct dn_err err;

    assert_int_equal (dn_err_set (&err, DN_E_RANGE, "%s", unit_repeat ("x", 999)), -1);
    assert_int_equal (err.text[DN_ERR_TEXT_MAX - 2], '+');
    assert_int_equal (dn_err_wrap (&err, "context"), -1);
    assert_int_equal (strncmp (err.text, "context: x", 10), 0);
    assert_int_equal (dn_err_set (NULL, DN_E_RANGE, "ignored"), -1);
}

TEST ("a buffer drops what does not fit")
{
    char text[8];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf, "abc");
    dn_buf_add (&buf, "defghij");
    assert_true (buf.cut);
    assert_string_equal (text, "abc");
    dn_buf_add (&buf, "de");
    assert_string_equal (text, "abcde");
}

/* What dn_buf_add () writes is what snprintf () writes. */
#define ASSERT_AS_PRINTF(...)                                                          \
    do {                                                                               \
        char *want_;                                                                   \
        char text_[80];                                                                \
        struct dn_buf buf_ = dn_buf_on (text_, sizeof (text_));                        \
                                                                                       \
        want_ = unit_text (__VA_ARGS__);                                               \
        dn_buf_add (&buf_, __VA_ARGS__);                                               \
        assert_string_equal (text_, want_);                                            \
    } while (0)

TEST ("a buffer writes what printf () writes")
{
    ASSERT_AS_PRINTF ("%s|%.*s|%.*s|%c|%%", "abc", 2, "defg", -1, "hi", 'x');
    ASSERT_AS_PRINTF ("%d|%d|%u|%u", INT_MIN, INT_MAX, 0U, UINT_MAX);
    ASSERT_AS_PRINTF ("%ld|%lu|%zu", LONG_MIN, ULONG_MAX, SIZE_MAX);
    ASSERT_AS_PRINTF ("%02d:%02d|%03d|%.*d", 5, 123, -4, 3, 7);
    ASSERT_AS_PRINTF ("%5d|%-3s|%.3s|%.2f|%x", 7, "a", "bcdef", 1.005, 255U);
}

TEST ("key lines skip comments and keep quotes")
{
    struct dn_span rest =
        dn_span_of ("# head\n\nA=1 b=\"x # y\" # tail\n  C=  \nlast=2");
    struct dn_keyline line = {0};

    assert_int_equal (dn_keyline_next (&rest, &line, NULL), 1);
    assert_numbers ("3 2", line.line, line.n_pairs);
    assert_true (dn_span_is (line.pairs[1].value, "x # y"));
    assert_int_equal (dn_keyline_next (&rest, &line, NULL), 1);
    assert_int_equal (line.pairs[0].value.len, 0);
    assert_int_equal (dn_keyline_next (&rest, &line, NULL), 1);
    assert_int_equal (line.line, 5);
    assert_int_equal (dn_keyline_next (&rest, &line, NULL), 0);
}

TEST ("a bad key line is named by its number")
{
    static const char *const bad[] = {"\nKey", "\nKey=\"open", "\n=x", "\nA=1 B"};

    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        struct dn_span rest = dn_span_of (bad[i]);
        struct dn_keyline line = {0};

        assert_error (dn_keyline_next (&rest, &line, &unit_err), "line 2");
    }
}

TEST ("a keyword is taken only where it is expected")
{
    struct dn_span rest = dn_span_of ("Gpu Type=a100\nMode=x");
    struct dn_keyline line = {.words = true};

    assert_int_equal (dn_keyline_next (&rest, &line, NULL), 1);
    assert_true (dn_span_is (line.word, "gpu"));
    assert_int_equal (line.n_pairs, 1);
    assert_int_equal (dn_keyline_next (&rest, &line, NULL), 1);
    assert_int_equal (line.word.len, 0);
}

TEST ("names are printable and fit")
{
    static const char *const bad[] = {
        "a\nb", "\033[31m", "\303\244", "a\177", "a name of 17 lett"};
    char name[17];

    assert_done (dn_name_copy (
        dn_span_of ("~A/b c.16 letter"), name, sizeof (name), "x", &unit_err));
    assert_string_equal (name, "~A/b c.16 letter");
    for (size_t i = 0; i < DN_N_ELEMENTS (bad); i++) {
        assert_error (
            dn_name_copy (dn_span_of (bad[i]), name, sizeof (name), "thing", &unit_err),
            "thing: '");
        assert_string_equal (name, "");
    }
}

/* The same text, or both are NULL. */
static void assert_same (const char *found, const char *expected)
{
    if (!found || !expected)
        assert_ptr_equal (found, expected);
    else
        assert_string_equal (found, expected);
}

static const char *name_at (const void *names, int i)
{
    return ((const char *const *) names)[i];
}

TEST ("the distance counts letters")
{
    static const struct {
        const char *word;
        const char *name;
        int distance;
    } cases[] = {
        {"batch", "batch", 0},
        {"Batch-Size", "batch_size", 0},
        {"epoch", "epochs", 1},
        {"bacth", "batch", 1},
        {"layrs", "layers", 1},
        {"preceision", "precision", 1},
        {"", "abc", 3},
        {"abc", "", 3},
        {"abcd", "dcba", 3},
    };
    const char *longest = unit_repeat ("a", DN_NAME_MAX + 1);

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        assert_int_equal (dn_word_distance (dn_span_of (cases[i].word), cases[i].name),
                          cases[i].distance);
    assert_int_equal (dn_word_distance (dn_span_of (longest), "a"), DN_NAME_MAX);
    assert_int_equal (dn_word_distance (dn_span_of ("a"), longest), DN_NAME_MAX);
    assert_int_equal (dn_word_distance (dn_span_of (longest + 1), longest + 1), 0);
}

TEST ("the name that was meant is found")
{
    static const char *const names[] = {"batch",
                                        "grad_accum",
                                        "layers",
                                        "hidden",
                                        "pp",
                                        "optimizer",
                                        "bert_base",
                                        NULL};
    static const char *const cases[][2] = {
        {"batchs", "batch"},
        {"batch_size", "batch"},
        {"num_layers", "layers"},
        {"optim", "optimizer"},
        {"bert-base-uncased", "bert_base"},
        {"bert", "bert_base"},
        {"player", "layers"},
        {"lr", NULL},
        {"tp", NULL},
        {"cucumber", NULL},
        {"", NULL},
    };
    const char *longest = unit_repeat ("a", DN_NAME_MAX + 1);

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        assert_same (dn_word_nearest (dn_span_of (cases[i][0]), name_at, names),
                     cases[i][1]);
    assert_null (dn_word_nearest (dn_span_of (longest), name_at, names));
    assert_null (dn_word_nearest ((struct dn_span){NULL, 0}, name_at, names));
}

TEST ("a directory is put first, once, and no part is empty")
{
    static const char *const cases[][3] = {
        {"/hook", NULL, "/hook"},
        {"/hook", "", "/hook"},
        {"/hook", "/a:/b", "/hook:/a:/b"},
        {"/hook", "/hooked:/hook", "/hook:/hooked:/hook"},
        {"/hook", "/hook", NULL},
        {"/hook", "/hook:/a", NULL},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        assert_same (unit_keep (dn_dirs_with (cases[i][0], cases[i][1]), free),
                     cases[i][2]);
}
