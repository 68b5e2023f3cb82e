/* names.c - the names that people write, and the names of the zoo
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "names.h"

#include <stdio.h>
#include <string.h>

/* Endings that do not change the network. */
static const char *const endings[] = {
    "-hf",     "-chat",     "-instruct",     "-it",       "-base",       "-uncased",
    "-cased",  "-deduped",  "-pt",           "-preview",  "-finetuned",  "-sft",
    "-dpo",    "-v0.1",     "-v1",           "-v1.0",     "-v1.1",       "-v1.3",
    "-v1.5",   "-16k",      "-32k",          "-4k",       "-8k",         "-128k",
    "-python", "-in1k",     "-in21k",        "-in22k",    "-in22k-in1k", "-1k",
    "-22k",    "-22kto1k",  "-384-22k",      "-bnb-4bit", "-4bit",       "-8bit",
    "-gptq",   "-awq",      "-2407",         "-2409",     "-2410",       "-2501",
    "-2503",   "-2507",     "-multilingual", "-coco",     "-ade",        "-imagenet",
    "-1m",     "-thinking", "-think",        "-unsloth",  "-gptq-int4",  "-gptq-int8",
    "-fp8",    "-bf16",
};

/* What the '*' and the '%' of a pattern stand for. */
struct match {
    struct dn_span rest;
    int64_t image;
};

/* Advance both to the end of the pattern or to its '*', as far as they are equal. */
static bool follow (const char **text, const char **pattern, struct match *match)
{
    for (; **pattern && **pattern != '*'; (*pattern)++) {
        int64_t size = 0;

        if (**pattern != '%') {
            if (*(*text)++ != **pattern)
                return false;
            continue;
        }
        if (!dn_is_digit (**text))
            return false;
        for (; dn_is_digit (**text) && size < 100000; (*text)++)
            size = 10 * size + (**text - '0');
        match->image = size;
    }
    return true;
}

/* Is 'text' of this pattern, which has at most one '*'? */
static bool matches (const char *text, const char *pattern, struct match *match)
{
    if (!follow (&text, &pattern, match))
        return false;
    if (*pattern == '\0')
        return *text == '\0';
    for (size_t len = strlen (text); len > 0; len--) {
        const char *end = text + len;
        const char *rest = pattern + 1;
        struct match after = *match;

        if (!follow (&end, &rest, &after) || *end || *rest)
            continue;
        *match = after;
        match->rest = (struct dn_span){text, len};
        return true;
    }
    return false;
}

/* Write 'name' with what its '*' stands for; false if it does not fit. */
static bool fill_in (const char *name, struct dn_span rest, char out[DN_NAME_MAX])
{
    const char *star = strchr (name, '*');
    int n = star ? snprintf (out,
                             DN_NAME_MAX,
                             "%.*s%.*s%s",
                             (int) (star - name),
                             name,
                             (int) rest.len,
                             rest.text,
                             star + 1)
                 : snprintf (out, DN_NAME_MAX, "%s", name);

    return n < DN_NAME_MAX;
}

/* Add the name itself and what the first pattern that it matches makes of it. */
static int add_spellings (const char *text,
                          struct dn_spelling spellings[DN_SPELLINGS_MAX],
                          int n)
{
    struct dn_spelling *next = &spellings[n];

    if (n + 2 > DN_SPELLINGS_MAX)
        return n;
    snprintf (next->name, sizeof (next->name), "%s", text);
    next->image = DN_UNSET;
    n++;
    next++;
    for (const struct dn_pattern *pattern = dn_patterns; pattern->text; pattern++) {
        struct match match = {{NULL, 0}, DN_UNSET};

        if (!matches (text, pattern->text, &match))
            continue;
        if (!fill_in (pattern->name, match.rest, next->name))
            return n;
        next->image = match.image;
        return n + 1;
    }
    return n;
}

/* Cut one ending off: a tag of timm, which begins at a '.' and is no number, or a row
 * of 'endings'.
 */
static bool cut_ending (char *text)
{
    size_t len = strlen (text);
    char *dot = strrchr (text, '.');

    if (dot && dot > text && !dn_is_digit (dot[1])) {
        *dot = '\0';
        return true;
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (endings); i++) {
        size_t n = strlen (endings[i]);

        if (len > n && strcmp (text + len - n, endings[i]) == 0) {
            text[len - n] = '\0';
            return true;
        }
    }
    return false;
}

int dn_spellings_of (const char *text, struct dn_spelling spellings[DN_SPELLINGS_MAX])
{
    const char *slash = strrchr (text, '/');
    const char *from = slash ? slash + 1 : text;
    char name[DN_NAME_MAX];
    size_t len = strlen (from);
    int n = 0;

    if (len >= sizeof (name))
        return 0;
    for (size_t i = 0; i <= len; i++)
        name[i] = from[i] == '_' ? '-' : dn_lower (from[i]);
    do
        n = add_spellings (name, spellings, n);
    while (n + 2 <= DN_SPELLINGS_MAX && cut_ending (name));
    return n;
}
