/* loader.h - what one sample costs a core of an input pipeline
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_LOADER_H
#define DN_LOADER_H

#include "learn/samples.h"

/* One kind of sample. Each thread that works has a state of its own. */
struct dn_loader {
    enum dn_sample_op op;
    const char *shape;
    double bytes; /* of one sample; tokens of a text */
    /* Begin with what all threads share, NULL with 'err'. */
    void *(*begin) (const char *folder, struct dn_err *err);
    /* A thread's state, NULL without memory. */
    void *(*open) (void *shared);
    /* Load the i-th sample; -1 if it cannot be. */
    int (*load) (void *state, int64_t i);
    void (*close) (void *state);
    void (*end) (void *shared);
};

/* JPEG pictures, decoded, cropped and resized to 224 x 224; without libjpeg not built.
 * 'folder' has the pictures; NULL: of our own making.
 */
extern const struct dn_loader dn_loader_jpeg;

/* Text cut into pieces of a vocabulary. */
extern const struct dn_loader dn_loader_text;

/* Arrays of a file, copied into batches. */
extern const struct dn_loader dn_loader_array;

/* A generator that every run repeats: splitmix64 (Steele et al. 2014). */
uint64_t dn_loader_random (uint64_t *state);

#endif
