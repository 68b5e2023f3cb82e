# shellcheck shell=bash
# message.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed -i 's|is not in the hardware catalogue%s|is not a device of the catalogue%s|' model/base/messages.inc
