/* adapter.c - job_desc_msg_t to struct dn_job, struct dn_patch to job_desc_msg_t
 *
 * model/request and model/rewrite know which option of sbatch fills which field, and
 * which fields must change together. This file only translates fields. Slurm has a
 * sentinel per width (NO_VAL16, NO_VAL, NO_VAL64); no other file sees them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "submit/adapter.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/fields.h"
#include "base/messages.h"
#include "host/carry.h"
#include "submit/host.h"
#include "submit/versions.h"

static int64_t from_16 (uint16_t value)
{
    return value == NO_VAL16 ? DN_UNSET : value == INFINITE16 ? DN_UNLIMITED : value;
}

static int64_t from_32 (uint32_t value)
{
    return value == NO_VAL ? DN_UNSET : value == INFINITE ? DN_UNLIMITED : value;
}

/* Memory in MB: per node, or per CPU when the highest bit is set. */
static int64_t memory_per_node (uint64_t value)
{
    return value == NO_VAL64 || (value & MEM_PER_CPU) ? DN_UNSET : (int64_t) value;
}

static int64_t memory_per_cpu (uint64_t value)
{
    return value == NO_VAL64 || !(value & MEM_PER_CPU)
               ? DN_UNSET
               : (int64_t) (value & ~(uint64_t) MEM_PER_CPU);
}

/* DefMemPerCPU of slurm.conf. That of a partition is private to slurmctld. */
static int64_t default_memory_per_cpu (void)
{
    int64_t memory = memory_per_cpu (slurm_conf.def_mem_per_cpu);

    return memory > 0 ? memory : DN_UNSET;
}

static enum dn_job_kind kind_of (const job_desc_msg_t *desc)
{
    if (desc->script)
        return DN_JOB_BATCH;
    return desc->argc > 0 && desc->argc != NO_VAL ? DN_JOB_SRUN : DN_JOB_SALLOC;
}

/* Is a count of cores, threads or tasks per piece of hardware given? */
static bool is_special (uint16_t value)
{
    return value != NO_VAL16 && value != INFINITE16 && value != 0;
}

static void read_counts (const job_desc_msg_t *desc, struct dn_job *job)
{
    job->cpus_per_task = from_16 (desc->cpus_per_task);
    job->min_cpus = from_32 (desc->min_cpus);
    job->pn_min_cpus = from_16 (desc->pn_min_cpus);
    job->num_tasks = from_32 (desc->num_tasks);
    job->ntasks_per_node = from_16 (desc->ntasks_per_node);
    job->ntasks_per_tres = from_16 (desc->ntasks_per_tres);
    job->sockets_per_node = from_16 (desc->sockets_per_node);
    job->min_nodes = from_32 (desc->min_nodes);
    job->max_nodes = from_32 (desc->max_nodes);
    if (desc->pn_min_tmp_disk != NO_VAL && desc->pn_min_tmp_disk != 0)
        job->tmp_disk_mb = desc->pn_min_tmp_disk;
    job->mem_per_node_mb = memory_per_node (desc->pn_min_memory);
    job->mem_per_cpu_mb = memory_per_cpu (desc->pn_min_memory);
    job->default_mem_per_cpu_mb = default_memory_per_cpu ();
    job->memory_default = desc->pn_min_memory == NO_VAL64 && !desc->mem_per_tres
                          && (slurm_conf.select_type_param & DN_SELECT_MEMORY) != 0;
    /* Job defaults may be per GPU, and are those of jobs with GPUs then. */
    job->memory_open =
        job->memory_default
        && (slurm_conf.def_mem_per_cpu == 0 || slurm_conf.job_defaults_list);
}

/* Cores, threads or sockets that only some nodes may have. */
static bool names_cores (const job_desc_msg_t *desc)
{
    return desc->core_spec != NO_VAL16 /* 0 is a request, too */
           || is_special (desc->cores_per_socket)
           || is_special (desc->ntasks_per_socket)
           || (is_special (desc->threads_per_core) && desc->threads_per_core != 1)
           || (is_special (desc->ntasks_per_core) && desc->ntasks_per_core != 1);
}

static void read_flags (const job_desc_msg_t *desc, struct dn_job *job)
{
    job->exclusive = desc->shared != NO_VAL16 && desc->shared != JOB_SHARED_OK;
    job->overcommit = desc->overcommit != NO_VAL8 && desc->overcommit != 0;
    job->special_cores = names_cores (desc);
    job->whole_cores = desc->threads_per_core == 1 || desc->ntasks_per_core == 1;
    /* scrontab leaves het_job_offset at 0; its jobs never have components. */
    job->het = desc->het_job_offset != NO_VAL && !(desc->bitflags & CRON_JOB);
    job->special_nodes = is_special (desc->sockets_per_node)
                         || is_special (desc->sockets_per_board)
                         || is_special (desc->boards_per_node);
}

