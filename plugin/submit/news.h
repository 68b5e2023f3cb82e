/* news.h - what the files of dnnestd say, as the plugin sees it
 *
 * The keeper reads a file again when it has changed; a submission takes what was read
 * last, and never waits for a file. This is apart from the state of the site
 * (submit/state.h), which changes rarely and takes longer to load.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SUBMIT_NEWS_H
#define DN_SUBMIT_NEWS_H

#include "host/view_files.h"

/* What was read last. It does not change until it is given back. */
struct dn_news {
    struct dn_piece *pieces[DN_N_VIEW_FILES]; /* NULL: no such file, or a broken one */
};

/* From any thread. 'view' has the time of the call. */
struct dn_news dn_news_take (struct dn_view *view);
void dn_news_give (struct dn_news *news);

/* Read the files in 'state_dir' that have changed since the last call. Cannot fail: a
 * file that is broken counts as none, and the log has a line, which is not repeated
 * while it stays broken. One thread at a time.
 */
void dn_news_look (const char *state_dir);

/* Forget everything; what is in use is freed when it is given back. */
void dn_news_forget (void);

#endif
