/* hardware.h - the devices that a job could run on
 *
 * In: catalogue files (etc/hardware/, one per device, a source per number), what a site
 * has measured itself (below site/), and its "Gpu" lines that map gres types to them.
 * Out: struct dn_device with rates in SI units, and the candidates of one request. It
 * knows nothing of the jobs' models.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HARDWARE_H
#define DN_HARDWARE_H

#include "base/keyline.h"
#include "graph/graph.h"
#include "hardware/cluster.h"
#include "request/request.h"

/* What the chips of a generation have in common: one section of
 * etc/hardware/generations.conf. Flags are 0 or 1; 0 of another number: not stated.
 */
struct dn_generation {
    char name[DN_NAME_MAX]; /* "volta", the Arch= of its devices */
    int64_t number;         /* among NVIDIA's, from 1 */
    double capability;      /* CUDA compute capability of its first chip */
    int64_t host; /* it is the processor of the host: no job is moved to it, and tables
                     show it only if it is named */
    /* Rates that exist in practice, as shares of the data sheet's */
    double compute_share; /* of FP32 */
    double memory_share;  /* of the bandwidth */
    int64_t matrix_units; /* products of short formats run on units of their own */
    /* Kernels that exist */
    int64_t fused_attention;
    int64_t flash_attention;
    int64_t attention_behind; /* those two reach a lower share of its peak
                                 (flash_hopper) */
    int64_t small_recurrent;  /* cuDNN's for layers of few features */
    /* Board, host, and code */
    int64_t low_power;   /* boards draw at most power_old of their limit */
    int64_t link_mesh;   /* a link to each other device of the node */
    int64_t link_ring;   /* LinkBandwidth= is what a ring reached */
    int64_t new_host;    /* hosts launch faster (host_new) */
    int64_t modern_code; /* its code is of 2023 or later (tuned_modern) */
    double sigma;        /* spread of ln (measured / predicted) step times, added */
    /* Software: the first version that has kernels for it, and the first that has none
     * any more, and the first year of such software
     */
    struct {
        int64_t from;
        int64_t end;
    } software[DN_N_SOFTWARE];
    int64_t since_end;
};

/* Devices of a node where the catalogue has no PerNode=. */
#define DN_PER_NODE 8

/* Classes of operators with a separate measured rate. */
enum dn_rate_class {
    DN_RATE_LINEAR, /* matrix products, also of batches */
    DN_RATE_CONV,
    DN_N_RATE_CLASSES
};

/* What a site has measured on its own devices (dnnest-bench); 0: not measured, the data
 * sheet is used.
 */
struct dn_measured {
    double rates[DN_N_RATE_CLASSES][DN_N_FORMATS]; /* FLOP/s of long kernels */
    double stream;       /* byte/s of long element-wise kernels */
    double ring;         /* byte/s per device around a ring of a node's devices */
    double ring_start_s; /* start of an all-reduce */
    double recurrence_s; /* per step of a recurrent layer */
};

/* One device of the catalogue. Rates are dense data-sheet peaks; a rate of 0 means that
 * the device has no such unit.
 */
