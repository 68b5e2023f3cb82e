/* rewrite.c - tests of rewrite/: what is edited, and the texts
 *
 * Every place of a value is edited: tests/plugin/forms.txt has the submissions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <json-c/json.h>

#include "scene.h"

/* The only edit of 'field' whose old text begins with 'start' (any if NULL), or NULL.
 */
static const struct dn_edit *find_edit (const struct dn_advice *advice,
                                        enum dn_field field,
                                        const char *start)
{
    const struct dn_edit *found = NULL;

    for (int i = 0; i < advice->patch.n_edits; i++) {
        const struct dn_edit *edit = &advice->patch.edits[i];
        const char *old = edit->old_text ? edit->old_text : "";

        if (edit->field == field
            && (!start || strncmp (old, start, strlen (start)) == 0)) {
            assert_null (found);
            found = edit;
        }
    }
    return found;
}

/* There is one, as 'field' has it. */
static const struct dn_edit *need_edit (const struct dn_advice *advice,
                                        enum dn_field field,
                                        const char *start)
{
    const struct dn_edit *edit = find_edit (advice, field, start);

    if (!edit)
        fail_msg ("%s is not edited", dn_names_get (&dn_field_names, (int) field));
    return edit;
}

static void assert_text (const struct dn_advice *advice,
                         enum dn_field field,
                         const char *old_text,
                         const char *new_text)
{
    const struct dn_edit *edit = need_edit (advice, field, old_text);

    assert_string_equal (edit->old_text, old_text);
    assert_string_equal (edit->new_text, new_text);
}

static void assert_number (const struct dn_advice *advice,
                           enum dn_field field,
                           int64_t old_number,
                           int64_t new_number)
{
    const struct dn_edit *edit = need_edit (advice, field, NULL);

    assert_int_equal (edit->old_number, old_number);
    assert_int_equal (edit->new_number, new_number);
}

#define ENFORCED(changes) SCENE_ADVICE ("Mode=enforce", changes)

TEST ("all five places of the CPU count are edited")
{
    const char *const env[] = {
        "PATH=/bin", "SLURM_CPUS_PER_TASK=80", "SLURM_TRES_PER_TASK=cpu=80"};
    struct dn_advice *advice =
        ENFORCED ((job.tres[DN_GPU_PER_TASK] = "cpu=80", job.env = env, job.n_env = 3));
    int64_t cpus = advice->decision.cpus_per_task;

    assert_in_range (cpus, 8, 79);
    assert_number (advice, DN_FIELD_CPUS_PER_TASK, 80, cpus);
    assert_number (advice, DN_FIELD_MIN_CPUS, 80, cpus);
    assert_number (advice, DN_FIELD_PN_MIN_CPUS, 80, cpus);
    assert_text (
        advice, DN_FIELD_TRES_PER_TASK, "cpu=80", unit_text ("cpu=%d", (int) cpus));
    assert_text (advice,
                 DN_FIELD_ENV,
                 "SLURM_TRES_PER_TASK=cpu=80",
                 unit_text ("SLURM_TRES_PER_TASK=cpu=%d", (int) cpus));
    assert_text (advice,
                 DN_FIELD_ENV,
                 "SLURM_CPUS_PER_TASK=80",
                 unit_text ("SLURM_CPUS_PER_TASK=%d", (int) cpus));
}

TEST ("a larger minimum per node is the user's own")
{
    struct dn_advice *advice =
        ENFORCED ((job.comment = "dnnest:model=resnet50,batch=128,precision=fp32,"
                                 "optimizer=momentum,epochs=20,dataset=imagenet",
                   job.pn_min_cpus = 90));

    assert_null (find_edit (advice, DN_FIELD_PN_MIN_CPUS, NULL));
    assert_non_null (find_edit (advice, DN_FIELD_CPUS_PER_TASK, NULL));
}

/* A user's own client may send any value together with --tres-per-task. */
TEST ("a count of no CPUs is not raised")
{
    struct dn_advice *advice = ENFORCED ((job.tres[DN_GPU_PER_TASK] = "cpu=80",
                                          job.cpus_per_task = job.pn_min_cpus = 0));

    assert_null (find_edit (advice, DN_FIELD_CPUS_PER_TASK, NULL));
    assert_null (find_edit (advice, DN_FIELD_PN_MIN_CPUS, NULL));
    assert_non_null (find_edit (advice, DN_FIELD_TRES_PER_TASK, NULL));
}

TEST ("memory per CPU becomes the same memory per node")
{
    const char *const env[] = {"SLURM_MEM_PER_CPU=1000"};
    struct dn_advice *advice = ENFORCED ((job.mem_per_node_mb = DN_UNSET,
                                          job.mem_per_cpu_mb = 1000,
                                          job.env = env,
                                          job.n_env = 1));

    assert_number (advice, DN_FIELD_MEM_PER_NODE, DN_UNSET, 80000);
    assert_text (
        advice, DN_FIELD_ENV, "SLURM_MEM_PER_CPU=1000", "SLURM_MEM_PER_NODE=80000");
}

