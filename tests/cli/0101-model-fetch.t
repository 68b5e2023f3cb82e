#!/bin/bash
# 0101-model-fetch.t - bundles from a real HTTPS server, good and hostile
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Whatever the server does: one clear error, the installed bundle as it was, nothing left.

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python
command -v openssl >/dev/null || skip_all 'openssl is not installed'
# shellcheck source=tests/cli/bundle.sh
. "$(dirname "$0")/bundle.sh"
plan_later
unset https_proxy HTTPS_PROXY http_proxy HTTP_PROXY all_proxy ALL_PROXY
try model fetch https://localhost/
[[ $err != *without-fetch* ]] || skip_all 'dnnest was built without fetch'

# --- An authority, certificates, a server ---------------------------------------------

srv=$work/srv
mkdir -p "$srv/www"
cd "$work" || exit
# certificate NAME SUBJECT-ALT-NAME DAYS: $srv/NAME.pem, signed by the authority
certificate() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -keyout "$1.key" -out "$1.csr" &&
        openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial \
            -extfile <(echo "subjectAltName=$2") -days "$3" -out "$1.crt" &&
        cat "$1.crt" "$1.key" > "$srv/$1.pem"
}
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
        -addext "${2:-basicConstraints=critical,CA:TRUE}" -days 2 -keyout "$1.key" -out "$1.crt"
}
{
    authority ca && authority other &&
        certificate good IP:127.0.0.1,DNS:localhost 2 &&
        certificate second IP:127.0.0.1 2 &&
        certificate name DNS:example.org 2 &&
        certificate expired IP:127.0.0.1 -1 &&
        authority self subjectAltName=IP:127.0.0.1 && cat self.crt self.key > "$srv/self.pem"
} > openssl.log 2>&1 || { cat openssl.log; echo 'Bail out! no certificates'; exit 1; }

mkfifo "$work/alive"
python3 "$top/tests/cli/https_server.py" "$srv" < "$work/alive" &
exec 8> "$work/alive" # the server ends when this is closed, however we end
for _ in {1..100}; do
    [[ -e $srv/ports ]] && break
    sleep 0.1
done
[[ -e $srv/ports ]] || { echo 'Bail out! no server'; exit 1; }
port() { sed -n "s/^$1 //p" "$srv/ports"; }
good=https://127.0.0.1:$(port good)

# --- Bundles ----------------------------------------------------------------------------

dn model keygen key > /dev/null
dn model keygen stranger > /dev/null
publish() {
    [[ -d $1 ]] || new_bundle "$1"
    dn model --key "${2:-key}" sign "$1" > /dev/null
    cp -R "$1" "$srv/www/$1"
}
publish new
publish forged stranger
new_bundle unsigned
cp -R unsigned "$srv/www"
# Signed, and hostile all the same: the manifest is the publisher's, the publisher is not
# always who one thinks.
hostile() {
    new_bundle "$1"
    change "$1" "$2"
    cp -R "$1" "$srv/www/$1"
    openssl pkeyutl -sign -rawin -inkey key.ssl -in "$1/manifest.json" | base64 -w0 \
        > "$srv/www/$1/manifest.json.sig"
}
# The private key in the form of RFC 8410, so that OpenSSL can sign what dnnest would not.
{ printf '\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20'
    tail -1 key | base64 -d; } | openssl pkey -inform DER -out key.ssl
hostile up 'm["files"] = {"../../../../evil": m["files"]["step.trees"]}'
hostile absolute 'm["files"] = {"/etc/evil": m["files"]["step.trees"]}'
hostile dotted 'm["files"] = {".evil": m["files"]["step.trees"]}'
hostile query 'm["files"] = {"evil?x": m["files"]["step.trees"]}'
hostile itself 'm["files"] = {"manifest.json": m["files"]["step.trees"]}'
hostile wrong 'm["files"]["step.trees"]["sha256"] = "00" * 32'
hostile huge 'm["files"]["step.trees"]["bytes"] = 10 ** 9'
hostile absent 'm["files"] = {"absent.json": m["files"]["step.trees"]}'
hostile later 'm["dnnest_bundle"] = 3'

# --- Good ones --------------------------------------------------------------------------

fetch() {
    local title=$1 code=$2 regex=$3
    shift 3
    "${check:-refuses}" "$title" "$code" "$regex" model --dir "$place" --cacert ca.crt --keys key.pub "$@"
}
new_bundle old
dn model --dir "$place" install old > /dev/null

check=gives fetch 'a bundle is fetched into a new directory' 0 \
    'fetched: fetched \(new, [0-9]+ files, signature good\)' --out fetched fetch "$good/good/new/manifest.json"
ok 'a fetched bundle is what was published' diff -r new fetched
is '--out installs nothing' "$(current)" old
check=gives fetch '--install fetches a bundle and installs it' 0 'installed \(new, ' \
    --install fetch "$good/good/new/manifest.json"
