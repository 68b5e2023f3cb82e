/* spank_dnnest.c - the option --dnnest= of sbatch, salloc and srun, and the hook of
 * tasks
 *
 * On the client, as the user: check the option's text, read and compact the file that
 * it names, and pass both to slurmctld in the job's SPANK environment, where
 * job_submit_dnnest reads and removes them. A job with a wrong option is submitted as
 * written. "off" is passed for it, so that lines of the script alone do not decide.
 *
 * sbatch and srun inside a job read options of plugins from the job's environment, as
 * if they had been given again: the inner job would get the description of the outer
 * one. So the entries of an outer job are removed before options are read.
 *
 * On the node, as the user: a task of a job that describes itself finds the hook first
 * on PYTHONPATH, whatever the script made of it. The variable that says so comes from
 * job_submit_dnnest, or, for salloc and srun, from this plugin.
 *
 * All but eight symbols are hidden: sbatch exports 'opt' and about 30 others, and of
 * two equal names the loader takes the program's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdlib.h>
#include <string.h>

#include <slurm/spank.h>

#include "host/carry.h"
#include "import/hf_config.h"
#include "rewrite/rewrite.h"
#include "spank/help.h"
#include "spec/spec.h"
#include "base/messages.h"

#define DN_EXPORT __attribute__ ((visibility ("default")))

DN_EXPORT extern const char plugin_name[];
DN_EXPORT extern const char plugin_type[];
DN_EXPORT extern const unsigned int plugin_version;
DN_EXPORT extern const unsigned int spank_plugin_version;

SPANK_PLUGIN (dnnest, 1)

/* NOLINTBEGIN(readability-redundant-declaration): as in spank.h, but visible */
DN_EXPORT int slurm_spank_init (spank_t spank, int argc, char **argv);
DN_EXPORT int slurm_spank_init_post_opt (spank_t spank, int argc, char **argv);
DN_EXPORT int slurm_spank_task_init (spank_t spank, int argc, char **argv);
DN_EXPORT int slurm_spank_exit (spank_t spank, int argc, char **argv);
/* NOLINTEND(readability-redundant-declaration) */

/* Slurm's commands have one thread when they call a plugin.
 * NOLINTBEGIN(concurrency-mt-unsafe)
 */

/* Copies of a job's SPANK environment in the environment of its processes. */
static const char *const inherited[] = {
    "SLURM_SPANK_" DN_CARRY_OPTION,
    "SLURM_SPANK_" DN_CARRY_SIDECAR,
    "SLURM_SPANK_" DN_CARRY_AUTOMATIC,
};

/* The value of the last --dnnest=. */
static char *given;

/* The longest PYTHONPATH that is extended, and the longest directory. */
#define PATHS_MAX 65536
#define HOOK_MAX  4096

/* Called for the script first, then for the command line: the last one counts. */
static int take_option (int value, const char *argument, int remote)
{
    (void) value;
    if (remote || !argument)
        return 0;
    if (dn_note_of_option (argument).help) {
        dn_help_print ();
        exit (EXIT_SUCCESS); /* ends the user's command, as --help does */
    }
    free (given);
    given = strdup (argument);
    return 0;
}

static struct spank_option option = {
    .name = "dnnest",
    .arginfo = "SPEC|FILE",
    .usage = "how the job trains: key=value,..., a sidecar, off or help",
    .has_arg = 1,
    .cb = take_option,
};

static int set (spank_t spank, const char *name, const char *value, struct dn_err *err)
{
    spank_err_t rc = spank_job_control_setenv (spank, name, value, 1);

    if (rc == ESPANK_SUCCESS)
        return 0;
    return dn_refuse (err, option_carry, spank_strerror (rc));
}

/* Check the option and pass it on: the sidecar, and the other keys. */
static int hand_over (spank_t spank,
                      const char *text,
                      struct dn_spec *spec,
                      struct dn_err *err)
{
    struct dn_note note = dn_note_of_option (text);
    dn_cleanup (dn_free_ptr) char *sidecar = NULL;
    struct dn_carriers carriers = {.option = text};
    enum dn_metadata state;

