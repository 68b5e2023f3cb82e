/* make_bundle.c - write the small bundle into a directory: make_bundle DIR
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>
#include <string.h>

#include "small_bundle.h"

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

int main (int argc, char **argv)
{
    struct small_bundle bundle = small_bundle_make ();
    int rc = argc != 2
             || write_file (
                    argv[1], "manifest.json", bundle.manifest, strlen (bundle.manifest))
                    < 0;

    for (int i = 0; i < N_SMALL_FILES && rc == 0; i++)
        rc = write_file (
            argv[1], bundle.files[i].name, bundle.files[i].data, bundle.files[i].len);
    small_bundle_free (&bundle);
    return rc != 0;
}
