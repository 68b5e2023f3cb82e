/* link_limits.c - limits of QOS and associations as plain structs
 *
 * Limits are arrays over the TRES of the cluster, in the order of their names. What a
 * user's association inherits of its account is already in it, but for the limits of a
 * whole group, which hold for all associations below.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm/link_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

/* What a change of a job could break; the snapshot can hold counts up to this. */
static const char *const tracked[] = {"cpu", "mem", "node", "billing", "gres/gpu"};
#define COUNT_MAX INT64_C (9000000000000000)

/* Limits of one scope; NULL: none. */
struct scope {
    enum dn_limit_scope scope;
    const uint64_t *counts;
    const uint64_t *used;
    uint32_t n_used;
};

#define SCOPES_MAX 6

static bool is_tracked (const char *name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (tracked); i++) {
        size_t len = strlen (tracked[i]);

        if (strncmp (name, tracked[i], len) == 0
            && (name[len] == '\0' || (name[len] == ':' && len > 4)))
            return strlen (name) < DN_NAME_MAX;
    }
    return false;
}

/* Is the limit of the i-th TRES one? */
static bool is_limit (const assoc_mgr_info_msg_t *from,
                      const struct scope *scope,
                      uint32_t i)
{
    uint64_t count = scope->counts ? scope->counts[i] : INFINITE64;

    if (count == INFINITE64 || count == NO_VAL64 || !from->tres_names[i])
        return false;
    /* A minimum of 0 forbids nothing. */
    if (scope->scope == DN_LIMIT_MIN_JOB && count == 0)
        return false;
    return is_tracked (from->tres_names[i]);
}

static bool has_limit (const assoc_mgr_info_msg_t *from, const struct scope *scope)
{
    for (uint32_t i = 0; i < from->tres_cnt; i++)
        if (is_limit (from, scope, i))
            return true;
    return false;
}

/* Have these arrays, some of which may be NULL, a limit of any TRES? */
static bool has_minutes (const assoc_mgr_info_msg_t *from,
                         const uint64_t *const *arrays,
                         size_t n_arrays)
{
    for (size_t a = 0; a < n_arrays; a++)
        for (uint32_t i = 0; arrays[a] && i < from->tres_cnt; i++)
            if (arrays[a][i] != INFINITE64 && arrays[a][i] != NO_VAL64)
                return true;
    return false;
}

/* --- what is filled --------------------------------------------------------------- */

/* Where rows of limits are appended. */
struct rows {
    const assoc_mgr_info_msg_t *from;
    struct dn_cluster *cluster;
};

static int64_t count_of (uint64_t count)
{
    return count < (uint64_t) COUNT_MAX ? (int64_t) count : COUNT_MAX;
}

static int add_limit (struct rows *rows,
                      const struct scope *scope,
                      uint32_t i,
                      struct dn_err *err)
{
    struct dn_cluster *cluster = rows->cluster;
    struct dn_tres_limit *limit;

    if (dn_rows_grow (
            &cluster->limits, cluster->n_limits, sizeof (*cluster->limits), err)
        < 0)
        return -1;
    limit = &cluster->limits[cluster->n_limits++];
    *limit = (struct dn_tres_limit){
        .scope = scope->scope, .count = count_of (scope->counts[i]), .used = DN_UNSET};
    memcpy (
        limit->tres, rows->from->tres_names[i], strlen (rows->from->tres_names[i]) + 1);
    if (scope->used && i < scope->n_used)
        limit->used = count_of (scope->used[i]);
    return 0;
}

static int add_limits (struct rows *rows,
                       struct dn_limited *who,
                       const struct scope scopes[SCOPES_MAX],
                       struct dn_err *err)
{
    who->first_limit = rows->cluster->n_limits;
    for (int s = 0; s < SCOPES_MAX; s++)
        for (uint32_t i = 0; scopes[s].counts && i < rows->from->tres_cnt; i++)
            if (is_limit (rows->from, &scopes[s], i)
                && add_limit (rows, &scopes[s], i, err) < 0)
                return -1;
    who->n_limits = rows->cluster->n_limits - who->first_limit;
    return 0;
}

static int64_t wall_s (uint32_t minutes)
{
    return minutes == NO_VAL ? DN_UNLIMITED : dn_link_seconds (minutes);
}

