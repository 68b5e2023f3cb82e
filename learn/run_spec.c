/* run_spec.c - the device, specification and graph of a measured run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/run_spec.h"

#include <stdlib.h>
#include <string.h>

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
                 const struct dn_datasets *datasets,
                 const struct dn_networks *networks,
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
    if (dn_spec_resolve (spec, datasets, DN_UNSET, err) < 0)
        return -1;
    return dn_sidecar_graph (networks, &sidecar.layers, spec, graph, err);
}

int dn_run_case_read (const struct dn_row *row,
                      enum dn_run_use use,
                      const struct dn_catalogue *catalogue,
                      const struct dn_datasets *datasets,
                      const struct dn_networks *networks,
                      struct dn_run_case *measured,
                      struct dn_err *err)
{
    const struct dn_run *run = &measured->run;
    int rc = dn_run_read (row, use, &measured->run, err);

    measured->spec = dn_spec_empty ();
    memset (&measured->graph, 0, sizeof (measured->graph));
    /* An unknown device is reported before any other error of the row. */
    measured->device = dn_run_device (run, catalogue, err);
    if (!measured->device || rc < 0
        || dn_run_spec (run, datasets, networks, &measured->spec, &measured->graph, err)
               < 0)
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
