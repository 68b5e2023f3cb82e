/* manifest.c - fuzz target: the manifest that the command line uses to fetch and
 * install
 *
 * Attack surface: names of files, which become paths, sizes, checksums.
 *
 * Aims at: cli/bundle/bundle_manifest.c model/base/json_read.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <string.h>

#include "bundle/bundle_manifest.h"

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_manifest manifest;
    struct dn_err err = {0};

    if (dn_manifest_read ((struct dn_span){(const char *) data, size}, &manifest, &err)
        < 0) {
        expect_message (&err);
        expect (!manifest.json && manifest.n_files == 0, "not empty", NULL);
        return 0;
    }
    expect (is_printable (manifest.name), "a name", NULL);
    for (int i = 0; i < manifest.n_files; i++) {
        const char *name = manifest.files[i].name;

        expect (name[0] != '\0' && name[0] != '.' && !strchr (name, '/')
                    && is_printable (name),
                "the name of a file",
                NULL);
        expect (manifest.files[i].size >= 0, "a size", NULL);
        expect (dn_manifest_find (&manifest, name) == &manifest.files[i],
                "not found",
                NULL);
    }
    dn_manifest_free (&manifest);
    return 0;
}
