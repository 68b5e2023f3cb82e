# held.py - does dnnest explain count the bytes that PyTorch holds after a step?
#
#     DNNEST=PROGRAM held.py FOLDER     FOLDER has hardware/ and datasets.conf
#
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os
import subprocess
import sys

import dnnest_export
import own
import torch

work = sys.argv[1]


def size(tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


def held(model, given):
    """Bytes of weights, gradients and optimizer state after a step with Adam."""
    learned = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.Adam(learned)
    model(given).float().sum().backward()
    adam.step()
    state = [t for values in adam.state.values() for t in values.values()
             if isinstance(t, torch.Tensor) and t.dim() > 0]
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    return [size(model.parameters()), size(grads), size(state)]


def counted(model, given):
    """The same as dnnest explain has it."""
    path = os.path.join(work, "held.json")
    sidecar = dnnest_export.describe(
        model, given, batch=2, spec={"precision": "fp32", "optimizer": "adam"})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(sidecar, file)
    out = subprocess.run(
        [os.environ["DNNEST"], "explain", "--json", "--conf", work + "/site.conf",
         "--hardware", work + "/hardware", "--datasets", work + "/datasets.conf",
         "--model", "none", "--gpu", "a100_sxm4_40gb", path],
        check=True, capture_output=True).stdout
    memory = {row["class"]: row["bytes"] for row in json.loads(out)["memory"]}
    return [memory[name] for name in ("weights", "gradients", "optimizer")]


tokens = torch.zeros(2, 16, dtype=torch.long)
for name, model, given in [
        ("all layers learn", own.Chain(256, 4, 4), torch.rand(2, 256)),
        ("the last of 16 layers learns", own.Chain(), torch.rand(2, 4096)),
        ("the first layer learns", own.Chain(256, 4, 0, 1), torch.rand(2, 256)),
        ("adapters", own.lora(), tokens),
        ("a backbone", own.backbone(), torch.rand(2, 3, 32, 32)),
        ("8 bits", own.Quantised(), torch.rand(2, 2048))]:
    ours = counted(model, given)
    theirs = held(model, given)
    if ours != theirs:
        print(name, "has", ours, "of weights, gradients and state, PyTorch", theirs)