is 'a bundle that --install fetched is in force' "$(slots)" 'current=new 1=old'
dn model --dir "$place" rollback > /dev/null
check=gives fetch 'the URL of the directory of a bundle is as good' 0 \
    'installed \(new, ' --install fetch "$good/good/new"
check=gives fetch 'a URL of a directory may end in a slash' 0 \
    'installed already' --install fetch "$good/good/new/"
check=gives fetch 'a body without a length is fetched' 0 'fetched' \
    --out fetched2 fetch "$good/unsized/new/"
for how in moved moved-relative moved-twice moved-thrice; do
    check=gives fetch "a redirect within the server is followed ($how)" 0 'fetched' \
        --out "fetched-$how" fetch "$good/$how/new/"
done
printf 'BundleKeys=%s/key.pub\n' "$work" > keys.conf
gives 'dnnest.conf may name the keys' 0 'fetched' \
    model --conf keys.conf --cacert ca.crt --out fetched3 fetch "$good/good/new/"
rm -rf fetched fetched?* "$work/var/dnnest"
dn model --dir "$place" install old > /dev/null

# --- Hostile ones -----------------------------------------------------------------------

before_place=$(listing)
in_work() { find "$work" -maxdepth 1 ! -name out ! -name err | LC_ALL=C sort | xargs; }
before_work=$(in_work)
# bad_url TITLE REGEX URL OPTION...: with --install and with --out
bad_url() {
    local title=$1 regex=$2 url=$3
    shift 3
    fetch "$title" 4 "$regex" "$@" --install fetch "$url"
    is "$title: the installed bundle is as before" "$(listing) $(current)" "$before_place old"
    try model --cacert ca.crt --keys key.pub "$@" --out fetched fetch "$url"
    is "$title: no file remains" "$code $(in_work)" "4 $before_work"
}
bad() { bad_url "$1" "127.0.0.1: .*$2" "$good/$3" "${@:4}"; }

bad 'a wrong checksum is found' 'step.trees: its SHA-256 is not' changed:step.trees/new/
bad 'a wrong checksum in the manifest is found' 'step.trees: its SHA-256 is not' good/wrong/
bad 'a changed manifest is found' 'manifest.json.sig: none of the 1' changed:manifest.json/new/
bad 'a changed signature is found' 'manifest.json.sig: ' changed:manifest.json.sig/new/
bad 'a signature of another key is refused' 'none of the 1 known keys' good/forged/
bad 'a bundle without a signature is refused' \
    'manifest.json.sig: HTTP status 404' good/unsigned/
bad 'a truncated body is found' 'step.trees: .*(closed|remaining|EOF)' truncated:step.trees/new/
bad 'a truncated manifest is found' 'manifest.json: ' truncated/new/
bad 'a body that is shorter than in the manifest is detected' \
    'step.trees: [0-9]+ bytes, the manifest says' shorter:step.trees/new/
bad 'a body that is declared too large is refused' 'step.trees: larger than [0-9]+ bytes' \
    declared:step.trees/new/
bad 'a body that is larger than in the manifest is refused' \
    'step.trees: larger than [0-9]+ bytes' \
    endless:step.trees/new/
bad 'a manifest has a limit' 'manifest.json: larger than 1048576 bytes' endless/new/
bad 'a signature has a limit' 'manifest.json.sig: larger than 1024 bytes' endless:manifest.json.sig/new/
bad 'a manifest that is declared too large is refused' \
    'manifest.json: larger than 1048576' declared/new/
bad 'a header has a limit' 'manifest.json: (more than 65536 bytes of header|.*[Hh]eader)' headers/new/
bad 'a manifest of huge files is refused' 'bytes: 1000000000 out of range' good/huge/
bad 'a slow body ends with the time' 'step.trees: .*timed out' drip:step.trees/new/ --max-time 1
bad 'a server that is silent ends with the time' \
    'manifest.json: .*timed out' silent/new/ --max-time 1
bad 'a server that closes is an error' 'step.trees: .*(Empty reply|EOF|closed)' closed:step.trees/new/
bad 'a server that closes within a body is an error' 'step.trees: ' reset:step.trees/new/
bad 'a missing file is named' 'absent.json: HTTP status 404' good/absent/
bad 'a missing bundle is named' 'manifest.json: HTTP status 404' good/none/
bad 'an error of the server is named' 'step.trees: HTTP status 503' error:step.trees/new/
bad 'status 206 is an error' 'HTTP status 206' partial/new/
bad 'status 304 is an error' 'HTTP status 304' unmodified/new/
bad 'another format is refused by name' 'format 3, this program reads 2' good/later/
for how in host port plain plain-port file user nowhere; do
    bad "a redirect elsewhere is refused ($how)" 'manifest.json: redirected to .* not the same server' \
        "moved-$how/new/"
