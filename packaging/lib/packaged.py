#!/usr/bin/env python3
"""packaged.py - which package has each installed file, by the lists of Debian and of RPM

usage: packaged.py TOP DESTDIR PREFIX

Prints 'PACKAGE<TAB>FILE' for every file below DESTDIR, where 'make install' has put it with
PREFIX. It is an error if a file is in no package, in two, or in different ones in Debian
(packaging/deb/*.install) and in RPM (packaging/rpm/dnnest.spec). Left out are documents,
which both sort by their own rules, and files of libtool, which neither has.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import fnmatch
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import licenses

SPEC = "packaging/rpm/dnnest.spec.in"
DEB = "packaging/deb"
MACROS = {
    "_bindir": "usr/bin",
    "_sbindir": "usr/sbin",
    "_datadir": "usr/share",
    "_mandir": "usr/share/man",
    "_docdir": "usr/share/doc",
    "_unitdir": "usr/lib/systemd/system",
    "_sysconfdir": "etc",
    "_localstatedir": "var",
    "_sysusersdir": "usr/lib/sysusers.d",
    "_tmpfilesdir": "usr/lib/tmpfiles.d",
}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def below(glob):
    """Of a glob, a regular expression for the path itself and for all that is below it."""
    return re.compile(licenses.pattern(glob).pattern.removesuffix(r"\Z") + r"(?:/.*)?\Z")


def lists_of_debian(top):
    """{package: [pattern]}"""
    lists = {}
    for name in sorted(os.listdir(os.path.join(top, DEB))):
        package, kind = os.path.splitext(name)
        if kind == ".install":
            lines = re.sub(r"^#.*", "", read(top, DEB, name), flags=re.MULTILINE).splitlines()
            lists[package] = [below(line.split()[0]) for line in lines if line.strip()]
    # debhelper installs the units of a package where its version has units.
    rules = read(top, DEB, "rules")
    for package in re.findall(r"debian/([\w-]+)[.]service$", rules, re.MULTILINE):
        units = re.findall(r"^units = (.*)", rules, re.MULTILINE)[0].split()
        lists[package] += [below(f"usr/lib/systemd/system/{unit}")
                           for unit in [f"{package}.service", *units]]
    return lists


def expanded(path):
    """A path of the spec without macros and without the first slash."""
    def value(match):
        if match[1] not in MACROS:
            sys.exit(f"packaged.py: {SPEC}: unknown macro '{match[0]}'")
        return MACROS[match[1]]

    return re.sub(r"%\{(\w+)\}", value, path).lstrip("/")


def found_by(spec, name):
    """The patterns of 'find' whose output is the list NAME."""
    lines = spec.replace("\\\n", " ").splitlines()
    return [re.compile(fnmatch.translate(glob)) for line in lines if line.endswith(">" + name)
            for glob in re.findall(r"-(?:name|path) '([^']+)'", line)]


def lists_of_rpm(top):
    """{package: [pattern]}"""
    spec = read(top, SPEC)
    lists = {}
    for section in re.split(r"^%files", spec.split("%changelog")[0], flags=re.MULTILINE)[1:]:
        head, *lines = section.splitlines()
        package = re.search(r"-n (\S+)", head)
        patterns = lists.setdefault(package[1] if package else "dnnest", [])
        for name in re.findall(r"-f (\S+)", head):
            patterns += found_by(spec, name)
        for line in lines:
            if line.strip() and not re.search(r"^%license|^%if|^%endif|%dir |^#", line):
                patterns.append(below(expanded(line.split()[-1])))
    return lists


def places(path, prefix):
    """Where an installed file is in a package: PREFIX becomes /usr. Systems differ in the
    directories of units, of zsh and of Slurm's plugins."""
    name = path.removeprefix(prefix).lstrip("/")
    yield "usr/" + name
    yield name
    if name.endswith("_dnnest.so"):
        yield "usr/lib/any/slurm/" + os.path.basename(name)
    if "/zsh/" in name:
        yield "usr/share/zsh/vendor-completions/" + os.path.basename(name)


def owners(lists, where):
    """The packages that have the file, by the places where it may be."""
    return [package for package, patterns in lists.items()
            if any(pattern.match(place) for pattern in patterns for place in where)]


def installed(destdir):
    """The files below DESTDIR, with their path after that, in order."""
    for folder, folders, names in os.walk(destdir):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name).removeprefix(destdir)
            if "/share/doc/" not in path and not path.endswith(".la"):
                yield path


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    top, destdir, prefix = sys.argv[1:]
    deb, rpm = lists_of_debian(top), lists_of_rpm(top)
    failed = False
    for path in installed(destdir):
        where = list(places(path, prefix))
        of_deb, of_rpm = owners(deb, where), owners(rpm, where)
        if len(of_deb) == 1 and of_deb == of_rpm:
            print(of_deb[0], path, sep="\t")
        else:
            failed = True
            print(f"packaged.py: {path}: Debian: {' '.join(of_deb) or 'no package'}; "
                  f"RPM: {' '.join(of_rpm) or 'no package'}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
