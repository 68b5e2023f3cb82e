/* translate.c - tests of times that are translated from measured ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "predict/translate.h"

static const struct dn_generation nvidia = {.number = 3, .matrix_units = 1};
static const struct dn_device devices[] = {
    {.name = "v100", .generation = &nvidia, .fp32 = 15.7e12, .fp16 = 125e12, .sms = 80},
    {.name = "a100",
     .generation = &nvidia,
     .fp32 = 19.5e12,
     .fp16 = 312e12,
     .sms = 108}};

static const struct dn_device h100 = {.name = "h100",
                                      .generation = &nvidia,
                                      .fp32 = 67e12,
                                      .fp16 = 989e12,
                                      .sms = 132};

/* Two configurations and their estimates, of the test. */
static struct made {
    struct dn_spec spec;
    struct dn_estimate estimate;
    struct dn_setting setting;
} a, b;

/* A step of 'step_s' for 64 samples on that device. */
static void make (struct made *made, int device, double step_s)
{
    *made = (struct made){.spec = dn_spec_empty (),
                          .estimate = {.device = &devices[device],
                                       .step_s = {.p50 = step_s},
                                       .samples_per_s = 64 / step_s}};
    made->spec.batch = 64;
    made->spec.gpus = 1;
    made->spec.nodes = 1;
    made->setting =
        (struct dn_setting){.spec = &made->spec, .estimate = &made->estimate};
}

/* Three runs of 10 minutes' work after 100 s. */
static struct dn_app_row row_of (enum dn_work_unit unit, float unit_s)
{
    return (struct dn_app_row){.unit = (uint8_t) unit,
                               .freedom = 5,
                               .runs = 3,
                               .start_s = 100,
                               .unit_s = unit_s,
                               .sigma = 0.1F,
                               .longest_s = 700,
                               .work_min = 600 / unit_s,
                               .work_max = 600 / unit_s};
}

/* The same step on both devices, half as long on the second. */
int before_test (void **state)
{
    make (&a, 0, 1);
    make (&b, 1, 0.5);
    return 0;
}

static struct dn_range step_there (double measured_s)
{
    return dn_translate_step (measured_s, &a.setting, &b.setting);
}

#define BIT(name) (1U << DN_GAP_##name)
#define assert_changes(bits)                                                           \
    assert_int_equal (dn_changes_between (&a.setting, &b.setting), bits)

TEST ("what differs is told by kind")
{
    make (&b, 0, 1);
    b.spec.epochs = 7;
    b.spec.samples = 1000;
    memcpy (b.spec.app, "name", 5);
    assert_changes (0);
    b.estimate.device = &devices[1];
    assert_changes (BIT (TYPE));
    b.spec.batch = 32;
    b.spec.gpus = 2;
    assert_changes (BIT (TYPE) | BIT (BATCH) | BIT (GPUS));
    make (&b, 0, 1);
    b.spec.precision = DN_PRECISION_FP16;
    b.spec.image = (struct dn_image){2, {224, 224}};
    assert_changes (BIT (PRECISION) | BIT (BATCH));
    a.spec.image = (struct dn_image){2, {224, 224, 9}};
    memcpy (b.spec.model, "resnet50", 9);
    assert_changes (BIT (PRECISION) | BIT (OTHER));
}

TEST ("a step is measured time, times the ratio of the estimates")
{
    struct dn_range same = dn_translate_step (3, &a.setting, &a.setting);
    struct dn_range law = step_there (1);

    assert_true (same.p50 == 3 && dn_range_at (same, 0.95) == 3);
    assert_near (law.p50, 0.5);
    assert_true (dn_range_at (law, 0.95) > 1.2 * law.p50);
    assert_true (dn_range_at (law, 0.95) <= 1.5 * law.p50);
    /* More that differs is less certain. */
    b.spec.precision = DN_PRECISION_FP16;
    assert_true (dn_range_at (step_there (1), 0.95) > dn_range_at (law, 0.95));
}

TEST ("of a level that another device or precision may not have a part stays behind")
{
    const double fade = 0.2 * log (2); /* translate.inc: TYPE */

    /* Faster than predicted */
    assert_near (step_there (0.8).p50, 0.4 * pow (0.8, -fade));
    /* Slower: of 2.3 s half is more than predicted; of that half is not the device's */
    assert_near (step_there (2.3).p50, 2.3 * sqrt (0.5 * 0.75) * pow (2, -fade));
    /* However slow, the faster device is faster. */
    assert_true (step_there (1000).p50 < 900);
    /* Another batch of the same device has the same level. */
    make (&b, 0, 0.5);
    b.spec.batch = 32;
    assert_near (step_there (2.3).p50, 1.15);
}

