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
#define SCRIPT "#!/bin/sh\n#DNNEST batch=2 workers=2 epochs=2\ntrue\n"

/* Describe a job and free its layers. */
static enum dn_metadata describe (struct dn_carriers carriers, struct dn_spec *spec)
{
    struct dn_sidecar sidecar;
    enum dn_metadata state;
    struct dn_err err = {.text = ""};

    if (dn_describe (&carriers, &sidecar, &state, &err) < 0)
        fail_msg ("%s", err.text);
    *spec = sidecar.spec;
    dn_sidecar_free (&sidecar);
    return state;
}

/* A sidecar of 'n_ops' operators, in 'n_ops' + 2 objects. */
static int describe_many (int n_ops, struct dn_err *err)
{
    char *text = NULL;
    size_t len;
    FILE *file = open_memstream (&text, &len);
    struct dn_carriers carriers = {.comment = NULL};
    struct dn_sidecar sidecar;
    enum dn_metadata state;
    int rc;

    fprintf (file, "{\"dnnest\": 1, \"graph\": {\"ops\": [{\"op\": \"copy\"}");
    for (int i = 1; i < n_ops; i++)
        fprintf (
            file, ",{\"op\": \"copy\", \"in\": [[%d]], \"name\": \"%d, %d\"}", i, i, i);
    fprintf (file, "]}}");
    fclose (file);
    carriers.sidecar = text;
    rc = dn_describe (&carriers, &sidecar, &state, err);
    if (rc == 0) {
        assert_int_equal (sidecar.layers.n, n_ops);
        for (int i = 1; i < n_ops; i++)
            assert_near (sidecar.layers.list[i].in[0].dim[0], i);
    }
    dn_sidecar_free (&sidecar);
    free (text);
    return rc;
}

/* It is parsed in parts of 4 KiB. */
TEST ("a carried sidecar has at most 1024 objects")
{
    struct dn_err err = {.text = ""};

    assert_int_equal (describe_many (DN_SIDECAR_OBJECTS_MAX - 2, &err), 0);
    assert_int_equal (describe_many (DN_SIDECAR_OBJECTS_MAX - 1, &err), -1);
    assert_string_equal (err.text,
                         "sidecar: more than 1024 objects, expected fewer "
                         "(repeat= stands for equal operators)");
}

TEST ("later carriers override earlier ones key by key")
{
    struct dn_carriers carriers = {.sidecar = SIDECAR,
                                   .marks = marks_of (SCRIPT),
                                   .comment = "job 7; dnnest:batch=3,workers=3,",
                                   .option = "batch=4,steps=4"};
    struct dn_spec spec;

    assert_int_equal (describe (carriers, &spec), DN_METADATA_GIVEN);
    assert_string_equal (spec.model, "resnet50"); /* the sidecar alone */
    assert_int_equal (spec.layers, 1);
    assert_near (spec.epochs, 2); /* the script alone */
    assert_numbers ("3 4 4", spec.workers, spec.batch, spec.steps);
    carriers.option = NULL;
    assert_int_equal (describe (carriers, &spec), DN_METADATA_GIVEN);
    assert_int_equal (spec.batch, 3);
    carriers.comment = "batch=9";
    assert_int_equal (describe (carriers, &spec), DN_METADATA_GIVEN);
    assert_int_equal (spec.batch, 2);
    carriers.marks = marks_of ("#!/bin/sh\ntrue\n");
    assert_int_equal (describe (carriers, &spec), DN_METADATA_GIVEN);
    assert_int_equal (spec.batch, 1);
    carriers.sidecar = NULL;
    assert_int_equal (describe (carriers, &spec), DN_METADATA_NONE);
    assert_int_equal (spec.batch, DN_UNSET);
}

static enum dn_metadata describe_with (struct dn_carriers carriers,
                                       const char *script,
                                       struct dn_spec *spec)
{
    carriers.marks = marks_of (script);
    return describe (carriers, spec);
}

TEST ("every carrier alone is enough")
{
    static const struct {
        struct dn_carriers carriers;
        const char *script;
    } alone[] = {
        {{.sidecar = "{\"dnnest\":1,\"spec\":{\"model\":\"gpt2\",\"batch\":8}}"}, NULL},
        {{.comment = NULL}, "#!/bin/sh\n#DNNEST model=gpt2, batch=8\n"},
        {{.comment = "DNNEST:model=gpt2,batch=8"}, NULL},
        {{.option = "model=gpt2,batch=8"}, NULL},
        {{.option = " batch=8,model=gpt2\n"}, NULL},
    };
    struct dn_spec spec;

    for (size_t i = 0; i < DN_N_ELEMENTS (alone); i++) {
        assert_int_equal (describe_with (alone[i].carriers, alone[i].script, &spec),
                          DN_METADATA_GIVEN);
        assert_string_equal (spec.model, "gpt2");
        assert_int_equal (spec.batch, 8);
    }
}

TEST ("off overrides all other metadata")
{
    static const struct {
        struct dn_carriers carriers;
        const char *script;
    } off[] = {
        {{.comment = "dnnest:off", .option = "batch=4"}, NULL},
        {{.comment = "dnnest:batch=4", .option = "OFF"}, NULL},
        {{.option = "batch=4"}, "#!/bin/sh\n#DNNEST off\n"},
        {{.comment = "x dnnest:off", .sidecar = "no JSON"}, NULL},
        {{.option = "off"}, "#!/bin/sh\n#DNNEST batch=none\n"},
        {{.option = "off", .comment = "dnnest:@nothing.json"}, NULL},
        {{.sidecar = SIDECAR}, "#!/bin/sh\n#DNNEST batch=4 off nonsense\n"},
    };
    struct dn_spec spec;

    for (size_t i = 0; i < DN_N_ELEMENTS (off); i++) {
        assert_int_equal (describe_with (off[i].carriers, off[i].script, &spec),
                          DN_METADATA_OFF);
        assert_int_equal (spec.batch, DN_UNSET);
    }
}

