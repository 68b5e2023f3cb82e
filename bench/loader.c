/* loader.c - loaders that need no library: text and arrays
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "bench/loader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t dn_loader_random (uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* --- text ------------------------------------------------------------------------- */

/* A text of random words with frequencies by Zipf's law. It is cut greedily into the
 * longest pieces of a vocabulary that includes single letters, as by word-piece
 * tokenizers. The vocabulary's size is BERT's.
 */
#define PIECES      30000
#define PIECE_MAX   12
#define SLOTS       (1 << 17)
#define TEXT_BYTES  (8 * 1024 * 1024)
#define TEXT_TOKENS 512

struct piece {
    char text[PIECE_MAX];
    uint8_t len; /* 0: an empty slot */
    int32_t id;
};

struct text {
    char *bytes;
    struct piece *slots;
};

struct reader {
    const struct text *text;
    int64_t tokens[TEXT_TOKENS];
};

/* FNV-1a. */
static uint32_t hash_of (const char *text, size_t len)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t) text[i]) * 16777619u;
    return hash;
}

static struct piece *find_slot (struct piece *slots, const char *text, size_t len)
{
    uint32_t at = hash_of (text, len) % SLOTS;

    while (slots[at].len > 0
           && (slots[at].len != len || memcmp (slots[at].text, text, len) != 0))
        at = (at + 1) % SLOTS;
    return &slots[at];
}

static void add_piece (struct piece *slots, const char *text, size_t len, int32_t id)
{
    struct piece *slot = find_slot (slots, text, len);

    if (slot->len > 0)
        return;
    memcpy (slot->text, text, len);
    slot->len = (uint8_t) len;
    slot->id = id;
}

/* The word of that rank, which always has the same letters. */
static size_t word_of (uint64_t rank, char word[PIECE_MAX])
{
    uint64_t state = rank;
    size_t len = 2 + dn_loader_random (&state) % (PIECE_MAX - 3);

    for (size_t i = 0; i < len; i++)
        word[i] = (char) ('a' + dn_loader_random (&state) % 26);
    return len;
}

static void fill_text (struct text *text)
{
    uint64_t state = 1;
    size_t at = 0;

    for (int letter = 0; letter < 26; letter++) {
        char one = (char) ('a' + letter);

        add_piece (text->slots, &one, 1, letter);
    }
    for (int32_t rank = 0; rank < PIECES - 26; rank++) {
        char word[PIECE_MAX];
        size_t len = word_of ((uint64_t) rank, word);

        add_piece (text->slots, word, len, rank + 26);
    }
    while (at + PIECE_MAX + 1 < TEXT_BYTES) {
        double u = (double) (dn_loader_random (&state) >> 11) / 9007199254740992.0;
        /* Ranks up to ten times the vocabulary, each with frequency 1 / rank. */
        uint64_t rank = (uint64_t) exp (u * log (10.0 * PIECES)) - 1;

        at += word_of (rank, text->bytes + at);
        text->bytes[at++] = ' ';
    }
    memset (text->bytes + at, ' ', TEXT_BYTES - at);
}

static void end_text (void *shared)
{
    struct text *text = shared;

    if (!text)
        return;
    free (text->bytes);
    free (text->slots);
    free (text);
}

