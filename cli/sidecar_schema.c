/* sidecar_schema.c - writes the schema of sidecars when dnnest is built
 *
 * Copies etc/sidecar.schema.json.in from stdin to stdout, and replaces the line
 * KEYS_MARK by the metadata keys of the table in spec.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "spec/spec.h"

#include <stdio.h>
#include <string.h>

#define KEYS_MARK "@KEYS@\n"

/* Longer than any line of the template. */
#define LINE_MAX_BYTES 1024

#define MEMBER   "     "
#define CHOICE   "      "
#define PROPERTY "       "

/* A letter of names, as dn_spec_read () takes them. */
#define NAME_LETTER "[A-Za-z0-9_.+-]"

/* Print one of the forms of a value; 'first' opens the list of forms. */
static void print_choice (const char *type, bool first)
{
    printf ("%s\n" CHOICE "{\n" PROPERTY "\"type\": \"%s\"", first ? "" : ",", type);
}

static void print_bounds (double min, double max)
{
    printf (",\n" PROPERTY "\"minimum\": %.15g", min);
    if (max > min)
        printf (",\n" PROPERTY "\"maximum\": %.15g", max);
    printf ("\n" CHOICE "}");
}

static void print_pattern (const char *pattern)
{
    printf (",\n" PROPERTY "\"pattern\": \"%s\"\n" CHOICE "}", pattern);
}

/* Print the forms of a number: a number in range, or a text as in "key=value". */
static void print_number (const struct dn_key *key)
{
    const char *pattern = "^[0-9.]+([eE][+]?[0-9]+)?[kMGT]?$";
    double min = key->min;
    double max = key->max;

    if (key->type == DN_KEY_REAL)
        pattern = "^[0-9.]+([eE][+-]?[0-9]+)?[kMGT]?$";
    if (key->type == DN_KEY_IMAGE)
        pattern = "^[0-9]+(x[0-9]+){0,2}$";
    if (key->type == DN_KEY_TIME) {
        /* A plain number is in minutes, but the range in seconds: only text is valid.
         */
        pattern = "^([0-9]+-)?[0-9]+(:[0-9]+){0,2}$";
        min = 1;
        max = 0;
    }
    printf (MEMBER "\"anyOf\": [");
    print_choice (key->type == DN_KEY_REAL ? "number" : "integer", true);
    print_bounds (min, max);
    if (key->type == DN_KEY_INT && min == 0 && max == 1) {
        print_choice ("boolean", false);
        printf ("\n" CHOICE "}");
    }
    print_choice ("string", false);
    print_pattern (pattern);
    if (dn_key_takes_words (key)) {
        print_choice ("string", false);
        print_pattern ("^[A-Za-z]" NAME_LETTER "*$");
    }
    printf ("\n" MEMBER "]\n");
}

static void print_names (const struct dn_names *names)
{
    printf (MEMBER "\"enum\": [");
    /* The first name is "unknown", which is not a valid value. */
    for (int i = 1; i < names->n_names; i++)
        printf ("%s\n" CHOICE "\"%s\"", i > 1 ? "," : "", names->names[i]);
    printf ("\n" MEMBER "]\n");
}

static void print_key (const struct dn_key *key)
{
    printf (
        "    \"%s\": {\n" MEMBER "\"description\": \"%s\",\n", key->name, key->help);
    if (key->type == DN_KEY_ENUM)
        print_names (&key->names);
    else if (key->type == DN_KEY_NAME)
        printf (MEMBER "\"type\": \"string\",\n" MEMBER "\"maxLength\": %d,\n" MEMBER
                       "\"pattern\": \"^" NAME_LETTER "+(/" NAME_LETTER "+)?$\"\n",
                DN_NAME_MAX - 1);
    else
        print_number (key);
}

static void print_keys (void)
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        print_key (&keys[i]);
        printf ("    }%s\n", i + 1 < n_keys ? "," : "");
    }
}

int main (void)
{
    char line[LINE_MAX_BYTES];

    while (fgets (line, sizeof (line), stdin)) {
        if (strcmp (line, KEYS_MARK) == 0)
            print_keys ();
        else
            fputs (line, stdout);
    }
    return ferror (stdin) || fflush (stdout) != 0 ? 1 : 0;
}
