/* small_bundle.c - a bundle with known numbers, for tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "small_bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 65536

/* Little-endian, as in predict/flat.h. */
static void put (struct small_file *file, uint64_t number, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++)
        file->data[file->len++] = (char) (number >> (8 * i));
}

static void put_float (struct small_file *file, float value)
{
    uint32_t bits;

    memcpy (&bits, &value, sizeof (bits));
    put (file, bits, 4);
}

static struct small_file begin_file (const char *name,
                                     const char *magic,
                                     uint64_t n_rows,
                                     uint64_t n_nodes)
{
    struct small_file file = {.name = name, .data = malloc (TEXT_MAX), .len = 8};

    if (!file.data)
        abort ();
    memcpy (file.data, magic, 8);
    put (&file, 1, 4);
    put (&file, DN_N_FEATURES, 4);
    put (&file, n_rows, 4);
    put (&file, n_nodes, 4);
    return file;
}

static void put_node (struct small_file *file, double value, int feature, int kind)
{
    put_float (file, (float) value);
    put (file, (uint64_t) feature, 2);
    put (file, (uint64_t) kind, 2);
}

/* Two trees: a leaf, and a split on the first feature with two equal leaves. */
static struct small_file write_trees (const char *name, double sum)
{
    struct small_file file = begin_file (name, "dnntrees", 2, 4);

    put (&file, 0, 8); /* the base */
    put (&file, 1, 4);
    put (&file, 3, 4);
    put_node (&file, sum / 2, 0, 0);
    put_node (&file, 0, 0, 2); /* missing: to the left */
    put_node (&file, sum / 2, 0, 0);
    put_node (&file, sum / 2, 0, 0);
    return file;
}

/* Two points that differ in the batch. */
static struct small_file write_points (void)
{
    static const float batches[] = {-40, 4.15888308F};
    struct small_file file = begin_file ("domain.points", "dnnpoint", 2, 0);

    for (size_t i = 0; i < DN_N_ELEMENTS (batches); i++)
        for (int f = 0; f < DN_N_FEATURES; f++)
            put_float (&file, f == (int) DN_FEATURE_BATCH ? batches[i] : 0);
    return file;
}

static struct dn_digest digest_of (const struct small_file *file)
{
    return dn_digest_of (small_file_span (file));
}

/* An array with 'usual' everywhere except for the batch, where it is 1. */
static void add_axis (struct dn_buf *buf, const char *key, int usual)
{
    for (int i = 0; i < DN_N_FEATURES; i++)
        dn_buf_add (buf,
                    "%s%s%d",
                    i > 0 ? "" : key,
                    i > 0 ? "," : "[",
                    i == (int) DN_FEATURE_BATCH ? 1 : usual);
    dn_buf_add (buf, "]");
}

static void add_residual (struct dn_buf *buf,
                          const char *quantity,
                          const struct small_file *file,
                          double shrink)
{
    dn_buf_add (buf,
                "\"%s\":{\"file\":\"%s\",\"shrink\":%g,\"limit\":1,\"confirmed\":{"
                "\"xgboost\":\"1.7.4\",\"sha256\":\"%s\",\"rows\":2002,"
                "\"difference\":1e-07}}",
                quantity,
                file->name,
                shrink,
                digest_of (file).hex);
}

