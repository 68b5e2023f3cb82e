/* attend.h - which kernels run attention, and their work; private to predict/
 *
 * In: an operator of a graph, the run's software and device. Out: the operators that
 * run in its place: all others run as they are, attention as one of three ways.
 *
 *     plain   separate kernels, which write all scores to memory
 *     fused   one kernel that computes scores again in the backward pass, such as
 *             PyTorch's memory-efficient attention and the first FlashAttention
 *     flash   the same for matrix units of Ampere and later, 16-bit numbers, which also
 *             skips what a window or the documents of a packed sequence leave out
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_ATTEND_H
#define DN_ATTEND_H

#include "predict/habits.h"

/* Most operators that run in the place of one. */
#define DN_PARTS_MAX 8

/* How an attention runs: DN_ATTENTION_PLAIN, DN_ATTENTION_FUSED or DN_ATTENTION_FLASH.
 */
enum dn_attention_kind dn_attention_way (const struct dn_spec *spec,
                                         const struct dn_device *device,
                                         const struct dn_op *op);

/* Do fused kernels run an attention of the network, if no key says how it runs? */
bool dn_attention_is_modern (const struct dn_case *c);

/* Does 'flash' mean FlashAttention's first version? It reaches the rates of 'fused'. */
bool dn_attention_is_first (const struct dn_spec *spec);

/* Does the age of the software (since=, torch=) decide which kernels run attention? Not
 * if there is none that a fused kernel computes, nor if attention= names a kernel of
 * which all versions are alike. Other frameworks than PyTorch and Megatron have fused
 * attention only in decoders, or where attention= or the network's description says so.
 */
bool dn_attention_reads_age (const struct dn_case *c);

/* The operators that run in the place of 'op', in order: 'op' itself, or those of
 * attention, in 'room'. Set *n to their number. 'share': tokens that are computed over
 * those that 'op' has.
 */
const struct dn_op *dn_parts_of (const struct dn_spec *spec,
                                 const struct dn_device *device,
                                 double share,
                                 const struct dn_op *op,
                                 struct dn_op room[DN_PARTS_MAX],
                                 int *n);

/* Tokens that a pass computes over those of full sequences. Samples of seq_mean= tokens
 * on average are padded to the longest of all devices, unless packing=1. The lengths
 * are taken as exponentially distributed, the least assumption about lengths of a given
 * mean: the longest of n is seq_mean (1 + 1/2 + ... + 1/n) long on average, and at most
 * seq_len.
 */
double dn_attention_share (const struct dn_case *c);

/* Do seq_mean= and packing= describe this case: is there an attention over tokens whose
 * number seq_len= states?
 */
bool dn_attention_has_lengths (const struct dn_case *c);

#endif
