/* net.c - the network between nodes, as metadata name it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <string.h>

#include "base/messages.h"

/* Names of networks whose adapters write to memory themselves (RDMA), and of others. */
static const struct {
    const char *name;
    bool rdma;
} kinds[] = {{"ib", true}, {"roce", true}, {"ethernet", false}};

#define RATE_MAX     10000 /* Gbit/s */
#define ADAPTERS_MAX 64

/* Read digits from *text on; *text is then behind them. -1 without digits, or for a
 * number above 'max' or 0.
 */
static double read_number (const char **text, double max)
{
    double number = 0;

    for (; **text >= '0' && **text <= '9' && number <= max; (*text)++)
        number = 10 * number + (**text - '0');
    return number >= 1 && number <= max ? number : -1;
}

static int fail (const char *text, struct dn_err *err)
{
    return dn_refuse (err, net, DN_QUOTED (text), RATE_MAX, ADAPTERS_MAX);
}

int dn_net_read (const char *text, struct dn_net *net, struct dn_err *err)
{
    const double gigabit = 1e9 / 8;
    struct dn_span kind = {text, strcspn (text, "0123456789")};
    const char *at = NULL;
    struct dn_net result = {.adapters = 1};

    for (size_t i = 0; i < DN_N_ELEMENTS (kinds); i++)
        if (dn_span_is (kind, kinds[i].name)) {
            at = text + kind.len;
            result.rdma = kinds[i].rdma;
        }
    if (!at)
        return fail (text, err);
    result.rate = read_number (&at, RATE_MAX) * gigabit;
    if (result.rate > 0 && (*at == 'x' || *at == 'X')) {
        at++;
        result.adapters = read_number (&at, ADAPTERS_MAX);
    }
    if (result.rate <= 0 || result.adapters <= 0 || *at != '\0')
        return fail (text, err);
    *net = result;
    return 0;
}
