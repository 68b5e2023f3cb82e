/* synonyms.c - what other programs call the keys and values of metadata
 *
 * The names are those of the options and arguments of PyTorch, Hugging Face
 * Transformers and PEFT, DeepSpeed, Megatron-LM and PyTorch Lightning. A name that
 * programs use for several things is only suggested. One without a row is compared with
 * the keys letter by letter (dn_word_nearest ()).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/synonyms.h"

static const struct dn_synonym keys[] = {
    /* word, key, the value that "true" and the word alone mean, only suggested */
    {"accum", "grad_accum", NULL, false},
    {"accumulate_grad_batches", "grad_accum", NULL, false},
    {"accumulation_steps", "grad_accum", NULL, false},
    {"activation_checkpointing", "checkpointing", NULL, false},
    {"algorithm", "optimizer", NULL, true},
    {"amp", "precision", "fp16", false},
    {"arch", "model", NULL, false},
    {"architecture", "model", NULL, false},
    {"batch_size", "batch", NULL, false},
    {"bf16", "precision", "bf16", false},
    {"block_size", "seq_len", NULL, false},
    {"bs", "batch", NULL, false},
    {"context", "seq_len", NULL, true},
    {"context_length", "seq_len", NULL, false},
    {"context_parallel", "cp", NULL, true},
    {"context_parallel_size", "cp", NULL, false},
    {"data", "dataset", NULL, true},
    {"data_parallel", "parallel", NULL, true},
    {"dataloader_num_workers", "workers", NULL, false},
    {"dataset_name", "dataset", NULL, false},
    {"dtype", "precision", NULL, false},
    {"eval_steps", "eval_every", NULL, false},
    {"expert_parallel", "ep", NULL, true},
    {"expert_parallel_size", "ep", NULL, false},
    {"ffn_hidden_size", "ffn", NULL, false},
    {"fp16", "precision", "fp16", false},
    {"global_batch_size", "global_batch", NULL, false},
    {"gpu_count", "gpus", NULL, true},
    {"gradient_accumulation", "grad_accum", NULL, false},
    {"gradient_accumulation_steps", "grad_accum", NULL, false},
    {"gradient_checkpoint", "checkpointing", NULL, false},
    {"gradient_checkpointing", "checkpointing", NULL, false},
    {"hidden_dim", "hidden", NULL, false},
    {"hidden_size", "hidden", NULL, false},
    {"image_size", "image", NULL, false},
    {"img_size", "image", NULL, false},
    {"input_size", "image", NULL, false},
    {"intermediate_size", "ffn", NULL, false},
    {"iterations", "steps", NULL, false},
    {"learning_rate", NULL, NULL, false},
    {"length", "seq_len", NULL, true},
    {"load_in_4bit", "quant", "nf4", false},
    {"load_in_8bit", "quant", "int8", false},
    {"lora_r", "lora", NULL, false},
    {"lora_rank", "lora", NULL, false},
    {"lr", NULL, NULL, false},
    {"max_epochs", "epochs", NULL, false},
    {"max_iters", "steps", NULL, false},
    {"max_len", "seq_len", NULL, false},
    {"max_length", "seq_len", NULL, false},
    {"max_position_embeddings", "positions", NULL, false},
    {"max_seq_len", "seq_len", NULL, false},
    {"max_seq_length", "seq_len", NULL, false},
    {"max_steps", "steps", NULL, false},
    {"max_train_steps", "steps", NULL, false},
    {"micro_batch_size", "micro_batch", NULL, false},
    {"mixed_precision", "precision", NULL, false},
    {"model_name", "model", NULL, false},
    {"model_name_or_path", "model", NULL, false},
    {"n_epochs", "epochs", NULL, false},
    {"n_head", "heads", NULL, false},
    {"n_heads", "heads", NULL, false},
    {"n_layer", "layers", NULL, false},
    {"n_layers", "layers", NULL, false},
    {"network", "model", NULL, false},
    {"ngpus", "gpus", NULL, true},
    {"num_attention_heads", "heads", NULL, false},
    {"num_classes", "classes", NULL, false},
    {"num_epochs", "epochs", NULL, false},
    {"num_experts", "experts", NULL, false},
    {"num_gpus", "gpus", NULL, true},
    {"num_hidden_layers", "layers", NULL, false},
    {"num_key_value_heads", "kv_heads", NULL, false},
    {"num_layers", "layers", NULL, false},
    {"num_nodes", "nodes", NULL, false},
    {"num_samples", "samples", NULL, false},
    {"num_steps", "steps", NULL, false},
    {"num_train_epochs", "epochs", NULL, false},
    {"num_workers", "workers", NULL, false},
    {"optim", "optimizer", NULL, false},
    {"per_device_train_batch_size", "batch", NULL, false},
    {"per_gpu_batch_size", "batch", NULL, false},
    {"pipeline_model_parallel_size", "pp", NULL, false},
    {"pipeline_parallel", "pp", NULL, true},
    {"pipeline_parallel_size", "pp", NULL, false},
    {"recompute", "checkpointing", NULL, false},
    {"resolution", "image", NULL, false},
    {"seed", NULL, NULL, false},
    {"seq", "seq_len", NULL, false},
    {"seq_length", "seq_len", NULL, false},
    {"seqlen", "seq_len", NULL, false},
    {"sequence_length", "seq_len", NULL, false},
    {"sequence_parallel", "sp", NULL, true},
    {"strategy", "parallel", NULL, false},
    {"tensor_model_parallel_size", "tp", NULL, false},
    {"tensor_parallel", "tp", NULL, true},
    {"tensor_parallel_size", "tp", NULL, false},
    {"tf32", "precision", "tf32", false},
    {"torch_compile", "compile", NULL, false},
    {"torch_dtype", "precision", NULL, false},
    {"train_batch_size", "global_batch", NULL, true},
    {"train_steps", "steps", NULL, false},
    {"vocab_size", "vocab", NULL, false},
    {"walltime", "deadline", NULL, false},
    {"warmup_steps", NULL, NULL, false},
    {"weight_decay", NULL, NULL, false},
    {"world_size", "gpus", NULL, false},
    {"zero", "parallel", NULL, true},
    {"zero_stage", "parallel", NULL, true},
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
    {"precision", "16", "fp16", NULL},
    {"precision", "16-mixed", "fp16", NULL},
    {"precision", "16-true", "half", NULL},
    {"precision", "32", "fp32", NULL},
    {"precision", "32-true", "fp32", NULL},
    {"precision", "amp", "fp16", NULL},
    {"precision", "bf16-mixed", "bf16", NULL},
    {"precision", "bf16-true", "bf16_pure", NULL},
    {"precision", "bfloat16", "bf16", NULL},
    {"precision", "float", "fp32", NULL},
    {"precision", "float16", "fp16", NULL},
    {"precision", "float32", "fp32", NULL},
    {"precision", "fp16-mixed", "fp16", NULL},
    {"precision", "mixed", "fp16", NULL},
    {"precision", "mixed_bfloat16", "bf16", NULL},
    {"precision", "mixed_float16", "fp16", NULL},
    {"precision", "tensorfloat32", "tf32", NULL},
    {"quant", "4bit", "nf4", NULL},
    {"quant", "8bit", "int8", NULL},
    {"quant", "fp8", "int8", NULL},
    {"quant", "int4", "nf4", NULL},
    {"quant", "w8a8", "int8", NULL},
};

const struct dn_synonym *dn_spec_synonym (struct dn_span word)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        if (dn_span_is (word, keys[i].word))
            return &keys[i];
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
