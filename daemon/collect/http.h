/* http.h - gets an answer of a web server: Prometheus
 *
 * The server may be hostile, slow or broken. So an answer has a maximum size and a
 * deadline, and a redirect is an error. Certificates are always verified. The caller
 * comes again at the next collection: there is one try.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HTTP_H
#define DN_HTTP_H

#include "base/text.h"

/* Get the body of 'path', which begins with '/' and is percent-encoded, from the server
 * 'url', http://HOST:PORT or https://..., within 'limit_s' seconds. '*text' is
 * terminated and freed with free (). -1 with 'err', which names the URL; DN_E_LIMIT if
 * the answer has more than 'max' bytes.
 */
int dn_http_get (const char *url,
                 const char *path,
                 size_t max,
                 int limit_s,
                 char **text,
                 size_t *len,
                 struct dn_err *err);

/* Append 'text' with everything but letters, digits and "-._~" as %XX. */
void dn_http_encode (struct dn_buf *buf, const char *text);

#endif
