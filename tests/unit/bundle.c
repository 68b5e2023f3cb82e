/* bundle.c - tests of model bundles, and of predictions with one
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "advise.h"
#include "small_bundle.h"
#include "white.h"

/* --- reading --------------------------------------------------------------------- */

TEST ("A bundle is read completely")
{
    struct small_bundle small = small_bundle_make ();
    struct dn_bundle *bundle = assert_made (small_bundle_read (&small, &unit_err));

    assert_string_equal (bundle->name, "small");
    assert_int_equal (bundle->n_files, 3);
    assert_non_null (bundle->corrections[DN_QUANTITY_STEP].trees);
    assert_null (bundle->corrections[DN_QUANTITY_POWER].trees);
    assert_int_equal (bundle->domain.n_points, 2);
    assert_int_equal (bundle->domain.n_used, DN_AXES_GROUP);
    assert_null (dn_bounds_of (&bundle->bounds[DN_QUANTITY_POWER], "conv"));
    dn_bundle_free (bundle);
    small_bundle_free (&small);
}

/* Behind what text of the manifest, a part, what stands there instead, the error. */
static const char *const lies[] = {
    "|{|[|manifest.json: line 1, column",
    "|`dnnest_bundle`:2|`dnnest_bundle`:1|manifest.json: dnnest_bundle: format 1, "
    "this program reads 2; train or install it again",
    "|`dnnest_bundle`:2,||dnnest_bundle: missing",
    "|`small`|`small`,`name`:`large`|'name': given twice",
    "groups|`conv`:|`conv`:[0,1,3,6],`conv`:|'conv': given twice",
    "|`small`|7|name: found int, expected a string",
    "|`small`|`sm\\u001b[31mall`|expected printable ASCII",
    "features|`version`:1|`version`:9|features: version 9, this program",
    "names|[`|[`x|features: number 0 is 'x",
    "names|[`|[`x`,`|values, expected",
    "residuals|0.5|1.5|residuals: memory: shrink: 1.5 out of range 0..1",
    "residuals|`limit`:1|`limit`:-1|residuals: step: limit: -1 out of",
    "residuals|`limit`:1|`limit`:NaN|limit",
    "residuals|step.trees|power.trees|residuals: step: file 'power.trees' has no trees among",
    "residuals|step.trees|domain.points|residuals: step: file 'domain.points' has no trees among",
    "residuals|`confirmed`|`said`|"
    "residuals: step: libxgboost has not confirmed step.trees; train",
    "residuals|`confirmed`:{|`confirmed`:7,`said`:{|"
    "residuals: step: confirmed: found int, expected an object",
    "residuals|`xgboost`:`1.7.4`,||residuals: step: confirmed: xgboost: missing",
    "confirmed|`rows`:2002|`rows`:0|residuals: step: confirmed: rows: 0 out of range 1..",
    "confirmed|1e-07|0.01|residuals: step: confirmed: difference: 0.01 out of range 0..0.0001",
    "confirmed|`sha256`:`|`sha256`:``,`x`:`|"
    "residuals: step: libxgboost has confirmed a different step.trees",
    "`files`|step.trees|step.json|files: 'step.json': no file of a",
    "`files`|step.trees|../step.trees|files: '../step.trees': no file of a",
    "`files`|step.trees|manifest.json|files: 'manifest.json': no file of a",
    "`files`|domain.points|site.json|domain: file 'domain.points' has no",
    "domain|domain.points|site.json|domain: file 'site.json' has no points",
    "`files`|`bytes`:|`bytes`:99999999|bytes: 99999999",
    "`files`|`bytes`:|`bytes`:-|out of range 1..532320",
    "`files`|`sha256`:`|`sha256`:`0|sha256: '",
    "`files`|`sha256`:`|`sha256`:7,`x`:`|sha256: found int, expected a string",
    "domain|`scale`:[1|`scale`:[0|domain: scale: value 0 is not a number",
    "domain|`weight`:[0|`weight`:[-1|domain: weight: value 0 is no",
    "domain|`weight`:[0|`weight`:[0,0|weight: ",
    "knots|`distance`:2|`distance`:-2|domain: knot 1: distance: -2 out",
    "knots|`residual`:1|`residual`:2|domain: knot 0: residual: 2 out",
    "knots|`sigma`:0.1|`sigma`:0|domain: knot 0: sigma: 0 out of range",
    "knots|[{|[[],{|domain: knot 0: expected an object",
    "bounds|0.95|0.9|bounds: levels: expected ascending values",
    "bounds|0.5|0.4|bounds: levels: value 0 is not a number",
    "bounds|[0,1,2,4]|[0,1,2]|bounds: step: all: 3 values, expected 4",
    "bounds|[0,1,2,4]|[0,1,4,2]|all: value 3 is less than the one before",
    "groups|[0,1,3,6]|{}|bounds: step: conv: found object, expected an",
    "|`bounds`|`validated`:[],`bounds`|validated: 0 values, expected",
    "|`bounds`|`validated`:[7],`bounds`|validated: number 0: expected an object",
    "|`bounds`|`validated`:[{`kind`:`conv`,`stack`:`jax`,`corrected`:7}],`bounds`|"
    "validated: number 0: corrected: found int, expected",
    "|`bounds`|`validated`:[{`kind`:`conv`,`stack`:7}],`bounds`|"
    "validated: number 0: stack: found int, expected a string",
    "bounds|`memory`:{|`memory`:[],`x`:{|memory: found array, expected an",
};

