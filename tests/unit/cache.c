/* cache.c - tests of the cache of estimates: which runs are the same
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "cache.h"

/* Only their addresses are used. */
static struct dn_device devices[DN_CANDIDATES_MAX + 1];
static const struct dn_device *const both[] = {&devices[0], &devices[1]};
static const struct dn_device *const swapped[] = {&devices[1], &devices[0]};

static struct dn_cache *new_cache (void)
{
    struct dn_cache *cache = calloc (1, sizeof (*cache));

    assert_non_null (cache);
    return cache;
}

static struct dn_spec some_spec (int64_t batch)
{
    struct dn_spec spec = dn_spec_empty ();

    strcpy (spec.model, "resnet50");
    spec.batch = batch;
    return spec;
}

static struct dn_cache_key key_of (const struct dn_spec *spec)
{
    struct dn_cache_key key;

    assert_true (dn_cache_key_of (spec, NULL, both, 2, 8, 7, &key));
    return key;
}

static void put (struct dn_cache *cache, const struct dn_cache_key *key, double step_s)
{
    struct dn_estimate estimates[2] = {{.step_s.p50 = step_s},
                                       {.step_s.p50 = step_s + 1}};

    dn_cache_put (cache, key, estimates);
}

/* The step of the first estimate under that key; -1 where there is none. */
static double find (struct dn_cache *cache, const struct dn_cache_key *key)
{
    struct dn_estimate estimates[2] = {{.step_s.p50 = -7}, {.step_s.p50 = -7}};

    if (!dn_cache_find (cache, key, estimates)) {
        assert_true (estimates[0].step_s.p50 == -7);
        return -1;
    }
    assert_true (estimates[1].step_s.p50 == estimates[0].step_s.p50 + 1);
    return estimates[0].step_s.p50;
}

static void an_entry_that_was_put_is_found (void **state)
{
    struct dn_cache *cache = new_cache ();
    struct dn_spec spec = some_spec (1);
    struct dn_cache_key key = key_of (&spec);
    struct dn_spec other = some_spec (2);
    struct dn_cache_key other_key = key_of (&other);

    assert_true (find (cache, &key) == -1);
    put (cache, &key, 10);
    put (cache, &other_key, 20);
    assert_true (find (cache, &key) == 10);
    assert_true (find (cache, &other_key) == 20);
    /* The same key again replaces the entry. */
    put (cache, &key, 30);
    assert_true (find (cache, &key) == 30);
    assert_int_equal (cache->n_calls, 6);
    assert_int_equal (cache->used[2], 0);
    free (cache);
}

/* Change the value of a key. */
static void change (struct dn_spec *spec, const struct dn_key *row)
{
    char *value = (char *) spec + row->offset;

    if (row->type == DN_KEY_NAME)
        strcat (value, "x");
    else if (row->type == DN_KEY_IMAGE)
        spec->image.dim[2]++;
    else
        value[2]++;
}

static void another_value_of_any_key_is_another_run (void **state)
{
    struct dn_cache *cache = new_cache ();
    struct dn_spec spec = some_spec (1);
    struct dn_cache_key key = key_of (&spec);
    int n_rows;
    const struct dn_key *rows = dn_spec_keys (&n_rows);

    put (cache, &key, 10);
    for (int i = 0; i < n_rows; i++) {
        struct dn_spec other = spec;

        change (&other, &rows[i]);
        key = key_of (&other);
        if (find (cache, &key) != -1)
            fail_msg ("%s is not in the key", rows[i].name);
    }
    spec.image.n_dims++;
    key = key_of (&spec);
    assert_true (find (cache, &key) == -1);
    free (cache);
}

static void other_devices_cpus_and_networks_are_other_runs (void **state)
{
    struct dn_cache *cache = new_cache ();
    struct dn_spec spec = some_spec (1);
    struct dn_cache_key key;

    assert_true (dn_cache_key_of (&spec, "{1}", both, 2, 8, 7, &key));
    put (cache, &key, 10);
    assert_true (dn_cache_key_of (&spec, NULL, both, 2, 8, 7, &key));
    assert_true (find (cache, &key) == -1);
    assert_true (dn_cache_key_of (&spec, "{2}", both, 2, 8, 7, &key));
    assert_true (find (cache, &key) == -1);
    assert_true (dn_cache_key_of (&spec, "{1}", swapped, 2, 8, 7, &key));
    assert_true (find (cache, &key) == -1);
    assert_true (dn_cache_key_of (&spec, "{1}", both, 1, 8, 7, &key));
    assert_true (find (cache, &key) == -1);
    assert_true (dn_cache_key_of (&spec, "{1}", both, 2, 8.5, 7, &key));
    assert_true (find (cache, &key) == -1);
    assert_true (dn_cache_key_of (&spec, "{1}", both, 2, 8, 6, &key));
    assert_true (find (cache, &key) == -1);
    assert_true (dn_cache_key_of (&spec, "{1}", both, 2, 8, 7, &key));
    assert_true (find (cache, &key) == 10);
    free (cache);
}

