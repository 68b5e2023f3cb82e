/* billing.c - what TRESBillingWeights make of a job
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/billing.h"

#include <string.h>

#define WEIGHT_MAX 1e12

/* The letter behind a weight of memory says of how many MB: "0.25G" is per GiB. */
static double unit_of (struct dn_span *value, bool memory)
{
    static const char letters[] = "kmgtp";
    const char *found = value->len > 0
                            ? strchr (letters, dn_lower (value->text[value->len - 1]))
                            : NULL;
    double unit = memory ? 1.0 / (1024 * 1024) : 1;

    if (!found || *found == '\0')
        return 1;
    value->len--;
    for (const char *letter = letters; letter <= found; letter++)
        unit *= 1024;
    return unit;
}

/* One entry: the resource and its weight. */
struct weight {
    struct dn_span name;
    double weight;
};

/* Cut the next entry off 'rest'. Return false at the end or at an error. */
static bool next_weight (struct dn_span *rest, struct weight *entry)
{
    struct dn_span value;
    double unit;

    if (!rest->text)
        return false;
    value = dn_span_trim (dn_span_cut (rest, ","));
    entry->name = dn_span_trim (dn_span_cut (&value, "="));
    if (!value.text)
        return false;
    unit = unit_of (&value, dn_span_is (entry->name, "mem"));
    if (dn_real_read (value, "weight", 0, WEIGHT_MAX, &entry->weight, NULL) < 0)
        return false;
    entry->weight /= unit;
    return true;
}

/* Is this entry that of the GPUs of a type, or of all? */
static bool is_gpu (struct dn_span name, const char *type)
{
    static const char prefix[] = "gres/gpu:";
    const size_t len = sizeof (prefix) - 1;

    if (dn_span_is (name, "gres/gpu"))
        return true;
    return type && name.len > len && dn_word_equal (name.text, len, prefix, len)
           && dn_span_is ((struct dn_span){name.text + len, name.len - len}, type);
}

double dn_billed_amount (const struct dn_billed *billed, struct dn_span name)
{
    if (dn_span_is (name, "cpu"))
        return billed->cpus;
    if (dn_span_is (name, "mem"))
        return billed->mem_mb;
    if (dn_span_is (name, "node"))
        return billed->nodes;
    return is_gpu (name, billed->gpu_type) ? billed->gpus : 0;
}

bool dn_billing_of (const char *weights,
                    const struct dn_billed *billed,
                    double *sum,
                    double *largest)
{
    struct dn_span rest = dn_span_of (weights);
    struct weight entry;

    *sum = *largest = weights[0] == '\0' ? billed->cpus : 0;
    if (*sum < 0)
        return false;
    while (next_weight (&rest, &entry)) {
        double amount = dn_billed_amount (billed, entry.name);

        if (amount < 0 && entry.weight > 0)
            return false;
        *sum += amount * entry.weight;
        if (amount * entry.weight > *largest)
            *largest = amount * entry.weight;
    }
    return true;
}

double dn_billing_gpu (const char *weights, const char *type)
{
    struct dn_span rest = dn_span_of (weights);
    struct weight entry;
    double price = -1;

    while (next_weight (&rest, &entry))
        if (is_gpu (entry.name, type))
            price = price < 0 ? entry.weight : price + entry.weight;
    return price;
}
