/* commands.c - what a command of a script runs
 *
 * A command that is not known counts as a program that may train: only those of known.c
 * do not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/known.h"
#include "request/launchers.h"

#include <string.h>

static const char shells[] = " bash sh zsh dash ksh ";
static const char exporting[] = " export declare typeset local readonly ";
static const char computing[] = " let expr bc dc jq ";
static const char languages[] = " awk gawk mawk perl ";
static const char scripting[] = " ruby Rscript node ";
static const char testing[] = " [ [[ test ";
static const char sourcing[] = " source . ";
static const char trainers[] = " torchrun deepspeed fairseq-train composer ";
static const char forgetting[] = " read mapfile readarray unset ";

static bool has (struct dn_span word, const char *part)
{
    return memmem (word.text, word.len, part, strlen (part));
}

/* A word of several is text for a shell. */
static bool is_text (struct dn_span word)
{
    static const char *const marks[] = {" ", "\t", "\n", ";", "&", "|"};

    for (size_t i = 0; i < DN_N_ELEMENTS (marks); i++)
        if (has (word, marks[i]))
            return true;
    return false;
}

static void read_more (struct dn_shell *shell, int at, bool many)
{
    shell->more = dn_shell_word (shell, at);
    shell->more_often = many;
}

/* The output of a command, such as that of $(cat FILE) and <(cat FILE). */
static bool is_output (struct dn_span word)
{
    return dn_shell_is (word, DN_SHELL_OUTPUT)
           || dn_shell_is (word, DN_SHELL_OUTPUT_CPUS);
}

static bool is_settings (struct dn_span word)
{
    return dn_shell_is (word, DN_SHELL_OUTPUT_SETTINGS);
}

static bool ends_with (struct dn_span word, const char *tail)
{
    size_t len = strlen (tail);

    return word.len >= len && memcmp (word.text + word.len - len, tail, len) == 0;
}

/* "python", "python3", "python3.11", "ipython", "pypy3" */
static bool is_python (struct dn_span name)
{
    static const char *const names[] = {"python", "ipython", "pypy"};

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++) {
        size_t at = strlen (names[i]);

        if (name.len < at || memcmp (name.text, names[i], at) != 0)
            continue;
        while (at < name.len && strchr ("0123456789.", name.text[at]))
            at++;
        if (at == name.len)
            return true;
    }
    return false;
}

/* --- programs ----------------------------------------------------------------------
 */

/* The program of a launcher for trainings: the word that ends in ".py" or follows "-m";
 * else the launcher.
 */
static int find_program (const struct dn_shell *shell, int at)
{
    for (int i = at; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (ends_with (word, ".py"))
            return i;
        if (i > at && dn_shell_is (word, "-m") && i + 1 < shell->n_words
            && !has (dn_shell_word (shell, i + 1), "distributed")
            && !has (dn_shell_word (shell, i + 1), "="))
            return i + 1;
    }
    return at;
}

/* Hydra's sweeps: "--multirun", or "-m" and a word such as lr=0.1,0.01 behind the
 * program.
 */
static bool is_sweep (const struct dn_shell *shell, int at)
{
    bool short_form = false;
    bool list = false;

    for (int i = at + 1; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (dn_shell_is (word, "--multirun") || has (word, "hydra.mode=MULTIRUN"))
            return true;
        if (dn_shell_is (word, "-m"))
            short_form = true;
        else if (word.len > 0 && word.text[0] != '-' && has (word, "="))
            list |= has (word, ",") || has (word, "(");
    }
    return short_form && list;
}

static void run (struct dn_shell *shell, int at, bool many)
{
    struct dn_span word = dn_shell_word (shell, at);
    int line = shell->words[at].line;

    many |= is_sweep (shell, at);
    if (!dn_tally_script (shell, word, line) && !dn_known_preparing (word))
        dn_tally_program (shell, word, line, many);
}

/* Commands that come from elsewhere: how many is not known. */
static void run_data (struct dn_shell *shell, int at)
{
    dn_tally_program (shell, dn_shell_word (shell, at), shell->words[at].line, true);
}

static void run_python_code (struct dn_shell *shell, int at, int python, bool many)
{
    struct dn_span code = dn_shell_word (shell, at);
    enum dn_runs runs = dn_known_code (code);

    dn_counts_code (shell, code, shell->words[at].line);
    dn_counts_compute (shell, python, false);
    if (runs != DN_RUNS_NONE)
        run (shell, python, many || runs == DN_RUNS_MANY);
}

