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

#include <string.h>

#define ROW(key, on, use, words)                                                       \
    {                                                                                  \
        words, key, on, DN_SYNONYM_##use                                               \
    }
#define MEANS(key, words)      ROW (key, NULL, TAKEN, words)
#define SWITCH(key, on, words) ROW (key, on, TAKEN, words)
#define SUGGESTS(key, words)   ROW (key, NULL, SUGGESTED, words)
#define WAS(key, words)        ROW (key, NULL, GONE, words)

/* The key, the value that "true" and the word alone mean, the words. */
static const struct dn_synonym keys[] = {
    MEANS ("attention", "attn_implementation"),
    SWITCH ("attention", "flash", "flash_attention flash_attn"),
    MEANS ("batch",
           "batch_size batch_size_per_gpu batchsize bs micro_batch_size "
           "per_device_batch_size per_device_train_batch_size "
           "per_gpu_batch_size per_gpu_train_batch_size samples_per_gpu "
           "train_micro_batch_size_per_gpu"),
    WAS ("batch", "micro_batch"),
    MEANS ("checkpointing",
           "activation_checkpointing grad_checkpointing grad_ckpt "
           "gradient_checkpoint gradient_checkpointing recompute"),
    MEANS ("classes", "num_classes"),
    MEANS ("compile", "torch_compile"),
    MEANS ("cp", "context_parallel_size"),
    SUGGESTS ("cp", "context_parallel"),
    MEANS ("dataset", "dataset_name"),
    SUGGESTS ("dataset", "data"),
    MEANS ("deadline", "walltime"),
    SUGGESTS ("deadline", "time time_limit"),
    MEANS ("ep", "expert_parallel_size"),
    SUGGESTS ("ep", "expert_parallel"),
    MEANS ("epochs",
           "epoch max_epochs n_epochs num_epochs num_train_epochs "
           "train_epochs"),
    MEANS ("eval_every", "eval_steps"),
    MEANS ("experts", "num_experts"),
    MEANS ("ffn", "d_ff ffn_hidden_size intermediate_size"),
    MEANS ("global_batch", "global_batch_size"),
    SUGGESTS ("global_batch", "train_batch_size"),
    MEANS ("gpus", "world_size"),
    SUGGESTS ("gpus", "devices gpu_count n_gpu n_gpus ngpus num_gpus"),
    MEANS ("grad_accum",
           "accum accumulate_grad_batches accumulation_steps grad_acc "
           "gradient_accumulation gradient_accumulation_steps"),
    MEANS ("heads", "n_head n_heads num_attention_heads num_heads"),
    MEANS ("hidden", "d_model hidden_dim hidden_size n_embd"),
    MEANS ("image", "image_size img img_size imgsz input_size resolution"),
    MEANS ("kv_heads", "num_key_value_heads"),
    MEANS ("layers", "n_layer n_layers num_hidden_layers num_layers"),
    SWITCH ("layout", "nhwc", "channels_last"),
    MEANS ("lora", "lora_r lora_rank"),
    MEANS ("model", "arch architecture model_name model_name_or_path network"),
    MEANS ("nodes", "num_nodes"),
    MEANS ("optimizer", "opt optim"),
    SWITCH ("optimizer", "adam", "adam"),
    SWITCH ("optimizer", "adamw", "adamw"),
    SWITCH ("optimizer", "sgd", "sgd"),
    SUGGESTS ("optimizer", "algorithm"),
    MEANS ("parallel", "strategy zero_stage"),
    SWITCH ("parallel", "dp", "ddp"),
    SWITCH ("parallel", "fsdp", "fsdp"),
    SWITCH ("parallel", "zero1", "zero1"),
    SWITCH ("parallel", "zero2", "zero2"),
    SWITCH ("parallel", "zero3", "zero3"),
    SUGGESTS ("parallel", "data_parallel deepspeed zero"),
    MEANS ("positions", "max_position_embeddings"),
    MEANS ("pp", "pipeline_model_parallel_size pipeline_parallel_size"),
    SUGGESTS ("pp", "pipeline_parallel"),
    MEANS ("precision", "amp_dtype dtype mixed_precision torch_dtype"),
    SWITCH ("precision", "bf16", "bf16 bfloat16"),
    SWITCH ("precision", "fp16", "amp autocast float16 fp16 mixed use_amp"),
    SWITCH ("precision", "fp32", "fp32"),
    SWITCH ("precision", "tf32", "tf32"),
    SWITCH ("quant", "int8", "load_in_8bit"),
    SWITCH ("quant", "nf4", "load_in_4bit nf4 qlora"),
    MEANS ("samples", "num_images num_samples train_samples"),
    MEANS ("seq_len",
           "block_size context_length ctx cutoff_len max_input_length "
           "max_len max_length max_seq_len max_seq_length "
           "max_source_length model_max_length n_ctx seq seq_length "
           "seqlen sequence_length"),
    SUGGESTS ("seq_len", "context length"),
    SUGGESTS ("sp", "sequence_parallel"),
    MEANS ("steps",
           "iterations max_iters max_steps max_train_steps num_steps "
           "num_train_steps total_steps train_iters train_steps"),
    MEANS ("tgt_len", "max_target_length"),
    MEANS ("tp", "tensor_model_parallel_size tensor_parallel_size"),
    SUGGESTS ("tp", "tensor_parallel"),
    MEANS ("vocab", "vocab_size"),
    MEANS ("workers", "dataloader_num_workers num_workers"),
    MEANS (NULL,
           "adam_beta1 adam_beta2 adam_epsilon base_lr beta1 beta2 betas "
           "clip_grad cutmix drop_path dropout eps epsilon grad_clip "
           "gradient_clip_val label_smoothing learning_rate "
           "learning_rate_scheduler log_interval logging_steps lora_alpha "
           "lora_dropout lr lr_scheduler lr_scheduler_type max_grad_norm "
           "min_lr mixup momentum output_dir pretrained project random_seed "
           "report_to run_name save_steps save_total_limit scheduler seed "
           "shuffle warmup warmup_epochs warmup_ratio warmup_steps wd "
           "weight_decay"),
};

