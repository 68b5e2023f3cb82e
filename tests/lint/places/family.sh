# shellcheck shell=bash
# family.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed 's/FAMILY ("swin"/FAMILY ("zenith"/; s/swin/zenithnet/g' model/graph/zoo/swin.c \
    > model/graph/zoo/zenithnet.c
sed -i 's|^    X (swin) .*|&\n    X (zenithnet) \\|' model/graph/zoo/zoo.h
sed -i 's|^    model/graph/zoo/swin.c .*|&\n    model/graph/zoo/zenithnet.c \\|' model/graph/graph.am
