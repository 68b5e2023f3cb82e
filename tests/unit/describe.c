/* describe.c - tests of the carriers: which key counts, and messages for wrong ones
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "reading.h"

#include "graph/describe.h"
#include "white.h"

#define SIDECAR                                                                        \
    "{\"dnnest\": 1, \"spec\": {\"model\": \"resnet50\", \"batch\": 1, "               \
    "\"workers\": 1, \"layers\": 1}}"
#define GRAPH                                                                          \
    "{\"dnnest\": 1, \"spec\": {\"batch\": 4}, \"graph\": {\"name\": \"mine\", "       \
    "\"ops\": [{\"op\": \"linear\", \"name\": \"a\", \"in\": [[8]], \"out\": [[8]], "  \
    "\"params\": 72}, {\"op\": \"linear\", \"name\": \"b\", \"in\": [[8]], "           \
    "\"out\": [[8]], \"params\": 72}]}}"
/* Lines count up to the first command. */
#define SCRIPT                                                                         \
    "#!/bin/sh\n#SBATCH -c 4\n#DNNESTED x=1\n#DNNEST batch=2 workers=2\n"              \
    "#DNNEST precision=fp16, epochs=2\n\ntrue\n#DNNEST batch=9\n"

/* Describe a job; its layers are kept for the test. -1: not described, and empty. */
static int describe (const struct dn_carriers *carriers, struct dn_sidecar *sidecar)
{
    enum dn_metadata state;

    if (dn_describe (carriers, sidecar, &state, &unit_err) < 0) {
        assert_null (sidecar->layers.list);
        assert_int_equal (sidecar->spec.batch, DN_UNSET);
        return -1;
    }
    unit_keep (sidecar->layers.list, free);
    return (int) state;
}

/* The same of carriers and a script, as it must be. */
static struct dn_spec described (struct dn_carriers carriers,
                                 const char *script,
                                 enum dn_metadata state)
{
    struct dn_sidecar sidecar;
    int found;

    if (script)
        carriers.marks = marks_of (script);
    found = describe (&carriers, &sidecar);
    if (found < 0)
        fail_msg ("%s", unit_err.text);
    assert_int_equal (found, state);
    return sidecar.spec;
}

/* A sidecar of 'n_ops' operators, in 'n_ops' + 2 objects. */
static int describe_many (int n_ops)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream (&text, &len);
    struct dn_sidecar sidecar;
    int rc;

    fprintf (file, "{\"dnnest\": 1, \"graph\": {\"ops\": [{\"op\": \"copy\"}");
    for (int i = 1; i < n_ops; i++)
        fprintf (
            file, ",{\"op\": \"copy\", \"in\": [[%d]], \"name\": \"%d, %d\"}", i, i, i);
    fprintf (file, "]}}");
    fclose (file);
    rc = describe (&(struct dn_carriers){.sidecar = text}, &sidecar);
    if (rc >= 0)
        assert_int_equal (sidecar.layers.n, n_ops);
    for (int i = 1; rc >= 0 && i < n_ops; i++)
        assert_near (sidecar.layers.list[i].in[0].dim[0], i);
    free (text);
    return rc;
}

/* It is parsed in parts of 4 KiB. */
TEST ("a carried sidecar has at most 1024 objects")
{
    assert_int_equal (describe_many (DN_SIDECAR_OBJECTS_MAX - 2), DN_METADATA_GIVEN);
    assert_int_equal (describe_many (DN_SIDECAR_OBJECTS_MAX - 1), -1);
    assert_string_equal (unit_err.text,
                         "sidecar: more than 1024 objects, expected fewer "
                         "(repeat= stands for equal operators)");
}

TEST ("later carriers override earlier ones key by key")
{
    struct dn_carriers carriers = {.sidecar = SIDECAR,
                                   .comment = "job 7; dnnest:batch=3,workers=3,",
                                   .option = "batch=4,steps=4"};
    struct dn_spec spec = described (carriers, SCRIPT, DN_METADATA_GIVEN);

    /* Of the sidecar alone, the script alone, ... */
    assert_string_equal (spec.model, "resnet50");
    assert_numbers (
        "1 2 3 4 4", spec.layers, spec.epochs, spec.workers, spec.batch, spec.steps);
    carriers.option = NULL;
    assert_int_equal (described (carriers, SCRIPT, DN_METADATA_GIVEN).batch, 3);
    carriers.comment = "batch=9";
    assert_int_equal (described (carriers, SCRIPT, DN_METADATA_GIVEN).batch, 2);
    assert_int_equal (described (carriers, "true\n", DN_METADATA_GIVEN).batch, 1);
    carriers.sidecar = NULL;
    assert_int_equal (described (carriers, "true\n", DN_METADATA_NONE).batch, DN_UNSET);
}

