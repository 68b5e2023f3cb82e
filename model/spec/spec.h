/* spec.h - how a job describes its network and its training run
 *
 * In: the metadata text of dnnest.spec(5) ("model=resnet50,batch=256,..."), found in
 * #DNNEST lines of a batch script, a comment or an option. Out: struct dn_spec, every
 * key checked and typed. Never: what the network looks like (graph/), what the job
 * requested from Slurm (request/). All text here may be hostile.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SPEC_H
#define DN_SPEC_H

#include <stddef.h>

#include "base/deadline.h"
#include "base/reason.h"
#include "base/text.h"
#include "request/marks.h"
#include "spec/keyset.h"
#include "spec/precision.h"

/* The words of metadata: rows of a constant and its word. */
/* clang-format off */
#define DN_OPTIMIZERS(ROW)                                                             \
    ROW (OPTIMIZER_UNKNOWN, "unknown")                                                 \
    ROW (OPTIMIZER_NONE, "none") /* forward and backward only */                       \
    ROW (OPTIMIZER_SGD, "sgd")                                                         \
    ROW (OPTIMIZER_MOMENTUM, "momentum")                                               \
    ROW (OPTIMIZER_ADAM, "adam")                                                       \
    ROW (OPTIMIZER_ADAMW, "adamw")                                                     \
    ROW (OPTIMIZER_LAMB, "lamb")                                                       \
    ROW (OPTIMIZER_LARS, "lars")                                                       \
    ROW (OPTIMIZER_ADAFACTOR, "adafactor")                                             \
    ROW (OPTIMIZER_ADAGRAD, "adagrad")                                                 \
    ROW (OPTIMIZER_ADADELTA, "adadelta")                                               \
    ROW (OPTIMIZER_RMSPROP, "rmsprop")                                                 \
    ROW (OPTIMIZER_NOVOGRAD, "novograd")                                               \
    ROW (OPTIMIZER_LION, "lion")                                                       \
    ROW (OPTIMIZER_MUON, "muon")                                                       \
    ROW (OPTIMIZER_ADAM8BIT, "adam8bit")
DN_ENUM (dn_optimizer, OPTIMIZERS);

#define DN_CHECKPOINTINGS(ROW)                                                         \
    ROW (CHECKPOINTING_UNKNOWN, "unknown")                                             \
    ROW (CHECKPOINTING_NONE, "none")                                                   \
    ROW (CHECKPOINTING_FULL, "full")                                                   \
    ROW (CHECKPOINTING_SELECTIVE, "selective")
DN_ENUM (dn_checkpointing, CHECKPOINTINGS);

#define DN_LAYOUTS(ROW)                                                                \
    ROW (LAYOUT_UNKNOWN, "unknown")                                                    \
    ROW (LAYOUT_NCHW, "nchw")                                                          \
    ROW (LAYOUT_NHWC, "nhwc")
DN_ENUM (dn_layout, LAYOUTS);

#define DN_LOSSES(ROW)                                                                 \
    ROW (LOSS_UNKNOWN, "unknown")                                                      \
    ROW (LOSS_FULL, "full")                                                            \
    ROW (LOSS_CHUNKED, "chunked") /* part by part, from whole logits */                \
    ROW (LOSS_FUSED, "fused")     /* with the output layer: logits part by part, too */
DN_ENUM (dn_loss, LOSSES);

/* What a step does beside a forward and a backward pass (graph/passes.c). */
#define DN_METHODS(ROW)                                                                \
    ROW (METHOD_UNKNOWN, "unknown")                                                    \
    ROW (METHOD_DISTILL, "distill")                                                    \
    ROW (METHOD_CONTRASTIVE, "contrastive")                                            \
    ROW (METHOD_TRIPLET, "triplet")                                                    \
    ROW (METHOD_MOCO, "moco")                                                          \
    ROW (METHOD_BYOL, "byol")                                                          \
    ROW (METHOD_MEAN_TEACHER, "mean_teacher")                                          \
    ROW (METHOD_ADVERSARIAL, "adversarial")                                            \
    ROW (METHOD_TRADES, "trades")                                                      \
    ROW (METHOD_SAM, "sam")                                                            \
    ROW (METHOD_REWARD, "reward")                                                      \
    ROW (METHOD_DPO, "dpo")                                                            \
    ROW (METHOD_ORPO, "orpo")                                                          \
    ROW (METHOD_KTO, "kto")                                                            \
    ROW (METHOD_GRPO, "grpo")                                                          \
    ROW (METHOD_PPO, "ppo")
