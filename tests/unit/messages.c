/* messages.c - test of base/messages.inc: each message is what the catalogue promises
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "unit.h"

#include "base/messages.h"
#include "rewrite/rewrite.h"

enum audience {
    USER,
    WARNING,
    LOG,
    DAEMON,
    REASON,
    ERROR,
    FAILURE,
    PART,
    N_AUDIENCES
};

static const size_t size_of[] = {
    [USER] = DN_USER_TEXT_MAX,
    [WARNING] = DN_WARNING_MAX,
    [LOG] = DN_LOG_TEXT_MAX,
    [DAEMON] = DN_LOG_TEXT_MAX,
    [REASON] = DN_REASON_MAX,
    [ERROR] = DN_ERR_TEXT_MAX,
    [FAILURE] = DN_ERR_TEXT_MAX,
    [PART] = DN_REASON_MAX,
};

/* Those of the manual pages are written with their values. */
#define DN_VALUES(...) , ##__VA_ARGS__
#define DN_MESSAGE(to, id, text)
#define DN_LISTED(to, id, text, values, when)                                          \
    static void write_##id (struct dn_buf *buf)                                        \
    {                                                                                  \
        dn_buf_add (buf, dn_say_##id DN_VALUES values);                                \
    }
#include "base/messages.inc"
#undef DN_MESSAGE
#undef DN_LISTED

#define DN_MESSAGE(to, id, text)              {to, #id, text, NULL, NULL},
#define DN_LISTED(to, id, text, values, when) {to, #id, text, when, write_##id},
static const struct message {
    enum audience to;
    const char *id;
    const char *text;
    const char *when;
    void (*write) (struct dn_buf *buf);
} messages[] = {
#include "base/messages.inc"
};
#undef DN_MESSAGE
#undef DN_LISTED

#define EACH(m)                                                                        \
    for (const struct message *m = messages; m < messages + DN_N_ELEMENTS (messages);  \
         m++)

/* What the page says of it, or else its format: values are about as long as their
 * places. */
static void write_sample (const struct message *m, char *text, size_t size)
{
    struct dn_buf buf = dn_buf_on (text, size);

    if (m->write)
        m->write (&buf);
    else
        dn_buf_add (&buf, "%s", m->text);
    assert_false (buf.cut);
}

/* A value may be longer than that of the sample by a quoted text of a user. Beyond that
 * the message is cut.
 */
TEST ("a message fits its buffer")
{
    EACH (m)
    {
        char sample[DN_LOG_TEXT_MAX];

        write_sample (m, sample, sizeof (sample));
        if (strlen (sample) + DN_QUOTE_MAX >= size_of[m->to])
            fail_msg ("%s: %zu characters, %zu fit",
                      m->id,
                      strlen (sample),
                      size_of[m->to] - 1);
        /* Longer lines are hard to read in a terminal. */
        if (m->to == USER)
            assert_true (strlen (sample) <= 100);
    }
}

TEST ("a message is one printable line")
{
    EACH (m)
    {
        size_t len = strlen (m->text);

        assert_true (len > 0);
        for (size_t i = 0; i < len; i++)
            if (m->text[i] < ' ' || m->text[i] > '~')
                fail_msg ("%s: character %zu is not printable", m->id, i);
        if (m->text[len - 1] == '.' || strstr (m->text, "  "))
            fail_msg ("%s: a full stop, or two blanks", m->id);
        if (m->to != PART && (m->text[0] == ' ' || m->text[len - 1] == ' '))
            fail_msg ("%s: a blank at an end", m->id);
        if (m->when && (m->when[0] == '\0' || m->when[strlen (m->when) - 1] != '.'))
            fail_msg ("%s: no sentence says when", m->id);
    }
}

/* Words that say nothing, blame the reader, or are no English of today. */
TEST ("a message is in plain words")
{
    char words[] =
        "Error|error:|invalid|illegal|please|sorry|failed to|nobody|whoever|lest|"
        "in vain|goes over|oops|!";
    char *rest = words;
    char *banned;

    while ((banned = strsep (&rest, "|")))
        EACH (m)
    if (strstr (m->text, banned) || (m->when && strstr (m->when, banned)))
        fail_msg ("%s: '%s'", m->id, banned);
}

/* Each whole line tells the reader whose it is. */
TEST ("a line to the user begins with dnnest")
{
    EACH (m)
    if (m->to == USER)
        assert_int_equal (strncmp (m->text, "dnnest: ", 8), 0);
}

/* A value cannot be a format. */
TEST ("a value with a percent sign is text")
{
    char text[DN_USER_TEXT_MAX];
    struct dn_buf buf = dn_buf_on (text, sizeof (text));

    dn_buf_add (&buf, dn_say_user_error, "comment: '%n%s%99999d'");
    assert_string_equal (text,
                         "dnnest: comment: '%n%s%99999d'; job submitted as written");
}
