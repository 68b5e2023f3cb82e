/* search_cost.c - searches for the submission that costs a decision the most CPU time
 *
 * usage: search_cost [SECONDS] RECIPE...
 *
 * Each recipe (recipe.h) is changed at random for that many seconds, and a change that
 * costs more is kept. The objective is the CPU time of the whole submission without
 * DecisionTime=, the least of three. Prints for every recipe what it cost in ms before,
 * what the worst found costs without a limit and with the default one, and how much of
 * it is over; the worst found is written to RECIPE.worst, unless it is the recipe
 * itself. The status is 1 if any is over by more than OVER_MAX.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "costly_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/graph.h"
#include "host/load.h"

#define TRIES         3
#define DECISION_MS   5
#define OVER_MAX      1
#define REPORTED_GAIN 1.02 /* less is noise */

static double now_ms (clockid_t clock)
{
    struct timespec now;

    clock_gettime (clock, &now);
    return 1e3 * (double) now.tv_sec + 1e-6 * (double) now.tv_nsec;
}

static double cost_once (const struct recipe *recipe)
{
    job_desc_msg_t desc;
    char *file;
    char *message;
    double start;
    double cost;

    recipe_cook (recipe, &desc, &file);
    costly_site_file (file);
    start = now_ms (CLOCK_THREAD_CPUTIME_ID);
    message = costly_site_submit (&desc);
    cost = now_ms (CLOCK_THREAD_CPUTIME_ID) - start;
    slurm_text_free (&message);
    job_free (&desc);
    free (file);
    return cost;
}

static double cost_of (const struct recipe *recipe, double limit_ms)
{
    double least = 0;

    costly_site_limit (limit_ms);
    for (int i = 0; i < TRIES; i++) {
        double cost = cost_once (recipe);

        if (i == 0 || cost < least)
            least = cost;
    }
    return least;
}

/* --- changes --------------------------------------------------------------------- */

static const char *const shell[] = {"srun ",
                                    "-n 2 ",
                                    "--gpus=a100:1 ",
                                    "-c 4 ",
                                    "python x.py ",
                                    "torchrun ",
                                    "bash -c '",
                                    "env A=1 ",
                                    "time ",
                                    "apptainer exec x ",
                                    "#DNNEST batch=4\n",
                                    "#DNNEST off\n",
                                    "#SBATCH -c 8\n",
                                    "\n",
                                    " ",
                                    ";",
                                    "|",
                                    "&",
                                    "&&",
                                    "#",
                                    "\\\n",
                                    "\"",
                                    "'",
                                    "`",
                                    "$(",
                                    "$((",
                                    "))",
                                    ")",
                                    "(",
                                    "{ ",
                                    "}\n",
                                    "${A:-",
                                    "}",
                                    "<<E\n",
                                    "<<-'E'\n",
                                    "E\n",
                                    "<<<",
                                    "for i in 1 2; do\n",
                                    "while true; do\n",
                                    "done\n",
                                    "if x; then\n",
                                    "fi\n",
                                    "case x in\n",
                                    "esac\n",
                                    "f() {\n",
                                    "export A=",
                                    "SLURM_CPUS_PER_TASK",
                                    "$SLURM_GPUS",
                                    "a100",
                                    "-",
                                    "=",
                                    "\\",
                                    "\t",
                                    "%d",
                                    "nohup ",
                                    "conda run ",
                                    "deepspeed ",
                                    "accelerate launch ",
                                    "mpirun -np 4 ",
                                    "wait\n"};

static const char *const json[] = {"{",
                                   "}",
                                   "[",
                                   "]",
                                   ",",
                                   ":",
                                   "\"",
                                   "\\u0041",
                                   "\\\"",
                                   "1",
                                   "1e9",
                                   "0.5",
                                   "\"op\":\"activation\"",
                                   "\"op\":\"conv2d\"",
                                   "\"op\":\"linear\"",
                                   "\"op\":\"attention\"",
                                   "\"op\":\"rnn\"",
                                   "{\"op\":\"activation\"},",
                                   "{\"op\":\"pool\",\"in\":[[%d]]},",
                                   "\"in\":[[1]],",
                                   "\"in\":[[1,1,1,1]],",
                                   "[1,1,1,1,1,1],",
                                   "[1],",
                                   "\"out\":[[%d,2]],",
                                   "\"repeat\":2,",
                                   "\"params\":1e17,",
                                   "\"name\":\"x%d\",",
                                   "\"fused\":true,",
                                   "\"%d\":1,",
                                   "\n",
                                   " ",
                                   "'",
                                   "\xc3\xa9"};

