#!/bin/bash
# citations.t - what comments and documents cite is in the tree, or public
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A citation is a word of a comment, or of a page, that ends like a source of this tree
# (.c .h .cu .t .am .m4 .md .scd, and .py after a folder), or that begins with one of its
# folders and a slash. It is a path from the top of the tree, or the end of one; of a
# program the source will do. '*' stands for anything, NAME, TARGET, FILE and DIR for any
# name. A path that begins with a slash is that of an installed file, not one of ours.
#
# Files of other projects begin with src/ if they are Slurm's, or are listed here. Other
# citations are public: a paper with its year, an RFC, a page of a manual.

. "$(dirname "$0")/lib.sh"

# File: project
readonly FOREIGN='slurm.h: Slurm
slurm_errno.h: Slurm
spank.h: Slurm
data/openwebtext/readme.md: karpathy/nanoGPT
megatron/core/tensor_parallel/cross_entropy.py: NVIDIA/Megatron-LM
megatron/core/distributed/param_and_grad_buffer.py: NVIDIA/Megatron-LM
PyTorch/Recommendation/NCF/dataloading.py: NVIDIA/DeepLearningExamples
adaptdl/torch/parallel.py: petuum/adaptdl
karpathy/llm.c: a repository'

# Documents and places that are not part of the tree.
readonly OUTSIDE='(DESIGN|methods|whitebox-notes|slurm|review|style)\.md|DESIGN section|[Ii]ssue #?[0-9]|(^|[^A-Za-z])shared/|(^|[^A-Za-z0-9_.])/work/'

# All files that are written by hand, and no data.
written() {
    (cd "$top" && find "${OURS[@]}" etc packaging tests \
        \( -path tests/fuzz/corpus -o -path tests/data -o -name .deps \
        -o -name .libs -o -name build-aux -o -name '__pycache__' \) -prune -o -type f \
        ! -name '*.csv' ! -name '*.json' ! -name '*.svg' ! -name '*.o' ! -name '*.lo' \
        ! -name 'libtool.m4' ! -name 'lt*.m4' -print
        ls README* NEWS CONTRIBUTING.md SECURITY.md doc/*.md configure.ac Makefile.am) | LC_ALL=C sort -u
}

# "FILE:LINE:TEXT" of the prose of files: comments of programs, all of a page
said() {
    (cd "$top" && awk '
    FNR == 1 {
        page = FILENAME ~ /(\.(md|scd|txt)|README|NEWS)$/
        c = FILENAME ~ /\.(c|h|cu|cuh)$/
        comment = 0
    }
    page { print FILENAME ":" FNR ":" $0; next }
    !c { if (match($0, /(^|[ \t])#/)) print FILENAME ":" FNR ":" substr($0, RSTART + RLENGTH); next }
    {
        out = ""
        line = $0
        while (line != "") {
            if (comment) {
                end = index(line, "*/")
                out = out (end ? substr(line, 1, end - 1) " " : line)
                line = end ? substr(line, end + 2) : ""
                comment = !end
            } else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)+\047/)) {
                if (substr(line, RSTART, 2) == "//") { out = out substr(line, RSTART + 2); break }
                comment = substr(line, RSTART, 2) == "/*"
                line = substr(line, RSTART + (comment ? 2 : RLENGTH))
            } else
                line = ""
        }
        print FILENAME ":" FNR ":" out
    }' "$@")
}

# Of "FILE:LINE:TEXT" the citations, "FILE:LINE: WORD"
cited() {
    awk -v roots="^($(tr ' ' '|' <<<"${OURS[*]}")|etc|packaging|tests)/" '
    {
        match($0, /^[^:]*:[0-9]+:/)
        place = substr($0, 1, RLENGTH)
        text = substr($0, RLENGTH + 1)
        before = ""
        while (match(text, /[A-Za-z0-9_.+*-]+(\/[A-Za-z0-9_.+*-]+)*/)) {
            word = substr(text, RSTART, RLENGTH)
            if (RSTART > 1) before = substr(text, RSTART - 1, 1)
            text = substr(text, RSTART + RLENGTH)
            sub(/\/?[.,]+$/, "", word)
            sub(/^(\.\.\/)+/, "", word)
            if (before !~ /[\/$~}<]/ && word !~ /^src\// &&
                (word ~ /[A-Za-z0-9_*]\.(c|h|cu|t|am|m4|md|scd)$/ || word ~ /\/.*\.py$/ || word ~ roots) &&
                word !~ /(^|\/)(NAME|TARGET|FILE|DIR)(\.|\/|$)/)
                print place, word
            before = ""
        }
    }'
}

# Of "FILE:LINE: WORD" those that are not in the tree
missing() {
    awk '
    NR == FNR {
        path = $0
        for (;;) {
            known[path]
            for (part = path; sub(/\/[^\/]*$/, "", part);) known[part]
            if (!sub(/^[^\/]*\//, "", path)) break
        }
        next
    }
    {
        word = $2
        if (word ~ /\*/) sub(/\/?[^\/]*\*.*$/, "", word)
        if (word != "" && !(word in known) && !(word ".c" in known)) print
    }' <(cd "$top" && find . -path ./.git -prune -o -type f -print | sed 's|^\./||') -
}

mapfile -t files < <(written)
foreign=$(cut -d: -f1 <<<"$FOREIGN")
citations=$(said "${files[@]}" | cited)
unknown=$(missing <<<"$citations")

ok 'citations are found' test "$(wc -l <<<"$citations")" -gt 300
is 'every file that is cited is in the tree, or listed with its project' \
    "$(awk 'NR == FNR { foreign[$0]; next } !($2 in foreign)' <(echo "$foreign") - <<<"$unknown")" ''
is 'every listed file is cited' \
    "$(comm -23 <(sort <<<"$foreign") <(cut -d' ' -f2 <<<"$unknown" | sort -u))" ''
is 'no document outside the tree is named' \
    "$(cd "$top" && grep -InE "$OUTSIDE" "${files[@]}" | grep -v '^tests/lint/citations\.t:')" ''
is 'a section is one of a paper with its year, or of an RFC' \
    "$(said "${files[@]}" | awk '
        /[Ss]ections? [0-9]/ && (last $0) !~ /(19|20)[0-9][0-9]|paper|RFC/ { print }
        { last = $0; sub(/^[^:]*:[0-9]+:/, "", last) }' | grep -v '^tests/lint/citations\.t:')" ''

# The check itself must find such citations.
is 'a citation of a missing file is detected' \
    "$(printf '%s\n' 'a.c:1: as in plugin/nothing.c, nothing/keeper.c or NOTES.md.' | cited | missing |
        cut -d' ' -f2 | xargs)" 'plugin/nothing.c nothing/keeper.c NOTES.md'
is 'citations of files of the tree, of the system and of Slurm are accepted' \
    "$(printf '%s\n' 'a.c:1: submit/keeper.c, keeper.c, learn/data/*.csv, /etc/x.h, src/api/x.c' |
        cited | missing)" ''
ok 'a citation of a document outside the tree is detected' grep -qE "$OUTSIDE" <<<'see DESIGN''.md'
done_testing
