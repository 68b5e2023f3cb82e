/* site.c - tests of dnnest.conf and of the overrides from slurm.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"

static void bad_configuration_is_named_by_file_and_line (void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"Mode=enforce\nMod=advise", "conf: line 2: unknown key 'Mod'"},
        {"Mode", "conf: line 1: 'Mode' is not of the form Key=Value"},
        {"\n\nTimeQuantile=2",
         "conf: line 3: TimeQuantile: 2 out of range 0.5..0.9999"},
        {"Gpu Type=a Device=b", "conf: line 1: Device: 'b' is not in"},
        {"Gpu", "conf: line 1: a Gpu line needs"},
        {"Gpus Type=a", "conf: line 1: 'Gpus' is not of the form"},
        {"Message=\"open", "conf: line 1: a quote is not closed"},
    };
    struct dn_site *site = scene_site ("");

    (void) state;
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_err err = {0};

        assert_int_equal (dn_site_read (site, dn_span_of (cases[i].text), "conf", &err),
                          -1);
        assert_contains (err.text, cases[i].says);
    }
    scene_free (site);
}

static void paths_must_be_absolute (void **state)
{
    struct dn_site *site = scene_site ("");
    struct dn_err err;

    (void) state;
    assert_int_equal (
        dn_site_read_paths (site,
                            dn_span_of ("Mode=x\nHardwareDir=/a/b\nDatasets=\"/c d\"\n"
                                        "DecisionLog=/l Counters=/p"),
                            "conf",
                            &err),
        0);
    assert_string_equal (site->hardware_dir, "/a/b");
    assert_string_equal (site->datasets_file, "/c d");
    assert_string_equal (site->decision_log, "/l");
    assert_string_equal (site->counters, "/p");
    assert_int_equal (
        dn_site_read_paths (site, dn_span_of ("HardwareDir=a/b"), "conf", &err), -1);
    assert_contains (err.text, "'a/b' is not an absolute path");
    scene_free (site);
}

static void slurm_conf_overrides_single_rules (void **state)
{
    struct dn_site *site = scene_site ("Mode=enforce");
    struct dn_err err;

    (void) state;
    assert_int_equal (dn_site_override (site, NULL, &err), 0);
    assert_int_equal (
        dn_site_override (
            site, "enable_rpc_queue,dnnest_mode=observe, dnnest_time_margin=0.5", &err),
        -1);
    assert_contains (err.text, "SlurmctldParameters: unknown key 'time_margin'");
    assert_int_equal (dn_site_override (site,
                                        "idle_on_node_suspend,dnnest_mode=observe,"
                                        "DNNEST_TimeMargin=0.5",
                                        &err),
                      0);
    assert_int_equal (site->rules.mode, DN_MODE_OBSERVE);
    assert_near (site->rules.time_margin, 0.5);
    scene_free (site);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("bad configuration is named by file and line",
              bad_configuration_is_named_by_file_and_line),
        TEST ("paths must be absolute", paths_must_be_absolute),
        TEST ("slurm.conf overrides single rules", slurm_conf_overrides_single_rules),
    };

    return cmocka_run_group_tests_name ("site", tests, NULL, NULL);
}
