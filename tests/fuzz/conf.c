/* conf.c - fuzz target: dnnest.conf, and the settings that override it
 *
 * Attack surface: rules, paths, Policy and Gpu lines; SlurmctldParameters; settings of
 * the command line. The input is split at its form feeds into these. A configuration
 * that is read gives rules for any job.
 *
 * Aims at: model/site.c model/policy/rules.c model/policy/scope.c model/base/keyline.c
 * model/hardware/gpu_types.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include "../unit/scene.h"

enum part {
    PART_CONF,
    PART_PARAMETERS,
    PART_SETTINGS,
    N_PARTS
};

static int n_told;

static void tell (void *to, const struct dn_err *err)
{
    (void) to;
    expect_message (err);
    n_told++;
}

/* Every rule is within its range, for any job. */
static void check_rules (const struct dn_site *site)
{
    static const struct dn_submitter submitters[] = {
        {NULL, NULL, NULL, DN_UNSET, DN_UNSET},
        {"debug", "course", "exam", 0, 0},
        {"gpu,debug", "a", "b", 1000, 100},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (submitters); i++) {
        struct dn_origins origins;
        struct dn_rules rules = dn_site_rules (site, &submitters[i], &origins);

        expect (rules.mode >= DN_MODE_OBSERVE && rules.mode <= DN_MODE_ENFORCE, "Mode");
        expect (rules.time_quantile > 0 && rules.time_quantile < 1, "TimeQuantile");
        expect (rules.time_margin >= 0 && rules.max_slowdown >= 0
                    && rules.memory_headroom >= 0,
                "a share");
        expect (rules.time_min_s >= 0 && rules.time_max_s >= 0, "a time");
        expect (rules.cpus_per_gpu_min >= 0 && rules.cpus_per_gpu_max >= 0, "CPUs");
    }
}

/* Devices of a site that is not changed. */
static const struct dn_site *shared (void)
{
    static struct dn_site *site;

    if (!site)
        site = scene_site ("");
    return site;
}

/* With 'problems' all errors are reported, without it the first one ends the reading.
 */
static void read_conf (char *parts[N_PARTS], struct dn_problems *problems)
{
    const struct dn_site_reading reading = {NULL, problems, true};
    struct dn_span conf = dn_span_of (parts[PART_CONF]);
    struct dn_site *site = calloc (1, sizeof (*site));
    struct dn_catalogue none = {.devices = NULL};
    struct dn_err err = {0};

    if (!site || dn_site_init (site, "/hardware", "/datasets", &err) < 0)
        abort ();
    site->catalogue = shared ()->catalogue; /* borrowed */
    if (dn_site_read_paths (site, conf, "conf", problems, &err) < 0
        || dn_site_read (site, conf, "conf", &reading, &err) < 0
        || dn_site_override (site, parts[PART_PARAMETERS], &err) < 0
        || dn_site_set (site, parts[PART_SETTINGS], &err) < 0)
        expect_message (&err);
    else
        check_rules (site);
    dn_site_refuse_time_min (site);
    site->catalogue = none;
    dn_site_free (site);
    free (site);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_problems problems = {tell, NULL, 0};
    INPUT_TEXT (text);
    char *parts[N_PARTS];

    cut_parts (text, parts, N_PARTS);
    n_told = 0;
    read_conf (parts, &problems);
    expect (n_told == problems.n, "problems that were not reported");
    read_conf (parts, NULL);
    dn_site_time_min_is_soft (2411, parts[PART_PARAMETERS]);
    return 0;
}
