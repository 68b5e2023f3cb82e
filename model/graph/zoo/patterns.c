/* patterns.c - names whose form differs from the zoo's
 *
 * Only what has the same shape may be here: the same layers, sizes and vocabulary.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "names.h"

#include <stddef.h>

/* clang-format off */
const struct dn_pattern dn_patterns[] = {
    /* convolutional networks of timm and of the hub */
    {"resnet-*", "resnet*"},
    {"wide-resnet*-2", "wide_resnet*_2"},
    {"mobilenetv2-100", "mobilenet_v2"},
    {"mobilenet-v2-1.0-%", "mobilenet_v2"},
    {"mobilenetv3-large-100", "mobilenet_v3_large"},
    {"tf-efficientnet-*", "efficientnet_*"},
    {"efficientnet-b*", "efficientnet_b*"},
    {"efficientnetv2-*", "efficientnet_v2_*"},
    {"tf-efficientnetv2-*", "efficientnet_v2_*"},
    {"convnext-*-%", "convnext_*"},
    {"convnextv2-*-%", "convnextv2_*"},
    {"vgg-*", "vgg*"},
    {"inception-resnet-*", "inception_resnet_*"},
    {"inceptionv3", "inception_v3"},
    /* vision transformers */
    {"vit-base-patch16-%", "vit_b_16"},
    {"vit-base-patch32-%", "vit_b_32"},
    {"vit-large-patch16-%", "vit_l_16"},
    {"vit-large-patch32-%", "vit_l_32"},
    {"vit-tiny-patch16-%", "vit_ti_16"},
    {"vit-small-patch16-%", "vit_s_16"},
    {"vit-small-patch32-%", "vit_s_32"},
    {"vit-huge-patch14-%", "vit_h_14"},
    {"deit-base-patch16-%", "vit_b_16"},
    {"deit-small-patch16-%", "vit_s_16"},
    {"deit-tiny-patch16-%", "vit_ti_16"},
    {"swin-tiny-patch4-window7-224", "swin_t"},
    {"swin-small-patch4-window7-224", "swin_s"},
    {"swin-base-patch4-window7-224", "swin_b"},
    /* encoders of text */
    {"bert-base-*", "bert_base"},
    {"bert-large-*", "bert_large"},
    {"bert-base-uncased", "bert_base"},
    {"bert-large-uncased", "bert_large"},
    {"electra-base-discriminator", "electra_base"},
    {"distilbert-base-uncased", "distilbert"},
    /* decoders of text */
    {"meta-llama-*", "llama_*"},
    {"llama-2-*-chat-hf", "llama_2_*"},
    {"vicuna-*-v1.3", "llama_*"},
    {"vicuna-*-v1.5", "llama_2_*"},
    {"gpt2-*", "gpt2_*"},
    {"mixtral-*-instruct-v0.1", "mixtral_*"},
    {"mixtral-*-v0.1", "mixtral_*"},
    {"mistral-7b-instruct-v0.1", "mistral_7b"},
    {"mistral-7b-instruct-v0.2", "mistral_7b"},
    {"tinyllama-1.1b-*", "tinyllama_1.1b"},
    {NULL, NULL},
};
/* clang-format on */
