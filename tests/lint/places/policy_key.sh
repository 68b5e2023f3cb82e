# shellcheck shell=bash
# policy_key.sh - a change that places.t applies
#
# SPDX-License-Identifier: GPL-2.0-or-later

sed -i 's|^    ENUM (dn_yes, user_objective, .*|    ENUM (dn_yes, zenith, "Zenith", LOWER, "no", \\\n          "yes: objective= is never honoured", DN_YES) \\\n&|' \
    model/policy/rules.h
sed -i 's|d->rules->user_objective == DN_YES_YES|& \&\& d->rules->zenith != DN_YES_YES|' \
    model/policy/choose_gpu.c
sed -i 's|^#UserObjective=no|&\n\n# yes: objective= is never honoured.\n#Zenith=no|' etc/dnnest.conf
