/* cmd_model.c - shows, verifies, installs and fetches model bundles
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "commands.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bundle/bundle_show.h"
#include "bundle/fetch.h"
#include "output/grid.h"
#include "process/interrupt.h"
#include "output/json.h"
#include "output/show.h"
#include "bundle/signature.h"
#include "bundle/bundle_store.h"

#define MAX_TIME_S     300
#define MAX_TIME_MAX_S 86400

enum {
    OPTION_DIR,
    OPTION_KEYS,
    OPTION_UNSIGNED,
    OPTION_DOWNGRADE,
    OPTION_INSTALL,
    OPTION_OUT,
    OPTION_CACERT,
    OPTION_MAX_TIME,
    OPTION_KEY
};

static const struct dn_option options[] = {
    [OPTION_DIR] = {"dir",
                    0,
                    "DIR",
                    "directory of the installed bundle, not the default"},
    [OPTION_KEYS] = {"keys", 0, "PATH", "public keys, instead of those of BundleKeys"},
    [OPTION_UNSIGNED] = {"unsigned", 0, NULL, "verify, install: check no signature"},
    [OPTION_DOWNGRADE] = {"downgrade",
                          0,
                          NULL,
                          "install, fetch: also a lower serial than the installed one"},
    [OPTION_INSTALL] = {"install", 0, NULL, "fetch: install the bundle"},
    [OPTION_OUT] = {"out", 0, "DIR", "fetch: write the bundle into this new directory"},
    [OPTION_CACERT] = {"cacert",
                       0,
                       "FILE",
                       "fetch: trust these certificates, not the system's"},
    [OPTION_MAX_TIME] = {"max-time",
                         0,
                         "SECONDS",
                         "fetch: give up after this time (300)"},
    [OPTION_KEY] = {"key", 0, "FILE", "sign: the private key"},
    {NULL, 0, NULL, NULL},
};

/* The options and arguments of a call. */
struct call {
    const struct dn_command *command;
    struct dn_options given;
    const char *place; /* --dir */
    const char *keys;  /* --keys, absolute */
    const char *out;
    const char *ca_file;
    const char *key; /* absolute */
    const char *argument;
    int64_t max_time_s;
    bool given_place;
    bool is_unsigned;
    bool downgrade;
    bool install;
    char keys_text[PATH_MAX];
    char key_text[PATH_MAX];
};

static void store_cleanup (struct dn_bundle_store *store)
{
    dn_bundle_store_close (store);
}

/* The path BundleKeys= of dnnest.conf, or "none". Nothing else of the site is loaded,
 * so that a bundle that makes the site unreadable can still be replaced.
 */
static int configured_keys (struct call *call,
                            char path[DN_SITE_PATH_MAX],
                            struct dn_err *err)
{
    dn_cleanup (dn_free_ptr) struct dn_site *site = calloc (1, sizeof (*site));
    dn_cleanup (dn_free_ptr) char *text = NULL;
    const struct dn_load_paths *paths = &call->given.paths;
    size_t len;

    memcpy (path, DN_SITE_NONE, sizeof (DN_SITE_NONE));
    if (!paths->conf)
        return 0;
    if (!site)
        return dn_err_set (err, DN_E_NOMEM, "site: out of memory");
    if (dn_load_file (paths->conf, &text, &len, err) < 0
        || dn_site_init (site, paths->hardware, paths->datasets, err) < 0
        || dn_site_read_paths (site, (struct dn_span){text, len}, paths->conf, err) < 0)
        return -1;
    return dn_span_copy (
        dn_span_of (site->bundle_keys), path, DN_SITE_PATH_MAX, "BundleKeys", err);
}

/* Load the public keys that signatures are checked with; no keys if no path is set.
 * Return an enum dn_exit. */
static int load_keys (struct call *call, struct dn_keys *keys)
{
    char configured[DN_SITE_PATH_MAX];
    const char *path = call->keys;
    struct dn_err err = {0};

    memset (keys, 0, sizeof (*keys));
    if (!path) {
        if (configured_keys (call, configured, &err) < 0)
            return dn_fail (DN_EXIT_CONF, &err);
        path = configured;
    }
    if (strcmp (path, DN_SITE_NONE) != 0 && dn_keys_load (path, keys, &err) < 0)
        return dn_fail (DN_EXIT_CONF, &err);
    return DN_EXIT_DONE;
}

