/* base.c - names of enums, words without case, clean-up
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

static inline char fold (char c)
{
    return c == '-' ? '_' : dn_lower (c);
}

bool dn_word_equal (const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len != b_len)
        return false;
    for (size_t i = 0; i < a_len; i++)
        if (fold (a[i]) != fold (b[i]))
            return false;
    return true;
}

bool dn_texts_equal (const char *a, const char *b)
{
    for (; *a != '\0' && fold (*a) == fold (*b); a++)
        b++;
    return *a == *b;
}

const char *dn_names_get (const struct dn_names *names, int value)
{
    return value >= 0 && value < names->n_names ? names->names[value] : "?";
}

int dn_names_find (const struct dn_names *names, const char *text, size_t len)
{
    for (int i = 0; i < names->n_names; i++)
        if (dn_word_equal (names->names[i], strlen (names->names[i]), text, len))
            return i;
    return -1;
}

void dn_free_ptr (void *ptr_to_ptr)
{
    void *ptr;

    memcpy (&ptr, ptr_to_ptr, sizeof (ptr));
    free (ptr);
}

bool dn_has_room (size_t size)
{
    void *volatile room = malloc (size); /* or the compiler removes both calls */

    free (room);
    return room != NULL;
}