TEST ("An error in a manifest is named")
{
    struct small_bundle small = small_bundle_make ();

    for (size_t i = 0; i < DN_N_ELEMENTS (lies); i++) {
        const char *lie[4];
        char *text;

        unit_cut (lies[i], lie, 4);
        text = replace_behind (small.manifest, lie[0], lie[1], lie[2]);
        if (!text)
            fail_msg ("'%s' is not in the manifest", lie[1]);
        if (dn_bundle_open (dn_span_of (unit_keep (text, free)), &unit_err))
            fail_msg ("taken, expected '%s'", lie[3]);
        assert_contains (unit_err.text, lie[3]);
    }
    small_bundle_free (&small);
}

TEST ("Files must be those of the manifest")
{
    struct small_bundle small = small_bundle_make ();
    const struct small_file *step = &small.files[SMALL_STEP_FILE];
    struct dn_bundle *bundle = dn_bundle_open (dn_span_of (small.manifest), &unit_err);
    struct dn_span span = small_file_span (step);

    assert_non_null (bundle);
    assert_error (dn_bundle_add (bundle, "power.trees", span, &unit_err),
                  "'power.trees' is not among the manifest's files");
    span.len--;
    assert_error (dn_bundle_add (bundle, "step.trees", span, &unit_err),
                  "step.trees: ");
    assert_contains (unit_err.text, "bytes, the manifest says");
    step->data[step->len - 1] ^= 1;
    span.len++;
    assert_error (dn_bundle_add (bundle, "step.trees", span, &unit_err),
                  "step.trees: its SHA-256 is not the manifest's");
    step->data[step->len - 1] ^= 1;
    assert_done (dn_bundle_add (bundle, "step.trees", span, &unit_err));
    assert_error (dn_bundle_close (bundle, &unit_err),
                  "memory.trees: missing from the bundle");
    dn_bundle_free (bundle);
    small_bundle_free (&small);
}

/* Read the small bundle after the byte 'at' of a file has changed, with the checksum of
 * the new file in place of the old one in the manifest.
 */
