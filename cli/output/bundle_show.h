/* bundle_show.h - the contents of a bundle, as JSON and as text
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BUNDLE_SHOW_H
#define DN_BUNDLE_SHOW_H

#include <json-c/json.h>

#include "predict/bundle.h"

/* A bundle that was loaded, with the manifest and the site part as they were read. */
struct dn_bundle_shown {
    const char *dir;
    struct dn_bundle *bundle;
    struct json_object *manifest;
    struct json_object *site; /* NULL: none */
    struct dn_digest id;      /* of the manifest, which has the digest of each file */
};

/* Load the bundle in a directory, as slurmctld does. -1 with 'err'; free it in any
 * case.
 */
int dn_bundle_shown_load (const char *dir,
                          struct dn_bundle_shown *shown,
                          struct dn_err *err);
void dn_bundle_shown_free (struct dn_bundle_shown *shown);

/* The document of 'dnnest model show --json'. The caller owns it. */
struct json_object *dn_bundle_show_json (const struct dn_bundle_shown *shown);

/* What it is, as text on stdout. */
void dn_bundle_show (const struct dn_bundle_shown *shown);

#endif
