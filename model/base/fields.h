/* fields.h - lines whose keys are the members of a struct
 *
 * A table states the keys of one kind of line ("Group Type=a100 Gpus=4"): where each
 * value is stored, its range, and what its absence means. Programs write such lines,
 * and read them strictly: a key that is unknown, missing, wrong or given twice is an
 * error.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_FIELDS_H
#define DN_FIELDS_H

#include "base/keyline.h"

enum dn_member_type {
    DN_MEMBER_COUNT, /* an integer of 'size' bytes, min..max, or 'absent' */
    DN_MEMBER_REAL,  /* a float, such a count of 1/'per'; -1 for a negative 'absent' */
    DN_MEMBER_KEY,   /* uint64_t, DN_KEY_DIGITS hexadecimal digits; 0: absent */
    DN_MEMBER_FLAG,  /* bool, yes or no */
    DN_MEMBER_TEXT,  /* char[size], printable ASCII without '"' */
    DN_MEMBER_NAME,  /* an enum with 'names', in an integer of 'size' bytes */
    DN_MEMBER_LIST   /* int64_t[size], min..max, joined by ","; 0 from the last on */
};

#define DN_KEY_DIGITS 16

struct dn_member {
    const char *key;
    enum dn_member_type type;
    size_t offset;  /* in the struct */
    bool required;  /* else a count may be 'absent', a flag no, a text empty */
    int64_t absent; /* negative: so may be what is stored, which has a sign */
    int64_t min;
    int64_t max;
    size_t size;
    const struct dn_names *names;
    double per;
};

/* Entries of a table. Those with _OR may be absent. */
#define DN_MEMBER_OF(kind, key, type, member, required, absent, min, max, names, per)  \
    {                                                                                  \
        key, DN_MEMBER_##kind, offsetof (type, member), required, absent, min, max,    \
            sizeof (((type *) NULL)->member), names, per                               \
    }
#define DN_COUNT(key, type, member, min, max)                                          \
    DN_MEMBER_OF (COUNT, key, type, member, true, 0, min, max, NULL, 1)
#define DN_COUNT_OR(key, type, member, min, max, absent)                               \
    DN_MEMBER_OF (COUNT, key, type, member, false, absent, min, max, NULL, 1)
#define DN_REAL(key, type, member, per, min, max)                                      \
    DN_MEMBER_OF (REAL, key, type, member, true, 0, min, max, NULL, per)
#define DN_REAL_OR(key, type, member, per, min, max, absent)                           \
    DN_MEMBER_OF (REAL, key, type, member, false, absent, min, max, NULL, per)
#define DN_KEY(key, type, member, required)                                            \
    DN_MEMBER_OF (KEY, key, type, member, required, 0, 0, 0, NULL, 1)
#define DN_FLAG(key, type, member, required)                                           \
    DN_MEMBER_OF (FLAG, key, type, member, required, 0, 0, 0, NULL, 1)
#define DN_TEXT(key, type, member, required)                                           \
    DN_MEMBER_OF (TEXT, key, type, member, required, 0, 0, 0, NULL, 1)
#define DN_WORD(key, type, member, names)                                              \
    DN_MEMBER_OF (NAME, key, type, member, true, 0, 0, 0, names, 1)

/* A kind of line, which begins with 'word'. At most 32 fields. */
struct dn_line_kind {
    const char *word;
    const struct dn_member *fields;
    int n_fields;
};
#define DN_LINE(word, fields)                                                          \
    {                                                                                  \
        word, fields, (int) DN_N_ELEMENTS (fields)                                     \
    }

/* Longest line of any kind, with its newline. */
#define DN_FIELDS_LINE_MAX 5120

/* Store the values of 'line', whose word is that of 'kind', in the struct 'out', and
 * what their absence means for the others. Return -1 with 'err', which names the key.
 */
int dn_fields_read (const struct dn_line_kind *kind,
                    const struct dn_keyline *line,
                    void *out,
                    struct dn_err *err) DN_COLD;

/* Before a line is read that states the version of its format: -1 with DN_E_VERSION
 * where that is another one, by its number and not by a key that only it has.
 */
int dn_fields_version (const struct dn_keyline *line,
                       int64_t version,
                       struct dn_err *err) DN_COLD;

/* Write the line of the struct 'in', with its newline, by a call of 'put', and return
 * what that returned. What dn_fields_read () would refuse is written as its nearest: a
 * number as the end of its range, a negative one that may be absent not at all, a
 * character that no text has as '?'.
 */
int dn_fields_put (const struct dn_line_kind *kind,
                   const void *in,
                   dn_put_f put,
                   void *to);

/* Store in an integer of 'size' bytes: 1, 2, 4, or 8. */
void dn_integer_store (void *at, size_t size, int64_t number);

/* Make room for one more row in the array of 'n' rows of 'size' bytes at
 * 'rows', a pointer to a pointer, which grows by doubling. Without memory -1 with 'err'
 * and no change.
 */
int dn_rows_grow (void *rows, int64_t n, size_t size, struct dn_err *err) DN_COLD;

/* The same, and add the row: 'rows' is the pointer to them, 'n' their number. */
#define dn_rows_add(rows, n, row, err)                                                 \
    (dn_rows_grow (&(rows), (n), sizeof (*(rows)), (err)) < 0                          \
         ? -1                                                                          \
         : ((rows)[(n)++] = (row), 0))

/* A file of lines of several kinds: one of the first kind, then those of the others in
 * the order of the table, at last one of the last kind.
 */
struct dn_lines {
    const struct dn_line_kind *kinds;
    int n_kinds;
    int n_parts; /* further kinds, each of whose lines belongs to the one before it, */
    int parts_from; /* which is of this kind or of a later one, but not the last */
    const char *expected; /* their words, for errors */
    /* Each reads a line of its kind into 'to'. */
    int (*const *readers) (void *to, const struct dn_keyline *line, struct dn_err *err);
    size_t max; /* bytes of the file */
};

/* Read the file. -1 with 'err', which names 'file' and the line. */
int dn_lines_read (const struct dn_lines *lines,
                   struct dn_span text,
                   const char *file,
                   void *to,
                   struct dn_err *err) DN_COLD;

#endif
