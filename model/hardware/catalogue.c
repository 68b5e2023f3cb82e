/* catalogue.c - one file per device, a table of keys
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <stdlib.h>
#include <string.h>

#include "base/messages.h"

static const char *const arch_text[] = {
    [DN_ARCH_UNKNOWN] = "unknown",
    [DN_ARCH_KEPLER] = "kepler",
    [DN_ARCH_PASCAL] = "pascal",
    [DN_ARCH_VOLTA] = "volta",
    [DN_ARCH_TURING] = "turing",
    [DN_ARCH_AMPERE] = "ampere",
    [DN_ARCH_ADA] = "ada",
    [DN_ARCH_HOPPER] = "hopper",
    [DN_ARCH_BLACKWELL] = "blackwell",
    [DN_ARCH_CDNA] = "cdna",
    [DN_ARCH_OTHER] = "other",
    [DN_ARCH_CPU] = "cpu",
};

const struct dn_names dn_arch_names = DN_NAMES (arch_text, DN_N_ARCHS);

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

/* A measured rate is at least 1 MFLOP/s, a millionth of the rate of any device. */
#define RATE(name, class, format)                                                      \
    KEY (name, VALUE_REAL, measured.rates[class][format], 1e6, 1e18, false)

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
    KEY ("ChipBandwidth", VALUE_REAL, chip_bw, 0, 1e17, false),
    KEY ("Sustained", VALUE_REAL, sustained, 0.01, 1, false),
    KEY ("Compiled", VALUE_COUNT, compiled, 0, 1, false),
    KEY ("Sms", VALUE_COUNT, sms, 1, 1e7, false),
    KEY ("Link", VALUE_LINK, link, 0, 0, false),
    KEY ("LinkBandwidth", VALUE_REAL, link_bw, 0, 1e14, false),
    KEY ("PcieBandwidth", VALUE_REAL, pcie_bw, 0, 1e13, false),
    KEY ("PerNode", VALUE_COUNT, per_node, 1, 1024, false),
    KEY ("Cores", VALUE_COUNT, cores, 1, 4096, false),
    KEY ("AdapterBandwidth", VALUE_REAL, adapter_bw, 1e6, 1e13, false),
    KEY ("Adapters", VALUE_COUNT, adapters, 1, 64, false),
    KEY ("Tdp", VALUE_REAL, tdp_w, 1, 1e6, true),
    KEY ("Idle", VALUE_REAL, idle_w, 0, 1e6, false),
    KEY ("Cost", VALUE_REAL, cost, 0, 1e6, false),
    KEY ("Stream", VALUE_REAL, measured.stream, 1e8, 1e17, false),
    KEY ("Ring", VALUE_REAL, measured.ring, 1e6, 1e14, false),
    KEY ("RingStart", VALUE_REAL, measured.ring_start_s, 0, 1, false),
    KEY ("Recurrence", VALUE_REAL, measured.recurrence_s, 1e-8, 0.1, false),
    RATE ("LinearFp32", DN_RATE_LINEAR, DN_FORMAT_FP32),
    RATE ("LinearTf32", DN_RATE_LINEAR, DN_FORMAT_TF32),
    RATE ("LinearFp16", DN_RATE_LINEAR, DN_FORMAT_FP16),
    RATE ("LinearBf16", DN_RATE_LINEAR, DN_FORMAT_BF16),
    RATE ("ConvFp32", DN_RATE_CONV, DN_FORMAT_FP32),
    RATE ("ConvTf32", DN_RATE_CONV, DN_FORMAT_TF32),
    RATE ("ConvFp16", DN_RATE_CONV, DN_FORMAT_FP16),
    RATE ("ConvBf16", DN_RATE_CONV, DN_FORMAT_BF16),
    /* End of device_keys */
};

_Static_assert(DN_N_ELEMENTS (device_keys) < DN_DEVICE_KEYS_MAX, "room for all keys");

static const struct device_key *find_key (struct dn_span name)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (device_keys); i++)
        if (dn_span_is (name, device_keys[i].name))
            return &device_keys[i];
    return NULL;
}

static const char *key_at (const void *names, int i)
{
    (void) names;
    return (size_t) i < DN_N_ELEMENTS (device_keys) ? device_keys[i].name : NULL;
}

/* Memory is written as "80GiB", which is easier to check against a data sheet than
 * bytes; all other numbers are decimal.
 */
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
        scale = DN_GIB;
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
        return dn_name_copy (value, at, DN_NAME_MAX, key->name, err);
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
        return read_constant (key, &dn_link_names, value, at, err);
    }
    return dn_err_set (err, DN_E_BUG, dn_say_err_key_type, key->name);
}

static int read_line (const struct dn_keyline *line,
                      struct dn_device *device,
                      uint16_t file,
                      struct dn_err *err)
{
    for (int i = 0; i < line->n_pairs; i++) {
        const struct dn_pair *pair = &line->pairs[i];
        const struct device_key *key = find_key (pair->key);

        if (!key)
            return dn_err_set (err,
                               DN_E_RANGE,
                               dn_say_err_key,
                               dn_quote (pair->key.text, pair->key.len).text,
                               dn_word_meant (pair->key, key_at, NULL).text);
        if (read_value (key, pair->value, device, err) < 0)
            return -1;
        device->from[key - device_keys] = file;
    }
    return 0;
}

