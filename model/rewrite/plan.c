/* plan.c - a decision as a complete list of edits
 *
 * Slurm keeps the CPU count in up to five places and the GPU type in up to four, the
 * submission's environment among them; in a job whose places disagree, srun fails
 * (doc/design.md). So one function changes a tres text, and it is applied to every
 * field and every variable that may hold such a text.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "rewrite/rewrite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/messages.h"
#include "rewrite/words.h"

const struct dn_names dn_field_names = DN_NAMES_OF (FIELDS);

bool dn_field_is_number (enum dn_field field)
{
    return field > DN_FIELD_NONE && field < DN_FIELD_TRES_PER_JOB;
}

/* Where a tres text may be: the fields, the variables in which sbatch repeats them
 * (sbatch(1)), and SLURM_GRES, which users set for srun. The bare ones have the form of
 * the command line, "a100:4", without "gpu".
 */
static const struct {
    enum dn_field field;
    enum dn_gpu_field request; /* of a field */
    const char *variable;      /* of DN_FIELD_ENV */
    bool bare;
} tres_places[] = {
    {DN_FIELD_TRES_PER_JOB, DN_GPU_PER_JOB, NULL, false},
    {DN_FIELD_TRES_PER_NODE, DN_GPU_PER_NODE, NULL, false},
    {DN_FIELD_TRES_PER_SOCKET, DN_GPU_PER_SOCKET, NULL, false},
    {DN_FIELD_TRES_PER_TASK, DN_GPU_PER_TASK, NULL, false},
    {DN_FIELD_ENV, 0, "SLURM_GPUS", true},
    {DN_FIELD_ENV, 0, "SLURM_GPUS_PER_NODE", true},
    {DN_FIELD_ENV, 0, "SLURM_GPUS_PER_SOCKET", true},
    {DN_FIELD_ENV, 0, "SLURM_GPUS_PER_TASK", true},
    {DN_FIELD_ENV, 0, "SLURM_TRES_PER_TASK", false},
    {DN_FIELD_ENV, 0, "SLURM_GRES", false},
};

/* A patch under construction; the first error is kept. */
struct draft {
    const struct dn_request *request;
    const struct dn_decision *decision;
    struct dn_patch *patch;
    struct dn_err *err;
    int status;
};

static struct dn_edit *new_edit (struct draft *draft, enum dn_field field)
{
    struct dn_edit *edit;

    if (draft->status < 0)
        return NULL;
    if (draft->patch->n_edits == DN_EDITS_MAX) {
        draft->status = dn_refuse (draft->err, edits, DN_EDITS_MAX);
        return NULL;
    }
    edit = &draft->patch->edits[draft->patch->n_edits++];
    *edit = (struct dn_edit){.field = field};
    return edit;
}

static void edit_number (struct draft *draft,
                         enum dn_field field,
                         int64_t old_number,
                         int64_t new_number)
{
    struct dn_edit *edit = old_number == new_number ? NULL : new_edit (draft, field);

    if (edit) {
        edit->old_number = old_number;
        edit->new_number = new_number;
    }
}

/* The three texts in one; without memory NULL, and the draft has failed. */
static char *join (struct draft *draft,
                   const char *first,
                   const char *separator,
                   const char *second)
{
    size_t size = strlen (first) + strlen (separator) + strlen (second) + 1;
    char *text = malloc (size);
    struct dn_buf buf;

    if (!text) {
        draft->status = dn_refuse (draft->err, patch_memory);
        return NULL;
    }
    buf = dn_buf_on (text, size);
    dn_buf_text (&buf, first);
    dn_buf_text (&buf, separator);
    dn_buf_text (&buf, second);
    return text;
}

static void edit_text (struct draft *draft,
                       enum dn_field field,
                       const char *old_text,
                       const char *new_text)
{
    struct dn_edit *edit = new_edit (draft, field);

    if (!edit)
        return;
    edit->old_text = old_text ? join (draft, old_text, "", "") : NULL;
    edit->new_text = join (draft, new_text, "", "");
}

/* Set the variable 'new_name' of the job in place of 'name', which may be unset. */
static void edit_variable (struct draft *draft,
                           const char *name,
                           const char *new_name,
                           const char *value)
{
    const char *old_value = dn_job_getenv (draft->request->job, name);
    struct dn_edit *edit = new_edit (draft, DN_FIELD_ENV);

    if (!edit)
        return;
    edit->old_text = old_value ? join (draft, name, "=", old_value) : NULL;
    edit->new_text = join (draft, new_name, "=", value);
}

