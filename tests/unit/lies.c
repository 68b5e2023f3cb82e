/* lies.c - tests of what users who lie about their runs can do to others
 *
 * A site of honest users, some liars, and B, who has few runs of his own. What B's jobs
 * are predicted to take is compared with what they are predicted to take without the
 * liars, and by B's own runs alone. Every STEPth of 5760 combinations is tried, or with
 * DN_LIES=N in the environment every Nth; one takes a third of a second.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "scene.h"
#include "site_runs.h"

/* Numeric ids. */
#define B      1000
#define HONEST 2000
#define LIARS  3000

#define STEP 421

static const double factors[] = {1 / 15.0, 0.25, 0.5, 0.67, 0.83, 1.2, 1.5, 2, 4, 15};
static const double shares[] = {0.05, 0.2, 0.5, 0.8};
static const int accounts[] = {1, 3, 50};
static const int own_runs[] = {0, 1, 3, 10};
static const double sites[] = {0.7, 1, 1.3};

/* What the liars claim to have run. */
static const struct lie {
    const char *name;
    const char *specs[3];
} lies[] = {
    {"B's application and model",
     {"model=resnet50,batch=32,precision=fp16,app=b",
      "model=resnet50,batch=64,precision=fp16,app=b",
      "model=vgg16,batch=16,precision=fp32,app=other"}},
    {"B's application, another model",
     {"model=bert_base,batch=8,precision=fp16,app=b",
      "model=vgg16,batch=8,precision=fp32,app=b",
      "model=vgg16,batch=16,precision=fp32,app=b2"}},
    {"B's model, other applications",
     {"model=resnet50,batch=32,precision=fp16,app=x",
      "model=resnet50,batch=64,precision=fp16,app=y",
      "model=resnet50,batch=128,precision=fp16,app=z"}},
    {"other models, no application",
     {"model=bert_base,batch=8,precision=fp16",
      "model=densenet121,batch=8,precision=fp16",
      "model=vgg16,batch=16,precision=fp32"}},
};

/* What B runs, the first of them before; N_SEEN are of the same application. */
static const char *const jobs[] = {
    "model=resnet50,batch=32,precision=fp16,app=b",
    "model=resnet50,batch=256,precision=fp16,app=b",
    "model=bert_base,batch=16,precision=fp16,app=b",
    "model=resnet50,batch=32,precision=fp16,app=new",
    "model=mobilenet_v2,batch=16,precision=fp16",
};

static const char *const honest[] = {
    "model=resnet18,batch=32,precision=fp16",
    "model=bert_base,batch=4,precision=fp16,app=text",
    "model=vgg16,batch=32,precision=fp32",
    "model=mobilenet_v2,batch=4,precision=fp16,app=small",
    "model=densenet121,batch=16,precision=fp16",
    "model=resnet50,batch=128,precision=fp16",
};

static const char *const devices[] = {"v100_16gb", "a100_40gb"};

#define N_JOBS   ((int) DN_N_ELEMENTS (jobs))
#define N_SEEN   3
#define N_HONEST 5

struct scenario {
    double factor; /* of the site: measured over predicted by what ships */
    int n_own;     /* runs of B */
    int n_honest;  /* runs of the other honest users */
    int n_false;
    int n_liars;
    double lie; /* claimed over true */
    const struct lie *what;
};

static void add (struct dn_site_fit *fit,
                 const struct scenario *s,
                 int64_t user,
                 const char *device,
                 const char *spec,
                 double factor)
{
    struct dn_site_run run = site_run_of (device, spec);

    run.user = user;
    run.step_s = site_run_truth (&dn_constants_default, &run, s->factor * factor);
    assert_int_equal (dn_site_fit_add (fit, &run, NULL), 0);
}

/* Runs of one job differ by some percent. */
static double jitter (int i)
{
    return 1 + 0.01 * (i % 7 - 3);
}

static struct dn_tuning *learn (const struct scenario *s)
{
    struct dn_site_fit *fit = site_fit_new ();
    struct dn_tuning *tuning;

    for (int i = 0; i < s->n_false; i++)
        add (fit,
             s,
             LIARS + i % s->n_liars,
             devices[i / 3 % 2],
             s->what->specs[i % 3],
             s->lie * jitter (i));
    for (int i = 0; i < s->n_own; i++)
        add (fit, s, B, devices[0], jobs[0], jitter (i));
    for (int i = 0; i < s->n_honest; i++)
        add (fit,
             s,
             HONEST + i % N_HONEST,
             devices[i / 3 % 2],
             honest[i % (int) DN_N_ELEMENTS (honest)],
             jitter (i));
    tuning = site_run_learned (fit);
    unit_release (fit);
    return tuning;
}

/* Of each of B's jobs; two levels. */
struct outlook {
    double truth[N_JOBS];
    double median[N_JOBS];
    double bounds[N_JOBS][2];
    int n_kept; /* of B's runs */
};

static int count_runs (const struct dn_tuning *tuning, int64_t user)
{
    int n = 0;

    for (int i = 0; tuning->history && i < tuning->history->n; i++)
        n += tuning->history->runs[i].user == user;
    return n;
}

