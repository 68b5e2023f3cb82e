/* own_records.c - a user's own store of records: where it is, adding to it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "own_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

int dn_records_usual_path (char *path, size_t size, struct dn_err *err)
{
    const char *data = getenv ("XDG_DATA_HOME");
    const char *home = getenv ("HOME");
    struct dn_buf buf = dn_buf_on (path, size);

    /* a relative path must be ignored (XDG base directory specification) */
    if (data && data[0] == '/')
        dn_buf_add (&buf, "%s/dnnest/records.db", data);
    else if (home && home[0] == '/')
        dn_buf_add (&buf, "%s/.local/share/dnnest/records.db", home);
    else
        return dn_err_set (err,
                           DN_E_RANGE,
                           "neither XDG_DATA_HOME nor HOME is an absolute path, "
                           "expected the name of a file");
    if (buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "the path of the records is too long");
    return 0;
}

/* Create the parent directories of a file, as mkdir -p does. */
static int make_folders (const char *path, struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) char *copy = strdup (path);

    if (!copy || copy[0] == '\0')
        return copy ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");
    for (char *slash = strchr (copy + 1, '/'); slash; slash = strchr (slash + 1, '/')) {
        *slash = '\0';
        if (mkdir (copy, 0755) < 0 && errno != EEXIST)
            return dn_err_set (err, DN_E_IO, "%s: %s", copy, strerror (errno));
        *slash = '/';
    }
    return 0;
}

int dn_records_make (const char *path, struct dn_records **records, struct dn_err *err)
{
    *records = NULL;
    if (make_folders (path, err) < 0)
        return -1;
    return dn_records_open (path, DN_RECORDS_ADD, records, err);
}
