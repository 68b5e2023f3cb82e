/* launchers.c - commands that run other commands
 *
 * Of a launcher with many options only those without a value are listed, of others only
 * those with one. A wrong guess makes another word the program, which is one program
 * all the same.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/launchers.h"

#include <string.h>

#define RULES(...)                                                                     \
    (const struct dn_launcher_rule[])                                                  \
    {                                                                                  \
        __VA_ARGS__,                                                                   \
        {                                                                              \
            NULL, DN_RULE_NONE                                                         \
        }                                                                              \
    }

#define CONTAINER_FLAGS                                                                \
    " nv rocm nvccli cleanenv e containall C contain c compat writable-tmpfs writable" \
    " w no-home pid p ipc i fakeroot f userns u unsquash net no-init no-umask no-eval" \
    " rm it ti t d tty interactive detach init privileged rw root quiet q verbose v"   \
    " debug no-mount-home gpu mpi "
#define CONTAINER_RULES                                                                \
    RULES ({"cpuset-cpus", DN_RULE_LIST},                                              \
           {"env", DN_RULE_VARIABLE},                                                  \
           {"e", DN_RULE_VARIABLE})

static const struct dn_launcher launchers[] = {
    {.names = " srun ",
     .flags = " exclusive exact overlap overcommit O oversubscribe s label l unbuffered"
              " u verbose v quiet Q no-kill k pty preserve-env E disable-status X"
              " immediate I multi-prog contiguous spread-job use-min-nodes no-allocate"
              " Z container-writable container-mount-home no-container-mount-home"
              " container-remap-root no-container-remap-root container-readonly"
              " no-container-entrypoint container-entrypoint resv-ports test-only hold"
              " H reboot kill-on-bad-exit K bcast compress debugger-test join"
              " send-libs nice whole K0 K1 ",
     .rules = RULES ({"c", DN_RULE_COUNT},
                     {"cpus-per-task", DN_RULE_COUNT},
                     {"cpus-per-gpu", DN_RULE_COUNT},
                     {"mincpus", DN_RULE_COUNT},
                     {"cores-per-socket", DN_RULE_COUNT},
                     {"B", DN_RULE_LIST},
                     {"extra-node-info", DN_RULE_LIST},
                     {"n", DN_RULE_TASKS},
                     {"ntasks", DN_RULE_TASKS},
                     {"ntasks-per-node", DN_RULE_NODE_TASKS},
                     {"cpu-bind", DN_RULE_BIND},
                     {"gpu-freq", DN_RULE_CLOCK},
                     {"C", DN_RULE_FEATURE},
                     {"constraint", DN_RULE_FEATURE},
                     {"w", DN_RULE_NODES},
                     {"nodelist", DN_RULE_NODES},
                     {"x", DN_RULE_NODES},
                     {"exclude", DN_RULE_NODES},
                     {"F", DN_RULE_NODES},
                     {"nodefile", DN_RULE_NODES})},
    {.names = " mpirun mpiexec mpiexec.hydra mpirun_rsh orterun prun horovodrun jsrun"
              " aprun ibrun ",
     .flags = " oversubscribe allow-run-as-root display-map display-allocation"
              " tag-output report-bindings verbose v q quiet nooversubscribe"
              " use-hwthread-cpus bycore byslot bynode bysocket novm l prepend-rank"
              " disable-cache autotune mpi gloo no-local ",
     .rules = RULES ({"map-by", DN_RULE_MAP},
                     {"cpus-per-proc", DN_RULE_COUNT},
                     {"cpus-per-rank", DN_RULE_COUNT},
                     {"cpu-set", DN_RULE_LIST},
                     {"cpu-list", DN_RULE_LIST},
                     {"bind-to", DN_RULE_LIST},
                     {"rankfile", DN_RULE_ANY},
                     {"rf", DN_RULE_ANY},
                     {"x", DN_RULE_VARIABLE},
                     {"env", DN_RULE_VARIABLE})},
    {.names = " numactl ",
     .values = " C physcpubind N cpunodebind m membind i interleave p preferred ",
     .rules = RULES ({"C", DN_RULE_LIST},
                     {"physcpubind", DN_RULE_LIST},
                     {"N", DN_RULE_LIST},
                     {"cpunodebind", DN_RULE_LIST})},
    {.names = " taskset hwloc-bind ", .values = " "},
    {.names = " likwid-pin ", .values = " c s ", .rules = RULES ({"c", DN_RULE_ANY})},
    {.names = " apptainer singularity ",
     .verbs = " exec run shell ",
     .flags = CONTAINER_FLAGS,
     .n_operands = 1,
     .image = true,
     .rules = CONTAINER_RULES},
    {.names = " podman podman-hpc docker nvidia-docker udocker enroot ",
     .verbs = " run exec start compose ",
     .flags = CONTAINER_FLAGS,
     .n_operands = 1,
     .image = true,
     .rules = CONTAINER_RULES},
    {.names = " shifter ", .flags = " mpich clearenv ", .rules = CONTAINER_RULES},
    {.names = " ch-run ", .values = " b bind c cd set-env ", .n_operands = 1},
    {.names = " conda mamba micromamba ",
     .verbs = " run ",
     .values = " n name p prefix cwd r root-prefix "},
    {.names = " poetry uv pipenv pixi hatch pdm ",
     .verbs = " run ",
     .values = " with python p project directory extra group env-file e environment "},
    {.names = " coverage nsys ncu ",
     .verbs = " run profile launch ",
     .flags = " f stats p "},
    {.names = " timeout ", .values = " k kill-after s signal ", .n_operands = 1},
    {.names = " env ",
     .values = " u unset C chdir ",
     .rules = RULES ({"S", DN_RULE_VARIABLE})},
    {.names = " nice ionice chrt renice ", .values = " n adjustment c class p "},
    {.names = " stdbuf ", .values = " o e i output error input "},
    {.names = " time ", .values = " f format o output "},
    {.names = " nohup setsid unbuffer command builtin catchsegv xvfb-run exec coproc"
              " dumb-init tini ",
     .values = " a s n "},
    {.names = " ssh ", .values = " i l p o F J ", .n_operands = 1},
    {.names = " clush pdsh ", .values = " w x b R f u "},
    {.names = " flock ", .values = " w E timeout ", .n_operands = 1},
    {.names = " xargs parallel ",
     .values = " n P I L d a E s j jobs max-args max-procs colsep delay joblog ",
     .many = true},
};

bool dn_launcher_list_has (const char *list, struct dn_span word)
{
    if (word.len == 0)
        return false;
    for (const char *at = strchr (list, word.text[0]); at;
         at = strchr (at + 1, word.text[0]))
        if (at > list && at[-1] == ' ' && strncmp (at, word.text, word.len) == 0
            && at[word.len] == ' ')
            return true;
    return false;
}

const struct dn_launcher *dn_launcher_find (struct dn_span name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (launchers); i++)
        if (dn_launcher_list_has (launchers[i].names, name))
            return &launchers[i];
    return NULL;
}

const struct dn_launcher *dn_launcher_srun (void)
{
    return &launchers[0];
}

/* An option as it is written: its name, and its value in the same word. */
struct option {
    struct dn_span name;
    struct dn_span value; /* text NULL: none */
};

