/* commands.h - the commands, one per cmd_*.c
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_COMMANDS_H
#define DN_COMMANDS_H

#include "options.h"

extern const struct dn_command dn_cmd_advise;
extern const struct dn_command dn_cmd_check;
extern const struct dn_command dn_cmd_config;
extern const struct dn_command dn_cmd_evaluate;
extern const struct dn_command dn_cmd_explain;
extern const struct dn_command dn_cmd_hardware;
extern const struct dn_command dn_cmd_import;
extern const struct dn_command dn_cmd_model;
extern const struct dn_command dn_cmd_predict;
extern const struct dn_command dn_cmd_probe;
extern const struct dn_command dn_cmd_records;
extern const struct dn_command dn_cmd_train;

#endif
