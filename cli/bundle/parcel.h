/* parcel.h - a bundle in memory: its manifest, its signature, its files
 *
 * A parcel is read or fetched once, checked, and written from memory, so that the bytes
 * that are installed are those that were verified. The largest has about 30 MB.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_PARCEL_H
#define DN_PARCEL_H

#include "bundle_manifest.h"

struct dn_blob {
    char *data; /* owned; NULL: absent */
    size_t len;
};

struct dn_parcel {
    struct dn_manifest manifest;
    struct dn_blob text;                         /* manifest.json, byte for byte */
    struct dn_blob signature;                    /* manifest.json.sig; may be missing */
    struct dn_blob files[DN_MANIFEST_FILES_MAX]; /* in the order of the manifest */
};

struct dn_span dn_blob_span (const struct dn_blob *blob);

/* Read and verify the bundle in an open directory, or in the directory 'path', which
 * must contain nothing else. Return -1 with 'err' that begins with 'path', and 'parcel'
 * empty.
 */
int dn_parcel_read_at (int dir,
                       const char *path,
                       struct dn_parcel *parcel,
                       struct dn_err *err);
int dn_parcel_read (const char *path, struct dn_parcel *parcel, struct dn_err *err);

/* Parse the manifest in 'text'; dn_parcel_check_file () compares file 'i' with it. */
int dn_parcel_open (struct dn_parcel *parcel, struct dn_err *err);
int dn_parcel_check_file (const struct dn_parcel *parcel, int i, struct dn_err *err);

/* Can this version of the program predict with the bundle, and does libxgboost predict
 * the same (learn/confirm.h)? Return -1 with 'err'.
 */
int dn_parcel_try (const struct dn_parcel *parcel, struct dn_err *err);

/* Write the bundle into a new directory 'name' in the open directory 'parent', and sync
 * it to disk. Only the user who writes it may change it; all users may read it, as the
 * controller requires. After an error the directory is removed again.
 */
int dn_parcel_write (int parent,
                     const char *name,
                     const struct dn_parcel *parcel,
                     struct dn_err *err);

/* Remove the directory 'name' in 'parent' with the files in it. 'err' may be NULL. An
 * absent directory is no error.
 */
int dn_parcel_remove (int parent, const char *name, struct dn_err *err);

/* The SHA-256 of the manifest, which lists the SHA-256 of every file. */
struct dn_digest dn_parcel_id (const struct dn_parcel *parcel);
bool dn_parcel_same (const struct dn_parcel *a, const struct dn_parcel *b);

/* NULL-safe. */
void dn_parcel_free (struct dn_parcel *parcel);

#endif