/* Carriers, and a script. */
struct carried {
    struct dn_carriers carriers;
    const char *script;
};

TEST ("every carrier alone is enough")
{
    static const struct carried alone[] = {
        {{.sidecar = "{\"dnnest\":1,\"spec\":{\"model\":\"gpt2\",\"batch\":8}}"}, NULL},
        {{.comment = NULL}, "#!/bin/sh\n#DNNEST model=gpt2, batch=8\n"},
        {{.comment = "DNNEST:model=gpt2,batch=8"}, NULL},
        {{.option = "model=gpt2,batch=8"}, NULL},
        {{.option = " batch=8,model=gpt2\n"}, NULL},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (alone); i++) {
        struct dn_spec spec =
            described (alone[i].carriers, alone[i].script, DN_METADATA_GIVEN);

        assert_string_equal (spec.model, "gpt2");
        assert_int_equal (spec.batch, 8);
    }
}

TEST ("off overrides all other metadata")
{
    static const struct carried off[] = {
        {{.comment = "dnnest:off", .option = "batch=4"}, NULL},
        {{.comment = "dnnest:batch=4", .option = "OFF"}, NULL},
        {{.option = "batch=4"}, "#!/bin/sh\n#DNNEST off\n"},
        {{.comment = "x dnnest:off", .sidecar = "no JSON"}, NULL},
        {{.option = "off"}, "#!/bin/sh\n#DNNEST batch=none\n"},
        {{.option = "off", .comment = "dnnest:@nothing.json"}, NULL},
        {{.sidecar = SIDECAR}, "#!/bin/sh\n#DNNEST batch=4 off nonsense\n"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (off); i++)
        assert_int_equal (
            described (off[i].carriers, off[i].script, DN_METADATA_OFF).batch,
            DN_UNSET);
}

TEST ("wrong carriers are named with line and column")
{
    /* which carrier, its text, the error */
    static const char *const cases[] = {
        "comment|run 7 dnnest:model=x,batch=-4|: column 28: batch: -4 out of range",
        "comment|dnnest:modle=x|: column 8: unknown key 'modle'",
        "comment|dnnest:|: no metadata",
        "comment|dnnest:@a.json,batch=1|: column 9: 'a.json': the file",
        "--dnnest|model=x,batch=-4|: column 15: batch: -4",
        "--dnnest||: no metadata",
        "--dnnest|batch=1,batch=2|: column 9: batch: given twice",
        "--dnnest|train.json|: column 1: 'train.json': the file",
        "--dnnest|@t.json|: column 2: 't.json': the file",
        "--dnnest|help|=help: does not describe a job",
        "script|#!/bin/sh\n\n  #DNNEST a=1\n| line 3: column 11: unknown key 'a'",
        "script|#DNNEST model=x  batch=0| line 1: column 24: batch: 0",
        "script|#DNNEST model=x,heads=1,batch=0| line 1: column 31: batch: 0",
        "script|#DNNEST @t.json| line 1: column 9: unknown key '@t.json'",
        "sidecar|{`dnnest`: 1,\n `spec`: {`batch`: }}|: line 2, column 20: not JSON",
        "sidecar|{`dnnest`: 1,\n\n`dnnest`: 1}|: line 3, column 2: 'dnnest': given twice",
        "sidecar|{`dnnest`: 1,\n `spec`: {}}\n x|: line 3, column 2: text after",
        "sidecar|{`dnnest`: 1,\n|: line 1, column 14: ends in the",
        "sidecar|{`dnnest`: 1, `spec`: {`batch`: 0}}|: spec: batch: 0 out of range",
    };
    struct dn_carriers both = {.option = "@t.json,batch=x", .sidecar = SIDECAR};
    struct dn_sidecar sidecar;

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        const char *c[3];
        struct dn_carriers carriers;

        unit_cut (cases[i], c, 3);
        carriers = (struct dn_carriers){
            .marks = marks_of (strcmp (c[0], "script") == 0 ? c[1] : NULL),
            .comment = strcmp (c[0], "comment") == 0 ? c[1] : NULL,
            .option = strcmp (c[0], "--dnnest") == 0 ? c[1] : NULL,
            .sidecar = strcmp (c[0], "sidecar") == 0 ? c[1] : NULL};
        assert_error (describe (&carriers, &sidecar), unit_text ("%s%s", c[0], c[2]));
    }
    assert_error (describe (&both, &sidecar), "--dnnest: column 15: batch");
}

TEST ("a graph is kept under any model name")
{
    struct dn_sidecar sidecar;

    assert_int_equal (
        describe (
            &(struct dn_carriers){.sidecar = GRAPH, .option = "model=resnet50,batch=8"},
            &sidecar),
        DN_METADATA_GIVEN);
    assert_int_equal (sidecar.spec.batch, 8);
    assert_near (white_graph (&sidecar).params, 144);
}

