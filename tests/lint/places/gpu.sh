# shellcheck shell=bash
# gpu.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed 's/^Device=.*/Device=z100_80gb/; s/^Fp16=.*/Fp16=401T/' \
    etc/hardware/a100_sxm4_80gb.conf > etc/hardware/z100_80gb.conf
