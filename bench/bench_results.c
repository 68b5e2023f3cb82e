/* bench_results.c - dnnest-dev bench entry, conf: converts samples to dnnest's files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/bench_command.h"
#include "host/load.h"
#include "learn/bench_fit.h"
#include "replace.h"

/* A catalogue file of 12 curves. */
#define TEXT_MAX 8192

static int read_one (const char *path, struct dn_samples *samples, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    size_t len;

    if (dn_read_bytes (path, DN_SAMPLES_TEXT_MAX, &text, &len, err) < 0)
        return -1;
    if (dn_samples_read ((struct dn_span){text, len}, samples, err) < 0)
        return dn_err_wrap (err, "%s", path);
    return 0;
}

/* Samples of one type of device may be in several files: those of one device, and those
 * of a whole node. All must be of the same type.
 */
static int same_device (const char *path,
                        const struct dn_samples *all,
                        const struct dn_samples *more,
                        struct dn_err *err)
{
    const char *known = dn_samples_fact (all, "gpu");
    const char *gpu = dn_samples_fact (more, "gpu");

    if (known && gpu && strcmp (known, gpu) != 0)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: samples of '%s', others are of '%s'",
                           path,
                           gpu,
                           known);
    return 0;
}

static int read_samples (const struct dn_bench_given *given,
                         struct dn_samples *all,
                         struct dn_err *err)
{
    *all = (struct dn_samples){NULL, 0, 0};
    for (int i = 0; i < given->n_args; i++) {
        dn_cleanup (dn_samples_free) struct dn_samples more = {.rows = NULL};

        if (read_one (given->args[i], &more, err) < 0
            || same_device (given->args[i], all, &more, err) < 0)
            return -1;
        for (int row = 0; row < more.n_rows; row++)
            if (dn_samples_add (all, &more.rows[row], err) < 0)
                return -1;
    }
    return 0;
}

/* --- entry ------------------------------------------------------------------------ */

static int check_name (const char *name, struct dn_err *err)
{
    size_t len = strlen (name);

    for (const char *c = name; *c; c++)
        if (!isalnum ((unsigned char) *c) && !strchr ("_.-", *c))
            len = 0;
    if (len == 0 || len >= DN_NAME_MAX || name[0] == '.')
        return dn_err_set (err,
                           DN_E_RANGE,
                           "--device: '%s' is not a device name, expected letters, "
                           "digits, '_', '.' and '-'",
                           dn_quote (name, strlen (name)).text);
    return 0;
}

static int load_catalogue (const struct dn_bench_given *given,
                           struct dn_catalogue *catalogue,
                           struct dn_err *err)
{
    char path[PATH_MAX];

    if (!given->hardware)
        return dn_load_catalogue (DNNEST_HARDWARE_DIR, catalogue, err);
    if (!realpath (given->hardware, path))
        return dn_err_set (err, DN_E_IO, "%s: %s", given->hardware, strerror (errno));
    return dn_load_catalogue (path, catalogue, err);
}

/* Find the device by the name on the command line, or by the driver's name. */
static int find_device (const struct dn_bench_given *given,
                        const struct dn_catalogue *catalogue,
                        struct dn_bench_entry *entry,
                        struct dn_err *err)
{
    const char *gpu = dn_samples_fact (entry->samples, "gpu");
    const char *memory = dn_samples_fact (entry->samples, "memory");
    double bytes = 0;

    if (given->device) {
        entry->device = given->device;
        entry->known = dn_catalogue_find (catalogue, given->device);
        return check_name (given->device, err);
    }
    if (!gpu)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "the samples do not name their GPU: name it with --device");
    if (memory
        && dn_real_read (dn_span_of (memory), "memory", 0, 1e15, &bytes, err) < 0)
        return -1;
    entry->known = dn_bench_device (catalogue, gpu, bytes, err);
    if (!entry->known)
        return -1;
    entry->device = entry->known->name;
    return 0;
}

static int write_file (const char *path, const char *text, struct dn_err *err)
{
    dn_cleanup (dn_replace_free) struct dn_replace replace = {.file = NULL};

    if (dn_replace_open (&replace, path, err) < 0)
        return -1;
    fputs (text, replace.file);
    return dn_replace_finish (&replace, err);
}

static int put_entry (const struct dn_bench_given *given,
                      const char *device,
                      const char *text,
                      struct dn_err *err)
{
    char path[PATH_MAX];
    struct stat st;
    bool folder;
    int len;

    if (!given->out) {
        fputs (text, stdout);
        return 0;
    }
    folder = stat (given->out, &st) == 0 && S_ISDIR (st.st_mode);
    len = folder ? snprintf (path, sizeof (path), "%s/%s.conf", given->out, device)
                 : snprintf (path, sizeof (path), "%s", given->out);
    if (len < 0 || len >= (int) sizeof (path))
        return dn_err_set (err, DN_E_LIMIT, "--out: the path is too long");
    if (write_file (path, text, err) < 0)
        return -1;
    printf ("%s\n", path);
    return 0;
}

static int make_entry (const struct dn_bench_given *given,
                       const struct dn_catalogue *catalogue,
                       const struct dn_samples *samples,
                       struct dn_err *err)
{
    char text[TEXT_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_bench_result result;
    char file[DN_NAME_MAX];
    struct dn_buf name = dn_buf_on (file, sizeof (file));
    struct dn_bench_entry entry = {.catalogue = catalogue,
                                   .samples = samples,
                                   .result = &result,
                                   .constants = &dn_constants_default,
                                   .file = file};

    dn_buf_add (&name, "%s", given->args[0]);
    dn_sample_tidy (file);
    if (find_device (given, catalogue, &entry, err) < 0
        || dn_bench_analyse (samples, entry.constants, &result, err) < 0
        || dn_bench_write_entry (&entry, &buf, err) < 0)
        return -1;
    return put_entry (given, entry.device, text, err);
}

int dn_bench_entry (const struct dn_bench_given *given)
{
    dn_cleanup (dn_catalogue_free) struct dn_catalogue catalogue = {.devices = NULL};
    dn_cleanup (dn_samples_free) struct dn_samples samples = {.rows = NULL};
    struct dn_err err = {0};

    if (load_catalogue (given, &catalogue, &err) < 0)
        return dn_fail (DN_EXIT_CONF, &err);
    if (read_samples (given, &samples, &err) < 0
        || make_entry (given, &catalogue, &samples, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    return DN_EXIT_DONE;
}

/* --- conf ------------------------------------------------------------------------- */

int dn_bench_conf (const struct dn_bench_given *given)
{
    dn_cleanup (dn_samples_free) struct dn_samples samples = {.rows = NULL};
    struct dn_bench_result result;
    char text[TEXT_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct dn_err err = {0};

    if (read_samples (given, &samples, &err) < 0
        || dn_bench_analyse (&samples, &dn_constants_default, &result, &err) < 0
        || dn_bench_write_host (&result, &buf, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    fputs (text, stdout);
    return DN_EXIT_DONE;
}
