/* expect.c - shared by fuzz targets: the input as text, and checks of properties
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "expect.h"

void expect (bool right, const char *what)
{
    expect_done (right, what, NULL);
}

void expect_done (bool right, const char *what, const struct dn_err *err)
{
    if (right)
        return;
    fprintf (stderr, "%s%s%s\n", what, err ? ": " : "", err ? err->text : "");
    abort ();
}

bool is_printable (const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            return false;
    return true;
}

void expect_message (const struct dn_err *err)
{
    expect (err->code != DN_E_NONE && err->text[0] != '\0', "no message");
    expect_done (is_printable (err->text), "control characters in a message", err);
    expect_done (err->code != DN_E_BUG, "a bug", err);
}

char *take_text (const uint8_t *data, size_t size)
{
    char *text = malloc (size + 1);

    if (!text)
        abort ();
    if (size > 0)
        memcpy (text, data, size);
    text[size] = '\0';
    return text;
}

int put_text (void *to, const char *piece, size_t len)
{
    struct fuzz_text *text = to;
    char *now = realloc (text->text, text->len + len + 1);

    expect (now != NULL, "no memory");
    text->text = now;
    memcpy (now + text->len, piece, len);
    text->len += len;
    now[text->len] = '\0';
    return 0;
}

void cut_parts (char *text, char *parts[], int n)
{
    for (int i = 0; i < n; i++)
        parts[i] = text ? strsep (&text, "\f") : NULL;
}

void expect_read_again (const struct dn_sidecar *sidecar)
{
    struct dn_sidecar again = {.spec = dn_spec_empty ()};
    struct dn_graph graph;
    struct dn_err err = {0};
    char *text = dn_sidecar_write (sidecar);
    char *same;

    expect (text != NULL, "not written");
    expect_done (
        dn_sidecar_read (dn_span_of (text), &again, &err) == 0, "not read again", &err);
    if (sidecar->spec.model[0] == '\0')
        again.spec.model[0] = '\0'; /* else named after the graph */
    same = dn_sidecar_write (&again);
    expect (same && strcmp (text, same) == 0, "not the same");
    if (dn_layers_graph (&again.layers, &graph, &err) == 0)
        dn_graph_free (&graph);
    free (text);
    free (same);
    dn_sidecar_free (&again);
}
