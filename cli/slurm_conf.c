/* slurm_conf.c - the plugin's parameters in slurm.conf, for the command line
 *
 * Slurm's own grammar (src/common/parse_config.c): "Key = Value" with or without
 * blanks, several to a line; a value with blanks in double quotes; a '#' without a
 * backslash before it begins a comment, also in quotes; a backslash at the end of a
 * line, and not in a comment, joins it with the next. "Include FILE" at the beginning
 * of a line puts that file in its place; the name ends at the first blank.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm_conf.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hardware/cluster.h"
#include "host/files.h"

/* Bytes of all files; NodeName lines of the largest clusters take a few hundred KB. */
#define BYTES_MAX (16 * 1024 * 1024)

/* Included files, each as often as it is included, and how deep they nest: several
 * times what sites have. A file that includes itself ends at the depth.
 */
#define FILES_MAX 1000
#define DEPTH_MAX 16

struct file {
    char path[PATH_MAX];
    char *text; /* owned, cut into pieces */
    char *rest;
    int number; /* of the present line */
    int next;   /* of the next one */
};

struct reader {
    struct dn_slurm_conf *conf;
    char cluster[DN_NAME_MAX];       /* ClusterName in lower case, "" before its line */
    struct file open[1 + DEPTH_MAX]; /* slurm.conf, and each that one includes */
    int n_open;
    int n_included;
    size_t bytes;
};

static void free_reader (const struct reader *reader)
{
    for (int i = 0; i < reader->n_open; i++)
        free (reader->open[i].text);
}

static bool is_blank (char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char *skip_blanks (char *at)
{
    while (is_blank (*at))
        at++;
    return at;
}

/* Where the line ends if the backslash at 'at' is its last sign; else NULL. */
static char *end_after (char *at)
{
    char *end;

    if (*at != '\\')
        return NULL;
    end = skip_blanks (at + 1);
    return *end == '\n' ? end : NULL;
}

/* Cut the next line off, without its comment and joined with its continuation lines.
 * NULL after the last.
 */
static char *cut_line (struct file *file)
{
    char *line = file->rest;
    char *to = line;
    char *from = line;
    bool comment = false;

    if (*from == '\0')
        return NULL;
    file->number = file->next++;
    for (; *from && *from != '\n'; from++) {
        char *end = comment ? NULL : end_after (from);

        comment = comment || (*from == '#' && (from == line || from[-1] != '\\'));
        if (end) {
            file->next++;
            from = end;
        } else if (!comment) {
            *to++ = *from;
        }
    }
    file->rest = *from ? from + 1 : from;
    *to = '\0';
    return line;
}

/* Cut "Key = Value" off the front of '*line'; '*value' is NULL for a word alone. Return
 * the key, or NULL at the end.
 */
static char *cut_pair (char **line, char **value)
{
    char *key = skip_blanks (*line);
    char *end = key + strcspn (key, "= \t\r");
    char *at = skip_blanks (end);

    *value = NULL;
    *line = at;
    if (*key == '\0')
        return NULL;
    if (*at == '=') {
        at = skip_blanks (at + 1);
        *value = *at == '"' ? at + 1 : at;
        at = *value + strcspn (*value, *at == '"' ? "\"" : " \t\r");
        *line = *at ? at + 1 : at;
        *at = '\0';
    }
    *end = '\0';
    return key;
}

/* Put the names that are not in the list behind it. */
static void add_names (const char *names,
                       char list[DN_SLURM_VALUE_MAX],
                       struct dn_slurm_conf *conf)
{
    struct dn_span rest = dn_span_of (names);
    struct dn_span name;

    while ((name = dn_span_trim (dn_span_cut (&rest, ","))).text) {
        size_t len = strlen (list);

        if (name.len == 0 || dn_list_has (list, name))
            continue;
        if (len + name.len + 2 > DN_SLURM_VALUE_MAX)
            conf->names_cut = true;
        else
            snprintf (list + len,
                      DN_SLURM_VALUE_MAX - len,
                      "%s%.*s",
                      len > 0 ? "," : "",
                      (int) name.len,
                      name.text);
    }
}

static int take_pair (const char *key,
                      const char *value,
                      struct reader *reader,
                      struct dn_err *err)
{
    struct dn_slurm_conf *conf = reader->conf;
    const struct {
        const char *key;
        char *value;
    } kept[] = {{"SlurmctldParameters", conf->slurmctld_parameters},
                {"SchedulerParameters", conf->scheduler_parameters},
                {"JobSubmitPlugins", conf->job_submit},
                {"PlugStackConfig", conf->plug_stack}};
    struct dn_span span = dn_span_of (key);

    if (dn_span_is (span, "Feature") || dn_span_is (span, "Features"))
        add_names (value, conf->features, conf);
    if (dn_span_is (span, "PartitionName"))
        add_names (value, conf->partitions, conf);
    for (size_t i = 0; i < DN_N_ELEMENTS (kept); i++)
        if (dn_span_is (span, kept[i].key))
            return dn_span_copy (
                dn_span_of (value), kept[i].value, DN_SLURM_VALUE_MAX, key, err);
    if (!dn_span_is (span, "ClusterName"))
        return 0;
    if (dn_span_copy (
            dn_span_of (value), reader->cluster, sizeof (reader->cluster), key, err)
        < 0)
        return -1;
    for (char *at = reader->cluster; *at; at++)
        *at = dn_lower (*at);
    return 0;
}

static int take_pairs (char *line, struct reader *reader, struct dn_err *err)
{
    char *key;
    char *value;

    while ((key = cut_pair (&line, &value)))
        if (value && take_pair (key, value, reader, err) < 0)
            return -1;
    return 0;
}

/* The file that the line includes, NULL if it is another line. */
static const char *cut_include (char *line)
{
    size_t len = strcspn (line, " \t\r");
    char *name;

    if (!dn_span_is ((struct dn_span){line, len}, "Include") || line[len] == '\0')
        return NULL;
    name = skip_blanks (line + len);
    name[strcspn (name, " \t\r")] = '\0';
    return name;
}

/* Write a path: the folder of the file 'beside', if 'name' is relative, and 'name' with
 * ClusterName for each "%c".
 */
static int write_path (const struct reader *reader,
                       const char *beside,
                       const char *name,
                       char path[PATH_MAX],
                       struct dn_err *err)
{
    struct dn_buf buf = dn_buf_on (path, PATH_MAX);
    const char *at;

    if (*name != '/')
        dn_buf_add (&buf, "%.*s", (int) (strrchr (beside, '/') + 1 - beside), beside);
    for (; (at = strstr (name, "%c")); name = at + 2) {
        if (!reader->cluster[0])
            return dn_err_set (
                err, DN_E_SYNTAX, "Include: %%c needs a ClusterName before it");
        dn_buf_add (&buf, "%.*s%s", (int) (at - name), name, reader->cluster);
    }
    dn_buf_add (&buf, "%s", name);
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "Include: the path is too long");
    return 0;
}

