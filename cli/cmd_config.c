/* cmd_config.c - shows the rules that apply, and checks a dnnest.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <pwd.h>

#include "base/messages.h"
#include "config/config_check.h"
#include "config/config_view.h"
#include "config/discover.h"
#include "host/people.h"
#include "seen.h"
#include "slurm_version.h"

enum {
    OPTION_ACCOUNT,
    OPTION_ASK_NODES,
    OPTION_CHECK,
    OPTION_DISCOVER,
    OPTION_GROUP,
    OPTION_NVIDIA_SMI,
    OPTION_PARTITION,
    OPTION_QOS,
    OPTION_SET,
    OPTION_SLURM,
    OPTION_USER
};

static const struct dn_option options[] = {
    [OPTION_ACCOUNT] = {"account", 'A', "NAME", "the rules for jobs of this account"},
    [OPTION_ASK_NODES] = {"ask-nodes",
                          0,
                          NULL,
                          "with --discover: run nvidia-smi on a node of each type"},
    [OPTION_CHECK] = {"check", 0, "[=FILE]", "print all errors of this dnnest.conf"},
    [OPTION_DISCOVER] = {"discover",
                         0,
                         "[=FILE]",
                         "print Gpu lines for the nodes of this snapshot"},
    [OPTION_GROUP] = {"group", 0, "NAME", "the rules for jobs of this group"},
    [OPTION_NVIDIA_SMI] = {"nvidia-smi",
                           0,
                           "FILE",
                           "with --discover: what 'nvidia-smi -L' printed"},
    [OPTION_PARTITION] = {"partition",
                          'p',
                          "NAME",
                          "the rules for jobs in this partition"},
    [OPTION_QOS] = {"qos", 'q', "NAME", "the rules for jobs of this QOS"},
    [OPTION_SET] = {"set", 0, "KEY=VALUE", "override a rule; may be repeated"},
    [OPTION_SLURM] = {"slurm", 0, "VERSION", "the version of Slurm to answer for"},
    [OPTION_USER] = {"user", 0, "NAME", "the rules for jobs of this user"},
    {NULL, 0, NULL, NULL},
};

/* The options of a call. */
struct call {
    struct dn_options given;
    struct dn_settings settings;
    struct dn_submitter submitter;
    bool submits; /* a submitter was named */
    bool check;
    bool discovers;
    struct dn_discover discover;
    const char *slurm; /* the version */
};

/* Look up a user of this system, by name or number. */
static bool find_user (const char *name, struct dn_submitter *submitter)
{
    const struct passwd *entry;

    if (!dn_options_user (name, &submitter->user_id))
        return false;
    /* cppcheck-suppress getpwuidCalled ; there is one thread */
    entry = getpwuid ((uid_t) submitter->user_id);
    if (entry && submitter->group_id == DN_UNSET)
        submitter->group_id = (int64_t) entry->pw_gid;
    return true;
}

static bool find_group (const char *name, struct dn_submitter *submitter)
{
    const struct dn_people *system = &dn_people_of_system;
    struct dn_group group = {0};
    struct dn_err err = {0};

    if (dn_int_read (dn_span_of (name), "group", 0, UINT32_MAX, &group.gid, NULL) < 0
        && system->find_group (system->self, name, &group, &err) < 0) {
        dn_complain ("--group: %s", err.text);
        return false;
    }
    submitter->group_id = group.gid;
    dn_group_free (&group);
    return true;
}

/* The option that getopt has just returned; false after a complaint. */
static bool take_option (struct call *call, const struct dn_command *self, int option)
{
    struct dn_submitter *submitter = &call->submitter;
    const char *argument = call->given.argument;

    switch (option) {
    case OPTION_CHECK:
        call->check = true;
        if (argument)
            dn_options_conf (&call->given, argument);
        return true;
    case OPTION_DISCOVER:
        call->discovers = true;
        call->discover.snapshot = argument;
        return true;
    case OPTION_ASK_NODES:
        call->discover.ask_nodes = true;
        return true;
    case OPTION_NVIDIA_SMI:
        call->discover.nvidia_smi = argument;
        return true;
    case OPTION_SLURM:
        call->slurm = argument;
        return true;
    case OPTION_SET:
        return dn_settings_add (&call->settings, self, argument);
    case OPTION_ACCOUNT:
        submitter->account = argument;
        break;
    case OPTION_PARTITION:
        submitter->partition = argument;
        break;
    case OPTION_QOS:
        submitter->qos = argument;
        break;
    case OPTION_GROUP:
        if (!find_group (argument, submitter))
            return false;
        break;
    case OPTION_USER:
        if (!find_user (argument, submitter))
            return false;
        break;
    default:
        break;
    }
    call->submits = true;
    return true;
}

/* Refuse options that have no effect together. Return an enum dn_exit. */
static int check_options (const struct call *call, const struct dn_command *self)
{
    if (call->check && call->discovers)
        return dn_options_misuse (self, "--check cannot be combined with --discover");
    if (!call->discovers && (call->discover.ask_nodes || call->discover.nvidia_smi))
        return dn_options_misuse (self, "--ask-nodes and --nvidia-smi need --discover");
    return DN_EXIT_DONE;
}

/* Return false to leave with the exit code of 'given'. */
static bool take_options (struct call *call,
                          const struct dn_command *self,
                          int argc,
                          char **argv)
{
    struct dn_options *given = &call->given;
    int option;

    dn_options_begin (given, self, argc, argv);
    while ((option = dn_options_next (given)) >= 0)
        if (!take_option (call, self, option)) {
            given->exit_code = DN_EXIT_USAGE;
            return false;
        }
    if (option != DN_OPTION_END || !dn_options_count (given, 0, call->check ? 1 : 0))
        return false;
    if (given->n_args > 0)
        dn_options_conf (given, given->args[0]);
    given->exit_code = check_options (call, self);
    return given->exit_code == DN_EXIT_DONE;
}

static int show (const struct call *call, const struct dn_site *site)
{
    const struct dn_submitter *submitter = &call->submitter;
    dn_cleanup (dn_seen_free) struct dn_seen seen = {0};
    struct dn_origins origins;
    struct dn_rules rules = dn_site_rules (site, submitter, &origins);
    const struct dn_config_view view = {.site = site,
                                        .conf = call->given.paths.conf,
                                        .submitter = call->submits ? submitter : NULL,
                                        .rules = &rules,
                                        .origins = &origins,
                                        .seen = &seen};

    if (site->time_min_refused)
        dn_complain ("%s", dn_say_time_min_refused);
    dn_config_warn (view.conf, &site->policies, NULL);
    dn_seen_read (&seen, site, NULL);
    if (!call->given.json)
        return dn_config_print (&view);
    dn_config_print_json (&view);
    return DN_EXIT_DONE;
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    struct call call = {.submitter = {.user_id = DN_UNSET, .group_id = DN_UNSET},
                        .slurm = dn_slurm_version_default};
    struct dn_err err = {0};

    if (!take_options (&call, self, argc, argv))
        return call.given.exit_code;
    if (dn_slurm_version_read (call.slurm, &call.given.slurm_version, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    if (call.check)
        return dn_config_check (&call.given, call.settings.text);
    site = dn_options_site (&call.given, call.settings.text);
    if (!site)
        return call.given.exit_code;
    call.discover.json = call.given.json;
    return call.discovers ? dn_discover (&call.discover, site) : show (&call, site);
}

const struct dn_command dn_cmd_config = {
    .name = "config",
    .summary = "Show the rules that apply, and to whom, or check a dnnest.conf",
    .arguments = "",
    .options = options,
    .run = run,
};
