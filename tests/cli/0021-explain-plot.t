#!/bin/bash
# 0021-explain-plot.t - pictures by gnuplot
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

explain=(explain --gpu=v100_sxm2_32gb 'model=resnet50,batch=64,precision=fp16')

# Tests that do not need gnuplot.
for name in picture picture.txt picture.svg.gz .svgx ''; do
    refuses "'$name' is no name of a picture" 2 'expected a name that ends in .svg, .png or .pdf' \
        "${explain[@]}" --plot="$work/new/$name"
done
refuses 'a missing folder is named' 5 'none/a.svg: No such file' \
    "${explain[@]}" --plot="$work/none/a.svg"
mkdir "$work/dir.svg"
refuses 'a folder is no picture' 5 'dir.svg: not a regular file' \
    "${explain[@]}" --plot="$work/dir.svg"
refuses 'a device is not overwritten' 5 'null.svg: not a regular file' \
    "${explain[@]}" --plot="$(ln -s /dev/null "$work/null.svg"; echo "$work/null.svg")"

# left NAME: how many temporary files of that name there are
left() { find "$work" -name "$1.*" | wc -l; }

# A fake gnuplot: the behavior when there is none, or when it fails.
fake() {
    mkdir -p "$work/bin"
    rm -f "$work/bin/gnuplot"
    if (($#)); then
        printf '#!/bin/sh\n%s\n' "$1" > "$work/bin/gnuplot"
        chmod +x "$work/bin/gnuplot"
    fi
}
real=$(command -v realpath >/dev/null && realpath "$DNNEST" || echo "$DNNEST")
[[ -x ${real%/*}/.libs/dnnest ]] && real=${real%/*}/.libs/dnnest
dn() {
    "$real" "$1" --conf "$work/site.conf" --hardware "$work/hardware" \
        --datasets "$work/datasets.conf" "${@:2}"
}
broken() {
    local title=$1 regex=$2
    local path=$PATH
    echo old > "$work/kept.svg"
    PATH=$work/bin
    code=0
    dn "${explain[@]}" --plot "$work/kept.svg" >"$work/out" 2>"$work/err" || code=$?
    PATH=$path
    is "$title gives exit code 5" "$code" 5
    like "$title is named" "$(cat "$work/err")" "$regex"
    is "$title prints nothing else" "$(cat "$work/out")" ''
    is "$title leaves the old picture" "$(cat "$work/kept.svg")" old
    is "$title leaves no other file" "$(left kept.svg)" 0
}
fake
broken 'a missing gnuplot' '^dnnest: gnuplot is not installed \(package gnuplot-nox, or gnuplot\)$'
fake 'echo "line 3: no such terminal" >&2; exit 1'
broken 'a gnuplot that fails' '^dnnest: gnuplot failed: line 3: no such terminal$'
fake 'kill -KILL $$'
broken 'a gnuplot that is killed' '^dnnest: gnuplot was killed by signal 9: $'
fake 'exit 0'
broken 'a gnuplot that draws nothing' '^dnnest: gnuplot drew nothing$'
fake 'printf "\033[31mred\n" >&2; exit 2'
broken 'a gnuplot that prints control characters' '^dnnest: gnuplot failed: \?\[31mred$'

if ! command -v gnuplot >/dev/null; then
    skip 'pictures are drawn' 'gnuplot is not installed'
    done_testing
    exit
fi

ok 'a picture is drawn' dn "${explain[@]}" --plot "$work/a.svg"
svg() {
    python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree

root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
assert root.tag == "{http://www.w3.org/2000/svg}svg", root.tag
print(" ".join("".join(t.itertext()).strip() for t in root.iter("{http://www.w3.org/2000/svg}text")))
PYTHON
}
text=$(svg "$work/a.svg" 2>&1)
like 'the picture is SVG and has the run in its title' "$text" \
    'resnet50, batch 64, on v100_sxm2_32gb: [0-9.]+ ms a step, bound by [a-z]+'
like 'the picture has the stages' \
    "$text" 'forward .*backward_data .*backward_weight .*optimizer .*host'
like 'the picture has the operators and what bounds them' "$text" \
    'compute.*bandwidth.*launch.*conv.*norm|conv.*norm.*compute.*bandwidth.*launch'
like 'the picture has the memory' "$text" 'weights .*activations .*context'
is 'with --plot the table is printed as well' "$(dn "${explain[@]}" --plot "$work/a.svg")" \
    "$(dn "${explain[@]}")"
is 'with --plot JSON is printed as well' "$(dn "${explain[@]}" --json --plot "$work/a.svg")" \
    "$(dn "${explain[@]}" --json)"
is 'no file remains besides the picture' "$(left a.svg)" 0
is 'the picture has the permissions of an ordinary file' "$(stat -c %a "$work/a.svg")" 644
cp "$work/a.svg" "$work/b.svg"
dn "${explain[@]}" --plot "$work/a.svg" >/dev/null
ok 'the same command draws the same picture' cmp "$work/a.svg" "$work/b.svg"
ln -s a.svg "$work/link.svg"
dn "${explain[@]/64/32}" --plot "$work/link.svg" >/dev/null
like 'a link in the place of the picture is followed' "$(svg "$work/a.svg")" 'batch 32'
ok 'a link in the place of the picture stays a link' test -L "$work/link.svg"
odd="$work/a'b\"c\`touch \$HOME\`;%s.svg"
ok 'the name of a picture may have any character' dn "${explain[@]}" --plot "$odd"
like 'a picture with an odd name has its contents' "$(svg "$odd")" resnet50

dn "${explain[@]}" --plot "$work/a.png" >/dev/null
is '.png is PNG' "$(head -c 4 "$work/a.png" | tail -c 3)" PNG
dn "${explain[@]}" --plot "$work/a.PDF" >/dev/null
is '.PDF is PDF' "$(head -c 4 "$work/a.PDF")" '%PDF'
for name in "\`touch $work/pwned\`" "\\\"; system('touch $work/pwned'); #" "'; ! touch $work/pwned" \
    "\$(touch $work/pwned)" '%s%n%99999d'; do
    printf '{"dnnest": 1, "spec": {"batch": 8, "precision": "fp16"}, "graph": {"name": "%s", "ops": [
        {"op": "linear", "name": "%s", "in": [[64]], "out": [[64]], "params": 4160}]}}' \
        "$name" "$name" > "$work/odd.json"
    ok "a network with the name ${name/$work\//} is drawn" \
        dn explain --gpu=v100_sxm2_32gb "@$work/odd.json" --plot "$work/odd.svg"
done
ok 'no command in a name is run' test ! -e "$work/pwned"
ok 'a network with few known figures is drawn' \
    dn explain --gpu t4_16gb --plot "$work/c.svg" params=1,flops=1,activations=1,batch=1
dn explain --gpu t4_16gb --plot "$work/none.svg" model=resnet50,batch=8,precision=bf16 \
    >/dev/null 2>&1
ok 'what cannot run is not drawn' test ! -e "$work/none.svg"
done_testing