TEST ("wrong carriers are named with line and column")
{
    static const struct {
        struct dn_carriers carriers;
        const char *says;
        const char *script;
    } cases[] = {
        {.carriers = {.comment = "run 7 dnnest:model=x,batch=-4"},
         .says = "comment: column 28: batch: -4 out of range"},
        {.carriers = {.comment = "dnnest:modle=x"},
         .says = "comment: column 8: unknown key 'modle'"},
        {.carriers = {.comment = "dnnest:"}, .says = "comment: no metadata"},
        {.carriers = {.comment = "dnnest:@a.json,batch=1"},
         .says = "comment: column 9: 'a.json': the file"},
        {.carriers = {.option = "model=x,batch=-4"},
         .says = "--dnnest: column 15: batch: -4"},
        {.carriers = {.option = ""}, .says = "--dnnest: no metadata"},
        {.carriers = {.option = "batch=1,batch=2"},
         .says = "--dnnest: column 9: batch: given twice"},
        {.carriers = {.option = "train.json"},
         .says = "--dnnest: column 1: 'train.json': the file"},
        {.carriers = {.option = "@t.json"},
         .says = "--dnnest: column 2: 't.json': the file"},
        {.carriers = {.option = "@t.json,batch=x", .sidecar = SIDECAR},
         .says = "--dnnest: column 15: batch"},
        {.carriers = {.option = "help"},
         .says = "--dnnest=help: does not describe a job"},
        {.script = "#!/bin/sh\n\n  #DNNEST a=1\n",
         .says = "script line 3: column 11: unknown key 'a'"},
        {.script = "#DNNEST model=x  batch=0",
         .says = "script line 1: column 24: batch: 0"},
        {.script = "#DNNEST model=x,heads=1,batch=0",
         .says = "script line 1: column 31: batch: 0"},
        {.script = "#DNNEST @t.json",
         .says = "script line 1: column 9: unknown key '@t.json'"},
        {.carriers = {.sidecar = "{\"dnnest\": 1,\n \"spec\": {\"batch\": }}"},
         .says = "sidecar: line 2, column 20: not JSON"},
        {.carriers = {.sidecar = "{\"dnnest\": 1,\n\n\"dnnest\": 1}"},
         .says = "sidecar: line 3, column 2: 'dnnest': given twice"},
        {.carriers = {.sidecar = "{\"dnnest\": 1,\n \"spec\": {}}\n x"},
         .says = "sidecar: line 3, column 2: text after"},
        {.carriers = {.sidecar = "{\"dnnest\": 1,\n"},
         .says = "sidecar: line 1, column 14: ends in the"},
        {.carriers = {.sidecar = "{\"dnnest\": 1, \"spec\": {\"batch\": 0}}"},
         .says = "sidecar: spec: batch: 0 out of range"},
    };

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        struct dn_carriers carriers = cases[i].carriers;
        struct dn_sidecar sidecar;
        enum dn_metadata found;
        struct dn_err err = {.text = ""};

        carriers.marks = marks_of (cases[i].script);
        assert_int_equal (dn_describe (&carriers, &sidecar, &found, &err), -1);
        assert_contains (err.text, cases[i].says);
        assert_null (sidecar.layers.list);
        assert_int_equal (sidecar.spec.batch, DN_UNSET);
    }
}

TEST ("a graph is kept under any model name")
{
    const struct dn_carriers carriers = {.sidecar = GRAPH,
                                         .option = "model=resnet50,batch=8"};
    struct dn_sidecar sidecar;
    enum dn_metadata found;

    assert_int_equal (dn_describe (&carriers, &sidecar, &found, NULL), 0);
    assert_int_equal (sidecar.spec.batch, 8);
    assert_near (white_graph (&sidecar).params, 144);
    dn_sidecar_free (&sidecar);
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

        dn_buf_add (buf,
                    ",{\"op\":\"batchnorm\",\"in\":[[%d,14,14]],\"out\":[[%d,14,14]],"
                    "\"params\":%d},{\"op\":\"conv2d\",\"in\":[[%d,14,14]],\"out\":[["
                    "128,14,14]],\"kernel\":[1,1],\"params\":%d,\"tensors\":1},",
                    c,
                    c,
                    2 * c,
                    c,
                    128 * c);
        dn_buf_add (buf,
                    "{\"op\":\"conv2d\",\"in\":[[%d,14,14]],\"out\":[[%d,14,14]],"
                    "\"kernel\":[3,3],\"groups\":%d},{\"op\":\"linear\",\"in\":[[%d]],"
                    "\"out\":[[%d]]},{\"op\":\"dropout\",\"in\":[[%d]],\"out\":[[%d]]},"
                    "{\"op\":\"other\",\"flops\":%d,\"bytes\":%d}",
                    c,
                    c,
                    c,
                    c,
                    c + 3,
                    c,
                    c,
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
    const struct dn_carriers carriers = {.sidecar = sidecar_text, .option = option};
    struct dn_sidecar sidecar;
    enum dn_metadata state;
    struct dn_keyset unread;

    assert_int_equal (dn_describe (&carriers, &sidecar, &state, NULL), 0);
    unread = white_graph (&sidecar).unread;
    dn_sidecar_free (&sidecar);
    return unread;
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