static const char *const others[] = {",",
                                     ":",
                                     "gpu:",
                                     "gres/gpu:a100:1,",
                                     "1",
                                     "=",
                                     "%d",
                                     "A%d=1",
                                     "SLURM_",
                                     "SLURM_GPUS=a100:4",
                                     "SRUN_CPUS_PER_TASK=4",
                                     "SLURM_CONSTRAINT=x",
                                     "DNNEST_PROBE_X%d=1",
                                     "&",
                                     "|",
                                     "(",
                                     ")",
                                     "x",
                                     " "};

static unsigned below (unsigned n)
{
    return n == 0 ? 0 : (unsigned) random () % n;
}

/* "key=value" of a random key: at one of its bounds, or a random name. */
static void write_pair (char *out, size_t size)
{
    int n;
    const struct dn_key *keys = dn_spec_keys (&n);
    const struct dn_key *key = &keys[below ((unsigned) n)];
    int n_zoo = 0;

    while (dn_zoo_at (n_zoo))
        n_zoo++;
    if (strcmp (key->name, "model") == 0)
        snprintf (
            out, size, "model=%s", dn_zoo_at ((int) below ((unsigned) n_zoo))->name);
    else if (key->type == DN_KEY_ENUM)
        snprintf (out,
                  size,
                  "%s=%s",
                  key->name,
                  dn_names_get (&key->names,
                                1 + (int) below ((unsigned) key->names.n_names - 1)));
    else if (key->type == DN_KEY_NAME)
        snprintf (
            out, size, "%s=%s", key->name, below (2) ? COSTLY_APPLICATION : "imagenet");
    else if (below (2))
        snprintf (out, size, "%s=%.0f", key->name, below (2) ? key->min : key->max);
    else
        snprintf (out, size, "%s=%u", key->name, 1 + below (4096));
}

#define PICK(words) words[below ((unsigned) DN_N_ELEMENTS (words))]

static const char *pick_word (int field)
{
    static char pair[256];
    const char *name = recipe_field (field);

    if (strcmp (name, "script") == 0 && below (8) > 0)
        return PICK (shell);
    if (strcmp (name, "sidecar") == 0 || strcmp (name, "file") == 0)
        return PICK (json);
    if (strcmp (name, "comment") != 0 && strcmp (name, "option") != 0 && below (8) > 0)
        return PICK (others);
    pair[0] = ',';
    write_pair (pair + 1, sizeof (pair) - 1);
    return pair;
}

static void replace (struct piece *piece, size_t at, size_t n, const char *word)
{
    char text[RECIPE_TEXT_MAX];

    if (snprintf (text,
                  sizeof (text),
                  "%.*s%s%s",
                  (int) at,
                  piece->text,
                  word,
                  piece->text + at + n)
        < (int) sizeof (text))
        memcpy (piece->text, text, strlen (text) + 1);
}

/* Replace one "key=value" of metadata. */
static void replace_pair (struct piece *piece)
{
    size_t len = strlen (piece->text);
    size_t at = below ((unsigned) len + 1);
    char pair[256];

    while (at > 0 && !strchr (",: ", piece->text[at - 1]))
        at--;
    write_pair (pair, sizeof (pair));
    replace (piece, at, strcspn (piece->text + at, ", \n"), pair);
}

static void change_count (struct piece *piece)
{
    static const int counts[] = {
        1, 2, 31, 32, 33, 64, 1023, 4096, 20000, 100000, 1000000};
    long count = piece->count;

    switch (below (5)) {
    case 0:
        count = 2 * count;
        break;
    case 1:
        count = (count + 1) / 2;
        break;
    case 2:
        count = PICK (counts);
        break;
    case 3:
        count = count + 1 + (long) below (16);
        break;
    default:
        count = count * 9 / 10;
        break;
    }
    piece->count = count < 1                  ? 1
                   : count > RECIPE_COUNT_MAX ? RECIPE_COUNT_MAX
                                              : (int) count;
}

