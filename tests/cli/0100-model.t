#!/bin/bash
# 0100-model.t - bundles: show, verify, install, roll back, list, sign
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
# shellcheck source=tests/cli/bundle.sh
. "$(dirname "$0")/bundle.sh"
plan_later

for name in a b c d e; do new_bundle $name; done

# Options and arguments
refuses 'an action must be named' 2 'missing' model
refuses 'an unknown action is named with the known actions' 2 \
    "'frob' is unknown, expected one of show verify" model frob
refuses 'install takes a bundle' 2 'install: DIR is missing' model install
refuses 'rollback takes no argument' 2 "rollback: unexpected argument 'x'" model rollback x
refuses 'a time out of range is named' 2 'max-time: 0 out of range' model --max-time=0 list

# Show
make_mock mock
gives 'a bundle is shown' 0 'name +mock.*version 3, 2 of them.*4812 rows, 140 models' \
    model show "$work/mock"
gives 'the metrics, bounds, files and site part of a bundle are shown' 0 \
    '37 runs, 1 constants, 1 devices.*step.median_ape +0.113.*0.95: 1.7.*step.trees +[0-9]+ ' \
    model show "$work/mock"
json 'JSON has what is shown of a bundle' \
    'd["name"] == "mock" and d["format"] == 2 and d["features"] == {"version": 3, "count": 2}
     and d["data"]["rows"] == 4812 and d["metrics"]["step"]["median_ape"] == 0.113
     and d["site"] == {"runs": 37, "n_constants": 1, "n_devices": 1, "n_applications": 1}
     and sorted(f["file"] for f in d["files"]) == ["site.json", "step.trees"]
     and d["signed"] is False' model show "$work/mock"
refuses 'where no bundle is installed none is shown' 4 'No such file' \
    model --dir "$place" show
make_mock bare
change "$work/bare" 'm = {k: m[k] for k in ("dnnest_bundle", "name", "files")}'
json 'what a manifest does not state is null' \
    'd["features"] == {"version": None, "count": None} and d["metrics"] is None' \
    model show "$work/bare"
change "$work/bare" 'm["data"] = m["metrics"] = m["bounds"] = [1, {"x": "\x1b[2J"}]'
gives 'a part of a manifest of another type is shown as absent' 0 \
    'data +-' model show "$work/bare"
change "$work/bare" 'm["metrics"] = {"\x1b[2J": "\x1b[2J"}'
try model show "$work/bare"
not_ok 'no escape sequence of a manifest reaches the terminal' grep -q $'\x1b' "$work/out"

# Verify
gives 'a whole bundle is verified' 0 ': ok \(a, [0-9]+ files, not signed\)' model verify "$work/a"
damage() {
    local title=$1 regex=$2 command=$3
    rm -rf "$work/bad"
    make_mock bad
    (cd "$work/bad" && eval "$command")
    refuses "$title" 4 "bad: $regex" model verify "$work/bad"
}
damage 'a changed byte is found' 'step.trees: its SHA-256 is not' \
    "printf X | dd of=step.trees bs=1 seek=100 conv=notrunc status=none"
damage 'a shorter file is found' 'step.trees: 50 bytes, the manifest says' 'truncate -s 50 step.trees'
damage 'a longer file is found' 'step.trees: [0-9]+ bytes, the manifest says' 'echo x >> step.trees'
damage 'a missing file is found' 'step.trees: missing' 'rm step.trees'
damage 'a file that is not listed is found' "'extra' is not in the manifest" 'touch extra'
damage 'a hidden file is found' "'.x' is not in the manifest" 'touch .x'
damage 'a link is no file' 'step.trees: is a symbolic link' 'mv step.trees ../s.json; ln -s ../s.json step.trees'
damage 'a FIFO is no file' 'step.trees: not a regular file' 'rm step.trees; mkfifo step.trees'
damage 'a missing manifest is named' 'manifest.json: missing' 'rm manifest.json'
damage 'a manifest that is no JSON is named' 'manifest.json: .*: ends in the middle of JSON' 'echo "{" > manifest.json'
damage 'a manifest with text after the JSON is refused' \
    'manifest.json: .*: text after the JSON value' 'echo "{}" >> manifest.json'
damage 'an empty manifest is refused' \
    'manifest.json: empty, expected a JSON object' ': > manifest.json'
# shellcheck disable=SC2016  # 'damage' expands it
damage 'a deep manifest is refused' 'manifest.json: .*: nested too deeply' \
    'printf "{\"a\":%s%s}" "$(printf "[%.0s" {1..200})" "$(printf "]%.0s" {1..200})" > manifest.json'
