# dnnest.m4 - required libraries, Slurm and systemd
#
# SPDX-License-Identifier: GPL-2.0-or-later

# DN_REQUIRE_PKG(VARIABLE, MODULE, DEBIAN-PACKAGE, RPM-PACKAGE)
# A required pkg-config module; the error names the package to install.
AC_DEFUN([DN_REQUIRE_PKG],
  [PKG_CHECK_MODULES([$1], [$2], [],
    [AC_MSG_ERROR([$2 not found: install $3 (Debian) or $4 (RPM systems)])])])

# DN_REQUIRE_LIB(VARIABLE, HEADER, LIBRARY, FUNCTION, DEBIAN-PACKAGE, RPM-PACKAGE)
# The same for a library without a pkg-config file. Sets VARIABLE_LIBS.
AC_DEFUN([DN_REQUIRE_LIB],
  [AC_CHECK_HEADER([$2], [],
    [AC_MSG_ERROR([$2 not found: install $5 (Debian) or $6 (RPM systems)])])
   AC_CHECK_LIB([$3], [$4], [$1_LIBS=-l$3],
    [AC_MSG_ERROR([lib$3 not found: install $5 (Debian) or $6 (RPM systems)])])
   AC_SUBST([$1_LIBS])])

# DN_SLURM
# --with-slurm=PREFIX|no: headers below PREFIX/include, version by SLURM_VERSION_NUMBER.
# --with-plugindir=DIR: the directory of the plugins; without it, that of the installed Slurm
# (packaging/lib/slurm-plugindir). A wrong directory would stop slurmctld at its next start,
# so there is no default.
# Sets HAVE_SLURM, SLURM_CPPFLAGS, slurmplugindir and dn_slurm_text; for dnnestd,
# HAVE_LIBSLURM, SLURM_LIBS and dn_dnnestd_text.
AC_DEFUN([DN_SLURM],
  [AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm=PREFIX],
      [prefix of Slurm's headers; --without-slurm builds everything except the plugins])],
    [], [with_slurm=yes])
   AC_ARG_WITH([plugindir],
    [AS_HELP_STRING([--with-plugindir=DIR],
      [directory of PluginDir of slurm.conf in which the plugins are installed (that of the installed Slurm)])])
   SLURM_CPPFLAGS=
   dn_slurm_text=no
   AS_IF([test "$with_slurm" != no],
    [AS_IF([test "$with_slurm" != yes], [SLURM_CPPFLAGS="-I$with_slurm/include"])
     dn_save_CPPFLAGS=$CPPFLAGS
     CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
     AC_CHECK_HEADERS([slurm/slurm.h slurm/spank.h], [],
       [AC_MSG_ERROR([Slurm's headers not found: install libslurm-dev (Debian) or slurm-devel (RPM systems), give their prefix with --with-slurm=PREFIX, or leave the plugins out with --without-slurm])])
     AC_CHECK_MEMBERS([job_desc_msg_t.tres_per_task, job_desc_msg_t.container_id,
       node_info_t.alloc_cpus, submit_response_msg_t.job_id], [], [],
       [[#include <slurm/slurm.h>]])
     AC_CHECK_MEMBERS([slurmdb_job_rec_t.restart_cnt], [], [],
       [[#include <slurm/slurmdb.h>]])
     AC_COMPUTE_INT([dn_slurm_number], [SLURM_VERSION_NUMBER], [[#include <slurm/slurm.h>]],
       [AC_MSG_ERROR([cannot determine the version of Slurm's headers])])
     AC_CHECK_DECLS([slurm_free_conf], [], [], [[#include <slurm/slurm.h>]])
     CPPFLAGS=$dn_save_CPPFLAGS
     dn_slurm_text=`printf '%d.%02d.%d' \`expr $dn_slurm_number / 65536\` \`expr $dn_slurm_number / 256 % 256\` \`expr $dn_slurm_number % 256\``
     AC_DEFINE_UNQUOTED([DN_SLURM_VERSION], ["$dn_slurm_text"],
       [version of the Slurm that the plugins are built for])])
   DN_LIBSLURM
   AC_SUBST([SLURM_CPPFLAGS])
   AC_SUBST([DN_SLURM_VERSION], [$dn_slurm_text])
   AM_CONDITIONAL([HAVE_SLURM], [test "$with_slurm" != no])
   slurmplugindir='${libdir}/slurm'
   AS_IF([test "$with_slurm" != no], [DN_PLUGINDIR])
   AC_SUBST([slurmplugindir])])

# DN_LIBSLURM
# libslurm, in PREFIX/lib or PREFIX/lib64 of --with-slurm=PREFIX, else where the linker looks.
AC_DEFUN([DN_LIBSLURM],
  [SLURM_LIBS=
   dn_have_libslurm=no
   dn_dnnestd_text='no (no Slurm)'
   AS_IF([test "$with_slurm" != no],
    [dn_save_LDFLAGS=$LDFLAGS
     for dn_dir in lib64 lib; do
       AS_IF([test "$with_slurm" != yes && test -e "$with_slurm/$dn_dir/libslurm.so"],
        [SLURM_LIBS="-L$with_slurm/$dn_dir -Wl,-rpath,$with_slurm/$dn_dir"])
     done
     LDFLAGS="$LDFLAGS $SLURM_LIBS"
     dn_dnnestd_text='no (libslurm not found)'
     AC_CHECK_LIB([slurm], [slurm_init],
      [dn_have_libslurm=yes
       SLURM_LIBS="$SLURM_LIBS -lslurm"
       dn_dnnestd_text=yes])
     LDFLAGS=$dn_save_LDFLAGS])
   AC_SUBST([SLURM_LIBS])
   AM_CONDITIONAL([HAVE_LIBSLURM], [test "$dn_have_libslurm" = yes])])

# DN_SYSTEMD
# libsystemd for dnnestd's messages to the service manager, and the directory of units
# (--with-systemdunitdir=DIR|no). Sets SYSTEMD_*, HAVE_SYSTEMD, HAVE_UNITDIR and
# systemdunitdir.
AC_DEFUN([DN_SYSTEMD],
  [AC_ARG_WITH([systemdunitdir],
    [AS_HELP_STRING([--with-systemdunitdir=DIR],
      [directory of systemd's units for dnnestd.service, or no])],
    [], [with_systemdunitdir=yes])
   PKG_CHECK_MODULES([SYSTEMD], [libsystemd], [dn_have_systemd=yes], [dn_have_systemd=no])
   AM_CONDITIONAL([HAVE_SYSTEMD], [test "$dn_have_systemd" = yes])
   AS_IF([test "$dn_have_libslurm$dn_have_systemd" = yesyes],
    [dn_dnnestd_text="yes (reports to systemd)"])
   AS_CASE([$with_systemdunitdir],
    [/*], [systemdunitdir=$with_systemdunitdir],
    [no], [systemdunitdir=],
    [AS_IF([test "$dn_have_systemd" = yes],
      [systemdunitdir='${prefix}/lib/systemd/system'], [systemdunitdir=])])
   AM_CONDITIONAL([HAVE_UNITDIR],
     [test -n "$systemdunitdir" && test "$dn_have_libslurm" = yes])
   AC_SUBST([systemdunitdir])])

# DN_PLUGINDIR
# Sets slurmplugindir, or ends with an error.
AC_DEFUN([DN_PLUGINDIR],
  [AC_MSG_CHECKING([for the directory of Slurm's plugins])
   AS_CASE(["$with_plugindir"],
    [/*], [slurmplugindir=$with_plugindir],
    [''], [dn_find=$srcdir/packaging/lib/slurm-plugindir
           AS_IF([test "$with_slurm" != yes], [dn_find="$dn_find --prefix=$with_slurm"])
           slurmplugindir=`sh $dn_find 2>conftest.err` ||
             { dn_why=`cat conftest.err`
               AC_MSG_ERROR([$dn_why
It is PluginDir of slurm.conf, or what Slurm was compiled with. Name it with --with-plugindir=DIR, install slurmctld (Debian) or slurm-slurmctld (RPM systems), or leave the plugins out with --without-slurm]); }
           rm -f conftest.err],
    [AC_MSG_ERROR([--with-plugindir=$with_plugindir: expected an absolute path])])
   AC_MSG_RESULT([$slurmplugindir])
   AS_IF([test ! -e "$slurmplugindir/select_linear.so" && test ! -e "$slurmplugindir/select_cons_tres.so"],
    [AC_MSG_WARN([$slurmplugindir has no plugins of Slurm: slurmctld finds dnnest there only if PluginDir of slurm.conf names it])])
   dn_slurmctld=`slurmctld -V 2>/dev/null </dev/null | sed 's/.* //'`
   AS_IF([test -n "$dn_slurmctld" && test "$dn_slurmctld" != "$dn_slurm_text"],
    [AC_MSG_WARN([slurmctld is $dn_slurmctld and the headers are of $dn_slurm_text: it ends at its start with this plugin])])])
