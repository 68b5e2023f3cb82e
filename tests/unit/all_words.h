/* all_words.h - the index of the words of scripts, for tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEST_ALL_WORDS_H
#define DN_TEST_ALL_WORDS_H

#include "request/vocabulary.h"

static inline const struct dn_words *all_words (void)
{
    static struct dn_words words;

    dn_words_index (&words);
    return &words;
}

#endif
