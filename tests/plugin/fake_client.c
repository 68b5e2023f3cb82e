/* fake_client.c - the built SPANK plugin in a simulated sbatch
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <unistd.h>

#include <slurm/spank.h>

#include "host/carry.h"

#define SYMBOL __attribute__ ((visibility ("default")))

static struct {
    int (*init) (spank_t spank, int argc, char **argv);
    int (*post) (spank_t spank, int argc, char **argv);
    int (*task) (spank_t spank, int argc, char **argv);
    int (*exit) (spank_t spank, int argc, char **argv);
} plugin;

/* --- the client ------------------------------------------------------------------ */

static spank_context_t context;
static struct spank_option *registered;
static spank_err_t setenv_result;
static char said[1024];
static int n_said;
static char option_entry[8192];
static char sidecar_entry[32768];
static int n_entries;

SYMBOL spank_context_t spank_context (void)
{
    return context;
}

SYMBOL spank_err_t spank_option_register (spank_t spank, struct spank_option *option)
{
    registered = option;
    return ESPANK_SUCCESS;
}

SYMBOL spank_err_t spank_job_control_setenv (spank_t spank,
                                             const char *name,
                                             const char *value,
                                             int overwrite)
{
    assert_int_equal (overwrite, 1);
    if (setenv_result != ESPANK_SUCCESS)
        return setenv_result;
    if (strcmp (name, DN_CARRY_OPTION) == 0)
        snprintf (option_entry, sizeof (option_entry), "%s", value);
    else if (strcmp (name, DN_CARRY_SIDECAR) == 0)
        snprintf (sidecar_entry, sizeof (sidecar_entry), "%s", value);
    else
        fail_msg ("%s passed on", name);
    n_entries++;
    return ESPANK_SUCCESS;
}

/* The environment of a task. */
static const char *task_hook;
static const char *task_path;
static char set_path[256];

SYMBOL spank_err_t spank_getenv (spank_t spank, const char *name, char *buf, int len)
{
    const char *value = strcmp (name, "PYTHONPATH") == 0 ? task_path : task_hook;

    if (!value)
        return ESPANK_ENV_NOEXIST;
    return snprintf (buf, (size_t) len, "%s", value) < len ? ESPANK_SUCCESS
                                                           : ESPANK_NOSPACE;
}

SYMBOL spank_err_t spank_setenv (spank_t spank,
                                 const char *name,
                                 const char *value,
                                 int overwrite)
{
    assert_int_equal (overwrite, 1);
    assert_string_equal (name, "PYTHONPATH");
    snprintf (set_path, sizeof (set_path), "%s", value);
    return ESPANK_SUCCESS;
}

SYMBOL const char *spank_strerror (spank_err_t err)
{
    return "no reason";
}

SYMBOL void slurm_error (const char *format, ...)
{
    va_list args;

    va_start (args, format);
    vsnprintf (said, sizeof (said), format, args);
    va_end (args);
    n_said++;
}

/* Run one command of Slurm with these values of --dnnest=. */
#define RUN(where, ...) run_command (where, (const char *const[]){__VA_ARGS__})

/* 'values': NULL at the end. */
static void run_command (spank_context_t where, const char *const values[])
{
    context = where;
    registered = NULL;
    n_said = 0;
    n_entries = 0;
    said[0] = option_entry[0] = sidecar_entry[0] = '\0';
    assert_int_equal (plugin.init (NULL, 0, NULL), 0);
    for (int i = 0; values[i]; i++) {
        assert_non_null (registered);
        assert_int_equal (
            registered->cb (registered->val, values[i], where == S_CTX_REMOTE), 0);
    }
    assert_int_equal (plugin.post (NULL, 0, NULL), 0);
    assert_int_equal (plugin.exit (NULL, 0, NULL), 0);
}

static void run_with (const char *value)
{
    RUN (S_CTX_ALLOCATOR, value, NULL);
}

/* Nothing is said, and so many entries are passed on, of which one is this option. */
static void assert_passed (int n, const char *option)
{
    assert_int_equal (n_said, 0);
    assert_int_equal (n_entries, n);
    assert_string_equal (option_entry, option);
}

/* --- tests ----------------------------------------------------------------------- */

TEST ("an unused plugin prints and does nothing")
{
    static const spank_context_t contexts[] = {
        S_CTX_ALLOCATOR, S_CTX_LOCAL, S_CTX_REMOTE, S_CTX_SLURMD, S_CTX_JOB_SCRIPT};

    for (size_t i = 0; i < DN_N_ELEMENTS (contexts); i++) {
        RUN (contexts[i], NULL);
        assert_passed (0, "");
        assert_int_equal (registered != NULL, i < 3);
    }
}

TEST ("on the node the option means nothing")
{
    RUN (S_CTX_REMOTE, "help", "nonsense", NULL);
    assert_passed (0, "");
}

