/* cmd_lookback.c - what the past jobs of a site say, before anything is installed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lookback/lookback.h"
#include "lookback/nodes_now.h"
#include "report/when.h"

/* As far as most sites keep what accounting knows in full. */
#define PERIOD_S (INT64_C (90) * 86400)

struct call {
    struct dn_options given;
    struct dn_settings settings;
    struct dn_past_source source;
    struct dn_lookback lookback;
    const char *nodes;
    const char *html;
    const char *jobs;
    bool names;
};

static void free_call (struct call *call)
{
    dn_lookback_free (&call->lookback);
}

static int take_when (struct dn_options *given, void *to)
{
    struct call *call = to;
    bool since = strcmp (given->row->name, "since") == 0;

    return dn_when_take (
        given, time (NULL), since ? &call->source.since_s : &call->source.until_s);
}

static const struct dn_option options[] = {
    DN_OPT_TAKE ("since",
                 0,
                 "TIME",
                 "jobs that ended at or after it (now-90days)",
                 take_when),
    DN_OPT_TAKE ("until", 0, "TIME", "jobs that ended before it (now)", take_when),
    DN_OPT_TEXT ("sacct", 0, "FILE", "what sacct printed (dnnest(1))", source.sacct),
    DN_OPT_TEXT ("trace", 0, "FILE", "a table of jobs instead", source.table),
    DN_OPT_TEXT ("nodes", 0, "FILE", "a table of nodes (what sinfo says)", nodes),
    DN_OPT_RULE ("set", 0, "KEY=VALUE", "override a rule; may be repeated", settings),
    DN_OPT_FLAG ("names", 0, "name the owners", names),
    DN_OPT_TEXT ("html", 0, "FILE", "write a page", html),
    DN_OPT_TEXT ("jobs", 0, "FILE", "write a row per simulated job", jobs),
    DN_OPT_END,
};

/* FILE is what sacct has printed if its first line has '|', else a table. Return the
 * exit code.
 */
static int take_file (const struct dn_command *self,
                      const char *path,
                      struct dn_past_source *source)
{
    struct dn_err err = {0};
    dn_cleanup (dn_close_input) FILE *stream = NULL;
    dn_cleanup (dn_free_ptr) char *line = NULL;
    size_t size = 0;

    if (source->table || source->sacct)
        return dn_options_misuse (self, "FILE, --trace and --sacct cannot be combined");
    if (strcmp (path, "-") == 0)
        return dn_options_misuse (self, "of stdin, expected --sacct=- or --trace=-");
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
static int take_options (const struct dn_command *self, struct call *call)
{
    const int64_t now_s = (int64_t) time (NULL);
    struct dn_past_source *source = &call->source;

    if (!dn_settings_add (&call->settings, self, "Mode=enforce")
        || !dn_options_all (&call->given, call, 0, 1))
        return -1;
    call->given.exit_code = DN_EXIT_DONE;
    if (source->table && source->sacct)
        call->given.exit_code =
            dn_options_misuse (self, "--trace and --sacct cannot be combined");
    else if (call->given.n_args == 1)
        call->given.exit_code = take_file (self, call->given.args[0], source);
    if (!source->table && !source->sacct) {
        source->until_s = source->until_s ? source->until_s : now_s;
        source->since_s =
            source->since_s ? source->since_s : source->until_s - PERIOD_S;
    }
    return call->given.exit_code == DN_EXIT_DONE ? 0 : -1;
}

/* The nodes: without them there is no queue. */
static int read_nodes (struct call *call, struct dn_err *err)
{
    struct dn_replay_queue *queue = &call->lookback.queue;
    struct dn_err problem = {0};

    if (call->nodes)
        return dn_replay_queue_nodes (queue, call->nodes, err);
    if (call->source.table || call->source.sacct)
        return 0;
    if (dn_nodes_ask (&queue->sim, &problem) < 0)
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

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    dn_cleanup (free_call) struct call call = {.nodes = NULL};
    struct dn_err err = {0};
    int rc;

    dn_options_begin (&call.given, self, argc, argv);
    if (take_options (self, &call) < 0)
        return call.given.exit_code;
    site = dn_options_site (&call.given, call.settings.text);
    if (!site)
        return call.given.exit_code;
    if (read_jobs (&call, &err) < 0 || read_nodes (&call, &err) < 0
        || dn_lookback_run (&call.lookback, site, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if ((call.html
         && dn_lookback_html (&call.lookback, call.names, call.html, &err) < 0)
        || (call.jobs
            && dn_replay_queue_write (&call.lookback.queue, call.jobs, &err) < 0))
        return dn_fail (DN_EXIT_DATA, &err);
    rc = call.given.json ? dn_lookback_print_json (&call.lookback, call.names, &err)
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
