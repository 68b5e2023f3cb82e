/* store.h - where the bundle in force is installed, and those before it
 *
 * The place is a directory; beside it stand PLACE.1 (the newest) to PLACE.3, the
 * bundles that were in force before, and PLACE.aside, the last one that was damaged
 * when it was replaced, or undone by a rollback. At every moment, a kill included,
 * PLACE is whole: it is only ever exchanged. What a killed command leaves is swept by
 * the next.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_STORE_H
#define DN_STORE_H

#include <limits.h>

#include "parcel.h"

#define DN_STORE_KEPT 3

/* Slots: 0 is the place itself, then the older ones. */
enum {
    DN_SLOT_CURRENT = 0,
    DN_SLOT_ASIDE = DN_STORE_KEPT + 1,
    DN_SLOTS
};

struct dn_store {
    int parent;              /* the directory around the place, owned */
    char path[PATH_MAX];     /* of the place */
    char base[NAME_MAX + 1]; /* its last component */
};

struct dn_slot_name {
    char text[NAME_MAX + 16];
};
struct dn_slot_name dn_store_slot (const struct dn_store *store, int slot);

/* Open the place for reading, which need not be there yet. Return 1 when not even the
 * directory around it is. */
int dn_store_open (const char *path, struct dn_store *store, struct dn_err *err);

/* Open it for changes: make the directory around it, see that nobody else can write
 * there, keep others out until it is closed, and sweep what a killed command left.
 */
int dn_store_lock (const char *path, struct dn_store *store, struct dn_err *err);

void dn_store_close (struct dn_store *store);

/* Read and verify the bundle of a slot. Return 1, with 'err' too, when it is empty. */
int dn_store_read (const struct dn_store *store,
                   int slot,
                   struct dn_parcel *parcel,
                   struct dn_err *err);

enum dn_stored {
    DN_STORED,        /* in force now */
    DN_STORED_BEFORE, /* was in force already, nothing has changed */
    DN_STORED_ASIDE   /* in force now; the one before was damaged and put aside */
};

/* Put the bundle into force, the one before into the first slot. Return -1 with 'err'
 * and the bundle in force as it was.
 */
int dn_store_install (const struct dn_store *store,
                      const struct dn_parcel *parcel,
                      enum dn_stored *stored,
                      struct dn_err *err);

/* Put the newest older bundle that is whole into force again, and read it into
 * 'parcel'; the one before is put aside. Return 1 with 'err' when there is none.
 */
int dn_store_rollback (const struct dn_store *store,
                       struct dn_parcel *parcel,
                       struct dn_err *err);

/* Write a bundle into the new directory 'path', whole or not at all. */
int dn_store_export (const char *path,
                     const struct dn_parcel *parcel,
                     struct dn_err *err);

#endif
