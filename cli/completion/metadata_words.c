/* metadata_words.c - keys and values that may follow in metadata
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "completion/metadata_words.h"

#include <stdio.h>
#include <string.h>

#include "graph/tune_words.h"
#include "graph/zoo/names.h"
#include "site.h"

/* Is the key in the pairs before the end of the word? */
static bool is_given (const struct dn_answer *answer,
                      const char *pairs,
                      const struct dn_key *key)
{
    struct dn_span rest = {pairs, (size_t) (answer->end - pairs)};

    while (rest.text) {
        struct dn_span pair = dn_span_cut (&rest, ",");
        struct dn_span name = dn_span_cut (&pair, "=");

        if (name.text && dn_spec_key (name) == key)
            return true;
    }
    return false;
}

static void offer_keys (struct dn_answer *answer, const char *pairs)
{
    int n_keys;
    const struct dn_key *keys = dn_spec_keys (&n_keys);

    for (int i = 0; i < n_keys; i++)
        if (!is_given (answer, pairs, &keys[i]))
            dn_answer_offer (answer, keys[i].name, "=", keys[i].help);
}

/* The name of a pattern with what its '*' stands for; "" if that is too long. */
static void write_hub_name (const char *pattern,
                            struct dn_span star,
                            char name[DN_NAME_MAX])
{
    const char *at = strchr (pattern, '*');
    struct dn_buf buf = dn_buf_on (name, DN_NAME_MAX);

    if (at)
        dn_buf_add (&buf,
                    "%.*s%.*s%s",
                    (int) (at - pattern),
                    pattern,
                    (int) star.len,
                    star.text,
                    at + 1);
    else
        dn_buf_add (&buf, "%s", pattern);
    if (buf.cut)
        name[0] = '\0';
}

/* What the '*' of 'pattern' stands for in a name of the zoo; NULL if it does not match.
 */
static struct dn_span star_of (const char *pattern, const char *name)
{
    const char *star = strchr (pattern, '*');
    size_t before = star ? (size_t) (star - pattern) : 0;
    size_t after = star ? strlen (star + 1) : 0;
    size_t len = strlen (name);

    if (!star || len <= before + after || strncmp (pattern, name, before) != 0
        || strcmp (name + len - after, star + 1) != 0)
        return (struct dn_span){NULL, 0};
    return (struct dn_span){name + before, len - before - after};
}

/* Do the two differ in '-' and '_' at most? */
static bool is_same (const char *a, const char *b)
{
    return dn_word_equal (a, strlen (a), b, strlen (b));
}

static const struct dn_networks *networks_of (struct dn_answer *answer)
{
    const struct dn_site *site = dn_answer_site (answer);

    return site ? &site->networks : NULL;
}

/* A name that is the zoo's but for '-' is offered where the word has a '-'. */
static void offer_hub_name (struct dn_answer *answer,
                            const char *pattern,
                            struct dn_span star,
                            const char *network)
{
    const struct dn_networks *networks = networks_of (answer);
    char name[DN_NAME_MAX];
    struct dn_model model;

    write_hub_name (pattern, star, name);
    if (name[0] != '\0' && dn_answer_begins (answer, name)
        && dn_model_find (networks, name, &model)
        && (!network || strcmp (model.entry->name, network) == 0)
        && (strchr (answer->end, '-') || !is_same (name, model.entry->name)))
        dn_answer_offer (answer, name, "", model.entry->name);
}

/* The names of hubs that differ from the zoo's, which have no '_'; a size of images is
 * not completed.
 */
static void offer_hub_names (struct dn_answer *answer)
{
    const struct dn_networks *networks = networks_of (answer);

    if (strchr (answer->end, '_'))
        return;
    for (const struct dn_pattern *row = dn_patterns; row->text; row++) {
        const struct dn_zoo_entry *entry;
        struct dn_span none = {NULL, 0};

        if (strchr (row->text, '%'))
            continue;
        if (!strchr (row->text, '*')) {
            offer_hub_name (answer, row->text, none, NULL);
            continue;
        }
        for (int i = 0; (entry = dn_zoo_at (networks, i)); i++) {
            struct dn_span star = star_of (row->name, entry->name);

            if (star.text)
                offer_hub_name (answer, row->text, star, entry->name);
        }
    }
}

void dn_network_words (struct dn_answer *answer)
{
    const struct dn_networks *networks = networks_of (answer);
    const char *slash = strrchr (answer->end, '/');
    const char *name;

    if (slash)
        answer->end = slash + 1;
    for (int i = 0; (name = dn_model_at (networks, i)); i++) {
        struct dn_model model;

        if (dn_answer_begins (answer, name))
            dn_answer_offer (answer,
                             name,
                             "",
                             dn_model_find (networks, name, &model) ? model.entry->family : NULL);
    }
    if (slash || answer->end[0] != '\0')
        offer_hub_names (answer);
}

static void offer_words (struct dn_answer *answer, const struct dn_tune_words *words)
{
    const char *plus = strrchr (answer->end, '+');

    if (plus)
        answer->end = plus + 1;
    for (int i = 0; i < words->n; i++)
        dn_answer_offer (answer, words->list[i].word, "", NULL);
}

