/* carry.c - reads the sidecar that a job's option or comment names
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/carry.h"

#include <limits.h>

#include "base/messages.h"
#include "host/files.h"
#include "graph/sidecar.h"
#include "spec/spec.h"

/* Check and compact 'text' after its conversion. */
static int compact (const char *text,
                    dn_carry_convert_f convert,
                    char **sidecar,
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *converted = NULL;

    if (convert && convert (dn_span_of (text), &converted, err) < 0)
        return -1;
    return dn_sidecar_compact (dn_span_of (converted ? converted : text),
                               DN_SIDECAR_HANDOVER_MAX,
                               sidecar,
                               err);
}

int dn_carry_option (const char *option,
                     dn_carry_convert_f convert,
                     char **sidecar,
                     struct dn_err *err)
{
    struct dn_note note = dn_note_of_option (option);
    dn_cleanup (dn_free_ptr) char *text = NULL;
    char path[PATH_MAX];

    *sidecar = NULL;
    if (!note.file.text)
        return 0;
    if (dn_span_copy (note.file, path, sizeof (path), "file", err) < 0
        || dn_file_read (path, DN_SIDECAR_CLIENT_MAX, &text, err) < 0)
        return dn_err_wrap (err, "--dnnest");
    if (compact (text, convert, sidecar, err) == 0)
        return 0;
    dn_err_wrap (err, "%s", dn_quote (note.file.text, note.file.len).text);
    return dn_err_wrap (err, "--dnnest");
}

static int read_comments_file (struct dn_span file,
                               const char *dir,
                               int64_t user_id,
                               char **sidecar,
                               struct dn_err *err)
{
    struct dn_quoted quoted = dn_quote (file.text, file.len);
    char name[PATH_MAX];

    if (dir[0] == '\0')
        return dn_err_set (err, DN_E_IO, dn_say_err_carry_folder, quoted.text);
    if (user_id < 0)
        return dn_err_set (err, DN_E_IO, dn_say_err_carry_owner, quoted.text);
    if (dn_span_copy (file, name, sizeof (name), "file", err) < 0)
        return -1;
    return dn_file_read_below (
        dir, name, (uid_t) user_id, DN_SIDECAR_SERVER_MAX, sidecar, err);
}

int dn_carry_comment (const struct dn_job *job,
                      const char *dir,
                      char **sidecar,
                      struct dn_err *err)
{
    struct dn_note note = dn_note_of_comment (job->comment);

    *sidecar = NULL;
    if (!note.file.text || job->sidecar || dn_note_of_option (job->option).off)
        return 0;
    if (read_comments_file (note.file, dir, job->user_id, sidecar, err) < 0)
        return dn_err_wrap (err, "comment");
    return 0;
}
