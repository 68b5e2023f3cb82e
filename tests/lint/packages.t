#!/bin/bash
# packages.t - every installed file is in one package, the same in Debian and in RPM; where the
# packages are put; the version of Slurm in the RPM packages
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all 'python3 is not installed'


packaged() {
    python3 "$top/packaging/lib/packaged.py" "$@"
}

if [[ -x $build/dnnest ]]; then
    prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
    ok "'make install' installs below DESTDIR" \
        env -u MAKEFLAGS -u MFLAGS make -s -C "$build" install DESTDIR="$work/root"
    packaged "$top" "$work/root" "$prefix" >"$work/lists" 2>"$work/errors"
    is 'every installed file is in one package, the same in Debian and in RPM' \
        "$(<"$work/errors")" ''
    wanted='dnnest dnnest-dev'
    if [[ -x $build/dnnestd ]]; then wanted+=' dnnestd'; fi
    if [[ -e $build/job_submit_dnnest.la ]]; then wanted+=' slurm-dnnest-plugins'; fi
    is 'every package has files' "$(cut -f 1 "$work/lists" | sort -u | xargs)" "$wanted"
else
    skip 'every installed file is in one package' 'not built'
fi

# A small tree shows that differences are found.
mkdir -p "$work/tree/packaging/deb" "$work/tree/packaging/rpm" "$work/dest/opt"/{bin,lib/slurm,share/x/deep}
touch "$work/dest/opt"/{bin/a,bin/b,bin/c,bin/d,lib/slurm/p_dnnest.so,lib/slurm/p_dnnest.la} \
    "$work/dest/opt/share/x/deep/file"
mkdir "$work/dest/etc" && touch "$work/dest/etc/a.conf"
cat >"$work/tree/packaging/deb/dnnest.install" <<'END'
# a comment
usr/bin/[abc]
usr/bin/a
usr/bin/b
usr/share/x
etc/a.conf
END
cat >"$work/tree/packaging/deb/plugins.install" <<'END'
usr/bin/b
usr/bin/c
usr/lib/*/slurm*/p_dnnest.so
END
touch "$work/tree/packaging/deb/rules"
cat >"$work/tree/packaging/rpm/dnnest.spec.in" <<'END'
%install
find %{buildroot} \
    -name '*_dnnest.so' >plugins.files
%files
%license LICENSE
%dir %{_datadir}/x
%{_bindir}/a
%{_bindir}/b
%{_bindir}/c
%{_datadir}/x/d*
%config(noreplace) %{_sysconfdir}/a.conf
%files -n plugins -f plugins.files
%changelog
- /usr/bin/d
END
packaged "$work/tree" "$work/dest" /opt >"$work/out" 2>"$work/errors"
is 'a difference is an error' "$?" 1
is 'the packages of the other files are printed' "$(tr '\t' ' ' <"$work/out")" 'dnnest /etc/a.conf
dnnest /opt/bin/a
plugins /opt/lib/slurm/p_dnnest.so
dnnest /opt/share/x/deep/file'
is 'a file in two packages, in different ones and in none are found' "$(<"$work/errors")" \
    'packaged.py: /opt/bin/b: Debian: dnnest plugins; RPM: dnnest
packaged.py: /opt/bin/c: Debian: plugins; RPM: dnnest
packaged.py: /opt/bin/d: Debian: no package; RPM: no package'
sed -i 's/_datadir/_otherdir/' "$work/tree/packaging/rpm/dnnest.spec.in"
like 'a macro that has no directory here is an error' \
    "$(packaged "$work/tree" "$work/dest" /opt 2>&1)" "unknown macro '%[{]_otherdir[}]'"

# --- where the packages are put --------------------------------------------------------

# Programs that stand for those of Debian. Their packages are empty.
mkdir -p "$work/bin" "$work/here"
printf '#!/bin/sh\n' >"$work/bin/dpkg-checkbuilddeps"
cat >"$work/bin/dpkg-buildpackage" <<'END'
#!/bin/sh
cat debian/control debian/changelog >"$CONTROL" && touch ../dnnest_1_all.deb
END
chmod 755 "$work"/bin/*
if [[ -w $top ]]; then
    said=$(cd "$work/here" && CONTROL=$work/control PATH=$work/bin:$PATH TMPDIR=$work \
        DEBFULLNAME='R&D / \1' DEBEMAIL=r@d.example SOURCE_DATE_EPOCH=86400 \
        "$top/packaging/deb/build" 2>&1)
    is 'without a directory the packages are put where the command is called' \
        "$?$(ls "$work/here")" 0dnnest_1_all.deb
    is 'the name of the maintainer may have any character' \
        "$(grep '^Maintainer:' "$work/control")" 'Maintainer: R&D / \1 <r@d.example>'
    like 'the time of the changelog is that of SOURCE_DATE_EPOCH' "$(tail -n 1 "$work/control")" \
        '^ -- R&D / .1 <r@d[.]example>  Fri, 02 Jan 1970 00:00:00 [+]0000$'
    like 'the build needs the headers and the plugins of Slurm' "$(<"$work/control")" \
        'libcmocka-dev, libslurm-dev, slurm-wlm-basic-plugins'
    said+=$(cd "$work/here" && CONTROL=$work/control PATH=$work/bin:$PATH TMPDIR=$work \
        "$top/packaging/deb/build" 'in there' 2>&1)
    is 'a directory is one below that where the command is called' \
        "$?$(ls "$work/here/in there")" 0dnnest_1_all.deb
    if ((tap_failed > 0)); then diag "$said"; fi
else
    skip 'without a directory the packages are put where the command is called' 'a read-only tree'
fi

# --- the version of Slurm in the RPM packages ----------------------------------------

# spec_says FORMAT OPTION...: of each package, with version 1.2.3, revision 7 and Slurm 24.11.5
spec_says() {
    rpmspec -q --define 'rel 7' --define 'slurm_version 24.11.5' "${@:2}" --qf "$1" "$work/dnnest.spec" 2>&1
}
# of_slurm OPTION...: what the package of the plugins requires of Slurm
of_slurm() {
    spec_says '[%{=NAME} %{REQUIRENAME} %{REQUIREFLAGS:depflags} %{REQUIREVERSION}\n]' "$@" |
        sed -nE 's/^slurm-dnnest-plugins (slurm[^ (]*)(\([^ ]*\))?/\1/p'
}
if command -v rpmspec >/dev/null; then
    sed 's/@PACKAGE_VERSION@/1.2.3/' "$top/packaging/rpm/dnnest.spec.in" >"$work/dnnest.spec"
    is 'the release of the plugin package has the version of Slurm' \
        "$(spec_says '%{NAME} %{VERSION}-%{RELEASE}\n' | sort)" 'dnnest 1.2.3-7
dnnest-dev 1.2.3-7
dnnestd 1.2.3-7
slurm-dnnest-plugins 1.2.3-7.slurm24.11.5'
    is 'the plugin package requires exactly that version' "$(of_slurm)" 'slurm = 24.11.5'
    is 'the plugin package requires the package of Slurm that is named' \
        "$(of_slurm --define 'slurm_package slurm-ohpc')" 'slurm-ohpc = 24.11.5'
    is 'without a package of Slurm the plugin package requires none' "$(of_slurm --without slurm_package)" ''
else
    skip 'the release of the plugin package has the version of Slurm' 'rpmspec is not installed'
fi
done_testing
