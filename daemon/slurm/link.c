/* link.c - the connection to slurmctld, and its configuration
 *
 * libslurm connects anew for each request. Where no controller runs, a request waits
 * MessageTimeout, but slurm_ping () returns at once; where one hangs, both wait. So the
 * timeout is lowered, and callers ask dn_link_is_up () first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm/link_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/messages.h"
#include "host/stopwatch.h"

/* Exported by libslurm, in no public header. */
extern slurm_conf_t slurm_conf;

/* Bytes of a list of an array's tasks; of libslurm, whose default is 64. */
#define TASKS_MAX "2048"

/* Seconds that a request waits for slurmctld. An answer takes some milliseconds, the
 * table of 20,000 jobs 0.3 s; slurmctld that has its locks for longer is under load,
 * and asked again a round later.
 */
#define MESSAGE_TIMEOUT_S 5

/* Controllers that slurm.conf may name; more are not asked. */
#define CONTROLLERS_MAX 16

/* SLURM_PROTOCOL_SOCKET_IMPL_ZERO_RECV_LENGTH, the first error of the sockets; later
 * versions have the number and not the name.
 */
#define FIRST_SOCKET_ERROR 5000

/* SLURM_CONF, or where libslurm itself looks. slurm_init () ends the process where it
 * cannot read the file.
 */
static int check_conf_file (struct dn_err *err)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no thread changes the environment */
    const char *path = getenv ("SLURM_CONF");

    if (path && access (path, R_OK) < 0)
        return dn_err_set (
            err, DN_E_IO, dn_say_err_slurm_conf, path, dn_errno_text (errno).text);
    return 0;
}

struct dn_link *dn_link_open (struct dn_err *err)
{
    struct dn_link *link;

    if (check_conf_file (err) < 0)
        return NULL;
    link = calloc (1, sizeof (*link));
    if (!link) {
        dn_refuse (err, no_memory_for, "slurm");
        return NULL;
    }
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread uses the environment */
    setenv ("SLURM_BITSTR_LEN", TASKS_MAX, 1);
    slurm_init (NULL);
    if (slurm_conf.msg_timeout > MESSAGE_TIMEOUT_S)
        slurm_conf.msg_timeout = MESSAGE_TIMEOUT_S;
    return link;
}

const char *dn_link_cluster_name (void)
{
    return slurm_conf.cluster_name ? slurm_conf.cluster_name : "";
}

/* Renamed after 24.11, in 26.05 at the latest. */
static void free_conf (slurm_conf_t *conf)
{
    if (!conf)
        return;
#if HAVE_DECL_SLURM_FREE_CONF
    slurm_free_conf (conf);
#else
    slurm_free_ctl_conf (conf);
#endif
}

void dn_link_end (struct dn_link *link)
{
    free_conf (link->conf);
    slurm_fini ();
    free (link);
}

bool dn_link_is_up (struct dn_link *link)
{
    int n = (int) slurm_conf.control_cnt;

    (void) link;
    for (int i = 0; i < n && i < CONTROLLERS_MAX; i++)
        if (slurm_ping (i) == SLURM_SUCCESS)
            return true;
    return false;
}

/* Codes of libslurm, munge and the sockets below them that pass by themselves. */
static bool is_connection (int code)
{
    switch (code) {
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EPIPE:
    case ETIMEDOUT:
    case EINTR:
    case EAGAIN:
    case ESLURM_IN_STANDBY_MODE:
    case ESLURM_DB_CONNECTION:
        return true;
    default:
        return (code >= SLURM_UNEXPECTED_MSG_ERROR
                && code <= SLURM_COMMUNICATIONS_MISSING_SOCKET_ERROR)
               || (code >= SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR
                   && code <= SLURMCTLD_COMMUNICATIONS_SHUTDOWN_ERROR)
               || (code >= FIRST_SOCKET_ERROR
                   && code <= SLURM_PROTOCOL_SOCKET_ZERO_BYTES_SENT);
    }
}

int dn_link_fail (int code, const char *what, struct dn_err *err)
{
    enum dn_errc kind = is_connection (code) ? DN_E_TIME : DN_E_RANGE;

    if (code == ENOMEM)
        kind = DN_E_NOMEM;
    return dn_err_set (err, kind, "%s: %s (%d)", what, slurm_strerror (code), code);
}

int dn_link_failed (const char *what, struct dn_err *err)
{
    return dn_link_fail (errno ? errno : SLURM_UNEXPECTED_MSG_ERROR, what, err);
}

bool dn_link_is_lost (const struct dn_err *err)
{
    return err->code == DN_E_TIME;
}

void dn_link_told (struct dn_link *link, int64_t now_s)
{
    link->told_s = now_s;
    link->told_ms = dn_monotonic_ms ();
}

int64_t dn_link_now (const struct dn_link *link)
{
    return link->told_s > 0 ? link->told_s + (dn_monotonic_ms () - link->told_ms) / 1000
                            : (int64_t) time (NULL);
}

/* The configuration of slurmctld, read again where it has changed. Borrowed from the
 * link until the next call; NULL with 'err'.
 */
