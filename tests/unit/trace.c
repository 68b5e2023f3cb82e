/* trace.c - tests of trace/: the queue, a line, the log's file and the counters
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <json-c/json.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"
#include "scratch.h"
#include "trace/journal.h"
#include "trace/trace.h"

static const char *content_of (const char *name)
{
    static char text[65536];
    FILE *file = fopen (scratch_path (name), "r");

    text[0] = '\0';
    if (!file)
        return "(none)";
    text[fread (text, 1, sizeof (text) - 1, file)] = '\0';
    fclose (file);
    return text;
}

/* --- the queue ------------------------------------------------------------------- */

static struct dn_events events;

static struct dn_event *numbered (int64_t number)
{
    struct dn_event *event = calloc (1, sizeof (*event) + 32);

    assert_non_null (event);
    snprintf (event->line, 32, "%lld\n", (long long) number);
    return event;
}

static bool put (int64_t number)
{
    struct dn_event *event = numbered (number);

    if (dn_events_put (&events, event))
        return true;
    free (event);
    return false;
}

/* The number of the oldest event, or -1. */
static int64_t get (void)
{
    struct dn_event *event = dn_events_get (&events);
    int64_t number = event ? strtoll (event->line, NULL, 10) : -1;

    free (event);
    return number;
}

TEST ("a full queue refuses, and order is kept")
{
    assert_int_equal (get (), -1);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < DN_EVENTS_MAX; i++)
            assert_true (put (round * 10000 + i));
        assert_false (put (0));
        for (int i = 0; i < DN_EVENTS_MAX; i++)
            assert_int_equal (get (), round * 10000 + i);
        assert_int_equal (get (), -1);
    }
}

enum {
    N_THREADS = 8,
    N_ITEMS = 20000
};

static void *put_many (void *of)
{
    int64_t base = *(int *) of * (int64_t) N_ITEMS;

    for (int i = 0; i < N_ITEMS; i++)
        while (!put (base + i))
            usleep (50);
    return NULL;
}