DN_ENUM (dn_method, METHODS);

#define DN_FRAMEWORKS(ROW)                                                             \
    ROW (FRAMEWORK_UNKNOWN, "unknown")                                                 \
    ROW (FRAMEWORK_PYTORCH, "pytorch")                                                 \
    ROW (FRAMEWORK_TENSORFLOW, "tensorflow")                                           \
    ROW (FRAMEWORK_MXNET, "mxnet")                                                     \
    ROW (FRAMEWORK_PADDLE, "paddle")                                                   \
    ROW (FRAMEWORK_JAX, "jax")                                                         \
    ROW (FRAMEWORK_ONEFLOW, "oneflow")                                                 \
    ROW (FRAMEWORK_MEGATRON, "megatron")                                               \
    ROW (FRAMEWORK_HUGECTR, "hugectr")                                                 \
    ROW (FRAMEWORK_MINDSPORE, "mindspore")
DN_ENUM (dn_framework, FRAMEWORKS);

#define DN_STACKS(ROW)                                                                 \
    ROW (STACK_UNKNOWN, "unknown")                                                     \
    ROW (STACK_NGC, "ngc")                                                             \
    ROW (STACK_PLAIN, "plain")                                                         \
    ROW (STACK_MLPERF, "mlperf")
DN_ENUM (dn_stack, STACKS);

#define DN_PARALLELS(ROW)                                                              \
    ROW (PARALLEL_UNKNOWN, "unknown")                                                  \
    ROW (PARALLEL_DP, "dp")                                                            \
    ROW (PARALLEL_DATAPARALLEL, "dataparallel") /* torch.nn.DataParallel */            \
    ROW (PARALLEL_ADAPTDL, "adaptdl")           /* its AdaptiveDataParallel */         \
    ROW (PARALLEL_ZERO1, "zero1")                                                      \
    ROW (PARALLEL_ZERO2, "zero2")                                                      \
    ROW (PARALLEL_ZERO3, "zero3")                                                      \
    ROW (PARALLEL_FSDP, "fsdp")                                                        \
    ROW (PARALLEL_HSDP, "hsdp") /* FSDP within a node, replicas between nodes */
DN_ENUM (dn_parallel, PARALLELS);

#define DN_OFFLOADS(ROW)                                                               \
    ROW (OFFLOAD_UNKNOWN, "unknown")                                                   \
    ROW (OFFLOAD_NONE, "none")                                                         \
    ROW (OFFLOAD_OPTIMIZER, "optimizer") /* optimizer state and update on the host */  \
    ROW (OFFLOAD_PARAMS, "params")       /* these and the weights */                   \
    ROW (OFFLOAD_ACTIVATIONS, "activations")
DN_ENUM (dn_offload, OFFLOADS);

#define DN_QUANTS(ROW)                                                                 \
    ROW (QUANT_UNKNOWN, "unknown")                                                     \
    ROW (QUANT_NONE, "none")                                                           \
    ROW (QUANT_INT8, "int8")                                                           \
    ROW (QUANT_NF4, "nf4")                                                             \
    ROW (QUANT_GPTQ, "gptq")                                                           \
    ROW (QUANT_AWQ, "awq")
DN_ENUM (dn_quant, QUANTS);

#define DN_ATTENTIONS(ROW)                                                             \
    ROW (ATTENTION_UNKNOWN, "unknown")                                                 \
    ROW (ATTENTION_AUTO, "auto")                                                       \
    ROW (ATTENTION_FLASH, "flash")                                                     \
    ROW (ATTENTION_FUSED, "fused")                                                     \
    ROW (ATTENTION_PLAIN, "plain")
DN_ENUM (dn_attention_kind, ATTENTIONS);

#define DN_LINKS(ROW)                                                                  \
    ROW (LINK_UNKNOWN, "unknown")                                                      \
    ROW (LINK_NVLINK, "nvlink")                                                        \
    ROW (LINK_PCIE, "pcie")                                                            \
    ROW (LINK_IB, "ib")
