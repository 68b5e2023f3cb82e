/* loader_jpeg.c - pictures: decoded, cropped, resized and normalised
 *
 * As a training loader of ImageNet does: a random part of 8 to 100 % of the picture is
 * resized to 224 x 224 by bilinear interpolation, as single-precision planes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "bench/loader.h"
#include "common.h"

/* Pictures are kept in memory, so that reading files is not measured. Larger files, or
 * files with more pixels than any camera's, are refused.
 */
#define PICTURES_MAX 64
#define FILE_MAX     (16 * 1024 * 1024)
#define PIXELS_MAX   (INT64_C (64) * 1000 * 1000)
#define SIDE         224

/* Generated pictures: the mean size of ImageNet's pictures, and a quality that gives
 * about its mean file size of 110 kB.
 */
#define OWN_PICTURES 4
#define OWN_WIDTH    500
#define OWN_HEIGHT   375
#define OWN_QUALITY  93

struct pictures {
    unsigned char *bytes[PICTURES_MAX];
    unsigned long sizes[PICTURES_MAX]; /* as libjpeg has it */
    int n;
};

/* libjpeg's default error handler exits the program; ours jumps to 'back'. */
struct errors {
    struct jpeg_error_mgr manager; /* first: libjpeg knows this part */
    jmp_buf back;
};

static void leave (j_common_ptr info)
{
    struct errors *errors = (struct errors *) (void *) info->err;

    longjmp (errors->back, 1);
}

static void be_silent (j_common_ptr info)
{
    (void) info;
}

static struct jpeg_error_mgr *led_back (struct errors *errors)
{
    struct jpeg_error_mgr *manager = jpeg_std_error (&errors->manager);

    errors->manager.error_exit = leave;
    errors->manager.output_message = be_silent;
    return manager;
}

/* --- generated pictures ----------------------------------------------------------- */

/* Noise in octaves, each half as coarse and half as strong as the previous one, which
 * is about the spectrum of natural pictures.
 */
static double noise_at (int x, int y, int channel, uint64_t seed)
{
    double sum = 0;
    double weight = 0.5;

    for (int scale = 128; scale >= 1; scale /= 2) {
        double u = (double) x / scale;
        double v = (double) y / scale;
        double fu = u - floor (u);
        double fv = v - floor (v);
        double corners[4];

        for (int i = 0; i < 4; i++) {
            uint64_t state = seed + (uint64_t) scale * 1000003u + (uint64_t) channel
                             + ((uint64_t) floor (u) + (uint64_t) (i & 1)) * 7919u
                             + ((uint64_t) floor (v) + (uint64_t) (i >> 1)) * 104729u;

            corners[i] = (double) (dn_loader_random (&state) >> 40) / 16777216.0;
        }
        sum += weight
               * ((corners[0] * (1 - fu) + corners[1] * fu) * (1 - fv)
                  + (corners[2] * (1 - fu) + corners[3] * fu) * fv);
        weight /= 1.7;
    }
    return sum;
}

static void draw (unsigned char *pixels, uint64_t seed)
{
    for (int y = 0; y < OWN_HEIGHT; y++)
        for (int x = 0; x < OWN_WIDTH; x++)
            for (int channel = 0; channel < 3; channel++) {
                double grey = noise_at (x, y, 0, seed);
                double own = noise_at (x / 4 * 4, y / 4 * 4, 1 + channel, seed);
                double value = 255 * (0.75 * grey + 0.25 * own);

                *pixels++ = (unsigned char) fmin (fmax (value, 0), 255);
            }
}

static int encode (unsigned char *pixels, struct pictures *pictures)
{
    struct jpeg_compress_struct info;
    struct errors errors;

    info.err = led_back (&errors);
    if (setjmp (errors.back)) {
        jpeg_destroy_compress (&info);
        return -1;
    }
    jpeg_create_compress (&info);
    jpeg_mem_dest (&info, &pictures->bytes[pictures->n], &pictures->sizes[pictures->n]);
    info.image_width = OWN_WIDTH;
    info.image_height = OWN_HEIGHT;
    info.input_components = 3;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults (&info);
    jpeg_set_quality (&info, OWN_QUALITY, TRUE);
    jpeg_start_compress (&info, TRUE);
    while (info.next_scanline < info.image_height) {
        JSAMPROW row = pixels + (size_t) info.next_scanline * OWN_WIDTH * 3;

        jpeg_write_scanlines (&info, &row, 1);
    }
    jpeg_finish_compress (&info);
    jpeg_destroy_compress (&info);
    pictures->n++;
    return 0;
}

