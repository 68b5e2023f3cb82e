/* probe.c - tests of the results of a probe: steady steps, other devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "learn/calibrate.h"
#include "learn/steady.h"

#define MARKS_MAX 400

/* Marks of steps that each take this long, after 'start_s'. */
static int mark (struct dn_mark marks[], double start_s, const double steps_s[], int n)
{
    double now = start_s;

    for (int i = 0; i < n; i++) {
        now += steps_s[i];
        marks[i] = (struct dn_mark){now, i + 1};
    }
    return n;
}

static struct dn_steady find (const double steps_s[], int n, int64_t warmup)
{
    struct dn_mark marks[MARKS_MAX];
    struct dn_steady steady;
    struct dn_err err = {0};

    if (dn_steady_find (marks, mark (marks, 5, steps_s, n), warmup, &steady, &err) < 0)
        fail_msg ("%s", err.text);
    return steady;
}

/* A convolutional network on a CPU of two cores that other programs shared, torch 1.13:
 * the first 40 of 300 steps. The mean after the tenth is RECORDED_MEAN.
 */
static const double recorded[] = {
    0.3499, 0.1236, 0.2216, 0.1946, 0.2232, 0.1484, 0.1618, 0.1407, 0.1423, 0.1440,
    0.1404, 0.1596, 0.1414, 0.1631, 0.1149, 0.1355, 0.1524, 0.1162, 0.1189, 0.1324,
    0.1218, 0.1187, 0.1272, 0.1670, 0.1057, 0.0998, 0.1083, 0.1188, 0.0993, 0.0818,
    0.1060, 0.1237, 0.1242, 0.1056, 0.1404, 0.1162, 0.1072, 0.0906, 0.1504, 0.1004};
#define RECORDED_MEAN 0.1404

TEST ("equal steps are found exactly")
{
    double steps[40];
    struct dn_steady steady;

    for (int i = 0; i < 40; i++)
        steps[i] = 0.25;
    steady = find (steps, 40, 10);
    assert_near (steady.step_s, 0.25);
    assert_near (steady.median_s, 0.25);
    assert_near (steady.start_s, 5);
    assert_int_equal (steady.steps, 30);
    assert_int_equal (steady.warmup, 10);
    assert_int_equal (steady.outliers, 0);
    assert_true (steady.sigma > 0.01 && steady.sigma < 0.05);
    assert_true (steady.confidence > 0.7 && steady.confidence < 1);
}

TEST ("recorded steps bound the long run")
{
    struct dn_steady steady = find (recorded, (int) DN_N_ELEMENTS (recorded), 10);

    assert_true (fabs (log (steady.step_s / RECORDED_MEAN)) < 2 * steady.sigma);
    assert_true (steady.sigma < 0.2);
}

TEST ("a single long step is left out but widens the spread")
{
    double steps[40];
    struct dn_steady steady;
    double calm;

    for (int i = 0; i < 40; i++)
        steps[i] = 0.1 + 0.001 * (i % 5);
    calm = find (steps, 40, 10).sigma;
    steps[25] = 3;
    steady = find (steps, 40, 10);
    assert_int_equal (steady.outliers, 1);
    assert_true (steady.step_s < 0.11);
    assert_true (steady.sigma > 5 * calm); /* it may recur */
}

TEST ("long steps that recur count")
{
    double steps[40];
    struct dn_steady steady;

    for (int i = 0; i < 40; i++)
        steps[i] = i % 5 == 4 ? 0.6 : 0.1;
    steady = find (steps, 40, 10);
    assert_int_equal (steady.outliers, 0);
    assert_near (steady.step_s, 0.2);
    assert_near (steady.median_s, 0.1);
}

TEST ("slow steps after the warm-up belong to the start")
{
    double steps[40];
    struct dn_steady steady;

    for (int i = 0; i < 40; i++)
        steps[i] = i < 14 ? 1 : 0.1;
    steady = find (steps, 40, 10);
    assert_int_equal (steady.warmup, 14);
    assert_int_equal (steady.steps, 26);
    assert_near (steady.step_s, 0.1);
    assert_near (steady.start_s, 5 + 14 * 0.9);
}

TEST ("a drift widens the spread")
{
    double steps[60];
    struct dn_steady steady;

    for (int i = 0; i < 60; i++)
        steps[i] = i < 35 ? 0.1 : 0.15;
    steady = find (steps, 60, 10);
    assert_true (steady.drift > 0.25);
    assert_true (steady.sigma > 0.1);
    assert_true (steady.confidence < 0.7);
}

