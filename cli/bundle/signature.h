/* signature.h - Ed25519 signatures of manifest.json, and the site's trusted keys
 *
 * A signature has 64 bytes, a public key 32, a private key (the seed) 32. In files each
 * is base64 on its own line, with an optional comment after it. Lines that begin with
 * '#' are comments.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_SIGNATURE_H
#define DN_SIGNATURE_H

#include "base/limits.h"
#include "base/text.h"

#define DN_KEYS_MAX  64
#define DN_KEY_BYTES 32

struct dn_public_key {
    unsigned char bytes[DN_KEY_BYTES];
    char comment[DN_NAME_MAX + 1]; /* printable; empty: none */
};

struct dn_keys {
    struct dn_public_key keys[DN_KEYS_MAX];
    int n_keys;
};

/* Read public keys from a trusted file, or from the files *.pub of a trusted directory
 * (load.h defines trusted). The path is absolute. No key at all is an error.
 */
int dn_keys_load (const char *path, struct dn_keys *keys, struct dn_err *err);

/* Return the key that signed 'text', or NULL with 'err'. 'signature' is the text of a
 * manifest.json.sig; its text is NULL if there is none.
 */
const struct dn_public_key *dn_signature_check (const struct dn_keys *keys,
                                                struct dn_span text,
                                                struct dn_span signature,
                                                struct dn_err *err);

/* Sign with the private key in a file that only its owner can read. 'out' gets the text
 * of a manifest.json.sig.
 */
#define DN_SIGNATURE_TEXT_MAX 128
int dn_signature_make (const char *key_file,
                       struct dn_span text,
                       char out[DN_SIGNATURE_TEXT_MAX],
                       struct dn_err *err);

/* Make a key pair: 'path', private, and 'path'.pub. Neither file may exist. */
int dn_keys_generate (const char *path, struct dn_err *err);

#endif