static int make_pictures (struct pictures *pictures, struct dn_err *err)
{
    unsigned char *pixels = malloc ((size_t) OWN_WIDTH * OWN_HEIGHT * 3);
    int rc = pixels ? 0 : dn_err_set (err, DN_E_NOMEM, "out of memory");

    for (int i = 0; i < OWN_PICTURES && rc == 0; i++) {
        draw (pixels, (uint64_t) i + 1);
        if (encode (pixels, pictures) < 0)
            rc = dn_err_set (err, DN_E_BUG, "a picture cannot be generated");
    }
    free (pixels);
    return rc;
}

/* --- pictures of the site --------------------------------------------------------- */

static bool is_picture (const char *name)
{
    const char *dot = strrchr (name, '.');

    return dot && name[0] != '.'
           && (strcasecmp (dot, ".jpg") == 0 || strcasecmp (dot, ".jpeg") == 0);
}

/* Read the first pictures of the folder, in any order. */
static int read_pictures (const char *folder,
                          struct pictures *pictures,
                          struct dn_err *err)
{
    DIR *dir = opendir (folder);
    const struct dirent *entry;
    int rc = 0;

    if (!dir)
        return dn_err_set (err, DN_E_IO, "%s: %s", folder, strerror (errno));
    while (rc == 0 && pictures->n < PICTURES_MAX && (entry = readdir (dir))) {
        char path[4096];
        char *bytes;
        size_t len;

        if (!is_picture (entry->d_name))
            continue;
        if (snprintf (path, sizeof (path), "%s/%s", folder, entry->d_name)
            >= (int) sizeof (path))
            continue;
        rc = dn_read_bytes (path, FILE_MAX, &bytes, &len, err);
        if (rc < 0)
            break;
        pictures->bytes[pictures->n] = (unsigned char *) bytes;
        pictures->sizes[pictures->n++] = len;
    }
    closedir (dir);
    if (rc == 0 && pictures->n == 0)
        rc = dn_err_set (err, DN_E_RANGE, "%s: has no file *.jpg or *.jpeg", folder);
    return rc;
}

static void end_pictures (void *shared)
{
    struct pictures *pictures = shared;

    for (int i = 0; pictures && i < PICTURES_MAX; i++)
        free (pictures->bytes[i]);
    free (pictures);
}

static void *begin_pictures (const char *folder, struct dn_err *err)
{
    struct pictures *pictures = calloc (1, sizeof (*pictures));
    int rc;

    if (!pictures) {
        dn_err_set (err, DN_E_NOMEM, "out of memory");
        return NULL;
    }
    rc = folder ? read_pictures (folder, pictures, err) : make_pictures (pictures, err);
    if (rc == 0)
        return pictures;
    end_pictures (pictures);
    return NULL;
}

/* --- decoding --------------------------------------------------------------------- */

struct decoder {
    const struct pictures *pictures;
    unsigned char *pixels;
    size_t size;
    int width;
    int height;
    float *planes;
};

static void close_decoder (void *state)
{
    struct decoder *decoder = state;

    if (!decoder)
        return;
    free (decoder->pixels);
    free (decoder->planes);
    free (decoder);
}

static void *open_decoder (void *shared)
{
    struct decoder *decoder = calloc (1, sizeof (*decoder));

    if (!decoder)
        return NULL;
    decoder->pictures = shared;
    decoder->planes = malloc (sizeof (float) * 3 * SIDE * SIDE);
    if (decoder->planes)
        return decoder;
    close_decoder (decoder);
    return NULL;
}

static bool make_room (struct decoder *decoder, size_t size)
{
    unsigned char *grown;

    if (size <= decoder->size)
        return true;
    grown = realloc (decoder->pixels, size);
    if (!grown)
        return false;
    decoder->pixels = grown;
    decoder->size = size;
    return true;
}

