/* faults.c - everything that can break under the plugin, broken on purpose
 *
 * Each fault is forced on the built plugin in a simulated slurmctld. It must cause one
 * line in the log that names the broken thing, and leave the job byte for byte
 * unchanged; or, if the fault has no effect on jobs, rewrite the job as without the
 * fault. doc/design.md lists the faults.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fake_site.h"

#include <errno.h>
#include <locale.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "faulty.h"
#include "site.h"

#if defined(__SANITIZE_ADDRESS__)
/* glibc's setlocale () does not free what it makes of LOCPATH. */
const char *__lsan_default_suppressions (void);

__attribute__ ((visibility ("default"))) const char *__lsan_default_suppressions (void)
{
    return "leak:__argz_add_sep\n";
}
#endif

#define N(array) (sizeof (array) / sizeof ((array)[0]))

/* --- assertions ------------------------------------------------------------------ */

/* Since the last check the log got one line, which contains 'part'. */
static void assert_one_line (const char *part)
{
    if (stand_in_n_errors + stand_in_n_infos != 1)
        fail_msg ("%d errors, %d other lines; '%s', '%s'",
                  stand_in_n_errors,
                  stand_in_n_infos,
                  stand_in_error,
                  stand_in_info);
    assert_contains (stand_in_n_errors ? stand_in_error : stand_in_info, part);
    stand_in_forget ();
}

static void assert_one_error (const char *part)
{
    assert_int_equal (stand_in_n_errors, 1);
    assert_one_line (part);
}

static void assert_silent (void)
{
    if (stand_in_n_errors + stand_in_n_infos > 0)
        fail_msg ("'%s', '%s'", stand_in_error, stand_in_info);
}

/* The plugin starts with the fault, logs one line about it, and does nothing. */
static void assert_inert (const char *conf, const char *part)
{
    start_plugin (conf);
    assert_one_error (part);
    assert_comment_untouched (RESNET, NULL);
    assert_silent ();
    stop_plugin ();
}

/* The result of a submission. */
struct outcome {
    uint32_t time_limit;
    uint16_t cpus_per_task;
    char gpus[64];
    char record[2048];
    char message[512];
};

static void copy_text (char *out, size_t size, const char *text)
{
    snprintf (out, size, "%s", text ? text : "");
}

static struct outcome outcome_of (job_desc_msg_t *desc, char **message)
{
    struct outcome outcome = {.time_limit = desc->time_limit,
                              .cpus_per_task = desc->cpus_per_task};

    copy_text (outcome.gpus, sizeof (outcome.gpus), desc->tres_per_node);
    copy_text (outcome.record, sizeof (outcome.record), desc->admin_comment);
    copy_text (outcome.message, sizeof (outcome.message), *message);
    slurm_text_free (message);
    job_free (desc);
    return outcome;
}

static struct outcome submit_resnet (void)
{
    job_desc_msg_t desc;
    char *message;

    make_job (&desc, RESNET);
    message = submit (&desc);
    return outcome_of (&desc, &message);
}

static void assert_same (const struct outcome *a, const struct outcome *b)
{
    assert_int_equal (a->time_limit, b->time_limit);
    assert_int_equal (a->cpus_per_task, b->cpus_per_task);
    assert_string_equal (a->gpus, b->gpus);
    assert_string_equal (a->record, b->record);
    assert_string_equal (a->message, b->message);
}

/* The next job is decided as that one was. */
static void assert_decides_as (const struct outcome *sound)
{
    struct outcome outcome = submit_resnet ();

    assert_same (&outcome, sound);
}

/* The result without a fault, with this configuration. */
static struct outcome sound_outcome (const char *conf)
{
    struct outcome outcome;

    start_plugin (conf);
    assert_int_equal (stand_in_n_errors, 0);
    outcome = submit_resnet ();
    assert_true (outcome.time_limit < 1440);
    stop_plugin ();
    return outcome;
}

/* --- files that are broken ------------------------------------------------------- */

/* Half of a file. */
static void cut (const char *name)
{
    size_t size;
    char *text = unit_keep (scratch_read (name, &size), free);

    scratch_write (name, text, size / 2);
}

static void move (const char *from, const char *to)
{
    assert_int_equal (rename (scratch_path (from), scratch_path (to)), 0);
}

/* A file of the site, kept until restore (). */
static struct {
    const char *name;
    char *text;
    size_t size;
} kept;

static void keep (const char *name)
{
    kept.name = name;
    kept.text = scratch_read (name, &kept.size);
}

static void restore (void)
{
    memset (&faulty, 0, sizeof (faulty));
    unlink (scratch_path (kept.name));
    rmdir (scratch_path (kept.name));
    scratch_write (kept.name, kept.text, kept.size);
    chmod (scratch_path (kept.name), 0644);
    free (kept.text);
    kept.text = NULL;
}