static void expect_lie (int file, size_t at, char byte, const char *says)
{
    struct small_bundle small = small_bundle_make ();
    struct small_file *changed = &small.files[file];
    struct dn_digest before = dn_digest_of (small_file_span (changed));
    struct dn_digest after;
    char *text;

    changed->data[at] = byte;
    after = dn_digest_of (small_file_span (changed));
    while ((text = replace_behind (small.manifest, "", before.hex, after.hex))) {
        free (small.manifest);
        small.manifest = text;
    }
    assert_null (small_bundle_read (&small, &unit_err));
    assert_contains (unit_err.text, says);
    small_bundle_free (&small);
}

TEST ("A wrong value with a right checksum is detected")
{
    /* the split's feature; the version; a point's first value, 0 before */
    expect_lie (SMALL_STEP_FILE,
                24 + 8 + 2 * 4 + 8 + 4,
                77,
                "step.trees: tree 1: node 0: feature 77 is out of range");
    expect_lie (SMALL_MEMORY_FILE, 8, 2, "memory.trees: version 2, this program reads");
    expect_lie (SMALL_POINTS_FILE, 8, 3, "domain.points: version 3, this program");
    expect_lie (SMALL_POINTS_FILE, 16, 3, "domain.points: 584 bytes, expected 864 by");
    expect_lie (SMALL_POINTS_FILE,
                24 + 4 * DN_FEATURE_BATCH + 3,
                0x7f,
                "domain.points: point 0: value");
}

TEST ("A cut or damaged manifest is refused or harmless")
{
    struct small_bundle small = small_bundle_make ();
    size_t len = strlen (small.manifest);
    char *copy = unit_keep (malloc (len), free);
    unsigned seed = 7;

    for (size_t at = 0; at < len; at += 7)
        assert_null (dn_bundle_open ((struct dn_span){small.manifest, at}, &unit_err));
    for (int i = 0; i < 4000; i++) {
        memcpy (copy, small.manifest, len);
        for (int hit = 0; hit < 2; hit++) {
            seed = seed * 1664525U + 1013904223U;
            copy[seed / 256 % len] =
                (char) (copy[seed / 256 % len] ^ 1 << seed / 64 % 8);
        }
        dn_bundle_free (dn_bundle_open ((struct dn_span){copy, len}, &unit_err));
    }
    small_bundle_free (&small);
}

TEST ("A bundle says what it was validated on")
{
    static const struct {
        const char *kind;
        const char *stack;
        enum dn_validated_level level;
        bool corrected;
        double p95; /* the first quantile */
    } cases[] = {
        {"conv", "pytorch", DN_VALIDATED_STACK, true, 3},
        {"conv", "jax", DN_VALIDATED_STACK, false, 3},
        {"conv", "mxnet", DN_VALIDATED_KIND, false, 5},
        {"conv", "unknown", DN_VALIDATED_STACK, false, 3},
        {"attention", "jax", DN_VALIDATED_STACK, false, 4},
        {"attention", "pytorch", DN_VALIDATED_KIND, false, 5},
        {"volume", "pytorch", DN_VALIDATED_NOTHING, false, 6},
        {"volume", "unknown", DN_VALIDATED_NOTHING, false, 6},
    };
    struct dn_bundle bundle = {
        .validated = {{"conv", "pytorch", true},
                      {"conv", "jax", false},
                      {"attention", "jax", false}},
        .n_validated = 3,
    };
    struct dn_bounds bounds = {
        .all = {.n = 1, .values = {6}},
        .groups = {{"conv.stack", {.n = 1, .values = {3}}},
                   {"stack", {.n = 1, .values = {4}}},
                   {"kind", {.n = 1, .values = {5}}}},
        .n_groups = 3,
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_validation validation =
            dn_bundle_validation (&bundle, cases[i].kind, cases[i].stack);
        const struct dn_quantiles *q =
            dn_bounds_at (&bounds, cases[i].kind, &validation);

        assert_false (validation.unknown);
        assert_int_equal (validation.level, cases[i].level);
        assert_int_equal (validation.corrected, cases[i].corrected);
        assert_near (q->values[0], cases[i].p95);
    }
}

/* --- predicting ------------------------------------------------------------------ */

