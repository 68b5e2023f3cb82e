/* spec.c - tests of spec/: the metadata grammar, its carriers, derived values
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reading.h"

#include "spec/spec.h"

static int read_text (const char *text, struct dn_spec *spec, struct dn_err *err)
{
    *spec = dn_spec_empty ();
    return dn_spec_read (dn_span_of (text), spec, err);
}

TEST ("a failed reading leaves the specification unchanged")
{
    struct dn_spec spec;

    assert_done (read_text ("batch=8", &spec, &unit_err));
    assert_int_equal (dn_spec_read (dn_span_of ("batch=16,x=1"), &spec, &unit_err), -1);
    assert_int_equal (spec.batch, 8);
}

TEST ("metadata beyond the limit is refused")
{
    struct dn_spec spec;

    assert_error (read_text (unit_repeat (",", DN_METADATA_MAX + 1), &spec, &unit_err),
                  "expected at most 4096");
    assert_int_equal (unit_err.code, DN_E_LIMIT);
}

/* The amount of work, the size of the job and wishes are not of the application; the
 * data are.
 */
static bool is_of_application (const struct dn_key *key)
{
    char *name = unit_text (" %s ", key->name);

    return strstr (" dataset samples eval_every eval_samples ", name)
           || (strcmp (key->group, "amount of work") != 0
               && strcmp (key->group, "wishes") != 0 && !strstr (" gpus nodes ", name));
}

TEST ("every key survives writing and reading")
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        struct dn_spec spec;
        struct dn_spec again;
        char value[DN_VALUE_MAX];
        const char *sample = keys[i].type == DN_KEY_ENUM    ? keys[i].names.names[1]
                             : keys[i].type == DN_KEY_IMAGE ? "32x64"
                             : keys[i].type == DN_KEY_TIME  ? "1-02:03:04"
                                                            : "1";

        if (keys[i].type == DN_KEY_INT && keys[i].min > 1)
            sample = unit_text ("%.0f", keys[i].min);
        assert_done (
            read_text (unit_text ("%s=%s", keys[i].name, sample), &spec, &unit_err));
        assert_true (dn_spec_has (&spec, &keys[i]));
        dn_spec_write_value (&spec, &keys[i], value);
        assert_done (
            read_text (unit_text ("%s=%s", keys[i].name, value), &again, &unit_err));
        assert_memory_equal (&spec, &again, sizeof (spec));
        spec = dn_spec_empty ();
        assert_false (dn_spec_has (&spec, &keys[i]));
        spec = dn_spec_of_application (&again);
        assert_int_equal (dn_spec_has (&spec, &keys[i]), is_of_application (&keys[i]));
    }
}

TEST ("names ignore case and dashes")
{
    struct dn_spec spec;

    assert_int_equal (read_text (" Seq-Len=128 , OPTIMIZER=AdamW ,", &spec, NULL), 0);
    assert_int_equal (spec.seq_len, 128);
    assert_int_equal (spec.optimizer, DN_OPTIMIZER_ADAMW);
}

TEST ("comments are searched for the mark")
{
    static const struct {
        const char *comment;
        enum dn_metadata found;
        int64_t batch;
    } cases[] = {
        {NULL, DN_METADATA_NONE, DN_UNSET},
        {"", DN_METADATA_NONE, DN_UNSET},
        {"nothing here", DN_METADATA_NONE, DN_UNSET},
        {"mydnnest:batch=1", DN_METADATA_NONE, DN_UNSET},
        {"dnnest:off", DN_METADATA_OFF, DN_UNSET},
        {"project x; dnnest:OFF", DN_METADATA_OFF, DN_UNSET},
        {"dnnest:model=x,batch=4 dnnest:off", DN_METADATA_OFF, DN_UNSET},
        {"dnnest:model=x,batch=4;mydnnest:off", DN_METADATA_GIVEN, 4},
        {"dnnest:model=x,batch=4 dnnest:batch=5", DN_METADATA_GIVEN, 4},
        {"dnnest:model=x,batch=4", DN_METADATA_GIVEN, 4},
        {"run 7 dnnest:model=x,batch=4 for paper", DN_METADATA_GIVEN, 4},
        {"a;dnnest:model=x,batch=4;b", DN_METADATA_GIVEN, 4},
        {"DNNEST:model=x,batch=4\nbatch=5", DN_METADATA_GIVEN, 4},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        const struct dn_carriers carriers = {.comment = cases[i].comment};
        struct dn_spec spec = dn_spec_empty ();
        enum dn_metadata found;

        assert_int_equal (dn_spec_collect (&carriers, &spec, &found, NULL), 0);
        assert_int_equal (found, cases[i].found);
        assert_int_equal (spec.batch, cases[i].batch);
    }
}

