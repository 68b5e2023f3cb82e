/* hf_config.h - a config.json of Hugging Face as a description
 *
 * In: the text of a config.json, as transformers writes it beside the weights of a
 * network. Out: the metadata keys of the same network: a name of the zoo with that
 * structure, its sizes, and the model_type as the name that people read, since the one
 * of the zoo is that of another size. The number of parameters is that of transformers;
 * a field that would change it and that no key states is an error. Fields of training
 * and inference (torch_dtype, use_cache, quantization_config) are not read.
 *
 * The length of training samples is not in the file: seq_len= is DN_HF_TOKENS, or
 * max_position_embeddings if that is less.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HF_CONFIG_H
#define DN_HF_CONFIG_H

#include "spec/spec.h"

#define DN_HF_TOKENS 2048

/* Is the text such a file? It names "model_type" or "architectures", and is no sidecar.
 * Its syntax is not checked.
 */
bool dn_hf_config_is (struct dn_span text);

/* Read a file into 'spec', whose other keys stay. -1 with 'err' naming the field, and
 * 'spec' unchanged.
 */
int dn_hf_config_read (struct dn_span text, struct dn_spec *spec, struct dn_err *err);

/* The i-th model_type that can be read, NULL after the last. */
const char *dn_hf_config_type_at (int i);

/* The text of a sidecar with the keys of the file, to be freed with free (); *sidecar
 * is NULL where the text is not such a file. -1 with 'err' as above.
 */
int dn_hf_config_convert (struct dn_span text, char **sidecar, struct dn_err *err);

#endif
