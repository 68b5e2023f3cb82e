# trainings.py - small trainings as users write them, and what is true of each
#
#     trainings.py NAME [STEPS]           trains
#     trainings.py --truth NAME           prints what a capture of it must say, as JSON
#     trainings.py --missing NAME         prints the packages that it lacks
#     trainings.py --compare NAME FILE    prints what the capture FILE says otherwise
#     trainings.py --table NAME FILE      prints what is true and what FILE says
#
# SPDX-License-Identifier: GPL-2.0-or-later
import atexit
import importlib.util
import json
import os
import sys
import time

STEPS = 24


def limited(steps, loader):
    """Batches up to so many, in epochs."""
    done = 0
    while True:
        for batch in loader:
            yield batch
            done += 1
            if done >= steps:
                return


def small_net():
    from torch import nn
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Dropout(0.1), nn.Linear(32, 10))


def images(count=256, size=32, classes=10):
    import torch
    return torch.utils.data.TensorDataset(
        torch.rand(count, 3, size, size), torch.randint(classes, (count,)))


def loop(steps, net=None, size=32, batch=16, prepare=None):
    import torch
    torch.manual_seed(0)
    model = net or small_net()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(images(size=size), batch, shuffle=True)
    if prepare:
        model, optimizer, loader = prepare(model, optimizer, loader)
    for x, y in limited(steps, loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("loss %.9g" % loss.item())


def gpt():
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv = nn.Linear(width, 3 * width, bias=False)
            self.proj = nn.Linear(width, width, bias=False)
            self.up = nn.Linear(width, 4 * width, bias=False)
            self.down = nn.Linear(4 * width, width, bias=False)

        def forward(self, x):
            batch, length, width = x.size()
            parts = [part.view(batch, length, self.heads, -1).transpose(1, 2)
                     for part in self.qkv(self.norm1(x)).split(width, 2)]
            if hasattr(functional, "scaled_dot_product_attention"):
                y = functional.scaled_dot_product_attention(*parts, is_causal=True)
            else:
                scores = parts[0] @ parts[1].transpose(-2, -1) * 0.25
                y = functional.softmax(scores, -1) @ parts[2]
            x = x + self.proj(y.transpose(1, 2).contiguous().view(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Gpt(nn.Module):
        def __init__(self, width=64, heads=4, layers=3, length=32, words=128):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
            self.words.weight = self.head.weight

        def forward(self, tokens, targets=None):
            x = self.words(tokens) + self.places(torch.arange(tokens.size(1)))
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))
            if targets is None:
                return logits
            return logits, functional.cross_entropy(
                logits.view(-1, logits.size(-1)), targets.view(-1))
    return Gpt()


def nanogpt(steps):
    """Its own batches, autocast, accumulation."""
    import torch
    torch.manual_seed(0)
    model = gpt()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    for _ in range(steps):
        for _ in range(4):
            x = torch.randint(128, (6, 32))
            with torch.autocast("cpu", torch.bfloat16):
                _, loss = model(x, x)
            (loss / 4).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    print("loss %.9g" % loss.item())


def timm_net():
    import timm
    return timm.create_model("resnet10t", num_classes=10)


def timm_loop(steps):
    import torch
    torch.manual_seed(0)
    loop(steps, timm_net(), 64, 8)


def llama_net():
    import transformers
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, vocab_size=256, max_position_embeddings=64)
    return transformers.LlamaForCausalLM(config)


def lora_net():
    import peft
    return peft.get_peft_model(
        llama_net(),
        peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))


def tokens(count=80, length=48):
    import torch
    torch.manual_seed(0)
    rows = torch.randint(256, (count, length))
    return [{"input_ids": row, "labels": row} for row in rows]