static void copy_name (char out[DN_NAME_MAX], const char *from)
{
    struct dn_buf buf = dn_buf_on (out, DN_NAME_MAX);

    dn_buf_add (&buf, "%s", from ? from : "");
}

/* --- QOS -------------------------------------------------------------------------- */

/* Numbers of QOS, in the order of cluster->qos. */
struct qos_ids {
    uint32_t *ids;
    int64_t n;
};

static void qos_ids_free (struct qos_ids *ids)
{
    free (ids->ids);
}

static int fill_qos (struct rows *rows,
                     const slurmdb_qos_rec_t *from,
                     struct dn_limited *out,
                     struct dn_err *err)
{
    const slurmdb_qos_usage_t *usage = from->usage;
    const struct scope scopes[SCOPES_MAX] = {
        {.scope = DN_LIMIT_JOB, .counts = from->max_tres_pj_ctld},
        {.scope = DN_LIMIT_NODE, .counts = from->max_tres_pn_ctld},
        {.scope = DN_LIMIT_USER, .counts = from->max_tres_pu_ctld},
        {.scope = DN_LIMIT_ACCOUNT, .counts = from->max_tres_pa_ctld},
        {.scope = DN_LIMIT_GROUP,
         .counts = from->grp_tres_ctld,
         .used = usage ? usage->grp_used_tres : NULL,
         .n_used = usage ? usage->tres_cnt : 0},
        {.scope = DN_LIMIT_MIN_JOB, .counts = from->min_tres_pj_ctld},
    };
    const uint64_t *const minutes[] = {from->grp_tres_mins_ctld,
                                       from->grp_tres_run_mins_ctld,
                                       from->max_tres_mins_pj_ctld,
                                       from->max_tres_run_mins_pu_ctld,
                                       from->max_tres_run_mins_pa_ctld};

    copy_name (out->name, from->name);
    out->user_id = out->parent = DN_UNSET;
    out->max_wall_s = wall_s (from->max_wall_pj);
    out->minutes = has_minutes (rows->from, minutes, DN_N_ELEMENTS (minutes));
    return add_limits (rows, out, scopes, err);
}

static int fill_all_qos (struct rows *rows, struct qos_ids *ids, struct dn_err *err)
{
    struct dn_cluster *cluster = rows->cluster;
    void *list = rows->from->qos_list;
    int n = list ? slurm_list_count (list) : 0;
    const slurmdb_qos_rec_t *from;

    cluster->qos = calloc ((size_t) n + 1, sizeof (cluster->qos[0]));
    ids->ids = calloc ((size_t) n + 1, sizeof (ids->ids[0]));
    if (!cluster->qos || !ids->ids)
        return dn_refuse (err, no_memory_for, "QOS");
    DN_LINK_EACH (from, list) {
        if (!from->name || from->name[0] == '\0')
            continue;
        ids->ids[ids->n++] = from->id;
        if (fill_qos (rows, from, &cluster->qos[cluster->n_qos++], err) < 0)
            return -1;
    }
    return 0;
}

static const struct dn_limited *qos_of (const struct rows *rows,
                                        const struct qos_ids *ids,
                                        uint32_t id)
{
    for (int64_t i = 0; i < ids->n; i++)
        if (ids->ids[i] == id)
            return &rows->cluster->qos[i];
    return NULL;
}

/* --- associations ----------------------------------------------------------------- */

/* An association with what decides whether it is in the snapshot. */
struct assoc {
    const slurmdb_assoc_rec_t *from;
    const struct dn_limited *qos; /* of its jobs that name none, but the usual one */
    int64_t parent;               /* in the order of ids; DN_UNSET none */
    bool own;                     /* it has a limit */
    bool group;                   /* of them one of the whole group */
    bool minutes;                 /* of them one of TRES minutes */
    bool kept;
    int64_t row;
};

struct assocs {
    struct assoc *by_id;
    int64_t n;
};

static void assocs_free (struct assocs *assocs)
{
    free (assocs->by_id);
}

static struct scope group_scope (const slurmdb_assoc_rec_t *from)
{
    const slurmdb_assoc_usage_t *usage = from->usage;

