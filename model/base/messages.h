/* messages.h - the messages of base/messages.inc by name
 *
 * dn_say_ID is a format of printf (). It is an array and not a pointer, so that
 * compilers check the values that it is used with. dn_code_ID is the code of an error.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MESSAGES_H
#define DN_MESSAGES_H

#include <inttypes.h>

#include "base/err.h"

#define DN_MESSAGE(to, id, text)                                                       \
    static const char dn_say_##id[] __attribute__ ((unused)) = text;
#define DN_LISTED(to, id, text, values, when) DN_MESSAGE (to, id, text)
#define DN_ERROR(code, id, text)                                                       \
    DN_MESSAGE (ERROR, err_##id, text)                                                 \
    static const enum dn_errc dn_code_##id __attribute__ ((unused)) = DN_E_##code;

#include "base/messages.inc"

#undef DN_MESSAGE
#undef DN_LISTED

/* dn_err_set () with the code and the text of the message err_ID. */
#define dn_refuse(err, id, ...)                                                        \
    dn_err_set (err, dn_code_##id, dn_say_err_##id, ##__VA_ARGS__)

#endif
