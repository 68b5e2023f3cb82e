/* fit_apps.c - tests of the law of an application's run time
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/fit_apps.h"

#include "predict/learned.h"
#include "unit.h"

#define MANY 40

static const struct dn_fit_prior *const prior = &dn_fit_prior_default;

static struct dn_fit_run exact (double ran_s, double work)
{
    return (struct dn_fit_run){.end_s = 1700000000,
                               .ran_s = ran_s,
                               .work = work,
                               .exact = true,
                               .cores = NAN,
                               .gpu_mem_gb = NAN};
}

static struct dn_fit_run killed (double ran_s)
{
    struct dn_fit_run run = exact (ran_s, 1);

    run.exact = false;
    return run;
}

static struct dn_app_row fit_of (const struct dn_fit_run runs[],
                                 int n,
                                 enum dn_work_unit unit)
{
    struct dn_app_row row = {.key = 7, .type = 1, .gpus = 4};

    assert_true (dn_fit_row (runs, n, unit, prior, &row));
    assert_true (row.key == 7 && row.type == 1 && row.gpus == 4);
    return row;
}

static double median (const struct dn_app_row *row, double work)
{
    return dn_app_row_time (row, work).p50;
}

static double bound (const struct dn_app_row *row, double work, double quantile)
{
    return dn_range_at (dn_app_row_time (row, work), quantile);
}

/* Numbers of a normal law, from a generator of its own: Lehmer's, and the sum of
 * twelve.
 */
static double normal (uint64_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        *state = *state * 48271 % 2147483647;
        sum += (double) *state / 2147483647;
    }
    return sum;
}

TEST ("one run is the median with the spread of applications alike")
{
    struct dn_fit_run run = exact (3600, 1);
    struct dn_app_row row = fit_of (&run, 1, DN_WORK_RUN);

    assert_float_equal (median (&row, 1), 3600, 1);
    assert_int_equal (row.runs, 1);
    assert_true (row.sigma >= prior->sigma);
    assert_true (bound (&row, 1, 0.95) > 3600 * exp (1.6 * prior->sigma));
}

TEST ("equal runs narrow the bound slowly")
{
    struct dn_fit_run runs[MANY];
    double before = INFINITY;

    for (int n = 1; n <= MANY; n++) {
        struct dn_app_row row;
        double now;

        runs[n - 1] = exact (1000, 1);
        row = fit_of (runs, n, DN_WORK_RUN);
        now = bound (&row, 1, 0.95);
        assert_float_equal (median (&row, 1), 1000, 1);
        assert_true (now <= before * 1.001);
        if (n == 2)
            assert_true (now > 1250);
        before = now;
    }
    assert_true (before < 1300);
}

/* The bound of 80 % holds for 80 % of the next runs, with few runs and with many. */
TEST ("bounds cover what they state")
{
    static const int numbers[] = {2, 3, 5, 12};
    uint64_t random = 12345;

    for (size_t k = 0; k < DN_N_ELEMENTS (numbers); k++) {
        int covered = 0;
        int n_apps = 4000;

        for (int app = 0; app < n_apps; app++) {
            struct dn_fit_run runs[MANY];
            double spread = prior->sigma * exp (0.4 * normal (&random));
            struct dn_app_row row;

            for (int i = 0; i < numbers[k]; i++)
                runs[i] = exact (5000 * exp (spread * normal (&random)), 1);
            row = fit_of (runs, numbers[k], DN_WORK_RUN);
            covered += 5000 * exp (spread * normal (&random)) <= bound (&row, 1, 0.8);
        }
        assert_true (covered > n_apps * 0.77 && covered < n_apps * 0.9);
    }
}

TEST ("runs of different length separate the start")
{
    static const double epochs[] = {2, 10, 4, 30, 6, 20, 2, 8};
    struct dn_fit_run runs[DN_N_ELEMENTS (epochs)];
    struct dn_app_row row;

    for (size_t i = 0; i < DN_N_ELEMENTS (epochs); i++)
        runs[i] = exact (300 + 100 * epochs[i], epochs[i]);
    row = fit_of (runs, (int) DN_N_ELEMENTS (epochs), DN_WORK_EPOCHS);
    assert_float_equal (row.start_s, 300, 30);
    assert_float_equal (row.unit_s, 100, 5);
    assert_float_equal (median (&row, 60), 6300, 300);
    assert_float_equal (row.work_min, 2, 0);
    assert_float_equal (row.work_max, 30, 0);
}

TEST ("a prediction is multiplied")
{
    struct dn_fit_run runs[6];
    struct dn_app_row row;

    for (int i = 0; i < 6; i++)
        runs[i] = exact (1.4 * (1000 + 700 * i), 1000 + 700 * i);
    row = fit_of (runs, 6, DN_WORK_PREDICTED);
    assert_float_equal (row.unit_s, 1.4, 0.02);
    assert_float_equal (median (&row, 9000), 12600, 200);
}

TEST ("a change is noticed after two runs")
{
    struct dn_fit_run runs[12];
    struct dn_app_row row;

    for (int i = 0; i < 12; i++)
        runs[i] = exact ((i < 10 ? 1000 : 3000) * (1 + 0.01 * (i % 3)), 1);
    row = fit_of (runs, 11, DN_WORK_RUN);
    assert_true (median (&row, 1) < 1500);
    row = fit_of (runs, 12, DN_WORK_RUN);
    assert_float_equal (median (&row, 1), 3000, 60);
    assert_int_equal (row.runs, 2);
    assert_true (bound (&row, 1, 0.95) > 4000);
}

