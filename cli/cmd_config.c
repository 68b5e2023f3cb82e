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
static int take_user (struct dn_options *given, void *to)
{
    struct call *call = to;
    struct dn_submitter *submitter = &call->submitter;
    const struct passwd *entry;

    if (!dn_options_user (given->argument, &submitter->user_id))
        return DN_EXIT_USAGE;
    /* cppcheck-suppress getpwuidCalled ; there is one thread */
    entry = getpwuid ((uid_t) submitter->user_id);
    if (entry && submitter->group_id == DN_UNSET)
        submitter->group_id = (int64_t) entry->pw_gid;
    return DN_EXIT_DONE;
}

static int take_group (struct dn_options *given, void *to)
{
    struct call *call = to;
    const struct dn_people *system = &dn_people_of_system;
    const char *name = given->argument;
    struct dn_person group = {0};
    struct dn_err err = {0};

    if (dn_int_read (dn_span_of (name), "group", 0, UINT32_MAX, &group.id, NULL) < 0
        && system->find_group (system->self, name, &group, &err) < 0) {
        dn_complain ("--group: %s", err.text);
        return DN_EXIT_USAGE;
    }
    call->submitter.group_id = group.id;
    dn_person_free (&group);
    return DN_EXIT_DONE;
}

static int take_check (struct dn_options *given, void *to)
{
    struct call *call = to;

    call->check = true;
    if (given->argument)
        dn_options_conf (given, given->argument);
    return DN_EXIT_DONE;
}

static int take_discover (struct dn_options *given, void *to)
{
    struct call *call = to;

    call->discovers = true;
    call->discover.snapshot = given->argument;
    return DN_EXIT_DONE;
}

static const struct dn_option options[] = {
    DN_OPT_TEXT ("account",
                 'A',
                 "NAME",
                 "the rules for jobs of this account",
                 submitter.account),
    DN_OPT_TAKE ("check",
                 0,
                 "[=FILE]",
                 "print all errors of this dnnest.conf",
                 take_check),
    DN_OPT_TAKE ("discover",
                 0,
                 "[=FILE]",
                 "print Gpu lines for the nodes of this snapshot",
                 take_discover),
    DN_OPT_TAKE ("group", 0, "NAME", "the rules for jobs of this group", take_group),
    DN_OPT_TEXT ("partition",
                 'p',
                 "NAME",
                 "the rules for jobs in this partition",
                 submitter.partition),
    DN_OPT_TEXT ("qos", 'q', "NAME", "the rules for jobs of this QOS", submitter.qos),
    DN_OPT_RULE ("set", 0, "KEY=VALUE", "override a rule; may be repeated", settings),
    DN_OPT_TEXT ("slurm", 0, "VERSION", "the version of Slurm to answer for", slurm),
    DN_OPT_TAKE ("user", 0, "NAME", "the rules for jobs of this user", take_user),
    DN_OPT_END,
};

/* Return false to leave with the exit code of 'given'. */
static bool take_options (struct call *call,
                          const struct dn_command *self,
                          int argc,
                          char **argv)
{
    struct dn_options *given = &call->given;
    const struct dn_submitter *submitter = &call->submitter;

    dn_options_begin (given, self, argc, argv);
    if (dn_options_take (given, call) != DN_OPTION_END
        || !dn_options_count (given, 0, call->check ? 1 : 0))
        return false;
    call->submits = submitter->account || submitter->partition || submitter->qos
                    || submitter->user_id != DN_UNSET
                    || submitter->group_id != DN_UNSET;
    if (given->n_args > 0)
        dn_options_conf (given, given->args[0]);
    if (call->check && call->discovers)
        given->exit_code =
            dn_options_misuse (self, "--check cannot be combined with --discover");
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
