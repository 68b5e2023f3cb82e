/* apps.c - tests of the file of histories
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "predict/apps.h"

#include "base/limits.h"
#include "state_text.h"

static const char whole[] =
    "History Version=3 Cluster=c Time=1700000000 ByAccount=no Bundle=2026.1\n"
    "Type Name=a100\n"
    "Type Name=v100\n"
    "Network Graph={'dnnest':1,'spec':{},'graph':{'name':'graph','ops':[]}}\n"
    "App Key=00000000000000ff Type=0 Gpus=4 Unit=run Freedom=2 Runs=3 Last=1699999999 "
    "Time=3600000000 Sigma=80000 Longest=3700500\n"
    "App Key=00000000000000ff Type=1 Unit=epochs Freedom=9 Runs=10 Last=1699999998 "
    "Start=60000 Time=120000000 Sigma=50000 Longest=12000000 Cores=3500 "
    "Memory=10240 HostMemory=30720 HostRuns=3 HostKept=yes WorkMin=10 WorkMax=90 "
    "MemorySaid=yes\n"
    "App Key=ffffffffffffffff Type=0 Gpus=1 Unit=predicted Freedom=255 Runs=4000 "
    "Last=5 Time=1250000 Sigma=1 Longest=7 WorkMin=100 WorkMax=20000 "
    "Step=210500 StartUp=12300\n"
    "Captured Key=00000000000000ff Spec=batch=256,precision=fp16 Arch=sm_70,sm_80 "
    "Network=0 Job=12_3 Kin=0000000000000001 Batch=64 Last=1699999999 Steps=5000 Epochs=10500 Loader=20000 Workers=4 Gpus=4 "
    "GpusUsed=1 GpusRuns=2\n"
    "Captured Key=ffffffffffffffff Last=5\n"
    "End Rows=3 Captured=2\n";

STATE_READER (struct dn_apps, dn_apps_read, dn_apps_free, "history")

TEST ("what is read is written again")
{
    struct dn_apps *apps = read_text (whole);
    struct text text = {NULL, 0};

    assert_true (apps->time_s == 1700000000 && !apps->by_account);
    assert_string_equal (apps->bundle, "2026.1");
    assert_int_equal (apps->n_rows, 3);
    assert_int_equal (apps->rows[1].unit, DN_WORK_EPOCHS);
    assert_float_equal (apps->rows[1].cores, 3.5, 1e-6);
    assert_float_equal (apps->rows[1].gpu_mem_gb, 10, 1e-6);
    assert_float_equal (apps->rows[1].mem_gb, 30, 1e-6);
    assert_true (apps->rows[1].gpu_mem_said && !apps->rows[0].gpu_mem_said);
    assert_true (apps->rows[1].mem_runs == 3 && apps->rows[1].mem_kept);
    assert_true (apps->rows[0].mem_runs == 0 && !apps->rows[0].mem_kept);
    assert_float_equal (apps->rows[0].work_max, 1, 0);
    assert_float_equal (apps->rows[2].step_s, 0.2105, 1e-6);
    assert_float_equal (apps->rows[2].start_up_s, 12.3, 1e-5);
    assert_int_equal (dn_apps_write (apps, text_put, &text), 0);
    assert_string_equal (text.text, whole);
}

TEST ("an application is known by what its newest run has described")
{
    struct dn_apps *apps = read_text (whole);
    const struct dn_app_known *known = dn_apps_known (apps, 0xff);

    assert_non_null (known);
    assert_string_equal (known->spec, "batch=256,precision=fp16");
    assert_string_equal (known->arch, "sm_70,sm_80");
    assert_string_equal (known->job, "12_3");
    assert_true (known->kin == 1 && known->batch == 64);
    assert_string_equal (dn_apps_network (apps, known),
                         "{\"dnnest\":1,\"spec\":{},\"graph\":{\"name\":\"graph\","
                         "\"ops\":[]}}");
    assert_true (known->last_s == 1699999999 && known->steps == 5000);
    assert_float_equal (known->epochs, 10.5, 1e-6);
    assert_float_equal (known->loader_share, 0.02, 1e-6);
    assert_true (known->workers == 4 && known->gpus == 4 && known->gpus_used == 1
                 && known->gpus_runs == 2);
    known = dn_apps_known (apps, UINT64_MAX);
    assert_non_null (known);
    assert_true (known->spec[0] == '\0' && known->arch[0] == '\0');
    assert_true (known->workers == -1 && known->loader_share < 0);
    assert_null (dn_apps_network (apps, known));
    assert_null (dn_apps_known (apps, 0xfe));
    assert_null (dn_apps_known (NULL, 0xff));
}

TEST ("of applications that are kin the newest is known")
{
    static const char text[] = "History Version=3 Time=9 ByAccount=no\n"
                               "Captured Key=0000000000000001 Kin=0000000000000003 "
                               "Last=5\n"
                               "Captured Key=0000000000000002 Kin=0000000000000003 "
                               "Last=6\n"
                               "Captured Key=0000000000000003 Last=4\n"
                               "Captured Key=0000000000000004 Kin=0000000000000005 "
                               "Last=9\n"
                               "End Rows=0 Captured=4\n";
    struct dn_apps *apps = read_text (text);

    assert_ptr_equal (dn_apps_kin (apps, 3), &apps->known[1]);
    apps->known[2].last_s = 7;
    assert_ptr_equal (dn_apps_kin (apps, 3), &apps->known[2]);
    assert_ptr_equal (dn_apps_kin (apps, 5), &apps->known[3]);
    assert_ptr_equal (dn_apps_kin (apps, 4), &apps->known[3]);
    assert_null (dn_apps_kin (apps, 6));
    assert_null (dn_apps_kin (apps, 0));
    assert_null (dn_apps_kin (NULL, 3));
}

TEST ("what is wrong is named by line and key")
{
    static const char *const cases[] = {
        "Version=3|Version=7 Other=x|line 1: Version: 7, this program reads 3",
        "Version=3|Version=1",
        "Version=3|Version=2",
        "HostRuns=3|HostRuns=256|line 6: HostRuns: 256 out of range 0..255",
        "ByAccount=no|ByAccount=2|line 1: ByAccount: '2' is neither yes nor no",
        " Bundle=2026.1|",
        "Type Name=a100|Type Name=|line 2: Name: '' is empty",
        "Type Name=a100\n||line 5: Type: 1, the file has 1 Type lines",
        "Key=00000000000000ff|Key=ff|Key: 'ff' is not 16 hexadecimal digits",
        "Key=00000000000000ff|Key=00000000000000FF|line 5: Key: ",
        "Key=00000000000000ff|Key=-0000000000000ff|line 5: Key: ",
        "Key=00000000000000ff|Key=fffffffffffffff0|line 6: the App line is not",
        "Type=0 Gpus=4|Type=1 Gpus=4|line 6: the App line is not in the order",
        "Type=0 Gpus=4|Type=256 Gpus=4|line 5: Type: 256 out of range 0..255",
        "Gpus=4|Gpus=65536|line 5: Gpus: 65536 out of range 0..65535",
        "Unit=run|Unit=runs|line 5: Unit: 'runs' is unknown, expected one of",
        "Freedom=2|Freedom=0|line 5: Freedom: 0 out of range 1..255",
        "Sigma=80000|Sigma=nan|line 5: Sigma: 'nan' is not a whole number",
        "Sigma=80000|Sigma=0|line 5: Sigma: 0 out of range",
        "Sigma=80000 ||line 5: Sigma is missing, expected in a App line",
        "Time=3600000000|Time=0|line 5: Time: 0 out of range",
        "WorkMin=10 |WorkMin=91 |line 6: WorkMin is above WorkMax",
        "End|Type Name=x\nEnd|line 10: the Type line is out of order",
        "Rows=3|Rows=4|line 10: Rows: 4, expected 3",
        "End Rows=3 Captured=2\n||history: the End line is missing, the text was cut",
        "Captured=2\n|Captured=2\nEnd Rows=3\n|line 11: the End line is out of",
        "Network=0|Network=1|line 8: Network: 1, the file has 1 Network lines",
        "Network=0|Network=20000|line 8: Network: 20000 out of range 0..19999",
        "Captured Key=00000000000000ff|Captured Key=ffffffffffffffff|line 9: ",
        "Loader=20000|Loader=1000001|line 8: Loader: 1000001 out of range",
        "GpusRuns=2|GpusRuns=3|line 8: GpusRuns: 3 out of range 0..2",
        " Captured=2||line 10: Captured: 0, expected 2",
        "Step=210500|Step=-1|line 7: Step: -1 out of range",
    };

    assert_wrong_rows (whole, cases, DN_N_ELEMENTS (cases), "history: ", read_in);
}

TEST ("every cut of the text is noticed")
{
    assert_no_cut (whole, read_in);
}

TEST ("numbers that no file has are written as the nearest")
{
    char types[1][DN_NAME_MAX] = {"a\"100\n"};
    struct dn_app_row row = {.unit = 77,
                             .start_s = (float) NAN,
                             .unit_s = (float) INFINITY,
                             .sigma = -1,
                             .longest_s = (float) 1e30,
                             .work_min = 0};
    const struct dn_apps apps = {
        .types = types, .n_types = 1, .rows = &row, .n_rows = 1};
    struct text text = {NULL, 0};

    assert_int_equal (dn_apps_write (&apps, text_put, &text), 0);
    read_text (text.text);
}

TEST ("a row is of a type and a number of GPUs")
{
    struct dn_apps *apps = read_text (whole);
    int64_t n;

    assert_ptr_equal (dn_apps_find (apps, 0xff, "a100", 4), &apps->rows[0]);
    assert_ptr_equal (dn_apps_find (apps, 0xff, "A100", 4), &apps->rows[0]);
    assert_null (dn_apps_find (apps, 0xff, "a100", 2));
    assert_null (dn_apps_find (apps, 0xff, "h100", 4));
    /* A row without a number stands for all. */
    assert_ptr_equal (dn_apps_find (apps, 0xff, "v100", 8), &apps->rows[1]);
    assert_null (dn_apps_find (apps, 0xfe, "a100", 4));
    assert_null (dn_apps_find (NULL, 0xff, "a100", 4));
    assert_ptr_equal (dn_apps_all (apps, 0xff, &n), &apps->rows[0]);
    assert_int_equal (n, 2);
    assert_null (dn_apps_all (apps, 1, &n));
    assert_int_equal (n, 0);
}

