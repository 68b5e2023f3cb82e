/* hub_names.c - names of networks that others chose, and what they stand for
 *
 * tests/data/hub_names.csv has 400 that were chosen by a rule: the names that 'litgpt
 * download' lists, ids of the hub in the sources of transformers and diffusers by how
 * often they occur, and every n-th name of timm and torchvision; decoders that were
 * fine-tuned from 2024 to 2026; and encoders of images and texts. The table says which
 * network of the zoo has the same shape, with the size of images where the name states
 * one; nothing where the zoo has none.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "graph/graph.h"
#include "graph/zoo/names.h"
#include "scratch.h"
#include "tests/unit/networks.h"

#define LINE_MAX_BYTES 512

/* What 'text' stands for, as the table writes it. */
static void write_meaning (const char *text, char meaning[LINE_MAX_BYTES])
{
    struct dn_model model;

    meaning[0] = '\0';
    if (!dn_model_find (shipped_networks (), text, &model))
        return;
    if (model.image == DN_UNSET)
        snprintf (meaning, LINE_MAX_BYTES, "%s", model.entry.name);
    else
        snprintf (meaning,
                  LINE_MAX_BYTES,
                  "%s image=%lld",
                  model.entry.name,
                  (long long) model.image);
}

/* One row: name, meaning, source. Return whether it means a network. */
static bool check_row (char *line, int *n_wrong)
{
    char *meaning = strchr (line, ',');
    char *source = meaning ? strchr (meaning + 1, ',') : NULL;
    char got[LINE_MAX_BYTES];

    assert_non_null (source);
    *meaning++ = '\0';
    *source = '\0';
    write_meaning (line, got);
    if (strcmp (got, meaning) != 0) {
        print_message ("%s: is '%s', expected '%s'\n", line, got, meaning);
        (*n_wrong)++;
    }
    return meaning[0] != '\0';
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
    assert_int_equal (n_rows, 493);
    assert_int_equal (n_wrong, 0);
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
