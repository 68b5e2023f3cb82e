/* needs.c - words of a script that need arithmetic of newer GPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/shell.h"

#include <string.h>

#include "base/messages.h"

enum extent {
    EXTENT_NAME,   /* a part of a name between '_' or '-' */
    EXTENT_PREFIX, /* its begin */
    EXTENT_WHOLE,  /* all of an option or value */
    EXTENT_LIST    /* the name of a list of architectures */
};

/* In lower case, with '_' for '-'. transformer_engine has no kernels for older GPUs
 * than Ampere, as flash_attn 2. Code for sm_80 does not run on older ones.
 */
static const struct {
    const char *word;
    enum dn_need need;
    enum extent extent;
} needs[] = {
    {"bf16", DN_NEED_BF16, EXTENT_NAME},
    {"bfloat16", DN_NEED_BF16, EXTENT_NAME},
    {"tf32", DN_NEED_BF16, EXTENT_NAME},
    {"flash_attn", DN_NEED_BF16, EXTENT_NAME},
    {"flash_attention", DN_NEED_BF16, EXTENT_NAME},
    {"transformer_engine", DN_NEED_BF16, EXTENT_NAME},
    {"fp8", DN_NEED_FP8, EXTENT_NAME},
    {"float8", DN_NEED_FP8, EXTENT_NAME},
    {"mxfp8", DN_NEED_FP8, EXTENT_NAME},
    {"fp4", DN_NEED_FP8, EXTENT_NAME},
    {"nvfp4", DN_NEED_FP8, EXTENT_NAME},
    {"mxfp4", DN_NEED_FP8, EXTENT_NAME},
    {"flashattn", DN_NEED_BF16, EXTENT_PREFIX},
    {"flashattention", DN_NEED_BF16, EXTENT_PREFIX},
    {"flash_attention2", DN_NEED_BF16, EXTENT_NAME},
    {"use_flash", DN_NEED_BF16, EXTENT_NAME},
    {"__flash", DN_NEED_BF16, EXTENT_WHOLE},
    {"fa2", DN_NEED_BF16, EXTENT_NAME},
    {"use_te", DN_NEED_BF16, EXTENT_NAME},
    {"bfloat", DN_NEED_BF16, EXTENT_NAME},
    {"b16", DN_NEED_BF16, EXTENT_WHOLE},
    {"sm_8", DN_NEED_BF16, EXTENT_PREFIX},
    {"sm_9", DN_NEED_BF16, EXTENT_PREFIX},
    {"sm_10", DN_NEED_BF16, EXTENT_PREFIX},
    {"sm_12", DN_NEED_BF16, EXTENT_PREFIX},
    {"compute_8", DN_NEED_BF16, EXTENT_PREFIX},
    {"compute_9", DN_NEED_BF16, EXTENT_PREFIX},
    {"torch_cuda_arch_list", DN_NEED_BF16, EXTENT_LIST},
    {"cmake_cuda_architectures", DN_NEED_BF16, EXTENT_LIST},
    {"dcmake_cuda_architectures", DN_NEED_BF16, EXTENT_LIST},
};

/* Values that switch off what they are given to, or leave it to others. */
static const char *const off[] = {"false",
                                  "0",
                                  "no",
                                  "off",
                                  "none",
                                  "null",
                                  "disabled",
                                  "disable",
                                  "n",
                                  "auto",
                                  "sdpa",
                                  "eager"};

static const char *const negations[] = {"no", "not", "disable", "without", "skip"};

static bool is_alnum (char c)
{
    return dn_shell_is_name (c) && c != '_';
}

static bool is_part (char c)
{
    return dn_shell_is_name (c) || c == '-' || c == '.';
}

/* The length of 'word' if the text at 'at' begins with it, else 0. */
static size_t match (struct dn_span text, size_t at, const char *word)
{
    size_t len = strlen (word);

    return text.len - at >= len && dn_word_equal (text.text + at, len, word, len) ? len
                                                                                  : 0;
}

/* Is the value that begins at 'at' one that switches off? */
static bool is_off (struct dn_span text, size_t at)
{
    size_t end = at;

    while (end < text.len && end < at + 16 && is_part (text.text[end]))
        end++;
    for (size_t i = 0; i < DN_N_ELEMENTS (off); i++)
        if (dn_word_equal (text.text + at, end - at, off[i], strlen (off[i])))
            return true;
    return false;
}

/* Is there a "no-" or "disable_" in front of 'at'? */
static bool is_negated (struct dn_span text, size_t at)
{
    if (at == 0 || (text.text[at - 1] != '-' && text.text[at - 1] != '_'))
        return false;
    for (size_t i = 0; i < DN_N_ELEMENTS (negations); i++) {
        size_t len = strlen (negations[i]);

        if (at > len && (at == len + 1 || !is_alnum (text.text[at - len - 2]))
            && dn_word_equal (text.text + at - len - 1, len, negations[i], len))
            return true;
    }
    return false;
}

static size_t skip (struct dn_span text, size_t at, const char *set)
{
    size_t end = at + 64;

    while (at < text.len && at < end && text.text[at] != '\0'
           && strchr (set, text.text[at]))
        at++;
    return at;
}

/* What follows the name that ends at 'at': its value, of "name=value", "name value",
 * "name: value" or DeepSpeed's "name": {"enabled": value}. text.len if there is none.
 */
