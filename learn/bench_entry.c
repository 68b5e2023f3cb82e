/* bench_entry.c - write measurements as lines of a catalogue file or of dnnest.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "learn/bench_fit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "hardware/gpu_names.h"

/* Keys of a data-sheet peak. After "Linear" or "Conv" they name a measured rate. */
static const char *const keys[DN_N_FORMATS] = {
    [DN_FORMAT_FP32] = "Fp32",
    [DN_FORMAT_TF32] = "Tf32",
    [DN_FORMAT_FP16] = "Fp16",
    [DN_FORMAT_BF16] = "Bf16",
    [DN_FORMAT_FP8] = "Fp8",
};

/* --- find the device -------------------------------------------------------------- */

const struct dn_device *dn_bench_device (const struct dn_catalogue *catalogue,
                                         const char *driver_name,
                                         double memory,
                                         struct dn_err *err)
{
    const struct dn_device *best = NULL;
    char list[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (list, sizeof (list));
    int most = 0;
    int n = 0;

    for (int i = 0; i < catalogue->n_devices; i++)
        most = (int) fmax (
            most, dn_device_match (&catalogue->devices[i], driver_name, memory));
    for (int i = 0; i < catalogue->n_devices && most > 0; i++)
        if (dn_device_match (&catalogue->devices[i], driver_name, memory) == most) {
            best = &catalogue->devices[i];
            dn_buf_add (&buf, "%s%s", n++ > 0 ? ", " : "", best->name);
        }
    if (n == 1)
        return best;
    dn_err_set (err,
                DN_E_RANGE,
                n > 1 ? "'%s' may be %s: choose one with --device"
                      : "'%s' is not in the catalogue%s: name it with --device",
                dn_quote (driver_name, strlen (driver_name)).text,
                list);
    return NULL;
}

/* --- the entry -------------------------------------------------------------------- */

static const char *fact (const struct dn_bench_entry *entry, const char *key)
{
    const char *text = dn_samples_fact (entry->samples, key);

    return text ? text : "";
}

/* A fact that is a number; 0 if it is not one. */
static double number (const struct dn_bench_entry *entry, const char *key)
{
    double value = 0;

    if (dn_real_read (dn_span_of (fact (entry, key)), key, 0, 1e15, &value, NULL) < 0)
        return 0;
    return value;
}

/* The share of the data-sheet peak that such a curve reaches. */
static double seen (const struct dn_bench_entry *entry, int class, int format)
{
    const struct dn_constants *k = entry->constants;

    if (format == DN_FORMAT_FP32)
        return class == DN_RATE_LINEAR ? k->seen_linear_fp32 : k->seen_conv_fp32;
    return class == DN_RATE_LINEAR ? k->seen_linear_tensor : k->seen_conv_tensor;
}

static void write_fit (const struct dn_bench_fit *fit, struct dn_buf *buf)
{
    dn_buf_add (buf,
                "# %d samples, median error of the fit %.0f %%",
                fit->n,
                100 * fit->spread);
}

/* A device without a unit for a precision runs it at the rate of another precision. A
 * separate rate would claim that it has the unit.
 */
static void write_rate (const struct dn_bench_entry *entry,
                        int class,
                        int format,
                        struct dn_buf *buf)
{
    static const char *const classes[DN_N_RATE_CLASSES] = {"Linear", "Conv"};
    const struct dn_bench_fit *fit = &entry->result->curves[class][format];
    double sheet =
        entry->known ? dn_device_unit (entry->known, (enum dn_format) format) : 0;

    if (fit->rate <= 0 || (entry->known && sheet <= 0))
        return;
    write_fit (fit, buf);
    if (sheet > 0)
        dn_buf_add (buf, "; %.0f %% of the data sheet", 100 * fit->rate / sheet);
    dn_buf_add (buf, "; half of it at %.2g FLOP", fit->half);
    dn_buf_add (buf, "\n%s%s=%.4g\n", classes[class], keys[format], fit->rate);
}

static void write_value (const char *key,
                         const struct dn_bench_fit *fit,
                         struct dn_buf *buf)
{
    if (fit->rate <= 0)
        return;
    write_fit (fit, buf);
    dn_buf_add (buf, "\n%s=%.4g\n", key, fit->rate);
}

static void write_ring (const struct dn_bench_result *result, struct dn_buf *buf)
{
    if (result->ring.rate <= 0)
        return;
    write_fit (&result->ring, buf);
    dn_buf_add (buf,
                "; all-reduce of %" PRId64 " devices\nPerNode=%" PRId64
                "\nRing=%.4g\nRingStart=%.3g\n",
                result->ring_devices,
                result->ring_devices,
                result->ring.rate,
                result->ring_start_s);
}

/* --- a device that the catalogue does not have ------------------------------------ */

/* The newest generation of NVIDIA that is not newer than the capability. */
static const char *arch_of (const struct dn_catalogue *catalogue, double capability)
{
    const struct dn_generation *best = NULL;

    for (int i = 0; i < catalogue->n_generations; i++) {
        const struct dn_generation *one = &catalogue->generations[i];

        if (one->capability > 0 && one->capability <= capability + 0.01
            && (!best || one->capability > best->capability))
            best = one;
    }
    return best ? best->name : "other";
}

/* Write the data sheet of a device that reaches these rates. */
static int write_sheet (const struct dn_bench_entry *entry,
                        struct dn_buf *buf,
                        struct dn_err *err)
{
    const struct dn_bench_result *result = entry->result;
    double memory = number (entry, "memory");
    double tdp = number (entry, "tdp_w");
    double sms = number (entry, "sms");
    double idle = number (entry, "idle_w");