/* dn_predict () that must not fail. */
static void predict_on (const struct dn_predictor *predictor,
                        const struct dn_spec *spec,
                        const struct dn_graph *graph,
                        const struct dn_device *const devices[],
                        int n_devices,
                        struct dn_estimate estimates[])
{
    assert_done (
        dn_predict (predictor,
                    &(struct dn_case){.spec = spec, .graph = graph, .cpus_per_gpu = 0},
                    devices,
                    n_devices,
                    estimates,
                    &unit_err));
}

struct run {
    struct dn_site *site;
    struct dn_spec spec;
    struct dn_graph graph;
    struct dn_estimate white[2];
    struct dn_estimate with[2];
};

/* Predict on both devices of the scene, without and with the small bundle, of which
 * 'validated' (may be NULL) is what it was validated on.
 */
static struct run predict_validated (const char *text, const char *validated)
{
    struct white white = white_of (text, V100);
    struct run run = {
        .site = scene_site (""), .spec = white.spec, .graph = white.graph};
    struct small_bundle small = small_bundle_make ();
    const struct dn_device *devices[] = {&run.site->catalogue.devices[0],
                                         &run.site->catalogue.devices[1]};
    struct dn_predictor predictor = dn_site_predictor (run.site);

    if (validated) {
        char *changed = replace_behind (small.manifest, "", "\"bounds\"", validated);

        assert_non_null (changed);
        free (small.manifest);
        small.manifest = changed;
    }
    predict_on (&predictor, &run.spec, &run.graph, devices, 2, run.white);
    run.site->bundle = assert_made (small_bundle_read (&small, &unit_err));
    predictor = dn_site_predictor (run.site);
    predict_on (&predictor, &run.spec, &run.graph, devices, 2, run.with);
    small_bundle_free (&small);
    return run;
}

static struct run predict (const char *text)
{
    return predict_validated (text, NULL);
}

#define assert_about(value, expected)                                                  \
    do {                                                                               \
        if (!(fabs ((value) - (expected)) <= 1e-5 * fabs (expected)))                  \
            fail_msg ("%.9g is not about %.9g", (value), (expected));                  \
    } while (0)

#define NET "model=resnet50,precision=fp16,optimizer=sgd,steps=1000,input=synthetic,"

/* By the bounds of conv of the small bundle. */
static double confidence_by (double sigma)
{
    const struct dn_quantiles conv = {.n = 4,
                                      .scores = {0,
                                                 dn_normal_score (0.9),
                                                 dn_normal_score (0.95),
                                                 dn_normal_score (0.99)},
                                      .values = {0, 1, 3, 6}};

    return dn_range_within (
        (struct dn_range){.p50 = 1, .sigma = sigma, .quantiles = &conv},
        DN_CONFIDENCE_FACTOR);
}

TEST ("A residual changes its quantity and what depends on it")
{
    struct run run = predict (NET "batch=64");

    for (int i = 0; i < 2; i++) {
        const struct dn_estimate *a = &run.white[i];
        const struct dn_estimate *b = &run.with[i];

        assert_near (a->known, 0);
        assert_about (b->known, 1.0);
        assert_about (b->step_s.p50, 1.5 * a->step_s.p50);
        assert_about (b->stage_s[DN_STAGE_FORWARD], 1.5 * a->stage_s[DN_STAGE_FORWARD]);
        assert_about (b->samples_per_s, a->samples_per_s / 1.5);
        assert_about (b->gpu_mem.p50, sqrt (0.8) * a->gpu_mem.p50);
        assert_about (b->power_w, a->power_w);
        assert_true (b->train_s.p50 > a->train_s.p50);
        assert_about (b->energy_j, b->train_s.p50 * b->power_w);
        assert_about (b->step_s.sigma, 0.1);
        assert_about (b->train_s.sigma, 0.1);
        /* by the law of the bounds, which is wider than the normal one */
        assert_about (b->confidence, confidence_by (0.1));
        assert_near (b->gpu_mem.sigma, a->gpu_mem.sigma);
    }
}

