/* counts.c - numbers of CPUs in a script
 *
 * A step that requests or names more CPUs than the job has fails or waits forever. One
 * that takes Slurm's own variables does not, unless it subtracts from them, divides
 * them or compares them. The number of a program's threads or workers may be above that
 * of the CPUs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/shell.h"

#include <string.h>

#include "base/messages.h"

static bool has (struct dn_span text, const char *part)
{
    return memmem (text.text, text.len, part, strlen (part));
}

static bool begins (struct dn_span text, const char *part)
{
    size_t len = strlen (part);

    return text.len >= len && memcmp (text.text, part, len) == 0;
}

static bool has_digit (struct dn_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (dn_is_digit (text.text[i]))
            return true;
    return false;
}

/* The whole text as a number, DN_UNSET if it is none. */
static int64_t number_of (struct dn_span text)
{
    int64_t n = 0;

    if (text.len == 0 || text.len > 9)
        return DN_UNSET;
    for (size_t i = 0; i < text.len; i++) {
        if (!dn_is_digit (text.text[i]))
            return DN_UNSET;
        n = n * 10 + (text.text[i] - '0');
    }
    return n;
}

bool dn_counts_cpus (struct dn_span text)
{
    const char *end = text.text + text.len;
    const char *at = text.text;

    while ((at = memmem (at, (size_t) (end - at), "SLURM_", 6))) {
        const char *name = at;

        while (at < end && dn_shell_is_name (*at))
            at++;
        if (memmem (name, (size_t) (at - name), "CPUS", 4))
            return true;
    }
    return false;
}

/* One CPU is in every job; a variable of Slurm's has what the job has. */
static bool counts (struct dn_span value)
{
    return number_of (value) != 1 && !begins (value, "$SLURM_")
           && !begins (value, DN_SHELL_OUTPUT_CPUS);
}

/* More tasks than the job has, or a number that is unknown? */
static bool counts_tasks (const struct dn_shell *shell,
                          struct dn_span value,
                          bool per_node)
{
    static const char *const own[] = {"$SLURM_NTASKS",
                                      "$SLURM_NPROCS",
                                      "$SLURM_NNODES",
                                      "$SLURM_JOB_NUM_NODES",
                                      "$SLURM_NTASKS_PER_NODE",
                                      "$SLURM_TASKS_PER_NODE"};
    const struct dn_script_job *job = shell->job;
    int64_t n = number_of (value);

    if (n == 0 || n == 1)
        return false;
    if (n > 1 && per_node)
        return job->n_tasks <= 0 || job->n_nodes <= 0
               || n > job->n_tasks / job->n_nodes;
    if (n > 1)
        return job->n_tasks <= 0 || n > job->n_tasks;
    for (size_t i = 0; i < DN_N_ELEMENTS (own); i++)
        if (dn_shell_is (value, own[i]))
            return false;
    return true;
}

/* The PE=N of "ppr:4:node:PE=16". */
static struct dn_span elements_of (struct dn_span value)
{
    const char *at = memmem (value.text, value.len, "PE=", 3);
    struct dn_span rest = {NULL, 0};

    if (!at)
        at = memmem (value.text, value.len, "pe=", 3);
    if (at) {
        rest = (struct dn_span){at + 3, value.len - (size_t) (at + 3 - value.text)};
        rest = dn_span_cut (&rest, ":,");
    }
    return rest;
}

static bool is_pinned (const struct dn_shell *shell,
                       enum dn_rule rule,
                       struct dn_span value)
{
    struct dn_span elements;

    switch (rule) {
    case DN_RULE_COUNT:
        return counts (value);
    case DN_RULE_TASKS:
        return counts_tasks (shell, value, false);
    case DN_RULE_NODE_TASKS:
        return counts_tasks (shell, value, true);
    case DN_RULE_LIST:
        return has_digit (value) || has (value, "$");
    case DN_RULE_ANY:
        return value.len > 0;
    case DN_RULE_BIND:
        return has (value, "map_cpu") || has (value, "mask_cpu")
               || has (value, "map_ldom") || has (value, "mask_ldom");
    case DN_RULE_MAP:
        elements = elements_of (value);
        return elements.text && counts (elements);
    case DN_RULE_AFFINITY:
        return has (value, "proclist") || has (value, "explicit");
    default:
        return false;
    }
}

