/* report.c - the figures of a report, for all forms
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common.h"
#include "config/config_view.h"

double dn_report_ratio (double a, double b)
{
    return b != 0 ? a / b : NAN;
}

double dn_report_error (struct dn_sums_judged *judged)
{
    return expm1 (dn_spread_quantile (&judged->error, 0.5));
}

/* --- harm ------------------------------------------------------------------------- */

const char *dn_report_harm (enum dn_harm_kind kind)
{
    static const char *const texts[] = {
        [DN_HARM_LIMIT] = "killed at a limit of dnnest",
        [DN_HARM_MEMORY] = "out of memory after a change",
        [DN_HARM_SLOWER] = "slower than was said, on another type",
        [DN_HARM_WAITED] = "waited longer than for the requested type",
        [DN_HARM_FAILED] = "failed where runs as requested did not",
    };

    return texts[kind];
}

bool dn_report_looked (const struct dn_report *report, enum dn_harm_kind kind)
{
    const struct dn_harm_sum *sum = &report->harm->of[kind];

    return report->harm->described > 0
           && (sum->looked > 0 || sum->unknown + sum->harmed == 0);
}

struct dn_shown dn_report_harmed (const struct dn_report *report,
                                  enum dn_harm_kind kind)
{
    const struct dn_harm_sum *sum = &report->harm->of[kind];
    struct dn_shown shown = {""};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));

    if (!dn_report_looked (report, kind))
        return (struct dn_shown){"not known"};
    dn_buf_add (&buf, "%s of ", dn_show_number ((double) sum->harmed).text);
    dn_buf_add (&buf, "%s", dn_show_number ((double) sum->looked).text);
    return shown;
}

const char *dn_report_unknown (const struct dn_report *report, enum dn_harm_kind kind)
{
    static const char *const texts[] = {
        [DN_HARM_LIMIT] = "their end is not recorded",
        [DN_HARM_MEMORY] = "their end is not recorded",
        [DN_HARM_SLOWER] = "too few runs on the requested type",
        [DN_HARM_WAITED] = "nobody got that type, and idle GPUs were not logged",
        [DN_HARM_FAILED] = "too few runs to tell it from chance",
    };

    if (report->harm->described == 0)
        return "no job has a record of dnnest";
    return report->harm->of[kind].unknown > 0 ? texts[kind] : NULL;
}

static void add_part (struct dn_buf *buf, const char *text)
{
    dn_buf_add (buf, "%s%s", buf->len > 0 ? "; " : "", text);
}

static struct dn_shown limit_of (int64_t limit_s)
{
    static const struct dn_shown unlimited = {"no limit"};

    return limit_s == DN_UNLIMITED ? unlimited : dn_show_time ((double) limit_s);
}

/* What Slurm or a user named: 40 printable characters. */
static struct dn_quoted safe (const char *name)
{
    size_t len = strlen (name);

    return dn_quote (name, len < 40 ? len : 40);
}

static void add_memory (const struct dn_harm_job *job, struct dn_buf *buf)
{
    add_part (buf, "out of memory");
    if (job->mem_gb > 0)
        dn_buf_add (buf, " with %s GiB a node", dn_show_number (job->mem_gb).text);
    if (job->asked_gpu[0] != '\0' && strcmp (job->gpu, job->asked_gpu) != 0) {
        dn_buf_add (buf, " on %s", safe (job->gpu).text);
        dn_buf_add (buf, ", requested %s", safe (job->asked_gpu).text);
    }
    if (job->rescued)
        dn_buf_add (buf, ", started again as requested");
}

void dn_report_happened (const struct dn_harm_job *job, struct dn_buf *buf)
{
    if (job->harm & 1U << DN_HARM_LIMIT) {
        add_part (buf, "killed at ");
        dn_buf_add (buf, "%s, ", limit_of (job->limit_s).text);
        dn_buf_add (buf, "requested %s", limit_of (job->asked_limit_s).text);
    }
    if (job->harm & 1U << DN_HARM_MEMORY)
        add_memory (job, buf);
    if (job->harm & 1U << DN_HARM_SLOWER) {
        add_part (buf, "ran ");
        dn_buf_add (buf, "%s on ", dn_show_time (job->ran_s).text);
        dn_buf_add (buf, "%s, ", safe (job->gpu).text);
        dn_buf_add (buf, "at most %s was said", dn_show_time (job->allowed_s).text);
    }
    if (job->harm & 1U << DN_HARM_WAITED) {
        add_part (buf, job->idle ? "" : "a later job got ");
        dn_buf_add (
            buf, "%s %s", safe (job->asked_gpu).text, job->idle ? "was idle " : "");
        dn_buf_add (buf, "%s before it", dn_show_time (job->late_s).text);
    }
    if (job->perhaps || job->harm & 1U << DN_HARM_FAILED) {
        add_part (buf, "failed; ");
        dn_buf_add (buf, "%" PRId64 " runs as requested completed", job->others);
    }
}

/* --- names ------------------------------------------------------------------------ */

const char *dn_report_not_freed (const struct dn_report *report)
{
    if (!report->freed.cluster)
        return "it takes a snapshot (dnnestd watch)";
    if (report->freed.cut)
        return "there are too many jobs; take a shorter period (--since)";
    return NULL;
}

struct dn_report_name dn_report_name (const struct dn_report *report,
                                      const struct dn_sums_group *group,
                                      bool is_user)
{
    struct dn_report_name name = {""};
    struct dn_buf buf = dn_buf_on (name.text, sizeof (name.text));

    if (is_user && !report->names && group->number > 0)
        dn_buf_add (&buf, "user %" PRId64, group->number);
    else
        dn_buf_add (&buf, "%.*s", DN_NAME_MAX - 1, group->name);
    return name;
}

void dn_report_modes (const struct dn_report *report, struct dn_buf *buf)
{
    size_t begin = buf->len;

    for (int mode = DN_N_MODES - 1; mode > DN_MODE_UNKNOWN; mode--)
        if (report->modes[mode])
            dn_buf_add (buf,
                        "%s%s",
                        buf->len > begin ? ", " : "",
                        dn_names_get (&dn_mode_names, mode));
    if (buf->len == begin)
        dn_buf_add (buf, "unknown");
}

void dn_report_rules (const struct dn_report *report, struct dn_buf *buf)
{
    static const char *const keys[] = {
        "Mode", "TimeLimit", "GpuType", "Cpus", "Memory", "Gpus", "ControlGroup"};

    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        dn_buf_add (
            buf,
            "%s%s=%s",
            i > 0 ? " " : "",
            keys[i],
            dn_config_value (report->rules, dn_rules_find (dn_span_of (keys[i]))).text);
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
    take (to, "killed_at_own_limit", (double) part->killed_user);
    take (to, "forecasts", (double) part->forecasts);
    take (to, "forecasts_within_two", (double) part->forecasts_near);
    take_amounts (part, take, to);
    take (to, "energy_measured", (double) part->measured);
    take (to, "energy_kwh", part->energy_kwh);
    take (to, "wasted_time_gpu_hours", part->wasted[DN_WASTE_TIME]);
    take (to, "wasted_cpu_hours", part->wasted[DN_WASTE_CPUS]);
    take (to, "wasted_gpu_hours", part->wasted[DN_WASTE_GPUS]);
}
