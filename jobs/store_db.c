/* store_db.c - open the store safely
 *
 * Opening a database can run code: views, triggers, generated columns and default
 * values run when it is read. So the schema must be, letter by letter, the one that
 * this version creates, before any of our queries runs. What SQLite runs
 * for this check is limited by SQLite's own means: no functions and virtual tables from
 * the schema, and limits on lengths, on the depth of expressions and on memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/store_db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"

/* The header of a database: its first bytes, and where it states its journal mode. */
#define MAGIC      "SQLite format 3"
#define MAGIC_LEN  sizeof (MAGIC)
#define HEADER_LEN 100
#define AT_JOURNAL 18
#define ROLLBACK   1

/* --- the file -------------------------------------------------------------------- */

static int fail_errno (struct dn_err *err)
{
    return dn_err_set (err, DN_E_IO, "%s", dn_errno_text (errno).text);
}

static void close_fd (const int *fd)
{
    if (*fd >= 0)
        close (*fd);
}

/* Owned by the caller, by root or by the owner of its directory, and not writable by
 * any other user.
 */
static int check_owner (const struct stat *st, uid_t folder, struct dn_err *err)
{
    if (!S_ISREG (st->st_mode))
        return dn_err_set (err, DN_E_IO, dn_say_err_store_kind);
    if (st->st_uid != geteuid () && st->st_uid != 0 && st->st_uid != folder)
        return dn_err_set (err,
                           DN_E_IO,
                           dn_say_err_store_owner,
                           (unsigned long) st->st_uid,
                           (unsigned long) geteuid ());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return dn_err_set (
            err, DN_E_IO, dn_say_err_store_mode, (unsigned) (st->st_mode & 07777));
    if (st->st_size > DN_STORE_FILE_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           dn_say_err_store_size,
                           (long long) st->st_size,
                           (long long) DN_STORE_FILE_MAX);
    return 0;
}

/* Check the file before SQLite opens it. An empty file becomes a store when adding. */
static int check_header (int fd, bool adding, struct dn_err *err)
{
    unsigned char header[HEADER_LEN];
    ssize_t n = pread (fd, header, sizeof (header), 0);

    if (n < 0)
        return fail_errno (err);
    if (n == 0 && adding)
        return 0;
    if (n < HEADER_LEN || memcmp (header, MAGIC, MAGIC_LEN) != 0)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_store_other);
    if (header[AT_JOURNAL] != ROLLBACK || header[AT_JOURNAL + 1] != ROLLBACK)
        return dn_err_set (err, DN_E_SYNTAX, dn_say_err_store_wal);
    return 0;
}

/* Create the file. One that root creates belongs to the owner of the directory, such as
 * SlurmUser, whose processes will add to it.
 */
static int create (const char *path, int flags, uid_t folder)
{
    int fd = open (path, flags | O_CREAT, 0644);

    if (fd >= 0 && geteuid () == 0 && folder != 0
        && fchown (fd, folder, (gid_t) -1) < 0) {
        close (fd);
        return -1;
    }
    return fd;
}

/* Check the file, and create it if there is none. It is closed before SQLite opens it:
 * closing it later would release SQLite's locks (fcntl(2)).
 */
static int check_file (const char *path,
                       bool adding,
                       uid_t folder,
                       struct stat *st,
                       struct dn_err *err)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    dn_cleanup (close_fd) int fd = open (path, flags);

    if (fd < 0 && errno == ENOENT && adding)
        fd = create (path, flags, folder);
    if (fd < 0 && errno == ELOOP)
        return dn_err_set (err, DN_E_IO, dn_say_err_store_link);
    if (fd < 0 || fstat (fd, st) < 0)
        return fail_errno (err);
    return check_owner (st, folder, err) < 0 ? -1 : check_header (fd, adding, err);
}

/* SQLite applies a journal next to the file, so its owner and mode are checked too. */
static int check_journal (const char *path, uid_t folder, struct dn_err *err)
{
    char name[PATH_MAX];
    struct dn_buf buf = dn_buf_on (name, sizeof (name));
    struct stat st;

    dn_buf_add (&buf, "%s-journal", path);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_store_path);
    if (lstat (name, &st) < 0)
        return errno == ENOENT ? 0 : fail_errno (err);
    return check_owner (&st, folder, err) < 0
               ? dn_err_wrap (err, dn_say_at_store_journal)
               : 0;
}

/* The path without symbolic links, except perhaps the last part, and the owner of its
 * directory.
 */
static int find_path (const char *path,
                      char whole[PATH_MAX],
                      uid_t *owner,
                      struct dn_err *err)
{
    const char *slash = strrchr (path, '/');
    const char *name = slash ? slash + 1 : path;
    dn_cleanup (dn_free_ptr) char *folder =
        slash ? strndup (path, slash > path ? (size_t) (slash - path) : 1)
              : strdup (".");
    char real[PATH_MAX];
    struct dn_buf buf = dn_buf_on (whole, PATH_MAX);
    struct stat st;

