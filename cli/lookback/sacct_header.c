/* sacct_header.c - what 'sacct -P' prints with a header, as jobs/accounting.h reads it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/sacct_header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/when.h"

/* Where a column comes from if not from that of its name. */
static const struct other {
    const char *name;
    const char *others[2];
    bool needed;
    const char *without; /* what is not known then; NULL: nothing is lost */
} others[] = {
    {"JobIDRaw", {"JobID"}, true, NULL},
    {"JobID", {"JobIDRaw"}, false, NULL},
    {"Submit", {NULL}, true, NULL},
    {"Start", {NULL}, true, NULL},
    {"End", {"ElapsedRaw", "Elapsed"}, true, NULL},
    {"AllocTRES", {"ReqTRES"}, true, NULL},
    {"User", {"Account"}, false, "owners"},
    {"JobName", {NULL}, false, "names of series (a request stands for one)"},
    {"TimelimitRaw", {"Timelimit"}, false, "limits"},
    {"State", {NULL}, false, "how jobs ended"},
    {"TotalCPU", {NULL}, false, "CPUs that were busy"},
    {"TRESUsageInTot", {NULL}, false, "memory that was used"},
};

static int find (const struct dn_sacct_header *header, const char *name)
{
    for (int i = 0; name && i < header->n; i++)
        if (dn_span_is (dn_span_of (name), header->names[i]))
            return i;
    return -1;
}

static const struct other *other_of (const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (others); i++)
        if (strcmp (name, others[i].name) == 0)
            return &others[i];
    return NULL;
}

/* The column that stands for it, or -1. */
static int find_other (const struct dn_sacct_header *header, const struct other *other)
{
    int at = find (header, other->name);

    for (size_t i = 0; at < 0 && i < DN_N_ELEMENTS (other->others); i++)
        at = find (header, other->others[i]);
    return at;
}

static int cut (char *line, const char *cells[DN_SACCT_COLUMNS_MAX])
{
    int n = 0;

    line[strcspn (line, "\r\n")] = '\0';
    while (line && n < DN_SACCT_COLUMNS_MAX)
        cells[n++] = strsep (&line, "|");
    return n;
}

bool dn_sacct_is_header (const char *line)
{
    return strstr (line, "JobID") && strchr (line, '|');
}

static enum dn_sacct_form form_of (const char *name)
{
    static const struct {
        const char *name;
        enum dn_sacct_form form;
    } forms[] = {{"Submit", DN_SACCT_TIME},
                 {"Eligible", DN_SACCT_TIME},
                 {"Start", DN_SACCT_TIME},
                 {"End", DN_SACCT_TIME},
                 {"TimelimitRaw", DN_SACCT_LIMIT},
                 {"JobIDRaw", DN_SACCT_RAW_ID}};

    for (size_t i = 0; i < DN_N_ELEMENTS (forms); i++)
        if (strcmp (name, forms[i].name) == 0)
            return forms[i].form;
    return DN_SACCT_AS_IT_IS;
}

/* Which column each of the made ones comes from, once for all rows. */
static void plan (struct dn_sacct_header *header)
{
    struct dn_buf buf = dn_buf_on (header->columns, sizeof (header->columns));
    char *rest = header->columns;
    const char *name; /* "" behind the last comma */

    dn_accounting_columns (DN_ACCOUNTING_ALL, &buf);
    header->start = find (header, "Start");
    while (header->n_made < DN_SACCT_COLUMNS_MAX && (name = strsep (&rest, ","))
           && name[0] != '\0') {
        const struct other *other = other_of (name);

        header->made[header->n_made++] = (struct dn_sacct_made){
            .name = name,
            .form = form_of (name),
            .at = other ? find_other (header, other) : find (header, name)};
    }
}

int dn_sacct_header_read (struct dn_sacct_header *header,
                          const char *line,
                          struct dn_err *err)
{
    struct dn_buf lacks = dn_buf_on (header->lacks, sizeof (header->lacks));

    header->lacks[0] = '\0';
    header->text = strdup (line);
    if (!header->text)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    header->n = cut (header->text, header->names);
    for (size_t i = 0; i < DN_N_ELEMENTS (others); i++) {
        const struct other *other = &others[i];

        if (find_other (header, other) >= 0)
            continue;
        if (other->needed)
            return dn_err_set (err,
                               DN_E_SYNTAX,
                               "line 1: no column %s%s%s; it has '%s'",
                               other->name,
                               other->others[0] ? " or " : "",
                               other->others[0] ? other->others[0] : "",
                               dn_quote (line, strcspn (line, "\r\n")).text);
        if (other->without)
            dn_buf_add (&lacks,
                        "%s%s (%s)",
                        lacks.len > 0 ? ", " : "",
                        other->without,
                        other->name);
    }
    plan (header);
    return 0;
}

