/* names.c - the names that people write, and the names of the zoo
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "names.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Endings that do not change the network. */
static const char *const endings[] = {
    "-hf",     "-chat",     "-instruct",     "-it",        "-base",       "-uncased",
    "-cased",  "-deduped",  "-pt",           "-preview",   "-finetuned",  "-sft",
    "-dpo",    "-v0.1",     "-v1",           "-v1.0",      "-v1.1",       "-v1.3",
    "-v1.5",   "-16k",      "-32k",          "-4k",        "-8k",         "-128k",
    "-python", "-in1k",     "-in21k",        "-in22k",     "-in22k-in1k", "-1k",
    "-22k",    "-22kto1k",  "-384-22k",      "-bnb-4bit",  "-4bit",       "-8bit",
    "-gptq",   "-awq",      "-2407",         "-2409",      "-2410",       "-2501",
    "-2503",   "-2507",     "-multilingual", "-coco",      "-ade",        "-imagenet",
    "-1m",     "-thinking", "-think",        "-unsloth",   "-gptq-int4",  "-gptq-int8",
    "-fp8",    "-bf16",     "-awq-int4",     "-bnb-nf4",   "-int4",       "-int8",
    "-2411",   "-2506",     "-terminus",     "-base-v0.1", "-mlm",        ".pt",
};

/* Words of names whose network has another shape than that whose name is within, or is
 * none that learns. "v" is for vision.
 */
static const char apart[] =
    "adapter audio bitnet blip2 clip draft eagle gguf ggml image linear llava mamba "
    "medusa moe mlx multimodal omni onnx pruned speculator speech v v2 video vision "
    "vl";

const struct dn_pattern dn_patterns[] = {
#include "graph/zoo/patterns.inc"
    {NULL, NULL}};

/* A row of publishers.inc. */
static const struct publisher {
    const char *name;
    const char *families;
} publishers[] = {
#include "graph/zoo/publishers.inc"
};

const struct dn_kin dn_kins[] = {
#include "graph/zoo/kin.inc"
    {NULL, NULL}};

const struct dn_kin dn_classes[] = {
#include "graph/zoo/classes.inc"
    {NULL, NULL}};

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

/* "7b", "1.3b", "350m", "8x7b" */
static bool is_size (struct dn_span word)
{
    size_t last = word.len - 1;

    if (word.len < 2 || (word.text[last] != 'b' && word.text[last] != 'm'))
        return false;
    for (size_t i = 0; i < last; i++)
        if (!dn_is_digit (word.text[i])
            && (i == 0 || (word.text[i] != '.' && word.text[i] != 'x')))
            return false;
    return true;
}

static bool has_digit (struct dn_span word)
{
    for (size_t i = 0; i < word.len; i++)
        if (dn_is_digit (word.text[i]))
            return true;
    return false;
}

#define WORDS_MAX 16

/* Cut a name into words. Return the number of the only one that is a size; -1 if none
 * is, or several are, or one is 'apart'.
 */
static int find_size (const char *text, struct dn_span words[WORDS_MAX])
{
    struct dn_span rest = dn_span_of (text);
    int size = -1;

    for (int n = 0; n < WORDS_MAX && rest.text; n++) {
        words[n] = dn_span_cut (&rest, "-");
        if (dn_words_have (apart, words[n]) || (size >= 0 && is_size (words[n])))
            return -1;
        size = is_size (words[n]) ? n : size;
    }
    return rest.text ? -1 : size;
}

/* Write the words from 'first' to 'size': the inner ones only if they have a number, or
 * 'all' are wanted.
 */
