/* bench_main.c - dnnest-bench: measures the site's own machines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_command.h"

enum {
    OPTION_SAMPLES = 256,
    OPTION_DEVICE,
    OPTION_HARDWARE,
    OPTION_OUT,
    OPTION_IMAGES,
    OPTION_CORES,
    OPTION_QUICK,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option all_options[] = {
    {"samples", required_argument, NULL, OPTION_SAMPLES},
    {"device", required_argument, NULL, OPTION_DEVICE},
    {"hardware", required_argument, NULL, OPTION_HARDWARE},
    {"out", required_argument, NULL, OPTION_OUT},
    {"images", required_argument, NULL, OPTION_IMAGES},
    {"cores", required_argument, NULL, OPTION_CORES},
    {"quick", no_argument, NULL, OPTION_QUICK},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

struct command {
    const char *name;
    int (*run) (const struct dn_bench_given *given);
    const char *options; /* that it takes, besides --help */
    int max_args;
};

static const struct command commands[] = {
    {"gpu", dn_bench_gpu, " samples device quick ", 0},
    {"host", dn_bench_host, " samples images cores quick ", 0},
    {"entry", dn_bench_entry, " device hardware out ", 64},
    {"conf", dn_bench_conf, " ", 64},
};

static const char help[] =
    "Usage: dnnest-bench COMMAND [OPTION]... [SAMPLES.csv]...\n"
    "Measure the performance of the site's own devices and loaders.\n"
    "\n"
    "Commands:\n"
    "  gpu      measure the kernels of a GPU, and all-reduces of all GPUs\n"
    "  host     measure how fast a core decodes, tokenises and reads samples\n"
    "  entry    make a file of the hardware catalogue from samples of a GPU\n"
    "  conf     make lines of dnnest.conf from samples of a host\n"
    "\n"
    "Options:\n"
    "      --samples=FILE   gpu, host: append to this file, and skip samples that\n"
    "                       it has (default: dnnest-bench.csv)\n"
    "      --device=WHICH   gpu: the number of the device (default: 0); entry: its\n"
    "                       name in the catalogue (default: by the driver's name)\n"
    "      --quick          gpu, host: measure a part of the set\n"
    "      --images=DIR     host: decode these JPEG files, not generated ones\n"
    "      --cores=N        host: use N cores at the same time (default: all)\n"
    "      --hardware=DIR   entry: the catalogue (default: the installed one)\n"
    "      --out=PATH       entry: write to this file, or to DEVICE.conf in this\n"
    "                       directory (default: stdout)\n"
    "  -h, --help           print this help\n"
    "  -V, --version        print the version\n"
    "\n"
    "Exit codes: 0 done, 1 nothing to measure, 2 usage, 3 configuration, 4 samples or\n"
    "device, 5 bug, memory or write error.\n";

static int misuse (const char *text, const char *what)
{
    dn_complain ("%s '%s' (try 'dnnest-bench --help')",
                 text,
                 dn_quote (what, strlen (what)).text);
    return DN_EXIT_USAGE;
}

static bool takes (const struct command *command, const char *name)
{
    size_t len = strlen (name);

    for (const char *at = command->options; (at = strstr (at, name)); at += len)
        if (at[-1] == ' ' && at[len] == ' ')
            return true;
    return false;
}

/* Return an exit code, or -1 to continue. */
static int take_option (int option, struct dn_bench_given *given)
{
    struct dn_err err = {0};

    switch (option) {
    case OPTION_SAMPLES:
        given->samples = optarg;
        return -1;
    case OPTION_DEVICE:
        given->device = optarg;
        return -1;
    case OPTION_HARDWARE:
        given->hardware = optarg;
        return -1;
    case OPTION_OUT:
        given->out = optarg;
        return -1;
    case OPTION_IMAGES:
        given->images = optarg;
        return -1;
    case OPTION_CORES:
        if (dn_int_read (dn_span_of (optarg), "--cores", 1, 4096, &given->cores, &err)
            < 0)
            return dn_fail (DN_EXIT_USAGE, &err);
        return -1;
    case OPTION_QUICK:
        given->quick = true;
        return -1;
    case OPTION_HELP:
    case 'h':
        fputs (help, stdout);
        return DN_EXIT_DONE;
    case OPTION_VERSION:
    case 'V':
        printf ("dnnest-bench %s\n", PACKAGE_VERSION);
        return DN_EXIT_DONE;
    default:
        return DN_EXIT_BUG;
    }
}

static int run (const struct command *command, int argc, char **argv)
{
    struct dn_bench_given given = {.samples = "dnnest-bench.csv"};
    int option;
    int at = -1;

    opterr = 0;
    while ((option = getopt_long (argc, argv, "hV", all_options, &at)) >= 0) {
        int exit_code;

        if (option == '?')
            return misuse ("wrong option", argv[optind - 1]);
        if (at >= 0 && option < OPTION_HELP && !takes (command, all_options[at].name))
            return misuse ("an option of another command:", all_options[at].name);
        exit_code = take_option (option, &given);
        if (exit_code >= 0)
            return exit_code;
        at = -1;
    }
    given.args = argv + optind;
    given.n_args = argc - optind;
    if (given.n_args > command->max_args)
        return misuse ("too many arguments, from", given.args[command->max_args]);
    if (command->max_args > 0 && given.n_args == 0) {
        dn_complain ("no samples given (try 'dnnest-bench --help')");
        return DN_EXIT_USAGE;
    }
    return command->run (&given);
}

static int dispatch (int argc, char **argv)
{
    if (argc < 2) {
        dn_complain ("command missing (try 'dnnest-bench --help')");
        return DN_EXIT_USAGE;
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (commands); i++)
        if (strcmp (argv[1], commands[i].name) == 0)
            return run (&commands[i], argc - 1, argv + 1);
    if (strcmp (argv[1], "-h") == 0 || strcmp (argv[1], "--help") == 0)
        return take_option (OPTION_HELP, NULL);
    if (strcmp (argv[1], "-V") == 0 || strcmp (argv[1], "--version") == 0)
        return take_option (OPTION_VERSION, NULL);
    return misuse ("unknown command", argv[1]);
}

int main (int argc, char **argv)
{
    signal (SIGPIPE, SIG_IGN);
    dn_program = "dnnest-bench";
    return dn_finish (dispatch (argc, argv));
}