struct dn_device {
    char name[DN_NAME_MAX];
    char vendor[DN_NAME_MAX];
    char arch[DN_NAME_MAX];
    const struct dn_generation *generation; /* in the catalogue */
    double fp32;                            /* FLOP/s */
    double tf32;                            /* FLOP/s */
    double fp16;      /* FLOP/s, of the matrix units if it has any */
    double bf16;      /* FLOP/s */
    double fp8;       /* FLOP/s */
    double memory;    /* bytes */
    double bandwidth; /* of the memory, byte/s */
    double l2;        /* bytes */
    double chip_bw;   /* of the memory on the chip, byte/s; 0: not stated */
    int64_t compiled; /* 1: the whole step is one program, which no host launches piece
                         by piece */
    double sustained; /* share of its kernels' rates that whole steps reach; 0: not
                         stated */
    int64_t sms;      /* multiprocessors; 0 unknown */
    enum dn_link_kind link;
    double
        link_bw; /* to the other devices of a node, byte/s per device and direction */
    double pcie_bw;    /* to the host, byte/s per direction */
    int64_t per_node;  /* devices of the usual node */
    int64_t domain;    /* devices that its links join, over nodes; 0: those of a node */
    int64_t cores;     /* its CPU cores per device; 0 unknown */
    double adapter_bw; /* of one InfiniBand or RoCE adapter of it, byte/s per direction;
                          0: it has none, or it is unknown */
    int64_t adapters;  /* of the usual node */
    double tdp_w;      /* board power limit */
    double idle_w;     /* power when idle with a context */
    double cost;       /* per device hour, in the site's unit; 1 when not stated */
    /* Its table of slices (MIG), "" for none; of a slice its profile, "1g.5gb" */
    char mig[DN_NAME_MAX];
    bool slice;
    struct dn_measured measured;
};

/* A profile of slices: a row of etc/hardware/mig.conf. */
struct dn_profile {
    char name[DN_NAME_MAX]; /* "1g.5gb" */
    char of[DN_NAME_MAX];   /* the table, the Mig= of its devices */
    int64_t sms;
    int64_t parts; /* eighths of the bandwidth, the L2 cache and the copy engines */
    double memory; /* bytes */
};

struct dn_catalogue {
    struct dn_device *devices; /* owned */
    int n_devices;
    struct dn_generation *generations; /* owned */
    int n_generations;
    struct dn_profile *profiles; /* owned */
    int n_profiles;
    /* If not NULL, it is shown each value of each device's files, with 'to'. */
    void (*show) (void *to,
                  const struct dn_device *device,
                  const char *file,
                  const struct dn_pair *pair);
    void *to;
};

/* Read one catalogue file, which describes a device, generations or profiles of slices,
 * and add it. 'file' names it in errors. A file of the site 'amends': where the
 * catalogue has the device already, it may be partial, and each key of it overrides the
 * catalogue's. On error return -1; the devices are unchanged.
 */
int dn_catalogue_add (struct dn_catalogue *catalogue,
                      struct dn_span text,
                      const char *file,
                      bool amends,
                      struct dn_err *err) DN_COLD;

/* Add the slices of all devices that have a table of them, as devices of their own:
 * "a100_sxm4_40gb_1g.5gb". Rates, power and cost are shares of the data sheet by
 * multiprocessors, bandwidth and cache by eighths. Slices that exist stay as they are.
 */
int dn_catalogue_slice (struct dn_catalogue *catalogue, struct dn_err *err) DN_COLD;

/* After all files: the same, and connect devices with their generations. -1 if one has
 * none.
 */
int dn_catalogue_link (struct dn_catalogue *catalogue, struct dn_err *err) DN_COLD;

/* Does the device have measured values? */
bool dn_device_is_measured (const struct dn_device *device);

/* Fill 'sheet' with the device as its data sheet states it, without measured values. */
void dn_device_sheet (const struct dn_device *device, struct dn_device *sheet);

/* The measured rate of a class in a format, 0 if it was not measured. */
double dn_device_rate (const struct dn_device *device,
                       enum dn_rate_class class,
                       enum dn_precision precision);

/* NULL-safe; the catalogue is empty afterwards. */
void dn_catalogue_free (struct dn_catalogue *catalogue) DN_COLD;

/* The device of that name, or NULL. */
const struct dn_device *dn_catalogue_find (const struct dn_catalogue *catalogue,
                                           const char *name);

/* The name of the i-th device of 'catalogue', a struct dn_catalogue; NULL after the
 * last. It is a dn_name_at_f.
 */
const char *dn_catalogue_name_at (const void *catalogue, int i);

