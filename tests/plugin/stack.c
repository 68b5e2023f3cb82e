/* stack.c - how much of its stack a thread uses for the most expensive decisions
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "costly_site.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The thread's, and what a decision may use of it; doc/design.md has this number. */
#define STACK_SIZE (64 * 1024)
#define USED_MAX   (32 * 1024)
#define PAGE       4096
#define FILLED     0xa5

/* With a sanitizer the stack is another one. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

static void *submit_on_it (void *desc)
{
    char *message = costly_site_submit (desc);

    slurm_text_free (&message);
    return NULL;
}

/* A stack with one page below it that cannot be written. */
static unsigned char *make_stack (void)
{
    unsigned char *stack = mmap (NULL,
                                 STACK_SIZE + PAGE,
                                 PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
                                 -1,
                                 0);

    assert_true (stack != MAP_FAILED);
    stack += PAGE;
    assert_int_equal (mprotect (stack, STACK_SIZE, PROT_READ | PROT_WRITE), 0);
    memset (stack, FILLED, STACK_SIZE);
    return stack;
}

/* Bytes of the stack that were overwritten by one submission. */
static size_t use_stack (const struct recipe *recipe)
{
    unsigned char *stack = make_stack ();
    job_desc_msg_t desc;
    pthread_attr_t attr;
    pthread_t thread;
    size_t left = 0;
    char *file;

    recipe_cook (recipe, &desc, &file);
    costly_site_file (file);
    pthread_attr_init (&attr);
    assert_int_equal (pthread_attr_setstack (&attr, stack, STACK_SIZE), 0);
    assert_int_equal (pthread_create (&thread, &attr, submit_on_it, &desc), 0);
    pthread_join (thread, NULL);
    pthread_attr_destroy (&attr);
    while (left < STACK_SIZE && stack[left] == FILLED)
        left++;
    munmap (stack - PAGE, STACK_SIZE + PAGE);
    job_free (&desc);
    free (file);
    return STACK_SIZE - left;
}

TEST ("the most expensive decisions take half of a stack of 64 KiB")
{
    static struct recipe_book book;
    size_t most = 0;

    assert_true (recipe_load_all (&book));
    costly_site_start ();
    costly_site_limit (0);
    for (int i = 0; i < book.n; i++) {
        size_t used = use_stack (&book.recipes[i]);

        print_message ("%s: %zu bytes\n", book.names[i], used);
        most = used > most ? used : most;
    }
    costly_site_stop ();
    recipe_free_all (&book);
    if (most > USED_MAX)
        fail_msg ("%zu bytes of the stack, expected at most %d", most, USED_MAX);
}

#endif
