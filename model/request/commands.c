/* commands.c - what a command of a script runs
 *
 * A command that is not known counts as a program that may train: only those below that
 * are known to be short, or to do nothing on the GPU, do not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/launchers.h"

#include <string.h>

/* Commands that do not train. */
static const char harmless[] =
    " : . [ [[ ]] true false test echo printf print cd pushd popd pwd set unset shopt"
    " trap kill wait exit return break continue shift read mapfile readarray local"
    " declare typeset export readonly getopts alias unalias umask ulimit jobs fg bg"
    " disown hash type which whereis times history enable suspend logout let source"
    " ls cp mv rm ln mkdir rmdir touch chmod chown chgrp stat df du find locate file"
    " cat tac head tail less more tee wc sort uniq cut paste tr sed awk gawk mawk grep"
    " egrep fgrep zgrep rg xxd od hexdump strings diff cmp comm join split csplit fold"
    " column expand nl rev shuf seq yes basename dirname realpath readlink mktemp"
    " mkfifo truncate dd sync rsync scp sftp wget curl aria2c rclone aws gsutil gcloud"
    " s3cmd azcopy globus tar gzip gunzip zcat pigz bzip2 bunzip2 xz unxz zstd unzstd"
    " lz4 zip unzip 7z md5sum sha1sum sha256sum cksum b2sum date sleep usleep cal uptime"
    " hostname hostnamectl uname arch whoami id groups who w users getent getconf"
    " printenv nproc lscpu lsmem lspci lsof lstopo lsblk free vmstat iostat mpstat"
    " dstat top htop ps pgrep pkill killall pidof pstree nvidia-smi rocm-smi amd-smi"
    " nvtop gpustat dcgmi nvidia-cuda-mps-control nvcc ldd ldconfig nm ip ifconfig"
    " ibstat ibstatus ibv_devinfo ss netstat ping host nslookup dig nc module ml spack"
    " eb modulecmd pip pip3 pipx virtualenv venv activate"
    " deactivate npm git git-lfs svn hg dvc make cmake"
    " ninja gcc g++ cc c++ clang mpicc ln patch install bc dc expr jq yq xmllint"
    " envsubst dos2unix iconv base64 openssl perl scontrol squeue sbatch scancel sacct"
    " sacctmgr sstat sattach sinfo sprio sbcast sgather seff salloc showpartitions"
    " sreport scrontab strigger mail mailx sendmail wandb mlflow tensorboard"
    " huggingface-cli hf redis-server redis-cli mongod memcached ray tmux screen logger"
    " wall mount umount fusermount squashfuse beeond lfs"
    " ulimit stty clear tput"
    " kinit klist krenew aklog mpichversion"
    " ompi_info accelerate eval ";

/* Python's modules that do not train. */
static const char modules[] =
    " pip venv virtualenv site ensurepip json.tool compileall py_compile http.server"
    " tensorboard tensorboard.main ipykernel torch.utils.collect_env build"
    " nltk.downloader zipfile tarfile platform sysconfig timeit bitsandbytes"
    " xformers.info deepspeed.env_report visdom.server wandb this ";

static const char shells[] = " bash sh zsh dash ksh ";
static const char exporting[] = " export declare typeset local readonly ";
static const char computing[] = " let expr bc dc awk gawk mawk perl ";
static const char testing[] = " [ [[ test ";
static const char sourcing[] = " source . ";
static const char trainers[] = " torchrun deepspeed fairseq-train composer ";
static const char forgetting[] = " read mapfile readarray unset ";

static struct dn_span base_of (struct dn_span word)
{
    const char *slash = word.len > 0 ? memrchr (word.text, '/', word.len) : NULL;

    if (!slash)
        return word;
    return (struct dn_span){slash + 1, word.len - (size_t) (slash + 1 - word.text)};
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

/* Does the name of a sourced file say that it only prepares the environment? */
static bool is_setup (struct dn_span path)
{
    static const char *const parts[] = {
        "activate", "conda",   "profile", "bashrc", "module", "lmod",  "venv",
        "env",      "setvars", "setup",   "init",   "config", "util",  "common",
        "func",     "vars",    "path",    "lib",    "/etc/",  "helper"};

    for (size_t i = 0; i < DN_N_ELEMENTS (parts); i++)
        if (memmem (path.text, path.len, parts[i], strlen (parts[i])))
            return true;
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
    else if (!dn_shell_is (base_of (dn_shell_word (shell, i)), "setup.py"))
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
            if (many)
                run (shell, bash, true);
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
    struct dn_span first = base_of (dn_span_cut (&rest, " \t\n"));

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

static void run_program (struct dn_shell *shell, int at, bool many)
{
    struct dn_span word = dn_shell_word (shell, at);
    struct dn_span name = base_of (word);
    int line = shell->words[at].line;
    bool is_path = name.len < word.len;
    bool is_own = is_path && !strchr ("/$~", word.text[0]);

    if (!is_path && dn_tally_call (shell, word, line))
        return;
    if (is_python (name))
        run_python (shell, at, many);
    else if (dn_launcher_list_has (shells, name))
        run_shell (shell, at, many);
    else if (dn_launcher_list_has (trainers, name))
        run (shell, find_program (shell, at), many);
    else if (run_verb (shell, at, name, many))
        return;
    else if (dn_launcher_list_has (sourcing, word)) {
        if (at + 1 < shell->n_words && !is_setup (dn_shell_word (shell, at + 1)))
            run (shell, at + 1, many);
    } else if (!is_own && dn_launcher_list_has (harmless, name))
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
            dn_launcher_find (base_of (dn_shell_word (shell, at)));
        int begin = at;

        if (!launcher)
            break;
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
