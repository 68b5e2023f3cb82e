#!/bin/bash
# 0047-config-json.t - networks described by the config.json of Hugging Face
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# As published with the weights of the networks.
cat > "$work/config.json" <<'END'
{
  "architectures": ["LlamaForCausalLM"],
  "attention_bias": false,
  "attention_dropout": 0.0,
  "bos_token_id": 128000,
  "eos_token_id": 128001,
  "head_dim": 64,
  "hidden_act": "silu",
  "hidden_size": 2048,
  "initializer_range": 0.02,
  "intermediate_size": 8192,
  "max_position_embeddings": 131072,
  "mlp_bias": false,
  "model_type": "llama",
  "num_attention_heads": 32,
  "num_hidden_layers": 16,
  "num_key_value_heads": 8,
  "pretraining_tp": 1,
  "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
    "original_max_position_embeddings": 8192, "rope_type": "llama3"},
  "rope_theta": 500000.0,
  "tie_word_embeddings": true,
  "torch_dtype": "bfloat16",
  "transformers_version": "4.45.0.dev0",
  "use_cache": true,
  "vocab_size": 128256
}
END
cat > "$work/bert.json" <<'END'
{"architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1,
 "gradient_checkpointing": false, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
 "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
 "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
 "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0,
 "position_embedding_type": "absolute", "transformers_version": "4.6.0.dev0",
 "type_vocab_size": 2, "use_cache": true, "vocab_size": 30522}
END
train=batch=2,precision=bf16,optimizer=adamw,steps=100

is 'a config.json is as good as the name of its network' \
    "$(dn predict --json "@$work/config.json,$train,seq_len=1024" --gpu a100_sxm4_40gb | grep params)" \
    "$(dn predict --json "model=llama_3.2_1b,$train,seq_len=1024" --gpu a100_sxm4_40gb | grep params)"
gives 'the network has the name of its type, not that of another size' 0 '^llama: 1\.236 G parameters' \
    predict "@$work/config.json,$train" --gpu a100_sxm4_40gb
json 'the file gives the network, the keys beside it the training' \
    'd["model"]["params"] == 1235814400 and d["spec"]["batch"] == 2
     and d["spec"]["seq_len"] == 1024 and d["spec"]["tied"] == 1 and d["unread"] == []' \
    check "@$work/config.json,$train,seq_len=1024"
json 'samples have 2048 tokens unless they are given' 'd["spec"]["seq_len"] == 2048' \
    check "@$work/config.json,$train"
json 'an encoder is described too' \
    'd["model"]["params"] == 109514298 and d["spec"]["seq_len"] == 512' \
    check "@$work/bert.json,$train"
gives 'explain takes the file' 0 'linear' \
    explain --gpu a100_sxm4_40gb "@$work/config.json,$train"
gives 'import shows the keys of the file' 0 \
    '^\{"dnnest":1,"spec":\{"model":"llama_7b","layers":"16","hidden":"2048"' \
    import "$work/config.json"
gives 'import adds keys' 0 '"batch":"2"' import "$work/config.json" $train
json 'import counts the parameters' 'd["params"] == 1235814400' \
    import "$work/config.json" --out "$work/sidecar.json"
is 'the imported sidecar is as good as the file' \
    "$(dn check "@$work/sidecar.json,$train,seq_len=512")" \
    "$(dn check "@$work/config.json,$train,seq_len=512")"
printf '#!/bin/bash\n#SBATCH --gpus=twin:1 -t 60\nsrun true\n' > "$work/job.sh"
json 'advise takes the file from the option' '"llama_7b" in str(d)' \
    advise --conf "$work/site.conf" --dnnest="@$work/config.json,$train" "$work/job.sh"

# --- bad files; tests/unit/hf_config.c has the errors of their fields ---------------------

sed 's/"llama"/"lama"/' "$work/config.json" > "$work/bad.json"
refuses 'an unknown type is named, with the nearest' 2 \
    "bad.json: config.json: model_type: 'lama' is not known, did you mean llama" \
    check "@$work/bad.json,$train"
refuses 'keys of another importer do not apply' 2 'unknown option' \
    import "$work/config.json" --batch=4
python3 - "$work/large.json" <<'END'
import sys
open(sys.argv[1], "w").write('{"model_type":"llama","x":"' + "y" * (10 << 20) + '"}')
END
refuses 'a file of ten megabytes is refused' 2 'large.json: larger than' check "@$work/large.json,$train"
refuses 'import names a file that is not there' 4 'none.json: No such file' \
    import "$work/none.json"
# Root may delete a device.
ln -s /dev/full "$work/full"
refuses 'import says that a device is full' 4 'No space left' \
    import "$work/config.json" --out "$work/full"
ok 'a device that is full is not removed' test -L "$work/full"

# Weights that were quantised before, as bitsandbytes, GPTQ, AWQ and fp8 are stored.
quantised() { # METHOD MEMBER: check's quant= with and without adapters, and its note
    sed "s/\"vocab_size\"/\"quantization_config\": {\"quant_method\": \"$1\"$2}, &/" \
        "$work/config.json" >"$work/quant.json"
    dn check --json "$work/quant.json" batch=1 ${3:+lora=8} 2>/dev/null | value 'd["spec"].get("quant")'
}
is 'with adapters a config.json states quant=' \
    "$(quantised bitsandbytes ', "load_in_4bit": true' lora; quantised bitsandbytes ', "load_in_8bit": true' lora
       quantised gptq ', "bits": 4' lora; quantised awq '' lora; quantised fp8 '' lora
       quantised gptq ', "bits": 4')" $'nf4\nint8\ngptq\nawq\nint8\nNone'

done_testing