/* The value that the patch sets for 'name' in the environment, or NULL. */
static const char *find_new_variable (const struct dn_advice *advice, const char *name)
{
    const struct dn_edit *edit =
        scene_edit (advice, DN_FIELD_ENV, unit_text ("%s=", name));

    assert_true (!edit || strncmp (edit->new_text, name, strlen (name)) == 0);
    return edit ? edit->new_text + strlen (name) + 1 : NULL;
}

/* The hook's directory in the environment of a job, NULL for none. */
static const char *capture_of (const char *conf,
                               const char *python_dir,
                               bool dirs,
                               const struct dn_job *job,
                               struct dn_advice *advice)
{
    struct dn_site *site = scene_site (conf);

    snprintf (site->python_dir, sizeof (site->python_dir), "%s", python_dir);
    snprintf (site->progress_dir, sizeof (site->progress_dir), "%s", dirs ? "/p" : "");
    assert_int_equal (dn_advise (site, NULL, job, NULL, NULL, advice, NULL), 0);
    return find_new_variable (advice, DN_CAPTURE_HOOK);
}

TEST ("jobs describe themselves where the rules and their users let them")
{
    static const char *const env[] = {"PYTHONPATH=/py/hooks:/my"};
    static const char *const there[] = {"PYTHONPATH=/py/hook:/my"};
    static const struct {
        const char *conf;
        const char *comment;
        bool captured;
    } cases[] = {
        {"Mode=enforce", "dnnest:auto", true},
        {"Mode=enforce", "dnnest:app=x", true},
        {"Mode=enforce", "dnnest:model=resnet50,batch=64,steps=10", true},
        {"Mode=enforce", "dnnest:auto,capture=no", false},
        {"Mode=enforce", "dnnest:off", false},
        {"Mode=enforce", NULL, false},
        {"Mode=enforce Capture=yes", NULL, true},
        {"Mode=enforce Capture=yes", "dnnest:capture=no", false},
        {"Mode=enforce Capture=yes", "dnnest:off", false},
        {"Mode=enforce Capture=no", "dnnest:auto", false},
        {"Mode=enforce ControlGroup=100", "dnnest:auto", false},
        {"Mode=advise", "dnnest:auto", false},
    };
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_new ();

    job.kind = DN_JOB_BATCH;
    job.env = env;
    job.n_env = 1;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        job.comment = cases[i].comment;
        assert_int_equal (capture_of (cases[i].conf, "/py", true, &job, advice) != NULL,
                          cases[i].captured);
        assert_null (capture_of (cases[i].conf, "/py", false, &job, advice));
        assert_null (capture_of (cases[i].conf, "none", true, &job, advice));
        assert_null (capture_of (cases[i].conf, "/a:/b", true, &job, advice));
    }
    job.comment = "dnnest:auto";
    assert_string_equal (capture_of ("Mode=enforce", "/py", true, &job, advice),
                         "/py/hook");
    assert_string_equal (find_new_variable (advice, "PYTHONPATH"),
                         "/py/hook:/py/hooks:/my");
    assert_string_equal (find_new_variable (advice, DN_PROGRESS_DIR), "/p");
    job.het = true;
    assert_null (capture_of ("Mode=enforce", "/py", true, &job, advice));
    job.het = false;
    job.kind = DN_JOB_SRUN;
    assert_null (capture_of ("Mode=enforce", "/py", true, &job, advice));
    job.kind = DN_JOB_BATCH;
    job.env = there; /* the hook is first already */
    assert_non_null (capture_of ("Mode=enforce", "/py", true, &job, advice));
    assert_null (find_new_variable (advice, "PYTHONPATH"));
}

TEST ("the user gets one line")
{
    struct dn_advice *advice = ENFORCED ();
    const char *text = advice->patch.user_text;

    assert_int_equal (strncmp (text, "dnnest: time 1-00:00:00 -> ", 27), 0);
    assert_contains (text, ", gpu a100:4 -> v100:4 (1.");
    assert_contains (text, "x the time, 0.");
    assert_contains (text, "x the cost), -c 80 -> ");
    assert_contains (text, "(resnet50, 20 epochs: likely ");
    assert_contains (text, "; opt out: --comment=dnnest:off)");
    assert_null (strchr (text, '\n'));
    advice = SCENE_ADVICE ("Mode=enforce\nMessage=never", );
    assert_string_equal (advice->patch.user_text, "");
    advice = ENFORCED (job.comment = unit_text ("%s,name=mine", job.comment));
    assert_contains (advice->patch.user_text, "(mine, 20 epochs: likely ");
    assert_contains (scene_log, " model=mine ");
    advice =
        SCENE_ADVICE ("Mode=enforce\nMessage=always", job.tres[DN_GPU_PER_NODE] = NULL);
    assert_contains (advice->patch.user_text, "job unchanged (no GPU was requested)");
}

