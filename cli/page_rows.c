/* page_rows.c - writes the entries of keys into a manual page when dnnest is built
 *
 * Copies the source of a page from stdin to stdout. A block of it that begins with a
 * line "@KEYS GROUP", "@RULES", "@SITE KEY...", "@GPU" or "@POLICY" and ends with a
 * line "@" becomes an entry for each of these keys: its values, and the help of its
 * table. A paragraph "*KEY*: TEXT" in the block is added to the entry of that key. A
 * block "@OPTIONS PROGRAM COMMAND" has such a paragraph for each option of a command,
 * "*--NAME*: TEXT", which becomes its entry: with its letter and what it takes, as its
 * help says; without a text it has that of the next option. "@STRICTER"
 * alone becomes the rows of the table of the stricter values. "@MESSAGES USER"
 * (WARNING, LOG, DAEMON, FAILURE) and "@" become the messages of base/messages.inc to
 * these.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/messages.h"
#include "policy/rules.h"
#include "policy/scope.h"
#include "rewrite/rewrite.h"
#include "process/child.h"
#include "config/config_view.h"
#include "site.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES  1024
#define NOTES_BYTES 65536

/* "a|b" of names, else "1..4096", with 'time' of seconds. */
static void print_values (const struct dn_names *names,
                          double min,
                          double max,
                          bool time)
{
    char text[LINE_BYTES] = "";
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    if (names)
        dn_show_names (&buf, names, "|");
    else
        dn_show_bounds (&buf, min, max, time);
    printf ("%s", text);
}

/* The end of a note: the next begins at the start of a line, the rest of one does not.
 */
static const char *note_end (const char *text)
{
    const char *at = text;

    do
        at += strcspn (at, "\n");
    while (at[0] && at[1] != '*' && at[1] != '!' && *++at);
    return at;
}

/* End an entry: its help as a sentence, and what 'notes' adds to it. */
static void print_help (const char *key, const char *help, char *notes)
{
    size_t word = strcspn (help, " ,;");
    bool plain = strspn (help, "abcdefghijklmnopqrstuvwxyz") == word;
    char mark[LINE_BYTES];
    char *at;

    printf ("\t%c%s.\n", plain ? toupper ((unsigned char) help[0]) : help[0], help + 1);
    snprintf (mark, sizeof (mark), "\n*%s*: ", key);
    at = strstr (notes, mark);
    if (at) {
        const char *text = at + strlen (mark);

        printf ("\t%.*s\n", (int) (note_end (text) - text), text);
        at[1] = '!'; /* used */
    }
    printf ("\n");
}

static void print_spec_keys (const char *group, char *notes)
{
    static const char *const forms[] = {[DN_KEY_INT] = "N",
                                        [DN_KEY_REAL] = "X",
                                        [DN_KEY_NAME] = "NAME",
                                        [DN_KEY_TIME] = "TIME",
                                        [DN_KEY_IMAGE] = "N|HxW|DxHxW"};
    int n;
    const struct dn_key *keys = dn_spec_keys (&n);

    for (int i = 0; i < n; i++) {
        if (strcmp (keys[i].group, group) != 0)
            continue;
        printf ("*%s*=", keys[i].name);
        if (keys[i].type == DN_KEY_ENUM)
            print_values (&keys[i].names, 0, 0, false);
        else
            printf ("%s", forms[keys[i].type]);
        if (keys[i].type != DN_KEY_ENUM && keys[i].type != DN_KEY_NAME) {
            printf (" (");
            print_values (NULL, keys[i].min, keys[i].max, keys[i].type == DN_KEY_TIME);
            printf (dn_key_takes_words (&keys[i]) ? ", or names)" : ")");
        }
        printf ("\n");
        print_help (keys[i].name, keys[i].help, notes);
    }
}

static void print_rules (char *notes)
{
    static const char *const forms[] = {[DN_RULE_RATIO] = "RATIO",
                                        [DN_RULE_COUNT] = "N",
                                        [DN_RULE_TIME] = "TIME",
                                        [DN_RULE_PERCENT] = "PERCENT"};
    int n;
    const struct dn_rule_key *keys = dn_rule_keys (&n);

    for (int i = 0; i < n; i++) {
        printf ("*%s*=", keys[i].name);
        if (keys[i].type == DN_RULE_ENUM) {
            print_values (&keys[i].names, 0, 0, false);
            printf (" (");
        } else {
            printf ("%s (", forms[keys[i].type]);
            print_values (NULL, keys[i].min, keys[i].max, keys[i].type == DN_RULE_TIME);
            printf (", ");
        }
        printf ("default %s)\n", keys[i].value);
        print_help (keys[i].name, keys[i].help, notes);
    }
}

