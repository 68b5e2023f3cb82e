/* records_db.c - opening the store, whatever the file is
 *
 * A database is a program as much as a file: views, triggers, generated columns and
 * default values run when somebody reads. So the schema has to be, letter by letter,
 * the one that this version makes, before any of our questions is asked; what SQLite
 * runs to find that out is bounded by its own means: no functions and virtual tables
 * out of the schema, lengths, the depth of expressions, its memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/records_db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "dnst" in the file's header. */
#define APPLICATION_ID 0x646e7374

/* A second or so for each of a sweep's tasks that end at the same moment. */
#define BUSY_MS 60000

/* The header of a database: its first bytes, and where it says which journal it has. */
#define MAGIC      "SQLite format 3"
#define MAGIC_LEN  sizeof (MAGIC)
#define HEADER_LEN 100
#define AT_JOURNAL 18
#define ROLLBACK   1

static const char sidecars_sql[] =
    "CREATE TABLE sidecars (id INTEGER PRIMARY KEY, sha256 TEXT NOT NULL UNIQUE, text "
    "TEXT NOT NULL)";

/* --- errors ---------------------------------------------------------------------- */

int dn_records_fail (const struct dn_records *records, struct dn_err *err)
{
    const char *text = sqlite3_errmsg (records->db);

    switch (sqlite3_errcode (records->db) & 0xff) {
    case SQLITE_NOMEM:
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "takes more than %lld MiB of memory",
                           (long long) (DN_RECORDS_MEMORY_MAX >> 20));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return dn_err_set (
            err, DN_E_IO, "another process has been using it for %d s", BUSY_MS / 1000);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return dn_err_set (err, DN_E_SYNTAX, "damaged (%s)", text);
    default:
        return dn_err_set (err, DN_E_IO, "%s", text);
    }
}

static int fail_errno (struct dn_err *err)
{
    return dn_err_set (err, DN_E_IO, "%s", dn_errno_text (errno).text);
}

/* --- the file -------------------------------------------------------------------- */

static void close_fd (const int *fd)
{
    if (*fd >= 0)
        close (*fd);
}

/* Ours or root's, and nobody else's to write. */
static int check_owner (const struct stat *st, struct dn_err *err)
{
    if (!S_ISREG (st->st_mode))
        return dn_err_set (err, DN_E_IO, "not a regular file");
    if (st->st_uid != geteuid () && st->st_uid != 0)
        return dn_err_set (err,
                           DN_E_IO,
                           "owned by uid %lu, expected %lu or root",
                           (unsigned long) st->st_uid,
                           (unsigned long) geteuid ());
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return dn_err_set (err,
                           DN_E_IO,
                           "writable by group or others (mode %04o)",
                           (unsigned) (st->st_mode & 07777));
    if (st->st_size > DN_RECORDS_FILE_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%lld bytes, expected at most %lld",
                           (long long) st->st_size,
                           (long long) DN_RECORDS_FILE_MAX);
    return 0;
}

/* What is in the file before SQLite sees it. An empty one becomes a store by adding. */
static int check_header (int fd, enum dn_records_use use, struct dn_err *err)
{
    unsigned char header[HEADER_LEN];
    ssize_t n = pread (fd, header, sizeof (header), 0);

    if (n < 0)
        return fail_errno (err);
    if (n == 0 && use == DN_RECORDS_ADD)
        return 0;
    if (n < HEADER_LEN || memcmp (header, MAGIC, MAGIC_LEN) != 0)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "is no store of records (tables are taken in by 'dnnest "
                           "records --import')");
    if (header[AT_JOURNAL] != ROLLBACK || header[AT_JOURNAL + 1] != ROLLBACK)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "is a database with a write-ahead log, expected one with a "
                           "rollback journal");
    return 0;
}

/* Look at the file, which is made where there is none. It is closed again before SQLite
 * opens it: closing it later would drop SQLite's locks (fcntl(2)).
 */