/* The path of the file 'name' that the open file includes. A relative name is one in
 * the folder of slurm.conf, or, for Slurm 22.05, in that of the file that includes it.
 */
static int find_included (const struct reader *reader,
                          const char *name,
                          char path[PATH_MAX],
                          struct dn_err *err)
{
    const struct file *from = &reader->open[reader->n_open - 1];

    if (write_path (reader, reader->open[0].path, name, path, err) < 0)
        return -1;
    if (access (path, F_OK) == 0)
        return 0;
    return write_path (reader, from->path, name, path, err);
}

/* Open the next file, whose path is written. */
static int open_file (struct reader *reader, struct dn_err *err)
{
    struct file *file = &reader->open[reader->n_open];

    if (dn_file_read (file->path, BYTES_MAX - reader->bytes, &file->text, err) < 0)
        return -1;
    file->rest = file->text;
    file->number = 0;
    file->next = 1;
    reader->bytes += strlen (file->text);
    reader->n_open++;
    return 0;
}

static int open_included (struct reader *reader, const char *name, struct dn_err *err)
{
    if (reader->n_open > DEPTH_MAX)
        return dn_err_set (
            err, DN_E_LIMIT, "Include: files nest more than %d deep", DEPTH_MAX);
    if (reader->n_included++ == FILES_MAX)
        return dn_err_set (err, DN_E_LIMIT, "Include: more than %d files", FILES_MAX);
    if (find_included (reader, name, reader->open[reader->n_open].path, err) < 0)
        return -1;
    return open_file (reader, err);
}

/* Take the parameters from the open file, and from those that it includes. */
static int read_lines (struct reader *reader, struct dn_err *err)
{
    while (reader->n_open > 0) {
        struct file *file = &reader->open[reader->n_open - 1];
        char *line = cut_line (file);
        const char *name = line ? cut_include (line) : NULL;
        int rc = 0;

        if (name)
            rc = open_included (reader, name, err);
        else if (line)
            rc = take_pairs (line, reader, err);
        else
            free (reader->open[--reader->n_open].text);
        if (rc < 0)
            return dn_err_wrap (err, "%s: line %d", file->path, file->number);
    }
    return 0;
}

