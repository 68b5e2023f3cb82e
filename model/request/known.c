/* known.c - what names of commands, files and functions say about what they run
 *
 * Commands that are known to be short, or to do nothing on the GPU, and names that say
 * so. A name that says both, such as download_and_train.sh, may train.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/known.h"

#include <string.h>

#include "request/launchers.h"

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
    ['r' - 'a' + 1] = " ray rclone read readarray readlink readonly realpath redis-cli"
                      " redis-server return rev rg rm rmdir rocm-smi rsync ",
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

/* Tools that people install in their own folders. */
static const char tools[] =
    " pip pip3 nvcc huggingface-cli hf wandb tensorboard gsutil aws gcloud rclone jq"
    " azcopy activate cmake ninja git git-lfs gdown accelerate ray dvc mlflow ";

/* Python's modules that do not train. */
static const char modules[] =
    " pip venv virtualenv site ensurepip json.tool compileall py_compile http.server"
    " tensorboard tensorboard.main ipykernel torch.utils.collect_env build"
    " nltk.downloader zipfile tarfile platform sysconfig timeit bitsandbytes"
    " xformers.info deepspeed.env_report visdom.server wandb this ";

/* Commands whose output is settings for the shell, or an installer. */
static const char settings[] =
    " conda mamba micromamba ssh-agent module modulecmd ml pyenv rbenv direnv brew"
    " dircolors spack pixi uv poetry opam dbus-launch curl wget lesspipe locale"
    " register-python-argcomplete ";

/* Calls in Python's code that may train, or run what does. */
static const char calls[] =
    " fit main run system Popen check_call check_output call exec launch run_path"
    " run_module execv execvp spawn sweep ";

static bool has_part (struct dn_span name, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen (parts[i]);

        for (size_t at = 0; at + len <= name.len; at++)
            if (dn_word_equal (name.text + at, len, parts[i], len))
                return true;
    }
    return false;
}

bool dn_known_harmless (struct dn_span name)
{
    char first = name.len > 0 ? name.text[0] : '\0';
    const char *list = harmless[first >= 'a' && first <= 'z' ? first - 'a' + 1 : 0];

    return list && dn_launcher_list_has (list, name);
}

bool dn_known_path (struct dn_span path)
{
    static const char *const system[] = {"/bin/", "/usr/", "/sbin/"};
    struct dn_span name = dn_shell_base (path);
    struct dn_span folder = {path.text, path.len - name.len};

    if (folder.len == 0)
        return dn_known_harmless (name);
    for (size_t i = 0; i < DN_N_ELEMENTS (system); i++)
        if (path.len > strlen (system[i])
            && memcmp (path.text, system[i], strlen (system[i])) == 0)
            return dn_known_harmless (name);
    return folder.len >= 4 && memcmp (folder.text + folder.len - 4, "bin/", 4) == 0
           && dn_launcher_list_has (tools, name);
}

bool dn_known_module (struct dn_span name)
{
    return dn_launcher_list_has (modules, name);
}

bool dn_known_settings (struct dn_span word)
{
    return dn_launcher_list_has (settings, dn_shell_base (word))
           || (word.len > 0 && word.text[0] == '$'
               && (memmem (word.text, word.len, "CONDA", 5)
                   || memmem (word.text, word.len, "MAMBA", 5)
                   || memmem (word.text, word.len, "LMOD", 4)));
}

/* Does the name say that it runs a program? "export" is no "exp". */
static bool works (struct dn_span name)
{
    static const char *const parts[] = {
        "train", "run", "sweep", "fit", "tune", "tuning", "main", "exp"};
    static const char *const exports[] = {"export"};
    size_t n = DN_N_ELEMENTS (parts);

    return has_part (name, parts, n - (size_t) has_part (name, exports, 1));
}

bool dn_known_setup (struct dn_span path)
{
    static const char *const parts[] = {
        "activate", "conda",   "profile", "bashrc", "module", "lmod",  "venv",
        "env",      "setvars", "setup",   "init",   "config", "util",  "common",
        "func",     "vars",    "path",    "lib",    "/etc/",  "helper"};

    return has_part (path, parts, DN_N_ELEMENTS (parts))
           && !works (dn_shell_base (path));
}

bool dn_known_preparing (struct dn_span path)
{
    static const char *const parts[] = {
        "setup", "install", "download", "prepare_env", "prepare-env"};
    struct dn_span name = dn_shell_base (path);

    return has_part (name, parts, DN_N_ELEMENTS (parts)) && !works (name);
}

/* The name in front of the bracket at 'at'. */
static struct dn_span called (struct dn_span code, size_t at)
{
    size_t end = at;

    while (end > 0 && code.text[end - 1] == ' ' && at - end < 2)
        end--;
    at = end;
    while (at > 0 && end - at < DN_SHELL_NAME_MAX
           && dn_shell_is_name (code.text[at - 1]))
        at--;
    return (struct dn_span){code.text + at, end - at};
}

enum dn_runs dn_known_code (struct dn_span code)
{
    bool runs = memmem (code.text, code.len, "subprocess", 10);

    for (size_t at = 0; at < code.len && !runs; at++) {
        struct dn_span name;

        if (code.text[at] != '(')
            continue;
        name = called (code, at);
        runs = dn_launcher_list_has (calls, name)
               || (memmem (name.text, name.len, "train", 5)
                   && !memmem (name.text, name.len, "pretrained", 10));
    }
    if (!runs)
        return DN_RUNS_NONE;
    return memmem (code.text, code.len, "for ", 4)
                   || memmem (code.text, code.len, "while ", 6)
               ? DN_RUNS_MANY
               : DN_RUNS_ONE;
}
