/* digest.c - tests of SHA-256
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "base/digest.h"

/* NIST, examples to FIPS 180-4, and its message of a million times 'a'. */
TEST ("The examples of the standard give their digests")
{
    static const struct {
        const char *text;
        const char *hex;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqk"
         "lmnopqrlmnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        assert_string_equal (dn_digest_of (dn_span_of (cases[i].text)).hex,
                             cases[i].hex);
    assert_string_equal (
        dn_digest_of (dn_span_of (unit_repeat ("a", 1000000))).hex,
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The output of sha256sum (1) for 'len' bytes of 'text', or "". */
static void ask_sha256sum (const char *text, size_t len, char hex[DN_DIGEST_LEN + 1])
{
    char name[] = "/tmp/dnnest-digest.XXXXXX";
    int fd = mkstemp (name);
    FILE *file;

    hex[0] = '\0';
    assert_true (fd >= 0);
    file = fdopen (fd, "w");
    assert_non_null (file);
    assert_int_equal (fwrite (text, 1, len, file), len);
    fclose (file);
    file = popen (unit_text ("sha256sum < %s 2>/dev/null", name), "r");
    if (file) {
        if (fscanf (file, "%64s", hex) != 1)
            hex[0] = '\0';
        pclose (file);
    }
    remove (name);
}

/* One block, its edges, two blocks: the places of the padding. */
TEST ("sha256sum agrees for every length")
{
    static const size_t lengths[] = {0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 8191};
    char text[8192];
    char hex[DN_DIGEST_LEN + 1];

    for (size_t i = 0; i < sizeof (text); i++)
        text[i] = (char) (i * 167 + i / 256);
    ask_sha256sum ("", 0, hex);
    if (hex[0] == '\0')
        skip (); /* no coreutils */
    for (size_t i = 0; i < DN_N_ELEMENTS (lengths); i++) {
        ask_sha256sum (text, lengths[i], hex);
        assert_string_equal (dn_digest_of ((struct dn_span){text, lengths[i]}).hex,
                             hex);
    }
}

TEST ("Pieces of any length make the same digest")
{
    char text[1000];
    struct dn_digest whole;

    for (size_t i = 0; i < sizeof (text); i++)
        text[i] = (char) (i * 31);
    whole = dn_digest_of ((struct dn_span){text, sizeof (text)});
    for (size_t piece = 1; piece <= sizeof (text); piece++) {
        struct dn_digester digester = dn_digest_begin ();

        for (size_t at = 0; at < sizeof (text); at += piece) {
            size_t rest = sizeof (text) - at;

            dn_digest_add (&digester,
                           (struct dn_span){text + at, piece < rest ? piece : rest});
            dn_digest_add (&digester, (struct dn_span){NULL, 0});
        }
        assert_string_equal (dn_digest_end (&digester).hex, whole.hex);
    }
}

TEST ("Any changed bit changes the digest")
{
    char text[130] = "";
    struct dn_digest whole = dn_digest_of ((struct dn_span){text, sizeof (text)});

    for (size_t i = 0; i < 8 * sizeof (text); i++) {
        text[i / 8] = (char) (text[i / 8] ^ 1 << i % 8);
        assert_string_not_equal (
            dn_digest_of ((struct dn_span){text, sizeof (text)}).hex, whole.hex);
        text[i / 8] = (char) (text[i / 8] ^ 1 << i % 8);
    }
}
