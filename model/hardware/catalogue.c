/* catalogue.c - one file per device, a table of keys
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "hardware/hardware.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fields.h"
#include "base/messages.h"

/* The parts that the memory of a device has, in the Parts= of its profiles. */
#define MIG_PARTS 8

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
    KEY ("LinkDomain", VALUE_COUNT, domain, 2, 65536, false),
    KEY ("PcieBandwidth", VALUE_REAL, pcie_bw, 0, 1e13, false),
    KEY ("PerNode", VALUE_COUNT, per_node, 1, 1024, false),
    KEY ("Cores", VALUE_COUNT, cores, 1, 4096, false),
    KEY ("AdapterBandwidth", VALUE_REAL, adapter_bw, 1e6, 1e13, false),
    KEY ("Adapters", VALUE_COUNT, adapters, 1, 64, false),
    KEY ("Tdp", VALUE_REAL, tdp_w, 1, 1e6, true),
    KEY ("Idle", VALUE_REAL, idle_w, 0, 1e6, false),
    KEY ("Cost", VALUE_REAL, cost, 0, 1e6, false),
    KEY ("Mig", VALUE_NAME, mig, 0, 0, false),
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

_Static_assert(DN_N_ELEMENTS (device_keys) <= 64, "a bit per key");

#define TRAIT(name, type, member, min, max)                                            \
    {                                                                                  \
        name, type, offsetof (struct dn_generation, member), min, max, false           \
    }
