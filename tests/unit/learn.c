/* learn.c - tests of learn/: tables, figures, evaluation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include <malloc.h>

#include "learn/evaluate.h"
#include "learn/runs.h"
#include "scene.h"

#define ROW_MAX (1024 * 1024)

/* The rows of a table: "LINE|name=value|name=value\n" per row. */
struct trace {
    char text[4096];
    struct dn_buf buf;
    struct dn_err err;
    int rc;
    bool stop; /* the callback must fail */
};

static int write_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct trace *trace = context;

    dn_buf_add (&trace->buf, "%d", (int) row->line);
    for (int i = 0; i < row->n_columns; i++)
        dn_buf_add (&trace->buf, "|%s=%s", row->names[i], row->values[i]);
    dn_buf_add (&trace->buf, "\n");
    return trace->stop ? dn_err_set (err, DN_E_RANGE, "enough") : 0;
}

/* Read 'len' bytes in pieces of 'step', then the end. */
static void read_pieces (const char *text, size_t len, size_t step, struct trace *trace)
{
    struct dn_table *table = dn_table_new (write_row, trace);

    assert_non_null (table);
    trace->buf = dn_buf_on (trace->text, sizeof (trace->text));
    trace->err = (struct dn_err){0};
    trace->rc = 0;
    for (size_t at = 0; at < len && trace->rc == 0; at += step)
        trace->rc = dn_table_feed (
            table, text + at, len - at < step ? len - at : step, &trace->err);
    if (trace->rc == 0)
        trace->rc = dn_table_feed (table, "", 0, &trace->err);
    dn_table_free (table);
}

/* In pieces of any length it has these rows; or NULL, and an error with that part. */
static void expect_bytes (const char *text,
                          size_t len,
                          const char *rows,
                          enum dn_errc code,
                          const char *part)
{
    struct trace trace = {.stop = false};

    for (size_t step = len + 1; step > 0; step = step > 3 ? 3 : step - 1) {
        read_pieces (text, len, step, &trace);
        if ((trace.rc == 0) != (rows != NULL))
            fail_msg ("'%s' in pieces of %zu: %s", text, step, trace.err.text);
        if (rows)
            assert_string_equal (trace.text, rows);
        else
            assert_int_equal (trace.err.code, code);
        assert_contains (trace.err.text, part);
    }
}

static void expect_rows (const char *text, const char *rows)
{
    expect_bytes (text, strlen (text), rows, DN_E_SYNTAX, "");
}

static void expect_error (const char *text, const char *part)
{
    expect_bytes (text, strlen (text), NULL, DN_E_SYNTAX, part);
}

TEST ("tables are read as RFC 4180 says, whole or in pieces")
{
    expect_rows ("a,b\n1,2\n3,4\n", "2|a=1|b=2\n3|a=3|b=4\n");
    expect_rows ("a,b\n1,2", "2|a=1|b=2\n");
    expect_rows ("a,b\r\n1,2\r\n3,4\r\n", "2|a=1|b=2\n3|a=3|b=4\n");
    expect_rows ("a,b\n\"1,2\",\"say \"\"x\"\"\"\n", "2|a=1,2|b=say \"x\"\n");
    expect_rows ("a,b\n\"\",\n,\"\"\n", "2|a=|b=\n3|a=|b=\n");
    expect_rows ("a,b\n 1 ,\t2\n\" 3 \",4\n", "2|a=1|b=2\n3|a= 3 |b=4\n");
    expect_rows ("\"a,1\",b\n1,2\n", "2|a,1=1|b=2\n");
    expect_rows ("a\n\xc3\xa4\xff\n", "2|a=\xc3\xa4\xff\n");
    expect_rows ("a,b\n", "");
}

TEST ("short rows are filled up")
{
    expect_rows ("a,b,c\n1\n1,2\n1,2,\n", "2|a=1|b=|c=\n3|a=1|b=2|c=\n4|a=1|b=2|c=\n");
}

TEST ("lines are counted through quotes and empty lines")
{
    expect_rows ("a,b\n\"x\n\ny\",1\nz,2\n", "2|a=x\n\ny|b=1\n5|a=z|b=2\n");
    expect_rows ("\n\na\n\n1\n  \r\n\r\n2\n\n", "5|a=1\n8|a=2\n");
    expect_rows ("a,b\r\n1,\"x\r\ny\"\r\n2,z\r\n", "2|a=1|b=x\r\ny\n4|a=2|b=z\n");
}