void dn_counts_judge (struct dn_shell *shell,
                      enum dn_rule rule,
                      struct dn_span value,
                      struct dn_span word,
                      int line)
{
    struct dn_script *found = shell->found;

    if (rule == DN_RULE_CLOCK)
        dn_finding (found->clock, line, word, dn_say_script_clock);
    else if (rule == DN_RULE_FEATURE)
        dn_finding (found->gpu, line, word, dn_say_script_constraint);
    else if (rule == DN_RULE_NODES && !has (value, "$"))
        dn_finding (found->gpu, line, word, dn_say_script_nodes);
    else if (is_pinned (shell, rule, value))
        dn_finding (found->cpus,
                    line,
                    word,
                    rule == DN_RULE_TASKS || rule == DN_RULE_NODE_TASKS
                        ? dn_say_script_tasks
                        : dn_say_script_cpus);
}

/* Are these fewer GPUs than the job has, on each node or in all? Where the nodes are
 * unknown, one is fewer.
 */
static void judge_gpus (struct dn_shell *shell,
                        int64_t n,
                        bool per_node,
                        struct dn_span word,
                        int line)
{
    int64_t n_gpus = shell->job->n_gpus;

    if (n_gpus > 1 && per_node)
        n_gpus = shell->job->n_nodes > 0 ? n_gpus / shell->job->n_nodes : 2;
    if (n > 0 && n < n_gpus)
        dn_finding (shell->found->fewer, line, word, dn_say_script_fewer);
}

/* The number of GPUs in "0,1", 0 for any other text. */
static int64_t n_devices (struct dn_span list)
{
    int64_t n = 1;

    for (size_t i = 0; i < list.len; i++) {
        if (!dn_is_digit (list.text[i]) && list.text[i] != ',')
            return 0;
        n += list.text[i] == ',';
    }
    return list.len > 0 ? n : 0;
}

void dn_counts_variable (struct dn_shell *shell,
                         struct dn_span name,
                         struct dn_span value,
                         int line)
{
    static const struct {
        const char *name;
        enum dn_rule rule;
    } variables[] = {
        {"SRUN_CPUS_PER_TASK", DN_RULE_COUNT},
        {"SLURM_CPUS_PER_TASK", DN_RULE_COUNT},
        {"SLURM_CPUS_PER_GPU", DN_RULE_COUNT},
        {"SLURM_NTASKS", DN_RULE_TASKS},
        {"SLURM_NPROCS", DN_RULE_TASKS},
        {"SLURM_CPU_BIND", DN_RULE_BIND},
        {"SLURM_GPU_FREQ", DN_RULE_CLOCK},
        {"SLURM_CONSTRAINT", DN_RULE_FEATURE},
        {"OMP_PLACES", DN_RULE_LIST},
        {"GOMP_CPU_AFFINITY", DN_RULE_ANY},
        {"KMP_AFFINITY", DN_RULE_AFFINITY},
        {"KMP_HW_SUBSET", DN_RULE_LIST},
        {"I_MPI_PIN_PROCESSOR_LIST", DN_RULE_LIST},
        {"I_MPI_PIN_DOMAIN", DN_RULE_LIST},
        {"MV2_CPU_MAPPING", DN_RULE_ANY},
        {"DALI_AFFINITY_MASK", DN_RULE_ANY},
        {"VLLM_CPU_OMP_THREADS_BIND", DN_RULE_LIST},
        /* Of Open MPI, "OMPI_MCA_" or "PRTE_MCA_" is in front of them. */
        {"rmaps_base_mapping_policy", DN_RULE_MAP},
        {"rmaps_default_mapping_policy", DN_RULE_MAP},
        {"rmaps_base_cpus_per_rank", DN_RULE_COUNT},
        {"hwloc_base_cpu_list", DN_RULE_LIST},
        {"hwloc_base_cpu_set", DN_RULE_LIST},
        {"hwloc_default_cpu_list", DN_RULE_LIST},
    };
    const char *end = value.text + value.len;
    struct dn_span word = {name.text, (size_t) (end - name.text)};

    if (dn_shell_is (name, "CUDA_VISIBLE_DEVICES"))
        judge_gpus (shell, n_devices (value), true, word, line);
    if (begins (name, "OMPI_MCA_") || begins (name, "PRTE_MCA_"))
        name = (struct dn_span){name.text + 9, name.len - 9};
    for (size_t i = 0; i < DN_N_ELEMENTS (variables); i++)
        if (dn_shell_is (name, variables[i].name))
            dn_counts_judge (shell, variables[i].rule, value, word, line);
}

