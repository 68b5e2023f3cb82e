/* cmd_probe.c - runs a program for some steps, and predicts the whole run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_records.h"
#include "process/interrupt.h"
#include "probe/probe_report.h"
#include "probe/probe_sweep.h"
#include "rewrite/rewrite.h"

#define STEPS_USUAL   30
#define WARMUP_USUAL  10
#define SECONDS_USUAL 600
#define GRACE_USUAL   10
#define DAY_S         86400

#define DIRECTIVES_MAX 64

/* Maximum number of words before the metadata in the command of an array task. */
#define WORDS_MAX 24

/* The options and arguments of a call. */
struct call {
    struct dn_probe_task task;
    int64_t grace;
    int64_t seconds;
    const char *pattern;
    regex_t regex;
    bool compiled;
    const char *gpu;
    bool all;
    const char *spec; /* argument or sidecar; NULL none */
    const char *sidecar;
    const char *record; /* NULL: the default store */
    struct dn_sweep sweep;
    const char *directives[DIRECTIVES_MAX];
    int n_directives;
    bool submit;
    bool within_job;
    char spec_text[DN_METADATA_MAX];
    char *sidecar_text;         /* JSON of the sidecar; owned */
    char record_path[PATH_MAX]; /* of the store; "": none */
};

static void free_call (struct call *call)
{
    if (call->compiled)
        regfree (&call->regex);
    free (call->sidecar_text);
}

static int take_pattern (struct dn_options *given, void *to)
{
    struct call *call = to;
    const char *text = given->argument;
    char why[128];
    int rc;

    if (call->compiled)
        regfree (&call->regex);
    rc = regcomp (&call->regex, text, REG_EXTENDED);
    call->compiled = rc == 0;
    call->pattern = text;
    if (rc == 0)
        return DN_EXIT_DONE;
    regerror (rc, &call->regex, why, sizeof (why));
    return dn_options_misuse (given->command,
                              "--pattern: '%s': %s",
                              dn_quote (text, strlen (text)).text,
                              why);
}

static int take_sweep (struct dn_options *given, void *to)
{
    struct call *call = to;
    struct dn_err err = {0};

    return dn_sweep_add (&call->sweep, given->argument, &err) < 0
               ? dn_options_misuse (given->command, "%s", err.text)
               : DN_EXIT_DONE;
}

static int take_directive (struct dn_options *given, void *to)
{
    struct call *call = to;

    if (call->n_directives == DIRECTIVES_MAX)
        return dn_options_misuse (
            given->command, "--sbatch: more than %d", DIRECTIVES_MAX);
    call->directives[call->n_directives++] = given->argument;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_INT ("steps",
                0,
                "N",
                "measure N steps (30)",
                task.steps,
                DN_STEADY_MIN,
                100000),
    DN_OPT_INT ("warmup",
                0,
                "N",
                "skip N steps before them (10)",
                task.warmup,
                1,
                100000),
    DN_OPT_INT ("seconds",
                0,
                "S",
                "end the program after S seconds (600)",
                seconds,
                1,
                DAY_S),
    DN_OPT_INT ("grace",
                0,
                "S",
                "wait S seconds before each signal (10)",
                grace,
                0,
                3600),
    DN_OPT_TAKE ("pattern",
                 0,
                 "REGEX",
                 "count lines of its output instead of PyTorch's steps",
                 take_pattern),
    DN_OPT_INT ("every",
                0,
                "N",
                "a line of --pattern stands for N steps (1)",
                task.every,
                1,
                1000000),
    DN_OPT_TEXT ("gpu",
                 0,
                 "NAME",
                 "the GPU type or device that it runs on (detected)",
                 gpu),
    DN_OPT_FLAG ("all", 0, "predict on every device of the catalogue", all),
    DN_OPT_TEXT ("sidecar", 0, "FILE", "metadata, instead of SPEC", sidecar),
    DN_OPT_TEXT ("record", 0, "FILE", "add the result to this store, or none", record),
    DN_OPT_TEXT ("hook", 0, "DIR", "where the hook for Python is", task.hook_dir),
    DN_OPT_FLAG ("within-job", 0, "for the hook in jobs with probe=", within_job),
    DN_OPT_TAKE ("sweep",
                 0,
                 "KEY=LIST",
                 "print a job array of probes; may be repeated",
                 take_sweep),
    DN_OPT_TAKE ("sbatch",
                 0,
                 "OPTION",
                 "with --sweep: an option for sbatch",
                 take_directive),
    DN_OPT_FLAG ("submit", 0, "with --sweep: submit the job array", submit),
    DN_OPT_END,
};