TEST ("The residual counts only where it was shown to help")
{
    static const struct {
        const char *corrected;
        const char *framework;
        double factor;
        double p95; /* the score at 0.95 */
    } cases[] = {
        {"true", "pytorch", 1.5, 3},
        {"false", "pytorch", 1, 3},
        {"true", "jax", 1, 2},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char *text = unit_text (NET "batch=64,framework=%s", cases[i].framework);
        char *validated =
            unit_text ("\"validated\":[{\"kind\":\"conv\",\"stack\":\"pytorch\","
                       "\"corrected\":%s}],\"bounds\"",
                       cases[i].corrected);
        struct run run = predict_validated (text, validated);

        assert_about (run.with[0].step_s.p50,
                      cases[i].factor * run.white[0].step_s.p50);
        assert_about (run.with[0].known, cases[i].factor > 1 ? 1.0 : 0);
        assert_about (dn_range_at (run.with[0].step_s, 0.95),
                      run.with[0].step_s.p50 * exp (0.1 * cases[i].p95));
    }
}

TEST ("Bounds are the quantiles of the kind of network")
{
    struct run run = predict (NET "batch=64");
    struct dn_range range = run.with[0].step_s;

    assert_about (dn_range_at (range, 0.95), range.p50 * exp (0.1 * 3));
    assert_about (dn_range_at (run.with[0].train_s, 0.99),
                  run.with[0].train_s.p50 * exp (0.1 * 6));
    range = run.with[0].gpu_mem;
    assert_about (dn_range_at (range, 0.95), range.p50 * exp (1.7 * range.sigma));
    /* The bundle's own figure would be 1. */
    assert_about (dn_range_at (range, 0.9),
                  range.p50 * exp (dn_normal_score (0.9) * range.sigma));
    run = predict ("model=bert_base,precision=fp16,optimizer=adam,steps=9,batch=64");
    range = run.with[0].step_s;
    assert_about (dn_range_at (range, 0.95), range.p50 * exp (0.1 * 2));
}

TEST ("Far from the training runs only the white box counts")
{
    struct run run = predict (NET "batch=174"); /* ln (174 / 64) is 1.0002 */

    assert_true (fabs (run.with[0].known - 0.5) < 1e-3);
    assert_true (fabs (run.with[0].step_s.sigma - 0.5) < 1e-3);
    assert_true (fabs (run.with[0].step_s.p50 / run.white[0].step_s.p50 - sqrt (1.5))
                 < 1e-3);
    run = predict (NET "batch=4096");
    assert_near (run.with[0].known, 0);
    assert_near (run.with[0].step_s.p50, run.white[0].step_s.p50);
    assert_about (run.with[0].step_s.sigma, 0.9);
    /* and beyond the last knot the confidence falls further */
    assert_about (run.with[0].confidence, confidence_by (0.9) * 2 / log (4096.0 / 64));
}

TEST ("Missing metadata widen the bound with a bundle too")
{
    struct run run = predict ("model=resnet50,batch=64,steps=9,input=synthetic");
    double white = run.white[0].step_s.sigma;
    double shipped = dn_constants_default.sigma_step;

    assert_about (run.with[0].step_s.sigma,
                  sqrt (white * white + 0.01 - shipped * shipped));
}

/* The features are computed with the shipped constants, not with those of the site. */
TEST ("A site's constants do not shift the features")
{
    struct dn_predictor predictor;
    struct dn_constants constants = dn_constants_default;
    struct dn_estimate white;
    struct dn_estimate with;
    struct run run = predict (NET "batch=64");

    constants.kernel_s *= 10;
    constants.eff_memory /= 2;
    predictor =
        (struct dn_predictor){.constants = &constants, .bundle = run.site->bundle};
    dn_whitebox (
        &(struct dn_case){&constants, &run.spec, &run.graph, run.white[0].device, 0},
        &white);
    predict_on (&predictor, &run.spec, &run.graph, &run.white[0].device, 1, &with);
    assert_true (white.step_s.p50 > 1.2 * run.white[0].step_s.p50);
    assert_about (with.step_s.p50, 1.5 * white.step_s.p50);
    assert_about (with.known, 1.0);
}

