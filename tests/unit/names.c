/* names.c - tests of the public name tables of enums
 *
 * DN_NAMES fixes the length of a table, but designated initialisers leave NULL where a
 * constant in the middle has no name. tests/lint/names.t compares the list below with
 * the headers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "host/daemon_status.h"
#include "learn/evaluate.h"
#include "graph/layer.h"
#include "policy/policy.h"
#include "predict/apps.h"
#include "predict/bundle.h"
#include "predict/history.h"
#include "jobs/finished.h"
#include "jobs/worth/harm.h"
#include "jobs/worth/sums.h"
#include "predict/predict.h"
#include "rewrite/rewrite.h"
#include "learn/train.h"

/* clang-format off */
static const struct dn_names *const tables[] = {
    &dn_abstain_names,
    &dn_axis_names,
    &dn_bottleneck_names,
    &dn_by_names,
    &dn_decode_names,
    &dn_effect_names,
    &dn_field_names,
    &dn_grouping_names,
    &dn_harm_names,
    &dn_layer_kind_names,
    &dn_limit_scope_names,
    &dn_link_names,
    &dn_measure_names,
    &dn_memory_class_names,
    &dn_metric_names,
    &dn_mode_names,
    &dn_op_kind_names,
    &dn_outcome_names,
    &dn_quantity_names,
    &dn_scheme_names,
    &dn_stage_names,
    &dn_tick_names,
    &dn_validated_level_names,
    &dn_verdict_names,
    &dn_warning_names,
    &dn_waste_names,
    &dn_work_unit_names,
};
/* clang-format on */

/* Every constant has a name, and every name is read as its constant. */
static void check_table (const struct dn_names *table, const char *what)
{
    for (int i = 0; i < table->n_names; i++) {
        const char *name = table->names[i];

        if (!name || name[0] == '\0')
            fail_msg ("%s: constant %d has no name", what, i);
        if (dn_names_find (table, name, strlen (name)) != i)
            fail_msg ("%s: '%s' is not the name of %d alone", what, name, i);
    }
}

TEST ("every constant has a name of its own")
{
    for (size_t i = 0; i < DN_N_ELEMENTS (tables); i++) {
        assert_true (tables[i]->n_names > 1);
        check_table (tables[i], tables[i]->names[0]);
    }
}

TEST ("every metadata key names all its values")
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        assert_true ((keys[i].type == DN_KEY_ENUM) == (keys[i].names.n_names > 1));
        check_table (&keys[i].names, keys[i].name);
    }
}

TEST ("every policy key names all its values")
{
    int n_keys;
    const struct dn_rule_key *keys = dn_rule_keys (&n_keys);

    for (int i = 0; i < n_keys; i++) {
        assert_true ((keys[i].type == DN_RULE_ENUM) == (keys[i].names.n_names > 1));
        check_table (&keys[i].names, keys[i].name);
    }
}
