/* http.c - gets an answer of a web server: Prometheus
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/http.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/messages.h"

#ifdef DN_FETCH
#include <curl/curl.h>

#define CONNECT_MS  3000.0
#define PAUSE_S     0.2
#define URL_MAX     16384
#define SHOWN_MAX   100
#define REASON_MAX  90
#define FIRST_BYTES 65536

/* One try. */
struct transfer {
    CURL *curl;
    char *text;
    size_t len;
    size_t size;
    size_t max;
    bool too_large;
    bool no_memory;
    char reason[CURL_ERROR_SIZE];
};

static double now_s (void)
{
    struct timespec now;

    clock_gettime (CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* The server and the path without its query. */
struct shown {
    char text[SHOWN_MAX + 4];
};

static struct shown show (const struct dn_http *http, const char *path)
{
    struct shown shown = {""};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));

    dn_buf_add (&buf,
                "%.60s%.*s",
                http->url,
                (int) (strcspn (path, "?") < 40 ? strcspn (path, "?") : 40),
                path);
    for (char *c = shown.text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return shown;
}

static bool grow (struct transfer *transfer, size_t len)
{
    size_t size = transfer->size > 0 ? transfer->size : FIRST_BYTES;
    char *larger;

    while (size < len + 1)
        size *= 2;
    if (size == transfer->size)
        return true;
    larger = realloc (transfer->text, size);
    transfer->no_memory = !larger;
    if (!larger)
        return false;
    transfer->text = larger;
    transfer->size = size;
    return true;
}

static size_t take_body (char *data, size_t size, size_t n, void *to)
{
    struct transfer *transfer = to;
    size_t len = size * n;

    if (len > transfer->max - transfer->len) {
        transfer->too_large = true;
        return 0;
    }
    if (!grow (transfer, transfer->len + len))
        return 0;
    memcpy (transfer->text + transfer->len, data, len);
    transfer->len += len;
    transfer->text[transfer->len] = '\0';
    return len;
}

static void only_http (CURL *curl)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
}

/* The URL that libcurl takes. */
static int set_url (CURL *curl,
                    const struct dn_http *http,
                    const char *path,
                    struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *url = malloc (URL_MAX);
    size_t len = strlen (http->url);
    struct dn_buf buf;

    if (!url)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "libcurl");
    while (len > 0 && http->url[len - 1] == '/')
        len--;
    buf = dn_buf_on (url, URL_MAX);
    dn_buf_add (&buf, "%.*s%s", (int) len, http->url, path);
    if (buf.cut)
        return dn_err_set (
            err, DN_E_RANGE, dn_say_err_url_long, show (http, path).text);
    if (curl_easy_setopt (curl, CURLOPT_URL, url) != CURLE_OK)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "libcurl");
    return 0;
}

