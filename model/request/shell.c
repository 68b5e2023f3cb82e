/* shell.c - reading a script character by character, as a shell does
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "request/known.h"

/* Bytes between two looks at the deadline: 256 commands of one letter, which take a
 * fifth of a millisecond.
 */
#define BYTES_UNCHECKED 512

/* Bytes that may be visited, besides three times the script. */
#define VISITED_EXTRA 16384

static struct dn_source *source_of (struct dn_shell *shell)
{
    return &shell->sources[shell->n_sources - 1];
}

/* The character 'ahead' of the next one, NUL behind the end. */
static char peek (struct dn_shell *shell, size_t ahead)
{
    const struct dn_source *source = source_of (shell);

    return ahead < source->len - source->at ? source->text[source->at + ahead] : '\0';
}

static void skip (struct dn_shell *shell, size_t n)
{
    struct dn_source *source = source_of (shell);

    for (; n > 0 && source->at < source->len; n--) {
        source->line += source->text[source->at] == '\n';
        source->at++;
        shell->found->n_visited++;
    }
}

static void unclear (struct dn_shell *shell, const char *what)
{
    dn_finding_unclear (shell, source_of (shell)->line, what);
}

static void not_closed (struct dn_shell *shell, int line, const char *what)
{
    struct dn_source *source = source_of (shell);

    source->at = source->len;
    if (shell->n_mute + shell->n_written == 0)
        dn_finding_unclear (shell, line, what);
}

/* --- words -------------------------------------------------------------------------
 */

static void begin_word (struct dn_shell *shell)
{
    struct dn_place *now = &shell->now;

    if (now->in_word)
        return;
    now->in_word = true;
    now->word = (struct dn_word){
        .start = shell->text_len, .line = source_of (shell)->line, .plain = true};
}

static void append (struct dn_shell *shell, char c)
{
    begin_word (shell);
    if (shell->text_len + 1 < DN_SHELL_TEXT_MAX)
        shell->text[shell->text_len++] = c;
    else
        unclear (shell, dn_say_script_command_long);
}

/* A character that is not what it is without a quote, or of a variable's value. */
static void append_literal (struct dn_shell *shell, char c)
{
    append (shell, c);
    shell->now.word.plain = false;
}

static void append_text (struct dn_shell *shell, struct dn_span text)
{
    for (size_t i = 0; i < text.len; i++)
        append_literal (shell, text.text[i]);
}

/* A script that is written for later. */
static bool is_script (struct dn_span path)
{
    static const char *const tails[] = {".sh", ".bash", ".slurm", ".sbatch"};

    for (size_t i = 0; i < DN_N_ELEMENTS (tails); i++) {
        size_t len = strlen (tails[i]);

        if (path.len >= len && memcmp (path.text + path.len - len, tails[i], len) == 0)
            return true;
    }
    return false;
}

static void end_redirect (struct dn_shell *shell, struct dn_span word)
{
    struct dn_place *now = &shell->now;

    if (now->here_string)
        now->here_cpus |= dn_counts_cpus (word);
    else if (shell->stdin_is == DN_STDIN_DATA) {
        struct dn_span base = dn_shell_base (word);

        if (is_script (word))
            shell->stdin_is = DN_STDIN_SCRIPT;
        shell->target[0] = '\0';
        if (base.len < sizeof (shell->target)) {
            memcpy (shell->target, base.text, base.len);
            shell->target[base.len] = '\0';
        }
    }
    now->redirect = false;
    now->here_string = false;
    shell->text_len = now->word.start;
}

static void end_word (struct dn_shell *shell)
{
    struct dn_place *now = &shell->now;
    struct dn_span word;

    if (!now->in_word)
        return;
    now->in_word = false;
    now->word.len = shell->text_len - now->word.start;
    word = (struct dn_span){shell->text + now->word.start, now->word.len};
    dn_needs_word (shell, word, now->word.line);
    now->cpus |= dn_counts_cpus (word);
    now->reduced |= dn_counts_reduces (word);
    if (now->redirect) {
        end_redirect (shell, word);
        return;
    }
    if (shell->n_words == DN_SHELL_WORDS_MAX
        || shell->text_len + 1 >= DN_SHELL_TEXT_MAX) {
        unclear (shell, dn_say_script_command_long);
        return;
    }
    shell->words[shell->n_words++] = now->word;
    shell->text[shell->text_len++] = ' ';
    dn_block_word (shell);
}

