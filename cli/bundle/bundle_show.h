/* bundle_show.h - the contents of a bundle, as JSON and as tables
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BUNDLE_SHOW_H
#define DN_BUNDLE_SHOW_H

#include "parcel.h"

/* The document of 'dnnest model show --json'. The caller owns it. */
struct json_object *dn_bundle_show_json (const char *path,
                                         const struct dn_parcel *parcel);

/* The same as tables on stdout. Return an enum dn_exit. */
int dn_bundle_show (const char *path, const struct dn_parcel *parcel);

/* "manifest.json" and the files it lists, each with its size and SHA-256. */
void dn_bundle_show_files (struct json_object *json, const struct dn_parcel *parcel);

/* Sum of the sizes of its files. */
int64_t dn_bundle_show_bytes (const struct dn_parcel *parcel);

/* A whole number of the manifest, such as rows of data; -1 if it is absent. */
int64_t dn_bundle_show_count (const struct dn_manifest *manifest,
                              const char *object,
                              const char *key);

#endif