done
bad 'a redirect of a file of the bundle is refused' \
    'step.trees: redirected to' moved-host:step.trees/new/
bad 'more than three redirects are refused' 'more than 3 redirects' moved-often/new/
bad 'redirects in a circle are refused' 'more than 3 redirects' moved-round/new/
for name in up absolute dotted query itself; do
    bad "a file name that is not plain is refused ($name)" "is not a plain file name" "good/$name/"
done
not_ok 'a file name that is not plain is never requested' grep evil "$srv/log"
is 'a file name that is not plain is never written' \
    "$(find "$work" / /etc -maxdepth 1 -name '*evil*' 2>/dev/null)" ''
: > "$srv/log"
bad 'a bundle of another key is refused' 'none of the 1 known' good/forged/
is 'of a bundle of another key only manifest and signature are fetched' \
    "$(sort -u "$srv/log" | xargs)" \
    '/good/forged/manifest.json /good/forged/manifest.json.sig'

# Certificates
tls() { bad_url "$1" "127.0.0.1: manifest.json: .*$2" "https://127.0.0.1:$(port "$3")/good/new/" "${@:4}"; }
tls 'an expired certificate is refused' 'certificate has expired' expired
tls 'a self-signed certificate is refused' '(self.signed|certificate)' self
tls 'a certificate of another host is refused' '(subject name|does not match|SAN)' name
tls 'a certificate of an unknown authority is refused' \
    '(unable to get local issuer|certificate)' good --cacert other.crt
tls 'a server without TLS is refused' '(SSL|TLS|wrong version|record)' plain
refuses 'the private authority is not the system'"'"'s' 4 'certificate' \
    model --keys key.pub --out fetched fetch "$good/good/new/"
fetch 'a file of certificates must be there' 4 '(CA|certificate|none.crt)' --cacert none.crt --out fetched \
    fetch "$good/good/new/"
bad_url 'a port without a server is named' '127.0.0.1: manifest.json: .*(refused|onnect)' \
    https://127.0.0.1:1/new/

# URLs
url() { bad_url "$1" "$2" "$3"; }
url 'plain HTTP is refused' 'only https:// is allowed' "http://127.0.0.1:$(port plain)/good/new/"
url 'a URL of a file is refused' 'only https://' "file://$srv/www/new/manifest.json"
url 'a URL of FTP is refused' 'only https://' ftp://127.0.0.1/new/
url 'a text that is no URL is named' "'::' is not a URL" '::'
url 'a URL has no password' 'without user' "https://me:secret@127.0.0.1:$(port good)/good/new/"
url 'a URL has no query' "without user, '\?'" "$good/good/new/manifest.json?x=1"
url 'a URL has no fragment' "and '#'" "$good/good/new/manifest.json#x"
like 'a control character is not echoed' \
    "$(dn model --keys key.pub --out fetched fetch $'https://\e[2J/' 2>&1 | cat -v)" '^dnnest: [^^]*$'

# Options
refuses 'fetch takes --install or --out' 2 'one of --install and --out' model fetch "$good/good/new/"
refuses 'fetch does not take --install and --out together' 2 'one of --install and --out' \
    model --install --out fetched fetch "$good/good/new/"
refuses 'fetch needs public keys' 3 'no public keys: set BundleKeys=' \
    model --cacert ca.crt --out fetched fetch "$good/good/new/"
fetch 'a signature cannot be waived' 2 'must be signed' --unsigned --out fetched fetch "$good/good/new/"
mkdir there
fetch 'a directory that is there is not written to' 2 'there: exists already' --out there \
    fetch "$good/good/new/"
fetch 'a directory is not made in a missing one' 4 \
    'No such file' --out no/where fetch "$good/good/new/"
rmdir there

# --- Signals ----------------------------------------------------------------------------

for signal in INT TERM HUP; do
    is "SIG$signal in the middle ends fetch, as that signal does" \
        "$(python3 - "$signal" "$DNNEST" model \
        --conf site.conf --dir "$place" --cacert ca.crt --keys key.pub --install \
        fetch "$good/drip:step.trees/new/" <<'PYTHON'
import signal
import subprocess
import sys
import time

number = getattr(signal, "SIG" + sys.argv[1])
child = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE,
                         preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
time.sleep(0.7)
started = time.monotonic()
child.send_signal(number)
message = child.communicate()[1].decode()
print(child.returncode == -number, time.monotonic() - started < 5, message, end="")
PYTHON
    )" 'True True dnnest: 127.0.0.1: step.trees: interrupted'
    is 'SIG$signal does not change the installed bundle, and no file remains' \
        "$(listing) $(current)" "$before_place old"
done

exec 8>&-
wait
done_testing