/* Read rows of three colours into the decoder's buffer. */
static bool read_rows (struct jpeg_decompress_struct *info, struct decoder *decoder)
{
    size_t row_bytes;

    info->out_color_space = JCS_RGB;
    jpeg_start_decompress (info);
    row_bytes = (size_t) info->output_width * 3;
    if (info->output_components != 3 || info->output_width < 1
        || info->output_height < 1
        || !make_room (decoder, row_bytes * info->output_height))
        return false;
    decoder->width = (int) info->output_width;
    decoder->height = (int) info->output_height;
    while (info->output_scanline < info->output_height) {
        JSAMPROW row = decoder->pixels + row_bytes * info->output_scanline;

        jpeg_read_scanlines (info, &row, 1);
    }
    jpeg_finish_decompress (info);
    return true;
}

static bool decode (struct decoder *decoder,
                    const unsigned char *bytes,
                    unsigned long len)
{
    struct jpeg_decompress_struct info;
    struct errors errors;
    bool good;

    info.err = led_back (&errors);
    if (setjmp (errors.back)) {
        jpeg_destroy_decompress (&info);
        return false;
    }
    jpeg_create_decompress (&info);
    jpeg_mem_src (&info, bytes, len);
    good = jpeg_read_header (&info, TRUE) == JPEG_HEADER_OK
           && (int64_t) info.image_width * info.image_height <= PIXELS_MAX
           && read_rows (&info, decoder);
    jpeg_destroy_decompress (&info);
    return good;
}

/* A part of the picture, as SIDE x SIDE. */
struct crop {
    double x;
    double y;
    double width;
    double height;
};

static struct crop random_crop (const struct decoder *decoder, uint64_t seed)
{
    double area = 0.08 + 0.92 * (double) (dn_loader_random (&seed) >> 40) / 16777216.0;
    double side = sqrt (area);
    double u = (double) (dn_loader_random (&seed) >> 40) / 16777216.0;
    double v = (double) (dn_loader_random (&seed) >> 40) / 16777216.0;

    return (struct crop){u * (1 - side) * decoder->width,
                         v * (1 - side) * decoder->height,
                         side * decoder->width,
                         side * decoder->height};
}

static void resize (const struct decoder *decoder, const struct crop *crop)
{
    int width = decoder->width;
    const float scale =
        1 / (255 * 0.225f); /* about the standard deviation of ImageNet */

    for (int row = 0; row < SIDE; row++) {
        float v = (float) (crop->y + (row + 0.5) * crop->height / SIDE - 0.5);
        int y = v > 0 ? (int) v : 0;
        int below = y + 1 < decoder->height ? y + 1 : y;
        float fv = v > (float) y ? v - (float) y : 0;
        const unsigned char *a = decoder->pixels + (size_t) y * (size_t) width * 3;
        const unsigned char *b = decoder->pixels + (size_t) below * (size_t) width * 3;

        for (int column = 0; column < SIDE; column++) {
            float u = (float) (crop->x + (column + 0.5) * crop->width / SIDE - 0.5);
            int x = u > 0 ? (int) u : 0;
            int right = x + 1 < width ? x + 1 : x;
            float fu = u > (float) x ? u - (float) x : 0;

            for (int c = 0; c < 3; c++) {
                float top =
                    (float) a[3 * x + c] * (1 - fu) + (float) a[3 * right + c] * fu;
                float low =
                    (float) b[3 * x + c] * (1 - fu) + (float) b[3 * right + c] * fu;

                decoder->planes[(c * SIDE + row) * SIDE + column] =
                    (top * (1 - fv) + low * fv - 115) * scale;
            }
        }
    }
}

static int load_picture (void *state, int64_t i)
{
    struct decoder *decoder = state;
    const struct pictures *pictures = decoder->pictures;
    int at = (int) (i % pictures->n);
    struct crop crop;

    if (!decode (decoder, pictures->bytes[at], pictures->sizes[at]))
        return -1;
    crop = random_crop (decoder, (uint64_t) i);
    resize (decoder, &crop);
    return 0;
}

const struct dn_loader dn_loader_jpeg = {
    .op = DN_SAMPLE_JPEG,
    .shape = "decode and resize to 224",
    .begin = begin_pictures,
    .open = open_decoder,
    .load = load_picture,
    .close = close_decoder,
    .end = end_pictures,
};
