/* limits.h - every bound on external input, with its reason
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LIMITS_H
#define DN_LIMITS_H

#include <stdint.h>

/* Names of models, devices, GPU types and keys. The longest catalogue name has 24. */
#define DN_NAME_MAX 64

/* Slurm rejects comment, features and tres strings above 1024 bytes; a longer comment
 * reaches the plugin before that check, so its scan needs a bound.
 */
#define DN_COMMENT_MAX  65536
#define DN_METADATA_MAX 4096
#define DN_TRES_MAX     1024

/* #DNNEST lines come before the first command, in the header of a script. */
#define DN_SCRIPT_HEAD_MAX 65536

/* Bytes of a script whose commands are read, in some 30 microseconds per KiB. A job
 * with a longer script (Slurm allows 4 MiB) keeps its time, GPUs and CPUs.
 */
#define DN_SCRIPT_MAX (128 * 1024)

/* Words and marks of a script that are read, apart from comments, in some 2 ms at most.
 * A job whose script has more keeps the same; those of people have some hundred.
 */
#define DN_SCRIPT_TOKENS_MAX 16384

/* Variables of a job whose request is changed, which are searched several times, and
 * entries of its SPANK environment. The
 * kernel passes at most some 2 MiB to a program; people have 30 to 300 variables.
 */
#define DN_ENV_MAX 8192

/* Entries of one tres string ("gpu:a100:2,gpu:v100:1,shard:4"). */
#define DN_TRES_ENTRIES_MAX 16

/* Names in a constraint that is parsed ("a100&ib"), and its characters, which must fit
 * into the line for the user.
 */
#define DN_FEATURES_MAX      8
#define DN_FEATURES_TEXT_MAX 128

/* A list of excluded nodes that is counted, and the partitions that a job may name; of
 * a longer one the job keeps its GPU type.
 */
#define DN_NODES_TEXT_MAX      1024
#define DN_PARTITIONS_TEXT_MAX 1024
#define DN_PARTITIONS_MAX      16

/* GPU types that one site may map, and so candidates of one decision. */
#define DN_CANDIDATES_MAX 32

/* Devices of the catalogue: several times those of etc/hardware. */
#define DN_DEVICES_MAX 256

/* Generations of devices: several times those of etc/hardware/generations.conf. */
#define DN_GENERATIONS_MAX 64

/* Rows of the data-set table. */
#define DN_DATASETS_MAX 256

/* Operators of a graph after repeated blocks have been merged. The largest network of
 * the zoo has some 700.
 */
#define DN_GRAPH_OPS_MAX 20000

/* Layers that a specification may give: GPT-3 has 96. */
#define DN_LAYERS_MAX 4096

/* Policy lines of one configuration, names of one of their scopes, and members of a
 * group: they bound the time that a submission waits for its rules.
 */
#define DN_POLICY_LINES_MAX   64
#define DN_POLICY_NAMES_MAX   64
#define DN_POLICY_MEMBERS_MAX 65536

/* Names of users and groups that do not exist, of which a configuration keeps the text.
 */
#define DN_POLICY_UNKNOWN_MAX 16

/* Edits of one patch: five CPU places, five GPU strings and their environment, time,
 * memory, record.
 */
#define DN_EDITS_MAX 24

/* Sentences that explain one decision. */
#define DN_REASONS_MAX 48
#define DN_REASON_MAX  160

/* Lines of warnings that a user gets, and bytes of one: a sentence and a reason. */
#define DN_WARNINGS_MAX 3
#define DN_WARNING_MAX  480

/* A change of a description that makes a run fit, and the keys that were assumed, as
 * they are said in a warning.
 */
#define DN_REMEDY_MAX  96
#define DN_ASSUMED_LEN 160

/* The architectures that a program's software has kernels for: "sm_70,sm_80,...". That
 * of NVIDIA's containers has 80 characters.
 */
#define DN_ARCH_MAX 256

/* The record in admin_comment is stored by slurmdbd with every job. */
#define DN_RECORD_MAX 1023

/* The kin of a job in it: "fp:870a06ccd34ba3b9/64", a fingerprint and the batch that
 * its script states, if it does (request/fingerprint.h).
 */
#define DN_KIN_MAX 36

/* Tasks, CPUs and GPUs of one job: Slurm counts them in 32 bits. */
#define DN_COUNT_MAX INT64_C (4294967296)

/* A site.json, and scales of one kind in it: a line of 100 bytes each. */
#define DN_TUNING_MAX        (256 * 1024)
#define DN_TUNING_SCALES_MAX 1024

/* Runs that a site.json keeps: of all applications, some 300 bytes each, and of one,
 * whose square is the time that a prediction takes.
 */
#define DN_HISTORY_MAX     512
#define DN_HISTORY_OWN_MAX 32

/* A configuration, catalogue or data-set file. */
#define DN_FILE_MAX (1024 * 1024)

/* A file of dnnestd: a snapshot with the most associations has some 6 MB. */
#define DN_STATE_FILE_MAX (8 * 1024 * 1024)

/* The history of applications: 10^5 rows of some 150 bytes, 310 at most, and what their
 * runs have described.
 */
#define DN_APPS_FILE_MAX (48 * 1024 * 1024)

/* Rows of a snapshot. A cluster of 10^5 nodes has some hundred groups of like nodes; a
 * university has some 10^4 associations. The parents of an association are counted up
 * to that of the cluster.
 */
#define DN_NODE_GROUPS_MAX        4096
#define DN_WAITS_MAX              256
#define DN_CLUSTER_PARTITIONS_MAX 1024
#define DN_QOS_MAX                4096
#define DN_ASSOCS_MAX             65536
#define DN_ASSOC_DEPTH_MAX        64
#define DN_TRES_LIMITS_MAX        262144

/* The manifest of a model bundle. One of the current format has about 6 KB. Larger ones
 * of format 1 are refused by their version number, which must be read first.
 */
#define DN_MANIFEST_MAX        (1024 * 1024)
#define DN_MANIFEST_VALUES_MAX 100000

/* Nesting of any file of a bundle. */
#define DN_BUNDLE_DEPTH_MAX 16

/* Trees of a quantity, their nodes in all, and their depth: they bound the time of one
 * prediction, 2000 * 32 comparisons.
 */
#define DN_TREES_MAX      2000
#define DN_TREE_NODES_MAX 65536
#define DN_TREE_DEPTH_MAX 32

/* Files besides the manifest, runs that represent the training domain, points of the
 * spread as a function of the distance from it, levels of the bounds, groups with
 * their own bounds, and kinds of networks in stacks that runs were trained on.
 */
#define DN_BUNDLE_FILES_MAX 8
#define DN_PROTOTYPES_MAX   1024
#define DN_KNOTS_MAX        16
#define DN_LEVELS_MAX       16
#define DN_BOUND_GROUPS_MAX 32
#define DN_VALIDATED_MAX    128

#endif
