/* bundle_manifest.h - the manifest of a bundle: its description and its files
 *
 * The manifest is read here for its files and for display. The predictor's reader
 * (model/predict/bundle.h) checks whether the program can use the bundle (features,
 * trees, bounds).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MANIFEST_H
#define DN_MANIFEST_H

#include <json-c/json.h>

#include "base/json_read.h"
#include "base/limits.h"
#include "base/text.h"
#include "predict/bundle.h"

#define DN_MANIFEST_NAME  "manifest.json"
#define DN_SIGNATURE_NAME "manifest.json.sig"

/* Trees, points, site part, and room for future kinds. */
#define DN_MANIFEST_FILES_MAX 16

/* Bytes. The default bundle's manifest has about 6 KB, its trees and points 250 KB. */
#define DN_BUNDLE_FILE_MAX (8 * 1024 * 1024)
#define DN_BUNDLE_SITE_MAX (256 * 1024)
#define DN_SIGNATURE_MAX   1024

struct dn_manifest_file {
    char name[DN_NAME_MAX + 1]; /* plain: no directory, not hidden */
    int64_t size;
    struct dn_digest digest;
};

struct dn_manifest {
    char name[DN_NAME_MAX + 1];
    int64_t serial;           /* 0: none */
    struct json_object *json; /* owned */
    struct dn_manifest_file files[DN_MANIFEST_FILES_MAX];
    int n_files;
};

/* Read the text of a manifest.json, which may be hostile. Return -1 with 'err' and
 * 'manifest' empty.
 */
int dn_manifest_read (struct dn_span text,
                      struct dn_manifest *manifest,
                      struct dn_err *err);

/* NULL-safe. */
void dn_manifest_free (struct dn_manifest *manifest);

/* The file of that name, or NULL. */
const struct dn_manifest_file *dn_manifest_find (const struct dn_manifest *manifest,
                                                 const char *name);

#endif
