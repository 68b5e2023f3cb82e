/* host.c - strings in Slurm's memory
 *
 * slurm_xstrdup () ends the daemon when there is no memory. slurm_xcalloc () does not
 * if its argument 'try_only' is set.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/host.h"

#include <stdio.h>
#include <string.h>

static char *allocate (size_t size)
{
    return slurm_xcalloc (1, size, true, true, __FILE__, __LINE__, __func__);
}

char *dn_host_dup (const char *text)
{
    size_t size = strlen (text) + 1;
    char *copy = allocate (size);

    if (copy)
        memcpy (copy, text, size);
    return copy;
}

void dn_host_append_line (char **text, const char *line)
{
    size_t size = strlen (line) + 1;
    char *longer;

    if (!text)
        return;
    if (!*text) {
        *text = dn_host_dup (line);
        return;
    }
    size += strlen (*text) + 1;
    longer = allocate (size);
    if (!longer)
        return;
    snprintf (longer, size, "%s\n%s", *text, line);
    dn_host_free (text);
    *text = longer;
}

void dn_host_free (void *ptr_to_ptr)
{
    void *ptr;

    memcpy (&ptr, ptr_to_ptr, sizeof (ptr));
    slurm_xfree (&ptr);
    memcpy (ptr_to_ptr, &ptr, sizeof (ptr));
}

char **dn_host_texts (uint32_t n)
{
    return slurm_xcalloc (
        (size_t) n + 1, sizeof (char *), true, true, __FILE__, __LINE__, __func__);
}