TEST ("notes are split into parts")
{
    static const struct {
        const char *option;
        const char *file;
        const char *pairs;
    } cases[] = {
        {"batch=4", NULL, "batch=4"},
        {"train.json", "train.json", NULL},
        {"train.json,batch=4", "train.json", "batch=4"},
        {"model=a.json,batch=4", NULL, "model=a.json,batch=4"},
        {"train", "train", NULL},
        {"./a=b.json", "./a=b.json", NULL},
        {"/a=b,c=d", "/a=b,c=d", NULL},
        {"@a=b.json,batch=4,x=1", "a=b.json", "batch=4,x=1"},
        {"@a", "a", NULL},
        {"@", "", NULL},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_note note = dn_note_of_option (cases[i].option);

        assert_false (note.off || note.help);
        assert_int_equal (note.file.text != NULL, cases[i].file != NULL);
        assert_int_equal (note.pairs.text != NULL, cases[i].pairs != NULL);
        if (cases[i].file)
            assert_memory_equal (note.file.text, cases[i].file, strlen (cases[i].file));
        if (cases[i].pairs)
            assert_string_equal (note.pairs.text, cases[i].pairs);
    }
    assert_true (dn_note_of_option ("Help").help);
    assert_null (dn_note_of_option (NULL).pairs.text);
    assert_null (dn_note_of_comment ("a@b").file.text);
}

/* A sidecar of 'n' equal operators and 'n' different ones. */
static char *large_sidecar (int n)
{
    size_t size = (size_t) n * 160 + 100;
    char *text = unit_keep (malloc (size), free);
    struct dn_buf buf = dn_buf_on (text, size);

    dn_buf_add (&buf, "{\"dnnest\":1,\"spec\":{\"batch\":4},\"graph\":{\"ops\":[");
    for (int i = 0; i < n; i++)
        dn_buf_add (
            &buf,
            "%s\n{\"op\":\"linear\",\"name\":\"same%d\",\"in\":[[8]],\"out\":[[8]]}"
            ",\n {\"op\":\"linear\",\"in\":[[8]],\"out\":[[%d]]}",
            i > 0 ? "," : "",
            i,
            i < 50 ? i + 1 : 7);
    dn_buf_add (&buf, "]}}");
    assert_false (buf.cut);
    return text;
}

/* The text for a hand-over, kept for the test. */
static char *compact_of (const char *text)
{
    char *compact;

    assert_done (dn_sidecar_compact (
        dn_span_of (text), DN_SIDECAR_HANDOVER_MAX, &compact, &unit_err));
    return unit_keep (compact, free);
}

TEST ("a compacted sidecar is small and has the same totals")
{
    char *text = large_sidecar (5000);
    char *compact = compact_of (text);
    struct dn_sidecar before = white_sidecar (text);
    struct dn_sidecar after = white_sidecar (compact);
    struct dn_graph whole = white_graph (&before);
    struct dn_graph fewer = white_graph (&after);

    assert_true (strlen (compact) < 4096);
    assert_null (strchr (compact, '\n'));
    assert_null (strstr (compact, "same"));
    assert_int_equal (fewer.n_ops, 50);
    assert_near (whole.flops, fewer.flops);
    assert_int_equal (after.spec.batch, 4);
}

/* Totals of a graph, from which the time and the memory of a step follow. */
struct totals {
    double sums[8];
    double kinds[DN_N_OP_KINDS]; /* launches */
};

static struct totals totals_of (const char *text)
{
    struct dn_sidecar sidecar = white_sidecar (text);
    struct dn_graph graph = white_graph (&sidecar);
    struct totals totals = {{0}, {0}};

    for (int i = 0; i < graph.n_ops; i++) {
        const struct dn_op *op = &graph.ops[i];
        const double numbers[] = {op->flops,
                                  op->in,
                                  op->out,
                                  op->params,
                                  op->tensors,
                                  op->saved,
                                  op->masks,
                                  op->weights};

        for (size_t j = 0; j < DN_N_ELEMENTS (numbers); j++)
            totals.sums[j] += op->repeat * numbers[j];
        totals.kinds[op->kind] += op->repeat;
    }
    return totals;
}

