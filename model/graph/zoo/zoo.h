/* zoo.h - the families of networks that the zoo is made of
 *
 * A family is one file: a table with a row of hyper-parameters per name, and a builder
 * that reads a row, lets the keys of the specification override it, and builds the
 * network with the functions of build.h. A new model of a family is a new row.
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
    const char *alias; /* another name of the row 'alias_of'; NULL: none */
    const char *alias_of;
};

#define DN_ZOO_FAMILY(table, function) DN_ZOO_FAMILY_OF (table, function, NULL, NULL)

/* The same with an alias: model=transformer means the row gpt2, sizes override it. */
#define DN_ZOO_FAMILY_OF(table, function, name, row)                                   \
    {                                                                                  \
        (table), sizeof ((table)[0]), (int) DN_N_ELEMENTS (table), (function), (name), \
            (row)                                                                      \
    }

/* The families, in the order of dn_zoo_at (): dn_zoo_NAME is defined in NAME.c. A new
 * one is registered by its line here.
 */
/* clang-format off */
#define DN_ZOO_FAMILIES(X)                                                             \
    X (resnet)                                                                         \
    X (vgg)                                                                            \
    X (squeezenet)                                                                     \
    X (densenet)                                                                       \
    X (mobilenet)                                                                      \
    X (shufflenet)                                                                     \
    X (efficientnet)                                                                   \
    X (regnet)                                                                         \
    X (convnext)                                                                       \
    X (vit)                                                                            \
    X (swin)                                                                           \
    X (maxvit)                                                                         \
    X (mobilevit)                                                                      \
    X (efficientformer)                                                                \
    X (unet)                                                                           \
    X (nnunet)                                                                         \
    X (detection)                                                                      \
    X (dense)                                                                          \
    X (detr)                                                                           \
    X (rtdetr)                                                                         \
    X (sam)                                                                            \
    X (segment)                                                                        \
    X (segformer)                                                                      \
    X (mask2former)                                                                    \
    X (bert)                                                                           \
    X (gpt)                                                                            \
    X (seq2seq)                                                                        \
    X (txl)                                                                            \
    X (lstm)                                                                           \
    X (jasper)                                                                         \
    X (mlp)                                                                            \
    X (ncf)                                                                            \
    X (dlrm)                                                                           \
    X (autoencoder)                                                                    \
    X (fastpitch)                                                                      \
    X (inception)                                                                      \
    X (vnet)                                                                           \
    X (wav2vec2)                                                                       \
    X (deepspeech)                                                                     \
    X (gnmt)                                                                           \
    X (quartznet)                                                                      \
    X (ssd)                                                                            \
    X (ssd_vgg)                                                                        \
    X (wide_deep)                                                                      \
    X (dcgan)                                                                          \
    X (efficientdet)                                                                   \
    X (hifigan)                                                                        \
    X (science)                                                                        \
    X (tacotron2)                                                                      \
    X (waveglow)                                                                       \
    X (yolo)                                                                           \
    X (diffusion_unet)                                                                 \
    X (autoencoder_kl)                                                                 \
    X (stylegan)                                                                       \
    X (mae)                                                                            \
    X (dit)                                                                            \
    X (mmdit)                                                                          \
    X (pixart)                                                                         \
    X (clip)                                                                           \
    X (llava)                                                                          \
    X (qwen_vl)                                                                        \
    X (yolo_csp)                                                                       \
    X (video)                                                                          \
    X (slowfast)                                                                       \
    X (s3d)                                                                            \
    X (x3d)                                                                            \
    X (mvit)                                                                           \
    X (whisper)                                                                        \
    X (conformer)                                                                      \
    X (rnnt)                                                                           \
    X (video_vit)                                                                      \
    X (gnn)                                                                            \
    X (mamba)                                                                          \
    X (swin3d)                                                                         \
    X (recsys)                                                                         \
    X (points)                                                                         \
    X (molecules)                                                                      \
    X (patchtst)                                                                       \
    X (yolov7)                                                                         \
    X (esm)                                                                            \
    X (speecht5)                                                                       \
    X (tft)                                                                            \
    X (evoformer)                                                                      \
    /* End of DN_ZOO_FAMILIES */
/* clang-format on */

#define DN_ZOO_DECLARE(name) extern const struct dn_zoo_family dn_zoo_##name;
DN_ZOO_FAMILIES (DN_ZOO_DECLARE)

/* Clips of LJSpeech last 6.6 s on average and 10.1 s at most; loaders of speech
 * synthesis draw them at random and pad a batch to its longest.
 */
#define DN_SPEECH_PADDING 1.5

