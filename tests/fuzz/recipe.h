/* recipe.h - a submission as a recipe: texts that are repeated, so that a few lines
 * make one of megabytes
 *
 * A line is "FIELD COUNT TEXT": TEXT, COUNT times, is appended to the field of the job.
 * "%d" in TEXT is the number of the repetition, from 0 on; "\n", "\t", "\e" and "\\"
 * are a newline, a tabulator, an escape and a backslash; "\_" is a blank at the end. Of
 * the fields "env" and "spank" every repetition is one variable. "sidecar" and "option"
 * come with the job as the SPANK plugin passes them; "file" is the sidecar that the
 * comment "dnnest:@job.json" names.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_RECIPE_H
#define DN_RECIPE_H

#include "stand_in.h"

#define RECIPE_PIECES_MAX 24
#define RECIPE_TEXT_MAX   768
#define RECIPE_COUNT_MAX  1000000

struct piece {
    int field;
    int count;
    char text[RECIPE_TEXT_MAX]; /* without escapes */
};

struct recipe {
    struct piece pieces[RECIPE_PIECES_MAX];
    int n;
};

/* Append the lines of a file. False, and a message, on an error. */
bool recipe_load (const char *path, struct recipe *recipe);

/* All of tests/fuzz/costly, in order of their names. */
#define RECIPES_MAX 64
struct recipe_book {
    struct recipe recipes[RECIPES_MAX];
    char *names[RECIPES_MAX];
    int n;
};

/* False, and a message, if one cannot be read or there are none. */
bool recipe_load_all (struct recipe_book *book);
void recipe_free_all (struct recipe_book *book);

/* The job, to be freed with job_free (), and the text of "file" (free ()), "" if there
 * is none. Fields are cut at the sizes that Slurm lets pass.
 */
void recipe_cook (const struct recipe *recipe, job_desc_msg_t *desc, char **file);

#endif