/* The path as the plugin opens it: its own name, below its directory. */
static const char *kept_base (void)
{
    const char *slash = strrchr (kept.name, '/');

    return slash ? slash + 1 : kept.name;
}

/* Ways to break the kept file. */
static void make_missing (void)
{
    unlink (scratch_path (kept.name));
}

static void make_short (void)
{
    cut (kept.name);
}

static void make_empty (void)
{
    scratch_write (kept.name, "", 0);
}

static void make_directory (void)
{
    unlink (scratch_path (kept.name));
    mkdir (scratch_path (kept.name), 0755);
}

static void make_writable (void)
{
    chmod (scratch_path (kept.name), 0666);
}

static void make_link (void)
{
    scratch_write ("other", kept.text, kept.size);
    unlink (scratch_path (kept.name));
    assert_int_equal (symlink (scratch_path ("other"), scratch_path (kept.name)), 0);
}

static void make_pipe (void)
{
    unlink (scratch_path (kept.name));
    assert_int_equal (mkfifo (scratch_path (kept.name), 0600), 0);
}

static void make_huge (void)
{
    assert_int_equal (truncate (scratch_path (kept.name), 1 << 30), 0);
}

static void make_binary (void)
{
    static const char bytes[] = "\0\xff\x7f"
                                "ELF\n";

    scratch_write (kept.name, bytes, sizeof (bytes));
}

struct breakage {
    void (*make) (void); /* NULL: the computer fails */
    const char *said;
    struct faulty faulty;
};

#define UNREADABLE                                                                     \
    {                                                                                  \
        .open_errno = EACCES                                                           \
    }
#define UNRELIABLE                                                                     \
    {                                                                                  \
        .read_errno = EIO                                                              \
    }
#define MEANWHILE(breakage)                                                            \
    {                                                                                  \
        .before_open = breakage                                                        \
    } /* behind the listing */

static const struct breakage breakages[] = {
    {make_missing, "cannot be opened: No such file", {0}},
    {NULL, "cannot be opened: Permission denied", UNREADABLE},
    {NULL, "cannot be read: Input/output error", UNRELIABLE},
    {make_directory, "not a regular file", {0}},
    {make_writable, "writable by group or others", {0}},
    {make_huge, "1073741824 bytes, ", {0}},
    {NULL, "cannot be opened: No such file", MEANWHILE (make_missing)},
};

/* Break the kept file. */
static void break_kept (const struct breakage *breakage)
{
    faulty = breakage->faulty;
    faulty.file = kept_base ();
    if (breakage->make)
        breakage->make ();
}

/* --- the bundle ------------------------------------------------------------------ */

static struct outcome white; /* without a bundle */

/* It is logged once, and jobs are predicted as with Bundle=none. */
static void assert_goes_without_bundle (const char *said)
{
    start_plugin (ENFORCE);
    assert_contains (stand_in_error, scratch_path ("bundle"));
    assert_contains (stand_in_error, said);
    assert_one_error ("going on without a model bundle");
    assert_decides_as (&white);
    assert_int_equal (stand_in_n_errors, 0);
    stop_plugin ();
}

static void break_bundle (const char *name, const struct breakage *breakage)
{
    keep (name);
    break_kept (breakage);
    assert_goes_without_bundle (breakage->said);
    restore ();
}

TEST ("a broken bundle counts as none")
{
    static const char *const files[] = {
        "bundle/manifest.json", "bundle/step.trees", "bundle/domain.points"};
    static const struct breakage shortened[] = {
        {make_short, "manifest.json: ", {0}},
        {make_empty, "manifest.json: ", {0}},
        {make_binary, "manifest.json: ", {0}},
        {make_short, "step.trees: ", {0}},
        {make_empty, "step.trees: ", {0}},
        {NULL, "step.trees: ", MEANWHILE (make_short)},
        {make_binary, "step.trees: ", {0}},
    };

    white = sound_outcome (ENFORCE);
    make_bundle ();
    for (size_t i = 0; i < N (files); i++)
        for (size_t k = 0; k < N (breakages); k++)
            break_bundle (files[i], &breakages[k]);
    for (size_t i = 0; i < N (shortened); i++)
        break_bundle (strncmp (shortened[i].said, "step", 4) == 0 ? files[1] : files[0],
                      &shortened[i]);
    move ("bundle", "elsewhere");
    assert_goes_without_bundle ("cannot be opened as a directory: No such file");
    move ("elsewhere", "bundle");
}

/* Another bundle of the same form replaces the one that is being read. */
static void swap_bundle_file (void)
{
    move ("bundle/memory.trees", "bundle/step.trees");
}

