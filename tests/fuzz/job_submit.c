/* job_submit.c - fuzz target: the whole of job_submit () and job_modify ()
 *
 * Attack surface: every field of a submission that the plugin reads, and both of its
 * environments, under ten configurations. For every submission these must hold: the job
 * is accepted; fields that dnnest may not change are the same to the byte; nothing is
 * raised; the number of GPUs is the same everywhere; messages and records are clean
 * text.
 *
 * Aims at: plugin/submit/adapter.c plugin/submit/submit.c plugin/submit/host.c
 * model/advise.c model/request model/rewrite model/policy/decide.c
 * model/policy/control.c model/hardware/candidates.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <json-c/json.h>
#include <strings.h>

#include <slurm/slurm_errno.h>

#include "fake_state.h"
#include "job_form.h"
#include "request/request.h"
#include "rewrite/rewrite.h"

#define SITE_TIME_MAX_MIN (2 * 24 * 60)
#define MESSAGE_MAX       1024
#define PYTHONPATH        "PYTHONPATH="
#define HOOK_DIR          DNNEST_PYTHON_DIR DN_HOOK_FOLDER

int init (void);
int job_submit (job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg);
int job_modify (DN_JOB_MODIFY_PARAMETERS);

/* A job before and after a call. */
struct change {
    const struct fake_site *site;
    struct photo before; /* without the variables of another job */
    job_desc_msg_t *after;
    const char *said_before; /* by other plugins; may be NULL */
    const char *said;
};

static const char *or_empty (const char *text)
{
    return text ? text : "";
}

static bool is_same (const char *a, const char *b)
{
    return a && b ? strcmp (a, b) == 0 : !a && !b;
}

/* What a string was before: 'place' is in the job after the call. */
static const char *old_text (const struct change *change, char **place)
{
    for (int i = 0; job_text (change->after, i); i++)
        if (job_text (change->after, i) == place)
            return change->before.texts[i];
    abort ();
}

static bool is_changed (const struct change *change, char **place)
{
    return !is_same (old_text (change, place), *place);
}

/* --- what may change, and how ---------------------------------------------------- */

static bool allows (const struct change *change, int what)
{
    return (change->site->may & what) != 0;
}

static bool may_rewrite (const struct change *change)
{
    const job_desc_msg_t *old = &change->before.desc;

    return allows (change, ENFORCES)
           && (old->het_job_offset == NO_VAL || (old->bitflags & CRON_JOB));
}

/* A batch job. Other jobs would fail in their first step. */
static bool may_change_resources (const struct change *change)
{
    return may_rewrite (change) && change->before.desc.script;
}

static void check_time (const struct change *change)
{
    uint32_t old = change->before.desc.time_limit;
    uint32_t now = change->after->time_limit;

    if (now != old) {
        expect (may_rewrite (change), "a limit is changed");
        expect (!allows (change, TIME_MIN), "TimeLimit=time_min changes limits");
        expect (now > 0 && now < NO_VAL, "a limit that is none");
        if (old == NO_VAL)
            expect (allows (change, FILLS), "a limit is set");
        else
            expect (now < old || allows (change, RAISES), "a limit is raised");
        if (old == NO_VAL || now > old)
            expect (now <= SITE_TIME_MAX_MIN, "a limit beyond TimeMax");
    }
    old = change->before.desc.time_min;
    now = change->after->time_min;
    if (now != old)
        expect (may_rewrite (change) && allows (change, TIME_MIN) && now > 0
                    && now <= change->after->time_limit,
                "a minimum time");
    expect (now == old || old == NO_VAL, "the user's minimum time");
}

/* 'none' is the field's NO_VAL. */
static void check_cpus (const struct change *change,
                        uint32_t old,
                        uint32_t now,
                        uint32_t none)
{
    if (now == old)
        return;
    expect (may_change_resources (change), "CPUs are changed");
    expect (now > 0 && now < none, "no count of CPUs");
    expect (old < none, "CPUs that were not requested");
    expect (now < old || allows (change, RAISES), "CPUs are raised");
}

/* Memory per CPU is changed to the equivalent memory per node. */
static void check_memory (const struct change *change)
{
    uint64_t old = change->before.desc.pn_min_memory;
    uint64_t now = change->after->pn_min_memory;

    if (now == old)
        return;
    expect (may_change_resources (change), "memory is changed");
    expect (old == NO_VAL64 || (old & MEM_PER_CPU), "memory per node");
    expect (now > 0 && !(now & MEM_PER_CPU), "no memory per node");
    if (old != NO_VAL64)
        expect (now >= (old & ~(uint64_t) MEM_PER_CPU), "less memory");
}

/* Two lists of resources are the same except for types of GPUs and counts of CPUs,
 * which may only fall.
 */