static const slurm_conf_t *read_conf (struct dn_link *link, struct dn_err *err)
{
    slurm_conf_t *conf = NULL;
    time_t since = link->conf ? link->conf->last_update : 0;
    int rc;

    errno = 0;
    rc = slurm_load_ctl_conf (since, &conf);
    if (rc != SLURM_SUCCESS && errno == SLURM_NO_CHANGE_IN_DATA && link->conf)
        return link->conf;
    if (rc != SLURM_SUCCESS || !conf) {
        dn_link_failed ("configuration", err);
        return NULL;
    }
    free_conf (link->conf);
    link->conf = conf;
    dn_link_told (link, conf->last_update);
    return conf;
}

/* "24.11.5" as 2411. */
static int read_version (const char *text)
{
    struct dn_span rest = dn_span_of (text ? text : "");
    struct dn_span major = dn_span_cut (&rest, ".");
    struct dn_span minor = dn_span_cut (&rest, ".-");
    int64_t year;
    int64_t month;

    if (!major.text || !minor.text
        || dn_int_read (major, "version", 0, 99, &year, NULL) < 0
        || dn_int_read (minor, "version", 0, 99, &month, NULL) < 0)
        return 0;
    return (int) (year * 100 + month);
}

/* One bit says which of the two it is. */
int64_t dn_link_memory_mb (uint64_t value, bool per_cpu)
{
    if (value == 0 || value == NO_VAL64 || value == INFINITE64
        || ((value & MEM_PER_CPU) != 0) != per_cpu)
        return DN_UNSET;
    return (int64_t) (value & ~MEM_PER_CPU);
}

static bool has_word (const char *list, const char *word)
{
    struct dn_span rest = dn_span_of (list ? list : "");
    struct dn_span piece;

    while ((piece = dn_span_cut (&rest, ", ")).text)
        if (dn_span_is (piece, word))
            return true;
    return false;
}

/* Slurm reports Yes as a bit of the number of AccountingStorageEnforce: 1 associations,
 * 2 limits, 4 wckeys, 8 qos, 16 safe. The names are in no public header.
 */
#define ENFORCES_LIMITS 0x0002

int dn_link_conf (struct dn_link *link, struct dn_link_conf *conf, struct dn_err *err)
{
    const slurm_conf_t *from = read_conf (link, err);

    if (!from)
        return -1;
    *conf = (struct dn_link_conf){
        .cluster = from->cluster_name ? from->cluster_name : "",
        .slurm = read_version (from->version),
        .soft_time_min = has_word (from->sched_params, "time_min_as_soft_limit"),
        .enforces = (from->accounting_storage_enforce & ENFORCES_LIMITS) != 0,
        .accounts = from->accounting_storage_type
                    && strstr (from->accounting_storage_type, "slurmdbd"),
        .scheduler_parameters = from->sched_params ? from->sched_params : "",
        .slurmctld_parameters = from->slurmctld_params ? from->slurmctld_params : "",
        .slurm_user = from->slurm_user_id,
        .def_mem_per_cpu_mb = dn_link_memory_mb (from->def_mem_per_cpu, true),
        .def_mem_per_node_mb = dn_link_memory_mb (from->def_mem_per_cpu, false),
        .def_mem_per_gpu_mb = dn_link_mem_per_gpu (from->job_defaults_list),
    };
    return 0;
}

/* --- values --------------------------------------------------------------------- */

int64_t dn_link_mem_per_gpu (struct xlist *job_defaults)
{
    const job_defaults_t *row;
    int64_t mem_mb = DN_UNSET;

    DN_LINK_EACH (row, job_defaults)
        if (row->type == JOB_DEF_MEM_PER_GPU)
            mem_mb = (int64_t) row->value;
    return mem_mb;
}

int64_t dn_link_seconds (uint32_t minutes)
{
    if (minutes == INFINITE)
        return DN_UNLIMITED;
    return minutes == NO_VAL ? DN_UNSET : INT64_C (60) * minutes;
}

int64_t dn_link_number (uint32_t number)
{
    return number == NO_VAL || number == INFINITE ? DN_UNSET : (int64_t) number;
}

static const char *const state_names[] = {
    [JOB_PENDING] = "PENDING",
    [JOB_RUNNING] = "RUNNING",
    [JOB_SUSPENDED] = "SUSPENDED",
    [JOB_COMPLETE] = "COMPLETED",
    [JOB_CANCELLED] = "CANCELLED",
    [JOB_FAILED] = "FAILED",
    [JOB_TIMEOUT] = "TIMEOUT",
    [JOB_NODE_FAIL] = "NODE_FAIL",
    [JOB_PREEMPTED] = "PREEMPTED",
    [JOB_BOOT_FAIL] = "BOOT_FAIL",
    [JOB_DEADLINE] = "DEADLINE",
    [JOB_OOM] = "OUT_OF_MEMORY",
};

const char *dn_link_state (uint32_t state)
{
    const char *name = state < DN_N_ELEMENTS (state_names) ? state_names[state] : NULL;

    return name ? name : "";
}