DN_ENUM (dn_link_kind, LINKS);

#define DN_DECODES(ROW)                                                                \
    ROW (DECODE_UNKNOWN, "unknown")                                                    \
    ROW (DECODE_NONE, "none")                                                          \
    ROW (DECODE_JPEG, "jpeg")                                                          \
    ROW (DECODE_TEXT, "text")                                                          \
    ROW (DECODE_AUDIO, "audio")                                                        \
    ROW (DECODE_VIDEO, "video")
DN_ENUM (dn_decode, DECODES);

#define DN_AUGMENTS(ROW)                                                               \
    ROW (AUGMENT_UNKNOWN, "unknown")                                                   \
    ROW (AUGMENT_NONE, "none")                                                         \
    ROW (AUGMENT_LIGHT, "light")   /* one or two operations, RandAugment */            \
    ROW (AUGMENT_HEAVY, "heavy")   /* blur and jitter, mixed copies */                 \
    ROW (AUGMENT_MOSAIC, "mosaic") /* of four pictures */                              \
    ROW (AUGMENT_NNUNET, "nnunet") /* of volumes, as nnU-Net */
DN_ENUM (dn_augment, AUGMENTS);

#define DN_INPUTS(ROW)                                                                 \
    ROW (INPUT_UNKNOWN, "unknown")                                                     \
    ROW (INPUT_REAL, "real")                                                           \
    ROW (INPUT_SYNTHETIC, "synthetic")                                                 \
    ROW (INPUT_GPU, "gpu") /* decoded on the GPU */
DN_ENUM (dn_input, INPUTS);

#define DN_STEMS(ROW)                                                                  \
    ROW (STEM_UNKNOWN, "unknown")                                                      \
    ROW (STEM_IMAGENET, "imagenet")                                                    \
    ROW (STEM_CIFAR, "cifar")
DN_ENUM (dn_stem, STEMS);

#define DN_HEADS(ROW)                                                                  \
    ROW (HEAD_UNKNOWN, "unknown")                                                      \
    ROW (HEAD_CLASSIFIER, "classifier")                                                \
    ROW (HEAD_LM, "lm")                                                                \
    ROW (HEAD_PRETRAIN, "pretrain")                                                    \
    ROW (HEAD_ADAPTIVE, "adaptive")                                                    \
    ROW (HEAD_NONE, "none")
DN_ENUM (dn_head, HEADS);

#define DN_OBJECTIVES(ROW)                                                             \
    ROW (OBJECTIVE_UNKNOWN, "unknown")                                                 \
    ROW (OBJECTIVE_COST, "cost")                                                       \
    ROW (OBJECTIVE_TIME, "time")                                                       \
    ROW (OBJECTIVE_ENERGY, "energy")                                                   \
    ROW (OBJECTIVE_FINISH, "finish") /* the wait for the GPUs, and the run */
DN_ENUM (dn_objective, OBJECTIVES);

#define DN_ANSWERS(ROW)                                                                \
    ROW (ANSWER_UNKNOWN, "unknown")                                                    \
    ROW (ANSWER_NO, "no")                                                              \
    ROW (ANSWER_YES, "yes")
DN_ENUM (dn_answer, ANSWERS);
/* clang-format on */

extern const struct dn_names dn_link_names;
extern const struct dn_names dn_decode_names;

/* Spatial size of one input: n_dims is 1 (audio), 2 (image) or 3 (volume); 0 unset. */
struct dn_image {
    int n_dims;
    int64_t dim[3];
};

/* A training run. Numbers that were not given are DN_UNSET (reals: -1), enums their
 * UNKNOWN, strings "". Sizes are per sample, batch is per GPU.
 */
