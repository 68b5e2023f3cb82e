/* people.c - users and groups of the system
 *
 * The system lists a group's members by name; each is then looked up, and a member that
 * does not exist is skipped. A lookup that fails, because a server does not answer or
 * the process has no descriptor left, is not an answer: it does not make a user a
 * deleted one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "host/people.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/messages.h"
#include "host/files.h"

/* Bytes of the system's entry of one user, or of a group with all its members. */
#define ENTRY_FIRST 4096
#define ENTRY_MAX   (16 * 1024 * 1024)

/* Memory for an entry. It is doubled each time that it is too small. */
struct room {
    char *text;
    size_t size;
};

static void free_room (struct room *room)
{
    free (room->text);
}

/* Allocate memory for the next attempt after 'code'. False if there must be none.
 * Before the first attempt nothing is allocated. */
static bool make_room (struct room *room, int code)
{
    char *grown;

    if (room->text && (code != ERANGE || room->size >= ENTRY_MAX))
        return false;
    room->size = room->text ? 2 * room->size : ENTRY_FIRST;
    grown = realloc (room->text, room->size);
    if (grown)
        room->text = grown;
    return grown != NULL;
}

/* The error of a failed lookup: the name is unknown, or 'code' has the reason. */
static int fail (const char *what, const char *name, int code, struct dn_err *err)
{
    struct dn_quoted quoted = dn_quote (name, strlen (name));

    if (code == 0 || code == ENOENT || code == ESRCH)
        return dn_refuse (err, people_unknown, what, quoted.text);
    return dn_refuse (err, people_lookup, what, quoted.text, dn_errno_text (code).text);
}

static DN_COLD int find_user (const void *self,
                              const char *name,
                              int64_t *uid,
                              struct dn_err *err)
{
    dn_cleanup (free_room) struct room room = {NULL, 0};
    struct passwd entry;
    struct passwd *found = NULL;
    int code = ENOMEM;

    (void) self;
    while (!found && make_room (&room, code))
        code = getpwnam_r (name, &entry, room.text, room.size, &found);
    if (!found)
        return fail ("User", name, code, err);
    *uid = (int64_t) found->pw_uid;
    return 0;
}

static int fail_members (struct dn_person *group,
                         const struct dn_err *problem,
                         struct dn_err *err)
{
    dn_person_free (group);
    if (err)
        *err = *problem;
    return -1;
}

static int add_members (char *const *names, struct dn_person *group, struct dn_err *err)
{
    size_t n = 0;

    while (names && names[n])
        n++;
    if (n > DN_POLICY_MEMBERS_MAX)
        return dn_refuse (err, people_many, DN_POLICY_MEMBERS_MAX);
    if (n == 0)
        return 0;
    group->members = calloc (n, sizeof (group->members[0]));
    if (!group->members)
        return dn_refuse (err, people_memory);
    for (size_t i = 0; i < n; i++) {
        struct dn_err problem = {.code = DN_E_NONE};

        if (find_user (NULL, names[i], &group->members[group->n_members], &problem)
            == 0)
            group->n_members++;
        else if (problem.code != DN_E_RANGE)
            return fail_members (group, &problem, err);
    }
    qsort (group->members,
           (size_t) group->n_members,
           sizeof (group->members[0]),
           dn_person_compare);
    return 0;
}

static DN_COLD int find_group (const void *self,
                               const char *name,
                               struct dn_person *group,
                               struct dn_err *err)
{
    dn_cleanup (free_room) struct room room = {NULL, 0};
    struct group entry;
    struct group *found = NULL;
    int code = ENOMEM;

    (void) self;
    while (!found && make_room (&room, code))
        code = getgrnam_r (name, &entry, room.text, room.size, &found);
    if (!found)
        return fail ("Group", name, code, err);
    group->id = (int64_t) found->gr_gid;
    return add_members (found->gr_mem, group, err);
}

const struct dn_people dn_people_of_system = {find_user, find_group, NULL};