#define SINCE(name, kind, end)                                                         \
    TRAIT (name, VALUE_VERSION, software[DN_SOFTWARE_##kind].end, 0, 99)
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
    FLAG ("LowPower", low_power),
    FLAG ("LinkMesh", link_mesh),
    FLAG ("LinkRing", link_ring),
    FLAG ("NewHost", new_host),
    FLAG ("ModernCode", modern_code),
    TRAIT ("Sigma", VALUE_REAL, sigma, 0, 3),
    SINCE ("TorchFrom", TORCH, from),
    SINCE ("TorchEnd", TORCH, end),
    SINCE ("CudaFrom", CUDA, from),
    SINCE ("CudaEnd", CUDA, end),
    SINCE ("ContainerFrom", CONTAINER, from),
    SINCE ("ContainerEnd", CONTAINER, end),
    TRAIT ("SinceEnd", VALUE_COUNT, since_end, 2000, 2100),
    {0}};

#define PROFILE(name, type, member, min, max)                                          \
    {                                                                                  \
        name, type, offsetof (struct dn_profile, member), min, max, true               \
    }

static const char profile_key[] = "Slice";

static const struct key profile_keys[] = {
    PROFILE ("Of", VALUE_NAME, of, 0, 0),
    PROFILE ("Units", VALUE_COUNT, sms, 1, 1e7),
    PROFILE ("Parts", VALUE_COUNT, parts, 1, 8),
    PROFILE ("Bytes", VALUE_REAL, memory, 1e6, 1e14),
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
    return DN_NULL (dn_refuse (
        err, key, DN_QUOTED_SPAN (name), dn_word_meant (name, key_at, keys).text));
}

/* Memory is written as "80GiB", which is easier to check against a data sheet than
 * bytes; all other numbers are decimal.
 */
static int read_real (const struct key *key,
                      struct dn_span value,
                      double *out,
                      struct dn_err *err)
{
    bool gib = value.len > 3 && memcmp (value.text + value.len - 3, "GiB", 3) == 0;
    double scale = gib ? DN_GIB : 1;

    value.len -= gib ? 3 : 0;
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

/* 'row': a device, a generation or a profile. */
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
    return dn_refuse (err, key_type, key->name);
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

/* A copy of 'row' as the last of the '*n' rows of 'size' bytes at 'rows', or NULL. */
static void *append (void *rows,
                     int *n,
                     size_t size,
                     const void *row,
                     struct dn_err *err)
{
    char *first;

    if (dn_rows_grow (rows, *n, size, err) < 0)
        return NULL;
    memcpy (&first, rows, sizeof (first));
    return memcpy (first + size * (size_t) (*n)++, row, size);
}

/* The generation of that name, which is new where the catalogue has none; or NULL. */
static void *open_generation (struct dn_catalogue *c,
                              struct dn_span name,
                              struct dn_err *err)
{
    void *found = find_generation (c, name);
    struct dn_generation new = default_generation;

    if (found || dn_name_copy (name, new.name, DN_NAME_MAX, generation_key, err) < 0)
        return found;
    if (c->n_generations == DN_GENERATIONS_MAX)
        return DN_NULL (dn_refuse (err, generations, DN_GENERATIONS_MAX));
    return append (&c->generations, &c->n_generations, sizeof (new), &new, err);
}

/* A new profile of that name, or NULL. */
static void *open_profile (struct dn_catalogue *c,
                           struct dn_span name,
                           struct dn_err *err)
{
    struct dn_profile new = {.sms = 0};

    if (dn_name_copy (name, new.name, DN_NAME_MAX, profile_key, err) < 0)
        return NULL;
    if (c->n_profiles == DN_DEVICES_MAX)
        return DN_NULL (dn_refuse (err, profiles, DN_DEVICES_MAX));
    return append (&c->profiles, &c->n_profiles, sizeof (new), &new, err);
}

/* --- files ------------------------------------------------------------------------ */

/* Where the values of a file go. */
struct reading {
    struct dn_catalogue *catalogue;
    const struct key *keys;
    void *row;       /* the device, or the generation or profile that was named last */
    uint64_t stated; /* bit i: key i */
};

static int read_pair (struct reading *r, const struct dn_pair *pair, struct dn_err *err)
{
    const struct key *key;

    if (r->keys == generation_keys && dn_span_is (pair->key, generation_key)) {
        r->row = open_generation (r->catalogue, pair->value, err);
        return r->row ? 0 : -1;
    }
    if (r->keys == profile_keys && dn_span_is (pair->key, profile_key)) {
        r->row = open_profile (r->catalogue, pair->value, err);
        return r->row ? 0 : -1;
    }
    key = find_key (r->keys, pair->key, err);
    if (!key || !r->row) /* a file of rows begins with one */
        return -1;
    if (key == device_keys && r->stated & 1)
        return dn_refuse (err, device_other);
    r->stated |= UINT64_C (1) << (key - r->keys);
    return read_value (key, pair->value, r->row, err);
}

static int read_lines (struct reading *r, struct dn_span text, struct dn_err *err)
{
    struct dn_keyline line = {0};
    int more;

    while ((more = dn_keyline_next (&text, &line, err)) > 0)
        for (int i = 0; i < line.n_pairs; i++)
            if (read_pair (r, &line.pairs[i], err) < 0)
                return dn_err_wrap (err, dn_say_at_line, line.line);
    return more;
}

/* The keys of a file of rows, by its first key; NULL: it describes a device. */
static const struct key *keys_of_rows (struct dn_span text)
{
    struct dn_keyline line = {0};

    if (dn_keyline_next (&text, &line, NULL) <= 0)
        return NULL;
    if (dn_span_is (line.pairs[0].key, generation_key))
        return generation_keys;
    return dn_span_is (line.pairs[0].key, profile_key) ? profile_keys : NULL;
}

static struct dn_device *find_device (const struct dn_catalogue *catalogue,
                                      const char *name)
{
    for (int i = 0; i < catalogue->n_devices; i++)
        if (dn_span_is (dn_span_of (name), catalogue->devices[i].name))
            return &catalogue->devices[i];
    return NULL;
}

static void show_pairs (const struct dn_catalogue *catalogue,
                        const struct dn_device *device,
                        struct dn_span text,
                        const char *file)
{
    struct dn_keyline line = {0};

    while (dn_keyline_next (&text, &line, NULL) > 0)
        for (int i = 0; i < line.n_pairs; i++)
            catalogue->show (catalogue->to, device, file, &line.pairs[i]);
}

static int append_device (struct dn_catalogue *c,
                          const struct dn_device *device,
                          struct dn_err *err)
{
    if (c->n_devices == DN_DEVICES_MAX)
        return dn_refuse (err, devices, DN_DEVICES_MAX);
    return append (&c->devices, &c->n_devices, sizeof (*device), device, err) ? 0 : -1;
}

/* Read a device. 'amends': of one that the catalogue has, the text states the values
 * that change.
 */
static int add_device (struct dn_catalogue *catalogue,
                       struct dn_span text,
                       const char *file,
                       bool amends,
                       struct dn_err *err)
{
    struct dn_device device = default_device;
    struct reading r = {catalogue, device_keys, &device, 0};

    if (read_lines (&r, text, err) < 0)
        return -1;
    if (catalogue->show)
        show_pairs (catalogue, &device, text, file);
    r.row = find_device (catalogue, device.name);
    if (r.row) {
        if (!amends)
            return dn_refuse (err, device_twice, device.name);
        /* It was read without an error, so it is again. */
        r.stated = 0;
        return read_lines (&r, text, err);
    }
    for (int i = 0; device_keys[i].name; i++)
        if (device_keys[i].required && !(r.stated & UINT64_C (1) << i))
            return dn_refuse (err, value_missing, device_keys[i].name);
    /* Without a link of their own, devices reach each other as they reach the host. */
    if (device.link == DN_LINK_UNKNOWN)
        device.link = DN_LINK_PCIE;
    if (device.link_bw <= 0)
        device.link_bw = device.pcie_bw;
    return append_device (catalogue, &device, err);
}

int dn_catalogue_add (struct dn_catalogue *catalogue,
                      struct dn_span text,
                      const char *file,
                      bool amends,
                      struct dn_err *err)
{
    const struct key *rows = keys_of_rows (text);
    /* What the text states overrides what is known of a generation. */
    int rc = rows ? read_lines (&(struct reading){catalogue, rows, NULL, 0}, text, err)
                  : add_device (catalogue, text, file, amends, err);

    return rc < 0 ? dn_err_wrap (err, "%s", file) : 0;
}

/* The slice of a device by a profile. */
static struct dn_device slice_of (const struct dn_device *whole,
                                  const struct dn_profile *profile)
{
    double share = (double) profile->sms / (double) whole->sms;
    double part = (double) profile->parts / MIG_PARTS;
    struct dn_device slice = *whole;
    struct dn_buf name = dn_buf_on (slice.name, sizeof (slice.name));

    dn_device_sheet (whole, &slice);
    dn_buf_add (&name, "%s_%s", whole->name, profile->name);
    memcpy (slice.mig, profile->name, sizeof (slice.mig));
    slice.slice = true;
    slice.sms = profile->sms;
    slice.memory = profile->memory;
    slice.fp32 *= share;
    slice.tf32 *= share;
    slice.fp16 *= share;
    slice.bf16 *= share;
    slice.fp8 *= share;
    slice.tdp_w *= share;
    slice.idle_w *= share;
    slice.cost *= share;
    slice.bandwidth *= part;
    slice.l2 *= part;
    slice.pcie_bw *= part;
    /* Slices do not reach each other (mig.conf). */
    slice.link = DN_LINK_UNKNOWN;
    slice.link_bw = 0;
    slice.domain = 0;
    slice.per_node *= MIG_PARTS / profile->parts;
    slice.cores = (int64_t) ((double) whole->cores * share);
    return slice;
}

/* Add the slice, if there is none of that name. */
static int add_slice (struct dn_catalogue *catalogue,
                      int whole,
                      const struct dn_profile *profile,
                      struct dn_err *err)
{
    struct dn_device slice;

    if (profile->sms == 0 || profile->parts == 0 || profile->memory <= 0
        || catalogue->devices[whole].sms < profile->sms)
        return dn_refuse (err, profile, profile->name);
    slice = slice_of (&catalogue->devices[whole], profile);
    return find_device (catalogue, slice.name) ? 0
                                               : append_device (catalogue, &slice, err);
}

int dn_catalogue_slice (struct dn_catalogue *catalogue, struct dn_err *err)
{
    int n = catalogue->n_devices;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < catalogue->n_profiles; j++) {
            const struct dn_device *whole = &catalogue->devices[i];
            const struct dn_profile *profile = &catalogue->profiles[j];

            if (!whole->slice && whole->mig[0] != '\0'
                && dn_span_is (dn_span_of (whole->mig), profile->of)
                && add_slice (catalogue, i, profile, err) < 0)
                return -1;
        }
    return 0;
}

int dn_catalogue_link (struct dn_catalogue *catalogue, struct dn_err *err)
{
    if (dn_catalogue_slice (catalogue, err) < 0)
        return -1;
    for (int i = 0; i < catalogue->n_devices; i++) {
        struct dn_device *device = &catalogue->devices[i];
        struct dn_span name = dn_span_of (device->arch);

        device->generation = find_generation (catalogue, name);
        if (!device->generation)
            return dn_refuse (err,
                              generation,
                              device->name,
                              device->arch,
                              dn_word_meant (name, generation_at, catalogue).text);
    }
    return 0;
}

void dn_catalogue_free (struct dn_catalogue *catalogue)
{
    if (!catalogue)
        return;
    free (catalogue->devices);
    free (catalogue->generations);
    free (catalogue->profiles);
    *catalogue = (struct dn_catalogue){.devices = NULL};
}

const struct dn_device *dn_catalogue_find (const struct dn_catalogue *catalogue,
                                           const char *name)
{
    return find_device (catalogue, name);
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

static bool has_version (const struct dn_device *device,
                         enum dn_software kind,
                         int64_t version)
{
    const struct dn_generation *g = device->generation;

    return version >= g->software[kind].from
           && (g->software[kind].end == 0 || version < g->software[kind].end);
}

bool dn_device_has_kernels (const struct dn_device *device, const struct dn_spec *spec)
{
    const struct dn_generation *g = device->generation;
    int torch = dn_spec_torch (spec);

    if (spec->framework != DN_FRAMEWORK_UNKNOWN
        && spec->framework != DN_FRAMEWORK_PYTORCH)
        return true;
    return torch >= 0 ? has_version (device, DN_SOFTWARE_TORCH, torch)
                      : g->since_end == 0 || spec->since < g->since_end;
}

enum dn_software dn_device_without (const struct dn_device *device,
                                    const struct dn_script *script)
{
    int kind = 0;

    while (kind < DN_N_SOFTWARE
           && (script->versions[kind].number == 0
               || has_version (
                   device, (enum dn_software) kind, script->versions[kind].number)))
        kind++;
    return (enum dn_software) kind;
}

/* The number of "sm_90a", as 9.0; 'exact': the chip must be that one. 0: another name.
 */
static double arch_of (struct dn_span name, const char *prefix, bool *exact)
{
    size_t len = strlen (prefix);
    int64_t number = 0;
    size_t i = len;

    if (name.len <= len || strncmp (name.text, prefix, len) != 0)
        return 0;
    for (; i < name.len && i < len + 4 && dn_is_digit (name.text[i]); i++)
        number = 10 * number + (name.text[i] - '0');
    *exact = i < name.len;
    return (double) number / 10;
}

bool dn_device_runs_arch (const struct dn_device *device, const char *arch)
{
    double capability = device->generation->capability;
    struct dn_span rest = dn_span_of (arch);
    bool known = false;

    while (rest.text && rest.len > 0 && capability > 0) {
        struct dn_span name = dn_span_trim (dn_span_cut (&rest, ","));
        bool exact = false;
        double binary = arch_of (name, "sm_", &exact);
        double text = arch_of (name, "compute_", &exact);
        double least = binary > 0 ? binary : text;

        known = known || least > 0;
        if (least > 0
            && (exact ? capability == least
                      : capability >= least
                            && (text > 0 || floor (capability) == floor (binary))))
            return true;
    }
    return !known;
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
