/* tuning.c - tests of what a site learns: site.json, and the fit to its runs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <json-c/json.h>

#include "scene.h"
#include "site_runs.h"
#include "state_text.h"

#define LENGTHS                                                                        \
    "\"lengths\": {\"batch\": 3, \"accumulation\": 3, \"gpus\": 4, \"nodes\": 4,"      \
    " \"sample_flops\": 5, \"device\": 1.5, \"precision\": 2}"

static const char small[] =
    "{\"dnnest_site\": 4, \"runs\": 37,"
    " \"constants\": {\"launch_s\":"
    " {\"value\": 4e-05, \"shipped\": 6e-05, \"sigma\": 0.2}},"
    " \"step\": {\"scale\": 1.1, \"runs\": 37, \"sigma\": 0.05},"
    " \"memory\": {\"scale\": 1.5, \"runs\": 4, \"sigma\": 0.1},"
    " \"power\": {\"scale\": 0.5, \"runs\": 4, \"sigma\": 0.1},"
    " \"devices\": {\"v100_16gb\": {\"scale\": 2, \"runs\": 20, \"sigma\": 0.03}}}";

static struct dn_tuning *read_text (const char *text)
{
    return site_tuning (assert_made (dn_tuning_read (dn_span_of (text), &unit_err)));
}

/* What is written of it. */
static const char *text_of (const struct dn_tuning *tuning)
{
    struct json_object *document = dn_tuning_write (tuning);
    const char *text = unit_text (
        "%s", json_object_to_json_string_ext (document, JSON_C_TO_STRING_PLAIN));

    json_object_put (document);
    return text;
}

TEST ("site.json is read")
{
    struct dn_tuning *tuning = read_text (small);

    assert_numbers ("37 4e-05", tuning->runs, tuning->constants.launch_s);
    assert_near (tuning->constants.step_s, dn_constants_default.step_s);
    assert_near (dn_scales_find (&tuning->devices, "v100_16gb")->scale, 2);
    assert_int_equal (dn_scales_find (&tuning->devices, "v100_16gb")->runs, 20);
    assert_null (dn_scales_find (&tuning->devices, "v100_16g"));
    assert_null (tuning->history);
}

TEST ("what is written is read again")
{
    const char *text = text_of (read_text (small));

    assert_string_equal (text_of (read_text (text)), text);
}

static void expect_refusal (const char *text, const char *part)
{
    if (dn_tuning_read (dn_span_of (text), &unit_err))
        fail_msg ("'%s' was read", text);
    assert_contains (unit_err.text, part);
}