static void set_options (struct transfer *transfer)
{
    CURL *curl = transfer->curl;

    only_http (curl);
    curl_easy_setopt (curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt (curl, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt (curl, CURLOPT_USERAGENT, "dnnest/" PACKAGE_VERSION);
    /* Not by a proxy of the environment. */
    curl_easy_setopt (curl, CURLOPT_PROXY, "");
    curl_easy_setopt (curl, CURLOPT_ERRORBUFFER, transfer->reason);
    curl_easy_setopt (curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt (curl, CURLOPT_WRITEDATA, transfer);
}

static bool is_passing (long status)
{
    return status == 408 || status == 429 || (status >= 502 && status <= 504);
}

/* A try by libcurl: did the server send all that it wanted to? */
static int judge (const struct dn_http *http,
                  const char *path,
                  const struct transfer *transfer,
                  CURLcode result,
                  struct dn_err *err)
{
    struct shown shown = show (http, path);
    bool refused =
        result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE
        || result == CURLE_UNSUPPORTED_PROTOCOL || result == CURLE_URL_MALFORMAT;
    long status = 0;

    curl_easy_getinfo (transfer->curl, CURLINFO_RESPONSE_CODE, &status);
    if (transfer->too_large)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_answer_large, shown.text, transfer->max);
    if (transfer->no_memory)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, shown.text);
    if (result != CURLE_OK)
        return dn_err_set (err,
                           refused ? DN_E_IO : DN_E_TIME,
                           "%s: %.*s",
                           shown.text,
                           REASON_MAX,
                           transfer->reason[0] ? transfer->reason
                                               : curl_easy_strerror (result));
    if (status != 200)
        return dn_err_set (err,
                           is_passing (status) ? DN_E_TIME : DN_E_IO,
                           dn_say_err_http_status,
                           shown.text,
                           status,
                           status >= 300 && status < 400 ? dn_say_http_redirect : "");
    return 0;
}

static int perform (const struct dn_http *http,
                    const char *path,
                    struct transfer *transfer,
                    double left_s,
                    struct dn_err *err)
{
    double left_ms = left_s * 1000 < 1 ? 1 : left_s * 1000;
    int rc = -1;

    transfer->curl = curl_easy_init ();
    if (!transfer->curl)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "libcurl");
    curl_easy_setopt (transfer->curl, CURLOPT_TIMEOUT_MS, (long) left_ms);
    curl_easy_setopt (transfer->curl,
                      CURLOPT_CONNECTTIMEOUT_MS,
                      (long) (left_ms < CONNECT_MS ? left_ms : CONNECT_MS));
    set_options (transfer);
    if (grow (transfer, 0) && set_url (transfer->curl, http, path, err) == 0)
        rc = judge (http, path, transfer, curl_easy_perform (transfer->curl), err);
    curl_easy_cleanup (transfer->curl);
    return rc;
}

/* Before the next try: 0.2 s, 0.4 s, ..., each up to half as long again. False when
 * there is no time for it.
 */
static bool pause_before (int try, double deadline_s)
{
    struct timespec now;
    double pause_s = PAUSE_S * (double) (1 << try);
    struct timespec pause;

    clock_gettime (CLOCK_REALTIME, &now);
    pause_s *= 1 + 0.5 * (double) (now.tv_nsec / 1000 % 1000) / 1000;
    if (now_s () + pause_s >= deadline_s)
        return false;
    pause.tv_sec = (time_t) pause_s;
    pause.tv_nsec = (long) ((pause_s - (double) pause.tv_sec) * 1e9);
    nanosleep (&pause, NULL);
    return true;
}

int dn_http_get (const struct dn_http *http,
                 const char *path,
                 char **text,
                 size_t *len,
                 struct dn_err *err)
{
    double deadline_s = now_s () + http->max_time_s;
    struct dn_err why = {.code = DN_E_NONE};

    *text = NULL;
    *len = 0;
    if (curl_global_init (CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return dn_err_set (err, DN_E_BUG, dn_say_err_libcurl);
    for (int try = 0;; try++) {
        struct transfer transfer = {.max = http->max};

        why.code = DN_E_NOMEM;
        if (perform (http, path, &transfer, deadline_s - now_s (), &why) == 0) {
            *text = transfer.text;
            *len = transfer.len;
            return 0;
        }
        free (transfer.text);
        if (why.code != DN_E_TIME || try + 1 >= http->tries || try >= 8
            || !pause_before (try, deadline_s))
            return dn_err_set (err, why.code, "%s", why.text);
    }
}

#else

int dn_http_get (const struct dn_http *http,
                 const char *path,
                 char **text,
                 size_t *len,
                 struct dn_err *err)
{
    (void) path;
    *text = NULL;
    *len = 0;
    return dn_err_set (err, DN_E_IO, dn_say_err_no_libcurl, http->url);
}

#endif

void dn_http_encode (struct dn_buf *buf, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char) *text;

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
            || strchr ("-._~", c))
            dn_buf_add (buf, "%c", c);
        else
            dn_buf_add (buf, "%%%02X", c);
    }
}
