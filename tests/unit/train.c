/* train.c - tests of training on measured runs: features, samples, quantiles
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/parts.h"
#include "unit.h"
#include "tests/unit/networks.h"
#include "white.h"

#define VOLTA (&scene_plain ()->catalogue.devices[V100])

/* --- features -------------------------------------------------------------------- */

TEST ("Every feature has a distinct name")
{
    const struct dn_feature_key *keys = dn_feature_keys ();

    for (int i = 0; i < DN_N_FEATURES; i++) {
        assert_non_null (keys[i].name);
        assert_non_null (keys[i].unit);
        assert_true (strlen (keys[i].meaning) > 0);
        for (int j = 0; j < i; j++)
            assert_string_not_equal (keys[i].name, keys[j].name);
    }
}

static struct dn_estimate features_of (const char *text,
                                       const struct dn_device *device,
                                       float out[DN_N_FEATURES])
{
    struct white white = white_run_on (text, device);

    dn_features (white_case (&white, 0), &white.estimate, out);
    return white.estimate;
}

TEST ("Features state sizes as logarithms")
{
    float small[DN_N_FEATURES];
    float large[DN_N_FEATURES];
    struct dn_estimate estimate =
        features_of ("model=resnet50,batch=8,precision=fp32,gpus=1", VOLTA, small);

    features_of ("model=resnet50,batch=80,precision=fp32,gpus=1", VOLTA, large);
    assert_float_equal (small[DN_FEATURE_STEP_TIME], log (estimate.step_s.p50), 1e-4);
    assert_float_equal (
        large[DN_FEATURE_BATCH] - small[DN_FEATURE_BATCH], log (10), 1e-4);
    assert_float_equal (
        small[DN_FEATURE_SAMPLE_FLOPS], large[DN_FEATURE_SAMPLE_FLOPS], 1e-6);
    assert_float_equal (small[DN_FEATURE_PARAMS], log (25557032), 1e-4);
    assert_true (small[DN_FEATURE_POINTWISE_FLOPS] > 0.3F);
    assert_true (small[DN_FEATURE_CONV_FLOPS] > 0.3F);
    assert_float_equal (small[DN_FEATURE_GPUS], 0, 1e-9);
}

TEST ("Features are finite for every input")
{
    const struct dn_generation no_generation = {.name = ""};
    struct dn_device blank = {.generation = &no_generation};
    float out[DN_N_FEATURES];

    features_of ("model=mlp,params=1,flops=1,activations=1,batch=1", VOLTA, out);
    for (int i = 0; i < DN_N_FEATURES; i++)
        assert_true (isfinite (out[i]));
    features_of ("model=resnet50,batch=1000000,gpus=100000", &blank, out);
    for (int i = 0; i < DN_N_FEATURES; i++)
        assert_true (isfinite (out[i]) && fabsf (out[i]) <= 100);
}

/* --- samples --------------------------------------------------------------------- */

static void add_row (struct dn_runs *runs, const char *ms)
{
    static const struct dn_datasets no_datasets;
    static const char *const names[] = {"spec", "gpu", "step_ms"};
    const char *values[] = {"model=alexnet,batch=8,precision=fp32", VOLTA->name, ms};
    struct dn_row row = {.line = 2, .n_columns = 3, .names = names, .values = values};

    runs->tables = (struct dn_run_tables){
        &scene_plain ()->catalogue, &no_datasets, shipped_networks ()};
    assert_int_equal (dn_runs_add (runs, &row, NULL), 0);
}

TEST ("A sample is drawn evenly and bounded")
{
    struct dn_runs runs = dn_runs_start (100, 7);
    int late = 0;

    for (int i = 0; i < 2000; i++)
        add_row (&runs, i < 1000 ? "1" : "1000");
    assert_numbers ("100 2000", runs.n, runs.n_rows);
    assert_true (runs.size <= 1024);
    for (int i = 0; i < runs.n; i++)
        late += runs.runs[i].ratio[DN_QUANTITY_STEP] > runs.runs[0].ratio[0] - 1
                && runs.runs[i].ratio[DN_QUANTITY_STEP] < runs.runs[0].ratio[0] + 1;
    /* Each half of the rows gives half of the sample: 50, with a spread of 5. */
    assert_in_range (late, 30, 70);
    dn_runs_free (&runs);
}

