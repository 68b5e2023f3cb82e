/* hardware.h - the devices that a job could run on
 *
 * In: catalogue files (etc/hardware/, one per device, a source per number), what a site
 * has measured of its own (below site/), and its "Gpu" lines that map gres types to
 * them. Out: struct dn_device with rates in SI units, and the candidates of one
 * request. Never: what runs on them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HARDWARE_H
#define DN_HARDWARE_H

#include "base/keyline.h"
#include "graph/graph.h"
#include "request/request.h"

/* Generations differ in what their units can do; DN_ARCH_OTHER is anything that is not
 * a GPU of these (accelerators). DN_ARCH_CPU is what a run without any computes on: no
 * job is ever moved there, and tables leave it out unless it is named.
 */
enum dn_arch {
    DN_ARCH_UNKNOWN,
    DN_ARCH_KEPLER,
    DN_ARCH_PASCAL,
    DN_ARCH_VOLTA,
    DN_ARCH_TURING,
    DN_ARCH_AMPERE,
    DN_ARCH_ADA,
    DN_ARCH_HOPPER,
    DN_ARCH_BLACKWELL,
    DN_ARCH_CDNA,
    DN_ARCH_OTHER,
    DN_ARCH_CPU,
    DN_N_ARCHS
};

extern const struct dn_names dn_arch_names;

/* Devices of a node where the catalogue does not tell (PerNode=). */
#define DN_PER_NODE 8

/* Operators that have a rate of their own, where it was measured. */
enum dn_rate_class {
    DN_RATE_LINEAR, /* matrix products, also of batches */
    DN_RATE_CONV,
    DN_N_RATE_CLASSES
};

/* What a site has measured on its own devices (dnnest-bench); 0: not measured, and the
 * data sheet counts.
 */
struct dn_measured {
    double rates[DN_N_RATE_CLASSES][DN_N_FORMATS]; /* FLOP/s of long kernels */
    double stream;       /* byte/s of long element-wise kernels */
    double ring;         /* byte/s and device around a ring of a node's devices */
    double ring_start_s; /* start of an all-reduce */
    double recurrence_s; /* per step of a recurrent layer */
};

/* Keys of a catalogue file. */
#define DN_DEVICE_KEYS_MAX 32

/* One device of the catalogue. Rates are dense data-sheet peaks; a rate of 0 means that
 * the device has no such unit.
 */
struct dn_device {
    char name[DN_NAME_MAX];
    char vendor[DN_NAME_MAX];
    enum dn_arch arch;
    double fp32;      /* FLOP/s */
    double tf32;      /* FLOP/s */
    double fp16;      /* FLOP/s, matrix units where there are any */
    double bf16;      /* FLOP/s */
    double fp8;       /* FLOP/s */
    double memory;    /* bytes */
    double bandwidth; /* of the memory, byte/s */
    double l2;        /* bytes */
    int64_t sms;      /* multiprocessors; 0 unknown */
    enum dn_link link;
    double
        link_bw; /* to the other devices of a node, byte/s per device and direction */
    double pcie_bw;   /* to the host, byte/s per direction */
    int64_t per_node; /* devices of the usual node */
    double tdp_w;     /* board power limit */
    double idle_w;    /* power in idle with a context */
    double cost;      /* per device hour, in the site's unit; 1 when not stated */
    struct dn_measured measured;
    /* Which of the catalogue's files each key is from, counted from 1; 0: a default. */
    uint16_t from[DN_DEVICE_KEYS_MAX];
};

struct dn_catalogue {
    struct dn_device *devices; /* owned */
    int n_devices;
    char **files; /* owned, as they are */
    int n_files;
};

/* Read one catalogue file, which describes one device, and add it. 'file' names it in
 * errors. Return -1 with 'err' and the catalogue as it was.
 */
int dn_catalogue_add (struct dn_catalogue *catalogue,
                      struct dn_span text,
                      const char *file,
                      struct dn_err *err);

/* The same of a file of the site's own. Where the catalogue has the device already, the
 * file need not be whole: what it states counts, key by key.
 */
int dn_catalogue_amend (struct dn_catalogue *catalogue,
                        struct dn_span text,
                        const char *file,
                        struct dn_err *err);

/* What is known of a device, and from where. */
struct dn_device_value {
    const char *key;        /* "Fp32" */
    char text[DN_NAME_MAX]; /* as a catalogue file would state it */
    const char *file;       /* borrowed; NULL: a default */
};

/* Fill 'values' with all that was stated of the device, and return how many. */
int dn_device_values (const struct dn_catalogue *catalogue,
                      const struct dn_device *device,
                      struct dn_device_value values[DN_DEVICE_KEYS_MAX]);

/* Was anything of the device measured? */
bool dn_device_is_measured (const struct dn_device *device);

/* Fill 'sheet' with the device as its data sheet has it. */
void dn_device_sheet (const struct dn_device *device, struct dn_device *sheet);

/* The measured rate of a class in a precision, 0 where there is none. */
double dn_device_rate (const struct dn_device *device,
                       enum dn_rate_class class,
                       enum dn_precision precision);

