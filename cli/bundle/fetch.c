/* fetch.c - fetches a bundle from a web server and checks its signature
 *
 * The server may be hostile, slow or broken, and may send without end. So every
 * transfer has a maximum size, all transfers share one deadline, and a server that
 * sends too slowly is given up. Redirects are followed here, not by libcurl, and only
 * to the same scheme, host and port, because the admin named one server.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "fetch.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "process/interrupt.h"
#include "output/progress.h"

#define REDIRECTS_MAX 3
#define HEADERS_MAX   65536
#define IGNORED_MAX   65536
#define CONNECT_MS    15000L

/* A transfer fails after SLOW_S seconds with fewer than SLOW_BYTES per second. */
#define SLOW_BYTES 100L
#define SLOW_S     30L

#define REASON_MAX 160
#define HOST_MAX   256

struct session {
    CURL *curl;
    CURLU *base; /* of the manifest */
    double deadline_s;
    struct dn_progress progress;
    int64_t done;  /* bytes of the files that are complete */
    int64_t total; /* of all files; 0: not known yet */
    char host[HOST_MAX];
    char reason[CURL_ERROR_SIZE];
};

/* One response of the server. */
struct transfer {
    struct session *session;
    struct dn_blob *blob;
    size_t max;
    size_t headers;
    size_t ignored;
    bool too_large;
};