damage 'a manifest of more than 1 MiB is refused' 'manifest.json: 2097152 bytes, expected at most 1048576' \
    'truncate -s 2M manifest.json'
entry() { damage "$1" "manifest.json: $2" "change . '$3'"; }
entry 'another format is refused by name' \
    'dnnest_bundle: format 1, this program reads 2; train or install it again' \
    'm["dnnest_bundle"] = 1'
entry 'a manifest without a format is refused' 'dnnest_bundle: missing' 'del m["dnnest_bundle"]'
entry 'a manifest without a name is refused' 'name: missing' 'del m["name"]'
entry 'a manifest with a name of special characters is refused' \
    "name: 'a/b' is not" 'm["name"] = "a/b"'
entry 'a manifest without files is refused' 'files: missing' 'm["files"] = {}'
for name in '../x' '/etc/x' '.x' '..' '' '-x' 'a b' manifest.json manifest.json.sig; do
    entry "a file is not called '$name'" "files: '$name' is not a plain file name" \
        "m[\"files\"] = {\"$name\": m[\"files\"][\"step.trees\"]}"
done
entry 'a size is not negative' 'files: step.trees: bytes: -1 out of range 0..8388608' \
    'm["files"]["step.trees"]["bytes"] = -1'
entry 'a size has a limit' 'files: step.trees: bytes: 8388609 out of range' \
    'm["files"]["step.trees"]["bytes"] = 8388609'
entry 'the site part has a smaller limit of its size' \
    'files: site.json: bytes: 262145 out of range' \
    'm["files"]["site.json"]["bytes"] = 262145'
entry 'a size is a number' 'files: step.trees: bytes: missing' \
    'm["files"]["step.trees"]["bytes"] = "12"'
entry 'a digest has 64 digits' 'files: step.trees: sha256: expected 64' \
    'm["files"]["step.trees"]["sha256"] = "00" * 31'
entry 'a digest has hexadecimal digits' 'files: step.trees: sha256: expected 64' \
    'm["files"]["step.trees"]["sha256"] = "zz" * 32'
entry 'there are not too many files' 'files: more than 16' \
    'm["files"] = {"f%d" % i: m["files"]["step.trees"] for i in range(17)}'

new_bundle useless
change "$work/useless" 'm["residuals"]["step"]["file"] = "power.trees"'
refuses 'a residual without its file is refused' 4 'useless: .*power.trees' \
    model verify "$work/useless"
new_bundle unconfirmed
change "$work/unconfirmed" 'del m["residuals"]["step"]["confirmed"]'
refuses 'trees that libxgboost has not confirmed are of no use' 4 \
    'unconfirmed: .*libxgboost has not confirmed step.trees; train' \
    model verify "$work/unconfirmed"
refuses 'trees that libxgboost has not confirmed are not installed' 4 \
    'libxgboost has not confirmed step.trees' \
    model --dir "$place" install "$work/unconfirmed"
change "$work/unconfirmed" \
    'm["residuals"]["step"]["confirmed"] = m["residuals"]["memory"]["confirmed"]'
refuses 'a record of other trees does not confirm these' 4 \
    'libxgboost has confirmed a different step.trees' \
    model --dir "$place" install "$work/unconfirmed"

# The record is good, but libxgboost adds in single precision: 1e8 + 3 - 1e8 is 0.
new_bundle differing
python3 - "$work/differing" <<'PYTHON'
import hashlib
import json
import struct
import sys

path = sys.argv[1]
with open(path + "/manifest.json", encoding="utf-8") as file:
    m = json.load(file)
trees = b"dnntrees" + struct.pack("<4Id3I", 1, len(m["features"]["names"]), 3, 3, 0, 1, 1, 1)
trees += b"".join(struct.pack("<fHH", leaf, 0, 0) for leaf in (1e8, 3, -1e8))
digest = hashlib.sha256(trees).hexdigest()
m["files"]["step.trees"] = {"bytes": len(trees), "sha256": digest}
m["residuals"]["step"]["confirmed"]["sha256"] = digest
with open(path + "/step.trees", "wb") as file:
    file.write(trees)
with open(path + "/manifest.json", "w", encoding="utf-8") as file:
    json.dump(m, file)
PYTHON
for verb in verify install; do
    refuses "model $verb compares with libxgboost itself" 4 \
        'differing: step.trees: libxgboost predicts 0, expected 3 from these trees' \
        model --dir "$place" "$verb" "$work/differing"