static void join (const struct dn_span *words,
                  int first,
                  int size,
                  bool all,
                  char out[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (out, DN_NAME_MAX);

    for (int i = first; i <= size; i++)
        if (all || i == first || has_digit (words[i]))
            dn_buf_add (&buf,
                        "%s%.*s",
                        i > first ? "-" : "",
                        (int) words[i].len,
                        words[i].text);
}

/* A fine-tuned decoder has the shape of the one whose family and size its name has:
 * "dolphin-2.9-llama3-8b", "llama-3.1-8b-sql", "llama-3-open-ko-8b".
 */
static int add_within (const char *text,
                       struct dn_spelling spellings[DN_SPELLINGS_MAX],
                       int n)
{
    struct dn_span words[WORDS_MAX];
    int size = find_size (text, words);
    char name[DN_NAME_MAX];

    for (int all = 1; all >= 0; all--)
        for (int first = 0; first < size; first++) {
            join (words, first, size, all > 0, name);
            n = add_spellings (name, spellings, n);
        }
    return n;
}

/* The name without its publisher. "ViT-B/16" has none. */
static const char *own_name (const char *text)
{
    const char *slash = strrchr (text, '/');

    return slash && slash[1 + strspn (slash + 1, "0123456789")] ? slash + 1 : text;
}

/* Endings that a name has at most. */
#define ENDINGS_CUT 8

int dn_spellings_of (const char *text, struct dn_spelling spellings[DN_SPELLINGS_MAX])
{
    const char *from = own_name (text);
    char name[DN_NAME_MAX];
    size_t len = strlen (from);
    int n = 0;

    if (len >= sizeof (name))
        return 0;
    for (size_t i = 0; i <= len; i++)
        name[i] = strchr ("_/", from[i]) && from[i] ? '-' : dn_lower (from[i]);
    for (int cut = 0; cut == 0 || (cut < ENDINGS_CUT && cut_ending (name)); cut++)
        n = add_spellings (name, spellings, n);
    return add_within (name, spellings, n);
}

bool dn_publishes (const char *text, const char *network)
{
    const char *slash = strrchr (text, '/');
    struct dn_span who = {text, slash ? (size_t) (slash - text) : 0};

    for (size_t i = 0; slash && i < DN_N_ELEMENTS (publishers); i++) {
        struct dn_span families = dn_span_of (publishers[i].families);

        if (!dn_span_is (who, publishers[i].name))
            continue;
        for (struct dn_span one; (one = dn_span_cut (&families, ",")).text;)
            if (strncmp (network, one.text, one.len) == 0)
                return true;
        return false;
    }
    return true;
}

/* --- likeness ----------------------------------------------------------------------
 */

#define PIECES_MAX 24

/* Letters in a row, or a number: "resnet", "50". None of a tag after a '.' */
struct piece {
    struct dn_span text;
    double number; /* -1: letters */
};

static bool begins_tag (const char *text, bool within)
{
    return within && *text == '.' && !dn_is_digit (text[1]);
}

static int cut_pieces (const char *text, struct piece pieces[PIECES_MAX])
{
    int n = 0;

    while (*text && n < PIECES_MAX && !begins_tag (text, n > 0)) {
        struct piece *piece = &pieces[n];
        const char *begin = text;
        bool digits = dn_is_digit (*text);

        while (dn_is_digit (*text) == digits && *text && !strchr ("-_. /", *text))
            text++;
        if (digits && *text == '.' && dn_is_digit (text[1]))
            for (text++; dn_is_digit (*text);)
                text++;
        piece->text = (struct dn_span){begin, (size_t) (text - begin)};
        piece->number = -1;
        if (digits)
            dn_real_read (piece->text, "", 0, 1e15, &piece->number, NULL);
        n += piece->text.len > 0;
        text += *text && strchr ("-_ /", *text);
        text += *text == '.' && dn_is_digit (text[1]);
    }
    return n;
}

static bool are_same (const struct piece *a, const struct piece *b)
{
    bool letter = a->text.len == 1 || b->text.len == 1;

    if (a->number >= 0 || b->number >= 0)
        return a->number == b->number;
    /* "b" is short for "base". */
    return dn_word_equal (
        a->text.text, letter ? 1 : a->text.len, b->text.text, letter ? 1 : b->text.len);
}

static bool are_equal (const struct piece *a, const struct piece *b)
{
    return dn_word_equal (a->text.text, a->text.len, b->text.text, b->text.len);
}

static bool has_all (const struct piece *word, int n, const struct piece *of, int n_of)
{
    int n_found = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n_of; j++)
            if (are_same (&word[i], &of[j])) {
                n_found++;
                break;
            }
    return n_found == n;
}

/* How well the family, the first piece of 'other', is met; 0: it is another. A letter
 * makes another family as often as not: one may be wrong where all else is right, or
 * one too many or too few in a long word alone.
 */
static int family_likeness (const struct piece *word,
                            int n,
                            const struct piece *other,
                            int n_other)
{
    char name[DN_NAME_MAX];
    struct dn_span first = word->text;
    struct dn_span family = other->text;
    size_t more = first.len - family.len;
    bool number = n > 1 && n_other > 1 && word[1].number >= 0;

    if (are_equal (word, other))
        return family.len > 1 || (number && word[1].number == other[1].number) ? 1000
                                                                               : 0;
    if (first.len > family.len
        && ((family.len >= 4
             && dn_word_equal (first.text + more, family.len, family.text, family.len))
            || (family.len >= 5 && more <= 2
                && dn_word_equal (first.text, family.len, family.text, family.len))))
        return 500;
    snprintf (name, sizeof (name), "%.*s", (int) family.len, family.text);
    if ((first.len < 4 && !(number && word[1].number == other[1].number))
        || dn_word_distance (first, name) != 1)
        return 0;
    return (n > 1 ? has_all (word + 1, n - 1, other + 1, n_other - 1)
                  : first.len > 5 && first.len != family.len)
               ? 300
               : 0;
}