/* A short option of srun: "-lc16" is "-l -c 16", "-wnode07" is "-w node07". */
static void cut_short (const struct dn_launcher *launcher, struct option *option)
{
    struct dn_span name = option->name;

    if (dn_launcher_list_has (launcher->flags, name))
        return;
    while (name.len > 1
           && dn_launcher_list_has (launcher->flags, (struct dn_span){name.text, 1})) {
        name.text++;
        name.len--;
    }
    if (name.len > 1)
        option->value = (struct dn_span){name.text + 1, name.len - 1};
    option->name = (struct dn_span){name.text, name.len > 0};
}

static struct option option_of (const struct dn_launcher *launcher, struct dn_span word)
{
    struct option option = {word, {NULL, 0}};
    const char *equals = memchr (word.text, '=', word.len);
    bool is_long = word.len > 1 && word.text[1] == '-';

    while (option.name.len > 0 && option.name.text[0] == '-') {
        option.name.text++;
        option.name.len--;
    }
    if (!is_long && launcher == &launchers[0]) {
        cut_short (launcher, &option);
    } else if (equals && equals > option.name.text) {
        option.value.text = equals + 1;
        option.value.len = word.len - (size_t) (equals + 1 - word.text);
        option.name.len = (size_t) (equals - option.name.text);
    } else if (!is_long && option.name.len > 1
               && strchr ("cnCNwB0123456789", option.name.text[0])
               && strchr ("0123456789$+!", option.name.text[1])) {
        option.value = (struct dn_span){option.name.text + 1, option.name.len - 1};
        option.name.len = 1;
    }
    return option;
}

