/* small_bundle.c - a bundle whose every number is known, for tests
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "small_bundle.h"

#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 65536

static struct dn_buf new_text (void)
{
    char *text = malloc (TEXT_MAX);

    if (!text)
        abort ();
    return dn_buf_on (text, TEXT_MAX);
}

/* Two trees: a leaf, and a split on the first feature with two equal leaves. */
static char *write_model (double sum)
{
    struct dn_buf buf = new_text ();

    dn_buf_add (&buf,
                "{\"learner\":{\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{"
                "\"tree_info\":[0,0],\"trees\":[");
    dn_buf_add (&buf,
                "{\"left_children\":[-1],\"right_children\":[-1],\"split_indices\":[0],"
                "\"split_conditions\":[%.9g],\"default_left\":[0],\"tree_param\":{"
                "\"num_feature\":\"%d\",\"num_nodes\":\"1\"}},",
                sum / 2,
                DN_N_FEATURES);
    dn_buf_add (&buf,
                "{\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],"
                "\"split_indices\":[0,0,0],\"split_conditions\":[0,%.9g,%.9g],"
                "\"default_left\":[1,0,0],\"tree_param\":{\"num_feature\":\"%d\","
                "\"num_nodes\":\"3\"}}]}},",
                sum / 2,
                sum / 2,
                DN_N_FEATURES);
    dn_buf_add (&buf,
                "\"objective\":{\"name\":\"reg:squarederror\"},"
                "\"learner_model_param\":{\"num_feature\":\"%d\",\"num_class\":\"0\","
                "\"base_score\":\"0E0\"}},\"version\":[1,7,4]}",
                DN_N_FEATURES);
    return buf.text;
}

static void add_file (struct dn_buf *buf, const char *name, const char *text)
{
    dn_buf_add (buf,
                "\"%s\":{\"bytes\":%zu,\"sha256\":\"%s\"}",
                name,
                strlen (text),
                dn_digest_of (dn_span_of (text)).hex);
}

/* An array with 'usual' everywhere but for one feature. */
static void add_axis (struct dn_buf *buf,
                      const char *key,
                      double usual,
                      enum dn_feature one,
                      double value)
{
    dn_buf_add (buf, "%s[", key);
    for (int i = 0; i < DN_N_FEATURES; i++)
        dn_buf_add (buf, "%s%.9g", i > 0 ? "," : "", i == (int) one ? value : usual);
    dn_buf_add (buf, "]");
}

static void add_features (struct dn_buf *buf)
{
    dn_buf_add (buf, "\"features\":{\"version\":%d,\"names\":[", DN_FEATURES_VERSION);
    for (int i = 0; i < DN_N_FEATURES; i++)
        dn_buf_add (buf, "%s\"%s\"", i > 0 ? "," : "", dn_feature_keys ()[i].name);
    dn_buf_add (buf, "]},");
}

static void add_domain (struct dn_buf *buf)
{
    dn_buf_add (buf, "\"domain\":{");
    add_axis (buf, "\"mean\":", 0, DN_FEATURE_BATCH, 1);
    add_axis (buf, ",\"scale\":", 1, DN_FEATURE_BATCH, 1);
    add_axis (buf, ",\"weight\":", 0, DN_FEATURE_BATCH, 1);
    add_axis (buf, ",\"prototypes\":[", 0, DN_FEATURE_BATCH, -40);
    add_axis (buf, ",", 0, DN_FEATURE_BATCH, 4.15888308);
    dn_buf_add (buf,
                "],\"knots\":[{\"distance\":0,\"residual\":1,\"sigma\":0.1},"
                "{\"distance\":2,\"residual\":0,\"sigma\":0.9}]},");
}

static char *write_manifest (const char *step, const char *memory)
{
    struct dn_buf buf = new_text ();

    dn_buf_add (&buf, "{\"dnnest_bundle\":1,\"name\":\"small\",");
    add_features (&buf);
    dn_buf_add (&buf,
                "\"residuals\":{\"step\":{\"file\":\"step.json\",\"shrink\":1,"
                "\"limit\":1},\"memory\":{\"file\":\"memory.json\",\"shrink\":0.5,"
                "\"limit\":1}},");
    add_domain (&buf);
    dn_buf_add (&buf,
                "\"bounds\":{\"levels\":[0.5,0.9,0.95,0.99],"
                "\"step\":{\"all\":[0,1,2,4],\"groups\":{\"conv\":[0,1,3,6]}},"
                "\"memory\":{\"all\":[0,1,1.5,2]}},");
    dn_buf_add (&buf, "\"files\":{");
    add_file (&buf, "step.json", step);
    dn_buf_add (&buf, ",");
    add_file (&buf, "memory.json", memory);
    dn_buf_add (&buf, "}}");
    return buf.text;
}

struct small_bundle small_bundle_make (void)
{
    struct small_bundle bundle;

    bundle.step = write_model (SMALL_STEP);
    bundle.memory = write_model (SMALL_MEMORY);
    bundle.manifest = write_manifest (bundle.step, bundle.memory);
    return bundle;
}

void small_bundle_free (struct small_bundle *bundle)
{
    free (bundle->manifest);
    free (bundle->step);
    free (bundle->memory);
}

struct dn_bundle *small_bundle_read (const struct small_bundle *small,
                                     struct dn_err *err)
{
    struct dn_bundle *bundle = dn_bundle_open (dn_span_of (small->manifest), err);

    if (bundle
        && dn_bundle_add (bundle, "step.json", dn_span_of (small->step), err) == 0
        && dn_bundle_add (bundle, "memory.json", dn_span_of (small->memory), err) == 0
        && dn_bundle_close (bundle, err) == 0)
        return bundle;
    dn_bundle_free (bundle);
    return NULL;
}

char *replace_behind (const char *text,
                      const char *behind,
                      const char *from,
                      const char *to)
{
    const char *at = strstr (text, behind);
    char *out = malloc (strlen (text) + strlen (to) + 1);

    at = at ? strstr (at, from) : NULL;
    if (!out || !at) {
        free (out);
        return NULL;
    }
    memcpy (out, text, (size_t) (at - text));
    strcpy (out + (at - text), to);
    strcat (out, at + strlen (from));
    return out;
}
