/* hub_names.c - names of networks that others chose, and what they stand for
 *
 * tests/data/hub_names.csv has 400 that were chosen by a rule: the names that 'litgpt
 * download' lists, ids of the hub in the sources of transformers and diffusers by how
 * often they occur, and every n-th name of timm and torchvision; decoders that were
 * fine-tuned from 2024 to 2026; encoders of images and texts; 990 names of hubs by what
 * people train ("hub: "); and networks for small images. The table says which network
 * of the zoo has the same shape, with the size of images where the name states one; "~"
 * and what its refusal proposes where the zoo has none. The last column says what may
 * be proposed: networks of the same architecture, or a class, judged by what the name's
 * network is made of.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/graph.h"
#include "graph/zoo/names.h"
#include "rows.h"
#include "tests/unit/networks.h"

/* What 'text' stands for, or "~" and the network that its refusal names, as the table
 * writes them.
 */
static const char *meaning_of (const char *text)
{
    struct dn_model model;

    if (!dn_model_find (shipped_networks (), text, &model)) {
        const char *near = dn_model_nearest (shipped_networks (), text);

        near = near ? near : dn_model_class (text);
        return unit_text ("~%s", near ? near : "");
    }
    if (model.image == DN_UNSET)
        return model.entry.name;
    return unit_text ("%s image=%lld", model.entry.name, (long long) model.image);
}

/* Is 'name' of one of these? "swin_*" is all whose names begin so. */
static bool is_of (const char *name, const char *kinds)
{
    struct dn_span rest = dn_span_of (kinds);

    for (struct dn_span one; (one = dn_span_cut (&rest, " ")).text;) {
        bool all = one.len > 0 && one.text[one.len - 1] == '*';

        if (all ? strncmp (name, one.text, one.len - 1) == 0 : dn_span_is (one, name))
            return true;
    }
    return false;
}

static struct {
    int rows, known, wrong;
} names;

static int check_row (const struct dn_row *row, void *context, struct dn_err *err)
{
    const char *name = rows_get (row, "name");
    const char *meaning = rows_get (row, "network");
    const char *kinds = rows_get (row, "kind");
    const char *got = meaning_of (name);

    if (got[0] == '~' && (got[1] == '\0' || !is_of (got + 1, kinds))) {
        print_message ("%s: '%s' is not of '%s'\n", name, got + 1, kinds);
        names.wrong++;
    }
    if (strcmp (got, meaning) != 0) {
        print_message ("%s: is '%s', expected '%s'\n", name, got, meaning);
        names.wrong++;
    }
    names.known += meaning[0] != '~';
    names.rows++;
    return 0;
}

TEST ("names of hubs and libraries stand for the network of their shape")
{
    rows_each ("hub_names.csv", check_row, NULL);
    print_message ("%d of %d names are known\n", names.known, names.rows);
    assert_numbers ("1497 0", names.rows, names.wrong);
}

TEST ("a network is not that of a publisher of other families")
{
    static const struct {
        const char *text;
        bool known;
    } cases[] = {{"Qwen/resnet50", false},
                 {"meta-llama/bert-base", false},
                 {"mistralai/Llama-3.1-8B", false},
                 {"google/gpt2", false},
                 {"facebook/gemma-2b", false},
                 {"openai/opt-125m", false},
                 {"deepseek-ai/gpt2", false},
                 {"timm/resnet50", true},
                 {"ViT-B/16", true},
                 {"microsoft/resnet-50", true},
                 {"johndoe/llama-3.1-8b-sql", true},
                 {"johndoe/resnet50", true},
                 {"QWEN/qwen2.5-7b", true},
                 {"Qwen2/resnet50", true},
                 {"johndoe/llama-3.1-8b-vision", false},
                 {"johndoe/llama-3.1-8b-gguf", false},
                 {"johndoe/llama-mamba-7b", false}};
    struct dn_model model;

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++)
        if (dn_model_find (shipped_networks (), cases[i].text, &model)
            != cases[i].known)
            fail_msg ("%s", cases[i].text);
    assert_string_equal (dn_model_nearest (shipped_networks (), "Qwen/resnet50"),
                         "resnet50");
}

TEST ("what is near a name has its family, not only its letters")
{
    static const char *const cases[][2] = {{"vit_m_16", "vit_medium_patch16_gap_256"},
                                           {"xlnet", "xlnet_base"},
                                           {"dpt-huge", "dpt_large"},
                                           {"gtp2", "gpt2"},
                                           {"lama-3-8b", "llama_3_8b"},
                                           {"resnett", "resnet18"},
                                           {"rexnet_100", "cnn"},
                                           {"bart_bse", "bart_base"},
                                           {"yolov10n", "yolov8n"},
                                           {"convformer_s18", "convformer_s36"},
                                           {"vgg18", "vgg19"},
                                           {"mobilnet_v2", "mobilenet_v2"}};

    for (size_t i = 0; i < DN_N_ELEMENTS (cases); i++) {
        const char *near = dn_model_nearest (shipped_networks (), cases[i][0]);

        if (strcmp (near ? near : "", cases[i][1]) != 0)
            fail_msg ("%s: %s", cases[i][0], near ? near : "nothing");
    }
}

TEST ("no row of the table of patterns is there twice")
{
    for (const struct dn_pattern *pattern = dn_patterns; pattern->text; pattern++) {
        assert_true (strchr (pattern->text, '*') || !strchr (pattern->name, '*'));
        for (const struct dn_pattern *other = dn_patterns; other < pattern; other++)
            if (strcmp (pattern->text, other->text) == 0)
                fail_msg ("%s is in the table twice", pattern->text);
    }
}

TEST ("long and odd names stand for nothing")
{
    static const char *const odd[] = {
        "", "/", "//", "-", ".", "*", "%", "-hf", "a/", "é"};
    char text[4096];
    struct dn_model model;

    for (size_t i = 0; i < DN_N_ELEMENTS (odd); i++)
        assert_false (dn_model_find (shipped_networks (), odd[i], &model));
    memset (text, 'a', sizeof (text) - 1);
    text[sizeof (text) - 1] = '\0';
    assert_false (dn_model_find (shipped_networks (), text, &model));
    for (size_t i = 0; i + 3 < DN_NAME_MAX; i += 3)
        memcpy (text + i, "-hf", 3);
    text[DN_NAME_MAX - 1] = '\0';
    assert_false (dn_model_find (shipped_networks (), text, &model));
}
