/* digest.c - SHA-256, as FIPS 180-4 defines it
 *
 * It detects a file that was truncated, exchanged or damaged. It does not prove who
 * wrote the file; host/load.h checks owner and mode for that.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "base/digest.h"

#include <string.h>

#define BLOCK 64

/* FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the
 * first 64 primes.
 */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t rotate (uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t big_endian (const unsigned char *at)
{
    return (uint32_t) at[0] << 24 | (uint32_t) at[1] << 16 | (uint32_t) at[2] << 8
           | at[3];
}

/* rotate (x, a) ^ rotate (x, a + b) ^ rotate (x, a + b + c), rotated in place. */
static inline uint32_t rotate_three (uint32_t x, int a, int b, int c)
{
    return rotate (rotate (rotate (x, c) ^ x, b) ^ x, a);
}

/* One step of 6.2.2. Instead of rotating the eight variables, it shifts their indices
 * by 't'.
 */
static inline void step (uint32_t s[8], int t, uint32_t key)
{
    uint32_t a = s[-t & 7];
    uint32_t b = s[(1 - t) & 7];
    uint32_t c = s[(2 - t) & 7];
    uint32_t e = s[(4 - t) & 7];
    uint32_t f = s[(5 - t) & 7];
    uint32_t g = s[(6 - t) & 7];
    uint32_t *h = &s[(7 - t) & 7];
    uint32_t one = *h + rotate_three (e, 6, 5, 14) + (g ^ (e & (f ^ g))) + key;

    s[(3 - t) & 7] += one;
    *h = one + rotate_three (a, 2, 11, 9) + ((a & b) | (c & (a | b)));
}

/* 6.2.2: mix one block into the state a..h. */
static void mix (uint32_t state[8], const unsigned char block[BLOCK])
{
    uint32_t w[64];
    uint32_t s[8] = {
        state[0], state[1], state[2], state[3], state[4], state[5], state[6], state[7]};

    for (int t = 0; t < 16; t++)
        w[t] = big_endian (block + 4 * (ptrdiff_t) t);
    for (int t = 16; t < 64; t++) {
        uint32_t early = w[t - 15];
        uint32_t late = w[t - 2];

        w[t] = w[t - 16] + (rotate (rotate (early, 11) ^ early, 7) ^ early >> 3)
               + w[t - 7] + (rotate (rotate (late, 2) ^ late, 17) ^ late >> 10);
    }
    for (int t = 0; t < 64; t += 8) {
        const uint32_t *k = &round_constants[t];

        step (s, 0, k[0] + w[t]);
        step (s, 1, k[1] + w[t + 1]);
        step (s, 2, k[2] + w[t + 2]);
        step (s, 3, k[3] + w[t + 3]);
        step (s, 4, k[4] + w[t + 4]);
        step (s, 5, k[5] + w[t + 5]);
        step (s, 6, k[6] + w[t + 6]);
        step (s, 7, k[7] + w[t + 7]);
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

struct dn_digester dn_digest_begin (void)
{
    /* 5.3.3: of the square roots of the first eight primes. */
    return (struct dn_digester){.state = {0x6a09e667,
                                          0xbb67ae85,
                                          0x3c6ef372,
                                          0xa54ff53a,
                                          0x510e527f,
                                          0x9b05688c,
                                          0x1f83d9ab,
                                          0x5be0cd19}};
}

void dn_digest_add (struct dn_digester *digester, struct dn_span data)
{
    const unsigned char *text = (const unsigned char *) data.text;
    size_t held = digester->len % BLOCK;
    size_t at = 0;

    if (data.len == 0)
        return;
    digester->len += data.len;
    if (data.len < BLOCK - held) {
        memcpy (digester->block + held, text, data.len);
        return;
    }
    if (held > 0) {
        at = BLOCK - held;
        memcpy (digester->block + held, text, at);
        mix (digester->state, digester->block);
    }
    for (; at + BLOCK <= data.len; at += BLOCK)
        mix (digester->state, text + at);
    if (at < data.len)
        memcpy (digester->block, text + at, data.len - at);
}

struct dn_digest dn_digest_end (struct dn_digester *digester)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char tail[2 * BLOCK] = {0};
    uint64_t bits = digester->len * 8;
    size_t rest = digester->len % BLOCK;
    size_t end = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;
    struct dn_digest digest;

    memcpy (tail, digester->block, rest);
    /* 5.1.1: a one, zeros, the length in bits. */
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        tail[end - 1 - i] = (unsigned char) (bits >> (8 * i));
    for (size_t at = 0; at < end; at += BLOCK)
        mix (digester->state, tail + at);
    for (size_t i = 0; i < DN_DIGEST_LEN; i++)
        digest.hex[i] = digits[digester->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    digest.hex[DN_DIGEST_LEN] = '\0';
    return digest;
}

struct dn_digest dn_digest_of (struct dn_span data)
{
    struct dn_digester digester = dn_digest_begin ();

    dn_digest_add (&digester, data);
    return dn_digest_end (&digester);
}
