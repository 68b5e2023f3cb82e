# dn_hardening.m4 - flags that make misuse of memory fail early
#
# SPDX-License-Identifier: GPL-2.0-or-later

# DN_TRY_FLAG(VARIABLE, FLAG, [IF-NOT])
# Adds FLAG to VARIABLE if compiler and linker accept it without a warning, together with the
# user's flags.
AC_DEFUN([DN_TRY_FLAG],
  [AC_MSG_CHECKING([whether $CC takes $2])
   dn_save_CFLAGS=$CFLAGS
   CFLAGS="-Werror $2 $CFLAGS"
   AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]], [[char a[8]; strcpy (a, ""); return a[0];]])],
     [AC_MSG_RESULT([yes]); $1="$$1 $2"],
     [AC_MSG_RESULT([no]); $3])
   CFLAGS=$dn_save_CFLAGS])

# DN_HARDENING
# Flags that stop a program at a memory error instead of letting it run foreign code. Adds to
# DN_FLAGS and sets DN_LDFLAGS, DN_PIE_CFLAGS and DN_PIE_LDFLAGS. _FORTIFY_SOURCE keeps the
# user's value, and is off with sanitizers, which find more; it has no effect without
# optimization.
AC_DEFUN([DN_HARDENING],
  [DN_TRY_FLAG([DN_FLAGS], [-fstack-protector-strong])
   DN_TRY_FLAG([DN_FLAGS], [-fstack-clash-protection])
   DN_TRY_FLAG([DN_FLAGS], [-fcf-protection])
   AS_CASE([" $CPPFLAGS $CFLAGS $enable_sanitizers $enable_tsan "],
     [*_FORTIFY_SOURCE*|*" yes "], [],
     [DN_TRY_FLAG([DN_FLAGS], [-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3],
       [DN_TRY_FLAG([DN_FLAGS], [-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2])])])
   DN_TRY_FLAG([DN_LDFLAGS], [-Wl,-z,relro])
   DN_TRY_FLAG([DN_LDFLAGS], [-Wl,-z,now])
   DN_TRY_FLAG([DN_LDFLAGS], [-Wl,-z,noexecstack])
   DN_TRY_FLAG([DN_PIE_LDFLAGS], [-fPIE -pie])
   AS_IF([test -n "$DN_PIE_LDFLAGS"], [DN_PIE_CFLAGS=-fPIE; DN_PIE_LDFLAGS=-pie])
   AC_SUBST([DN_LDFLAGS])
   AC_SUBST([DN_PIE_CFLAGS])
   AC_SUBST([DN_PIE_LDFLAGS])])
