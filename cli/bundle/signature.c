/* signature.c - Ed25519 signatures of manifest.json, and the site's trusted keys
 *
 * Ed25519 as in RFC 8032, by libsodium; 'openssl pkeyutl -sign -rawin' makes the same
 * 64 bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "signature.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/load.h"
#include "parcel.h"

static const char key_suffix[] = ".pub";

static int compare_names (const void *a, const void *b)
{
    return strcmp (a, b);
}

/* The next line that is not empty or a comment; its first word and the rest. */
static bool next_line (struct dn_span *text,
                       int *line,
                       struct dn_span *word,
                       struct dn_span *comment)
{
    while (text->text) {
        struct dn_span rest = dn_span_trim (dn_span_cut (text, "\n"));

        ++*line;
        if (rest.len == 0 || rest.text[0] == '#')
            continue;
        *word = dn_span_cut (&rest, " \t");
        *comment = rest.text ? dn_span_trim (rest) : dn_span_of ("");
        return true;
    }
    return false;
}

/* Base64 of exactly 'size' bytes. */
static bool decode (struct dn_span word, unsigned char *out, size_t size)
{
    size_t len = 0;

    return sodium_base642bin (out,
                              size,
                              word.text,
                              word.len,
                              NULL,
                              &len,
                              NULL,
                              sodium_base64_VARIANT_ORIGINAL)
               == 0
           && len == size;
}

static void take_comment (struct dn_public_key *key, struct dn_span comment)
{
    size_t len = comment.len > DN_NAME_MAX ? DN_NAME_MAX : comment.len;

    /* cppcheck-suppress knownConditionTrueFalse ; true of one caller only */
    for (size_t i = 0; i < len; i++) {
        char c = comment.text[i];

        key->comment[i] = c >= ' ' && c <= '~' ? c : '?';
    }
    key->comment[len] = '\0';
}

static int add_keys (struct dn_keys *keys,
                     struct dn_span text,
                     const char *path,
                     struct dn_err *err)
{
    struct dn_span word;
    struct dn_span comment;
    int line = 0;

    while (next_line (&text, &line, &word, &comment)) {
        struct dn_public_key *key = &keys->keys[keys->n_keys];

        if (keys->n_keys == DN_KEYS_MAX)
            return dn_err_set (
                err, DN_E_LIMIT, "%s: more than %d keys", path, DN_KEYS_MAX);
        if (!decode (word, key->bytes, sizeof (key->bytes)))
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "%s: line %d: expected the base64 of %d bytes",
                               path,
                               line,
                               DN_KEY_BYTES);
        take_comment (key, comment);
        keys->n_keys++;
    }
    return 0;
}

static int load_key_file (const char *path, struct dn_keys *keys, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (dn_load_file (path, &text, &len, err) < 0)
        return -1;
    return add_keys (keys, (struct dn_span){text, len}, path, err);
}

static bool is_key_name (const char *name)
{
    size_t len = strlen (name);
    size_t suffix_len = sizeof (key_suffix) - 1;

    return name[0] != '.' && len > suffix_len
           && strcmp (name + len - suffix_len, key_suffix) == 0;
}

struct name_list {
    char names[DN_KEYS_MAX][NAME_MAX + 1];
    int n_names;
};

static int list_names (DIR *dir,
                       const char *path,
                       struct name_list *list,
                       struct dn_err *err)
{
    const struct dirent *entry;

    list->n_names = 0;
    while ((entry = readdir (dir))) {
        if (!is_key_name (entry->d_name))
            continue;
        if (list->n_names == DN_KEYS_MAX)
            return dn_err_set (
                err, DN_E_LIMIT, "%s: more than %d files", path, DN_KEYS_MAX);
        snprintf (list->names[list->n_names++], NAME_MAX + 1, "%s", entry->d_name);
    }
    qsort (list->names, (size_t) list->n_names, sizeof (list->names[0]), compare_names);
    return 0;
}

static int load_key_dir (DIR *dir,
                         const char *path,
                         struct dn_keys *keys,
                         struct dn_err *err)
{
    struct name_list list;
    struct stat st;

