#!/bin/bash
# words.t - pages that people read use the words of a Slurm admin
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Words that are stilted, ambiguous, or English of another century, and what to write
# instead. Titles of tests that tables cite, and what is between backticks or in strings, are
# not looked at.

. "$(dirname "$0")/lib.sh"

# An extended regex of whole words, in any case: what to write instead
readonly AVOID='nobody|whoever|whosoever: no user, no other user, anyone who
lest: so that ... not
in vain: without effect
goes over|go over: overrides
comes behind|come behind|behind it,|behind other: after
thereof|therein|wherein|whence|hence|thereby: a sentence of its own
shall|ought: must
for good: permanently
mended|amiss|errand: repaired, wrong, task
crazy|mad: absurd
dearer|dear: more expensive
in sight: known
by chance: at random
one another: each other
himself|oneself|herself: themselves
no part of: not part of
made up|made-up: simulated, invented
told of|is told|are told|tells of: gets a message, is reported
tells that|tells why|tells what|tells how|tell that|that tell: says, shows
asked for|asks for|ask for: requested
what is not known|what is known: unknown values
holds of: holds for
at all times: always
as yet|not any more: still not, no longer
in the way of: as'

# The same for sources: their comments, and the titles of tests.
readonly AVOID_IN_SOURCES='nobody|whoever: no user, no other user, anyone who
lest: so that ... not
in vain: without effect
shall: must
for good: permanently
crazy: absurd
dearer: more expensive'

# avoided [WORDS]: of 'FILE:LINE:TEXT' on standard input, those with such a word, and the
# advice
avoided() {
    local text words advice
    text=$(sed -E 's/`[^`]*`: [^|]*\|$/|/; s/`[^`]*`//g; s/"[^"]*"//g')
    while IFS=: read -r words advice; do
        grep -iE ":.*:.*(^|[^A-Za-z-])($words)([^A-Za-z-]|\$)" <<<"$text" |
            sed "s/\$/  <- write:$advice/"
    done <<<"${1:-$AVOID}"
}

mapfile -t files < <(cd "$top" && ls README.md CONTRIBUTING.md SECURITY.md NEWS doc/*.md \
    learn/data/*.md */*.scd */*/*.scd)
ok 'there are pages to look at' test "${#files[@]}" -ge 15
ok 'the manual pages have at most 20,000 words' \
    test "$(cd "$top" && cat */*.scd */*/*.scd | wc -w)" -le 20000
is 'no page has a word to avoid' "$(cd "$top" && grep -nH '' "${files[@]}" | avoided)" ''

mapfile -t files < <(cd "$top" && find "${OURS[@]}" tests -name '*.[ch]' -o -name '*.t' |
    grep -vx tests/lint/words.t)
ok 'there are sources to look at' test "${#files[@]}" -ge 500
is 'no source has such a word' "$(cd "$top" && grep -nHiE "$(cut -d: -f1 <<<"$AVOID_IN_SOURCES")" \
    "${files[@]}" | avoided "$AVOID_IN_SOURCES")" ''

# The check itself must find such words.
like 'a word to avoid is found, with advice' \
    "$(avoided <<<'a.md:1:There nobody waits.')" 'nobody waits.*<- write: no user'
is 'the title of a test and a name between backticks are not looked at' \
    "$(printf '%s\n' 'a.md:1:| x | `tests/a.c`: nobody waits |' 'a.md:2:the user `nobody`' | avoided)" ''
done_testing
