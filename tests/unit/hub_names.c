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
#include "scratch.h"
#include "tests/unit/networks.h"

#define LINE_MAX_BYTES 512

/* What 'text' stands for, or "~" and the network that its refusal names, as the table
 * writes them.
 */
static void write_meaning (const char *text, char meaning[LINE_MAX_BYTES])
{
    struct dn_model model;

    if (!dn_model_find (shipped_networks (), text, &model)) {
        const char *near = dn_model_nearest (shipped_networks (), text);

        near = near ? near : dn_model_class (text);
        snprintf (meaning, LINE_MAX_BYTES, "~%s", near ? near : "");
    } else if (model.image == DN_UNSET)
        snprintf (meaning, LINE_MAX_BYTES, "%s", model.entry.name);
    else
        snprintf (meaning,
                  LINE_MAX_BYTES,
                  "%s image=%lld",
                  model.entry.name,
                  (long long) model.image);
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

/* One row: name, meaning, source, kinds. Return whether it means a network. */
static bool check_row (char *line, int *n_wrong)
{
    char *meaning = strchr (line, ',');
    char *source = meaning ? strchr (meaning + 1, ',') : NULL;
    char *kinds = source ? strchr (source + 1, ',') : NULL;
    char got[LINE_MAX_BYTES];

    assert_non_null (kinds);
    *meaning++ = '\0';
    *source = '\0';
    *kinds++ = '\0';
    write_meaning (line, got);
    if (got[0] == '~' && (got[1] == '\0' || !is_of (got + 1, kinds))) {
        print_message ("%s: '%s' is not of '%s'\n", line, got + 1, kinds);
        (*n_wrong)++;
    }
    if (strcmp (got, meaning) != 0) {
        print_message ("%s: is '%s', expected '%s'\n", line, got, meaning);
        (*n_wrong)++;
    }
    return meaning[0] != '~';
}

TEST ("names of hubs and libraries stand for the network of their shape")
{
    char line[LINE_MAX_BYTES];
    FILE *file = tree_open ("tests/data/hub_names.csv");
    int n_rows = 0;
    int n_known = 0;
    int n_wrong = 0;

    while (fgets (line, sizeof (line), file)) {
        line[strcspn (line, "\n")] = '\0';
        if (strncmp (line, "name,", 5) == 0)
            continue;
        n_known += check_row (line, &n_wrong) ? 1 : 0;
        n_rows++;
    }
    fclose (file);
    print_message ("%d of %d names are known\n", n_known, n_rows);
    assert_numbers ("1493 0", n_rows, n_wrong);
}

TEST ("a network is not that of a publisher of other families")
{
    static const struct {
        const char *text;
        bool known;
    } names[] = {{"Qwen/resnet50", false},
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

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++)
        if (dn_model_find (shipped_networks (), names[i].text, &model)
            != names[i].known)
            fail_msg ("%s", names[i].text);
    assert_string_equal (dn_model_nearest (shipped_networks (), "Qwen/resnet50"),
                         "resnet50");
}

TEST ("what is near a name has its family, not only its letters")
{
    static const char *const names[][2] = {{"vit_m_16", "vit_medium_patch16_gap_256"},
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

    for (size_t i = 0; i < DN_N_ELEMENTS (names); i++) {
        const char *near = dn_model_nearest (shipped_networks (), names[i][0]);

        if (strcmp (near ? near : "", names[i][1] ? names[i][1] : "") != 0)
            fail_msg ("%s: %s", names[i][0], near ? near : "nothing");
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
