/* site.c - tests of dnnest.conf and of the overrides from slurm.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

static int read_paths (struct dn_site *site, const char *conf)
{
    return dn_site_read_paths (site, dn_span_of (conf), "conf", NULL, &unit_err);
}

TEST ("paths must be absolute")
{
    struct dn_site *site = scene_site ("");

    assert_done (read_paths (site,
                             "Mode=x\nDataDir=\"/a b\"\nZooDir=/z\n"
                             "DecisionLog=/l Counters=/p"));
    assert_string_equal (site->hardware_dir, "/a b/hardware");
    assert_string_equal (site->datasets_file, "/a b/datasets.conf");
    assert_string_equal (site->zoo_dir, "/z");
    assert_string_equal (site->decision_log, "/l");
    assert_string_equal (site->counters, "/p");
    assert_error (read_paths (site, "DataDir=a/b"), "'a/b' is not an absolute path");
}

TEST ("keys that were dropped are noted, and change nothing")
{
    static const char conf[] = "Mode=enforce GuardTrust=1\nHardwareDir=/h\n"
                               "Policy User=1 MinGain=0\nCarbon=2 PUE=many\n";
    struct dn_site *site = scene_site ("");

    assert_done (read_paths (site, conf));
    assert_done (dn_site_read (site, dn_span_of (conf), "conf", NULL, &unit_err));
    assert_done (dn_site_override (site, "dnnest_mingain=x", &unit_err));
    assert_int_equal (site->rules.mode, DN_MODE_ENFORCE);
    assert_string_equal (site->hardware_dir, "/h");
    assert_near (site->carbon_g_per_kwh, 2);
    /* GuardTrust, MinGain, PUE and HardwareDir */
    assert_int_equal (site->dropped, 1 + 2 + 4 + 128);
}

TEST ("each cluster has a StateDir of its own")
{
    static const struct {
        const char *conf;
        const char *name;
        const char *dir;
    } rows[] = {
        {"", "alpha", DNNEST_STATE_DIR "/alpha"},
        {"", "a-1_b.c", DNNEST_STATE_DIR "/a-1_b.c"},
        {"", "", DNNEST_STATE_DIR},
        {"", "../etc", DNNEST_STATE_DIR},
        {"", ".alpha", DNNEST_STATE_DIR},
        {"", "a b", DNNEST_STATE_DIR},
        {"", "model", DNNEST_STATE_DIR},
        {"StateDir=" DNNEST_STATE_DIR, "alpha", DNNEST_STATE_DIR},
        {"StateDir=/s/%c/x", "alpha", "/s/alpha/x"},
        {"StateDir=/s/%c/x", "", "/s/x"},
        {"StateDir=/s/x-%c-%c", "alpha", "/s/x-alpha-alpha"},
    };
    struct dn_site *site;

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        site = scene_site ("");
        assert_done (read_paths (site, rows[i].conf));
        /* Again, as when dnnest.conf is loaded before Slurm's configuration. */
        for (int again = 0; again < 2; again++) {
            assert_done (dn_site_set_cluster (site, rows[i].name, &unit_err));
            assert_string_equal (site->state_dir, rows[i].dir);
            assert_string_equal (site->cluster, rows[i].name);
        }
    }
    site = scene_site ("");
    strcpy (site->state_dir, unit_repeat ("/%c/xxxx", DN_SITE_PATH_MAX - 1));
    assert_error (dn_site_set_cluster (site, "alpha", &unit_err),
                  "StateDir: path too long");
}

TEST ("slurm.conf overrides single rules")
{
    struct dn_site *site = scene_site ("Mode=enforce");

    assert_done (dn_site_override (site, NULL, &unit_err));
    assert_error (dn_site_override (
                      site,
                      "enable_rpc_queue,dnnest_mode=observe, dnnest_time_margin=0.5",
                      &unit_err),
                  "SlurmctldParameters: unknown key 'time_margin'");
    assert_done (dn_site_override (site,
                                   "idle_on_node_suspend,dnnest_mode=observe,"
                                   "DNNEST_TimeMargin=0.5",
                                   &unit_err));
    assert_int_equal (site->rules.mode, DN_MODE_OBSERVE);
    assert_near (site->rules.time_margin, 0.5);
    /* Numbers of the site can be overridden too. Its paths are already in use. */
    assert_near (site->decision_ms, 5);
    assert_done (dn_site_override (
        site, "dnnest_decisiontime=2.5,dnnest_carbon=1.3", &unit_err));
    assert_numbers ("2.5 1.3", site->decision_ms, site->carbon_g_per_kwh);
    assert_error (dn_site_override (site, "dnnest_decisiontime=-1", &unit_err),
                  "SlurmctldParameters: DecisionTime: ");
    assert_error (dn_site_override (site, "dnnest_bundle=/b", &unit_err),
                  "SlurmctldParameters: unknown key 'bundle'");
}