static void set_variable (struct draft *draft, const char *name, const char *value)
{
    edit_variable (draft, name, name, value);
}

/* A number in the environment that repeats a field. */
static void edit_number_variable (struct draft *draft,
                                  const char *name,
                                  const char *new_name,
                                  int64_t number)
{
    char value[32];
    struct dn_buf buf = dn_buf_on (value, sizeof (value));

    dn_buf_number (&buf, number);
    if (dn_job_getenv (draft->request->job, name))
        edit_variable (draft, name, new_name, value);
}

/* "cpu:80" or "cpu=80" with the new count and the same separator. */
static bool change_cpu_entry (const struct draft *draft,
                              const struct dn_tres *entry,
                              struct dn_buf *buf)
{
    const struct dn_decision *decision = draft->decision;
    char separator;

    if (decision->cpus_per_task == DN_UNSET || !dn_span_is (entry->name, "cpu")
        || entry->whole.len <= entry->name.len)
        return false;
    separator = entry->whole.text[entry->name.len];
    dn_buf_add (buf, "cpu%c%" PRId64, separator, decision->cpus_per_task);
    return true;
}

/* The type in a GPU entry: after "gpu:", or at the start of a bare entry. */
static struct dn_span type_in (const struct dn_tres *entry, bool bare)
{
    return bare && !entry->gpu ? entry->name : entry->type;
}

/* Remove the type of a GPU entry: "gpu:a100:4" -> "gpu:4", a bare "a100" -> "1". */
static void drop_type (const struct dn_tres *entry,
                       struct dn_span type,
                       struct dn_buf *buf)
{
    size_t head = (size_t) (type.text - entry->whole.text);
    struct dn_span rest = {type.text + type.len, entry->whole.len - head - type.len};

    if (head == 0) {
        if (rest.len > 0)
            dn_buf_add (buf, "%.*s", (int) rest.len - 1, rest.text + 1);
        else
            dn_buf_text (buf, "1");
        return;
    }
    dn_buf_add (buf, "%.*s", (int) head - 1, entry->whole.text);
    dn_buf_add (buf, "%.*s", (int) rest.len, rest.text);
}

/* Replace the requested type in a GPU entry by the new one, or remove it where it is
 * open; the rest is kept.
 */
static bool change_gpu_entry (const struct draft *draft,
                              const struct dn_tres *entry,
                              bool bare,
                              struct dn_buf *buf)
{
    const char *old_type = draft->request->gpu_type;
    struct dn_span type = type_in (entry, bare);
    const char *new_type;
    size_t head;
    size_t tail;

    if ((!draft->decision->gpu && draft->decision->n_open == 0) || old_type[0] == '\0'
        || (!entry->gpu && !bare) || type.len != strlen (old_type)
        || memcmp (type.text, old_type, type.len) != 0)
        return false;
    if (draft->decision->n_open > 0 || !draft->decision->gpu) {
        drop_type (entry, type, buf);
        return true;
    }
    new_type = draft->decision->gpu->type;
    head = (size_t) (type.text - entry->whole.text);
    tail = entry->whole.len - head - type.len;
    dn_buf_add (buf,
                "%.*s%s%.*s",
                (int) head,
                entry->whole.text,
                new_type,
                (int) tail,
                type.text + type.len);
    /* "gpu:3090" alone would be a count. */
    if (tail == 0 && dn_is_digit (new_type[0]))
        dn_buf_text (buf, ":1");
    return true;
}

/* Replace the number at the end of the GPU entry that was written from 'from' on. */
static bool change_count (const struct draft *draft,
                          const struct dn_tres *entry,
                          bool bare,
                          size_t from,
                          struct dn_buf *buf)
{
    size_t at = buf->len;

    if (draft->decision->gpus == DN_UNSET || (!entry->gpu && !bare) || buf->cut)
        return false;
    while (at > from && dn_is_digit (buf->text[at - 1]))
        at--;
    if (at == buf->len
        || (at > from && buf->text[at - 1] != ':' && buf->text[at - 1] != '='))
        return false;
    buf->len = at;
    dn_buf_number (buf, draft->decision->gpus);
    return true;
}

/* Append 'text' to 'buf', changed as decided. Return true if it differs; a text that
 * cannot be parsed does not change.
 */
static bool change_tres (const struct draft *draft,
                         const char *text,
                         bool bare,
                         struct dn_buf *buf)
{
    struct dn_tres_list list;
    bool changed = false;

