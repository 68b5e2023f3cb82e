/* bundle_store.h - the directory of the installed bundle, and the previous bundles
 *
 * PLACE is the directory of the installed bundle. Next to it are PLACE.1 (the newest)
 * to PLACE.3, the previous bundles, and PLACE.aside, the last one that was damaged when
 * it was replaced, or was replaced by a rollback. PLACE is always whole, also after a
 * kill, because it is only exchanged atomically. The next command removes what a killed
 * command has left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_H
#define DN_STORE_H

#include <limits.h>

#include "parcel.h"

#define DN_STORE_KEPT 3

/* Slots: 0 is PLACE itself, then the previous bundles. */
enum {
    DN_SLOT_CURRENT = 0,
    DN_SLOT_ASIDE = DN_STORE_KEPT + 1,
    DN_SLOTS
};

struct dn_bundle_store {
    int parent;              /* the parent directory of PLACE, owned */
    char path[PATH_MAX];     /* of PLACE */
    char base[NAME_MAX + 1]; /* its last component */
};

struct dn_slot_name {
    char text[NAME_MAX + 16];
};
struct dn_slot_name dn_bundle_store_slot (const struct dn_bundle_store *store,
                                          int slot);

/* Open PLACE for reading; it need not exist. Return 1 if its parent directory does not
 * exist either. */
int dn_bundle_store_open (const char *path,
                          struct dn_bundle_store *store,
                          struct dn_err *err);

/* Open it for changes: make its parent directory, check that no other user can write
 * there, lock it until it is closed, and remove what a killed command left.
 */
int dn_bundle_store_lock (const char *path,
                          struct dn_bundle_store *store,
                          struct dn_err *err);

void dn_bundle_store_close (struct dn_bundle_store *store);

/* Read and verify the bundle of a slot. Return 1, with 'err' too, when it is empty. */
int dn_bundle_store_read (const struct dn_bundle_store *store,
                          int slot,
                          struct dn_parcel *parcel,
                          struct dn_err *err);

enum dn_bundle_stored {
    DN_STORED,        /* installed */
    DN_STORED_BEFORE, /* was installed already, nothing has changed */
    DN_STORED_ASIDE   /* installed; the previous one was damaged and put aside */
};

/* Install the bundle and move the previous one to the first slot. Unless 'downgrade', a
 * bundle with a lower serial than the installed one of the same name is refused; one
 * without a serial has 0. Return -1 with 'err' and the installed bundle unchanged.
 */
int dn_bundle_store_install (const struct dn_bundle_store *store,
                             const struct dn_parcel *parcel,
                             bool downgrade,
                             enum dn_bundle_stored *stored,
                             struct dn_err *err);

/* Install the newest previous bundle that is whole again, and read it into 'parcel';
 * the replaced one is put aside. Return 1 with 'err' if there is none.
 */
int dn_bundle_store_rollback (const struct dn_bundle_store *store,
                              struct dn_parcel *parcel,
                              struct dn_err *err);

/* Write a bundle into the new directory 'path', whole or not at all. */
int dn_bundle_store_export (const char *path,
                            const struct dn_parcel *parcel,
                            struct dn_err *err);

#endif