/* Is 'entry' the variable 'name' with 'prefix' in front? Almost always the first
 * character decides: a job may have a hundred thousand variables.
 */
static bool is_variable (const char *entry, const char *prefix, const char *name)
{
    size_t prefix_len;
    size_t len;

    if (!entry || entry[0] != (prefix[0] ? prefix[0] : name[0]))
        return false;
    prefix_len = strlen (prefix);
    len = strlen (name);
    return strncmp (entry, prefix, prefix_len) == 0
           && strncmp (entry + prefix_len, name, len) == 0
           && entry[prefix_len + len] == '=';
}

/* The first value of each of our entries in the job's SPANK environment. No client has
 * one of more than DN_ENV_MAX; such a list is not searched.
 */
static void find_carried (const job_desc_msg_t *desc, struct dn_job *job)
{
    if (!desc->spank_job_env || desc->spank_job_env_size > DN_ENV_MAX)
        return;
    for (uint32_t i = 0; i < desc->spank_job_env_size; i++) {
        const char *entry = desc->spank_job_env[i];

        if (!job->option && is_variable (entry, "", DN_CARRY_OPTION))
            job->option = entry + strlen (DN_CARRY_OPTION "=");
        else if (!job->sidecar && is_variable (entry, "", DN_CARRY_SIDECAR))
            job->sidecar = entry + strlen (DN_CARRY_SIDECAR "=");
        else if (!job->image && is_variable (entry, "", DN_CARRY_IMAGE))
            job->image = entry + strlen (DN_CARRY_IMAGE "=");
    }
}

static const char *default_partition (void)
{
    return &default_part_name ? default_part_name : NULL;
}

/* Seconds from the earliest start to --deadline, or DN_UNSET. */
static int64_t deadline_of (const job_desc_msg_t *desc)
{
    time_t start = time (NULL);

    if (desc->deadline == 0 || desc->deadline == (time_t) NO_VAL)
        return DN_UNSET;
    if (desc->begin_time > start && desc->begin_time != (time_t) NO_VAL)
        start = desc->begin_time;
    return desc->deadline > start ? desc->deadline - start : 0;
}

void dn_adapter_read (const job_desc_msg_t *desc, struct dn_job *job)
{
    *job = dn_job_empty ();
    job->kind = kind_of (desc);
    job->user_id = from_32 (desc->user_id);
    job->group_id = from_32 (desc->group_id);
    job->time_limit_min = from_32 (desc->time_limit);
    job->time_min_min = from_32 (desc->time_min);
    job->deadline_s = deadline_of (desc);
    job->signal_s = desc->warn_signal != 0 ? desc->warn_time : 0;
    job->tres[DN_GPU_PER_JOB] = desc->tres_per_job;
    job->tres[DN_GPU_PER_NODE] = desc->tres_per_node;
    job->tres[DN_GPU_PER_SOCKET] = desc->tres_per_socket;
    job->tres[DN_GPU_PER_TASK] = desc->tres_per_task;
    job->cpus_per_tres = desc->cpus_per_tres;
    job->mem_per_tres = desc->mem_per_tres;
    read_counts (desc, job);
    read_flags (desc, job);
    job->features = desc->features;
    job->prefer = desc->prefer;
    job->gpu_freq = desc->tres_freq;
    job->batch_features = desc->batch_features;
    job->req_nodes = desc->req_nodes;
    job->exc_nodes = desc->exc_nodes;
    job->reservation = desc->reservation;
    job->name = desc->name;
    job->partition = desc->partition ? desc->partition : default_partition ();
    job->account = desc->account;
    job->qos = desc->qos;
    job->comment = desc->comment;
    job->admin_comment = desc->admin_comment;
    job->script = desc->script;
    find_carried (desc, job);
    if (desc->environment && desc->env_size != NO_VAL) {
        job->env = (const char *const *) desc->environment;
        job->n_env = desc->env_size;
    }
    if (desc->argv && desc->argc != NO_VAL) {
        job->args = (const char *const *) desc->argv;
        job->n_args = desc->argc;
    }
}

static bool is_carried (const char *entry, const char *prefix)
{
    return is_variable (entry, prefix, DN_CARRY_OPTION)
           || is_variable (entry, prefix, DN_CARRY_SIDECAR)
           || is_variable (entry, prefix, DN_CARRY_AUTOMATIC);
}

static bool is_of_job (const char *entry, const char *prefix)
{
    return entry && strncmp (entry, prefix, strlen (prefix)) == 0;
}