static int read_datasets (const char *text, struct dn_datasets *datasets)
{
    return dn_datasets_read (dn_span_of (text), "f", datasets, &unit_err);
}

TEST ("data sets are read from lines")
{
    struct dn_datasets *datasets = unit_keep (calloc (1, sizeof (*datasets)), free);

    assert_done (read_datasets ("# table\nDataset=tiny Samples=1k SampleBytes=3000 "
                                "Decode=jpeg\nDataset=other Samples=5\n",
                                datasets));
    assert_numbers ("2 1000", datasets->n_rows, datasets->rows[0].samples);
    assert_int_equal (datasets->rows[1].sample_bytes, DN_UNSET);
    assert_done (read_datasets ("Dataset=text Tokens=156G\n", datasets));
    assert_near (datasets->rows[0].tokens, 156e9);
    assert_error (read_datasets ("\nDataset=x Sample=5", datasets),
                  "f: line 2: unknown key 'Sample'");
    assert_int_equal (read_datasets ("Dataset=x", datasets), -1);
    assert_int_equal (read_datasets ("word Dataset=x Samples=1", datasets), -1);
}

/* One data set, 'text' resolved for 'n_gpus'. */
static int resolve (const char *text,
                    int64_t n_gpus,
                    struct dn_spec *spec,
                    struct dn_err *err)
{
    static struct dn_datasets datasets = {
        {{"imagenet", 1281167, 110000, DN_DECODE_JPEG, -1},
         {"wikitext", DN_UNSET, DN_UNSET, DN_DECODE_UNKNOWN, 1e6}},
        2};

    if (read_text (text, spec, err) < 0)
        return -1;
    return dn_spec_resolve (spec, &datasets, n_gpus, err);
}

TEST ("work follows from the data set")
{
    static const struct {
        const char *text; /* behind "model=x,batch=8," */
        double steps;
    } cases[] = {
        {"", -1},
        {"steps=10", 10},
        {"tokens=1M,seq_len=100", 1250},
        {"epochs=3,seq_len=100,dataset=Salesforce/wikitext", 3750},
        {"epochs=3,samples=80,dataset=wikitext", 30},
        {"epochs=1,tokens=8k,seq_len=10,dataset=new", 100},
    };
    struct dn_spec spec;

    assert_done (
        resolve ("model=x,batch=256,epochs=90,dataset=ImageNet", 4, &spec, &unit_err));
    assert_numbers ("4 1024", spec.gpus, spec.global_batch);
    assert_int_equal (spec.decode, DN_DECODE_JPEG);
    assert_near (dn_spec_steps (&spec), 90.0 * 1252);
    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        assert_done (resolve (
            unit_text ("model=x,batch=8,%s", cases[i].text), i > 0, &spec, &unit_err));
        assert_int_equal (spec.gpus, 1);
        assert_near (dn_spec_steps (&spec), cases[i].steps);
    }
    assert_int_equal (resolve ("model=x,batch=1,epochs=1,dataset=new", 1, &spec, NULL),
                      -1);
}