void dn_sacct_header_free (struct dn_sacct_header *header)
{
    free (header->text);
}

/* --- rows ------------------------------------------------------------------------- */

/* Seconds since 1970; of what has no time, such as Unknown, DN_UNSET. */
static int read_time (const char *cell,
                      const char *name,
                      int64_t *time_s,
                      struct dn_err *err)
{
    static const char *const none[] = {"", "Unknown", "None", "0"};

    *time_s = DN_UNSET;
    for (size_t i = 0; i < DN_N_ELEMENTS (none); i++)
        if (strcmp (cell, none[i]) == 0)
            return 0;
    if (strspn (cell, "0123456789") == strlen (cell))
        return dn_int_read (dn_span_of (cell), name, 0, INT64_C (1) << 40, time_s, err);
    return dn_when_read (cell, name, 0, time_s, err);
}

struct row {
    const struct dn_sacct_header *header;
    const char *cells[DN_SACCT_COLUMNS_MAX];
    int64_t number;
    struct dn_buf *buf;
};

/* A time, or the start and what has elapsed since. */
static int put_time (const struct row *row,
                     const struct dn_sacct_made *made,
                     struct dn_err *err)
{
    const char *from = row->header->names[made->at];
    const char *cell = row->cells[made->at];
    int64_t start_s;
    int64_t time_s;

    if (strcasecmp (made->name, from) != 0) {
        if (read_time (row->cells[row->header->start], "Start", &start_s, err) < 0
            || (dn_span_is (dn_span_of ("ElapsedRaw"), from)
                    ? dn_int_read (
                        dn_span_of (cell), from, 0, INT64_C (1) << 40, &time_s, err)
                    : dn_time_read (dn_span_of (cell), from, &time_s, err))
                   < 0)
            return -1;
        time_s = start_s == DN_UNSET ? DN_UNSET : start_s + time_s;
    } else if (read_time (cell, made->name, &time_s, err) < 0) {
        return -1;
    }
    if (time_s == DN_UNSET)
        dn_buf_add (row->buf, "Unknown");
    else
        dn_buf_add (row->buf, "%" PRId64, time_s);
    return 0;
}

/* Minutes of "1-00:00:00". */
static int put_limit (const struct row *row, int at, struct dn_err *err)
{
    const char *cell = row->cells[at];
    int64_t seconds;

    if (dn_span_is (dn_span_of ("TimelimitRaw"), row->header->names[at])
        || cell[0] < '0' || cell[0] > '9') {
        dn_buf_add (row->buf, "%s", cell);
        return 0;
    }
    if (dn_time_read (dn_span_of (cell), "Timelimit", &seconds, err) < 0)
        return -1;
    dn_buf_add (row->buf, "%" PRId64, seconds / 60);
    return 0;
}

/* A number of its own for each task, whose JobID has none; steps keep their mark. */
static void put_raw_id (const struct row *row, int at)
{
    const char *cell = row->cells[at];

    if (strcspn (cell, "_+") == strlen (cell))
        dn_buf_add (row->buf, "%s", cell);
    else
        dn_buf_add (
            row->buf, "%" PRId64 "%s", row->number, strchr (cell, '.') ? ".0" : "");
}

static int put (const struct row *row,
                const struct dn_sacct_made *made,
                struct dn_err *err)
{
    if (made->at < 0)
        return 0;
    if (made->form == DN_SACCT_TIME)
        return put_time (row, made, err);
    if (made->form == DN_SACCT_LIMIT)
        return put_limit (row, made->at, err);
    if (made->form == DN_SACCT_RAW_ID)
        put_raw_id (row, made->at);
    else
        dn_buf_add (row->buf, "%s", row->cells[made->at]);
    return 0;
}

int dn_sacct_header_row (const struct dn_sacct_header *header,
                         char *line,
                         int64_t number,
                         const char *delimiter,
                         struct dn_buf *row,
                         struct dn_err *err)
{
    struct row from = {.header = header, .number = number, .buf = row};
    int n = cut (line, from.cells);

    if (n != header->n)
        return dn_err_set (err,
                           DN_E_SYNTAX,
                           "line %" PRId64 ": %d columns, expected %d as in line 1",
                           number,
                           n,
                           header->n);
    for (int i = 0; i < header->n_made; i++) {
        dn_buf_add (row, "%s", i > 0 ? delimiter : "");
        if (put (&from, &header->made[i], err) < 0)
            return dn_err_wrap (err, "line %" PRId64, number);
    }
    dn_buf_add (row, "\n");
    return 0;
}