TEST ("a key is of whom and of the name")
{
    /* printf 'user:1000:bert' | sha256sum */
    assert_true (dn_app_key_of_user (1000, "bert") == UINT64_C (0xdf87adb72192b086));
    assert_true (dn_app_key_of_account ("lab", "bert")
                 == UINT64_C (0xb6ac9884d6bec7fd));
    assert_true (dn_app_key_of_user (1001, "bert")
                 != dn_app_key_of_user (1000, "bert"));
    assert_true (dn_app_key_of_user (1000, "Bert")
                 != dn_app_key_of_user (1000, "bert"));
}

TEST ("a bound is that of Student's law")
{
    static const struct {
        uint8_t freedom;
        double quantile;
        double t; /* of a table */
    } cases[] = {{1, 0.99, 31.821},
                 {2, 0.95, 2.920},
                 {5, 0.80, 0.920},
                 {10, 0.9999, 5.694},
                 {10, 0.05, -1.812},
                 {35, 0.99, 2.457}, /* as of 30 */
                 {255, 0.99, 2.358}};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        const struct dn_app_row row = {
            .freedom = cases[i].freedom, .start_s = 10, .unit_s = 5, .sigma = 0.1F};
        struct dn_range time = dn_app_row_time (&row, 20);
        double t = log (dn_range_at (time, cases[i].quantile) / 110) / 0.1;

        assert_float_equal (time.p50, 110, 1e-6);
        if (fabs (t - cases[i].t) > 0.01 * fabs (cases[i].t))
            fail_msg ("freedom %d: %g, expected %g", cases[i].freedom, t, cases[i].t);
    }
}