TEST ("the name of a network may state the format of its weights")
{
    static const struct {
        const char *model;
        enum dn_quant quant;
    } names[] = {{"unsloth/Llama-3.2-1B-bnb-4bit", DN_QUANT_NF4},
                 {"TheBloke/Mistral-7B-v0.1-GPTQ", DN_QUANT_GPTQ},
                 {"Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", DN_QUANT_GPTQ},
                 {"Qwen/Qwen2.5-14B-Instruct-GPTQ-Int8", DN_QUANT_INT8},
                 {"hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", DN_QUANT_AWQ},
                 {"hugging-quants/Meta-Llama-3.1-8B-Instruct-BNB-NF4", DN_QUANT_NF4},
                 {"Qwen/Qwen3-8B-FP8", DN_QUANT_INT8},
                 {"RedHatAI/Qwen2.5-7B-Instruct-quantized.w8a8", DN_QUANT_INT8},
                 {"some/model-8bit", DN_QUANT_INT8},
                 {"bloom-7b1", DN_QUANT_UNKNOWN},
                 {"none-none", DN_QUANT_UNKNOWN},
                 {"", DN_QUANT_UNKNOWN}};
    struct dn_spec spec;

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        if (dn_spec_quant_named (names[i].model) != names[i].quant)
            fail_msg ("%s", names[i].model);
    assert_int_equal (resolve ("model=a/b-4bit,batch=1,lora=8", 1, &spec, NULL), 0);
    assert_int_equal (spec.quant, DN_QUANT_NF4);
    assert_true (
        dn_keyset_is_empty (dn_keyset_and (dn_spec_given (&spec), DN_KEYSET (quant))));
    assert_int_equal (
        resolve ("model=a/b-4bit,batch=1,lora=8,quant=none", 1, &spec, NULL), 0);
    assert_int_equal (spec.quant, DN_QUANT_NONE);
    assert_int_equal (resolve ("model=a/b-4bit,batch=1", 1, &spec, NULL), 0);
    assert_int_equal (spec.quant, DN_QUANT_UNKNOWN);
}

TEST ("batches determine one another")
{
    static const struct {
        const char *text;
        int64_t batch;
        int64_t accum;
        int64_t global;
    } cases[] = {
        {"model=x,batch=8,gpus=4", 8, 1, 32},
        {"model=x,global_batch=32,gpus=4", 8, 1, 32},
        {"model=x,batch=8,grad_accum=4,gpus=2", 8, 4, 64},
        {"model=x,global_batch=64,grad_accum=4,gpus=2", 8, 4, 64},
        {"model=x,batch=8,global_batch=64,gpus=2", 8, 4, 64},
        {"model=x,micro_batch=2,global_batch=64,gpus=8,tp=2,pp=2", 2, 16, 64},
        {"model=x,micro_batch=2,global_batch=64,gpus=16,tp=2,pp=2,cp=2", 2, 16, 64},
        {"model=x,batch=8,gpus=8,cp=2,ep=8", 8, 1, 32},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_spec spec;

        assert_int_equal (resolve (cases[i].text, DN_UNSET, &spec, NULL), 0);
        assert_int_equal (spec.batch, cases[i].batch);
        assert_int_equal (spec.grad_accum, cases[i].accum);
        assert_int_equal (spec.global_batch, cases[i].global);
    }
}

