/* hosts.c - the names in a list of nodes
 *
 * slurmctld writes at most one pair of brackets per name, at its end; a name with a
 * second pair ends the list.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "watch/hosts.h"

#include <inttypes.h>
#include <string.h>

#define DIGITS_MAX 9

struct dn_hosts dn_hosts_of (const char *list)
{
    return (struct dn_hosts){.rest = dn_span_of (list ? list : ""), .last = -1};
}

static bool read_digits (struct dn_span text, int64_t *number)
{
    *number = 0;
    if (text.len == 0 || text.len > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!dn_is_digit (text.text[i]))
            return false;
        *number = *number * 10 + (text.text[i] - '0');
    }
    return true;
}

/* Begin the next of 'ranges'; "08-11" has two digits. */
static bool begin_range (struct dn_hosts *hosts)
{
    struct dn_span range = dn_span_cut (&hosts->ranges, ",");
    struct dn_span first;

    if (!range.text)
        return false;
    first = dn_span_cut (&range, "-");
    hosts->digits = (int) first.len;
    if (!read_digits (first, &hosts->next))
        return false;
    hosts->last = hosts->next;
    return !range.text || range.len == 0 || read_digits (range, &hosts->last);
}

/* Cut the next entry off the list. */
static bool begin_entry (struct dn_hosts *hosts)
{
    struct dn_span *rest = &hosts->rest;
    size_t at = 0;
    size_t open;

    while (at < rest->len && rest->text[at] != ',' && rest->text[at] != '[')
        at++;
    hosts->prefix = (struct dn_span){rest->text, at};
    hosts->ranges = hosts->suffix = dn_span_of ("");
    if (at < rest->len && rest->text[at] == '[') {
        open = at + 1;
        while (at < rest->len && rest->text[at] != ']')
            at++;
        if (at == rest->len)
            return false;
        hosts->ranges = (struct dn_span){rest->text + open, at - open};
        open = ++at;
        while (at < rest->len && rest->text[at] != ',' && rest->text[at] != '[')
            at++;
        hosts->suffix = (struct dn_span){rest->text + open, at - open};
        if (at < rest->len && rest->text[at] == '[')
            return false;
    }
    at += at < rest->len ? 1 : 0;
    rest->text += at;
    rest->len -= at;
    return true;
}

bool dn_hosts_next (struct dn_hosts *hosts, char name[DN_NAME_MAX])
{
    struct dn_buf buf = dn_buf_on (name, DN_NAME_MAX);
    bool plain = false;

    if (hosts->n++ >= DN_HOSTS_MAX)
        return false;
    if (hosts->next > hosts->last || hosts->last < 0) {
        if (hosts->ranges.len == 0) {
            if (hosts->rest.len == 0 || !begin_entry (hosts))
                return false;
            plain = hosts->ranges.len == 0;
        }
        if (!plain && (!begin_range (hosts) || hosts->next > hosts->last))
            return false;
    }
    dn_buf_add (&buf, "%.*s", (int) hosts->prefix.len, hosts->prefix.text);
    if (!plain) {
        dn_buf_add (&buf, "%0*" PRId64, hosts->digits, hosts->next++);
        dn_buf_add (&buf, "%.*s", (int) hosts->suffix.len, hosts->suffix.text);
    }
    return !buf.cut && buf.len > 0;
}
