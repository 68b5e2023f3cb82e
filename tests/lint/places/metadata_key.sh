# shellcheck shell=bash
# metadata_key.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed -i 's|^    int64_t power_limit;.*|&\n    int64_t zenith; /* extra seconds of a run */|' model/spec/spec.h
sed -i 's|^    INT (DEV, power_limit, .*|&\n    INT (DEV, zenith, 1, 5000, "extra seconds of a run"),|' model/spec/spec.c
sed -i 's|^ *start_seconds (c),|start_seconds (c) + (double) (c->spec->zenith > 0 ? c->spec->zenith : 0),|' model/predict/whitebox.c