static void swap_bundle_directory (void)
{
    move ("bundle", "elsewhere");
    assert_int_equal (mkdir (scratch_path ("bundle"), 0755), 0);
}

TEST ("a bundle replaced during a load is used whole or not at all")
{
    struct outcome learned;
    struct outcome outcome;

    make_bundle ();
    learned = sound_outcome (ENFORCE);
    assert_true (learned.time_limit != white.time_limit);
    keep ("bundle/step.trees");
    faulty.file = "step.trees";
    faulty.before_open = swap_bundle_file;
    assert_goes_without_bundle ("step.trees: ");
    restore ();
    remove_bundle ();
    make_bundle ();
    faulty.file = "step.trees";
    faulty.before_open = swap_bundle_directory;
    outcome = sound_outcome (ENFORCE); /* the old one, which was opened */
    assert_same (&outcome, &learned);
    rmdir (scratch_path ("bundle"));
    move ("elsewhere", "bundle");
    remove_bundle ();
}

/* --- catalogue, data sets, configuration ----------------------------------------- */

static void break_file (const char *name, const struct breakage *breakage)
{
    keep (name);
    break_kept (breakage);
    assert_inert (ENFORCE, breakage->said);
    restore ();
}

TEST ("a broken catalogue leaves jobs alone")
{
    static const struct breakage more[] = {
        {make_missing,
         "dnnest.conf: line 6: Device: 'a100_sxm4_40gb' is not in the",
         {0}},
        {make_short, "hardware/a100_sxm4_40gb.conf: ", {0}},
        {make_empty, "hardware/a100_sxm4_40gb.conf: ", {0}},
        {make_binary, "hardware/a100_sxm4_40gb.conf: ", {0}},
        {NULL, "hardware/a100_sxm4_40gb.conf: ", MEANWHILE (make_short)},
    };

    for (size_t i = 1; i < N (breakages); i++)
        break_file ("hardware/a100_sxm4_40gb.conf", &breakages[i]);
    for (size_t i = 0; i < N (more); i++)
        break_file ("hardware/a100_sxm4_40gb.conf", &more[i]);
    move ("hardware", "elsewhere");
    assert_inert (ENFORCE, "hardware: cannot be opened as a directory: No such file");
    move ("elsewhere", "hardware");
}

TEST ("a broken table of data sets leaves jobs alone")
{
    for (size_t i = 0; i < N (breakages); i++)
        break_file ("datasets.conf", &breakages[i]);
    break_file ("datasets.conf",
                &(struct breakage){make_binary, "datasets.conf: ", {0}});
}

/* Of a file of dnnestd: its text, or NULL for a directory, and its mode. */
static const struct {
    const char *text;
    mode_t mode;
    const char *says;
} wrong_news[] = {
    {"", 0644, "the End line is missing"},
    {"Cluster Version=1 Name=c", 0644, "line 1: "},
    {"Guard Version=2 Time=1 Interval=1\n", 0644, "line 1: "},
    {"Cluster Version=2\n", 0644, "line 1: "},
    {"\x7f"
     "ELF\x01\x02\n",
     0644,
     "line 1: "},
    {"End Rows=0\n", 0644, "line 1: "},
    {"End Rows=0\n", 0666, "writable by group or others"},
    {NULL, 0755, "not a regular file"},
};

static void start_with_news (void)
{
    start_plugin (unit_text ("StateDir=%s\n%s", scratch_path (""), ENFORCE));
}

static void break_news (const char *name, const struct outcome *sound)
{
    for (size_t i = 0; i < N (wrong_news); i++) {
        if (wrong_news[i].text)
            write_file (name, wrong_news[i].text, "");
        else
            assert_int_equal (mkdir (scratch_path (name), 0755), 0);
        assert_int_equal (chmod (scratch_path (name), wrong_news[i].mode), 0);
        start_with_news ();
        assert_int_equal (stand_in_n_errors, 1);
        assert_contains (stand_in_error, name);
        assert_contains (stand_in_error, "decisions do not use it");
        if (strcmp (name, "cluster.snapshot") == 0 || i == 0 || i > 5)
            assert_contains (stand_in_error, i == 1 ? "line 1: " : wrong_news[i].says);
        assert_decides_as (sound);
        assert_int_equal (stand_in_n_errors, 1);
        stop_plugin ();
        remove (scratch_path (name));
    }
}

TEST ("a broken file of dnnestd counts as none")
{
    const struct outcome sound = sound_outcome (ENFORCE);

    break_news ("cluster.snapshot", &sound);
    break_news ("guard", &sound);
}

