/* config_view.h - the rules and the GPU types of a site, as text and as JSON
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_CONFIG_VIEW_H
#define DN_CONFIG_VIEW_H

#include "common.h"
#include "output/show.h"
#include "seen.h"
#include "site.h"

/* What 'dnnest config' shows. All is borrowed. */
struct dn_config_view {
    const struct dn_site *site;
    const char *conf; /* the path of the configuration; NULL: there is none */
    const struct dn_submitter *submitter; /* to whom the rules apply; NULL: to anyone */
    const struct dn_rules *rules;         /* those that apply */
    const struct dn_origins *origins;     /* of these rules */
    const struct dn_seen *seen;           /* the files of dnnestd */
};

/* The value of a rule in the syntax of dnnest.conf. */
struct dn_shown dn_config_value (const struct dn_rules *rules,
                                 const struct dn_rule_key *key);

/* The values of a rule from the strictest on, or which of two numbers is stricter.
 * NULL: they have no order.
 */
const char *dn_config_order (const struct dn_rule_key *key, struct dn_buf *buf);

/* Print tables. Return an enum dn_exit. */
int dn_config_print (const struct dn_config_view *view);

void dn_config_print_json (const struct dn_config_view *view);

#endif