/* As many descriptions as there may be, with as many bytes. */
static void add_largest (struct dn_apps *apps)
{
    char spec[DN_APPS_TEXTS_MAX / DN_APPS_KNOWN_MAX - DN_APPS_TEXT_MORE - 2];
    const struct dn_app_known known = {.spec = spec,
                                       .arch = "",
                                       .job = "",
                                       .network = -1,
                                       .last_s = UINT32_MAX,
                                       .steps = (float) 1e30,
                                       .epochs = (float) 1e30,
                                       .loader_share = 1,
                                       .workers = INT16_MAX,
                                       .gpus = UINT16_MAX,
                                       .gpus_used = UINT16_MAX,
                                       .gpus_runs = 2};

    memset (spec, 'x', sizeof (spec) - 1);
    spec[sizeof (spec) - 1] = '\0';
    for (int64_t i = 0; i < DN_APPS_KNOWN_MAX; i++) {
        struct dn_app_known one = known;

        one.key = UINT64_MAX / DN_APPS_KNOWN_MAX * (uint64_t) i;
        one.kin = UINT64_MAX - one.key;
        assert_done (dn_apps_add_known (apps, &one, &unit_err));
    }
    assert_int_equal (dn_apps_add_known (apps, &known, &unit_err), -1);
    assert_int_equal (unit_err.code, DN_E_LIMIT);
    assert_int_equal (dn_apps_add_network (apps, spec, &unit_err), -1);
    assert_int_equal (unit_err.code, DN_E_LIMIT);
}