/* A convolution of a clip without bias: over 'frames', which it steps through by 'hop',
 * and over a square of 'pixels' with 'stride'. What is 0 is 1. Padded to keep the size.
 */
struct dn_clip_conv {
    double out;
    int frames;
    int pixels;
    int hop;
    int stride;
    double groups;
};

void dn_zoo_clip_conv (struct dn_build *build, const struct dn_clip_conv *conv);
void dn_zoo_clip_conv_norm (struct dn_build *build, const struct dn_clip_conv *conv);
void dn_zoo_clip_conv_norm_relu (struct dn_build *build,
                                 const struct dn_clip_conv *conv);

/* The largest of windows of 1 to 3 frames and pixels. What is not 1 is halved: windows
 * of 2 by rounding down, padded windows of 3 by rounding up.
 */
void dn_zoo_clip_pool (struct dn_build *build, int frames, int pixels);

/* The blocks of Conformer networks. */
struct dn_conformer {
    double layers;
    double hidden;
    double heads;
    double ffn;
    int kernel;     /* of the convolution */
    bool conv_bias; /* of the convolutions */
    bool rotary;    /* positions are rotated into query and key, not relative */
};

void dn_zoo_conformer_add (struct dn_build *build,
                           const struct dn_conformer *conformer);

/* ResNet-50 from the stem on, with the activation after each of its four stages: the
 * backbone of detectors.
 */
void dn_zoo_resnet50_add (struct dn_build *build, struct dn_shape levels[4]);

/* The same as detectors fine-tune it: the stem, the first stage and the statistics are
 * frozen.
 */
void dn_zoo_resnet50_add_tuned (struct dn_build *build, struct dn_shape levels[4]);

/* Its first three stages, the third without stride: the backbone of SSD. */
void dn_zoo_resnet50_add_dense (struct dn_build *build);

/* EfficientNet-B0 up to its last block, with the activations at an eighth, a sixteenth
 * and a thirty-second of the image's size.
 */
void dn_zoo_efficientnet_b0_add (struct dn_build *build, struct dn_shape levels[3]);

/* A residual block of diffusion networks, to 'out' channels; 'time' features of the
 * time are added within (0: none).
 */
void dn_zoo_diffusion_residual_add (struct dn_build *build, double out, double time);

/* Their attention between positions, with heads of 'head_dim'. */
void dn_zoo_diffusion_attention_add (struct dn_build *build, double head_dim);

/* The encoder from an image to latents of 'latent' channels, which does not learn and
 * is run forward only.
 */
void dn_zoo_latents_add (struct dn_build *build, double latent);

/* Parts of transformers that a condition modulates. Two linear layers from 'features'
 * to 'hidden' features of the condition; one from these to 'n' scales, shifts or gates
 * per feature; a norm whose result is scaled and shifted; a gate, then the sum with
 * what the block began with.
 */
void dn_zoo_condition_add (struct dn_build *build,
                           double features,
                           double hidden,
                           bool bias);
void dn_zoo_modulation_add (struct dn_build *build, double n, double hidden, bool bias);
void dn_zoo_modulate (struct dn_build *build);
void dn_zoo_gated_add (struct dn_build *build);

/* Encoders of text. */
enum dn_zoo_text {
    DN_ZOO_TEXT_NONE,
    DN_ZOO_TEXT_CLIP_L,
    DN_ZOO_TEXT_OPENCLIP_H, /* without its last layer */
    DN_ZOO_TEXT_OPENCLIP_G, /* with its projection */
    DN_ZOO_N_TEXTS
};

/* One of them over 'tokens' tokens, which does not learn and is run forward only. The
 * tokens are added to the sample. No effect for DN_ZOO_TEXT_NONE.
 */
void dn_zoo_text_add (struct dn_build *build, enum dn_zoo_text text, double tokens);

/* CLIP-L/14 over the cursor's image, without its head. The cursor is then on the
 * features of the patches and the class token.
 */
void dn_zoo_clip_vision_add (struct dn_build *build);

/* Attention within windows of 'tokens' positions that the cursor's activation is cut
 * into, with DN_WINDOW_HEAD features for each head. The scores, which the cursor is
 * then on; softmax and the sum of values from there, which ends on an activation like
 * 'start'.
 */
#define DN_WINDOW_HEAD 32.0
void dn_zoo_window_scores_add (struct dn_build *build, double tokens);
void dn_zoo_window_values_add (struct dn_build *build,
                               double tokens,
                               const struct dn_shape *start);

/* The family of model=cnn, whose sizes come from the specification only. */
extern const struct dn_zoo_family dn_zoo_generic;

/* A chain of equal operators that adds up to params=, flops= and activations=. */
void dn_zoo_unknown (struct dn_build *build);

#endif
