/* blocks.c - loops, branches, functions and subshells of a script
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/shell.h"

#include <string.h>

#include "base/messages.h"

struct dn_frame *dn_block_push (struct dn_shell *shell, enum dn_frame_kind kind)
{
    bool in_word = kind >= DN_FRAME_QUOTE;
    struct dn_frame *frame;
    struct dn_source *source = &shell->sources[shell->n_sources - 1];

    if (shell->n_frames == DN_SHELL_FRAMES_MAX) {
        dn_finding_unclear (shell, source->line, dn_say_script_deep);
        return NULL;
    }
    frame = &shell->frames[shell->n_frames++];
    memset (frame, 0, sizeof (*frame));
    frame->kind = kind;
    frame->line = source->line;
    frame->at = source->at;
    frame->place = shell->now;
    frame->n_words = shell->n_words;
    frame->text_len = shell->text_len;
    frame->function = -1;
    frame->outer = shell->function;
    frame->quoted = kind == DN_FRAME_QUOTE || kind == DN_FRAME_SUM
                    || (in_word && shell->n_frames > 1 && frame[-1].quoted);
    if (in_word)
        return frame;
    shell->now = (struct dn_place){.first = shell->n_words, .define = -1};
    if (kind != DN_FRAME_SOURCE && kind != DN_FRAME_OUTPUT
        && frame->place.define >= 0) {
        frame->function = frame->place.define;
        shell->function = frame->function;
        frame->place.define = -1;
    }
    return frame;
}

void dn_block_pop (struct dn_shell *shell)
{
    struct dn_frame *frame = dn_shell_top (shell);
    struct dn_tally tally = frame->tally;

    if (frame->kind == DN_FRAME_LOOP || frame->often)
        dn_tally_loop (&tally);
    if (frame->kind == DN_FRAME_IF || frame->kind == DN_FRAME_CASE) {
        dn_tally_or (&frame->best, &tally);
        tally = frame->before;
        dn_tally_then (&tally, &frame->best);
    }
    if (frame->kind < DN_FRAME_QUOTE)
        shell->now = frame->place;
    shell->function = frame->outer;
    shell->n_mute -= frame->mute;
    shell->n_written -= frame->written;
    shell->n_captured -= frame->captured;
    shell->n_frames--;
    if (frame->function >= 0)
        dn_tally_body (shell, frame->function, &tally);
    else
        dn_tally_then (&dn_shell_top (shell)->tally, &tally);
}

void dn_block_drop_words (struct dn_shell *shell)
{
    if (shell->n_words == shell->now.first)
        return;
    shell->n_words = shell->now.first;
    shell->text_len = shell->words[shell->n_words].start;
}

/* The blocks that a reserved word begins or ends. */
enum deed {
    NOTHING,
    BEGIN,
    BEGIN_AND_KEEP,
    END,
    THEN,
    ELSE
};

static const struct reserved {
    const char *word;
    enum deed deed;
    enum dn_frame_kind kind;
} reserved[] = {
    {"if", BEGIN, DN_FRAME_IF},
    {"then", THEN, DN_FRAME_IF},
    {"elif", ELSE, DN_FRAME_IF},
    {"else", ELSE, DN_FRAME_IF},
    {"fi", END, DN_FRAME_IF},
    {"for", BEGIN_AND_KEEP, DN_FRAME_LOOP},
    {"select", BEGIN_AND_KEEP, DN_FRAME_LOOP},
    {"while", BEGIN, DN_FRAME_LOOP},
    {"until", BEGIN, DN_FRAME_LOOP},
    {"do", NOTHING, DN_FRAME_LOOP},
    {"done", END, DN_FRAME_LOOP},
    {"esac", END, DN_FRAME_CASE},
    {"{", BEGIN, DN_FRAME_BRACE},
    {"}", END, DN_FRAME_BRACE},
    {"!", NOTHING, DN_FRAME_SOURCE},
};

