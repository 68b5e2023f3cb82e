#!/bin/bash
# 0050-hardware.t - the catalogue
#
# SPDX-License-Identifier: GPL-2.0-or-later

. "$(dirname "$0")/lib.sh"

is 'every device of the catalogue is a row' "$(dn hardware | tail -n +2 | wc -l)" $((n_devices + 1))
gives 'a device is shown with its rates' 0 \
    't4_16gb +nvidia +turing +16\.0 GiB +320 +8\.1 +- +65\.[0-9] +- +70 ' hardware t4_16gb
json 'JSON has numbers in SI units' \
    '[(x["name"], x["memory_bytes"], x["bandwidth_bytes_per_s"], x["tdp_w"])
      for x in d["devices"]] == [("t4_16gb", 16 * 2**30, 320e9, 70)]' hardware t4_16gb
json 'JSON has every device once' \
    "len({x['name'] for x in d['devices']}) == len(d['devices']) == $n_devices + 1" hardware
json 'every device has memory, bandwidth, a rate and a power' \
    'all(x["memory_bytes"] > 0 and x["bandwidth_bytes_per_s"] > 0 and x["fp32_flops"] > 0
      and x["tdp_w"] > x["idle_w"] for x in d["devices"])' hardware
json 'devices are in the requested order' \
    '[x["name"] for x in d["devices"]] == ["t4_16gb", "k80_12gb"]' hardware t4_16gb k80_12gb
documented 'dnnest-dev(1) names every member of the JSON' hardware t4_16gb
refuses 'an unknown device is named, with similar ones' 2 \
    "gpu: 't4_12gb' is unknown.*near:.* t4_16gb" hardware t4_12gb

refuses 'a missing catalogue is named' 3 "nowhere: cannot be opened.*No such file" \
    hardware --hardware "$work/nowhere"
mkdir "$work/bad"
printf 'Device=x Vendor=y\nArch=volta Fp33=1\n' > "$work/bad/x.conf"
refuses 'a wrong key of a catalogue file is named with its line' 3 \
    "bad/x.conf: line 2: unknown key 'Fp33'" hardware --hardware "$work/bad"
printf 'Device=x Vendor=y Arch=volta\nFp32=many\n' > "$work/bad/x.conf"
refuses 'a wrong value of a catalogue file is named with its line' 3 \
    "bad/x.conf: line 2: Fp32: 'many' is not a number" hardware --hardware "$work/bad"
chmod g+w "$work/bad"
refuses 'a catalogue that others may write is not trusted' 3 'bad: writable by group' \
    hardware --hardware "$work/bad"
(
    cd "$work" || exit
    [[ $DNNEST = /* ]] || exit 0
    "$DNNEST-dev" hardware --hardware hardware --datasets datasets.conf >/dev/null
)
is 'paths of options may be relative' $? 0
done_testing
