/* commands.c - what a command of a script runs
 *
 * A command that is not known counts as a program that may train: only those below that
 * are known to be short, or to do nothing on the GPU, do not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/launchers.h"

#include <string.h>

/* Commands that do not train, by their first letter; those without one come first. */
static const char *const harmless['z' - 'a' + 2] = {
    [0] = " . 7z : [ [[ ]] ",
    ['a' - 'a' + 1] =
        " accelerate activate aklog alias amd-smi arch aria2c awk aws azcopy ",
    ['b' - 'a' + 1] = " b2sum base64 basename bc beeond bg break bunzip2 bzip2 ",
    ['c' - 'a' + 1] =
        " c++ cal cat cc cd chgrp chmod chown cksum clang clear cmake cmp column"
        " comm continue cp csplit curl cut ",
    ['d' - 'a' + 1] = " date dc dcgmi dd deactivate declare df diff dig dirname disown"
                      " dos2unix dstat du dvc ",
    ['e' - 'a' + 1] = " eb echo egrep enable envsubst eval exit expand export expr ",
    ['f' - 'a' + 1] = " false fg fgrep file find fold free fusermount ",
    ['g' - 'a' + 1] =
        " g++ gawk gcc gcloud getconf getent getopts git git-lfs globus gpustat"
        " grep groups gsutil gunzip gzip ",
    ['h' - 'a' + 1] = " hash head hexdump hf hg history host hostname hostnamectl htop"
                      " huggingface-cli ",
    ['i' - 'a' + 1] =
        " ibstat ibstatus ibv_devinfo iconv id ifconfig install iostat ip ",
    ['j' - 'a' + 1] = " jobs join jq ",
    ['k' - 'a' + 1] = " kill killall kinit klist krenew ",
    ['l' - 'a' + 1] =
        " ldconfig ldd less let lfs ln local locate logger logout ls lsblk lscpu"
        " lsmem lsof lspci lstopo lz4 ",
    ['m' - 'a' + 1] =
        " mail mailx make mapfile mawk md5sum memcached mkdir mkfifo mktemp ml"
        " mlflow module modulecmd mongod more mount mpicc mpichversion mpstat mv ",
    ['n' - 'a' + 1] =
        " nc netstat ninja nl nm npm nproc nslookup nvcc nvidia-cuda-mps-control"
        " nvidia-smi nvtop ",
    ['o' - 'a' + 1] = " od ompi_info openssl ",
    ['p' - 'a' + 1] =
        " paste patch perl pgrep pidof pigz ping pip pip3 pipx pkill popd print"
        " printenv printf ps pstree pushd pwd ",
    ['r' - 'a' + 1] =
        " ray rclone read readarray readlink readonly realpath redis-cli redis-"
        " server return rev rg rm rmdir rocm-smi rsync ",
    ['s' - 'a' + 1] =
        " s3cmd sacct sacctmgr salloc sattach sbatch sbcast scancel scontrol scp"
        " screen scrontab sed seff sendmail seq set sftp sgather sha1sum"
        " sha256sum shift shopt showpartitions shuf sinfo sleep sort source"
        " spack split sprio squashfuse squeue sreport ss sstat stat strigger"
        " strings stty suspend svn sync ",
    ['t' - 'a' + 1] =
        " tac tail tar tee tensorboard test times tmux top touch tput tr trap"
        " true truncate type typeset ",
    ['u' - 'a' + 1] =
        " ulimit umask umount unalias uname uniq unset unxz unzip unzstd uptime"
        " users usleep ",
    ['v' - 'a' + 1] = " venv virtualenv vmstat ",
    ['w' - 'a' + 1] = " w wait wall wandb wc wget whereis which who whoami ",
    ['x' - 'a' + 1] = " xmllint xxd xz ",
    ['y' - 'a' + 1] = " yes yq ",
    ['z' - 'a' + 1] = " zcat zgrep zip zstd ",
};