TEST ("a byte order mark is no text")
{
    expect_rows ("\xef\xbb\xbf"
                 "a,b\n1,2\n",
                 "2|a=1|b=2\n");
    expect_rows ("\xef\xbb\xbf\"a\",b\n1,2\n", "2|a=1|b=2\n");
    expect_rows ("\xef\xbb"
                 "a\n1\n",
                 "2|\xef\xbb"
                 "a=1\n");
    expect_rows ("a\n\xef\xbb\xbf\n", "2|a=\xef\xbb\xbf\n");
}

TEST ("a file that is no table is refused with its line")
{
    expect_error ("", "line 1: empty, expected a head");
    expect_error ("\n\n", "empty, expected a head");
    expect_error ("\xef\xbb\xbf", "empty, expected a head");
    expect_error ("a,b\n1,2\n\n1,2,3\n", "line 4: 3 fields, but the head");
    expect_error ("a,b\n1,\"2\n3,4\n", "line 2: a quote is not closed");
    expect_error ("a,b\n1,x\"y\n", "line 2: a quote is misplaced");
    expect_error ("a,b\n1,\"x\"y\n", "line 2: a quote is misplaced");
    expect_error ("a,b,a\n", "line 1: two columns are named 'a'");
    expect_bytes ("a,b\n1,x\0y\n", 10, NULL, DN_E_SYNTAX, "line 2: has a NUL byte");
    expect_bytes ("a\0,b\n1,2\n", 9, NULL, DN_E_SYNTAX, "line 1: has a NUL byte");
}

TEST ("columns have a limit")
{
    char text[1024];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (int i = 0; i < DN_COLUMNS_MAX; i++)
        dn_buf_add (&buf, "%sc%d", i > 0 ? "," : "", i);
    dn_buf_add (&buf, "\n");
    expect_rows (text, "");
    text[buf.len - 1] = ',';
    expect_bytes (text, buf.len, NULL, DN_E_LIMIT, "line 1: more than 128 fields");
}

/* A head, and a row of 'len' bytes. */
static char *long_row (size_t len, char first)
{
    char *text = unit_repeat ("x", len + 2);

    memcpy (text, "a\n", 2);
    text[2] = first;
    text[len + 1] = '\n';
    return text;
}

static int measure_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    size_t *len = context;

    (void) err;
    *len = strlen (row->values[0]);
    return 0;
}

TEST ("rows have a limit")
{
    static const size_t steps[] = {1, 65536, 4 * ROW_MAX};
    char *whole = long_row (ROW_MAX, 'x');
    char *over = long_row (ROW_MAX + 1, 'x');
    char *open = long_row (3 * ROW_MAX, '"');
    struct trace trace = {.stop = false};
    size_t len = 0;
    struct dn_table *table = dn_table_new (measure_row, &len);

    assert_done (dn_table_feed (table, whole, ROW_MAX + 2, &unit_err));
    assert_int_equal (len, ROW_MAX - 1);
    dn_table_free (table);
    for (size_t i = 0; i < DN_N_ELEMENTS (steps); i++) {
        read_pieces (over, ROW_MAX + 3, steps[i], &trace);
        assert_int_equal (trace.err.code, DN_E_LIMIT);
        assert_contains (trace.err.text, "line 2: a row is longer than 1 MiB");
        read_pieces (open, 3 * ROW_MAX + 2, steps[i], &trace);
        assert_int_equal (trace.err.code, DN_E_LIMIT);
    }
}

/* Add the rows of a table of families. */
static int add_families (struct dn_families *families, const char *text)
{
    struct dn_table *table = dn_table_new (dn_families_add, families);
    int rc = dn_table_feed (table, text, strlen (text), &unit_err);

    if (rc == 0)
        rc = dn_table_feed (table, "", 0, &unit_err);
    dn_table_free (table);
    return rc;
}

TEST ("the first pattern of the column names the family")
{
    struct dn_families families = {.n = 0};

    assert_done (
        add_families (&families,
                      "column,pattern,family\nsource,lab/*,lab\n"
                      "group,resn*,resnet\ngroup,resnet_odd,odd\ngroup,*,=\n"));
    assert_string_equal (dn_family_of (&families, "source", "lab/x"), "lab");
    assert_string_equal (dn_family_of (&families, "source", "resnet18"), "resnet18");
    assert_string_equal (dn_family_of (&families, "group", "resnet_odd"), "resnet");
    assert_string_equal (dn_family_of (&families, "group", "vgg11"), "vgg11");
}

TEST ("a family without a name is refused")
{
    struct dn_families families = {.n = 0};

    assert_error (add_families (&families, "column,pattern\nsource,lab\n"),
                  "line 2: 'family' must have 1 to 63 characters, not 0");
    assert_int_equal (families.n, 0);
}

