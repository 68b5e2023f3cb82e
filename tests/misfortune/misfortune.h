/* misfortune.h - jobs on a simulated cluster, with the real guard and with misfortunes
 *
 * A scenario is a file named by what goes wrong. Its jobs, drawn from its seed, run
 * twice on the same cluster with the same misfortunes: with limits that dnnest lowered,
 * under the guard (guard.c over sim_link.c), and as they were submitted. No job may end
 * worse. Times are milliseconds since the beginning unless a name ends in _s; slurmctld
 * and the guard each have a clock of their own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MISFORTUNE_H
#define DN_MISFORTUNE_H

#include "tests/sim/sim_link.h"
#include "task.h"

/* Seconds since 1970 at the beginning. */
#define T0 INT64_C (1700000000)

#define JOBS_MAX   1000
#define EVENTS_MAX 32
#define ACTORS_MAX 64
#define NEVER      INT64_MAX

/* --- the file of a scenario (scenario.c) --------------------------------------- */

enum what {
#define EVENT(what, name) what,
#include "events.inc"
#undef EVENT
    N_WHATS
};

/* A line "At": at 'time_s', and up to 'random_s' later; again every 'every_s'. */
struct event {
    int64_t time_s;
    int64_t random_s;
    int64_t every_s;
    int64_t times;
    int what;
    int64_t share; /* of the jobs, in % */
    int64_t for_s; /* 0: until the end */
    int64_t back;  /* 'by' is negative */
    int64_t by;
    int64_t nodes;
    int64_t in_s;
    int64_t table_ms;
    int64_t update_ms;
};

struct scenario {
    char name[DN_NAME_MAX];
    char title[128];
    bool harms;   /* a job that started only because of its lower limit may */
    int64_t seed; /* of all that is drawn */
    int64_t jobs;
    int64_t interval_s;
    int64_t spread_s; /* within which jobs are submitted */
    int64_t wait_s;   /* until they start, at most */
    int64_t own_min;  /* requested limits, in minutes */
    int64_t own_max;
    int64_t low_min;   /* lowered limit, in minutes; 0: drawn */
    int64_t signal;    /* % of the jobs with --signal */
    int64_t time_min;  /* with --time-min */
    int64_t deadline;  /* with --deadline */
    int64_t array;     /* in arrays of ten */
    int64_t het;       /* with two components */
    int64_t unlimited; /* that requested no limit */
    int64_t unset;     /* that requested none */
    int64_t wrong;     /* that need ten times what was predicted */
    int64_t progress;  /* that report progress */
    int64_t federated;
    bool shorten;
    bool old_record; /* of an earlier version */
    struct event events[EVENTS_MAX];
    int n_events;
};

extern const struct dn_names what_names;

#define SCENARIOS_MAX 128

/* All of a file. Their number, or -1 with 'err'. */
int scenarios_read (const char *path,
                    struct scenario scenarios[SCENARIOS_MAX],
                    struct dn_err *err);

/* --- what is drawn (draw.c) ---------------------------------------------------- */

enum progress {
    SILENT,
    STEADY,
    SLOWING,
    BOASTING, /* says that more is done */
    LAMENTING,
    STOPPING, /* reports at the beginning only */
    GARBAGE,
    N_PROGRESSES
};

struct drawn {
    int leader; /* of its components: the first one */
    int array;  /* the first task of its array; -1 */
    int64_t submit;
    int64_t start; /* the earliest */
    int64_t need;  /* run time to its end */
    int64_t own_s; /* the limit that its user requested, or has by default */
    bool unset;    /* by default */
    int64_t low_s; /* the lowered one; 0: none */
    int64_t p95_s;
    int64_t p99_s;
    int64_t signal_s;
    bool heeds_signal; /* ends by it */
    int64_t time_min_s;
    bool by_backfill; /* which cuts it to --time-min */
    int64_t deadline_s;
    int node;
    enum progress progress;
};

void draw_jobs (const struct scenario *scenario, struct drawn *drawn);

/* From 0 to 1, always the same for the same arguments. */
double chance (int64_t seed, int64_t a, int64_t b, int64_t c);

/* --- the cluster (world.c, happens.c) ------------------------------------------ */

enum state {
    WAITING, /* not submitted */
    PENDING,
    RUNNING,
    SUSPENDED,
    DONE
};