/* Python's modules that do not train. */
static const char modules[] =
    " pip venv virtualenv site ensurepip json.tool compileall py_compile http.server"
    " tensorboard tensorboard.main ipykernel torch.utils.collect_env build"
    " nltk.downloader zipfile tarfile platform sysconfig timeit bitsandbytes"
    " xformers.info deepspeed.env_report visdom.server wandb this ";

static const char shells[] = " bash sh zsh dash ksh ";
static const char exporting[] = " export declare typeset local readonly ";
static const char computing[] = " let expr bc dc awk gawk mawk perl jq ";
static const char scripting[] = " ruby Rscript node ";
static const char testing[] = " [ [[ test ";
static const char sourcing[] = " source . ";
static const char trainers[] = " torchrun deepspeed fairseq-train composer ";
static const char forgetting[] = " read mapfile readarray unset ";

static bool ends_with (struct dn_span word, const char *tail)
{
    size_t len = strlen (tail);

    return word.len >= len && memcmp (word.text + word.len - len, tail, len) == 0;
}

static bool is_harmless (struct dn_span name)
{
    char first = name.len > 0 ? name.text[0] : '\0';
    const char *list = harmless[first >= 'a' && first <= 'z' ? first - 'a' + 1 : 0];

    return list && dn_launcher_list_has (list, name);
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

/* Does the name of a sourced file say that it only prepares the environment? */
static bool is_setup (struct dn_span path)
{
    static const char *const parts[] = {
        "activate", "conda",   "profile", "bashrc", "module", "lmod",  "venv",
        "env",      "setvars", "setup",   "init",   "config", "util",  "common",
        "func",     "vars",    "path",    "lib",    "/etc/",  "helper"};

    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++) {
        size_t len = strlen (parts[i]);

        for (size_t at = 0; at + len <= path.len; at++)
            if (dn_word_equal (path.text + at, len, parts[i], len))
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
            && !memmem (shell->text + shell->words[i + 1].start,
                        shell->words[i + 1].len,
                        "distributed",
                        11))
            return i + 1;
    }
    return at;
}

static void run (struct dn_shell *shell, int at, bool many)
{
    dn_tally_program (shell, dn_shell_word (shell, at), shell->words[at].line, many);
}

bool dn_command_code_trains (struct dn_span code)
{
    static const char *const calls[] = {"train(", "fit("};

    for (size_t i = 0; i < DN_N_ELEMENTS (calls); i++) {
        const char *at = memmem (code.text, code.len, calls[i], strlen (calls[i]));

        if (at && (at == code.text || !dn_shell_is_name (at[-1])))
            return true;
    }
    return false;
}

static void run_python_code (struct dn_shell *shell, int at, int python, bool many)
{
    struct dn_span code = dn_shell_word (shell, at);

    dn_counts_code (shell, code, shell->words[at].line);
    dn_counts_compute (shell, python, false);
    if (dn_command_code_trains (code))
        run (shell, python, many);
}

static void run_module (struct dn_shell *shell, int at, bool many)
{
    if (!dn_launcher_list_has (modules, dn_shell_word (shell, at)))
        run (shell, find_program (shell, at), many);
}

/* Without a script its program is that of a here-document, if there is one. */
static void run_stdin (struct dn_shell *shell, int at, enum dn_stdin kind, bool many)
{
    if (shell->n_here > 0)
        shell->stdin_is = kind;
    else
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
            shell->more = dn_shell_word (shell, i + 1);
            shell->more_often = many;
            return;
        }
        if (dn_shell_is (word, "-o") || dn_shell_is (word, "+o")
            || dn_shell_is (word, "--rcfile"))
            i++;
    }
    if (i < shell->n_words && !dn_shell_is (dn_shell_word (shell, i), "-s"))
        run (shell, i, many);
    else
        run_stdin (shell, bash, DN_STDIN_SHELL, many);
}

/* eval: its words are one text, in which a blank is between them. The output of a
 * command is mostly settings, such as those of conda.
 */
