/* cmd_bench.c - dnnest-dev bench: measures the site's own machines
 *
 * Programs in Python do the work, with the libraries that trainings use: PyTorch has
 * the kernels of all GPUs and versions, Pillow decodes the pictures of its loaders.
 * They are told here what the catalogue and the white box know.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "dev_commands.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hardware/cluster.h"
#include "hardware/gpu_names.h"
#include "host/load.h"
#include "predict/constants.h"

#define FILES_MAX   64
#define SAMPLES_MAX (1024 * 1024)

/* The command line; each action uses its own options. */
struct call {
    const char *samples;
    const char *device; /* an index or a name */
    const char *hardware;
    const char *out;
    const char *images;
    int64_t cores; /* 0: all usable ones */
    bool quick;
    char **files;
    int n_files;
};

static const struct dn_option options[] = {
    DN_OPT_TEXT ("samples",
                 "FILE",
                 "gpu, host: append to this file what it lacks",
                 samples),
    DN_OPT_TEXT ("device",
                 "WHICH",
                 "gpu: number of the device (0); entry: its name",
                 device),
    DN_OPT_FLAG ("quick", "gpu, host: measure a part of the set", quick),
    DN_OPT_TEXT ("images", "DIR", "host: decode these JPEG files", images),
    DN_OPT_INT ("cores",
                "N",
                "host: use N cores at the same time (all)",
                cores,
                1,
                4096),
    DN_OPT_TEXT ("out", "PATH", "entry: write to this file or directory", out),
    DN_OPT_END,
};

/* --- programs --------------------------------------------------------------------- */

/* The words of a command line. */
struct words {
    const char *argv[FILES_MAX + 24];
    int n;
};

static void add_word (struct words *words, const char *word)
{
    if (words->n < (int) DN_N_ELEMENTS (words->argv) - 1)
        words->argv[words->n++] = word;
}

/* Become a program of bench/, and return only if that fails. */
static int become (const char *script, const struct words *words)
{
    const char *dir = getenv ("DNNEST_BENCH_DIR");
    char path[PATH_MAX];
    struct words all = {{"python3", "-B", path}, 3};
    struct dn_err err = {0};

    snprintf (path, sizeof (path), "%s/%s", dir ? dir : DNNEST_BENCH_DIR, script);
    for (int i = 0; i < words->n; i++)
        add_word (&all, words->argv[i]);
    fflush (NULL);
    if (access (path, R_OK) < 0)
        dn_err_errno (path, &err);
    else if (execvp (all.argv[0], (char *const *) all.argv) < 0)
        dn_err_errno (all.argv[0], &err);
    return dn_fail (DN_EXIT_DATA, &err);
}

static int measure_gpu (const struct call *call)
{
    const char *device = call->device ? call->device : "0";
    const struct words words = {{device, call->samples, call->quick ? "quick" : "full"},
                                3};
    struct dn_err err = {0};
    int64_t number;

    if (dn_int_read (dn_span_of (device), "--device", 0, 1023, &number, &err) < 0)
        return dn_fail (DN_EXIT_USAGE, &err);
    return become ("gpu_bench.py", &words);
}

static int measure_host (const struct call *call)
{
    char cores[24];
    struct words words = {{cores, call->samples, call->quick ? "quick" : "full"}, 3};

    snprintf (cores, sizeof (cores), "%" PRId64, call->cores);
    if (call->images)
        add_word (&words, call->images);
    return become ("host_bench.py", &words);
}

static int fit (const struct call *call, struct words *words)
{
    add_word (words, "--");
    for (int i = 0; i < call->n_files; i++)
        add_word (words, call->files[i]);
    return become ("bench_fit.py", words);
}

static int make_conf (const struct call *call)
{
    struct words words = {{"conf", "hop_s=0"}, 2};

    return fit (call, &words);
}

/* --- entry ------------------------------------------------------------------------ */

/* A fact of the samples, which are read as a whole by bench_fit.py; "" without. */
struct fact {
    char text[128];
};

