/* make_bundle.c - write the small bundle into a directory: make_bundle DIR
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdio.h>

#include "small_bundle.h"

static int write_file (const char *dir, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf (path, sizeof (path), "%s/%s", dir, name);
    file = fopen (path, "w");
    if (!file || fputs (text, file) < 0 || fclose (file) != 0) {
        perror (path);
        return -1;
    }
    return 0;
}

int main (int argc, char **argv)
{
    struct small_bundle bundle = small_bundle_make ();
    int rc = argc != 2 || write_file (argv[1], "manifest.json", bundle.manifest) < 0
             || write_file (argv[1], "step.json", bundle.step) < 0
             || write_file (argv[1], "memory.json", bundle.memory) < 0;

    small_bundle_free (&bundle);
    return rc;
}
