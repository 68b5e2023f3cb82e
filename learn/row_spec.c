/* row_spec.c - the run that a row of a table describes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/row_spec.h"

#include <stdlib.h>
#include <string.h>

/* Begins the name of a file that holds the specification. */
#define SIDECAR_MARK '@'

static struct dn_span spec_of (const struct dn_row *row)
{
    return dn_span_trim (dn_span_of (dn_row_get (row, "spec")));
}

static bool names_file (struct dn_span spec)
{
    return spec.len > 0 && spec.text[0] == SIDECAR_MARK;
}

static int read_file (const struct dn_row *row,
                      const char *path,
                      char **text,
                      struct dn_err *err)
{
    if (!row->files)
        return dn_err_set (err,
                           DN_E_IO,
                           "spec: @%s: sidecars are not read here",
                           dn_quote (path, strlen (path)).text);
    if (row->files->text (path, row->files->context, text, err) < 0)
        return dn_err_wrap (err, "spec");
    return 0;
}

int dn_row_sidecar (const struct dn_row *row, char **text, struct dn_err *err)
{
    const char *cell = dn_row_get (row, "sidecar");
    struct dn_span spec = spec_of (row);
    dn_cleanup (dn_free_ptr) char *path = NULL;

    *text = NULL;
    if (!names_file (spec) && (!cell || cell[0] == '\0'))
        return 0;
    if (cell && cell[0] != '\0')
        *text = strdup (cell);
    else
        path = strndup (spec.text + 1, spec.len - 1);
    if (path)
        return read_file (row, path, text, err);
    return *text ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
}

int dn_row_spec (const struct dn_row *row,
                 const struct dn_datasets *datasets,
                 struct dn_spec *spec,
                 struct dn_graph *graph,
                 struct dn_err *err)
{
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_span pairs = spec_of (row);

    if (dn_row_sidecar (row, &text, err) < 0)
        return -1;
    if (text && dn_sidecar_read (dn_span_of (text), &sidecar, err) < 0)
        return dn_err_wrap (
            err,
            "spec: %s",
            dn_quote (names_file (pairs) ? pairs.text : "sidecar",
                      names_file (pairs) ? pairs.len : strlen ("sidecar"))
                .text);
    /* without a sidecar even an empty text is read, which says what is missing */
    if (!names_file (pairs) && (pairs.len > 0 || !text)
        && dn_spec_read (pairs, &sidecar.spec, err) < 0)
        return -1;
    *spec = sidecar.spec;
    if (dn_spec_resolve (spec, datasets, DN_UNSET, err) < 0)
        return -1;
    return dn_sidecar_graph (&sidecar.layers, spec, graph, err);
}
