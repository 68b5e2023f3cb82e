#!/usr/bin/env python3
# dnnest_export.py - writes a PyTorch module as a sidecar, dnnest.sidecar(5)
#
# The module runs forward twice on the CPU, with two and with three samples. Dimensions
# that differ between the two runs contain the batch. A dispatch mode records every
# operator below autograd, as GPU kernels would run; hooks on saved tensors record what
# autograd keeps, each storage once. Functions whose CPU kernels differ from those of a
# GPU (dropout, recurrent layers), or that choose between kernels (attention), are
# replaced during the runs. Nothing is trained, and the module is restored.
#
# Needs only torch, 1.13 or later.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Describe a PyTorch module to dnnest."""

import argparse
import collections
import contextlib
import importlib
import json
import math
import sys
import warnings

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

# Limits of the sidecar's reader.
RANK_MAX = 6
NAME_MAX = 63
OPS_MAX = 20000

# Longer buffers count as frozen parameters, such as quantised weights. Those of
# normalisation are shorter.
BUFFER_BYTES = 1 << 20

# Two batch sizes without a common factor. Both are above 1 because batch normalisation
# refuses a single value per channel.
SMALL, LARGE = 2, 3

GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}

# Operators by the kind of a sidecar, without the underscores of their variants.
KINDS = {
    "embedding": "embedding embedding_bag",
    "batchnorm": "native_batch_norm cudnn_batch_norm native_batch_norm_legit batch_norm"
                 " miopen_batch_norm native_batch_norm_legit_functional"
                 " batch_norm_with_update",
    "layernorm": "native_layer_norm fused_rms_norm",
    "groupnorm": "native_group_norm",
    "activation": "relu gelu silu sigmoid tanh hardtanh hardswish hardsigmoid elu glu"
                  " leaky_relu softplus mish prelu prelu_kernel log_sigmoid_forward"
                  " threshold hardshrink softshrink rrelu_with_noise celu selu",
    "elementwise": "add sub rsub mul div pow sqrt rsqrt exp exp2 log log1p log2"
                   " expm1 neg abs clamp clamp_min clamp_max where masked_fill"
                   " maximum minimum sin cos tan atan atan2 erf erfc reciprocal"
                   " sign floor ceil round trunc eq ne lt le gt ge logical_and"
                   " logical_or logical_not logical_xor bitwise_and bitwise_or"
                   " bitwise_not bitwise_xor addcmul addcdiv lerp fmod remainder"
                   " floor_divide bernoulli random normal uniform exponential rand"
                   " randn rand_like randn_like randint cumsum cumprod isnan isinf"
                   " isfinite nan_to_num xlogy polar sinh cosh asin acos frac"
                   " square logaddexp angle real imag log10 and or xor lshift"
                   " rshift",
    "softmax": "softmax log_softmax safe_softmax",
    "pool": "max_pool2d_with_indices max_pool3d_with_indices avg_pool1d avg_pool2d"
            " avg_pool3d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool2d"
            " adaptive_max_pool3d max_pool2d mkldnn_max_pool2d fractional_max_pool2d",
    "reduce": "mean sum prod amax amin max min argmax argmin var var_mean std std_mean"
              " norm linalg_vector_norm logsumexp any all aminmax count_nonzero nansum"
              " median cummax",
    "concat": "cat stack",
    "copy": "clone copy to_copy constant_pad_nd reflection_pad1d reflection_pad2d"
            " reflection_pad3d replication_pad1d replication_pad2d replication_pad3d"
            " roll flip index index_put index_select gather scatter scatter_add"
            " upsample_nearest1d upsample_nearest2d upsample_nearest3d"
            " upsample_bilinear2d upsample_linear1d upsample_trilinear3d"
            " upsample_bicubic2d upsample_nearest_exact1d upsample_nearest_exact2d"
            " upsample_bilinear2d_aa repeat repeat_interleave tril triu im2col col2im"
            " grid_sampler_2d grid_sampler_3d topk sort masked_select masked_scatter"
            " select_scatter slice_scatter index_add index_fill fill zero zeros ones"
            " full zeros_like ones_like full_like new_zeros new_ones new_full"
            " pixel_shuffle pixel_unshuffle channel_shuffle native_channel_shuffle"
            " bucketize searchsorted take nonzero one_hot eye arange unsafe_index"
            " scatter_reduce fft_r2c fft_c2c fft_c2r complex view_as_real unfold",
    "dropout": "native_dropout",
    "loss": "nll_loss_forward nll_loss2d_forward mse_loss binary_cross_entropy"
            " smooth_l1_loss huber_loss binary_cross_entropy_with_logits ctc_loss"
            " soft_margin_loss multi_margin_loss kl_div",
    "attention": "scaled_dot_product_flash_attention"
                 " scaled_dot_product_flash_attention_for_cpu"
                 " scaled_dot_product_efficient_attention"
                 " scaled_dot_product_cudnn_attention"
                 " scaled_dot_product_fused_attention_overrideable",
    "product": "mm addmm bmm baddbmm mv addmv dot matmul addbmm linear mkldnn_linear",
    "conv": "convolution convolution_overrideable conv2d mkldnn_convolution"
            " thnn_conv2d slow_conv2d_forward",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}