static char *write_manifest (const struct small_file *files)
{
    struct dn_buf buf = dn_buf_on (calloc (1, TEXT_MAX), TEXT_MAX);

    dn_buf_add (&buf,
                "{\"dnnest_bundle\":2,\"name\":\"small\",\"features\":{\"version\":%d",
                DN_FEATURES_VERSION);
    for (int i = 0; i < DN_N_FEATURES; i++)
        dn_buf_add (
            &buf, "%s\"%s\"", i > 0 ? "," : ",\"names\":[", dn_feature_keys ()[i].name);
    dn_buf_add (&buf, "]},\"residuals\":{");
    add_residual (&buf, "step", &files[SMALL_STEP_FILE], 1);
    dn_buf_add (&buf, ",");
    add_residual (&buf, "memory", &files[SMALL_MEMORY_FILE], 0.5);
    dn_buf_add (&buf, "},\"domain\":{\"file\":\"domain.points\",");
    add_axis (&buf, "\"mean\":", 0);
    add_axis (&buf, ",\"scale\":", 1);
    add_axis (&buf, ",\"weight\":", 0);
    dn_buf_add (&buf,
                ",\"knots\":[{\"distance\":0,\"residual\":1,\"sigma\":0.1},"
                "{\"distance\":2,\"residual\":0,\"sigma\":0.9}]},"
                "\"bounds\":{\"levels\":[0.5,0.9,0.95,0.99],"
                "\"step\":{\"all\":[0,1,2,4],"
                "\"groups\":{\"conv\":[0,1,3,6],\"conv.stack\":[0,1,3,6]}},"
                "\"memory\":{\"all\":[0,1,1.7,2.5]}},\"files\":{");
    for (int i = 0; i < N_SMALL_FILES; i++)
        dn_buf_add (&buf,
                    "%s\"%s\":{\"bytes\":%zu,\"sha256\":\"%s\"}",
                    i > 0 ? "," : "",
                    files[i].name,
                    files[i].len,
                    digest_of (&files[i]).hex);
    dn_buf_add (&buf, "}}");
    return buf.text;
}

struct small_bundle small_bundle_make (void)
{
    struct small_bundle bundle;

    bundle.files[SMALL_STEP_FILE] = write_trees ("step.trees", SMALL_STEP);
    bundle.files[SMALL_MEMORY_FILE] = write_trees ("memory.trees", SMALL_MEMORY);
    bundle.files[SMALL_POINTS_FILE] = write_points ();
    bundle.manifest = write_manifest (bundle.files);
    return bundle;
}

void small_bundle_free (struct small_bundle *bundle)
{
    free (bundle->manifest);
    for (int i = 0; i < N_SMALL_FILES; i++)
        free (bundle->files[i].data);
}

struct dn_span small_file_span (const struct small_file *file)
{
    return (struct dn_span){file->data, file->len};
}

struct dn_bundle *small_bundle_read (const struct small_bundle *small,
                                     struct dn_err *err)
{
    struct dn_bundle *bundle = dn_bundle_open (dn_span_of (small->manifest), err);
    int rc = bundle ? 0 : -1;

    for (int i = 0; i < N_SMALL_FILES && rc == 0; i++)
        rc = dn_bundle_add (
            bundle, small->files[i].name, small_file_span (&small->files[i]), err);
    if (rc == 0 && dn_bundle_close (bundle, err) == 0)
        return bundle;
    dn_bundle_free (bundle);
    return NULL;
}

static int write_file (const char *dir, const char *name, const char *data, size_t len)
{
    char path[512];
    FILE *file;

    snprintf (path, sizeof (path), "%s/%s", dir, name);
    file = fopen (path, "w");
    if (!file || fwrite (data, 1, len, file) != len || fclose (file) != 0) {
        perror (path);
        return -1;
    }
    return 0;
}

int small_bundle_write (const char *dir)
{
    struct small_bundle bundle = small_bundle_make ();
    int rc =
        write_file (dir, "manifest.json", bundle.manifest, strlen (bundle.manifest));

    for (int i = 0; i < N_SMALL_FILES && rc == 0; i++)
        rc = write_file (
            dir, bundle.files[i].name, bundle.files[i].data, bundle.files[i].len);
    small_bundle_free (&bundle);
    return rc;
}

char *replace_behind (const char *text,
                      const char *behind,
                      const char *from,
                      const char *to)
{
    const char *at = strstr (text, behind);
    char *out = malloc (strlen (text) + strlen (to) + 1);

    at = at ? strstr (at, from) : NULL;
    if (!out || !at) {
        free (out);
        return NULL;
    }
    memcpy (out, text, (size_t) (at - text));
    strcpy (out + (at - text), to);
    strcat (out, at + strlen (from));
    return out;
}
