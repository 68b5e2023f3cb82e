/* show.h - specifications, networks and estimates, as JSON and as tables
 *
 * The JSON objects here are contracts (dnnest.1), the same in every command.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SHOW_H
#define DN_SHOW_H

#include "json.h"
#include "predict/whitebox.h"

/* A text of bounded length by value, for printf. */
#define DN_SHOWN_MAX 32
struct dn_shown {
    char text[DN_SHOWN_MAX];
};

/* "1-02:03:04", or "-" when unknown (negative). Rounded up to seconds. */
struct dn_shown dn_show_time (double seconds);
/* "12.3 GiB", "-" when unknown. */
struct dn_shown dn_show_bytes (double bytes);
/* Four significant digits with k, M, G, T, P: "25.56 M". */
struct dn_shown dn_show_count (double count);
/* A bound of a range in short form: "4096", "1M", "0.01". */
struct dn_shown dn_show_bound (double bound);
/* The valid values of a key: "4096..1M", with 'time' of seconds; and those with names,
 * of which the first is "unknown". */
void dn_show_bounds (struct dn_buf *buf, double min, double max, bool time);
void dn_show_names (struct dn_buf *buf,
                    const struct dn_names *names,
                    const char *between);
/* With 'decimals' digits after the point, "-" when unknown. */
struct dn_shown dn_show_real (double value, int decimals);
/* "1,234", "12.3", "0.25"; "-" where it is not finite. */
struct dn_shown dn_show_number (double value);
/* "94.2 %" of a share; "-" where it is not finite. */
struct dn_shown dn_show_share (double share);

/* All keys that are set, given or resolved: numbers as numbers, other values as in
 * metadata. */
struct json_object *dn_show_spec_json (const struct dn_spec *spec);

/* The names of a set of keys. */
struct json_object *dn_show_keys_json (struct dn_keyset set);

/* {"name", "params", "frozen_params", "forward_flops_per_sample"} */
struct json_object *dn_show_model_json (const struct dn_graph *graph);

/* The upper bound that is shown, the 95th percentile; -1 when unknown. */
double dn_shown_upper (struct dn_range range);

/* Add {"p50", "p95"}: median and upper bound, times 'scale'; null when unknown. */
void dn_show_range_json (struct json_object *to,
                         const char *key,
                         struct dn_range range,
                         double scale,
                         bool known);

/* The same for a time, with {"p50", "p80", "p90", "p95", "p99"}. */
void dn_show_time_json (struct json_object *to,
                        const char *key,
                        struct dn_range range,
                        double scale,
                        bool known);

/* The GPUs of a type in the cluster now, by its snapshot. DN_UNSET: unknown. */
struct dn_gpus_now {
    int64_t n_up; /* on nodes that are up */
    int64_t n_idle;
    int64_t wait_s; /* that a job for one of them is expected to wait */
};

#define DN_GPUS_NOW_UNKNOWN ((struct dn_gpus_now){DN_UNSET, DN_UNSET, DN_UNSET})

/* One run on one device: the estimate, and its cost and limits at this site. */
struct dn_forecast {
    const char *name; /* of the device or of the gres type */
    const char *type; /* gres type; NULL: the device is not one of the site's */
    const struct dn_estimate *estimate;
    double cost_per_hour;  /* of one GPU */
    double carbon_g;       /* of the run, -1 unknown */
    int64_t largest_batch; /* per GPU, that the policy accepts there; 0 none */
    bool may_hold_one;     /* at least a batch of 1 may fit */
    const struct dn_estimate *at_largest; /* with that batch; NULL: not predicted */
    struct dn_gpus_now now;
};

/* "yes", "perhaps", "no", or "unsupported". */
const char *dn_show_fit (const struct dn_estimate *estimate);

/* One entry of "candidates". Unknown values are null, and so are all values of a device
 * that does not support the precision. */
struct json_object *dn_show_run_json (const struct dn_forecast *run,
                                      const struct dn_spec *spec);

/* A largest batch: "1?" where it is 0 and one sample may fit, "-" where it does not. */
struct dn_shown dn_show_largest (int64_t largest, bool may_hold_one);

/* Print the table: runs that fit first, then by time. Columns for carbon, idle GPUs,
 * the expected wait and the largest batch's run are in it if any run has them. Sorts
 * 'runs'. Return an enum dn_exit.
 */
int dn_show_runs (struct dn_forecast *runs, int n_runs, const struct dn_spec *spec);

/* Print what was assumed for keys that are missing, and those without which the time is
 * unknown.
 */
void dn_show_assumed (const struct dn_spec *spec, const struct dn_graph *graph);

/* Print on which GPUs the run is beyond the keys deadline and budget, by the 95 % bound
 * of its time as with "--gpus"; nothing of a key that is not given.
 */
void dn_show_beyond (const struct dn_forecast *runs,
                     int n_runs,
                     const struct dn_spec *spec);

/* The line about those keys alone; nothing where the amount of work is known. */
void dn_show_lacks_work (const struct dn_spec *spec);

/* The assumptions, as an array of objects of "key" and "value". */
struct json_object *dn_show_assumed_json (const struct dn_spec *spec,
                                          const struct dn_graph *graph);

/* "resnet50: 25.56 M parameters, 8.178 GFLOP per sample forward"; a network of params=
 * and flops= has no name.
 */
void dn_show_model (const struct dn_graph *graph);

#endif