    return (struct scope){.scope = DN_LIMIT_GROUP,
                          .counts = from->grp_tres_ctld,
                          .used = usage ? usage->grp_used_tres : NULL,
                          .n_used = usage ? usage->tres_cnt : 0};
}

/* Has it such limits for its own jobs, or, with 'group', for those of all below it? */
static bool limits_minutes (const struct rows *rows,
                            const slurmdb_assoc_rec_t *from,
                            bool group)
{
    const uint64_t *const own[] = {from->max_tres_mins_ctld,
                                   from->max_tres_run_mins_ctld};
    const uint64_t *const all[] = {from->grp_tres_mins_ctld,
                                   from->grp_tres_run_mins_ctld};

    return has_minutes (rows->from, group ? all : own, DN_N_ELEMENTS (own));
}

/* The QOS of a job that names none: the default of the association, or its only one. */
static uint32_t usual_qos (const slurmdb_assoc_rec_t *from)
{
    const char *only;

    if ((int32_t) from->def_qos_id > 0 || !from->qos_list
        || slurm_list_count (from->qos_list) != 1)
        return from->def_qos_id;
    DN_LINK_EACH (only, from->qos_list)
        return (uint32_t) strtoul (only, NULL, 10);
    return 0;
}

static int by_id (const void *a, const void *b)
{
    uint32_t one = ((const struct assoc *) a)->from->id;
    uint32_t two = ((const struct assoc *) b)->from->id;

    return (one > two) - (one < two);
}

static int64_t find_id (const struct assocs *assocs, uint32_t id)
{
    const slurmdb_assoc_rec_t wanted = {.id = id};
    const struct assoc key = {.from = &wanted};
    const struct assoc *found = bsearch (
        &key, assocs->by_id, (size_t) assocs->n, sizeof (assocs->by_id[0]), by_id);

    return found ? found - assocs->by_id : DN_UNSET;
}

static bool is_user (const slurmdb_assoc_rec_t *from)
{
    return from->user && from->user[0] != '\0';
}

static int collect (struct assocs *assocs,
                    const struct rows *rows,
                    const struct qos_ids *ids,
                    struct dn_err *err)
{
    void *list = rows->from->assoc_list;
    int n = list ? slurm_list_count (list) : 0;
    const slurmdb_assoc_rec_t *from;

    assocs->by_id = calloc ((size_t) n + 1, sizeof (assocs->by_id[0]));
    if (!assocs->by_id)
        return dn_refuse (err, no_memory_for, "associations");
    DN_LINK_EACH (from, list) {
        struct scope group = group_scope (from);
        struct scope job = {.scope = DN_LIMIT_JOB, .counts = from->max_tres_ctld};
        struct scope node = {.scope = DN_LIMIT_NODE, .counts = from->max_tres_pn_ctld};
        struct assoc *assoc = &assocs->by_id[assocs->n];

        if (!from->acct || (is_user (from) && from->uid == NO_VAL))
            continue;
        assocs->n++;
        assoc->from = from;
        assoc->qos = qos_of (rows, ids, usual_qos (from));
        assoc->minutes = limits_minutes (rows, from, true);
        assoc->group = assoc->minutes || has_limit (rows->from, &group);
        assoc->minutes = assoc->minutes || limits_minutes (rows, from, false);
        assoc->own = assoc->group || assoc->minutes || has_limit (rows->from, &job)
                     || has_limit (rows->from, &node)
                     || wall_s (from->max_wall_pj) != DN_UNLIMITED;
    }
    qsort (assocs->by_id, (size_t) assocs->n, sizeof (assocs->by_id[0]), by_id);
    return 0;
}

/* Find parents that have limits, and what is kept. An account is kept for the limits of
 * its group, a user also for those of a default QOS, or, with 'accounts', for the
 * default account. Ids of parents cannot be trusted to have no circle.
 */
