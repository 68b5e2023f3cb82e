/* sbatch.c - a batch submission as the job_submit plugin gets it
 *
 * The values that sbatch sends were observed on real controllers. The relevant
 * differences between versions: the spelling of gres entries (23.11), -c repeated in
 * tres_per_task (23.11, with '=' from 24.11), min_cpus from --cpus-per-gpu (24.05).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "sbatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "report/when.h"

#define VERSION_SLASH         2311 /* "gres/gpu", cpu in tres_per_task */
#define VERSION_CPUS_FROM_GPU 2405
#define VERSION_EQUALS        2411 /* "cpu=2,gres/gpu=1" in tres_per_task */

/* Counts of tasks, nodes and CPUs are 32 bits wide in Slurm. */
#define COUNT_MAX INT32_MAX
/* 2^40 MB; sbatch itself stops at 2^63. */
#define MEMORY_MAX_MB (INT64_C (1) << 40)

#define KNOWN(name, letter, argument) DN_OPTION_ROW (name, letter, argument, NULL)
const struct dn_option dn_sbatch_options[] = {
#define DN_SBATCH_OPTION(id, name, letter, argument, help)                             \
    [DN_SBATCH_##id] = DN_OPTION_ROW (name, letter, argument, help),
#include "process/sbatch_options.inc"
#undef DN_SBATCH_OPTION
    /* Listed so that their arguments are not taken for the script. */
    KNOWN ("acctg-freq", 0, "X"),
    KNOWN ("bb", 0, "X"),
    KNOWN ("bbf", 0, "X"),
    KNOWN ("begin", 'b', "X"),
    KNOWN ("chdir", 'D', "X"),
    KNOWN ("cluster-constraint", 0, "X"),
    KNOWN ("clusters", 'M', "X"),
    KNOWN ("container", 0, "X"),
    KNOWN ("container-id", 0, "X"),
    KNOWN ("contiguous", 0, NULL),
    KNOWN ("cpu-freq", 0, "X"),
    KNOWN ("delay-boot", 0, "X"),
    KNOWN ("dependency", 'd', "X"),
    KNOWN ("distribution", 'm', "X"),
    KNOWN ("error", 'e', "X"),
    KNOWN ("export", 0, "X"),
    KNOWN ("export-file", 0, "X"),
    KNOWN ("extra", 0, "X"),
    KNOWN ("get-user-env", 0, "[=X]"),
    KNOWN ("gid", 0, "X"),
    KNOWN ("gpu-bind", 0, "X"),
    KNOWN ("gres-flags", 0, "X"),
    KNOWN ("hold", 'H', NULL),
    KNOWN ("ignore-pbs", 0, NULL),
    KNOWN ("input", 'i', "X"),
    KNOWN ("job-name", 'J', "X"),
    KNOWN ("kill-on-invalid-dep", 0, "X"),
    KNOWN ("licenses", 'L', "X"),
    KNOWN ("mail-type", 0, "X"),
    KNOWN ("mail-user", 0, "X"),
    KNOWN ("mcs-label", 0, "X"),
    KNOWN ("mem-bind", 0, "X"),
    KNOWN ("network", 0, "X"),
    KNOWN ("nice", 0, "[=X]"),
    KNOWN ("no-kill", 'k', "[=X]"),
    KNOWN ("no-requeue", 0, NULL),
    KNOWN ("open-mode", 0, "X"),
    KNOWN ("output", 'o', "X"),
    KNOWN ("parsable", 0, NULL),
    KNOWN ("power", 0, "X"),
    KNOWN ("priority", 0, "X"),
    KNOWN ("profile", 0, "X"),
    KNOWN ("propagate", 0, "[=X]"),
    KNOWN ("quiet", 'Q', NULL),
    KNOWN ("reboot", 0, NULL),
    KNOWN ("requeue", 0, NULL),
    KNOWN ("segment", 0, "X"),
    KNOWN ("spread-job", 0, NULL),
    KNOWN ("switches", 0, "X"),
    KNOWN ("test-only", 0, NULL),
    KNOWN ("uid", 0, "X"),
    KNOWN ("use-min-nodes", 0, NULL),
    KNOWN ("verbose", 'v', NULL),
    KNOWN ("wait", 'W', NULL),
    KNOWN ("wait-all-nodes", 0, "X"),
    KNOWN ("wckey", 0, "X"),
    DN_OPT_END,
};

/* Options that exclude each other: one on the command line overrides the others in the
 * script.
 */
static const int rivals[][3] = {
    {DN_SBATCH_MEM, DN_SBATCH_MEM_PER_CPU, DN_SBATCH_MEM_PER_GPU},
    {DN_SBATCH_CPUS_PER_TASK, DN_SBATCH_CPUS_PER_GPU, DN_SBATCH_CPUS_PER_GPU},
    {DN_SBATCH_EXCLUSIVE, DN_SBATCH_OVERSUBSCRIBE, DN_SBATCH_OVERSUBSCRIBE},
};

void dn_sbatch_set (struct dn_sbatch *sbatch, int option, const char *argument)
{
    if (option < DN_N_SBATCH_OPTIONS)
        sbatch->value[option] = argument ? argument : "";
}

/* The words of all #SBATCH lines, as one command line. */
#define WORDS_MAX 1024

struct words {
    char *argv[WORDS_MAX + 1];
    int argc;
};

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Cut one word off 'line' in place: quotes and backslashes are removed, an unquoted '#'
 * begins a comment. Return the word, or NULL at the end; '*open' is set if a quote is
 * not closed.
 */
static char *cut_word (char **line, bool *open)
{
    char *from = *line;
    char *word;
    char *to;
    char quote = '\0';

    while (is_blank (*from))
        from++;
    if (*from == '\0' || *from == '#')
        return NULL;
    word = to = from;
    for (; *from && (quote || !is_blank (*from)); from++) {
        if (*from == '\\' && from[1])
            *to++ = *++from;
        else if (quote ? *from == quote : *from == '"' || *from == '\'')
            quote = quote ? '\0' : *from;
        else if (*from == '#' && !quote)
            break;
        else
            *to++ = *from;
    }
    *open = quote != '\0';
    *line = *from && *from != '#' ? from + 1 : from + strlen (from);
    *to = '\0';
    return word;
}

static int split_line (char *line, int number, struct words *words, struct dn_err *err)
{
    bool open = false;
    char *word;

    while ((word = cut_word (&line, &open))) {
        if (open)
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "script line %d: #SBATCH: a quote is not closed",
                               number);
        if (words->argc == WORDS_MAX)
            return dn_err_set (
                err, DN_E_LIMIT, "script: more than %d words of #SBATCH", WORDS_MAX);
        words->argv[words->argc++] = word;
    }
    return 0;
}