/* Read the lines; they override the values that 'device' has. */
static int read_device (struct dn_span text,
                        struct dn_device *device,
                        uint16_t file,
                        struct dn_err *err)
{
    struct dn_keyline line = {0};
    int more;

    while ((more = dn_keyline_next (&text, &line, err)) > 0)
        if (read_line (&line, device, file, err) < 0)
            return dn_err_wrap (err, dn_say_at_line, line.line);
    if (more < 0)
        return -1;
    for (size_t i = 0; i < DN_N_ELEMENTS (device_keys); i++)
        if (device_keys[i].required && device->from[i] == 0)
            return dn_err_set (
                err, DN_E_SYNTAX, dn_say_err_value_missing, device_keys[i].name);
    return 0;
}

/* Keep the name of the file, so that a device can name the source of each value. */
static int add_file (struct dn_catalogue *catalogue,
                     const char *file,
                     struct dn_err *err)
{
    size_t size = (size_t) (catalogue->n_files + 1) * sizeof (*catalogue->files);
    char **grown = realloc (catalogue->files, size);
    char *copy = strdup (file);

    if (grown)
        catalogue->files = grown;
    if (!grown || !copy) {
        free (copy);
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    }
    /* -Wanalyzer-malloc-leak is wrong here: the catalogue keeps it */
    catalogue->files[catalogue->n_files++] = copy;
    return 0;
}

static int add_device (struct dn_catalogue *catalogue,
                       const struct dn_device *device,
                       const char *file,
                       struct dn_err *err)
{
    struct dn_device *grown;

    if (catalogue->n_devices == DN_DEVICES_MAX)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_devices, DN_DEVICES_MAX);
    grown =
        realloc (catalogue->devices,
                 (size_t) (catalogue->n_devices + 1) * sizeof (*catalogue->devices));
    if (!grown)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    catalogue->devices = grown;
    if (add_file (catalogue, file, err) < 0)
        return -1;
    catalogue->devices[catalogue->n_devices++] = *device;
    return 0;
}

/* The number that the next file gets when it is added. */
static uint16_t next_file (const struct dn_catalogue *catalogue)
{
    return (uint16_t) (catalogue->n_files + 1);
}

static const struct dn_device default_device = {.cost = 1,
                                                .per_node = DN_PER_NODE,
                                                .adapters = 1};

static int add_text (struct dn_catalogue *catalogue,
                     struct dn_span text,
                     const char *file,
                     struct dn_err *err)
{
    struct dn_device device = default_device;

    if (read_device (text, &device, next_file (catalogue), err) < 0)
        return -1;
    if (dn_catalogue_find (catalogue, device.name))
        return dn_err_set (err, DN_E_RANGE, dn_say_err_device_twice, device.name);
    return add_device (catalogue, &device, file, err);
}

int dn_catalogue_add (struct dn_catalogue *catalogue,
                      struct dn_span text,
                      const char *file,
                      struct dn_err *err)
{
    if (add_text (catalogue, text, file, err) < 0)
        return dn_err_wrap (err, "%s", file);
    return 0;
}

/* The device that the text describes, if the catalogue has it. Errors in the text are
 * found when it is read.
 */
static struct dn_device *find_subject (struct dn_catalogue *catalogue,
                                       struct dn_span text)
{
    struct dn_keyline line = {0};

    while (dn_keyline_next (&text, &line, NULL) > 0)
        for (int i = 0; i < line.n_pairs; i++)
            for (int j = 0; j < catalogue->n_devices; j++)
                if (dn_span_is (line.pairs[i].key, "Device")
                    && dn_span_is (line.pairs[i].value, catalogue->devices[j].name))
                    return &catalogue->devices[j];
    return NULL;
}

static int amend_text (struct dn_catalogue *catalogue,
                       struct dn_device *known,
                       struct dn_span text,
                       const char *file,
                       struct dn_err *err)
{
    struct dn_device device = *known;

    if (read_device (text, &device, next_file (catalogue), err) < 0)
        return -1;
    if (!dn_span_is (dn_span_of (device.name), known->name))
        return dn_err_set (err, DN_E_RANGE, dn_say_err_device_other);
    if (add_file (catalogue, file, err) < 0)
        return -1;
    *known = device;
    return 0;
}

int dn_catalogue_amend (struct dn_catalogue *catalogue,
                        struct dn_span text,
                        const char *file,
                        struct dn_err *err)
{
    struct dn_device *known = find_subject (catalogue, text);

    if (!known)
        return dn_catalogue_add (catalogue, text, file, err);
    if (amend_text (catalogue, known, text, file, err) < 0)
        return dn_err_wrap (err, "%s", file);
    return 0;
}

