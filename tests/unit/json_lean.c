/* json_lean.c - tests of long arrays of numbers that do not go through json-c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <json-c/json.h>

#include "base/json_lean.h"
#include "base/json_read.h"

enum {
    N = 40, /* values of an array that is taken out */
    TEXT_MAX = 8192
};

/* A document and its one array "a". */
struct scene {
    struct dn_json_lean lean;
    struct json_object *document;
    const struct json_object *array;
    size_t n;
    struct dn_err err;
};

static void read_scene (const char *text, struct scene *scene)
{
    memset (scene, 0, sizeof (*scene));
    assert_int_equal (dn_json_lean_make (dn_span_of (text), &scene->lean, &scene->err),
                      0);
    scene->document = dn_json_read (
        (struct dn_span){scene->lean.text, scene->lean.len}, 8, 1000, &scene->err);
    if (scene->document)
        scene->array = dn_json_lean_need (
            &scene->lean, scene->document, "a", 1, N + 1, &scene->n, &scene->err);
}

static void free_scene (struct scene *scene)
{
    json_object_put (scene->document);
    dn_json_lean_free (&scene->lean);
}

/* {"a":[value,0,0,...],"b":1}, with 'blank' around every value. */
static const char *with (const char *value, const char *blank)
{
    static char text[TEXT_MAX];
    size_t len = (size_t) snprintf (text, sizeof (text), "{\"a\":[");

    for (int i = 0; i < N; i++)
        len += (size_t) snprintf (text + len,
                                  sizeof (text) - len,
                                  "%s%s%s%s",
                                  i > 0 ? "," : "",
                                  blank,
                                  i > 0 ? "0" : value,
                                  blank);
    snprintf (text + len, sizeof (text) - len, "],\n\"b\":1}");
    return text;
}

/* What is read of one number. */
static double read_one (const char *value, const char *blank)
{
    struct scene scene;
    double out[N];

    read_scene (with (value, blank), &scene);
    assert_non_null (scene.array);
    assert_int_equal (scene.lean.n_arrays, 1);
    assert_int_equal (scene.n, N);
    dn_json_lean_read (&scene.lean, scene.array, out, N);
    assert_true (out[N - 1] == 0);
    free_scene (&scene);
    return out[0];
}

static void assert_exact (const char *value)
{
    double expected = strtod (value, NULL);
    double got = read_one (value, "");

    if (memcmp (&got, &expected, sizeof (got)) != 0)
        fail_msg ("%s is read as %.17g", value, got);
}

static void numbers_are_what_strtod_makes_of_them (void **state)
{
    static const char *const values[] = {
        "0",
        "-0",
        "1",
        "-1",
        "0.1",
        "123456789012345",
        "1234567890123456789",
        "0.000000000000000000000000000001",
        "9007199254740993",
        "-9007199254740993",
        "18446744073709551617",
        "100000000000000000000000000000000000000",
        "1e22",
        "1e23",
        "8.5E-23",
        "1e-22",
        "3.4028235e38",
        "1.17549435e-38",
        "4.9406564584124654e-324",
        "2.2250738585072011e-308",
        "1.7976931348623157e308",
        "5E-1",
        "-2.5000000000000000000000000000001",
    };
    uint64_t seed = 1;

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (values); i++)
        assert_exact (values[i]);
    for (int i = 0; i < 20000; i++) {
        char text[64];
        uint32_t bits;
        float value;

        seed = seed * 6364136223846793005U + 1442695040888963407U;
        bits = (uint32_t) (seed >> 32);
        memcpy (&value, &bits, sizeof (value));
        if (!isfinite (value))
            continue;
        snprintf (
            text, sizeof (text), i % 2 ? "%.9g" : "%.17g", (double) value * (i % 3));
        /* printf writes what JSON has: no hexadecimal, no leading point. */
        assert_exact (text);
    }
}

static void what_is_no_number_is_none (void **state)
{
    static const char *const values[] = {
        "",
        "-",
        "+1",
        ".5",
        "5.",
        "1e",
        "1e+",
        "01",
        "1 2",
        "--1",
        "1-2",
        "1e5e",
        "1.2.3",
        "e",
        "-e1",
        "1e400",
        "00",
        "-01",
        "1e+-1",
        "1E99999999999",
        "12345678901234567890123456789012345678901",
    };

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (values); i++)
        if (!isnan (read_one (values[i], "")))
            fail_msg ("'%s' is read as a number", values[i]);
}

static void blanks_do_not_matter_and_lines_stay (void **state)
{
    struct scene scene;
    char text[TEXT_MAX];

    (void) state;
    assert_true (read_one ("1.5", " \t\r\n ") == 1.5);
    snprintf (text, sizeof (text), "%s", with ("1.5", "\n"));
    strcpy (strstr (text, "\"b\""), "\"b\":}");
    read_scene (text, &scene);
    assert_null (scene.document);
    /* Every value has two ends of lines. */
    assert_contains (scene.err.text, "line 82, column 5");
    free_scene (&scene);
}