/* Is the line a command? No #SBATCH line is read after the first command. */
static bool is_command (const char *line)
{
    while (is_blank (*line))
        line++;
    return *line != '\0' && *line != '#';
}

/* Collect the words of the script's #SBATCH lines. Options after "#SBATCH hetjob"
 * belong to another component.
 */
static int split_head (struct dn_sbatch *sbatch,
                       struct words *words,
                       struct dn_err *err)
{
    static const char mark[] = "#SBATCH";
    char *rest = sbatch->words;
    int number = 0;

    words->argv[words->argc++] = (char *) "sbatch";
    while (rest && !sbatch->het) {
        char *line = strsep (&rest, "\n");
        int first = words->argc;

        number++;
        if (is_command (line))
            break;
        if (strncmp (line, mark, sizeof (mark) - 1) != 0)
            continue;
        if (split_line (line + sizeof (mark) - 1, number, words, err) < 0)
            return -1;
        if (words->argc > first
            && (strcmp (words->argv[first], "hetjob") == 0
                || strcmp (words->argv[first], "packjob") == 0)) {
            sbatch->het = true;
            words->argc = first;
        }
    }
    words->argv[words->argc] = NULL;
    return 0;
}

static const struct dn_command directives = {
    .name = "advise",
    .guest_options = dn_sbatch_options,
};