static void check_lists (const struct change *change, const char *old, const char *now)
{
    struct dn_tres_list a;
    struct dn_tres_list b;
    struct dn_err err = {0};

    expect (old && now, "a list appears or is lost");
    expect_done (dn_tres_read (old, &a, &err) == 0 && dn_tres_read (now, &b, &err) == 0,
                 "a list that cannot be read",
                 &err);
    expect (a.n_entries == b.n_entries, "entries are lost");
    for (int i = 0; i < a.n_entries; i++) {
        const struct dn_tres *was = &a.entries[i];
        const struct dn_tres *is = &b.entries[i];

        expect (was->gpu == is->gpu && was->cpu == is->cpu, "another resource");
        if (is->gpu)
            expect (was->count == is->count, "another number of GPUs");
        else if (is->cpu)
            expect (is->count <= was->count || allows (change, RAISES), "more CPUs");
        else
            expect (was->whole.len == is->whole.len
                        && memcmp (was->whole.text, is->whole.text, is->whole.len) == 0,
                    "another resource");
    }
}

static void check_tres (const struct change *change)
{
    job_desc_msg_t *desc = change->after;
    char **const places[] = {&desc->tres_per_job,
                             &desc->tres_per_node,
                             &desc->tres_per_socket,
                             &desc->tres_per_task,
                             &desc->cpus_per_tres};

    for (size_t i = 0; i < DN_N_ELEMENTS (places); i++) {
        const char *old = old_text (change, places[i]);

        if (!is_changed (change, places[i]))
            continue;
        expect (may_change_resources (change), "resources are changed");
        if (places[i] != &desc->cpus_per_tres)
            check_lists (change, old, *places[i]);
        else
            expect (old && *places[i] && is_printable (*places[i]), "CPUs");
    }
}

static void check_places (const struct change *change)
{
    if (is_changed (change, &change->after->partition))
        expect (may_change_resources (change) && allows (change, MOVES_PARTITION)
                    && strncmp (or_empty (change->after->partition), "gpu-", 4) == 0,
                "a partition");
    if (is_changed (change, &change->after->features))
        expect (may_change_resources (change) && allows (change, MOVES_FEATURES),
                "a constraint");
}

/* --- environments ---------------------------------------------------------------- */

static bool begins_with (const char *text, const char *prefix)
{
    return text && strncmp (text, prefix, strlen (prefix)) == 0;
}

/* The plugin's own entries, which may be removed by a call. */
static bool is_own (const char *entry, const char *prefix)
{
    static const char *const names[] = {
        "DNNEST_OPTION=", "DNNEST_SIDECAR=", "_SLURM_SPANK_OPTION_dnnest_dnnest="};

    if (!begins_with (entry, prefix))
        return false;
    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        if (begins_with (entry + strlen (prefix), names[i]))
            return true;
    return false;
}

/* Could the job use dnnest at all? */
static bool is_described (const job_desc_msg_t *desc)
{
    bool carried = false;

    for (uint32_t i = 0; desc->spank_job_env && i < desc->spank_job_env_size; i++)
        carried = carried || begins_with (desc->spank_job_env[i], "DNNEST_");
    return carried || strcasestr (or_empty (desc->comment), "dnnest")
           || strcasestr (or_empty (desc->script), "dnnest");
}

/* A batch job that describes itself gets variables. */
static bool may_capture (const struct change *change)
{
    const job_desc_msg_t *old = &change->before.desc;

    return old->script && allows (change, ENFORCES) && is_described (old);
}

/* The module's directory is put before the previous value. */
static bool is_hook (const char *old_value, const char *now)
{
    if (!begins_with (now, PYTHONPATH HOOK_DIR))
        return false;
    now += strlen (PYTHONPATH HOOK_DIR);
    return *old_value ? *now == ':' && strcmp (now + 1, old_value) == 0 : *now == '\0';
}

static bool is_progress (const char *now)
{
    return strcmp (now, DN_PROGRESS_DIR "=" FAKE_PROGRESS_DIR) == 0;
}

static void check_variable (const struct change *change,
                            const char *old,
                            const char *now)
{
    size_t name_len;

    if (is_same (old, now))
        return;
    expect (old && now, "an entry that is NULL");
    name_len = strcspn (old, "=");
    if ((begins_with (old, PYTHONPATH) && is_hook (old + strlen (PYTHONPATH), now))
        || (begins_with (old, DN_PROGRESS_DIR "=") && is_progress (now))) {
        expect (may_capture (change), "a description that was not requested");
        return;
    }
    expect (may_change_resources (change), "a variable is changed");
    expect (strncmp (old, now, name_len + 1) == 0
                && (strncmp (old, "SLURM_", 6) == 0 || strncmp (old, "SRUN_", 5) == 0
                    || strncmp (old, "SBATCH_", 7) == 0),
            "another variable");
    expect (is_printable (now) || !is_printable (old), "a variable");
}