static void run_module (struct dn_shell *shell, int at, bool many)
{
    if (!dn_known_module (dn_shell_word (shell, at)))
        run (shell, find_program (shell, at), many);
}

/* Without a script its program is that of a here-document, if there is one. */
static void run_stdin (struct dn_shell *shell, int at, enum dn_stdin kind, bool many)
{
    if (shell->n_here > 0)
        shell->stdin_is = kind;
    else if (!shell->pipe_settings)
        run (shell, at, many);
}

static void run_python (struct dn_shell *shell, int python, bool many)
{
    int i = python + 1;

    for (; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (word.len < 2 || word.text[0] != '-')
            break;
        if (dn_shell_is (word, "-V") || dn_shell_is (word, "--version")
            || dn_shell_is (word, "-h") || dn_shell_is (word, "--help"))
            return;
        if (i + 1 == shell->n_words)
            continue;
        if (word.text[1] != '-' && ends_with (word, "c")) {
            run_python_code (shell, i + 1, python, many);
            return;
        }
        if (word.text[1] != '-' && ends_with (word, "m")) {
            run_module (shell, i + 1, many);
            return;
        }
        if (dn_shell_is (word, "-W") || dn_shell_is (word, "-X"))
            i++;
    }
    if (i >= shell->n_words || dn_shell_is (dn_shell_word (shell, i), "-"))
        run_stdin (shell, python, DN_STDIN_PYTHON, many);
    else if (!dn_shell_is (dn_shell_base (dn_shell_word (shell, i)), "setup.py"))
        run (shell, i, many);
}

/* A word that is read as commands. */
static void run_text (struct dn_shell *shell, int at, bool many)
{
    if (is_output (dn_shell_word (shell, at)))
        run_data (shell, at);
    else if (!is_settings (dn_shell_word (shell, at)))
        read_more (shell, at, many);
}

/* "bash -c TEXT", "bash FILE", "bash <<EOF" */
static void run_shell (struct dn_shell *shell, int bash, bool many)
{
    int i = bash + 1;

    for (; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (word.len < 2 || (word.text[0] != '-' && word.text[0] != '+'))
            break;
        if (word.text[1] != '-' && memchr (word.text, 'c', word.len)
            && i + 1 < shell->n_words) {
            run_text (shell, i + 1, many);
            return;
        }
        if (dn_shell_is (word, "-s"))
            break;
        if (dn_shell_is (word, "-o") || dn_shell_is (word, "+o")
            || dn_shell_is (word, "--rcfile"))
            i++;
    }
    if (i == shell->n_words || dn_shell_is (dn_shell_word (shell, i), "-s")
        || dn_shell_is (dn_shell_word (shell, i), "-"))
        run_stdin (shell, bash, DN_STDIN_SHELL, true);
    else if (is_output (dn_shell_word (shell, i)))
        run_data (shell, bash);
    else if (!is_settings (dn_shell_word (shell, i)))
        run (shell, i, many);
}

/* eval: its words are one text, in which a blank is between them. */
static void run_eval (struct dn_shell *shell, int at)
{
    const struct dn_word *first = &shell->words[at + 1];
    const struct dn_word *last = &shell->words[shell->n_words - 1];

    if (at + 1 == shell->n_words || is_settings (dn_shell_word (shell, at + 1)))
        return;
    if (is_output (dn_shell_word (shell, at + 1)))
        run_data (shell, at);
    else
        shell->more = (struct dn_span){shell->text + first->start,
                                       last->start + last->len - first->start};
}

/* --- variables ---------------------------------------------------------------------
 */

/* A value that is a command with CPUs is judged where it is assigned: it may be used in
 * several ways.
 */
static void judge_value (struct dn_shell *shell, struct dn_span value)
{
    struct dn_span rest = value;
    struct dn_span first = dn_shell_base (dn_span_cut (&rest, " \t\n"));

    if (rest.text && first.len > 0 && !shell->more.text && dn_launcher_find (first)) {
        shell->more = value;
        shell->more_mute = true;
    }
}

static void assign (struct dn_shell *shell, int from)
{
    for (int i = from; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);
        struct dn_span name, value;
        bool append;

        if (!dn_variable_split (word, &name, &value, &append))
            continue;
        dn_counts_variable (shell, name, value, shell->words[i].line);
        dn_variable_set (shell, name, value, append);
        judge_value (shell, value);
    }
}

