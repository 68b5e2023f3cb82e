# shellcheck shell=bash
# generation.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

printf '\nGeneration=zenith\nNumber=9\nFlashAttention=1\nNewHost=1\n' >> etc/hardware/generations.conf
