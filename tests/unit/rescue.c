/* rescue.c - tests of the task that starts moved jobs again, with a slurmctld that is
 * made up
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "round.h"
#include "rescue/rescue_plan.h"
#include "scratch.h"
#include "tests/sim/sim_daemon.h"

#define NOW INT64_C (1700000000)

/* A slurmctld with one job. */
struct dn_link {
    struct dn_link_job job;
    char comment[2 * DN_RECORD_MAX];
    int slurm;
    char calls[64]; /* "QUR": requeue, update, release */
    bool lose;      /* the answer to the next change is lost */
    bool refuse;    /* all changes */
    bool refuse_update;
    struct dn_link_change change; /* the last one; its texts are kept */
};

static struct dn_link slurm;

int dn_link_conf (struct dn_link *link, struct dn_link_conf *conf, struct dn_err *err)
{
    *conf = (struct dn_link_conf){.cluster = "c", .slurm = link->slurm};
    return 0;
}

int dn_link_jobs (struct dn_link *link, struct dn_err *err)
{
    return 0;
}

void dn_link_jobs_drop (struct dn_link *link)
{
}

int dn_link_jobs_each (struct dn_link *link, dn_link_job_f take, void *to)
{
    return take (to, &link->job);
}

int dn_link_job_now (struct dn_link *link,
                     int64_t raw_id,
                     dn_link_job_f take,
                     void *to,
                     struct dn_err *err)
{
    return take (to, &link->job);
}

int64_t dn_link_now (const struct dn_link *link)
{
    return NOW;
}

bool dn_link_is_lost (const struct dn_err *err)
{
    return err->code == DN_E_TIME;
}

/* Note a call. -1 if it is refused or its answer lost. */
static int call (struct dn_link *link, const char *letter, struct dn_err *err)
{
    strcat (link->calls, letter);
    if (link->refuse || (link->refuse_update && letter[0] == 'U'))
        return dn_err_set (err, DN_E_RANGE, "job 12: refused");
    if (!link->lose)
        return 0;
    link->lose = false;
    return dn_err_set (err, DN_E_TIME, "connection lost");
}

int dn_link_requeue (struct dn_link *link,
                     const char *name,
                     bool hold,
                     struct dn_err *err)
{
    assert_true (hold);
    assert_string_equal (name, "12");
    if (!link->refuse) {
        link->job.phase = DN_PHASE_PENDING;
        link->job.state = "PENDING";
    }
    return call (link, "Q", err);
}

int dn_link_update (struct dn_link *link,
                    const struct dn_link_change *change,
                    struct dn_err *err)
{
    assert_int_equal (link->job.phase, DN_PHASE_PENDING);
    snprintf (link->comment, sizeof (link->comment), "%s", change->admin_comment);
    link->change = *change;
    link->change.gres = unit_text ("%s", change->gres ? change->gres : "");
    link->change.features = unit_text ("%s", change->features ? change->features : "");
    link->change.partition =
        unit_text ("%s", change->partition ? change->partition : "");
    return call (link, "U", err);
}

int dn_link_release (struct dn_link *link, const char *name, struct dn_err *err)
{
    return call (link, "R", err);
}

/* --- scenes ----------------------------------------------------------------------- */

static const char record[] =
    "{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\",\"req\":{\"time_s\":36000,"
    "\"by_gres\":1,\"gpu\":\"a100\",\"gpus\":4,\"partition\":\"big\"},"
    "\"set\":{\"time_s\":3600,\"gpu\":\"v100\"}}";

struct scene {
    struct dn_site site;
    struct dn_daemon d;
    void *memory;
    struct dn_err err;
};

static struct scene scene; /* of the test */

static void end (void)
{
    if (!scene.memory)
        return;
    dn_task_rescue.end (scene.memory);
    free (scene.memory);
    dn_site_free (&scene.site);
    scene.memory = NULL;
}