TEST ("hostile documents are refused")
{
#define HEAD "{\"dnnest_site\": 4, \"runs\": 3"
#define ONE(v)                                                                         \
    ", \"constants\": {\"launch_s\": {\"value\": " v ", \"shipped\": 1, \"sigma\": 0}}"
    static const char *const texts[][2] = {
        {"", "empty"},
        {"[]", "not a JSON object"},
        {"{}", "dnnest_site: missing"},
        {"{\"dnnest_site\": 5, \"runs\": 3}",
         "version 5, expected 4; make it again with 'dnnest-dev train --site'"},
        {"{\"dnnest_site\": 2, \"runs\": 3}", "version 2, expected 4"},
        {"{\"dnnest_site\": 1, \"runs\": 3, \"cells\": {}}", "version 1, expected 4"},
        {"{\"dnnest_site\": 4}", "runs: missing"},
        {"{\"dnnest_site\": 4, \"runs\": -1}", "runs: -1 out of range"},
        {HEAD ", \"runz\": 4}", "'runz': unknown, expected one of dnnest_site runs"},
        {HEAD ", \"applications\": {}}", "'applications': unknown"},
        {HEAD ONE ("0") "}", "constants: 'launch_s': value: 0 out of range"},
        {HEAD ONE ("-1e-5") "}", "out of range"},
        {HEAD ONE ("1e300") "}", "out of range"},
        {HEAD ONE ("1e999") "}", ""},
        {HEAD ONE ("NaN") "}", ""},
        {HEAD ONE ("\"4e-5\"") "}", "value: found string, expected a number"},
        {HEAD ", \"constants\": {\"launch_s\": 4e-5}}", "'launch_s': not an object"},
        {HEAD ", \"constants\": []}", "constants: found array, expected an object"},
        {HEAD ", \"constants\": {\"sigma_step\": {\"value\": 1}}}",
         "'sigma_step': no constant that a site may set"},
        {HEAD ", \"constants\": {\"lunch_s\": {\"value\": 1}}}", "'lunch_s'"},
        {HEAD ", \"devices\": {\"a\": {\"scale\": 0, \"runs\": 1, \"sigma\": 0}}}",
         "devices: 'a': scale: 0 out of range"},
        {HEAD ", \"devices\": {\"a\": {\"scale\": 1, \"runs\": 1}}}", "sigma"},
        {HEAD ", \"devices\": {\"a\": {\"scale\": 1, \"runs\": 1, \"sigma\": 0,"
              " \"x\": 1}}}",
         "'x': unknown, expected one of scale"},
        {HEAD ", \"step\": 1}", "step: not an object"},
        {HEAD ", \"history\": 1}", "history"},
        {HEAD "}x", "text after the JSON value"},
        {HEAD ", \"runs\": 3}", "'runs': given twice"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (texts); i++)
        expect_refusal (texts[i][0], texts[i][1]);
}

TEST ("a huge document is refused")
{
    size_t size = DN_TUNING_MAX + 2;
    char *text = unit_keep (malloc (size), free);
    char *at;

    memset (text, ' ', size - 1);
    text[size - 1] = '\0';
    memcpy (text, small, sizeof (small) - 1);
    expect_refusal (text, "262145 bytes, expected at most 262144");
    at = text + sprintf (text, "{\"dnnest_site\": 4, \"runs\": 3, \"devices\": {");
    for (int i = 0; i <= DN_TUNING_SCALES_MAX; i++)
        at += sprintf (at,
                       "%s\"d%d\": {\"scale\": 1, \"runs\": 1, \"sigma\": 0}",
                       i > 0 ? "," : "",
                       i);
    sprintf (at, "}}");
    expect_refusal (text, "more than 1024 scales");
}

static double tuned (struct dn_tuning *tuning, const struct dn_site_run *run)
{
    return site_run_refined (tuning, run).step_s.p50;
}

static const char *const specs[] = {
    "model=resnet50,batch=1,precision=fp16,input=synthetic,optimizer=sgd,app=a",
    "model=resnet50,batch=128,precision=fp16,input=synthetic,optimizer=sgd,app=a",
    "model=bert_base,batch=2,precision=fp16,input=synthetic,optimizer=adam,app=b",
    "model=bert_base,batch=32,precision=fp16,input=synthetic,optimizer=adam,app=b",
    "model=vgg16,batch=32,precision=fp32,input=synthetic,optimizer=sgd,app=c",
    "model=mobilenet_v2,batch=4,precision=fp16,input=synthetic,optimizer=sgd,app=d",
    "model=densenet121,batch=8,precision=fp16,input=synthetic,optimizer=sgd,app=e",
};

/* Add run number 'i', on one of two devices, which took 'factor' of the truth. */
static void add_run (struct dn_site_fit *fit,
                     const struct dn_constants *constants,
                     const double scales[2],
                     int i,
                     double factor)
{
    static const char *const devices[] = {"v100_16gb", "a100_40gb"};
    struct dn_site_run run =
        site_run_of (devices[i % 2], specs[i % (int) DN_N_ELEMENTS (specs)]);

    run.step_s = site_run_truth (constants, &run, scales[i % 2]) * factor;
    assert_int_equal (dn_site_fit_add (fit, &run, NULL), 0);
    assert_int_equal (run.graph.n_ops, 0);
}

/* Fit 'n' runs on two devices. Run number 'absurd' (-1: none) took a hundredfold. */
static struct dn_tuning *fit_runs (const struct dn_constants *constants,
                                   const double scales[2],
                                   int n,
                                   int absurd)
{
    struct dn_site_fit *fit = site_fit_new ();

    for (int i = 0; i < n; i++)
        add_run (fit, constants, scales, i, i == absurd ? 100 : 1);
    return site_run_learned (fit);
}

static const double same[2] = {1, 1};

/* By how much 'a' differs from 'b'. */
static double off (double a, double b)
{
    return fabs (log (a / b));
}

TEST ("without runs all is as shipped")
{
    struct dn_tuning *tuning = fit_runs (&dn_constants_default, same, 0, -1);
    struct dn_site_run run = site_run_kept ("v100_16gb", specs[0]);

    assert_memory_equal (
        &tuning->constants, &dn_constants_default, sizeof (dn_constants_default));
    assert_near (tuned (tuning, &run), site_run_truth (&dn_constants_default, &run, 1));
}

TEST ("what runs do not tell stays")
{
    struct dn_constants slow = dn_constants_default;
    struct dn_tuning *tuning;

    slow.launch_s *= 2;
    tuning = fit_runs (&slow, same, 50, -1);
    /* All runs have one GPU and no input. */
    assert_near (tuning->constants.pcie_eff, dn_constants_default.pcie_eff);
    assert_near (tuning->constants.node_bw, dn_constants_default.node_bw);
    assert_near (tuning->constants.core_jpeg, dn_constants_default.core_jpeg);
    assert_near (tuning->constants.sigma_step, dn_constants_default.sigma_step);
    assert_false (tuning->tuned[dn_constant_find ("pcie_eff", 8)].set);
    assert_true (tuning->tuned[dn_constant_find ("launch_s", 8)].set);
}

/* The error of the logarithm on a network and a device that the fit has not seen. */
static double error_elsewhere (const struct dn_constants *constants,
                               struct dn_tuning *tuning)
{
    struct dn_site_run run = site_run_kept (
        "v100_16gb",
        "model=resnet18,batch=2,precision=fp16,input=synthetic,optimizer=sgd");

    return off (tuned (tuning, &run), site_run_truth (constants, &run, 1));
}

TEST ("three runs help a little, fifty decide")
{
    struct dn_constants slow = dn_constants_default;
    double errors[3];
    double spreads[3];

    slow.launch_s *= 2.5;
    for (int i = 0; i < 3; i++) {
        static const int n[] = {0, 3, 50};
        struct dn_tuning *tuning = fit_runs (&slow, same, n[i], -1);

        errors[i] = error_elsewhere (&slow, tuning);
        spreads[i] = tuning->history ? tuning->history->shared : 1;
        if (n[i] == 50 && off (tuning->constants.launch_s, slow.launch_s) > 0.25)
            fail_msg ("launch_s %g, not %g", tuning->constants.launch_s, slow.launch_s);
    }
    assert_true (errors[0] > 0.4);
    assert_true (errors[1] < 0.95 * errors[0]);
    assert_true (errors[2] < 0.12);
    assert_true (spreads[2] < spreads[1]);
}

TEST ("a device has its own scale")
{
    static const double scales[2] = {1.4, 1};
    struct dn_tuning *tuning = fit_runs (&dn_constants_default, scales, 50, -1);
    const struct dn_scale *slow = dn_scales_find (&tuning->devices, "v100_16gb");
    const struct dn_scale *right = dn_scales_find (&tuning->devices, "a100_40gb");

    assert_int_equal (slow->runs, 25);
    if (off (slow->scale / right->scale, 1.4) > 0.15)
        fail_msg ("%g and %g, expected a ratio of 1.4", slow->scale, right->scale);
}

TEST ("an absurd run does not decide")
{
    struct dn_tuning *tuning = fit_runs (&dn_constants_default, same, 20, 7);
    double error = error_elsewhere (&dn_constants_default, tuning);

    if (error > 0.1)
        fail_msg ("one run moved the prediction by %g", error);
}

/* The error elsewhere after 'n' true runs and 'n_false' that claim to have done the
 * same in a hundredth of the time.
 */
static double error_of_lies (int n, int n_false)
{
    struct dn_site_fit *fit = site_fit_new ();

    for (int i = 0; i < n + n_false; i++)
        add_run (fit, &dn_constants_default, same, i, i < n ? 1 : 0.01);
    return error_elsewhere (&dn_constants_default, site_run_learned (fit));
}

TEST ("false runs do not decide")
{
    for (int n = 20; n <= 80; n += 20) {
        double error = error_of_lies (100 - n, n);

        if (error > 0.05)
            fail_msg ("%d %% of false runs moved the prediction by %g", n, error);
    }
}

/* Ten true runs of four applications, and any number of one that claims to have taken
 * a hundredth of the time, or a hundredfold.
 */
TEST ("the lies of one application do not move others")
{
    for (int i = 0; i < 2; i++) {
        struct dn_site_fit *fit = site_fit_new ();
        double error;

        for (int k = 0; k < 10; k++)
            add_run (fit, &dn_constants_default, same, 2 + k % 5, 1);
        for (int k = 0; k < 1000; k++)
            add_run (fit, &dn_constants_default, same, 7 * (k % 2), i ? 100 : 0.01);
        error = error_elsewhere (&dn_constants_default, site_run_learned (fit));
        if (error > 0.1)
            fail_msg ("the lies of one application moved another one by %g", error);
    }
}

TEST ("the same runs give the same result")
{
    struct dn_constants slow = dn_constants_default;
    struct dn_tuning *tuning[2];

    slow.launch_s *= 1.5;
    for (int i = 0; i < 2; i++) {
        tuning[i] = fit_runs (&slow, same, DN_SITE_RUNS_MAX + 100, -1);
        assert_int_equal (tuning[i]->runs, DN_SITE_RUNS_MAX + 100);
    }
    assert_string_equal (text_of (tuning[0]), text_of (tuning[1]));
}

TEST ("a residual is not learned twice")
{
    struct dn_site_fit *fit = site_fit_new ();
    struct dn_tuning *tuning;

    for (int i = 0; i < 20; i++) {
        struct dn_site_run run =
            site_run_of ("v100_16gb", specs[i % (int) DN_N_ELEMENTS (specs)]);

        run.step_s = site_run_truth (&dn_constants_default, &run, exp (0.5));
        run.step_residual = 0.5;
        run.gpu_mem = 1.3 * site_run_estimate (&dn_constants_default, &run).gpu_mem.p50;
        run.memory_residual = log (1.3);
        assert_int_equal (dn_site_fit_add (fit, &run, NULL), 0);
    }
    tuning = site_run_learned (fit);
    assert_true (off (tuning->step.scale, 1) < 1e-6);
    assert_true (off (tuning->memory.scale, 1) < 1e-6);
    assert_numbers ("20 0", tuning->memory.runs, tuning->power.runs);
}

static struct dn_outlook step_of (const struct dn_tuning *tuning,
                                  const struct dn_site_run *run)
{
    const struct dn_case c = site_run_case (&dn_constants_default, run);
    struct dn_estimate estimate = site_run_estimate (&dn_constants_default, run);
    float features[DN_N_FEATURES];

    dn_features (&c, &estimate, features);
    return dn_tuning_step (tuning, run->user, &run->spec, run->device, features);
}

TEST ("scales are applied")
{
    struct dn_tuning *tuning = read_text (small);
    struct dn_site_run run = site_run_kept (
        "v100_16gb",
        "model=resnet50,batch=32,precision=fp16,optimizer=sgd,steps=1000,app=mine");
    struct dn_estimate shipped = site_run_estimate (&dn_constants_default, &run);
    struct dn_estimate before = site_run_estimate (&tuning->constants, &run);
    struct dn_estimate after = site_run_refined (NULL, &run);

    assert_near (after.step_s.p50, shipped.step_s.p50);
    assert_near (after.gpu_mem.p50, shipped.gpu_mem.p50);
    after = site_run_refined (tuning, &run);
    assert_near (after.white_step_s, shipped.step_s.p50);
    assert_near (after.step_s.p50, 1.1 * 2 * before.step_s.p50);
    assert_near (after.gpu_mem.p50, 1.5 * before.gpu_mem.p50);
    assert_near (after.power_w, 0.5 * before.power_w);
    assert_true (after.train_s.p50 > before.train_s.p50);
    assert_near (after.energy_j, after.train_s.p50 * after.power_w);
    /* Without a history the bound is as wide as before. */
    assert_near (after.step_s.sigma, shipped.step_s.sigma);
    run.device = dn_catalogue_find (&scene_plain ()->catalogue, "a100_40gb");
    assert_near (step_of (tuning, &run).site.p50, 1.1);
}

static double spread_of (const struct dn_tuning *tuning,
                         const struct dn_outlook *step,
                         double sigma)
{
    return dn_tuning_spread (tuning, step, (struct dn_range){.p50 = 1, .sigma = sigma})
        .sigma;
}

TEST ("bounds of other applications are never narrower")
{
    struct dn_tuning *tuning = site_tuning (dn_tuning_new ());
    struct dn_outlook step = {.site = {.p50 = 1, .sigma = 0.2}, .own = 1, .level = 1};

    assert_near (spread_of (NULL, &step, 0.4), 0.4);
    assert_near (spread_of (tuning, &step, 0.4), 0.4);
    tuning->history = dn_history_new (0);
    step.site.quantiles = &tuning->history->seen;
    assert_near (spread_of (tuning, &step, 0.4), 0.2);
    assert_near (spread_of (tuning, &step, 0.1), 0.1);
    /* The user's runs scatter more than was thought. */
    step.level = 1.5;
    assert_near (spread_of (tuning, &step, 0.1), 0.2);
    step.site.quantiles = &tuning->history->unseen;
    assert_near (spread_of (tuning, &step, 0.4), 0.4);
    assert_near (spread_of (tuning, &step, 0.1), 0.2);
}

/* Runs of one application alone, a hundred, each with 1.5 times the time predicted. */
TEST ("one application moves no other")
{
    struct dn_site_fit *fit = site_fit_new ();
    struct dn_site_run other = site_run_kept ("v100_16gb", specs[4]);
    struct dn_site_run known = site_run_kept ("v100_16gb", specs[0]);
    struct dn_tuning *tuning;
    static const double slower[2] = {1.5, 1.5};
    double expected = site_run_truth (&dn_constants_default, &other, 1);
    double sigma = site_run_refined (NULL, &other).step_s.sigma;

    for (int i = 0; i < 100; i++) {
        struct dn_site_run run = site_run_of ("v100_16gb", specs[i % 2]);

        run.step_s = site_run_truth (&dn_constants_default, &run, 1.5);
        assert_int_equal (dn_site_fit_add (fit, &run, NULL), 0);
    }
    tuning = site_run_learned (fit);
    assert_near (tuned (tuning, &other), expected);
    assert_true (site_run_refined (tuning, &other).step_s.sigma >= sigma);
    assert_true (off (tuned (tuning, &known),
                      site_run_truth (&dn_constants_default, &known, 1.5))
                 < 0.05);
    /* A second one, and what they have in common counts. */
    add_run (fit, &dn_constants_default, slower, 4, 1);
    tuning = site_run_learned (fit);
    assert_true (tuned (tuning, &other) > 1.1 * expected);
}

/* Half of the applications take 1.5 times the time predicted, the others two thirds. */
TEST ("applications that disagree move no other")
{
    struct dn_site_fit *fit = site_fit_new ();
    struct dn_site_run other = site_run_kept ("v100_16gb", specs[6]);
    double expected = site_run_truth (&dn_constants_default, &other, 1);
    double bound = dn_range_at (site_run_refined (NULL, &other).step_s, 0.95);
    struct dn_tuning *tuning;

    for (int i = 0; i < 24; i++) {
        static const int which[] = {0, 2, 4, 5};

        add_run (
            fit, &dn_constants_default, same, which[i % 4], i % 2 == 0 ? 1.5 : 1 / 1.5);
    }
    tuning = site_run_learned (fit);
    assert_near (tuned (tuning, &other), expected);
    assert_true (dn_range_at (site_run_refined (tuning, &other).step_s, 0.95)
                 >= bound * 0.9999);
}

/* An application that a site has run on a device, and one that it has not. */
TEST ("what is near the history is known better")
{
    static const double scales[2] = {1.3, 1.3};
    struct dn_tuning *tuning = fit_runs (&dn_constants_default, scales, 14, -1);
    struct dn_site_run near = site_run_kept ("v100_16gb", specs[0]);
    struct dn_site_run far =
        site_run_kept ("a100_40gb", "model=lstm_lm,batch=4000,precision=fp32,app=new");
    struct dn_estimate close = site_run_refined (tuning, &near);
    struct dn_estimate apart = site_run_refined (tuning, &far);

    assert_int_equal (tuning->history->n, 14);
    assert_true (
        off (close.step_s.p50, site_run_truth (&dn_constants_default, &near, 1.3))
        < 0.03);
    assert_true (off (close.site, 1.3) < 0.03);
    if (dn_range_at (close.step_s, 0.95) > 1.25 * close.step_s.p50)
        fail_msg ("bound %g", dn_range_at (close.step_s, 0.95) / close.step_s.p50);
    assert_true (apart.step_s.sigma > 3 * close.step_s.sigma);
    assert_true (apart.confidence < close.confidence);
}

/* More runs than are kept, and several of one spec. */
TEST ("a long history is kept short")
{
    struct dn_site_fit *fit = site_fit_new ();
    struct dn_site_run run;
    struct dn_tuning *tuning;

    for (int i = 0; i < 400; i++) {
        char *text =
            unit_text ("model=resnet50,batch=%d,precision=fp16,app=%c,input=synthetic,"
                       "optimizer=sgd",
                       1 + i % 100,
                       "abcd"[i % 4]);

        run = site_run_of (i % 8 < 4 ? "v100_16gb" : "a100_40gb", text);
        run.step_s = site_run_truth (
            &dn_constants_default, &run, run.spec.batch % 2 == 0 ? 1.2 : 1.25);
        assert_int_equal (dn_site_fit_add (fit, &run, NULL), 0);
    }
    tuning = site_run_learned (fit);
    assert_int_equal (tuning->history->n, 4 * DN_HISTORY_OWN_MAX);
    run = site_run_kept ("a100_40gb",
                         "model=resnet50,batch=50,precision=fp16,app=b,input=synthetic,"
                         "optimizer=sgd");
    assert_true (
        off (tuned (tuning, &run), site_run_truth (&dn_constants_default, &run, 1.2))
        < 0.05);
    if (site_run_refined (tuning, &run).step_s.sigma > 0.15)
        fail_msg ("sigma %g, level %g",
                  site_run_refined (tuning, &run).step_s.sigma,
                  tuning->history->level);
}

TEST ("a history is written and read")
{
    static const double scales[2] = {1.3, 0.8};
    struct dn_tuning *tuning = fit_runs (&dn_constants_default, scales, 20, -1);
    struct dn_tuning *again = read_text (text_of (tuning));

    for (size_t i = 0; i < DN_N_ELEMENTS (specs); i++) {
        struct dn_site_run run = site_run_kept ("v100_16gb", specs[i]);
        struct dn_outlook before = step_of (tuning, &run);
        struct dn_outlook after = step_of (again, &run);

        assert_true (off (before.site.p50, after.site.p50) < 1e-4);
        assert_true (off (before.own, after.own) < 1e-4);
        assert_true (off (before.site.sigma, after.site.sigma) < 0.02);
    }
}

/* Of three runs. */
static const char history[] =
    "{\"dnnest_site\": 4, \"runs\": 3,"
    " \"history\": {\"noise\": 0.05, \"spread\": 0.3, \"alone\": 0.4, " LENGTHS ","
    " \"shared\": 0.1, \"device\": 0.2, \"level\": 1.1,"
    " \"law\": {\"levels\": [0.5, 0.95], \"seen\": [0, 1.7], \"unseen\": [0, 2]},"
    " \"users\": {\"0\": {\"b\": {\"level\": 1.3, \"runs\": ["
    " {\"device\": \"d\", \"precision\": \"fp16\", \"ratio\": 1.25,"
    " \"own\": 1.3, \"noise\": 0.06, \"at\": [1, 2, 3, 4, 5]},"
    " {\"device\": \"v100_16gb\", \"precision\": \"fp32\", \"ratio\": 1.5,"
    " \"own\": 1.6, \"noise\": 0.5, \"at\": [3, 0, 0, 0, 20]}]}},"
    " \"unknown\": {\"a\": {\"level\": 1, \"runs\": ["
    " {\"device\": \"d\", \"precision\": \"fp16\", \"ratio\": 0.5,"
    " \"own\": 0.6, \"noise\": 0.07, \"at\": [1, 2, 3, 4, 5]}]}}}}}";

static int read_in (struct dn_span text, struct dn_err *err)
{
    struct dn_tuning *tuning = dn_tuning_read (text, err);
    int rc = tuning ? 0 : -1;

    dn_tuning_free (tuning);
    return rc;
}

TEST ("hostile histories are refused")
{
    static const struct wrong cases[] = {
        {"\"dnnest_site\": 4", "\"dnnest_site\": 2", "version 2, expected 4"},
        {"\"dnnest_site\": 4", "\"dnnest_site\": 3", "version 3, expected 4"},
        {"\"noise\": 0.05", "\"noise\": 0", "history: noise: 0 out of range"},
        {"\"noise\": 0.05, ", "", "history: noise: missing"},
        {"\"spread\": 0.3", "\"spread\": -1", "history: spread"},
        {"\"spread\": 0.3", "\"spread\": 1e400", ""},
        {"\"shared\": 0.1", "\"shared\": 9", "history: shared"},
        {"\"device\": 0.2", "\"device\": -1", "history: device"},
        {"\"shared\": 0.1", "\"shared\": 0.1, \"common\": -1", "history: common"},
        {"\"batch\": 3",
         "\"batch\": 3, \"device_share\": 1",
         "history: lengths: host_share: missing"},
        {"\"batch\": 3", "\"batch\": 0", "history: lengths: batch"},
        {"\"batch\": 3", "\"patch\": 3", "history: lengths: 'patch'"},
        {"\"batch\": 3, ", "", "history: lengths: batch: missing"},
        {"\"level\": 1.1", "\"level\": 0", "history: level"},
        {"\"alone\": 0.4", "\"alone\": -1", "history: alone"},
        {"\"alone\": 0.4, ", "", "history: alone: missing"},
        {"\"level\": 1.3", "\"level\": 11", "history: user '0': 'b': level"},
        {"\"level\": 1.3, ", "", "history: user '0': 'b': level: missing"},
        {"\"0\": {", "\"-1\": {", "history: user '-1': user: -1 out of range"},
        {"\"0\": {", "\"root\": {", "history: user 'root': "},
        {"\"0\": {", "\"4294967296\": {", "history: user '4294967296': "},
        {"\"0\": {", "\"7\": 1, \"0\": {", "history: user '7': found int"},
        {"\"own\": 1.3", "\"own\": 0", "'b': run 0: own"},
        {"\"own\": 1.3, ", "", "'b': run 0: own: missing"},
        {"[0.5, 0.95]", "[0.95, 0.5]", "expected ascending values"},
        {"[0, 1.7]", "[2, 1.7]", "history: law: seen: value 1 is less"},
        {"[0, 1.7]", "[0]", "history: law: seen"},
        {"[0, 2]", "[0, 60]", "history: law: unseen"},
        {"\"levels\": [0.5, 0.95], ", "", "history: law: levels: missing"},
        {"\"ratio\": 0.5", "\"ratio\": 0", "user 'unknown': 'a': run 0: ratio"},
        {"\"ratio\": 1.5", "\"ratio\": 1e9", "user '0': 'b': run 1: ratio"},
        {"\"noise\": 0.06", "\"noise\": 0", "user '0': 'b': run 0: noise"},
        {"[1, 2, 3, 4, 5]", "[1]", "user '0': 'b': run 0: at"},
        {"[1, 2, 3, 4, 5]", "[1, 2, 3, 4, 1e30]", "user '0': 'b': run 0: at"},
        {"\"device\": \"d\"", "\"device\": 4", "user '0': 'b': run 0: device"},
        {"\"a\": {", "\"c\": 7, \"a\": {", "user 'unknown': 'c': "},
        {"\"a\": {\"level\": 1, \"runs\": [",
         "\"a\": {\"level\": 1, \"runs\": [7, ",
         "user 'unknown': 'a': run 0"},
        {"\"users\"", "\"user\"", "history: users"},
    };

    assert_wrong (history, cases, DN_N_ELEMENTS (cases), "", read_in);
}

/* Applications with so many runs each. */
static void expect_too_many (int applications, int runs, const char *part)
{
    char *members = unit_keep (
        malloc ((size_t) applications * ((size_t) runs * 128 + 64) + 1), free);
    char *at = members;

    for (int a = 0; a < applications; a++) {
        at += sprintf (at, "\"x%d\": {\"level\": 1, \"runs\": [", a);
        for (int i = 0; i < runs; i++)
            at += sprintf (at,
                           "%s{\"device\": \"d\", \"precision\": \"fp16\","
                           " \"ratio\": 1, \"own\": 1, \"noise\": 1,"
                           " \"at\": [0, 0, 0, 0, 0]}",
                           i > 0 ? "," : "");
        at += sprintf (at, "]}, ");
    }
    sprintf (at, "\"a\": {");
    expect_refusal (text_with (history, "\"a\": {", members), part);
}

TEST ("a long history is refused")
{
    expect_too_many (1, DN_HISTORY_OWN_MAX + 1, "'x0': more than 32 runs");
    expect_too_many (DN_HISTORY_MAX / DN_HISTORY_OWN_MAX + 1,
                     DN_HISTORY_OWN_MAX,
                     "more than 512 runs");
}

/* Axes and the common part, which files of earlier versions lack. */
TEST ("a history without shares and a common part is read")
{
    struct dn_tuning *tuning = read_text (
        text_with (history, "\"noise\": 0.05", "\"noise\": 0.05, \"common\": 0"));
    struct dn_tuning *again = read_text (text_of (tuning));

    assert_near (tuning->history->likeness.common, 0);
    assert_near (again->history->likeness.lengths[DN_AXIS_HOST_SHARE],
                 tuning->history->likeness.lengths[DN_AXIS_HOST_SHARE]);
    assert_true (tuning->history->likeness.lengths[DN_AXIS_HOST_SHARE] > 1e3);
}

/* What all runs of an application have in common holds however far they are apart. */
TEST ("what is common to an application holds far away")
{
    struct dn_tuning *without = read_text (history);
    struct dn_tuning *with = read_text (
        text_with (history, "\"noise\": 0.05", "\"noise\": 0.05, \"common\": 0.3"));
    struct dn_trace a = {.device = "d", .precision = "fp16"};
    struct dn_trace b = {.device = "d", .precision = "fp16", .at = {1e5}};
    double spread = without->history->likeness.spread;

    assert_near (dn_likeness_of (&without->history->likeness, &a, &a), spread * spread);
    assert_near (dn_likeness_of (&without->history->likeness, &a, &b), 0);
    assert_near (dn_likeness_of (&with->history->likeness, &a, &a), spread * spread);
    assert_near (dn_likeness_of (&with->history->likeness, &a, &b), 0.3 * 0.3);
}

/* What a file says that is read is never a prediction that is no number. */
TEST ("a wild history is safe")
{
    static const char *const wild[][2] = {
        {"\"ratio\": 1.5", "\"ratio\": 1.5"},
        {"\"ratio\": 1.5", "\"ratio\": 1000"},
        {"\"ratio\": 1.5, \"own\": 1.6, \"noise\": 0.5",
         "\"ratio\": 0.001, \"own\": 1000, \"noise\": 0.001"},
        {"\"noise\": 0.5", "\"noise\": 20"},
        {"\"spread\": 0.3", "\"spread\": 5"},
        {"\"spread\": 0.3", "\"spread\": 0"},
        {"\"batch\": 3", "\"batch\": 0.001"},
        {"\"batch\": 3", "\"batch\": 1e6"},
        {"[1, 2, 3, 4, 5]", "[1e6, -1e6, 0, 0, 0]"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (wild); i++) {
        struct dn_tuning *tuning =
            read_text (text_with (history, wild[i][0], wild[i][1]));
        struct dn_site_run run =
            site_run_kept ("v100_16gb", "model=resnet50,batch=20,precision=fp32,app=b");
        struct dn_range step = step_of (tuning, &run).site;

        assert_true (isfinite (step.p50) && step.p50 >= exp (-3.001)
                     && step.p50 <= exp (3.001));
        assert_true (isfinite (step.sigma) && step.sigma >= 0.05 && step.sigma < 20);
        assert_true (isfinite (step_of (tuning, &run).own));
    }
}

/* Every byte of a history changed: it is refused, or what it says is a number. */
TEST ("a damaged history is safe")
{
    static const char other[] = "9-\"{]e,";
    struct dn_site_run run =
        site_run_kept ("v100_16gb", "model=resnet50,batch=20,precision=fp32,app=b");
    char *text = text_with (history, "", "");

    for (size_t i = 0; text[i] != '\0'; i++) {
        char before = text[i];

        for (size_t k = 0; k < sizeof (other) - 1; k++) {
            struct dn_tuning *tuning;

            text[i] = other[k];
            tuning = dn_tuning_read (dn_span_of (text), &unit_err);
            if (!tuning) {
                assert_true (unit_err.text[0] != '\0');
                continue;
            }
            assert_true (isfinite (step_of (tuning, &run).site.p50)
                         && isfinite (step_of (tuning, &run).site.sigma));
            dn_tuning_free (tuning);
        }
        text[i] = before;
    }
}

TEST ("every constant can be found and set")
{
    struct dn_constants constants = dn_constants_default;

    for (int i = 0; i < DN_CONSTANT_FIELDS; i++) {
        const struct dn_constant_field *field = &dn_constant_fields[i];
        double shipped = dn_constant_get (&constants, i);

        assert_int_equal (dn_constant_find (field->name, strlen (field->name)), i);
        if (shipped < field->min || shipped > field->max)
            fail_msg ("%s: %g is not within its bounds", field->name, shipped);
        dn_constant_set (&constants, i, field->min);
        assert_near (dn_constant_get (&constants, i), field->min);
    }
    assert_int_equal (dn_constant_find ("launch", 6), -1);
    assert_int_equal (dn_constant_find ("sigma_step", 10), -1);
}

/* The far ends of all bounds must not make a prediction that is no number. */
TEST ("the bounds of constants are safe")
{
    for (size_t s = 0; s < DN_N_ELEMENTS (specs); s++) {
        struct dn_site_run run = site_run_kept ("v100_16gb", specs[s]);

        for (int i = 0; i < 2 * DN_CONSTANT_FIELDS; i++) {
            struct dn_constants constants = dn_constants_default;
            const struct dn_constant_field *field = &dn_constant_fields[i / 2];
            struct dn_estimate estimate;

            dn_constant_set (&constants, i / 2, i % 2 ? field->max : field->min);
            estimate = site_run_estimate (&constants, &run);
            if (!isfinite (estimate.step_s.p50) || estimate.step_s.p50 <= 0
                || !isfinite (estimate.gpu_mem.p50) || estimate.gpu_mem.p50 <= 0)
                fail_msg ("%s: %g s", field->name, estimate.step_s.p50);
        }
    }
}