static void short_arrays_and_those_of_others_go_through_json_c (void **state)
{
    struct scene scene;
    double out[3];

    (void) state;
    read_scene ("{\"a\":[1.5,true,\"x\"]}", &scene);
    assert_int_equal (scene.lean.n_arrays, 0);
    assert_int_equal (scene.n, 3);
    dn_json_lean_read (&scene.lean, scene.array, out, 3);
    assert_true (out[0] == 1.5 && out[1] == 1 && isnan (out[2]));
    free_scene (&scene);
    read_scene (with ("true", ""), &scene);
    assert_int_equal (scene.lean.n_arrays, 0);
    assert_int_equal (scene.n, N);
    dn_json_lean_read (&scene.lean, scene.array, out, 3);
    assert_true (out[0] == 1 && out[1] == 0);
    free_scene (&scene);
}

/* {"z":[0,0,...],"a":value} */
static void assert_refused (const char *value, const char *expected)
{
    struct scene scene;
    char text[TEXT_MAX];

    snprintf (text, sizeof (text), "%s", with ("0", ""));
    strcpy (strstr (text, "\"b\""), "\"c\":");
    strcat (text, value);
    strcat (text, "}");
    memcpy (strstr (text, "\"a\""), "\"z\"", 3);
    memcpy (strstr (text, "\"c\""), "\"a\"", 3);
    read_scene (text, &scene);
    assert_null (scene.array);
    assert_contains (scene.err.text, expected);
    free_scene (&scene);
}

static void what_is_no_array_is_none (void **state)
{
    char many[TEXT_MAX];

    (void) state;
    assert_refused ("\"#1\"", "a: found string, expected an array");
    assert_refused ("\"#-1\"", "a: found string");
    assert_refused ("\"#99999999999999999999\"", "a: found string");
    assert_refused ("\"#\"", "a: found string");
    assert_refused ("\"#0x\"", "a: found string");
    assert_refused ("null", "expected an array");
    assert_refused ("[]", "a: 0 values, expected 1..41");
    many[0] = '[';
    for (int i = 0; i < N + 1; i++)
        memcpy (many + 1 + 2 * i, "0,", 2);
    memcpy (many + 1 + 2 * (N + 1), "0]", 3);
    assert_refused (many, "a: 42 values, expected 1..41");
}

/* Nothing is taken out of strings, nor where an array does not end. */
static void only_whole_arrays_are_taken_out (void **state)
{
    static const char *const heads[] = {"{\"s\":\"", "{\"s\":\"\\\"", "{\"s\":", ""};
    char text[TEXT_MAX];

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (heads); i++) {
        struct dn_json_lean lean;
        struct dn_err err;

        snprintf (text, sizeof (text), "%s%s", heads[i], strchr (with ("1", ""), '['));
        *strrchr (text, ']') = i < 2 ? ']' : '\0';
        assert_int_equal (dn_json_lean_make (dn_span_of (text), &lean, &err), 0);
        assert_int_equal (lean.n_arrays, 0);
        assert_int_equal (lean.len, strlen (text));
        assert_memory_equal (lean.text, text, lean.len);
        dn_json_lean_free (&lean);
    }
}

static void every_beginning_of_a_text_is_taken (void **state)
{
    const char *text = with ("-1.25e-3", " ");
    size_t len = strlen (text);

    (void) state;
    for (size_t i = 0; i <= len; i++) {
        struct dn_json_lean lean;
        struct dn_err err;
        char *copy = malloc (i + 1); /* so that sanitizers see its end */

        memcpy (copy, text, i);
        assert_int_equal (dn_json_lean_make ((struct dn_span){copy, i}, &lean, &err),
                          0);
        assert_true (lean.len <= i);
        dn_json_lean_free (&lean);
        free (copy);
    }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("numbers are what strtod makes of them",
              numbers_are_what_strtod_makes_of_them),
        TEST ("what is no number is none", what_is_no_number_is_none),
        TEST ("blanks do not matter, and lines stay",
              blanks_do_not_matter_and_lines_stay),
        TEST ("short arrays, and those of others, go through json-c",
              short_arrays_and_those_of_others_go_through_json_c),
        TEST ("what is no array is none", what_is_no_array_is_none),
        TEST ("only whole arrays are taken out", only_whole_arrays_are_taken_out),
        TEST ("every beginning of a text is taken", every_beginning_of_a_text_is_taken),
    };

    return cmocka_run_group_tests_name ("json_lean", tests, NULL, NULL);
}