/* A job that was moved, and whose output says that memory was short. */
static void begin (void)
{
    end ();
    memset (&scene, 0, sizeof (scene));
    sim_daemon_forget ();
    assert_int_equal (dn_site_init (&scene.site, "/x", "/y", NULL), 0);
    scene.site.rules.rescue = DN_RESCUE_REQUEUE;
    strcpy (scene.site.output_dir, scratch_path (""));
    slurm = (struct dn_link){.slurm = 2411};
    strcpy (slurm.comment, record);
    scratch_put ("out", "epoch 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried\n");
    slurm.job = (struct dn_link_job){.job_id = 12,
                                     .raw_id = 12,
                                     .name = "12",
                                     .array_task = DN_UNSET,
                                     .het_offset = DN_UNSET,
                                     .user_id = (int64_t) getuid (),
                                     .phase = DN_PHASE_ENDED,
                                     .state = "FAILED",
                                     .start = NOW - 1000,
                                     .batch = true,
                                     .requeue = true,
                                     .gres = "gres/gpu:v100:4,gres/tmp:1",
                                     .admin_comment = slurm.comment,
                                     .std_out = "/tmp/x"};
    scene.d = (struct dn_daemon){.site = &scene.site, .link = &slurm, .now_s = NOW};
    scene.memory = calloc (1, dn_task_rescue.memory);
    assert_non_null (scene.memory);
}

/* It fails or not, and all calls since the beginning are these. */
static void pass (int expected, const char *calls)
{
    slurm.job.std_out = scratch_path ("out");
    assert_int_equal (dn_task_rescue.run (scene.memory, &scene.d, &scene.err),
                      expected);
    dn_jobs_drop (&scene.d);
    assert_string_equal (slurm.calls, calls);
}

