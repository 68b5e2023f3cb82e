#!/bin/bash
# sbom.t - the bill of materials has what SPDX 2.3 requires, and what the programs link
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip_all 'python3 is not installed'
command -v jq >/dev/null || skip_all 'jq is not installed'
[[ -e $build/packaging/facts ]] || skip_all 'not configured'
# Without git, the files of a build in the tree are taken for its own.
if [[ ! -e $top/.git && -e $top/config.status ]]; then skip_all 'built in the tree'; fi

readonly DATE=1700000000

# sbom FACTS [TREE]
sbom() {
    python3 "$top/packaging/lib/sbom.py" "${2-$top}" "$1" "$DATE"
}

# What is wrong with a document, by the chapters 6 to 11 of the specification.
cat >"$work/check.py" <<'PYTHON'
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
LICENCE = re.compile(r"(NONE|NOASSERTION|(LicenseRef-)?[A-Za-z0-9.-]+"
                     r"( WITH [A-Za-z0-9.-]+)?( (AND|OR) [A-Za-z0-9.-]+)*)\Z")


def need(what, item, **fields):
    for name, form in fields.items():
        value = item.get(name)
        if not isinstance(value, str) or not re.fullmatch(form, value):
            print(f"{what}: {name}: {value!r}")


need("document", document, spdxVersion="SPDX-2[.]3", dataLicense="CC0-1[.]0",
     SPDXID="SPDXRef-DOCUMENT", name=".+", documentNamespace="https?://[^#]+")
need("creationInfo", document["creationInfo"],
     created=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
for creator in document["creationInfo"]["creators"] or [""]:
    if not re.fullmatch(r"(Tool|Organization|Person): .+", creator):
        print("creator:", creator)

references = {item["licenseId"] for item in document["hasExtractedLicensingInfos"]}
ids = ["SPDXRef-DOCUMENT"]
for package in document["packages"]:
    need(package["name"], package, SPDXID=r"SPDXRef-[A-Za-z0-9.-]+", name=".+",
         versionInfo=r"\d[\w.-]*", downloadLocation="NOASSERTION|NONE|https?://.+",
         licenseConcluded=LICENCE.pattern, licenseDeclared=LICENCE.pattern,
         copyrightText=".+")
    if package["filesAnalyzed"]:
        need(package["name"], package["packageVerificationCode"],
             packageVerificationCodeValue="[0-9a-f]{40}")
    ids.append(package["SPDXID"])
for file in document["files"]:
    need(file["fileName"], file, SPDXID=r"SPDXRef-[A-Za-z0-9.-]+", fileName=r"[.]/.+",
         licenseConcluded=LICENCE.pattern, copyrightText=".+")
    sums = {item["algorithm"]: item["checksumValue"] for item in file["checksums"]}
    need(file["fileName"], sums, SHA1="[0-9a-f]{40}", SHA256="[0-9a-f]{64}")
    for licence in file["licenseInfoInFiles"]:
        if licence.startswith("LicenseRef-") and licence not in references:
            print(file["fileName"], licence)
    ids.append(file["SPDXID"])
if len(ids) != len(set(ids)):
    print("an SPDXID occurs twice")
related = [(item["spdxElementId"], item["relationshipType"], item["relatedSpdxElement"])
           for item in document["relationships"]]
for one, kind, other in related:
    if one not in ids or other not in ids:
        print("unknown element:", one, kind, other)
if not any(kind == "DESCRIBES" for _, kind, _ in related):
    print("nothing is described")
for name in ids[1:]:
    if not any(name in (one, other) for one, _, other in related):
        print("related to nothing:", name)
PYTHON

make_sbom() {
    sbom "$build/packaging/facts" >"$work/sbom.json"
}
ok 'the bill is made from the tree and the facts of configure' make_sbom
is 'the bill has every required field' "$(python3 "$work/check.py" "$work/sbom.json" 2>&1)" ''
sed 's/"SHA256"/"MD9"/; s/"dataLicense": "CC0-1.0"/"dataLicense": ""/' "$work/sbom.json" >"$work/bad.json"
is 'the check finds missing fields' "$(python3 "$work/check.py" "$work/bad.json" | grep -c .)" \
    "$(($(jq '.files | length' "$work/sbom.json") + 1))"

is 'the bill has every file of the tree' "$(jq -r '.files[].fileName' "$work/sbom.json" | sed 's|^./||')" \
    "$(python3 "$top/packaging/lib/licenses.py" "$top" | cut -f 1)"
is 'the hash of a file is that of sha256sum' \
    "$(jq -r '.files[] | select(.fileName == "./configure.ac").checksums[1].checksumValue' "$work/sbom.json")" \
    "$(sha256sum <"$top/configure.ac" | cut -d ' ' -f 1)"
is 'the verification code is the hash of the sorted hashes' \
    "$(jq -r '.packages[0].packageVerificationCode.packageVerificationCodeValue' "$work/sbom.json")" \
    "$(jq -r '.files[].checksums[0].checksumValue' "$work/sbom.json" | LC_ALL=C sort | tr -d '\n' |
        sha1sum | cut -d ' ' -f 1)"
