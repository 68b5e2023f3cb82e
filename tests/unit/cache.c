/* cache.c - tests of the cache and of which runs are the same
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "same_run.h"

/* Only their addresses are used. */
static struct dn_device devices[DN_CANDIDATES_MAX + 1];

/* A run, with what its key borrows. */
struct run {
    struct dn_spec spec;
    const char *sidecar;
    const struct dn_device *devices[2];
    int n_devices;
    double cpus;
    int64_t user;
    struct dn_run_input input;
    struct dn_cache_key key;
};

static struct run some_run (int64_t batch)
{
    struct run run = {.spec = dn_spec_empty (),
                      .devices = {&devices[0], &devices[1]},
                      .n_devices = 2,
                      .cpus = 8,
                      .user = 7};

    strcpy (run.spec.model, "resnet50");
    run.spec.batch = batch;
    return run;
}

static const struct dn_cache_key *key_of (struct run *run)
{
    run->key = dn_run_key (&run->spec,
                           run->sidecar,
                           run->devices,
                           run->n_devices,
                           run->cpus,
                           run->user,
                           &run->input);
    return &run->key;
}

static struct dn_cache *new_cache (void)
{
    return unit_keep (calloc (1, sizeof (struct dn_cache)), free);
}

static void put (struct dn_cache *cache, struct run *run, double step_s)
{
    struct dn_estimate estimates[2] = {{.step_s.p50 = step_s},
                                       {.step_s.p50 = step_s + 1}};

    dn_cache_put (cache, key_of (run), estimates, sizeof (estimates));
}

/* The step of the first estimate of that run; -1 where there is none. */
static double find (struct dn_cache *cache, struct run *run)
{
    struct dn_estimate estimates[2] = {{.step_s.p50 = -7}, {.step_s.p50 = -7}};

    if (!dn_cache_find (cache, key_of (run), estimates, sizeof (estimates))) {
        assert_true (estimates[0].step_s.p50 == -7);
        return -1;
    }
    assert_true (estimates[1].step_s.p50 == estimates[0].step_s.p50 + 1);
    return estimates[0].step_s.p50;
}