/* --- variables and substitutions ---------------------------------------------------
 */

static bool is_quoted (struct dn_shell *shell)
{
    const struct dn_frame *top = dn_shell_top (shell);

    return top->kind >= DN_FRAME_QUOTE && (top->quoted || top->kind == DN_FRAME_ARRAY);
}

/* The value of a variable, split into words where it is not quoted. */
static void expand (struct dn_shell *shell, struct dn_span value, bool split)
{
    shell->found->n_visited += value.len;
    for (size_t i = 0; i < value.len; i++) {
        char c = value.text[i];

        if (split && (c == ' ' || c == '\t' || c == '\n'))
            end_word (shell);
        else
            append_literal (shell, c);
    }
}

/* A variable whose value is not known is written as $NAME. */
static void append_unknown (struct dn_shell *shell, struct dn_span name)
{
    append_literal (shell, '$');
    append_text (shell, name);
}

static void refer (struct dn_shell *shell, struct dn_span name, bool split)
{
    const struct dn_variable *variable = dn_variable_find (shell, name);

    if (variable && variable->known)
        expand (shell, dn_variable_value (shell, variable), split);
    else
        append_unknown (shell, name);
}

/* A part of a variable, such as ${NAME%.*}: it is known whether it is of CPUs. */
static void refer_part (struct dn_shell *shell, struct dn_span name)
{
    const struct dn_variable *variable = dn_variable_find (shell, name);

    if (variable && dn_counts_cpus (dn_variable_value (shell, variable)))
        append_text (shell, dn_span_of (DN_SHELL_OUTPUT_CPUS));
    else
        append_unknown (shell, name);
}

static struct dn_span take_name (struct dn_shell *shell)
{
    struct dn_source *source = source_of (shell);
    struct dn_span name = {source->text + source->at, 0};

    while (dn_shell_is_name (peek (shell, name.len)))
        name.len++;
    if (name.len == 0 && peek (shell, 0) != '\0' && strchr ("@*#?$!-", peek (shell, 0)))
        name.len = 1;
    skip (shell, name.len);
    return name;
}

/* "[@]" or another index of an array. True if it is the whole array. */
static bool take_index (struct dn_shell *shell, bool *part)
{
    if (peek (shell, 0) != '[')
        return false;
    *part = !(strchr ("@*", peek (shell, 1)) && peek (shell, 2) == ']');
    while (peek (shell, 0) != '\0' && !strchr ("]}\n", peek (shell, 0)))
        skip (shell, 1);
    if (peek (shell, 0) == ']')
        skip (shell, 1);
    return !*part;
}

/* ${NAME}, ${NAME[@]}, ${NAME:-DEFAULT} and other forms, from '{' on. */
static void begin_parameter (struct dn_shell *shell)
{
    bool quoted = is_quoted (shell);
    bool whole, part;
    bool discard = true;
    struct dn_span name;
    struct dn_frame *frame;
    char how;

    skip (shell, 1);
    part = strchr ("#!", peek (shell, 0)) && dn_shell_is_name (peek (shell, 1));
    if (part)
        skip (shell, 1);
    name = take_name (shell);
    whole = take_index (shell, &part);
    how = peek (shell, peek (shell, 0) == ':');
    if (part || (how != '}' && (how == '\0' || !strchr ("-=?+", how)))) {
        refer_part (shell, name);
    } else if (how == '}' || how == '?') {
        refer (shell, name, whole || !quoted);
    } else if (how != '+'
               && (dn_variable_find (shell, name)
                   || (name.len > 6 && memcmp (name.text, "SLURM_", 6) == 0))) {
        refer (shell, name, whole || !quoted);
    } else {
        discard = false;
        skip (shell, (size_t) 1 + (peek (shell, 0) == ':'));
        begin_word (shell);
        shell->now.word.plain = false;
    }
    begin_word (shell);
    frame = dn_block_push (shell, DN_FRAME_DEFAULT);
    if (frame)
        frame->discard = discard;
}

