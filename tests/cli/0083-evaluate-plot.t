#!/bin/bash
# 0083-evaluate-plot.t - predictions against measured runs as a picture
#
# SPDX-License-Identifier: GPL-2.0-or-later

# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need_python

spec='"model=resnet50,batch=64,precision=fp16,optimizer=momentum,input=synthetic"'
cat > "$work/runs.csv" <<CSV
spec,gpu,step_ms,peak_mem_gb,power_w,group,source
$spec,t4_16gb,,8,68,early,theirs
$spec,v100_sxm2_32gb,90,8,250,cnn,ours
$spec,t4_16gb,280,8,,cnn,theirs
$spec,t4_16gb,0.001,,,hopeless,theirs
$spec,t4_16gb,99999,,,doomed,theirs
$spec,t4_16gb,300,,,,ours
$spec,abacus,100,,,skipped,ours
CSV
runs=$work/runs.csv

# Tests that do not need gnuplot.
for name in picture picture.txt picture.svg.gz ''; do
    refuses "'$name' is no name of a picture" 2 'expected a name that ends in .svg, .png or .pdf' \
        evaluate --plot="$work/$name" "$runs"
done
refuses 'a wrong name is refused before the table is read' 2 'expected a name' \
    evaluate --plot=x.txt <(printf 'no,table\n1,2\n')
refuses 'a missing folder is named' 5 'none/a.svg: No such file' \
    evaluate --plot="$work/none/a.svg" "$runs"
