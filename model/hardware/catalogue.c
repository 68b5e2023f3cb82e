/* catalogue.c - one file per device, a table of keys
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <stdlib.h>
#include <string.h>

static const char *const arch_text[] = {"unknown",
                                        "kepler",
                                        "pascal",
                                        "volta",
                                        "turing",
                                        "ampere",
                                        "ada",
                                        "hopper",
                                        "blackwell",
                                        "cdna",
                                        "other",
                                        "cpu"};
static const char *const link_text[] = {"unknown", "nvlink", "pcie", "ib"};

const struct dn_names dn_arch_names = {arch_text, (int) DN_N_ELEMENTS (arch_text)};
static const struct dn_names link_names = {link_text, (int) DN_N_ELEMENTS (link_text)};

enum value_type {
    VALUE_NAME,
    VALUE_REAL,
    VALUE_COUNT,
    VALUE_ARCH,
    VALUE_LINK
};

struct device_key {
    const char *name;
    enum value_type type;
    size_t offset;
    double min;
    double max;
    bool required;
};

#define KEY(name, type, member, min, max, required)                                    \
    {                                                                                  \
        name, type, offsetof (struct dn_device, member), min, max, required            \
    }

static const struct device_key device_keys[] = {
    KEY ("Device", VALUE_NAME, name, 0, 0, true),
    KEY ("Vendor", VALUE_NAME, vendor, 0, 0, true),
    KEY ("Arch", VALUE_ARCH, arch, 0, 0, true),
    KEY ("Fp32", VALUE_REAL, fp32, 0, 1e18, true),
    KEY ("Tf32", VALUE_REAL, tf32, 0, 1e18, false),
    KEY ("Fp16", VALUE_REAL, fp16, 0, 1e18, false),
    KEY ("Bf16", VALUE_REAL, bf16, 0, 1e18, false),
    KEY ("Fp8", VALUE_REAL, fp8, 0, 1e18, false),
    KEY ("Memory", VALUE_REAL, memory, 1e6, 1e14, true),
    KEY ("Bandwidth", VALUE_REAL, bandwidth, 1e9, 1e17, true),
    KEY ("L2", VALUE_REAL, l2, 0, 1e13, false),
    KEY ("Sms", VALUE_COUNT, sms, 1, 1e7, false),
    KEY ("Link", VALUE_LINK, link, 0, 0, false),
    KEY ("LinkBandwidth", VALUE_REAL, link_bw, 0, 1e14, false),
    KEY ("PcieBandwidth", VALUE_REAL, pcie_bw, 0, 1e13, false),
    KEY ("PerNode", VALUE_COUNT, per_node, 1, 1024, false),
    KEY ("Tdp", VALUE_REAL, tdp_w, 1, 1e6, true),
    KEY ("Idle", VALUE_REAL, idle_w, 0, 1e6, false),
    KEY ("Cost", VALUE_REAL, cost, 0, 1e6, false),
    /* End of device_keys */
};

static const struct device_key *find_key (struct dn_span name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (device_keys); i++)
        if (dn_span_is (name, device_keys[i].name))
            return &device_keys[i];
    return NULL;
}

/* "80GiB" is easier to check against a data sheet than bytes; everything else is
 * decimal. */
static int read_real (const struct device_key *key,
                      struct dn_span value,
                      double *out,
                      struct dn_err *err)
{
    static const char gib[] = "GiB";
    size_t len = sizeof (gib) - 1;
    double scale = 1;

    if (value.len > len && memcmp (value.text + value.len - len, gib, len) == 0) {
        value.len -= len;
        scale = 1024.0 * 1024 * 1024;
    }
    if (dn_real_read (value, key->name, key->min / scale, key->max / scale, out, err)
        < 0)
        return -1;
    *out *= scale;
    return 0;
}

static int read_constant (const struct device_key *key,
                          const struct dn_names *names,
                          struct dn_span value,
                          void *at,
                          struct dn_err *err)
{
    int constant = 0;

    if (dn_enum_read (value, key->name, names, &constant, err) < 0)
        return -1;
    memcpy (at, &constant, sizeof (constant));
    return 0;
}

static int read_value (const struct device_key *key,
                       struct dn_span value,
                       struct dn_device *device,
                       struct dn_err *err)
{
    char *at = (char *) device + key->offset;
    double real = 0;
    int64_t count = 0;