/* Bytes of memory. */
static size_t size_of (const struct dn_apps *apps)
{
    return (size_t) apps->n_rows * sizeof (*apps->rows)
           + (size_t) apps->n_known * sizeof (*apps->known)
           + (size_t) apps->n_kin * sizeof (*apps->kin) + apps->n_text;
}

/* As many rows as there may be, with long numbers. */
static struct dn_apps *largest (void)
{
    struct dn_apps *apps = calloc (1, sizeof (*apps));

    apps->n_types = 2;
    apps->types = calloc (2, sizeof (*apps->types));
    apps->rows = calloc (DN_APPS_MAX, sizeof (*apps->rows));
    apps->n_rows = DN_APPS_MAX;
    for (int64_t i = 0; i < DN_APPS_MAX; i++)
        apps->rows[i] = (struct dn_app_row){
            .key = UINT64_MAX / DN_APPS_MAX * (uint64_t) (i / 2),
            .type = (int32_t) (i % 2),
            .gpus = UINT16_MAX,
            .unit = DN_WORK_PREDICTED,
            .freedom = UINT8_MAX,
            .runs = UINT32_MAX,
            .last_s = UINT32_MAX,
            .start_s = (float) 1e30,
            .unit_s = (float) 1e30,
            .sigma = (float) 1e30,
            .longest_s = (float) 1e30,
            .cores = (float) 1e30,
            .gpu_mem_gb = (float) 1e30,
            .work_min = (float) 1e30,
            .work_max = (float) 1e30,
            .step_s = (float) 1e30,
            .start_up_s = (float) 1e30,
        };
    add_largest (apps);
    return apps;
}

TEST ("the longest file is read and searched fast")
{
    struct dn_apps *apps = unit_keep (largest (), free_state);
    struct text text = {NULL, 0};
    int64_t found = 0;
    double start_s;
    double read_s;

    assert_int_equal (dn_apps_write (apps, text_put, &text), 0);
    assert_true (text.len < DN_APPS_FILE_MAX);
    start_s = unit_clock_s ();
    apps = read_text (text.text);
    read_s = unit_clock_s () - start_s;
    assert_int_equal (apps->n_rows, DN_APPS_MAX);
    start_s = unit_clock_s ();
    for (int64_t i = 0; i < DN_APPS_MAX; i++)
        found += dn_apps_find (apps, apps->rows[i].key, "", UINT16_MAX) != NULL;
    assert_int_equal (found, DN_APPS_MAX);
    assert_int_equal (apps->n_known, DN_APPS_KNOWN_MAX);
    assert_true (size_of (apps) <= 16000000);
    print_message ("%d rows, %d descriptions: %zu bytes of text, read in %.2f s, %zu "
                   "bytes; a lookup takes %.2f us",
                   DN_APPS_MAX,
                   DN_APPS_KNOWN_MAX,
                   text.len,
                   read_s,
                   size_of (apps),
                   1e6 * (unit_clock_s () - start_s) / DN_APPS_MAX);
    start_s = unit_clock_s ();
    for (int64_t i = 0; i < DN_APPS_KNOWN_MAX; i++)
        found -= dn_apps_known (apps, apps->known[i].key) == &apps->known[i];
    assert_int_equal (found, DN_APPS_MAX - DN_APPS_KNOWN_MAX);
    print_message (", of a description %.2f us\n",
                   1e6 * (unit_clock_s () - start_s) / DN_APPS_KNOWN_MAX);
}