TEST ("A row without a time is only counted")
{
    struct dn_runs runs = dn_runs_start (100, 7);

    add_row (&runs, "");
    add_row (&runs, "-3");
    assert_numbers ("0 2", runs.n, runs.n_rows);
    assert_string_equal (runs.reason, "nothing was measured");
    dn_runs_free (&runs);
}

/* --- quantiles ------------------------------------------------------------------- */

#define N 200

static double quantile (int n_censored, double level, int n)
{
    struct dn_scored scores[N];

    for (int i = 0; i < n; i++)
        scores[i] = (struct dn_scored){.value = i + 1,
                                       .weight = 1,
                                       /* in the lower half */
                                       .censored = i % 2 == 0 && i / 2 < n_censored
                                                   && i < n / 2};
    return dn_scores_quantile (scores, n, level);
}

TEST ("A quantile is corrected for the finite sample")
{
    /* The ceil ((n + 1) level)-th smallest: 191 of 200, 20 of 20. */
    assert_float_equal (quantile (0, 0.95, 200), 191, 1e-9);
    assert_float_equal (quantile (0, 0.5, 200), 101, 1e-9);
    assert_float_equal (quantile (0, 0.95, 20), 20, 1e-9);
    /* No value above the largest was seen. */
    assert_float_equal (quantile (0, 0.99, 20), 20, 1e-9);
}

TEST ("Censored values move a quantile up")
{
    assert_true (quantile (50, 0.8, 200) > quantile (0, 0.8, 200));
    assert_true (quantile (50, 0.8, 200) > quantile (20, 0.8, 200));
}

TEST ("The law of few values is Student's")
{
    /* tables of Student's law */
    assert_float_equal (dn_student_score (0.95, 10), 1.8125, 2e-3);
    assert_float_equal (dn_student_score (0.99, 10), 2.7638, 5e-3);
    assert_float_equal (dn_student_score (0.95, 5), 2.0150, 5e-3);
    assert_float_equal (dn_student_score (0.95, 1e6), dn_normal_score (0.95), 1e-5);
}

/* --- families that were left out ------------------------------------------------- */

#define SOURCES_MAX 8
#define RUNS_MAX    (2 * SOURCES_MAX)

/* Two runs of each source, of one kind of network in one stack, and the spread 1. Each
 * source has been left out.
 */
struct bench {
    struct dn_training training;
    struct dn_case_set set;
    struct dn_domain domain;
};

static void free_bench (struct bench *bench)
{
    dn_case_set_free (&bench->set);
    bench->training.runs.labels[DN_LABEL_KIND].names = NULL;
    bench->training.runs.labels[DN_LABEL_STACK].names = NULL;
    dn_training_free (&bench->training);
}

/* With ln (measured / white box) of the runs of each source, and the residual. */
static struct bench make_bench (int n_sources,
                                const double *ratios,
                                const double *residuals)
{
    static char kinds[1][DN_NAME_MAX] = {"conv"};
    static char stacks[1][DN_NAME_MAX] = {"pytorch"};
    struct bench bench = {
        .training = dn_training_start (RUNS_MAX, 1),
        .domain = {.knots = {{0, 1, 1}, {9, 1, 1}}, .n_knots = 2},
    };
    struct dn_runs *runs = &bench.training.runs;

    runs->runs = calloc (RUNS_MAX, sizeof (*runs->runs));
    assert_non_null (runs->runs);
    runs->n = 2 * n_sources;
    for (int l = 0; l < DN_N_LABELS; l++)
        runs->labels[l].n = 1;
    runs->labels[DN_LABEL_CODE].n = n_sources;
    runs->labels[DN_LABEL_KIND].names = kinds;
    runs->labels[DN_LABEL_STACK].names = stacks;
    for (int i = 0; i < runs->n; i++) {
        runs->runs[i].ratio[DN_QUANTITY_STEP] = ratios[i / 2];
        runs->runs[i].label[DN_LABEL_CODE] = i / 2;
        runs->runs[i].kind = kinds[0];
    }
    assert_int_equal (dn_case_set_init (&bench.set, runs, DN_QUANTITY_STEP, NULL), 0);
    bench.set.done[DN_SCHEME_CODE] = true;
    for (int i = 0; i < runs->n; i++) {
        struct dn_left_out *out = dn_left_out_by (&bench.set, DN_SCHEME_CODE) + i;

        out->residual = residuals ? residuals[i / 2] : 0;
        out->judged = true;
        out->level = DN_VALIDATED_STACK;
    }
    dn_unseen_list (&bench.set);
    return bench;
}