TEST ("contradictions are errors")
{
    static const char *const cases[][2] = {
        {"batch=8", "model: missing"},
        {"params=1M,batch=8", "model: missing"},
        {"model=x", "batch: missing"},
        {"model=x,batch=8,epochs=3,dataset=nowhere", "dataset: 'nowhere' is not in"},
        {"model=x,batch=8,gpus=6,tp=4", "gpus: 6 is not a multiple of tp * pp = 4"},
        {"model=x,batch=8,gpus=6,tp=2,cp=2",
         "gpus: 6 is not a multiple of tp * pp * cp = 4"},
        {"model=x,batch=8,gpus=8,tp=2,ep=3",
         "ep: 3 does not divide gpus / (tp * pp) = 4"},
        {"model=x,batch=8,gpus=8,ep=4,experts=6", "ep: 4 does not divide experts = 6"},
        {"model=x,batch=8,gpus=8,sp=1", "sp: 1 without tensor parallelism"},
        {"model=x,batch=8,gpus=8,vpp=2", "vpp: 2 chunks of each stage, and pp is 1"},
        {"model=x,batch=8,gpus=8,pp=4,vpp=2,layers=12",
         "vpp: pp * vpp = 8 chunks of layers = 12"},
        {"model=x,batch=8,gpus=8,cp=8,seq_len=1020",
         "cp: 8 does not divide seq_len = 1020"},
        {"model=x,batch=8,gpus=8,offload=optimizer",
         "offload: optimizer on 8 GPUs needs shards, expected parallel=zero1"},
        {"model=x,batch=8,gpus=8,parallel=zero2,offload=params",
         "offload: params on 8 GPUs needs shards, expected parallel=zero3"},
        {"model=x,batch=8,net=ib", "net: 'ib', expected ib, roce or ethernet"},
        {"model=x,batch=8,net=ib0", "net: 'ib0'"},
        {"model=x,batch=8,net=ib10001", "net: 'ib10001'"},
        {"model=x,batch=8,net=ib99999999999999999999", "net: 'ib9999"},
        {"model=x,batch=8,net=ib400x", "net: 'ib400x'"},
        {"model=x,batch=8,net=ib400x65", "net: 'ib400x65'"},
        {"model=x,batch=8,net=ib400x8g", "net: 'ib400x8g'"},
        {"model=x,batch=8,net=400", "net: '400'"},
        {"model=x,batch=8,net=infiniband400", "net: 'infiniband400'"},
        {"model=x,batch=8,gpus=4,parallel=dataparallel,cp=2",
         "parallel: dataparallel is one process on one node"},
        {"model=x,batch=8,gpus=4,nodes=2,parallel=dataparallel",
         "parallel: dataparallel is one process on one node"},
        {"model=x,batch=8,gpus=2,nodes=4", "nodes: 4 nodes for 2 GPUs"},
        {"model=x,global_batch=10,gpus=4", "global_batch: 10 is not a multiple"},
        {"model=x,batch=256,global_batch=256,gpus=4",
         "global_batch: 256 is not batch * GPUs * grad_accum = 1024"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_spec spec;

        assert_error (resolve (cases[i][0], DN_UNSET, &spec, &unit_err), cases[i][1]);
    }
}

TEST ("a wrong word is named, and a mistyped one gets a suggestion")
{
    static const char *const cases[][2] = {
        {"epohcs=3", "unknown key 'epohcs', did you mean 'epochs'?"},
        {"batch", "batch: no value, expected batch=VALUE"},
        {"batch=1,batch=2", "batch: given twice, expected once"},
        {"model=../../x", "model: '../../x' is not a name"},
        {"model=r\033[31m", "model: 'r?[31m' is not a name"},
        {"model=a\nb", "model: 'a?b' is not a name"},
        {"model=a'b", "model: 'a?b' is not a name"},
        {"dataset=\xff", "dataset: '?' is not a name"},
        {"mod\xe2\x82=x", "unknown key 'mod"},
        {"batch=4.5", "batch: '4.5' is not a whole number, expected 1.."},
        {"epochs=nan", "epochs: 'nan' is not a number, expected 0.001"},
        {"epochs=-1", "epochs: -1 out of range 0.001.."},
        {"epochs=1e30", "epochs: 1e30 out of range 0.001.."},
        {"image=1x2x3x4", "more than three sizes"},
        {"image=224x", "image: "},
        {"image=0", "image: 0 out of range 1..65536"},
        {"deadline=soon", "deadline: 'soon' is not a time"},
        {"deadline=0", "deadline: 0 out of range"},
        {"bacth=3", "did you mean 'batch'?"},
        {"precision=fp61", "; did you mean fp16?"},
        {"optimizer=adamm", "; did you mean adam?"},
        {"parallel=zer", "; did you mean zero1?"},
        /* names that other programs have for several things */
        {"train_batch_size=4", "did you mean 'global_batch'?"},
        {"context=4", "did you mean 'seq_len'?"},
        {"ngpus=4", "did you mean 'gpus'?"},
        {"parallel=ZeRO", "did you mean zero2 or zero3?"},
        {"tokens=1B", "expected one of the suffixes k, M, G and T"},
        {"samples=12b", "expected one of the suffixes k, M, G and T"},
        {"model=\"resnet50\"", "in quotes, expected model=VALUE without them"},
        {"precision='fp16'", "in quotes, expected precision=VALUE without them"},
    };
    struct dn_spec spec;

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        assert_error (read_text (cases[i][0], &spec, &unit_err), cases[i][1]);
    assert_error (
        read_text (unit_text ("model=%s", unit_repeat ("a", 300)), &spec, &unit_err),
        unit_text ("model: '%s...' is longer than 63 characters",
                   unit_repeat ("a", 40)));
    assert_int_equal (read_text ("qqq=3", &spec, &unit_err), -1);
    assert_null (strstr (unit_err.text, "did you mean"));
}

TEST ("all that is wrong is said, as far as it fits")
{
    struct dn_spec spec;

    assert_error (read_text ("tokens=1B,batch=4,gpus=0", &spec, &unit_err),
                  "column 8: tokens: '1B' is not a number");
    assert_contains (unit_err.text, "; column 24: gpus: 0 out of range");
    assert_int_equal (spec.batch, DN_UNSET);
}

TEST ("a word of another program is read where it has one meaning")
{
    static const char *const cases[][2] = {
        {"batch_size=3", "batch=3"},
        {"per_device_train_batch_size=4", "batch=4"},
        {"bs = 4, seq = 512", "seq_len=512,batch=4"},
        {"gradient_accumulation_steps=4", "grad_accum=4"},
        {"Max-Seq-Length=4k", "seq_len=4096"},
        {"seq_len=1000", "seq_len=1000"},
        {"tokens=4k", "tokens=4000"},
        {"num-layers=3,num_attention_heads=4", "layers=3,heads=4"},
        {"dtype=float16", "precision=fp16"},
        {"precision=bfloat16", "precision=bf16"},
        {"precision=16-mixed", "precision=fp16"},
        {"precision=bf16-true", "precision=bf16_pure"},
        {"amp", "precision=fp16"},
        {"fp16=True,bf16=False", "precision=fp16"},
        {"bf16=1", "precision=bf16"},
        {"amp=no", ""},
        {"load_in_4bit=true", "quant=nf4"},
        {"parallel=ddp", "parallel=dp"},
        {"compile=True", "compile=1"},
        {"gradient_checkpointing=true", "checkpointing=full"},
        {"optimizer=adamw_torch", "optimizer=adamw"},
        {"learning_rate=3e-4,lr=0.1,max_steps=4", "steps=4"},
        {"warmup_ratio=0.1,betas=0.9,output_dir=/tmp/a", ""},
        {"bs=4 seq=512 mixed", "seq_len=512,batch=4,precision=fp16"},
        {"  bs = 4\tseq =512 , bf16 ", "seq_len=512,batch=4,precision=bf16"},
        {"bs=4, ,amp", "batch=4,precision=fp16"},
        {"zero_stage=3", "parallel=zero3"},
        {"quant=4bit fsdp", "quant=nf4,parallel=fsdp"},
        {"per_device_batch_size=2 cutoff_len=2k opt=adamw",
         "seq_len=2048,batch=2,optimizer=adamw"},
    };
    struct dn_spec spec;

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        char text[256];

        if (read_text (cases[i][0], &spec, &unit_err) < 0)
            fail_msg ("%s: %s", cases[i][0], unit_err.text);
        assert_true (dn_spec_write (&spec, text, sizeof (text)));
        assert_string_equal (text, cases[i][1]);
    }
    assert_error (read_text ("bs=4,batch=4", &spec, &unit_err), "given twice");
    assert_error (read_text ("fp16=1,bf16=1", &spec, &unit_err), "given twice");
}

