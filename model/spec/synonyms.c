/* synonyms.c - what other programs call the keys and values of metadata
 *
 * The names are those of the options and arguments of PyTorch, Hugging Face
 * Transformers and PEFT, DeepSpeed, Megatron-LM and PyTorch Lightning. A name without a
 * row is compared with the keys letter by letter (dn_word_nearest ()).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/synonyms.h"

static const struct {
    const char *word;
    const char *key;
} keys[] = {
    {"accum", "grad_accum"},
    {"accumulate_grad_batches", "grad_accum"},
    {"accumulation_steps", "grad_accum"},
    {"activation_checkpointing", "checkpointing"},
    {"algorithm", "optimizer"},
    {"amp", "precision"},
    {"arch", "model"},
    {"architecture", "model"},
    {"bs", "batch"},
    {"context", "seq_len"},
    {"context_length", "seq_len"},
    {"context_parallel", "cp"},
    {"context_parallel_size", "cp"},
    {"data", "dataset"},
    {"data_parallel", "parallel"},
    {"dtype", "precision"},
    {"eval_steps", "eval_every"},
    {"expert_parallel", "ep"},
    {"expert_parallel_size", "ep"},
    {"ffn_hidden_size", "ffn"},
    {"global_batch_size", "global_batch"},
    {"gpu_count", "gpus"},
    {"gradient_accumulation", "grad_accum"},
    {"gradient_accumulation_steps", "grad_accum"},
    {"gradient_checkpointing", "checkpointing"},
    {"hidden_dim", "hidden"},
    {"hidden_size", "hidden"},
    {"image_size", "image"},
    {"img_size", "image"},
    {"input_size", "image"},
    {"intermediate_size", "ffn"},
    {"length", "seq_len"},
    {"lora_r", "lora"},
    {"lora_rank", "lora"},
    {"max_epochs", "epochs"},
    {"max_iters", "steps"},
    {"max_length", "seq_len"},
    {"max_position_embeddings", "positions"},
    {"max_seq_len", "seq_len"},
    {"max_seq_length", "seq_len"},
    {"max_steps", "steps"},
    {"micro_batch_size", "micro_batch"},
    {"mixed_precision", "precision"},
    {"n_head", "heads"},
    {"n_layer", "layers"},
    {"network", "model"},
    {"ngpus", "gpus"},
    {"num_attention_heads", "heads"},
    {"num_classes", "classes"},
    {"num_epochs", "epochs"},
    {"num_experts", "experts"},
    {"num_gpus", "gpus"},
    {"num_hidden_layers", "layers"},
    {"num_key_value_heads", "kv_heads"},
    {"num_layers", "layers"},
    {"num_nodes", "nodes"},
    {"num_samples", "samples"},
    {"num_train_epochs", "epochs"},
    {"num_workers", "workers"},
    {"optim", "optimizer"},
    {"per_device_train_batch_size", "batch"},
    {"per_gpu_batch_size", "batch"},
    {"pipeline_parallel", "pp"},
    {"pipeline_parallel_size", "pp"},
    {"pipeline_model_parallel_size", "pp"},
    {"recompute", "checkpointing"},
    {"resolution", "image"},
    {"sequence_length", "seq_len"},
    {"sequence_parallel", "sp"},
    {"strategy", "parallel"},
    {"tensor_model_parallel_size", "tp"},
    {"tensor_parallel", "tp"},
    {"tensor_parallel_size", "tp"},
    {"torch_compile", "compile"},
    {"torch_dtype", "precision"},
    {"train_batch_size", "global_batch"},
    {"vocab_size", "vocab"},
    {"walltime", "deadline"},
    {"world_size", "gpus"},
    {"zero", "parallel"},
    {"zero_stage", "parallel"},
};

static const struct {
    const char *key;
    const char *word;
    const char *value;
    const char *other; /* or this; NULL: only the first */
} values[] = {
    {"attention", "eager", "plain", NULL},
    {"attention", "flash_attention", "flash", NULL},
    {"attention", "flash_attention_2", "flash", NULL},
    {"attention", "flash_attn", "flash", NULL},
    {"attention", "sdpa", "auto", NULL},
    {"checkpointing", "1", "full", NULL},
    {"checkpointing", "0", "none", NULL},
    {"checkpointing", "false", "none", NULL},
    {"checkpointing", "true", "full", NULL},
    {"framework", "keras", "tensorflow", NULL},
    {"framework", "lightning", "pytorch", NULL},
    {"framework", "tf", "tensorflow", NULL},
    {"framework", "torch", "pytorch", NULL},
    {"layout", "channels_first", "nchw", NULL},
    {"layout", "channels_last", "nhwc", NULL},
    {"optimizer", "adam_8bit", "adam8bit", NULL},
    {"optimizer", "adamw_8bit", "adam8bit", NULL},
    {"optimizer", "adamw_bnb_8bit", "adam8bit", NULL},
    {"optimizer", "adamw_hf", "adamw", NULL},
    {"optimizer", "adamw_torch", "adamw", NULL},
    {"optimizer", "adamw_torch_fused", "adamw", NULL},
    {"optimizer", "paged_adamw_8bit", "adam8bit", NULL},
    {"optimizer", "sgd_momentum", "momentum", NULL},
    {"parallel", "data", "dp", NULL},
    {"parallel", "ddp", "dp", NULL},
    {"parallel", "deepspeed", "zero2", "zero3"},
    {"parallel", "horovod", "dp", NULL},
    {"parallel", "zero", "zero2", "zero3"},
    {"precision", "16", "fp16", "bf16"},
    {"precision", "16-mixed", "fp16", NULL},
    {"precision", "amp", "fp16", "bf16"},
    {"precision", "bf16-mixed", "bf16", NULL},
    {"precision", "bfloat16", "bf16", NULL},
    {"precision", "float", "fp32", NULL},
    {"precision", "float16", "fp16", "half"},
    {"precision", "float32", "fp32", NULL},
    {"precision", "mixed", "fp16", "bf16"},
    {"precision", "tensorfloat32", "tf32", NULL},
    {"quant", "4bit", "nf4", NULL},
    {"quant", "8bit", "int8", NULL},
    {"quant", "int4", "nf4", NULL},
};

const char *dn_spec_key_synonym (struct dn_span word)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        if (dn_span_is (word, keys[i].word))
            return keys[i].key;
    return NULL;
}

const char *dn_spec_value_synonym (const char *key,
                                   struct dn_span word,
                                   const char **other)
{
    *other = NULL;
    for (size_t i = 0; i < DN_N_ELEMENTS (values); i++)
        if (dn_span_is (word, values[i].word)
            && dn_span_is (dn_span_of (key), values[i].key)) {
            *other = values[i].other;
            return values[i].value;
        }
    return NULL;
}