static void begin_sum (struct dn_shell *shell, size_t mark, bool square, bool command)
{
    struct dn_frame *frame;

    begin_word (shell);
    shell->now.word.plain = false;
    frame = dn_block_push (shell, DN_FRAME_SUM);
    skip (shell, mark);
    if (!frame)
        return;
    frame->square = square;
    frame->command = command;
}

static void end_sum (struct dn_shell *shell, size_t mark)
{
    struct dn_source *source = source_of (shell);
    struct dn_frame *frame = dn_shell_top (shell);
    struct dn_span sum = {shell->text + frame->text_len,
                          shell->text_len - frame->text_len};
    struct dn_span written = {source->text + frame->at, source->at + mark - frame->at};
    bool command = frame->command;
    bool cpus = dn_counts_sum (shell, sum, written, frame->line);

    skip (shell, mark);
    shell->text_len = frame->text_len;
    dn_block_pop (shell);
    if (command) {
        shell->now.in_word = false;
        shell->text_len = shell->now.word.start;
    } else {
        append_text (shell, dn_span_of (cpus ? DN_SHELL_OUTPUT_CPUS : DN_SHELL_OUTPUT));
    }
}

/* $( ), ` `, <( ): commands whose output is a part of the word. */
static void begin_output (struct dn_shell *shell, enum dn_frame_kind kind, size_t mark)
{
    struct dn_frame *frame;

    begin_word (shell);
    shell->now.word.plain = false;
    frame = dn_block_push (shell, kind);
    skip (shell, mark);
    if (!frame)
        return;
    frame->captured = true;
    shell->n_captured++;
}

static void end_output (struct dn_shell *shell)
{
    const char *output = shell->now.output_cpus       ? DN_SHELL_OUTPUT_CPUS
                         : shell->now.output_settings ? DN_SHELL_OUTPUT_SETTINGS
                                                      : DN_SHELL_OUTPUT;

    dn_block_pop (shell);
    append_text (shell, dn_span_of (output));
}

/* $'...' */
static void take_ansi (struct dn_shell *shell)
{
    int line = source_of (shell)->line;

    skip (shell, 2);
    begin_word (shell);
    shell->now.word.plain = false;
    for (; peek (shell, 0) != '\''; skip (shell, 1)) {
        if (peek (shell, 0) == '\0') {
            not_closed (shell, line, dn_say_script_quote);
            return;
        }
        if (peek (shell, 0) == '\\')
            skip (shell, 1);
        if (peek (shell, 0) != '\0')
            append_literal (shell, peek (shell, 0));
    }
    skip (shell, 1);
}

static void take_dollar (struct dn_shell *shell)
{
    char c = peek (shell, 1);

    if (c == '(' && peek (shell, 2) == '(') {
        begin_sum (shell, 3, false, false);
    } else if (c == '(') {
        begin_output (shell, DN_FRAME_OUTPUT, 2);
    } else if (c == '[') {
        begin_sum (shell, 2, true, false);
    } else if (c == '{') {
        skip (shell, 1);
        begin_parameter (shell);
    } else if (c == '\'' && !is_quoted (shell)) {
        take_ansi (shell);
    } else if (c == '"' && !is_quoted (shell)) {
        skip (shell, 1);
    } else if (dn_shell_is_name (c) || (c != '\0' && strchr ("@*#?$!-", c))) {
        skip (shell, 1);
        refer (shell, take_name (shell), !is_quoted (shell));
    } else {
        skip (shell, 1);
        append_literal (shell, '$');
    }
}

/* --- quotes ------------------------------------------------------------------------
 */

