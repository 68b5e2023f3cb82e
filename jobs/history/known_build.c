/* known_build.c - what applications have described of themselves
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "jobs/history/apps_build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/fields.h"
#include "base/messages.h"
#include "graph/sidecar.h"
#include "host/capture_file.h"
#include "request/fingerprint.h"

#define DAY_S 86400

/* The last runs whose GPUs are counted. */
#define LAST_RUNS 2

/* A network of one or more applications, sorted by its digest. */
struct network {
    uint64_t digest;
    char *text;    /* owned */
    int32_t index; /* in dn_apps; -1: not yet */
    bool used;
};

/* A description, with what says how useful it is. */
struct item {
    struct dn_app_known known; /* spec is owned, with arch behind it */
    uint64_t network;          /* its digest; 0: none */
    double gpu_s;
};

/* The GPUs of a run. */
struct use {
    int64_t gpus;
    int64_t used; /* DN_UNSET: not known */
};

struct dn_known_list {
    struct item *items;
    int64_t n;
    struct network *networks;
    int64_t n_networks;
    size_t n_bytes;
    struct item
        least; /* the least useful one where no more have room; gpu_s < 0: none */
    /* the application whose jobs come now */
    dn_app_key key;        /* 0: none */
    char *captured;        /* of its newest run; owned; NULL: none */
    char job[DN_NAME_MAX]; /* and that run */
    dn_app_key kin;
    int32_t batch;
    int64_t end_s;
    double gpu_s;
    struct use last[LAST_RUNS]; /* the newest first */
};

/* --- the list --------------------------------------------------------------------- */

struct dn_known_list *dn_known_list_new (void)
{
    struct dn_known_list *list = calloc (1, sizeof (*list));

    if (list)
        list->least.gpu_s = -1;
    return list;
}

void dn_known_list_free (struct dn_known_list *list)
{
    if (!list)
        return;
    for (int64_t i = 0; i < list->n; i++)
        free (list->items[i].known.spec);
    for (int64_t i = 0; i < list->n_networks; i++)
        free (list->networks[i].text);
    free (list->items);
    free (list->networks);
    free (list->captured);
    free (list);
}

static uint64_t digest_of (const char *text)
{
    struct dn_digester digester = dn_digest_begin ();
    struct dn_digest digest;
    uint64_t number;

    dn_digest_add (&digester, dn_span_of (text));
    digest = dn_digest_end (&digester);
    digest.hex[DN_KEY_DIGITS] = '\0';
    number = strtoull (digest.hex, NULL, 16);
    return number ? number : 1;
}

