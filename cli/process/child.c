/* child.c - other programs: sbatch, scontrol
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "host/files.h"

int dn_child_file (const char *text, size_t len)
{
    int fd = memfd_create ("dnnest", MFD_CLOEXEC);

    while (fd >= 0 && len > 0) {
        ssize_t n = write (fd, text, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close (fd);
            return -1;
        }
        text += n;
        len -= (size_t) n;
    }
    if (fd >= 0 && lseek (fd, 0, SEEK_SET) < 0) {
        close (fd);
        return -1;
    }
    return fd;
}

int dn_child_start (char *const argv[], const int files[3], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults;
    int rc = posix_spawn_file_actions_init (&actions);

    if (rc != 0)
        return rc;
    rc = posix_spawnattr_init (&attributes);
    if (rc == 0) {
        sigemptyset (&defaults);
        sigaddset (&defaults, SIGPIPE);
        posix_spawnattr_setsigdefault (&attributes, &defaults);
        posix_spawnattr_setflags (&attributes, POSIX_SPAWN_SETSIGDEF);
        for (int i = 0; i < 3; i++)
            if (files[i] >= 0)
                posix_spawn_file_actions_adddup2 (&actions, files[i], i);
        rc = posix_spawnp (pid, argv[0], &actions, &attributes, argv, environ);
        posix_spawnattr_destroy (&attributes);
    }
    posix_spawn_file_actions_destroy (&actions);
    return rc;
}

int dn_child_wait (pid_t pid, int *status)
{
    while (waitpid (pid, status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return 0;
}

char *dn_child_output (char *const argv[], bool quiet, struct dn_err *err)
{
    dn_cleanup (dn_fd_cleanup) int out = dn_child_file ("", 0);
    dn_cleanup (dn_fd_cleanup) int dropped = quiet ? dn_child_file ("", 0) : -1;
    char *text = NULL;
    int status = 0;
    off_t len;
    pid_t pid = -1;
    int rc;

    if (out < 0)
        rc = errno;
    else
        rc = dn_child_start (argv, (const int[]){-1, out, dropped}, &pid);
    if (rc == 0 && dn_child_wait (pid, &status) < 0)
        rc = errno;
    if (rc != 0) {
        dn_err_set (err, DN_E_IO, "%s: %s", argv[0], dn_errno_text (rc).text);
        return NULL;
    }
    if (!WIFEXITED (status) || WEXITSTATUS (status) != 0) {
        dn_err_set (err, DN_E_IO, "%s failed", argv[0]);
        return NULL;
    }
    len = lseek (out, 0, SEEK_END);
    if (len >= 0 && len <= DN_STATE_FILE_MAX)
        text = calloc (1, (size_t) len + 1);
    if (!text || pread (out, text, (size_t) len, 0) != len) {
        free (text);
        dn_err_set (err, DN_E_IO, "%s: its output cannot be read", argv[0]);
        return NULL;
    }
    return text;
}
