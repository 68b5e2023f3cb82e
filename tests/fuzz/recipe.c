/* recipe.c - a submission as a recipe
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "recipe.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/text.h"
#include "host/carry.h"

/* Slurm's max_script_size, and more than the kernel passes to a program. */
#define SCRIPT_MAX (4 * 1024 * 1024)
#define ENV_MAX    (6 * 1024 * 1024)
#define TEXT_MAX   (1024 * 1024)
#define VARIABLES  100000
#define MAX_OF(text)                                                                   \
    (offsetof (job_desc_msg_t, text) == offsetof (job_desc_msg_t, script) ? SCRIPT_MAX \
                                                                          : TEXT_MAX)

enum {
    ENV,
    SPANK,
    SIDECAR,
    OPTION,
    FILE_OF_COMMENT,
    FIRST_TEXT /* the rest are texts of the job */
};

static const struct field {
    const char *name;
    size_t offset;
    size_t max;
} fields[] = {
    [ENV] = {"env", 0, ENV_MAX},
    [SPANK] = {"spank", 0, ENV_MAX},
    [SIDECAR] = {"sidecar", 0, TEXT_MAX},
    [OPTION] = {"option", 0, TEXT_MAX},
    [FILE_OF_COMMENT] = {"file", 0, TEXT_MAX},
#define NUMBER(name, absent)
#define TEXT(name) {#name, offsetof (job_desc_msg_t, name), MAX_OF (name)},
#include "job_fields.inc"
};

#define N_FIELDS ((int) DN_N_ELEMENTS (fields))

static int field_of (const char *name)
{
    for (int i = 0; i < N_FIELDS; i++)
        if (strcmp (fields[i].name, name) == 0)
            return i;
    return -1;
}

/* --- files ----------------------------------------------------------------------- */

static const char escaped[] = "\n\t\033\\ ";
static const char letters[] = "nte\\_";

static void unescape (const char *from, char *to)
{
    while (*from) {
        const char *letter =
            *from == '\\' && from[1] ? strchr (letters, from[1]) : NULL;

        *to++ = letter ? escaped[letter - letters] : *from;
        from += letter ? 2 : 1;
    }
    *to = '\0';
}

static bool read_line (char *line, struct piece *piece)
{
    char *count;
    char *text;

    line[strcspn (line, "\n")] = '\0';
    count = strchr (line, ' ');
    text = count ? strchr (count + 1, ' ') : NULL;
    if (!text || strlen (text + 1) >= RECIPE_TEXT_MAX)
        return false;
    *count = '\0';
    piece->field = field_of (line);
    piece->count = atoi (count + 1);
    unescape (text + 1, piece->text);
    return piece->field >= 0 && piece->count > 0 && piece->count <= RECIPE_COUNT_MAX;
}

bool recipe_load (const char *path, struct recipe *recipe)
{
    FILE *file = fopen (path, "r");
    char line[2 * RECIPE_TEXT_MAX];
    bool right = file != NULL;

    while (right && fgets (line, sizeof (line), file))
        if (line[0] != '#') {
            right = recipe->n < RECIPE_PIECES_MAX
                    && read_line (line, &recipe->pieces[recipe->n]);
            recipe->n++;
        }
    if (file)
        fclose (file);
    if (!right)
        fprintf (stderr, "%s: not a recipe: piece %d\n", path, recipe->n);
    return right;
}

static bool load_next (struct recipe_book *book, const char *dir, const char *name)
{
    char path[4096];

    if (name[0] == '.')
        return true;
    if (book->n == RECIPES_MAX
        || snprintf (path, sizeof (path), "%s/%s", dir, name) >= (int) sizeof (path)
        || !recipe_load (path, &book->recipes[book->n]))
        return false;
    book->names[book->n++] = strdup (name);
    return true;
}

bool recipe_load_all (struct recipe_book *book)
{
    const char *top = getenv ("abs_top_srcdir");
    char dir[2048];
    struct dirent **entries;
    bool right = true;
    int n;

    memset (book, 0, sizeof (*book));
    snprintf (dir, sizeof (dir), "%s/tests/fuzz/costly", top ? top : ".");
    n = scandir (dir, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        right = right && load_next (book, dir, entries[i]->d_name);
        free (entries[i]);
    }
    if (n >= 0)
        free (entries);
    return right && book->n > 0;
}