# Functions that reserve memory or return properties, without a kernel.
FREE = ("empty", "scalar_tensor", "lift", "sym_size", "local_scalar_dense", "set",
        "resize", "is_same_size", "equal", "record_stream", "as_strided")


def storage_of(tensor):
    """The storage that a tensor is a view of; an object that keeps it alive."""
    try:
        return tensor.untyped_storage()
    except AttributeError:  # before torch 2.0
        return tensor.storage()._storage if hasattr(tensor.storage(), "_storage") \
            else tensor.storage()


def storage_key(tensor):
    return storage_of(tensor)._cdata


def tensors_in(value):
    """All tensors in lists, tuples, dicts and named results."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def writes(schema):
    return any(a.alias_info is not None and a.alias_info.is_write
               for a in schema.arguments)


# A parameter, or a long buffer.
Weight = collections.namedtuple("Weight", "number elements bytes learns buffer")


class Ref:
    """A tensor at the time of a call: its shape, a number for its storage, and whether
    a gradient towards it is computed."""

    def __init__(self, token, shape, floating=True, grad=False):
        self.token = token
        self.shape = shape
        self.floating = floating
        self.grad = grad


class Raw:
    """One operator of one run."""

    def __init__(self, name, kind, ins, outs, **facts):
        self.name = name
        self.kind = kind
        self.ins = ins
        self.outs = outs
        self.facts = facts
        self.where = ""
        self.saved = 0   # elements and bytes that no hook sees
        self.masks = 0
        self.view = False
        self.outs_used = len(outs)


class Run(TorchDispatchMode):
    """The operators of one forward pass, and what autograd keeps of it."""

    def __init__(self, model, fused):
        super().__init__()
        self.fused = fused
        self.raws = []
        self.saves = []      # (token, storage's elements, bytes if no float, at)
        self.tokens = {}     # of a storage's address
        self.producer = {}   # of a token: index of the operator that wrote it last
        self.saved = set()
        self.alive = []      # keeps storages, so that no address is reused
        self.paused = 0
        self.path = []
        self.n_tokens = 0
        self.blocks = {}     # shape of a module's first input, by its name
        self.params = {}     # weights of a token
        self.names = {module: name for name, module in model.named_modules()}
        self.add_weights(model)

    def add_weights(self, model):
        """Number the weights. Parameters that do not learn and have the same memory
        count once."""
        buffers = list(model.buffers())
        places = set()
        for i, tensor in enumerate(list(model.parameters()) + buffers):
            token = self.token_of(tensor)
            self.saved.add(token)
            self.alive.append(storage_of(tensor))
            place = (token, tensor.storage_offset(), tensor.numel())
            size = tensor.numel() * tensor.element_size()
            buffer = any(tensor is other for other in buffers)
            if (tensor.requires_grad or place not in places) \
                    and (not buffer or size > BUFFER_BYTES):
                self.params.setdefault(token, []).append(Weight(
                    i, tensor.numel(), size, tensor.requires_grad, buffer))
            places.add(place)

    def token_of(self, tensor, new=False):
        key = storage_key(tensor)
        if new or key not in self.tokens:
            self.tokens[key] = self.new_token()
        return self.tokens[key]

    def ref(self, tensor):
        return Ref(self.token_of(tensor), tuple(tensor.shape),
                   tensor.is_floating_point() or tensor.is_complex(),
                   tensor.requires_grad)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.paused:
            return func(*args, **kwargs)
        ins = [self.ref(t) for t in tensors_in((args, kwargs))]
        keys = {storage_key(t) for t in tensors_in((args, kwargs))}
        out = as_a_gpu_lays_it_out(func, args, func(*args, **kwargs))
        outs = []
        for tensor in tensors_in(out):
            outs.append(Ref(self.token_of(tensor, storage_key(tensor) not in keys),
                            tuple(tensor.shape), tensor.is_floating_point()))
        view = bool(outs) and not writes(func._schema) \
            and {r.token for r in outs} <= {r.token for r in ins}
        raw = make_raw(func, args, kwargs, ins, outs)
        raw.view = view
        if raw.kind in ("layernorm", "groupnorm") and not args[0].is_contiguous():
            # Its kernel makes an internal copy, which the dispatcher does not see.
            self.add(Raw("contiguous", "copy", ins[:1], [Ref(self.new_token(),
                                                             ins[0].shape)]))
        self.add(raw)
        return out

    def new_token(self):
        self.n_tokens += 1
        return self.n_tokens

    def add(self, raw):
        raw.where = self.path[-1] if self.path else ""
        if not raw.view:
            for ref in raw.outs:
                self.producer[ref.token] = len(self.raws)
        self.raws.append(raw)

    def pack(self, tensor):
        if not self.paused:
            token = self.token_of(tensor)
            if token not in self.saved:
                self.saved.add(token)
                storage = storage_of(tensor)
                self.alive.append(storage)
                count = storage.nbytes() // tensor.element_size()
                self.saves.append(
                    (token, count,
                     0 if tensor.is_floating_point() or tensor.is_complex()
                     else storage.nbytes(),
                     self.producer.get(token), len(self.raws)))
        return None

    def enter(self, module, args):
        name = self.names.get(module, "")
        self.path.append(name)
        if name not in self.blocks:
            given = [t for t in tensors_in(args) if t.is_floating_point()]
            self.blocks[name] = tuple(given[0].shape) if given else ()
        if isinstance(module, torch.nn.RNNBase):
            self.paused += 1

    def leave(self, module, args, out):
        if isinstance(module, torch.nn.RNNBase):
            self.paused -= 1
            self.add_rnn(module, args, out)
        self.path.pop()

    def add_rnn(self, module, args, out):
        """A recurrent layer as a GPU's library runs it: one operator per layer, which
        keeps its gates (and cells), not the single steps of the CPU."""
        given, result = tensors_in(args)[0], tensors_in(out)[0]
        directions = 2 if module.bidirectional else 1
        gates = GATES[module.mode]
        source = self.ref(given)
        for layer in range(module.num_layers):
            end = layer == module.num_layers - 1
            shape = tuple(result.shape)
            target = Ref(self.token_of(result, True) if end else self.new_token(),
                         shape, grad=result.requires_grad)
            raw = Raw("rnn", "rnn", [source], [target], hidden=module.hidden_size,
                      gates=gates)
            raw.params = [self.token_of(p) for n, p in module.named_parameters()
                          if n.endswith("_l%d" % layer)
                          or n.endswith("_l%d_reverse" % layer)]
            if result.requires_grad:
                raw.saved = math.prod(shape[:-1]) * directions * module.hidden_size \
                    * (gates + (2 if gates == 4 else 1))
            if result.requires_grad and source.token not in self.saved:
                raw.saved += math.prod(source.shape)
                self.saved.add(source.token)
            self.add(raw)
            self.saved.add(target.token)
            source = target
            if module.dropout > 0 and not end:
                dropped = Ref(self.new_token(), shape, grad=source.grad)
                raw = Raw("dropout", "dropout", [source], [dropped])
                raw.masks = math.prod(shape) if source.grad else 0
                self.add(raw)
                source = dropped

    # Replacements of functions of torch.

    def dropout(self, input, p=0.5, training=True, inplace=False):
        """One kernel with a mask of bytes; the CPU's keeps a mask of floats."""
        if not training or p == 0:
            return input
        return torch.native_dropout(input, p, True)[0]

    def linear(self, input, weight, bias=None):
        """One kernel for any shape of the input, as in torch 2."""
        rows = input.reshape(-1, input.size(-1))
        out = torch.mm(rows, weight.t()) if bias is None \
            else torch.addmm(bias, rows, weight.t())
        return out.view(input.shape[:-1] + (weight.size(0),))

    def attention(self, query, key, value, attn_mask=None, dropout_p=0.0,
                  is_causal=False, scale=None, enable_gqa=False):
        if enable_gqa:
            times = query.size(-3) // key.size(-3)
            key, value = (t.repeat_interleave(times, -3) for t in (key, value))
        if self.fused:
            return self.fused_attention(query, key, value)
        scores = torch.matmul(query, key.transpose(-2, -1))
        scores = scores * (scale or 1 / math.sqrt(query.size(-1)))
        if is_causal or attn_mask is not None:
            if attn_mask is None:
                attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool,
                                       device=scores.device).tril()
            if attn_mask.dtype == torch.bool:
                scores = scores.masked_fill(~attn_mask, -math.inf)
            else:
                scores = scores + attn_mask
        weights = self.dropout(torch.softmax(scores, -1), dropout_p)
        return torch.matmul(weights, value)

    def fused_attention(self, query, key, value):
        self.paused += 1
        result = torch.matmul(
            torch.softmax(torch.matmul(query, key.transpose(-2, -1)), -1), value)
        self.paused -= 1
        refs = [self.ref(t) for t in (query, key, value)]
        raw = Raw("attention", "attention", refs,
                  [Ref(self.token_of(result, True), tuple(result.shape))])
        if result.requires_grad:
            for ref in refs + raw.outs:
                if ref.token not in self.saved:
                    raw.saved += math.prod(ref.shape)
                    self.saved.add(ref.token)
            # It also keeps the logarithm of the sum of each row.
            raw.saved += math.prod(query.shape[:-1])
        self.add(raw)
        return result

    def attention_of_1_13(self, q, k, v, attn_mask=None, dropout_p=0.0,
                          need_attn_weights=False, is_causal=False):
        """The function of torch 1.13, which also returns the weights; the caller uses
        only their shape."""
        out = self.attention(q, k, v, attn_mask, dropout_p, is_causal)
        return out, q.new_empty(q.shape[:-1] + (k.size(-2),))

    def multi_head(self, query, key, value, size, heads, weight, bias, bias_k, bias_v,
                   add_zero, dropout_p, out_weight, out_bias, **more):
        """torch's function puts the sequence first, and so copies inputs that have the
        batch first; here the batch stays first."""
        plain = {"training", "need_weights", "attn_mask", "average_attn_weights",
                 "is_causal"}
        if query.dim() != 3 or bias_k is not None or add_zero or weight is None \
                or more.get("need_weights", True) \
                or any(v is not None and v is not False
                       for k, v in more.items() if k not in plain):
            return self.old_multi_head(
                query, key, value, size, heads, weight, bias, bias_k, bias_v, add_zero,
                dropout_p, out_weight, out_bias, **more)
        tensors = list({id(t): t for t in (query, key, value)}.values())
        parts = [weight.size(0)] if len(tensors) == 1 \
            else [size, 2 * size] if len(tensors) == 2 and key is value else [size] * 3
        tensors = tensors if len(parts) == len(tensors) else [query, key, value]
        biases = [None] * len(parts) if bias is None else bias.split(parts)
        made = [functional.linear(t.transpose(0, 1), w, b)
                for t, w, b in zip(tensors, weight.split(parts), biases)]
        made = [part for whole in made for part in whole.split(size, -1)]
        q, k, v = (t.unflatten(-1, (heads, size // heads)).transpose(1, 2) for t in made)
        mask = more.get("attn_mask")
        if mask is not None:  # True: masked out here, but kept in the function below
            mask = ~mask if mask.dtype == torch.bool else mask
            mask = mask.unflatten(0, (-1, heads)) if mask.dim() == 3 else mask
        dropout_p = dropout_p if more.get("training", True) else 0.0
        result = functional.scaled_dot_product_attention(q, k, v, mask, dropout_p) \
            if hasattr(functional, "scaled_dot_product_attention") \
            else self.attention(q, k, v, mask, dropout_p)
        result = result.transpose(1, 2).flatten(-2)
        return functional.linear(result, out_weight, out_bias).transpose(0, 1), None

    @contextlib.contextmanager
    def replaced(self):
        """Replace functions of torch within the context."""
        self.old_multi_head = functional.multi_head_attention_forward
        new = {
            (functional, "multi_head_attention_forward"): self.multi_head,
            (functional, "dropout"): self.dropout,
            (functional, "linear"): self.linear,
            (functional, "scaled_dot_product_attention"): self.attention,
            (functional, "_scaled_dot_product_attention"): self.attention_of_1_13,
            (torch, "dropout"): lambda input, p, train: self.dropout(input, p, train),
        }
        old = {}
        for (place, name), function in new.items():
            if hasattr(place, name):
                old[place, name] = getattr(place, name)
                setattr(place, name, function)
        try:
            yield
        finally:
            for (place, name), function in old.items():
                setattr(place, name, function)


def as_a_gpu_lays_it_out(func, args, out):
    """The CPU's depthwise convolution keeps a channels-last layout. A GPU's does not,
    so that later operators that need channels last must copy."""
    name = func._schema.name.split("::")[-1].strip("_")
    if KIND_OF.get(name) == "conv" and isinstance(out, torch.Tensor) \
            and out.dim() > 2 and args[1].size(1) == 1 and args[0].size(1) > 1:
        return out.contiguous()
    return out


def make_raw(func, args, kwargs, ins, outs):
    """An operator of torch as one of a sidecar, with the facts that its kind needs."""
    full = func._schema.name.split("::")[-1]
    name = full.strip("_")
    raw = Raw(full, KIND_OF.get(name, "other"), ins, outs)
    if name.startswith(FREE) or name.startswith("new_empty"):
        raw.kind = "free"
    elif raw.kind == "conv":
        fact = dict(zip((a.name for a in func._schema.arguments), args), **kwargs)
        window = tuple(fact["weight"].shape[2:])
        raw.kind = "conv_transpose" if fact.get("transposed") \
            else "conv%dd" % len(window)
        raw.facts = {"kernel": list(window), "groups": fact["groups"],
                     "stride": [int(s) for s in fact["stride"]]}
    elif raw.kind == "product":
        # A bias or what is added comes first; the last two are multiplied.
        raw.facts["factors"] = ins[-2:]
    elif raw.kind == "embedding":
        raw.facts["rows"] = ins[1]
    elif raw.kind == "attention":
        raw.facts["fused"] = True
        raw.ins = ins[:3]
        raw.outs = outs[:1]
    elif raw.kind == "other" and outs:
        raw.facts["flops"] = counted_flops(func, args, kwargs, outs)
        if torch.Tag.pointwise in getattr(func, "tags", ()) \
                if hasattr(torch, "Tag") and hasattr(torch.Tag, "pointwise") else False:
            raw.kind = "elementwise"
    # The other outputs, statistics and masks, are kept for the backward pass only.
    if raw.kind in ("batchnorm", "layernorm", "groupnorm", "dropout", "pool"):
        raw.outs_used = 1
    return raw


def counted_flops(func, args, kwargs, outs):
    """FLOPs as counted by torch 2.1 or later, else one per element written."""
    try:
        from torch.utils.flop_counter import flop_registry
        shapes = [torch.Size(ref.shape) for ref in outs]
        return flop_registry[func._overloadpacket](
            *args, **kwargs, out_val=None, out_shape=shapes[0])
    except Exception:  # no registry, operator unknown, or another signature
        return sum(math.prod(ref.shape) for ref in outs)


class Scale:
    """Converts numbers of the two runs to numbers per sample."""

    @staticmethod
    def number(small, large):
        return max(0, (large - small) / (LARGE - SMALL))

    @staticmethod
    def grows(small, large):
        return small.shape != large.shape

    @staticmethod
    def shape(small, large):
        """The shape of one sample: the dimension that grows is divided by the batch,
        and removed if it is the batch alone."""
        shape = []
        if len(small.shape) != len(large.shape):
            raise ValueError("a shape's rank depends on the batch")
        for a, b in zip(small.shape, large.shape):
            if a == b:
                shape.append(a)
            elif a * LARGE == b * SMALL:
                if a > SMALL:
                    shape.append(a // SMALL)
            else:  # a constant and the batch together, such as [cls] rows
                shape.append(max(1, round((b - a) / (LARGE - SMALL))))
        return shape


def fold(shape):
    """Limit the number of dimensions to RANK_MAX, and sizes to at least 1."""
    shape = [max(1, int(size)) for size in shape]
    while len(shape) > RANK_MAX:
        shape[:2] = [shape[0] * shape[1]]
    return shape


def channels_first(shape, n_dims):
    """(C, ...) of a convolution; other dimensions with the batch become positions."""
    more = len(shape) - n_dims - 1
    if more > 0:
        shape = [shape[more], math.prod(shape[:more]) * shape[more + 1]] \
            + shape[more + 2:]
    return shape


class Export:
    """The sidecar's operators from two runs."""

    def __init__(self, small, large):
        self.small = small
        self.large = large
        self.carried = {}    # parameters within a tensor that is made of them
        self.counted = set()
        self.ops = []
        self.index = []      # of a raw operator: its place in ops, or None
        self.owed = []       # parameters that the next operator is charged with
        self.unknown = {}
        self.readers = {}    # of a token: the raw operators that read it, no views
        for i, raw in enumerate(small.raws):
            for token in {ref.token for ref in raw.ins} if not raw.view else ():
                self.readers.setdefault(token, []).append(i)
        for ref in small.results:
            self.readers.setdefault(ref.token, []).append(len(small.raws))
        self.narrow = self.find_narrow()
        self.siblings = set()
        self.joined = self.join_copies()
        if [r.name for r in small.raws] != [r.name for r in large.raws]:
            raise ValueError("the network runs other operators when the batch changes; "
                             "describe one whose path is fixed")

    def build(self):
        for i, (a, b) in enumerate(zip(self.small.raws, self.large.raws)):
            if i in self.joined:
                self.join(i, a, b)
                continue
            op = self.operator(a, b)
            if op and i in self.narrow:
                op["in"] = op["in"][:1]
            self.index.append(len(self.ops) if op else None)
            if op:
                self.ops.append(op)
        if not self.ops:
            raise ValueError("no operator that depends on the sample")
        self.add_saved()
        return self.ops

    def is_copy(self, i):
        """Does the operator copy one whole tensor that depends on the samples?"""
        a, b = self.small.raws[i], self.large.raws[i]
        return a.kind == "copy" and not a.view and len(a.outs) == 1 and bool(a.ins) \
            and Scale.grows(a.outs[0], b.outs[0]) \
            and math.prod(a.ins[0].shape) == math.prod(a.outs[0].shape) \
            and not any(map(Scale.grows, a.ins[1:], b.ins[1:]))

    def find_narrow(self):
        """Element-wise operators whose inputs all derive from one array by other such
        operators, as in a composed activation function. In the zoo each of them reads
        one array."""
        sources = {}
        narrow = set()
        for i, (a, b) in enumerate(zip(self.small.raws, self.large.raws)):
            if a.view or a.kind not in ("elementwise", "activation") or len(a.outs) != 1:
                continue
            size = math.prod(a.outs[0].shape)
            ins = [x for x, y in zip(a.ins, b.ins) if Scale.grows(x, y)]
            found = {sources.get(ref.token, (ref.token, size)) for ref in ins}
            whole = all(math.prod(ref.shape) == size for ref in ins)
            if len(found) == 1 and whole and (found & {(r.token, size) for r in ins}
                                              or ins[0].token in sources):
                sources[a.outs[0].token] = found.pop()
                if len(ins) > 1:
                    narrow.add(i)
        return narrow

    def is_product(self, i):
        """Is it a product of two activations?"""
        a, b = self.small.raws[i], self.large.raws[i]
        return a.kind == "product" \
            and all(map(Scale.grows, a.facts["factors"], b.facts["factors"]))

    def join_copies(self):
        """Copies that count as a part of an earlier copy, as in the zoo: a copy of a
        copy that is read only once, such as a shift that is then cut into windows; and the
        transposes of query, key and value, which count as one. Maps the indexes of raw
        operators."""
        makers = {}
        joined = {}
        steps = []
        for i, raw in enumerate(self.small.raws):
            if raw.kind == "softmax" or self.is_product(i):
                steps.append(i)
            if self.is_copy(i):
                token = raw.ins[0].token
                if token in makers and self.readers[token] == [i]:
                    joined[i] = joined.get(makers[token], makers[token])
                makers[raw.outs[0].token] = i
        for a, b, c in zip(steps, steps[1:], steps[2:]):
            if self.small.raws[b].kind == "softmax" and self.is_product(a) \
                    and self.is_product(c):
                copies = [makers[ref.token] for i in (a, c)
                          for ref in self.small.raws[i].facts["factors"]
                          if ref.token in makers and self.readers[ref.token] == [i]]
                others = {i: min(copies) for i in copies if i > min(copies)}
                self.siblings.update(others)
                joined.update(others)
        return joined

    def join(self, i, a, b):
        """Elements of a chain count once, those of siblings together."""
        at = self.index[self.joined[i]]
        self.index.append(at)
        if i in self.siblings:
            self.ops[at]["in"].append(fold(Scale.shape(a.ins[0], b.ins[0])))
            self.ops[at]["out"].append(fold(Scale.shape(a.outs[0], b.outs[0])))

    def parameters_of(self, raw):
        """The weights that an operator reads."""
        tokens = [ref.token for ref in raw.ins] + getattr(raw, "params", [])
        found = []
        for token in tokens:
            found += self.small.params.get(token, []) + self.carried.get(token, [])
        return found

    def operator(self, a, b):
        """The operator of a sidecar, or None if it has no kernel, or one that runs once
        for all samples."""
        params = self.parameters_of(a)
        grows = any(map(Scale.grows, a.outs, b.outs)) \
            or (a.kind in ("reduce", "loss") and any(map(Scale.grows, a.ins, b.ins)))
        if not grows or a.view or a.kind == "free" or self.is_small_change(a, b):
            if not grows:
                self.carried.update({ref.token: params for ref in a.outs if params})
            elif not a.view:
                self.owed += params
            return None
        op = self.shapes(a, b)
        self.charge(op, self.owed + params)
        self.owed = []
        if op["op"] not in ("embedding", "loss") \
                and not any(ref.grad for ref in self.differentiated(op, a, b)):
            op["first"] = True
        if a.where:
            op["name"] = a.where[:NAME_MAX]
        op["saved"] = Scale.number(a.saved, b.saved)
        op["masks"] = Scale.number(a.masks, b.masks)
        return op

    @staticmethod
    def differentiated(op, a, b):
        """The inputs towards which 'first' denies a gradient: of a layer with weights
        not these."""
        if op["op"] == "linear":
            return [x for x, y in zip(a.facts["factors"], b.facts["factors"])
                    if Scale.grows(x, y)]
        return a.ins[:1] if a.kind.startswith("conv") or a.kind == "rnn" else a.ins

    def is_small_change(self, a, b):
        """Does it count as a part of its neighbour, as in the zoo? These are random
        numbers, one per sample (stochastic depth), and the copy that autograd makes of
        an array that an activation function overwrites."""
        if a.kind == "elementwise":
            return math.prod(Scale.shape(a.outs[0], b.outs[0])) == 1
        return a.name == "clone" and a.outs[0].token not in self.readers

    def charge(self, op, params):
        new = {weight.number: weight for weight in params
               if weight.number not in self.counted}
        self.counted.update(new)
        learned = [weight for weight in new.values() if weight.learns]
        frozen = [weight for weight in new.values() if not weight.learns]
        if learned:
            op["params"] = sum(weight.elements for weight in learned)
            op["tensors"] = len(learned)
        if frozen:
            op["frozen"] = sum(weight.elements for weight in frozen)
            size = sum(weight.bytes for weight in frozen)
            if size != 4 * op["frozen"]:
                op["frozen_bytes"] = size

    def shapes(self, a, b):
        n_outs = a.outs_used
        ins = [Scale.shape(x, y) for x, y in zip(a.ins, b.ins) if Scale.grows(x, y)]
        outs = [Scale.shape(x, y) for x, y in zip(a.outs[:n_outs], b.outs[:n_outs])]
        op = {"op": a.kind}
        if a.kind.startswith("conv"):
            n_dims = len(a.facts["kernel"])
            op.update(a.facts)
            ins = [channels_first(s, n_dims) for s in ins[:1]]
            outs = [channels_first(s, n_dims) for s in outs]
        elif a.kind == "product":
            ins, outs = self.product(op, a, b)
        elif a.kind == "rnn":
            op.update(hidden=a.facts["hidden"], gates=a.facts["gates"])
            ins, outs = [self.tokens_of(s) for s in ins], \
                [self.tokens_of(s) for s in outs]
        elif a.kind == "attention":
            op["fused"] = True
            ins = [[1] * (3 - len(s)) + s for s in ins]
            outs = [[1] * (3 - len(s)) + s for s in outs]
        elif a.kind == "embedding":
            ins = [Scale.shape(a.facts["rows"], b.facts["rows"]) or [1]]
            outs = outs[:1]
        elif a.kind == "other":
            elements = sum(math.prod(s) for s in ins + outs)
            op.update(flops=Scale.number(a.facts.get("flops", 0),
                                         b.facts.get("flops", 0)),
                      bytes=4 * elements)
            self.unknown[a.name] = self.unknown.get(a.name, 0) + 1
        op["in"] = [fold(s) for s in ins]
        op["out"] = [fold(s) for s in outs]
        return op

    @staticmethod
    def tokens_of(shape):
        return shape if len(shape) > 1 else [1] + shape

    def product(self, op, a, b):
        """A product with weights is a linear layer, one of two activations a matmul."""
        (x, w), (x2, w2) = a.facts["factors"], b.facts["factors"]
        out = Scale.shape(a.outs[0], b.outs[0])
        if not Scale.grows(x, x2):  # the weights are the first factor
            x, x2, w, w2 = w, w2, x, x2
            out = out[::-1]
        if Scale.grows(w, w2):
            op["op"] = "matmul"
            return self.factors(a, b)
        op["op"] = "linear"
        return [Scale.shape(x, x2) or [1]], [out or [1]]

    def factors(self, a, b):
        """Both factors and the result with at least two dimensions; a dimension that is
        the batch alone becomes 1."""
        def full(x, y):
            shape = [size if size == other else size // SMALL
                     for size, other in zip(x.shape, y.shape)]
            while len(shape) > 2 and shape[0] == 1:
                shape = shape[1:]
            return [1] * (2 - len(shape)) + shape
        return [full(x, y) for x, y in zip(a.facts["factors"], b.facts["factors"])], \
            [full(a.outs[0], b.outs[0])]

    def add_saved(self):
        """Charge the tensors that autograd keeps to the operator that made them; the
        sample itself to the first operator that keeps it."""
        if len(self.small.saves) != len(self.large.saves):
            raise ValueError("autograd keeps other tensors when the batch changes")
        for a, b in zip(self.small.saves, self.large.saves):
            at = self.index[a[3]] if a[3] is not None else None
            if a[3] is not None and self.small.raws[a[3]].kind == "dropout" and not a[2]:
                at = None  # dropout keeps only its mask
            later = (i for i in self.index[a[4]:] if i is not None)
            if at is None:
                at = next(later, len(self.ops) - 1)
            op = self.ops[at]
            if a[2]:
                op["masks"] += Scale.number(a[2], b[2])
            else:
                op["saved"] += Scale.number(a[1], b[1])

    def add_rest(self):
        """Add parameters that no operator reads: they take memory, and the optimizer
        updates those that learn."""
        rest = [weight for weights in self.small.params.values() for weight in weights
                if weight.number not in self.counted]
        if rest:
            unused = sum(not weight.buffer for weight in rest)
            if unused:
                warn("%d parameter tensors are not used by the forward pass" % unused)
            self.ops.append({"op": "copy", "in": [], "out": [[1]], "saved": 0,
                             "masks": 0})
            self.charge(self.ops[-1], rest)


def warn(text):
    warnings.warn(text, stacklevel=2)


def losses(small, large):
    """A loss for each result that is not a loss itself."""
    ops = []
    for a, b in zip(small.results, large.results):
        shape = Scale.shape(a, b)
        if not Scale.grows(a, b) or not a.floating:
            continue
        elements = math.prod(shape)
        classes = shape[0] if len(shape) > 2 else shape[-1] if shape else 1
        ops.append({"op": "loss", "in": [fold(shape)], "out": [fold(shape)],
                    "saved": elements, "masks": 8 * elements // max(1, classes)})
    return ops


def results_of(out):
    """The scores of a model; none if it computes its loss itself."""
    for name in ("loss", "logits"):
        value = out.get(name) if isinstance(out, dict) else None
        if isinstance(value, torch.Tensor):
            return [] if name == "loss" else [value]
    return tensors_in(out)


def resize(value, size, dim):
    """An example input with 'size' samples."""
    if isinstance(value, torch.Tensor):
        if value.dim() <= dim:
            return value
        picks = [i % value.size(dim) for i in range(size)]
        return value.index_select(dim, torch.tensor(picks, device=value.device))
    if isinstance(value, dict):
        return {key: resize(item, size, dim) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(resize(item, size, dim) for item in value)
    return value


def trace(model, inputs, size, dim, fused):
    """Run forward with 'size' samples."""
    given = resize(inputs, size, dim)
    run = Run(model, fused)
    run.alive += [storage_of(t) for t in tensors_in(given)]
    hooks = [torch.nn.modules.module.register_module_forward_pre_hook(run.enter),
             torch.nn.modules.module.register_module_forward_hook(run.leave)]
    torch.manual_seed(0)
    try:
        with run.replaced(), torch.enable_grad(), \
                torch.autograd.graph.saved_tensors_hooks(run.pack, lambda x: x), run:
            out = model(**given) if isinstance(given, dict) else model(*given)
            run.results = [run.ref(t) for t in results_of(out)]
    finally:
        for hook in hooks:
            hook.remove()
    return run


@contextlib.contextmanager
def left_as_it_was(model):
    """Put the model into training mode within the context; then restore its modes,
    buffers and the random state."""
    modes = [(module, module.training) for module in model.modules()]
    buffers = [(tensor, tensor.clone()) for tensor in model.buffers()]
    state = torch.get_rng_state()
    try:
        model.train()
        yield
    finally:
        for module, training in modes:
            module.training = training
        with torch.no_grad():
            for tensor, copy in buffers:
                tensor.copy_(copy)
        torch.set_rng_state(state)


def blocks_of(model, small, large):
    """Equal blocks that hold most parameters, and the size of the data between two."""
    total = sum(p.numel() for p in model.parameters())
    for name, module in model.named_modules():
        children = list(module.named_children())
        if not isinstance(module, (torch.nn.ModuleList, torch.nn.Sequential)) \
                or len(children) < 2:
            continue
        kinds = {(type(child), tuple(p.shape for p in child.parameters()))
                 for _, child in children}
        size = sum(p.numel() for p in module.parameters())
        first = "%s.%s" % (name, children[0][0]) if name else children[0][0]
        if len(kinds) == 1 and 2 * size > total and small.blocks.get(first):
            boundary = Scale.number(math.prod(small.blocks[first]),
                                    math.prod(large.blocks[first]))
            return {"blocks": len(children), "boundary": whole(boundary)}
    return {}


def whole(value):
    return int(value) if isinstance(value, float) and value == int(value) else value


def merge(ops):
    """Equal operators once, with 'repeat'."""
    merged = {}
    for op in ops:
        op = {key: value for key, value in op.items() if key != "name"}
        key = json.dumps(op, sort_keys=True)
        if key in merged:
            merged[key]["repeat"] = merged[key].get("repeat", 1) + 1
        else:
            merged[key] = op
    return list(merged.values())


def describe(model, example_inputs, batch=None, name=None, spec=None, batch_dim=0,
             fused=False, loss=True, merged=False):
    """Describe a training step of 'model' as a sidecar: a dict, to be written as JSON.

    example_inputs: the arguments of the model, a tensor, a tuple of tensors, or a dict
    of keywords. Dimension batch_dim of each tensor is the batch.
    batch, spec: keys of dnnest.spec(5). fused: attention in one kernel. loss: add a
    loss of the results. merged: equal operators once.
    """
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    with left_as_it_was(model):
        small = trace(model, example_inputs, SMALL, batch_dim, fused)
        large = trace(model, example_inputs, LARGE, batch_dim, fused)
    export = Export(small, large)
    ops = export.build()
    if loss:
        ops += losses(small, large)
    export.add_rest()
    if export.unknown:
        warn("unknown operators, counted by their elements: "
             + ", ".join(sorted(export.unknown)))
    for op in ops:
        for key, value in op.items():
            op[key] = whole(value)
    if merged:
        ops = merge(ops)
    if len(ops) > OPS_MAX:
        raise ValueError("%d operators, a sidecar has at most %d" % (len(ops), OPS_MAX))
    one = resize(example_inputs, 1, batch_dim)
    graph = {"name": (name or type(model).__name__)[:NAME_MAX],
             "source": ("torch " + torch.__version__)[:NAME_MAX],
             "input_bytes": sum(t.numel() * t.element_size() for t in tensors_in(one))}
    graph.update(blocks_of(model, small, large))
    graph["ops"] = ops
    keys = {"framework": "pytorch"}
    keys.update(spec or {})
    if batch is not None:
        keys["batch"] = batch
    return {"dnnest": 1, "spec": keys, "graph": graph}


def load_model(text, arguments):
    """MODULE:NAME, a module or a function that makes one."""
    place, _, name = text.partition(":")
    if not name:
        raise ValueError("%r: expected MODULE:NAME" % text)
    sys.path.insert(0, "")
    thing = importlib.import_module(place)
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing if isinstance(thing, torch.nn.Module) else thing(**arguments)


def key_value(text):
    key, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("%r: expected KEY=VALUE" % text)
    return key, value


def argument(text):
    """A keyword argument of the model's function; the value is JSON or else text."""
    key, value = key_value(text)
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value


def example(text):
    """[TYPE:]N,N,... without the batch."""
    kind, _, sizes = text.rpartition(":")
    try:
        shape = [int(size) for size in sizes.split(",")] if sizes else []
        dtype = getattr(torch, kind or "float32")
    except (ValueError, AttributeError):
        raise argparse.ArgumentTypeError("%r: expected [TYPE:]N,N,..." % text) from None
    return torch.zeros([1] + shape, dtype=dtype)


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="dnnest_export.py",
        description="Describe a PyTorch module to dnnest, as a sidecar.")
    parser.add_argument("model", metavar="MODULE:NAME",
                        help="a module, or a function that makes one")
    parser.add_argument("--input", action="append", type=example, required=True,
                        metavar="[TYPE:]N,N,...",
                        help="shape of one sample of an input; may be repeated")
    parser.add_argument("--arg", action="append", type=argument, default=[],
                        metavar="KEY=VALUE", help="argument of the function")
    parser.add_argument("--batch", type=int, metavar="N", help="samples per GPU")
    parser.add_argument("--spec", default="", metavar="KEY=VALUE,...",
                        help="further keys of dnnest.spec(5)")
    parser.add_argument("--name", help="name of the network")
    parser.add_argument("--fused", action="store_true",
                        help="attention in one kernel that keeps no probabilities")
    parser.add_argument("--no-loss", action="store_true",
                        help="the module computes its loss itself")
    parser.add_argument("--merge", action="store_true",
                        help="write equal operators once, without names")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: stdout")
    return parser.parse_args(argv)


def main(argv=None):
    given = parse(argv)
    warnings.showwarning = lambda text, *_: print("dnnest_export: warning:", text,
                                                  file=sys.stderr)
    try:
        spec = dict(key_value(part) for part in given.spec.split(",") if part)
        model = load_model(given.model, dict(given.arg))
        sidecar = describe(model, tuple(given.input), batch=given.batch, spec=spec,
                           name=given.name or given.model.split(":")[-1],
                           fused=given.fused, loss=not given.no_loss,
                           merged=given.merge)
    except (argparse.ArgumentTypeError, AttributeError, ImportError, RuntimeError,
            TypeError, ValueError) as error:
        print("dnnest_export: %s" % str(error).split("\n")[0], file=sys.stderr)
        return 1
    text = "".join([json.dumps(sidecar, separators=(",", ":")), "\n"])
    if given.output:
        with open(given.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