/* --- commands ----------------------------------------------------------------------
 */

/* nvidia-smi sets clocks or power. */
static void judge_smi (struct dn_shell *shell, int at)
{
    static const char setting[] = " -pl --power-limit -lgc --lock-gpu-clocks -ac"
                                  " --applications-clocks -lmc --lock-memory-clocks ";

    for (int i = at + 1; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);
        struct dn_span rest = word;

        if (dn_launcher_list_has (setting, dn_span_cut (&rest, "=")))
            dn_counts_judge (shell, DN_RULE_CLOCK, word, word, shell->words[i].line);
    }
}

/* The command of a trap: of a single word only if that is a function. */
static void run_trap (struct dn_shell *shell, int at)
{
    int i = at + 1;

    if (i < shell->n_words && dn_shell_is (dn_shell_word (shell, i), "--"))
        i++;
    if (i >= shell->n_words)
        return;
    if (is_text (dn_shell_word (shell, i)) || has (dn_shell_word (shell, i), "/"))
        read_more (shell, i, false);
    else
        dn_tally_call (shell, dn_shell_word (shell, i), shell->words[i].line, false);
}

/* awk's and perl's programs may run commands; a file of perl's is a program. */
static void run_language (struct dn_shell *shell, int at, struct dn_span name)
{
    static const char *const calls[] = {"system(",
                                        "system (",
                                        "system \"",
                                        "exec(",
                                        "exec (",
                                        "exec \"",
                                        "\"sh\"",
                                        "\"bash\"",
                                        "qx"};
    bool perl = dn_shell_is (name, "perl");

    for (int i = at + 1; i < shell->n_words; i++)
        for (size_t c = 0; c < DN_N_ELEMENTS (calls); c++)
            if (has (dn_shell_word (shell, i), calls[c])) {
                run_data (shell, at);
                return;
            }
    if (perl && at + 1 < shell->n_words
        && shell->text[shell->words[at + 1].start] != '-')
        run (shell, at + 1, false);
}

/* Commands that are judged but run no program. */
static void judge_harmless (struct dn_shell *shell, int at, struct dn_span name)
{
    if (dn_launcher_list_has (exporting, name))
        assign (shell, at + 1);
    else if (dn_launcher_list_has (languages, name)) {
        dn_counts_compute (shell, at, false);
        run_language (shell, at, name);
    } else if (dn_launcher_list_has (computing, name))
        dn_counts_compute (shell, at, false);
    else if (dn_launcher_list_has (testing, name))
        dn_counts_compute (shell, at, true);
    else if (dn_shell_is (name, "eval"))
        run_eval (shell, at);
    else if (dn_shell_is (name, "trap"))
        run_trap (shell, at);
    else if (dn_shell_is (name, "nvidia-smi"))
        judge_smi (shell, at);
    else if (dn_shell_is (name, "nproc") && at + 1 == shell->n_words)
        shell->now.cpus = true;
    else if (dn_launcher_list_has (forgetting, name))
        for (int i = at + 1; i < shell->n_words; i++)
            dn_variable_forget (shell, dn_shell_word (shell, i));
}

/* Commands whose first word behind the options decides. True if this is one. */
static bool run_verb (struct dn_shell *shell, int at, struct dn_span name, bool many)
{
    static const struct {
        const char *name;
        const char *verb;
        bool many;
    } verbs[] = {
        {"accelerate", "launch", false},
        {"wandb", "agent", true},
        {"ray", "job", false},
        {"tune", "run", false},
        {"dvc", "repro", true},
        {"dvc", "exp", true},
        {"mlflow", "run", false},
        {"snakemake", NULL, true},
        {"nextflow", NULL, true},
        {"hyperfine", NULL, true},
        {"guild", "run", true},
        {"watch", NULL, true},
        {"nnictl", "create", true},
        {"optuna", NULL, true},
    };
    int i = at + 1;

    while (i < shell->n_words && shell->words[i].len > 0
           && shell->text[shell->words[i].start] == '-')
        i++;
    for (size_t v = 0; v < DN_N_ELEMENTS (verbs); v++)
        if (dn_shell_is (name, verbs[v].name)
            && (!verbs[v].verb
                || (i < shell->n_words
                    && dn_shell_is (dn_shell_word (shell, i), verbs[v].verb)))) {
            int program = find_program (shell, i);

            run (shell, program == i ? at : program, many || verbs[v].many);
            return true;
        }
    return false;
}