/* --- arithmetic --------------------------------------------------------------------
 */

/* May the result be zero, negative or another branch when there are fewer CPUs? */
static bool reduces (struct dn_span sum)
{
    for (size_t i = 0; i < sum.len; i++)
        if (strchr ("-/%<>?", sum.text[i]))
            return true;
    return has (sum, "==") || has (sum, "!=");
}

/* Does a variable without its '$' hold the number of CPUs? */
static bool names_cpus (const struct dn_shell *shell, struct dn_span sum)
{
    for (size_t i = 0; i < sum.len;) {
        const struct dn_variable *variable;
        size_t begin = i;

        while (i < sum.len && dn_shell_is_name (sum.text[i]))
            i++;
        if (i == begin) {
            i++;
            continue;
        }
        variable =
            dn_variable_find (shell, (struct dn_span){sum.text + begin, i - begin});
        if (variable && dn_counts_cpus (dn_variable_value (shell, variable)))
            return true;
    }
    return false;
}

static bool is_one_of (char c, const char *set)
{
    return c != '\0' && strchr (set, c);
}

/* The next operand or operator of a sum, without '$' and braces; len 0 at the end. */
static struct dn_span next_part (struct dn_span *sum)
{
    struct dn_span part;

    while (sum->len > 0 && is_one_of (sum->text[0], " \t\n${}"))
        *sum = (struct dn_span){sum->text + 1, sum->len - 1};
    part = (struct dn_span){sum->text, sum->len > 0};
    if (part.len > 0 && dn_shell_is_name (part.text[0]))
        while (part.len < sum->len && dn_shell_is_name (part.text[part.len]))
            part.len++;
    else if (part.len > 0 && sum->len > 1 && sum->text[1] == '=')
        part.len = 2;
    *sum = (struct dn_span){sum->text + part.len, sum->len - part.len};
    return part;
}

static bool equal (struct dn_span a, struct dn_span b)
{
    return a.len == b.len && a.len > 0 && memcmp (a.text, b.text, a.len) == 0;
}

/* "A > 8 ? 8 : A" and its other forms: the result is at least one. */
static bool is_minimum (struct dn_span sum)
{
    struct dn_span part[7];

    for (size_t i = 0; i < DN_N_ELEMENTS (part); i++)
        part[i] = next_part (&sum);
    if (next_part (&sum).len > 0 || !dn_shell_is (part[3], "?")
        || !dn_shell_is (part[5], ":") || number_of (part[0]) == 0
        || number_of (part[2]) == 0)
        return false;
    if (begins (part[1], ">"))
        return equal (part[4], part[2]) && equal (part[6], part[0]);
    return begins (part[1], "<") && equal (part[4], part[0])
           && equal (part[6], part[2]);
}

/* Does the sum have an argument of a function, or a variable of unknown value that is
 * not Slurm's?
 */
static bool has_unknown (const struct dn_shell *shell, struct dn_span sum)
{
    static const char *const others[] = {"RANDOM", "SECONDS", "UID", "EUID", "PPID"};

    for (struct dn_span part; sum.len > 0;) {
        const struct dn_variable *variable;
        bool other = false;
        bool dollar;

        while (sum.len > 0 && is_one_of (sum.text[0], " \t\n"))
            sum = (struct dn_span){sum.text + 1, sum.len - 1};
        dollar = sum.len > 0 && sum.text[0] == '$';
        part = next_part (&sum);
        if (part.len == 0 || !dn_shell_is_name (part.text[0])
            || begins (part, "SLURM_"))
            continue;
        if (dn_is_digit (part.text[0])) {
            if (dollar)
                return true;
            continue;
        }
        for (size_t i = 0; i < DN_N_ELEMENTS (others); i++)
            other |= dn_shell_is (part, others[i]);
        variable = dn_variable_find (shell, part);
        if (!other && (!variable || !variable->known))
            return true;
    }
    return false;
}