static void take_single_quotes (struct dn_shell *shell)
{
    struct dn_source *source = source_of (shell);
    const char *begin = source->text + source->at + 1;
    const char *end = memchr (begin, '\'', source->len - source->at - 1);

    begin_word (shell);
    shell->now.word.plain = false;
    if (!end) {
        not_closed (shell, source->line, dn_say_script_quote);
        return;
    }
    append_text (shell, (struct dn_span){begin, (size_t) (end - begin)});
    skip (shell, (size_t) (end - begin) + 2);
}

/* A backslash: of a continued line, or in front of a literal character. In quotes it is
 * special in front of a few only.
 */
static void take_escape (struct dn_shell *shell, bool quoted)
{
    char c = peek (shell, 1);

    skip (shell, 1);
    if (c == '\n') {
        skip (shell, 1);
        return;
    }
    if (quoted && (c == '\0' || !strchr ("$`\"\\", c))) {
        append_literal (shell, '\\');
        return;
    }
    if (c != '\0')
        append_literal (shell, c);
    skip (shell, 1);
}

static void begin_quotes (struct dn_shell *shell)
{
    begin_word (shell);
    shell->now.word.plain = false;
    dn_block_push (shell, DN_FRAME_QUOTE);
    skip (shell, 1);
}

static void take_backquote (struct dn_shell *shell)
{
    begin_output (shell, DN_FRAME_BACKQUOTE, 1);
}

/* What is replaced in quotes and out of them. False if 'c' begins none. */
static bool take_expansion (struct dn_shell *shell, char c)
{
    if (c == '$')
        take_dollar (shell);
    else if (c == '`')
        take_backquote (shell);
    else
        return false;
    return true;
}

/* What begins quotes, or is replaced, out of quotes. False if 'c' begins none. */
static bool take_special (struct dn_shell *shell, char c)
{
    if (c == '\'')
        take_single_quotes (shell);
    else if (c == '"')
        begin_quotes (shell);
    else if (c == '\\')
        take_escape (shell, false);
    else
        return take_expansion (shell, c);
    return true;
}

static void step_quotes (struct dn_shell *shell, char c)
{
    if (c == '"') {
        skip (shell, 1);
        dn_block_pop (shell);
    } else if (c == '\\') {
        take_escape (shell, true);
    } else if (!take_expansion (shell, c)) {
        append (shell, c);
        skip (shell, 1);
    }
}

static void end_default (struct dn_shell *shell)
{
    const struct dn_frame *frame = dn_shell_top (shell);

    if (frame->discard)
        shell->text_len = frame->text_len;
    skip (shell, 1);
    dn_block_pop (shell);
}

/* The default of ${NAME:-DEFAULT}, or what else is in the braces. */
static void step_default (struct dn_shell *shell, char c)
{
    bool quoted = is_quoted (shell);
    const struct dn_frame *frame = dn_shell_top (shell);

    if (c == '}') {
        end_default (shell);
    } else if (c == ' ' && !quoted && !frame->discard) {
        end_word (shell);
        skip (shell, 1);
    } else if ((c == '\'' && quoted) || !take_special (shell, c)) {
        append_literal (shell, c);
        skip (shell, 1);
    }
}

static void step_sum (struct dn_shell *shell, char c)
{
    struct dn_frame *frame = dn_shell_top (shell);

    if (take_expansion (shell, c))
        return;
    if (c == ']' && frame->square && frame->depth == 0) {
        end_sum (shell, 1);
        return;
    }
    if (c == ')' && !frame->square && frame->depth == 0) {
        if (peek (shell, 1) == ')')
            end_sum (shell, 2);
        else
            unclear (shell, dn_say_script_sum);
        return;
    }
    frame->depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    append (shell, c);
    skip (shell, 1);
}

/* The values of NAME=( ) become one, with blanks between them. */
static void step_array (struct dn_shell *shell, char c)
{
    if (c == ')') {
        skip (shell, 1);
        dn_block_pop (shell);
    } else if (c == '#' && strchr (" \n=", shell->text[shell->text_len - 1])) {
        while (peek (shell, 0) != '\0' && peek (shell, 0) != '\n')
            skip (shell, 1);
    } else if (!take_special (shell, c)) {
        append (shell, c);
        skip (shell, 1);
    }
}

/* --- commands ----------------------------------------------------------------------
 */

