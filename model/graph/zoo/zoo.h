/* zoo.h - the families of networks that the zoo is made of
 *
 * A family is one file: a table with a row of hyper-parameters per name, and a builder
 * that reads a row, lets the keys of the specification override it, and walks through
 * the network with the verbs of build.h. The next model of a family is a row.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ZOO_H
#define DN_ZOO_H

#include "graph/build.h"

typedef void (*dn_zoo_build_f) (struct dn_build *build, const void *row);

struct dn_zoo_family {
    const void *rows; /* each begins with a struct dn_zoo_entry */
    size_t row_size;
    int n_rows;
    dn_zoo_build_f build;
};

#define DN_ZOO_FAMILY(table, function)                                                 \
    {                                                                                  \
        (table), sizeof ((table)[0]), (int) DN_N_ELEMENTS (table), (function)          \
    }

extern const struct dn_zoo_family dn_zoo_resnet;
extern const struct dn_zoo_family dn_zoo_vgg;
extern const struct dn_zoo_family dn_zoo_squeezenet;
extern const struct dn_zoo_family dn_zoo_densenet;
extern const struct dn_zoo_family dn_zoo_mobilenet;
extern const struct dn_zoo_family dn_zoo_shufflenet;
extern const struct dn_zoo_family dn_zoo_efficientnet;
extern const struct dn_zoo_family dn_zoo_regnet;
extern const struct dn_zoo_family dn_zoo_convnext;
extern const struct dn_zoo_family dn_zoo_vit;
extern const struct dn_zoo_family dn_zoo_swin;
extern const struct dn_zoo_family dn_zoo_unet;
extern const struct dn_zoo_family dn_zoo_nnunet;
extern const struct dn_zoo_family dn_zoo_detection;
extern const struct dn_zoo_family dn_zoo_bert;
extern const struct dn_zoo_family dn_zoo_gpt;
extern const struct dn_zoo_family dn_zoo_seq2seq;
extern const struct dn_zoo_family dn_zoo_txl;
extern const struct dn_zoo_family dn_zoo_lstm;
extern const struct dn_zoo_family dn_zoo_jasper;
extern const struct dn_zoo_family dn_zoo_mlp;
extern const struct dn_zoo_family dn_zoo_ncf;
extern const struct dn_zoo_family dn_zoo_dlrm;
extern const struct dn_zoo_family dn_zoo_autoencoder;
extern const struct dn_zoo_family dn_zoo_fastpitch;
extern const struct dn_zoo_family dn_zoo_inception;
extern const struct dn_zoo_family dn_zoo_vnet;
extern const struct dn_zoo_family dn_zoo_wav2vec2;
extern const struct dn_zoo_family dn_zoo_deepspeech;
extern const struct dn_zoo_family dn_zoo_gnmt;
extern const struct dn_zoo_family dn_zoo_quartznet;
extern const struct dn_zoo_family dn_zoo_ssd;
extern const struct dn_zoo_family dn_zoo_wide_deep;
extern const struct dn_zoo_family dn_zoo_dcgan;
extern const struct dn_zoo_family dn_zoo_efficientdet;
extern const struct dn_zoo_family dn_zoo_hifigan;
extern const struct dn_zoo_family dn_zoo_science;
extern const struct dn_zoo_family dn_zoo_tacotron2;
extern const struct dn_zoo_family dn_zoo_waveglow;
extern const struct dn_zoo_family dn_zoo_yolo;

/* Clips of LJSpeech last 6.6 s in the mean and 10.1 s at most; loaders of speech
 * synthesis draw them at random and pad a batch to its longest.
 */
#define DN_SPEECH_PADDING 1.5

/* ResNet-50 from the stem on, with the activation behind each of its four stages: the
 * backbone of detectors.
 */
void dn_zoo_resnet50_add (struct dn_build *build, struct dn_shape levels[4]);

/* The same as detectors are tuned: what it learned on images is kept in its stem, its
 * first stage and its statistics.
 */
void dn_zoo_resnet50_add_tuned (struct dn_build *build, struct dn_shape levels[4]);

/* Its first three stages, the third without stride: the backbone of SSD. */
void dn_zoo_resnet50_add_dense (struct dn_build *build);

/* EfficientNet-B0 up to its last block, with the activations at an eighth, a sixteenth
 * and a thirty-second of the image's size.
 */
void dn_zoo_efficientnet_b0_add (struct dn_build *build, struct dn_shape levels[3]);

/* Families under their own names: sizes are given, not a name of the zoo. */
extern const struct dn_zoo_family dn_zoo_generic;

/* A chain of equal operators that adds up to params=, flops= and activations=. */
void dn_zoo_unknown (struct dn_build *build);

#endif
