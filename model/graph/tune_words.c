/* tune_words.c - what parameters belong to, and the words of frozen=, trainable= and
 * lora_targets= for that
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "graph/tune.h"
#include "base/messages.h"

#include <string.h>

/* Is this the table whose weights the head uses? */
static bool is_tied_table (const struct dn_graph *graph,
                           const struct dn_op *op,
                           int head)
{
    return op->kind == DN_OP_EMBEDDING && head >= 0 && graph->ops[head].tied
           && op->params == graph->ops[head].n * graph->ops[head].k;
}

unsigned dn_tune_sets (const struct dn_graph *graph, int i, int head)
{
    static const unsigned of_roles[] = {
        [DN_ROLE_OTHER] = OTHER,
        [DN_ROLE_QUERY] = QUERY,
        [DN_ROLE_KEY] = KEY,
        [DN_ROLE_VALUE] = VALUE,
        [DN_ROLE_KEY_VALUE] = KEY | VALUE,
        [DN_ROLE_QKV] = QUERY | KEY | VALUE | WHOLE,
        [DN_ROLE_ATTENTION_OUT] = OUT,
        [DN_ROLE_GATE] = GATE,
        [DN_ROLE_UP] = UP,
        [DN_ROLE_DOWN] = DOWN,
    };
    const struct dn_op *op = &graph->ops[i];
    unsigned sets = of_roles[op->role];

    if (i == head || op->part == DN_PART_HEAD || is_tied_table (graph, op, head))
        sets |= HEAD;
    else
        sets |= BACKBONE;
    if (op->kind == DN_OP_EMBEDDING || (op->kind == DN_OP_LINEAR && op->tied))
        sets |= EMBEDDING;
    if (op->kind == DN_OP_NORM)
        sets |= NORM;
    if (op->part == DN_PART_ENCODER)
        sets |= ENCODER;
    if (op->part == DN_PART_DECODER)
        sets |= DECODER;
    return sets;
}

int dn_tune_fail (const struct dn_tune_words *known,
                  const struct dn_graph *graph,
                  struct dn_span word,
                  unsigned existing,
                  struct dn_err *err)
{
    char text[DN_REASON_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < known->n; i++)
        if ((known->list[i].shown & existing) != 0)
            dn_buf_add (&buf,
                        " %.*s",
                        (int) strcspn (known->list[i].words, " "),
                        known->list[i].words);
    return dn_refuse (err,
                      tune_word,
                      known->key,
                      DN_QUOTED_SPAN (word),
                      known->what,
                      graph->name,
                      text,
                      known->more);
}

/* The next of the words in 'rest', without what comes before its last '.'. */
static struct dn_span next_word (struct dn_span *rest)
{
    struct dn_span word = dn_span_cut (rest, "+");

    for (size_t i = word.len; word.text && i > 0; i--)
        if (word.text[i - 1] == '.')
            return dn_span_after (word, i);
    return word;
}

static unsigned sets_of_word (const struct dn_tune_words *known, struct dn_span word)
{
    for (int i = 0; i < known->n; i++)
        if (dn_words_have (known->list[i].words, word))
            return known->list[i].sets;
    return 0;
}

int dn_tune_read (const struct dn_tune_words *known,
                  const struct dn_graph *graph,
                  struct dn_span text,
                  unsigned existing,
                  unsigned *sets,
                  struct dn_err *err)
{
    struct dn_span word;

    *sets = 0;
    while ((word = next_word (&text)).text) {
        unsigned named = sets_of_word (known, word);

        if ((named & existing) == 0)
            return dn_tune_fail (known, graph, word, existing, err);
        *sets |= named;
    }
    return 0;
}