/* Skip the test on a kernel without openat2 (). */
static void needs_openat2 (void)
{
    if (syscall (SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == ENOSYS)
        skip ();
}

int before_test (void **state)
{
    begin ();
    return 0;
}

int after_tests (void **state)
{
    end ();
    return 0;
}

/* The second run fails, too: the job was rescued once. */
static void fail_again (const char *state)
{
    slurm.job.phase = DN_PHASE_ENDED;
    slurm.job.state = state;
    slurm.job.start = NOW;
    pass (0, "QUR");
    assert_contains (sim_said, "started again before");
}

TEST ("a moved job out of memory gets its request back")
{
    needs_openat2 ();
    pass (0, "QUR");
    assert_string_equal (slurm.change.gres, "gres/gpu:a100:4,gres/tmp:1");
    assert_string_equal (slurm.change.partition, "big");
    assert_int_equal (slurm.change.limit_s, 36000);
    assert_contains (slurm.comment, "\"rescued\":1");
    assert_numbers ("1 1", sim_ticks[DN_TICK_RESCUED], sim_ticks[DN_TICK_FALSE_FITS]);
    assert_contains (sim_said, "chosen by dnnest: started again");
    pass (0, "QUR");
    fail_again ("FAILED");
}

/* No Slurm is too old for it, and no variable of the job names the type. */
TEST ("an open job out of memory goes back to the type that it requested")
{
    static const char open[] =
        "{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\",\"req\":{"
        "\"time_s\":36000,\"gpu\":\"a100\",\"gpus\":4},\"set\":{\"features\":"
        "\"a100\"},\"open\":[{\"gpu\":\"a100\",\"features\":\"a100\",\"slow\":100},"
        "{\"gpu\":\"v100\",\"features\":\"v100\",\"slow\":160}],\"steer\":{"
        "\"gpu\":\"v100\",\"time_s\":74880,\"cap_s\":74880,\"at_s\":1699990000}}";

    needs_openat2 ();
    for (int i = 2; i >= 0; i--) {
        begin ();
        strcpy (slurm.comment, open);
        slurm.slurm = 2205;
        slurm.job.gres = "gres:gpu:4";
        slurm.job.features = i == 1 ? "a100" : "v100";
        if (i == 2) /* it was not moved */
            strcpy (strstr (slurm.comment, ",\"steer\""), "}");
        pass (0, i == 0 ? "QUR" : "");
    }
    assert_string_equal (slurm.change.features, "a100");
    assert_string_equal (slurm.change.gres, "");
    assert_int_equal (slurm.change.limit_s, 36000);
    assert_contains (sim_said, "on v100, chosen by dnnest: started again");
}

TEST ("an answer that is lost is made good")
{
    static const char *const calls[] = {"Q", "QU", "QUU"};

    for (size_t i = 0; i < DN_N_ELEMENTS (calls); i++) {
        slurm.lose = true;
        pass (-1, calls[i]);
    }
    pass (0, "QUUUR");
    assert_int_equal (sim_ticks[DN_TICK_RESCUED], 1);
}

TEST ("a refusal ends the rescue")
{
    slurm.refuse = true;
    for (int i = 0; i < 2; i++)
        pass (0, "Q");
    assert_int_equal (sim_ticks[DN_TICK_NOT_RESCUED], 1);
    assert_contains (sim_said, "rescue: job 12: refused: not started again");
}

TEST ("a refused request leaves the job held")
{
    slurm.refuse_update = true;
    for (int i = 0; i < 2; i++)
        pass (0, "QU");
    assert_int_equal (sim_ticks[DN_TICK_NOT_RESCUED], 1);
    assert_contains (sim_said, "rescue: job 12: refused: it stays held");
}

TEST ("a dry run changes nothing")
{
    scene.d.dry_run = true;
    pass (0, "");
    assert_contains (sim_said, "would be started again");
}

/* A pass over the job of 'scene' after these changes makes these calls. */
#define PASS(scene, changes, called)                                                   \
    do {                                                                               \
        scene ();                                                                      \
        changes;                                                                       \
        pass (0, called);                                                              \
    } while (0)
#define REFUSED(scene, changes, says)                                                  \
    do {                                                                               \
        PASS (scene, changes, "");                                                     \
        assert_contains (sim_said, says);                                              \
    } while (0)

TEST ("others are told why not")
{
    REFUSED (begin, slurm.slurm = 2205, "cannot change the GPU type");
    assert_int_equal (sim_ticks[DN_TICK_NOT_RESCUED], 1);
    REFUSED (begin, slurm.job.requeue = false, "may not be requeued");
    REFUSED (begin, scene.site.rules.rescue = DN_RESCUE_OFF, "Rescue=off");
    assert_int_equal (sim_ticks[DN_TICK_NOT_RESCUED], 0);
    assert_int_equal (sim_ticks[DN_TICK_FALSE_FITS], 1);
    REFUSED (begin, slurm.job.gres = "gres/gpu:a100:4", "changed since");
    REFUSED (begin, slurm.job.het_offset = 1, "heterogeneous");
    REFUSED (begin,
             memcpy (strstr (slurm.comment, "\"by_gres\":1"), "\"no_gres\":1", 11),
             "--gres alone");
}

/* Each of these is no failure for lack of GPU memory on a type that dnnest chose. */
TEST ("other jobs are left alone")
{
#define ALONE(changes)                                                                 \
    do {                                                                               \
        PASS (begin, changes, "");                                                     \
        assert_int_equal (sim_ticks[DN_TICK_FALSE_FITS], 0);                           \
    } while (0)
    ALONE (slurm.job.state = "OUT_OF_MEMORY");
    ALONE (scratch_put ("out", "ValueError\n"));
    ALONE (slurm.job.user_id++);
    ALONE (scene.site.output_dir[0] = '\0');
    ALONE (memcpy (strstr (slurm.comment, "v100"), "\",\"a", 4));
    ALONE (slurm.job.batch = false);
    ALONE (slurm.job.admin_comment = "a note");
    ALONE (memcpy (strstr (slurm.comment, "enforce"), "advise\"", 7));
#undef ALONE
}

/* A job whose host memory was lowered, and that was killed for it. */
static void begin_killed (void)
{
    begin ();
    slurm.slurm = 2205;
    scene.site.rules.rescue = DN_RESCUE_OFF;
    strcpy (slurm.comment,
            "{\"dnnest\":1,\"mode\":\"enforce\",\"verdict\":\"change\",\"req\":{"
            "\"time_s\":36000,\"gpu\":\"a100\",\"gpus\":4,\"mem_mb\":320000},"
            "\"set\":{\"time_s\":3600,\"cpus_per_task\":9,\"mem_mb\":24576}}");
    slurm.job.state = "OUT_OF_MEMORY";
}

TEST ("a job that was killed with less host memory gets its request back")
{
    begin_killed ();
    pass (0, "QUR");
    assert_numbers ("320000 36000", slurm.change.mem_mb, slurm.change.limit_s);
    assert_string_equal (slurm.change.gres, "");
    assert_contains (slurm.comment, "\"rescued\":1");
    assert_contains (sim_said, "out of host memory, lowered by dnnest: started again");
    assert_int_equal (sim_ticks[DN_TICK_FALSE_FITS], 0);
    fail_again ("OUT_OF_MEMORY");
    REFUSED (begin_killed, slurm.job.requeue = false, "may not be requeued");
}

TEST ("a step that was killed for host memory is seen in the output")
{
    PASS (begin_killed,
          (slurm.job.state = "FAILED",
           scratch_put ("out",
                        "epoch 1\nslurmstepd: error: Detected 1 oom_kill event in "
                        "StepId=12.0\n")),
          "QUR");
    /* a lack of GPU memory, on the requested type */
    PASS (begin_killed, slurm.job.state = "FAILED", "");
    /* not lowered */
    PASS (begin_killed,
          (memcpy (strstr (slurm.comment, "24576"), "99999", 5),
           memcpy (strstr (slurm.comment, "320000"), "099999", 6)),
          "");
}

/* The end of a long output counts; the beginning does not. */
TEST ("the end of a long output is read")
{
    char *text = unit_repeat (unit_text ("\n%s", unit_repeat (".", 99)), 200000);

    memcpy (text + 101, "CUDA out of memory", 18);
    PASS (begin, scratch_put ("out", text), "");
    memcpy (text + 199901, "CUDA out of memory", 18);
    PASS (begin, scratch_put ("out", text), "QUR");
}

TEST ("the name of the output is that of slurmstepd")
{
    const struct dn_link_job one = {.job_id = 12,
                                    .raw_id = 12,
                                    .array_task = DN_UNSET,
                                    .work_dir = "/home/u",
                                    .title = "a %j",
                                    .user = "u",
                                    .host = "g1.site.org"};
    const struct dn_link_job task = {
        .job_id = 12, .raw_id = 15, .array_task = 23, .work_dir = "/w"};
    static const struct {
        bool of_array;
        const char *pattern;
        const char *path;
    } rows[] = {
        {false, NULL, "/home/u/slurm-12.out"},
        {false, "", "/home/u/slurm-12.out"},
        {true, NULL, "/w/slurm-12_23.out"},
        {false, "out", "/home/u/out"},
        {false, "/x/%N-%x-%u.%j", "/x/g1-a %j-u.12"},
        {false, "/x/%4j%12j%0j%J", "/x/001200000000121212"},
        {false, "/x/%n%3t%s%A", "/x/0000batch12"},
        {true, "/x/%A_%a_%3a_%b_%j", "/x/12_23_023_3_15"},
        {true, "/x/%N%u%x", "/x/"},
        {false, "/x/100%%%j%", "/x/100%12%"},
        {false, "/x/%%j%z%5", "/x/%j%z%5"},
        {false, "/x/\\%j\\a", "/x/%ja"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (rows); i++) {
        char path[64];
        struct dn_buf buf = dn_buf_on (path, sizeof (path));

        dn_output_name (rows[i].of_array ? &task : &one, rows[i].pattern, &buf);
        assert_string_equal (path, rows[i].path);
    }
}

TEST ("a job can report it itself")
{
#define REPORTED(text)                                                                 \
    (scene.site.output_dir[0] = '\0',                                                  \
     strcpy (scene.site.progress_dir, scratch_path ("")),                              \
     scratch_put ("12", "dnnest-progress 1\nout_of_memory " text))
    PASS (begin, REPORTED ("1699999900\n"), "QUR");
    /* Not what an earlier run has reported. */
    PASS (begin, REPORTED ("1699990000\n"), "");
}