done
damage 'a bundle of other features is refused' \
    'manifest.json: features: version 3, this program has' 'true'

# Install
gives 'where no bundle is installed none is listed' 1 '^$' model --dir "$place" list
gives 'a bundle is installed' 0 'dnnest/model: installed \(a, ' model --dir "$place" install "$work/a"
is 'an installed bundle is in force' "$(current)" a
is 'the first bundle has no older one' "$(slots)" 'current=a'
files=("$work/a"/*)
is 'all users may read an installed bundle, and only its owner may write it' \
    "$(stat -c '%a %u' "$place" "$place"/* | sort | uniq -c | xargs)" "${#files[@]} 644 $EUID 1 755 $EUID"
gives 'installing the same bundle again changes nothing' 0 \
    'installed already' model --dir "$place" install "$work/a"
is 'installing the same bundle again keeps no copy' "$(slots)" 'current=a'
for name in b c d e; do dn model --dir "$place" install "$work/$name" >/dev/null; done
is 'the last three older bundles are kept, the newest first' "$(slots)" 'current=e 1=d 2=c 3=b'
before=$(listing)
refuses 'a bad bundle is not installed' 4 'bad: ' model --dir "$place" install "$work/bad"
refuses 'a file is not installed' 4 \
    'Not a directory' model --dir "$place" install "$work/a/step.trees"
is 'a bundle that is refused leaves everything as it was' "$(listing) $(current)" "$before e"
json 'list has JSON' \
    '[(s["slot"], s["name"], s["damage"]) for s in d["slots"]][:2]
     == [("current", "e", None), ("1", "d", None)]' model --dir "$place" list

# Roll back
gives 'rollback brings the bundle before back' 0 \
    'rolled back \(d, ' model --dir "$place" rollback
is 'after a rollback the older bundles move up, and the undone one is aside' \
    "$(slots)" 'current=d 1=c 2=b aside=e'
gives 'a second rollback brings the next older bundle back' 0 \
    'rolled back \(c, ' model --dir "$place" rollback
is 'after a second rollback the last undone bundle is aside' "$(slots)" 'current=c 1=b aside=d'
gives 'a bundle that is aside can be installed again' 0 'installed \(d, ' \
    model --dir "$place" install "$place.aside"
is 'installing a bundle from aside moves the others down' "$(slots)" 'current=d 1=c 2=b aside=d'
truncate -s 9 "$place.1/step.trees"
gives 'rollback passes over a damaged bundle' 0 \
    'rolled back \(b, ' model --dir "$place" rollback
refuses 'rollback reports that no older bundle is left' 1 \
    'no older bundle' model --dir "$place" rollback
is 'rollback without an older bundle changes nothing' "$(slots)" 'current=b aside=d'

# Damage in the place itself
echo x >> "$place/step.trees"
refuses 'a damaged bundle is not shown' 4 'model: step.trees: ' model --dir "$place" show
gives 'list shows the damage of a bundle' 0 \
    'current .*step.trees: [0-9]+ bytes' model --dir "$place" list
try model --dir "$place" install "$work/a"
like 'install replaces a damaged bundle and reports it' \
    "$code $err" '^0 .*damaged; it is now .*model.aside'
is 'a damaged bundle is set aside, not kept among the older ones' \
    "$(slots)" 'current=a aside=damaged'
mkdir -p "$work/other/sub"
touch "$work/other/sub/file"
refuses 'a directory that is no bundle is not replaced' 4 'not a bundle, so not replaced' \
    model --dir "$work/other" install "$work/a"
ok 'a directory that is no bundle is unchanged' test -e "$work/other/sub/file"
mkdir "$work/empty"
gives 'an empty directory is replaced' 0 'installed' model --dir "$work/empty" install "$work/a"
mkdir "$work/open"
chmod 777 "$work/open"
refuses 'a place where others may write is refused' 4 'writable by group or others' \
    model --dir "$work/open/model" install "$work/a"
chmod 1777 "$work/open"
refuses 'a sticky place where others may write is refused' 4 'open: writable by group or others' \
    model --dir "$work/open/model" install "$work/a"
mkdir -m 777 "$work/open/above"
mkdir "$work/open/above/below"
refuses 'a place below a directory where others may write is refused' 4 \
    'directory .*/above: writable by others' \
    model --dir "$work/open/above/below/model" install "$work/a"
refuses 'a place must have a name' 4 'expected a directory name' model --dir / install "$work/a"
ln -s "$work/a" "$work/var/dnnest/link"
refuses 'a link is not replaced' 4 'not replaced' model --dir "$work/var/dnnest/link" install "$work/b"
rm "$work/var/dnnest/link"

# Serials
for n in 1 2 3; do
    new_bundle n$n
    change "$work/n$n" "m['name'] = 'counted'; m['serial'] = $n"
done
new_bundle n0
change "$work/n0" "m['name'] = 'counted'"
place=$work/var/serial/model
dn model --dir "$place" install "$work/n2" >/dev/null
json 'JSON has the serial' 'd["serial"] == 2' model --dir "$place" show
json 'a bundle without a serial has none in JSON' 'd["serial"] is None' model show "$work/n0"
refuses 'an older serial of the same name is refused' 4 \
    'counted: serial 1, and 2 is installed; --downgrade' model --dir "$place" install "$work/n1"
refuses 'a bundle without a serial counts as the oldest' 4 \
    'counted: serial 0, and 2 is installed' model --dir "$place" install "$work/n0"
json 'a refused bundle does not replace the installed one' \
    '[(s["slot"], s["serial"]) for s in d["slots"]] == [("current", 2)]' model --dir "$place" list
gives 'a newer serial is installed' 0 'installed' model --dir "$place" install "$work/n3"
gives 'a rollback to an older serial is allowed' 0 'rolled back' model --dir "$place" rollback
gives '--downgrade installs an older serial' 0 'installed' \
    model --dir "$place" --downgrade install "$work/n1"
gives 'a bundle of another name is installed, whatever its serial' 0 'installed' \
    model --dir "$place" install "$work/a"
change "$work/n1" "m['serial'] = -1"
refuses 'a serial out of range is refused' 4 'serial: -1 out of range' \
    model --dir "$place" install "$work/n1"
place=$work/var/dnnest/model

# A kill at any moment leaves a whole bundle in force.
rm -rf "$work/var/dnnest"
dn model --dir "$place" install "$work/a" >/dev/null
cat > "$work/kill.py" <<'PYTHON'
import json
import random
import subprocess
import sys
import time

dnnest, conf, place, work, rounds = sys.argv[1:]
common = [dnnest, "model", "--conf", conf, "--dir", place]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
started = time.monotonic()
for name in "bcd":
    subprocess.run(common + ["install", work + "/" + name], check=True, **quiet)
usual_s = (time.monotonic() - started) / 3
killed = 0
for i in range(int(rounds)):
    what = ["rollback"] if i % 3 == 0 else ["install", work + "/" + "bcdea"[i % 5]]
    child = subprocess.Popen(common + what, **quiet)
    time.sleep(random.random() * usual_s)
    child.kill()
    killed += child.wait() == -9
    shown = subprocess.run(common + ["--json", "verify"], capture_output=True, check=False)
    if shown.returncode != 0 or json.loads(shown.stdout)["name"] not in "abcde":
        sys.exit("round %d: %s" % (i, shown.stderr.decode()))
print(killed)
PYTHON
rounds=100
if [[ ${DNNEST_SANITIZERS-} = yes ]]; then rounds=20; fi
killed=$(python3 "$work/kill.py" "$DNNEST" "$work/site.conf" "$place" "$work" "$rounds" 2>&1)
like 'a killed command leaves a whole bundle in force' "$killed" '^[0-9]+$'
ok "some of $rounds commands were killed in their course: $killed" test "$killed" -gt $((rounds / 5))
dn model --dir "$place" install "$work/a" >/dev/null
dn model --dir "$place" install "$work/b" >/dev/null
dn model --dir "$place" install "$work/c" >/dev/null
like 'the command after a killed one puts everything right' \
    "$(slots)" '^current=c 1=b 2=a( 3=[a-e])?( aside=[a-e])?$'
is 'the command after a killed one removes what was left' "$(listing | grep -c tmp)" 0

# One at a time
exec 9< "$work/var/dnnest"
flock 9
(sleep 0.5; dn model --dir "$place" list) > "$work/out.list" &
timeout 20 "$DNNEST" model --dir "$place" rollback > "$work/out.2" 2> "$work/err.2"
is 'a second command waits, and then reports that another one runs' \
    "$? $(grep -c "another 'dnnest model'" "$work/err.2")" '4 1'
wait
exec 9<&-
ok 'list does not wait for another command' grep -q '^current' "$work/out.list"

# Signatures
cd "$work" || exit
gives 'a pair of keys is made' 0 'private.*public' model keygen "$work/key"
is 'only its owner can read a private key' "$(stat -c %a key key.pub | xargs)" '600 644'
refuses 'a key is never overwritten' 4 'File exists' model keygen "$work/key"
dn model keygen "$work/other-key" >/dev/null
refuses 'signing takes a key' 2 'sign: --key=FILE is missing' model sign a
gives 'a bundle is signed' 0 'manifest.json.sig: written' model --key key sign a
gives 'verify finds the signature of a bundle good' 0 \
    'ok \(a, [0-9]+ files, signature good\)' model --keys key.pub verify a
gives 'verify checks no signature where no keys are named' 0 \
    'signature not checked' model verify a
json 'JSON states that the signature was checked' \
    'd["signed"] and d["signature_checked"] is True and d["key"] == ""' \
    model --keys key.pub verify a
refuses 'verify refuses a signature of another key' 4 \
    'a: manifest.json.sig: none of the 1 known keys' \
    model --keys other-key.pub verify a
refuses 'verify refuses an unsigned bundle where keys are named' 4 \
    'b: manifest.json.sig: missing' \
    model --keys key.pub verify b
refuses 'install refuses an unsigned bundle where keys are named' 4 \
    'b: manifest.json.sig: missing' \
    model --dir "$place" --keys key.pub install b
gives '--unsigned installs an unsigned bundle' 0 \
    'installed' model --dir "$place" --keys key.pub --unsigned install b
gives 'install takes a bundle with a good signature' 0 \
    'installed \(a, [0-9]+ files, signature good\)' \
    model --dir "$place" --keys key.pub install a
ok 'the signature is installed with its bundle' \
    cmp a/manifest.json.sig "$place/manifest.json.sig"
mkdir keys
cp key.pub keys
cp other-key.pub keys/other.pub
echo nonsense > keys/README
gives 'keys may be a directory of files *.pub' 0 'signature good' model --keys keys verify a
printf 'BundleKeys=%s/keys\n' "$work" > keys.conf
gives 'dnnest.conf may name the keys' 0 'signature good' model --conf keys.conf verify a
printf 'BundleKeys=keys\n' > keys.conf
refuses 'dnnest.conf names keys by an absolute path only' 3 \
    'not an absolute path or none' model --conf keys.conf verify a
printf '%s the admin\033s key\n' "$(tail -1 key.pub)" > named.pub
gives 'a key may have a comment' 0 'signature good: the admin\?s key\)' model --keys named.pub verify a
wrong_keys() {
    printf '%b' "$2" > wrong.pub
    refuses "$1" 3 "wrong.pub: $3" model --keys wrong.pub verify a
}
wrong_keys 'a file without keys is an error' '# none\n' 'contains no public key'
wrong_keys 'a key that is too short is an error' \
    '# x\nAAAA\n' 'line 2: expected the base64 of 32 bytes'
wrong_keys 'a key that is no base64 is an error' '%%%%\n' 'line 1: expected the base64'
wrong_keys 'more than 64 keys are an error' \
    "$(for _ in {1..65}; do printf '%s\\n' "$(tail -1 key.pub)"; done)" 'more than 64 keys'
chmod 666 key.pub
refuses 'keys that others may write are not trusted' 3 'writable by' model --keys key.pub verify a
chmod 644 key.pub
chmod 777 keys
refuses 'a directory of keys that others may write is not trusted' 3 \
    'may write to it' model --keys keys verify a
chmod 755 keys
chmod 640 key
refuses 'a private key that others may read is not used' 4 'key: open to group' model --key key sign b
chmod 600 key
printf 'x' > a/manifest.json.sig
refuses 'an invalid signature is named' 4 'a: manifest.json.sig: expected the base64 of 64' \
    model --keys key.pub verify a
dn model --key key sign a >/dev/null
cp -R a changed
change changed 'm["data"] = {"rows": 2}'
refuses 'a signature is of one manifest only' 4 'none of the 1 known keys' \
    model --keys key.pub verify changed

if command -v openssl >/dev/null; then
    openssl genpkey -algorithm ed25519 -out ssl.pem 2>/dev/null
    openssl pkey -in ssl.pem -pubout -outform DER | tail -c 32 | base64 > ssl.pub
    openssl pkeyutl -sign -rawin -inkey ssl.pem -in b/manifest.json | base64 -w0 > b/manifest.json.sig
    gives 'OpenSSL makes the same signatures' 0 'signature good' model --keys ssl.pub verify b
else
    skip 'OpenSSL makes the same signatures' 'openssl is not installed'
fi
done_testing