/* A variable that the job did not have is one of its description. */
static void check_added (const struct change *change, const char *now)
{
    expect (may_capture (change), "an entry is added");
    expect (is_hook ("", now) || is_progress (now)
                || strcmp (now, DN_CAPTURE_HOOK "=" HOOK_DIR) == 0,
            "another variable is added");
}

/* The entries of an environment are the previous ones, in their order, without the
 * plugin's own, and then those of its description.
 */
static void check_entries (const struct change *change,
                           char *const *old,
                           uint32_t n_old,
                           char *const *now,
                           uint32_t n_now,
                           const char *prefix)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < n_old; i++) {
        if (is_own (old[i], prefix) && (at >= n_now || !is_same (old[i], now[at])))
            continue;
        expect (at < n_now, "an entry is lost");
        check_variable (change, old[i], now[at++]);
    }
    expect (at == n_now || *prefix, "an entry of SPANK is added");
    while (at < n_now)
        check_added (change, now[at++]);
}

static void check_environments (const struct change *change)
{
    const struct photo *before = &change->before;
    uint32_t n_env = before->desc.environment ? before->desc.env_size : 0;
    int n_texts = 0;

    while (job_text (change->after, n_texts))
        n_texts++;
    check_entries (change,
                   before->texts + n_texts,
                   n_env,
                   change->after->environment,
                   change->after->environment ? change->after->env_size : 0,
                   "SLURM_SPANK_");
    check_entries (change,
                   before->texts + n_texts + n_env,
                   before->desc.spank_job_env ? before->desc.spank_job_env_size : 0,
                   change->after->spank_job_env,
                   change->after->spank_job_env ? change->after->spank_job_env_size : 0,
                   "");
}

/* --- words ----------------------------------------------------------------------- */

/* A record is appended to the previous text, and is JSON. */
static void check_record (const struct change *change)
{
    const char *now = change->after->admin_comment;
    const char *old = old_text (change, &change->after->admin_comment);
    size_t old_len = strlen (or_empty (old));
    struct json_object *json;

    if (is_same (old, now))
        return;
    expect (allows (change, RECORDS), "a record where none is kept");
    expect (now && strncmp (now, or_empty (old), old_len) == 0, "a comment");
    now += old_len;
    now += old_len > 0 && *now == ' ';
    expect (strlen (now) <= DN_RECORD_MAX && is_printable (now), "a record");
    json = json_tokener_parse (now);
    expect (json_object_is_type (json, json_type_object), "a record, not JSON");
    json_object_put (json);
}

/* A line about the decision, and one for each warning. */
static void check_lines (struct dn_span text)
{
    int n = 0;

    while (text.text) {
        struct dn_span span = dn_span_cut (&text, "\n");
        char line[MESSAGE_MAX + 1];

        expect (span.len <= MESSAGE_MAX, "a long message");
        snprintf (line, sizeof (line), "%.*s", (int) span.len, span.text);
        expect (strncmp (line, "dnnest: ", 8) == 0, "whose message");
        expect (is_printable (line), "a message");
        n++;
    }
    expect (n <= 1 + DN_WARNINGS_MAX, "too many lines");
}

/* Lines are appended to the messages of other plugins. */
static void check_message (const struct change *change)
{
    const char *line = or_empty (change->said);

    if (is_same (change->said_before, change->said))
        return;
    if (change->said_before) {
        size_t len = strlen (change->said_before);

        expect (strncmp (line, change->said_before, len) == 0 && line[len] == '\n',
                "another plugin's message");
        line += len + 1;
    }
    check_lines (dn_span_of (line));
}

/* A submission under a sanitizer may be slow. Any other error is a failure. */
static void check_log (void)
{
    expect (is_printable (stand_in_info) && is_printable (stand_in_error),
            "control characters in the log");
    if (stand_in_n_errors > 0)
        expect (strstr (stand_in_error, "a submission took") != NULL
                    || strstr (stand_in_error, "out of memory") != NULL,
                stand_in_error);
}

/* --- the whole ------------------------------------------------------------------- */