/* All runs of three sources are a tenth slower than the white box. */
static void check_gates (const double residuals[3], const bool corrected[3])
{
    struct bench bench = make_bench (3, (const double[]){0.1, 0.1, 0.1}, residuals);

    assert_int_equal (dn_gates_fit (&bench.training, &bench.set, &bench.domain, NULL),
                      0);
    for (int i = 0; i < bench.set.n; i++)
        assert_int_equal (dn_left_out_by (&bench.set, DN_SCHEME_CODE)[i].corrected,
                          corrected[i / 2]);
    assert_int_equal (bench.training.n_validated, 1);
    assert_int_equal (bench.training.validated[0].corrected,
                      corrected[0] && corrected[1] && corrected[2]);
    free_bench (&bench);
}

TEST ("The residual counts where it made no source worse")
{
    check_gates ((const double[]){0.1, 0.05, 0.1}, (const bool[]){true, true, true});
}

/* The source that it made worse would not have known. */
TEST ("A source does not judge its own correction")
{
    check_gates ((const double[]){0.1, 0.05, -0.1}, (const bool[]){false, false, true});
}

static void make_pool (const struct bench *bench, enum dn_law law, struct dn_pool *pool)
{
    assert_int_equal (
        dn_pool_make (
            &bench->training.runs, &bench->set, &bench->domain, law, pool, NULL),
        0);
}

/* A level of validation needs 8 votes. The law of its only kind is the same. */
TEST ("A bound of few families is above all their runs")
{
    static const double ratios[] = {-0.4, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.4};
    struct bench bench = make_bench (SOURCES_MAX, ratios, NULL);
    dn_cleanup (dn_pool_free) struct dn_pool pool = {0};
    int skip[] = {[0 ... DN_N_LABELS - 1] = -1};
    struct dn_bounds bounds;

    make_pool (&bench, DN_LAW_BOUNDS, &pool);
    dn_bounds_fit (&pool, 1, skip, &bounds);
    assert_int_equal (bounds.n_groups, 4);
    assert_string_equal (bounds.groups[0].name, "stack");
    assert_string_equal (bounds.groups[1].name, "conv.stack");
    assert_string_equal (bounds.groups[2].name, "kind");
    assert_near (dn_train_levels[3], 0.95);
    assert_true (bounds.groups[0].quantiles.values[3] > 0.45);
    assert_true (bounds.all.values[3] >= bounds.groups[0].quantiles.values[3]);
    skip[DN_LABEL_CODE] = 0;
    dn_bounds_fit (&pool, 1, skip, &bounds);
    assert_int_equal (bounds.n_groups, 0);
    free_bench (&bench);
}

/* A tenth of the runs of a kind of few votes may miss its bound, as of any other. */
TEST ("The law of a kind is between its own runs and that of its level")
{
    static const double ratios[] = {-0.4, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.9};
    static char kinds[2][DN_NAME_MAX] = {"conv", "attention"};
    struct bench bench = make_bench (SOURCES_MAX, ratios, NULL);
    struct dn_runs *runs = &bench.training.runs;
    dn_cleanup (dn_pool_free) struct dn_pool pool = {0};
    int skip[] = {[0 ... DN_N_LABELS - 1] = -1};
    struct dn_bounds bounds;

    runs->labels[DN_LABEL_KIND].names = kinds;
    runs->labels[DN_LABEL_KIND].n = 2;
    for (int i = runs->n / 2; i < runs->n; i++)
        runs->runs[i].kind = kinds[1];
    make_pool (&bench, DN_LAW_WITHIN, &pool);
    dn_bounds_fit (&pool, 1, skip, &bounds);
    assert_string_equal (bounds.groups[1].name, "conv.stack");
    assert_string_equal (bounds.groups[2].name, "attention.stack");
    assert_near (dn_train_within_levels[9], 0.95); /* a tenth misses it */
    assert_near (bounds.groups[0].quantiles.values[9], 0.9);
    /* 4 votes, of which 0.4 are above: 0.4 times 0.4 and 4 times 0.9, over 4.4 */
    assert_near (bounds.groups[1].quantiles.values[9], (0.4 * 0.4 + 4 * 0.9) / 4.4);
    assert_near (bounds.groups[2].quantiles.values[9], 0.9);
    runs->labels[DN_LABEL_KIND].n = 1;
    free_bench (&bench);
}
