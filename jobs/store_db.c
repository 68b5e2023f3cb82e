/* store_db.c - open the store safely, and its tables
 *
 * Opening a database can run code: views, triggers, generated columns and default
 * values run when it is read. So the schema must be, letter by letter, the one that
 * this version creates, before any of our queries runs. What SQLite runs for this check
 * is limited by SQLite's own means: no functions and virtual tables from the schema,
 * and limits on lengths, on the depth of expressions and on memory.
 *
 * The tables are made by the table of columns. The statements that SQLite keeps for the
 * tables of a file are compared with those of an empty database in memory in which they
 * were made.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/store_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/messages.h"
#include "jobs/finished.h"

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
        return dn_refuse (err, store_kind);
    if (st->st_uid != geteuid () && st->st_uid != 0 && st->st_uid != folder)
        return dn_refuse (
            err, store_owner, (unsigned long) st->st_uid, (unsigned long) geteuid ());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return dn_refuse (err, store_mode, (unsigned) (st->st_mode & 07777));
    if (st->st_size > DN_STORE_FILE_MAX)
        return dn_refuse (
            err, store_size, (long long) st->st_size, (long long) DN_STORE_FILE_MAX);
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
        return dn_refuse (err, store_other);
    if (header[AT_JOURNAL] != ROLLBACK || header[AT_JOURNAL + 1] != ROLLBACK)
        return dn_refuse (err, store_wal);
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
        return dn_refuse (err, store_link);
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
        return dn_refuse (err, store_path);
    if (lstat (name, &st) < 0)
        return errno == ENOENT ? 0 : fail_errno (err);
    return check_owner (&st, folder, err) < 0
               ? dn_err_wrap (err, dn_say_at_store_journal)
               : 0;
}

/* The path without links, but perhaps its last part, and the owner of its directory. */
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
        return dn_refuse (err, no_memory);
    if (!realpath (folder, real) || stat (real, &st) < 0)
        return fail_errno (err);
    if (st.st_mode & S_IWOTH)
        return dn_refuse (err, store_folder, (unsigned) (st.st_mode & 07777));
    *owner = st.st_uid;
    dn_buf_add (&buf, "%s/%s", strcmp (real, "/") == 0 ? "" : real, name);
    return buf.cut ? dn_refuse (err, store_path) : 0;
}

/* --- SQLite ---------------------------------------------------------------------- */

