/* bundle_manifest.c - tests of a bundle's manifest: valid and invalid ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "bundle/bundle_manifest.h"

#define DIGEST "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define FILES  "\"files\":{\"step.json\":{\"bytes\":0,\"sha256\":\"" DIGEST "\"}}"
#define GOOD   "{\"dnnest_bundle\":2,\"name\":\"default\"," FILES "}"

static int read_text (const char *text,
                      struct dn_manifest *manifest,
                      struct dn_err *err)
{
    return dn_manifest_read (dn_span_of (text), manifest, err);
}

static void a_manifest_is_read (void **state)
{
    struct dn_manifest manifest;
    struct dn_err err = {0};

    (void) state;
    assert_int_equal (read_text (GOOD " \n", &manifest, &err), 0);
    assert_string_equal (manifest.name, "default");
    assert_int_equal (manifest.n_files, 1);
    assert_non_null (dn_manifest_find (&manifest, "step.json"));
    assert_null (dn_manifest_find (&manifest, "step"));
    /* FIPS 180-4: the digest of empty data */
    assert_string_equal (dn_digest_of (dn_span_of ("")).hex, DIGEST);
    assert_string_equal (manifest.files[0].digest.hex, DIGEST);
    dn_manifest_free (&manifest);
    assert_null (manifest.json);
    dn_manifest_free (&manifest);
    dn_manifest_free (NULL);
}

static void a_wrong_manifest_is_refused (void **state)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "empty, expected"},
        {"[]", "not a JSON object"},
        {"{}", "dnnest_bundle: missing"},
        {"null", "ends in the middle of JSON"},
        {"{\"dnnest_bundle\":2", "ends in the middle of JSON"},
        {GOOD "{}", "text after the JSON value"},
        {GOOD "x", "text after the JSON value"},
        {"{\"name\":1,\"name\":2}", "'name': given twice"},
        {"{\"dnnest_bundle\":\"1\"," FILES "}", "dnnest_bundle: missing"},
        {"{\"dnnest_bundle\":2.0," FILES "}", "dnnest_bundle: missing"},
        {"{\"dnnest_bundle\":99999999999," FILES "}", "format 99999999999, this"},
        {"{\"dnnest_bundle\":2," FILES "}", "name: missing"},
        {"{\"dnnest_bundle\":2,\"name\":7," FILES "}", "name: missing"},
        {"{\"dnnest_bundle\":2,\"name\":\"\"," FILES "}", "name: ''"},
        {"{\"dnnest_bundle\":2,\"name\":\"a\\u0000b\"}", "name: 'a'"},
        {"{\"dnnest_bundle\":2,\"name\":\"a\\u001bb\"}", "name: 'a?b'"},
        {"{\"dnnest_bundle\":2,\"name\":\"a\",\"files\":[]}", "files: missing"},
        {"{\"dnnest_bundle\":2,\"name\":\"a\",\"files\":{\"x\":null}}", "x: bytes"},
        {"{\"dnnest_bundle\":2,\"name\":\"a\",\"files\":{\"x\":{\"bytes\":1e2}}}",
         "x: bytes: missing"},
        {"{\"dnnest_bundle\":2,\"name\":\"a\",\"files\":{\"x\":{\"bytes\":"
         "9223372036854775807}}}",
         "out of range"},
        {"{\"dnnest_bundle\":2,\"name\":\"a\",\"files\":{\"x\":{\"bytes\":1,"
         "\"sha256\":\"" DIGEST "00\"}}}",
         "expected 64"},
    };

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_manifest manifest;
        struct dn_err err = {0};

        assert_int_equal (read_text (cases[i].text, &manifest, &err), -1);
        assert_contains (err.text, cases[i].message);
        assert_null (manifest.json);
        assert_int_equal (manifest.n_files, 0);
    }
}

/* Every prefix of a valid manifest is invalid, and causes no crash. */
static void a_cut_manifest_is_refused (void **state)
{
    size_t len = strlen (GOOD);

    (void) state;
    for (size_t i = 0; i < len; i++) {
        struct dn_manifest manifest;
        struct dn_err err = {0};
        char *text = malloc (i + 1);

        /* of exactly that size, so that a sanitizer detects reads beyond it */
        memcpy (text, GOOD, i);
        assert_int_equal (dn_manifest_read ((struct dn_span){text, i}, &manifest, &err),
                          -1);
        assert_int_not_equal (err.code, DN_E_NONE);
        free (text);
    }
}

static void a_changed_byte_does_no_harm (void **state)
{
    (void) state;
    for (size_t i = 0; i < strlen (GOOD); i++)
        for (int c = 0; c < 256; c += 5) {
            char text[] = GOOD;
            struct dn_manifest manifest;
            struct dn_err err = {0};

            text[i] = (char) c;
            if (dn_manifest_read (
                    (struct dn_span){text, sizeof (text) - 1}, &manifest, &err)
                == 0)
                assert_in_range (manifest.n_files, 1, DN_MANIFEST_FILES_MAX);
            else
                assert_int_not_equal (err.code, DN_E_NONE);
            dn_manifest_free (&manifest);
        }
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("a manifest is read", a_manifest_is_read),
        TEST ("a wrong manifest is refused", a_wrong_manifest_is_refused),
        TEST ("a cut manifest is refused", a_cut_manifest_is_refused),
        TEST ("a changed byte does no harm", a_changed_byte_does_no_harm),
    };

    return cmocka_run_group_tests (tests, NULL, NULL);
}