/* The data-sheet peak of the device's unit for a format, FLOP/s; 0 if it has none. */
double dn_device_unit (const struct dn_device *device, enum dn_format format);

/* The precision that the device runs where this one is requested. If none is stated,
 * the slowest is assumed, so that a limit based on it is not too low.
 */
enum dn_precision dn_device_precision (const struct dn_device *device,
                                       enum dn_precision precision);

/* Can work of this precision run on the device? Without a unit for it, tf32 runs as
 * fp32 and fp16 runs at the ordinary rate; bf16 needs a unit.
 */
bool dn_device_supports (const struct dn_device *device, enum dn_precision precision);

/* Has the software that the job states (torch=, since=) kernels for the device? Unknown
 * is yes, and so is another framework than PyTorch.
 */
bool dn_device_has_kernels (const struct dn_device *device, const struct dn_spec *spec);

/* The first software whose version, as a script states it, has no kernels for the
 * device; DN_N_SOFTWARE for none.
 */
enum dn_software dn_device_without (const struct dn_device *device,
                                    const struct dn_script *script);

/* Has software with kernels for these architectures ("sm_70,sm_80,compute_90", as
 * torch.cuda.get_arch_list () names them) any for the device? A kernel of sm_XY runs on
 * chips of the same X and no lower Y, the text of compute_XY on all that are not older
 * (NVIDIA, CUDA C++ Programming Guide, 3.1). Where the list has no such name, the
 * answer is yes.
 */
bool dn_device_runs_arch (const struct dn_device *device, const char *arch) DN_COLD;

/* Peak rate of matrix products in a precision, FLOP/s, and whether matrix units do
 * them: before Volta fp16 is a rate of the ordinary units. A format without a unit runs
 * at the fp32 rate.
 */
double dn_device_peak (const struct dn_device *device,
                       enum dn_precision precision,
                       bool *matrix);

/* A GPU type of the cluster, as a "Gpu" line of dnnest.conf maps it. Jobs request it as
 * a gres type, or by its partition or its feature. DN_UNSET or empty: not stated; a
 * snapshot of the cluster says it then. Without a snapshot a job is moved to a type
 * only if per_node, node_cpus, node_mem_mb and partitions (or by_partition with
 * max_time_s) are stated, because a request that no node can meet would never start.
 */
struct dn_gpu_type {
    char type[DN_NAME_MAX];         /* the gres type, e.g. "a100" */
    const struct dn_device *device; /* in the catalogue */
    double cost;                    /* per GPU hour; the catalogue's if not stated */
    bool cost_stated;
    int64_t per_node; /* GPUs of this type on one node */
    int64_t n_nodes;
    int64_t node_cpus;
    int64_t node_mem_mb;
    int64_t node_tmp_mb;              /* temporary disk */
    int64_t threads_per_core;         /* of its CPUs */
    bool no_moves;                    /* MoveTo=no */
    char partitions[DN_NAME_MAX * 4]; /* "p1,p2" or "ALL" */
    char by_partition[DN_NAME_MAX];   /* partition whose jobs run on this type only */
    int64_t max_time_s;               /* of that partition, or DN_UNLIMITED */
    char by_feature[DN_NAME_MAX];     /* the feature that selects this type */
    char features[DN_NAME_MAX * 4];   /* others of all its nodes, "ib,nvme" */
};

/* Does it state its partitions? ALL is no statement: the nodes of some partition may
 * have other types.
 */
bool dn_gpu_has_partitions (const struct dn_gpu_type *type);

struct dn_gpu_types {
    struct dn_gpu_type types[DN_CANDIDATES_MAX];
    int n_types;
};

/* Read the pairs of one "Gpu Type=... Device=..." line. */
int dn_gpu_types_add (struct dn_gpu_types *types,
                      const struct dn_keyline *line,
                      const struct dn_catalogue *catalogue,
                      struct dn_err *err) DN_COLD;