TEST ("a file of another cluster counts as none")
{
    static char here[] = "here";
    static const struct {
        const char *name;
        const char *text;
        int n_errors;
    } rows[] = {
#define SNAPSHOT(name)                                                                 \
    "Cluster Version=1 Name=" name " Time=1 Slurm=2411 SoftTimeMin=no Enforces=no\n"   \
    "End Rows=0\n"
#define HISTORY(name) "History Version=2" name " Time=1 ByAccount=no\nEnd Rows=0\n"
        {"cluster.snapshot", SNAPSHOT ("there"), 1},
        {"cluster.snapshot", SNAPSHOT ("here"), 0},
        {"history", HISTORY (" Cluster=there"), 1},
        {"history", HISTORY (" Cluster=HERE"), 0},
        {"history", HISTORY (""), 0},
    };

    for (size_t i = 0; i < 2 * N (rows); i++) {
        size_t row = i / 2;
        bool known = i % 2 == 0;

        write_file (rows[row].name, rows[row].text, "");
        cluster_name = known ? here : NULL;
        start_with_news ();
        assert_int_equal (stand_in_n_errors, known ? rows[row].n_errors : 0);
        if (stand_in_n_errors > 0) {
            assert_contains (stand_in_error, rows[row].name);
            assert_contains (stand_in_error,
                             ": of the cluster 'there', expected 'here'");
        }
        stop_plugin ();
        remove (scratch_path (rows[row].name));
    }
    cluster_name = NULL;
}

/* The plugin starts with the i-th byte of the kept file in which a bit is flipped. */
static void start_flipped (size_t i)
{
    kept.text[i] ^= (char) (1 << i % 8);
    scratch_write (kept.name, kept.text, kept.size);
    kept.text[i] ^= (char) (1 << i % 8);
    start_plugin (ENFORCE);
}

/* One bit of every byte. There is no checksum: a valid device is accepted. */
TEST ("a flipped bit of the catalogue is named, or a valid device")
{
    int n_named = 0;
    int n_valid = 0;

    keep ("hardware/a100_sxm4_40gb.conf");
    for (size_t i = 0; i < kept.size; i++) {
        start_flipped (i);
        if (stand_in_n_errors > 0) {
            n_named++;
            assert_one_error ("a100_sxm4_40gb");
            assert_comment_untouched (RESNET, NULL);
        } else {
            n_valid++;
            assert_one_line ("2 devices");
            assert_true (submit_resnet ().time_limit <= 1440);
        }
        stop_plugin ();
    }
    restore ();
    print_message ("%d flipped bits named, %d make a valid device\n", n_named, n_valid);
    assert_true (n_named > 0);
}

static void break_conf (void)
{
    write_conf ("Mode=sideways\n");
}

TEST ("a configuration that cannot be read leaves jobs alone")
{
    /* A missing file is no fault: it switches dnnest off. */
    static const struct breakage ways[] = {
        {NULL, "dnnest.conf: cannot be opened: Permission denied", UNREADABLE},
        {NULL, "dnnest.conf: cannot be read: Input/output error", UNRELIABLE},
        {make_directory, "dnnest.conf: not a regular file", {0}},
        {make_writable, "dnnest.conf: writable by group or others", {0}},
        {make_link, "symbolic link", {0}},
        {make_pipe, "dnnest.conf: not a regular file", {0}},
        {make_huge, "dnnest.conf: 1073741824 bytes", {0}},
        {make_binary, "dnnest.conf: line 2: ", {0}},
    };

    for (size_t i = 0; i < N (ways); i++) {
        start_plugin (ENFORCE);
        assert_one_line ("mode enforce");
        keep ("dnnest.conf");
        break_kept (&ways[i]);
        stop_plugin ();
        assert_int_equal (plugin.init (), SLURM_SUCCESS);
        assert_one_error (ways[i].said);
        assert_comment_untouched (RESNET, NULL);
        assert_silent ();
        restore ();
        stop_plugin ();
    }
    faulty.file = "dnnest.conf";
    faulty.before_open = break_conf;
    faulty.opens_left = 1; /* the check of the files that it names */
    assert_inert (ENFORCE, "dnnest.conf: line 3: Mode: 'sideways'");
}

/* --- every key ------------------------------------------------------------------- */

static char long_text[1500];

static const char *const wrong_words[] = {"", "sideways", "1", "keep;choose", NULL};
static const char *const wrong_numbers[] =
    {"", "many", "nan", "inf", "0x10", "0,5", "-1", "1e999", "1e12", "--1", "5%", NULL};
static const char *const wrong_counts[] =
    {"", "many", "0", "-1", "1.5", "99999999999999999999", "0x10", NULL};
static const char *const wrong_times[] =
    {"", "soon", "-1", "00:00:59", "99999-00:00:00", "1:2:3:4", NULL};
static const char *const wrong_paths[] = {"", "relative/path", "~/x", long_text, NULL};

