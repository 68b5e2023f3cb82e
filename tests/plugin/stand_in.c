/* stand_in.c - a simulation of what slurmctld gives its plugins
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "stand_in.h"

#include <pthread.h>

#include "submit/host.h"

#define MAGIC UINT64_C (0x516c75726d6d656d)

struct block {
    uint64_t magic;
    uint64_t size;
};

SLURM_SYMBOL slurm_conf_t slurm_conf;

int stand_in_blocks;
int stand_in_allocations_left = -1;
_Thread_local volatile bool stand_in_essential; /* compilers know what calloc reads */
int stand_in_n_errors;
int stand_in_n_infos;
char stand_in_error[2048];
char stand_in_info[2048];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

SLURM_SYMBOL void *slurm_xcalloc (size_t count,
                                  size_t size,
                                  bool clear,
                                  bool try_only,
                                  const char *file,
                                  int line,
                                  const char *function)
{
    struct block *block = NULL;
    bool fails;

    pthread_mutex_lock (&lock);
    fails = stand_in_allocations_left == 0;
    if (stand_in_allocations_left > 0)
        stand_in_allocations_left--;
    stand_in_essential = !try_only;
    if (!fails)
        block = calloc (1, sizeof (*block) + count * size);
    stand_in_essential = false;
    if (block)
        stand_in_blocks++;
    pthread_mutex_unlock (&lock);
    if (!block && !try_only) {
        fprintf (stderr, "%s:%d: %s: slurmctld ends here\n", file, line, function);
        abort ();
    }
    if (!block)
        return NULL;
    *block = (struct block){MAGIC, count * size};
    return block + 1;
}

SLURM_SYMBOL void slurm_xfree (void **ptr)
{
    struct block *block;

    if (!*ptr)
        return;
    block = (struct block *) *ptr - 1;
    if (block->magic != MAGIC) {
        fprintf (stderr, "slurm_xfree: not Slurm's memory\n");
        abort ();
    }
    memset (block, 0xdd, sizeof (*block) + block->size);
    free (block);
    *ptr = NULL;
    pthread_mutex_lock (&lock);
    stand_in_blocks--;
    pthread_mutex_unlock (&lock);
}

SLURM_SYMBOL void slurm_error (const char *format, ...)
{
    va_list args;

    pthread_mutex_lock (&lock);
    stand_in_n_errors++;
    va_start (args, format);
    vsnprintf (stand_in_error, sizeof (stand_in_error), format, args);
    va_end (args);
    pthread_mutex_unlock (&lock);
}

SLURM_SYMBOL void slurm_info (const char *format, ...)
{
    va_list args;

    pthread_mutex_lock (&lock);
    stand_in_n_infos++;
    va_start (args, format);
    vsnprintf (stand_in_info, sizeof (stand_in_info), format, args);
    va_end (args);
    pthread_mutex_unlock (&lock);
}

void stand_in_forget (void)
{
    stand_in_n_errors = 0;
    stand_in_n_infos = 0;
    stand_in_error[0] = '\0';
    stand_in_info[0] = '\0';
}

char *slurm_text (const char *text)
{
    char *copy;

    if (!text)
        return NULL;
    copy = slurm_xcalloc (1, strlen (text) + 1, true, false, __FILE__, __LINE__, "");
    return strcpy (copy, text);
}

void slurm_text_free (char **text)
{
    slurm_xfree ((void **) text);
}

void job_init (job_desc_msg_t *desc)
{
    memset (desc, 0, sizeof (*desc));
#define NUMBER(name, absent) desc->name = absent;
#define TEXT(name)
#include "job_fields.inc"
#undef NUMBER
#undef TEXT
    desc->env_size = NO_VAL;
    desc->spank_job_env_size = NO_VAL;
}

static char **make_list (const char *const *entries, uint32_t *n)
{
    char **list;

    *n = 0;
    while (entries[*n])
        ++*n;
    list = slurm_xcalloc (*n + 1, sizeof (*list), true, false, __FILE__, __LINE__, "");
    for (uint32_t i = 0; i < *n; i++)
        list[i] = slurm_text (entries[i]);
    return list;
}

static void free_list (char ***list, uint32_t n)
{
    for (uint32_t i = 0; *list && i < n; i++)
        slurm_text_free (&(*list)[i]);
    slurm_xfree ((void **) list);
}

void job_set_env (job_desc_msg_t *desc, const char *const *entries)
{
    desc->environment = make_list (entries, &desc->env_size);
}

void job_set_spank_env (job_desc_msg_t *desc, const char *const *entries)
{
    desc->spank_job_env = make_list (entries, &desc->spank_job_env_size);
}

const char *job_getenv (const job_desc_msg_t *desc, const char *name)
{
    size_t len = strlen (name);

    if (desc->env_size == NO_VAL)
        return NULL;
    for (uint32_t i = 0; i < desc->env_size; i++)
        if (desc->environment[i] && strncmp (desc->environment[i], name, len) == 0
            && desc->environment[i][len] == '=')
            return desc->environment[i] + len + 1;
    return NULL;
}

char **job_text (job_desc_msg_t *desc, int i)
{
    char **const texts[] = {
#define NUMBER(name, absent)
#define TEXT(name) &desc->name,
#include "job_fields.inc"
#undef NUMBER
#undef TEXT
        NULL};

    return texts[i];
}

void job_free (job_desc_msg_t *desc)
{
    for (int i = 0; job_text (desc, i); i++)
        slurm_text_free (job_text (desc, i));
    free_list (&desc->environment, desc->env_size);
    free_list (&desc->spank_job_env, desc->spank_job_env_size);
}

static void add_text (struct photo *photo, const char *text)
{
    assert_true (photo->n_texts < PHOTO_TEXTS);
    photo->texts[photo->n_texts++] = text ? strdup (text) : NULL;
}

struct photo photo_take (const job_desc_msg_t *desc)
{
    struct photo photo = {.desc = *desc};

    for (int i = 0; job_text (&photo.desc, i); i++)
        add_text (&photo, *job_text (&photo.desc, i));
    for (uint32_t i = 0; desc->environment && i < desc->env_size; i++)
        add_text (&photo, desc->environment[i]);
    for (uint32_t i = 0; desc->spank_job_env && i < desc->spank_job_env_size; i++)
        add_text (&photo, desc->spank_job_env[i]);
    return photo;
}

void photo_compare (struct photo *photo, const job_desc_msg_t *desc)
{
    struct photo now;

    assert_memory_equal (&photo->desc, desc, sizeof (*desc));
    now = photo_take (desc);
    assert_int_equal (photo->n_texts, now.n_texts);
    for (int i = 0; i < now.n_texts; i++) {
        if (photo->texts[i] && now.texts[i])
            assert_string_equal (photo->texts[i], now.texts[i]);
        else
            assert_true (!photo->texts[i] && !now.texts[i]);
    }
    photo_free (&now);
}

void photo_free (struct photo *photo)
{
    for (int i = 0; i < photo->n_texts; i++)
        free (photo->texts[i]);
    photo->n_texts = 0;
}