/* The place of a network, or of the first later one. */
static int64_t place_of (const struct dn_known_list *list, uint64_t digest)
{
    int64_t low = 0;
    int64_t high = list->n_networks;

    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (list->networks[mid].digest < digest)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The network of an item, or NULL. */
static struct network *network_of (const struct dn_known_list *list,
                                   const struct item *item)
{
    int64_t at = place_of (list, item->network);

    return item->network != 0 && at < list->n_networks
                   && list->networks[at].digest == item->network
               ? &list->networks[at]
               : NULL;
}

/* Keep a network once, whose text the list takes. */
static int keep_network (struct dn_known_list *list,
                         char *text,
                         uint64_t *digest,
                         struct dn_err *err)
{
    int64_t at;

    *digest = digest_of (text);
    at = place_of (list, *digest);
    if (at < list->n_networks && list->networks[at].digest == *digest) {
        free (text);
        return 0;
    }
    if (dn_rows_grow (&list->networks, list->n_networks, sizeof (*list->networks), err)
        < 0) {
        free (text);
        return -1;
    }
    memmove (list->networks + at + 1,
             list->networks + at,
             (size_t) (list->n_networks - at) * sizeof (*list->networks));
    list->networks[at] = (struct network){.digest = *digest, .text = text, .index = -1};
    list->n_networks++;
    list->n_bytes += strlen (text) + 1 + DN_APPS_TEXT_MORE;
    return 0;
}

/* --- usefulness ------------------------------------------------------------------- */

static int by_use (const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;
    uint32_t x_day = x->known.last_s / DAY_S;
    uint32_t y_day = y->known.last_s / DAY_S;

    if (x_day != y_day)
        return x_day > y_day ? -1 : 1;
    if (x->gpu_s != y->gpu_s)
        return x->gpu_s > y->gpu_s ? -1 : 1;
    return x->known.key < y->known.key ? -1 : x->known.key > y->known.key;
}

static int by_key (const void *a, const void *b)
{
    const struct item *x = a;
    const struct item *y = b;

    return x->known.key < y->known.key ? -1 : x->known.key > y->known.key;
}

/* Which networks fit beside all descriptions, those of the most useful ones first. */
static void choose_networks (struct dn_known_list *list)
{
    size_t n_bytes = 0;

    for (int64_t i = 0; i < list->n; i++)
        n_bytes += dn_app_known_size (&list->items[i].known);
    for (int64_t i = 0; i < list->n_networks; i++)
        list->networks[i].used = false;
    for (int64_t i = 0; i < list->n; i++) {
        struct network *network = network_of (list, &list->items[i]);
        size_t size = network ? strlen (network->text) + 1 + DN_APPS_TEXT_MORE : 0;

        if (!network || network->used)
            continue;
        network->used = n_bytes + size <= DN_APPS_TEXTS_MAX;
        n_bytes += network->used ? size : 0;
    }
    list->n_bytes = n_bytes;
}

static void drop_networks (struct dn_known_list *list)
{
    int64_t n = 0;

    for (int64_t i = 0; i < list->n_networks; i++)
        if (list->networks[i].used)
            list->networks[n++] = list->networks[i];
        else
            free (list->networks[i].text);
    list->n_networks = n;
}

/* Keep as much of the most useful as slurmctld may have, in the order of use. */
static void thin_out (struct dn_known_list *list)
{
    size_t n_bytes = 0;
    int64_t n = 0;

    if (list->n > 0)
        qsort (list->items, (size_t) list->n, sizeof (*list->items), by_use);
    for (int64_t i = 0; i < list->n; i++) {
        size_t size = dn_app_known_size (&list->items[i].known);

        if (n < DN_APPS_KNOWN_MAX && n_bytes + size <= DN_APPS_TEXTS_MAX) {
            n_bytes += size;
            list->items[n++] = list->items[i];
        } else {
            free (list->items[i].known.spec);
        }
    }
    list->n = n;
    if (n == DN_APPS_KNOWN_MAX)
        list->least = list->items[n - 1];
    choose_networks (list);
    drop_networks (list);
}

/* --- one application -------------------------------------------------------------- */

/* "2.4.0+cu121" is 2.4. */
static void add_software (const struct dn_capture *capture, struct dn_spec *spec)
{
    char text[DN_NAME_MAX + 16];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    size_t len = strspn (capture->version, "0123456789");

    if (spec->framework == DN_FRAMEWORK_UNKNOWN) {
        dn_buf_add (&buf, "framework=%s", capture->framework);
        dn_spec_read (dn_span_of (text), spec, NULL);
    }
    if (spec->framework != DN_FRAMEWORK_PYTORCH || spec->torch[0] != '\0'
        || capture->version[len] != '.')
        return;
    len += 1 + strspn (capture->version + len + 1, "0123456789");
    buf = dn_buf_on (text, sizeof (text));
    dn_buf_add (&buf, "torch=%.*s", (int) len, capture->version);
    dn_spec_read (dn_span_of (text), spec, NULL);
}

/* The description as metadata, without how much a run does; "" if it is too long. */
static void write_spec (const struct dn_capture *capture,
                        const struct dn_spec *described,
                        char text[DN_APPS_SPEC_MAX])
{
    struct dn_spec spec = dn_spec_of_application (described);

    memcpy (spec.name, described->name, sizeof (spec.name));
    add_software (capture, &spec);
    if (spec.workers == DN_UNSET)
        spec.workers = capture->workers;
    if (!dn_spec_write (&spec, text, DN_APPS_SPEC_MAX))
        text[0] = '\0';
}

/* The graph alone, under one name, so that equal ones are equal texts; NULL: none. */
static char *network_text (struct dn_sidecar *sidecar)
{
    char *text;

    if (sidecar->layers.n == 0)
        return NULL;
    sidecar->spec = dn_spec_empty ();
    snprintf (sidecar->layers.name, sizeof (sidecar->layers.name), "graph");
    text = dn_sidecar_write (sidecar);
    if (text && strlen (text) < DN_APPS_NETWORK_MAX && !strchr (text, '\''))
        return text;
    free (text);
    return NULL;
}

/* The most GPUs that the last runs with as many as the newest have used. */
static void count_use (const struct use last[LAST_RUNS], struct dn_app_known *known)
{
    known->gpus = (uint16_t) (last[0].gpus > 0 ? last[0].gpus : 0);
    for (int i = 0; i < LAST_RUNS; i++) {
        int64_t used = last[i].used < last[i].gpus ? last[i].used : last[i].gpus;

        if (last[i].gpus != last[0].gpus || last[i].gpus <= 0 || used < 0)
            continue;
        known->gpus_runs++;
        if (used > known->gpus_used)
            known->gpus_used = (uint16_t) used;
    }
}

/* Have the last runs used fewer GPUs than they had? */
static bool leaves_idle (const struct use last[LAST_RUNS])
{
    struct dn_app_known known = {.gpus = 0};

    count_use (last, &known);
    return known.gpus_runs == LAST_RUNS && known.gpus_used > 0
           && known.gpus_used < known.gpus;
}

static float count_of (int64_t count)
{
    return count > 0 ? (float) count : 0;
}

static struct dn_app_known known_of (const struct dn_known_list *list,
                                     const struct dn_capture *capture)
{
    struct dn_app_known known = {.key = list->key,
                                 .kin = list->kin,
                                 .batch = list->batch,
                                 .network = -1,
                                 .last_s = (uint32_t) list->end_s,
                                 .steps = count_of (capture->steps),
                                 .epochs = count_of (capture->epochs),
                                 .loader_share = isfinite (capture->loader_share)
                                                     ? (float) capture->loader_share
                                                     : -1,
                                 .workers = (int16_t) capture->workers};

    count_use (list->last, &known);
    return known;
}

static int add_item (struct dn_known_list *list,
                     const struct dn_capture *capture,
                     struct dn_err *err)
{
    dn_cleanup (dn_sidecar_free) struct dn_sidecar sidecar = {.spec = dn_spec_empty ()};
    struct item item = {.known = known_of (list, capture), .gpu_s = list->gpu_s};
    char spec[DN_APPS_SPEC_MAX];
    char *network;

    if (capture->sidecar)
        dn_sidecar_read (dn_span_of (capture->sidecar), &sidecar, NULL);
    write_spec (capture, &sidecar.spec, spec);
    item.known.spec = spec;
    item.known.arch = capture->arch;
    item.known.job = list->job;
    network = network_text (&sidecar);
    if ((network && keep_network (list, network, &item.network, err) < 0)
        || dn_rows_grow (&list->items, list->n, sizeof (item), err) < 0
        || dn_app_known_copy (&item.known, err) < 0)
        return -1;
    list->items[list->n++] = item;
    list->n_bytes += dn_app_known_size (&item.known);
    if (list->n == DN_KNOWN_ITEMS_MAX || list->n_bytes > DN_KNOWN_BYTES_MAX)
        thin_out (list);
    return 0;
}

/* Is the application less useful than all of as many as there is room for? */
static bool is_needless (const struct dn_known_list *list)
{
    const struct item item = {
        .known = {.key = list->key, .last_s = (uint32_t) list->end_s},
        .gpu_s = list->gpu_s};

    return list->least.gpu_s >= 0 && by_use (&item, &list->least) > 0;
}

/* The jobs of an application have all come. Of one that describes nothing of itself,
 * its idle GPUs are known.
 */
static int end_app (struct dn_known_list *list, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = list->captured;
    struct dn_capture capture = {.workers = DN_UNSET, .loader_share = NAN};
    int rc;

    list->captured = NULL;
    if (!(text || leaves_idle (list->last)) || is_needless (list)
        || (text
            && dn_capture_read (
                   dn_span_of (text), "captured", DN_SIDECAR_AS_KEPT, &capture, NULL)
                   < 0))
        return 0;
    rc = add_item (list, &capture, err);
    dn_capture_free (&capture);
    return rc;
}

/* The run that describes its application: the job, and what "fp:870a06ccd34ba3b9/64"
 * says of its kin.
 */
static void note_run (struct dn_known_list *list, const struct dn_finished *job)
{
    struct dn_span batch = dn_span_of (job->kin);
    struct dn_span print = dn_span_cut (&batch, "/");
    char text[DN_FINGERPRINT_MAX];
    int64_t count;

    snprintf (list->job, sizeof (list->job), "%s", job->job);
    list->kin = 0;
    list->batch = 0;
    if (job->kin[0] == '\0'
        || dn_span_copy (print, text, sizeof (text), "kin", NULL) < 0)
        return;
    list->kin = dn_app_key_of_user (job->user, text);
    if (batch.text && dn_int_read (batch, "batch", 1, INT32_MAX, &count, NULL) == 0)
        list->batch = (int32_t) count;
}

int dn_known_note (struct dn_known_list *list,
                   dn_app_key key,
                   const struct dn_finished *job,
                   struct dn_err *err)
{
    static const struct use unknown = {0, DN_UNSET};
    char *text;

    if (list->key != key) {
        if (end_app (list, err) < 0)
            return -1;
        list->key = key;
        list->gpu_s = 0;
        list->kin = 0;
        list->batch = 0;
        list->job[0] = '\0';
        list->last[0] = list->last[1] = unknown;
    }
    list->gpu_s += dn_finished_ran_s (job) * (job->gpus > 0 ? (double) job->gpus : 1);
    list->last[1] = list->last[0];
    list->last[0] =
        (struct use){job->gpus <= UINT16_MAX ? job->gpus : 0, job->gpus_used};
    if (!list->captured)
        list->end_s = job->end_s;
    if (job->captured[0] == '\0')
        return 0;
    text = strdup (job->captured);
    if (!text)
        return dn_refuse (err, no_memory);
    free (list->captured);
    list->captured = text;
    list->end_s = job->end_s;
    note_run (list, job);
    return 0;
}

int dn_known_end (struct dn_known_list *list, struct dn_apps *apps, struct dn_err *err)
{
    if (end_app (list, err) < 0)
        return -1;
    thin_out (list);
    if (list->n > 0)
        qsort (list->items, (size_t) list->n, sizeof (*list->items), by_key);
    for (int64_t i = 0; i < list->n; i++) {
        struct network *network = network_of (list, &list->items[i]);
        struct dn_app_known *known = &list->items[i].known;

        /* A text is at one place at a time: the next copy takes its memory. */
        if (network && network->index < 0) {
            network->index = (int32_t) apps->n_networks;
            if (dn_apps_add_network (apps, network->text, err) < 0)
                return -1;
            free (network->text);
            network->text = NULL;
        }
        known->network = network ? network->index : -1;
        if (dn_apps_add_known (apps, known, err) < 0)
            return -1;
        free (known->spec);
        known->spec = NULL;
    }
    return 0;
}