def trainer(steps, net=lora_net, accumulate=2, **more):
    import torch
    import transformers
    torch.manual_seed(0)
    arguments = transformers.TrainingArguments(
        os.environ.get("TMPDIR", "/tmp"), per_device_train_batch_size=4,
        gradient_accumulation_steps=accumulate, max_steps=steps, report_to=[], use_cpu=True,
        disable_tqdm=True, save_strategy="no", bf16=net is lora_net, **more)
    run = transformers.Trainer(net(), arguments, train_dataset=tokens())
    print("loss %.9g" % run.train().training_loss)


def full_trainer(steps):
    trainer(steps, llama_net, 1, optim="sgd")


def lightning(steps):
    import torch
    import lightning.pytorch as pl

    class Module(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = small_net()

        def training_step(self, batch, _):
            self.loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            return self.loss

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters())
    torch.manual_seed(0)
    module = Module()
    pl.Trainer(accelerator="cpu", max_epochs=-(-steps // 8), logger=False,
               enable_checkpointing=False, enable_progress_bar=False,
               enable_model_summary=False, accumulate_grad_batches=2, devices=1,
               ).fit(module, torch.utils.data.DataLoader(images(), 16))
    print("loss %.9g" % module.loss.item())


def ddp(steps):
    import torch

    def prepare(model, optimizer, loader):
        sampler = torch.utils.data.DistributedSampler(loader.dataset)
        model = torch.nn.parallel.DistributedDataParallel(model)
        loader = torch.utils.data.DataLoader(loader.dataset, 16, sampler=sampler,
                                             num_workers=1)
        return model, torch.optim.AdamW(model.parameters()), loader
    torch.distributed.init_process_group("gloo")
    loop(steps, prepare=prepare)
    torch.distributed.destroy_process_group()


def fsdp(steps):
    """Sharded modules of FSDP, or parameters of FSDP 2."""
    import torch
    from torch.distributed import fsdp as package

    def prepare(model, optimizer, loader):
        sampler = torch.utils.data.DistributedSampler(loader.dataset)
        loader = torch.utils.data.DataLoader(loader.dataset, 16, sampler=sampler)
        if steps % 2:
            package.fully_shard(model, mesh=torch.distributed.device_mesh.init_device_mesh(
                "cpu", (2,)))
        else:
            model = package.FullyShardedDataParallel(model, device_id=torch.device("cpu"))
        return model, torch.optim.AdamW(model.parameters()), loader
    torch.distributed.init_process_group("gloo")
    loop(steps, prepare=prepare)
    torch.distributed.destroy_process_group()
    # On a busy machine PyTorch 2.15 ends in an abort at times, when gloo's threads are freed:
    # "terminate called without an active exception".
    sys.stdout.flush()
    atexit._run_exitfuncs()
    os._exit(0)


def fsdp2(steps):
    fsdp(steps | 1)


def accelerate(steps):
    import accelerate as package
    accelerator = package.Accelerator(gradient_accumulation_steps=2, cpu=True)
    import torch
    torch.manual_seed(0)
    model = small_net()
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.SGD(model.parameters(), 0.1),
        torch.utils.data.DataLoader(images(), 16))
    for x, y in limited(2 * steps, loader):
        with accelerator.accumulate(model):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
    print("loss %.9g" % loss.item())


def deepspeed(steps):
    os.environ.setdefault("DS_ACCELERATOR", "cpu")
    os.environ.setdefault("TORCH_EXTENSIONS_DIR", os.environ.get("TMPDIR", "/tmp") + "/built")
    import deepspeed as package
    import torch
    torch.manual_seed(0)
    net = llama_net()
    engine, _, loader, _ = package.initialize(
        model=net, model_parameters=net.parameters(), training_data=tokens(), config={
            "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
            "bf16": {"enabled": True}, "zero_optimization": {"stage": 1},
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-3, "torch_adam": True}}})
    for batch in limited(2 * steps, loader):
        loss = engine(**batch).loss
        engine.backward(loss)
        engine.step()
    print("loss %.9g" % loss.item())


def keras_backend():
    return next((name for name in ("tensorflow", "jax")
                 if importlib.util.find_spec(name)), "torch")