/* Long options of srun may be cut: "--cpus-per-t". */
static enum dn_rule rule_of_part (const struct dn_launcher *launcher,
                                  struct dn_span name)
{
    for (int i = 0; name.len >= 5 && launcher->rules && launcher->rules[i].option;
         i++) {
        const char *option = launcher->rules[i].option;

        if (strlen (option) > name.len
            && dn_word_equal (name.text, name.len, option, name.len))
            return launcher->rules[i].rule;
    }
    return DN_RULE_NONE;
}

static enum dn_rule rule_of (const struct dn_launcher *launcher, struct dn_span name)
{
    for (int i = 0; launcher->rules && launcher->rules[i].option; i++) {
        const char *option = launcher->rules[i].option;
        size_t len = strlen (option);

        /* "--cpu_bind" is "--cpu-bind"; "-C" is not "-c". */
        if (len == 1 ? dn_shell_is (name, option)
                     : dn_word_equal (name.text, name.len, option, len))
            return launcher->rules[i].rule;
    }
    return launcher == &launchers[0] ? rule_of_part (launcher, name) : DN_RULE_NONE;
}

static bool takes_value (const struct dn_launcher *launcher, struct dn_span name)
{
    if (launcher->values)
        return dn_launcher_list_has (launcher->values, name);
    return !dn_launcher_list_has (launcher->flags, name);
}

/* Options that have two words as their value: the name of a variable and its value. */
static bool takes_two (struct dn_span name)
{
    return dn_launcher_list_has (" mca gmca prtemca pmixmca genv ", name);
}

static void judge_two (struct dn_shell *shell, int at)
{
    if (at + 1 < shell->n_words)
        dn_counts_variable (shell,
                            dn_shell_word (shell, at),
                            dn_shell_word (shell, at + 1),
                            shell->words[at].line);
}

/* Judge an option. What the reason names is both words, if the value is apart. */
static void judge (struct dn_shell *shell,
                   enum dn_rule rule,
                   const struct option *option,
                   int at,
                   bool apart)
{
    struct dn_span word = dn_shell_word (shell, at);
    struct dn_span value = option->value;
    char both[2 * sizeof (struct dn_quoted) + 1];
    struct dn_buf said = dn_buf_on (both, sizeof (both));
    struct dn_span name;
    bool append;

    if (apart) {
        value = dn_shell_word (shell, at + 1);
        dn_buf_add (&said,
                    "%s %s",
                    dn_quote (word.text, word.len).text,
                    dn_quote (value.text, value.len).text);
        word = dn_span_of (both);
    }
    if (rule != DN_RULE_VARIABLE)
        dn_counts_judge (shell, rule, value, word, shell->words[at].line);
    else if (dn_variable_split (value, &name, &value, &append))
        dn_counts_variable (shell, name, value, shell->words[at].line);
}