int dn_sql_fail (sqlite3 *db, struct dn_err *err)
{
    const char *text = sqlite3_errmsg (db);

    switch (sqlite3_errcode (db) & 0xff) {
    case SQLITE_NOMEM:
        return dn_refuse (err, store_heap, (long long) (DN_SQL_MEMORY_MAX >> 20));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return dn_refuse (err, store_busy, DN_SQL_BUSY_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return dn_refuse (err, store_damaged, text);
    default:
        return dn_err_set (err, DN_E_IO, "%s", text);
    }
}

int dn_store_name (sqlite3 *db, struct dn_err *err)
{
    const char *path = sqlite3_db_filename (db, "main");

    return path && *path ? dn_err_wrap (err, "%s", path) : -1;
}

int dn_store_fail (sqlite3 *db, struct dn_err *err)
{
    dn_sql_fail (db, err);
    return dn_store_name (db, err);
}

int dn_sql_run (sqlite3 *db, const char *sql, struct dn_err *err)
{
    return sqlite3_exec (db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : dn_sql_fail (db, err);
}

/* The number in the first column of the first row. */
static int ask (sqlite3 *db, const char *sql, int64_t *answer, struct dn_err *err)
{
    sqlite3_stmt *question = NULL;
    int rc = sqlite3_prepare_v2 (db, sql, -1, &question, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step (question);
    *answer = rc == SQLITE_ROW ? sqlite3_column_int64 (question, 0) : 0;
    if (rc != SQLITE_ROW)
        dn_sql_fail (db, err);
    sqlite3_finalize (question);
    return rc == SQLITE_ROW ? 0 : -1;
}

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
            return dn_refuse (err, store_sqlite, sqlite3_libversion ());
    sqlite3_hard_heap_limit64 (DN_SQL_MEMORY_MAX);
    if (sqlite3_busy_timeout (db->sql, DN_SQL_BUSY_MS) != SQLITE_OK
        || sqlite3_exec (db->sql, pragmas, NULL, NULL, NULL) != SQLITE_OK)
        return dn_sql_fail (db->sql, err);
    return 0;
}

/* --- the tables ------------------------------------------------------------------ */

/* "dnst" in the file's header. */
#define APPLICATION_ID 0x646e7374

bool dn_store_is_key (int i)
{
    return i == DN_FINISHED_AT_cluster || i == DN_FINISHED_AT_raw_id
           || i == DN_FINISHED_AT_submit_s || i == DN_FINISHED_AT_start_s;
}

bool dn_store_is_never_null (int i)
{
    return dn_store_is_key (i) || i == DN_FINISHED_AT_end_s || i == DN_FINISHED_AT_user
           || i == DN_FINISHED_AT_app;
}

static int make_tables (sqlite3 *db, struct dn_err *err)
{
    static const char *const types[] = {[DN_FINISHED_TEXT] = "TEXT",
                                        [DN_FINISHED_COUNT] = "INTEGER",
                                        [DN_FINISHED_REAL] = "REAL"};
    char sql[8192];
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    dn_buf_add (&buf,
                "PRAGMA application_id = %d; PRAGMA user_version = %d; "
                "CREATE TABLE jobs (id INTEGER PRIMARY KEY",
                APPLICATION_ID,
                DN_STORE_VERSION);
    for (int i = 0; i < DN_N_FINISHED_COLUMNS; i++)
        dn_buf_add (&buf,
                    ", %s %s%s",
                    dn_finished_columns[i].name,
                    types[dn_finished_columns[i].type],
                    dn_store_is_never_null (i) ? " NOT NULL" : "");
    dn_buf_add (
        &buf,
        "); CREATE UNIQUE INDEX jobs_key ON jobs (cluster, raw_id, submit_s, start_s); "
        "CREATE INDEX jobs_end ON jobs (end_s); "
        "CREATE INDEX jobs_app ON jobs (user, app, end_s); "
        "CREATE INDEX jobs_account ON jobs (account, app, end_s); "
        "CREATE INDEX jobs_submit ON jobs (submit_s); "
        "CREATE INDEX jobs_name ON jobs (job); "
        "CREATE TABLE collected (source TEXT PRIMARY KEY, until_s INTEGER NOT NULL)");
    if (buf.cut)
        return dn_refuse (err, sql_long);
    return dn_sql_run (db, sql, err);
}

static bool same_text (sqlite3_stmt *a, sqlite3_stmt *b, int i)
{
    const char *x = (const char *) sqlite3_column_text (a, i);
    const char *y = (const char *) sqlite3_column_text (b, i);

    return x && y ? strcmp (x, y) == 0 : x == y;
}

/* Does the file have exactly the required tables? */
static int compare (sqlite3 *db, sqlite3 *made, struct dn_err *err)
{
    static const char sql[] = "SELECT type, name, sql FROM sqlite_master";
    sqlite3_stmt *list = NULL;
    sqlite3_stmt *want = NULL;
    int rc = sqlite3_prepare_v2 (db, sql, -1, &list, NULL);
    int rc_want = sqlite3_prepare_v2 (made, sql, -1, &want, NULL);
    bool same = true;

    while (same && rc == SQLITE_OK && rc_want == SQLITE_OK) {
        rc = sqlite3_step (list);
        rc_want = sqlite3_step (want);
        same = rc == rc_want && same_text (list, want, 0) && same_text (list, want, 1)
               && same_text (list, want, 2);
        if (rc == SQLITE_ROW && rc_want == SQLITE_ROW)
            rc = rc_want = SQLITE_OK;
    }
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE)
        dn_sql_fail (db, err);
    else if (rc_want != SQLITE_OK && rc_want != SQLITE_ROW && rc_want != SQLITE_DONE)
        dn_sql_fail (made, err);
    else if (!same)
        dn_refuse (err, store_tables);
    sqlite3_finalize (list);
    sqlite3_finalize (want);
    return same && rc == SQLITE_DONE && rc_want == SQLITE_DONE ? 0 : -1;
}

static int check_tables (sqlite3 *db, struct dn_err *err)
{
    sqlite3 *made = NULL;
    int rc;

    if (sqlite3_open (":memory:", &made) != SQLITE_OK) {
        dn_refuse (err, no_memory);
        rc = -1;
    } else {
        rc = make_tables (made, err);
    }
    if (rc == 0)
        rc = compare (db, made, err);
    sqlite3_close (made);
    return rc;
}

/* -1 with 'err' if the schema is not, letter by letter, that of a store. */
static int schema_check (sqlite3 *db, struct dn_err *err)
{
    int64_t application;
    int64_t version;

    if (ask (db, "PRAGMA application_id", &application, err) < 0
        || ask (db, "; PRAGMA user_version", &version, err) < 0)
        return -1;
    if (application != APPLICATION_ID)
        return dn_refuse (err, store_program);
    if (version != DN_STORE_VERSION)
        return dn_refuse (err, store_version, (long long) version, DN_STORE_VERSION);
    return check_tables (db, err);
}

static int is_empty (sqlite3 *db, bool *empty, struct dn_err *err)
{
    int64_t application;
    int64_t version;
    int64_t n_objects;

    if (ask (db, "PRAGMA application_id", &application, err) < 0
        || ask (db, "; PRAGMA user_version", &version, err) < 0
        || ask (db, "SELECT count (*) FROM sqlite_master", &n_objects, err) < 0)
        return -1;
    *empty = application == 0 && version == 0 && n_objects == 0;
    return 0;
}

/* Make the tables of an empty database, and check those of any other. The caller runs
 * it in a transaction, so that all are made or none.
 */
static int schema_make (sqlite3 *db, struct dn_err *err)
{
    bool empty;

    if (is_empty (db, &empty, err) < 0)
        return -1;
    return empty ? make_tables (db, err) : schema_check (db, err);
}

/* --- open and close -------------------------------------------------------------- */

/* Check or make the tables of a database that is open. */
static int begin_first (struct dn_store_db *db, bool adding, struct dn_err *err)
{
    db->adding = adding;
    if (dn_sql_run (db->sql, adding ? "BEGIN IMMEDIATE" : "BEGIN", err) < 0)
        return -1;
    if ((adding ? schema_make (db->sql, err) : schema_check (db->sql, err)) < 0)
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
    return db->sql ? dn_sql_fail (db->sql, err) : dn_refuse (err, no_memory);
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
        return dn_refuse (err, store_replaced);
    return begin_first (db, adding, err);
}

void dn_store_db_close (struct dn_store_db *db)
{
    sqlite3_close (db->sql);
    db->sql = NULL;
}
