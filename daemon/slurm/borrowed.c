/* borrowed.c - what Slurm's plugin of slurmdbd takes from the program that loads it
 *
 * libslurm loads accounting_storage_slurmdbd.so, which calls functions that Slurm's own
 * programs have and libslurm keeps to itself. They are looked up at the first call; one
 * that is missing ends the process. Where a connection breaks in the middle of a
 * request, the plugin names the request in its log (tried with Slurm 22.05.8).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include <stdint.h>

/* The names and types are those of Slurm. */
__attribute__ ((visibility ("default"))) char *slurmdbd_msg_type_2_str (int type,
                                                                        int by_name);
__attribute__ ((visibility ("default"))) char *rpc_num2string (uint16_t type);

/* In the form of those names. */
static char request[] = "DBD_REQUEST";

char *slurmdbd_msg_type_2_str (int type, int by_name)
{
    (void) type;
    (void) by_name;
    return request;
}

char *rpc_num2string (uint16_t type)
{
    (void) type;
    return request;
}
