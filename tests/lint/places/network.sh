# shellcheck shell=bash
# network.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed 's/"squeezenet1_0"/"squeezenet1_9"/' etc/zoo/squeezenet1_0.json > etc/zoo/squeezenet1_9.json
