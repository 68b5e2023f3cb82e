# dnnest_record.py - sees what network PyTorch trains, from one of its steps
#
# In the third step a hook of modules finds the outermost modules that learn, how they are
# called, and how many backward passes a step has. In the fourth step their forward pass is
# recorded, operator by operator, as dnnest_export.py does with passes of its own; here the
# one that runs anyway, with its kernels. What derives from the samples is divided by their
# number. So nothing is computed, kept or synchronised for it. Compiled, sharded and
# quantised modules are not recorded; their parameters and keys are known all the same.
#
# Needs torch 1.13 or later.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Record the network of a training."""

import contextlib
import copy
import functools
import math
import sys
import time
import types
import warnings
import weakref

import dnnest_export as export
import torch
from dnnest_watch import quietly
from torch.utils._python_dispatch import TorchDispatchMode

# What is recorded at most: seconds, operators.
SECONDS, OPERATORS = 1.5, 8000

# Bytes of a configuration of transformers and of a graph that are kept. A longer graph is
# replaced by its sums.
CONFIG, LONGEST = 4096, 200 << 10

# Wrappers that change the modules which they wrap.
BREAKING = {"FullyShardedDataParallel", "FSDPModule", "DataParallel", "PipelineEngine",
            "ShardedDataParallel", "ScriptModule", "RecursiveScriptModule"}


def is_compiled():
    """Has torch.compile compiled something?"""
    utils = sys.modules.get("torch._dynamo.utils")
    return bool(utils and utils.counters["frames"])


def size_of(parameter, cut=None):
    """Elements of a parameter, also of one that DeepSpeed or FSDP 2 has cut. cut: of those
    that FSDP has cut."""
    full = getattr(parameter, "ds_numel", None) or (cut or {}).get(id(parameter))
    return full if isinstance(full, int) else parameter.numel()


def cut_sizes(roots):
    """Elements of the parameters that FSDP has cut, by their identity: of a flat one, and
    of the original ones if the optimizer has these."""
    sizes = {}
    for module in (module for root in roots for module in root.modules()):
        handles = getattr(module, "_handles", None) or [getattr(module, "_handle", None)]
        for flat in (getattr(handle, "flat_param", None) for handle in handles):
            if flat is not None:
                sizes[id(flat)] = sum(flat._numels)
                sizes.update((id(p), size) for p, size in zip(
                    getattr(flat, "_params", None) or (), flat._numels))
    return sizes


