# shellcheck shell=bash
# slurm_version.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed -i "s|^26.05 Debian sid sid'|26.05 Debian sid sid\n26.11'|" tests/live/lib/versions.sh
sed -i 's|22\.05 to 26\.05|22.05 to 26.11|' README.md