static double now_s (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

static long status_of (const struct session *session)
{
    long status = 0;

    curl_easy_getinfo (session->curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

/* The body of a response other than a success is discarded, up to a limit. */
static size_t take_body (char *data, size_t size, size_t n, void *to)
{
    struct transfer *transfer = to;
    struct dn_blob *blob = transfer->blob;
    curl_off_t declared = -1;
    size_t len = size * n;

    if (status_of (transfer->session) != 200) {
        transfer->ignored += len;
        return transfer->ignored > IGNORED_MAX ? 0 : len;
    }
    curl_easy_getinfo (
        transfer->session->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &declared);
    if (declared > (curl_off_t) transfer->max || len > transfer->max - blob->len) {
        transfer->too_large = true;
        return 0;
    }
    memcpy (blob->data + blob->len, data, len);
    blob->len += len;
    return len;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is libcurl's */
static size_t take_header (char *data, size_t size, size_t n, void *to)
{
    struct transfer *transfer = to;

    (void) data;
    transfer->headers += size * n;
    return transfer->headers > HEADERS_MAX ? 0 : size * n;
}

static int watch (void *of,
                  curl_off_t total,
                  curl_off_t now,
                  curl_off_t up_total,
                  curl_off_t up)
{
    struct session *session = of;
    int64_t n = session->done + now;

    (void) total;
    (void) up_total;
    (void) up;
    dn_progress_show (&session->progress,
                      n,
                      session->total > 0 ? (double) n / (double) session->total : -1);
    return dn_interrupted ();
}

static void only_https (CURL *curl)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS_STR, "https");
#else
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTPS);
#endif
}

/* Options of every transfer. */
static int open_session (const struct dn_fetch *fetch,
                         struct session *session,
                         struct dn_err *err)
{
    CURL *curl = curl_easy_init ();

    session->curl = curl;
    if (!curl)
        return dn_err_set (err, DN_E_NOMEM, "libcurl: out of memory");
    only_https (curl);
    curl_easy_setopt (curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt (curl, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt (curl, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
    curl_easy_setopt (curl, CURLOPT_LOW_SPEED_TIME, SLOW_S);
    curl_easy_setopt (curl, CURLOPT_USERAGENT, "dnnest/" PACKAGE_VERSION);
    curl_easy_setopt (curl, CURLOPT_ERRORBUFFER, session->reason);
    curl_easy_setopt (curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt (curl, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt (curl, CURLOPT_XFERINFOFUNCTION, watch);
    curl_easy_setopt (curl, CURLOPT_XFERINFODATA, session);
    curl_easy_setopt (curl, CURLOPT_NOPROGRESS, 0L);
    /* Do not also trust the system's certificate directory. */
    if (fetch->ca_file
        && (curl_easy_setopt (curl, CURLOPT_CAPATH, (char *) NULL) != CURLE_OK
            || curl_easy_setopt (curl, CURLOPT_CAINFO, fetch->ca_file) != CURLE_OK))
        return dn_err_set (err, DN_E_NOMEM, "libcurl: out of memory");
    return 0;
}

static void close_session (struct session *session)
{
    dn_progress_end (&session->progress);
    curl_easy_cleanup (session->curl);
    curl_url_cleanup (session->base);
}

/* A part of a URL, NULL if it has none. curl_free () it. */
static char *url_part (CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;

    return curl_url_get (url, part, &text, flags) == CURLUE_OK ? text : NULL;
}

static void free_part (char **part)
{
    curl_free (*part);
}

static bool has_part (CURLU *url, CURLUPart part)
{
    dn_cleanup (free_part) char *text = url_part (url, part, 0);

    return text != NULL;
}

static bool same_part (CURLU *a, CURLU *b, CURLUPart part)
{
    dn_cleanup (free_part) char *of_a = url_part (a, part, CURLU_DEFAULT_PORT);
    dn_cleanup (free_part) char *of_b = url_part (b, part, CURLU_DEFAULT_PORT);

    return of_a && of_b && curl_strequal (of_a, of_b);
}

static bool same_server (CURLU *a, CURLU *b)
{
    return same_part (a, b, CURLUPART_SCHEME) && same_part (a, b, CURLUPART_HOST)
           && same_part (a, b, CURLUPART_PORT) && !has_part (b, CURLUPART_USER)
           && !has_part (b, CURLUPART_PASSWORD);
}

/* Make the URL that of manifest.json; any other URL is taken as its directory. */
static int name_manifest (CURLU *url, const char *text, struct dn_err *err)
{
    dn_cleanup (free_part) char *path = url_part (url, CURLUPART_PATH, 0);
    static const char tail[] = "/" DN_MANIFEST_NAME;
    size_t len = path ? strlen (path) : 0;
    char full[4096];
    struct dn_buf buf = dn_buf_on (full, sizeof (full));

    if (len >= sizeof (tail) - 1
        && strcmp (path + len - (sizeof (tail) - 1), tail) == 0)
        return 0;
    if (len > 0 && path[len - 1] == '/')
        len--;
    dn_buf_add (&buf, "%.*s%s", (int) len, path ? path : "", tail);
    if (buf.cut || curl_url_set (url, CURLUPART_PATH, full, 0) != CURLUE_OK)
        return dn_err_set (err, DN_E_LIMIT, "%s: too long", dn_quote (text, len).text);
    return 0;
}

static int read_url (const char *text, struct session *session, struct dn_err *err)
{
    struct dn_quoted shown = dn_quote (text, strlen (text));
    dn_cleanup (free_part) char *scheme = NULL;
    dn_cleanup (free_part) char *host = NULL;
    struct dn_buf buf = dn_buf_on (session->host, sizeof (session->host));

    session->base = curl_url ();
    if (!session->base)
        return dn_err_set (err, DN_E_NOMEM, "libcurl: out of memory");
    if (curl_url_set (session->base, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME)
        != CURLUE_OK)
        return dn_err_set (
            err, DN_E_SYNTAX, "'%s' is not a URL, expected https://...", shown.text);
    scheme = url_part (session->base, CURLUPART_SCHEME, 0);
    host = url_part (session->base, CURLUPART_HOST, 0);
    if (!scheme || strcmp (scheme, "https") != 0 || !host)
        return dn_err_set (
            err, DN_E_RANGE, "'%s': only https:// is allowed", shown.text);
    if (has_part (session->base, CURLUPART_USER)
        || has_part (session->base, CURLUPART_PASSWORD)
        || has_part (session->base, CURLUPART_QUERY)
        || has_part (session->base, CURLUPART_FRAGMENT))
        return dn_err_set (err,
                           DN_E_RANGE,
                           "'%s': expected a URL without user, '?' and '#'",
                           shown.text);
    dn_buf_add (&buf, "%s", dn_quote (host, strlen (host)).text);
    return name_manifest (session->base, text, err);
}

/* Set 'err' to the reason why a transfer failed. */
static int fail (struct session *session,
                 const struct transfer *transfer,
                 CURLcode result,
                 const char *name,
                 struct dn_err *err)
{
    const char *reason =
        session->reason[0] ? session->reason : curl_easy_strerror (result);

    if (result == CURLE_ABORTED_BY_CALLBACK)
        return dn_err_set (err, DN_E_IO, "%s: %s: interrupted", session->host, name);
    if (transfer->too_large)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%s: %s: larger than %zu bytes",
                           session->host,
                           name,
                           transfer->max);
    if (transfer->headers > HEADERS_MAX)
        return dn_err_set (err,
                           DN_E_LIMIT,
                           "%s: %s: more than %d bytes of header",
                           session->host,
                           name,
                           HEADERS_MAX);
    return dn_err_set (
        err, DN_E_IO, "%s: %s: %.*s", session->host, name, REASON_MAX, reason);
}

/* Follow a redirect if it is to the same server. */
static int follow (struct session *session,
                   CURLU *url,
                   const char *name,
                   struct dn_err *err)
{
    dn_cleanup (free_part) char *text = NULL;
    CURLU *to = curl_url ();
    char *target = NULL;
    bool good;

    curl_easy_getinfo (session->curl, CURLINFO_REDIRECT_URL, &target);
    good = to && target && curl_url_set (to, CURLUPART_URL, target, 0) == CURLUE_OK
           && same_server (session->base, to);
    if (good) {
        text = url_part (to, CURLUPART_URL, 0);
        good = text && curl_url_set (url, CURLUPART_URL, text, 0) == CURLUE_OK;
    }
    curl_url_cleanup (to);
    if (good)
        return 0;
    return dn_err_set (err,
                       DN_E_RANGE,
                       "%s: %s: redirected to '%s', which is not the same server",
                       session->host,
                       name,
                       target ? dn_quote (target, strlen (target)).text : "");
}

/* Send one request. Return the status, or -1 with 'err'. */
static int ask (struct session *session,
                CURLU *url,
                const char *name,
                size_t max,
                struct dn_blob *blob,
                struct dn_err *err)
{
    struct transfer transfer = {session, blob, max, 0, 0, false};
    dn_cleanup (free_part) char *text = url_part (url, CURLUPART_URL, 0);
    double left_s = session->deadline_s - now_s ();
    CURLcode result;
    long status;

    if (left_s < 0.001)
        return dn_err_set (err, DN_E_IO, "%s: %s: out of time", session->host, name);
    if (!text)
        return dn_err_set (err, DN_E_NOMEM, "libcurl: out of memory");
    blob->len = 0;
    session->reason[0] = '\0';
    curl_easy_setopt (session->curl, CURLOPT_URL, text);
    curl_easy_setopt (session->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    curl_easy_setopt (session->curl, CURLOPT_TIMEOUT_MS, (long) (left_s * 1000) + 1);
    curl_easy_setopt (session->curl, CURLOPT_WRITEDATA, &transfer);
    curl_easy_setopt (session->curl, CURLOPT_HEADERDATA, &transfer);
    result = curl_easy_perform (session->curl);
    status = status_of (session);
    if (result != CURLE_OK
        && (status == 0 || status == 200 || result == CURLE_ABORTED_BY_CALLBACK
            || transfer.headers > HEADERS_MAX))
        return fail (session, &transfer, result, name, err);
    return (int) status;
}

/* Fetch the file 'name' from the manifest's directory; at most 'max' bytes. */
static int get (struct session *session,
                CURLU *url,
                const char *name,
                size_t max,
                struct dn_blob *blob,
                struct dn_err *err)
{
    for (int hops = 0;; hops++) {
        int status = ask (session, url, name, max, blob, err);

        if (status < 0)
            return -1;
        if (status == 200)
            break;
        if (status < 300 || status > 399 || status == 304)
            return dn_err_set (
                err, DN_E_IO, "%s: %s: HTTP status %d", session->host, name, status);
        if (hops == REDIRECTS_MAX)
            return dn_err_set (err,
                               DN_E_LIMIT,
                               "%s: %s: more than %d redirects",
                               session->host,
                               name,
                               REDIRECTS_MAX);
        if (follow (session, url, name, err) < 0)
            return -1;
    }
    session->done += (int64_t) blob->len;
    blob->data[blob->len] = '\0';
    return 0;
}

static int get_file (struct session *session,
                     const char *name,
                     size_t max,
                     struct dn_blob *blob,
                     struct dn_err *err)
{
    CURLU *url = curl_url_dup (session->base);
    int status = -1;

    blob->data = malloc (max + 1);
    /* A relative URL replaces the part after the last slash. */
    if (!url || !blob->data || curl_url_set (url, CURLUPART_URL, name, 0) != CURLUE_OK)
        dn_err_set (err, DN_E_NOMEM, "%s: out of memory", name);
    else
        status = get (session, url, name, max, blob, err);
    curl_url_cleanup (url);
    return status;
}

static const struct dn_public_key *get_all (const struct dn_fetch *fetch,
                                            struct session *session,
                                            struct dn_parcel *parcel,
                                            struct dn_err *err)
{
    const struct dn_public_key *key;

    if (get_file (session, DN_MANIFEST_NAME, DN_MANIFEST_MAX, &parcel->text, err) < 0
        || get_file (
               session, DN_SIGNATURE_NAME, DN_SIGNATURE_MAX, &parcel->signature, err)
               < 0)
        return NULL;
    /* The manifest is not parsed before its signature has been checked. */
    key = dn_signature_check (fetch->keys,
                              dn_blob_span (&parcel->text),
                              dn_blob_span (&parcel->signature),
                              err);
    if (!key || dn_parcel_open (parcel, err) < 0) {
        dn_err_wrap (err, "%s", session->host);
        return NULL;
    }
    session->done = 0;
    for (int i = 0; i < parcel->manifest.n_files; i++)
        session->total += parcel->manifest.files[i].size;
    for (int i = 0; i < parcel->manifest.n_files; i++) {
        const struct dn_manifest_file *file = &parcel->manifest.files[i];

        if (get_file (session, file->name, (size_t) file->size, &parcel->files[i], err)
            < 0)
            return NULL;
        if (dn_parcel_check_file (parcel, i, err) < 0) {
            dn_err_wrap (err, "%s", session->host);
            return NULL;
        }
    }
    return key;
}

const struct dn_public_key *dn_fetch_parcel (const struct dn_fetch *fetch,
                                             struct dn_parcel *parcel,
                                             struct dn_err *err)
{
    struct session session = {.deadline_s = now_s () + fetch->max_time_s};
    const struct dn_public_key *key = NULL;

    memset (parcel, 0, sizeof (*parcel));
    if (curl_global_init (CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        dn_err_set (err, DN_E_BUG, "libcurl cannot be used");
        return NULL;
    }
    session.progress = dn_progress_begin ("bytes");
    if (read_url (fetch->url, &session, err) == 0
        && open_session (fetch, &session, err) == 0)
        key = get_all (fetch, &session, parcel, err);
    close_session (&session);
    curl_global_cleanup ();
    if (!key)
        dn_parcel_free (parcel);
    return key;
}
