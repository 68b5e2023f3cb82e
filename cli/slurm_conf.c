/* slurm_conf.c - the plugin's parameters in slurm.conf, for the command line
 *
 * Slurm's own grammar (src/common/parse_config.c): "Key = Value" with or without
 * blanks, several to a line; a value with blanks in double quotes; '#' begins a
 * comment, a backslash at the end of a line joins it with the next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "slurm_conf.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/files.h"

/* NodeName lines of the largest clusters take a few hundred KB. */
#define FILE_MAX (16 * 1024 * 1024)

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

/* Cut the next line off '*rest', without its comment and joined with its continuation
 * lines. NULL after the last.
 */
static char *cut_line (char **rest)
{
    char *line = *rest;
    char *to = line;
    char *from = line;
    bool quoted = false;
    bool comment = false;

    if (*from == '\0')
        return NULL;
    for (; *from && *from != '\n'; from++) {
        if (from[0] == '\\' && from[1] == '\n') {
            from++;
            continue;
        }
        quoted = quoted != (*from == '"' && !comment);
        comment = comment || (*from == '#' && !quoted);
        if (!comment)
            *to++ = *from;
    }
    *rest = *from ? from + 1 : from;
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

static int take_pair (const char *key,
                      const char *value,
                      struct dn_slurm_conf *conf,
                      struct dn_err *err)
{
    struct dn_span span = dn_span_of (key);

    if (dn_span_is (span, "SlurmctldParameters"))
        return dn_span_copy (dn_span_of (value),
                             conf->slurmctld_parameters,
                             sizeof (conf->slurmctld_parameters),
                             key,
                             err);
    if (dn_span_is (span, "SchedulerParameters"))
        return dn_span_copy (dn_span_of (value),
                             conf->scheduler_parameters,
                             sizeof (conf->scheduler_parameters),
                             key,
                             err);
    return 0;
}

static int read_text (char *text, struct dn_slurm_conf *conf, struct dn_err *err)
{
    char *line;
    char *key;
    char *value;

    while ((line = cut_line (&text)))
        while ((key = cut_pair (&line, &value)))
            if (value && take_pair (key, value, conf, err) < 0)
                return -1;
    return 0;
}

int dn_slurm_conf_read (const char *dnnest_conf,
                        struct dn_slurm_conf *conf,
                        struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *text = NULL;
    const char *slash = dnnest_conf ? strrchr (dnnest_conf, '/') : NULL;
    char path[PATH_MAX];

    memset (conf, 0, sizeof (*conf));
    if (!slash)
        return 0;
    if (snprintf (path,
                  sizeof (path),
                  "%.*s/slurm.conf",
                  (int) (slash - dnnest_conf),
                  dnnest_conf)
        >= (int) sizeof (path))
        return 0;
    if (access (path, F_OK) < 0 && errno == ENOENT)
        return 0;
    if (dn_file_read (path, FILE_MAX, &text, err) < 0)
        return -1;
    if (read_text (text, conf, err) < 0) {
        memset (conf, 0, sizeof (*conf));
        return dn_err_wrap (err, "%s", path);
    }
    conf->found = true;
    return 0;
}
