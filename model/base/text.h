/* text.h - strings of bounded length, and numbers without the locale
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_TEXT_H
#define DN_TEXT_H

#include "base/err.h"

/* A piece of a text: not owned, not terminated. */
struct dn_span {
    const char *text;
    size_t len;
};

struct dn_span dn_span_of (const char *text);

/* What follows the first 'n' bytes, as far as there are so many. */
static inline struct dn_span dn_span_after (struct dn_span span, size_t n)
{
    n = n < span.len ? n : span.len;
    return (struct dn_span){span.text + n, span.len - n};
}

struct dn_span dn_span_trim (struct dn_span span);
bool dn_span_is (struct dn_span span, const char *word);

/* Cut the next piece that ends at one of 'separators' off 'rest' and return it. Return
 * a span with text NULL when nothing is left. "a,,b" has three pieces.
 */
struct dn_span dn_span_cut (struct dn_span *rest, const char *separators);

/* Is 'word' one of 'words', which have a blank between them? */
bool dn_words_have (const char *words, struct dn_span word);

/* Copy into 'out' of 'size' bytes; -1 with DN_E_LIMIT and an empty 'out' if too long.
 */
int dn_span_copy (struct dn_span span,
                  char *out,
                  size_t size,
                  const char *what,
                  struct dn_err *err);

/* The same for a name that users see: printable ASCII, else -1 with DN_E_SYNTAX. */
int dn_name_copy (struct dn_span span,
                  char *out,
                  size_t size,
                  const char *what,
                  struct dn_err *err);

/* A caller's buffer that text is appended to. Text that does not fit is dropped and
 * 'cut' is set; the buffer stays terminated.
 */
struct dn_buf {
    char *text;
    size_t size;
    size_t len;
    bool cut;
};

struct dn_buf dn_buf_on (char *text, size_t size);
void dn_buf_add (struct dn_buf *buf, const char *format, ...) DN_PRINTF (2, 3);

/* The same of a text and of a number, at a tenth of the cost. */
void dn_buf_text (struct dn_buf *buf, const char *text);
void dn_buf_put (struct dn_buf *buf, const char *text, size_t len);
void dn_buf_number (struct dn_buf *buf, int64_t number);

/* The same of a text within a string of JSON. What is not printable ASCII becomes '?',
 * and the character 'coded' (0: none) its number.
 */
void dn_buf_escape (struct dn_buf *buf, struct dn_span text, char coded);

/* Read a whole number with an optional multiplier k, M, G, T (powers of 1000, as the
 * metadata keys define them) and check it against min..max. 'what' names it in errors.
 */
int dn_int_read (struct dn_span span,
                 const char *what,
                 int64_t min,
                 int64_t max,
                 int64_t *out,
                 struct dn_err *err);

/* The same for a decimal number: digits, one '.', an optional exponent and multiplier.
 * No infinities, no NaN, no hexadecimal.
 */
int dn_real_read (struct dn_span span,
                  const char *what,
                  double min,
                  double max,
                  double *out,
                  struct dn_err *err);

/* Read the name of a constant; index 0 of the table, "unknown", is not accepted. */
int dn_enum_read (struct dn_span span,
                  const char *what,
                  const struct dn_names *names,
                  int *out,
                  struct dn_err *err);

/* The i-th of some names, NULL after the last. */
typedef const char *(*dn_name_at_f) (const void *names, int i);

/* Letters to insert, delete, replace or swap with their neighbour to make 'name' of
 * 'word'; case is ignored, '-' and '_' are the same. Where either is longer than
 * DN_NAME_MAX: DN_NAME_MAX.
 */
int dn_word_distance (struct dn_span word, const char *name) DN_COLD;

/* The name that is most probably meant by 'word': the nearest by dn_word_distance (),
 * else the longest that is a part of it ("num_layers"), else the first that begins with
 * it. NULL if none resembles it. Some microseconds for a hundred names.
 */
const char *dn_word_nearest (struct dn_span word,
                             dn_name_at_f name,
                             const void *names) DN_COLD;

/* That name for the end of an error, "; did you mean batch?"; "" if none resembles it.
 */
struct dn_meant {
    char text[96];
};
struct dn_meant dn_word_meant (struct dn_span word,
                               dn_name_at_f name,
                               const void *names) DN_COLD;

/* Read a Slurm time in seconds: "minutes", "minutes:seconds", "hours:minutes:seconds",
 * "days-hours", "days-hours:minutes", "days-hours:minutes:seconds".
 */
int dn_time_read (struct dn_span span,
                  const char *what,
                  int64_t *seconds,
                  struct dn_err *err);

/* Write seconds as Slurm prints limits, "[days-]hours:minutes:seconds". */
#define DN_TIME_TEXT_MAX 32
struct dn_time_text {
    char text[DN_TIME_TEXT_MAX];
};
struct dn_time_text dn_time_write (int64_t seconds);

/* A list of directories, as of PATH, with 'dir' first; 'dirs' may be NULL. An empty
 * part would mean the current directory. Freed with free (). NULL: it is first already,
 * or there is no memory.
 */
char *dn_dirs_with (const char *dir, const char *dirs);

/* Takes a piece of a text. 0, or what ends the writing. */
typedef int (*dn_put_f) (void *to, const char *piece, size_t len);

#endif