TEST ("the callback ends the reading")
{
    struct trace trace = {.stop = true};
    struct dn_table *table = dn_table_new (write_row, &trace);

    trace.buf = dn_buf_on (trace.text, sizeof (trace.text));
    assert_int_equal (dn_table_feed (table, "a\n1\n2\n", 6, &unit_err), -1);
    assert_string_equal (unit_err.text, "line 2: enough");
    assert_string_equal (trace.text, "2|a=1\n");
    assert_int_equal (dn_table_feed (table, "3\n", 2, &unit_err), -1);
    assert_int_equal (unit_err.code, DN_E_BUG);
    dn_table_free (table);
    dn_table_free (NULL);
}

TEST ("missing columns are NULL, and empty cells are not")
{
    static const char *const names[] = {"a", "b"};
    static const char *const values[] = {"1", ""};
    const struct dn_row row = {2, 2, names, values, NULL};

    assert_string_equal (dn_row_get (&row, "a"), "1");
    assert_string_equal (dn_row_get (&row, "b"), "");
    assert_null (dn_row_get (&row, "c"));
}

/* ln of the pairs below: ratios 0.5, 1, 1.25, 2 */
TEST ("figures equal those computed by hand")
{
    static const double predicted[] = {50, 100, 125, 200};
    static const double bounds[][DN_N_BOUNDS] = {
        {90, 100}, {150, 300}, {250, 500}, {400, 800}};
    static const double at_measured[DN_N_BOUNDS] = {110, NAN};
    struct dn_score score = {NULL, 0, 0};
    struct dn_figures f;

    for (int i = 0; i < 4; i++)
        assert_int_equal (
            dn_score_add (&score, "m", predicted[i], bounds[i], 100, NULL), 0);
    assert_int_equal (score.n_groups, 1);
    f = dn_pairs_figures (&score.groups[0]);
    assert_int_equal (f.n, 4);
    assert_near (f.mape, (0.5 + 0 + 0.25 + 1) / 4);
    assert_near (f.median_ape, (0.25 + 0.5) / 2);
    assert_near (f.bias, log (0.5 * 1.25 * 2) / 4);
    assert_numbers ("0.25 0.5", f.under, f.under_mape);
    assert_near (f.over_mape, (0 + 0.25 + 1) / 3);
    assert_near (f.coverage[DN_BOUND_P95], 0.75);
    assert_near (f.tightness[DN_BOUND_P95], (1.5 + 2.5) / 2);
    assert_near (f.coverage[DN_BOUND_P99], 1);
    assert_near (f.tightness[DN_BOUND_P99], (3 + 5) / 2.0);
    dn_score_add (&score, "m", 110, at_measured, 100, NULL);
    f = dn_pairs_figures (&score.groups[0]);
    assert_numbers ("0.25 1.5", f.median_ape, f.tightness[DN_BOUND_P95]);
    assert_near (f.tightness[DN_BOUND_P99], (3 + 5) / 2.0);
    dn_score_add (&score, "n", 110, NULL, 100, NULL);
    assert_near (dn_score_macro (&score), (0.25 + 0.1) / 2);
    f = dn_pairs_figures (&score.groups[1]);
    assert_true (isnan (f.coverage[DN_BOUND_P95]) && isnan (f.tightness[DN_BOUND_P95]));
    assert_true (isnan (f.under_mape));
    dn_score_free (&score);
    dn_score_free (NULL);
    assert_true (isnan (dn_score_macro (&score)));
    assert_true (isnan (dn_pairs_figures (NULL).mape));
}

TEST ("a measured value at its bound is covered")
{
    struct dn_score score = {NULL, 0, 0};

    dn_score_add (&score, "m", 50, (const double[]){100, 100}, 100, NULL);
    dn_score_add (&score, "m", 100, (const double[]){99.9, 100}, 100, NULL);
    assert_near (dn_pairs_figures (&score.groups[0]).coverage[DN_BOUND_P95], 0.5);
    assert_near (dn_pairs_figures (&score.groups[0]).coverage[DN_BOUND_P99], 1);
    assert_near (dn_pairs_figures (&score.groups[0]).under, 0.5);
    dn_score_free (&score);
}

/* Sums are exact, the median is that of a sample. Errors are spread evenly over 0..1.
 */