static const struct {
    const char *comment;
    const char *script;
    const char *says; /* "": nothing */
    const char *option;
} texts_like_metadata[] = {
    {"'dnnest:model=resnet50,batch=4'", NULL, "a quote before 'dnnest:'", NULL},
    {"\"dnnest:model=resnet50\"", NULL, "a quote before 'dnnest:'", NULL},
    {"\\\"dnnest:off\\\"", NULL, "a quote before 'dnnest:'", NULL},
    {"ticket,dnnest:batch=4", NULL, "has ',' before 'dnnest:'", NULL},
    {"(DNNEST:@x.json)", NULL, "has '(' before 'dnnest:'", NULL},
    {"dnnest:model=vgg16,batch=64, epochs=3", NULL, "'epochs=3' in the comm", NULL},
    {"dnnest:model=vgg16;batch=64", NULL, "'batch=64' in the comment", NULL},
    {"dnnest:batch=4 dnnest:epochs=2", NULL, "'epochs=2' in the comment", NULL},
    {"dnnest:@a.json batch=4", NULL, "'batch=4' in the comment", NULL},
    {"dnnest:batch=64; user=alice note=x", NULL, "", NULL},
    {"see dnnest:docs", NULL, "", NULL},
    {"see https://x.org/dnnest:8080", NULL, "", NULL},
    {"mydnnest:x and more", NULL, "", NULL},
    {"'dnnest:modle=resnet50'", NULL, "", NULL},
    {"dnnest:off batch=4", NULL, "", NULL},
    {"dnnest", NULL, "", NULL},
    {"'dnnest:", NULL, "", NULL},
    {"'dnnest:batch=4'", NULL, "", "off"},
    {NULL, "#!/bin/sh\n# DNNEST model=vgg16\ntrue\n", "script line 2: not a", NULL},
    {NULL, "#!/bin/sh\n#dnnest batch=4\ntrue\n", "script line 2: not a", NULL},
    {NULL, "#!/bin/sh\n#DNNEST: batch=4\ntrue\n", "script line 2: not a", NULL},
    {NULL, "#!/bin/sh\n#DNNEST:off\ntrue\n", "script line 2: not a", NULL},
    {NULL,
     "#!/bin/sh\ntrue\n#DNNEST batch=4\n",
     "script line 3: #DNNEST is after the first command",
     NULL},
    {NULL, "#!/bin/sh\n#DNNEST batch=4\ntrue\n", "", NULL},
    {NULL, "#!/bin/sh\n# dnnest reads this\n#dnnesting=4\ntrue\n", "", NULL},
    {NULL, "#!/bin/sh\n##DNNEST batch=4\ntrue\n", "", NULL},
    {NULL, "cat <<END >job\n#DNNEST batch=4\nEND\nsbatch job\n", "", NULL},
    {NULL, "#dnnest", "", NULL},
    {NULL, "#", "", NULL},
    {NULL, "", "", NULL},
    {NULL, NULL, "", NULL},
};