/* A sum with an argument is judged when it is known that one is the number of CPUs. */
static void note_unknown (struct dn_shell *shell, struct dn_span word, int line)
{
    if (shell->passes_cpus)
        dn_finding (shell->found->cpus, line, word, dn_say_script_computes);
    else
        dn_finding (shell->sum_why, line, word, dn_say_script_computes);
}

static void pass_cpus (struct dn_shell *shell)
{
    shell->passes_cpus = true;
    if (shell->found->cpus[0] == '\0')
        memcpy (shell->found->cpus, shell->sum_why, DN_REASON_MAX);
}

bool dn_counts_reduces (struct dn_span word)
{
    if (word.len > 1 && word.text[0] == '-' && !dn_is_digit (word.text[1]))
        return false;
    return reduces (word);
}

bool dn_counts_sum (struct dn_shell *shell,
                    struct dn_span sum,
                    struct dn_span word,
                    int line)
{
    if (!dn_counts_cpus (sum) && !names_cpus (shell, sum)) {
        if (reduces (sum) && has_unknown (shell, sum))
            note_unknown (shell, word, line);
        return false;
    }
    if (reduces (sum) && !is_minimum (sum))
        dn_finding (shell->found->cpus, line, word, dn_say_script_computes);
    return true;
}

/* The end of the name of a number of CPUs in code, NULL for none. */
static const char *cpus_in_code (struct dn_span code)
{
    static const char *const names[] = {
        "SLURM_CPUS_", "SLURM_JOB_CPUS_", "sched_getaffinity"};
    const char *first = NULL;

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++) {
        const char *at = memmem (code.text, code.len, names[i], strlen (names[i]));

        if (at && (!first || at < first))
            first = at;
    }
    while (first && first < code.text + code.len && dn_shell_is_name (*first))
        first++;
    return first;
}

/* Is there an operator at 'at' that may make a number less, or compares it? */
static bool is_operator (const char *at, const char *end)
{
    if (at == end)
        return false;
    if (is_one_of (*at, "-/%<>"))
        return true;
    return end - at > 1 && (*at == '=' || *at == '!') && at[1] == '=';
}

/* The variable of "n = int(os.environ[NAME])", len 0 for none; 'name' is in 'code'. */
static struct dn_span assigned_in_code (struct dn_span code, const char *name)
{
    const char *begin = name;
    const char *end;

    while (begin > code.text && begin[-1] != '\n' && begin[-1] != ';'
           && name - begin < 256)
        begin--;
    while (begin < name && (*begin == ' ' || *begin == '\t'))
        begin++;
    for (end = begin; end < name && dn_shell_is_name (*end);)
        end++;
    code.text = end;
    while (code.text < name && *code.text == ' ')
        code.text++;
    if (code.text == name || *code.text != '=' || code.text[1] == '=')
        end = begin;
    return (struct dn_span){begin, (size_t) (end - begin)};
}

/* Is there an operator behind the variable, from 'at' on? */
static const char *variable_reduced (const char *at,
                                     const char *end,
                                     struct dn_span variable)
{
    while (variable.len > 0
           && (at = memmem (at, (size_t) (end - at), variable.text, variable.len))) {
        const char *next = at + variable.len;

        while (next < end && *next == ' ')
            next++;
        if (!dn_shell_is_name (at[-1]) && is_operator (next, end))
            return at;
        at++;
    }
    return NULL;
}

/* Code may bind the process to CPUs of its own choice. */
static void judge_affinity (struct dn_shell *shell, struct dn_span code, int line)
{
    static const char *const calls[] = {"sched_setaffinity", "cpu_affinity(["};

    for (size_t i = 0; i < DN_N_ELEMENTS (calls); i++)
        if (has (code, calls[i]))
            dn_finding (
                shell->found->cpus, line, dn_span_of (calls[i]), dn_say_script_cpus);
}