    switch (key->type) {
    case VALUE_NAME:
        return dn_span_copy (value, at, DN_NAME_MAX, key->name, err);
    case VALUE_REAL:
        if (read_real (key, value, &real, err) < 0)
            return -1;
        memcpy (at, &real, sizeof (real));
        return 0;
    case VALUE_COUNT:
        if (dn_int_read (
                value, key->name, (int64_t) key->min, (int64_t) key->max, &count, err)
            < 0)
            return -1;
        memcpy (at, &count, sizeof (count));
        return 0;
    case VALUE_ARCH:
        return read_constant (key, &dn_arch_names, value, at, err);
    case VALUE_LINK:
        return read_constant (key, &link_names, value, at, err);
    }
    return dn_err_set (err, DN_E_BUG, "%s: key of unknown type", key->name);
}

static int read_device (struct dn_span text,
                        struct dn_device *device,
                        struct dn_err *err)
{
    struct dn_keyline line = {0};
    unsigned seen = 0;
    int more;

    *device = (struct dn_device){.cost = 1, .per_node = DN_PER_NODE};
    while ((more = dn_keyline_next (&text, &line, err)) > 0) {
        for (int i = 0; i < line.n_pairs; i++) {
            const struct dn_pair *pair = &line.pairs[i];
            const struct device_key *key = find_key (pair->key);

            if (!key) {
                dn_err_set (err,
                            DN_E_RANGE,
                            "unknown key '%s'",
                            dn_quote (pair->key.text, pair->key.len).text);
                return dn_err_wrap (err, "line %d", line.line);
            }
            if (read_value (key, pair->value, device, err) < 0)
                return dn_err_wrap (err, "line %d", line.line);
            seen |= 1U << (key - device_keys);
        }
    }
    if (more < 0)
        return -1;
    for (size_t i = 0; i < DN_N_ELEMENTS (device_keys); i++)
        if (device_keys[i].required && !(seen & 1U << i))
            return dn_err_set (err, DN_E_SYNTAX, "%s= is missing", device_keys[i].name);
    return 0;
}

int dn_catalogue_add (struct dn_catalogue *catalogue,
                      struct dn_span text,
                      const char *file,
                      struct dn_err *err)
{
    struct dn_device device;
    struct dn_device *grown;

    if (read_device (text, &device, err) < 0)
        return dn_err_wrap (err, "%s", file);
    if (dn_catalogue_find (catalogue, device.name))
        return dn_err_set (
            err, DN_E_RANGE, "%s: device '%s' is described twice", file, device.name);
    if (catalogue->n_devices == DN_DEVICES_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "%s: more than %d devices", file, DN_DEVICES_MAX);
    grown =
        realloc (catalogue->devices,
                 (size_t) (catalogue->n_devices + 1) * sizeof (*catalogue->devices));
    if (!grown)
        return dn_err_set (err, DN_E_NOMEM, "%s: out of memory", file);
    catalogue->devices = grown;
    catalogue->devices[catalogue->n_devices++] = device;
    return 0;
}

void dn_catalogue_free (struct dn_catalogue *catalogue)
{
    if (!catalogue)
        return;
    free (catalogue->devices);
    *catalogue = (struct dn_catalogue){NULL, 0};
}

const struct dn_device *dn_catalogue_find (const struct dn_catalogue *catalogue,
                                           const char *name)
{
    for (int i = 0; i < catalogue->n_devices; i++)
        if (dn_span_is (dn_span_of (name), catalogue->devices[i].name))
            return &catalogue->devices[i];
    return NULL;
}

bool dn_device_supports (const struct dn_device *device, enum dn_precision precision)
{
    return precision == DN_PRECISION_BF16 ? device->bf16 > 0 : device->fp32 > 0;
}

static double rate_of (const struct dn_device *device, enum dn_precision precision)
{
    switch (precision) {
    case DN_PRECISION_TF32:
        return device->tf32;
    case DN_PRECISION_FP16:
    case DN_PRECISION_HALF:
        return device->fp16;
    case DN_PRECISION_BF16:
        return device->bf16;
    default:
        return 0;
    }
}

double dn_device_peak (const struct dn_device *device,
                       enum dn_precision precision,
                       bool *matrix)
{
    double rate = rate_of (device, precision);

    *matrix =
        rate > 0 && device->arch != DN_ARCH_KEPLER && device->arch != DN_ARCH_PASCAL;
    return rate > 0 ? rate : device->fp32;
}