static int read_file (const char *path, struct dn_slurm_conf *conf, struct dn_err *err)
{
    dn_cleanup (free_reader) struct reader reader = {.conf = conf};

    memset (conf, 0, sizeof (*conf));
    if (dn_span_copy (
            dn_span_of (path), reader.open[0].path, PATH_MAX, "slurm.conf", err)
            < 0
        || open_file (&reader, err) < 0)
        return -1;
    if (read_lines (&reader, err) < 0) {
        memset (conf, 0, sizeof (*conf));
        return -1;
    }
    memcpy (conf->cluster, reader.cluster, sizeof (conf->cluster));
    memcpy (conf->path, reader.open[0].path, sizeof (conf->path));
    conf->found = true;
    return 0;
}

/* Is there a slurm.conf beside the file? */
static bool find_beside (const char *file, char path[PATH_MAX])
{
    const char *slash = file ? strrchr (file, '/') : NULL;

    return slash
           && snprintf (path, PATH_MAX, "%.*s/slurm.conf", (int) (slash - file), file)
                  < PATH_MAX
           && (access (path, F_OK) == 0 || errno != ENOENT);
}

static void take_name_elsewhere (struct dn_slurm_conf *conf)
{
    const char *named = getenv ("SLURM_CONF");
    struct dn_slurm_conf other;
    char path[PATH_MAX];

    if (named && named[0] == '/')
        snprintf (path, sizeof (path), "%s", named);
    else if (!find_beside (DNNEST_CONF, path))
        return;
    if (read_file (path, &other, NULL) == 0)
        memcpy (conf->cluster, other.cluster, sizeof (conf->cluster));
}

int dn_slurm_conf_read (const char *dnnest_conf,
                        struct dn_slurm_conf *conf,
                        struct dn_err *err)
{
    char path[PATH_MAX];

    if (find_beside (dnnest_conf, path))
        return read_file (path, conf, err);
    memset (conf, 0, sizeof (*conf));
    take_name_elsewhere (conf);
    return 0;
}

bool dn_slurm_conf_submits (const struct dn_slurm_conf *conf)
{
    struct dn_span rest = dn_span_of (conf->job_submit);

    while (rest.text) {
        struct dn_span name = dn_span_trim (dn_span_cut (&rest, ","));

        if (dn_span_is (name, "dnnest") || dn_span_is (name, "job_submit/dnnest"))
            return true;
    }
    return false;
}

/* Is the plugin in a line of the file that is no comment? Files that it includes by a
 * pattern are appended to 'files'.
 */
static bool names_spank (const char *path, glob_t *files)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    struct dn_span rest;
    struct dn_span line;

    if (dn_file_read (path, BYTES_MAX, &text, NULL) < 0)
        return false;
    rest = dn_span_of (text);
    while ((line = dn_span_cut (&rest, "\n")).text) {
        struct dn_span word = dn_span_trim (dn_span_cut (&line, "#"));
        struct dn_span what = dn_span_cut (&word, " \t");
        char pattern[PATH_MAX];

        if (!dn_span_is (what, "include")) {
            if (word.text && memmem (word.text, word.len, "spank_dnnest", 12))
                return true;
        } else if (dn_span_copy (
                       dn_span_trim (word), pattern, PATH_MAX, "include", NULL)
                   == 0) {
            glob (pattern, files->gl_pathc > 0 ? GLOB_APPEND : 0, NULL, files);
        }
    }
    return false;
}

static bool stacks (const char *path)
{
    glob_t files = {.gl_pathc = 0};
    bool found = names_spank (path, &files);

    for (size_t i = 0; !found && i < files.gl_pathc && i < FILES_MAX; i++)
        found = names_spank (files.gl_pathv[i], &files);
    globfree (&files);
    return found;
}

bool dn_slurm_conf_spank (const struct dn_slurm_conf *conf)
{
    char path[PATH_MAX];
    const char *slash = strrchr (conf->path, '/');
    int len = slash ? (int) (slash + 1 - conf->path) : 0;

    if (conf->plug_stack[0] != '\0')
        return stacks (conf->plug_stack);
    return snprintf (path, PATH_MAX, "%.*splugstack.conf", len, conf->path) < PATH_MAX
           && stacks (path);
}
