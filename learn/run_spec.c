/* run_spec.c - the device, specification and graph of a measured run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/run_spec.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* The first character of a spec that names a file. */
#define SIDECAR_MARK '@'

const struct dn_device *dn_run_device (const struct dn_run *run,
                                       const struct dn_catalogue *catalogue,
                                       struct dn_err *err)
{
    const struct dn_device *device = dn_catalogue_find (catalogue, run->gpu);

    if (!device)
        dn_err_set (err,
                    DN_E_RANGE,
                    "gpu: '%s' is not in the hardware catalogue",
                    dn_quote (run->gpu, strlen (run->gpu)).text);
    return device;
}

static struct dn_span spec_of (const struct dn_run *run)
{
    return dn_span_trim (dn_span_of (run->spec));
}

static bool names_file (struct dn_span spec)
{
    return spec.len > 0 && spec.text[0] == SIDECAR_MARK;
}

static int read_file (const struct dn_run *run,
                      const char *path,
                      char **text,
                      struct dn_err *err)
{
    if (!run->files)
        return dn_err_set (err,
                           DN_E_IO,
                           "spec: @%s: sidecars are not read here",
                           dn_quote (path, strlen (path)).text);
    if (run->files->text (path, run->files->context, text, err) < 0)
        return dn_err_wrap (err, "spec");
    return 0;
}

/* The sidecar that describes the run, NULL if none does. The caller frees it. */
static int sidecar_of (const struct dn_run *run, char **text, struct dn_err *err)
{
    struct dn_span spec = spec_of (run);
    dn_cleanup (dn_free_ptr) char *path = NULL;

    *text = NULL;
    if (!names_file (spec) && run->sidecar[0] == '\0')
        return 0;
    if (run->sidecar[0] != '\0')
        *text = strdup (run->sidecar);
    else
        path = strndup (spec.text + 1, spec.len - 1);
    if (path)
        return read_file (run, path, text, err);
    return *text ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
}

int dn_run_spec (const struct dn_run *run,
                 const struct dn_run_tables *tables,
                 struct dn_spec *spec,
                 struct dn_graph *graph,
                 struct dn_err *err)
{
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_span pairs = spec_of (run);

    if (sidecar_of (run, &text, err) < 0)
        return -1;
    if (text && dn_sidecar_read (dn_span_of (text), &sidecar, err) < 0)
        return dn_err_wrap (
            err,
            "spec: %s",
            dn_quote (names_file (pairs) ? pairs.text : "sidecar",
                      names_file (pairs) ? pairs.len : strlen ("sidecar"))
                .text);
    /* without a sidecar even an empty text is read, for an error that names what is
     * missing
     */
    if (!names_file (pairs) && (pairs.len > 0 || !text)
        && dn_spec_read (pairs, &sidecar.spec, err) < 0)
        return -1;
    *spec = sidecar.spec;
    if (dn_spec_resolve (spec, tables->datasets, DN_UNSET, err) < 0)
        return -1;
    return dn_sidecar_graph (tables->networks, &sidecar.layers, spec, graph, err);
}

int dn_run_case_read (const struct dn_row *row,
                      enum dn_run_use use,
                      const struct dn_run_tables *tables,
                      struct dn_run_case *measured,
                      struct dn_err *err)
{
    const struct dn_run *run = &measured->run;
    int rc = dn_run_read (row, use, &measured->run, err);

    measured->spec = dn_spec_empty ();
    memset (&measured->graph, 0, sizeof (measured->graph));
    /* An unknown device is reported before any other error of the row. */
    measured->device = dn_run_device (run, tables->catalogue, err);
    if (!measured->device || rc < 0
        || dn_run_spec (run, tables, &measured->spec, &measured->graph, err) < 0)
        return -1;
    if (dn_device_supports (measured->device, measured->spec.precision))
        return 0;
    return dn_err_set (
        err, DN_E_RANGE, "gpu: %s cannot run this precision", measured->device->name);
}

void dn_run_case_free (struct dn_run_case *measured)
{
    dn_graph_free (&measured->graph);
}

/* A smaller value is an error in the table, not a measurement. */
#define MEASURED_MIN 1e-9

#define REAL_MAX 1e15

enum type {
    TEXT,
    MEASURED,
    FLAG
};