TEST ("what looks like metadata and is not read is named")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (texts_like_metadata); i++) {
        struct dn_carriers carriers = {.comment = texts_like_metadata[i].comment,
                                       .marks =
                                           marks_of (texts_like_metadata[i].script),
                                       .option = texts_like_metadata[i].option};
        char text[DN_REASON_MAX];

        dn_spec_ignored (&carriers, text);
        if (texts_like_metadata[i].says[0] == '\0')
            assert_string_equal (text, "");
        else
            assert_contains (text, texts_like_metadata[i].says);
    }
}

TEST ("runs are counted")
{
    struct dn_spec spec;

    assert_done (read_text ("batch=4", &spec, &unit_err));
    assert_near (dn_spec_runs (&spec), 1);
    assert_done (read_text ("runs=5", &spec, &unit_err));
    assert_near (dn_spec_runs (&spec), 5);
    assert_error (read_text ("runs=0", &spec, &unit_err),
                  "runs: 0 out of range 1..10000");
    assert_int_equal (read_text ("runs=10001", &spec, &unit_err), -1);
}

static bool is_given (const struct dn_spec *spec, const char *name)
{
    const struct dn_key *key = dn_spec_key (dn_span_of (name));
    struct dn_keyset one = dn_keyset_of (key->offset);

    return dn_keyset_equal (dn_keyset_and (dn_spec_given (spec), one), one);
}

TEST ("derived keys are not given ones")
{
    struct dn_spec spec;

    assert_done (resolve (
        "model=vgg16,batch=4,dataset=imagenet,decode=none", 2, &spec, &unit_err));
    assert_false (is_given (&spec, "sample_bytes"));
    assert_false (is_given (&spec, "gpus"));
    assert_true (is_given (&spec, "decode"));
    assert_true (dn_keyset_equal (dn_spec_network_keys (&spec), DN_KEYSET (model)));
}