static bool in_pattern (struct dn_shell *shell)
{
    const struct dn_frame *top = dn_shell_top (shell);

    return top->kind == DN_FRAME_CASE && top->pattern;
}

/* Inside of [[ ]] operators are words. */
static bool in_test (const struct dn_shell *shell)
{
    return shell->n_words > shell->now.first
           && dn_shell_is (dn_shell_word (shell, shell->now.first), "[[")
           && !dn_shell_is (dn_shell_word (shell, shell->n_words - 1), "]]");
}

/* Read 'text' as commands next. */
static void begin_source (struct dn_shell *shell,
                          struct dn_span text,
                          int line,
                          bool mute)
{
    struct dn_frame *frame;

    if (shell->n_sources == DN_SHELL_SOURCES_MAX) {
        unclear (shell, dn_say_script_commands_deep);
        return;
    }
    frame = dn_block_push (shell, DN_FRAME_SOURCE);
    if (!frame)
        return;
    frame->mute = mute;
    shell->n_mute += mute;
    shell->sources[shell->n_sources++] = (struct dn_source){
        .text = text.text, .len = text.len, .line = line, .frame = shell->n_frames};
}

/* Read a script that is written for later: what it runs counts where it is run. */
static void begin_script (struct dn_shell *shell, struct dn_span text, int line)
{
    int n = shell->n_frames;
    int function = shell->target[0] != '\0'
                       ? dn_tally_define (shell, dn_span_of (shell->target))
                       : -1;

    begin_source (shell, text, line, function < 0);
    if (function < 0 || shell->n_frames == n)
        return;
    dn_shell_top (shell)->written = true;
    dn_shell_top (shell)->function = function;
    shell->function = function;
    shell->n_written++;
}

/* The command is complete. True if text that it runs is to be read before going on. */
static bool end_command (struct dn_shell *shell)
{
    struct dn_place *now;
    struct dn_span more;
    int line;

    end_word (shell);
    now = &shell->now;
    if (shell->n_words == now->first && !now->here_cpus)
        return false;
    if (in_pattern (shell)) {
        dn_block_drop_words (shell);
        return false;
    }
    dn_needs_end (shell);
    shell->more = (struct dn_span){NULL, 0};
    shell->more_mute = false;
    shell->more_often = false;
    if (shell->n_words > now->first)
        dn_command_read (shell);
    now->here_cpus = false;
    more = shell->more;
    if (more.text) {
        line = shell->words[now->first].line;
        begin_source (shell, more, line, shell->more_mute);
        dn_shell_top (shell)->often = shell->more_often;
        return true;
    }
    dn_block_drop_words (shell);
    return false;
}

/* The end of the innermost source; false if it is the script. */
static bool end_source (struct dn_shell *shell)
{
    int bottom = source_of (shell)->frame;

    if (dn_shell_top (shell)->kind < DN_FRAME_QUOTE && end_command (shell))
        return true;
    if (shell->n_frames > bottom && shell->n_mute + shell->n_written == 0)
        dn_finding_unclear (shell, dn_shell_top (shell)->line, dn_say_script_no_end);
    if (shell->n_sources == 1)
        return false;
    while (shell->n_frames >= bottom)
        dn_block_pop (shell);
    shell->n_sources--;
    dn_block_drop_words (shell);
    return true;
}

/* What comes between commands: how the next one follows. */
static void separate (struct dn_shell *shell, size_t n, bool conditional, bool pipe)
{
    shell->pipe_cpus = pipe && (shell->pipe_cpus || shell->now.cpus);
    shell->pipe_reduced = pipe && (shell->pipe_reduced || shell->now.reduced);
    shell->pipe_settings = pipe && (shell->pipe_settings || shell->now.settings);
    shell->conditional = conditional;
    shell->now.output_cpus |= shell->now.cpus;
    shell->now.output_settings |= shell->now.settings;
    shell->now.cpus = false;
    shell->now.settings = false;
    shell->now.reduced = false;
    skip (shell, n);
}