static int64_t number_at (struct json_object *object, const char *part, const char *key)
{
    struct json_object *inner = object;
    struct json_object *value = NULL;

    if (part)
        assert_true (json_object_object_get_ex (object, part, &inner));
    assert_true (json_object_object_get_ex (inner, key, &value));
    return json_object_get_int64 (value);
}

TEST ("the record holds the original request")
{
    struct dn_advice *advice = ENFORCED ();
    const struct dn_edit *edit = find_edit (advice, DN_FIELD_ADMIN_COMMENT, NULL);
    struct json_object *record = json_tokener_parse (edit->new_text);

    assert_non_null (record);
    assert_null (edit->old_text);
    assert_in_range (strlen (edit->new_text), 100, DN_RECORD_MAX);
    assert_int_equal (number_at (record, NULL, "dnnest"), 1);
    assert_int_equal (number_at (record, "req", "time_s"), 86400);
    assert_int_equal (number_at (record, "req", "gpus"), 4);
    assert_int_equal (number_at (record, "req", "cpus_per_task"), 80);
    assert_int_equal (number_at (record, "req", "nodes"), 1);
    assert_int_equal (number_at (record, "req", "tasks"), 1);
    assert_int_equal (number_at (record, "req", "mem_mb"), 256000);
    assert_int_equal (number_at (record, "set", "time_s"),
                      advice->decision.time_limit_s);
    assert_true (number_at (record, "pred", "step_us") > 1000);
    assert_int_equal (number_at (record, "pred", "bound_bp"), 9900);
    assert_in_range (number_at (record, "pred", "p95_s"),
                     number_at (record, "pred", "train_s"),
                     number_at (record, "pred", "p99_s"));
    assert_string_equal (edit->new_text, advice->patch.record);
    json_object_put (record);
}

TEST ("the record is appended and can be switched off")
{
    struct dn_advice *advice = ENFORCED (job.admin_comment = "older plugin's note");
    const struct dn_edit *edit = find_edit (advice, DN_FIELD_ADMIN_COMMENT, NULL);

    assert_string_equal (edit->old_text, "older plugin's note");
    assert_int_equal (strncmp (edit->new_text, "older plugin's note {", 21), 0);
    advice = SCENE_ADVICE ("Record=none", );
    assert_int_equal (advice->patch.n_edits, 0);
    assert_int_equal (strncmp (advice->patch.record, "{\"dnnest\":1,", 12), 0);
}

TEST ("the longest record stays within its limit")
{
    char comment[DN_METADATA_MAX];
    struct dn_buf buf = dn_buf_on (comment, sizeof (comment));
    struct dn_job job = scene_job ();
    struct dn_advice *advice;
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    dn_buf_add (&buf,
                "dnnest:model=resnet50,batch=128,dataset=imagenet,epochs=2,app=%s",
                unit_repeat ("x", 63));
    for (int i = 0; i < n_keys; i++)
        if (keys[i].type == DN_KEY_ENUM
            && keys[i].offset != offsetof (struct dn_spec, quant)
            && keys[i].offset != offsetof (struct dn_spec, method)) /* of texts */
            dn_buf_add (&buf,
                        ",%s=%s",
                        keys[i].name,
                        keys[i].names.names[keys[i].names.n_names - 1]);
    dn_buf_add (&buf,
                ",samples=1281167,workers=8,eval_every=1000000,eval_samples=50000");
    job.comment = comment;
    advice = scene_advise ("Mode=enforce", &job);
    assert_in_range (
        strlen (find_edit (advice, DN_FIELD_ADMIN_COMMENT, NULL)->new_text),
        100,
        DN_RECORD_MAX);
}

TEST ("jobs that are not ours have an empty patch")
{
    static const char *const comments[] = {NULL, "", "a: b", "dnnest:off"};

    for (size_t i = 0; i < DN_N_ELEMENTS (comments); i++) {
        struct dn_advice *advice = ENFORCED (job.comment = comments[i]);

        assert_int_equal (advice->patch.n_edits, 0);
        assert_string_equal (advice->patch.user_text, "");
    }
}

TEST ("bad metadata leaves an empty patch and a message")
{
    static const char *const cases[][2] = {
        {"dnnest:model=resnet50", "batch: missing"},
        {"dnnest:model=resnet5O,batch=8", "resnet5O"},
        {"dnnest:modle=x", "unknown key 'modle'"},
        {"dnnest:model=mlp,layers=4000,hidden=1000000,batch=100000000", ""},
    };
    struct dn_site *site = scene_site ("Mode=enforce");
    struct dn_advice *advice = scene_new ();

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_job job = scene_job ();

        job.comment = cases[i][0];
        if (dn_advise (site, NULL, &job, NULL, NULL, advice, &unit_err) == 0) {
            assert_int_equal (advice->decision.verdict, DN_VERDICT_ABSTAIN);
            continue;
        }
        assert_contains (unit_err.text, cases[i][1]);
        assert_int_equal (advice->patch.n_edits, 0);
    }
}