/* All other fields of the job are unchanged, to the byte. */
static void check_rest (const struct change *change)
{
    job_desc_msg_t now = *change->after;
    const job_desc_msg_t *old = &change->before.desc;
    char **const free_texts[] = {&change->after->admin_comment,
                                 &change->after->tres_per_job,
                                 &change->after->tres_per_node,
                                 &change->after->tres_per_socket,
                                 &change->after->tres_per_task,
                                 &change->after->cpus_per_tres,
                                 &change->after->partition,
                                 &change->after->features};

    for (int i = 0; job_text (change->after, i); i++) {
        char **place = job_text (change->after, i);
        bool fixed = true;

        for (size_t j = 0; j < DN_N_ELEMENTS (free_texts); j++)
            fixed = fixed && free_texts[j] != place;
        expect (!fixed || !is_changed (change, place), "a text is changed");
        if (!fixed) /* checked elsewhere */
            *job_text (&now, i) = *job_text ((job_desc_msg_t *) old, i);
    }
    now.time_limit = old->time_limit;
    now.time_min = old->time_min;
    now.cpus_per_task = old->cpus_per_task;
    now.min_cpus = old->min_cpus;
    now.pn_min_cpus = old->pn_min_cpus;
    now.pn_min_memory = old->pn_min_memory;
    now.environment = old->environment; /* a longer list */
    now.env_size = old->env_size;
    now.spank_job_env_size = old->spank_job_env_size;
    expect (memcmp (&now, old, sizeof (now)) == 0, "another field is changed");
}

static void check_change (const struct change *change)
{
    const job_desc_msg_t *old = &change->before.desc;
    const job_desc_msg_t *now = change->after;

    check_time (change);
    check_cpus (change, old->cpus_per_task, now->cpus_per_task, NO_VAL16);
    check_cpus (change, old->pn_min_cpus, now->pn_min_cpus, NO_VAL16);
    check_cpus (change, old->min_cpus, now->min_cpus, NO_VAL);
    check_memory (change);
    check_tres (change);
    check_places (change);
    check_environments (change);
    check_record (change);
    check_message (change);
    check_log ();
    check_rest (change);
}

/* A job never gets the variables of the job that submits it. */
static void forget_outer (struct photo *photo)
{
    job_desc_msg_t *desc = &photo->desc;
    int n_env = desc->environment ? (int) desc->env_size : 0;
    int first = 0;
    int kept;

    while (job_text (desc, first))
        first++;
    kept = first;
    for (int i = first; i < photo->n_texts; i++) {
        bool is_env = i < first + n_env;

        if (is_env && begins_with (photo->texts[i], DN_JOB_VARIABLES)) {
            free (photo->texts[i]);
            desc->env_size--;
        } else {
            photo->texts[kept++] = photo->texts[i];
        }
    }
    photo->n_texts = kept;
}

static bool has_record (const job_desc_msg_t *desc)
{
    return strstr (or_empty (desc->admin_comment), "{\"dnnest\":") != NULL;
}

static void modify (job_desc_msg_t *desc)
{
    struct photo photo = photo_take (desc);

#if DN_JOB_MODIFY_SPEAKS
    char *message = NULL;

    expect (job_modify (desc, NULL, 0, &message) == SLURM_SUCCESS && !message,
            "job_modify");
#else
    expect (job_modify (desc, NULL, 0) == SLURM_SUCCESS, "job_modify");
#endif
    photo_compare (&photo, desc);
    photo_free (&photo);
}

static void submit (struct job_form *form)
{
    job_desc_msg_t *desc = &form->desc;
    char *said_before = form->message ? strdup (form->message) : NULL;
    struct change change = {.site = fake_state_choose (form->site),
                            .before = photo_take (desc),
                            .after = desc,
                            .said_before = said_before};
    bool had_record = has_record (desc);
    bool concerned = is_described (desc) && !had_record;

    if (!had_record)
        forget_outer (&change.before);
    stand_in_forget ();
    fake_state_partition (form->default_partition);
    stand_in_allocations_left = form->allocations;
    expect (job_submit (desc, desc->user_id, &form->message) == SLURM_SUCCESS,
            "a job is refused");
    stand_in_allocations_left = -1;
    change.said = form->message;
    check_change (&change);
    if (!concerned && (!allows (&change, WANTS_ALL) || had_record))
        photo_compare (&change.before, desc);
    photo_free (&change.before);
    free (said_before);
}

/* A job that already has a record is not changed, as in a federation. */
static void submit_again (struct job_form *form)
{
    struct photo photo;

    if (!has_record (&form->desc))
        return;
    photo = photo_take (&form->desc);
    expect (job_submit (&form->desc, 0, NULL) == SLURM_SUCCESS, "refused");
    photo_compare (&photo, &form->desc);
    photo_free (&photo);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static bool started;
    int blocks = stand_in_blocks;
    INPUT_TEXT (text);
    struct job_form form;

    if (!started) {
        /* a failed comparison of cmocka, outside of a test, must crash */
        setenv ("CMOCKA_TEST_ABORT", "1", 1);
        started = init () == SLURM_SUCCESS;
    }
    job_form_read (text, &form);
    modify (&form.desc);
    submit (&form);
    submit_again (&form);
    job_form_free (&form);
    expect (stand_in_blocks == blocks, "a leak in slurmctld's memory");
    return 0;
}
