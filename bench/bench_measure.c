/* bench_measure.c - dnnest-dev bench gpu, host: the samples of a GPU or of a node's
 * cores
 *
 * Programs in Python measure, with the libraries that trainings use: PyTorch has the
 * kernels of all GPUs and versions, Pillow decodes the pictures of its loaders. Here
 * their rows are checked and kept, so that a run that was stopped can continue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_command.h"
#include "bench/recorder.h"
#include "process/child.h"
#include "process/interrupt.h"

/* The rows of the script, until its end. */
struct measuring {
    char script[PATH_MAX];
    FILE *rows; /* owned */
    pid_t pid;
    int n_new;
};

static void close_rows (struct measuring *measuring)
{
    if (measuring->rows)
        fclose (measuring->rows);
}

/* A file has samples of one device, or of one kind of node. */
static bool identifies (const char *fact)
{
    return strcmp (fact, "gpu") == 0 || strcmp (fact, "processor") == 0;
}

/* Keep one row of the script: a fact of the device, or a sample that is new. */
static int take_row (struct dn_recorder *recorder,
                     struct measuring *measuring,
                     const char *line,
                     struct dn_err *err)
{
    struct dn_samples read = {.n_rows = 0};
    char text[DN_SAMPLE_LINE_MAX + 128];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    int rc = 0;

    dn_buf_add (&buf, "%s%s", dn_samples_head, line);
    if (dn_samples_read (dn_span_of (text), &read, err) < 0)
        return dn_err_wrap (err, "%s", measuring->script);
    for (int i = 0; i < read.n_rows && rc == 0; i++) {
        struct dn_sample *row = &read.rows[i];
        char *value = strchr (row->shape, '=');

        if (row->op == DN_SAMPLE_FACT && value) {
            *value = '\0';
            rc = dn_recorder_fact (
                recorder, row->shape, value + 1, identifies (row->shape), err);
        } else if (!dn_samples_has (&recorder->samples, row)) {
            rc = dn_recorder_put (recorder, row, err);
            measuring->n_new++;
        }
    }
    dn_samples_free (&read);
    return rc;
}

/* Start a script on a device, or a number of cores. */
static int start (const struct dn_bench_given *given,
                  const char *script,
                  const char *what,
                  struct measuring *measuring,
                  struct dn_err *err)
{
    const char *dir = getenv ("DNNEST_BENCH_DIR");
    char *argv[] = {(char *) "python3",
                    measuring->script,
                    (char *) what,
                    (char *) given->samples,
                    (char *) (given->quick ? "quick" : "full"),
                    (char *) given->images,
                    NULL};
    int ends[2];
    int rc;

    snprintf (measuring->script,
              sizeof (measuring->script),
              "%s/%s",
              dir ? dir : DNNEST_BENCH_DIR,
              script);
    if (access (measuring->script, R_OK) < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", measuring->script, strerror (errno));
    if (pipe2 (ends, O_CLOEXEC) < 0)
        return dn_err_set (err, DN_E_IO, "pipe: %s", strerror (errno));
    rc = dn_child_start (argv, (const int[]){-1, ends[1], -1}, &measuring->pid);
    close (ends[1]);
    measuring->rows = rc == 0 ? fdopen (ends[0], "r") : NULL;
    if (measuring->rows)
        return 0;
    close (ends[0]);
    return dn_err_set (err, DN_E_IO, "python3: %s", strerror (rc != 0 ? rc : errno));
}

/* Take all rows. Return the exit code of the script, which has said why on stderr. */
static int take_rows (struct dn_recorder *recorder,
                      struct measuring *measuring,
                      struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *line = NULL;
    size_t size = 0;
    int status = 0;
    int rc = 0;

    while (rc == 0 && !dn_interrupted () && getline (&line, &size, measuring->rows) > 0)
        rc = take_row (recorder, measuring, line, err);
    if (rc < 0 || dn_interrupted ())
        kill (measuring->pid, SIGTERM);
    if (dn_child_wait (measuring->pid, &status) < 0)
        return dn_err_set (err, DN_E_BUG, "python3: %s", strerror (errno));
    if (rc < 0)
        return -1;
    if (dn_interrupted () || (WIFEXITED (status) && WEXITSTATUS (status) == 0))
        return DN_EXIT_DONE;
    return WIFEXITED (status) && WEXITSTATUS (status) == DN_EXIT_ABSTAINED
               ? DN_EXIT_ABSTAINED
               : DN_EXIT_DATA;
}

static int run (const struct dn_bench_given *given,
                const char *script,
                const char *what)
{
    struct dn_recorder recorder = {.fd = -1};
    dn_cleanup (close_rows) struct measuring measuring = {.rows = NULL};
    struct dn_err err = {0};
    int rc;

    if (dn_recorder_open (&recorder, given->samples, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    dn_interrupt_hold ();
    rc = start (given, script, what, &measuring, &err);
    if (rc == 0)
        rc = take_rows (&recorder, &measuring, &err);
    if (rc == DN_EXIT_DONE)
        fprintf (stderr,
                 "%s: %d samples in all, %d new%s\n",
                 given->samples,
                 recorder.samples.n_rows,
                 measuring.n_new,
                 dn_interrupted () ? "; stopped, run the same command to continue"
                                   : "");
    dn_recorder_close (&recorder);
    dn_interrupt_release ();
    return rc < 0 ? dn_fail (DN_EXIT_DATA, &err) : rc;
}

int dn_bench_gpu (const struct dn_bench_given *given)
{
    const char *device = given->device ? given->device : "0";
    struct dn_err err = {0};
    int64_t number;

    if (dn_int_read (dn_span_of (device), "--device", 0, 1023, &number, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    return run (given, "gpu_bench.py", device);
}

int dn_bench_host (const struct dn_bench_given *given)
{
    char cores[24];

    snprintf (cores, sizeof (cores), "%" PRId64, given->cores);
    return run (given, "host_bench.py", cores);
}
