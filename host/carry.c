/* carry.c - reads the sidecar that a job's comment names
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/carry.h"

#include <limits.h>

#include "base/messages.h"
#include "host/files.h"
#include "graph/sidecar.h"
#include "spec/spec.h"

static int read_comments_file (struct dn_span file,
                               const char *dir,
                               int64_t user_id,
                               char **sidecar,
                               struct dn_err *err)
{
    struct dn_quoted quoted = dn_quote (file.text, file.len);
    char name[PATH_MAX];

    if (dir[0] == '\0')
        return dn_refuse (err, carry_folder, quoted.text);
    if (user_id < 0)
        return dn_refuse (err, carry_owner, quoted.text);
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