static void change_once (struct recipe *recipe)
{
    unsigned which = below ((unsigned) recipe->n);
    struct piece *piece = &recipe->pieces[which];
    size_t len = strlen (piece->text);
    size_t at = below ((unsigned) len + 1);
    const char *name = recipe_field (piece->field);
    bool described = strcmp (name, "comment") == 0 || strcmp (name, "option") == 0;

    switch (below (8)) {
    case 0:
        change_count (piece);
        break;
    case 1:
    case 2:
        replace (piece, at, 0, pick_word (piece->field));
        break;
    case 3:
        replace (piece, at, below ((unsigned) (len - at) + 1), "");
        break;
    case 4:
        replace (
            piece, at, below ((unsigned) (len - at) + 1), pick_word (piece->field));
        break;
    case 5:
        if (recipe->n == RECIPE_PIECES_MAX)
            break;
        memmove (
            piece + 1, piece, (size_t) (recipe->n++ - (int) which) * sizeof (*piece));
        if (below (2))
            snprintf (
                piece->text, sizeof (piece->text), "%s", pick_word (piece->field));
        break;
    case 6:
        if (recipe->n > 1 && below (2))
            memmove (piece,
                     piece + 1,
                     (size_t) (--recipe->n - (int) which) * sizeof (*piece));
        break;
    default:
        if (described)
            replace_pair (piece);
        else
            change_count (piece);
        break;
    }
}

/* --- the search ------------------------------------------------------------------ */

static double climb (struct recipe *best, double seconds, int *n_tries)
{
    double end = now_ms (CLOCK_MONOTONIC) + 1e3 * seconds;
    double most = cost_of (best, 0);

    *n_tries = 0;
    while (now_ms (CLOCK_MONOTONIC) < end) {
        struct recipe changed = *best;
        double cost;

        for (unsigned i = 0; i <= below (4); i++)
            change_once (&changed);
        ++*n_tries;
        costly_site_limit (0);
        cost = cost_once (&changed);
        if (cost > most)
            cost = cost_of (&changed, 0);
        if (cost > most * REPORTED_GAIN) {
            *best = changed;
            most = cost;
        }
    }
    return most;
}

/* Search from one recipe; the milliseconds over the limit, or -1 if it is none. */
static double search (const char *name, double seconds)
{
    const char *base = strrchr (name, '/');
    struct recipe recipe = {.n = 0};
    double before;
    double found;
    double limited;
    double over;
    char path[4096];
    int n_tries;

    if (!recipe_load (name, &recipe) || recipe.n == 0)
        return -1;
    before = cost_of (&recipe, 0);
    found = climb (&recipe, seconds, &n_tries);
    limited = cost_of (&recipe, DECISION_MS);
    over = limited > DECISION_MS ? limited - DECISION_MS : 0;
    printf ("%-24s %8d %10.3f %10.3f %10.3f %8.3f\n",
            base ? base + 1 : name,
            n_tries,
            before,
            found,
            limited,
            over);
    fflush (stdout);
    if (found > before * REPORTED_GAIN && n_tries > 0) {
        snprintf (path, sizeof (path), "%s.worst", name);
        recipe_save (&recipe, path);
    }
    return over;
}

int main (int argc, char **argv)
{
    int first = argc > 1 && argv[1][0] >= '0' && argv[1][0] <= '9' ? 2 : 1;
    double seconds = first == 2 ? atof (argv[1]) : 0;
    int status = 0;

    if (argc <= first) {
        fprintf (stderr, "usage: search_cost [SECONDS] RECIPE...\n");
        return 2;
    }
    srandom ((unsigned) (now_ms (CLOCK_REALTIME)));
    costly_site_start ();
    printf ("%-24s %8s %10s %10s %10s %8s\n",
            "recipe",
            "tried",
            "ms before",
            "ms found",
            "ms limited",
            "over");
    for (int i = first; i < argc; i++) {
        double over = search (argv[i], seconds);

        if (over < 0)
            return 2;
        if (over > OVER_MAX)
            status = 1;
    }
    costly_site_stop ();
    return status;
}
