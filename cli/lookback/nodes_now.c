/* nodes_now.c - the nodes with GPUs, as sinfo prints them to anybody
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "lookback/nodes_now.h"

#include <string.h>

#include "common.h"
#include "process/child.h"

static int add_node (struct dn_sim *sim,
                     const struct dn_sim_pool *node,
                     struct dn_err *err)
{
    for (int i = 0; i < sim->n_pools; i++) {
        struct dn_sim_pool *pool = &sim->pools[i];

        if (strcmp (pool->type, node->type) == 0 && pool->gpus == node->gpus
            && pool->cpus == node->cpus && pool->mem_mb == node->mem_mb) {
            pool->nodes++;
            return 0;
        }
    }
    if (sim->n_pools == DN_SIM_POOLS_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "more than %d kinds of nodes", DN_SIM_POOLS_MAX);
    sim->pools[sim->n_pools++] = *node;
    return 0;
}

/* "gpu:a100:4(S:0-1)", or "gpu:4". False: these are no GPUs. */
static bool read_gres (struct dn_span gres, struct dn_sim_pool *node)
{
    struct dn_span name = dn_span_cut (&gres, ":");
    struct dn_span type = dn_span_cut (&gres, ":");
    struct dn_span count = gres.text ? gres : type;

    if (!dn_span_is (name, "gpu") || !type.text)
        return false;
    count.len = strcspn (count.text, "(,\n|") < count.len
                    ? strcspn (count.text, "(,\n|")
                    : count.len;
    node->type[0] = '\0';
    return dn_int_read (count, "gpus", 1, INT32_MAX, &node->gpus, NULL) == 0
           && (!gres.text
               || dn_span_copy (type, node->type, DN_NAME_MAX, "type", NULL) == 0);
}

/* Cut the next gres: a comma within brackets separates none. */
static struct dn_span next_gres (struct dn_span *list)
{
    struct dn_span gres = *list;
    int depth = 0;

    for (size_t i = 0; i < list->len; i++) {
        char c = list->text[i];

        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (c != ',' || depth > 0)
            continue;
        gres.len = i;
        *list = (struct dn_span){list->text + i + 1, list->len - i - 1};
        return gres;
    }
    *list = (struct dn_span){NULL, 0};
    return gres;
}

/* "12+" of nodes that differ is their least. */
static int64_t number_of (struct dn_span text)
{
    int64_t number = 0;

    if (text.len > 0 && text.text[text.len - 1] == '+')
        text.len--;
    dn_int_read (text, "number", 0, INT32_MAX, &number, NULL);
    return number;
}

static int read_line (struct dn_sim *sim, struct dn_span line, struct dn_err *err)
{
    struct dn_sim_pool node = {.nodes = 1};
    struct dn_span gres;

    node.cpus = number_of (dn_span_cut (&line, "|"));
    node.mem_mb = number_of (dn_span_cut (&line, "|"));
    while (line.text && line.len > 0) {
        gres = next_gres (&line);
        if (read_gres (gres, &node) && add_node (sim, &node, err) < 0)
            return -1;
    }
    return 0;
}

int dn_nodes_read (struct dn_sim *sim, const char *text, struct dn_err *err)
{
    struct dn_span rest = dn_span_of (text);
    struct dn_span last = {"", 0};
    struct dn_span line;

    while ((line = dn_span_cut (&rest, "\n")).text) {
        struct dn_span name = dn_span_cut (&line, "|");

        if (!line.text
            || (name.len == last.len && memcmp (name.text, last.text, name.len) == 0))
            continue;
        last = name;
        if (read_line (sim, line, err) < 0)
            return -1;
    }
    return 0;
}

int dn_nodes_ask (struct dn_sim *sim, struct dn_err *err)
{
    char *argv[] = {"sinfo", "-hN", "-o", "%N|%c|%m|%G", NULL};
    dn_cleanup (dn_free_ptr) char *text = dn_child_output (argv, true, err);

    return text ? dn_nodes_read (sim, text, err) : -1;
}
