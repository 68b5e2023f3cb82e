/* bundle.h - the learned part: trees, their domain, and their bounds
 *
 * In: the bytes of a manifest and of the files that it names (etc/bundle, or written by
 * 'dnnest-dev train'). Out: struct dn_bundle, const from then on and shared by all
 * threads. The caller frees it, when no estimate is in use any more. A bundle is
 * accepted as a whole or rejected: another version, another vector of features, a file
 * of another size or checksum, or a number out of range is an error that names it.
 *
 * Predictions evaluate the trees with dnnest's own code. So the manifest must state
 * that libxgboost, which made them, gives the same predictions. It has, for each file
 * of trees, a record "confirmed" with the version of libxgboost, the SHA-256 of the
 * file, the number of rows that were compared, and the largest difference. 'dnnest
 * train' writes it (learn/confirm.h); trees without one, or whose file has another
 * SHA-256, are refused.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_BUNDLE_H
#define DN_BUNDLE_H

#include "base/digest.h"
#include "predict/features.h"
#include "predict/trees.h"

#define DN_BUNDLE_FORMAT   2
#define DN_BUNDLE_MANIFEST "manifest.json"

/* How much libxgboost's sum of the trees may differ from dnnest's, relative to 1 + |the
 * sum|. libxgboost adds in single precision.
 */
#define DN_CONFIRM_TOLERANCE 1e-4

/* Limit of features, which keeps sums of them finite. */
#define DN_FEATURE_MAX 1e6

/* The quantities that a bundle corrects and bounds. */
enum dn_quantity {
    DN_QUANTITY_STEP,
    DN_QUANTITY_MEMORY,
    DN_QUANTITY_POWER,
    DN_N_QUANTITIES
};

extern const struct dn_names dn_quantity_names;

/* A file next to the manifest. */
struct dn_bundle_file {
    char name[DN_NAME_MAX];
    int64_t bytes;
    struct dn_digest digest;
    bool added;
};

/* The trees' sum times 'shrink', kept within -limit..limit, is the natural logarithm
 * of measured over predicted.
 */
struct dn_correction {
    struct dn_trees *trees; /* NULL: none; owned */
    double shrink;
    double limit;
    char file[DN_NAME_MAX];
};

struct dn_bounds {
    struct dn_quantiles all; /* n 0: none, the normal law */
    struct dn_bound_group {
        char name[DN_NAME_MAX];
        struct dn_quantiles quantiles;
    } groups[DN_BOUND_GROUPS_MAX];
    int n_groups;
};

/* A kind of network in a stack (features.h) of which there were training runs. */
struct dn_validated {
    char kind[DN_NAME_MAX];
    char stack[DN_NAME_MAX];
    bool corrected; /* the residual was shown to help there */
};

/* What of a run was among the training runs. */
/* clang-format off */
#define DN_VALIDATED_LEVELS(ROW)                                                       \
    ROW (VALIDATED_NOTHING, "nothing")                                                 \
    ROW (VALIDATED_KIND, "kind") /* the kind of network, in other stacks */            \
    ROW (VALIDATED_STACK, "stack") /* the kind of network in its stack */
DN_ENUM (dn_validated_level, VALIDATED_LEVELS);
/* clang-format on */

extern const struct dn_names dn_validated_level_names;

struct dn_validation {
    bool unknown; /* the bundle does not say: it was made before bundles did */
    enum dn_validated_level level;
    bool corrected; /* the residual counts */
};

/* At this distance from the training runs: the weight of the residual, and the spread
 * of the corrected step time.
 */
struct dn_knot {
    double distance;
    double residual;
    double sigma;
};

/* Coordinates come in groups of so many, four vectors of four. */
#define DN_AXES_GROUP 16

/* All features, the last group filled up. */
#define DN_AXES_ALL                                                                    \
    ((DN_N_FEATURES + DN_AXES_GROUP - 1) / DN_AXES_GROUP * DN_AXES_GROUP)

/* What the host and launches take is known least: the spread of runs with small kernels
 * is larger. It is multiplied with exp (slope * (at - x)), where x is the feature
 * DN_FEATURE_KERNEL_FLOPS within low..high.
 */
struct dn_crumbs {
    double slope; /* 0: the spread does not depend on it */
    double at;
    double low;
    double high;
};

/* The runs that represent the training data, as points of the features that have a
 * weight, scaled so that the distance is the Euclidean one. Coordinates that only fill
 * a group up have the scale 0.
 */
