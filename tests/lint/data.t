#!/bin/bash
# data.t - notes on the measured rows are about rows that exist
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/../cli/lib.sh"

is 'every class of rows in doubt has rows, a verdict and a reason' \
    "$("$top/tests/bench/accuracy" --check 2>&1)" ''

is 'every network that is a file says in networks.csv where it comes from' \
    "$("$top/tests/zoo/export" --check 2>&1)" ''

# A note that a spec lacks a key must be removed when the key is added.
is 'no note states that an optimizer has no key' \
    "$(grep -c 'optimizer has no key' "$top"/learn/data/*.csv | grep -v ':0$')" ''

# The check itself must find such rows.
mkdir "$work/data"
for table in {training_runs,gpu_memory}{,_2,_3}; do
    grep -v 'model=vnet\|p3.8xlarge' "$top/learn/data/$table.csv" > "$work/data/$table.csv"
done
cp "$top/learn/data/networks_2.csv" "$work/data"
out=$("$top/tests/bench/accuracy" --check --data="$work/data" 2>&1)
like 'a class without rows is found' "$out" "no row of the tables of step times is 'V-Net'"
like 'a class without rows is found in every table' "$out" "no row of the tables of GPU memory is 'more memory than the card has'"

done_testing