static void misplaced (struct dn_shell *shell, int line)
{
    dn_finding_unclear (shell, line, dn_say_script_reserved);
}

static void forget_tally (struct dn_tally *tally)
{
    memset (tally, 0, sizeof (*tally));
}

/* "then" ends a condition, "elif" and "else" end a branch; what runs between "elif" and
 * "then" is counted as part of a branch.
 */
static void next_branch (struct dn_frame *frame, enum deed deed)
{
    if (deed == THEN && frame->best.n > 0)
        return;
    if (deed == THEN)
        dn_tally_then (&frame->before, &frame->tally);
    else
        dn_tally_or (&frame->best, &frame->tally);
    forget_tally (&frame->tally);
}

static void obey (struct dn_shell *shell, const struct reserved *word, int line)
{
    struct dn_word kept = shell->words[shell->n_words - 1];
    struct dn_frame *top = dn_shell_top (shell);

    if (word->deed == BEGIN_AND_KEEP) {
        shell->n_words--;
        if (!dn_block_push (shell, word->kind))
            return;
        shell->words[shell->n_words++] = kept;
        return;
    }
    dn_block_drop_words (shell);
    if (word->deed == BEGIN) {
        dn_block_push (shell, word->kind);
        return;
    }
    if (word->deed == NOTHING && (word->kind == DN_FRAME_SOURCE))
        return;
    if (top->kind != word->kind) {
        misplaced (shell, line);
        return;
    }
    if (word->deed == END)
        dn_block_pop (shell);
    else if (word->deed != NOTHING)
        next_branch (top, word->deed);
}

/* "case WORD in" and "function NAME". */
static bool begin_case_or_function (struct dn_shell *shell, struct dn_span word)
{
    int at = shell->n_words - 1 - shell->now.first;
    struct dn_span first = dn_shell_word (shell, shell->now.first);
    struct dn_frame *frame;

    if (at == 2 && dn_shell_is (first, "case") && dn_shell_is (word, "in")) {
        dn_counts_case (shell,
                        dn_shell_word (shell, shell->now.first + 1),
                        shell->words[shell->now.first].line);
        dn_block_drop_words (shell);
        frame = dn_block_push (shell, DN_FRAME_CASE);
        if (frame)
            frame->pattern = true;
        return true;
    }
    if (at != 1 || !dn_shell_is (first, "function"))
        return false;
    shell->now.define = dn_tally_define (shell, word);
    if (shell->now.define < 0)
        dn_finding_unclear (
            shell, shell->words[shell->n_words - 1].line, dn_say_script_functions);
    dn_block_drop_words (shell);
    return true;
}

void dn_block_word (struct dn_shell *shell)
{
    const struct dn_word *last = &shell->words[shell->n_words - 1];
    struct dn_span word = dn_shell_word (shell, shell->n_words - 1);
    struct dn_frame *top = dn_shell_top (shell);
    bool is_first = shell->n_words - 1 == shell->now.first;

    if (!last->plain)
        return;
    if (top->kind == DN_FRAME_CASE && top->pattern) {
        if (is_first && dn_shell_is (word, "esac")) {
            dn_block_drop_words (shell);
            dn_block_pop (shell);
        }
        return;
    }
    if (begin_case_or_function (shell, word) || !is_first)
        return;
    for (size_t i = 0; i < DN_N_ELEMENTS (reserved); i++)
        if (dn_shell_is (word, reserved[i].word)) {
            obey (shell, &reserved[i], last->line);
            return;
        }
}

void dn_block_next_case (struct dn_shell *shell, bool through)
{
    struct dn_frame *top = dn_shell_top (shell);

    if (top->kind != DN_FRAME_CASE || top->pattern) {
        dn_finding_unclear (
            shell, shell->sources[shell->n_sources - 1].line, dn_say_script_case);
        return;
    }
    if (!through) {
        dn_tally_or (&top->best, &top->tally);
        forget_tally (&top->tally);
    }
    top->pattern = true;
}