    if (!text || dn_tres_read (text, &list, NULL) < 0)
        return false;
    for (int i = 0; i < list.n_entries; i++) {
        const struct dn_tres *entry = &list.entries[i];
        size_t from = buf->len + (i > 0);

        if (i > 0)
            dn_buf_add (buf, ",");
        if (change_cpu_entry (draft, entry, buf)
            || change_gpu_entry (draft, entry, bare, buf))
            changed = true;
        else
            dn_buf_add (buf, "%.*s", (int) entry->whole.len, entry->whole.text);
        changed = change_count (draft, entry, bare, from, buf) || changed;
    }
    return changed && !buf->cut;
}

static void edit_tres (struct draft *draft)
{
    const struct dn_job *job = draft->request->job;

    for (size_t i = 0; i < DN_N_ELEMENTS (tres_places); i++) {
        const char *variable = tres_places[i].variable;
        const char *old_text = variable ? dn_job_getenv (job, variable)
                                        : job->tres[tres_places[i].request];
        char text[DN_TRES_MAX + DN_NAME_MAX];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));

        if (!change_tres (draft, old_text, tres_places[i].bare, &buf))
            continue;
        if (variable)
            set_variable (draft, variable, text);
        else
            edit_text (draft, tres_places[i].field, old_text, text);
    }
}

/* The new memory. Memory that was requested per CPU and has none keeps its total when
 * the CPUs change. The two variables exclude each other.
 */
static void edit_memory (struct draft *draft)
{
    const struct dn_request *request = draft->request;
    const struct dn_decision *decision = draft->decision;
    bool cpus_change =
        decision->cpus_per_task != DN_UNSET || decision->cpus_each_gpu != DN_UNSET;
    int64_t mb = decision->mem_mb;

    if (mb == DN_UNSET && (!request->mem_follows_cpus || !cpus_change))
        return;
    if (mb == DN_UNSET)
        mb = request->mem_per_node_mb;
    edit_number (draft, DN_FIELD_MEM_PER_NODE, request->job->mem_per_node_mb, mb);
    edit_number_variable (draft, "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_NODE", mb);
    edit_number_variable (draft, "SLURM_MEM_PER_NODE", "SLURM_MEM_PER_NODE", mb);
}

static void edit_cpus_per_task (struct draft *draft, int64_t cpus)
{
    const struct dn_request *request = draft->request;
    const struct dn_job *job = request->job;
    bool raised = cpus > request->cpus_per_task;

    /* With --tres-per-task of Slurm 23.11 the CPUs are only in that text, and this is
     * 0.
     */
    if (job->cpus_per_task > 0)
        edit_number (draft, DN_FIELD_CPUS_PER_TASK, job->cpus_per_task, cpus);
    if (job->min_cpus > 0
        && (raised ? job->min_cpus < cpus * request->n_tasks
                   : job->min_cpus > cpus * request->n_tasks))
        edit_number (draft, DN_FIELD_MIN_CPUS, job->min_cpus, cpus * request->n_tasks);
    /* A larger value is the user's --mincpus. */
    if (job->cpus_per_task > 0 && job->pn_min_cpus == job->cpus_per_task)
        edit_number (draft, DN_FIELD_PN_MIN_CPUS, job->pn_min_cpus, cpus);
    edit_number_variable (draft, "SLURM_CPUS_PER_TASK", "SLURM_CPUS_PER_TASK", cpus);
}