TEST ("a single long run is no change")
{
    struct dn_fit_run runs[12];
    struct dn_app_row row;

    for (int i = 0; i < 12; i++)
        runs[i] = exact (i == 6 ? 3000 : 1000, 1);
    row = fit_of (runs, 12, DN_WORK_RUN);
    assert_float_equal (median (&row, 1), 1050, 120);
    assert_int_equal (row.runs, 12);
    assert_float_equal (row.longest_s, 3000, 0);
}

/* Five full runs of ten hours, then smoke tests. */
static struct dn_app_row mixture (int n_smoke, enum dn_work_unit unit, double smoke)
{
    struct dn_fit_run runs[MANY];

    for (int i = 0; i < 5 + n_smoke; i++)
        runs[i] = i < 5 ? exact (36000 + 60 * i, 100 * smoke)
                        : exact (90 + i % 3, unit == DN_WORK_RUN ? 1 : smoke);
    for (int i = 0; i < 5 && unit == DN_WORK_RUN; i++)
        runs[i].work = 1;
    return fit_of (runs, 5 + n_smoke, unit);
}

TEST ("the bound covers the longest mode of the last twenty runs")
{
    for (int n_smoke = 1; n_smoke < DN_FIT_MODE_RUNS; n_smoke++) {
        struct dn_app_row row = mixture (n_smoke, DN_WORK_RUN, 1);

        assert_true (dn_range_at (dn_app_row_law (&row, 1), 0.8) >= 36000);
    }
    for (int n_smoke = DN_FIT_MODE_RUNS; n_smoke < 30; n_smoke++) {
        struct dn_app_row row = mixture (n_smoke, DN_WORK_RUN, 1);

        assert_true (dn_range_at (dn_app_row_law (&row, 1), 0.8) < 300);
    }
}

/* A hundred epochs beside one: then a smoke test needs no ten hours. */
TEST ("a description tells modes apart")
{
    for (int n_smoke = 3; n_smoke < DN_FIT_MODE_RUNS; n_smoke++) {
        struct dn_app_row row = mixture (n_smoke, DN_WORK_EPOCHS, 1);

        assert_true (dn_range_at (dn_app_row_law (&row, 100), 0.8) >= 36000);
        if (row.work_max > 1)
            assert_true (dn_range_at (dn_app_row_law (&row, 1), 0.8) < 7200);
    }
}

TEST ("killed runs raise and never lower")
{
    struct dn_fit_run runs[6];
    double without;
    struct dn_app_row row;

    for (int i = 0; i < 4; i++)
        runs[i] = exact (1000 + 10 * i, 1);
    row = fit_of (runs, 4, DN_WORK_RUN);
    without = bound (&row, 1, 0.95);
    runs[4] = killed (600);
    row = fit_of (runs, 5, DN_WORK_RUN);
    assert_float_equal (bound (&row, 1, 0.95), without, without / 20);
    runs[4] = killed (1300);
    row = fit_of (runs, 5, DN_WORK_RUN);
    assert_true (bound (&row, 1, 0.95) > without);
    assert_float_equal (row.longest_s, 1300, 0);
    assert_int_equal (row.runs, 4);
}

TEST ("killed runs alone say nothing")
{
    struct dn_fit_run runs[3] = {killed (100), killed (200), killed (300)};
    struct dn_app_row row = {.key = 1};

    assert_false (dn_fit_row (runs, 3, DN_WORK_RUN, prior, &row));
    assert_int_equal (row.runs, 0);
    assert_false (dn_fit_row (runs, 0, DN_WORK_RUN, prior, &row));
}

TEST ("needs are the largest of the runs")
{
    struct dn_fit_run runs[3] = {exact (100, 1), exact (100, 1), exact (100, 1)};
    struct dn_app_row row;

    runs[0].cores = 3.5;
    runs[1].gpu_mem_gb = 11;
    runs[2].cores = 2;
    row = fit_of (runs, 3, DN_WORK_RUN);
    assert_float_equal (row.cores, 3.5, 0);
    assert_float_equal (row.gpu_mem_gb, 11, 0);
}

/* Any numbers give a law that is finite. */
TEST ("extremes give a law")
{
    static const double values[] = {1e-3, 1, 60, 3e7, 1e12};
    uint64_t random = 99;

    for (int k = 0; k < 3000; k++) {
        struct dn_fit_run runs[MANY];
        struct dn_app_row row;
        int n = 1 + k % MANY;

        for (int i = 0; i < n; i++) {
            random = random * 48271 % 2147483647;
            runs[i] = exact (values[random % 5], values[random / 5 % 5]);
            runs[i].exact = i == 0 || random % 3 != 0;
        }
        row = fit_of (runs, n, k % 2 ? DN_WORK_EPOCHS : DN_WORK_PREDICTED);
        assert_true (isfinite (row.start_s) && row.unit_s > 0 && isfinite (row.unit_s));
        assert_true (row.sigma > 0 && row.freedom > 0);
        assert_true (median (&row, 1) > 0);
        assert_true (bound (&row, 1, 0.99) >= median (&row, 1));
    }
}

TEST ("the scatter of a site is that of its runs")
{
    struct dn_fit_run runs[MANY];
    double variance;
    double freedom;
    uint64_t random = 4711;

    for (int i = 0; i < MANY; i++)
        runs[i] = exact (1000 * exp (0.1 * normal (&random)), 1);
    assert_false (dn_fit_scatter (runs, 2, DN_WORK_RUN, &variance, &freedom));
    assert_true (dn_fit_scatter (runs, MANY, DN_WORK_RUN, &variance, &freedom));
    assert_float_equal (sqrt (variance), 0.1, 0.04);
    assert_true (freedom > 5);
}