/* The same run on the first device, with half of the rates measured. */
static void predict_measured (const struct run *run,
                              struct dn_estimate *white,
                              struct dn_estimate *with)
{
    struct dn_predictor predictor = dn_site_predictor (run->site);
    struct dn_device device = *run->white[0].device;
    const struct dn_device *devices[1] = {&device};

    device.measured.stream = device.bandwidth / 4;
    device.measured.rates[DN_RATE_CONV][DN_FORMAT_FP16] = device.fp16 / 8;
    predict_on (&predictor, &run->spec, &run->graph, devices, 1, with);
    predictor.bundle = NULL;
    predict_on (&predictor, &run->spec, &run->graph, devices, 1, white);
}

TEST ("what the bundle knows overrides measured rates")
{
    struct dn_estimate white;
    struct dn_estimate with;
    struct run run = predict (NET "batch=64");

    predict_measured (&run, &white, &with);
    assert_true (white.step_s.p50 > 1.5 * run.white[0].step_s.p50);
    assert_about (with.known, 1.0);
    assert_about (with.step_s.p50, run.with[0].step_s.p50);
    assert_about (with.power_w, run.with[0].power_w);
    run = predict (NET "batch=174"); /* half known */
    predict_measured (&run, &white, &with);
    assert_true (
        fabs (with.step_s.p50 / sqrt (1.5 * run.white[0].step_s.p50 * white.step_s.p50)
              - 1)
        < 2e-3);
    run = predict (NET "batch=4096"); /* not known */
    predict_measured (&run, &white, &with);
    assert_about (with.step_s.p50, white.step_s.p50);
}

TEST ("Many devices get the same predictions as one")
{
    enum {
        N = 77
    };
    struct run run = predict (NET "batch=64");
    struct dn_predictor predictor = dn_site_predictor (run.site);
    const struct dn_device *devices[N];
    struct dn_estimate *many = unit_keep (calloc (N, sizeof (*many)), free);

    for (int i = 0; i < N; i++)
        devices[i] = run.white[i % 2].device;
    predict_on (&predictor, &run.spec, &run.graph, devices, N, many);
    for (int i = 0; i < N; i++) {
        assert_near (many[i].step_s.p50, run.with[i % 2].step_s.p50);
        assert_near (many[i].gpu_mem.p50, run.with[i % 2].gpu_mem.p50);
        assert_ptr_equal (many[i].device, devices[i]);
    }
}

/* --- quantiles ------------------------------------------------------------------- */

TEST ("Quantiles are interpolated and extrapolated")
{
    struct dn_quantiles q = {
        .n = 3,
        .scores = {0, dn_normal_score (0.9), dn_normal_score (0.99)},
        .values = {0.2, 1, 1.1}};
    struct dn_range range = {.p50 = 1, .sigma = 1, .quantiles = &q};
    double last = 0;

    assert_near (log (dn_range_at (range, 0.9)), 1);
    assert_near (log (dn_range_at (range, 0.99)), 1.1);
    assert_near (dn_range_at (range, 0.5), 1); /* the median stays the median */
    /* Above the last level the growth is not slower than that of the normal law. */
    assert_near (log (dn_range_at (range, 0.999)),
                 1.1 + dn_normal_score (0.999) - dn_normal_score (0.99));
    for (double level = 0.01; level < 1; level += 0.01) {
        if (fabs (level - 0.5) > 1e-9)
            assert_true (dn_range_at (range, level) > last);
        last = dn_range_at (range, level);
        if (fabs (level - 0.5) < 1e-9)
            last = 0;
    }
    q.n = 1;
    assert_near (log (dn_range_at (range, 0.9)), 0.2 + dn_normal_score (0.9));
    range.quantiles = NULL;
    assert_near (log (dn_range_at (range, 0.9)), dn_normal_score (0.9));
}