/* 'n' layers of growing sizes, as in DenseNet; all are different. */
static void add_growing (struct dn_buf *buf, int n)
{
    dn_buf_add (buf,
                "{\"dnnest\":1,\"graph\":{\"ops\":[{\"op\":\"conv2d\",\"in\":[[3,224,"
                "224]],\"out\":[[64,112,112]],\"kernel\":[7,7],\"params\":9408,"
                "\"first\":true}");
    for (int i = 0; i < n; i++) {
        int c = 256 + 8 * i;

        dn_buf_add (
            buf,
            ",{\"op\":\"batchnorm\",\"in\":[[%1$d,14,14]],\"out\":[[%1$d,14,14]],"
            "\"params\":%2$d},{\"op\":\"conv2d\",\"in\":[[%1$d,14,14]],\"out\":[["
            "128,14,14]],\"kernel\":[1,1],\"params\":%3$d,\"tensors\":1},"
            "{\"op\":\"conv2d\",\"in\":[[%1$d,14,14]],\"out\":[[%1$d,14,14]],"
            "\"kernel\":[3,3],\"groups\":%1$d},{\"op\":\"linear\",\"in\":[[%1$d]],"
            "\"out\":[[%4$d]]},{\"op\":\"dropout\",\"in\":[[%1$d]],\"out\":[[%1$d]]},"
            "{\"op\":\"other\",\"flops\":%5$d,\"bytes\":%6$d}",
            c,
            2 * c,
            128 * c,
            c + 3,
            7 * c,
            9 * c);
    }
    dn_buf_add (buf, "]}}");
}

TEST ("similar operators are merged")
{
    static char text[400000];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));
    struct totals before;
    struct totals after;
    char *compact;

    add_growing (&buf, 400);
    assert_false (buf.cut);
    compact = compact_of (text);
    assert_true (strlen (compact) <= DN_SIDECAR_HANDOVER_MAX);
    assert_true (strlen (compact) > DN_SIDECAR_HANDOVER_MAX / 2);
    before = totals_of (text);
    after = totals_of (compact);
    for (size_t i = 0; i < DN_N_ELEMENTS (before.sums); i++)
        if (fabs (after.sums[i] / before.sums[i] - 1) > 1e-3)
            fail_msg ("sum %zu: %g, was %g", i, after.sums[i], before.sums[i]);
    assert_true (fabs (after.sums[0] / before.sums[0] - 1) < 1e-6);
    assert_true (fabs (after.sums[3] / before.sums[3] - 1) < 1e-9);
    assert_true (fabs (after.sums[5] / before.sums[5] - 1) < 1e-9);
    for (int i = 0; i < DN_N_OP_KINDS; i++)
        assert_near (before.kinds[i], after.kinds[i]);
}

TEST ("a sidecar that stays too large is refused")
{
    struct dn_err err;
    char *compact;
    char *text = unit_keep (malloc (100000), free);
    struct dn_buf buf = dn_buf_on (text, 100000);

    dn_buf_add (&buf, "{\"dnnest\":1,\"graph\":{\"ops\":[");
    for (int i = 0; i < 625; i++) /* no two are similar */
        dn_buf_add (&buf,
                    "%s{\"op\":\"linear\",\"in\":[[%d]],\"out\":[[%d]]}",
                    i > 0 ? "," : "",
                    1 << i % 25,
                    1 << i / 25);
    dn_buf_add (&buf, "]}}");
    assert_false (buf.cut);
    assert_int_equal (
        dn_sidecar_compact (dn_span_of (text), DN_SIDECAR_HANDOVER_MAX, &compact, &err),
        -1);
    assert_null (compact);
    assert_int_equal (err.code, DN_E_LIMIT);
    assert_contains (err.text, "(625 are left), expected at most 16384");
    assert_int_equal (
        dn_sidecar_compact (dn_span_of ("{}"), DN_SIDECAR_HANDOVER_MAX, &compact, &err),
        -1);
    assert_null (compact);
}

/* The keys that nothing reads beside the graph of a sidecar. */
static struct dn_keyset unread_beside (const char *sidecar_text, const char *option)
{
    struct dn_sidecar sidecar;

    assert_int_equal (
        describe (&(struct dn_carriers){.sidecar = sidecar_text, .option = option},
                  &sidecar),
        DN_METADATA_GIVEN);
    return white_graph (&sidecar).unread;
}

TEST ("keys do not change a graph, and are named")
{
    static const char with_tokens[] =
        "{\"dnnest\": 1, \"spec\": {\"batch\": 4, \"seq_len\": 512}, \"graph\": "
        "{\"ops\": [{\"op\": \"linear\", \"in\": [[8]], \"out\": [[8]], "
        "\"params\": 72}]}}";

    assert_true (dn_keyset_is_empty (unread_beside (GRAPH, NULL)));
    assert_true (
        dn_keyset_is_empty (unread_beside (GRAPH, "model=vgg16,seq_len=128,epochs=2")));
    assert_true (
        dn_keyset_equal (unread_beside (GRAPH, "experts=8"), DN_KEYSET (experts)));
    assert_true (
        dn_keyset_is_empty (unread_beside (with_tokens, "seq_len=512,batch=8")));
    assert_true (dn_keyset_equal (unread_beside (with_tokens, "seq_len=1024"),
                                  DN_KEYSET (seq_len)));
}