TEST ("many pairs are held in bounded memory")
{
    static const double two[DN_N_BOUNDS] = {2, 2};
    const int n = 20 * DN_SAMPLE_MAX;
    struct dn_score score = {NULL, 0, 0};
    struct dn_figures f;

    for (int i = 0; i < n; i++)
        dn_score_add (&score, "m", 1 + (i + 0.5) / n, two, 1, NULL);
    assert_int_equal (score.groups[0].errors.n, DN_SAMPLE_MAX);
    assert_true (malloc_usable_size (score.groups[0].errors.values)
                 < 2 * DN_SAMPLE_MAX * sizeof (double));
    f = dn_pairs_figures (&score.groups[0]);
    assert_int_equal (f.n, n);
    assert_true (fabs (f.mape - 0.5) < 1e-9);
    assert_true (fabs (f.median_ape - 0.5) < 0.02);
    dn_score_free (&score);
}

TEST ("groups beyond the limit are merged")
{
    struct dn_score score = {NULL, 0, 0};
    char name[2 * DN_NAME_MAX];

    for (int i = 0; i < 2 * DN_GROUPS_MAX; i++) {
        snprintf (name, sizeof (name), "group %d", i);
        dn_score_add (&score, name, 1, NULL, 1, NULL);
    }
    assert_int_equal (score.n_groups, DN_GROUPS_MAX + 1);
    assert_string_equal (score.groups[DN_GROUPS_MAX].name, DN_GROUP_OTHERS);
    assert_int_equal (score.groups[DN_GROUPS_MAX].n, DN_GROUPS_MAX);
    dn_score_add (&score, "group 3", 1, NULL, 1, NULL);
    assert_int_equal (score.groups[3].n, 2);
    dn_score_free (&score);
    for (int i = 0; i < 2; i++)
        dn_score_add (&score, unit_repeat ("x", sizeof (name) - 1), 1, NULL, 1, NULL);
    assert_int_equal (score.n_groups, 1);
    dn_score_free (&score);
}

/* An evaluation on the scene's site. */
struct judged {
    struct dn_site *site;
    struct dn_evaluation evaluation;
    struct dn_row_result last;
    struct dn_err err;
    int rc;
};

static int judge_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    struct judged *judged = context;

    return dn_evaluation_add (&judged->evaluation, row, &judged->last, err);
}

static struct judged judged;
static const struct dn_evaluation *const evaluation = &judged.evaluation;

static void judge (const char *text)
{
    struct dn_table *table = dn_table_new (judge_row, &judged);

    memset (&judged, 0, sizeof (judged));
    judged.site = scene_site ("");
    judged.evaluation = (struct dn_evaluation){
        .predictor = dn_site_predictor (judged.site),
        .rules = &judged.site->rules,
        .tables = {&judged.site->catalogue,
                   &judged.site->datasets,
                   &judged.site->networks},
    };
    judged.rc = dn_table_feed (table, text, strlen (text), &judged.err);
    if (judged.rc == 0)
        judged.rc = dn_table_feed (table, "", 0, &judged.err);
    dn_table_free (table);
}

int after_test (void **state)
{
    dn_evaluation_free (&judged.evaluation);
    judged.evaluation = (struct dn_evaluation){.n_rows = 0};
    dn_evaluation_free (NULL);
    return 0;
}

/* Pairs of a group. */
static size_t n_pairs (int metric, int grouping, int group)
{
    const struct dn_score *score = &evaluation->scores[metric][grouping];

    return group < score->n_groups ? score->groups[group].n : 0;
}

#define SPEC "\"model=resnet50,batch=64,precision=fp16,optimizer=sgd\""

TEST ("rows that cannot be predicted are skipped with a reason")
{
    static const char text[] =
        "spec,gpu,step_ms\n" SPEC ",v100_16gb,250\n" SPEC ",v1000,250\n"
        "\"model=resnet50,bacth=64\",v100_16gb,250\n"
        "\"model=resnet50,batch=-1\",v100_16gb,250\n" SPEC ",v100_16gb,fast\n" SPEC
        ",v100_16gb,-3\n"
        "@sidecar.json,v100_16gb,250\n"
        "\"model=resnet50,batch=64,precision=bf16\",v100_16gb,250\n"
        ",v100_16gb,250\n" SPEC ",,250\n";
    static const char *const reasons[] = {"gpu: 'v1000' is not in the",
                                          "unknown key 'bacth'",
                                          "batch: -1 out of range",
                                          "step_ms: 'fast' is not a number",
                                          "step_ms: -3 out of range",
                                          "@sidecar.json: sidecars are not read here",
                                          "v100_16gb cannot run this precision",
                                          "model: missing",
                                          "gpu: '' is not in the"};

    judge (text);
    assert_numbers ("0 10 1", judged.rc, evaluation->n_rows, evaluation->n_predicted);
    assert_int_equal (evaluation->n_skipped, 9);
    for (int i = 0; i < 9; i++) {
        assert_int_equal (evaluation->skipped[i].line, i + 3);
        assert_contains (evaluation->skipped[i].reason, reasons[i]);
    }
    assert_false (judged.last.predicted);
    assert_contains (judged.last.reason, "gpu: ''");
}