/* Read the installed bundle, or else the one that is shipped with dnnest; 'path' gets
 * its directory. Return 1 with 'err' if there is neither. */
static int read_installed (const struct call *call,
                           const char **path,
                           struct dn_parcel *parcel,
                           struct dn_err *err)
{
    dn_cleanup (store_cleanup) struct dn_bundle_store store;
    struct dn_err shipped = {0};
    int found = dn_bundle_store_open (call->place, &store, err);

    *path = call->place;
    if (found == 0)
        found = dn_bundle_store_read (&store, DN_SLOT_CURRENT, parcel, err);
    if (found <= 0 || call->given_place)
        return found;
    if (access (DNNEST_BUNDLE_DIR, F_OK) != 0)
        return found;
    *path = DNNEST_BUNDLE_DIR;
    if (dn_parcel_read (DNNEST_BUNDLE_DIR, parcel, &shipped) == 0)
        return 0;
    *err = shipped;
    return -1;
}

/* Read the bundle of 'show' and 'verify': the argument, or the installed one. */
static int read_subject (const struct call *call,
                         const char **path,
                         struct dn_parcel *parcel)
{
    struct dn_err err = {0};
    int found;

    *path = call->argument;
    found = call->argument ? dn_parcel_read (*path, parcel, &err)
                           : read_installed (call, path, parcel, &err);
    return found == 0 ? DN_EXIT_DONE : dn_fail (DN_EXIT_DATA, &err);
}

static int show (struct call *call)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel parcel = {.text = {NULL, 0}};
    dn_cleanup (dn_json_free) struct json_object *json = NULL;
    const char *path;
    int code = read_subject (call, &path, &parcel);

    if (code != DN_EXIT_DONE)
        return code;
    if (!call->given.json)
        return dn_bundle_show (path, &parcel);
    json = dn_bundle_show_json (path, &parcel);
    dn_json_print (json);
    return DN_EXIT_DONE;
}

/* Check the signature, if there are keys; '*key' is the one that made it. Return an
 * enum dn_exit. */
static int check_signature (struct call *call,
                            const char *path,
                            const struct dn_parcel *parcel,
                            struct dn_keys *keys,
                            const struct dn_public_key **key)
{
    struct dn_err err = {0};
    int code;

    *key = NULL;
    if (call->is_unsigned)
        return DN_EXIT_DONE;
    code = load_keys (call, keys);
    if (code != DN_EXIT_DONE || keys->n_keys == 0)
        return code;
    *key = dn_signature_check (
        keys, dn_blob_span (&parcel->text), dn_blob_span (&parcel->signature), &err);
    if (*key)
        return DN_EXIT_DONE;
    dn_err_wrap (&err, "%s", path);
    return dn_fail (DN_EXIT_DATA, &err);
}

/* The state of the signature, printed after the bundle's name. */
static struct dn_shown signature_text (const struct dn_parcel *parcel,
                                       const struct dn_public_key *key)
{
    struct dn_shown out = {""};
    struct dn_buf buf = dn_buf_on (out.text, sizeof (out.text));

    if (!key)
        dn_buf_add (&buf,
                    "%s",
                    parcel->signature.data ? "signature not checked" : "not signed");
    else
        dn_buf_add (&buf, "signature good");
    return out;
}

static void print_bundle (const struct call *call,
                          const char *path,
                          const struct dn_parcel *parcel,
                          const struct dn_public_key *key,
                          const char *what)
{
    dn_cleanup (dn_json_free) struct json_object *json = NULL;

    if (!call->given.json) {
        printf ("%s: %s (%s, %d files, %s%s%s)\n",
                path,
                what,
                parcel->manifest.name,
                parcel->manifest.n_files,
                signature_text (parcel, key).text,
                key && key->comment[0] ? ": " : "",
                key ? key->comment : "");
        return;
    }
    json = json_object_new_object ();
    dn_json_add_text (json, "dir", path);
    dn_json_add_text (json, "done", what);
    dn_json_add_text (json, "name", parcel->manifest.name);
    dn_json_add_text (json, "id", dn_parcel_id (parcel).hex);
    dn_json_add_bool (json, "signed", parcel->signature.data != NULL);
    dn_json_add_bool (json, "signature_checked", key != NULL);
    dn_json_add_text (json, "key", key ? key->comment : NULL);
    dn_bundle_show_files (json, parcel);
    dn_json_print (json);
}