static int64_t choose (struct assocs *assocs, bool accounts)
{
    const int64_t depth_max = 64;
    int64_t n = 0;

    for (int64_t i = 0; i < assocs->n; i++) {
        struct assoc *assoc = &assocs->by_id[i];
        int64_t above = i;

        assoc->parent = DN_UNSET;
        for (int64_t depth = 0; depth < depth_max && assoc->parent == DN_UNSET;
             depth++) {
            above = find_id (assocs, assocs->by_id[above].from->parent_id);
            if (above == DN_UNSET)
                break;
            if (assocs->by_id[above].group && above != i)
                assoc->parent = above;
        }
        if (!is_user (assoc->from))
            assoc->kept = assoc->group;
        else
            assoc->kept = assoc->own || assoc->parent != DN_UNSET
                          || (accounts && assoc->from->is_def == 1)
                          || (assoc->qos
                              && (assoc->qos->n_limits > 0 || assoc->qos->minutes
                                  || assoc->qos->max_wall_s != DN_UNLIMITED));
        n += assoc->kept;
    }
    return n;
}

static int by_user (const void *a, const void *b)
{
    const slurmdb_assoc_rec_t *one = (*(struct assoc *const *) a)->from;
    const slurmdb_assoc_rec_t *two = (*(struct assoc *const *) b)->from;
    int64_t user_one = is_user (one) ? (int64_t) one->uid : DN_UNSET;
    int64_t user_two = is_user (two) ? (int64_t) two->uid : DN_UNSET;
    int order;

    if (user_one != user_two)
        return user_one < user_two ? -1 : 1;
    order = strcmp (one->acct, two->acct);
    if (order != 0)
        return order;
    return strcmp (one->partition ? one->partition : "",
                   two->partition ? two->partition : "");
}

static int fill_assoc (struct rows *rows,
                       const struct assocs *assocs,
                       const struct assoc *assoc,
                       struct dn_err *err)
{
    const slurmdb_assoc_rec_t *from = assoc->from;
    struct dn_limited *out = &rows->cluster->assocs[rows->cluster->n_assocs++];
    const struct scope scopes[SCOPES_MAX] = {
        {.scope = DN_LIMIT_JOB, .counts = from->max_tres_ctld},
        {.scope = DN_LIMIT_NODE, .counts = from->max_tres_pn_ctld},
        group_scope (from),
    };

    copy_name (out->name, from->acct);
    copy_name (out->partition, from->partition);
    copy_name (out->qos, assoc->qos ? assoc->qos->name : NULL);
    out->user_id = is_user (from) ? (int64_t) from->uid : DN_UNSET;
    out->is_default = from->is_def == 1;
    out->parent =
        assoc->parent == DN_UNSET ? DN_UNSET : assocs->by_id[assoc->parent].row;
    out->max_wall_s = wall_s (from->max_wall_pj);
    out->minutes = assoc->minutes;
    return add_limits (rows, out, scopes, err);
}

static int fill_assocs (struct rows *rows,
                        struct assocs *assocs,
                        int64_t n,
                        struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct assoc **sorted =
        /* NOLINTNEXTLINE(bugprone-sizeof-expression): it is an array of pointers */
        calloc ((size_t) n + 1, sizeof (sorted[0]));
    int64_t at = 0;

    rows->cluster->assocs = calloc ((size_t) n + 1, sizeof (rows->cluster->assocs[0]));
    if (!sorted || !rows->cluster->assocs)
        return dn_refuse (err, no_memory_for, "associations");
    for (int64_t i = 0; i < assocs->n; i++)
        if (assocs->by_id[i].kept)
            sorted[at++] = &assocs->by_id[i];
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): it is an array of pointers */
    qsort (sorted, (size_t) n, sizeof (sorted[0]), by_user);
    for (int64_t i = 0; i < n; i++)
        sorted[i]->row = i;
    for (int64_t i = 0; i < n; i++)
        if (fill_assoc (rows, assocs, sorted[i], err) < 0)
            return -1;
    return 0;
}

int dn_link_fill_limits (const assoc_mgr_info_msg_t *from,
                         struct dn_cluster *cluster,
                         struct dn_err *err)
{
    struct rows rows = {.from = from, .cluster = cluster};
    dn_cleanup (qos_ids_free) struct qos_ids ids = {.n = 0};
    dn_cleanup (assocs_free) struct assocs assocs = {.n = 0};

    if (fill_all_qos (&rows, &ids, err) < 0 || collect (&assocs, &rows, &ids, err) < 0)
        return -1;
    return fill_assocs (&rows, &assocs, choose (&assocs, cluster->accounts), err);
}
