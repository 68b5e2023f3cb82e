/* messages.h - the messages of base/messages.inc by name
 *
 * dn_say_ID is a format of printf (). It is an array and not a pointer, so that
 * compilers check the values that it is used with.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_MESSAGES_H
#define DN_MESSAGES_H

#include <inttypes.h>

#define DN_MESSAGE(to, id, text)                                                       \
    static const char dn_say_##id[] __attribute__ ((unused)) = text;
#define DN_LISTED(to, id, text, values, when) DN_MESSAGE (to, id, text)

#include "base/messages.inc"

#undef DN_MESSAGE
#undef DN_LISTED

#endif
