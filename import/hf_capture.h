/* hf_capture.h - the network of a capture by its configuration of transformers
 *
 * In: the text of a capture (host/capture_file.h) whose network was not recorded, as it
 * is compiled, sharded or quantised: its description has sums alone (params=, flops=).
 * If it states the configuration of a network that can be read (hf_config.h), and its
 * shapes of tokens, that is described instead, with the adapters (lora=, lora_targets=)
 * and the format of frozen weights (quant=).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HF_CAPTURE_H
#define DN_HF_CAPTURE_H

#include "base/text.h"

/* The same text with that description, to be freed with free (). NULL: it stays as it
 * is, whatever it is.
 */
char *dn_hf_capture (struct dn_span text);

#endif