static struct outlook look (const struct scenario *s)
{
    struct dn_tuning *tuning = learn (s);
    struct outlook outlook = {.n_kept = count_runs (tuning, B)};

    for (int i = 0; i < N_JOBS; i++) {
        struct dn_site_run run = site_run_of (devices[0], jobs[i]);
        struct dn_estimate e;

        run.user = B;
        e = site_run_refined (tuning, &run);
        outlook.truth[i] = site_run_truth (&dn_constants_default, &run, s->factor);
        outlook.median[i] = e.step_s.p50;
        outlook.bounds[i][0] = dn_range_at (e.step_s, 0.95);
        outlook.bounds[i][1] = dn_range_at (e.step_s, 0.99);
        dn_graph_free (&run.graph);
    }
    unit_release (tuning);
    return outlook;
}

/* The bounds that no other user may lower: those by B's own runs of the application, or
 * without any runs.
 */
static struct outlook look_alone (struct scenario s)
{
    struct outlook alone;
    struct outlook shipped;

    s.n_honest = s.n_false = 0;
    alone = look (&s);
    s.n_own = 0;
    shipped = look (&s);
    for (int i = N_SEEN; i < N_JOBS; i++)
        memcpy (alone.bounds[i], shipped.bounds[i], sizeof (shipped.bounds[i]));
    return alone;
}

/* What the lies of some combinations did: the largest logarithms. */
struct damage {
    double moved;  /* by which a median fell or rose */
    double raised; /* by which a bound rose */
};

static void judge (const struct scenario *s,
                   const struct outlook *without,
                   const struct outlook *alone,
                   struct damage *damage)
{
    struct outlook with = look (s);

    assert_int_equal (with.n_kept, s->n_own);
    for (int i = 0; i < N_JOBS; i++) {
        damage->moved =
            fmax (damage->moved, fabs (log (with.median[i] / without->median[i])));
        for (int k = 0; k < 2; k++) {
            damage->raised =
                fmax (damage->raised, log (with.bounds[i][k] / without->bounds[i][k]));
            if (with.bounds[i][k] < 0.9999 * alone->bounds[i][k])
                fail_msg ("'%s': %d liars say %g of %s: bound %g, by own runs %g",
                          jobs[i],
                          s->n_liars,
                          s->lie,
                          s->what->name,
                          with.bounds[i][k],
                          alone->bounds[i][k]);
            if (without->bounds[i][k] >= without->truth[i]
                && with.bounds[i][k] < without->truth[i])
                fail_msg ("'%s': %d liars say %g of %s: bound %g, truth %g",
                          jobs[i],
                          s->n_liars,
                          s->lie,
                          s->what->name,
                          with.bounds[i][k],
                          with.truth[i]);
        }
    }
}

#define N_FACTORS  ((int) DN_N_ELEMENTS (factors))
#define N_SHARES   ((int) DN_N_ELEMENTS (shares))
#define N_ACCOUNTS ((int) DN_N_ELEMENTS (accounts))
#define N_OWN      ((int) DN_N_ELEMENTS (own_runs))
#define N_SITES    ((int) DN_N_ELEMENTS (sites))
#define N_LIES     ((int) DN_N_ELEMENTS (lies))

/* 'damage' is of each number of accounts. */
static void try_one (struct scenario s,
                     int which,
                     const struct outlook *without,
                     const struct outlook *alone,
                     struct damage damage[N_ACCOUNTS])
{
    int f = which % N_FACTORS;
    int share = which / N_FACTORS % N_SHARES;
    int a = which / N_FACTORS / N_SHARES % N_ACCOUNTS;
    int n_true = s.n_honest + s.n_own;

    s.lie = factors[f];
    s.n_liars = accounts[a];
    s.what = &lies[which / N_FACTORS / N_SHARES / N_ACCOUNTS];
    s.n_false = (int) ceil (n_true * shares[share] / (1 - shares[share]));
    judge (&s, without, alone, &damage[a]);
}

TEST ("lies lower no bound of another user below the truth")
{
    struct damage damage[N_ACCOUNTS] = {{0, 0}};
    const char *given = getenv ("DN_LIES");
    int step = given ? (int) strtol (given, NULL, 10) : STEP;
    int count = 0;

    assert_true (step > 0);
    for (int c = 0; c < N_SITES * N_OWN; c++) {
        struct scenario s = {.factor = sites[c / N_OWN], .n_own = own_runs[c % N_OWN]};
        struct outlook alone = look_alone (s);
        struct outlook without;

        s.n_honest = 40;
        without = look (&s);
        assert_int_equal (without.n_kept, s.n_own);
        for (int w = 0; w < N_FACTORS * N_SHARES * N_ACCOUNTS * N_LIES; w++)
            if (count++ % step == 0)
                try_one (s, w, &without, &alone, damage);
    }
    /* doc/design.md has these. */
    for (int i = 0; i < N_ACCOUNTS; i++)
        print_message ("# %d accounts: medians moved by %.2f, bounds raised by %.2f\n",
                       accounts[i],
                       exp (damage[i].moved),
                       exp (damage[i].raised));
    for (int i = 0; i < 2; i++)
        assert_true (damage[i].moved < log (1.2));
}

