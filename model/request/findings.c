/* findings.c - the reasons that a script gives
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "request/shell.h"

#include <stdio.h>

#include "base/messages.h"

void dn_finding (char reason[DN_REASON_MAX],
                 int line,
                 struct dn_span word,
                 const char *does)
{
    if (reason[0] == '\0')
        snprintf (reason,
                  DN_REASON_MAX,
                  dn_say_script_word,
                  line,
                  dn_quote (word.text, word.len).text,
                  does);
}

void dn_finding_unclear (struct dn_shell *shell, int line, const char *what)
{
    char *reason = shell->found->unclear;

    if (reason[0] == '\0')
        snprintf (reason, DN_REASON_MAX, dn_say_script_line, line, what);
}