struct dn_spec {
    /* architecture */
    char model[DN_NAME_MAX];
    int64_t layers;
    int64_t hidden;
    int64_t heads;
    int64_t head_dim;
    int64_t kv_heads;
    int64_t ffn;
    int64_t vocab;
    int64_t experts;
    int64_t top_k;
    int64_t shared_experts;
    int64_t expert_ffn;
    double capacity;      /* of an expert, over its mean load */
    int64_t dense_layers; /* without experts, before those with */
    int64_t positions;    /* rows of the learned table */
    int64_t tied;         /* 0, 1: the output layer shares the embedding's weights */
    int64_t seq_len;
    int64_t tgt_len;
    int64_t mem_len;
    int64_t window; /* tokens that a token attends to */
    struct dn_image image;
    int64_t in_channels;
    int64_t classes;
    double width;
    enum dn_stem stem;
    int64_t tables;
    int64_t embed_dim;
    enum dn_head head;
    double params;      /* learned parameters of a network outside the zoo */
    double flops;       /* its forward FLOPs per sample */
    double activations; /* its elements saved per sample */
    /* training */
    int64_t batch;
    int64_t global_batch;
    int64_t grad_accum;
    enum dn_precision precision;
    enum dn_optimizer optimizer;
    enum dn_checkpointing checkpointing;
    enum dn_loss loss;
    enum dn_method method;
    int64_t passes; /* forward and backward, in turn, of a sample and step */
    char teacher[DN_NAME_MAX];
    int64_t compile;         /* 0, 1 */
    int64_t fused_optimizer; /* 0, 1 */
    enum dn_layout layout;
    enum dn_framework framework;
    enum dn_stack stack;
    /* fine-tuning */
    int64_t lora; /* rank */
    char lora_targets[DN_NAME_MAX];
    enum dn_quant quant; /* of frozen weights */
    double trainable;    /* share of the parameters that learns */
    char frozen[DN_NAME_MAX];
    /* attention */
    enum dn_attention_kind attention;
    int64_t packing;  /* 0, 1 */
    int64_t seq_mean; /* mean tokens of a sample */
    /* software */
    int64_t since; /* year */
    char torch[DN_NAME_MAX];
    /* amount of work */
    double epochs;
    int64_t steps; /* optimizer steps */
    char dataset[DN_NAME_MAX];
    int64_t samples;
    int64_t eval_every; /* optimizer steps between evaluations */
    int64_t eval_samples;
    double tokens;
    int64_t runs; /* trainings one after another; the rest describes one of them */
    /* parallelism */
    int64_t gpus; /* of the whole job */
    int64_t nodes;
    enum dn_parallel parallel;
    int64_t tp;
    int64_t sp; /* 0, 1 */
    int64_t pp;
    int64_t vpp; /* model chunks of a stage */
    int64_t cp;
    int64_t ep;
    enum dn_offload offload;
    enum dn_link_kind link;
    char net[DN_NAME_MAX]; /* between nodes: "ib400x8" */
    /* input */
    int64_t workers; /* per GPU */
    enum dn_decode decode;
    enum dn_augment augment;
    enum dn_input input;
    int64_t sample_bytes;
    /* device */
    int64_t power_limit; /* W */
    /* wishes */
    int64_t deadline; /* s */
    enum dn_objective objective;
    double budget; /* in the unit of the rules Cost */
    char app[DN_NAME_MAX];
    char name[DN_NAME_MAX];   /* of the network, for people */
    int64_t automatic;        /* 1: by its history, with nothing else */
    enum dn_answer capture;   /* may the job describe itself? */
    struct dn_keyset derived; /* keys that dn_spec_resolve () has filled in */
    struct dn_keyset by_run;  /* and dn_spec_fill (), which are among them */
};

enum dn_key_type {
    DN_KEY_INT,
    DN_KEY_REAL,
    DN_KEY_ENUM,
    DN_KEY_NAME,
    DN_KEY_IMAGE,
    DN_KEY_TIME,
    DN_N_KEY_TYPES
};

/* One row per key: parser, checks, help, man page and its test all read this table. */
struct dn_key {
    const char *name;
    const char *group; /* "architecture", "training", ... */
    bool of_run;       /* does not say which application it is */
    enum dn_key_type type;
    size_t offset; /* in struct dn_spec */
    double min;
    double max;
    struct dn_names names; /* of an enum */
    const char *help;      /* with its unit */
};

/* The table; its length in *n_keys. */
const struct dn_key *dn_spec_keys (int *n_keys) DN_COLD;

/* The key of that name, or NULL. */
const struct dn_key *dn_spec_key (struct dn_span name);

