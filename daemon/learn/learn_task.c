/* learn_task.c - starts 'dnnest learn' at its interval
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "task.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/messages.h"
#include "errand.h"
#include "jobs/store.h"

/* Learning may take minutes where there are 10^6 jobs. */
#define LIMIT_S 3600

/* Beside this program, as in a tree where it was built; else where it is installed. */
static void find_program (char program[PATH_MAX])
{
    struct dn_buf buf = dn_buf_on (program, PATH_MAX);
    char own[PATH_MAX];
    ssize_t len = readlink ("/proc/self/exe", own, sizeof (own) - 1);
    char *slash;

    own[len > 0 ? len : 0] = '\0';
    slash = strrchr (own, '/');
    if (slash) {
        dn_buf_add (&buf, "%.*s/dnnest", (int) (slash - own), own);
        if (!buf.cut && access (program, X_OK) == 0)
            return;
    }
    buf = dn_buf_on (program, PATH_MAX);
    dn_buf_add (&buf, "%s/dnnest", DNNEST_BINDIR);
}

static bool has_store (const struct dn_daemon *d)
{
    char path[PATH_MAX];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));

    dn_buf_add (&buf, "%s/" DN_STORE_FILE, d->site->state_dir);
    return !buf.cut && access (path, R_OK) == 0;
}

static int run_learn (void *memory, struct dn_daemon *d, struct dn_err *err)
{
    char program[PATH_MAX];
    const char *args[8] = {program, "learn", "--paced"};
    const struct dn_errand errand = {
        .name = "learn", .args = args, .limit_s = LIMIT_S, .good_exit = 1};
    int n = 3;

    if (!has_store (d)) {
        dn_log (DN_LOG_DEBUG, dn_say_learn_no_store);
        return 0;
    }
    find_program (program);
    if (d->dry_run)
        args[n++] = "--dry-run";
    if (d->conf) {
        args[n++] = "--conf";
        args[n++] = d->conf;
    }
    return d->once ? dn_child_wait (&errand, err) : dn_child_run (memory, &errand, err);
}

const struct dn_task dn_task_learn = {
    .name = "learn",
    .help = "learn the history of applications from finished jobs",
    .interval_offset = offsetof (struct dn_site, learn_interval_s),
    .memory = sizeof (struct dn_child),
    .run = run_learn,
    .end = dn_child_end,
    .alone = true,
};