mkdir "$work/bin"
real=$(realpath "$DNNEST-dev")
[[ -x ${real%/*}/.libs/dnnest-dev ]] && real=${real%/*}/.libs/dnnest-dev
without_gnuplot() {
    local path=$PATH
    echo old > "$work/kept.svg"
    PATH=$work/bin
    code=0
    "$real" evaluate --conf "$work/site.conf" --hardware "$work/hardware" --model none \
        --datasets "$work/datasets.conf" --plot "$work/kept.svg" "$1" \
        >"$work/out" 2>"$work/err" || code=$?
    PATH=$path
}
without_gnuplot "$runs"
is 'without gnuplot there is no picture' "$code" 5
like 'a message states that gnuplot is missing' \
    "$(cat "$work/err")" '^dnnest-dev: gnuplot is not installed '
is 'without gnuplot nothing else is printed' "$(cat "$work/out")" ''
is 'without gnuplot the old picture stays' "$(cat "$work/kept.svg")" old

# nothing TITLE CSV [CODE]: the table has nothing to draw, but its report is printed.
nothing() {
    printf '%b' "$2" > "$work/nothing.csv"
    without_gnuplot "$work/nothing.csv"
    is "$1 has no picture" "$code" 1
    is "$1: a message states that nothing was drawn" "$(cat "$work/err")" \
        "dnnest-dev: $work/kept.svg: not drawn, no row has a prediction and a measurement"
    like "$1: the rows are reported" "$(cat "$work/out")" '^[0-9]+ rows, '
    is "$1: the old picture stays" "$(cat "$work/kept.svg")" old
    is "$1: no other file remains" "$(find "$work" -name 'kept.svg.*' | wc -l)" 0
}
nothing 'a table without rows' 'spec,gpu,step_ms\n'
nothing 'a table without measurements' "spec,gpu,step_ms\n$spec,t4_16gb,\n"
nothing 'a table that cannot be predicted' "spec,gpu,step_ms\n$spec,abacus,5\n"

if ! command -v gnuplot >/dev/null; then
    skip 'pictures are drawn' 'gnuplot is not installed'
    done_testing
    exit
fi

# svg FILE: all its text, a line each
svg() {
    python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree

root = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
assert root.tag == space + "svg", root.tag
for text in root.iter(space + "text"):
    print("".join(text.itertext()).strip())
PYTHON
}
# shows TITLE LINE: the picture that was drawn last has the line
shows() {
    local problem=
    grep -qxF -- "$2" <<<"$text" || problem="no line '$2' in: $text"
    verdict "$1"
}
hides() {
    local problem=
    ! grep -qF -- "$2" <<<"$text" || problem="'$2' is in: $text"
    verdict "$1"
}
draw() {
    dn evaluate --plot "$work/a.svg" "$@" >/dev/null
    text=$(svg "$work/a.svg" 2>&1)
}

ok 'a picture is drawn' dn evaluate --plot "$work/a.svg" "$runs"
draw "$runs"
shows 'the title of a picture has the metric and the runs' 'step_time: 5 of 7 rows'
shows 'the axes have a unit' 'measured, ms'
shows 'the picture has lines of the factor 2' 'twice, half'
shows 'groups are named with their size' 'cnn (2)'
shows 'runs of no group are the others' others
shows 'the coverage is drawn by group' 'Below the 95 % bound, by group'
shows 'the coverage of all runs is drawn' 'all (5)'
hides 'a row without a step time is not drawn' early
hides 'a row that cannot be predicted is not drawn' skipped
bars=$(grep -nE '^(all|hopeless|doomed)' <<<"$text" | tail -3 | sed 's/^[0-9]*://' | tr '\n' ' ')
like 'the worst bound is the first' "$bars" '^all \(5\) doomed \(1\) hopeless \(1\) $'
is 'with --plot the table is printed as well' "$(dn evaluate --plot "$work/a.svg" "$runs")" \
    "$(dn evaluate "$runs")"
is 'with --plot JSON is printed as well' "$(dn evaluate --json --plot "$work/a.svg" "$runs")" \
    "$(dn evaluate --json "$runs")"
cp "$work/a.svg" "$work/b.svg"
draw "$runs"
ok 'the same table has the same picture' cmp "$work/a.svg" "$work/b.svg"
is 'no file remains besides the picture' "$(find "$work" -name 'a.svg.*' | wc -l)" 0
draw --predictions "$work/p.csv" "$runs"
is 'with --plot predictions are written as well' "$(wc -l < "$work/p.csv")" 8

draw --by source --by gpu "$runs"
shows '--by chooses the groups, gpu before source' 'Below the 95 % bound, by gpu'
shows 'the groups that --by chooses are drawn' 't4_16gb (4)'
sed 's/group/team/' "$runs" > "$work/models.csv"
draw "$work/models.csv"
shows 'without groups, models are distinguished' 'resnet50 (5)'
hides 'without groups there are no others in the picture' others
draw --by group "$work/models.csv"
shows 'without the groups of --by there is a line of all runs' 'all (5)'
printf 'spec,gpu,peak_mem_gb\n%s,t4_16gb,8\n' "$spec" > "$work/memory.csv"
draw "$work/memory.csv"
shows 'without a step time, memory is drawn' 'gpu_memory: 1 of 1 rows'
shows 'memory is drawn in its unit' 'predicted, GiB'
printf 'spec,gpu,power_w\n%s,t4_16gb,60\n' "$spec" > "$work/power.csv"
draw "$work/power.csv"
shows 'without step time and memory, power is drawn' 'power: 1 of 1 rows'
shows 'power is drawn with its bound' 'Below the 95 % bound, by model'
dn evaluate --plot "$work/a.png" "$runs" >/dev/null
is '.png is PNG' "$(head -c 4 "$work/a.png" | tail -c 3)" PNG
dn evaluate --plot "$work/a.pdf" "$runs" >/dev/null
is '.pdf is PDF' "$(head -c 4 "$work/a.pdf")" '%PDF'

# Names that are special to gnuplot, to its data or to SVG.
python3 - "$work/odd.csv" "$work/pwned" "$spec" <<'PYTHON'
import csv
import sys

pwned = sys.argv[2]
names = ["`touch %s`" % pwned, '"; system("touch %s"); #' % pwned, "'; ! touch %s" % pwned,
         "END", "a\nEND\n! touch %s\n" % pwned, "$(touch %s)" % pwned, "@points0", "$bars",
         "%s%n%y%99999d", "# none", "\\", "<script>&amp;", "\x1b[31m", "b\x7f", "Größe",
         "x" * 200, "{/*9 big}_2^3", "1e999 nan"]
with open(sys.argv[1], "w", encoding="utf-8", newline="") as file:
    table = csv.writer(file)
    table.writerow(["spec", "gpu", "step_ms", "group"])
    for i, name in enumerate(names * 2):
        table.writerow([sys.argv[3].strip('"'), "t4_16gb", 100 + i, name])
PYTHON
ok 'odd names of groups are drawn' dn evaluate --plot "$work/a.svg" "$work/odd.csv"
draw "$work/odd.csv"
shows 'all rows of odd names are drawn' 'step_time: 36 of 36 rows'
ok 'no command in a name is run' test ! -e "$work/pwned"
shows 'back quotes of a name are shown as ?' \
    "$(printf '?touch %s' "$work/pwned" | head -c 28)... (2)"
shows 'a name that would end the data is drawn as it is' 'END (2)'
shows 'a name that is a format is drawn as it is' '%s%n%y%99999d (2)'
shows 'a name that is a comment is drawn as it is' '# none (2)'
shows 'a name that is markup is drawn as it is' '<script>&amp; (2)'
shows 'a long name is cut' "$(printf 'x%.0s' {1..28})... (2)"
is 'only ASCII is in the picture' "$(LC_ALL=C grep -c '[^ -~[:space:]]' <<<"$text")" 0

# Many rows, many groups: extreme values, more points than are drawn.
printf 'spec,gpu,step_ms\n%s,t4_16gb,1e-9\n%s,t4_16gb,1e15\n' "$spec" "$spec" \
    > "$work/extreme.csv"
draw "$work/extreme.csv"
shows 'extreme times are drawn' 'step_time: 2 of 2 rows'
awk -v n=25000 'BEGIN {
    print "spec,gpu,step_ms,group"
    for (i = 0; i < n; i++)
        printf "\"model=mlp,layers=%d,hidden=%d,batch=%d,precision=fp16\",t4_16gb,%.3f," \
            "group %d\n", 1 + i % 7, 64 + i % 61, 1 + i % 512, 1 + i % 100, i % 2000
}' > "$work/long.csv"
draw "$work/long.csv"
shows 'a sample of many runs is drawn' 'step_time: 25000 of 25000 rows, a sample of 20000 drawn'
shows 'of many groups those with the worst bounds are drawn' \
    'Below the 95 % bound, by group (30 worst of 1025)'
shows 'shares are of all runs' 'all (25000)'
cp "$work/a.svg" "$work/b.svg"
draw "$work/long.csv"
ok 'the sample is always the same' cmp "$work/a.svg" "$work/b.svg"
ok 'the size of the picture is bounded' test "$(stat -c %s "$work/a.svg")" -lt 8000000

if command -v valgrind >/dev/null && ! grep -q __asan_init "$real"; then
    DNNEST="$work/valgrind"
    # What the loader does with the paths of many libraries.
    printf '{\nloader\nMemcheck:Addr8\nfun:strncmp\nfun:is_dst\n...\n}\n' > "$work/supp"
    printf '#!/bin/sh\nexec valgrind -q --suppressions="%s" --leak-check=full --error-exitcode=99 "%s" "$@"\n' \
        "$work/supp" \
        "$real" > "$DNNEST-dev"
    chmod +x "$DNNEST-dev"
    ok 'a picture has no memory error' dn evaluate --plot "$work/a.svg" "$work/odd.csv"
    printf 'spec,gpu,step_ms\n%s,t4_16gb,5\n"x' "$spec" > "$work/bad.csv"
    try evaluate --plot "$work/a.svg" "$work/bad.csv"
    is 'an error causes no memory error' "$code" 4
else
    skip 'a picture has no memory error' 'no valgrind, or built with sanitizers'
fi
done_testing