enum dn_gpu_key_type {
    DN_GPU_KEY_TEXT,
    DN_GPU_KEY_COUNT,
    DN_GPU_KEY_COST,
    DN_GPU_KEY_TIME,
    DN_GPU_KEY_DEVICE,
    DN_GPU_KEY_MOVES,     /* yes or no */
    DN_GPU_KEY_PARTITION, /* one name */
    DN_GPU_KEY_FEATURE    /* one name */
};

/* The keys of a "Gpu" line with a short text each, for the man page and its test. */
struct dn_gpu_key {
    const char *name;
    const char *help;
    enum dn_gpu_key_type type;
    size_t offset; /* in struct dn_gpu_type */
    size_t size;
};
const struct dn_gpu_key *dn_gpu_keys (int *n_keys);

/* The mapped type of that gres name, or NULL if there is none. */
const struct dn_gpu_type *dn_gpu_types_find (const struct dn_gpu_types *types,
                                             const char *type);

/* The same; where there is none, the first whose name has the same letters, '-' and '_'
 * being the same and capital letters, too. Slurm distinguishes them.
 */
const struct dn_gpu_type *dn_gpu_types_resemble (const struct dn_gpu_types *types,
                                                 const char *type);

/* A type that the request could run on. */
struct dn_candidate {
    const struct dn_gpu_type *gpu;
    double cost;         /* per GPU hour: of its Gpu line, TRESBillingWeights, or the
                            catalogue */
    bool requested;      /* the job may run on it as submitted */
    const char *feature; /* that selects it: ByFeature=, or of the snapshot; NULL: none.
                            Borrowed from them */
    int64_t node_cpus;   /* CPUs of one node that the request can get; DN_UNSET if
                            unknown */
    int64_t node_mem_mb; /* memory of one node, of the largest; DN_UNSET if unknown */
    /* Of a snapshot: the request can start now if it needs no more CPUs of a node than
     * these, DN_UNSET: it cannot, or there is no snapshot; and no node that fits the
     * request is available: it is drained, down, reserved.
     */
    int64_t idle_cpus;
    int64_t idle_gpus; /* of all nodes that fit the request */
    bool unavailable;
    int64_t reserved_from; /* the first reservation of such nodes that are up, which a
                              job that starts now would run into; 0: none is known */
    struct dn_reason blocked; /* why it cannot be a target; none when it can */
};

struct dn_candidates {
    int n_candidates;
    const struct dn_gpu_type *named; /* the first that the request names, or NULL */
    const char *named_feature;       /* its feature, or NULL */
    struct dn_reason keep;           /* why the type must stay; none when it need not */
    struct dn_reason prices;         /* why TRESBillingWeights are not used; or none */
    struct dn_candidate list[DN_CANDIDATES_MAX];
};

/* Is the job in the partition that selects this type? */
bool dn_gpu_by_partition (const struct dn_gpu_type *type, const struct dn_job *job);

/* Have the nodes of a group of the snapshot that type? */
bool dn_gpu_is_on (const struct dn_gpu_type *type, const struct dn_node_group *group);

/* Is this name of a constraint that feature of a candidate? NULL is none. */
bool dn_is_feature (const char *feature, struct dn_span name);

/* The candidates of a request, in the order of the Gpu lines: every mapped type, with a
 * reason where it cannot run the request (GPUs per node, nodes, memory, temporary disk,
 * partition, constraint) or is not available. CPUs are left to the policy, which may
 * lower them.
 *
 * 'cluster' is its state, NULL if unknown or too old. With it a type is available if
 * enough of its nodes are up, fit the request and are not reserved before its limit
 * ends, and a Gpu line needs Type and Device only; what it states overrides the
 * snapshot. Without it MoveTo= says which types are available.
 */
void dn_hardware_candidates (const struct dn_gpu_types *types,
                             const struct dn_request *request,
                             const struct dn_cluster *cluster,
                             struct dn_candidates *candidates) DN_COLD;

#endif