TEST ("marks of several steps and of one moment count")
{
    struct dn_mark marks[20];
    struct dn_steady steady;
    struct dn_err err = {0};

    for (int i = 0; i < 20; i++) /* a line per ten steps, two at a time */
        marks[i] = (struct dn_mark){1 + 2.0 * (double) (i / 2), 10 * (i + 1)};
    assert_int_equal (dn_steady_find (marks, 20, 20, &steady, &err), 0);
    assert_near (steady.step_s, 0.1);
    assert_true (steady.steps >= 170);
}

TEST ("too few steps are an error")
{
    struct dn_mark marks[8];
    struct dn_steady steady;
    struct dn_err err = {0};
    const double steps[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    int n = mark (marks, 0, steps, 8);

    assert_int_equal (dn_steady_find (marks, n, 10, &steady, &err), -1);
    assert_contains (err.text, "0 steps measured after 10 of warm-up");
    assert_int_equal (dn_steady_find (marks, 0, 0, &steady, &err), -1);
    assert_int_equal (dn_steady_find (marks, n, 6, &steady, &err), -1);
    assert_int_equal (dn_steady_find (marks, n, 5, &steady, &err), 0);
    assert_int_equal (steady.steps, 3);
}

TEST ("invalid marks do no harm")
{
    struct dn_mark marks[30];
    struct dn_steady steady;
    struct dn_err err = {0};

    for (int i = 0; i < 30; i++)
        marks[i] = (struct dn_mark){10 - i, 5}; /* backwards, without steps */
    assert_int_equal (dn_steady_find (marks, 30, 0, &steady, &err), -1);
    for (int i = 0; i < 30; i++)
        marks[i] = (struct dn_mark){7, i + 1}; /* all at the same time */
    assert_int_equal (dn_steady_find (marks, 30, 0, &steady, &err), -1);
    for (int i = 0; i < 30; i++)
        marks[i] =
            (struct dn_mark){(double) (i % 7) + i, (int64_t) 1 << (i < 60 ? i : 60)};
    if (dn_steady_find (marks, 30, 0, &steady, &err) == 0) {
        assert_true (isfinite (steady.step_s) && steady.step_s > 0);
        assert_true (isfinite (steady.sigma));
        assert_true (steady.start_s >= 0);
    }
}

/* --- other devices --------------------------------------------------------------- */

static const struct dn_generation volta, host = {.host = 1};
static struct dn_device v100 = {.name = "v100_sxm2_16gb", .generation = &volta};
static struct dn_device v100_pcie = {.name = "v100_pcie_16gb", .generation = &volta};
static struct dn_device a100 = {.name = "a100_sxm4_40gb", .generation = &volta};
static struct dn_device cpu = {.name = "cpu", .generation = &host};

static struct dn_estimate estimate_of (const struct dn_device *device, double step_s)
{
    struct dn_estimate estimate = {.device = device,
                                   .supported = true,
                                   .fits = true,
                                   .step_s = {step_s, 0.3, NULL},
                                   .gpu_mem = {8e9, 0.1, NULL},
                                   .power_w = 200,
                                   .confidence = 0.7};

    estimate.stage_s[DN_STAGE_FORWARD] = step_s / 2;
    return estimate;
}

static struct dn_probed measure (const struct dn_device *device, double step_s)
{
    return (struct dn_probed){.device = device,
                              .step_s = step_s,
                              .sigma = 0.03,
                              .confidence = 0.9,
                              .start_s = 30};
}

static enum dn_basis calibrate (const struct dn_probed *measured,
                                double own_s,
                                struct dn_estimate *estimate)
{
    struct dn_spec spec = dn_spec_empty ();
    struct dn_estimate own = estimate_of (measured->device, own_s);

    spec.steps = 1000;
    spec.gpus = 1;
    spec.batch = spec.global_batch = 32;
    return dn_calibrate (measured, &dn_constants_default, &spec, &own, estimate);
}

TEST ("the measured device is as measured")
{
    struct dn_probed measured = measure (&v100, 0.2);
    struct dn_estimate estimate = estimate_of (&v100, 0.1);

    measured.gpu_mem = 5e9;
    measured.power_w = 250;
    estimate.supported = false; /* even if the catalogue states this */
    assert_int_equal (calibrate (&measured, 0.1, &estimate), DN_BASIS_MEASURED);
    assert_near (estimate.step_s.p50, 0.2);
    assert_near (estimate.step_s.sigma, 0.03);
    assert_near (estimate.stage_s[DN_STAGE_FORWARD], 0.1);
    assert_near (estimate.samples_per_s, 160);
    assert_near (estimate.train_s.p50,
                 1000 * 0.2 * (1 + dn_constants_default.eval_share) + 30);
    assert_near (estimate.gpu_mem.p50, 5e9);
    assert_near (estimate.energy_j, estimate.train_s.p50 * 250);
    assert_near (estimate.confidence, 0.9);
    assert_true (estimate.supported);
}

TEST ("another device is scaled by a part and its spread widens")
{
    struct dn_probed measured = measure (&v100, 0.2);
    struct dn_estimate other = estimate_of (&a100, 0.05);
    struct dn_estimate alike = estimate_of (&v100_pcie, 0.11);

    assert_int_equal (calibrate (&measured, 0.1, &other), DN_BASIS_SCALED);
    assert_near (other.step_s.p50, 0.05 * pow (2, 0.36));
    assert_true (other.step_s.sigma > 0.3);
    assert_near (other.gpu_mem.p50, 8e9);
    assert_int_equal (calibrate (&measured, 0.1, &alike), DN_BASIS_CHIP);
    assert_near (alike.step_s.p50, 0.11 * pow (2, 0.85));
    assert_true (alike.step_s.sigma > 0.3 && alike.step_s.sigma < other.step_s.sigma);
}

TEST ("a measurement as predicted changes nothing")
{
    struct dn_probed measured = measure (&v100, 0.1);
    struct dn_estimate other = estimate_of (&a100, 0.05);

    calibrate (&measured, 0.1, &other);
    assert_near (other.step_s.p50, 0.05);
    assert_true (other.step_s.sigma >= 0.3 && other.step_s.sigma < 0.31);
}

TEST ("loaders do not become faster with the device")
{
    struct dn_probed measured = measure (&v100, 0.2);
    struct dn_estimate other = estimate_of (&a100, 0.05);

    measured.stall_s = 0.1; /* in parallel: a lower limit of the step */
    calibrate (&measured, 0.1, &other);
    assert_near (other.step_s.p50, 0.2);
    measured.serial = true; /* between steps: added to the step */
    other = estimate_of (&a100, 0.05);
    calibrate (&measured, 0.1, &other);
    assert_near (other.step_s.p50, 0.15);
    measured.stall_s = 0.002;
    other = estimate_of (&a100, 0.05);
    calibrate (&measured, 0.1, &other);
    assert_near (other.step_s.p50, 0.05 * pow (2, 0.36));
}

TEST ("a step time on a CPU is not used for GPUs")
{
    struct dn_probed measured = measure (&cpu, 2);
    struct dn_estimate other = estimate_of (&a100, 0.05);
    struct dn_estimate own = estimate_of (&cpu, 1);

    assert_int_equal (calibrate (&measured, 1, &other), DN_BASIS_MODEL);
    assert_near (other.step_s.p50, 0.05);
    assert_near (other.step_s.sigma, 0.3);
    assert_true (other.confidence <= 0.1);
    assert_int_equal (calibrate (&measured, 1, &own), DN_BASIS_MEASURED);
    assert_near (own.step_s.p50, 2);
    measured = measure (&v100, 0.2);
    own = estimate_of (&cpu, 1);
    assert_int_equal (calibrate (&measured, 0.1, &own), DN_BASIS_MODEL);
    assert_near (own.step_s.p50, 1);
}

TEST ("what is unknown stays unknown")
{
    struct dn_probed measured = measure (NULL, 0.2);
    struct dn_estimate other = estimate_of (&a100, 0.05);
    struct dn_spec spec = dn_spec_empty ();

    spec.gpus = spec.batch = spec.global_batch = 1;
    measured.start_s = -1;
    assert_int_equal (
        dn_calibrate (&measured, &dn_constants_default, &spec, NULL, &other),
        DN_BASIS_MODEL);
    assert_near (other.train_s.p50, -1);
    assert_near (other.energy_j, -1);
    other.supported = false;
    assert_int_equal (
        dn_calibrate (&measured, &dn_constants_default, &spec, NULL, &other),
        DN_BASIS_MODEL);
    assert_false (other.supported);
}