/* --- the ladder ------------------------------------------------------------------ */

TEST ("The ladder predicts with the bundle")
{
    struct small_bundle small = small_bundle_make ();
    struct dn_site *site = scene_site ("");
    struct dn_job job = scene_job ();
    struct dn_advice *advice = scene_new ();
    double white;

    job.comment = "dnnest:" NET "batch=64";
    assert_done (dn_advise (site, NULL, &job, NULL, NULL, advice, &unit_err));
    assert_true (advice->candidates.n_candidates > 0);
    white = advice->estimates[0].step_s.p50;
    site->bundle = small_bundle_read (&small, &unit_err);
    assert_done (dn_advise (site, NULL, &job, NULL, NULL, advice, &unit_err));
    assert_about (advice->estimates[0].step_s.p50, 1.5 * white);
    small_bundle_free (&small);
}

/* Pseudo-random numbers between -4 and 4, the same every time. */
static float arbitrary (uint64_t *seed)
{
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (float) (*seed >> 40) / 2097152.0F - 4;
}

/* Eight runs that differ in few coordinates, some in none, or are at points. */
static void make_runs (const struct dn_domain *domain,
                       int turn,
                       uint64_t *seed,
                       float runs[8][DN_N_FEATURES])
{
    for (int k = 0; k < domain->n_used; k++) {
        float shared =
            turn % 2 ? arbitrary (seed)
                     : domain->points[turn * domain->n_used + k] / domain->scale[k];

        for (int r = 0; r < 8; r++)
            runs[r][k] =
                shared + (k % 5 == turn % 5 ? (float) r * arbitrary (seed) : 0);
    }
    if (turn % 7 == 0)
        runs[3][2] = 3e38F; /* times its scale it overflows */
    if (turn % 7 == 1)
        for (int r = 0; r < 8; r++)
            runs[r][2] = 5e18F; /* its square is finite, that of its double overflows */
}

/* The distance to the nearest point, by trying all. */
static double by_hand (const struct dn_domain *domain, const float *run)
{
    double least = INFINITY;

    for (int i = 0; i < domain->n_points; i++) {
        double square = 0;

        for (int k = 0; k < domain->n_used; k++) {
            double apart = (double) (run[k] * domain->scale[k])
                           - (double) domain->points[i * domain->n_used + k];

            square += apart * apart;
        }
        least = fmin (least, square);
    }
    return sqrt (least);
}

TEST ("runs together have the same distances as alone")
{
    enum {
        N_USED = 2 * DN_AXES_GROUP,
        N_POINTS = 200
    };
    struct dn_domain domain = {
        .n_used = N_USED, .n_network = DN_AXES_GROUP, .n_points = N_POINTS};
    uint64_t seed = 5;

    domain.points = malloc (sizeof (float) * N_USED * N_POINTS);
    assert_non_null (domain.points);
    for (int i = 0; i < N_USED; i++) {
        domain.used[i] = i;
        domain.scale[i] = (float) (1 + i % 3);
    }
    for (int i = 0; i < N_USED * N_POINTS; i++)
        domain.points[i] = arbitrary (&seed);
    for (int turn = 0; turn < 100; turn++) {
        float runs[8][DN_N_FEATURES] = {{0}};
        double together[8];

        make_runs (&domain, turn, &seed, runs);
        dn_domain_distances (&domain, runs[0], 8, NULL, together);
        for (int r = 0; r < 8; r++) {
            double alone = dn_domain_distance (&domain, runs[r]);

            assert_memory_equal (&together[r], &alone, sizeof (alone));
            if (isfinite (alone))
                assert_true (fabs (alone - by_hand (&domain, runs[r])) <= 1e-5 * alone);
        }
    }
    dn_domain_free (&domain);
}