/* make: targets other than those that build are programs. */
static void run_make (struct dn_shell *shell, int at, bool many)
{
    static const char building[] =
        " install build clean distclean deps requirements env venv setup lint format"
        " docker data download ";

    for (int i = at + 1; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);
        bool folder = dn_launcher_list_has (" -C -f -I --directory --file ", word);
        bool number = word.len > 0 && strspn (word.text, "0123456789") >= word.len;

        if (folder && i + 1 < shell->n_words)
            word = dn_shell_word (shell, ++i);
        if (folder ? dn_tally_is_training (word)
                   : word.len > 0 && word.text[0] != '-' && !number && !has (word, "=")
                         && !dn_launcher_list_has (building, word)) {
            run (shell, at, many);
            return;
        }
    }
}

/* A variable of unknown content: srun, or the program. */
static void run_unknown (struct dn_shell *shell, int at, bool many)
{
    dn_launcher_read (shell, dn_launcher_srun (), at);
    run (shell, find_program (shell, at), many);
}

static void run_source (struct dn_shell *shell, int at, bool many)
{
    struct dn_span word;

    if (at >= shell->n_words)
        return;
    word = dn_shell_word (shell, at);
    if (is_output (word))
        run_data (shell, at);
    else if (!is_settings (word)
             && !dn_tally_script (shell, word, shell->words[at].line)
             && !dn_known_setup (word))
        run (shell, at, many);
}

/* "ruby -e CODE" computes, and runs no file. True if this is one. */
static bool run_code (struct dn_shell *shell, int at, struct dn_span name)
{
    if (!dn_launcher_list_has (scripting, name) || at + 1 == shell->n_words
        || !dn_launcher_list_has (" -e -p --eval --print ",
                                  dn_shell_word (shell, at + 1)))
        return false;
    dn_counts_compute (shell, at, false);
    return true;
}

/* Is it dnnest itself, such as 'dnnest progress' in a loop? 'dnnest probe' trains. */
static bool is_own (const struct dn_shell *shell, int at, struct dn_span name)
{
    return dn_shell_is (name, "dnnest") && at + 1 < shell->n_words
           && !dn_shell_is (dn_shell_word (shell, at + 1), "probe");
}

static void run_program (struct dn_shell *shell, int at, bool many)
{
    struct dn_span word = dn_shell_word (shell, at);
    struct dn_span name = dn_shell_base (word);
    int line = shell->words[at].line;
    bool is_path = name.len < word.len;

    if (!is_path && dn_tally_call (shell, word, line, many || is_sweep (shell, at)))
        return;
    if (is_text (word))
        read_more (shell, at, many);
    else if (is_python (name))
        run_python (shell, at, many);
    else if (dn_launcher_list_has (shells, name))
        run_shell (shell, at, many);
    else if (dn_launcher_list_has (trainers, name))
        run (shell, find_program (shell, at), many);
    else if (run_verb (shell, at, name, many) || run_code (shell, at, name))
        return;
    else if (dn_launcher_list_has (sourcing, word)) {
        run_source (shell, at + 1, many);
    } else if (dn_shell_is (name, "make"))
        run_make (shell, at, many);
    else if (is_own (shell, at, name))
        return;
    else if (dn_known_path (word))
        judge_harmless (shell, at, name);
    else if (word.len > 0 && word.text[0] == '$')
        run_unknown (shell, at, many);
    else if (word.len > 0
             && (is_path || !dn_tally_call_later (shell, word, line, many)))
        run (shell, at, many);
}

/* "find -exec", "su -c", "script -qc" and others: the index of the command that an
 * option has as its value, n_words for none.
 */
static int behind_option (const struct dn_shell *shell, int at)
{
    static const char finding[] = " -exec -execdir -ok -okdir ";
    bool find = dn_shell_is (dn_shell_base (dn_shell_word (shell, at)), "find");

    for (int i = at + 1; i + 1 < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (find ? dn_launcher_list_has (finding, word)
                       && !dn_known_path (dn_shell_word (shell, i + 1))
                 : dn_shell_is (word, "--command")
                       || (word.len > 1 && word.text[0] == '-' && word.text[1] != '-'
                           && ends_with (word, "c")))
            return i + 1;
    }
    return shell->n_words;
}