/* Refuse options that exclude each other. */
static int check_options (const struct dn_command *self,
                          const struct dn_options *given,
                          const struct call *call)
{
    if (!call->task.argv || !call->task.argv[0])
        return dn_options_misuse (self, "COMMAND is missing, expected -- COMMAND");
    if (call->within_job
        && (call->sidecar || given->n_args > 0 || call->sweep.n_keys > 0))
        return dn_options_misuse (self, "--within-job takes no SPEC and no --sidecar");
    if (call->sidecar && given->n_args > 0)
        return dn_options_misuse (self, "--sidecar and SPEC cannot be combined");
    if (call->task.every > 1 && !call->pattern)
        return dn_options_misuse (self, "--every needs --pattern");
    if (call->sweep.n_keys == 0 && (call->submit || call->n_directives > 0))
        return dn_options_misuse (self, "--submit and --sbatch need --sweep");
    if (call->sweep.n_keys > 0 && given->json)
        return dn_options_misuse (self, "--json cannot be combined with --sweep");
    return DN_EXIT_DONE;
}

static int take_options (const struct dn_command *self,
                         struct dn_options *given,
                         struct call *call)
{
    if (dn_options_take (given, call) != DN_OPTION_END)
        return -1;
    given->exit_code = check_options (self, given, call);
    if (given->exit_code != DN_EXIT_DONE || !dn_options_count (given, 0, 1))
        return -1;
    call->task.pattern = call->compiled ? &call->regex : NULL;
    call->task.seconds = (double) call->seconds;
    call->task.grace_s = (double) call->grace;
    call->task.output_to_stderr = given->json;
    return 0;
}

/* --- metadata -------------------------------------------------------------------- */

/* Set the SPEC of the report: the absolute path of a sidecar, else the metadata written
 * again on one line, so that text from stdin is kept.
 */
static int name_spec (struct call *call,
                      const struct dn_subject *subject,
                      struct dn_err *err)
{
    const char *path = call->spec + (call->spec[0] == '@');
    char absolute[PATH_MAX];
    struct dn_buf buf = dn_buf_on (call->spec_text, sizeof (call->spec_text));

