/* bench_gpu.c - dnnest-dev bench gpu: the samples of a GPU
 *
 * gpu_bench.py measures, since PyTorch has the kernels of all GPUs and versions; here
 * its rows are checked and kept, so that a run that was stopped can continue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <errno.h>
#include <fcntl.h>
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

#define SCRIPT DNNEST_BENCH_DIR "/gpu_bench.py"

/* The rows of the script, until its end. */
struct measuring {
    FILE *rows; /* owned */
    pid_t pid;
    int n_new;
};

static void close_rows (struct measuring *measuring)
{
    if (measuring->rows)
        fclose (measuring->rows);
}

/* Keep one row of the script: a fact of the device, or a sample that is new. */
static int take_row (struct dn_recorder *recorder,
                     const char *line,
                     int *n_new,
                     struct dn_err *err)
{
    struct dn_samples read = {.n_rows = 0};
    char text[DN_SAMPLE_LINE_MAX + 128];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    int rc = 0;

    dn_buf_add (&buf, "%s%s", dn_samples_head, line);
    if (dn_samples_read (dn_span_of (text), &read, err) < 0)
        return dn_err_wrap (err, "%s", SCRIPT);
    for (int i = 0; i < read.n_rows && rc == 0; i++) {
        struct dn_sample *row = &read.rows[i];
        char *value = strchr (row->shape, '=');

        if (row->op == DN_SAMPLE_FACT && value) {
            *value = '\0';
            rc = dn_recorder_fact (
                recorder, row->shape, value + 1, strcmp (row->shape, "gpu") == 0, err);
        } else if (!dn_samples_has (&recorder->samples, row)) {
            rc = dn_recorder_put (recorder, row, err);
            (*n_new)++;
        }
    }
    dn_samples_free (&read);
    return rc;
}

static int start (const struct dn_bench_given *given,
                  struct measuring *measuring,
                  struct dn_err *err)
{
    char *argv[] = {(char *) "python3",
                    (char *) SCRIPT,
                    (char *) (given->device ? given->device : "0"),
                    (char *) given->samples,
                    (char *) (given->quick ? "quick" : NULL),
                    NULL};
    int ends[2];
    int rc;

    if (access (SCRIPT, R_OK) < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", SCRIPT, strerror (errno));
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
        rc = take_row (recorder, line, &measuring->n_new, err);
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

int dn_bench_gpu (const struct dn_bench_given *given)
{
    struct dn_recorder recorder = {.fd = -1};
    dn_cleanup (close_rows) struct measuring measuring = {.rows = NULL};
    struct dn_err err = {0};
    int64_t device;
    int rc;

    if (given->device
        && dn_int_read (dn_span_of (given->device), "--device", 0, 1023, &device, &err)
               < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (dn_recorder_open (&recorder, given->samples, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    dn_interrupt_hold ();
    rc = start (given, &measuring, &err);
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
