#!/bin/bash
# hardened.t - installed files are built with the compiler's and linker's hardening
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# configure leaves out options that the compiler does not have. Debian's compiler has all.

. "$(dirname "$0")/lib.sh"

command -v readelf >/dev/null || skip_all 'readelf is not installed'

# check NAME FILE
check() {
    local dynamic segments symbols
    if [[ ! -e $2 ]]; then
        skip "$1 is hardened" 'not built'
        return
    fi
    dynamic=$(readelf -dW "$2")
    segments=$(readelf -lW "$2")
    symbols=$(readelf -sW --dyn-syms "$2")
    like "$1: data that the loader writes is read-only after loading" "$segments" GNU_RELRO
    like "$1: the loader resolves all symbols at load time" "$dynamic" 'BIND_NOW'
    not_ok "$1: the stack is not executable" grep -q 'GNU_STACK.*E' <<<"$segments"
    not_ok "$1: no segment is writable and executable" grep -qE 'LOAD.* RWE' <<<"$segments"
    not_ok "$1: no code is changed when it is loaded" grep -q TEXTREL <<<"$dynamic"
    not_ok "$1: libraries come only from the system" grep -qE 'RPATH|RUNPATH' <<<"$dynamic"
    like "$1: stacks are protected" "$symbols" '__stack_chk_fail'
    if [[ ${DNNEST_SANITIZERS-} = yes ]]; then
        skip "$1: copies are checked" 'built with sanitizers'
    elif grep -q -- '-O0' <<<"${DNNEST_CFLAGS-}"; then
        skip "$1: copies are checked" 'built without optimization'
    else
        like "$1: copies are checked" "$symbols" '__[a-z]*printf_chk'
    fi
}

program=$build/dnnest
if [[ -e $build/.libs/dnnest ]]; then program=$build/.libs/dnnest; fi
check dnnest "$program"
like 'dnnest: the program is loaded at any address' "$(readelf -h "$program")" 'Type: +DYN'
check job_submit_dnnest "$build/.libs/job_submit_dnnest.so"
check spank_dnnest "$build/.libs/spank_dnnest.so"
done_testing