TEST ("between chips the ratio follows the rate of a multiprocessor")
{
    a.spec.precision = b.spec.precision = DN_PRECISION_FP16;
    a.estimate.stage_s[DN_STAGE_FORWARD] = 1;
    b.estimate.stage_s[DN_STAGE_FORWARD] = 0.5;
    /* 2.89 to 1.56 TFLOP/s of a multiprocessor */
    assert_near (step_there (1).p50, 0.5 * pow (312.0 / 108 * 80 / 125, 0.22));
    /* Units of Hopper multiply faster and fetch their operands themselves. */
    b.estimate.device = &h100;
    assert_near (step_there (1).p50, 0.5 * pow (312.0 / 108 * 80 / 125, 0.22));
    b.estimate.device = &devices[1];
    /* What the host bounds is not concerned, nor is another batch. */
    a.estimate.stage_s[DN_STAGE_FORWARD] = b.estimate.stage_s[DN_STAGE_FORWARD] = 0;
    assert_near (step_there (1).p50, 0.5);
    make (&b, 0, 0.5);
    b.spec.precision = DN_PRECISION_FP16;
    b.spec.batch = 32;
    a.estimate.stage_s[DN_STAGE_FORWARD] = 1;
    assert_near (step_there (1).p50, 0.5);
}

TEST ("what is further apart is less certain")
{
    double last = 1;

    for (int i = 1; i < 8; i *= 2) {
        struct dn_range law;

        make (&b, 0, 1.0 / i);
        b.spec.batch = 64 / i;
        law = step_there (1);
        assert_true (dn_range_at (law, 0.95) / law.p50 >= last);
        last = dn_range_at (law, 0.95) / law.p50 + 1e-3;
        make (&b, 0, 1);
        b.spec.gpus = i;
        b.estimate.samples_per_s = 64 * i;
        assert_true (dn_range_at (step_there (1), 0.95) < 1.5);
    }
}

TEST ("without a step nothing is translated")
{
    struct dn_app_row row = row_of (DN_WORK_RUN, 600);

    for (int i = 0; i < 4; i++) {
        make (&a, 0, i == 0 ? -1 : 1);
        make (&b, 1, i == 1 ? -1 : 1);
        a.estimate.by_history = i == 2;
        b.estimate.by_history = i == 3;
        assert_true (step_there (3).p50 == -1);
        assert_true (dn_learned_translate (&row, 1, &a.setting, &b.setting).p50 == -1);
    }
    make (&a, 0, 1);
    make (&b, 1, 1);
    assert_true (step_there (0).p50 == -1);
    assert_true (dn_learned_translate (&row, 0, &a.setting, &b.setting).p50 == -1);
}

TEST ("a run is its start and its work, in each unit")
{
    static const struct {
        enum dn_work_unit unit;
        float unit_s;
        double work;   /* wanted */
        double time_s; /* with half the batch, and steps that are half as long */
    } cases[] = {{DN_WORK_RUN, 600, 1, 700},
                 {DN_WORK_EPOCHS, 60, 10, 700},
                 {DN_WORK_STEPS, 0.5F, 1200, 400},
                 /* 600 s predicted there, where 1 s was measured for one predicted */
                 {DN_WORK_PREDICTED, 1, 600, 700}};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_app_row row = row_of (cases[i].unit, cases[i].unit_s);
        struct dn_range law;

        make (&b, 0, 0.5);
        b.spec.batch = 32;
        b.estimate.samples_per_s = 32 / 0.5;
        law = dn_learned_translate (&row, cases[i].work, &a.setting, &b.setting);
        assert_near (law.p50, cases[i].time_s);
        assert_near (law.floor.ratio, 1);
    }
}

TEST ("a translated run has the spreads of both")
{
    struct dn_app_row row = row_of (DN_WORK_RUN, 600);
    struct dn_range own;
    struct dn_range law;

    make (&b, 1, 2);
    own = dn_learned_translate (&row, 1, &a.setting, &a.setting);
    assert_true (own.quantiles == dn_student_law (5));
    assert_near (own.sigma, (double) row.sigma);
    law = dn_learned_translate (&row, 1, &a.setting, &b.setting);
    assert_near (law.p50, 1300);
    assert_true (dn_range_at (law, 0.95) / law.p50 > dn_range_at (own, 0.95) / own.p50);
    /* The longest run, too, takes twice its time. */
    row.longest_s = 1300;
    law = dn_learned_translate (&row, 1, &a.setting, &b.setting);
    assert_near (law.floor.ratio * law.p50, 2500);
    /* Ten times the work is too far to be as certain. */
    assert_true (dn_learned_translate (&row, 10, &a.setting, &b.setting).sigma
                 > law.sigma);
}
