/* loader.h - loaders of one kind of sample, as in input pipelines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LOADER_H
#define DN_LOADER_H

#include "learn/samples.h"

/* One kind of sample. Each worker thread has its own state. */
struct dn_loader {
    enum dn_sample_op op;
    const char *shape;
    double bytes; /* of one sample; tokens of a text */
    /* Make the data that all threads share; NULL with 'err'. */
    void *(*begin) (const char *folder, struct dn_err *err);
    /* A thread's state, NULL if out of memory. */
    void *(*open) (void *shared);
    /* Load the i-th sample; -1 on failure. */
    int (*load) (void *state, int64_t i);
    void (*close) (void *state);
    void (*end) (void *shared);
};

/* JPEG pictures, decoded, cropped and resized to 224 x 224; not built without libjpeg.
 * 'folder' has the pictures; NULL: generated ones.
 */
extern const struct dn_loader dn_loader_jpeg;

/* Text cut into pieces of a vocabulary. */
extern const struct dn_loader dn_loader_text;

/* Arrays of a file, copied into batches. */
extern const struct dn_loader dn_loader_array;

/* A random generator that repeats in every run: splitmix64 (Steele et al. 2014). */
uint64_t dn_loader_random (uint64_t *state);

#endif