/* The body of the next here-document, and the lines that it takes. */
static struct dn_span take_here (struct dn_shell *shell, const struct dn_here *here)
{
    struct dn_source *source = source_of (shell);
    struct dn_span body = {source->text + source->at, 0};
    int line = source->line;

    while (source->at < source->len) {
        const char *begin = source->text + source->at;
        const char *end = memchr (begin, '\n', source->len - source->at);
        struct dn_span text = {begin,
                               end ? (size_t) (end - begin) : source->len - source->at};
        size_t whole = text.len + (end != NULL);

        while (here->tabs && text.len > 0 && text.text[0] == '\t') {
            text.text++;
            text.len--;
        }
        skip (shell, whole);
        if (dn_shell_is (text, here->end))
            return body;
        body.len += whole;
    }
    not_closed (shell, line, dn_say_script_here_end);
    return body;
}

/* A copy of the text without the backslashes that a shell removes. */
static struct dn_span unescaped (struct dn_shell *shell, struct dn_span text)
{
    struct dn_span copy = {shell->text + shell->text_len, 0};

    for (size_t i = 0; i < text.len; i++) {
        if (text.text[i] == '\\' && i + 1 < text.len
            && strchr ("$`\\", text.text[i + 1]))
            i++;
        if (shell->text_len + 1 == DN_SHELL_TEXT_MAX) {
            unclear (shell, dn_say_script_here_long);
            break;
        }
        shell->text[shell->text_len++] = text.text[i];
        copy.len++;
    }
    return copy;
}

/* The text of a here-document is for the command of its line. */
static void use_here (struct dn_shell *shell,
                      struct dn_span body,
                      int line,
                      bool quoted)
{
    bool script = shell->stdin_is == DN_STDIN_SCRIPT;
    enum dn_runs runs;

    if (script || shell->stdin_is == DN_STDIN_SHELL) {
        if (!quoted && memchr (body.text, '\\', body.len))
            body = unescaped (shell, body);
        if (script)
            begin_script (shell, body, line);
        else
            begin_source (shell, body, line, false);
        return;
    }
    dn_needs_text (shell, body, line);
    shell->found->n_visited += body.len;
    if (shell->stdin_is == DN_STDIN_DATA && shell->target[0] != '\0'
        && !strstr (shell->target, ".py"))
        dn_tally_file (shell, dn_span_of (shell->target), line);
    if (shell->stdin_is != DN_STDIN_PYTHON)
        return;
    dn_counts_code (shell, body, line);
    runs = dn_known_code (body);
    if (runs != DN_RUNS_NONE)
        dn_tally_program (shell, dn_span_of ("python"), line - 1, runs == DN_RUNS_MANY);
}

static void take_newline (struct dn_shell *shell)
{
    struct dn_span first = {"", 0};
    int line;

    separate (shell, 1, false, false);
    line = source_of (shell)->line;
    if (shell->n_here == 0) {
        shell->stdin_is = DN_STDIN_DATA;
        shell->target[0] = '\0';
        return;
    }
    for (int i = 0; i < shell->n_here; i++) {
        struct dn_span body = take_here (shell, &shell->here[i]);

        if (i == 0)
            first = body;
        else
            dn_needs_text (shell, body, line);
    }
    shell->n_here = 0;
    use_here (shell, first, line, shell->here[0].quoted);
    shell->stdin_is = DN_STDIN_DATA;
    shell->target[0] = '\0';
}

/* "<<EOF", "<<-'EOF'" */
static void begin_here (struct dn_shell *shell)
{
    struct dn_here *here = &shell->here[shell->n_here];
    size_t len = 0;

    if (shell->n_here == DN_SHELL_HERE_MAX) {
        unclear (shell, dn_say_script_here_many);
        return;
    }
    memset (here, 0, sizeof (*here));
    skip (shell, 2);
    here->tabs = peek (shell, 0) == '-';
    skip (shell, here->tabs);
    while (peek (shell, 0) == ' ' || peek (shell, 0) == '\t')
        skip (shell, 1);
    for (; peek (shell, 0) != '\0' && !strchr (" \t\r\n;&|<>()", peek (shell, 0));
         skip (shell, 1)) {
        char c = peek (shell, 0);

        if (strchr ("'\"\\", c))
            here->quoted = true;
        else if (len + 1 < sizeof (here->end))
            here->end[len++] = c;
        else
            unclear (shell, dn_say_script_here_word);
    }
    shell->n_here++;
}