    if (note.off) {
        spec->capture = DN_ANSWER_NO;
        return set (spank, DN_CARRY_OPTION, "off", err);
    }
    if (dn_carry_option (text, dn_hf_config_convert, &sidecar, err) < 0)
        return -1;
    carriers.sidecar = sidecar;
    if (dn_spec_collect (&carriers, spec, &state, err) < 0
        || (sidecar && set (spank, DN_CARRY_SIDECAR, sidecar, err) < 0)
        || (note.pairs.len > 0
            && set (spank, DN_CARRY_OPTION, note.pairs.text, err) < 0))
        return -1;
    return 0;
}

/* srun inside a job starts a step: there is no decision. */
static bool is_step (void)
{
    return spank_context () == S_CTX_LOCAL && getenv ("SLURM_JOB_ID");
}

int slurm_spank_init (spank_t spank, int argc, char **argv)
{
    (void) argc;
    (void) argv;
    switch (spank_context ()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
        for (size_t i = 0; i < DN_N_ELEMENTS (inherited); i++)
            unsetenv (inherited[i]);
        if (!is_step ())
            unsetenv (DN_CAPTURE_HOOK);
        break;
    case S_CTX_REMOTE: /* slurmstepd warns about options that are not registered */
        break;
    default:
        return 0;
    }
    if (spank_option_register (spank, &option) != ESPANK_SUCCESS)
        slurm_error (dn_say_user_no_option);
    return 0;
}

/* The value of an argument "name=value" of plugstack.conf; NULL: not given. */
static const char *argument_of (const char *name, int argc, char **argv)
{
    size_t len = strlen (name);

    for (int i = 0; i < argc; i++)
        if (strncmp (argv[i], name, len) == 0 && argv[i][len] == '=')
            return argv[i] + len + 1;
    return NULL;
}

/* slurmctld does not know the environment of salloc and srun. */
static void set_capture (const struct dn_spec *spec, int argc, char **argv)
{
    const char *progress = argument_of ("progress", argc, argv);
    const char *python = argument_of ("python", argc, argv);
    char hook[HOOK_MAX];
    struct dn_buf buf = dn_buf_on (hook, sizeof (hook));

    if (!progress || spec->capture == DN_ANSWER_NO)
        return;
    dn_buf_add (&buf, "%s" DN_HOOK_FOLDER, python ? python : DNNEST_PYTHON_DIR);
    if (buf.cut)
        return;
    setenv (DN_CAPTURE_HOOK, hook, 1);
    setenv (DN_PROGRESS_DIR, progress, 1);
}

int slurm_spank_init_post_opt (spank_t spank, int argc, char **argv)
{
    struct dn_err err = {.code = DN_E_NONE};
    struct dn_spec spec = dn_spec_empty ();

    if (!given || is_step ())
        return 0;
    if (hand_over (spank, given, &spec, &err) < 0) {
        slurm_error (dn_say_user_error, err.text);
        set (spank, DN_CARRY_OPTION, "off", NULL);
    } else {
        set_capture (&spec, argc, argv);
    }
    return 0;
}

/* In the task, before its program starts. What cannot be done is left undone: a task
 * must not fail by it.
 */
int slurm_spank_task_init (spank_t spank, int argc, char **argv)
{
    static char old[PATHS_MAX];
    char hook[HOOK_MAX];
    dn_cleanup (dn_free_ptr) char *paths = NULL;
    spank_err_t rc;

    (void) argc;
    (void) argv;
    if (spank_getenv (spank, DN_CAPTURE_HOOK, hook, sizeof (hook)) != ESPANK_SUCCESS
        || hook[0] != '/' || strchr (hook, ':'))
        return 0;
    rc = spank_getenv (spank, DN_PYTHON_PATH, old, sizeof (old));
    if (rc == ESPANK_SUCCESS || rc == ESPANK_ENV_NOEXIST)
        paths = dn_dirs_with (hook, rc == ESPANK_SUCCESS ? old : NULL);
    if (paths)
        spank_setenv (spank, DN_PYTHON_PATH, paths, 1);
    return 0;
}

int slurm_spank_exit (spank_t spank, int argc, char **argv)
{
    (void) spank;
    (void) argc;
    (void) argv;
    free (given);
    given = NULL;
    return 0;
}
/* NOLINTEND(concurrency-mt-unsafe) */