/* Free the entries of a list that are ours, and close the gaps. */
static void drop_entries (char **entries,
                          uint32_t *n,
                          bool (*is_ours) (const char *entry, const char *prefix),
                          const char *prefix)
{
    uint32_t kept = 0;

    if (!entries || *n == NO_VAL)
        return;
    for (uint32_t i = 0; i < *n; i++) {
        char *entry = entries[i];

        if (is_ours (entry, prefix)) {
            entries[i] = NULL;
            dn_host_free (&entry);
        } else if (kept++ < i) {
            entries[kept - 1] = entry;
            entries[i] = NULL;
        }
    }
    *n = kept;
}

/* In a longer environment they are left, which spank_dnnest ignores in steps. */
void dn_adapter_forget (job_desc_msg_t *desc)
{
    if (desc->spank_job_env_size <= DN_ENV_MAX)
        drop_entries (desc->spank_job_env, &desc->spank_job_env_size, is_carried, "");
    if (desc->env_size <= DN_ENV_MAX)
        drop_entries (desc->environment, &desc->env_size, is_carried, "SLURM_SPANK_");
}

/* An environment of any length is searched; few have such entries. */
void dn_adapter_forget_job (job_desc_msg_t *desc)
{
    uint32_t n = desc->environment && desc->env_size != NO_VAL ? desc->env_size : 0;

    for (uint32_t i = 0; i < n; i++) {
        const char *entry = desc->environment[i];

        if (entry && entry[0] == DN_JOB_VARIABLES[0]
            && is_of_job (entry, DN_JOB_VARIABLES)) {
            drop_entries (
                desc->environment, &desc->env_size, is_of_job, DN_JOB_VARIABLES);
            return;
        }
    }
}

/* Where a field is in the description of a job, and the width of its number. */
#define MEMBER(member)                                                                 \
    {                                                                                  \
        offsetof (job_desc_msg_t, member), sizeof (((job_desc_msg_t *) NULL)->member)  \
    }

static const struct member {
    size_t offset;
    size_t size; /* 0: no member of its own */
} members[DN_N_FIELDS] = {
    [DN_FIELD_TIME_LIMIT] = MEMBER (time_limit),
    [DN_FIELD_TIME_MIN] = MEMBER (time_min),
    [DN_FIELD_CPUS_PER_TASK] = MEMBER (cpus_per_task),
    [DN_FIELD_MIN_CPUS] = MEMBER (min_cpus),
    [DN_FIELD_PN_MIN_CPUS] = MEMBER (pn_min_cpus),
    [DN_FIELD_MEM_PER_NODE] = MEMBER (pn_min_memory),
    [DN_FIELD_TRES_PER_JOB] = MEMBER (tres_per_job),
    [DN_FIELD_TRES_PER_NODE] = MEMBER (tres_per_node),
    [DN_FIELD_TRES_PER_SOCKET] = MEMBER (tres_per_socket),
    [DN_FIELD_TRES_PER_TASK] = MEMBER (tres_per_task),
    [DN_FIELD_CPUS_PER_TRES] = MEMBER (cpus_per_tres),
    [DN_FIELD_PARTITION] = MEMBER (partition),
    [DN_FIELD_FEATURES] = MEMBER (features),
    [DN_FIELD_PREFER] = MEMBER (prefer),
    [DN_FIELD_ADMIN_COMMENT] = MEMBER (admin_comment),
};

static void *at_field (job_desc_msg_t *desc, enum dn_field field)
{
    return (char *) desc + members[field].offset;
}

/* The value of a numeric field now, in the model's terms. */
static int64_t get_number (job_desc_msg_t *desc, enum dn_field field)
{
    const void *at = at_field (desc, field);

    switch (members[field].size) {
    case sizeof (uint16_t):
        return from_16 (*(const uint16_t *) at);
    case sizeof (uint32_t):
        return from_32 (*(const uint32_t *) at);
    default:
        return memory_per_node (*(const uint64_t *) at);
    }
}

/* The largest value of a numeric field. Larger ones are sentinels and flags. */
static int64_t max_number (enum dn_field field)
{
    switch (members[field].size) {
    case sizeof (uint16_t):
        return NO_VAL16 - 1;
    case sizeof (uint32_t):
        return NO_VAL - 1;
    default:
        return INT64_MAX;
    }
}

/* The entry of the job's environment that is exactly 'text', or NULL. */
static char **find_env (job_desc_msg_t *desc, const char *text)
{
    if (!desc->environment || desc->env_size == NO_VAL || !text)
        return NULL;
    for (uint32_t i = 0; i < desc->env_size; i++)
        if (desc->environment[i] && strcmp (desc->environment[i], text) == 0)
            return &desc->environment[i];
    return NULL;
}

/* Where the text of an edit belongs; NULL if there is no such place. */
static char **find_text (job_desc_msg_t *desc, const struct dn_edit *edit)
{
    if (edit->field == DN_FIELD_ENV)
        return find_env (desc, edit->old_text);
    return members[edit->field].size > 0 ? at_field (desc, edit->field) : NULL;
}

