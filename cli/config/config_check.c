/* config_check.c - the errors, contradictions and doubts of a dnnest.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "config/config_check.h"

#include <stdio.h>

#include "config/contradictions.h"
#include "output/json.h"
#include "seen.h"
#include "slurm_conf.h"

static bool has_guard (const struct dn_site *site)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen;

    dn_seen_read (&seen, site, NULL);
    return seen.guarded.state == DN_SEEN_USED;
}

/* What the site lacks for limits that follow the likely time; NULL: nothing, or it does
 * not let dnnest set any. 'slurm' is the version of Slurm (2411); 'slurm_conf': its
 * parameters were read, so what is not in them is not set.
 */
static const char *site_advice (const struct dn_site *site, int slurm, bool slurm_conf)
{
    enum dn_time_mode mode = site->rules.time_limit;

    if (mode == DN_TIME_KEEP || mode == DN_TIME_TIME_MIN
        || (mode == DN_TIME_AUTO && site->time_min_is_soft))
        return NULL;
    if (mode == DN_TIME_AUTO && slurm >= DN_SOFT_TIME_MIN_SLURM)
        return slurm_conf ? "SchedulerParameters=time_min_as_soft_limit in slurm.conf "
                            "lets Slurm plan with the predicted time, and jobs keep "
                            "their whole time limits"
                          : NULL;
    return has_guard (site)
               ? NULL
               : "no guard is alive: while dnnestd runs, time limits follow "
                 "GuardedQuantile, and are extended where a job needs more";
}

/* Errors that are printed; the others are counted. */
#define PROBLEMS_MAX 100

/* The errors of a check: printed immediately, or collected for the JSON. */
struct findings {
    struct json_object *array; /* NULL: print them */
    const char *prefix;        /* of what is printed */
    int n;
};

static void find (void *to, const struct dn_err *err)
{
    struct findings *findings = to;

    if (++findings->n > PROBLEMS_MAX)
        return;
    if (findings->array)
        json_object_array_add (findings->array, dn_json_text (err->text));
    else
        dn_complain ("%s%s", findings->prefix, err->text);
}

void dn_config_warn (const char *conf,
                     const struct dn_policies *policies,
                     struct json_object *array)
{
    int n = policies->n_unknown < DN_POLICY_UNKNOWN_MAX ? policies->n_unknown
                                                        : DN_POLICY_UNKNOWN_MAX;

    for (int i = 0; i < n; i++) {
        char text[DN_ERR_TEXT_MAX];

        dn_unknown_write (&policies->unknown[i], text);
        if (array)
            json_object_array_add (array, dn_json_text (text));
        else
            dn_complain ("warning: %s: %s", conf, text);
    }
    if (policies->n_unknown > n && !array)
        dn_complain (
            "warning: %s: and %d more such names", conf, policies->n_unknown - n);
}

static void count_more (const struct findings *findings)
{
    if (findings->n > PROBLEMS_MAX)
        dn_complain ("%sand %d more", findings->prefix, findings->n - PROBLEMS_MAX);
}

static const char *advice_for (const struct dn_options *given,
                               const struct dn_site *site)
{
    struct dn_slurm_conf slurm;

    if (dn_slurm_conf_read (given->paths.conf, &slurm, NULL) < 0)
        slurm.found = false;
    return site_advice (site, given->slurm_version, slurm.found);
}

/* A file that is not there has no errors, but it is not what an admin wants to check.
 */
static void find_contradictions (const char *conf,
                                 const struct dn_site *site,
                                 struct dn_problems *problems,
                                 struct dn_problems *warnings)
{
    dn_cleanup (dn_seen_free) struct dn_seen seen = {0};
    struct dn_err err = {0};

    if (!conf) {
        dn_err_set (&err,
                    DN_E_IO,
                    "%s: there is no such file, the defaults apply",
                    dn_load_default_paths ().conf);
        dn_problems_take (problems, &err);
        return;
    }
    dn_seen_read (&seen, site, NULL);
    dn_contradictions_find (site, dn_seen_cluster (&seen), conf, problems, warnings);
}

/* Keys that were dropped. */
static void find_dropped (const char *conf,
                          const struct dn_site *site,
                          struct dn_problems *warnings)
{
    for (unsigned left = site->dropped; left != 0; left &= left - 1) {
        char text[DN_ERR_TEXT_MAX];
        struct dn_err err = {0};

        dn_rules_dropped_write (__builtin_ctz (left), text);
        dn_err_set (&err, DN_E_RANGE, "%s: %s", conf, text);
        dn_problems_take (warnings, &err);
    }
}

int dn_config_check (struct dn_options *given, const char *settings)
{
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    dn_cleanup (dn_site_cleanup) struct dn_site *site = NULL;
    const char *conf = given->paths.conf;
    struct findings findings = {NULL, "", 0};
    struct findings doubts = {NULL, "warning: ", 0};
    struct dn_problems problems = {find, &findings, 0};
    struct dn_problems warnings = {find, &doubts, 0};
    const char *advice;

    dn_json_add_text (json, "conf", conf);
    if (given->json) {
        findings.array = dn_json_add_array (json, "errors");
        doubts.array = dn_json_add_array (json, "warnings");
    }
    site = dn_options_site_with (given, settings, &problems);
    if (!site)
        return given->exit_code;
    if (findings.n == 0)
        find_contradictions (conf, site, &problems, &warnings);
    if (findings.array && site->bundle_err.code != DN_E_NONE)
        find (&findings, &site->bundle_err);
    count_more (&findings);
    find_dropped (conf, site, &warnings);
    count_more (&doubts);
    dn_config_warn (conf, &site->policies, doubts.array);
    advice = advice_for (given, site);
    dn_json_add_text (json, "advice", advice);
    if (findings.array)
        dn_json_print (json);
    if (findings.n > 0 || site->bundle_err.code != DN_E_NONE)
        return DN_EXIT_CONF; /* dn_options_site_with () has reported the bundle */
    if (!findings.array)
        printf ("%s: ok%s%s\n", conf, advice ? "\nadvice: " : "", advice ? advice : "");
    return DN_EXIT_DONE;
}
