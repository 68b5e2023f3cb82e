/* http.h - gets an answer of a web server: Prometheus
 *
 * The server may be hostile, slow or broken. So an answer has a maximum size, all tries
 * together have a deadline, and a redirect is an error.
 * Certificates are always verified. A server that does not answer, and one that is
 * overloaded (HTTP 408, 429, 502 to 504), is tried again, after pauses that double and
 * vary.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HTTP_H
#define DN_HTTP_H

#include "base/text.h"

/* A server. Texts are borrowed. */
struct dn_http {
    const char *url;   /* http://HOST:PORT or https://... */
    size_t max;        /* bytes of an answer */
    double max_time_s; /* of all tries */
    int tries;
};

/* Get the body of 'path', which begins with '/' and is percent-encoded. '*text' is
 * terminated and freed with free (). -1 with 'err', which names the URL, and the
 * status: DN_E_TIME if the server may answer later, DN_E_LIMIT if the answer is larger
 * than 'max'.
 */
int dn_http_get (const struct dn_http *http,
                 const char *path,
                 char **text,
                 size_t *len,
                 struct dn_err *err);

/* Append 'text' with everything but letters, digits and "-._~" as %XX. */
void dn_http_encode (struct dn_buf *buf, const char *text);

#endif
