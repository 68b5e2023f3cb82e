/* output.c - where the file of a task goes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "output.h"

#include <stdio.h>
#include <string.h>

#include "base/messages.h"

static int print (const struct dn_put_text *output, struct dn_err *err)
{
    if (fwrite (output->text, 1, output->len, stdout) != output->len
        || fflush (stdout) != 0)
        return dn_err_set (err, DN_E_IO, dn_say_err_stdout);
    return 0;
}

int dn_output_write (const struct dn_put_text *output,
                     const struct dn_daemon *d,
                     const char *name,
                     struct dn_err *err)
{
    const struct dn_span text = {output->text, output->len};
    char path[DN_SITE_PATH_MAX + DN_NAME_MAX];

    if (d->out && strcmp (d->out, "-") == 0)
        return print (output, err);
    if (d->out)
        return dn_put_file (d->out, text, err);
    snprintf (path, sizeof (path), "%s/%s", d->site->state_dir, name);
    if (d->dry_run) {
        dn_log (DN_LOG_INFO, dn_say_daemon_would_write, output->len, path);
        return 0;
    }
    return dn_put_file (path, text, err) < 0 ? -1 : 1;
}