static size_t value_of (struct dn_span text, size_t at)
{
    size_t next = skip (text, at, "\"' \t");
    size_t enabled;

    if (next == text.len || !strchr (":=", text.text[next]))
        return next > at ? next : text.len;
    at = next;
    at = skip (text, at, ":= \t\n\"'{");
    enabled = match (text, at, "enabled");
    return enabled > 0 ? skip (text, at + enabled, ":= \t\n\"'") : at;
}

/* Is the oldest architecture of "=7.0;8.0+PTX" or "=80-real" one with bf16? */
static bool is_new_list (struct dn_span text, size_t at)
{
    size_t end = text.len - at < 128 ? text.len : at + 128;
    int oldest = 0;

    if (at == text.len || text.text[at] != '=')
        return false;
    while (++at < end && !strchr ("\n\"'", text.text[at])) {
        int version = 0;
        size_t begin = at;

        while (at < end && strchr ("0123456789.", text.text[at])) {
            if (text.text[at] != '.' && version < 1000)
                version = version * 10 + (text.text[at] - '0');
            at++;
        }
        if (at > begin && (oldest == 0 || version < oldest))
            oldest = version;
    }
    return oldest >= 80;
}

/* Does a word of that extent end at 'end'? */
static bool is_extent (struct dn_span text, size_t at, size_t end, enum extent extent)
{
    switch (extent) {
    case EXTENT_PREFIX:
        return true;
    case EXTENT_WHOLE:
        return (at == 0 || strchr ("=: \t\n\"'", text.text[at - 1]))
               && (end == text.len || strchr ("=: \t\n\"',;", text.text[end]));
    case EXTENT_LIST:
        return is_new_list (text, end);
    default:
        return end == text.len || !is_alnum (text.text[end]);
    }
}

/* The next word from '*at' on that needs something, and not less than 'least'. On
 * success '*at' is its begin and '*end' the end of the name that it is in.
 */
static enum dn_need next_need (struct dn_span text, size_t *at, size_t *end)
{
    for (; *at < text.len; (*at)++) {
        char first = text.text[*at] == '-' ? '_' : (char) (text.text[*at] | ' ');

        if (!strchr ("bcdfmnstu_", first) || (*at > 0 && is_alnum (text.text[*at - 1])))
            continue;
        for (size_t i = 0; i < DN_N_ELEMENTS (needs); i++) {
            size_t len =
                needs[i].word[0] == first ? match (text, *at, needs[i].word) : 0;

            if (len == 0 || !is_extent (text, *at, *at + len, needs[i].extent))
                continue;
            *end = *at + len;
            while (*end < text.len && is_part (text.text[*end]))
                (*end)++;
            return needs[i].need;
        }
    }
    return DN_NEED_NONE;
}

static const char *needs_what (enum dn_need need)
{
    return need == DN_NEED_FP8 ? dn_say_script_fp8 : dn_say_script_bf16;
}

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '"' || c == '\'';
}

/* The part between blanks that has 'at', as far as a reason shows it. */
static struct dn_span part_of (struct dn_span text, size_t at)
{
    size_t begin = at;
    size_t end = at;

    while (begin > 0 && at - begin < DN_QUOTE_MAX && !is_blank (text.text[begin - 1]))
        begin--;
    while (end < text.len && end - at < DN_QUOTE_MAX && !is_blank (text.text[end]))
        end++;
    return (struct dn_span){text.text + begin, end - begin};
}

static void note (struct dn_shell *shell,
                  enum dn_need need,
                  struct dn_span word,
                  int line)
{
    struct dn_script *found = shell->found;

    if (need <= found->need)
        return;
    found->need = need;
    found->need_why[0] = '\0';
    dn_finding (found->need_why, line, word, needs_what (need));
}

/* Confirm what an option needs, unless the word after it switches it off. */
static void settle (struct dn_shell *shell, bool switched_off)
{
    struct dn_script *found = shell->found;

    if (shell->pending > found->need && !switched_off) {
        found->need = shell->pending;
        memcpy (found->need_why, shell->pending_why, DN_REASON_MAX);
    }
    shell->pending = DN_NEED_NONE;
}

/* A need that the next word may switch off. */
static void defer (struct dn_shell *shell,
                   enum dn_need need,
                   struct dn_span word,
                   int line)
{
    shell->pending = need;
    shell->pending_why[0] = '\0';
    dn_finding (shell->pending_why, line, word, needs_what (need));
}

/* Search 'text'. An option that is a word may have its value in the next one. */
static void search (struct dn_shell *shell, struct dn_span text, int line, bool is_word)
{
    enum dn_need need;
    size_t end = 0;
    size_t counted = 0;

    for (size_t at = 0; (need = next_need (text, &at, &end)) != DN_NEED_NONE;
         at = end) {
        size_t value = value_of (text, end);
        struct dn_span part = part_of (text, at);

        for (; counted < at; counted++)
            line += text.text[counted] == '\n';
        if (is_negated (text, at) || (value < text.len && is_off (text, value)))
            continue;
        if (is_word && text.text[0] == '-' && end == text.len
            && !memchr (text.text, '=', at))
            defer (shell, need, part, line);
        else
            note (shell, need, part, line);
    }
}

void dn_needs_word (struct dn_shell *shell, struct dn_span word, int line)
{
    settle (shell, is_off (word, 0));
    search (shell, word, line, true);
}

void dn_needs_end (struct dn_shell *shell)
{
    settle (shell, false);
}

void dn_needs_text (struct dn_shell *shell, struct dn_span text, int line)
{
    search (shell, text, line, false);
}
