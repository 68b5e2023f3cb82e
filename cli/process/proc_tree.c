/* proc_tree.c - the descendants of this process, from /proc
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "proc_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "host/files.h"

/* Maximum number of processes in a list. Of a fork bomb, later lists have the rest. */
#define PROCESSES_MAX 65536

/* Fields of /proc/PID/stat after the name (proc(5)); the state is the first. */
enum {
    FIELD_STATE,
    FIELD_PARENT,
    FIELD_BORN = 19
};

static double ticks (struct dn_span span)
{
    double value = 0;

    dn_real_read (span, "", 0, 1e18, &value, NULL);
    return value / (double) sysconf (_SC_CLK_TCK);
}

/* The name, in parentheses, may contain any characters, also parentheses. */
static bool parse (const char *text, struct dn_process *process)
{
    const char *end = strrchr (text, ')');
    struct dn_span rest;
    int64_t parent;

    if (!end || end[1] != ' ')
        return false;
    rest = dn_span_of (end + 2);
    for (int field = 0; rest.text; field++) {
        struct dn_span span = dn_span_cut (&rest, " ");

        if (field == FIELD_STATE)
            process->zombie = span.len == 1 && (*span.text == 'Z' || *span.text == 'X');
        else if (field == FIELD_PARENT
                 && dn_int_read (span, "", 0, INT32_MAX, &parent, NULL) == 0)
            process->parent = (pid_t) parent;
        else if (field == FIELD_BORN)
            process->born_s = ticks (span);
    }
    return true;
}

/* Return false if the process has ended meanwhile. */
static bool look_at (pid_t pid, struct dn_process *process)
{
    char path[64];
    char text[1024];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));
    dn_cleanup (dn_fd_cleanup) int fd = -1;
    ssize_t n;

    dn_buf_add (&buf, "/proc/%ld/stat", (long) pid);
    fd = open (path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read (fd, text, sizeof (text) - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    *process = (struct dn_process){.pid = pid};
    return parse (text, process);
}

static bool grow (struct dn_processes *processes)
{
    int size = processes->size > 0 ? 2 * processes->size : 512;
    struct dn_process *grown;

    if (processes->n < processes->size)
        return true;
    grown = realloc (processes->list, (size_t) size * sizeof (*grown));
    if (!grown)
        return false;
    processes->list = grown;
    processes->size = size;
    return true;
}

static int compare_pids (const void *a, const void *b)
{
    pid_t x = ((const struct dn_process *) a)->pid;
    pid_t y = ((const struct dn_process *) b)->pid;

    return (x > y) - (x < y);
}

static const struct dn_process *find (const struct dn_processes *processes, pid_t pid)
{
    const struct dn_process key = {.pid = pid};

    if (processes->n == 0)
        return NULL;
    return bsearch (&key,
                    processes->list,
                    (size_t) processes->n,
                    sizeof (*processes->list),
                    compare_pids);
}

static bool was_there (const struct dn_processes *before,
                       const struct dn_process *process)
{
    const struct dn_process *found = before ? find (before, process->pid) : NULL;

    return found && found->born_s >= process->born_s;
}

/* Repeat over the list until no descendant is added: one pass per generation. */
static void find_descendants (struct dn_processes *processes,
                              const struct dn_processes *before)
{
    const pid_t self = getpid ();
    size_t n = (size_t) processes->n;
    bool more = n > 0;

    if (more)
        qsort (processes->list, n, sizeof (*processes->list), compare_pids);
    while (more) {
        more = false;
        for (size_t i = 0; i < n; i++) {
            struct dn_process *process = &processes->list[i];
            const struct dn_process *parent;

            if (process->below || was_there (before, process))
                continue;
            parent = find (processes, process->parent);
            process->below = process->parent == self || (parent && parent->below);
            more = more || process->below;
        }
    }
}

int dn_processes_look (struct dn_processes *processes,
                       const struct dn_processes *before)
{
    DIR *dir = opendir ("/proc");
    struct dirent *entry;

    processes->n = 0;
    if (!dir)
        return -1;
    while ((entry = readdir (dir)) && processes->n < PROCESSES_MAX) {
        int64_t pid;

        if (entry->d_name[0] < '1' || entry->d_name[0] > '9'
            || dn_int_read (dn_span_of (entry->d_name), "", 1, INT32_MAX, &pid, NULL)
                   < 0)
            continue;
        if (!grow (processes))
            break;
        if (look_at ((pid_t) pid, &processes->list[processes->n]))
            processes->n++;
    }
    closedir (dir);
    find_descendants (processes, before);
    return 0;
}

void dn_processes_free (struct dn_processes *processes)
{
    if (!processes)
        return;
    free (processes->list);
    memset (processes, 0, sizeof (*processes));
}