static void find_fact (const char *text, const char *key, struct fact *fact)
{
    char begin[32];
    const char *at;

    snprintf (begin, sizeof (begin), "\nfact,,,%s=", key);
    at = strstr (text, begin);
    if (!at || fact->text[0] != '\0')
        return;
    at += strlen (begin);
    snprintf (fact->text, sizeof (fact->text), "%.*s", (int) strcspn (at, ",\n"), at);
}

static double number_of (const struct fact *fact)
{
    double value = 0;

    (void) dn_real_read (dn_span_of (fact->text), "", 0, 1e15, &value, NULL);
    return value;
}

/* What the samples say of their device. */
struct facts {
    struct fact gpu;
    struct fact memory;
    struct fact capability;
};

static int read_facts (const struct call *call, struct facts *facts, struct dn_err *err)
{
    for (int i = 0; i < call->n_files; i++) {
        dn_cleanup (dn_free_ptr) char *text = NULL;
        size_t len;

        if (dn_read_bytes (call->files[i], SAMPLES_MAX, &text, &len, err) < 0)
            return -1;
        find_fact (text, "gpu", &facts->gpu);
        find_fact (text, "memory", &facts->memory);
        find_fact (text, "capability", &facts->capability);
    }
    return 0;
}

static int check_name (const char *name, struct dn_err *err)
{
    size_t len = strlen (name);

    for (const char *c = name; *c; c++)
        if (!isalnum ((unsigned char) *c) && !strchr ("_.-", *c))
            len = 0;
    if (len == 0 || len >= DN_NAME_MAX || name[0] == '.')
        return dn_err_set (err,
                           DN_E_RANGE,
                           "--device: '%s' is not a device name, expected letters, "
                           "digits, '_', '.' and '-'",
                           dn_quote (name, strlen (name)).text);
    return 0;
}

/* The device that a driver calls so. NULL with 'err', which lists the candidates. */
static const struct dn_device *match (const struct dn_catalogue *catalogue,
                                      const struct facts *facts,
                                      struct dn_err *err)
{
    const char *name = facts->gpu.text;
    char list[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (list, sizeof (list));
    const struct dn_device *found =
        dn_catalogue_find_product (catalogue, name, number_of (&facts->memory), &buf);

    if (!found)
        dn_err_set (err,
                    DN_E_RANGE,
                    buf.len > 0
                        ? "'%s' may be %s: choose one with --device"
                        : "'%s' is not in the catalogue%s: name it with --device",
                    dn_quote (name, strlen (name)).text,
                    buf.len > 0 ? list : "");
    return found;
}

/* The newest generation of NVIDIA that is not newer than the capability. */
static const char *arch_of (const struct dn_catalogue *catalogue, double capability)
{
    const struct dn_generation *best = NULL;

    for (int i = 0; i < catalogue->n_generations; i++) {
        const struct dn_generation *one = &catalogue->generations[i];

        if (one->capability > 0 && one->capability <= capability + 0.01
            && (!best || one->capability > best->capability))
            best = one;
    }
    return best ? best->name : "other";
}

/* The device by the name on the command line, or by the driver's; '*known' NULL: it is
 * new. Return its name, or NULL with 'err'.
 */
static const char *find_device (const struct call *call,
                                const struct dn_catalogue *catalogue,
                                const struct facts *facts,
                                const struct dn_device **known,
                                struct dn_err *err)
{
    *known = NULL;
    if (call->device) {
        *known = dn_catalogue_find (catalogue, call->device);
        return check_name (call->device, err) < 0 ? NULL : call->device;
    }
    if (facts->gpu.text[0] == '\0') {
        dn_err_set (err,
                    DN_E_RANGE,
                    "%s: the samples do not name their GPU: name it with --device",
                    call->files[0]);
        return NULL;
    }
    *known = match (catalogue, facts, err);
    return *known ? (*known)->name : NULL;
}

/* What bench_fit.py is told, one word each. */
#define TOLD_MAX 16

struct told {
    char words[TOLD_MAX][PATH_MAX + 8];
    int n;
};

static void tell (struct told *told, const char *key, const char *value)
{
    if (told->n < TOLD_MAX)
        snprintf (told->words[told->n++], sizeof (told->words[0]), "%s=%s", key, value);
}

/* What the white box knows, and of a known device its data sheet. */
static void tell_numbers (struct told *told, const struct dn_device *known)
{
    const struct dn_constants *k = &dn_constants_default;
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"seen_linear_fp32", k->seen_linear_fp32},
                   {"seen_linear_tensor", k->seen_linear_tensor},
                   {"seen_stream", k->seen_stream},
                   {"hop_s", k->hop_s},
                   {"fp32", known ? known->fp32 : 0},
                   {"tf32", known ? known->tf32 : 0},
                   {"fp16", known ? known->fp16 : 0},
                   {"bf16", known ? known->bf16 : 0}};
    char text[32];

    for (size_t i = 0; i < DN_N_ELEMENTS (numbers); i++) {
        snprintf (text, sizeof (text), "%.17g", numbers[i].value);
        tell (told, numbers[i].key, text);
    }
}

