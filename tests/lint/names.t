#!/bin/bash
# names.t - enums and the tables of their names
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

mapfile -t headers < <(c_files "${OURS[@]}" | grep '[.]h$')
is 'tests/unit/names.c has every public table of names' \
    "$(sed -n 's/^    &\(dn_[a-z_]*\),$/\1/p' "$top/tests/unit/names.c")" \
    "$(cd "$top" && sed -n 's/^extern const struct dn_names \(dn_[a-z_]*\);$/\1/p' \
        "${headers[@]}" | LC_ALL=C sort)"
done_testing