TEST ("nothing is lost or doubled between threads")
{
    static int next[N_THREADS];
    pthread_t threads[N_THREADS];
    int numbers[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        numbers[i] = i;
        assert_int_equal (pthread_create (&threads[i], NULL, put_many, &numbers[i]), 0);
    }
    for (int n = 0; n < N_THREADS * N_ITEMS;) {
        int64_t number = get ();

        if (number < 0) {
            usleep (50);
            continue;
        }
        /* Each thread's own come one after the other. */
        assert_int_equal (number % N_ITEMS, next[number / N_ITEMS]++);
        n++;
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join (threads[i], NULL);
    assert_int_equal (get (), -1);
}

/* --- a line ---------------------------------------------------------------------- */

/* What is in an object, or "(none)". */
static void assert_member (struct json_object *object,
                           const char *key,
                           const char *text)
{
    struct json_object *value = NULL;

    if (!json_object_object_get_ex (object, key, &value))
        assert_string_equal ("(none)", text);
    else
        assert_string_equal (json_object_get_string (value), text);
}

static void put_line (void *line)
{
    json_object_put (line);
}

/* A line must be one, printable, and JSON. It is kept for the test. */
static struct json_object *line_of (const struct dn_job *job,
                                    const struct dn_advice *advice,
                                    const struct dn_err *err)
{
    const struct dn_outcome outcome = {INT64_C (1795277226123), 412, !err, err};
    struct dn_event *event = dn_event_new (job, advice, &outcome);
    struct json_object *object;
    size_t len;

    assert_non_null (event);
    len = strlen (event->line);
    assert_int_equal (event->line[len - 1], '\n');
    for (size_t i = 0; i + 1 < len; i++)
        assert_in_range (event->line[i], ' ', '~');
    object = json_tokener_parse (event->line);
    assert_non_null (object);
    free (event);
    return unit_keep (object, put_line);
}

static struct json_object *line_of_name (const char *name)
{
    struct dn_job job = scene_job ();

    job.name = name;
    job.partition = "gpu";
    return line_of (&job, scene_advise ("Mode=enforce\nRecord=none", &job), NULL);
}

TEST ("a line says who, what, why and how long")
{
    struct json_object *line = line_of_name ("train");
    struct json_object *record = json_object_object_get (line, "record");
    struct json_object *reasons = json_object_object_get (line, "reasons");

    assert_member (line, "time", "2026-11-21T16:07:06.123Z");
    assert_member (line, "name", "train");
    assert_member (line, "partition", "gpu");
    assert_member (line, "account", "(none)");
    assert_member (line, "kind", "batch");
    assert_member (line, "verdict", "change");
    assert_member (line, "applied", "true");
    assert_member (line, "abstained", "(none)");
    assert_member (line, "us", "412");
    assert_in_range (json_object_array_length (reasons), 3, DN_REASONS_MAX);
    assert_member (json_object_object_get (record, "req"), "time_s", "86400");
    assert_member (record, "version", PACKAGE_VERSION);
}

TEST ("hostile names break neither line nor terminal")
{
    static const char *const names[][2] = {
        {"a\"b\\c", "a\"b\\c"},
        {"x\n{\"time\":\"forged\"}", "x?{\"time\":\"forged\"}"},
        {"\033]0;owned\007\033[31m", "?]0;owned??[31m"},
        {"\302\233\177\303", "????"},
        {"\342\200\256evil", "???evil"},
        {"", "(none)"},
        {"</script>%n%s", "</script>%n%s"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        assert_member (line_of_name (names[i][0]), "name", names[i][1]);
    assert_member (line_of_name (unit_repeat ("\"", 4999)),
                   "name",
                   unit_text ("%s...", unit_repeat ("\"", DN_EVENT_NAME_MAX)));
}

TEST ("an error and an abstention are lines")
{
    struct dn_job job = scene_job ();
    const struct dn_err err = {DN_E_RANGE, "batch: -4 out of range 1..1000000"};
    struct json_object *line = line_of (&job, NULL, &err);

    assert_member (line, "verdict", "error");
    assert_member (line, "error", err.text);
    assert_member (line, "reasons", "[ ]");
    assert_member (line, "record", "(none)");
    job.tres[DN_GPU_PER_NODE] = "gres:gpu:a|b:4";
    line = line_of (&job, scene_advise ("", &job), NULL);
    assert_member (line, "verdict", "abstain");
    assert_member (line, "abstained", "unmapped_type");
    line = json_object_object_get (line, "record");
    assert_member (json_object_object_get (line, "req"), "gpu", "a|b");
}

/* --- its file -------------------------------------------------------------------- */

static struct dn_journal journal; /* of the test */

/* Look at the file, and append a line. */
static void append (const char *path, const char *line)
{
    assert_done (dn_journal_ready (&journal, path, &unit_err));
    assert_done (dn_journal_append (&journal, line, &unit_err));
}

int before_test (void **state)
{
    journal = dn_journal_empty ();
    return 0;
}

TEST ("the log is made, appended to and follows its name")
{
    const char *path = scratch_path ("log");
    struct stat st;

    append (path, "one\n");
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0640);
    assert_int_equal (rename (path, scratch_path ("moved")), 0);
    assert_done (
        dn_journal_append (&journal, "two\n", &unit_err)); /* not looked at yet */
    append (path, "three\n");
    assert_string_equal (content_of ("moved"), "one\ntwo\n");
    assert_string_equal (content_of ("log"), "three\n");
    unlink (path);
    append (path, "four\n");
    assert_string_equal (content_of ("log"), "four\n");
    append (scratch_path ("other"), "five\n");
    assert_string_equal (content_of ("other"), "five\n");
    dn_journal_close (&journal);
    append (path, "six\n");
    assert_string_equal (content_of ("log"), "four\nsix\n");
    dn_journal_close (&journal);
    unlink (path);
}

TEST ("a large log is moved away, and so many are kept")
{
    const char *path = scratch_path ("log");

    journal.size_max = 8;
    journal.keep = 2;
    for (int i = 0; i < 8; i++)
        append (path, unit_text ("line%d\n", i));
    dn_journal_close (&journal);
    assert_string_equal (content_of ("log"), "line6\nline7\n");
    assert_string_equal (content_of ("log.1"), "line4\nline5\n");
    assert_string_equal (content_of ("log.2"), "line2\nline3\n");
    assert_string_equal (content_of ("log.3"), "(none)");
    unlink (path);
}

static void assert_not_ready (const char *path, const char *why)
{
    assert_error (dn_journal_ready (&journal, path, &unit_err), why);
    assert_int_equal (journal.fd, -1);
}

TEST ("what is not our own plain file is not written")
{
    const char *path = scratch_path ("log");

    assert_int_equal (symlink ("/etc/passwd", path), 0);
    assert_not_ready (path, "is a symbolic link");
    unlink (path);
    assert_int_equal (mkfifo (path, 0600), 0);
    assert_not_ready (path, "cannot be opened");
    unlink (path);
    assert_int_equal (mkdir (path, 0700), 0);
    assert_not_ready (path, "cannot be opened");
    rmdir (path);
    assert_not_ready (scratch_path ("nowhere/log"), "No such file");
    assert_int_equal (link (scratch_path ("other"), path), 0);
    assert_not_ready (path, "has more than one hard link");
    unlink (path);
    if (geteuid () == 0) {
        fclose (fopen (path, "w"));
        assert_int_equal (chown (path, 65534, 65534), 0);
        assert_not_ready (path, "owned by uid 65534");
        unlink (path);
    }
    unlink (scratch_path ("other"));
    unlink (scratch_path ("moved"));
}

/* A limit on the size of files is a disk that is full after so many bytes. */
static void limit_files (rlim_t size)
{
    const struct rlimit limit = {size, RLIM_INFINITY};

    assert_int_equal (setrlimit (RLIMIT_FSIZE, &limit), 0);
}

TEST ("a full disk leaves whole lines")
{
    signal (SIGXFSZ, SIG_IGN);
    append (scratch_path ("log"), "0123456789\n");
    limit_files (15);
    for (int i = 0; i < 2; i++)
        assert_error (dn_journal_append (&journal, "0123456789\n", &unit_err),
                      "disk full");
    limit_files (RLIM_INFINITY);
    assert_done (dn_journal_append (&journal, "after\n", &unit_err));
    assert_string_equal (content_of ("log"), "0123456789\nafter\n");
    dn_journal_close (&journal);
    unlink (scratch_path ("log"));
}

/* --- the writer ------------------------------------------------------------------ */

static int n_errors;
static int n_infos;
static char said[512];

static void listen (bool error, const char *text)
{
    if (error)
        n_errors++;
    else
        n_infos++;
    snprintf (said, sizeof (said), "%s", text);
}

static unsigned long long value_of (dn_counter *counter)
{
    return atomic_load (counter);
}

TEST ("a log that cannot be written is told once, and catches up")
{
    struct dn_writer writer = dn_writer_empty ();
    const char *path = scratch_path ("logs/log");
    unsigned long long dropped = value_of (&dn_counters.dropped[DN_DROP_FULL]);
    unsigned long long lines = value_of (&dn_counters.lines);

    n_errors = n_infos = 0;
    dn_trace_start ();
    for (int i = 0; i < DN_EVENTS_MAX + 5; i++) {
        dn_trace_hand_over (numbered (i));
        if (i % 512 == 0)
            dn_writer_log (&writer, path, listen);
    }
    assert_int_equal (n_errors, 1);
    assert_contains (said, "No such file");
    assert_int_equal (value_of (&dn_counters.dropped[DN_DROP_FULL]) - dropped, 5);
    assert_int_equal (mkdir (scratch_path ("logs"), 0700), 0);
    dn_writer_log (&writer, path, listen);
    assert_int_equal (n_infos, 1);
    assert_contains (said, "written again, 5 lines are missing");
    assert_int_equal (value_of (&dn_counters.lines) - lines, DN_EVENTS_MAX);
    dn_writer_log (&writer, path, listen);
    assert_int_equal (n_errors + n_infos, 2);
    dn_trace_hand_over (numbered (0));
    dn_writer_log (&writer, "", listen); /* switched off */
    dn_writer_log (&writer, path, listen);
    assert_int_equal (value_of (&dn_counters.lines) - lines, DN_EVENTS_MAX);
    dn_writer_end (&writer);
    unlink (path);
    rmdir (scratch_path ("logs"));
}

/* --- the counters ---------------------------------------------------------------- */

TEST ("latencies are cumulative and bounded above")
{
    static struct dn_counters counters;
    const struct dn_gauges gauges = {"22.05.8", 17, 23};
    const char *text;

    dn_counters_took (&counters, -5);
    dn_counters_took (&counters, 100);
    dn_counters_took (&counters, 101);
    dn_counters_took (&counters, 3000000);
    dn_count (&counters.abstained[DN_ABSTAIN_MEMORY]);
    assert_int_equal (
        dn_counters_write (&counters, &gauges, scratch_path ("c.prom"), NULL), 0);
    text = content_of ("c.prom");
    assert_contains (text, "_bucket{le=\"0.000100\"} 2\n");
    assert_contains (text, "_bucket{le=\"0.000200\"} 3\n");
    assert_contains (text, "_bucket{le=\"0.100000\"} 3\n");
    assert_contains (text, "_bucket{le=\"+Inf\"} 4\n");
    assert_contains (text, "_sum 3.000201\n");
    assert_contains (text, "_count 4\n");
    assert_contains (text, "dnnest_abstained_total{reason=\"memory\"} 1\n");
    assert_contains (text, "dnnest_info{version=\"" PACKAGE_VERSION "\",slurm=\"22");
    assert_contains (text, "dnnest_config_time_seconds 23\n");
    assert_null (strstr (text, "\"none\""));
    assert_int_equal (text[strlen (text) - 1], '\n');
    unlink (scratch_path ("c.prom"));
}

static int write_counters (const char *name)
{
    const struct dn_gauges gauges = {"22.05.8", 17, 23};

    dn_count (&dn_counters.submissions);
    return dn_counters_write (&dn_counters, &gauges, scratch_path (name), &unit_err);
}

TEST ("the file of counters is replaced whole")
{
    const char *path = scratch_path ("c.prom");
    struct stat st;
    mode_t mask = umask (077);

    assert_done (write_counters ("c.prom"));
    umask (mask);
    assert_int_equal (stat (path, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0644);
    unlink (path);
    /* Neither the file nor what is written beside it leads elsewhere. */
    assert_int_equal (symlink (scratch_path ("victim"), path), 0);
    assert_int_equal (symlink (scratch_path ("victim"), scratch_path ("c.prom.new")),
                      0);
    assert_done (write_counters ("c.prom"));
    assert_contains (content_of ("c.prom"), "dnnest_submissions_total 2\n");
    assert_string_equal (content_of ("victim"), "(none)");
    limit_files (2);
    assert_error (write_counters ("c.prom"), "cannot be written: No space");
    limit_files (RLIM_INFINITY);
    assert_contains (content_of ("c.prom"), "dnnest_submissions_total 2\n");
    assert_string_equal (content_of ("c.prom.new"), "(none)");
    assert_error (write_counters ("no/c.prom"), "No such file");
    unlink (path);
}