static const char *const *const wrong_values[] = {
    [DN_RULE_ENUM] = wrong_words,
    [DN_RULE_RATIO] = wrong_numbers,
    [DN_RULE_PERCENT] = wrong_numbers,
    [DN_RULE_COUNT] = wrong_counts,
    [DN_RULE_TIME] = wrong_times,
};

static int n_wrong;

/* "LINE KEY=VALUE" as the third line of the file. */
static void assert_refused (const char *line, const char *key, const char *value)
{
    assert_inert (unit_text ("%s%s=%s\nMode=enforce\n" GPU_LINES, line, key, value),
                  unit_text ("dnnest.conf: line 3: %s", key));
    n_wrong++;
}

static void assert_all_refused (const char *line,
                                const char *key,
                                const char *const *values)
{
    for (int i = 0; values[i]; i++)
        assert_refused (line, key, values[i]);
}

static void break_rules (void)
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        const char *const *values = wrong_values[keys[i].type];

        assert_all_refused ("", keys[i].name, values);
        assert_refused ("Policy User=0 ", keys[i].name, values[1]);
    }
}

static void break_site_keys (void)
{
    int n_keys;
    const struct dn_site_key *keys = dn_site_keys (&n_keys);

    for (int i = 0; i < n_keys; i++)
        assert_all_refused ("",
                            keys[i].name,
                            keys[i].type == DN_SITE_REAL ? wrong_numbers : wrong_paths);
}

static void break_gpu_keys (void)
{
    static const char *const places[] = {"a,b", NULL};
    static const char *const devices[] = {"", "nothing", long_text, NULL};
    static const char *const texts[] = {long_text, NULL};
    static const char *const times[] = {"", "soon", "-1", NULL};
    static const char *const choices[] = {"", "maybe", "1", NULL};
    static const char *const costs[] = {"", "free", "-1", "0,5", "1e999", NULL};
    static const struct {
        const char *key;
        const char *const *values;
    } wrong[] = {
        {"Type", texts},
        {"Device", devices},
        {"Cost", costs},
        {"PerNode", wrong_counts},
        {"Nodes", wrong_counts},
        {"NodeCpus", wrong_counts},
        {"NodeMemory", wrong_counts},
        {"NodeTmp", wrong_counts},
        {"ThreadsPerCore", wrong_counts},
        {"MoveTo", choices},
        {"Partitions", texts},
        {"ByPartition", places},
        {"MaxTime", times},
        {"ByFeature", places},
        {"Features", texts},
    };
    int n_keys;
    const struct dn_gpu_key *keys = dn_gpu_keys (&n_keys);

    assert_int_equal (n_keys, N (wrong));
    for (int i = 0; i < n_keys; i++) {
        assert_string_equal (keys[i].name, wrong[i].key);
        assert_all_refused ("Gpu ", keys[i].name, wrong[i].values);
    }
}

static void break_scopes (void)
{
    static const char *const lists[] = {"\"\"", "a,,b", "\"a b\"", long_text, NULL};
    static const char *const names[] = {"4294967294", "4294967295", NULL};
    const struct dn_scope_key *scopes = dn_scope_keys ();

    for (int i = 0; i < DN_N_SCOPES; i++) {
        assert_all_refused ("Policy Mode=observe ", scopes[i].name, lists);
        if (i == DN_SCOPE_USER || i == DN_SCOPE_GROUP)
            assert_all_refused ("Policy Mode=observe ", scopes[i].name, names);
    }
}

TEST ("every key that is wrong is named, with file and line")
{
    memset (long_text, 'x', sizeof (long_text) - 1);
    long_text[0] = '/';
    break_rules ();
    break_site_keys ();
    break_gpu_keys ();
    break_scopes ();
    assert_inert ("Modus=enforce\n", "dnnest.conf: line 3: unknown key 'Modus'");
    assert_inert ("Mode\n", "dnnest.conf: line 3: 'Mode' is not of the form");
    assert_inert ("Policy Mode=observe\n", "dnnest.conf: line 3: ");
    assert_inert ("Gpu Cost=3\n", "dnnest.conf: line 3: ");
    print_message ("%d wrong values\n", n_wrong);
}

/* The same as SlurmctldParameters. */
static void assert_override_refused (const char *key, const char *value)
{
    char *parameters = unit_text ("idle,dnnest_%s=%s", key, value);
    char *where = unit_text ("slurm.conf: SlurmctldParameters: %s", key);

    start_plugin (ENFORCE);
    stop_plugin ();
    slurm_conf.slurmctld_params = parameters;
    stand_in_forget ();
    assert_int_equal (plugin.init (), SLURM_SUCCESS);
    assert_one_error (where);
    assert_comment_untouched (RESNET, NULL);
    assert_silent ();
    stop_plugin ();
    slurm_conf.slurmctld_params = NULL;
}