/* What the pieces after the family add. */
static int rest_likeness (const struct piece *word,
                          int n_word,
                          const struct piece *other,
                          int n_other)
{
    int sum = -2 * n_other;
    int k = 0;

    for (int i = 0; i < n_word; i++) {
        bool found = false;

        for (int j = 0; j < n_other && !found; j++)
            found = are_same (&word[i], &other[j]);
        sum += found ? 40 : 0;
        if (word[i].number < 0)
            continue;
        while (k < n_other && other[k].number < 0)
            k++;
        if (k < n_other && word[i].number > 0 && other[k].number > 0)
            sum += (int) (30
                          * fmin (word[i].number / other[k].number,
                                  other[k].number / word[i].number));
        k++;
    }
    return sum;
}

/* So many letters beside a name are not near it. */
#define NEAR 4

/* Has a piece the first or the last two letters of the first word of 'network', unless
 * that is short? Without them it is neither that word nor one letter beside it.
 */
static bool may_mean (const struct piece *word, int n, const char *network)
{
    size_t len = strcspn (network, "0123456789-_. /");

    if (len < 4)
        return true;
    for (int i = 0; i < n; i++) {
        struct dn_span piece = word[i].text;
        const char *end = piece.text + piece.len;

        if (piece.len >= 2
            && ((dn_lower (piece.text[0]) == network[0]
                 && dn_lower (piece.text[1]) == network[1])
                || (dn_lower (end[-1]) == network[len - 1]
                    && dn_lower (end[-2]) == network[len - 2])))
            return true;
    }
    return false;
}

/* How likely someone who writes 'text', whose pieces these are, means this network: by
 * family first, then by numbers and words. 0: it is of another family.
 */
static int likeness (const char *text,
                     const struct piece *word,
                     int n_word,
                     const char *network)
{
    struct piece other[PIECES_MAX] = {{.number = -1}};
    int n_other = may_mean (word, n_word, network) ? cut_pieces (network, other) : 0;
    int distance = NEAR;
    int first = n_other > 0 ? family_likeness (word, n_word, other, n_other) : 0;

    /* The family may stand later: "my-llama-3-9b". */
    for (int i = 1; first == 0 && i < n_word; i++)
        if (word[i].text.len > 3 && n_other > 0 && are_equal (&word[i], other))
            first = 280 - 10 * i;
    if (first == 0)
        return 0;
    /* Within a family letters count: "resnet5O". */
    if (labs ((long) strlen (text) - (long) strlen (network)) < NEAR)
        distance = dn_word_distance (dn_span_of (text), network);
    return first + rest_likeness (word, n_word, other, n_other)
           + (distance < NEAR ? 10 * (NEAR - distance) : 0);
}

const char *dn_name_nearest (const char *text, dn_name_at_f at, const void *names)
{
    struct piece word[PIECES_MAX] = {{.number = -1}};
    int n_word = cut_pieces (own_name (text), word);
    const char *nearest = NULL;
    const char *name;
    int most = 0;

    for (int i = 0; (name = at (names, i)); i++) {
        int now = likeness (text, word, n_word, name);

        if (now > most) {
            most = now;
            nearest = name;
        }
    }
    return nearest;
}

/* Is 'word' in the text? A '#' of it is a digit. */
static bool is_within (const char *word, const char *text)
{
    for (; *text; text++) {
        size_t n = 0;

        while (word[n] && (word[n] == '#' ? dn_is_digit (text[n]) : word[n] == text[n]))
            n++;
        if (!word[n])
            return true;
    }
    return false;
}

/* Is it NAME.HEAD, a network with another head? */
static bool has_head (const char *name)
{
    const char *dot = strrchr (name, '.');

    return dot && !dn_is_digit (dot[1]);
}

/* The name that fits a row's, which may end in a '*', and 'word' the most. */
static const char *member_of (const char *name,
                              const struct piece *word,
                              int n_word,
                              dn_name_at_f at,
                              const void *names)
{
    size_t len = strcspn (name, "*");
    const char *nearest = NULL;
    const char *one;
    int most = INT_MIN;

    for (int i = 0; (one = at (names, i)); i++) {
        struct piece other[PIECES_MAX];
        int now;

        if (strncmp (one, name, len) != 0 || (!name[len] && one[len]) || has_head (one))
            continue;
        now = rest_likeness (word, n_word, other, cut_pieces (one, other));
        if (now > most) {
            most = now;
            nearest = one;
        }
    }
    return nearest;
}

const char *dn_name_kin (const struct dn_kin *rows,
                         const char *text,
                         dn_name_at_f at,
                         const void *names)
{
    const char *from = own_name (text);
    struct piece word[PIECES_MAX];
    char name[2 * DN_NAME_MAX];
    int n_word = cut_pieces (from, word);
    const char *kin = NULL;
    size_t n = 0;

    name[n++] = '-';
    for (; *from && n < sizeof (name) - 2 && !begins_tag (from, n > 1); from++)
        name[n++] = *from == '_' ? '-' : dn_lower (*from);
    name[n++] = '-';
    name[n] = '\0';
    for (; !kin && rows->word; rows++)
        if (is_within (rows->word, name))
            kin = member_of (rows->name, word, n_word, at, names);
    return kin;
}
