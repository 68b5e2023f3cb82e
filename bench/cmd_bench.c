/* cmd_bench.c - dnnest-dev bench: measures the site's own machines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <stdio.h>
#include <string.h>

#include "bench/bench_command.h"

enum {
    OPTION_SAMPLES,
    OPTION_DEVICE,
    OPTION_QUICK,
    OPTION_IMAGES,
    OPTION_CORES,
    OPTION_OUT
};

static const struct dn_option options[] = {
    [OPTION_SAMPLES] = {"samples",
                        0,
                        "FILE",
                        "gpu, host: append to this file, and skip samples that it has"},
    [OPTION_DEVICE] =
        {"device",
         0,
         "WHICH",
         "gpu: the number of the device (0); entry: its name (the driver's)"},
    [OPTION_QUICK] = {"quick", 0, NULL, "gpu, host: measure a part of the set"},
    [OPTION_IMAGES] = {"images", 0, "DIR", "host: decode these JPEG files"},
    [OPTION_CORES] = {"cores", 0, "N", "host: use N cores at the same time (all)"},
    [OPTION_OUT] = {"out", 0, "PATH", "entry: write to this file or directory"},
    {NULL, 0, NULL, NULL},
};

#define BIT(option) (1U << (option))

static const struct action {
    const char *name;
    int (*run) (const struct dn_bench_given *given);
    unsigned takes; /* options */
    int max_args;
} actions[] = {
    {"gpu",
     dn_bench_gpu,
     BIT (OPTION_SAMPLES) | BIT (OPTION_DEVICE) | BIT (OPTION_QUICK),
     0},
    {"host",
     dn_bench_host,
     BIT (OPTION_SAMPLES) | BIT (OPTION_IMAGES) | BIT (OPTION_CORES)
         | BIT (OPTION_QUICK),
     0},
    {"entry", dn_bench_entry, BIT (OPTION_DEVICE) | BIT (OPTION_OUT), 64},
    {"conf", dn_bench_conf, 0, 64},
};

static int take_option (struct dn_options *given,
                        int option,
                        struct dn_bench_given *bench)
{
    struct dn_err err = {0};

    switch (option) {
    case OPTION_SAMPLES:
        bench->samples = given->argument;
        return 0;
    case OPTION_DEVICE:
        bench->device = given->argument;
        return 0;
    case OPTION_OUT:
        bench->out = given->argument;
        return 0;
    case OPTION_IMAGES:
        bench->images = given->argument;
        return 0;
    case OPTION_QUICK:
        bench->quick = true;
        return 0;
    default:
        if (dn_int_read (
                dn_span_of (given->argument), "--cores", 1, 4096, &bench->cores, &err)
            == 0)
            return 0;
        given->exit_code = dn_options_misuse (given->command, "%s", err.text);
        return -1;
    }
}

static const struct action *find_action (struct dn_options *given)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (actions); i++)
        if (strcmp (given->args[0], actions[i].name) == 0)
            return &actions[i];
    given->exit_code =
        dn_options_misuse (given->command,
                           "'%s' is unknown, expected gpu, host, entry or conf",
                           dn_quote (given->args[0], strlen (given->args[0])).text);
    return NULL;
}

/* Does the action take the options and arguments that were given? */
static bool check (struct dn_options *given, const struct action *action, unsigned seen)
{
    unsigned other = seen & ~action->takes;

    for (int i = 0; options[i].name; i++)
        if (other & BIT (i)) {
            given->exit_code = dn_options_misuse (
                given->command, "%s: --%s is not taken", action->name, options[i].name);
            return false;
        }
    return dn_options_count (given, action->max_args > 0 ? 2 : 1, action->max_args + 1);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct dn_bench_given bench = {.samples = "dnnest-bench.csv"};
    const struct action *action;
    struct dn_options given;
    unsigned seen = 0;
    int option;

    dn_options_begin (&given, self, argc, argv);
    while ((option = dn_options_next (&given)) >= 0) {
        if (take_option (&given, option, &bench) < 0)
            return given.exit_code;
        seen |= BIT (option);
    }
    if (option != DN_OPTION_END || !dn_options_count (&given, 1, -1))
        return given.exit_code;
    action = find_action (&given);
    if (!action || !check (&given, action, seen))
        return given.exit_code;
    bench.hardware = given.paths.hardware;
    bench.args = given.args + 1;
    bench.n_args = given.n_args - 1;
    return action->run (&bench);
}

const struct dn_command dn_cmd_bench = {
    .name = "bench",
    .summary = "Measure the site's own devices and loaders",
    .arguments = "gpu|host|entry|conf [SAMPLES.csv]...",
    .options = options,
    .run = run,
};