def keras(steps):
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    os.environ.setdefault("KERAS_BACKEND", keras_backend())
    import keras as package
    import numpy
    package.utils.set_random_seed(0)
    model = package.Sequential([
        package.layers.Input((20,)), package.layers.Dense(32, activation="relu"),
        package.layers.Dense(10)])
    model.compile("adam", package.losses.SparseCategoricalCrossentropy(from_logits=True))
    fitted = model.fit(numpy.random.rand(8 * steps // 2, 20),
                       numpy.zeros(8 * steps // 2, int), batch_size=8, epochs=2, verbose=0)
    print("loss %.9g" % fitted.history["loss"][-1])


def jax(steps):
    import jax as package
    import jax.numpy as jnp

    @package.jit
    def step(state, x):
        def loss(state):
            return jnp.mean((jnp.tanh(x @ state["a"]) @ state["b"]) ** 2)
        value, gradient = package.value_and_grad(loss)(state)
        return package.tree_util.tree_map(lambda p, g: p - 0.1 * g, state, gradient), value

    @package.jit
    def helper(x):
        return 2 * x
    state = {"a": jnp.ones((64, 64)) * 0.01, "b": jnp.ones((64, 8))}
    for _ in range(steps):
        time.sleep(0.02)
        state, loss = step(state, helper(jnp.ones((32, 64))))
    print("loss %.9g" % float(loss))


# The function, the packages, the network for the truth, and what is true.
NET = ("small_net", (3, 32, 32))
RUNS = {
    "loop": (loop, "torch", NET, {
        "batch": 16, "precision": "fp32", "optimizer": "momentum", "samples": 256,
        "world": 1, "parallel": "single", "steps_per_epoch": 16, "workers": 0}),
    "nanogpt": (nanogpt, "torch", ("gpt", (32,)), {
        "batch": 6, "grad_accum": 4, "precision": "bf16", "optimizer": "adamw", "seq_len": 32,
        "parallel": "single"}),
    "timm": (timm_loop, "torch timm", ("timm_net", (3, 64, 64)), {
        "batch": 8, "precision": "fp32", "optimizer": "momentum", "steps_per_epoch": 32}),
    "trainer": (trainer, "torch transformers peft", ("lora_net", (48,)), {
        "batch": 4, "grad_accum": 2, "precision": "bf16", "optimizer": "adamw",
        "steps": STEPS, "steps_per_epoch": 10, "samples": 80, "adapter_rank": 8,
        "seq_len": 48}),
    "full": (full_trainer, "torch transformers", ("llama_net", (48,)), {
        "batch": 4, "precision": "fp32", "optimizer": "sgd", "steps": STEPS,
        "steps_per_epoch": 20, "samples": 80, "adapter_rank": None, "seq_len": 48}),
    "lightning": (lightning, "torch lightning", NET, {
        "batch": 16, "grad_accum": 2, "precision": "fp32", "optimizer": "adam",
        "steps": STEPS, "steps_per_epoch": 8, "epochs": STEPS // 8}),
    "ddp": (ddp, "torch", NET, {
        "batch": 16, "precision": "fp32", "optimizer": "adamw", "world": 2,
        "parallel": "ddp", "steps_per_epoch": 8, "workers": 1, "gpus": 2}),
    "fsdp": (fsdp, "torch", NET, {
        "batch": 16, "precision": "fp32", "optimizer": "adamw", "world": 2,
        "parallel": "fsdp", "steps_per_epoch": 8, "gpus": 2, "flops": None}),
    "fsdp2": (fsdp2, "torch", NET, {
        "batch": 16, "precision": "fp32", "optimizer": "adamw", "world": 2,
        "parallel": "fsdp", "steps_per_epoch": 8, "gpus": 2, "flops": None}),
    "accelerate": (accelerate, "torch accelerate", NET, {
        "batch": 16, "grad_accum": 2, "precision": "fp32", "optimizer": "sgd",
        "steps_per_epoch": 8}),
    "deepspeed": (deepspeed, "torch transformers deepspeed", ("llama_net", (48,)), {
        "batch": 4, "grad_accum": 2, "precision": "bf16", "optimizer": "adamw", "world": 2,
        "parallel": "zero1", "samples": 80, "steps_per_epoch": 5, "gpus": 2}),
    "keras": (keras, "keras", None, {
        "framework": keras_backend().replace("torch", "pytorch"), "optimizer": "adam", "precision": "fp32", "params": 1002,
        "batch": 8,
        "steps": STEPS, "epochs": 2}),
    "jax": (jax, "jax", None, {"framework": "jax"}),
}


TWO_PROCESSES = ("ddp", "fsdp", "fsdp2", "deepspeed")


def truth(name):
    """What a capture must say. The network is described by dnnest_export, which makes
    two passes of its own."""
    _, _, net, expected = RUNS[name]
    expected = dict(expected)
    if net:
        import dnnest_export
        import torch
        shape = (5,) + net[1]
        example = torch.rand(shape) if len(shape) > 2 else torch.zeros(shape).long()
        model = globals()[net[0]]()
        ops = dnnest_export.describe(model, example)["graph"]["ops"]
        keys = dnnest_export.size_keys(ops)
        expected["params"] = sum(p.numel() for p in model.parameters())
        expected["trainable"] = sum(p.numel() for p in model.parameters()
                                    if p.requires_grad)
        expected.setdefault("flops", keys["flops"])  # what is sharded is not recorded
    return expected


def said(capture):
    """The same keys of a capture."""
    import collections
    sidecar = capture.get("sidecar", {})
    found = collections.ChainMap(capture["run"], sidecar.get("spec", {}),
                                 capture["software"])
    values = dict(found)
    network = capture.get("network", {})
    values.update(trainable=network.get("trainable"),
                  adapter_rank=network.get("adapter", {}).get("rank"))
    if "graph" in sidecar:
        import dnnest_export
        values.update(dnnest_export.size_keys(sidecar["graph"]["ops"]),
                      trainable=network.get("trainable"))
    return values


def rows(name, path):
    """What is compared: (key, true, said, whether they agree)."""
    with open(path, encoding="utf-8") as file:
        capture = json.load(file)
    values, measured = said(capture), capture["measured"]
    for key, expected in truth(name).items():
        found = values.get(key)
        near = isinstance(found, (int, float)) and key == "flops" and expected \
            and abs(found / expected - 1) <= 0.02
        yield key, expected, found, found == expected or near
    yield "measured", "true", measured, (
        measured["steps"] >= 10 and measured["start_s"] > 0
        and 0 < measured["step_ms"] <= measured["step_p95_ms"])


def compare(name, path):
    for key, expected, found, agree in rows(name, path):
        if not agree:
            print("%s: %r, expected %r" % (key, found, expected))


def table(name, path):
    for key, expected, found, agree in rows(name, path):
        print("%-11s %-16s %12s %12s%s" % (
            name, key, expected, found if key != "measured" else "%.3g ms" %
            found.get("step_ms", 0), "" if agree else "  differs"))


def missing(name):
    packages = [p for p in RUNS[name][1].split() if importlib.util.find_spec(p) is None]
    if name in TWO_PROCESSES and not packages:
        from torch.distributed.elastic.multiprocessing import api
        try:
            api.to_map(api.Std.from_str("0"), 2)
        except AttributeError:  # torch 1.13 with Python 3.11
            return ["torchrun"]
    return packages


def main(first, name, *more):
    if first == "--truth":
        print(json.dumps(truth(name)))
    elif first == "--missing":
        print(" ".join(missing(name)))
    elif first == "--compare":
        compare(name, *more)
    elif first == "--table":
        table(name, *more)
    else:
        RUNS[first][0](int(name))


if __name__ == "__main__":
    main(*(sys.argv[1:] if len(sys.argv) > 2 else sys.argv[1:] + [str(STEPS)]))