static void offer_datasets (struct dn_answer *answer)
{
    const struct dn_site *site = dn_answer_site (answer);

    for (int i = 0; site && i < site->datasets.n_rows; i++)
        dn_answer_offer (answer, site->datasets.rows[i].name, "", NULL);
}

static void offer_values (struct dn_answer *answer, const struct dn_key *key)
{
    if (key->type == DN_KEY_ENUM)
        dn_answer_offer_names (answer, &key->names);
    else if (key->type == DN_KEY_INT && key->min >= 0 && key->max == 1) {
        dn_answer_offer (answer, "0", "", NULL);
        dn_answer_offer (answer, "1", "", NULL);
    } else if (key->offset == offsetof (struct dn_spec, model))
        dn_network_words (answer);
    else if (key->offset == offsetof (struct dn_spec, dataset))
        offer_datasets (answer);
    else if (key->offset == offsetof (struct dn_spec, lora_targets))
        offer_words (answer, &dn_adapter_words);
    else if (key->offset == offsetof (struct dn_spec, frozen)
             || dn_key_takes_words (key))
        offer_words (answer, &dn_part_words);
}

void dn_metadata_words (struct dn_answer *answer)
{
    const char *pairs = answer->end;
    const char *comma = strrchr (pairs, ',');
    const char *equals;
    const struct dn_key *key;

    answer->flags[DN_ANSWER_NOSPACE] = true;
    if (comma)
        answer->end = comma + 1;
    equals = strchr (answer->end, '=');
    if (!equals) {
        offer_keys (answer, pairs);
        return;
    }
    key = dn_spec_key ((struct dn_span){answer->end, (size_t) (equals - answer->end)});
    answer->end = equals + 1;
    if (key)
        offer_values (answer, key);
}

void dn_metadata_words_of_note (struct dn_answer *answer)
{
    const char *comma = strchr (answer->end, ',');

    if (answer->end[0] != '@') {
        dn_metadata_words (answer);
    } else if (comma) {
        answer->end = comma + 1;
        dn_metadata_words (answer);
    } else {
        answer->end++;
        answer->flags[DN_ANSWER_FILES] = true;
    }
}

void dn_metadata_words_of_comment (struct dn_answer *answer)
{
    struct dn_span text = dn_note_text (answer->end);
    bool begins;

    if (!text.text) {
        answer->flags[DN_ANSWER_NOSPACE] = true;
        dn_answer_offer (answer, DN_COMMENT_MARK, "", "metadata of the job");
        return;
    }
    if (text.text[text.len] != '\0')
        return;
    answer->end = text.text;
    begins = !strpbrk (text.text, ",=@");
    dn_metadata_words_of_note (answer);
    if (begins)
        dn_answer_offer (answer, "off", "", "leave this job unchanged");
}

/* The site's types and their devices. */
static void offer_types (struct dn_answer *answer,
                         const struct dn_site *site,
                         const char *tail)
{
    const struct dn_gpu_types *types = &site->gpu_types;

    for (int i = 0; i < types->n_types; i++) {
        const struct dn_gpu_type *type = &types->types[i];
        bool again = false;

        dn_answer_offer (answer, type->type, tail, type->device->name);
        for (int k = 0; k < i; k++)
            again = again || types->types[k].device == type->device;
        if (!again && strcmp (type->type, type->device->name) != 0)
            dn_answer_offer (answer, type->device->name, tail, NULL);
    }
}

void dn_device_words (struct dn_answer *answer, const char *tail)
{
    const struct dn_site *site = dn_answer_site (answer);
    int n = answer->n;

    if (!site)
        return;
    offer_types (answer, site, tail);
    if (answer->n > n)
        return;
    for (int i = 0; i < site->catalogue.n_devices; i++)
        dn_answer_offer (answer,
                         site->catalogue.devices[i].name,
                         tail,
                         site->catalogue.devices[i].vendor);
}

/* The values of the rule before '='. */
static void offer_rule_values (struct dn_answer *answer, struct dn_span name)
{
    const struct dn_rule_key *rule = dn_rules_find (name);

    if (rule && rule->type == DN_RULE_ENUM)
        dn_answer_offer_names (answer, &rule->names);
}

void dn_rule_words (struct dn_answer *answer)
{
    const char *equals = strchr (answer->end, '=');
    int n;
    const struct dn_rule_key *rules = dn_rule_keys (&n);
    const struct dn_site_key *numbers;

    if (equals) {
        const char *name = answer->end;

        answer->end = equals + 1;
        offer_rule_values (answer, (struct dn_span){name, (size_t) (equals - name)});
        return;
    }
    answer->flags[DN_ANSWER_NOSPACE] = true;
    for (int i = 0; i < n; i++)
        dn_answer_offer (answer, rules[i].name, "=", rules[i].help);
    numbers = dn_site_keys (&n);
    for (int i = 0; i < n; i++)
        if (numbers[i].type == DN_SITE_REAL)
            dn_answer_offer (answer, numbers[i].name, "=", numbers[i].help);
}