static void run_eval (struct dn_shell *shell, int at)
{
    const struct dn_word *first = &shell->words[at + 1];
    const struct dn_word *last = &shell->words[shell->n_words - 1];

    if (at + 1 < shell->n_words && memcmp (shell->text + first->start, "$(", 2) != 0)
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

/* Commands that are judged but run no program. */
static void judge_harmless (struct dn_shell *shell, int at, struct dn_span name)
{
    if (dn_launcher_list_has (exporting, name))
        assign (shell, at + 1);
    else if (dn_launcher_list_has (computing, name))
        dn_counts_compute (shell, at, false);
    else if (dn_launcher_list_has (testing, name))
        dn_counts_compute (shell, at, true);
    else if (dn_shell_is (name, "eval"))
        run_eval (shell, at);
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
        {"make", "train", false},
    };
    int i = at + 1;

    while (i < shell->n_words && shell->words[i].len > 0
           && shell->text[shell->words[i].start] == '-')
        i++;
    for (size_t v = 0; v < DN_N_ELEMENTS (verbs); v++)
        if (dn_shell_is (name, verbs[v].name) && i < shell->n_words
            && dn_shell_is (dn_shell_word (shell, i), verbs[v].verb)) {
            int program = find_program (shell, i);

            run (shell, program == i ? at : program, many || verbs[v].many);
            return true;
        }
    return false;
}

/* A variable of unknown content: srun, or the program. */
static void run_unknown (struct dn_shell *shell, int at, bool many)
{
    dn_launcher_read (shell, dn_launcher_srun (), at);
    run (shell, find_program (shell, at), many);
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

static void run_program (struct dn_shell *shell, int at, bool many)
{
    struct dn_span word = dn_shell_word (shell, at);
    struct dn_span name = dn_shell_base (word);
    int line = shell->words[at].line;
    bool is_path = name.len < word.len;
    bool is_own = is_path && !strchr ("/$~", word.text[0]);

    if (!is_path && dn_tally_call (shell, word, line, many))
        return;
    if (is_python (name))
        run_python (shell, at, many);
    else if (dn_launcher_list_has (shells, name))
        run_shell (shell, at, many);
    else if (dn_launcher_list_has (trainers, name))
        run (shell, find_program (shell, at), many);
    else if (run_verb (shell, at, name, many) || run_code (shell, at, name))
        return;
    else if (dn_launcher_list_has (sourcing, word)) {
        if (at + 1 < shell->n_words && !is_setup (dn_shell_word (shell, at + 1)))
            run (shell, at + 1, many);
    } else if (!is_own && is_harmless (name))
        judge_harmless (shell, at, name);
    else if (word.len > 0 && word.text[0] == '$')
        run_unknown (shell, at, many);
    else if (word.len > 0 && (is_path || !dn_tally_call_later (shell, word, line)))
        run (shell, at, many);
}

/* The index of the program behind the launchers from 'at' on. */
static int see_through (struct dn_shell *shell, int at, bool *many)
{
    while (at < shell->n_words) {
        const struct dn_launcher *launcher =
            dn_launcher_find (dn_shell_base (dn_shell_word (shell, at)));
        int begin = at;

        if (!launcher)
            break;
        /* "command -v" only looks for it. */
        if (at + 1 < shell->n_words
            && dn_shell_is (dn_shell_word (shell, at), "command")
            && dn_launcher_list_has (" -v -V ", dn_shell_word (shell, at + 1)))
            return shell->n_words;
        *many |= launcher->many;
        at = dn_launcher_read (shell, launcher, at);
        for (int i = begin + 1; i < at; i++)
            if (dn_shell_is (dn_shell_word (shell, i), "--multi-prog"))
                *many = true;
    }
    return at;
}

void dn_command_read (struct dn_shell *shell)
{
    int at = shell->now.first;
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
    at = see_through (shell, at, &many);
    if (at < shell->n_words)
        run_program (shell, at, many);
}