void dn_catalogue_free (struct dn_catalogue *catalogue)
{
    if (!catalogue)
        return;
    for (int i = 0; i < catalogue->n_files; i++)
        free (catalogue->files[i]);
    free (catalogue->files);
    free (catalogue->devices);
    *catalogue = (struct dn_catalogue){NULL, 0, NULL, 0};
}

const struct dn_device *dn_catalogue_find (const struct dn_catalogue *catalogue,
                                           const char *name)
{
    for (int i = 0; i < catalogue->n_devices; i++)
        if (dn_span_is (dn_span_of (name), catalogue->devices[i].name))
            return &catalogue->devices[i];
    return NULL;
}

const char *dn_catalogue_name_at (const void *catalogue, int i)
{
    const struct dn_catalogue *devices = catalogue;

    return i < devices->n_devices ? devices->devices[i].name : NULL;
}

double dn_device_unit (const struct dn_device *device, enum dn_format format)
{
    static const size_t rates[DN_N_FORMATS] = {
        [DN_FORMAT_FP32] = offsetof (struct dn_device, fp32),
        [DN_FORMAT_TF32] = offsetof (struct dn_device, tf32),
        [DN_FORMAT_FP16] = offsetof (struct dn_device, fp16),
        [DN_FORMAT_BF16] = offsetof (struct dn_device, bf16),
        [DN_FORMAT_FP8] = offsetof (struct dn_device, fp8),
    };
    double rate;

    if (format == DN_FORMAT_NONE)
        return 0;
    memcpy (&rate, (const char *) device + rates[format], sizeof (rate));
    return rate;
}

enum dn_precision dn_device_precision (const struct dn_device *device,
                                       enum dn_precision precision)
{
    const struct dn_precision_traits *traits = &dn_precision_traits[precision];

    return dn_device_unit (device, traits->format) > 0 ? precision : traits->fallback;
}

bool dn_device_supports (const struct dn_device *device, enum dn_precision precision)
{
    const struct dn_precision_traits *traits = &dn_precision_traits[precision];

    return traits->unit_only ? dn_device_unit (device, traits->format) > 0
                             : device->fp32 > 0;
}

double dn_device_peak (const struct dn_device *device,
                       enum dn_precision precision,
                       bool *matrix)
{
    const struct dn_precision_traits *traits = &dn_precision_traits[precision];
    double rate = traits->matrix ? dn_device_unit (device, traits->format) : 0;

    *matrix =
        rate > 0 && device->arch != DN_ARCH_KEPLER && device->arch != DN_ARCH_PASCAL;
    return rate > 0 ? rate : device->fp32;
}

bool dn_device_is_measured (const struct dn_device *device)
{
    static const struct dn_measured none;

    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): unset is all bytes 0 */
    return memcmp (&device->measured, &none, sizeof (none)) != 0;
}

void dn_device_sheet (const struct dn_device *device, struct dn_device *sheet)
{
    *sheet = *device;
    memset (&sheet->measured, 0, sizeof (sheet->measured));
}

double dn_device_rate (const struct dn_device *device,
                       enum dn_rate_class class,
                       enum dn_precision precision)
{
    return device->measured.rates[class][dn_precision_traits[precision].format];
}

/* --- values, and the file of each ------------------------------------------------ */

static void write_value (const struct device_key *key,
                         const struct dn_device *device,
                         char text[DN_NAME_MAX])
{
    const char *at = (const char *) device + key->offset;
    struct dn_buf buf = dn_buf_on (text, DN_NAME_MAX);
    double real;
    int64_t count;
    int constant;

    switch (key->type) {
    case VALUE_NAME:
        dn_buf_add (&buf, "%s", at);
        break;
    case VALUE_REAL:
        memcpy (&real, at, sizeof (real));
        dn_buf_add (&buf, "%.6g", real);
        break;
    case VALUE_COUNT:
        memcpy (&count, at, sizeof (count));
        dn_buf_add (&buf, "%lld", (long long) count);
        break;
    case VALUE_ARCH:
    case VALUE_LINK:
        memcpy (&constant, at, sizeof (constant));
        dn_buf_add (
            &buf,
            "%s",
            dn_names_get (key->type == VALUE_ARCH ? &dn_arch_names : &dn_link_names,
                          constant));
        break;
    }
}

static const char *file_of (const struct dn_catalogue *catalogue, uint16_t from)
{
    return from > 0 && from <= catalogue->n_files ? catalogue->files[from - 1] : NULL;
}

int dn_device_values (const struct dn_catalogue *catalogue,
                      const struct dn_device *device,
                      struct dn_device_value values[DN_DEVICE_KEYS_MAX])
{
    int n = 0;

    for (size_t i = 0; i < DN_N_ELEMENTS (device_keys); i++) {
        if (device->from[i] == 0)
            continue;
        values[n].key = device_keys[i].name;
        write_value (&device_keys[i], device, values[n].text);
        values[n++].file = file_of (catalogue, device->from[i]);
    }
    return n;
}