static int check_file (const char *path,
                       enum dn_records_use use,
                       struct stat *st,
                       struct dn_err *err)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    dn_cleanup (close_fd) int fd = open (path, flags);

    if (fd < 0 && errno == ENOENT && use == DN_RECORDS_ADD)
        fd = open (path, flags | O_CREAT, 0644);
    if (fd < 0 && errno == ELOOP)
        return dn_err_set (err, DN_E_IO, "is a symbolic link");
    if (fd < 0 || fstat (fd, st) < 0)
        return fail_errno (err);
    return check_owner (st, err) < 0 ? -1 : check_header (fd, use, err);
}

/* SQLite obeys a journal that lies beside the file: it must be nobody else's. */
static int check_journal (const char *path, struct dn_err *err)
{
    char name[PATH_MAX];
    struct dn_buf buf = dn_buf_on (name, sizeof (name));
    struct stat st;

    dn_buf_add (&buf, "%s-journal", path);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "the path is too long");
    if (lstat (name, &st) < 0)
        return errno == ENOENT ? 0 : fail_errno (err);
    return check_owner (&st, err) < 0 ? dn_err_wrap (err, "its journal") : 0;
}

/* The path with no symbolic link but perhaps the last part. */
static int find_path (const char *path, char whole[PATH_MAX], struct dn_err *err)
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
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (!realpath (folder, real) || stat (real, &st) < 0)
        return fail_errno (err);
    if (st.st_mode & S_IWOTH)
        return dn_err_set (err,
                           DN_E_IO,
                           "in a directory that everybody can write to (mode %04o)",
                           (unsigned) (st.st_mode & 07777));
    dn_buf_add (&buf, "%s/%s", strcmp (real, "/") == 0 ? "" : real, name);
    return buf.cut ? dn_err_set (err, DN_E_LIMIT, "the path is too long") : 0;
}

/* --- SQLite ---------------------------------------------------------------------- */

static const struct {
    int what;
    int value;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 1024 * 1024},
    {SQLITE_LIMIT_SQL_LENGTH, 16 * 1024},
    {SQLITE_LIMIT_COLUMN, 64},
    {SQLITE_LIMIT_EXPR_DEPTH, 64},
    {SQLITE_LIMIT_COMPOUND_SELECT, 2},
    {SQLITE_LIMIT_VDBE_OP, 25000},
    {SQLITE_LIMIT_FUNCTION_ARG, 8},
    {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 64},
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

static int harden (struct dn_records *records,
                   enum dn_records_use use,
                   struct dn_err *err)
{
    const char *pragmas = use == DN_RECORDS_ADD
                              ? "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                                "PRAGMA cache_size = -4096; PRAGMA foreign_keys = OFF;"
                                "PRAGMA synchronous = FULL"
                              : "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;"
                                "PRAGMA cache_size = -4096; PRAGMA query_only = ON";

    for (size_t i = 0; i < DN_N_ELEMENTS (limits); i++)
        sqlite3_limit (records->db, limits[i].what, limits[i].value);
    for (size_t i = 0; i < DN_N_ELEMENTS (switches); i++)
        if (sqlite3_db_config (records->db, switches[i].what, switches[i].value, NULL)
            != SQLITE_OK)
            return dn_err_set (
                err, DN_E_IO, "SQLite %s cannot be hardened", sqlite3_libversion ());
    sqlite3_hard_heap_limit64 (DN_RECORDS_MEMORY_MAX);
    if (sqlite3_busy_timeout (records->db, BUSY_MS) != SQLITE_OK
        || sqlite3_exec (records->db, pragmas, NULL, NULL, NULL) != SQLITE_OK)
        return dn_records_fail (records, err);
    return 0;
}

