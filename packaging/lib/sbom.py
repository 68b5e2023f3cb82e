#!/usr/bin/env python3
"""sbom.py - the software bill of materials, in the JSON form of SPDX 2.3

usage: sbom.py TREE FACTS DATE

Prints it for the tree of a tarball: every file with its licence and hashes, and the
libraries of the build with their versions, from FACTS, which configure has written. DATE is
the time of the sources in seconds since 1970. The same input gives the same bytes.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import datetime
import hashlib
import json
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import licenses

AUTHORS = "the authors of dnnest"
VERBATIM = "LicenseRef-verbatim-copies-only"
KINDS = {"linked", "tests", "package"}


def facts_of(path):
    """The lines of FACTS that have a version: (kind, name, version, licence)."""
    found = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            parts = line.split("|")
            if len(parts) < 4 or parts[0] not in KINDS:
                sys.exit(f"sbom.py: {path}:{number}: '{line}'")
            if parts[2]:
                found.append(tuple(parts[:4]))
    if [fact[0] for fact in found].count("package") != 1:
        sys.exit(f"sbom.py: {path}: expected one package")
    return found


def identifier(kind, name, used):
    """An SPDXID that no other element has."""
    base = f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)
    number = used[base] = used.get(base, 0) + 1
    return base if number == 1 else f"{base}-{number}"


def simple(licence):
    """The licences of an expression, without exceptions."""
    return [part for part in re.split(r" WITH \S+| AND | OR ", licence) if part]


def file_of(tree, name, notes, used):
    """One file of the tree as an element."""
    with open(os.path.join(tree, name), "rb") as file:
        content = file.read()
    licence = licenses.licence_of(tree, name, notes) or "NOASSERTION"
    return {
        "SPDXID": identifier("File", name, used),
        "fileName": "./" + name,
        "checksums": [
            {"algorithm": "SHA1", "checksumValue": hashlib.sha1(content).hexdigest()},
            {"algorithm": "SHA256", "checksumValue": hashlib.sha256(content).hexdigest()},
        ],
        "licenseConcluded": licence,
        "licenseInfoInFiles": simple(licence),
        "copyrightText": "NOASSERTION",
    }


def verification_code(files):
    """SPDX 2.3, 7.9: the hash of the files' hashes in their order."""
    hashes = sorted(file["checksums"][0]["checksumValue"] for file in files)
    return hashlib.sha1("".join(hashes).encode()).hexdigest()


def package_of(fact, files):
    """dnnest itself."""
    _, name, version, licence = fact
    return {
        "SPDXID": "SPDXRef-Package-" + name,
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: " + AUTHORS,
        "downloadLocation": "NOASSERTION",
        "packageFileName": f"{name}-{version}.tar.xz",
        "primaryPackagePurpose": "SOURCE",
        "filesAnalyzed": True,
        "packageVerificationCode": {"packageVerificationCodeValue": verification_code(files)},
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "licenseInfoFromFiles": sorted({part for file in files
                                        for part in file["licenseInfoInFiles"]}),
        "copyrightText": "2025-2026 " + AUTHORS,
    }


def library_of(fact, used):
    """A library of another project."""
    _, name, version, licence = fact
    return {
        "SPDXID": identifier("Library", name, used),
        "name": name,
        "versionInfo": version,
        "downloadLocation": "NOASSERTION",
        "primaryPackagePurpose": "LIBRARY",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    }


def relationships(package, files, libraries):
    """The document describes dnnest, which contains the files and links the libraries."""
    def related(one, kind, other):
        return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}

    yield related("SPDXRef-DOCUMENT", "DESCRIBES", package["SPDXID"])
    for kind, library in libraries:
        if kind == "linked":
            yield related(package["SPDXID"], "DYNAMIC_LINK", library["SPDXID"])
        else:
            yield related(library["SPDXID"], "TEST_DEPENDENCY_OF", package["SPDXID"])
    for file in files:
        yield related(package["SPDXID"], "CONTAINS", file["SPDXID"])


def document(tree, facts, date):
    """All of it."""
    used = {}
    notes = licenses.annotations(tree)
    files = [file_of(tree, name, notes, used) for name in licenses.files_of(tree)]
    package = package_of(next(fact for fact in facts if fact[0] == "package"), files)
    libraries = [(fact[0], library_of(fact, used)) for fact in facts if fact[0] != "package"]
    version = package["versionInfo"]
    unique = hashlib.sha1(repr((facts, date, verification_code(files))).encode()).hexdigest()
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"dnnest-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/dnnest-{version}-{unique}",
        "creationInfo": {
            "created": datetime.datetime.fromtimestamp(date, datetime.timezone.utc)
                       .strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: sbom.py-{version}", "Organization: " + AUTHORS],
        },
        "hasExtractedLicensingInfos": [{
            "licenseId": VERBATIM,
            "name": "licence of the text of a licence",
            "extractedText": "Everyone is permitted to copy and distribute verbatim copies of "
                             "this license document, but changing it is not allowed.",
        }],
        "packages": [package] + [library for _, library in libraries],
        "files": files,
        "relationships": list(relationships(package, files, libraries)),
    }


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    tree, facts, date = sys.argv[1:]
    json.dump(document(tree, facts_of(facts), int(date)), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