enum outcome {
    NONE,
    COMPLETED,
    TIMEOUT,
    SIGNALED, /* it ended by the signal of --signal */
    CANCELLED
};

struct job {
    enum state state;
    enum outcome outcome;
    int64_t start;     /* of this run */
    int64_t suspended; /* in this run */
    int64_t since;     /* of the suspension that lasts, or the end */
    int64_t again;     /* when a pending job is tried next */
    int64_t resume;
    bool split; /* no longer in the record of its array */
    bool lowered;
    bool signalled;
    int64_t first_limit_s;
    int64_t added_s; /* to its limit, by people */
    int extended;    /* by the guard */
    int restored;    /* by the other path */
};

struct world;

/* A guard, or the timer of the restore. */
struct actor {
    struct world *world;
    const struct dn_task *task; /* NULL: it is not used */
    struct dn_link link;
    struct dn_daemon d;
    void *memory; /* of the task */
    bool on;
    bool busy;
    bool dead;     /* killed while it was busy */
    bool leaving;  /* stopped in order while it was busy */
    int64_t next;  /* call */
    int64_t retry; /* 0: slurmctld answered */
    int64_t hung;  /* until then */
};

/* Something that lasts until a time. */
struct spell {
    int64_t until;
    int64_t share;
};

struct happening {
    int64_t at;
    int number; /* of all */
    const struct event *event;
};

struct world {
    const struct scenario *scenario;
    const struct drawn *drawn;
    bool off;  /* without dnnest */
    int watch; /* a job whose story is told; -1 */
    int64_t now;
    int64_t n_calls;
    int n_beyond; /* limits that the guard set above what people allow */
    struct sim_slurm slurm;
    struct dn_link_job rows[JOBS_MAX];
    struct job jobs[JOBS_MAX];
    int64_t change; /* when a job changes next */
    int64_t kill;   /* when slurmctld looks at limits next */
    int64_t step;   /* of slurmctld's clock */
    int64_t guard_off, guard_drift;
    int64_t down_from, down_until;
    struct spell spells[N_WHATS];
    int64_t table_ms, update_ms;
    bool timer_off;
    struct happening happenings[1024];
    int n_happenings, next_happening;
    struct dn_site site;
    char dir[64];
    struct actor actors[ACTORS_MAX]; /* the first one is the timer */
    int64_t guard_back;              /* when a guard is started; NEVER */
};

/* Run all jobs to their ends. 'world' is freed with world_end (). */
void world_run (struct world *world,
                const struct scenario *scenario,
                const struct drawn *drawn,
                bool off,
                int watch);
void world_end (struct world *world);

/* Let time pass; whatever happens until then happens. */
void advance (struct world *world, int64_t until);

/* slurmctld's clock. */
int64_t slurmctld_s (const struct world *world);

bool is_down (const struct world *world);
bool lasts (const struct world *world, enum what what);

void job_end (struct world *world, int i, enum outcome outcome, int64_t at);
void job_requeue (struct world *world, int i, int64_t after);

/* An event comes true. */
void happen (struct world *world, const struct happening *happening);

/* Would a job that starts at 'at' cross a reservation? If so, it may start later. */
bool is_reserved (const struct world *world, int i, int64_t limit_s, int64_t at);

/* A line of the story. */
void tell (const struct world *world, int i, const char *format, ...) DN_PRINTF (3, 4);

/* --- dnnest (actors.c, reports.c) ---------------------------------------------- */

/* What the plugin does: the limit, and the record (static, NULL: none). */
int64_t plugin_limit (struct world *world, int i, const char **record);

/* When an actor does something next, and let it do so. */
int64_t actors_next (const struct world *world);
void actors_run (struct world *world);

void guard_start (struct world *world);
void guard_kill (struct world *world);
void guard_stop (struct world *world);
void guard_hang (struct world *world, int64_t until);
void actors_begin (struct world *world);
void actors_end (struct world *world);

/* Files in ProgressDir, if jobs report at all. */
void begin_reports (struct world *world);
void end_reports (const struct world *world);
void write_reports (const struct world *world);

/* The world whose log belongs to the story; NULL: none. */
extern struct world *watched;

/* fsync () fails. */
extern bool disk_is_full;

#endif