TEST ("every override that is wrong is named, with slurm.conf")
{
    int n_rules;
    int n_keys;
    const struct dn_rule_key *rules = dn_rule_keys (&n_rules);
    const struct dn_site_key *keys = dn_site_keys (&n_keys);

    for (int i = 0; i < n_rules; i++)
        assert_override_refused (rules[i].name, wrong_values[rules[i].type][1]);
    for (int i = 0; i < n_keys; i++)
        if (keys[i].type == DN_SITE_REAL)
            assert_override_refused (keys[i].name, "many");
}

/* --- memory ---------------------------------------------------------------------- */

#if !FAULTY_SANITIZED
/* Submit the job again while one allocation fails, or all from one on. False if there
 * were fewer allocations.
 */
static bool submit_without_memory (long n,
                                   bool all,
                                   const struct outcome *sound,
                                   int *n_same)
{
    job_desc_msg_t desc;
    struct photo photo;
    struct outcome outcome;
    char *message = NULL;
    bool failed;

    make_job (&desc, RESNET);
    photo = photo_take (&desc);
    stand_in_forget ();
    faulty_memory (n, all);
    plugin.job_submit (&desc, desc.user_id, &message);
    failed = faulty_allocations () >= n;
    faulty_memory (0, false);
    if (desc.time_limit == 1440) {
        photo_compare (&photo, &desc);
        assert_one_line ("job unchanged");
    } else {
        ++*n_same;
        assert_one_line ("verdict=change");
    }
    photo_free (&photo);
    outcome = outcome_of (&desc, &message);
    if (outcome.time_limit < 1440) {
        if (outcome.message[0] == '\0') /* there was no memory for it */
            copy_text (outcome.message, sizeof (outcome.message), sound->message);
        assert_same (&outcome, sound);
    }
    return failed;
}

TEST ("without memory a decision is whole or not made")
{
    struct outcome sound;

    make_bundle ();
    start_plugin (with_traces (ENFORCE));
    sound = submit_resnet ();
    for (int all = 0; all < 2; all++) {
        int n_same = 0;
        long n = 1;

        while (submit_without_memory (n, all, &sound, &n_same))
            n++;
        print_message ("%ld allocations, the decision is made without %d of them\n",
                       n - 1,
                       n_same - 1);
        assert_true (n > 10);
    }
    stop_plugin ();
}

/* A start while one allocation fails, or all from one on. */
static bool start_without_memory (long n, bool all, int n_said[2])
{
    job_desc_msg_t desc;
    struct photo photo;
    char *message;
    bool failed;

    write_conf (ENFORCE);
    stand_in_forget ();
    faulty_memory (n, all);
    assert_int_equal (plugin.init (), SLURM_SUCCESS);
    failed = faulty_allocations () >= n;
    faulty_memory (0, false);
    n_said[stand_in_n_errors > 0]++;
    if (stand_in_n_errors > 1 || (stand_in_n_errors == 0 && stand_in_n_infos != 1))
        fail_msg ("%ld: %d errors, '%s', '%s'",
                  n,
                  stand_in_n_errors,
                  stand_in_error,
                  stand_in_info);
    make_job (&desc, RESNET);
    photo = photo_take (&desc);
    message = submit (&desc);
    if (desc.time_limit == 1440)
        photo_compare (&photo, &desc);
    photo_free (&photo);
    outcome_of (&desc, &message);
    plugin.fini ();
    return failed;
}

TEST ("without memory a start is reported and harms nothing")
{
    make_bundle ();
    start_plugin (ENFORCE);
    stop_plugin ();
    for (int all = 0; all < 2; all++) {
        int n_said[2] = {0, 0};
        long n = 1;

        while (start_without_memory (n, all, n_said))
            n++;
        print_message ("%ld allocations, %d starts with an error, %d without\n",
                       n - 1,
                       n_said[1],
                       n_said[0]);
        assert_true (n > 30);
    }
}
#endif

#if !FAULTY_SANITIZED
TEST ("without a thread the site is what it was at the start")
{
    struct outcome sound = sound_outcome (ENFORCE);

    faulty.thread_errno = EAGAIN;
    start_plugin (ENFORCE);
    assert_contains (stand_in_info, "mode enforce");
    assert_int_equal (stand_in_n_infos, 1);
    stand_in_n_infos = 0;
    assert_one_error ("no thread (Resource temporarily unavailable): changed files");
    assert_decides_as (&sound);
}
#endif

static bool is_mapped (const char *library)
{
    FILE *maps = fopen ("/proc/self/maps", "r");
    char line[1024];
    bool found = false;

    assert_non_null (maps);
    while (!found && fgets (line, sizeof (line), maps))
        found = strstr (line, library) != NULL;
    fclose (maps);
    return found;
}