is 'the version is that of configure.ac' "$(jq -r '.packages[0].versionInfo' "$work/sbom.json")" \
    "$(sed -n 's/^AC_INIT(\[dnnest\], \[\(.*\)\])$/\1/p' "$top/configure.ac")"
is 'the time of the bill is that of the sources' "$(jq -r .creationInfo.created "$work/sbom.json")" \
    "$(date -u -d "@$DATE" +%Y-%m-%dT%H:%M:%SZ)"
sbom "$build/packaging/facts" >"$work/again.json"
ok 'the bill has the same bytes every time' cmp "$work/sbom.json" "$work/again.json"

# --- the libraries -------------------------------------------------------------------

# The names of the shared libraries that the programs and plugins of the build ask for.
asked() {
    local file
    for file in "$build"/{,.libs/}{dnnest,dnnestd,dnnest-dev,job_submit_dnnest.so,spank_dnnest.so}; do
        if [[ -f $file ]]; then readelf -d "$file" 2>/dev/null; fi
    done | sed -n 's/.*(NEEDED).*\[\(.*\)[.]so.*/\1/p' | sort -u
}

# The same of the lines of facts that have a version.
named() {
    awk -F '|' '$1 == "linked" && $3 { n = split($5, names, " "); for (i = 1; i <= n; i++) print names[i] }' \
        "$build/packaging/facts" | sort -u
}

if ! command -v readelf >/dev/null || [[ -z $(asked) ]]; then
    skip 'every library that a program asks for is named' 'no programs to look at'
elif [[ ${DNNEST_SANITIZERS-} = yes ]]; then
    skip 'every library that a program asks for is named' 'sanitizers are libraries, too'
else
    is 'every library that a program asks for is named' "$(comm -23 <(asked) <(named))" ''
fi
is 'every library of the facts with a version is in the document' \
    "$(jq -r '.packages[1:][] | .name + " " + .versionInfo' "$work/sbom.json")" \
    "$(awk -F '|' '($1 == "linked" || $1 == "tests") && $3 { print $2 " " $3 }' "$build/packaging/facts")"

# --- facts that are wrong ------------------------------------------------------------

mkdir "$work/tree" && cp "$top/REUSE.toml" "$work/tree" && touch "$work/tree/a_b" "$work/tree/a-b"
printf 'package|dnnest|1.0|MIT\nlinked|none||MIT|libnone\nlinked|some|2|MIT|libsome\n' >"$work/facts"
sbom "$work/facts" "$work/tree" >"$work/small.json"
is 'a library without a version is left out' "$(jq -r '.packages[].name' "$work/small.json" | xargs)" \
    'dnnest some'
is 'a file without a licence has no conclusion, and names that look alike have identifiers of their own' \
    "$(jq -r '.files[] | .SPDXID + " " + .licenseConcluded' "$work/small.json")" \
    'SPDXRef-File-REUSE.toml GPL-2.0-or-later
SPDXRef-File-a-b NOASSERTION
SPDXRef-File-a-b-2 NOASSERTION'
echo 'linked|broken' >>"$work/facts"
like 'a line of facts that is too short is an error' "$(sbom "$work/facts" "$work/tree" 2>&1)" \
    "sbom.py: $work/facts:4: 'linked[|]broken'"
echo 'linked|some|2|MIT|libsome' >"$work/facts"
like 'facts without a package are an error' "$(sbom "$work/facts" "$work/tree" 2>&1)" \
    'expected one package'
done_testing
