/* cmd_lookback.c - what the past jobs of a site say, before anything is installed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common.h"
#include "lookback/lookback.h"
#include "process/child.h"
#include "replay/replay_queue.h"
#include "report/when.h"

/* As far as most sites keep what accounting knows in full. */
#define PERIOD_S (INT64_C (90) * 86400)

struct call {
    struct dn_options *given;
    struct dn_settings settings;
    struct dn_past_source source;
    struct dn_lookback lookback;
    const char *nodes;
    const char *html;
    const char *jobs;
    bool names;
    bool db;
};

static void free_call (struct call *call)
{
    dn_lookback_free (&call->lookback);
}

static const struct dn_option options[] = {
    DN_OPT_WHEN ("since",
                 "jobs that ended at or after it (now-90days)",
                 source.since_s),
    DN_OPT_WHEN ("until", "jobs that ended before it (now)", source.until_s),
    DN_OPT_FLAG ("db", "ask sacct, as without FILE", db),
    DN_OPT_TEXT ("sacct", "FILE", "what sacct printed (dnnest(1))", source.sacct),
    DN_OPT_TEXT ("trace", "FILE", "a table of jobs instead", source.table),
    DN_OPT_TEXT ("nodes", "FILE", "a table of nodes (what sinfo says)", nodes),
    DN_OPT_RULE ("set", "KEY=VALUE", "override a rule; may be repeated", settings),
    DN_OPT_FLAG ("names", "name the owners", names),
    DN_OPT_TEXT ("html", "FILE", "write a page", html),
    DN_OPT_TEXT ("jobs", "FILE", "write a row per simulated job", jobs),
    DN_OPT_END,
};

/* FILE is what sacct has printed if its first line has '|', else a table. Return the
 * exit code.
 */
static int take_file (struct dn_options *given,
                      const char *path,
                      struct dn_past_source *source)
{
    struct dn_err err = {0};
    dn_cleanup (dn_close_input) FILE *stream = NULL;
    dn_cleanup (dn_free_ptr) char *line = NULL;
    size_t size = 0;

    if (source->table || source->sacct)
        return dn_options_misuse (given,
                                  "FILE, --trace and --sacct cannot be combined");
    if (strcmp (path, "-") == 0)
        return dn_options_misuse (given, "of stdin, expected --sacct=- or --trace=-");
    stream = dn_open_input (path, &err);
    if (!stream)
        return dn_fail (DN_EXIT_DATA, &err);
    if (getline (&line, &size, stream) >= 0 && strchr (line, '|'))
        source->sacct = path;
    else
        source->table = path;
    return DN_EXIT_DONE;
}

/* A file has its own period unless one is given. */
static int take_options (struct call *call)
{
    struct dn_options *given = call->given;
    struct dn_past_source *source = &call->source;

    dn_settings_add (&call->settings, given, "Mode=enforce");
    if (!dn_options_all (given, call, 0, 1))
        return -1;
    if (source->table && source->sacct)
        dn_options_misuse (given, "--trace and --sacct cannot be combined");
    else if (given->n_args == 1)
        given->exit_code = take_file (given, given->args[0], source);
    if (call->db && (source->table || source->sacct))
        dn_options_misuse (given, "--db and a file cannot be combined");
    if (!source->table && !source->sacct) {
        source->until_s = source->until_s ? source->until_s : (int64_t) time (NULL);
        source->since_s =
            source->since_s ? source->since_s : source->until_s - PERIOD_S;
    }
    return given->exit_code == DN_EXIT_DONE ? 0 : -1;
}

static int add_node (struct dn_sim *sim,
                     const struct dn_sim_pool *node,
                     struct dn_err *err)
{
    for (int i = 0; i < sim->n_pools; i++) {
        struct dn_sim_pool *pool = &sim->pools[i];

        if (strcmp (pool->type, node->type) == 0 && pool->gpus == node->gpus
            && pool->cpus == node->cpus && pool->mem_mb == node->mem_mb) {
            pool->nodes++;
            return 0;
        }
    }
    if (sim->n_pools == DN_SIM_POOLS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "more than %d kinds of nodes", DN_SIM_POOLS_MAX);
    sim->pools[sim->n_pools++] = *node;
    return 0;
}

/* "gpu:a100:4(S:0-1)", or "gpu:4". False: these are no GPUs. */
static bool read_gres (struct dn_span gres, struct dn_sim_pool *node)
{
    struct dn_span name = dn_span_cut (&gres, ":");
    struct dn_span type = dn_span_cut (&gres, ":");
    struct dn_span count = gres.text ? gres : type;

    if (!dn_span_is (name, "gpu") || !type.text)
        return false;
    count.len = strcspn (count.text, "(,\n|") < count.len
                    ? strcspn (count.text, "(,\n|")
                    : count.len;
    node->type[0] = '\0';
    return dn_int_read (count, "gpus", 1, INT32_MAX, &node->gpus, NULL) == 0
           && (!gres.text
               || dn_span_copy (type, node->type, DN_NAME_MAX, "type", NULL) == 0);
}

