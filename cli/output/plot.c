/* plot.c - pictures drawn by gnuplot
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "process/child.h"
#include "host/files.h"

#define SAID_MAX 160 /* of gnuplot's error message */

/* A format by its extension. The terminal is set with "noenhanced" because underscores
 * in names would become subscripts. cairo takes sizes in inches.
 */
static const struct format {
    const char *extension;
    const char *terminal;
    double per_pixel;
} formats[] = {
    {".svg", "svg noenhanced font 'sans,12' background rgb 'white' size", 1},
    {".png", "pngcairo noenhanced font 'sans,11' size", 1},
    {".pdf", "pdfcairo noenhanced font 'sans,11' size", 1 / 96.0},
};

static const struct format *find_format (const char *path)
{
    const char *dot = strrchr (path, '.');

    for (size_t i = 0; dot && i < DN_N_ELEMENTS (formats); i++)
        if (strcasecmp (dot, formats[i].extension) == 0)
            return &formats[i];
    return NULL;
}

int dn_plot_open (struct dn_plot *plot,
                  const char *path,
                  int width,
                  int height,
                  struct dn_err *err)
{
    const struct format *format = find_format (path);

    memset (plot, 0, sizeof (*plot));
    if (!format)
        return dn_err_set (err,
                           DN_E_RANGE,
                           "%s: expected a name that ends in .svg, .png or .pdf",
                           dn_quote (path, strlen (path)).text);
    if (dn_replace_open (&plot->out, path, err) < 0)
        return -1;
    plot->script = open_memstream (&plot->text, &plot->len);
    if (!plot->script) {
        dn_plot_free (plot);
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    }
    fprintf (plot->script,
             "set terminal %s %.10g,%.10g\n",
             format->terminal,
             width * format->per_pixel,
             height * format->per_pixel);
    return 0;
}

void dn_plot_text (struct dn_plot *plot, const char *text)
{
    fputc ('"', plot->script);
    for (const char *c = text; *c; c++)
        fputc (*c < ' ' || *c > '~' || strchr ("\"'`\\@$", *c) ? '?' : *c,
               plot->script);
    fputc ('"', plot->script);
}

/* Read gnuplot's error message, which begins with "line N: ". The lines above it repeat
 * the command and show a caret.
 */
static void read_complaint (int fd, char said[SAID_MAX])
{
    char text[4096];
    ssize_t n = pread (fd, text, sizeof (text) - 1, 0);
    const char *from;

    text[n > 0 ? n : 0] = '\0';
    from = strstr (text, "line ");
    if (!from)
        from = text + strspn (text, " \n");
    snprintf (said, SAID_MAX, "%.*s", (int) strcspn (from, "\n"), from);
}

static int run (struct dn_plot *plot, struct dn_err *err)
{
    char *argv[] = {"gnuplot", "--default-settings", "-", NULL};
    dn_cleanup (dn_fd_cleanup) int in = dn_child_file (plot->text, plot->len);
    dn_cleanup (dn_fd_cleanup) int complaints = dn_child_file ("", 0);
    char said[SAID_MAX];
    int status = 0;
    pid_t pid;
    int rc;

    if (in < 0 || complaints < 0)
        return dn_err_set (err, DN_E_IO, "gnuplot: %s", strerror (errno));
    rc = dn_child_start (
        argv, (const int[]){in, fileno (plot->out.file), complaints}, &pid);
    if (rc == ENOENT)
        return dn_err_set (
            err, DN_E_IO, "gnuplot is not installed (package gnuplot-nox, or gnuplot)");
    if (rc != 0)
        return dn_err_set (err, DN_E_IO, "gnuplot: %s", strerror (rc));
    if (dn_child_wait (pid, &status) < 0)
        return dn_err_set (err, DN_E_IO, "gnuplot: %s", strerror (errno));
    if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
        return 0;
    read_complaint (complaints, said);
    if (WIFSIGNALED (status))
        return dn_err_set (err,
                           DN_E_IO,
                           "gnuplot was killed by signal %d: %s",
                           WTERMSIG (status),
                           said);
    return dn_err_set (err, DN_E_IO, "gnuplot failed: %s", said);
}

int dn_plot_finish (struct dn_plot *plot, struct dn_err *err)
{
    bool failed = fflush (plot->script) != 0 || ferror (plot->script);

    if (failed)
        return dn_err_set (err, DN_E_NOMEM, "out of memory");
    if (run (plot, err) < 0)
        return -1;
    if (lseek (fileno (plot->out.file), 0, SEEK_END) <= 0)
        return dn_err_set (err, DN_E_IO, "gnuplot drew nothing");
    return dn_replace_finish (&plot->out, err);
}

void dn_plot_free (struct dn_plot *plot)
{
    if (!plot)
        return;
    if (plot->script)
        fclose (plot->script);
    free (plot->text);
    plot->script = NULL;
    plot->text = NULL;
    dn_replace_free (&plot->out);
}