    if (!folder)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    if (!realpath (folder, real) || stat (real, &st) < 0)
        return fail_errno (err);
    if (st.st_mode & S_IWOTH)
        return dn_err_set (
            err, DN_E_IO, dn_say_err_store_folder, (unsigned) (st.st_mode & 07777));
    *owner = st.st_uid;
    dn_buf_add (&buf, "%s/%s", strcmp (real, "/") == 0 ? "" : real, name);
    return buf.cut ? dn_err_set (err, DN_E_LIMIT, dn_say_err_store_path) : 0;
}

/* --- SQLite ---------------------------------------------------------------------- */

static const struct {
    int what;
    int value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 1024 * 1024},
    {SQLITE_LIMIT_SQL_LENGTH, 16 * 1024},
    {SQLITE_LIMIT_COLUMN, 128},
    {SQLITE_LIMIT_EXPR_DEPTH, 64},
    {SQLITE_LIMIT_COMPOUND_SELECT, 2},
    {SQLITE_LIMIT_VDBE_OP, 25000},
    {SQLITE_LIMIT_FUNCTION_ARG, 8},
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 128},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

static const struct {
    int what;
    int value;
} switches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},
    {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
    {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0},
    {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},
};

static int harden (struct dn_store_db *db, bool adding, struct dn_err *err)
{
    const char *pragmas = adding
                              ? "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                                "PRAGMA cache_size = -4096; PRAGMA foreign_keys = OFF;"
                                "PRAGMA synchronous = FULL"
                              : "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                                "PRAGMA cache_size = -4096; PRAGMA query_only = ON";

    for (size_t i = 0; i < DN_N_ELEMENTS (limits); i++)
        sqlite3_limit (db->sql, limits[i].what, limits[i].value);
    for (size_t i = 0; i < DN_N_ELEMENTS (switches); i++)
        if (sqlite3_db_config (db->sql, switches[i].what, switches[i].value, NULL)
            != SQLITE_OK)
            return dn_err_set (
                err, DN_E_IO, dn_say_err_store_sqlite, sqlite3_libversion ());
    sqlite3_hard_heap_limit64 (DN_SQL_MEMORY_MAX);
    if (sqlite3_busy_timeout (db->sql, DN_SQL_BUSY_MS) != SQLITE_OK
        || sqlite3_exec (db->sql, pragmas, NULL, NULL, NULL) != SQLITE_OK)
        return dn_sql_fail (db->sql, err);
    return 0;
}

/* --- open and close -------------------------------------------------------------- */

/* Check or make the tables of a database that is open. */
static int begin_first (struct dn_store_db *db, bool adding, struct dn_err *err)
{
    db->adding = adding;
    if (dn_sql_run (db->sql, adding ? "BEGIN IMMEDIATE" : "BEGIN", err) < 0)
        return -1;
    if ((adding ? dn_store_schema_make (db->sql, err)
                : dn_store_schema_check (db->sql, err))
        < 0)
        return -1;
    /* Each piece is read in a separate transaction: see store_read.c. */
    return adding ? 0 : dn_sql_run (db->sql, "COMMIT", err);
}

static int open_sql (struct dn_store_db *db, const char *path, struct dn_err *err)
{
    /* Reading needs this too: a writer that was killed may leave a journal to roll
     * back.
     */
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;

    *db = (struct dn_store_db){.sql = NULL};
    if (sqlite3_open_v2 (path, &db->sql, flags, NULL) == SQLITE_OK)
        return 0;
    return db->sql ? dn_sql_fail (db->sql, err)
                   : dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
}

int dn_store_db_open (struct dn_store_db *db,
                      const char *path,
                      bool adding,
                      struct dn_err *err)
{
    char whole[PATH_MAX];
    uid_t folder = 0;
    struct stat before;
    struct stat after;

    *db = (struct dn_store_db){.sql = NULL};
    if (!path)
        return open_sql (db, ":memory:", err) < 0 || harden (db, true, err) < 0
                   ? -1
                   : begin_first (db, true, err);
    if (find_path (path, whole, &folder, err) < 0
        || check_file (whole, adding, folder, &before, err) < 0
        || check_journal (whole, folder, err) < 0 || open_sql (db, whole, err) < 0
        || harden (db, adding, err) < 0)
        return -1;
    if (lstat (whole, &after) < 0 || before.st_ino != after.st_ino
        || before.st_dev != after.st_dev)
        return dn_err_set (err, DN_E_IO, dn_say_err_store_replaced);
    return begin_first (db, adding, err);
}

int dn_store_db_begin (struct dn_store_db *db, struct dn_err *err)
{
    if (db->adding)
        return dn_err_set (err, DN_E_BUG, dn_say_err_store_begun);
    if (dn_sql_run (db->sql, "BEGIN IMMEDIATE", err) < 0)
        return -1;
    db->adding = true;
    return 0;
}

int dn_store_db_commit (struct dn_store_db *db, struct dn_err *err)
{
    if (!db->adding)
        return dn_err_set (err, DN_E_BUG, dn_say_err_store_nothing);
    if (dn_sql_run (db->sql, "COMMIT", err) < 0)
        return -1;
    db->adding = false;
    return 0;
}

void dn_store_db_close (struct dn_store_db *db)
{
    sqlite3_close (db->sql);
    db->sql = NULL;
}
