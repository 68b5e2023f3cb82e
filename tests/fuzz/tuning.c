/* tuning.c - fuzz target: site.json, what a site has learned from its own runs
 *
 * People edit it, and it comes with bundles. What is read is written and read again the
 * same, and corrects predictions by numbers.
 *
 * Aims at: model/predict/tuning.c model/predict/history.c model/predict/history_json.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

#include <json-c/json.h>

#include "base/json_write.h"
#include "predict/tuning.h"

static char *write_again (const struct dn_tuning *tuning)
{
    struct json_object *document = dn_tuning_write (tuning);
    char *text;

    expect (document != NULL, "not written");
    text = strdup (dn_json_line (document));
    json_object_put (document);
    return text;
}

static void check_written (const struct dn_tuning *tuning)
{
    struct dn_err err = {0};
    char *text = write_again (tuning);
    struct dn_tuning *again = dn_tuning_read (dn_span_of (text), &err);
    char *same;

    expect_done (again != NULL, "not read again", &err);
    same = write_again (again);
    expect (strcmp (text, same) == 0, "not the same");
    dn_tuning_free (again);
    free (text);
    free (same);
}

static void check_step (const struct dn_tuning *tuning, const char *app, float at)
{
    const struct dn_device device = {.name = "v100_16gb"};
    const struct dn_range base = {.p50 = 1, .sigma = 0.3};
    struct dn_spec spec = dn_spec_empty ();
    float features[DN_N_FEATURES];
    struct dn_outlook step;
    struct dn_range spread;

    strcpy (spec.app, app);
    spec.precision = DN_PRECISION_FP32;
    spec.gpus = 4;
    for (int i = 0; i < DN_N_FEATURES; i++)
        features[i] = at;
    step = dn_tuning_step (tuning, DN_UNSET, &spec, &device, features);
    expect (isfinite (step.site.p50) && step.site.p50 > 0, "a factor");
    expect (isfinite (step.own) && step.own > 0, "the user's factor");
    expect (isfinite (step.site.sigma) && step.site.sigma >= 0, "a spread");
    spread = dn_tuning_spread (tuning, &step, base);
    expect (isfinite (spread.sigma) && spread.sigma >= 0, "the spread");
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    struct dn_span text = {(const char *) data, size};
    struct dn_err err = {0};
    struct dn_tuning *tuning = dn_tuning_read (text, &err);

    if (!tuning) {
        expect_message (&err);
        return 0;
    }
    check_written (tuning);
    check_step (tuning, "mine", 0);
    check_step (tuning, "other", -3);
    check_step (tuning, "", 1e6F);
    dn_tuning_free (tuning);
    return 0;
}
