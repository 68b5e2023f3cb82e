/* draw.c - draws the jobs of a scenario from its seed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "misfortune.h"

#include <math.h>

#define NODES      64
#define ARRAY_SIZE 10

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix (uint64_t x)
{
    x += UINT64_C (0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C (0x94d049bb133111eb);
    return x ^ (x >> 31);
}

double chance (int64_t seed, int64_t a, int64_t b, int64_t c)
{
    uint64_t x = mix (mix (mix (mix ((uint64_t) seed) + (uint64_t) a) + (uint64_t) b)
                      + (uint64_t) c);

    return (double) (x >> 11) / (double) (UINT64_C (1) << 53);
}

/* The draws of one job, in their order. */
struct dice {
    int64_t seed;
    int64_t job;
    int64_t n;
};

static double roll (struct dice *dice)
{
    return chance (dice->seed, dice->job, dice->n++, 0);
}

static double between (struct dice *dice, double low, double high)
{
    return low + roll (dice) * (high - low);
}

static bool is_in (struct dice *dice, int64_t percent)
{
    return roll (dice) * 100 < (double) percent;
}

static int64_t minutes (double seconds)
{
    return (int64_t) ceil (seconds / 60) * 60;
}

/* What the guard needs to have its nets below it: see dn_guard_lead (). */
static int64_t least_of (const struct scenario *scenario, const struct drawn *job)
{
    int64_t lead = 7 * scenario->interval_s + 30;

    if (job->signal_s > 0)
        lead += job->signal_s + 60;
    return minutes ((double) (2 * lead));
}

static void draw_limits (const struct scenario *scenario,
                         struct dice *dice,
                         struct drawn *job)
{
    double ratio = (double) scenario->own_max / (double) scenario->own_min;
    double own = (double) scenario->own_min * pow (ratio, roll (dice)) * 60;
    double low;

    job->own_s = minutes (own);
    job->signal_s =
        is_in (dice, scenario->signal) ? (int64_t) between (dice, 30, 600) : 0;
    job->heeds_signal = is_in (dice, 50);
    low = own * between (dice, 0.05, 0.9);
    if (scenario->low_min > 0)
        low = (double) scenario->low_min * 60;
    low = fmax (low, (double) least_of (scenario, job));
    job->low_s = minutes (low) < job->own_s ? minutes (low) : 0;
    job->p95_s = (int64_t) (low * between (dice, 0.8, 2));
    job->p99_s = (int64_t) ((double) job->p95_s * between (dice, 1, 2));
    if (is_in (dice, 20))
        job->p95_s = job->p99_s = 0;
    if (is_in (dice, scenario->time_min))
        job->time_min_s = minutes (low * between (dice, 0.3, 0.9));
    job->by_backfill = is_in (dice, 50);
    if (is_in (dice, scenario->unlimited)) {
        job->own_s = DN_UNLIMITED;
        job->low_s = minutes (low);
    } else if (is_in (dice, scenario->unset)) {
        job->unset = true;
        job->own_s = 6 * 3600;
        if (job->low_s >= job->own_s)
            job->low_s = 0;
    }
}

/* In seconds: shorter than predicted, about the limit, longer, about what the user
 * requested, or beyond.
 */
static double draw_need (const struct scenario *scenario,
                         struct dice *dice,
                         const struct drawn *job)
{
    double own = job->own_s == DN_UNLIMITED ? 36000 : (double) job->own_s;
    double low = job->low_s > 0 ? (double) job->low_s : own / 2;
    double kind = roll (dice);

    if (is_in (dice, scenario->wrong))
        return fmin (low * 10, 86400);
    if (kind < 0.2)
        return between (dice, 0.05, 1) * low;
    if (kind < 0.3)
        return fmax (low + between (dice, -90, 90), 10);
    if (kind < 0.7)
        return between (dice, low, own);
    if (kind < 0.9)
        return fmax (own + between (dice, -200, 40), 10);
    return fmin (own * between (dice, 1, 10), own + 3600);
}

static void draw_job (const struct scenario *scenario, int i, struct drawn *job)
{
    struct dice dice = {scenario->seed, i, 0};

    *job = (struct drawn){.leader = i, .array = -1};
    job->submit = (int64_t) (roll (&dice) * (double) scenario->spread_s * 1000);
    job->start =
        job->submit + (int64_t) (roll (&dice) * (double) scenario->wait_s * 1000);
    job->node = (int) (roll (&dice) * NODES);
    draw_limits (scenario, &dice, job);
    job->need = (int64_t) (draw_need (scenario, &dice, job) * 1000);
    if (job->own_s != DN_UNLIMITED && is_in (&dice, scenario->deadline))
        job->deadline_s =
            T0 + job->start / 1000 + job->own_s + (int64_t) between (&dice, 0, 3600);
    if (is_in (&dice, scenario->progress))
        job->progress = STEADY + (enum progress) (roll (&dice) * (N_PROGRESSES - 1));
}

/* Tasks of an array have the same request, components start and end together. */
void draw_jobs (const struct scenario *scenario, struct drawn *drawn)
{
    int n = (int) scenario->jobs;

    for (int i = 0; i < n; i++)
        draw_job (scenario, i, &drawn[i]);
    for (int i = 0; i < n; i++) {
        double kind = 100 * chance (scenario->seed, i, -1, 0);

        if (kind < (double) scenario->array / ARRAY_SIZE && i + ARRAY_SIZE <= n) {
            for (int k = 0; k < ARRAY_SIZE; k++) {
                struct drawn task = drawn[i + k];

                drawn[i + k] = drawn[i];
                drawn[i + k].leader = i + k;
                drawn[i + k].array = i;
                drawn[i + k].node = task.node;
                drawn[i + k].start = drawn[i].submit + task.start - task.submit;
                drawn[i + k].deadline_s = 0;
                if (task.need < INT64_C (86400000))
                    drawn[i + k].need = task.need;
            }
            i += ARRAY_SIZE - 1;
        } else if (kind > 100 - (double) scenario->het / 2 && i + 1 < n) {
            drawn[i + 1] = drawn[i];
            i++;
        }
    }
}