/* '<' or '>' */
static void take_redirect (struct dn_shell *shell, char c)
{
    struct dn_place *now = &shell->now;
    size_t n = 1;
    bool number = now->in_word && now->word.plain;

    for (uint32_t i = now->word.start; number && i < shell->text_len; i++)
        number = shell->text[i] >= '0' && shell->text[i] <= '9';
    if (number) {
        now->in_word = false;
        shell->text_len = now->word.start;
    }
    if (peek (shell, 1) == '(') {
        if (!now->in_word || now->word.plain)
            begin_output (shell, DN_FRAME_OUTPUT, 2);
        else
            unclear (shell, dn_say_script_bracket);
        return;
    }
    end_word (shell);
    if (c == '<' && peek (shell, 1) == '<' && peek (shell, 2) != '<') {
        begin_here (shell);
        return;
    }
    now = &shell->now;
    now->here_string = c == '<' && peek (shell, 1) == '<';
    while (n < 3 && peek (shell, n) != '\0' && strchr ("<>&|", peek (shell, n)))
        n++;
    skip (shell, n);
    now->redirect = true;
}

/* Is the next character but blanks a ')'? */
static bool closes (struct dn_shell *shell)
{
    size_t n = 1;

    while (peek (shell, n) == ' ')
        n++;
    return peek (shell, n) == ')';
}

static bool define (struct dn_shell *shell)
{
    struct dn_place *now = &shell->now;

    if (!closes (shell))
        return false;
    if (now->define < 0 || shell->n_words > now->first) {
        now->define = dn_tally_define (shell, dn_shell_word (shell, now->first));
        dn_block_drop_words (shell);
        if (now->define < 0)
            unclear (shell, dn_say_script_functions);
    }
    while (peek (shell, 0) != ')')
        skip (shell, 1);
    skip (shell, 1);
    return true;
}

/* '(': of an array, a function, a sum, a pattern or a subshell. */
static void take_bracket (struct dn_shell *shell)
{
    struct dn_place *now = &shell->now;
    struct dn_span word = {shell->text + now->word.start,
                           shell->text_len - now->word.start};
    struct dn_span name, value;
    bool add;
    int n;

    if (now->in_word && dn_variable_split (word, &name, &value, &add)
        && value.len == 0) {
        now->word.plain = false;
        dn_block_push (shell, DN_FRAME_ARRAY);
        skip (shell, 1);
        return;
    }
    end_word (shell);
    now = &shell->now;
    n = shell->n_words - now->first;
    if (in_pattern (shell)) {
        skip (shell, 1);
    } else if ((n == 1 || (n == 0 && now->define >= 0)) && define (shell)) {
        return;
    } else if (peek (shell, 1) == '('
               && (n == 0 || dn_shell_is (dn_shell_word (shell, now->first), "for"))) {
        begin_sum (shell, 2, false, true);
    } else if (n == 0
               || (n == 1 && dn_shell_is (dn_shell_word (shell, now->first), "time"))) {
        dn_block_drop_words (shell);
        dn_block_push (shell, DN_FRAME_PAREN);
        skip (shell, 1);
    } else {
        unclear (shell, dn_say_script_bracket);
    }
}

static void take_closing_bracket (struct dn_shell *shell)
{
    struct dn_frame *top;

    end_word (shell);
    if (in_pattern (shell)) {
        dn_block_drop_words (shell);
        dn_shell_top (shell)->pattern = false;
        skip (shell, 1);
        return;
    }
    if (end_command (shell))
        return;
    top = dn_shell_top (shell);
    separate (shell, 1, false, false);
    if (top->kind == DN_FRAME_PAREN)
        dn_block_pop (shell);
    else if (top->kind == DN_FRAME_OUTPUT)
        end_output (shell);
    else
        unclear (shell, dn_say_script_bracket);
}

