# shellcheck shell=bash
sed -i "s|^26.05 Debian sid sid'|26.05 Debian sid sid\n26.11'|" tests/live/lib/versions.sh
sed -i 's|22\.05 to 26\.05|22.05 to 26.11|' README.md
