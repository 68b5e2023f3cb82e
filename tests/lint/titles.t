#!/bin/bash
# titles.t - titles of tests are sentences that can be read alone
#
# A report shows a title without those before it.

# shellcheck source=tests/lint/lib.sh
. "$(dirname "$0")/lib.sh"
plan_later

# How a sentence begins that goes on from another one. Word by word: "with" and "as" may
# begin a sentence of their own.
readonly GOES_ON=" |[.][.]|(and|but|or|nor|so|also|which|whose|it|they|its|their)[ ',]"

# going_on FILE...: lines whose command, or whose TEST (), has a title that goes on so
going_on() {
    grep -HnE --label=example "^ *([a-z_]+=[^ ]+ )?[a-z_]+ [\"']($GOES_ON)|TEST \(\"($GOES_ON)" "$@" |
        grep -vE ':[0-9]+: *(echo|printf|sed|grep) '
}

cd "$top" || exit
mapfile -t files < <(find tests -name '*.[tc]' ! -path tests/lint/titles.t | LC_ALL=C sort)
is 'no title goes on from the one before it' "$(going_on "${files[@]}")" ''

# The check itself must see what it is meant to see.
seen=$(going_on - <<'END'
ok '... and more' true
    check=gives fetch "and more" 0
        TEST ("nor this", nor_this),
is 'anders is a name' 1 1
is 'items are counted' 1 1
echo 'and so on'
END
)
is 'three titles of six go on' "$(cut -d: -f2 <<<"$seen" | xargs)" '1 2 3'
done_testing