TEST ("a bundle brings no library into the process")
{
    struct outcome outcome;

    make_bundle ();
    start_plugin (ENFORCE);
    outcome = submit_resnet ();
    assert_true (outcome.time_limit < 1440 && outcome.time_limit != white.time_limit);
    assert_true (is_mapped ("libjson-c"));
    assert_false (is_mapped ("libxgboost"));
    assert_false (is_mapped ("libgomp"));
    stop_plugin ();
}

/* --- the decision log, clocks, locale, stack, time ------------------------------- */

static void wait_until_said (const char *text, const char *in)
{
    for (int i = 0; i < 600 && !strstr (in, text); i++)
        usleep (100000);
    assert_contains (in, text);
}

/* Only the line of a decision can be lost, and only if many lines wait. */
TEST ("a full disk holds up the log and nothing else")
{
    struct outcome sound = sound_outcome (ENFORCE);

    start_plugin (
        unit_text ("%sDecisionLog=%s/log.jsonl\n", ENFORCE, scratch_path ("")));
    faulty.write_takes = 30;
    faulty.write_errno = ENOSPC;
    stand_in_forget ();
    for (int i = 0; i < 3; i++)
        assert_decides_as (&sound);
    wait_until_said ("log.jsonl: cannot be written: ", stand_in_error);
    usleep (2500000); /* it is tried again, and not logged again */
    assert_decides_as (&sound);
    assert_int_equal (stand_in_n_errors, 1);
    assert_int_equal (count_lines ("log.jsonl", ""), 0);
    memset (&faulty, 0, sizeof (faulty));
    wait_until_said ("log.jsonl: written again, 0 lines are missing", stand_in_info);
    stop_plugin ();
    assert_int_equal (count_lines ("log.jsonl", ""), 4);
    unlink (scratch_path ("log.jsonl"));
}

/* --- what a request may lack ----------------------------------------------------- */

/* A job with all texts that the plugin reads, and with both lists. */
static void make_full_job (job_desc_msg_t *desc, const char *comment)
{
    static const char *const spank[] = {"OTHER=1", "DNNEST_OPTION=batch=32", NULL};

    make_job (desc, comment);
    job_set_spank_env (desc, spank);
    for (int i = 0; job_text (desc, i); i++)
        if (!*job_text (desc, i))
            *job_text (desc, i) = slurm_text ("x");
}

/* One text is NULL or empty, in a job with all other texts and in one with few. */
TEST ("a job without one of its texts is decided or left alone")
{
    static const char *const comments[] = {RESNET, RESNET ",capture=no"};
    job_desc_msg_t desc;
    int n_texts = 0;

    make_job (&desc, RESNET);
    while (job_text (&desc, n_texts))
        n_texts++;
    job_free (&desc);
    start_plugin (ENFORCE "PythonDir=/opt/python\nProgressDir=/tmp/progress\n");
    for (int i = 0; i < n_texts * 8; i++) {
        char **text;

        if (i & 1)
            make_full_job (&desc, comments[i >> 1 & 1]);
        else
            make_job (&desc, comments[i >> 1 & 1]);
        text = job_text (&desc, i / 8);
        slurm_text_free (text);
        *text = i & 4 ? slurm_text ("") : NULL;
        submit_and_free (&desc);
    }
    stop_plugin ();
    assert_int_equal (stand_in_blocks, 0);
}

TEST ("a list without one of its entries is decided as without that entry")
{
    job_desc_msg_t desc;

    start_plugin (ENFORCE);
    for (uint32_t i = 0; i < 8; i++) {
        make_job (&desc, RESNET);
        for (uint32_t k = 0; k < desc.env_size; k++)
            if (i >> k & 1)
                slurm_text_free (&desc.environment[k]);
        assert_moved (&desc);
        assert_int_equal (desc.env_size, 3);
        for (uint32_t k = 0; k < desc.env_size; k++)
            assert_int_equal (!desc.environment[k], i >> k & 1);
        job_free (&desc);
    }
    for (uint32_t i = 0; i < 4; i++) {
        make_full_job (&desc, RESNET);
        for (uint32_t k = 0; k < desc.spank_job_env_size; k++)
            if (i >> k & 1)
                slurm_text_free (&desc.spank_job_env[k]);
        submit_and_free (&desc);
    }
    stop_plugin ();
    assert_int_equal (stand_in_blocks, 0);
}

/* A count without its list, and a list without its count. */
TEST ("a list that is missing or has no length is no list")
{
    static const char *const spank[] = {"DNNEST_OPTION=batch=32", NULL};
    job_desc_msg_t desc;

    start_plugin (ENFORCE);
    for (int i = 0; i < 4; i++) {
        char ***list = i & 1 ? &desc.environment : &desc.spank_job_env;
        uint32_t *size = i & 1 ? &desc.env_size : &desc.spank_job_env_size;
        bool missing = i & 2;
        uint32_t n;
        char **entries;

        make_job (&desc, RESNET);
        job_set_spank_env (&desc, spank);
        desc.argc = 3;
        n = *size;
        entries = *list;
        if (missing)
            *list = NULL;
        else
            *size = NO_VAL;
        assert_moved (&desc);
        *list = entries;
        *size = n;
        job_free (&desc);
    }
    stop_plugin ();
    assert_int_equal (stand_in_blocks, 0);
}