#define COLUMN(type, name)                                                             \
    {                                                                                  \
#name, type, offsetof(struct dn_run, name)                                     \
    }

static const struct column {
    const char *name;
    enum type type;
    size_t offset;
} columns[] = {
    COLUMN (TEXT, spec),
    COLUMN (TEXT, gpu),
    COLUMN (MEASURED, step_ms),
    COLUMN (MEASURED, peak_mem_gb),
    COLUMN (MEASURED, power_w),
    COLUMN (MEASURED, cores_per_gpu),
    COLUMN (TEXT, group),
    COLUMN (TEXT, source),
    COLUMN (FLAG, oom),
    COLUMN (FLAG, censored),
    COLUMN (TEXT, user),
    COLUMN (TEXT, sidecar),
    COLUMN (TEXT, mem_metric),
};

int64_t dn_run_user (const char *text, const struct dn_people *people)
{
    int64_t user;

    if (text[0] == '\0')
        return DN_UNSET;
    if (dn_int_read (dn_span_of (text), "user", 0, UINT32_MAX, &user, NULL) == 0
        || (people && people->find_user (people->self, text, &user, NULL) == 0))
        return user;
    return -2 - (int64_t) (dn_hash_text (DN_HASH_SEED, text) >> 2);
}

enum dn_memory_count dn_run_memory_count (const struct dn_run *run)
{
    static const char framework[] = "framework ";
    const char *text = run->mem_metric;

    if (strncmp (text, framework, strlen (framework)) == 0)
        text += strlen (framework);
    if (strncmp (text, "allocated", strlen ("allocated")) == 0)
        return DN_MEMORY_ALLOCATED;
    if (strncmp (text, "reserved", strlen ("reserved")) == 0)
        return DN_MEMORY_RESERVED;
    return DN_MEMORY_OF_DEVICE;
}

double dn_run_known (double value)
{
    return isnan (value) ? 0 : value;
}

static void *member_of (struct dn_run *run, const struct column *column)
{
    return (char *) run + column->offset;
}

void dn_run_clear (struct dn_run *run)
{
    run->files = NULL;
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++) {
        void *member = member_of (run, &columns[i]);

        if (columns[i].type == MEASURED)
            *(double *) member = NAN;
        else if (columns[i].type == FLAG)
            *(int64_t *) member = DN_UNSET;
        else
            *(const char **) member = "";
    }
}

int dn_run_check (const struct dn_row *row, struct dn_err *err)
{
    if (dn_row_get (row, "spec") && dn_row_get (row, "gpu"))
        return 0;
    return dn_err_set (err, DN_E_SYNTAX, "the table needs the columns spec and gpu");
}

static bool is_needed (const struct column *column, enum dn_run_use use)
{
    return column->type == MEASURED || (column->type == FLAG && use == DN_RUN_LEARN);
}

/* Read a cell that is not empty. If it cannot be read, the member is unchanged. */
static int read_cell (const struct column *column,
                      const char *cell,
                      void *member,
                      struct dn_err *err)
{
    if (column->type == MEASURED)
        return dn_real_read (
            dn_span_of (cell), column->name, MEASURED_MIN, REAL_MAX, member, err);
    if (column->type == TEXT) {
        *(const char **) member = cell;
        return 0;
    }
    if (dn_int_read (dn_span_of (cell), column->name, 0, 1, member, NULL) == 0)
        return 0;
    return dn_err_set (err,
                       DN_E_SYNTAX,
                       "%s: '%s', expected 0 or 1",
                       column->name,
                       dn_quote (cell, strlen (cell)).text);
}

int dn_run_read (const struct dn_row *row,
                 enum dn_run_use use,
                 struct dn_run *run,
                 struct dn_err *err)
{
    int next = 0;
    int rc = 0;

    dn_run_clear (run);
    run->files = row->files;
    for (size_t i = 0; i < DN_N_ELEMENTS (columns); i++) {
        const char *cell = dn_row_next (row, columns[i].name, &next);
        bool needed = rc == 0 && is_needed (&columns[i], use);
        void *member = member_of (run, &columns[i]);

        if (cell && cell[0] != '\0'
            && read_cell (&columns[i], cell, member, needed ? err : NULL) < 0 && needed)
            rc = -1;
    }
    return rc;
}
