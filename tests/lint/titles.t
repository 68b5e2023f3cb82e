#!/bin/bash
# titles.t - titles of tests are sentences that can be read alone
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A report shows a title without those before it.

. "$(dirname "$0")/lib.sh"

# How a sentence begins that continues another one. These are whole words: "with" and "as"
# may begin an independent sentence.
readonly GOES_ON=" |[.][.]|(and|but|or|nor|so|also|which|whose|it|they|its|their)[ ',]"

# going_on FILE...: lines whose command, or whose TEST (), has such a title
going_on() {
    grep -HnE --label=example "^ *([a-z_]+=[^ ]+ )?[a-z_]+ [\"']($GOES_ON)|TEST \(\"($GOES_ON)" "$@" |
        grep -vE ':[0-9]+: *(echo|printf|sed|grep) '
}

cd "$top" || exit
mapfile -t files < <(find tests -name '*.[tc]' ! -path tests/lint/titles.t | LC_ALL=C sort)
is 'no title continues the one before it' "$(going_on "${files[@]}")" ''

# The check itself must find such titles.
seen=$(going_on - <<'END'
ok '... and more' true
    check=gives fetch "and more" 0
        TEST ("nor this", nor_this),
is 'anders is a name' 1 1
is 'items are counted' 1 1
echo 'and so on'
END
)
is 'three titles of six continue another' "$(cut -d: -f2 <<<"$seen" | xargs)" '1 2 3'
done_testing