static bool is_option (struct dn_span word)
{
    return word.len > 1 && word.text[0] == '-';
}

/* Read the options from 'at' on; return the index of the first word that is none. */
static int read_options (struct dn_shell *shell,
                         const struct dn_launcher *launcher,
                         int at)
{
    for (; at < shell->n_words && is_option (dn_shell_word (shell, at)); at++) {
        struct option option = option_of (launcher, dn_shell_word (shell, at));
        enum dn_rule rule = rule_of (launcher, option.name);
        bool apart = !option.value.text && at + 1 < shell->n_words
                     && takes_value (launcher, option.name);

        if (option.name.len == 0)
            return at + 1; /* "--" */
        if (rule != DN_RULE_NONE && (apart || option.value.text))
            judge (shell, rule, &option, at, apart);
        at += apart;
        if (apart && takes_two (option.name))
            judge_two (shell, at++);
    }
    return at < shell->n_words ? at : shell->n_words;
}

/* "taskset -c LIST", "taskset MASK", "hwloc-bind SET"; "taskset -p PID" only prints,
 * and "taskset -p MASK PID" runs no command. Return the index of the next word.
 */
static int judge_pinned (struct dn_shell *shell, int at, int operand)
{
    bool of_process = false;

    for (int i = at + 1; i < operand; i++) {
        struct dn_span word = dn_shell_word (shell, i);
        struct option option = option_of (&launchers[0], word);

        if (option.value.text && word.text[1] == '-') {
            dn_counts_judge (
                shell, DN_RULE_ANY, option.value, word, shell->words[i].line);
            return operand;
        }
        of_process |= word.text[1] == '-' ? dn_shell_is (word, "--pid")
                                          : memchr (word.text, 'p', word.len) != NULL;
    }
    if (operand + of_process < shell->n_words)
        dn_counts_judge (shell,
                         DN_RULE_ANY,
                         dn_shell_word (shell, operand),
                         dn_shell_word (shell, operand),
                         shell->words[operand].line);
    if (of_process)
        return shell->n_words;
    operand++;
    return operand
           + (operand < shell->n_words
              && dn_shell_is (dn_shell_word (shell, operand), "--"));
}

/* The word that names what runs without a command behind the launcher at 'begin': the
 * image of a container; n_words if there is none.
 */
static int find_image (const struct dn_shell *shell,
                       const struct dn_launcher *launcher,
                       int begin,
                       int at)
{
    static const char *const options[] = {"--container-image", "--image"};

    if (launcher->image)
        return at - launcher->n_operands;
    for (int i = begin + 1; i < shell->n_words; i++)
        for (size_t o = 0; o < DN_N_ELEMENTS (options); o++)
            if (shell->words[i].len >= strlen (options[o])
                && memcmp (shell->text + shell->words[i].start,
                           options[o],
                           strlen (options[o]))
                       == 0)
                return i;
    return shell->n_words;
}

int dn_launcher_read (struct dn_shell *shell,
                      const struct dn_launcher *launcher,
                      int at)
{
    int begin = at;

    at = read_options (shell, launcher, at + 1);
    if (launcher->verbs) {
        if (at >= shell->n_words
            || !dn_launcher_list_has (launcher->verbs, dn_shell_word (shell, at)))
            return shell->n_words;
        at = read_options (shell, launcher, at + 1);
    }
    if (dn_launcher_list_has (launcher->names, dn_span_of ("taskset")))
        at = judge_pinned (shell, begin, at);
    at += launcher->n_operands;
    while (at < shell->n_words) { /* env NAME=VALUE, and the same of others */
        struct dn_span name, value;
        bool append;

        if (!dn_variable_split (dn_shell_word (shell, at), &name, &value, &append))
            break;
        dn_counts_variable (shell, name, value, shell->words[at].line);
        at++;
    }
    if (at == shell->n_words)
        at = find_image (shell, launcher, begin, at);
    return at < shell->n_words ? at : shell->n_words;
}