static int make_entry (const struct call *call)
{
    dn_cleanup (dn_catalogue_free) struct dn_catalogue catalogue = {.devices = NULL};
    static struct told told;
    struct words words = {{"entry"}, 1};
    const struct dn_device *known;
    struct facts facts = {0};
    struct dn_err err = {0};
    char path[PATH_MAX];
    const char *name;

    if (call->hardware && !realpath (call->hardware, path)) {
        dn_err_errno (call->hardware, &err);
        return dn_fail (DN_EXIT_CONF, &err);
    }
    if (dn_load_catalogue (
            call->hardware ? path : DNNEST_HARDWARE_DIR, &catalogue, &err)
        < 0)
        return dn_fail (DN_EXIT_CONF, &err);
    if (read_facts (call, &facts, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    name = find_device (call, &catalogue, &facts, &known, &err);
    if (!name)
        return dn_fail (DN_EXIT_DATA, &err);
    tell (&told, "device", name);
    tell (&told, "known", known ? "1" : "0");
    tell (&told, "arch", arch_of (&catalogue, number_of (&facts.capability)));
    tell (&told, "out", call->out ? call->out : "");
    tell_numbers (&told, known);
    for (int i = 0; i < told.n; i++)
        add_word (&words, told.words[i]);
    return fit (call, &words);
}

/* --- the command line ------------------------------------------------------------- */

static const struct action {
    const char *name;
    int (*run) (const struct call *call);
    const char *takes; /* options */
    int max_args;
} actions[] = {
    {"gpu", measure_gpu, "samples,device,quick", 0},
    {"host", measure_host, "samples,images,cores,quick", 0},
    {"entry", make_entry, "device,out", FILES_MAX},
    {"conf", make_conf, "", FILES_MAX},
};

static const struct action *find_action (struct dn_options *given)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (actions); i++)
        if (strcmp (given->args[0], actions[i].name) == 0)
            return &actions[i];
    dn_options_misuse (given,
                       "'%s' is unknown, expected gpu, host, entry or conf",
                       dn_quote (given->args[0], strlen (given->args[0])).text);
    return NULL;
}

/* Does the action take the options and arguments that were given? */
static bool check (struct dn_options *given, const struct action *action)
{
    for (int i = 0; options[i].name; i++)
        if (dn_options_has (given, options[i].name)
            && !dn_list_has (action->takes, dn_span_of (options[i].name))) {
            dn_options_misuse (
                given, "%s: --%s is not taken", action->name, options[i].name);
            return false;
        }
    return dn_options_count (given, action->max_args > 0 ? 2 : 1, action->max_args + 1);
}

static int run (struct dn_options *given)
{
    struct call call = {.quick = false};
    const struct action *action;

    if (!dn_options_all (given, &call, 1, -1))
        return given->exit_code;
    action = find_action (given);
    if (!action || !check (given, action))
        return given->exit_code;
    if (!call.samples)
        call.samples = "dnnest-bench.csv";
    call.hardware = given->paths.hardware;
    call.files = given->args + 1;
    call.n_files = given->n_args - 1;
    return action->run (&call);
}

const struct dn_command dn_cmd_bench = {
    .name = "bench",
    .summary = "Measure the site's own devices and loaders",
    .arguments = "gpu|host|entry|conf [SAMPLES.csv]...",
    .options = options,
    .run = run,
};
