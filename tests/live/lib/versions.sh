# shellcheck shell=bash
# versions.sh - the versions of Slurm that dnnest supports, to be sourced
#
# SPDX-License-Identifier: GPL-2.0-or-later

# A line each, the oldest first: the version, the distribution that has packages of it, and
# debootstrap's name of that distribution.
# shellcheck disable=SC2034  # for those who source this
readonly SLURM_VERSIONS='22.05 Debian 12 bookworm
23.02
23.11 Ubuntu 24.04 noble
24.05
24.11 Debian 13 trixie
25.05
25.11 Ubuntu 26.04 resolute
26.05 Debian sid sid'
