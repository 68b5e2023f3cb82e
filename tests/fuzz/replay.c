/* replay.c - a fuzz target run on files, for compilers without libFuzzer
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FILE_MAX (1024 * 1024)

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#ifndef DN_FUZZING /* else libFuzzer provides main () */

/* A buffer of exactly the size, so that an access beyond its end is detected. */
static int replay (const char *path)
{
    uint8_t *buffer = malloc (FILE_MAX);
    FILE *file = fopen (path, "rb");
    uint8_t *exact = NULL;
    size_t size = 0;

    if (buffer && file) {
        size = fread (buffer, 1, FILE_MAX, file);
        exact = realloc (buffer, size > 0 ? size : 1);
    }
    if (file)
        fclose (file);
    if (!exact) {
        fprintf (stderr, "%s: cannot be read\n", path);
        free (buffer);
        return 1;
    }
    LLVMFuzzerTestOneInput (exact, size);
    free (exact);
    return 0;
}

int main (int argc, char **argv)
{
    int failures = 0;

    for (int i = 1; i < argc; i++)
        failures += replay (argv[i]);
    printf ("%d files replayed\n", argc - 1);
    return failures > 0;
}

#endif