/* Is there a rival of 'option' among 'values'? */
static bool has_rival (const char *const values[DN_N_SBATCH_OPTIONS], int option)
{
    for (size_t g = 0; g < DN_N_ELEMENTS (rivals); g++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                if (rivals[g][i] == option && rivals[g][j] != option
                    && values[rivals[g][j]])
                    return true;
    return false;
}

int dn_sbatch_read_script (struct dn_sbatch *sbatch, char *script)
{
    struct dn_sbatch lines = {.script = NULL};
    struct dn_options given;
    struct words words = {.argc = 0};
    struct dn_err err = {0};
    int option;

    sbatch->script = script;
    sbatch->words = strdup (script);
    if (!sbatch->words) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    if (strstr (script, "\r\n"))
        dn_complain ("warning: the script has DOS line ends (CR LF), with which sbatch "
                     "refuses it; remove them, as with sed -i 's/\\r$//'");
    if (split_head (sbatch, &words, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    dn_options_begin_bare (&given, &directives, words.argc, words.argv);
    while ((option = dn_options_next (&given)) != DN_OPTION_END) {
        if (option == DN_OPTION_LEAVE)
            return given.exit_code;
        if (option == DN_OPTION_UNKNOWN)
            dn_complain ("warning: #SBATCH: option '%s' is unknown and ignored",
                         dn_quote (given.argument, strlen (given.argument)).text);
        else
            dn_sbatch_set (&lines, option, given.argument);
    }
    for (int i = 0; i < DN_N_SBATCH_OPTIONS; i++)
        if (!sbatch->value[i] && !has_rival (sbatch->value, i))
            sbatch->value[i] = lines.value[i];
    return DN_EXIT_DONE;
}

/* sbatch takes digits, for nodes also with the suffixes k and m, and neither "1e3" nor
 * "1.5" (sbatch 22.05). An empty text is left to dn_int_read ().
 */
static int check_digits (struct dn_span text,
                         const char *what,
                         const char *suffixes,
                         struct dn_err *err)
{
    size_t at = text.len > 0 && strchr ("+-", text.text[0]) ? 1 : 0;

    while (at < text.len && dn_is_digit (text.text[at]))
        at++;
    if (at < text.len && at > 0 && strchr (suffixes, dn_lower (text.text[at])))
        at++;
    return at == text.len ? 0
                          : dn_err_set (err,
                                        DN_E_SYNTAX,
                                        "%s: '%s' is not a whole number, expected "
                                        "digits",
                                        what,
                                        dn_quote (text.text, text.len).text);
}

static int read_count (const struct dn_sbatch *sbatch,
                       int option,
                       int64_t *out,
                       struct dn_err *err)
{
    struct dn_span text = dn_span_of (sbatch->value[option]);
    const char *name = dn_sbatch_options[option].name;

    if (!text.text)
        return 0;
    if (check_digits (text, name, "", err) < 0)
        return -1;
    return dn_int_read (text, name, 1, COUNT_MAX, out, err);
}

/* Minutes, seconds rounded up; 0 means no limit (sbatch.1). */
static int read_time (const struct dn_sbatch *sbatch,
                      int option,
                      int64_t *minutes,
                      struct dn_err *err)
{
    struct dn_span text = dn_span_of (sbatch->value[option]);
    int64_t seconds = 0;

    if (!text.text)
        return 0;
    if (dn_span_is (text, "UNLIMITED") || dn_span_is (text, "INFINITE")
        || (text.len == 2 && memcmp (text.text, "-1", 2) == 0)) {
        *minutes = DN_UNLIMITED;
        return 0;
    }
    if (dn_time_read (text, dn_sbatch_options[option].name, &seconds, err) < 0)
        return -1;
    *minutes = seconds > 0 ? (seconds + 59) / 60 : DN_UNLIMITED;
    return 0;
}

/* The seconds until --deadline. Only dates and "now+DELAY" of sbatch.1 are supported.
 */
static void read_deadline (const struct dn_sbatch *sbatch, int64_t *seconds)
{
    const char *text = sbatch->value[DN_SBATCH_DEADLINE];
    const int64_t now_s = (int64_t) time (NULL);
    int64_t at_s;

    if (!text)
        return;
    if (dn_when_read (text, "deadline", now_s, &at_s, NULL) == 0)
        *seconds = at_s > now_s ? at_s - now_s : 0;
    else
        dn_complain ("warning: --deadline=%s is not supported and ignored",
                     dn_quote (text, strlen (text)).text);
}

/* "[R|B:]SIGNAL[@SECONDS]"; 60 seconds by default (sbatch.1). */
static int read_signal (const struct dn_sbatch *sbatch,
                        int64_t *seconds,
                        struct dn_err *err)
{
    const int64_t most = 65535;
    struct dn_span rest = dn_span_of (sbatch->value[DN_SBATCH_SIGNAL]);

    if (!rest.text)
        return 0;
    *seconds = 60;
    dn_span_cut (&rest, "@");
    return rest.text ? dn_int_read (rest, "signal", 0, most, seconds, err) : 0;
}

/* Megabytes from "4096", "4G", "4GB"; kilobytes are rounded up. NULL: not given. */
static int read_memory (const char *value,
                        const char *what,
                        int64_t *megabytes,
                        struct dn_err *err)
{
    static const char units[] = "kmgt";
    struct dn_span text = dn_span_of (value);
    const char *unit = NULL;
    int64_t scale = 1;

    if (!text.text)
        return 0;
    if (text.len > 2 && (text.text[text.len - 1] | ' ') == 'b')
        text.len--;
    if (text.len > 1)
        unit = strchr (units, text.text[text.len - 1] | ' ');
    if (unit) {
        text.len--;
        for (const char *u = units + 1; u < unit; u++)
            scale *= 1024;
    }
    if (check_digits (text, what, "", err) < 0
        || dn_int_read (text, what, 0, MEMORY_MAX_MB / scale, megabytes, err) < 0)
        return -1;
    *megabytes = unit == units ? (*megabytes + 1023) / 1024 : *megabytes * scale;
    return 0;
}

static int read_size (const struct dn_sbatch *sbatch,
                      int option,
                      int64_t *megabytes,
                      struct dn_err *err)
{
    return read_memory (
        sbatch->value[option], dn_sbatch_options[option].name, megabytes, err);
}

/* "N", "N-M"; a list "N,M" counts as the range it spans. */
static int read_nodes (struct dn_sbatch *sbatch, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (sbatch->value[DN_SBATCH_NODES]);
    struct dn_job *job = &sbatch->job;
    int64_t number = 0;

    while (rest.text) {
        struct dn_span piece = dn_span_cut (&rest, "-,");

        if (check_digits (piece, "nodes", "km", err) < 0
            || dn_int_read (piece, "nodes", 1, COUNT_MAX, &number, err) < 0)
            return -1;
        if (job->min_nodes == DN_UNSET)
            job->min_nodes = number;
        job->max_nodes = number;
    }
    if (job->max_nodes < job->min_nodes)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "nodes: '%s' ends below its start",
                           dn_quote (sbatch->value[DN_SBATCH_NODES],
                                     strlen (sbatch->value[DN_SBATCH_NODES]))
                               .text);
    return 0;
}

/* Append every item of 'list' with 'prefix': "gres:gpu" and "a100:4,2" make
 * "gres:gpu:a100:4,gres:gpu:2". 'equals' puts '=' before the counts.
 */
static void add_tres (struct dn_buf *buf,
                      const char *prefix,
                      const char *list,
                      bool equals)
{
    struct dn_span rest = dn_span_of (list);

    while (rest.text) {
        struct dn_span count = dn_span_trim (dn_span_cut (&rest, ","));
        struct dn_span type = dn_span_cut (&count, ":");
        bool untyped = type.len > 0 && type.text[0] >= '0' && type.text[0] <= '9';

        dn_buf_add (buf,
                    "%s%s%c%.*s",
                    buf->len > 0 ? "," : "",
                    prefix,
                    equals && untyped ? '=' : ':',
                    (int) type.len,
                    type.text);
        if (count.text)
            dn_buf_add (buf, "%c%.*s", equals ? '=' : ':', (int) count.len, count.text);
    }
}

static const char *gpu_prefix (int version)
{
    return version < VERSION_SLASH ? "gres:gpu" : "gres/gpu";
}

/* --gres: each entry gets the version's prefix instead of its own. */
static void add_gres (struct dn_buf *buf, const char *list, int version)
{
    struct dn_span rest = dn_span_of (list);

    while (rest.text) {
        struct dn_span piece = dn_span_trim (dn_span_cut (&rest, ","));

        if (piece.len > 5
            && (dn_word_equal (piece.text, 5, "gres:", 5)
                || dn_word_equal (piece.text, 5, "gres/", 5))) {
            piece.text += 5;
            piece.len -= 5;
        }
        dn_buf_add (buf,
                    "%s%s%.*s",
                    buf->len > 0 ? "," : "",
                    version < VERSION_SLASH ? "gres:" : "gres/",
                    (int) piece.len,
                    piece.text);
    }
}

/* tres_per_task: as given, or CPUs (from 23.11) and GPUs of a task. */
static void add_task_tres (const struct dn_sbatch *sbatch,
                           int version,
                           struct dn_buf *buf)
{
    const char *const *value = sbatch->value;
    bool equals = version >= VERSION_EQUALS;

    if (value[DN_SBATCH_TRES_PER_TASK]) {
        dn_buf_add (buf, "%s", value[DN_SBATCH_TRES_PER_TASK]);
        return;
    }
    if (value[DN_SBATCH_CPUS_PER_TASK] && version >= VERSION_SLASH)
        dn_buf_add (
            buf, "cpu%c%" PRId64, equals ? '=' : ':', sbatch->job.cpus_per_task);
    add_tres (buf, gpu_prefix (version), value[DN_SBATCH_GPUS_PER_TASK], equals);
}

static int fill_tres (struct dn_sbatch *sbatch, int version, struct dn_err *err)
{
    const char *const *value = sbatch->value;
    struct dn_buf buf[DN_N_GPU_FIELDS];

    for (int f = DN_GPU_PER_JOB; f < DN_N_GPU_FIELDS; f++)
        buf[f] = dn_buf_on (sbatch->tres[f], DN_SBATCH_TEXT_MAX);
    add_tres (&buf[DN_GPU_PER_JOB], gpu_prefix (version), value[DN_SBATCH_GPUS], false);
    add_gres (&buf[DN_GPU_PER_NODE], value[DN_SBATCH_GRES], version);
    add_tres (&buf[DN_GPU_PER_NODE],
              gpu_prefix (version),
              value[DN_SBATCH_GPUS_PER_NODE],
              false);
    add_tres (&buf[DN_GPU_PER_SOCKET],
              gpu_prefix (version),
              value[DN_SBATCH_GPUS_PER_SOCKET],
              false);
    add_task_tres (sbatch, version, &buf[DN_GPU_PER_TASK]);
    for (int f = DN_GPU_PER_JOB; f < DN_N_GPU_FIELDS; f++) {
        if (buf[f].cut)
            return dn_err_set (err,
                               DN_E_LIMIT,
                               "gpus: a list of more than %d characters",
                               DN_SBATCH_TEXT_MAX);
        sbatch->job.tres[f] = buf[f].len > 0 ? sbatch->tres[f] : NULL;
    }
    return 0;
}

/* GPUs of all entries of one field; 0 if there are none. */
static int64_t count_gpus (const char *tres)
{
    struct dn_tres_list list;
    int64_t n_gpus = 0;

    if (dn_tres_read (tres, &list, NULL) < 0)
        return 0;
    for (int i = 0; i < list.n_entries; i++)
        n_gpus += list.entries[i].gpu ? list.entries[i].count : 0;
    return n_gpus;
}

/* GPUs of the job, 0 if the client cannot know them. */
static int64_t total_gpus (const struct dn_job *job)
{
    int64_t nodes = job->min_nodes > 0 ? job->min_nodes : 1;

    if (job->tres[DN_GPU_PER_JOB])
        return count_gpus (job->tres[DN_GPU_PER_JOB]);
    if (job->tres[DN_GPU_PER_NODE])
        return count_gpus (job->tres[DN_GPU_PER_NODE]) * nodes;
    return 0;
}

static int fill_per_gpu (struct dn_sbatch *sbatch, int version, struct dn_err *err)
{
    struct dn_job *job = &sbatch->job;
    int64_t cpus = DN_UNSET;
    int64_t memory = DN_UNSET;

    if (read_count (sbatch, DN_SBATCH_CPUS_PER_GPU, &cpus, err) < 0
        || read_size (sbatch, DN_SBATCH_MEM_PER_GPU, &memory, err) < 0)
        return -1;
    if (cpus != DN_UNSET) {
        snprintf (sbatch->cpus_per_tres,
                  sizeof (sbatch->cpus_per_tres),
                  "%s:%" PRId64,
                  gpu_prefix (version),
                  cpus);
        job->cpus_per_tres = sbatch->cpus_per_tres;
        if (version >= VERSION_CPUS_FROM_GPU && total_gpus (job) > 0)
            job->min_cpus = cpus * total_gpus (job);
    }
    if (memory != DN_UNSET) {
        snprintf (sbatch->mem_per_tres,
                  sizeof (sbatch->mem_per_tres),
                  "%s:%" PRId64,
                  gpu_prefix (version),
                  memory);
        job->mem_per_tres = sbatch->mem_per_tres;
    }
    return 0;
}

/* The CPUs per task that --tres-per-task names, which 24.11 copies to the field. */
static int read_task_cpus (struct dn_sbatch *sbatch, int version, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (sbatch->value[DN_SBATCH_TRES_PER_TASK]);

    while (version >= VERSION_EQUALS && rest.text) {
        struct dn_span count = dn_span_cut (&rest, ",");
        struct dn_span name = dn_span_cut (&count, "=:");

        if (dn_span_is (name, "cpu")
            && dn_int_read (count,
                            "tres-per-task: cpu",
                            1,
                            COUNT_MAX,
                            &sbatch->job.cpus_per_task,
                            err)
                   < 0)
            return -1;
    }
    return 0;
}

static int read_counts (struct dn_sbatch *sbatch, int version, struct dn_err *err)
{
    struct dn_job *job = &sbatch->job;
    const struct {
        int option;
        int64_t *to;
    } counts[] = {{DN_SBATCH_CPUS_PER_TASK, &job->cpus_per_task},
                  {DN_SBATCH_NTASKS, &job->num_tasks},
                  {DN_SBATCH_NTASKS_PER_NODE, &job->ntasks_per_node},
                  {DN_SBATCH_NTASKS_PER_GPU, &job->ntasks_per_tres},
                  {DN_SBATCH_SOCKETS_PER_NODE, &job->sockets_per_node},
                  {DN_SBATCH_MINCPUS, &job->pn_min_cpus}};

    if (read_nodes (sbatch, err) < 0 || read_task_cpus (sbatch, version, err) < 0)
        return -1;
    for (size_t i = 0; i < DN_N_ELEMENTS (counts); i++)
        if (read_count (sbatch, counts[i].option, counts[i].to, err) < 0)
            return -1;
    return read_size (sbatch, DN_SBATCH_TMP, &job->tmp_disk_mb, err);
}

/* The values that sbatch derives from counts: tasks, CPUs of the job and of a node. */
static void derive_counts (struct dn_job *job)
{
    int64_t tasks;

    if (job->num_tasks == DN_UNSET && job->ntasks_per_node != DN_UNSET
        && job->min_nodes == job->max_nodes)
        job->num_tasks =
            job->ntasks_per_node * (job->min_nodes > 0 ? job->min_nodes : 1);
    if (job->num_tasks == DN_UNSET && job->ntasks_per_tres != DN_UNSET
        && total_gpus (job) > 0)
        job->num_tasks = job->ntasks_per_tres * total_gpus (job);
    tasks = job->num_tasks;
    if (tasks == DN_UNSET)
        tasks = job->min_nodes > 0 ? job->min_nodes : 1;
    if (job->overcommit)
        job->min_cpus = job->min_nodes > 0 ? job->min_nodes : 1;
    else
        job->min_cpus = tasks * (job->cpus_per_task > 0 ? job->cpus_per_task : 1);
    if (job->pn_min_cpus < job->cpus_per_task)
        job->pn_min_cpus = job->cpus_per_task;
}

/* GPUs in 'tres' if they are one entry, else 0. */
static int64_t count_entry (const char *tres)
{
    struct dn_tres_list list;

    if (!tres || dn_tres_read (tres, &list, NULL) < 0)
        return 0;
    return list.n_entries == 1 && list.entries[0].gpu ? list.entries[0].count : 0;
}

/* The values that sbatch derives from two GPU options. It does so last, so CPUs are not
 * derived again. sbatch itself refuses contradictory options.
 */
static void derive_from_gpus (struct dn_job *job)
{
    int64_t per_job = count_entry (job->tres[DN_GPU_PER_JOB]);
    int64_t per_node = count_entry (job->tres[DN_GPU_PER_NODE]);
    int64_t per_task = count_entry (job->tres[DN_GPU_PER_TASK]);

    if (per_job > 0 && per_node > 0 && per_job % per_node == 0) {
        job->min_nodes = per_job / per_node;
        job->max_nodes = job->min_nodes;
    }
    if (per_job > 0 && per_task > 0 && per_job % per_task == 0
        && job->num_tasks == DN_UNSET)
        job->num_tasks = per_job / per_task;
    if (per_node > 0 && per_task > 0 && per_node % per_task == 0
        && job->ntasks_per_node == DN_UNSET)
        job->ntasks_per_node = per_node / per_task;
}

/* --hint becomes tasks or threads per core: one thread with nomultithread and
 * compute_bound, any with multithread; with memory_bound also one core per socket.
 */
static bool has_hint (const struct dn_sbatch *sbatch, const char *hint)
{
    struct dn_span rest = dn_span_of (sbatch->value[DN_SBATCH_HINT]);

    while (rest.text)
        if (dn_span_is (dn_span_cut (&rest, ","), hint))
            return true;
    return false;
}

static bool is_one (const char *value)
{
    return value && strcmp (value, "1") == 0;
}

/* One thread or task of each core? */
static bool takes_whole_cores (const struct dn_sbatch *sbatch)
{
    return is_one (sbatch->value[DN_SBATCH_THREADS_PER_CORE])
           || is_one (sbatch->value[DN_SBATCH_NTASKS_PER_CORE])
           || has_hint (sbatch, "nomultithread") || has_hint (sbatch, "compute_bound");
}

static bool is_special (const struct dn_sbatch *sbatch)
{
    static const int special[] = {
        DN_SBATCH_CORE_SPEC,
        DN_SBATCH_THREAD_SPEC,
        DN_SBATCH_CORES_PER_SOCKET,
        DN_SBATCH_NTASKS_PER_SOCKET,
        DN_SBATCH_EXTRA_NODE_INFO,
    };
    static const int per_core[] = {DN_SBATCH_THREADS_PER_CORE,
                                   DN_SBATCH_NTASKS_PER_CORE};

    for (size_t i = 0; i < DN_N_ELEMENTS (per_core); i++)
        if (sbatch->value[per_core[i]] && !is_one (sbatch->value[per_core[i]]))
            return true;

    for (size_t i = 0; i < DN_N_ELEMENTS (special); i++)
        if (sbatch->value[special[i]])
            return true;
    return has_hint (sbatch, "memory_bound");
}

static void fill_names (struct dn_sbatch *sbatch)
{
    struct dn_job *job = &sbatch->job;
    const char *const *value = sbatch->value;

    job->features = value[DN_SBATCH_CONSTRAINT];
    job->prefer = value[DN_SBATCH_PREFER];
    job->batch_features = value[DN_SBATCH_BATCH];
    job->req_nodes = value[DN_SBATCH_NODELIST] ? value[DN_SBATCH_NODELIST]
                                               : value[DN_SBATCH_NODEFILE];
    job->exc_nodes = value[DN_SBATCH_EXCLUDE];
    job->special_nodes = value[DN_SBATCH_SOCKETS_PER_NODE] != NULL;
    job->gpu_freq = value[DN_SBATCH_GPU_FREQ];
    job->reservation = value[DN_SBATCH_RESERVATION];
    job->partition = value[DN_SBATCH_PARTITION];
    job->account = value[DN_SBATCH_ACCOUNT];
    job->qos = value[DN_SBATCH_QOS];
    job->comment = value[DN_SBATCH_COMMENT];
    job->script = sbatch->script;
    job->option = value[DN_SBATCH_DNNEST];
    job->exclusive = value[DN_SBATCH_EXCLUSIVE] != NULL;
    job->overcommit = value[DN_SBATCH_OVERCOMMIT] != NULL;
    job->special_cores = is_special (sbatch);
    job->whole_cores = takes_whole_cores (sbatch);
    job->het = sbatch->het;
}

static void add_env (struct dn_sbatch *sbatch, const char *name, const char *value)
{
    int64_t i = sbatch->job.n_env;

    if (!value)
        return;
    snprintf (sbatch->env_text[i], DN_SBATCH_TEXT_MAX, "%s=%s", name, value);
    sbatch->env[i] = sbatch->env_text[i];
    sbatch->job.n_env++;
}

/* sbatch repeats the GPU options in the job's environment, except --gres. */
static void fill_env (struct dn_sbatch *sbatch, int version)
{
    const char *const *value = sbatch->value;

    add_env (sbatch, "SLURM_GPUS", value[DN_SBATCH_GPUS]);
    add_env (sbatch, "SLURM_GPUS_PER_NODE", value[DN_SBATCH_GPUS_PER_NODE]);
    add_env (sbatch, "SLURM_GPUS_PER_SOCKET", value[DN_SBATCH_GPUS_PER_SOCKET]);
    add_env (sbatch, "SLURM_CPUS_PER_GPU", value[DN_SBATCH_CPUS_PER_GPU]);
    if (version < VERSION_SLASH)
        add_env (sbatch, "SLURM_GPUS_PER_TASK", value[DN_SBATCH_GPUS_PER_TASK]);
    else
        add_env (sbatch, "SLURM_TRES_PER_TASK", sbatch->job.tres[DN_GPU_PER_TASK]);
    sbatch->job.env = sbatch->env;
}

static int check_rivals (const struct dn_sbatch *sbatch, struct dn_err *err)
{
    const char *const *value = sbatch->value;

    if ((value[DN_SBATCH_MEM] != NULL) + (value[DN_SBATCH_MEM_PER_CPU] != NULL)
            + (value[DN_SBATCH_MEM_PER_GPU] != NULL)
        > 1)
        return dn_err_set (
            err, DN_E_SYNTAX, "mem, mem-per-cpu, mem-per-gpu: expected one of them");
    if (value[DN_SBATCH_CPUS_PER_TASK] && value[DN_SBATCH_CPUS_PER_GPU])
        return dn_err_set (
            err, DN_E_SYNTAX, "cpus-per-task, cpus-per-gpu: expected one of them");
    return 0;
}

int dn_sbatch_fill (struct dn_sbatch *sbatch, int version, struct dn_err *err)
{
    struct dn_job *job = &sbatch->job;
    int64_t default_memory = 0;

    *job = dn_job_empty ();
    job->kind = DN_JOB_BATCH;
    job->user_id = (int64_t) getuid ();
    job->group_id = (int64_t) getgid ();
    read_deadline (sbatch, &job->deadline_s);
    fill_names (sbatch);
    if (check_rivals (sbatch, err) < 0
        || read_time (sbatch, DN_SBATCH_TIME, &job->time_limit_min, err) < 0
        || read_time (sbatch, DN_SBATCH_TIME_MIN, &job->time_min_min, err) < 0
        || read_signal (sbatch, &job->signal_s, err) < 0
        || read_size (sbatch, DN_SBATCH_MEM, &job->mem_per_node_mb, err) < 0
        || read_size (sbatch, DN_SBATCH_MEM_PER_CPU, &job->mem_per_cpu_mb, err) < 0
        || read_memory (sbatch->default_memory, "def-mem-per-cpu", &default_memory, err)
               < 0
        || read_counts (sbatch, version, err) < 0
        || fill_tres (sbatch, version, err) < 0)
        return -1;
    if (default_memory > 0)
        job->default_mem_per_cpu_mb = default_memory;
    job->memory_default = default_memory > 0 && !sbatch->value[DN_SBATCH_MEM]
                          && !sbatch->value[DN_SBATCH_MEM_PER_CPU]
                          && !sbatch->value[DN_SBATCH_MEM_PER_GPU];
    derive_counts (job);
    derive_from_gpus (job);
    if (fill_per_gpu (sbatch, version, err) < 0)
        return -1;
    fill_env (sbatch, version);
    return 0;
}

void dn_sbatch_free (struct dn_sbatch *sbatch)
{
    if (!sbatch)
        return;
    free (sbatch->script);
    free (sbatch->words);
    memset (sbatch, 0, sizeof (*sbatch));
}
