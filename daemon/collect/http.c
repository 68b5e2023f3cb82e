/* http.c - gets an answer of a web server: Prometheus
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "collect/http.h"

#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

#ifdef DN_FETCH
#include <curl/curl.h>

#define CONNECT_S  3L
#define URL_MAX    16384
#define SHOWN_MAX  100
#define REASON_MAX 90

struct answer {
    char *text;
    size_t len;
    size_t max;
    bool too_large;
};

/* The server and the path without its query. */
struct shown {
    char text[SHOWN_MAX + 4];
};

static struct shown show (const char *url, const char *path)
{
    struct shown shown = {""};
    struct dn_buf buf = dn_buf_on (shown.text, sizeof (shown.text));

    dn_buf_add (&buf,
                "%.60s%.*s",
                url,
                (int) (strcspn (path, "?") < 40 ? strcspn (path, "?") : 40),
                path);
    for (char *c = shown.text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return shown;
}

static size_t take_body (char *data, size_t size, size_t n, void *to)
{
    struct answer *answer = to;
    size_t len = size * n;

    answer->too_large = len > answer->max - answer->len;
    if (answer->too_large)
        return 0;
    memcpy (answer->text + answer->len, data, len);
    answer->len += len;
    answer->text[answer->len] = '\0';
    return len;
}

/* No option fails but for lack of memory, which curl_easy_perform () finds, too. */
static void set_options (CURL *curl, int limit_s, struct answer *answer, char *reason)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt (curl, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
    curl_easy_setopt (curl, CURLOPT_TIMEOUT, (long) limit_s);
    curl_easy_setopt (curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
    curl_easy_setopt (curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt (curl, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt (curl, CURLOPT_SSL_VERIFYHOST, 2L);
    curl_easy_setopt (curl, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt (curl, CURLOPT_USERAGENT, "dnnest/" PACKAGE_VERSION);
    curl_easy_setopt (curl, CURLOPT_PROXY, ""); /* not one of the environment */
    curl_easy_setopt (curl, CURLOPT_ERRORBUFFER, reason);
    curl_easy_setopt (curl, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt (curl, CURLOPT_WRITEDATA, answer);
}

static int set_url (CURL *curl, const char *url, const char *path, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *whole = malloc (URL_MAX);
    size_t len = strlen (url);
    struct dn_buf buf;

    while (len > 0 && url[len - 1] == '/')
        len--;
    if (whole) {
        buf = dn_buf_on (whole, URL_MAX);
        dn_buf_add (&buf, "%.*s%s", (int) len, url, path);
        if (buf.cut)
            return dn_err_set (
                err, DN_E_RANGE, dn_say_err_url_long, show (url, path).text);
        if (curl_easy_setopt (curl, CURLOPT_URL, whole) == CURLE_OK)
            return 0;
    }
    return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "libcurl");
}

/* Did the server send all that it wanted to? */
static int perform (CURL *curl,
                    const struct answer *answer,
                    const char *reason,
                    struct shown shown,
                    struct dn_err *err)
{
    CURLcode result = curl_easy_perform (curl);
    long status = 0;

    curl_easy_getinfo (curl, CURLINFO_RESPONSE_CODE, &status);
    if (answer->too_large)
        return dn_err_set (
            err, DN_E_LIMIT, dn_say_err_answer_large, shown.text, answer->max);
    if (result != CURLE_OK)
        return dn_err_set (err,
                           DN_E_IO,
                           "%s: %.*s",
                           shown.text,
                           REASON_MAX,
                           reason[0] ? reason : curl_easy_strerror (result));
    if (status != 200)
        return dn_err_set (err,
                           DN_E_IO,
                           dn_say_err_http_status,
                           shown.text,
                           status,
                           status >= 300 && status < 400 ? dn_say_http_redirect : "");
    return 0;
}

int dn_http_get (const char *url,
                 const char *path,
                 size_t max,
                 int limit_s,
                 char **text,
                 size_t *len,
                 struct dn_err *err)
{
    char reason[CURL_ERROR_SIZE] = "";
    struct answer answer = {.max = max};
    CURL *curl;
    int rc = -1;

    *text = NULL;
    *len = 0;
    if (curl_global_init (CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return dn_err_set (err, DN_E_BUG, dn_say_err_libcurl);
    curl = curl_easy_init ();
    answer.text = calloc (1, max + 1);
    if (!curl || !answer.text) {
        dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory_for, "libcurl");
    } else {
        set_options (curl, limit_s, &answer, reason);
        if (set_url (curl, url, path, err) == 0)
            rc = perform (curl, &answer, reason, show (url, path), err);
    }
    curl_easy_cleanup (curl);
    if (rc < 0) {
        free (answer.text);
        return -1;
    }
    *text = answer.text;
    *len = answer.len;
    return 0;
}

#else

int dn_http_get (const char *url,
                 const char *path,
                 size_t max,
                 int limit_s,
                 char **text,
                 size_t *len,
                 struct dn_err *err)
{
    (void) path;
    (void) max;
    (void) limit_s;
    *text = NULL;
    *len = 0;
    return dn_err_set (err, DN_E_IO, dn_say_err_no_libcurl, url);
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