static const struct {
    const char *key;
    const char *value;
    const char *other; /* or this; NULL: only the first */
    const char *words;
} values[] = {
    {"attention", "plain", NULL, "eager"},
    {"attention", "flash", NULL, "flash_attention flash_attention_2 flash_attn"},
    {"attention", "auto", NULL, "sdpa"},
    {"checkpointing", "full", NULL, "1 true"},
    {"checkpointing", "none", NULL, "0 false"},
    {"framework", "tensorflow", NULL, "keras tf"},
    {"framework", "pytorch", NULL, "lightning torch"},
    {"layout", "nchw", NULL, "channels_first"},
    {"layout", "nhwc", NULL, "channels_last"},
    {"optimizer",
     "adam8bit",
     NULL,
     "adam_8bit adamw_8bit adamw_bnb_8bit "
     "paged_adamw_8bit"},
    {"optimizer", "adamw", NULL, "adamw_hf adamw_torch adamw_torch_fused"},
    {"optimizer", "momentum", NULL, "sgd_momentum"},
    {"parallel", "dp", NULL, "data ddp horovod 0"},
    {"parallel", "zero2", "zero3", "deepspeed zero"},
    {"parallel", "fsdp", NULL, "full_shard"},
    {"parallel", "hsdp", NULL, "hybrid_shard"},
    {"parallel", "zero1", NULL, "1"},
    {"parallel", "zero2", NULL, "2"},
    {"parallel", "zero3", NULL, "3"},
    {"precision",
     "fp16",
     NULL,
     "16 16-mixed amp float16 fp16-mixed mixed "
     "mixed_float16"},
    {"precision", "half", NULL, "16-true"},
    {"precision", "fp32", NULL, "32 32-true float float32 no"},
    {"precision", "bf16", NULL, "bf16-mixed bfloat16 mixed_bfloat16"},
    {"precision", "bf16_pure", NULL, "bf16-true"},
    {"precision", "tf32", NULL, "tensorfloat32"},
    {"quant", "nf4", NULL, "4bit int4"},
    {"quant", "int8", NULL, "8bit fp8 w8a8"},
};

const struct dn_synonym *dn_spec_synonym (struct dn_span word)
{
    for (size_t i = 0; i < DN_N_ELEMENTS (keys); i++)
        if (dn_words_have (keys[i].words, word))
            return &keys[i];
    return NULL;
}

const char *dn_spec_value_synonym (const char *key,
                                   struct dn_span word,
                                   const char **other)
{
    *other = NULL;
    for (size_t i = 0; i < DN_N_ELEMENTS (values); i++)
        if (strcmp (key, values[i].key) == 0 && dn_words_have (values[i].words, word)) {
            *other = values[i].other;
            return values[i].value;
        }
    return NULL;
}