/* The first word from 'at' on that is text for a shell. */
static int behind_text (const struct dn_shell *shell, int at)
{
    while (at < shell->n_words && !is_text (dn_shell_word (shell, at)))
        at++;
    return at;
}

/* "tmux new -d 'a b'", "screen -dmS NAME a b": the index of the command. */
static int behind_session (const struct dn_shell *shell, int at)
{
    static const char verbs[] =
        " new new-session neww new-window splitw split-window send send-keys"
        " respawn-pane run run-shell ";
    struct dn_span name = dn_shell_base (dn_shell_word (shell, at));
    bool screen = dn_shell_is (name, "screen");
    bool verb = screen;
    int i = at + 1;

    for (; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (word.len > 1 && word.text[0] == '-') {
            if (screen && memchr (word.text, 'X', word.len))
                return behind_text (shell, i);
            i += strchr (screen ? "SchpstT" : "LSfstncxyeFlp", word.text[word.len - 1])
                 != NULL;
        } else if (verb) {
            return i;
        } else if (!dn_launcher_list_has (verbs, word)) {
            return shell->n_words;
        } else {
            verb = true;
        }
    }
    return shell->n_words;
}

/* Commands that take the command that they run in their own ways: its index, 'at' for
 * any other one.
 */
static int behind_others (struct dn_shell *shell, int at, bool *many)
{
    struct dn_span name = dn_shell_base (dn_shell_word (shell, at));
    int i = at;

    if (dn_shell_is (name, "find")) {
        *many = true;
        return behind_option (shell, at);
    }
    if (dn_launcher_list_has (" tmux screen ", name))
        return behind_session (shell, at);
    if (dn_launcher_list_has (" su script sg runuser -c --command ", name))
        i = name.text[0] == '-' ? at + 1 : behind_option (shell, at);
    else if (dn_shell_is (name, "perf"))
        for (int w = at + 1; w < shell->n_words; w++)
            *many |= dn_launcher_list_has (" -r --repeat ", dn_shell_word (shell, w));
    return i < shell->n_words ? i : at;
}

/* The index of the program behind the launchers from 'at' on. */
static int see_through (struct dn_shell *shell, int at, bool *many)
{
    while (at < shell->n_words) {
        const struct dn_launcher *launcher =
            dn_launcher_find (dn_shell_base (dn_shell_word (shell, at)));
        int begin = at;

        if (!launcher) {
            at = behind_others (shell, at, many);
            if (at == begin)
                break;
            continue;
        }
        /* "command -v" only looks for it. */
        if (at + 1 < shell->n_words
            && dn_shell_is (dn_shell_word (shell, at), "command")
            && dn_launcher_list_has (" -v -V ", dn_shell_word (shell, at + 1)))
            return shell->n_words;
        *many |= launcher->many;
        at = dn_launcher_read (shell, launcher, at);
        if (at == shell->n_words
            && dn_shell_is (dn_shell_base (dn_shell_word (shell, begin)), "parallel"))
            run_data (shell, begin); /* its input is commands */
        for (int i = begin + 1; i < at; i++)
            if (dn_shell_is (dn_shell_word (shell, i), "--multi-prog"))
                *many = true;
    }
    return at;
}

void dn_command_read (struct dn_shell *shell)
{
    int at = shell->now.first;
    int first;
    bool many = false;
    struct dn_span name, value;
    bool append;

    for (int i = at; i < shell->n_words; i++)
        shell->now.cpus |= dn_counts_cpus (dn_shell_word (shell, i));
    dn_counts_words (shell);
    while (at < shell->n_words
           && dn_variable_split (dn_shell_word (shell, at), &name, &value, &append)) {
        dn_counts_variable (shell, name, value, shell->words[at].line);
        at++;
    }
    if (at == shell->n_words) {
        assign (shell, shell->now.first);
        return;
    }
    if (dn_launcher_list_has (" for select ", dn_shell_word (shell, at))) {
        if (at + 1 < shell->n_words)
            dn_variable_forget (shell, dn_shell_word (shell, at + 1));
        return;
    }
    first = at;
    at = see_through (shell, at, &many);
    shell->now.settings = dn_known_settings (dn_shell_word (shell, first))
                          && (at == first || at == shell->n_words);
    for (int i = at; at > first && i < shell->n_words; i++) /* mpirun's " : " */
        many |= dn_shell_is (dn_shell_word (shell, i), ":");
    if (at < shell->n_words)
        run_program (shell, at, many);
}