    if (!dn_subject_is_sidecar (call->spec))
        return dn_subject_write (
            &subject->spec, call->spec_text, sizeof (call->spec_text), err);
    call->sidecar_text =
        dn_sidecar_write (&(const struct dn_sidecar){subject->spec, subject->layers});
    if (!call->sidecar_text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    dn_buf_add (&buf, "@%s", dn_options_absolute (absolute, path));
    return buf.cut ? dn_err_set (err, DN_E_LIMIT, "%s: the path is too long", path) : 0;
}

/* In a job with probe=: read the metadata that the plugin has put into the environment
 * (rewrite.h). forget_job () removes them, so that jobs that the program submits are
 * not probed.
 */
static int parse_job (struct call *call, struct dn_subject *subject, struct dn_err *err)
{
    const char *spec = getenv (DN_PROBE_SPEC);
    const char *steps = getenv (DN_PROBE_STEPS);
    const char *json = getenv (DN_PROBE_SIDECAR);
    struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    int64_t n = 1;

    if (!spec)
        return dn_err_set (err, DN_E_RANGE, "--within-job: no " DN_PROBE_SPEC);
    if (steps
        && dn_int_read (dn_span_of (steps), DN_PROBE_STEPS, 1, 100000, &n, err) < 0)
        return -1;
    if (n > 1)
        call->task.steps = n < DN_STEADY_MIN ? DN_STEADY_MIN : n;
    if (json) {
        if (dn_sidecar_read (dn_span_of (json), &sidecar, err) < 0)
            return -1;
        subject->layers = sidecar.layers;
        call->sidecar_text = strdup (json);
        if (!call->sidecar_text)
            return dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    subject->spec = sidecar.spec;
    if (dn_spec_read (dn_span_of (spec), &subject->spec, err) < 0)
        return -1;
    call->spec = spec;
    return dn_subject_write (
        &subject->spec, call->spec_text, sizeof (call->spec_text), err);
}

static int parse_subject (struct call *call,
                          struct dn_subject *subject,
                          struct dn_err *err)
{
    memset (subject, 0, sizeof (*subject));
    if (call->within_job)
        return parse_job (call, subject, err);
    if (dn_subject_parse (call->spec, subject, err) < 0)
        return -1;
    subject->spec.probe = DN_UNSET; /* this already is the probe */
    return name_spec (call, subject, err);
}

static int read_subject (const struct dn_site *site,
                         struct call *call,
                         struct dn_subject *subject,
                         struct dn_err *err)
{
    if (!call->spec && !call->within_job)
        return 0;
    if (parse_subject (call, subject, err) == 0
        && dn_subject_build (site, DN_UNSET, subject, err) == 0)
        return 0;
    dn_subject_free (subject);
    return -1;
}

/* --- a probe --------------------------------------------------------------------- */

/* Find the store for the result. It is created now, so that a bad name is reported
 * before the program runs.
 */
static int find_record (struct call *call, struct dn_err *err)
{
    struct dn_buf path = dn_buf_on (call->record_path, sizeof (call->record_path));

    if (!call->spec || (call->record && strcmp (call->record, DN_SITE_NONE) == 0))
        return 0;
    if (call->record)
        dn_buf_add (&path, "%s", call->record);
    else if (dn_records_usual_path (call->record_path, sizeof (call->record_path), err)
             < 0)
        return -1;
    if (path.cut)
        return dn_err_set (err, DN_E_LIMIT, "--record: the path is too long");
    return dn_records_keep (call->record_path, NULL, err);
}

static int keep (const struct call *call, struct dn_probe_report *report)
{
    struct dn_err err = {0};

    if (!report->steady_known || !report->subject || !report->measured.device
        || call->record_path[0] == '\0')
        return DN_EXIT_DONE;
    if (dn_probe_report_record (report, call->record_path, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    snprintf (report->record, sizeof (report->record), "%s", call->record_path);
    return DN_EXIT_DONE;
}

static void explain_failure (const struct call *call,
                             const struct dn_probe_report *report)
{
    const char *hint = "";

    if (dn_feed_best (&report->run->feed))
        hint = "";
    else if (call->pattern)
        hint = " (does a line match --pattern?)";
    else if (!report->run->feed.hooked)
        hint = " (the program does not import torch; try --pattern)";
    dn_complain ("%s%s", report->why.text, hint);
}

/* The exit code: that of the program if it failed on its own. */
static int exit_of (const struct call *call,
                    const struct dn_probe_report *report,
                    int exit_code)
{
    int status = report->run->status;

    /* The job's script must continue as without the probe. */
    if (call->within_job)
        exit_code = DN_EXIT_DONE;
    if (report->run->end == DN_PROBE_ENDED && WIFSIGNALED (status))
        return 128 + WTERMSIG (status);
    if (report->run->end == DN_PROBE_ENDED && WEXITSTATUS (status) != 0)
        return WEXITSTATUS (status);
    return exit_code;
}

static int show (const struct dn_options *given,
                 struct call *call,
                 struct dn_probe_report *report)
{
    struct dn_err err = {0};
    int exit_code;
    int kept;

    if (report->run->n_left > 0)
        dn_complain ("warning: %d processes of the program did not end",
                     report->run->n_left);
    if (dn_probe_report_find (report, call->task.warmup, call->gpu, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (!report->steady_known
        && !(call->within_job && !dn_feed_best (&report->run->feed)))
        explain_failure (call, report);
    kept = keep (call, report);
    if (given->json) {
        dn_probe_report_print_json (report);
        exit_code = report->steady_known ? DN_EXIT_DONE : DN_EXIT_ABSTAINED;
    } else {
        exit_code = dn_probe_report_print (report);
    }
    return exit_of (call, report, exit_code == DN_EXIT_DONE ? kept : exit_code);
}

static void free_run (struct dn_probe_run **run)
{
    dn_probe_run_free (*run);
    free (*run);
}

/* Predict a program without SPEC with what it has described of itself. */
static void take_described (const struct dn_described_place *place,
                            const struct dn_site *site,
                            struct dn_subject *subject,
                            struct call *call)
{
    dn_cleanup (dn_described_free) struct dn_described described;
    struct dn_err err = {0};

    if (dn_described_read (place->dir, place->job, geteuid (), &described, &err) < 0)
        return;
    subject->spec = described.sidecar.spec;
    subject->layers = described.sidecar.layers;
    described.sidecar.layers = (struct dn_layers){.n = 0};
    if (subject->layers.n > 0) {
        call->sidecar_text = described.capture.sidecar;
        described.capture.sidecar = NULL;
    }
    if (dn_subject_write (
            &subject->spec, call->spec_text, sizeof (call->spec_text), &err)
            == 0
        && dn_subject_build (site, DN_UNSET, subject, &err) == 0)
        call->spec = call->spec_text;
    else
        dn_complain ("what it described cannot be predicted: %s", err.text);
}

static int probe (const struct dn_options *given,
                  const struct dn_site *site,
                  struct dn_subject *subject,
                  struct call *call)
{
    struct dn_err err = {0};
    dn_cleanup (free_run) struct dn_probe_run *run = calloc (1, sizeof (*run));
    dn_cleanup (dn_described_remove) struct dn_described_place place = {.dir = ""};
    dn_cleanup (dn_probe_report_free) struct dn_probe_report report = {
        .site = site,
        .spec = call->spec_text,
        .run = run,
        .argv = call->task.argv,
        .within_job = call->within_job,
        .all = call->all,
    };
    int rc;

    if (!run) {
        dn_complain ("out of memory");
        return DN_EXIT_BUG;
    }
    if (!call->spec && dn_described_make (&place, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    call->task.place = call->spec ? NULL : &place;
    dn_interrupt_hold ();
    rc = dn_probe_run (&call->task, run, &err);
    if (rc == 0 && !call->spec)
        take_described (&place, site, subject, call);
    call->task.place = NULL;
    dn_described_remove (&place);
    dn_interrupt_release (); /* ends this process if a signal came */
    if (rc < 0 && run->unable) {
        dn_complain ("%s", err.text);
        return WEXITSTATUS (run->status);
    }
    if (rc < 0)
        return dn_fail (DN_EXIT_BUG, &err);
    report.subject = call->spec ? subject : NULL;
    report.sidecar = call->sidecar_text;
    return show (given, call, &report);
}

/* --- many probes ----------------------------------------------------------------- */

/* Words of a task's command line, each with its text. */
struct command_words {
    const char *words[WORDS_MAX + 1];
    char text[WORDS_MAX][PATH_MAX + 16];
    int n;
    bool cut;
};

static void add_word (struct command_words *words, const char *format, ...)
    DN_PRINTF (2, 3);

static void add_word (struct command_words *words, const char *format, ...)
{
    char *text = words->text[words->n];
    va_list args;
    int n;

    va_start (args, format);
    n = vsnprintf (text, sizeof (words->text[0]), format, args);
    va_end (args);
    words->cut = words->cut || n < 0 || (size_t) n >= sizeof (words->text[0]);
    words->words[words->n++] = text;
}

static void add_path (struct command_words *words,
                      const char *option,
                      const char *path,
                      const char *usual)
{
    char absolute[PATH_MAX];

    if (!path || (usual && strcmp (path, usual) == 0))
        return;
    if (strcmp (path, DN_SITE_NONE) != 0)
        path = dn_options_absolute (absolute, path);
    add_word (words, "--%s=%s", option, path);
}

static int add_options (const struct dn_options *given,
                        const struct call *call,
                        struct command_words *words,
                        struct dn_err *err)
{
    const struct dn_load_paths usual = dn_load_default_paths ();
    const struct dn_probe_task *task = &call->task;
    char record[PATH_MAX];

    if (!call->record && dn_records_usual_path (record, sizeof (record), err) < 0)
        return -1;
    add_path (words, "conf", given->paths.conf, usual.conf);
    add_path (words, "hardware", given->paths.hardware, usual.hardware);
    add_path (words, "datasets", given->paths.datasets, usual.datasets);
    add_path (words, "zoo", given->paths.zoo, usual.zoo);
    add_path (words, "model", given->paths.model, usual.model);
    add_path (words, "hook", task->hook_dir, DNNEST_PROBE_DIR);
    add_path (words, "record", call->record ? call->record : record, NULL);
    add_word (words, "--steps=%lld", (long long) task->steps);
    add_word (words, "--warmup=%lld", (long long) task->warmup);
    add_word (words, "--seconds=%lld", (long long) call->seconds);
    add_word (words, "--grace=%lld", (long long) call->grace);
    if (call->pattern) {
        add_word (words, "--pattern=%s", call->pattern);
        add_word (words, "--every=%lld", (long long) task->every);
    }
    if (call->gpu)
        add_word (words, "--gpu=%s", call->gpu);
    return words->cut ? dn_err_set (err, DN_E_LIMIT, "an option is too long") : 0;
}

static int make_script (const struct dn_options *given,
                        const struct dn_site *site,
                        const struct call *call,
                        char **script,
                        struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct command_words *words = calloc (1, sizeof (*words));
    char self[PATH_MAX];
    ssize_t n = readlink ("/proc/self/exe", self, sizeof (self) - 1);
    const struct dn_sweep_job job = {
        .site = site,
        .sweep = &call->sweep,
        .spec = call->spec,
        .argv = call->task.argv,
        .options = words ? words->words : NULL,
        .directives = call->directives,
        .n_directives = call->n_directives,
    };

    if (!words)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    self[n > 0 ? n : 0] = '\0';
    add_word (words, "%s", n > 0 ? self : "dnnest");
    add_word (words, "probe");
    if (add_options (given, call, words, err) < 0)
        return -1;
    *script = dn_sweep_script (&job, err);
    return *script ? 0 : -1;
}

static int sweep (const struct dn_command *self,
                  const struct dn_options *given,
                  const struct dn_site *site,
                  const struct call *call)
{
    dn_cleanup (dn_free_ptr) char *script = NULL;
    struct dn_err err = {0};
    int status;

    if (!call->spec || dn_subject_is_sidecar (call->spec)
        || strcmp (call->spec, "-") == 0)
        return dn_options_misuse (self, "--sweep needs SPEC as KEY=VALUE,KEY=VALUE");
    if (make_script (given, site, call, &script, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (!call->submit) {
        fputs (script, stdout);
        return DN_EXIT_DONE;
    }
    status = dn_sweep_submit (script, &err);
    return status < 0 ? dn_fail (DN_EXIT_BUG, &err) : status;
}

static void forget_job (void)
{
    unsetenv (DN_PROBE_SPEC);
    unsetenv (DN_PROBE_STEPS);
    unsetenv (DN_PROBE_SIDECAR);
}

/* In a job, if the probe fails before the program has started, run the whole program
 * without it.
 */
static int go_on (const struct call *call, int exit_code)
{
    if (!call->within_job || !call->task.argv || !call->task.argv[0])
        return exit_code;
    dn_complain ("no probe, the program continues");
    fflush (stdout);
    forget_job ();
    execvp (call->task.argv[0], call->task.argv);
    dn_complain ("%s: %s", call->task.argv[0], strerror (errno));
    return 127;
}

/* Read and check everything that is needed before the program runs. */
static int prepare (const struct dn_site *site,
                    struct call *call,
                    struct dn_subject *subject)
{
    struct dn_err err = {0};

    if (read_subject (site, call, subject, &err) < 0)
        return dn_subject_fail (&err);
    if (call->within_job) {
        forget_job ();
        call->spec = call->spec_text;
        call->seconds = DAY_S; /* the job's time limit ends it earlier */
        call->task.seconds = (double) call->seconds;
    }
    if (call->gpu && !dn_subject_device (site, call->gpu, &err))
        return dn_fail (DN_EXIT_USAGE, &err);
    if (find_record (call, &err) == 0)
        return DN_EXIT_DONE;
    if (!call->within_job)
        return dn_fail (DN_EXIT_DATA, &err);
    dn_complain ("the result is not stored: %s", err.text);
    call->record_path[0] = '\0';
    return DN_EXIT_DONE;
}

static int run_with (const struct dn_command *self,
                     struct dn_options *given,
                     struct call *call)
{
    dn_cleanup (dn_subject_free) struct dn_subject subject = {.graph = {.n_ops = 0}};
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    char hook[PATH_MAX];
    int exit_code;

    call->spec = given->n_args > 0 ? given->args[0] : call->sidecar;
    call->task.hook_dir = dn_options_absolute (hook, call->task.hook_dir);
    site = dn_options_site (given, NULL);
    if (!site)
        return go_on (call, given->exit_code);
    if (call->sweep.n_keys > 0)
        return sweep (self, given, site, call);
    exit_code = prepare (site, call, &subject);
    return exit_code == DN_EXIT_DONE ? probe (given, site, &subject, call)
                                     : go_on (call, exit_code);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_options given;
    dn_cleanup (free_call) struct call call = {
        .task = {.steps = STEPS_USUAL,
                 .warmup = WARMUP_USUAL,
                 .every = 1,
                 .hook_dir = DNNEST_PROBE_DIR},
        .seconds = SECONDS_USUAL,
        .grace = GRACE_USUAL,
    };

    argc = dn_options_cut (argc, argv, &call.task.argv);
    dn_options_begin (&given, self, argc, argv);
    if (take_options (self, &given, &call) < 0)
        return given.exit_code;
    return run_with (self, &given, &call);
}

const struct dn_command dn_cmd_probe = {
    .name = "probe",
    .summary = "Run a program for some steps, and predict the whole run",
    .arguments = "[SPEC] -- COMMAND [ARGUMENT]...",
    .options = options,
    .run = run,
};