    if (result->curves[DN_RATE_LINEAR][DN_FORMAT_FP32].rate <= 0
        || result->stream.rate <= 0 || memory < 1e6 || tdp < 1)
        return dn_err_set (
            err,
            DN_E_RANGE,
            "'%s' is not in the catalogue, and the samples lack what its "
            "entry needs: matrix products in fp32, element-wise "
            "kernels, and the facts memory and tdp_w",
            entry->device);
    dn_buf_add (buf,
                "# Not in the catalogue: peaks as a data sheet would state them for "
                "a device that\n# reaches the measured rates.\n"
                "Vendor=nvidia\nArch=%s\nMemory=%.0f\nTdp=%.0f\n",
                arch_of (entry->catalogue, number (entry, "capability")),
                memory,
                tdp);
    if (sms >= 1)
        dn_buf_add (buf, "Sms=%.0f\n", floor (sms));
    if (idle > 0)
        dn_buf_add (buf, "Idle=%.0f\n", idle);
    dn_buf_add (
        buf, "Bandwidth=%.4g\n", result->stream.rate / entry->constants->seen_stream);
    for (int f = DN_FORMAT_FP32; f < DN_N_FORMATS; f++)
        if (result->curves[DN_RATE_LINEAR][f].rate > 0)
            dn_buf_add (buf,
                        "%s=%.4g\n",
                        keys[f],
                        result->curves[DN_RATE_LINEAR][f].rate
                            / seen (entry, DN_RATE_LINEAR, f));
    return 0;
}

static bool measured_any (const struct dn_bench_result *result)
{
    bool any = result->stream.rate > 0 || result->pcie.rate > 0 || result->ring.rate > 0
               || result->recurrence_s > 0;

    for (int class = 0; class < DN_N_RATE_CLASSES; class ++)
        for (int f = 0; f < DN_N_FORMATS; f++)
            any = any || result->curves[class][f].rate > 0;
    return any;
}

int dn_bench_write_entry (const struct dn_bench_entry *entry,
                          struct dn_buf *buf,
                          struct dn_err *err)
{
    const struct dn_bench_result *result = entry->result;

    if (!measured_any (result))
        return dn_err_set (
            err, DN_E_RANGE, "no kernel of a device was measured often enough");
    dn_buf_add (
        buf,
        "# Measured by dnnest-bench: %d samples of %s\n# Device: %s, driver %s\n"
        "Device=%s\n",
        entry->samples->n_rows,
        entry->file,
        fact (entry, "gpu"),
        fact (entry, "driver"),
        entry->device);
    if (!entry->known && write_sheet (entry, buf, err) < 0)
        return -1;
    for (int class = 0; class < DN_N_RATE_CLASSES; class ++)
        for (int f = DN_FORMAT_FP32; f < DN_N_FORMATS; f++)
            write_rate (entry, class, f, buf);
    write_value ("Stream", &result->stream, buf);
    write_value ("PcieBandwidth", &result->pcie, buf);
    write_ring (result, buf);
    if (result->recurrence_s > 0)
        dn_buf_add (buf, "Recurrence=%.3g\n", result->recurrence_s);
    if (result->launch_s > 0)
        dn_buf_add (buf,
                    "# An empty kernel takes %.3g us after others, %.3g us with the "
                    "host waiting for it\n",
                    1e6 * result->launch_s,
                    1e6 * result->sync_s);
    return buf->cut ? dn_err_set (err, DN_E_LIMIT, "the entry is too long") : 0;
}

int dn_bench_write_host (const struct dn_bench_result *result,
                         struct dn_buf *buf,
                         struct dn_err *err)
{
    if (result->jpeg <= 0 && result->tokens <= 0 && result->array <= 0)
        return dn_err_set (err, DN_E_RANGE, "no loader was measured");
    if (result->jpeg > 0)
        dn_buf_add (buf, "CoreJpeg=%.4g\n", result->jpeg);
    if (result->tokens > 0)
        dn_buf_add (buf, "CoreTokens=%.4g\n", result->tokens);
    if (result->array > 0)
        dn_buf_add (buf, "CoreBytes=%.4g\n", result->array);
    return 0;
}