/* Half of the runs of B's application are of a liar who says they took half as long. */
TEST ("runs of another user's application of that name are not looked at")
{
    struct scenario s = {.factor = 1,
                         .n_own = 10,
                         .n_honest = 10,
                         .n_liars = 1,
                         .lie = 0.5,
                         .what = &lies[0]};
    struct outlook honest_only = look (&s);
    struct outlook with;

    s.n_false = 10;
    with = look (&s);
    assert_true (fabs (log (with.median[0] / honest_only.truth[0])) < 0.02);
    assert_true (fabs (log (with.bounds[0][0] / honest_only.bounds[0][0])) < 0.02);
    assert_true (with.bounds[0][0] >= with.truth[0]);
}

/* A site that is so much slower that the shipped bounds do not hold. */
TEST ("a minority of liars does not undo what others have shown")
{
    struct scenario s = {.factor = 2.2, .n_honest = 40, .n_liars = 2};
    struct outlook shipped = look_alone (s);
    struct outlook without = look (&s);

    s.n_false = 120;
    for (int f = 0; f < N_FACTORS; f++) {
        struct outlook with;

        s.lie = factors[f] / s.factor;
        s.what = &lies[f % N_LIES];
        with = look (&s);
        for (int i = 0; i < N_JOBS; i++) {
            assert_true (shipped.bounds[i][0] < with.truth[i]
                         && without.bounds[i][0] >= with.truth[i]);
            if (with.bounds[i][0] < with.truth[i])
                fail_msg ("'%s': %g of %s: bound %g of %g, was %g",
                          jobs[i],
                          s.lie,
                          s.what->name,
                          with.bounds[i][0],
                          with.truth[i],
                          without.bounds[i][0]);
        }
    }
}

/* 'n' users with 'each' applications of one run each, after which B has his ten runs.
 */
static int runs_left (int n, int each)
{
    struct dn_site_fit *fit = site_fit_new ();
    const struct scenario s = {.factor = 1};

    for (int i = 0; i < 10; i++)
        add (fit, &s, B, devices[0], jobs[0], jitter (i));
    for (int i = 0; i < n * each; i++) {
        add (fit,
             &s,
             LIARS + i % n,
             devices[0],
             unit_text ("model=resnet18,batch=8,app=a%d", i / n),
             0.5);
    }
    return count_runs (site_run_learned (fit), B);
}

TEST ("runs of others do not evict a user's history")
{
    assert_int_equal (runs_left (1, 1100), 10);
    assert_int_equal (runs_left (1, 3000), 10);
    assert_int_equal (runs_left (5, 700), 10);
    assert_int_equal (runs_left (50, 60), 10);
    /* Of that many users each has the same share of the room. */
    assert_int_equal (runs_left (127, 20), DN_HISTORY_MAX / 128);
}

/* Of every run the same memory, power and time over the prediction by what ships. */
static struct dn_tuning *learn_factor (double factor)
{
    struct dn_site_fit *fit = site_fit_new ();

    for (int i = 0; i < 40; i++) {
        struct dn_site_run run =
            site_run_of (devices[i % 2], honest[i % (int) DN_N_ELEMENTS (honest)]);
        struct dn_estimate e = site_run_estimate (&dn_constants_default, &run);

        run.user = LIARS + i % 20;
        run.gpu_mem = factor * e.gpu_mem.p50;
        run.power_w = factor * e.power_w;
        assert_int_equal (dn_site_fit_add (fit, &run, NULL), 0);
    }
    return site_run_learned (fit);
}

TEST ("only more memory is learned")
{
    struct dn_tuning *tuning = learn_factor (0.5);

    assert_true (tuning->memory.scale == 1 && tuning->power.scale < 0.8);
    tuning = learn_factor (1.5);
    assert_true (tuning->memory.scale > 1.2 && tuning->power.scale > 1.2);
}

/* CPUs for a loader that decodes images, by a site whose cores seem four times as fast.
 */
TEST ("learned constants lower no number of CPUs")
{
    struct dn_site_run run = site_run_kept (
        devices[1], "model=resnet50,batch=256,precision=fp16,input=real");
    struct dn_tuning *tuning = site_tuning (dn_tuning_new ());
    int64_t shipped = site_run_refined (tuning, &run).cpus_per_gpu;

    tuning->constants.core_jpeg *= 4;
    assert_true (site_run_refined (tuning, &run).cpus_per_gpu < shipped);
    tuning->history = dn_history_new (0);
    assert_int_equal (dn_history_close (tuning->history, NULL), 0);
    assert_int_equal (site_run_refined (tuning, &run).cpus_per_gpu, shipped);
    tuning->constants.core_jpeg /= 8;
    assert_true (site_run_refined (tuning, &run).cpus_per_gpu > shipped);
}
