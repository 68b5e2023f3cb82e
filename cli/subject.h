/* subject.h - the subject of a command: a specification, its network, devices
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SUBJECT_H
#define DN_SUBJECT_H

#include "graph/describe.h"
#include "graph/sidecar.h"
#include "output/show.h"
#include "site.h"

struct dn_subject {
    const struct dn_site *site; /* borrowed: where it would run */
    struct dn_spec spec;        /* resolved */
    struct dn_layers layers;    /* of a sidecar; n 0: the zoo's */
    struct dn_span file;        /* of the sidecar, in 'text'; empty: none */
    struct dn_graph graph;
    char *text;       /* owned: the description */
    bool open_batch;  /* it has no batch, and batch=1 was taken */
    bool open_tokens; /* it is a config.json, which has no length of samples */
    int64_t user; /* whose history counts; the caller of the command unless changed */
};

/* Does a description begin with "@FILE", or with "FILE.json"? The file may also be a
 * config.json of Hugging Face.
 */
bool dn_subject_is_json (const char *text);

/* Does it begin with the name of a network alone, as in "gpt2" or "gpt2,batch=4"? */
bool dn_subject_is_network (const struct dn_site *site, const char *text);

/* -1 with 'err' if it begins with the name of a file of weights, such as GGUF. */
int dn_subject_refuse_weights (const char *text, struct dn_err *err);

/* Print 'err', which reading a description set, and return its exit code: that of a
 * file that cannot be read, or of wrong metadata.
 */
int dn_subject_fail (const struct dn_err *err);

/* The keys of 'spec' in the form of metadata: "model=resnet50,batch=32". -1 with
 * DN_E_LIMIT if 'text' is too short.
 */
int dn_subject_write (const struct dn_spec *spec,
                      char *text,
                      size_t size,
                      struct dn_err *err);

/* The keys that were given and that no prediction of a built subject uses. */
struct dn_keyset dn_subject_unread (const struct dn_subject *subject);

/* Read "key=value,key=value". All pairs that are wrong are said, the last one in 'err',
 * and keys of other programs that are passed over.
 */
int dn_subject_read_pairs (const char *text, struct dn_spec *spec, struct dn_err *err);

/* Read the arguments that describe a run into spec and layers, as they were given:
 * pairs, joined or not, after the name of a network, the path of a file, or neither; or
 * "-": stdin. A name or a file without a batch gets batch=1. Return -1 with 'err' and
 * 'subject' empty.
 */
int dn_subject_parse (char *const args[],
                      int n_args,
                      struct dn_subject *subject,
                      struct dn_err *err);

/* The same, resolve it and build its network. Warn about keys that no prediction
 * uses. Return -1 with 'err' and 'subject' empty.
 */
int dn_subject_read (const struct dn_site *site,
                     char *const args[],
                     int n_args,
                     struct dn_subject *subject,
                     struct dn_err *err);

/* The same for spec and layers that have been read. */
int dn_subject_build (const struct dn_site *site,
                      int64_t n_gpus,
                      struct dn_subject *subject,
                      struct dn_err *err);

/* Read the sidecar that the option or the comment of 'job' names, as the plugins do at
 * submission. It is stored in 'job', and the caller must free it.
 */
int dn_subject_carry (const struct dn_site *site,
                      struct dn_job *job,
                      char **sidecar,
                      struct dn_err *err);

/* NULL-safe. */
void dn_subject_free (struct dn_subject *subject);

/* The device that a name means: of a GPU type of the site, else of the catalogue. NULL
 * with 'err', which names similar ones.
 */
const struct dn_device *dn_subject_device (const struct dn_site *site,
                                           const char *name,
                                           struct dn_err *err);

/* The first GPU type of the site that is such a device, or NULL. */
const struct dn_gpu_type *dn_subject_type (const struct dn_site *site,
                                           const struct dn_device *device);

/* The case of the subject on a device with so many CPUs per GPU (<= 0: unknown). */
struct dn_case dn_subject_case (const struct dn_subject *subject,
                                const struct dn_device *device,
                                double cpus_per_gpu);

/* Predict on devices, with as many CPUs as are needed. -1 with 'err' if a residual
 * cannot be computed.
 */
int dn_subject_predict (const struct dn_subject *subject,
                        const struct dn_device *const devices[],
                        int n_devices,
                        struct dn_estimate estimates[],
                        struct dn_err *err);

/* The cost and limits of 'estimate' at this site, for a GPU of this name and price, of
 * which neither type nor state are known.
 */
struct dn_forecast dn_subject_run (const struct dn_subject *subject,
                                   const char *name,
                                   double cost_per_hour,
                                   const struct dn_estimate *estimate);

/* Write it to the file 'out', or to stdout if that is NULL. */
int dn_sidecar_put (const struct dn_sidecar *sidecar,
                    const char *out,
                    struct dn_err *err);

#endif