TEST ("an entry that was put is found")
{
    struct dn_cache *cache = new_cache ();
    struct run run = some_run (1);
    struct run other = some_run (2);

    assert_true (find (cache, &run) == -1);
    put (cache, &run, 10);
    put (cache, &other, 20);
    assert_true (find (cache, &run) == 10);
    assert_true (find (cache, &other) == 20);
    /* The same key again replaces the entry. */
    put (cache, &run, 30);
    assert_true (find (cache, &run) == 30);
    assert_numbers ("6 0", cache->n_calls, cache->used[2]);
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

TEST ("another value of any key is another run")
{
    struct dn_cache *cache = new_cache ();
    struct run run = some_run (1);
    int n_rows;
    const struct dn_key *rows = dn_spec_keys (&n_rows);

    put (cache, &run, 10);
    for (int i = 0; i < n_rows; i++) {
        struct run other = run;

        change (&other.spec, &rows[i]);
        if (find (cache, &other) != -1)
            fail_msg ("%s is not in the key", rows[i].name);
    }
    run.spec.image.n_dims++;
    assert_true (find (cache, &run) == -1);
}

TEST ("other devices, CPUs, users and networks are other runs")
{
    struct dn_cache *cache = new_cache ();
    struct run run = some_run (1);
    struct run others[6];

    run.sidecar = "{1}";
    put (cache, &run, 10);
    for (size_t i = 0; i < DN_N_ELEMENTS (others); i++)
        others[i] = run;
    others[0].sidecar = NULL;
    others[1].sidecar = "{2}";
    others[2].devices[0] = &devices[1];
    others[2].devices[1] = &devices[0];
    others[3].n_devices = 1;
    others[4].cpus = 8.5;
    others[5].user = 6;
    for (size_t i = 0; i < DN_N_ELEMENTS (others); i++)
        assert_true (find (cache, &others[i]) == -1);
    assert_true (find (cache, &run) == 10);
}

/* A user may construct another text with the same hash. */
TEST ("keys of one hash are not confused")
{
    static const char *const inputs[] = {"a", "b", "ab", ""};
    static const char *const texts[] = {"b", "a", "", "ab"};
    struct dn_cache *cache = new_cache ();
    struct dn_cache_key keys[DN_N_ELEMENTS (inputs)];
    size_t value = 100;

    for (size_t i = 0; i < DN_N_ELEMENTS (inputs); i++) {
        keys[i] = dn_cache_key_of (dn_span_of (inputs[i]), dn_span_of (texts[i]));
        keys[i].hash = 1;
        assert_false (dn_cache_find (cache, &keys[i], &value, sizeof (value)));
        dn_cache_put (cache, &keys[i], &i, sizeof (i));
    }
    for (size_t i = 0; i < DN_N_ELEMENTS (inputs); i++) {
        assert_true (dn_cache_find (cache, &keys[i], &value, sizeof (value)));
        assert_int_equal (value, i);
    }
}

TEST ("bytes after the end of a name do not matter")
{
    struct dn_cache *cache = new_cache ();
    struct run run = some_run (1);

    put (cache, &run, 10);
    run.spec.model[strlen (run.spec.model) + 1] = 'x';
    assert_true (find (cache, &run) == 10);
}

TEST ("what was not used for the longest is replaced")
{
    struct dn_cache *cache = new_cache ();
    struct run first = some_run (1);

    for (int64_t i = 1; i <= DN_CACHE_ENTRIES_MAX + 1; i++) {
        struct run run = some_run (i);

        put (cache, &run, (double) i);
        assert_true (find (cache, &first) == 1);
    }
    for (int64_t i = 1; i <= DN_CACHE_ENTRIES_MAX + 1; i++) {
        struct run run = some_run (i);

        assert_true (find (cache, &run) == (i == 2 ? -1 : (double) i));
    }
}

TEST ("the run of a sidecar that is too long is not cached")
{
    static char text[DN_SIDECAR_HANDOVER_MAX + 2];
    static const struct dn_device *many[DN_CANDIDATES_MAX + 1];
    struct dn_estimate estimates[DN_CANDIDATES_MAX] = {{.device = NULL}};
    struct dn_cache *cache = new_cache ();
    struct run run = some_run (1);

    memset (text, ' ', sizeof (text) - 1);
    run.sidecar = text;
    assert_true (key_of (&run)->hash == 0);
    put (cache, &run, 10);
    assert_int_equal (cache->n_calls, 0);
    assert_true (find (cache, &run) == -1);
    text[sizeof (text) - 2] = '\0';
    for (int i = 0; i <= DN_CANDIDATES_MAX; i++)
        many[i] = &devices[i];
    run.key =
        dn_run_key (&run.spec, text, many, DN_CANDIDATES_MAX + 1, 8, 7, &run.input);
    assert_true (run.key.hash == 0);
    /* The longest key fits. */
    run.key = dn_run_key (&run.spec, text, many, DN_CANDIDATES_MAX, 8, 7, &run.input);
    dn_cache_put (cache, &run.key, estimates, sizeof (estimates));
    assert_true (dn_cache_find (cache, &run.key, estimates, sizeof (estimates)));
}

TEST ("what does not fit in an entry is not cached")
{
    static char text[DN_CACHE_BYTES_MAX + 1];
    struct dn_cache *cache = new_cache ();
    struct dn_cache_key key;
    char value[2] = "v";

    memset (text, ' ', sizeof (text) - 1);
    key = dn_cache_key_of (dn_span_of ("i"), dn_span_of (text + 3));
    dn_cache_put (cache, &key, value, 2);
    assert_true (dn_cache_find (cache, &key, value, 2));
    assert_false (dn_cache_find (cache, &key, value, 1));
    key = dn_cache_key_of (dn_span_of ("i"), dn_span_of (text + 2));
    dn_cache_put (cache, &key, value, 2);
    assert_false (dn_cache_find (cache, &key, value, 2));
}

TEST ("a cache has a fixed size of some 3 MiB")
{
    assert_true (sizeof (struct dn_cache) <= 3200 * 1024);
}
