/* marks.h - the #DNNEST lines of a script, and those that resemble them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MARKS_H
#define DN_MARKS_H

#include "request/tokens.h"

#define DN_MARKS_MAX 192

/* A text of a script behind a mark. */
struct dn_script_mark {
    size_t at; /* where it is in the script */
    size_t len;
    int line;   /* of the script, from 1 */
    int column; /* of the text, from 1 */
    enum {
        DN_MARK_EXACT,     /* "#DNNEST", before the first command */
        DN_MARK_LATE,      /* the same, after it */
        DN_MARK_MISSPELLED /* "# dnnest:" and the like */
    } kind;
};

/* All marks, in the order of the lines. Here-documents may hold the scripts of other
 * jobs, so there is none after the first.
 */
struct dn_marks {
    const char *script; /* borrowed */
    int n;
    int n_odd; /* of them not exact */
    bool more; /* than DN_MARKS_MAX */
    struct dn_script_mark list[DN_MARKS_MAX];
};

/* A fast search for the first "#DNNEST", "#dnnest" or "# DNNEST" in the head of a
 * script (NULL: none), which is read later, if there is one.
 */
bool dn_marks_may_be (const char *script);

struct dn_span dn_mark_text (const struct dn_marks *marks,
                             const struct dn_script_mark *mark);

/* Add the mark of a comment of 'script', if it has one. 'late': after a command. */
void dn_marks_take (struct dn_marks *marks,
                    struct dn_span script,
                    const struct dn_token *comment,
                    bool late);

#endif
