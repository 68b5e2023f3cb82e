/* make_bundle.c - write the small bundle into a directory: make_bundle DIR
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "small_bundle.h"

int main (int argc, char **argv)
{
    return argc != 2 || small_bundle_write (argv[1]) < 0;
}