/* NULL-safe, leaves an empty catalogue. */
void dn_catalogue_free (struct dn_catalogue *catalogue);

/* The device of that name, or NULL. */
const struct dn_device *dn_catalogue_find (const struct dn_catalogue *catalogue,
                                           const char *name);

/* The device that a driver calls 'product', such as "Tesla V100-SXM2-16GB", and that
 * has 'memory' bytes as the driver counts them; NULL where no device or more than one
 * may be meant.
 */
const struct dn_device *dn_catalogue_find_product (const struct dn_catalogue *catalogue,
                                                   const char *product,
                                                   double memory);

/* Are the two the same chip on different boards, or with another size of memory? */
bool dn_device_same_chip (const struct dn_device *a, const struct dn_device *b);

/* The data-sheet peak of the device's unit for a format, FLOP/s; 0 where it has none.
 */
double dn_device_unit (const struct dn_device *device, enum dn_format format);

/* The precision that runs where this one is asked for. Without a stated precision the
 * slowest is assumed: a limit must not be built on hope.
 */
enum dn_precision dn_device_precision (const struct dn_device *device,
                                       enum dn_precision precision);

/* May work of this precision run on the device at all? tf32 runs as fp32 where there is
 * no such unit, fp16 at the ordinary rate; bf16 runs nowhere but where there is a unit.
 */
bool dn_device_supports (const struct dn_device *device, enum dn_precision precision);

/* Peak rate of matrix products in a precision, FLOP/s, and whether matrix units do
 * them: before Volta fp16 is a rate of the ordinary units. What a device has no unit
 * for runs at its fp32 rate.
 */
double dn_device_peak (const struct dn_device *device,
                       enum dn_precision precision,
                       bool *matrix);

/* A GPU type of the cluster, as a "Gpu" line of dnnest.conf maps it. Jobs ask for it as
 * a gres type, or by its partition or its feature. What is DN_UNSET or empty was not
 * stated; a type can only be moved *to* when per_node, node_cpus, node_mem_mb and
 * partitions (or by_partition with max_time_s) are stated, since a request that no node
 * can meet would never start.
 */
struct dn_gpu_type {
    char type[DN_NAME_MAX];         /* the gres type, e.g. "a100" */
    const struct dn_device *device; /* in the catalogue */
    double cost;                    /* per GPU hour; the catalogue's when not stated */
    int64_t per_node;               /* GPUs of this type on one node */
    int64_t n_nodes;
    int64_t node_cpus;
    int64_t node_mem_mb;
    char partitions[DN_NAME_MAX * 4]; /* "p1,p2" or "ALL" */
    char by_partition[DN_NAME_MAX];   /* whose jobs have this type and no other */
    int64_t max_time_s;               /* of that partition, or DN_UNLIMITED */
    char by_feature[DN_NAME_MAX];     /* the constraint that means this type */
    char features[DN_NAME_MAX * 4];   /* what else all of its nodes have, "ib,nvme" */
};

struct dn_gpu_types {
    struct dn_gpu_type types[DN_CANDIDATES_MAX];
    int n_types;
};

/* Read the pairs of one "Gpu Type=... Device=..." line. */
int dn_gpu_types_add (struct dn_gpu_types *types,
                      const struct dn_keyline *line,
                      const struct dn_catalogue *catalogue,
                      struct dn_err *err);

/* The keys of a "Gpu" line with a sentence each, for docs and their test. */
struct dn_gpu_key {
    const char *name;
    const char *help;
};
const struct dn_gpu_key *dn_gpu_keys (int *n_keys);

/* The mapped type of that gres name, or NULL. */
const struct dn_gpu_type *dn_gpu_types_find (const struct dn_gpu_types *types,
                                             const char *type);

/* A type that the request could run on. */
struct dn_candidate {
    const struct dn_gpu_type *gpu;
    bool requested;              /* what the job may land on as it is written */
    char blocked[DN_REASON_MAX]; /* why it cannot be a target; empty when it can */
};

struct dn_candidates {
    struct dn_candidate list[DN_CANDIDATES_MAX];
    int n_candidates;
    const struct dn_gpu_type *named; /* what the request names; NULL: no one type */
    char keep[DN_REASON_MAX]; /* why the type must stay; empty when it need not */
};

/* Does the job stand in the partition by which it has this type? */
bool dn_gpu_by_partition (const struct dn_gpu_type *type, const struct dn_job *job);

/* Is this name of a constraint the one by which a job has this type? */
bool dn_gpu_by_feature (const struct dn_gpu_type *type, struct dn_span name);

/* The candidates of a request, in the order of the Gpu lines: every mapped type, with
 * those marked that cannot hold the request (GPUs per node, nodes, CPUs, memory,
 * partition, constraint). CPUs are left to the policy, which may lower them.
 */
void dn_hardware_candidates (const struct dn_gpu_types *types,
                             const struct dn_request *request,
                             struct dn_candidates *candidates);

#endif