TEST ("an empty cell leaves its metric out")
{
    static const char text[] =
        "spec,gpu,step_ms,peak_mem_gb,power_w,group,source\n" SPEC
        ",v100_16gb,250,,,g,s\n" SPEC ",a100_40gb,,7,,g,\n" SPEC
        ",a100_40gb,90,,300,h\n" SPEC ",a100_40gb\n";

    judge (text);
    assert_numbers ("0 4", judged.rc, evaluation->n_predicted);
    assert_numbers ("2 1 1",
                    n_pairs (DN_METRIC_STEP_TIME, DN_BY_ALL, 0),
                    n_pairs (DN_METRIC_GPU_MEMORY, DN_BY_ALL, 0),
                    n_pairs (DN_METRIC_POWER, DN_BY_ALL, 0));
    assert_numbers ("1 1 1 0 2",
                    n_pairs (DN_METRIC_STEP_TIME, DN_BY_GROUP, 0),
                    n_pairs (DN_METRIC_STEP_TIME, DN_BY_GROUP, 1),
                    n_pairs (DN_METRIC_STEP_TIME, DN_BY_SOURCE, 0),
                    n_pairs (DN_METRIC_STEP_TIME, DN_BY_SOURCE, 1),
                    n_pairs (DN_METRIC_STEP_TIME, DN_BY_MODEL, 0));
    assert_string_equal (
        evaluation->scores[DN_METRIC_STEP_TIME][DN_BY_PRECISION].groups[0].name,
        "fp16");
    assert_int_equal (evaluation->n_judged, 1);
}

TEST ("figures are those of the estimate")
{
    struct dn_figures f;

    judge ("spec,gpu,step_ms,peak_mem_gb\n" SPEC ",v100_16gb,100,8\n");
    f = dn_pairs_figures (
        &evaluation->scores[DN_METRIC_STEP_TIME][DN_BY_ALL].groups[0]);
    assert_near (f.bias, log (judged.last.estimate.step_s.p50 * 10));
    assert_near (f.tightness[DN_BOUND_P95],
                 dn_range_at (judged.last.estimate.step_s, 0.95) * 10);
    f = dn_pairs_figures (
        &evaluation->scores[DN_METRIC_GPU_MEMORY][DN_BY_ALL].groups[0]);
    assert_near (f.bias, log (judged.last.estimate.gpu_mem.p50 / 8 / DN_GIB));
}

TEST ("runs out of memory are counted separately")
{
    static const char text[] =
        "spec,gpu,step_ms,peak_mem_gb,oom\n" SPEC ",v100_16gb,,,1\n" /* false fit */
        SPEC ",v100_16gb,,6,0\n"
        "\"model=resnet50,batch=4096\",v100_16gb,,,1\n"
        "\"model=resnet50,batch=4096\",v100_16gb,,12,0\n" /* false no fit */
        SPEC ",v100_16gb,,17,\n"                          /* false fit */
        SPEC ",v100_16gb,100,,\n";

    judge (text);
    assert_numbers ("5 3", evaluation->n_judged, evaluation->n_oom);
    assert_numbers ("2 1", evaluation->n_false_fit, evaluation->n_false_no_fit);
    assert_int_equal (n_pairs (DN_METRIC_GPU_MEMORY, DN_BY_ALL, 0), 3);
}

TEST ("a table without spec or gpu is refused")
{
    judge ("spec,step_ms\n" SPEC ",1\n");
    assert_int_equal (judged.rc, -1);
    assert_contains (judged.err.text, "line 2: the table needs the columns spec and");
}

TEST ("skipped rows beyond the limit are counted")
{
    const int n = DN_SKIPPED_MAX + 10;
    char *text = unit_keep (malloc (64 + (size_t) n * 8), free);
    struct dn_buf buf = dn_buf_on (text, 64 + (size_t) n * 8);

    dn_buf_add (&buf, "spec,gpu\n");
    for (int i = 0; i < n; i++)
        dn_buf_add (&buf, "x=1,y\n");
    judge (text);
    assert_int_equal (evaluation->n_skipped, n);
    assert_int_equal (evaluation->skipped[DN_SKIPPED_MAX - 1].line, DN_SKIPPED_MAX + 1);
}