/* A user may construct another text with the same hash. */
static void keys_of_one_hash_are_not_confused (void **state)
{
    struct dn_cache *cache = new_cache ();
    struct dn_spec spec = some_spec (1);
    struct dn_spec other = some_spec (2);
    struct dn_cache_key key = key_of (&spec);
    struct dn_cache_key other_key = key_of (&other);

    other_key.hash = key.hash;
    put (cache, &key, 10);
    assert_true (find (cache, &other_key) == -1);
    put (cache, &other_key, 20);
    assert_true (find (cache, &key) == 10);
    assert_true (find (cache, &other_key) == 20);
    free (cache);
}

static void bytes_after_the_end_of_a_name_do_not_matter (void **state)
{
    struct dn_cache *cache = new_cache ();
    struct dn_spec spec = some_spec (1);
    struct dn_cache_key key = key_of (&spec);

    put (cache, &key, 10);
    spec.model[strlen (spec.model) + 1] = 'x';
    key = key_of (&spec);
    assert_true (find (cache, &key) == 10);
    free (cache);
}

static void what_was_not_used_for_the_longest_is_replaced (void **state)
{
    struct dn_cache *cache = new_cache ();

    for (int64_t i = 1; i <= DN_CACHE_ENTRIES_MAX + 1; i++) {
        struct dn_spec spec = some_spec (i);
        struct dn_cache_key key = key_of (&spec);

        put (cache, &key, (double) i);
        spec = some_spec (1);
        key = key_of (&spec);
        assert_true (find (cache, &key) == 1);
    }
    for (int64_t i = 1; i <= DN_CACHE_ENTRIES_MAX + 1; i++) {
        struct dn_spec spec = some_spec (i);
        struct dn_cache_key key = key_of (&spec);

        assert_true (find (cache, &key) == (i == 2 ? -1 : (double) i));
    }
    free (cache);
}

static void a_key_that_is_too_long_is_not_cached (void **state)
{
    static char text[DN_SIDECAR_HANDOVER_MAX + 2];
    static const struct dn_device *many[DN_CANDIDATES_MAX + 1];
    struct dn_estimate estimates[DN_CANDIDATES_MAX] = {{.device = NULL}};
    struct dn_cache *cache = new_cache ();
    struct dn_spec spec = some_spec (1);
    struct dn_cache_key key;

    memset (text, ' ', sizeof (text) - 1);
    assert_false (dn_cache_key_of (&spec, text, both, 2, 8, 7, &key));
    put (cache, &key, 10);
    assert_int_equal (cache->n_calls, 0);
    assert_true (find (cache, &key) == -1);
    text[sizeof (text) - 2] = '\0';
    memset (spec.model, 'm', sizeof (spec.model) - 1);
    memset (spec.dataset, 'd', sizeof (spec.dataset) - 1);
    memset (spec.app, 'a', sizeof (spec.app) - 1);
    for (int i = 0; i <= DN_CANDIDATES_MAX; i++)
        many[i] = &devices[i];
    assert_false (
        dn_cache_key_of (&spec, text, many, DN_CANDIDATES_MAX + 1, 8, 7, &key));
    /* The longest key fits. */
    assert_true (dn_cache_key_of (&spec, text, many, DN_CANDIDATES_MAX, 8, 7, &key));
    dn_cache_put (cache, &key, estimates);
    assert_true (dn_cache_find (cache, &key, estimates));
    free (cache);
}

static void it_is_of_a_fixed_and_modest_size (void **state)
{
    assert_true (sizeof (struct dn_cache) <= 2 * 1024 * 1024);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        TEST ("an entry that was put is found", an_entry_that_was_put_is_found),
        TEST ("another value of any key is another run",
              another_value_of_any_key_is_another_run),
        TEST ("other devices, CPUs and networks are other runs",
              other_devices_cpus_and_networks_are_other_runs),
        TEST ("keys of one hash are not confused", keys_of_one_hash_are_not_confused),
        TEST ("bytes after the end of a name do not matter",
              bytes_after_the_end_of_a_name_do_not_matter),
        TEST ("what was not used for the longest is replaced",
              what_was_not_used_for_the_longest_is_replaced),
        TEST ("a key that is too long is not cached",
              a_key_that_is_too_long_is_not_cached),
        TEST ("a cache has a fixed size of at most 2 MiB",
              it_is_of_a_fixed_and_modest_size),
    };

    return cmocka_run_group_tests_name ("cache", tests, NULL, NULL);
}