static void print_stricter (void)
{
    int n;
    const struct dn_rule_key *keys = dn_rule_keys (&n);

    for (int i = 0; i < n; i++) {
        char text[LINE_BYTES] = "";
        struct dn_buf buf = dn_buf_on (text, sizeof (text));
        const char *order = dn_config_order (&keys[i], &buf);

        printf ("|  %s\n:  %s\n", keys[i].name, order ? order : "no order");
    }
}

static void print_site_key (const struct dn_site *site,
                            const struct dn_site_key *key,
                            char *notes)
{
    double value;

    printf ("*%s*=", key->name);
    if (key->type == DN_SITE_REAL) {
        memcpy (&value, (const char *) site + key->offset, sizeof (value));
        printf ("X (");
        print_values (NULL, key->min, key->max, false);
        if (isnan (value) || value < key->min)
            printf (", default unset)\n");
        else
            printf (", default %.10g)\n", value);
    } else
        printf (key->type == DN_SITE_ACCOUNTING ? "SOURCE\n" : "PATH\n");
    print_help (key->name, key->help, notes);
}

/* 'names' are separated by blanks. */
static int print_site (char *names, char *notes)
{
    static struct dn_site site;
    struct dn_err err = {0};
    int n;
    const struct dn_site_key *keys = dn_site_keys (&n);

    if (dn_site_init (&site, "", "", &err) < 0) {
        fprintf (stderr, "page_rows: %s\n", err.text);
        return 1;
    }
    for (char *rest = NULL, *name = strtok_r (names, " ", &rest); name;
         name = strtok_r (NULL, " ", &rest))
        for (int i = 0; i < n; i++)
            if (strcmp (keys[i].name, name) == 0)
                print_site_key (&site, &keys[i], notes);
    dn_site_free (&site);
    return 0;
}

static void print_value (const char *key, const char *help, char *notes)
{
    printf ("*%s*=VALUE\n", key);
    print_help (key, help, notes);
}

/* --- messages -------------------------------------------------------------------- */

