/* catalogue.c - one file per device, a table of keys
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/messages.h"

enum value_type {
    VALUE_NAME,
    VALUE_REAL,
    VALUE_COUNT,
    VALUE_VERSION, /* "2.11" is 211 */
    VALUE_LINK
};

struct key {
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

static const struct key device_keys[] = {
    KEY ("Device", VALUE_NAME, name, 0, 0, true),
    KEY ("Vendor", VALUE_NAME, vendor, 0, 0, true),
    KEY ("Arch", VALUE_NAME, arch, 0, 0, true),
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
    {0}};

_Static_assert(DN_N_ELEMENTS (device_keys) < DN_DEVICE_KEYS_MAX, "room for all keys");

#define TRAIT(name, type, member, min, max)                                            \
    {                                                                                  \
        name, type, offsetof (struct dn_generation, member), min, max, false           \
    }
#define FLAG(name, member) TRAIT (name, VALUE_COUNT, member, 0, 1)

static const char generation_key[] = "Generation";

static const struct key generation_keys[] = {
    TRAIT ("Number", VALUE_COUNT, number, 0, 99),
    TRAIT ("Capability", VALUE_REAL, capability, 0, 99),
    FLAG ("Host", host),
    TRAIT ("ComputeShare", VALUE_REAL, compute_share, 0.01, 1),
    TRAIT ("MemoryShare", VALUE_REAL, memory_share, 0.01, 1),
    FLAG ("MatrixUnits", matrix_units),
    FLAG ("FusedAttention", fused_attention),
    FLAG ("FlashAttention", flash_attention),
    FLAG ("AttentionBehind", attention_behind),
    FLAG ("SmallRecurrent", small_recurrent),
    FLAG ("StackedMemory", stacked_memory),
    FLAG ("LowPower", low_power),
    FLAG ("LinkMesh", link_mesh),
    FLAG ("LinkRing", link_ring),
    FLAG ("NewHost", new_host),
    FLAG ("ModernCode", modern_code),
    TRAIT ("Sigma", VALUE_REAL, sigma, 0, 3),
    TRAIT ("TorchFrom", VALUE_VERSION, torch_from, 0, 99),
    TRAIT ("TorchEnd", VALUE_VERSION, torch_end, 0, 99),
    TRAIT ("CudaEnd", VALUE_VERSION, cuda_end, 0, 99),
    TRAIT ("SinceEnd", VALUE_COUNT, since_end, 2000, 2100),
    {0}};

/* A dn_name_at_f. */
static const char *key_at (const void *keys, int i)
{
    return ((const struct key *) keys)[i].name;
}

static const struct key *find_key (const struct key *keys,
                                   struct dn_span name,
                                   struct dn_err *err)
{
    for (const struct key *key = keys; key->name; key++)
        if (dn_span_is (name, key->name))
            return key;
    dn_err_set (err,
                DN_E_RANGE,
                dn_say_err_key,
                dn_quote (name.text, name.len).text,
                dn_word_meant (name, key_at, keys).text);
    return NULL;
}

/* Memory is written as "80GiB", which is easier to check against a data sheet than
 * bytes; all other numbers are decimal.
 */
static int read_real (const struct key *key,
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

static int read_version (const struct key *key,
                         struct dn_span value,
                         int64_t *out,
                         struct dn_err *err)
{
    const int64_t minors = 100;
    struct dn_span major = dn_span_cut (&value, ".");
    int64_t minor = 0;

    if (dn_int_read (major, key->name, 0, (int64_t) key->max, out, err) < 0
        || (value.text
            && dn_int_read (value, key->name, 0, minors - 1, &minor, err) < 0))
        return -1;
    *out = minors * *out + minor;
    return 0;
}

/* 'row': a device or a generation. */
static int read_value (const struct key *key,
                       struct dn_span value,
                       void *row,
                       struct dn_err *err)
{
    void *at = (char *) row + key->offset;

    switch (key->type) {
    case VALUE_NAME:
        return dn_name_copy (value, at, DN_NAME_MAX, key->name, err);
    case VALUE_REAL:
        return read_real (key, value, at, err);
    case VALUE_COUNT:
        return dn_int_read (
            value, key->name, (int64_t) key->min, (int64_t) key->max, at, err);
    case VALUE_VERSION:
        return read_version (key, value, at, err);
    case VALUE_LINK:
        return dn_enum_read (value, key->name, &dn_link_names, at, err);
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
        const struct key *key = find_key (device_keys, pair->key, err);

        if (!key || read_value (key, pair->value, device, err) < 0)
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
    for (int i = 0; device_keys[i].name; i++)
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
    char *copy;

    if (dn_rows_grow (&catalogue->files, catalogue->n_files, sizeof (copy), err) < 0)
        return -1;
    copy = strdup (file);
    if (!copy)
        return dn_err_set (err, DN_E_NOMEM, dn_say_err_no_memory);
    /* -Wanalyzer-malloc-leak: dn_rows_grow () has moved the rows */
    catalogue->files[catalogue->n_files++] = copy;
    return 0;
}

static int add_device (struct dn_catalogue *catalogue,
                       const struct dn_device *device,
                       const char *file,
                       struct dn_err *err)
{
    if (catalogue->n_devices == DN_DEVICES_MAX)
        return dn_err_set (err, DN_E_LIMIT, dn_say_err_devices, DN_DEVICES_MAX);
    if (dn_rows_grow (&catalogue->devices, catalogue->n_devices, sizeof (*device), err)
            < 0
        || add_file (catalogue, file, err) < 0)
        return -1;
    catalogue->devices[catalogue->n_devices++] = *device;
    return 0;
}

/* The number that the next file gets when it is added. */
static uint16_t next_file (const struct dn_catalogue *catalogue)
{
    return (uint16_t) (catalogue->n_files + 1);
}

static const struct dn_generation default_generation = {.compute_share = 1,
                                                        .memory_share = 1,
                                                        .matrix_units = 1,
                                                        .fused_attention = 1};

static const struct dn_device default_device = {.generation = &default_generation,
                                                .cost = 1,
                                                .per_node = DN_PER_NODE,
                                                .adapters = 1};

/* --- generations ------------------------------------------------------------------ */

/* A dn_name_at_f of a catalogue. */
static const char *generation_at (const void *catalogue, int i)
{
    const struct dn_catalogue *c = catalogue;

    return i < c->n_generations ? c->generations[i].name : NULL;
}

static struct dn_generation *find_generation (const struct dn_catalogue *catalogue,
                                              struct dn_span name)
{
    for (int i = 0; i < catalogue->n_generations; i++)
        if (dn_span_is (name, catalogue->generations[i].name))
            return &catalogue->generations[i];
    return NULL;
}

/* The generation of that name, which is new where the catalogue has none; or NULL. */
static struct dn_generation *open_generation (struct dn_catalogue *catalogue,
                                              struct dn_span name,
                                              struct dn_err *err)
{
    struct dn_generation *found = find_generation (catalogue, name);
    struct dn_generation new = default_generation;

    if (found || dn_name_copy (name, new.name, DN_NAME_MAX, generation_key, err) < 0)
        return found;
    if (catalogue->n_generations == DN_GENERATIONS_MAX) {
        dn_err_set (err, DN_E_LIMIT, dn_say_err_generations, DN_GENERATIONS_MAX);
        return NULL;
    }
    if (dn_rows_grow (
            &catalogue->generations, catalogue->n_generations, sizeof (new), err)
        < 0)
        return NULL;
    found = &catalogue->generations[catalogue->n_generations++];
    *found = new;
    return found;
}

/* A line of a file of generations; values belong to the last Generation= of it. */
static int read_traits (struct dn_catalogue *catalogue,
                        const struct dn_keyline *line,
                        struct dn_generation **open,
                        struct dn_err *err)
{
    for (int i = 0; i < line->n_pairs; i++) {
        const struct dn_pair *pair = &line->pairs[i];
        const struct key *key;

        if (dn_span_is (pair->key, generation_key)) {
            *open = open_generation (catalogue, pair->value, err);
            if (!*open)
                return -1;
            continue;
        }
        key = find_key (generation_keys, pair->key, err);
        if (!key || !*open || read_value (key, pair->value, *open, err) < 0)
            return -1;
    }
    return 0;
}

/* Does the text describe generations? */
static bool is_generations (struct dn_span text)
{
    struct dn_keyline line = {0};

    return dn_keyline_next (&text, &line, NULL) > 0
           && dn_span_is (line.pairs[0].key, generation_key);
}

/* What the text states overrides what is known of a generation. */
static int add_generations (struct dn_catalogue *catalogue,
                            struct dn_span text,
                            struct dn_err *err)
{
    struct dn_generation *open = NULL;
    struct dn_keyline line = {0};
    int more;

    while ((more = dn_keyline_next (&text, &line, err)) > 0)
        if (read_traits (catalogue, &line, &open, err) < 0)
            return dn_err_wrap (err, dn_say_at_line, line.line);
    return more;
}

int dn_catalogue_link (struct dn_catalogue *catalogue, struct dn_err *err)
{
    for (int i = 0; i < catalogue->n_devices; i++) {
        struct dn_device *device = &catalogue->devices[i];
        struct dn_span name = dn_span_of (device->arch);

        device->generation = find_generation (catalogue, name);
        if (!device->generation)
            return dn_err_set (err,
                               DN_E_RANGE,
                               dn_say_err_generation,
                               device->name,
                               device->arch,
                               dn_word_meant (name, generation_at, catalogue).text);
    }
    return 0;
}

/* --- devices ---------------------------------------------------------------------- */

static int add_text (struct dn_catalogue *catalogue,
                     struct dn_span text,
                     const char *file,
                     struct dn_err *err)
{
    struct dn_device device = default_device;

    if (is_generations (text))
        return add_generations (catalogue, text, err);
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
    free (catalogue->generations);
    *catalogue = (struct dn_catalogue){.devices = NULL};
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

bool dn_device_has_kernels (const struct dn_device *device, const struct dn_spec *spec)
{
    const struct dn_generation *g = device->generation;
    int torch = dn_spec_torch (spec);

    if (spec->framework != DN_FRAMEWORK_UNKNOWN
        && spec->framework != DN_FRAMEWORK_PYTORCH)
        return true;
    if (torch >= 0)
        return torch >= g->torch_from && (g->torch_end == 0 || torch < g->torch_end);
    return g->since_end == 0 || spec->since < g->since_end;
}

double dn_device_peak (const struct dn_device *device,
                       enum dn_precision precision,
                       bool *matrix)
{
    const struct dn_precision_traits *traits = &dn_precision_traits[precision];
    double rate = traits->matrix ? dn_device_unit (device, traits->format) : 0;

    *matrix = rate > 0 && device->generation->matrix_units;
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

static void write_value (const struct key *key,
                         const struct dn_device *device,
                         char text[DN_NAME_MAX])
{
    const void *at = (const char *) device + key->offset;
    struct dn_buf buf = dn_buf_on (text, DN_NAME_MAX);

    switch (key->type) {
    case VALUE_NAME:
        dn_buf_add (&buf, "%s", (const char *) at);
        break;
    case VALUE_REAL:
        dn_buf_add (&buf, "%.6g", *(const double *) at);
        break;
    case VALUE_COUNT:
    case VALUE_VERSION:
        dn_buf_add (&buf, "%lld", (long long) *(const int64_t *) at);
        break;
    case VALUE_LINK:
        dn_buf_add (
            &buf, "%s", dn_names_get (&dn_link_names, *(const enum dn_link_kind *) at));
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

    for (int i = 0; device_keys[i].name; i++) {
        if (device->from[i] == 0)
            continue;
        values[n].key = device_keys[i].name;
        write_value (&device_keys[i], device, values[n].text);
        values[n++].file = file_of (catalogue, device->from[i]);
    }
    return n;
}
