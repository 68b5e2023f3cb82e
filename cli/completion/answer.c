/* answer.c - what may follow in an incomplete command line
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "completion/answer.h"

#include <stdio.h>
#include <string.h>

static const char *const flag_text[] = {
    [DN_ANSWER_FILES] = "files",
    [DN_ANSWER_DIRECTORIES] = "directories",
    [DN_ANSWER_COMMANDS] = "commands",
    [DN_ANSWER_USERS] = "users",
    [DN_ANSWER_NOSPACE] = "nospace",
    [DN_ANSWER_OPEN] = "open",
};
_Static_assert(DN_N_ELEMENTS (flag_text) == DN_N_ANSWER_FLAGS, "a text for each flag");

/* Letters, digits and what names, keys and options have besides. */
static bool is_plain (char c)
{
    return dn_is_digit (c) || (dn_lower (c) >= 'a' && dn_lower (c) <= 'z')
           || (c != '\0' && strchr ("-_.+=:,/@", c));
}

static bool all_plain (const char *word)
{
    for (; *word; word++)
        if (!is_plain (*word))
            return false;
    return true;
}

bool dn_answer_begins (const struct dn_answer *answer, const char *text)
{
    for (const char *beginning = answer->end; *beginning; beginning++, text++)
        if (dn_lower (*beginning) != dn_lower (*text))
            return false;
    return true;
}

void dn_answer_offer (struct dn_answer *answer,
                      const char *text,
                      const char *tail,
                      const char *help)
{
    if (!dn_answer_begins (answer, text) || !all_plain (text))
        return;
    printf ("%s%s\t%s\n", text, tail, help ? help : "");
    answer->n++;
}

void dn_answer_offer_names (struct dn_answer *answer, const struct dn_names *names)
{
    for (int i = 1; i < names->n_names; i++)
        dn_answer_offer (answer, names->names[i], "", NULL);
}

/* The problems of a configuration are those of 'dnnest config --check'. */
static void ignore (void *to, const struct dn_err *err)
{
    (void) to;
    (void) err;
}

/* A lookup of users may wait for a server. */
static int find_no_user (
    const void *self,
    const char *name,
    /* NOLINTNEXTLINE(readability-non-const-parameter): of struct dn_people */
    int64_t *uid,
    struct dn_err *err)
{
    (void) self;
    (void) uid;
    return dn_err_set (err, DN_E_RANGE, "%s: not looked up", name);
}

static int find_no_group (const void *self,
                          const char *name,
                          struct dn_group *group,
                          struct dn_err *err)
{
    (void) self;
    (void) group;
    return dn_err_set (err, DN_E_RANGE, "%s: not looked up", name);
}

const struct dn_site *dn_answer_site (struct dn_answer *answer)
{
    static const struct dn_people no_people = {find_no_user, find_no_group, NULL};
    struct dn_problems problems = {.report = ignore};
    struct dn_load_context context = {.people = &no_people, .problems = &problems};
    struct dn_load_paths paths = answer->given->paths;
    struct dn_err err = {0};

    if (answer->asked)
        return answer->site;
    answer->asked = true;
    paths.model = DN_SITE_NONE;
    answer->site = dn_load_site (&paths, &context, &err);
    if (!answer->site && paths.conf) {
        paths.conf = NULL;
        answer->site = dn_load_site (&paths, &context, &err);
    }
    return answer->site;
}

void dn_answer_end (struct dn_answer *answer)
{
    printf (": %zu", (size_t) (answer->end - answer->word));
    for (int i = 0; i < DN_N_ANSWER_FLAGS; i++)
        if (answer->flags[i])
            printf (" %s", flag_text[i]);
    printf ("\n");
    dn_load_free (answer->site);
    answer->site = NULL;
}