static int execute (struct dn_records *records, const char *sql, struct dn_err *err)
{
    return sqlite3_exec (records->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : dn_records_fail (records, err);
}

/* --- the schema ------------------------------------------------------------------ */

static void write_check (struct dn_buf *sql, const struct dn_record_column *column)
{
    static const char *const types[] = {"TEXT", "REAL", "INTEGER", "INTEGER"};
    static const char *const kinds[] = {"text", "real", "integer", "integer"};

    dn_buf_add (sql,
                ", \"%s\" %s CHECK (typeof (\"%s\") IN ('%s', 'null'))",
                column->name,
                types[column->type],
                column->name,
                kinds[column->type]);
}

static void write_schema (struct dn_buf *sql)
{
    int n;
    const struct dn_record_column *columns = dn_record_columns (&n);

    dn_buf_add (sql, "CREATE TABLE records (id INTEGER PRIMARY KEY");
    for (int i = 0; i < n - 1; i++)
        write_check (sql, &columns[i]);
    dn_buf_add (sql, ", sidecar INTEGER REFERENCES sidecars (id))");
}

#define SCHEMA_MAX 4096

static int make_schema (struct dn_records *records, struct dn_err *err)
{
    char schema[SCHEMA_MAX];
    char sql[2 * SCHEMA_MAX];
    struct dn_buf text = dn_buf_on (schema, sizeof (schema));
    struct dn_buf buf = dn_buf_on (sql, sizeof (sql));

    write_schema (&text);
    dn_buf_add (&buf,
                "%s; %s; PRAGMA application_id = %d; PRAGMA user_version = %d",
                sidecars_sql,
                schema,
                APPLICATION_ID,
                DN_RECORDS_VERSION);
    return execute (records, sql, err);
}

/* The first number of an answer. */
static int ask (struct dn_records *records,
                const char *sql,
                int64_t *answer,
                struct dn_err *err)
{
    sqlite3_stmt *question = NULL;
    int rc = sqlite3_prepare_v2 (records->db, sql, -1, &question, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step (question);
    *answer = rc == SQLITE_ROW ? sqlite3_column_int64 (question, 0) : 0;
    if (rc != SQLITE_ROW)
        dn_records_fail (records, err);
    sqlite3_finalize (question);
    return rc == SQLITE_ROW ? 0 : -1;
}

static bool is_text (sqlite3_stmt *statement, int i, const char *want)
{
    const char *text = (const char *) sqlite3_column_text (statement, i);

    return text ? want && strcmp (text, want) == 0 : !want;
}

/* Nothing but our two tables, as we write them. */
static int check_schema (struct dn_records *records, struct dn_err *err)
{
    char schema[SCHEMA_MAX];
    struct dn_buf buf = dn_buf_on (schema, sizeof (schema));
    const char *const want[][3] = {
        {"table", "sidecars", sidecars_sql},
        {"index", "sqlite_autoindex_sidecars_1", NULL},
        {"table", "records", schema},
    };
    const int n_want = (int) DN_N_ELEMENTS (want);
    sqlite3_stmt *list = NULL;
    int n = 0;
    int rc;

    write_schema (&buf);
    rc = sqlite3_prepare_v2 (
        records->db, "SELECT type, name, sql FROM sqlite_master", -1, &list, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step (list)) == SQLITE_ROW && n < n_want
           && is_text (list, 0, want[n][0]) && is_text (list, 1, want[n][1])
           && is_text (list, 2, want[n][2])) {
        n++;
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        dn_records_fail (records, err);
    else if (rc == SQLITE_ROW || n != n_want)
        dn_err_set (err, DN_E_SYNTAX, "has other tables than a store of records");
    sqlite3_finalize (list);
    return rc == SQLITE_DONE && n == n_want ? 0 : -1;
}

static int check_version (struct dn_records *records,
                          enum dn_records_use use,
                          struct dn_err *err)
{
    int64_t application;
    int64_t version;
    int64_t n_objects;

    if (ask (records, "PRAGMA application_id", &application, err) < 0
        || ask (records, "PRAGMA user_version", &version, err) < 0
        || ask (records, "SELECT count (*) FROM sqlite_master", &n_objects, err) < 0)
        return -1;
    if (application == 0 && version == 0 && n_objects == 0 && use == DN_RECORDS_ADD)
        return make_schema (records, err);
    if (application != APPLICATION_ID)
        return dn_err_set (err, DN_E_SYNTAX, "is a database of another program");
    if (version != DN_RECORDS_VERSION)
        return dn_err_set (err,
                           DN_E_VERSION,
                           "is of version %lld, expected %d",
                           (long long) version,
                           DN_RECORDS_VERSION);
    return check_schema (records, err);
}

/* --- open and close -------------------------------------------------------------- */

bool dn_records_is (const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    struct stat st;
    /* Who writes to a named pipe would take this for its reader, which then is gone. */
    bool regular = stat (path, &st) == 0 && S_ISREG (st.st_mode);
    dn_cleanup (close_fd) int fd = regular ? open (path, flags) : -1;
    char magic[MAGIC_LEN];

    return fd >= 0 && pread (fd, magic, sizeof (magic), 0) == (ssize_t) sizeof (magic)
           && memcmp (magic, MAGIC, MAGIC_LEN) == 0;
}

static int open_db (struct dn_records *records,
                    const char *path,
                    enum dn_records_use use,
                    struct dn_err *err)
{
    /* To read, too: a writer that was killed has left a journal to be played back. */
    const int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW;
    char whole[PATH_MAX];
    struct stat before;
    struct stat after;

    if (find_path (path, whole, err) < 0 || check_file (whole, use, &before, err) < 0
        || check_journal (whole, err) < 0)
        return -1;
    if (sqlite3_open_v2 (whole, &records->db, flags, NULL) != SQLITE_OK)
        return records->db ? dn_records_fail (records, err)
                           : dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (harden (records, use, err) < 0)
        return -1;
    if (lstat (whole, &after) < 0 || before.st_ino != after.st_ino
        || before.st_dev != after.st_dev)
        return dn_err_set (err, DN_E_IO, "has been replaced just now");
    records->adding = use == DN_RECORDS_ADD;
    if (execute (records, records->adding ? "BEGIN IMMEDIATE" : "BEGIN", err) < 0
        || check_version (records, use, err) < 0)
        return -1;
    /* A question of its own for every piece: see records.c. */
    return records->adding ? 0 : execute (records, "COMMIT", err);
}

int dn_records_open (const char *path,
                     enum dn_records_use use,
                     struct dn_records **out,
                     struct dn_err *err)
{
    struct dn_records *records = calloc (1, sizeof (*records));

    *out = NULL;
    if (!records)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (open_db (records, path, use, err) < 0) {
        dn_records_close (records);
        return dn_err_wrap (err, "%s", path);
    }
    *out = records;
    return 0;
}

int dn_records_commit (struct dn_records *records, struct dn_err *err)
{
    if (!records->adding)
        return dn_err_set (err, DN_E_BUG, "nothing to commit");
    if (execute (records, "COMMIT", err) < 0)
        return -1;
    records->adding = false;
    return 0;
}

void dn_records_close (struct dn_records *records)
{
    if (!records)
        return;
    sqlite3_finalize (records->add);
    sqlite3_finalize (records->add_sidecar);
    sqlite3_finalize (records->find_sidecar);
    sqlite3_finalize (records->select);
    sqlite3_close (records->db);
    free (records);
}

void dn_records_cleanup (struct dn_records **records)
{
    dn_records_close (*records);
}

int dn_records_bind (sqlite3_stmt *statement, const struct dn_records_filter *filter)
{
    const char *const texts[] = {filter->group, filter->gpu, filter->source};
    int rc = SQLITE_OK;

    for (int i = 0; i < (int) DN_N_ELEMENTS (texts) && rc == SQLITE_OK; i++)
        if (texts[i])
            rc = sqlite3_bind_text (statement, i + 3, texts[i], -1, SQLITE_TRANSIENT);
    return rc;
}