static bool is_same_text (const char *a, const char *b)
{
    return a && b ? strcmp (a, b) == 0 : !a && !b;
}

static int check_number (job_desc_msg_t *desc,
                         const struct dn_edit *edit,
                         struct dn_err *err)
{
    const char *name = dn_names_get (&dn_field_names, (int) edit->field);
    int64_t now = get_number (desc, edit->field);
    /* Memory per node may replace memory per CPU, or the default. */
    bool replaces = edit->field == DN_FIELD_MEM_PER_NODE && now == DN_UNSET;

    if (now != edit->old_number && !replaces)
        return dn_refuse (
            err, field_is, name, (long long) now, (long long) edit->old_number);
    if (edit->new_number < 1 || edit->new_number > max_number (edit->field))
        return dn_refuse (err,
                          field_range,
                          name,
                          (long long) edit->new_number,
                          (long long) max_number (edit->field));
    return 0;
}

/* The new texts and the places that they go to, and a larger environment if there are
 * new variables.
 */
struct staging {
    char **env; /* NULL: no new variables */
    struct {
        char **place;
        char *text;
    } entries[DN_EDITS_MAX];
    int n_entries;
    uint32_t n_new;
};

static void free_staging (struct staging *staging)
{
    for (int i = 0; i < staging->n_entries; i++)
        dn_host_free (&staging->entries[i].text);
    dn_host_free (&staging->env);
}

static bool is_new_variable (const struct dn_edit *edit)
{
    return edit->field == DN_FIELD_ENV && !edit->old_text && edit->new_text;
}

/* Allocate room for the new variables. stage_text () adds their texts. */
static int stage_env (const job_desc_msg_t *desc,
                      const struct dn_patch *patch,
                      struct staging *staging,
                      struct dn_err *err)
{
    uint32_t n = 0;

    for (int i = 0; i < patch->n_edits; i++)
        n += is_new_variable (&patch->edits[i]);
    if (n == 0)
        return 0;
    if (!desc->environment || desc->env_size >= NO_VAL - n)
        return dn_refuse (err, env_none);
    staging->env = dn_host_texts (desc->env_size + n);
    return staging->env ? 0 : dn_refuse (err, env_memory);
}

static int stage_text (job_desc_msg_t *desc,
                       const struct dn_edit *edit,
                       struct staging *staging,
                       struct dn_err *err)
{
    const char *name = dn_names_get (&dn_field_names, (int) edit->field);
    char **place = find_text (desc, edit);
    char *text;

    if (is_new_variable (edit))
        place = &staging->env[desc->env_size + staging->n_new];

    if (!place || !edit->new_text || !is_same_text (*place, edit->old_text))
        return dn_refuse (err, field_text, name);
    for (int i = 0; i < staging->n_entries; i++)
        if (staging->entries[i].place == place)
            return dn_refuse (err, field_twice, name);
    text = dn_host_dup (edit->new_text);
    if (!text)
        return dn_refuse (err, no_memory_for, name);
    staging->n_new += is_new_variable (edit);
    staging->entries[staging->n_entries].place = place;
    staging->entries[staging->n_entries++].text = text;
    return 0;
}

static void commit (job_desc_msg_t *desc,
                    const struct dn_patch *patch,
                    struct staging *staging)
{
    for (int i = 0; i < patch->n_edits; i++)
        if (dn_field_is_number (patch->edits[i].field))
            dn_integer_store (at_field (desc, patch->edits[i].field),
                              members[patch->edits[i].field].size,
                              patch->edits[i].new_number);
    for (int i = 0; i < staging->n_entries; i++) {
        dn_host_free (staging->entries[i].place);
        *staging->entries[i].place = staging->entries[i].text;
    }
    staging->n_entries = 0;
    if (!staging->env)
        return;
    /* the new variables follow the old ones */
    memcpy (
        staging->env, desc->environment, desc->env_size * sizeof (*desc->environment));
    dn_host_free (&desc->environment);
    desc->environment = staging->env;
    desc->env_size += staging->n_new;
    staging->env = NULL;
}

int dn_adapter_apply (job_desc_msg_t *desc,
                      const struct dn_patch *patch,
                      struct dn_err *err)
{
    dn_cleanup (free_staging) struct staging staging = {.env = NULL};

    if (stage_env (desc, patch, &staging, err) < 0)
        return -1;
    for (int i = 0; i < patch->n_edits; i++) {
        const struct dn_edit *edit = &patch->edits[i];

        if ((dn_field_is_number (edit->field) ? check_number (desc, edit, err)
                                              : stage_text (desc, edit, &staging, err))
            < 0)
            return -1;
    }
    commit (desc, patch, &staging);
    return 0;
}
