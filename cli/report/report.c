/* report.c - the figures of a report, for all forms
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/report.h"

#include <math.h>
#include <string.h>

/* Put a comma before each group of three digits. */
static void add_commas (struct dn_buf *buf, const char *digits)
{
    size_t n = strlen (digits);

    for (size_t i = 0; i < n; i++)
        dn_buf_add (buf,
                    "%s%c",
                    i > 0 && (n - i) % 3 == 0 && dn_is_digit (digits[i - 1]) ? "," : "",
                    digits[i]);
}

struct dn_shown dn_report_number (double value)
{
    struct dn_shown shown = {"-"};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));
    char digits[32];
    struct dn_buf whole = dn_buf_on (digits, sizeof (digits));

    if (!isfinite (value) || fabs (value) > 1e15)
        return (struct dn_shown){"-"};
    if (fabs (value) < 0.005)
        return (struct dn_shown){"0"};
    if (fabs (value) < 99.95 && value != floor (value)) {
        dn_buf_add (&buf, "%.*f", fabs (value) < 9.995 ? 2 : 1, value);
        return shown;
    }
    dn_buf_add (&whole, "%.0f", value);
    add_commas (&buf, digits);
    return shown;
}

struct dn_shown dn_report_share (double share)
{
    struct dn_shown shown = {"-"};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));

    if (isfinite (share)) {
        buf.len = 0;
        dn_buf_add (&buf, "%.1f %%", 100 * share);
    }
    return shown;
}

double dn_report_ratio (double a, double b)
{
    return b != 0 ? a / b : NAN;
}

double dn_report_error (struct dn_sums_judged *judged)
{
    return expm1 (dn_spread_quantile (&judged->error, 0.5));
}

const char *dn_report_quantity (enum dn_measure quantity)
{
    static const char *const texts[] = {
        [DN_MEASURE_HOURS] = "hours",
        [DN_MEASURE_GPU_HOURS] = "GPU hours",
        [DN_MEASURE_CPU_HOURS] = "CPU hours",
        [DN_MEASURE_MONEY] = "money",
        [DN_MEASURE_BY_CPUS] = "GPU hours stranded by CPUs",
        [DN_MEASURE_BY_MEMORY] = "GPU hours stranded by memory",
    };

    return texts[quantity];
}

const char *dn_report_waste (enum dn_waste waste)
{
    static const char *const texts[] = {
        [DN_WASTE_TIME] = "GPU hours of requested limits after the end of the job",
        [DN_WASTE_CPUS] = "CPU hours of CPUs that were not busy",
        [DN_WASTE_GPUS] = "GPU hours of GPUs that were not busy",
    };

    return texts[waste];
}

const char *dn_report_effect (enum dn_effect_of effect)
{
    static const char *const texts[] = {
        [DN_EFFECT_WAIT] = "mean wait [min]",
        [DN_EFFECT_TURNAROUND] = "mean wait and run [min]",
        [DN_EFFECT_FAILED] = "failed or killed [%]",
        [DN_EFFECT_ACCURACY] = "limit / run time",
        [DN_EFFECT_HELD] = "GPU hours granted / used",
    };

    return texts[effect];
}

static void take_amounts (const struct dn_sums_part *part,
                          dn_report_figure_f take,
                          void *to)
{
    static const char *const kinds[] = {"requested", "granted", "used", "saved"};
    char name[DN_NAME_MAX];

    for (int q = 0; q < DN_N_MEASURES; q++) {
        const struct dn_amount *amount = &part->amounts[q];
        const double values[] = {
            amount->requested, amount->granted, amount->used, amount->saved};

        for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++) {
            struct dn_buf buf = dn_buf_on (name, sizeof (name));

            dn_buf_add (&buf, "%s_%s", dn_names_get (&dn_measure_names, q), kinds[i]);
            take (to, name, values[i]);
        }
    }
}

void dn_report_figures (const struct dn_sums_part *part,
                        dn_report_figure_f take,
                        void *to)
{
    take (to, "jobs", (double) part->seen);
    take (to, "ran", (double) part->ran);
    take (to, "described", (double) part->described);
    take (to, "changed", (double) part->changed);
    take (to, "extended", (double) part->extended);
    take (to, "extensions", (double) part->extensions);
    take (to, "rescued", (double) part->rescued);
    take (to, "killed_at_our_limit", (double) part->killed_ours);
    take (to, "killed_at_own_limit", (double) part->killed_user);
    take (to, "killed_for_memory", (double) part->killed_memory);
    take (to, "forecasts", (double) part->forecasts);
    take (to, "forecasts_within_two", (double) part->forecasts_near);
    take_amounts (part, take, to);
    take (to, "energy_measured", (double) part->measured);
    take (to, "energy_kwh", part->energy_kwh);
    take (to, "wasted_time_gpu_hours", part->wasted[DN_WASTE_TIME]);
    take (to, "wasted_cpu_hours", part->wasted[DN_WASTE_CPUS]);
    take (to, "wasted_gpu_hours", part->wasted[DN_WASTE_GPUS]);
}
