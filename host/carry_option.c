/* carry_option.c - reads the sidecar that a job's option names, on the client
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/carry.h"

#include <limits.h>

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
    dn_err_wrap (err, "%s", DN_QUOTED_SPAN (note.file));
    return dn_err_wrap (err, "--dnnest");
}