/* Has the key been given? */
bool dn_spec_has (const struct dn_spec *spec, const struct dn_key *key);

/* The set of the key that is stored at 'offset'; empty if there is none. */
struct dn_keyset dn_keyset_of (size_t offset);
#define DN_KEYSET(key) dn_keyset_of (offsetof (struct dn_spec, key))

/* Does the key describe the network, and not how it is trained? */
bool dn_key_is_network (const struct dn_key *key);

/* Does the key take a number or names? These stand for frozen=all_but_ and the names.
 */
bool dn_key_takes_words (const struct dn_key *key);

/* The keys of the network that have been given, except those that state what holds for
 * any network without them: experts=1, top_k=1, shared_experts=0, dense_layers=0,
 * mem_len=0, width=1, stem=imagenet.
 */
struct dn_keyset dn_spec_network_keys (const struct dn_spec *spec);

/* Do the keys describe no network, but state auto, or which application the job is? Its
 * limits then follow its history alone, unless a sidecar has the network.
 */
bool dn_spec_is_by_history (const struct dn_spec *spec);

/* The keys that have been given, and not derived from others by dn_spec_resolve (). */
struct dn_keyset dn_spec_given (const struct dn_spec *spec);

/* Take what 'spec' does not say from 'other': keys that say which application it is,
 * and not how much a run does. They count as derived. Keys that together say how large
 * a step is are taken all or not at all.
 */
void dn_spec_fill (struct dn_spec *spec, const struct dn_spec *other);

/* The same without what was filled in, and derived from that. */
struct dn_spec dn_spec_of_words (const struct dn_spec *spec);

/* The keys whose values differ. */
struct dn_keyset dn_spec_differing (const struct dn_spec *a, const struct dn_spec *b);

/* The i-th key of a set, or NULL after the last. */
const struct dn_key *dn_spec_key_of (struct dn_keyset set, int i);

/* The value of a key as it would be written in metadata, "" when it is not set. */
#define DN_VALUE_MAX 96
void dn_spec_write_value (const struct dn_spec *spec,
                          const struct dn_key *key,
                          char text[DN_VALUE_MAX]);

/* All keys that are set, as metadata. False, and "", if 'size' is too small. */
bool dn_spec_write (const struct dn_spec *spec, char *text, size_t size);

/* A specification with nothing given. */
struct dn_spec dn_spec_empty (void);

/* Take a key out. */
void dn_spec_clear (struct dn_spec *spec, const struct dn_key *key);

/* The keys that say which application the run is, and not how much it does, on what, or
 * for what purpose.
 */
struct dn_spec dn_spec_of_application (const struct dn_spec *spec);

/* Read "key=value,key=value", also with blanks for commas, into 'spec'. A key replaces
 * the value in 'spec'; a key given twice in one text is an error. On failure 'spec' is
 * unchanged, and 'err' names the key, the value, the column and what was expected.
 */
int dn_spec_read (struct dn_span text, struct dn_spec *spec, struct dn_err *err);

/* The same for a text that begins in column 'column' of a longer one; with 0 errors
 * name no column.
 */
int dn_spec_read_at (struct dn_span text,
                     int column,
                     struct dn_spec *spec,
                     struct dn_err *err) DN_COLD;

/* Cut the first pair off: up to a comma, or a blank that is not beside a '='. The last
 * one leaves *rest with a text of NULL.
 */
struct dn_span dn_spec_cut (struct dn_span *rest);

/* The format of weights that the name of a network states: "Llama-3.2-1B-bnb-4bit",
 * "Mistral-7B-v0.1-GPTQ"; UNKNOWN if it states none.
 */
enum dn_quant dn_spec_quant_named (const char *model);

/* Whether a job has metadata. */
enum dn_metadata {
    DN_METADATA_NONE,  /* no metadata */
    DN_METADATA_OFF,   /* "dnnest:off" */
    DN_METADATA_GIVEN, /* 'spec' is filled */
};

/* The sources of metadata; each overrides those above it, key by key. All are borrowed
 * and may be NULL.
 */
struct dn_carriers {
    const char *sidecar; /* JSON: the text of the file that option or comment name */
    const struct dn_marks *marks;       /* of the script, its #DNNEST lines */
    const char *comment;                /* only the text after "dnnest:" counts */
    const char *option;                 /* the value of "--dnnest=" */
    const struct dn_deadline *deadline; /* by which they must be read; NULL: none */
};

