# dn_versions.m4 - the versions of the libraries of this build, for the bill of materials
#
# SPDX-License-Identifier: GPL-2.0-or-later

# DN_PKG_VERSION(VARIABLE, MODULE)
AC_DEFUN([DN_PKG_VERSION],
  [$1=`$PKG_CONFIG --modversion "$2" 2>/dev/null`
   AC_SUBST([$1])])

# DN_HEADER_VERSION(VARIABLE, HEADER, MACROS)
# MACROS of HEADER, put together: "1 . 2" gives 1.2. Empty if there is no such header.
AC_DEFUN([DN_HEADER_VERSION],
  [$1=`printf '#include <%s>\ndn_version %s\n' '$2' '$3' |
     $CC $CPPFLAGS -x c -E -P - 2>/dev/null | sed -n 's/^dn_version *//p' | tr -d ' '`
   AC_SUBST([$1])])

# DN_VERSIONS
# Sets the variables of packaging/facts.in; empty for a library that is not used.
AC_DEFUN([DN_VERSIONS],
  [DN_PKG_VERSION([dn_json_c], [json-c])
   DN_PKG_VERSION([dn_sqlite], [sqlite3])
   DN_HEADER_VERSION([dn_xgboost], [xgboost/version_config.h],
     [XGBOOST_VER_MAJOR . XGBOOST_VER_MINOR . XGBOOST_VER_PATCH])
   DN_HEADER_VERSION([dn_glibc], [features.h], [__GLIBC__ . __GLIBC_MINOR__])
   DN_PKG_VERSION([dn_curl], [libcurl])
   AS_IF([test "$with_fetch" = no], [dn_curl=])
   DN_PKG_VERSION([dn_systemd], [libsystemd])
   DN_PKG_VERSION([dn_cmocka], [cmocka])
   AC_SUBST([dn_slurm], [])
   AS_IF([test "$dn_have_libslurm" = yes], [dn_slurm=$dn_slurm_text],
     [dn_systemd=])])