struct dn_domain {
    struct dn_crumbs crumbs;
    int used[DN_AXES_ALL + DN_AXES_GROUP]; /* feature of each coordinate */
    float scale[DN_AXES_ALL + DN_AXES_GROUP];
    int n_used;    /* whole groups */
    int n_network; /* of them, the first ones, that do not depend on the device */
    float *points; /* n_points times n_used, 16-aligned; owned */
    int n_points;
    struct dn_knot knots[DN_KNOTS_MAX]; /* by ascending distance */
    int n_knots;
};

/* The learned part of a site, from its own runs; predict/tuning.h. */
struct dn_tuning;

struct dn_bundle {
    char name[DN_NAME_MAX];
    struct dn_bundle_file files[DN_BUNDLE_FILES_MAX];
    int n_files;
    struct dn_correction corrections[DN_N_QUANTITIES];
    struct dn_bounds bounds[DN_N_QUANTITIES];
    struct dn_bounds within; /* of the step, in symmetric laws */
    struct dn_domain domain;
    struct dn_validated validated[DN_VALIDATED_MAX];
    int n_validated;          /* 0: unknown */
    struct dn_tuning *tuning; /* NULL: none; owned */
};

/* Read a manifest. The bundle is unusable until its files have been added. NULL with
 * 'err'. Freed with dn_bundle_free ().
 */
struct dn_bundle *dn_bundle_open (struct dn_span manifest, struct dn_err *err) DN_COLD;

/* Add one of the files that the manifest names. */
int dn_bundle_add (struct dn_bundle *bundle,
                   const char *name,
                   struct dn_span text,
                   struct dn_err *err) DN_COLD;

/* Check that all files were added. From then on the bundle does not change. */
int dn_bundle_close (struct dn_bundle *bundle, struct dn_err *err) DN_COLD;

/* NULL-safe. */
void dn_bundle_free (struct dn_bundle *bundle) DN_COLD;

/* Maximum bytes of a file of that name; -1 if no bundle has such a file. */
int64_t dn_bundle_file_max (const char *name) DN_COLD;

/* Read the points of a domain that has its scale from the bytes of a file (flat.h). -1
 * with 'err'. Free with dn_domain_free ().
 */
int dn_domain_read (struct dn_span file,
                    struct dn_domain *domain,
                    struct dn_err *err) DN_COLD;

void dn_domain_free (struct dn_domain *domain);

/* The distances of 'n' runs, 1 to DN_CANDIDATES_MAX, of DN_N_FEATURES each. The results
 * are the same as one by one; it is faster where the runs are similar. When the
 * deadline (NULL: none) passes meanwhile, they are unusable.
 */
void dn_domain_distances (const struct dn_domain *domain,
                          const float *features,
                          int n,
                          const struct dn_deadline *deadline,
                          double *distances);

/* Distance of a run from the training runs. */
static inline double dn_domain_distance (const struct dn_domain *domain,
                                         const float features[DN_N_FEATURES])
{
    double distance;

    dn_domain_distances (domain, features, 1, NULL, &distance);
    return distance;
}

/* The knot at that distance, interpolated; beyond the last knot, the values of the
 * last.
 */
struct dn_knot dn_domain_at (const struct dn_domain *domain, double distance);

/* The factor on the spread of a run with these features. */
double dn_crumbs_factor (const struct dn_crumbs *crumbs,
                         const float features[DN_N_FEATURES]);

/* A run that does not state its stack is in one of those of its kind of network, but
 * the residual counts for it only if it was shown to help such runs.
 */
struct dn_validation dn_bundle_validation (const struct dn_bundle *bundle,
                                           const char *kind,
                                           const char *stack);

/* The quantiles of a run: those of its kind of network at the level of validation
 * (group "conv.stack"), of all kinds at that level ("stack"), or of all runs. NULL: the
 * normal law.
 */
const struct dn_quantiles *dn_bounds_at (const struct dn_bounds *bounds,
                                         const char *kind,
                                         const struct dn_validation *validation);

/* Give each law the symmetric one of the same group, or that of all. Borrowed. */
void dn_bounds_link (struct dn_bounds *bounds, const struct dn_bounds *within);

/* The quantiles of a group, or of all; NULL: the normal law. */
const struct dn_quantiles *dn_bounds_of (const struct dn_bounds *bounds,
                                         const char *group);

#endif