/* The parts of a comment or an option: "off", "help" (option only), "@FILE",
 * "@FILE,key=value", "key=value"; of an option also "FILE.json,key=value", or "FILE": a
 * text that has no '=' or begins with '/' or '.'. The text of an absent span is NULL.
 * Nothing is checked.
 */
struct dn_note {
    bool off;
    bool help;
    struct dn_span file;
    struct dn_span pairs;
};

/* What is before metadata in a comment. */
#define DN_COMMENT_MARK "dnnest:"

/* The metadata of a comment: the text from the mark to a blank or a semicolon. The mark
 * must begin a word. The texts are NULL where there is no mark.
 */
struct dn_note dn_note_of_comment (const char *comment);
struct dn_note dn_note_of_option (const char *option);

/* Read the metadata of a job into 'spec', overriding its values, from all carriers but
 * the sidecar, of which only the presence is checked. "off" in any of them opts out.
 * Return 0 with *state set, or -1 with 'err' naming the carrier, the line and the
 * column, and 'spec' unchanged.
 */
int dn_spec_collect (const struct dn_carriers *carriers,
                     struct dn_spec *spec,
                     enum dn_metadata *state,
                     struct dn_err *err) DN_COLD;

/* Why a part of comment or script that looks like metadata is not read, "" if there is
 * none: a mark behind a quote, a pair after a blank, a line such as "# DNNEST" or one
 * after the first command. Nothing else of them is checked.
 */
void dn_spec_ignored (const struct dn_carriers *carriers,
                      char text[DN_REASON_MAX]) DN_COLD;

/* A row of the data-set table. */
struct dn_dataset {
    char name[DN_NAME_MAX];
    int64_t samples; /* DN_UNSET: running text */
    int64_t sample_bytes;
    enum dn_decode decode;
    double tokens; /* of one pass; -1 */
};

struct dn_datasets {
    struct dn_dataset rows[DN_DATASETS_MAX];
    int n_rows;
};

/* Read the table of data sets from the text of a file: lines
 * "Dataset=NAME Samples=N SampleBytes=N Decode=KIND" or "Dataset=NAME Tokens=N", '#'
 * comments. 'file' names it in errors.
 */
int dn_datasets_read (struct dn_span text,
                      const char *file,
                      struct dn_datasets *datasets,
                      struct dn_err *err) DN_COLD;

/* Check the keys against each other and fill in what follows from them: samples,
 * sample_bytes and decode from the data set, gpus from 'n_gpus', batch from
 * global_batch, with lora= quant from the name of the network. 'n_gpus' is the number
 * of GPUs that the job requests, used if the metadata gives none; DN_UNSET if unknown.
 * Return -1 with 'err' naming the missing or contradicting key.
 */
int dn_spec_resolve (struct dn_spec *spec,
                     const struct dn_datasets *datasets,
                     int64_t n_gpus,
                     struct dn_err *err) DN_COLD;

/* The network between the nodes of a job. */
struct dn_net {
    bool rdma;       /* its adapters write to memory themselves */
    double rate;     /* of one adapter, byte/s per direction */
    double adapters; /* of a node */
};

/* Read a value of net=: "ib400", "roce100x8". On failure 'net' is unchanged, and 'err'
 * says what was expected.
 */
int dn_net_read (const char *text, struct dn_net *net, struct dn_err *err);

/* What to call the network: name=, else model=; "" where neither is given. */
const char *dn_spec_shown (const struct dn_spec *spec);

/* The version that torch= states as 100 * major + minor, or -1 if it was not given or
 * is none.
 */
int dn_spec_torch (const struct dn_spec *spec);

/* Optimizer steps of one training, or -1 when the amount of work was not given. */
double dn_spec_steps (const struct dn_spec *spec);

/* What the keys lack for the amount of work; DN_REASON_NONE if it is known. */
enum dn_reason_code dn_spec_lacks_work (const struct dn_spec *spec);

/* Trainings one after another, 1 unless runs= was given. */
double dn_spec_runs (const struct dn_spec *spec);

#endif