void recipe_free_all (struct recipe_book *book)
{
    for (int i = 0; i < book->n; i++)
        free (book->names[i]);
}

/* --- the job --------------------------------------------------------------------- */

struct text {
    char *text;
    size_t len;
    size_t capacity;
};

static void add (struct text *text, const char *more, size_t len)
{
    if (text->len + len + 1 > text->capacity) {
        text->capacity = 2 * (text->len + len + 1);
        text->text = realloc (text->text, text->capacity);
    }
    memcpy (text->text + text->len, more, len);
    text->len += len;
    text->text[text->len] = '\0';
}

/* Once, with the number in the place of every "%d". */
static void add_once (struct text *text, const char *piece, int number)
{
    const char *mark;

    while ((mark = strstr (piece, "%d"))) {
        char digits[16];

        add (text, piece, (size_t) (mark - piece));
        add (text, digits, (size_t) sprintf (digits, "%d", number));
        piece = mark + 2;
    }
    add (text, piece, strlen (piece));
}

/* The text of a field, or NULL where the recipe has none of it. */
static char *text_of (const struct recipe *recipe, int field, const char *head)
{
    struct text text = {0};
    size_t max = fields[field].max;
    bool any = false;

    add (&text, head, strlen (head));
    for (int i = 0; i < recipe->n; i++) {
        const struct piece *piece = &recipe->pieces[i];

        if (piece->field != field)
            continue;
        any = true;
        for (int k = 0; k < piece->count && text.len < max; k++)
            add_once (&text, piece->text, k);
    }
    if (text.len > max)
        text.text[max] = '\0';
    if (any)
        return text.text;
    free (text.text);
    return NULL;
}

static char **list_of (const struct recipe *recipe, int field, size_t *n)
{
    char **list = calloc (VARIABLES + 4, sizeof (*list));
    size_t size = 0;

    *n = 0;
    for (int i = 0; i < recipe->n; i++)
        for (int k = 0; recipe->pieces[i].field == field && k < recipe->pieces[i].count
                        && *n < VARIABLES && size < fields[field].max;
             k++) {
            struct text text = {0};

            add_once (&text, recipe->pieces[i].text, k);
            size += text.len + 1;
            list[(*n)++] = text.text;
        }
    return list;
}

static void free_list (char **list)
{
    for (int i = 0; list[i]; i++)
        free (list[i]);
    free (list);
}

static void set_environments (const struct recipe *recipe, job_desc_msg_t *desc)
{
    static const struct {
        int field;
        const char *head;
    } carried[] = {{SIDECAR, DN_CARRY_SIDECAR "="}, {OPTION, DN_CARRY_OPTION "="}};
    size_t n;
    char **list = list_of (recipe, ENV, &n);

    job_set_env (desc, (const char *const *) list);
    free_list (list);
    list = list_of (recipe, SPANK, &n);
    for (int i = 0; i < 2; i++) {
        char *text = text_of (recipe, carried[i].field, carried[i].head);

        if (text)
            list[n++] = text;
    }
    job_set_spank_env (desc, (const char *const *) list);
    free_list (list);
}

/* Two nodes of four GPUs and 80 CPUs, a day. */
static void set_usual (job_desc_msg_t *desc)
{
    job_init (desc);
    desc->user_id = getuid ();
    desc->tres_per_node = slurm_text (GPU "a100:4");
    desc->time_limit = 1440;
    desc->min_nodes = desc->max_nodes = 2;
    desc->cpus_per_task = 80;
    desc->min_cpus = 160;
    desc->pn_min_cpus = 80;
    desc->pn_min_memory = 400000;
    desc->bitflags = JOB_CPUS_SET;
    desc->script = slurm_text ("#!/bin/sh\nsrun python train.py\n");
}

void recipe_cook (const struct recipe *recipe, job_desc_msg_t *desc, char **file)
{
    set_usual (desc);
    set_environments (recipe, desc);
    for (int i = FIRST_TEXT; i < N_FIELDS; i++) {
        char **place = (char **) (void *) ((char *) desc + fields[i].offset);
        char *text = text_of (recipe, i, "");

        if (!text)
            continue;
        slurm_text_free (place);
        *place = slurm_text (text);
        free (text);
    }
    *file = text_of (recipe, FILE_OF_COMMENT, "");
    if (!*file)
        *file = strdup ("");
}
