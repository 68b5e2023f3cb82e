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

static bool has (struct dn_span text, const char *part)
{
    return memmem (text.text, text.len, part, strlen (part));
}

static bool begins (struct dn_span text, const char *part)
{
    size_t len = strlen (part);

    return text.len >= len && memcmp (text.text, part, len) == 0;
}

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static bool has_digit (struct dn_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (is_digit (text.text[i]))
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
        if (!is_digit (text.text[i]))
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
        dn_finding (found->clock, line, word, "sets the clock of the GPU");
    else if (rule == DN_RULE_FEATURE)
        dn_finding (found->gpu, line, word, "has a constraint for the step");
    else if (rule == DN_RULE_NODES && !has (value, "$"))
        dn_finding (found->gpu, line, word, "names nodes");
    else if (is_pinned (shell, rule, value))
        dn_finding (found->cpus,
                    line,
                    word,
                    rule == DN_RULE_TASKS || rule == DN_RULE_NODE_TASKS
                        ? "counts tasks"
                        : "counts CPUs");
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

    if (begins (name, "OMPI_MCA_") || begins (name, "PRTE_MCA_"))
        name = (struct dn_span){name.text + 9, name.len - 9};
    for (size_t i = 0; i < DN_N_ELEMENTS (variables); i++)
        if (dn_shell_is (name, variables[i].name))
            dn_counts_judge (shell, variables[i].rule, value, word, line);
}

/* --- arithmetic --------------------------------------------------------------------
 */

#define COMPUTES "computes with the number of CPUs"

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

bool dn_counts_reduces (struct dn_span word)
{
    if (word.len > 1 && word.text[0] == '-' && !is_digit (word.text[1]))
        return false;
    return reduces (word);
}

bool dn_counts_sum (struct dn_shell *shell,
                    struct dn_span sum,
                    struct dn_span word,
                    int line)
{
    if (!dn_counts_cpus (sum) && !names_cpus (shell, sum))
        return false;
    if (reduces (sum))
        dn_finding (shell->found->cpus, line, word, COMPUTES);
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

/* os.environ["SLURM_CPUS_PER_TASK"]) - 4: an operator behind the brackets, in the same
 * line.
 */
void dn_counts_code (struct dn_shell *shell, struct dn_span code, int line)
{
    const char *end = code.text + code.len;
    const char *at = code.text;
    const char *counted = at;

    while ((at = cpus_in_code ((struct dn_span){at, (size_t) (end - at)}))) {
        const char *name = at;

        while (name > code.text && dn_shell_is_name (name[-1]))
            name--;
        for (; counted < name; counted++)
            line += *counted == '\n';
        while (at < end && (is_digit (*at) || strchr ("\"')], \t}", *at)) && *at)
            at++;
        if (at < end && strchr ("-/%<>", *at) && *at)
            dn_finding (shell->found->cpus,
                        line,
                        (struct dn_span){name, (size_t) (at - name) + 1},
                        COMPUTES);
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
    int at = first;

    for (int i = first + 1; i < shell->n_words; i++) {
        struct dn_span word = dn_shell_word (shell, i);

        if (dn_counts_cpus (word)) {
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
                    test ? "is a test of the number of CPUs" : COMPUTES);
}