/* Cut the next gres: a comma within brackets separates none. */
static struct dn_span next_gres (struct dn_span *list)
{
    struct dn_span gres = *list;
    int depth = 0;

    for (size_t i = 0; i < list->len; i++) {
        char c = list->text[i];

        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (c != ',' || depth > 0)
            continue;
        gres.len = i;
        *list = (struct dn_span){list->text + i + 1, list->len - i - 1};
        return gres;
    }
    *list = (struct dn_span){NULL, 0};
    return gres;
}

/* "12+" of nodes that differ is their least. */
static int64_t number_of (struct dn_span text)
{
    int64_t number = 0;

    if (text.len > 0 && text.text[text.len - 1] == '+')
        text.len--;
    dn_int_read (text, "number", 0, INT32_MAX, &number, NULL);
    return number;
}

static int read_node_line (struct dn_sim *sim, struct dn_span line, struct dn_err *err)
{
    struct dn_sim_pool node = {.nodes = 1};
    struct dn_span gres;

    node.cpus = number_of (dn_span_cut (&line, "|"));
    node.mem_mb = number_of (dn_span_cut (&line, "|"));
    while (line.text && line.len > 0) {
        gres = next_gres (&line);
        if (read_gres (gres, &node) && add_node (sim, &node, err) < 0)
            return -1;
    }
    return 0;
}

/* Add the pools of what "sinfo -hN -o %N|%c|%m|%G" has printed: like nodes together,
 * those of several partitions once. A node with GPUs of two types is in a pool of each.
 * -1 with 'err': more than DN_SIM_POOLS_MAX kinds.
 */
static int read_nodes_now (struct dn_sim *sim, const char *text, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span last = {"", 0};
    struct dn_span line;

    while ((line = dn_span_cut (&rest, "\n")).text) {
        struct dn_span name = dn_span_cut (&line, "|");

        if (!line.text
            || (name.len == last.len && memcmp (name.text, last.text, name.len) == 0))
            continue;
        last = name;
        if (read_node_line (sim, line, err) < 0)
            return -1;
    }
    return 0;
}

/* The nodes, of which sinfo is asked: without them there is no queue. */
static int read_nodes (struct call *call, struct dn_err *err)
{
    char *argv[] = {"sinfo", "-hN", "-o", "%N|%c|%m|%G", NULL};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_replay_queue *queue = &call->lookback.queue;
    struct dn_err problem = {0};

    if (call->nodes)
        return dn_replay_queue_nodes (queue, call->nodes, err);
    if (call->source.table || call->source.sacct)
        return 0;
    text = dn_child_output (argv, true, &problem);
    if (!text || read_nodes_now (&queue->sim, text, &problem) < 0)
        dn_complain ("note: %s", problem.text);
    return 0;
}

static int read_jobs (struct call *call, struct dn_err *err)
{
    struct dn_past_jobs *jobs = &call->lookback.jobs;
    char text[1024];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (dn_past_jobs_read (jobs, &call->source, err) < 0)
        return -1;
    if (jobs->n_refused > 0)
        dn_complain ("note: %lld rows cannot be read; the first: %s",
                     (long long) jobs->n_refused,
                     jobs->first.text);
    if (jobs->n > 0)
        return 0;
    if (call->source.sacct) {
        dn_past_sacct_command (&buf);
        fprintf (stderr, "--sacct reads what this prints:\n%s\n", text);
    }
    return dn_err_set (err, DN_E_RANGE, "no job with GPUs has ended in this period");
}

static int run (struct dn_options *given)
{
    dn_cleanup (free_call) struct call call = {.given = given};
    struct dn_err err = {0};
    int rc;

    if (take_options (&call) < 0 || !dn_options_site (given, call.settings.text))
        return given->exit_code;
    if (read_jobs (&call, &err) < 0 || read_nodes (&call, &err) < 0
        || dn_lookback_run (&call.lookback, given->site, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if ((call.html
         && dn_lookback_html (&call.lookback, call.names, call.html, &err) < 0)
        || (call.jobs
            && dn_replay_queue_write (&call.lookback.queue, call.jobs, &err) < 0))
        return dn_fail (DN_EXIT_DATA, &err);
    rc = given->json ? dn_lookback_print_json (&call.lookback, call.names, &err)
                     : dn_lookback_print (&call.lookback, call.names, &err);
    return rc < 0 ? dn_fail (DN_EXIT_BUG, &err) : DN_EXIT_DONE;
}

const struct dn_command dn_cmd_lookback = {
    .name = "lookback",
    .summary = "Show what past jobs used, and what dnnest would have changed",
    .arguments = "[FILE]",
    .options = options,
    .run = run,
};