/* "gres:gpu:8": replace the count at the end, keep the rest. */
static void edit_cpus_each_gpu (struct draft *draft, int64_t cpus)
{
    const struct dn_request *request = draft->request;
    const struct dn_job *job = request->job;
    const char *old_text = job->cpus_per_tres;
    int64_t asked_gpus =
        request->asked_gpus != DN_UNSET ? request->asked_gpus : request->n_gpus;
    size_t head = strlen (old_text);
    char text[DN_TRES_MAX + DN_NAME_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    while (head > 0 && old_text[head - 1] != ':' && old_text[head - 1] != '=')
        head--;
    dn_buf_add (&buf, "%.*s%" PRId64, (int) head, old_text, cpus);
    if (cpus != request->cpus_each_gpu)
        edit_text (draft, DN_FIELD_CPUS_PER_TRES, old_text, text);
    /* Since Slurm 24.05, sbatch sets this product. */
    if (job->min_cpus == request->cpus_each_gpu * asked_gpus)
        edit_number (draft, DN_FIELD_MIN_CPUS, job->min_cpus, cpus * request->n_gpus);
    edit_number_variable (draft, "SLURM_CPUS_PER_GPU", "SLURM_CPUS_PER_GPU", cpus);
}

static void edit_cpus (struct draft *draft)
{
    const struct dn_decision *decision = draft->decision;

    if (decision->cpus_per_task != DN_UNSET)
        edit_cpus_per_task (draft, decision->cpus_per_task);
    else if (decision->cpus_each_gpu != DN_UNSET)
        edit_cpus_each_gpu (draft, decision->cpus_each_gpu);
    else if (decision->gpus != DN_UNSET && draft->request->cpus_each_gpu != DN_UNSET)
        edit_cpus_each_gpu (draft, draft->request->cpus_each_gpu);
    edit_memory (draft);
}

/* The constraint of the request with the feature 'to' in place of 'from', or added. */
static void write_features (const struct dn_request *request,
                            const char *from,
                            const char *to,
                            struct dn_buf *buf)
{
    struct dn_features features;
    bool has = false;

    if (!to || !dn_features_read (request->job->features, &features))
        return;
    for (int i = 0; i < features.n_names; i++) {
        struct dn_span name = features.names[i];

        if (dn_is_feature (from, name)) {
            name = dn_span_of (to);
            has = true;
        }
        dn_buf_add (buf, "%s%.*s", i > 0 ? "&" : "", (int) name.len, name.text);
    }
    if (!has)
        dn_buf_add (buf, "%s%s", features.n_names > 0 ? "&" : "", to);
}

/* "a100|v100"; of several nodes "[a100|v100]": all of one of them. */
static void write_either (const struct dn_request *request,
                          const struct dn_decision *decision,
                          struct dn_buf *buf)
{
    bool several = request->n_nodes != 1;

    dn_buf_text (buf, several ? "[" : "");
    for (int i = 0; i < decision->n_open; i++)
        dn_buf_add (buf, "%s%s", i > 0 ? "|" : "", decision->open[i].feature);
    dn_buf_text (buf, several ? "]" : "");
}

/* The constraint with which the job runs on the type of feature 'to': as it is, if the
 * partition selects the type, or the job is not open, and it names no type.
 */
static void write_place (const struct dn_request *request,
                         const struct dn_decision *decision,
                         const char *from,
                         const char *to,
                         struct dn_buf *buf)
{
    const struct dn_gpu_type *gpu = decision->from;
    struct dn_features features;
    bool named = false;

    if (decision->n_open > 0)
        gpu = decision->open[0].gpu;
    dn_features_read (request->job->features, &features);
    for (int i = 0; i < features.n_names; i++)
        named = named || dn_is_feature (from, features.names[i]);
    if (named || (decision->n_open > 0 && !dn_gpu_by_partition (gpu, request->job)))
        write_features (request, from, to, buf);
}

/* The new partition and constraint. Slurm sets the partition in the job's environment;
 * a constraint that srun would take from the environment is changed too.
 */
static void find_place (const struct dn_request *request,
                        const struct dn_decision *decision,
                        struct dn_patch *patch)
{
    const char *asked = request->job->features;
    struct dn_buf buf = dn_buf_on (patch->features, sizeof (patch->features));

    if (decision->gpu && dn_gpu_by_partition (decision->from, request->job))
        snprintf (patch->partition,
                  sizeof (patch->partition),
                  "%s",
                  decision->gpu->by_partition);
    for (int i = 0; i < decision->n_open; i++) {
        const struct dn_open *open = &decision->open[i];
        struct dn_buf place = dn_buf_on (patch->places[i], sizeof (patch->places[i]));

        write_place (
            request, decision, decision->open[0].feature, open->feature, &place);
    }
    if (decision->either)
        write_either (request, decision, &buf);
    else if (decision->gpu)
        write_place (
            request, decision, decision->from_feature, decision->feature, &buf);
    else if (decision->n_open > 0)
        dn_buf_text (&buf, patch->places[0]);
    if (buf.cut || (asked && strcmp (asked, patch->features) == 0))
        patch->features[0] = '\0';
}

static void edit_place (struct draft *draft)
{
    const struct dn_job *job = draft->request->job;
    const struct dn_patch *patch = draft->patch;

    if (patch->partition[0] != '\0')
        edit_text (draft, DN_FIELD_PARTITION, job->partition, patch->partition);
    if (patch->features[0] == '\0')
        return;
    edit_text (draft, DN_FIELD_FEATURES, job->features, patch->features);
    if (draft->decision->either)
        edit_text (draft, DN_FIELD_PREFER, job->prefer, patch->places[0]);
    if (dn_job_getenv (job, "SLURM_CONSTRAINT"))
        set_variable (draft, "SLURM_CONSTRAINT", patch->features);
}

static void edit_time (struct draft *draft)
{
    const struct dn_decision *decision = draft->decision;
    const struct dn_job *job = draft->request->job;

    if (decision->time_limit_s != DN_UNSET)
        edit_number (draft,
                     DN_FIELD_TIME_LIMIT,
                     job->time_limit_min,
                     decision->time_limit_s / 60);
    if (decision->time_min_s != DN_UNSET)
        edit_number (
            draft, DN_FIELD_TIME_MIN, job->time_min_min, decision->time_min_s / 60);
}

/* Two texts with a separator between them, if neither is absent or empty. */
static char *extend (struct draft *draft,
                     const char *first,
                     const char *separator,
                     const char *second)
{
    bool empty = !first || !second || first[0] == '\0' || second[0] == '\0';

    return join (
        draft, first ? first : "", empty ? "" : separator, second ? second : "");
}

/* Python finds the hook first. */
static void edit_python_path (struct draft *draft, const char *hook_dir)
{
    dn_cleanup (dn_free_ptr) char *paths =
        dn_dirs_with (hook_dir, dn_job_getenv (draft->request->job, DN_PYTHON_PATH));

    if (paths)
        set_variable (draft, DN_PYTHON_PATH, paths);
}

/* The job describes itself, and reports how far it is (host/progress_file.h), also
 * where spank_dnnest is not installed.
 */
static void edit_capture (struct draft *draft)
{
    const struct dn_decision *decision = draft->decision;
    dn_cleanup (dn_free_ptr) char *hook_dir = NULL;

    if (!decision->python_dir)
        return;
    hook_dir = join (draft, decision->python_dir, "", DN_HOOK_FOLDER);
    if (!hook_dir)
        return;
    edit_python_path (draft, hook_dir);
    set_variable (draft, DN_CAPTURE_HOOK, hook_dir);
    set_variable (draft, DN_PROGRESS_DIR, decision->progress_dir);
}

/* The record is appended to the content of the admin comment, which may be from other
 * plugins. */
static void edit_record (struct draft *draft, const struct dn_story *story)
{
    const char *old_text = story->request->job->admin_comment;
    enum dn_record kind = story->rules->record;
    const char *record = draft->patch->record;
    char nameless[DN_RECORD_MAX + 1];
    dn_cleanup (dn_free_ptr) char *text = NULL;

    if (draft->status < 0)
        return;
    draft->status = dn_record_write (story, true, draft->patch->record, draft->err);
    if (kind == DN_RECORD_ANONYMOUS && draft->status == 0) {
        draft->status = dn_record_write (story, false, nameless, draft->err);
        record = nameless;
    }
    if (kind == DN_RECORD_NONE || draft->status < 0)
        return;
    text = extend (draft, old_text, " ", record);
    if (text)
        edit_text (draft, DN_FIELD_ADMIN_COMMENT, old_text, text);
}

void dn_patch_begin (struct dn_patch *patch)
{
    patch->n_edits = patch->n_warnings = 0;
    patch->partition[0] = patch->features[0] = '\0';
    patch->user_text[0] = patch->record[0] = '\0';
}

int dn_rewrite_plan (const struct dn_story *story,
                     struct dn_patch *patch,
                     struct dn_err *err)
{
    const struct dn_decision *decision = story->decision;
    struct draft draft = {story->request, decision, patch, err, 0};

    dn_patch_begin (patch);
    find_place (story->request, decision, patch);
    dn_words_user (story, patch->user_text);
    dn_rewrite_warn (story, patch);
    if (story->rules->mode == DN_MODE_ENFORCE
        && decision->verdict == DN_VERDICT_CHANGE) {
        edit_time (&draft);
        edit_tres (&draft);
        edit_place (&draft);
        edit_cpus (&draft);
        if (decision->progress_dir && !decision->python_dir)
            set_variable (&draft, DN_PROGRESS_DIR, decision->progress_dir);
    }
    edit_capture (&draft);
    edit_record (&draft, story);
    if (draft.status < 0)
        dn_patch_free (patch);
    return draft.status;
}

int dn_rewrite_leave (const struct dn_story *story,
                      struct dn_patch *patch,
                      struct dn_err *err)
{
    struct draft draft = {story->request, story->decision, patch, err, 0};

    dn_rewrite_warn (story, patch);
    edit_capture (&draft);
    if (draft.status < 0)
        dn_patch_free (patch);
    return draft.status;
}

void dn_patch_free (struct dn_patch *patch)
{
    if (!patch)
        return;
    for (int i = 0; i < patch->n_edits; i++) {
        free (patch->edits[i].old_text);
        free (patch->edits[i].new_text);
    }
    dn_patch_begin (patch);
}