class Look:
    """Made at the end of a step. on() at the end of each of the next two; the last of
    them returns what was found: a dict."""

    def __init__(self, optimizer, batch):
        self.optimizer = weakref.ref(optimizer)
        self.batch = batch
        self.roots = []
        self.inside = set()      # modules within
        self.precision = None
        self.backwards = 0
        self.recorder = None
        self.undo = []
        if is_compiled():
            self.roots = roots_of(optimizer)
            return
        hook = torch.nn.modules.module.register_module_forward_pre_hook(self.see)
        self.undo.append(hook.remove)
        self.count_backwards()

    def see(self, module, _args):
        if id(module) not in self.inside and torch.is_grad_enabled():
            quietly(self.add, module)

    def add(self, module):
        self.inside.update(map(id, module.modules()))
        if any(p.requires_grad for p in module.parameters()):
            self.roots.append(module)
            self.precision = self.precision or export.precision_of(module)

    def count_backwards(self):
        old = torch.autograd.backward

        @functools.wraps(old)
        def backward(*args, **kwargs):
            self.backwards += 1
            return old(*args, **kwargs)

        def restore():
            if torch.autograd.backward is backward:
                torch.autograd.backward = old
        torch.autograd.backward = backward
        self.undo.append(restore)

    def on(self):
        """The next stage."""
        for function in self.undo:
            quietly(function)
        self.undo = []
        optimizer = self.optimizer()
        if self.recorder is None and optimizer is not None:
            found = self.found(optimizer)
            if self.roots and not self.why_not():
                self.recorder = Recorder([export.unwrap(m) for m in self.roots], self.batch,
                                         "checkpointing" in found["spec"])
                self.undo.append(self.recorder.restore)
            return found
        if self.recorder is None:
            return None
        found = self.found(optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.update(quietly(self.recorder.reduced) or {})
        return found

    def why_not(self):
        """Why the step is not recorded; else None."""
        if is_compiled():
            return "compiled"
        names = {name for root in self.roots for part in export.layers_of(root)
                 + list(export.unwrap(root).modules()) for name in export.class_names(part)}
        if names & BREAKING or names & set(export.QUANTISED):
            return "sharded or quantised"
        if any(hasattr(p, "ds_id") for root in self.roots for p in root.parameters()):
            return "sharded"
        return None

    def found(self, optimizer):
        """What is known without a record."""
        spec, parallel = {}, None
        for root in self.roots:
            spec.update(export.model_keys(root))
            names = {n for m in export.layers_of(root) for n in export.class_names(m)}
            parallel = parallel or spec.get("parallel") or (
                "ddp" if "DistributedDataParallel" in names else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            spec.update(export.optimizer_key(optimizer))
        if is_compiled():
            spec["compile"] = 1
        spec["precision"] = self.precision or (
            export.precision_of(self.roots[0]) if self.roots else None)
        passes = max(1, self.backwards)
        if passes > 1:
            spec["grad_accum"] = passes
        spec.update(export.accumulation())
        return {"spec": spec, "parallel": parallel, "passes": passes,
                "network": self.facts(optimizer)}

    def facts(self, optimizer):
        """The members of "network"."""
        cut = quietly(cut_sizes, self.roots) or {}
        learned = [p for group in optimizer.param_groups for p in group["params"]]
        if any(hasattr(root, "zero_optimization_stage") for root in self.roots):
            # The optimizer of DeepSpeed has parts of tensors that hold all parameters.
            learned = {p for root in self.roots for p in root.parameters()}
        made = {"trainable": sum(size_of(p, cut) for p in learned if p.requires_grad)}
        if not self.roots:
            return made
        model = max(map(export.unwrap, self.roots),
                    key=lambda m: sum(1 for _ in m.parameters()))
        made["name"] = type(model).__name__
        made["parameters"] = parameters_of(self.roots, cut)
        bits = [export.QUANTISED[name] for module in model.modules()
                for name in export.class_names(module) if name in export.QUANTISED]
        if bits:
            made["quantised"] = min(bits)
        made.update(quietly(adapter_of, model) or {})
        made.update(quietly(config_of, model) or {})
        return made


def parameters_of(roots, cut):
    """Parameters, quantised ones as many as they stand for."""
    total, seen = 0, set()
    for root in roots:
        for module in root.modules():
            quantised = export.quantised_weight(module)
            for name, p in module._parameters.items():
                if p is not None and id(p) not in seen:
                    seen.add(id(p))
                    total += quantised[0] * quantised[1] \
                        if quantised and name == "weight" else size_of(p, cut)
    return total


def roots_of(optimizer):
    """The outermost modules that have parameters of the optimizer."""
    import gc
    mine = {id(p) for group in optimizer.param_groups for p in group["params"]}
    found = [m for m in gc.get_objects() if issubclass(type(m), torch.nn.Module)]
    within = {id(child) for m in found for child in m._modules.values()}
    return [m for m in found if id(m) not in within
            and any(id(p) in mine for p in m.parameters())][:8]


def adapter_of(model):
    """The adapter of a model of peft."""
    configs = getattr(model, "peft_config", None)
    if not isinstance(configs, dict) or not configs:
        return {}
    config = next(iter(configs.values()))
    kind = getattr(config.peft_type, "value", config.peft_type)
    made = {"type": str(kind).lower()}
    if isinstance(getattr(config, "r", None), int):
        made["rank"] = config.r
    targets = getattr(config, "target_modules", None)
    if targets:
        made["targets"] = [targets] if isinstance(targets, str) \
            else sorted(map(str, targets))[:32]
    return {"adapter": made}


def config_of(model):
    """The attention and the configuration of a model of transformers."""
    config = getattr(model, "config", None)
    if not hasattr(config, "model_type"):
        return {}
    made = {}
    attention = getattr(config, "_attn_implementation", None)
    if isinstance(attention, str):
        made["attention"] = attention
    plain = {key: value for key, value in config.to_dict().items()
             if isinstance(value, (bool, int, float, str)) and len(str(value)) < 200
             and value == value and key[0] != "_"}
    if len(str(plain)) < CONFIG:
        made["config"] = plain
    return made


class Tap(TorchDispatchMode):
    """Passes each operator through a record."""

    def __init__(self, record):
        super().__init__()
        self.record = record

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return self.record.passed(func, args, kwargs or {})


class Record(export.Run):
    """The operators of the forward passes of a step, with its own number of samples."""

    def __init__(self, modules, recomputes):
        super().__init__(modules[0], True)
        for module in modules[1:]:
            self.names.update({m: name for name, m in module.named_modules()})
            self.add_weights(module)
        self.recomputes = recomputes
        self.samples = None
        self.input_bytes = 0
        self.grown = set()       # tokens of what derives from the samples
        self.graded = {token for token, weights in self.params.items()
                       if any(weight.learns for weight in weights)}
        self.results = []
        self.until = None
        self.failed = False

    def given(self, tensors, samples):
        """The inputs of a pass."""
        self.samples = self.samples or samples
        self.until = self.until or time.monotonic() + SECONDS
        for tensor in tensors:
            self.grown.add(self.token_of(tensor))
            if not self.raws:
                self.input_bytes += tensor.numel() * tensor.element_size()

    def passed(self, func, args, kwargs):
        """Run the operator, and note it."""
        noting = not (self.paused or self.failed)
        known = quietly(self.before, args, kwargs) if noting else None
        out = func(*args, **kwargs)
        if noting:
            done = known and quietly(self.after, func, args, kwargs, known, out)
            self.failed = not done or time.monotonic() > self.until \
                or len(self.raws) > OPERATORS
        return out

    def before(self, args, kwargs):
        tensors = export.tensors_in((args, kwargs))
        refs = [self.ref(t) for t in tensors]
        for ref in refs:
            ref.grad = ref.grad or (self.recomputes and ref.token in self.graded)
        return refs, {export.storage_key(t) for t in tensors}

    def after(self, func, args, kwargs, known, out):
        ins, keys = known
        grows = any(ref.token in self.grown for ref in ins)
        made = export.tensors_in(out)
        if len(ins) == len(made) == 1 and ins[0].shape == tuple(made[0].shape) \
                and func._schema.name == "aten::_to_copy":
            # Another type or place of the same: the precision stands for it.
            self.tokens[export.storage_key(made[0])] = ins[0].token
            return True
        outs = self.made(made, keys)
        for ref in outs:
            (self.grown.add if grows else self.grown.discard)(ref.token)
            if any(r.grad for r in ins):
                self.graded.add(ref.token)
        self.note(func, args, kwargs, ins, outs)
        return True

    def pack(self, tensor):
        if not self.failed:
            quietly(super().pack, tensor)
            del self.alive[:]  # a storage that is used anew gets a new token
        return tensor

    def leave(self, module, args, out):
        super().leave(module, args, out)
        if isinstance(module, torch.nn.RNNBase):
            self.grown.update(ref.token for ref in self.raws[-1].outs)
            for raw in self.raws[-2 * module.num_layers:]:
                self.grown.update(ref.token for ref in raw.outs if raw.kind in (
                    "rnn", "dropout"))

    # The step as if it had another number of samples.

    def dimension(self, shape):
        """The dimension of what derives from the samples that has them, or a multiple."""
        count = self.samples
        if not shape or math.prod(shape) < count:
            return None
        tests = [lambda i: i == 0 and shape[i] == count,
                 lambda i: 0 < i < len(shape) - 1 and shape[i] == count,
                 lambda i: i == 0 and shape[i] % count == 0,
                 lambda i: shape[i] % count == 0]
        return next((i for test in tests for i in range(len(shape)) if test(i)), 0)

    def resized(self, shape, grows, count):
        at = self.dimension(shape) if grows else None
        if at is None:
            return tuple(shape)
        each = max(1, round(shape[at] / self.samples))
        return tuple(shape[:at]) + (each * count,) + tuple(shape[at + 1:])

    def scaled(self, count):
        """The record of so many samples, as dnnest_export.Export takes it."""
        grown, made = set(self.grown), {}

        def ref(old):
            if id(old) not in made:
                made[id(old)] = export.Ref(
                    old.token, self.resized(old.shape, old.token in grown, count),
                    old.floating, old.grad)
            return made[id(old)]

        def value(amount, grows=True):
            return amount * count / self.samples if grows else amount
        raws = []
        for raw in self.raws:
            new = copy.copy(raw)
            new.ins, new.outs = list(map(ref, raw.ins)), list(map(ref, raw.outs))
            new.facts = {key: [ref(r) for r in fact] if key == "factors" else
                         ref(fact) if key == "rows" else
                         value(fact, raw.outs[0].token in grown) if key == "flops" else fact
                         for key, fact in raw.facts.items()}
            new.saved, new.masks = value(raw.saved), value(raw.masks)
            raws.append(new)
        saves = [(token, value(size, token in grown), value(mask, token in grown),
                  maker, at) for token, size, mask, maker, at in self.saves]
        blocks = {name: self.resized(shape, True, count)
                  for name, shape in self.blocks.items()}
        return types.SimpleNamespace(raws=raws, saves=saves, params=self.params,
                                     results=list(map(ref, self.results)),
                                     blocks=blocks, assumed=False)


class Recorder:
    """Records the next forward passes of modules, up to a backward pass."""

    def __init__(self, modules, batch, recomputes):
        self.modules = modules
        self.batch = batch
        self.record = Record(modules, recomputes)
        self.called = set()
        self.inputs, self.keys = [], {}
        self.places = []
        for module in modules:
            self.wrap(module)

    def wrap(self, module):
        old = module.forward

        @functools.wraps(old)
        def forward(*args, **kwargs):
            stack = quietly(self.enter, module, args, kwargs)
            if stack is None:
                return old(*args, **kwargs)
            with stack:
                out = old(*args, **kwargs)
            quietly(self.add_results, out)
            return out
        own = vars(module)
        self.places.append((own, own.get("forward")))
        own["forward"] = forward

    def restore(self):
        for own, old in self.places:
            own.pop("forward", None)
            if old is not None:
                own["forward"] = old
        self.places = []

    def enter(self, module, args, kwargs):
        """The contexts of a pass, or None if it is not recorded."""
        if id(module) in self.called or not torch.is_grad_enabled():
            return None
        self.called.add(id(module))
        tensors = export.tensors_in((args, kwargs))
        firsts = [t.size(0) for t in tensors if t.dim()]
        loaded = self.batch[0][0] if self.batch and self.batch[0] else None
        samples = loaded if loaded in firsts else firsts[0]
        self.record.given(tensors, samples)
        self.note_inputs(tensors)
        stack = contextlib.ExitStack()
        try:
            register = torch.nn.modules.module
            for hook in (register.register_module_forward_pre_hook(self.entered),
                         register.register_module_forward_hook(self.left)):
                stack.callback(hook.remove)
            stack.enter_context(torch.autograd.graph.saved_tensors_hooks(
                self.record.pack, lambda tensor: tensor))
            stack.enter_context(Tap(self.record))
        except Exception:
            stack.close()
            self.record.failed = True
            return None
        return stack

    def note_inputs(self, tensors):
        """Their shapes, and the length of a sequence of tokens."""
        if not self.inputs:
            self.inputs = [tuple(tensor.shape) for tensor in tensors[:8]]
            first = tensors[0]
            if first.dim() == 2 and first.dtype in (torch.int32, torch.int64):
                self.keys["seq_len"] = first.size(1)

    def entered(self, module, args):
        quietly(self.record.enter, module, args)

    def left(self, module, args, out):
        quietly(self.record.leave, module, args, out)

    def add_results(self, out):
        self.record.results = [self.record.ref(t) for t in export.results_of(out)]

    def reduced(self):
        """The graph of the record, and the keys that follow; {} if it is not whole."""
        record = self.record
        if record.failed or not record.raws or not record.samples:
            return {}
        small, large = record.scaled(export.SMALL), record.scaled(export.LARGE)
        for ref in record.results:
            record.grown.add(ref.token)
        has_loss = any(raw.kind == "loss" for raw in record.raws)
        ops, keys = export.operators(small, large, not has_loss, True, False)
        for op in ops:
            tidy(op, record.recomputes)
        model = self.modules[0]
        graph = {"name": type(model).__name__[:export.NAME_MAX],
                 "source": ("torch " + torch.__version__)[:export.NAME_MAX],
                 "input_bytes": max(1, record.input_bytes // record.samples)}
        if len(self.modules) == 1:
            graph.update(export.blocks_of(model, small, large))
        graph["ops"] = ops
        return {"graph": graph, "inputs": self.inputs,
                "keys": dict(keys, batch=record.samples, **self.keys)}


def tidy(op, recomputes):
    """Whole numbers; without what recomputing hides."""
    for key in ("saved", "masks", "amp_saved", "flops", "bytes"):
        if recomputes and key in ("saved", "masks", "amp_saved"):
            op.pop(key, None)
        elif key in op:
            op[key] = round(op[key])


# The file.


def keys_of_iterator(iterator):
    """The keys of the DataLoader that made it, and its "batches"."""
    keys = export.loader_keys(types.SimpleNamespace(
        num_workers=iterator._num_workers, dataset=iterator._dataset,
        batch_sampler=iterator._index_sampler))
    return dict(keys, batches=quietly(len, iterator))


def described(training, world):
    """The members "sidecar" and "network" of a capture."""
    found = training.network
    spec = {"framework": "pytorch", "torch": ".".join(torch.__version__.split(".")[:2])}
    spec.update({key: value for key, value in training.data.items() if key != "batches"})
    if training.shapes and training.shapes[0]:
        spec.setdefault("batch", training.shapes[0][0])
    told = training.objects
    if "transformers" in told:
        spec.update(export.trainer_keys(*told["transformers"]))
    elif "lightning" in told:
        trainer = told["lightning"][0]
        spec.update(export.lightning_keys(trainer, trainer.lightning_module))
    spec.update({key: value for key, value in found["spec"].items() if value is not None})
    spec.update(found.get("keys") or {})
    spec["gpus"] = world
    network = dict(found["network"])
    network["shapes"] = [list(shape) for shape in
                         (training.shapes or found.get("inputs") or [])[:8]]
    sidecar = {"dnnest": 1, "spec": {k: v for k, v in spec.items() if v is not None}}
    graph = found.get("graph")
    if graph and covers(graph, network):
        if len(str(graph)) < LONGEST:
            sidecar["graph"] = graph
        else:
            sidecar["spec"].update(export.size_keys(graph["ops"]))
    elif network.get("parameters"):
        sidecar["spec"].update(sizes_of(network))
    return {"sidecar": sidecar, "network": network}


def sizes_of(network):
    """Keys of a network that was not recorded: its parameters, and of one of transformers
    with tokens the FLOPs of its products, and what a layer usually keeps."""
    total = network["parameters"]
    keys = {"params": total}
    shape = network["shapes"][0] if network["shapes"] else []
    config = network.get("config", {})
    sizes = [config.get(name) for name in ("num_hidden_layers", "hidden_size")]
    if len(shape) == 2 and all(sizes):
        keys["flops"] = 2 * total * shape[1]
        keys["activations"] = 17 * shape[1] * sizes[0] * sizes[1]
    if network["trainable"] < total:
        keys["trainable"] = round(network["trainable"] / total, 6)
    return keys


def covers(graph, network):
    """Does the graph have all parameters that learn?"""
    return export.total(graph["ops"], lambda op: op.get("params", 0)) \
        >= 0.99 * network["trainable"]
