# shellcheck shell=bash
sed -i 's|is not in the hardware catalogue%s|is not a device of the catalogue%s|' model/base/messages.inc
