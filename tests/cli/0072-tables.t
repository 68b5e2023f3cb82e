#!/bin/bash
# 0072-tables.t - tables as wide as the terminal, and colour
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

spec=model=resnet50,batch=64,precision=fp16,epochs=90,dataset=imagenet
widest() { awk '{ if (length > n) n = length } END { print n + 0 }'; }

# fits TITLE COLUMNS COMMAND ARGUMENT...: no line is wider
fits() {
    local title=$1 columns=$2
    shift 2
    ok "$title fits $columns columns" \
        [ "$(COLUMNS=$columns dn "$@" | tee "$work/narrow" | widest)" -le "$columns" ]
    ok "$title has rows with $columns columns" [ "$(wc -l <"$work/narrow")" -ge 3 ]
}
for columns in 100 60; do
    fits 'the table of predict' $columns predict $spec
    fits 'that of the whole catalogue' $columns predict --all $spec
    fits 'that of batch sizes' $columns predict --batch-sizes --all $spec
    fits 'the hardware' $columns hardware
    fits 'the zoo' $columns zoo
done
fits 'the table of CPU counts' 100 predict --cpu-curve=1k --gpu=a100 $spec
fits 'that of numbers of GPUs' 100 predict --gpus=1,2,4 --all $spec
fits 'explain' 100 explain --gpu=a100 $spec
fits 'hardware with sources' 100 hardware --sources a100_sxm4_40gb
ok 'without a terminal and without COLUMNS a table has 100 columns' \
    [ "$(unset COLUMNS; dn predict --all $spec | widest)" -le 100 ]
ok 'a wide terminal gets all of it' [ "$(COLUMNS=300 dn predict --all $spec | widest)" -gt 110 ]
like 'what has no room is named' "$(COLUMNS=100 dn predict --all $spec)" \
    $'\nNo room for: .*SAMPLES/s/COST.* \\(a wider terminal or --json shows them\\)'
is 'a column that is left out is not printed' \
    "$(COLUMNS=100 dn predict --all $spec | head -2 | grep -c SAMPLES)" 0
is 'no line of a narrow table ends in a blank' \
    "$({ COLUMNS=60 dn predict --all $spec; COLUMNS=60 dn zoo; } | grep -c ' $')" 0
words() { tr -s ' \n' '\n' | LC_ALL=C sort | uniq -c; }
is 'words of a cell that come below each other are all there' \
    "$(COLUMNS=100 dn zoo 'resnet*' | words)" "$(COLUMNS=300 dn zoo 'resnet*' | words)"
first() { COLUMNS=60 dn predict --batch-sizes --gpu=t4_16gb --gpu=a100 $spec | grep -c '^a100 '; }
ok 'each block of a table that is cut has the first column' [ "$(first)" -gt 5 ]

# --- colour ----------------------------------------------------------------------------

escape=$'\033'
has_color() { [[ $("$@" 2>&1) = *"$escape["* ]]; }
# tty COMMAND...: on a terminal of 80 columns
tty() {
    python3 - "$@" <<'PYTHON'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
out = b""
try:
    while chunk := os.read(fd, 4096):
        out += chunk
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.write(out.decode().replace("\r", ""))
PYTHON
}
command=("$DNNEST" predict "${trusted[@]}")
unset NO_COLOR
export TERM=xterm
ok 'without a terminal there is no colour' bash -c "! grep -q '$escape' <(\"\$@\")" - \
    "${command[@]}" $spec
ok '--color colours without a terminal' has_color "${command[@]}" --color $spec
ok '--color=always does' has_color "${command[@]}" --color=always $spec
tty "${command[@]}" $spec >"$work/tty"
ok 'a terminal has colour' grep -q "$escape" "$work/tty"
ok 'the width is that of the terminal' \
    [ "$(sed "s/$escape\\[[0-9]*m//g" "$work/tty" | widest)" -le 80 ]
never() { ok "$1" bash -c '! grep -q "'"$escape"'" "$1"' - "$work/tty"; }
NO_COLOR=1 tty "${command[@]}" $spec >"$work/tty"
never 'NO_COLOR has none'
TERM=dumb tty "${command[@]}" $spec >"$work/tty"
never 'TERM=dumb has none'
tty "${command[@]}" --color=never $spec >"$work/tty"
never '--color=never has none'
tty "${command[@]}" model=x,batch=1 >"$work/tty"
ok 'an error on a terminal has colour' grep -q "$escape" "$work/tty"
refuses 'another word is an error' 2 "color: 'blue', expected auto, always or never" \
    predict --color=blue $spec
done_testing
