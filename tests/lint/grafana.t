#!/bin/bash
# grafana.t - the dashboard and the alerts name counters that exist, and the alerts fire
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

# Names that the exporters write, from the tables that they are made of.
exported() {
    local prefix counters='GUARDED|EXTENSIONS|REFUSED|AT_OWN_LIMIT|HANDS_OFF|HELD|SHORTENED|RESTORED'
    for prefix in dnnestd dnnest_guard; do
        grep -oE 'TICK_[A-Z_]*, "[a-z_]*"' "$top/host/daemon_status.h" |
            sed -E 's/TICK_(.*), "(.*)"/\1 \2/' |
            case $prefix in
            dnnestd) grep -vE "^($counters) " ;;
            *) grep -E "^($counters|ROUNDS|FAILURES) " ;;
            esac |
            sed "s/.* \(.*\)/${prefix}_\1_total/"
        grep -oE '%s_[a-z_]+[{ ]' "$top/daemon/ticks.c" | sed "s/%s\(.*\)./$prefix\1/"
    done
    tr '\n' ' ' <"$top/plugin/trace/counters.c" | grep -oE '(ONE|MANY) \( *"[a-z_]+' |
        sed 's/.*"\(.*\)/dnnest_\1_total/'
    grep -oE 'dnnest_[a-z_]+' "$top/plugin/trace/counters.c"
}
# Names in the expressions of FILE.
named() {
    grep -E '"?expr"?:|^ +(increase|and) ' "$top/$1" | grep -oE 'dnnestd?_[a-z_]+' | sort -u
}

for file in etc/grafana/dnnest.json etc/grafana/alerts.yml; do
    ok "$file names counters" test "$(named "$file" | wc -l)" -gt 5
    is "$file names only counters that exist" \
        "$(comm -23 <(named "$file") <(exported | sort -u))" ''
done
ok 'the dashboard is JSON with panels' \
    python3 -c 'import json, sys
panels = json.load(open(sys.argv[1]))["panels"]
sys.exit(not (panels and all(t["expr"] for p in panels for t in p["targets"])))' \
    "$top/etc/grafana/dnnest.json"
if command -v promtool >/dev/null; then
    cp "$top/etc/grafana/alerts.yml" "$top/tests/data/alerts_test.yml" "$work"
    ok 'promtool takes the alerts' promtool check rules "$work/alerts.yml"
    ok 'each alert fires when it must, and not before' \
        promtool test rules "$work/alerts_test.yml"
else
    skip 'promtool takes the alerts' 'no promtool'
    skip 'each alert fires when it must, and not before' 'no promtool'
fi
done_testing