/* os.environ["SLURM_CPUS_PER_TASK"]) - 4: an operator behind the brackets, in the same
 * line, or behind the variable that it is assigned to, of the first few.
 */
void dn_counts_code (struct dn_shell *shell, struct dn_span code, int line)
{
    const char *end = code.text + code.len;
    const char *at = code.text;
    const char *counted = at;
    int n_variables = 0;

    judge_affinity (shell, code, line);
    while ((at = cpus_in_code ((struct dn_span){at, (size_t) (end - at)}))) {
        const char *name = at;
        struct dn_span variable = {at, 0};

        while (name > code.text && dn_shell_is_name (name[-1]))
            name--;
        for (; counted < name; counted++)
            line += *counted == '\n';
        while (at < end && (dn_is_digit (*at) || strchr ("\"'()], \t}", *at)) && *at)
            at++;
        if (n_variables++ < 4)
            variable = assigned_in_code (code, name);
        if (is_operator (at, end) || variable_reduced (at, end, variable))
            dn_finding (shell->found->cpus,
                        line,
                        (struct dn_span){name, (size_t) (at - name) + (at < end)},
                        dn_say_script_computes);
    }
}

static bool is_comparison (struct dn_span word)
{
    static const char *const words[] = {
        "-lt", "-le", "-gt", "-ge", "-eq", "-ne", "<", ">", "==", "=", "!="};

    for (size_t i = 0; i < DN_N_ELEMENTS (words); i++)
        if (dn_shell_is (word, words[i]))
            return true;
    return false;
}

void dn_counts_compute (struct dn_shell *shell, int first, bool test)
{
    bool cpus = shell->now.here_cpus || shell->pipe_cpus;
    bool reduced = shell->pipe_reduced || (shell->now.here_cpus && shell->now.reduced);
    bool number = false;
    bool let = dn_shell_is (dn_shell_word (shell, first), "let");
    int at = first;

    for (int i = first + 1; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (dn_counts_cpus (word) || (let && names_cpus (shell, word))) {
            cpus = true;
            at = i;
        }
        if (test ? is_comparison (word) : dn_counts_reduces (word))
            reduced = true;
        number |= has_digit (word);
    }
    if (cpus && reduced && (number || !test))
        dn_finding (shell->found->cpus,
                    shell->words[first].line,
                    dn_shell_word (shell, at),
                    test ? dn_say_script_tests : dn_say_script_computes);
}

/* --- words of any command ----------------------------------------------------------
 */

/* The first name of a number of CPUs in a word, len 0 for none. */
static struct dn_span cpus_in_word (struct dn_span word)
{
    static const char *const names[] = {DN_SHELL_OUTPUT_CPUS,
                                        "$SLURM_CPUS_PER_TASK",
                                        "$SLURM_CPUS_ON_NODE",
                                        "$SLURM_CPUS_PER_GPU",
                                        "$SLURM_JOB_CPUS_PER_NODE"};

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++) {
        size_t len = strlen (names[i]);
        const char *at = memmem (word.text, word.len, names[i], len);

        if (at)
            return (struct dn_span){at, len};
    }
    return (struct dn_span){word.text, 0};
}

/* Is the number a part of a name, as in "cfg_${SLURM_CPUS_PER_TASK}cpu.yaml"? Behind a
 * short option, as in "-j8", it is none.
 */
static bool is_in_name (struct dn_span word, struct dn_span cpus)
{
    const char *end = cpus.text + cpus.len;
    size_t before = (size_t) (cpus.text - word.text);

    if (memchr (word.text, ' ', word.len))
        return false;
    if (before > 0 && !(before == 2 && word.text[0] == '-')
        && (dn_shell_is_name (cpus.text[-1]) || cpus.text[-1] == '/'))
        return true;
    return end < word.text + word.len
           && (dn_shell_is_name (*end) || (*end == '.' && !dn_is_digit (end[1])));
}

/* "W=SLURM_CPUS_PER_TASK-4" of a variable that "declare -i" made a number. */
static bool is_sum (const struct dn_shell *shell, struct dn_span word)
{
    struct dn_span name, value;
    bool append;

    return dn_variable_split (word, &name, &value, &append) && value.len < 64
           && !memchr (value.text, ' ', value.len) && has_digit (value)
           && (begins (value, "SLURM_") || begins (value, "$SLURM_")
               || begins (value, DN_SHELL_OUTPUT_CPUS) || names_cpus (shell, value))
           && (dn_counts_cpus (value) || names_cpus (shell, value)) && reduces (value);
}