/* Check that this version can predict with the bundle. Return an enum dn_exit. */
static int check_use (const char *path, const struct dn_parcel *parcel)
{
    struct dn_err err = {0};

    if (dn_parcel_try (parcel, &err) == 0)
        return DN_EXIT_DONE;
    dn_err_wrap (&err, "%s", path);
    return dn_fail (DN_EXIT_DATA, &err);
}

static int verify (struct call *call)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel parcel = {.text = {NULL, 0}};
    struct dn_keys keys;
    const struct dn_public_key *key;
    const char *path;
    int code = read_subject (call, &path, &parcel);

    if (code == DN_EXIT_DONE)
        code = check_signature (call, path, &parcel, &keys, &key);
    if (code == DN_EXIT_DONE)
        code = check_use (path, &parcel);
    if (code == DN_EXIT_DONE)
        print_bundle (call, path, &parcel, key, "ok");
    return code;
}

/* Install a verified bundle. */
static int install_parcel (const struct call *call,
                           const struct dn_parcel *parcel,
                           const struct dn_public_key *key)
{
    static const char *const done[] = {[DN_STORED] = "installed",
                                       [DN_STORED_BEFORE] = "installed already",
                                       [DN_STORED_ASIDE] = "installed"};
    dn_cleanup (store_cleanup) struct dn_bundle_store store;
    enum dn_bundle_stored stored;
    struct dn_err err = {0};

    if (dn_bundle_store_lock (call->place, &store, &err) < 0
        || dn_bundle_store_install (&store, parcel, call->downgrade, &stored, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (stored == DN_STORED_ASIDE)
        dn_complain ("%s: the previous bundle was damaged; it is now %s.aside",
                     store.path,
                     store.path);
    print_bundle (call, store.path, parcel, key, done[stored]);
    return DN_EXIT_DONE;
}

static int install (struct call *call)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel parcel = {.text = {NULL, 0}};
    struct dn_keys keys;
    const struct dn_public_key *key;
    struct dn_err err = {0};
    int code;

    if (dn_parcel_read (call->argument, &parcel, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    code = check_signature (call, call->argument, &parcel, &keys, &key);
    if (code == DN_EXIT_DONE)
        code = check_use (call->argument, &parcel);
    return code == DN_EXIT_DONE ? install_parcel (call, &parcel, key) : code;
}

static int rollback (struct call *call)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel parcel = {.text = {NULL, 0}};
    dn_cleanup (store_cleanup) struct dn_bundle_store store;
    struct dn_err err = {0};
    int status;

    if (dn_bundle_store_lock (call->place, &store, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    status = dn_bundle_store_rollback (&store, &parcel, &err);
    if (status != 0)
        return dn_fail (status > 0 ? DN_EXIT_ABSTAINED : DN_EXIT_DATA, &err);
    print_bundle (call, store.path, &parcel, NULL, "rolled back");
    return DN_EXIT_DONE;
}

static const struct dn_grid_column list_columns[] = {{"SLOT", false},
                                                     {"NAME", false},
                                                     {"SERIAL", true},
                                                     {"FEATURES", true},
                                                     {"ROWS", true},
                                                     {"BYTES", true},
                                                     {"ID", false},
                                                     {"STATE", false}};

static struct dn_shown count_text (int64_t count)
{
    struct dn_shown out = {"-"};

    if (count >= 0)
        snprintf (out.text, sizeof (out.text), "%" PRId64, count);
    return out;
}

static void add_slot (struct json_object *slots,
                      struct dn_grid *grid,
                      const char *slot,
                      const struct dn_parcel *parcel,
                      const char *damage)
{
    struct json_object *row = dn_json_append_object (slots);
    const struct dn_manifest *manifest = damage ? NULL : &parcel->manifest;
    int64_t serial = manifest && manifest->serial > 0 ? manifest->serial : -1;
    int64_t version =
        manifest ? dn_bundle_show_count (manifest, "features", "version") : -1;
    int64_t n_rows = manifest ? dn_bundle_show_count (manifest, "data", "rows") : -1;
    int64_t n_bytes = manifest ? dn_bundle_show_bytes (parcel) : -1;

    dn_json_add_text (row, "slot", slot);
    dn_json_add_text (row, "name", manifest ? manifest->name : NULL);
    dn_json_add_count (row, "serial", serial);
    dn_json_add_count (row, "features_version", version);
    dn_json_add_count (row, "rows", n_rows);
    dn_json_add_count (row, "bytes", n_bytes);
    dn_json_add_text (row, "id", manifest ? dn_parcel_id (parcel).hex : NULL);
    dn_json_add_text (row, "damage", damage);
    dn_grid_add (grid, "%s", slot);
    dn_grid_add (grid, "%s", manifest ? manifest->name : "-");
    dn_grid_add (grid, "%s", count_text (serial).text);
    dn_grid_add (grid, "%s", count_text (version).text);
    dn_grid_add (grid, "%s", count_text (n_rows).text);
    dn_grid_add (grid, "%s", count_text (n_bytes).text);
    dn_grid_add (grid, "%.12s", manifest ? dn_parcel_id (parcel).hex : "-");
    dn_grid_add (grid, "%s", damage ? damage : "ok");
}

static int list_slots (const struct dn_bundle_store *store,
                       struct json_object *slots,
                       struct dn_grid *grid)
{
    static const char *const names[] = {"current", "1", "2", "3", "aside"};
    int n_slots = 0;

    for (int slot = 0; slot < DN_SLOTS; slot++) {
        dn_cleanup (dn_parcel_free) struct dn_parcel parcel = {.text = {NULL, 0}};
        struct dn_err err = {0};
        int found = dn_bundle_store_read (store, slot, &parcel, &err);

        if (found > 0)
            continue;
        add_slot (slots, grid, names[slot], &parcel, found < 0 ? err.text : NULL);
        n_slots++;
    }
    return n_slots;
}

static int list (struct call *call)
{
    dn_cleanup (store_cleanup) struct dn_bundle_store store;
    dn_cleanup (dn_json_free) struct json_object *json = json_object_new_object ();
    dn_cleanup (dn_grid_free) struct dn_grid grid =
        dn_grid_of (list_columns, (int) DN_N_ELEMENTS (list_columns));
    struct json_object *slots;
    struct dn_err err = {0};
    int found = dn_bundle_store_open (call->place, &store, &err);
    int n_slots = 0;

    if (found < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    dn_json_add_text (json, "dir", call->place);
    slots = dn_json_add_array (json, "slots");
    if (found == 0)
        n_slots = list_slots (&store, slots, &grid);
    if (call->given.json)
        dn_json_print (json);
    else if (n_slots > 0 && dn_grid_print (&grid) != DN_EXIT_DONE)
        return DN_EXIT_BUG;
    if (n_slots > 0)
        return DN_EXIT_DONE;
    if (!call->given.json)
        dn_complain ("%s: no bundle is installed there", call->place);
    return DN_EXIT_ABSTAINED;
}

#ifdef DN_FETCH
/* Check everything that needs no network access. */
static int check_fetch (struct call *call, struct dn_keys *keys)
{
    int code;

    if (call->is_unsigned)
        return dn_options_misuse (call->command,
                                  "--unsigned: what is fetched must be signed");
    if (call->install == (call->out != NULL))
        return dn_options_misuse (call->command,
                                  "fetch: one of --install and --out=DIR is expected");
    if (call->out && access (call->out, F_OK) == 0) {
        dn_complain ("%s: exists already", call->out);
        return DN_EXIT_USAGE;
    }
    code = load_keys (call, keys);
    if (code != DN_EXIT_DONE || keys->n_keys > 0)
        return code;
    dn_complain ("no public keys: set BundleKeys= in dnnest.conf or --keys");
    return DN_EXIT_CONF;
}

static int fetch (struct call *call)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel parcel = {.text = {NULL, 0}};
    struct dn_keys keys;
    struct dn_fetch what = {.url = call->argument,
                            .ca_file = call->ca_file,
                            .max_time_s = (double) call->max_time_s,
                            .keys = &keys};
    const struct dn_public_key *key;
    struct dn_err err = {0};
    int code = check_fetch (call, &keys);

    if (code != DN_EXIT_DONE)
        return code;
    key = dn_fetch_parcel (&what, &parcel, &err);
    if (!key)
        return dn_fail (DN_EXIT_DATA, &err);
    code = check_use (call->argument, &parcel);
    if (code != DN_EXIT_DONE)
        return code;
    if (call->install)
        return install_parcel (call, &parcel, key);
    if (dn_bundle_store_export (call->out, &parcel, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    print_bundle (call, call->out, &parcel, key, "fetched");
    return DN_EXIT_DONE;
}
#else
static int fetch (struct call *call)
{
    (void) call;
    dn_complain ("fetch: dnnest was built without it (configure --without-fetch)");
    return DN_EXIT_CONF;
}
#endif

/* Write the signature into the manifest's directory, whole or not at all. */
static int write_signature (const char *dir, const char *text, struct dn_err *err)
{
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    struct dn_buf buf = dn_buf_on (path, sizeof (path));
    struct dn_buf temporary_buf = dn_buf_on (temporary, sizeof (temporary));
    bool failed;
    int fd;

    dn_buf_add (&buf, "%s/%s", dir, DN_SIGNATURE_NAME);
    dn_buf_add (&temporary_buf, "%s/.%s.XXXXXX", dir, DN_SIGNATURE_NAME);
    if (buf.cut || temporary_buf.cut)
        return dn_err_set (err, DN_E_LIMIT, "%s: path too long", dir);
    fd = mkostemp (temporary, O_CLOEXEC);
    if (fd < 0)
        return dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
    failed = write (fd, text, strlen (text)) != (ssize_t) strlen (text)
             || fchmod (fd, 0644) < 0 || fsync (fd) < 0 || rename (temporary, path) < 0;
    if (failed) {
        dn_err_set (err, DN_E_IO, "%s: %s", path, strerror (errno));
        unlink (temporary);
    }
    close (fd);
    return failed ? -1 : 0;
}

static int sign (struct call *call)
{
    dn_cleanup (dn_parcel_free) struct dn_parcel parcel = {.text = {NULL, 0}};
    char text[DN_SIGNATURE_TEXT_MAX];
    struct dn_err err = {0};

    if (!call->key)
        return dn_options_misuse (call->command, "sign: --key=FILE is missing");
    if (dn_parcel_read (call->argument, &parcel, &err) < 0
        || dn_signature_make (call->key, dn_blob_span (&parcel.text), text, &err) < 0
        || write_signature (call->argument, text, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (!call->given.json)
        printf ("%s/%s: written\n", call->argument, DN_SIGNATURE_NAME);
    return DN_EXIT_DONE;
}

static int keygen (struct call *call)
{
    struct dn_err err = {0};

    if (dn_keys_generate (call->argument, &err) < 0)
        return dn_fail (DN_EXIT_DATA, &err);
    if (!call->given.json)
        printf ("%s: private, keep it secret\n%s.pub: public, distribute it\n",
                call->argument,
                call->argument);
    return DN_EXIT_DONE;
}

static const struct verb {
    const char *name;
    const char *argument; /* what it takes */
    int min;
    int max;
    int (*run) (struct call *call);
} verbs[] = {
    {"show", "DIR", 0, 1, show},
    {"verify", "DIR", 0, 1, verify},
    {"list", "", 0, 0, list},
    {"install", "DIR", 1, 1, install},
    {"rollback", "", 0, 0, rollback},
    {"fetch", "URL", 1, 1, fetch},
    {"sign", "DIR", 1, 1, sign},
    {"keygen", "FILE", 1, 1, keygen},
    /* End of verbs */
};

static const char *verb_at (const void *names, int i)
{
    (void) names;
    return (size_t) i < DN_N_ELEMENTS (verbs) ? verbs[i].name : NULL;
}

static const struct verb *find_verb (const struct dn_command *self, const char *name)
{
    char text[DN_ERR_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    for (size_t i = 0; i < DN_N_ELEMENTS (verbs); i++) {
        if (strcmp (verbs[i].name, name) == 0)
            return &verbs[i];
        dn_buf_add (&buf, " %s", verbs[i].name);
    }
    dn_options_misuse (self,
                       "'%s' is unknown, expected one of%s%s",
                       dn_quote (name, strlen (name)).text,
                       text,
                       dn_word_meant (dn_span_of (name), verb_at, NULL).text);
    return NULL;
}

static const struct verb *take_verb (struct call *call)
{
    struct dn_options *given = &call->given;
    const struct verb *verb;

    if (!dn_options_count (given, 1, -1))
        return NULL;
    verb = find_verb (call->command, given->args[0]);
    if (!verb)
        return NULL;
    if (given->n_args - 1 < verb->min) {
        dn_options_misuse (
            call->command, "%s: %s is missing", verb->name, verb->argument);
        return NULL;
    }
    if (given->n_args - 1 > verb->max) {
        const char *extra = given->args[verb->max + 1];

        dn_options_misuse (call->command,
                           "%s: unexpected argument '%s'",
                           verb->name,
                           dn_quote (extra, strlen (extra)).text);
        return NULL;
    }
    call->argument = given->n_args > 1 ? given->args[1] : NULL;
    return verb;
}

/* Return false after a complaint. */
static bool take_option (struct call *call, int option)
{
    const char *argument = call->given.argument;
    struct dn_err err = {0};

    switch (option) {
    case OPTION_DIR:
        call->place = argument;
        call->given_place = true;
        return true;
    case OPTION_KEYS:
        call->keys = dn_options_absolute (call->keys_text, argument);
        return true;
    case OPTION_UNSIGNED:
        call->is_unsigned = true;
        return true;
    case OPTION_DOWNGRADE:
        call->downgrade = true;
        return true;
    case OPTION_INSTALL:
        call->install = true;
        return true;
    case OPTION_OUT:
        call->out = argument;
        return true;
    case OPTION_CACERT:
        call->ca_file = argument;
        return true;
    case OPTION_KEY:
        call->key = dn_options_absolute (call->key_text, argument);
        return true;
    default:
        if (dn_int_read (dn_span_of (argument),
                         "--max-time",
                         1,
                         MAX_TIME_MAX_S,
                         &call->max_time_s,
                         &err)
            == 0)
            return true;
        dn_options_misuse (call->command, "%s", err.text);
        return false;
    }
}

static int run (const struct dn_command *self, int argc, char **argv)
{
    struct call call = {
        .command = self, .place = DNNEST_MODEL_DIR, .max_time_s = MAX_TIME_S};
    const struct verb *verb;
    int option;
    int code;

    dn_options_begin (&call.given, self, argc, argv);
    while ((option = dn_options_next (&call.given)) >= 0)
        if (!take_option (&call, option))
            return DN_EXIT_USAGE;
    if (option != DN_OPTION_END)
        return call.given.exit_code;
    verb = take_verb (&call);
    if (!verb)
        return DN_EXIT_USAGE;
    if (sodium_init () < 0) {
        dn_complain ("libsodium cannot be used");
        return DN_EXIT_BUG;
    }
    /* A signal ends a transfer immediately, but an installation only after its last
     * step. */
    dn_interrupt_hold ();
    code = verb->run (&call);
    dn_interrupt_release ();
    return code;
}

const struct dn_command dn_cmd_model = {
    .name = "model",
    .summary = "Show, verify, install, roll back and fetch model bundles",
    .arguments = "show|verify|list|install|rollback|fetch|sign|keygen [DIR|URL|FILE]",
    .options = options,
    .run = run,
};
