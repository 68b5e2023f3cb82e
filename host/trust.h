/* trust.h - the directories on the path of a file of the site
 *
 * A file is trusted if it belongs to root or the user of this process, and if no other
 * user can write it. On its path, from the root on, no directory may be writable by
 * others, or they could put another file of root in its place. An exception is a sticky
 * directory above that of the file, such as /tmp, if what is next on the path belongs
 * to root or the user of this process: others cannot rename that. The owner of a
 * directory and a group that may write it are trusted, because an admin has chosen
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TRUST_H
#define DN_TRUST_H

#include "base/err.h"

/* Check the directories in which the last component of 'path', an absolute path, is
 * found, symbolic links resolved. -1 with 'err', which names path and directory. A path
 * that does not exist or cannot be searched is no error: opening it will fail.
 */
int dn_trust_parents (const char *path, struct dn_err *err) DN_COLD;

#endif
