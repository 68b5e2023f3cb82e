/* help.h - what --dnnest=help prints
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef DN_HELP_H
#define DN_HELP_H

/* Print the forms of the option and all metadata keys on stdout. */
void dn_help_print (void);

#endif
