/* bundle_manifest.c - the manifest of a bundle: its description and its files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bundle_manifest.h"

#include <inttypes.h>
#include <string.h>

static const char site_name[] = "site.json";

static bool is_name_char (char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
           || c == '_' || c == '-' || c == '.';
}

/* A name that is safe in any directory and in any message. */
static bool is_plain_name (const char *name)
{
    size_t len = strlen (name);

    for (size_t i = 0; i < len; i++)
        if (!is_name_char (name[i]))
            return false;
    return len > 0 && len <= DN_NAME_MAX && name[0] != '.' && name[0] != '-';
}

static int read_format (const struct json_object *json, struct dn_err *err)
{
    struct json_object *format = dn_json_member (json, "dnnest_bundle");

    if (!json_object_is_type (format, json_type_int))
        return dn_err_set (
            err, DN_E_SYNTAX, "dnnest_bundle: missing, expected in a bundle");
    if (json_object_get_int64 (format) != DN_BUNDLE_FORMAT)
        return dn_err_set (err,
                           DN_E_VERSION,
                           "dnnest_bundle: format %" PRId64
                           ", this program reads %d; train or install it again",
                           json_object_get_int64 (format),
                           DN_BUNDLE_FORMAT);
    return 0;
}

static int read_name (const struct json_object *json,
                      struct dn_manifest *manifest,
                      struct dn_err *err)
{
    struct json_object *name = dn_json_member (json, "name");
    const char *text;

    if (!json_object_is_type (name, json_type_string))
        return dn_err_set (err, DN_E_SYNTAX, "name: missing");
    text = json_object_get_string (name);
    if (!is_plain_name (text)
        || strlen (text) != (size_t) json_object_get_string_len (name))
        return dn_err_set (err,
                           DN_E_RANGE,
                           "name: '%s' is not a name of letters, digits, '_', '-' and "
                           "'.'",
                           dn_quote (text, strlen (text)).text);
    return dn_span_copy (
        dn_span_of (text), manifest->name, sizeof (manifest->name), "name", err);
}

static int read_serial (const struct json_object *json,
                        struct dn_manifest *manifest,
                        struct dn_err *err)
{
    if (!dn_json_member (json, "serial"))
        return 0;
    return dn_json_need_int (
        json, "serial", 1, DN_BUNDLE_SERIAL_MAX, &manifest->serial, err);
}

static int64_t size_limit (const char *name)
{
    return strcmp (name, site_name) == 0 ? DN_BUNDLE_SITE_MAX : DN_BUNDLE_FILE_MAX;
}

static int read_file (const struct json_object *json,
                      struct dn_manifest_file *file,
                      struct dn_err *err)
{
    struct json_object *size = dn_json_member (json, "bytes");
    struct json_object *digest = dn_json_member (json, "sha256");
    int64_t max = size_limit (file->name);

    if (!json_object_is_type (size, json_type_int))
        return dn_err_set (err, DN_E_SYNTAX, "files: %s: bytes: missing", file->name);
    file->size = json_object_get_int64 (size);
    if (file->size < 0 || file->size > max)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "files: %s: bytes: %" PRId64 " out of range 0..%" PRId64,
                           file->name,
                           file->size,
                           max);
    if (!json_object_is_type (digest, json_type_string)
        || json_object_get_string_len (digest) != DN_DIGEST_LEN
        || strspn (json_object_get_string (digest), "0123456789abcdef")
               != DN_DIGEST_LEN)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "files: %s: sha256: expected %d hexadecimal digits",
                           file->name,
                           DN_DIGEST_LEN);
    memcpy (file->digest.hex, json_object_get_string (digest), DN_DIGEST_LEN + 1);
    return 0;
}

static int add_file (struct dn_manifest *manifest,
                     const char *name,
                     const struct json_object *json,
                     struct dn_err *err)
{
    struct dn_manifest_file *file = &manifest->files[manifest->n_files];

    if (!is_plain_name (name) || strcmp (name, DN_MANIFEST_NAME) == 0
        || strcmp (name, DN_SIGNATURE_NAME) == 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "files: '%s' is not a plain file name",
                           dn_quote (name, strlen (name)).text);
    if (manifest->n_files == DN_MANIFEST_FILES_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "files: more than %d", DN_MANIFEST_FILES_MAX);
    if (dn_span_copy (dn_span_of (name), file->name, sizeof (file->name), "files", err)
            < 0
        || read_file (json, file, err) < 0)
        return -1;
    manifest->n_files++;
    return 0;
}

static int read_files (const struct json_object *json,
                       struct dn_manifest *manifest,
                       struct dn_err *err)
{
    struct json_object *files = dn_json_member (json, "files");

    if (!json_object_is_type (files, json_type_object)
        || json_object_object_length (files) == 0)
        return dn_err_set (err, DN_E_SYNTAX, "files: missing");
    json_object_object_foreach (files, name, file)
    {
        if (add_file (manifest, name, file, err) < 0)
            return -1;
    }
    return 0;
}

int dn_manifest_read (struct dn_span text,
                      struct dn_manifest *manifest,
                      struct dn_err *err)
{
    memset (manifest, 0, sizeof (*manifest));
    if (text.len > DN_MANIFEST_MAX)
        return dn_err_set (err, DN_E_LIMIT, "more than %d bytes", DN_MANIFEST_MAX);
    manifest->json =
        dn_json_read (text, DN_BUNDLE_DEPTH_MAX, DN_MANIFEST_VALUES_MAX, err);
    if (!manifest->json)
        return -1;
    if (read_format (manifest->json, err) == 0
        && read_name (manifest->json, manifest, err) == 0
        && read_serial (manifest->json, manifest, err) == 0
        && read_files (manifest->json, manifest, err) == 0)
        return 0;
    dn_manifest_free (manifest);
    return -1;
}

void dn_manifest_free (struct dn_manifest *manifest)
{
    if (!manifest)
        return;
    json_object_put (manifest->json);
    memset (manifest, 0, sizeof (*manifest));
}

const struct dn_manifest_file *dn_manifest_find (const struct dn_manifest *manifest,
                                                 const char *name)
{
    for (int i = 0; i < manifest->n_files; i++)
        if (strcmp (manifest->files[i].name, name) == 0)
            return &manifest->files[i];
    return NULL;
}
