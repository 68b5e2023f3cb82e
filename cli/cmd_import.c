/* cmd_import.c - a sidecar from the config.json of a network
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <stdio.h>

#include "import/hf_config.h"
#include "output/json.h"
#include "output/show.h"
#include "subject.h"

struct call {
    const char *out;
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("out", "FILE", "write the sidecar there and print a summary", out),
    DN_OPT_END,
};

/* The sidecar of a config.json has keys only, which 'keys' (may be NULL) override. */
static int run (struct dn_options *given)
{
    struct call call = {.out = NULL};
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    dn_cleanup (dn_free_ptr) char *text = NULL;
    dn_cleanup (dn_graph_free) struct dn_graph graph = {0};
    dn_cleanup (dn_json_free) struct json_object *document = NULL;
    const char *path;
    const char *keys;
    struct dn_err err = {0};

    if (!dn_options_all (given, &call, 1, 2) || !dn_options_site (given, NULL))
        return given->exit_code;
    path = given->args[0][0] == '@' ? given->args[0] + 1 : given->args[0];
    keys = given->n_args > 1 ? given->args[1] : NULL;
    if (dn_read_input (path, &text, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (dn_hf_config_read (dn_span_of (text), &sidecar.spec, &err) < 0) {
        dn_err_wrap (&err, "%s", path);
        return dn_fail (DN_EXIT_DATA, &err);
    }
    if (keys && dn_spec_read (dn_span_of (keys), &sidecar.spec, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (dn_graph_build (&given->site->networks, &sidecar.spec, &graph, &err) < 0
        || dn_sidecar_put (&sidecar, call.out, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (call.out && given->json) {
        document = json_object_new_object ();
        json_object_object_add (document, "spec", dn_show_spec_json (&sidecar.spec));
        dn_json_add_real (document, "params", graph.params);
        dn_json_print (document);
    } else if (call.out) {
        printf ("%s: %s parameters\n", graph.name, dn_show_count (graph.params).text);
    }
    return DN_EXIT_DONE;
}

const struct dn_command dn_cmd_import = {
    .name = "import",
    .summary = "Make a sidecar from the config.json of a network",
    .arguments = "CONFIG.json [SPEC]",
    .options = options,
    .run = run,
};
