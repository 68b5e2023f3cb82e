/* rows.c - tables of the rows of a JSON array
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "output/rows.h"

#include <stdio.h>
#include <string.h>

#include "common.h"
#include "output/show.h"

/* Characters of a name. */
#define NAME_SHOWN 28

/* The member of a row by its path; NULL: it is null, or there is none. */
static struct json_object *member_of (struct json_object *row, struct dn_span path)
{
    for (struct dn_span part; row && (part = dn_span_cut (&path, ".")).text;) {
        char name[DN_NAME_MAX] = "";

        dn_span_copy (part, name, sizeof (name), "member", NULL);
        row = json_object_object_get (row, name);
    }
    return row;
}

/* 'form' is UNIT.DIGITS. */
static struct dn_shown number_of (double value, struct dn_span form)
{
    static const struct {
        const char *name;
        double is;
    } units[] = {{"%", 0.01}, {"min", 60}, {"G", 1e9}, {"T", 1e12}, {"GiB", DN_GIB}};
    struct dn_span unit = dn_span_cut (&form, ".");
    struct dn_shown out;

    for (size_t i = 0; i < DN_N_ELEMENTS (units); i++)
        if (dn_span_is (unit, units[i].name))
            value /= units[i].is;
    snprintf (out.text,
              sizeof (out.text),
              memchr (form.text, '+', form.len) ? "%+.*f" : "%.*f",
              form.text[0] - '0',
              value);
    if (value == 0 && memchr (form.text, '?', form.len))
        return (struct dn_shown){"-"};
    return out;
}

static struct dn_shown show (double value, struct dn_span form)
{
    static const struct {
        const char *name;
        struct dn_shown (*show) (double value);
    } forms[] = {{"time", dn_show_time},
                 {"memory", dn_show_bytes},
                 {"si", dn_show_count},
                 {"number", dn_show_number},
                 {"share", dn_show_share}};

    for (size_t i = 0; i < DN_N_ELEMENTS (forms); i++)
        if (dn_span_is (form, forms[i].name))
            return forms[i].show (value);
    return number_of (value, form);
}

static void add_words (struct dn_grid *grid, struct json_object *array)
{
    char text[1024] = "";
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (size_t i = 0; i < json_object_array_length (array); i++)
        dn_buf_add (&buf,
                    "%s%s",
                    i > 0 ? " " : "",
                    json_object_get_string (json_object_array_get_idx (array, i)));
    dn_grid_add (grid, "%s", text);
}

static void add_cell (struct dn_grid *grid,
                      struct json_object *value,
                      struct dn_span form)
{
    const char *text = json_object_get_string (value);

    if (!value)
        dn_grid_add (grid, "-");
    else if (dn_span_is (form, "name"))
        dn_grid_add (grid, "%s", dn_quote (text, strnlen (text, NAME_SHOWN)).text);
    else if (form.text)
        dn_grid_add (grid, "%s", show (json_object_get_double (value), form).text);
    else if (json_object_is_type (value, json_type_array))
        add_words (grid, value);
    else
        dn_grid_add (grid, "%s", text);
}

struct dn_grid dn_rows_grid (struct json_object *rows, const char *columns)
{
    struct dn_grid grid = {.cells = NULL};
    struct dn_span rest = dn_span_of (columns);
    struct dn_span column;

    while ((column = dn_span_cut (&rest, "|")).text) {
        struct dn_span heading = dn_span_cut (&column, "=");

        dn_grid_head (&grid, "%.*s", (int) heading.len, heading.text);
    }
    for (size_t i = 0; i < json_object_array_length (rows); i++) {
        struct json_object *row = json_object_array_get_idx (rows, i);

        rest = dn_span_of (columns);
        while ((column = dn_span_cut (&rest, "|")).text) {
            struct dn_span path;

            dn_span_cut (&column, "=");
            path = dn_span_cut (&column, " ");
            add_cell (&grid, member_of (row, path), column);
        }
    }
    return grid;
}

int dn_rows_print (struct json_object *rows, const char *columns, const char *spare)
{
    dn_cleanup (dn_grid_free) struct dn_grid grid = dn_rows_grid (rows, columns);

    json_object_put (rows);
    grid.spare = spare;
    return dn_grid_print (&grid);
}

int dn_rows_print_any (struct json_object *rows, const char *columns)
{
    if (json_object_array_length (rows) > 0) {
        printf ("\n");
        return dn_rows_print (rows, columns, NULL);
    }
    json_object_put (rows);
    return DN_EXIT_DONE;
}