    if (fstat (dirfd (dir), &st) < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    if ((st.st_uid != 0 && st.st_uid != geteuid ())
        || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return dn_err_set (
            err, DN_E_IO, "%s: users other than root and you may write to it", path);
    if (list_names (dir, path, &list, err) < 0)
        return -1;
    for (int i = 0; i < list.n_names; i++) {
        char file[PATH_MAX];
        struct dn_buf buf = dn_buf_on (file, sizeof (file));

        dn_buf_add (&buf, "%s/%s", path, list.names[i]);
        if (load_key_file (file, keys, err) < 0)
            return -1;
    }
    return 0;
}

int dn_keys_load (const char *path, struct dn_keys *keys, struct dn_err *err)
{
    dn_cleanup (dn_dir_cleanup) DIR *dir = opendir (path);

    memset (keys, 0, sizeof (*keys));
    if ((dir ? load_key_dir (dir, path, keys, err) : load_key_file (path, keys, err))
        < 0) {
        memset (keys, 0, sizeof (*keys));
        return -1;
    }
    if (keys->n_keys > 0)
        return 0;
    return dn_err_set (err,
                       DN_E_SYNTAX,
                       "%s: contains no public key%s",
                       path,
                       dir ? ", expected files *.pub" : "");
}

const struct dn_public_key *dn_signature_check (const struct dn_keys *keys,
                                                struct dn_span text,
                                                struct dn_span signature,
                                                struct dn_err *err)
{
    unsigned char bytes[crypto_sign_BYTES];
    struct dn_span word;
    struct dn_span comment;
    int line = 0;

    if (!signature.text) {
        dn_err_set (err, DN_E_RANGE, "%s: missing", DN_SIGNATURE_NAME);
        return NULL;
    }
    if (!next_line (&signature, &line, &word, &comment)
        || !decode (word, bytes, sizeof (bytes))) {
        dn_err_set (err,
                    DN_E_SYNTAX,
                    "%s: expected the base64 of %d bytes",
                    DN_SIGNATURE_NAME,
                    (int) sizeof (bytes));
        return NULL;
    }
    for (int i = 0; i < keys->n_keys; i++)
        if (crypto_sign_verify_detached (
                bytes, (const unsigned char *) text.text, text.len, keys->keys[i].bytes)
            == 0)
            return &keys->keys[i];
    dn_err_set (err,
                DN_E_RANGE,
                "%s: none of the %d known keys made it for this manifest",
                DN_SIGNATURE_NAME,
                keys->n_keys);
    return NULL;
}

/* A private key must be readable by its owner only. */
static int check_secret (const char *path, struct dn_err *err)
{
    struct stat st;

    if (lstat (path, &st) < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return dn_err_set (err,
                           DN_E_IO,
                           "%s: open to group or others (mode %04o), expected 0600",
                           path,
                           (unsigned) (st.st_mode & 07777));
    return 0;
}

static void wipe (unsigned char (*secret)[crypto_sign_SECRETKEYBYTES])
{
    sodium_memzero (secret, sizeof (*secret));
}

static int load_secret (const char *path,
                        unsigned char secret[crypto_sign_SECRETKEYBYTES],
                        struct dn_err *err)
{
    unsigned char seed[crypto_sign_SEEDBYTES] = {0};
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
    struct dn_span rest;
    struct dn_span word = {NULL, 0};
    struct dn_span comment;
    char *text = NULL;
    size_t len;
    int line = 0;
    int status = 0;

    if (check_secret (path, err) < 0 || dn_load_file (path, &text, &len, err) < 0)
        return -1;
    rest = (struct dn_span){text, len};
    if (!next_line (&rest, &line, &word, &comment)
        || !decode (word, seed, sizeof (seed)))
        status = dn_err_set (err,
                             DN_E_SYNTAX,
                             "%s: expected the base64 of %d bytes",
                             path,
                             (int) sizeof (seed));
    else
        crypto_sign_seed_keypair (public_key, secret, seed);
    sodium_memzero (seed, sizeof (seed));
    sodium_memzero (text, len);
    free (text);
    return status;
}

int dn_signature_make (const char *key_file,
                       struct dn_span text,
                       char out[DN_SIGNATURE_TEXT_MAX],
                       struct dn_err *err)
{
    dn_cleanup (wipe) unsigned char secret[crypto_sign_SECRETKEYBYTES] = {0};
    unsigned char bytes[crypto_sign_BYTES];
    char word[DN_SIGNATURE_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (out, DN_SIGNATURE_TEXT_MAX);

    if (load_secret (key_file, secret, err) < 0)
        return -1;
    crypto_sign_detached (
        bytes, NULL, (const unsigned char *) text.text, text.len, secret);
    sodium_bin2base64 (
        word, sizeof (word), bytes, sizeof (bytes), sodium_base64_VARIANT_ORIGINAL);
    dn_buf_add (&buf, "%s\n", word);
    return 0;
}

static int write_key (const char *path,
                      const char *kind,
                      const unsigned char bytes[DN_KEY_BYTES],
                      mode_t mode,
                      struct dn_err *err)
{
    char word[64];
    char text[128];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    bool failed;

    if (fd < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    sodium_bin2base64 (
        word, sizeof (word), bytes, DN_KEY_BYTES, sodium_base64_VARIANT_ORIGINAL);
    dn_buf_add (&buf, "# dnnest %s key, Ed25519\n%s\n", kind, word);
    failed = fchmod (fd, mode) < 0 || write (fd, text, buf.len) != (ssize_t) buf.len
             || fsync (fd) < 0;
    sodium_memzero (word, sizeof (word));
    sodium_memzero (text, sizeof (text));
    if (failed) {
        dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
        unlink (path);
    }
    close (fd);
    return failed ? -1 : 0;
}

int dn_keys_generate (const char *path, struct dn_err *err)
{
    unsigned char seed[crypto_sign_SEEDBYTES];
    unsigned char public_key[crypto_sign_PUBLICKEYBYTES];
    dn_cleanup (wipe) unsigned char secret[crypto_sign_SECRETKEYBYTES];
    char public_path[PATH_MAX];
    struct dn_buf buf = dn_buf_on (public_path, sizeof (public_path));
    int status;

    dn_buf_add (&buf, "%s%s", path, key_suffix);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "%s: path too long", path);
    randombytes_buf (seed, sizeof (seed));
    crypto_sign_seed_keypair (public_key, secret, seed);
    status = write_key (path, "private", seed, 0600, err);
    sodium_memzero (seed, sizeof (seed));
    if (status == 0 && write_key (public_path, "public", public_key, 0644, err) < 0) {
        unlink (path);
        status = -1;
    }
    return status;
}