TEST ("a task finds the hook first, and then what its user has set")
{
    static char long_path[80000];
    static const struct {
        const char *hook;
        const char *path;
        const char *set;
    } cases[] = {{NULL, "/own", ""},
                 {"/hook", NULL, "/hook"},
                 {"/hook", "", "/hook"},
                 {"/hook", "/own:/b", "/hook:/own:/b"},
                 {"/hook", "/hook:/own", ""},
                 {"/hook", "/hooked", "/hook:/hooked"},
                 {"hook", "/own", ""},
                 {"/a:/b", "/own", ""},
                 {"/hook", long_path, ""}};

    memset (long_path, 'x', sizeof (long_path) - 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        task_hook = cases[i].hook;
        task_path = cases[i].path;
        set_path[0] = '\0';
        assert_int_equal (plugin.task (NULL, 0, NULL), 0);
        assert_string_equal (set_path, cases[i].set);
    }
}

TEST ("keys are passed on unchanged")
{
    /* Of the script, then of the command line. */
    RUN (S_CTX_ALLOCATOR, "batch=none", "model=gpt2,batch=4", NULL);
    assert_passed (1, "model=gpt2,batch=4");
    run_with ("off");
    assert_passed (1, "off");
}

TEST ("a file is compacted and passed on")
{
    char path[] = "/tmp/dnnest-client.XXXXXX";
    FILE *file = fdopen (mkstemp (path), "w");

    assert_non_null (file);
    fputs ("{\n  \"dnnest\": 1,\n  \"spec\": {\"batch\": 4}\n}\n", file);
    fclose (file);
    run_with (path);
    assert_passed (1, "");
    assert_string_equal (sidecar_entry, "{\"dnnest\":1,\"spec\":{\"batch\":\"4\"}}");
    run_with (unit_text ("@%s,steps=9", path));
    assert_passed (2, "steps=9");
    unlink (path);
}

TEST ("a wrong option opts out and is reported once")
{
    static const char *const wrong[][2] = {
        {"", "--dnnest: no metadata"},
        {"batch=-4", "--dnnest: column 7: batch: -4"},
        {"/nonexistent", "--dnnest: /nonexistent: No such file"},
        {"@/dev/null,batch=4", "--dnnest: /dev/null: not a regular file"},
        {"@", "--dnnest: "},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (wrong); i++) {
        run_with (wrong[i][0]);
        assert_int_equal (n_said, 1);
        assert_contains (said, wrong[i][1]);
        assert_contains (said, "; job submitted as written");
        assert_int_equal (n_entries, 1);
        assert_string_equal (option_entry, "off");
    }
}

TEST ("what cannot be passed on is reported")
{
    setenv_result = ESPANK_NOSPACE;
    run_with ("batch=4");
    setenv_result = ESPANK_SUCCESS;
    assert_int_equal (n_said, 1);
    assert_int_equal (n_entries, 0);
    assert_contains (said, "cannot be passed on: no reason");
}

TEST ("a step of a job is left alone")
{
    setenv ("SLURM_JOB_ID", "7", 1);
    RUN (S_CTX_LOCAL, "nonsense", NULL);
    assert_passed (0, "");
    run_with ("nonsense"); /* sbatch inside of a job makes a job */
    assert_int_equal (n_said, 1);
    unsetenv ("SLURM_JOB_ID");
    RUN (S_CTX_LOCAL, "nonsense", NULL);
    assert_int_equal (n_said, 1);
}

TEST ("what an outer job left is removed")
{
    static const char *const names[] = {"SLURM_SPANK_" DN_CARRY_AUTOMATIC,
                                        "SLURM_SPANK_" DN_CARRY_OPTION,
                                        "SLURM_SPANK_" DN_CARRY_SIDECAR};

    setenv ("SLURM_SPANK_OTHER", "1", 1);
    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        setenv (names[i], "x", 1);
    RUN (S_CTX_REMOTE, NULL);
    assert_non_null (getenv (names[0]));
    RUN (S_CTX_ALLOCATOR, NULL);
    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        assert_null (getenv (names[i]));
    assert_non_null (getenv ("SLURM_SPANK_OTHER"));
    unsetenv ("SLURM_SPANK_OTHER");
}

/* Each test begins with a plugin that has just been loaded. */
int before_test (void **state)
{
    const char *build = getenv ("abs_top_builddir");

    *state =
        dlopen (unit_text ("%s/.libs/spank_dnnest.so", build ? build : "."), RTLD_NOW);
    if (!*state) {
        print_error ("%s\n", dlerror ());
        return -1;
    }
    *(void **) &plugin.init = dlsym (*state, "slurm_spank_init");
    *(void **) &plugin.post = dlsym (*state, "slurm_spank_init_post_opt");
    *(void **) &plugin.task = dlsym (*state, "slurm_spank_task_init");
    *(void **) &plugin.exit = dlsym (*state, "slurm_spank_exit");
    return plugin.init && plugin.post && plugin.task && plugin.exit ? 0 : -1;
}

int after_test (void **state)
{
    assert_int_equal (plugin.exit (NULL, 0, NULL), 0);
    return dlclose (*state);
}