/* ";", "&", "|" and their doubles. */
static void take_operator (struct dn_shell *shell, char c)
{
    bool twice = peek (shell, 1) == c;

    if (c == '&' && peek (shell, 1) == '>') {
        end_word (shell);
        skip (shell, 1);
        take_redirect (shell, '>');
        return;
    }
    if (end_command (shell))
        return;
    if (in_pattern (shell)) {
        skip (shell, 1);
    } else if (c == ';' && (twice || peek (shell, 1) == '&')) {
        dn_block_next_case (shell, !twice || peek (shell, 2) == '&');
        separate (shell, (size_t) 2 + (twice && peek (shell, 2) == '&'), false, false);
    } else {
        bool both = c == '|' && peek (shell, 1) == '&';

        separate (
            shell, (size_t) 1 + (twice || both), twice && c != ';', c == '|' && !twice);
    }
}

static void close_backquote (struct dn_shell *shell)
{
    if (end_command (shell))
        return;
    separate (shell, 1, false, false);
    end_output (shell);
}

static void take_comment (struct dn_shell *shell)
{
    const struct dn_source *source = source_of (shell);
    const char *begin = source->text + source->at;
    const char *end = memchr (begin, '\n', source->len - source->at);

    skip (shell, end ? (size_t) (end - begin) : source->len - source->at);
}

static bool ends_word (char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void step_command (struct dn_shell *shell, char c)
{
    if (ends_word (c)) {
        end_word (shell);
        skip (shell, 1);
    } else if (c == '\n') {
        if (!end_command (shell))
            take_newline (shell);
    } else if (c == '#' && !shell->now.in_word) {
        take_comment (shell);
    } else if (c == '`' && dn_shell_top (shell)->kind == DN_FRAME_BACKQUOTE) {
        close_backquote (shell);
    } else if (take_special (shell, c)) {
        return;
    } else if (strchr ("&|<>()", c) && in_test (shell)) {
        end_word (shell);
        append_literal (shell, c);
        end_word (shell);
        skip (shell, 1);
    } else if (c == ';' || c == '&' || c == '|') {
        take_operator (shell, c);
    } else if (c == '<' || c == '>') {
        take_redirect (shell, c);
    } else if (c == '(') {
        take_bracket (shell);
    } else if (c == ')') {
        take_closing_bracket (shell);
    } else {
        append (shell, c);
        skip (shell, 1);
    }
}

static void step (struct dn_shell *shell)
{
    char c = peek (shell, 0);

    switch (dn_shell_top (shell)->kind) {
    case DN_FRAME_QUOTE:
        step_quotes (shell, c);
        break;
    case DN_FRAME_DEFAULT:
        step_default (shell, c);
        break;
    case DN_FRAME_SUM:
        step_sum (shell, c);
        break;
    case DN_FRAME_ARRAY:
        step_array (shell, c);
        break;
    default:
        step_command (shell, c);
    }
}

int dn_shell_read (struct dn_shell *shell,
                   struct dn_span script,
                   const struct dn_deadline *deadline,
                   struct dn_err *err)
{
    struct dn_script *found = shell->found;
    size_t limit = 3 * script.len + VISITED_EXTRA;
    size_t checked = 0;

    shell->sources[0] =
        (struct dn_source){.text = script.text, .len = script.len, .line = 1};
    shell->n_sources = 1;
    shell->function = -1;
    if (!dn_block_push (shell, DN_FRAME_SOURCE))
        return 0;
    shell->sources[0].frame = 1;
    while (found->unclear[0] == '\0') {
        const struct dn_source *source = source_of (shell);

        if (found->n_visited > limit)
            unclear (shell, dn_say_script_size);
        if (found->n_visited - checked >= BYTES_UNCHECKED) {
            checked = found->n_visited;
            if (dn_deadline_check (deadline, dn_say_script_end, err) < 0)
                return -1;
        }
        if (source->at < source->len)
            step (shell);
        else if (!end_source (shell))
            break;
    }
    dn_needs_end (shell);
    dn_tally_report (shell);
    return 0;
}