/* Years and hours, forward and back, before and after the start, and at the end. */
TEST ("a clock that jumps changes nothing")
{
    static const int64_t jumps_s[] = {
        -3600, 3600, INT64_C (-315360000), INT64_C (315360000)};
    struct outcome sound = sound_outcome (ENFORCE);

    for (size_t i = 0; i < N (jumps_s); i++) {
        struct outcome outcome;

        start_plugin (ENFORCE);
        assert_one_line ("mode enforce");
        faulty.clock_off_s = jumps_s[i];
        assert_decides_as (&sound);
        stand_in_forget ();
        write_conf ("Mode=sideways\n");
        reconfigure ();
        assert_contains (stand_in_error, "the configuration in use is kept");
        assert_decides_as (&sound);
        stop_plugin ();
        assert_int_equal (stand_in_n_errors, 1);
        outcome = sound_outcome (ENFORCE);
        assert_same (&outcome, &sound);
        faulty.clock_off_s = 0;
    }
}

/* The same line is not logged twice for one change, but for two changes. */
TEST ("a clock set back does not silence the log")
{
    start_plugin (ENFORCE);
    write_conf ("Mode=sideways\n");
    stand_in_forget ();
    reconfigure ();
    assert_int_equal (stand_in_n_errors, 1);
    faulty.clock_off_s = -3600;
    usleep (5500000);
    reconfigure ();
    assert_int_equal (stand_in_n_errors, 2);
    faulty.clock_off_s = 0;
}

/* glibc's own form of LC_NUMERIC, as localedef(1) writes it: magic, the number of
 * values, the offset of each, the values. No locale needs to be installed.
 */
static void write_locale (void)
{
    static const struct {
        uint32_t magic, n, offsets[6];
        char point[4], separator[4], grouping[4];
        uint32_t wide_point, wide_separator;
        char codeset[8];
    } numeric = {0x20031115 ^ LC_NUMERIC,
                 6,
                 {32, 36, 40, 44, 48, 52},
                 ",",
                 ".",
                 "\3\3",
                 ',',
                 '.',
                 "UTF-8"};

    assert_int_equal (mkdir (scratch_path ("comma"), 0755), 0);
    scratch_write ("comma/LC_NUMERIC", (const char *) &numeric, sizeof (numeric));
    setenv ("LOCPATH", scratch_path (""), 1);
}

static void remove_locale (void)
{
    setlocale (LC_ALL, "C");
    unsetenv ("LOCPATH");
    unlink (scratch_path ("comma/LC_NUMERIC"));
    rmdir (scratch_path ("comma"));
}

/* Numbers in, numbers out: configuration, bundle, description, record, message. */
TEST ("a decimal comma changes nothing")
{
    static const char conf[] = ENFORCE "TimeMargin=0.25\nTimeQuantile=0.975\n";
    struct outcome sound;
    struct outcome outcome;

    make_bundle ();
    sound = sound_outcome (conf);
    write_locale ();
    assert_non_null (setlocale (LC_NUMERIC, "comma"));
    assert_string_equal (unit_text ("%.1f", 0.5), "0,5");
    outcome = sound_outcome (conf);
    assert_same (&outcome, &sound);
    assert_inert ("TimeMargin=0,25\n", "dnnest.conf: line 3: TimeMargin: '0,25'");
}

TEST ("a decision that takes too long is given up")
{
    start_plugin (with_traces (ENFORCE "DecisionTime=0.0001\n"));
    stand_in_forget ();
    assert_comment_untouched (RESNET,
                              "dnnest: took longer than 0.0001 ms, given up "
                              "before the description; job submitted as written");
    assert_one_line ("took longer than 0.0001 ms");
    stop_plugin ();
    assert_int_equal (counter ("dnnest_errors_total{kind=\"time\"}"), 1);
    assert_int_equal (count_lines ("log.jsonl",
                                   "\"verdict\":\"error\",\"applied\":false,\"error\":"
                                   "\"took longer than 0.0001 ms"),
                      1);
}

/* Undo what a failed test may have left. */
int after_test (void **state)
{
    memset (&faulty, 0, sizeof (faulty));
    faulty_memory (0, false);
    remove_locale ();
    remove_bundle ();
    forget_traces ();
    return 0;
}

int before_tests (void **state)
{
    return load_plugin (state);
}