static void *begin_text (const char *folder, struct dn_err *err)
{
    struct text *text = calloc (1, sizeof (*text));

    (void) folder;
    if (text) {
        text->bytes = malloc (TEXT_BYTES);
        text->slots = calloc (SLOTS, sizeof (*text->slots));
    }
    if (!text || !text->bytes || !text->slots) {
        end_text (text);
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    fill_text (text);
    return text;
}

static void *open_text (void *shared)
{
    struct reader *reader = calloc (1, sizeof (*reader));

    if (reader)
        reader->text = shared;
    return reader;
}

/* The next piece of 'text', which has 'left' bytes left. */
static const struct piece *next_piece (struct piece *slots,
                                       const char *text,
                                       size_t left)
{
    size_t most = 0;

    while (most < PIECE_MAX && most < left && text[most] != ' ')
        most++;
    for (size_t len = most; len > 0; len--) {
        const struct piece *slot = find_slot (slots, text, len);

        if (slot->len > 0)
            return slot;
    }
    return NULL;
}

static int load_text (void *state, int64_t i)
{
    struct reader *reader = state;
    uint64_t place = (uint64_t) i;
    size_t at = dn_loader_random (&place) % (TEXT_BYTES / 2);
    int n = 0;

    while (n < TEXT_TOKENS && at < TEXT_BYTES) {
        const struct piece *piece;

        if (reader->text->bytes[at] == ' ') {
            at++;
            continue;
        }
        piece =
            next_piece (reader->text->slots, reader->text->bytes + at, TEXT_BYTES - at);
        if (!piece)
            return -1;
        reader->tokens[n++] = piece->id;
        at += piece->len;
    }
    return n == TEXT_TOKENS ? 0 : -1;
}

const struct dn_loader dn_loader_text = {
    .op = DN_SAMPLE_TEXT,
    .shape = "pieces v30000 t512",
    .bytes = TEXT_TOKENS,
    .begin = begin_text,
    .open = open_text,
    .load = load_text,
    .close = free,
    .end = end_text,
};

/* --- arrays ----------------------------------------------------------------------- */

/* Records of a picture's size, read at random offsets of a file in the page cache, and
 * copied into a batch.
 */
#define RECORD_BYTES (224 * 224 * 3)
#define RECORDS      512
#define BATCH        64

struct arrays {
    int fd;
};

struct batch {
    int fd;
    char *record;
    char *samples;
};

static void end_arrays (void *shared)
{
    struct arrays *arrays = shared;

    if (!arrays)
        return;
    if (arrays->fd >= 0)
        close (arrays->fd);
    free (arrays);
}

/* An unlinked file, which is deleted when the process ends. */
static int make_file (struct dn_err *err)
{
    const char *folder = getenv ("TMPDIR");
    char path[4096];
    int fd;

    snprintf (path,
              sizeof (path),
              "%s/dnnest-bench.XXXXXX",
              folder && folder[0] == '/' ? folder : "/tmp");
    fd = mkostemp (path, 02000000 /* O_CLOEXEC */);
    if (fd < 0)
        dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    else
        unlink (path);
    return fd;
}

static int fill_file (int fd, struct dn_err *err)
{
    char record[RECORD_BYTES];
    uint64_t state = 2;

    for (int i = 0; i < RECORDS; i++) {
        for (size_t at = 0; at + 8 <= sizeof (record); at += 8) {
            uint64_t random = dn_loader_random (&state);

            memcpy (record + at, &random, sizeof (random));
        }
        if (write (fd, record, sizeof (record)) != (ssize_t) sizeof (record))
            return dn_err_set (err,
                               DN_E_IO,
                               "a temporary file cannot be written: %s",
                               strerror (errno));
    }
    return 0;
}

static void *begin_arrays (const char *folder, struct dn_err *err)
{
    struct arrays *arrays = calloc (1, sizeof (*arrays));

    (void) folder;
    if (!arrays) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    arrays->fd = make_file (err);
    if (arrays->fd >= 0 && fill_file (arrays->fd, err) == 0)
        return arrays;
    end_arrays (arrays);
    return NULL;
}

static void close_batch (void *state)
{
    struct batch *batch = state;

    if (!batch)
        return;
    free (batch->record);
    free (batch->samples);
    free (batch);
}

static void *open_batch (void *shared)
{
    const struct arrays *arrays = shared;
    struct batch *batch = calloc (1, sizeof (*batch));

    if (!batch)
        return NULL;
    batch->fd = arrays->fd;
    batch->record = malloc (RECORD_BYTES);
    batch->samples = malloc ((size_t) BATCH * RECORD_BYTES);
    if (batch->record && batch->samples)
        return batch;
    close_batch (batch);
    return NULL;
}

static int load_record (void *state, int64_t i)
{
    struct batch *batch = state;
    uint64_t place = (uint64_t) i;
    off_t at = (off_t) (dn_loader_random (&place) % RECORDS) * RECORD_BYTES;

    if (pread (batch->fd, batch->record, RECORD_BYTES, at) != RECORD_BYTES)
        return -1;
    memcpy (batch->samples + (size_t) (i % BATCH) * RECORD_BYTES,
            batch->record,
            RECORD_BYTES);
    return 0;
}

const struct dn_loader dn_loader_array = {
    .op = DN_SAMPLE_ARRAY,
    .shape = "records of 150528 bytes",
    .bytes = RECORD_BYTES,
    .begin = begin_arrays,
    .open = open_batch,
    .load = load_record,
    .close = close_batch,
    .end = end_arrays,
};