/* Those of the manual pages are written with their values. */
#define DN_VALUES(...) , ##__VA_ARGS__
#define DN_MESSAGE(to, id, text)
#define DN_LISTED(to, id, text, values, when)                                          \
    static void write_##id (struct dn_buf *buf)                                        \
    {                                                                                  \
        dn_buf_add (buf, dn_say_##id DN_VALUES values);                                \
    }
#include "base/messages.inc"
#undef DN_LISTED

#define DN_LISTED(to, id, text, values, when) {#to, when, write_##id},
static const struct listed {
    const char *to;
    const char *when;
    void (*write) (struct dn_buf *buf);
} listed[] = {
#include "base/messages.inc"
};

/* In scdoc, where '_' and '*' are markup. */
static void print_escaped (const char *text)
{
    for (; *text != '\0'; text++)
        printf (strchr ("_*\\", *text) ? "\\%c" : "%c", *text);
}

static void print_messages (const char *to)
{
    static const char prefix[] = "job_submit/dnnest: ";

    for (size_t i = 0; i < DN_N_ELEMENTS (listed); i++) {
        char text[DN_LOG_TEXT_MAX];
        struct dn_buf buf = dn_buf_on (text, sizeof (text));
        bool prefixed;

        if (strcmp (listed[i].to, to) != 0)
            continue;
        listed[i].write (&buf);
        prefixed = strncmp (text, prefix, strlen (prefix)) == 0;
        printf ("*");
        print_escaped (text + (prefixed ? strlen (prefix) : 0));
        printf ("*\n\t%s\n\n", listed[i].when);
    }
}

/* --- options --------------------------------------------------------------------- */

/* Of "  -o, --out=FILE  ..." in the help: "*-o*, *--out*=_FILE_". False: it has no such
 * option.
 */
static bool print_option (const char *help, const char *name)
{
    char mark[LINE_BYTES];
    const char *at;
    int len;

    snprintf (mark, sizeof (mark), "--%s", name);
    for (at = help; (at = strstr (at, mark)); at++)
        if (strchr (" =[\n", at[strlen (mark)]) && at - help > 7 && at[-7] == '\n')
            break;
    if (!at)
        return false;
    if (at[-4] == '-')
        printf ("*-%c*, ", at[-3]);
    printf ("*%s*", mark);
    at += strlen (mark);
    len = (int) strcspn (at, " \n");
    if (strncmp (at, "=KEY=VALUE", 10) == 0)
        printf ("=_KEY_=_VALUE_");
    else if (*at == '[')
        printf ("[=_%.*s_]", len - 3, at + 2);
    else if (*at == '=')
        printf ("=_%.*s_", len - 1, at + 1);
    printf ("\n");
    return true;
}

/* 'what' is "PROGRAM COMMAND". The programs are in the folder above that of this one.
 */
static int print_options (const char *self, char *what, char *notes)
{
    const char *slash = strrchr (self, '/');
    char *command = what + strcspn (what, " ");
    char program[PATH_MAX];
    char *argv[] = {program, command + 1, (char *) "--help", NULL};
    dn_cleanup (dn_free_ptr) char *help = NULL;
    struct dn_err err = {0};

    *command = '\0';
    snprintf (program,
              sizeof (program),
              "%.*s/../%s",
              slash ? (int) (slash - self) : 1,
              slash ? self : ".",
              what);
    help = dn_child_output (argv, false, &err);
    if (!help) {
        fprintf (stderr, "page_rows: %s\n", err.text);
        return 1;
    }
    for (char *at = notes; (at = strstr (at, "\n*--"));) {
        const char *text = at + 4 + strcspn (at + 4, "*") + 2;

        at[1] = '!'; /* used */
        at += 4;
        at[strcspn (at, "*")] = '\0';
        if (!print_option (help, at)) {
            fprintf (stderr, "page_rows: %s has no --%s\n", argv[1], at);
            return 1;
        }
        if (*text == ' ')
            printf ("\t%.*s\n", (int) (note_end (text + 1) - text - 1), text + 1);
        printf ("\n");
        at += strlen (at) + 1;
    }
    return 0;
}

/* --- blocks ---------------------------------------------------------------------- */

/* 'block' is its first line without the "@" and the newline. */
static int print_block (const char *self, char *block, char *notes)
{
    int n;
    const struct dn_gpu_key *gpu = dn_gpu_keys (&n);
    char *at;

    if (strncmp (block, "KEYS ", 5) == 0)
        print_spec_keys (block + 5, notes);
    else if (strncmp (block, "MESSAGES ", 9) == 0)
        print_messages (block + 9);
    else if (strncmp (block, "OPTIONS ", 8) == 0)
        return print_options (self, block + 8, notes);
    else if (strcmp (block, "RULES") == 0)
        print_rules (notes);
    else if (strncmp (block, "SITE ", 5) == 0)
        return print_site (block + 5, notes);
    else if (strcmp (block, "GPU") == 0)
        for (int i = 0; i < n; i++)
            print_value (gpu[i].name, gpu[i].help, notes);
    else if (strcmp (block, "POLICY") == 0)
        for (int i = 0; i < DN_N_SCOPES; i++)
            print_value (dn_scope_keys ()[i].name, dn_scope_keys ()[i].help, notes);
    else {
        fprintf (stderr, "page_rows: an unknown block: @%s\n", block);
        return 1;
    }
    at = strstr (notes, "\n*");
    if (at)
        fprintf (stderr, "page_rows: a note on no key of @%s: %.40s\n", block, at + 1);
    return at != NULL;
}

static bool begins_block (const char *line)
{
    return line[0] == '@' && isupper ((unsigned char) line[1]) && !strstr (line, "@\n");
}

int main (int argc, char **argv)
{
    static char notes[NOTES_BYTES];
    char block[LINE_BYTES] = "";
    char line[LINE_BYTES];
    size_t len = 0;
    int failed = argc != 1;

    while (fgets (line, sizeof (line), stdin)) {
        if (strcmp (line, "@STRICTER\n") == 0)
            print_stricter ();
        else if (strcmp (line, "@\n") == 0) {
            notes[len > 0 ? len - 1 : 0] = '\0';
            failed |= print_block (argv[0], block + 1, notes);
            block[0] = '\0';
        } else if (begins_block (line)) {
            memcpy (block, line, sizeof (block));
            block[strcspn (block, "\n")] = '\0';
            len = (size_t) snprintf (notes, sizeof (notes), "\n");
        } else if (block[0] == '\0')
            fputs (line, stdout);
        else if (len + strlen (line) < sizeof (notes))
            len += (size_t) snprintf (notes + len, sizeof (notes) - len, "%s", line);
    }
    return failed || block[0] != '\0' || ferror (stdin) || fflush (stdout) != 0;
}
