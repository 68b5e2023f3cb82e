# remedies.py - is each remedy what a prediction of the changed description says?
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
# usage: remedies.py DNNEST ARGUMENT... < descriptions, one a line
#
# Prints what is wrong, and on its last line how many remedies were compared.
import json
import subprocess
import sys

GPUS = ["t4_16gb", "v100_sxm2_16gb", "a100_sxm4_40gb", "h100_sxm5_80gb"]


def predict(pairs, gpus):
    spec = ",".join(f"{key}={value}" for key, value in pairs.items())
    out = subprocess.run(
        [sys.argv[1], "predict", *sys.argv[2:], "--json", *[f"--gpu={gpu}" for gpu in gpus], spec],
        check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def read(text):
    return dict(pair.split("=") for pair in text.split(","))


def fault(pairs, own, remedy, document):
    """What is wrong with a remedy of the candidate 'own'; None: nothing."""
    gpu = remedy["gpu"] or own["gpu"]
    after = predict({**pairs, **read(remedy["change"])} if remedy["change"] else pairs, [gpu])
    found = after["candidates"][0]
    if found["fits"] is not True:
        return "it does not fit"
    for key in "step_ms", "gpu_mem_bytes":
        if abs(found[key]["p50"] / remedy[key]["p50"] - 1) > 1e-9:
            return f"{key} is {found[key]['p50']}"
    if abs(found["step_ms"]["p50"] / own["step_ms"]["p50"] / remedy["time_ratio"] - 1) > 1e-9:
        return "the ratio is another one"
    if after["spec"]["global_batch"] != document["spec"]["global_batch"]:
        return "the global batch is another one"
    return None


n = 0
for line in sys.stdin:
    pairs = read(line.strip())
    document = predict(pairs, GPUS)
    for own in document["candidates"]:
        if own["fits"] is True and own["remedies"] or len(own["remedies"]) > 3:
            print(f"{line.strip()} on {own['gpu']}: {len(own['remedies'])} remedies")
        for remedy in own["remedies"]:
            wrong = fault(pairs, own, remedy, document)
            n += 1
            if wrong:
                print(f"{line.strip()} on {own['gpu']}: {remedy['change'] or remedy['gpu']}: {wrong}")
print(n)