/* The size of a batch that follows the CPUs is another training. */
static bool is_batch (struct dn_span word)
{
    return begins (word, "-") && (has (word, "batch") || has (word, "bsz"));
}

/* The value of the option at 'at', in its own word or the next one. */
static struct dn_span value_at (const struct dn_shell *shell,
                                int at,
                                struct dn_span *option)
{
    struct dn_span rest = dn_shell_word (shell, at);

    *option = dn_span_cut (&rest, "=");
    if (rest.text)
        return rest;
    return at + 1 < shell->n_words ? dn_shell_word (shell, at + 1)
                                   : (struct dn_span){"", 0};
}

/* Options of programs with a number of GPUs, or by which each task is a training. */
static void judge_option (struct dn_shell *shell, int at)
{
    static const struct {
        const char *name;
        enum {
            GPUS_NODE,
            GPUS_ALL,
            EACH_TASK
        } what;
    } options[] = {
        {"--nproc-per-node", GPUS_NODE},
        {"--nproc_per_node", GPUS_NODE},
        {"--num_gpus", GPUS_NODE},
        {"--num_processes", GPUS_ALL},
        {"--seed", EACH_TASK},
        {"--fold", EACH_TASK},
        {"--trial", EACH_TASK},
        {"--split", EACH_TASK},
    };
    struct dn_span name;
    struct dn_span value = value_at (shell, at, &name);
    struct dn_span word = dn_shell_word (shell, at);
    int line = shell->words[at].line;

    for (size_t i = 0; i < DN_N_ELEMENTS (options); i++) {
        if (!dn_shell_is (name, options[i].name))
            continue;
        if (options[i].what != EACH_TASK)
            judge_gpus (
                shell, number_of (value), options[i].what == GPUS_NODE, word, line);
        else if (shell->job->n_gpus > 1
                 && (has (value, "SLURM_PROCID") || has (value, "SLURM_LOCALID")))
            dn_finding (shell->found->fewer, line, word, dn_say_script_differs);
    }
}

static bool is_passing (const struct dn_shell *shell, struct dn_span name)
{
    if (dn_shell_is (name, "set") || dn_shell_is (name, "read"))
        return true;
    for (int i = 0; i < shell->n_functions; i++)
        if (dn_shell_is (name, shell->functions[i].name))
            return true;
    return false;
}

static bool is_message (struct dn_span name)
{
    return dn_shell_is (name, "echo") || dn_shell_is (name, "printf");
}

void dn_counts_words (struct dn_shell *shell)
{
    int first = shell->now.first;
    struct dn_span name = dn_shell_word (shell, first);
    bool passing = is_passing (shell, name);

    if (dn_shell_is (name, "read") && (shell->now.here_cpus || shell->pipe_cpus))
        pass_cpus (shell);
    for (int i = first; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);
        struct dn_span cpus = cpus_in_word (word);
        int line = shell->words[i].line;

        if (begins (word, "--"))
            judge_option (shell, i);
        if (is_sum (shell, word))
            dn_finding (shell->found->cpus, line, word, dn_say_script_computes);
        if (begins (word, "--bind_core_list") || begins (word, "--bind-core-list"))
            dn_finding (shell->found->cpus, line, word, dn_say_script_cpus);
        if (cpus.len == 0)
            continue;
        if (is_batch (word) || (i > first && is_batch (dn_shell_word (shell, i - 1))))
            dn_finding (shell->found->cpus, line, word, dn_say_script_batch);
        else if (!is_message (name) && is_in_name (word, cpus))
            dn_finding (shell->found->cpus, line, word, dn_say_script_name);
        if (passing && cpus.text == word.text && cpus.len == word.len)
            pass_cpus (shell);
    }
}

void dn_counts_case (struct dn_shell *shell, struct dn_span word, int line)
{
    if (dn_counts_cpus (word))
        dn_finding (shell->found->cpus, line, word, dn_say_script_tests);
}
