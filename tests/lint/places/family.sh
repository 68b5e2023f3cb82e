# shellcheck shell=bash
# family.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed 's/FAMILY ("mlp"/FAMILY ("zenith"/; s/mlp/zenithnet/g' model/graph/zoo/mlp.c \
    > model/graph/zoo/zenithnet.c
sed -i 's|^    X (mlp) .*|&\n    X (zenithnet) \\|' model/graph/zoo/zoo.h
sed -i 's|^    model/graph/zoo/mlp.c .*|&\n    model/graph/zoo/zenithnet.c \\|' model/graph/graph.am
