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

struct call {
    struct dn_bench_given bench;
};

static const struct dn_option options[] = {
    [OPTION_SAMPLES] =
        DN_OPT_TEXT ("samples",
                     0,
                     "FILE",
                     "gpu, host: append to this file, and skip samples that it has",
                     bench.samples),
    [OPTION_DEVICE] = DN_OPT_TEXT (
        "device",
        0,
        "WHICH",
        "gpu: the number of the device (0); entry: its name (the driver's)",
        bench.device),
    [OPTION_QUICK] =
        DN_OPT_FLAG ("quick", 0, "gpu, host: measure a part of the set", bench.quick),
    [OPTION_IMAGES] =
        DN_OPT_TEXT ("images", 0, "DIR", "host: decode these JPEG files", bench.images),
    [OPTION_CORES] = DN_OPT_INT ("cores",
                                 0,
                                 "N",
                                 "host: use N cores at the same time (all)",
                                 bench.cores,
                                 1,
                                 4096),
    [OPTION_OUT] = DN_OPT_TEXT ("out",
                                0,
                                "PATH",
                                "entry: write to this file or directory",
                                bench.out),
    DN_OPT_END,
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

static bool is_given (const struct call *call, const struct dn_option *option)
{
    const void *member = (const char *) call + option->at;

    if (option->use == DN_OPTION_FLAG)
        return *(const bool *) member;
    return option->use == DN_OPTION_INT ? *(const int64_t *) member != 0
                                        : *(const char *const *) member != NULL;
}

/* Does the action take the options and arguments that were given? */
static bool check (struct dn_options *given,
                   const struct action *action,
                   const struct call *call)
{
    for (int i = 0; options[i].name; i++)
        if (!(action->takes & BIT (i)) && is_given (call, &options[i])) {
            given->exit_code = dn_options_misuse (
                given->command, "%s: --%s is not taken", action->name, options[i].name);
            return false;
        }
    return dn_options_count (given, action->max_args > 0 ? 2 : 1, action->max_args + 1);
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct call call = {.bench = {.quick = false}};
    const struct action *action;
    struct dn_options given;

    dn_options_begin (&given, self, argc, argv);
    if (!dn_options_all (&given, &call, 1, -1))
        return given.exit_code;
    action = find_action (&given);
    if (!action || !check (&given, action, &call))
        return given.exit_code;
    if (!call.bench.samples)
        call.bench.samples = "dnnest-bench.csv";
    call.bench.hardware = given.paths.hardware;
    call.bench.args = given.args + 1;
    call.bench.n_args = given.n_args - 1;
    return action->run (&call.bench);
}

const struct dn_command dn_cmd_bench = {
    .name = "bench",
    .summary = "Measure the site's own devices and loaders",
    .arguments = "gpu|host|entry|conf [SAMPLES.csv]...",
    .options = options,
    .run = run,
};
