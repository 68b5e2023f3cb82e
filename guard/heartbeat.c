/* heartbeat.c - the file 'guard' of StateDir: that the guard is alive, and its tallies
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "guard/heartbeat.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/messages.h"
#include "host/view_files.h"
#include "output.h"

/* NULL, where there is none, or with 'err'. */
static struct dn_guarded *read_file (const struct dn_daemon *d, struct dn_err *err)
{
    struct dn_view_path path = dn_view_path (d->site->state_dir, DN_GUARDED_FILE);
    struct dn_view_content content = {.guarded = NULL};

    dn_view_read (
        DN_VIEW_GUARDED, path.text, DN_VIEW_OURS, d->site->cluster, &content, err);
    return content.guarded;
}

int dn_heartbeat_begin (struct dn_guarded **guarded,
                        const struct dn_daemon *d,
                        struct dn_err *err)
{
    struct dn_err lost = {.code = DN_E_NONE};

    if (!*guarded)
        *guarded = read_file (d, &lost);
    if (lost.code != DN_E_NONE)
        dn_log (DN_LOG_ERROR, dn_say_guard_counts_lost, lost.text);
    if (!*guarded)
        *guarded = calloc (1, sizeof (**guarded));
    return *guarded ? 0
                    : dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
}

int dn_heartbeat_write (struct dn_guarded *guarded,
                        const struct dn_daemon *d,
                        int64_t time_s,
                        struct dn_err *err)
{
    dn_cleanup (dn_put_text_free) struct dn_put_text text = {.len = 0};

    snprintf (guarded->cluster, sizeof (guarded->cluster), "%s", d->site->cluster);
    guarded->time_s = time_s;
    guarded->interval_s = (int64_t) d->site->guard_interval_s;
    if (dn_guarded_write (guarded, dn_put_text_add, &text) != 0)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "guard");
    return dn_output_write (&text, d, DN_GUARDED_FILE, err) < 0 ? -1 : 0;
}

bool dn_heartbeat_is_alive (const struct dn_daemon *d)
{
    struct dn_guarded *guarded = read_file (d, NULL);
    bool alive = dn_guarded_is_alive (guarded, d->now_s);

    dn_guarded_free (guarded);
    return alive;
}