TEST ("--time-min is a soft limit only where Slurm has it so")
{
    static const struct {
        int version;
        const char *parameters;
        bool soft;
    } cases[] = {
        {2205, "time_min_as_soft_limit", false},
        {2405, "time_min_as_soft_limit", false},
        {2411, "time_min_as_soft_limit", true},
        {2605, "bf_interval=2, Time_Min_As_Soft_Limit ,x", true},
        {2411, "time_min_as_soft_limit=1x", false},
        {2411, "no_time_min_as_soft_limit", false},
        {2411, "", false},
        {2411, NULL, false},
        {0, "time_min_as_soft_limit", false},
    };
    struct dn_site *site = scene_site ("TimeLimit=time_min\nPolicy User=1 "
                                       "TimeLimit=limit\nPolicy User=2 "
                                       "TimeLimit=time_min");

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        if (dn_site_time_min_is_soft (cases[i].version, cases[i].parameters)
            != cases[i].soft)
            fail_msg ("case %zu", i);
    dn_site_refuse_time_min (site);
    assert_true (site->time_min_refused);
    assert_int_equal (site->rules.time_limit, DN_TIME_KEEP);
    assert_int_equal (site->policies.list[0].rules.time_limit, DN_TIME_LIMIT);
    assert_int_equal (site->policies.list[1].rules.time_limit, DN_TIME_KEEP);
    site = scene_site ("TimeLimit=limit");
    dn_site_refuse_time_min (site);
    assert_false (site->time_min_refused);
}

/* One message per line. */
static void keep_problem (void *to, const struct dn_err *err)
{
    char *text = to;

    strcat (text, err->text);
    strcat (text, "\n");
}

TEST ("all problems are reported where requested")
{
    static const char conf[] =
        "Mode=wild TimeMin=x\nDataDir=a\n\nCarbon=-1\n"
        "Gpu Type=a Device=b\nMessage=\"open\nBogus\n"
        "Policy User=1\nNoSuchKey=1 MaxSlowdown=0\nMode=observe\n";
    struct dn_site *site = scene_site ("");
    char told[4096] = "";
    struct dn_problems problems = {keep_problem, told, 0};
    struct dn_site_reading reading = {.problems = &problems, .gpus = true};

    assert_int_equal (
        dn_site_read_paths (site, dn_span_of (conf), "conf", &problems, NULL), 0);
    assert_string_equal (told, "conf: line 2: DataDir: 'a' is not an absolute path\n");
    assert_int_equal (dn_site_read (site, dn_span_of (conf), "conf", &reading, NULL),
                      0);
    assert_int_equal (problems.n, 10);
    assert_contains (told, "conf: line 1: Mode: 'wild' is unknown");
    assert_contains (told, "conf: line 1: TimeMin: 'x' is not a time");
    assert_contains (told, "conf: line 4: Carbon: -1 out of range");
    assert_contains (told, "conf: line 5: Device: 'b' is not in");
    assert_contains (told, "conf: line 6: a quote is not closed");
    assert_contains (told, "conf: line 7: 'Bogus' is not of the form");
    assert_contains (told, "conf: line 8: a Policy line needs");
    assert_contains (told, "conf: line 9: unknown key 'NoSuchKey'");
    assert_contains (told, "conf: line 9: MaxSlowdown: 0 out of range");
    assert_int_equal (site->rules.mode, DN_MODE_OBSERVE);
}

TEST ("every rule knows where it came from")
{
    struct dn_site *site = scene_site ("Mode=advise\n\nMode=enforce Cpus=keep");
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    assert_int_equal (dn_site_override (site, "dnnest_GPUTYPE=keep", NULL), 0);
    assert_int_equal (dn_site_set (site, "TimeLimit=keep", NULL), 0);
    for (int i = 0; i < n_keys; i++) {
        int want = strcmp (keys[i].name, "Mode") == 0        ? 3
                   : strcmp (keys[i].name, "Cpus") == 0      ? 3
                   : strcmp (keys[i].name, "GpuType") == 0   ? DN_ORIGIN_SLURM
                   : strcmp (keys[i].name, "TimeLimit") == 0 ? DN_ORIGIN_SETTING
                                                             : DN_ORIGIN_DEFAULT;

        assert_int_equal (site->origins.line[i], want);
    }
    assert_int_equal (site->rules.mode, DN_MODE_ENFORCE);
}
