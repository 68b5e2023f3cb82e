/* config_check.h - the errors, contradictions and doubts of a dnnest.conf
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONFIG_CHECK_H
#define DN_CONFIG_CHECK_H

#include <json-c/json.h>

#include "options.h"
#include "policy/scope.h"

/* Print every error of the configuration that 'given' names, one per line, and what
 * would make its time limits better; or all of it as JSON. 'settings' override rules.
 * Return an enum dn_exit.
 */
int dn_config_check (struct dn_options *given, const char *settings);

/* Report the names of the Policy lines that no user or group has: no error, since the
 * line matches by its other names. 'array' gets them; NULL: print them.
 */
void dn_config_warn (const char *conf,
                     const struct dn_policies *policies,
                     struct json_object *array);

#endif
