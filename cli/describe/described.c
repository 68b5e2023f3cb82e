/* described.c - what a program has described of itself
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "describe/described.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/files.h"
#include "import/hf_capture.h"

/* Add the work of the run, which the description of a network does not have. A number
 * that no description may have is left out.
 */
static void add_work (const struct dn_capture *capture, struct dn_spec *spec)
{
    char text[DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (spec->steps > 0 || spec->epochs > 0)
        return;
    if (capture->steps > 0)
        dn_buf_add (&buf, "steps=%" PRId64, capture->steps);
    else if (capture->epochs > 0 && capture->steps_per_epoch > 0
             && capture->steps_per_epoch <= DN_PROGRESS_COUNT_MAX / capture->epochs)
        dn_buf_add (&buf, "steps=%" PRId64, capture->epochs * capture->steps_per_epoch);
    else if (capture->epochs > 0)
        dn_buf_add (&buf, "epochs=%" PRId64, capture->epochs);
    if (buf.len > 0)
        dn_spec_read (dn_span_of (text), spec, NULL);
}

int dn_described_take (struct dn_span text,
                       const char *name,
                       struct dn_described *described,
                       struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *better = dn_hf_capture (text);

    *described = (struct dn_described){.sidecar = {.spec = dn_spec_empty ()}};
    if (dn_capture_read (better ? dn_span_of (better) : text,
                         name,
                         DN_SIDECAR_COMPACT,
                         &described->capture,
                         err)
        < 0)
        return -1;
    if (described->capture.sidecar
        && dn_sidecar_read (
               dn_span_of (described->capture.sidecar), &described->sidecar, err)
               < 0) {
        dn_described_free (described);
        return -1;
    }
    add_work (&described->capture, &described->sidecar.spec);
    return 0;
}

int dn_described_read (const char *dir,
                       const char *job,
                       uid_t owner,
                       struct dn_described *described,
                       struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char name[DN_NAME_MAX];
    char path[PATH_MAX];
    struct dn_buf buf = dn_buf_on (name, sizeof (name));

    *described = (struct dn_described){.sidecar = {.spec = dn_spec_empty ()}};
    dn_buf_add (&buf, "%s" DN_CAPTURE_SUFFIX, job);
    snprintf (path, sizeof (path), "%s/%s", dir, name);
    if (access (path, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (dn_file_read_below (dir, name, owner, DN_CAPTURE_BYTES_MAX, &text, err) < 0)
        return -1;
    return dn_described_take (dn_span_of (text), name, described, err);
}

void dn_described_free (struct dn_described *described)
{
    dn_capture_free (&described->capture);
    dn_layers_free (&described->sidecar.layers);
    *described = (struct dn_described){.sidecar = {.spec = dn_spec_empty ()}};
}

/* --- a directory for a program ---------------------------------------------------- */

int dn_described_make (struct dn_described_place *place, struct dn_err *err)
{
    const char *tmp = getenv ("TMPDIR");
    const char *job = getenv ("SLURM_JOB_ID");
    int64_t id;

    if (!tmp || tmp[0] != '/' || strlen (tmp) > sizeof (place->dir) / 2)
        tmp = "/tmp";
    if (!job || dn_int_read (dn_span_of (job), "job", 1, UINT32_MAX, &id, NULL) < 0)
        id = 1;
    snprintf (place->job, sizeof (place->job), "%" PRId64, id);
    snprintf (place->dir, sizeof (place->dir), "%s/dnnest-describe.XXXXXX", tmp);
    if (!mkdtemp (place->dir)) {
        dn_err_set (err, DN_E_IO, "%s: %s", place->dir, dn_errno_text (errno).text);
        place->dir[0] = '\0';
        return -1;
    }
    snprintf (place->file,
              sizeof (place->file),
              "%s/%s" DN_CAPTURE_SUFFIX,
              place->dir,
              place->job);
    return 0;
}

void dn_described_remove (struct dn_described_place *place)
{
    if (place->dir[0] == '\0')
        return;
    unlink (place->file);
    place->file[strlen (place->file) - strlen (DN_CAPTURE_SUFFIX)] = '\0';
    unlink (place->file);
    rmdir (place->dir);
    place->dir[0] = '\0';
}
