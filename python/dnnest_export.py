#!/usr/bin/env python3
# dnnest_export.py - writes a PyTorch module as a sidecar, dnnest.sidecar(5)
#
# The module runs forward twice, with two and with three samples, on meta tensors: they
# have shapes and no memory, and nothing is computed. A module that needs values runs on
# its own tensors instead. Dimensions that differ between both runs contain the batch.
# A dispatch mode records every operator below autograd, as GPU kernels would run; hooks
# on saved tensors record what autograd keeps, each storage once. Functions whose CPU
# kernels differ from those of a GPU (dropout, recurrent layers), or that choose between
# kernels (attention), are replaced during the runs. Nothing is trained, and the module
# is restored. dnnest_record.py takes the same from a step of a training that runs.
#
# Needs only torch, 1.13 or later; transformers, diffusers and timm where a network of
# theirs is asked for.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Describe a PyTorch module to dnnest."""

import argparse
import collections
import contextlib
import glob
import importlib
import inspect
import json
import math
import os
import random
import re
import sys
import warnings

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

# Limits of the sidecar's reader.
RANK_MAX = 6
NAME_MAX = 63
OPS_MAX = 20000

CONFIG_BYTES = 1 << 20
EXAMPLE_ELEMENTS = 1 << 40

# Longer buffers count as frozen parameters, such as quantised weights; not those of
# these types, which hold statistics, positions and masks.
BUFFER_BYTES = 1 << 20
PLACES = (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool)

# Two batch sizes without a common factor. Both are above 1 because batch normalisation
# refuses a single value per channel.
SMALL, LARGE = 2, 3

# Modules with more bytes of parameters are computed only on request.
REAL_BYTES = 4 << 30

# Tensors that modules make of constants are computed up to this number of elements.
SMALL_ELEMENTS = 4096

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
    "grouped": "grouped_mm scaled_grouped_mm",
    "conv": "convolution convolution_overrideable conv2d mkldnn_convolution"
            " thnn_conv2d slow_conv2d_forward",
}
KIND_OF = {name: kind for kind, names in KINDS.items() for name in names.split()}

# What may stand between the products of attention and its softmax.
AROUND_SOFTMAX = ("elementwise", "copy", "dropout", "activation")

# Kinds of which dnnest knows what they keep in single precision.
DECIDED = ("layernorm", "groupnorm", "softmax", "attention")

# Functions that reserve memory or return properties, without a kernel.
FREE = ("empty", "scalar_tensor", "lift", "sym_size", "local_scalar_dense", "set",
        "resize", "is_same_size", "equal", "record_stream", "as_strided")


def storage_of(tensor):
    """The storage that a tensor is a view of; an object that keeps it alive."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    return tensor.storage()._storage  # before torch 2.0


def storage_key(tensor):
    return storage_of(tensor)._cdata


def on_meta(tensor):
    return tensor.device.type == "meta"


def tensors_in(value):
    """All tensors in lists, tuples, dicts and named results."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item)]
    return []


def replace_tensors(value, change):
    """The same lists, tuples and dicts with each tensor replaced."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        made = {key: replace_tensors(item, change) for key, item in value.items()}
        try:
            return made if type(value) is dict else type(value)(made)
        except TypeError:
            return made
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(replace_tensors(item, change) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(replace_tensors(item, change) for item in value)
    return value


def decomposed(func, args, kwargs):
    """An operator without a kernel for meta tensors, by others that have one."""
    from torch._decomp import decomposition_table
    for key in (func, func._overloadpacket):
        if key in decomposition_table:
            return decomposition_table[key](*args, **kwargs)
    raise NotImplementedError("no kernel of %s for meta tensors" % func._schema.name)


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

    def __init__(self, model, fused, meta=False):
        super().__init__()
        self.fused = fused
        self.meta = meta
        self.quantifiers = {}  # of a boolean's token: the reduction that made it
        self.assumed = False   # the outcome of a test of values
        self.moved = {}        # meta tensors in the place of small real ones
        self.raws = []
        self.saves = []      # (token, storage's elements, bytes if no float, at)
        self.tokens = {}     # of a storage's address
        self.producer = {}   # of a token: index of the operator that wrote it last
        self.saved = set()
        self.alive = []      # keeps storages, so that no address is reused
        self.paused = 0
        self.active = False  # are functions replaced?
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
            size = getattr(tensor, "dnnest_bytes",
                           tensor.numel() * tensor.element_size())
            buffer = any(tensor is other for other in buffers)
            if buffer and not hasattr(tensor, "dnnest_bytes") \
                    and tensor.dtype in PLACES:
                continue
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
        if self.meta:
            args, kwargs = self.to_meta(func, args, kwargs)
        if self.paused:
            return self.call(func, args, kwargs)
        ins = [self.ref(t) for t in tensors_in((args, kwargs))]
        keys = {storage_key(t) for t in tensors_in((args, kwargs))}
        out = as_a_gpu_lays_it_out(func, args, self.call(func, args, kwargs))
        self.note(func, args, kwargs, ins, self.made(out, keys))
        return out

    def made(self, out, keys):
        """The tensors of a result; 'keys' are those of the storages of the arguments."""
        return [Ref(self.token_of(t, storage_key(t) not in keys), tuple(t.shape),
                    t.is_floating_point()) for t in tensors_in(out)]

    def note(self, func, args, kwargs, ins, outs):
        """Add the operator."""
        raw = make_raw(func, args, kwargs, ins, outs)
        raw.view = bool(outs) and not writes(func._schema) \
            and {r.token for r in outs} <= {r.token for r in ins}
        if raw.kind in ("layernorm", "groupnorm") and not args[0].is_contiguous():
            # Its kernel makes an internal copy, which the dispatcher does not see.
            self.add(Raw("contiguous", "copy", ins[:1], [Ref(self.new_token(),
                                                             ins[0].shape)]))
        self.add(raw)

    def to_meta(self, func, args, kwargs):
        """The arguments with meta tensors in the place of real ones, if one is on meta.
        Small tensors that a module makes of constants stay real: it may read them."""
        given = tensors_in((args, kwargs))
        has_device = any(a.name == "device" for a in func._schema.arguments)
        if any(map(on_meta, given)):
            args, kwargs = replace_tensors((args, kwargs), self.as_meta)
            if has_device and kwargs.get("device") is not None:
                kwargs["device"] = torch.device("meta")
        elif has_device and not given:
            size = [a for a in args if isinstance(a, (list, tuple))]
            if size and math.prod(size[0]) > SMALL_ELEMENTS:
                kwargs = dict(kwargs, device=torch.device("meta"), pin_memory=False)
        return args, kwargs

    def as_meta(self, tensor):
        if on_meta(tensor) or tensor.dim() == 0:
            return tensor
        key = id(tensor)
        if key not in self.moved:
            self.moved[key] = tensor, torch.empty_strided(
                tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
        return self.moved[key][1]

    def call(self, func, args, kwargs):
        """Run the operator, on meta also one that reads a truth value: checks of the
        data are expected to hold."""
        name = func._schema.name.split("::")[-1].strip("_")
        given = tensors_in((args, kwargs))
        if self.meta and given and on_meta(given[0]):
            if name in ("local_scalar_dense", "is_nonzero") \
                    and given[0].dtype == torch.bool:
                self.assumed = True
                return self.quantifiers.get(storage_key(given[0])) == "all"
            try:
                out = func(*args, **kwargs)
            except NotImplementedError:
                out = decomposed(func, args, kwargs)
            if name in ("all", "any") and isinstance(out, torch.Tensor):
                self.alive.append(storage_of(out))
                self.quantifiers[storage_key(out)] = name
            return out
        out = func(*args, **kwargs)
        if self.meta and name in ("rand", "uniform") and out.numel() == 1 \
                and not on_meta(out):
            out.fill_(1)  # a random number that drops a layer drops none
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
        if self.fused:
            return self.fused_attention(query, key, value, attn_mask)
        if enable_gqa:
            times = query.size(-3) // key.size(-3)
            key, value = (t.repeat_interleave(times, -3) for t in (key, value))
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

    def fused_attention(self, query, key, value, mask=None):
        """One kernel. Its result lies in memory as the query does. A mask may be made of
        parameters, such as those of relative positions."""
        self.paused += 1
        times = query.size(-3) // key.size(-3) if query.dim() > 2 else 1
        keys, values = (t.repeat_interleave(times, -3) if times > 1 else t
                        for t in (key, value))
        result = torch.matmul(
            torch.softmax(torch.matmul(query, keys.transpose(-2, -1)), -1), values)
        if result.shape == query.shape:
            result = torch.empty_like(query).copy_(result)
        self.paused -= 1
        refs = [self.ref(t) for t in (query, key, value)]
        raw = Raw("attention", "attention", refs,
                  [Ref(self.token_of(result, True), tuple(result.shape))])
        raw.params = [] if mask is None else [self.token_of(mask)]
        if result.requires_grad:
            for ref in refs + raw.outs:
                if ref.token not in self.saved:
                    raw.saved += math.prod(ref.shape)
                    self.saved.add(ref.token)
            # It also keeps the logarithm of the sum of each row.
            raw.saved += math.prod(query.shape[:-1])
        self.add(raw)
        return result

    def tokens_first(self, q, k, v, *_, **_more):
        """The functions of flash_attn, for (batch, tokens, heads, size), also of the
        tokens of all samples in a row."""
        q, k, v = (t.transpose(-3, -2) for t in (q, k, v))
        return self.fused_attention(q, k, v).transpose(-3, -2)

    def tokens_then_size(self, query, key, value, *_, **more):
        """memory_efficient_attention: heads may be a part of the batch."""
        if query.dim() == 3:
            return self.fused_attention(query, key, value)
        return self.tokens_first(query, key, value)

    def packed(self, *given, **more):
        """Query, key and value in one tensor, or key and value."""
        given = [t for t in given + tuple(more.get(n) for n in ("q", "kv", "qkv"))
                 if isinstance(t, torch.Tensor) and t.is_floating_point()]
        return self.tokens_first(*[part for t in given for part in (
            t.unbind(-3) if t is given[-1] else [t])])

    def attention_of_1_13(self, q, k, v, attn_mask=None, dropout_p=0.0,
                          need_attn_weights=False, is_causal=False):
        """The function of torch 1.13, which also returns the weights; the caller uses
        only their shape."""
        out = self.attention(q, k, v, attn_mask, dropout_p, is_causal)
        return out, q.new_empty(q.shape[:-1] + (k.size(-2),))

    def multi_head(self, query, key, value, size, heads, weight, bias, bias_k, bias_v,
                   add_zero, dropout_p, out_weight, out_bias, *rest, **more):
        """torch's function puts the sequence first, and so copies inputs that have the
        batch first; here the batch stays first."""
        more.update(zip(("training", "key_padding_mask", "need_weights", "attn_mask"),
                        rest))
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

    def replacements(self):
        """What this run replaces functions of torch and other packages by. Of these
        only what is imported already can be called."""
        self.old_multi_head = functional.multi_head_attention_forward
        new = [
            (functional, "multi_head_attention_forward", self.multi_head),
            (functional, "dropout", self.dropout),
            (functional, "linear", self.linear),
            (functional, "scaled_dot_product_attention", self.attention),
            (functional, "_scaled_dot_product_attention", self.attention_of_1_13),
            (torch, "dropout", lambda input, p, train: self.dropout(input, p, train)),
            (module_of("torch.utils.checkpoint"), "checkpoint", run_whole),
            (module_of("torch.nn.attention.flex_attention"), "flex_attention",
             lambda query, key, value, *_, **__:
                self.fused_attention(query, key, value)),
            (module_of("xformers.ops"), "memory_efficient_attention",
             self.tokens_then_size),
        ]
        for place in map(module_of, ("flash_attn", "flash_attn_interface",
                                     "flash_attn.flash_attn_interface")):
            new += [(place, "flash_attn_func", self.tokens_first),
                    (place, "flash_attn_varlen_func", self.tokens_first),
                    (place, "flash_attn_qkvpacked_func", self.packed),
                    (place, "flash_attn_kvpacked_func", self.packed),
                    (place, "flash_attn_varlen_qkvpacked_func", self.packed),
                    (place, "flash_attn_varlen_kvpacked_func", self.packed)]
        return [(getattr(place, name), function) for place, name, function in new
                if hasattr(place, name)]

    @contextlib.contextmanager
    def replaced(self):
        """Replace functions within the context, wherever a module has imported them. A
        module that imports one within the context keeps a function that does as the old
        one afterwards."""
        # By identity: objects of other packages may not be compared.
        pairs = {id(old): (old, self.only_now(old, new))
                 for old, new in self.replacements()}
        self.active = True
        places = []
        for module in list(sys.modules.values()):
            space = getattr(module, "__dict__", None)
            for name, value in list(space.items()) if isinstance(space, dict) else ():
                if id(value) in pairs:
                    places.append((space, name, value))
                    space[name] = pairs[id(value)][1]
        try:
            with Functions(pairs):
                yield
        finally:
            self.active = False
            for space, name, value in places:
                space[name] = value

    def only_now(self, old, new):
        def function(*args, **kwargs):
            return new(*args, **kwargs) if self.active else old(*args, **kwargs)
        return function


class Functions(TorchFunctionMode):
    """Replaces functions that are called by another name, such as a class attribute."""

    def __init__(self, table):
        super().__init__()
        self.table = table

    def __torch_function__(self, func, types, args=(), kwargs=None):
        func = self.table.get(id(func), (None, func))[1]
        return func(*args, **(kwargs or {}))


def module_of(name):
    """A module that is imported already; else None."""
    return sys.modules.get(name)


def run_whole(function, *args, use_reentrant=None, context_fn=None,
              determinism_check=None, debug=None, preserve_rng_state=None, **kwargs):
    """In the place of checkpointing, which the key 'checkpointing' stands for."""
    return function(*args, **kwargs)


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
    elif raw.kind == "grouped":  # each expert multiplies its own rows
        raw.kind = "product"
        raw.facts["factors"] = ins[:2]
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

    def __init__(self, small, large, steps=False):
        self.small = small
        self.large = large
        self.steps = steps   # attention that is written as its steps remains so
        if [r.name for r in small.raws] != [r.name for r in large.raws]:
            raise ValueError("the network runs other operators when the batch changes; "
                             "describe one whose path is fixed")
        self.carried = {}    # parameters within a tensor that is made of them
        self.counted = set()
        self.ops = []
        self.index = []      # of a raw operator: its place in ops, or None
        self.owed = []       # parameters that the next operator is charged with
        self.unknown = {}
        self.cast = set()    # tokens that a product with weights has read
        self.single = self.find_single()
        self.readers = {}    # of a token: the raw operators that read it, no views
        for i, raw in enumerate(small.raws):
            for token in {ref.token for ref in raw.ins} if not raw.view else ():
                self.readers.setdefault(token, []).append(i)
        for ref in small.results:
            self.readers.setdefault(ref.token, []).append(len(small.raws))
        self.narrow = self.find_narrow()
        self.siblings = set()
        self.joined = self.join_copies()
        self.attention = {}  # of its first product: the last one
        self.within = {}     # of a part of an attention: its first product
        self.results_of_attention = set()
        self.belongs = {}    # of a token: the attention that is charged with keeping it
        self.find_attention()
        if any(raw.kind == "attention" for raw in small.raws):
            # One key says how all of it runs, so the steps stay where it is fused.
            self.belongs = {token: at for token, at in self.belongs.items()
                            if at not in self.attention}
            self.attention, self.within = {}, {}
        for i, raw in enumerate(small.raws):  # the result put in order is kept once
            if self.is_copy(i) and raw.ins[0].token in self.results_of_attention \
                    and raw.ins[0].token in self.belongs:
                self.belongs[raw.outs[0].token] = self.belongs[raw.ins[0].token]

    def build(self):
        for i, (a, b) in enumerate(zip(self.small.raws, self.large.raws)):
            if i in self.joined:
                self.join(i, a, b)
                continue
            if i in self.within:
                self.owed += self.parameters_of(a)
                self.index.append(self.index[self.within[i]])
                continue
            op = self.attention_of(i) if i in self.attention else self.operator(a, b)
            if op and i in self.narrow:
                op["in"] = op["in"][:1]
            self.index.append(len(self.ops) if op else None)
            if op:
                self.ops.append(op)
        if not self.ops:
            raise ValueError("no operator that depends on the sample")
        self.attention_ops = {self.index[i] for i in self.attention}
        self.add_saved()
        return self.ops

    def is_copy(self, i):
        """Does the operator copy one whole tensor that depends on the samples?"""
        a, b = self.small.raws[i], self.large.raws[i]
        return a.kind == "copy" and not a.view and len(a.outs) == 1 and bool(a.ins) \
            and Scale.grows(a.outs[0], b.outs[0]) \
            and math.prod(a.ins[0].shape) == math.prod(a.outs[0].shape) \
            and not any(map(Scale.grows, a.ins[1:], b.ins[1:]))

    def find_single(self):
        """The tokens of arrays in single precision under torch.amp: of norms and powers,
        and of what follows them up to the next product."""
        single = set()
        for raw in self.small.raws:
            if raw.kind in ("layernorm", "groupnorm") or raw.name.strip("_") == "pow" \
                    or (raw.kind in ("elementwise", "activation", "dropout", "copy")
                        and any(ref.token in single for ref in raw.ins)):
                single.update(ref.token for ref in raw.outs)
        return single

    def is_copied_again(self, op, a, b):
        """Does the product keep one more copy of what it reads? Under torch.amp each does
        that reads an array in single precision."""
        token = next(x.token for x, y in zip(a.facts["factors"], b.facts["factors"])
                     if Scale.grows(x, y))
        again = token in self.cast and token in self.single and not op.get("frozen")
        self.cast.add(token)
        return again

    def is_longer(self, token, i):
        """Does the raw operator keep that array in single precision under torch.amp?"""
        raw = self.small.raws[i] if i < len(self.small.raws) else None
        return raw is not None and (raw.name.strip("_") == "pow" or (
            token in self.single and raw.kind in ("elementwise", "activation")))

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

    def find_attention(self):
        """Find attention that is written as its steps: a product of two activations, a
        scale and masks, a softmax, dropout, a product with the values. What else reads
        the scores, as between talking heads, makes it another function."""
        raws = self.small.raws
        self.dropped = {ref.token for raw in raws if raw.kind == "dropout"
                        for ref in raw.outs}
        for at, raw in enumerate(raws):
            if raw.kind == "attention":
                self.belongs.update({ref.token: at for ref in raw.ins + raw.outs})
                self.results_of_attention.add(raw.outs[0].token)
            if raw.kind != "softmax" or raw.view or self.steps:
                continue
            before = self.to_product(at, self.maker, 12)
            after = self.to_product(at, self.reader, 6) if before else None
            if after:
                parts = before + after[1:]
                first = min(parts)
                self.attention[first] = max(parts)
                self.results_of_attention.add(raws[max(parts)].outs[0].token)
                self.within.update({i: first for i in parts if i != first
                                    and raws[i].kind != "dropout"})
                self.belongs.update({ref.token: first for i in parts
                                     if raws[i].kind != "dropout"
                                     for ref in raws[i].outs})
                self.belongs.update({ref.token: first for i in (parts[-1], first)
                                     for ref in raws[i].facts["factors"]
                                     if ref.token not in self.dropped})

    def maker(self, at, size):
        """The last raw operator before that one which wrote its input of that size, as its
        result; else None."""
        raws = self.small.raws
        for ref in raws[at].ins:
            if math.prod(ref.shape) == size:
                for i in range(at - 1, max(-1, at - 40), -1):
                    if not raws[i].view and any(r.token == ref.token
                                                for r in raws[i].outs):
                        return i if math.prod(raws[i].outs[0].shape) == size else None
        return None

    def reader(self, at, _):
        """The only raw operator after that one which reads its result; else None."""
        raws = self.small.raws
        readers = [i for i in self.readers.get(raws[at].outs[0].token, ())
                   if i > at and (i == len(raws) or raws[i].kind != "reduce")]
        return readers[0] if len(readers) == 1 and readers[0] < len(raws) else None

    def to_product(self, at, following, most):
        """The steps from a softmax, back or on by 'following', to a product of
        activations; [] if there is something else."""
        size = math.prod(self.small.raws[at].outs[0].shape)
        parts = [at]
        for _ in range(most):
            i = following(parts[-1], size)
            if i is None:
                break
            parts.append(i)
            raw = self.small.raws[i]
            if self.is_product(i):
                return parts
            if raw.kind not in AROUND_SOFTMAX or math.prod(raw.outs[0].shape) != size:
                break
        return []

    def attention_of(self, first):
        """One operator in the place of the steps; dropout stays one of its own."""
        pairs = list(zip(self.small.raws, self.large.raws))
        (a, b), (c, d) = pairs[first], pairs[self.attention[first]]
        query, key = [Scale.shape(x, y) for x, y in zip(
            a.facts["factors"], b.facts["factors"])]
        value = Scale.shape(c.facts["factors"][1], d.facts["factors"][1])
        out = Scale.shape(c.outs[0], d.outs[0])
        key = key[:-2] + key[:-3:-1]
        op = {"op": "attention", "saved": 0, "masks": 0,
              "in": [fold([1] * (3 - len(s)) + s) for s in (query, key, value)],
              "out": [fold([1] * (3 - len(out)) + out)]}
        if not any(ref.grad for x in (a, c) for ref in x.ins):
            op["first"] = True
        if a.where:
            op["name"] = a.where[:NAME_MAX]
        self.charge(op, self.owed)
        self.owed = []
        return op

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
        if op["op"] == "linear" and self.is_copied_again(op, a, b):
            op["amp_saved"] = math.prod(op["in"][0])
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
            if a[3] is not None and self.small.raws[a[3]].kind == "dropout" \
                    and not a[2] \
                    and not set(self.index[a[4]:a[4] + 1]) & self.attention_ops:
                at = None  # dropout keeps only its mask
            later = (i for i in self.index[a[4]:] if i is not None)
            if a[0] in self.belongs:
                at = self.index[self.belongs[a[0]]]
            elif at is None:
                at = next(later, len(self.ops) - 1)
            op = self.ops[at]
            if a[2]:
                op["masks"] += Scale.number(a[2], b[2])
            else:
                op["saved"] += Scale.number(a[1], b[1])
                if self.is_longer(a[0], a[4]) and op["op"] not in DECIDED:
                    op["amp_saved"] = op.get("amp_saved", 0) + Scale.number(a[1], b[1])

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
    for name in ("loss", "logits", "logits_per_image"):
        value = out.get(name) if isinstance(out, dict) else None
        if isinstance(value, torch.Tensor):
            return [] if name == "loss" else [value]
    return tensors_in(out)


def resize(value, size, dim, samples=None):
    """An example input with 'size' samples. If it is known how many it has, tensors of
    another size have no batch."""
    def one(tensor):
        if tensor.dim() <= dim or getattr(tensor, "dnnest_fixed", False) \
                or samples not in (None, tensor.size(dim)) or tensor.size(dim) == 0:
            return tensor
        picks = [i % tensor.size(dim) for i in range(size)]
        return tensor.index_select(dim, torch.tensor(picks, device=tensor.device))
    return replace_tensors(value, one)


def trace(model, given, fused, meta):
    """Run forward."""
    place = next((p.device for p in model.parameters()), torch.device("cpu"))
    given = replace_tensors(given, lambda t: meta_like(t, {}) if meta else
                            torch.zeros(t.shape, dtype=t.dtype, device=place)
                            if on_meta(t) else t)
    run = Run(model, fused, meta)
    run.alive += [storage_of(t) for t in tensors_in(given)]
    hooks = [torch.nn.modules.module.register_module_forward_pre_hook(run.enter),
             torch.nn.modules.module.register_module_forward_hook(run.leave)]
    args, kwargs = given if isinstance(given, Call) else \
        ((), given) if isinstance(given, dict) else (given, {})
    torch.default_generator.manual_seed(0)
    random.seed(0)
    try:
        with run.replaced(), torch.enable_grad(), \
                torch.autograd.graph.saved_tensors_hooks(run.pack, lambda x: x), run:
            out = model(*args, **kwargs)
            run.results = [run.ref(t) for t in results_of(out)]
    finally:
        for hook in hooks:
            hook.remove()
    return run


# The arguments of a call of a module.
Call = collections.namedtuple("Call", "args kwargs")

# Wrappers of modules by the name of their class, and where these keep the module.
WRAPPERS = {
    "OptimizedModule": "_orig_mod", "DistributedDataParallel": "module",
    "DataParallel": "module", "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "DeepSpeedEngine": "module", "PipelineEngine": "module", "_FabricModule": "module",
    "CheckpointWrapper": "_checkpoint_wrapped_module",
    "OffloadWrapper": "_checkpoint_wrapped_module", "Float16Module": "module",
    "ShardedDataParallel": "module",
}

# Packages whose hooks move or gather tensors.
LAUNCHERS = ("torch.distributed", "deepspeed", "accelerate", "lightning", "fairscale",
             "pytorch_lightning", "megatron")

# Linear layers with quantised weights by the name of their class: bits of a weight.
QUANTISED = {"Linear4bit": 4, "LinearNF4": 4, "LinearFP4": 4, "Linear8bitLt": 8,
             "QuantLinear": 4, "WQLinear_GEMM": 4, "WQLinear_GEMV": 4, "HQQLinear": 4}


def class_names(module):
    return [kind.__name__ for kind in type(module).__mro__]


def wrapper_of(module):
    """The attribute in which a wrapper keeps the module; else None."""
    return next((WRAPPERS[n] for n in class_names(module) if n in WRAPPERS), None)


def unwrap(model):
    """The module that the user wrote, below wrappers of compilers and launchers."""
    return layers_of(model)[-1]


def meta_like(tensor, made):
    """A meta tensor of the same shape, type and strides. 'made' has those of tensors
    seen before."""
    key = id(tensor)
    if key not in made:
        full = getattr(tensor, "ds_shape", None)  # before DeepSpeed cut it
        new = torch.empty(full, dtype=tensor.dtype, device="meta") if full is not None \
            else torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype,
                                     device="meta")
        made[key] = tensor, made_parameter(new, tensor)
    return made[key][1]


def made_parameter(new, tensor):
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(new, requires_grad=tensor.requires_grad)
    return new.requires_grad_(tensor.requires_grad)


def share_frozen(model):
    """By the identity of a parameter: the first one that does not learn and has the
    same memory."""
    first = {}
    same = {}
    for tensor in model.parameters():
        if not tensor.requires_grad and tensor.numel() and not on_meta(tensor):
            place = (storage_key(tensor), tensor.storage_offset(), tensor.shape)
            same[id(tensor)] = first.setdefault(place, tensor)
    return same


def put_on_meta(model):
    """Replace all tensors of the module's parts by meta tensors."""
    made = {}
    same = share_frozen(model)
    for module in model.modules():
        flat = flat_parameters(module)
        for name, shape, learns in flat:
            target, _, name = name.rpartition(".")
            owner = module.get_submodule(target)
            owner.__dict__.pop(name, None)
            owner._parameters[name] = torch.nn.Parameter(
                torch.empty(shape, device="meta"), requires_grad=learns)
    for module in model.modules():
        quantised = quantised_weight(module)
        if quantised is not None:
            replace_quantised(module, quantised)
        for table in (module._parameters, module._buffers, module.__dict__):
            for name, value in list(table.items()):
                if type(value) in (list, tuple, dict) and tensors_in(value) \
                        or isinstance(value, torch.Tensor):
                    table[name] = replace_tensors(value, lambda t: t if on_meta(t)
                        else meta_like(same.get(id(t), t), made))


def flat_parameters(module):
    """(name, shape, requires_grad) of the parameters that FSDP keeps in one."""
    handle = getattr(module, "_handle", None)
    flat = getattr(handle, "flat_param", None)
    names = getattr(flat, "_fqns", None)
    if not names or not hasattr(flat, "_shapes"):
        return []
    return [(name, tuple(shape), flat.requires_grad)
            for name, shape in zip(names, flat._shapes)]


def quantised_weight(module):
    """(outputs, inputs, bytes) of a layer with quantised weights; else None."""
    bits = next((QUANTISED[n] for n in class_names(module) if n in QUANTISED), None)
    if bits is None or getattr(module, "base_layer", None) is not None:
        return None
    sizes = [getattr(module, a, None) or getattr(module, b, None) for a, b in (
        ("out_features", "outfeatures"), ("in_features", "infeatures"))]
    if not all(isinstance(size, int) for size in sizes):
        return None
    tables = (module._parameters, module._buffers)
    held = [t for table in tables for t in table.values()
            if isinstance(t, torch.Tensor) and not t.requires_grad]
    held += [t for t in tensors_in([vars(state) for state in [getattr(
        getattr(module, "weight", None), "quant_state", None)] if state is not None])]
    weights = sizes[0] * sizes[1]
    packed = [t for t in held if t.element_size() == 1 or not t.is_floating_point()]
    if sum(t.numel() * t.element_size() for t in packed) * 8 >= bits * weights:
        return sizes[0], sizes[1], sum(t.numel() * t.element_size() for t in held)
    # Not packed before it is on a GPU: a scale of 4 bytes for 64 weights, or for a row.
    scales = 4 * (weights // 64 if bits == 4 else sizes[0])
    return sizes[0], sizes[1], bits * weights // 8 + scales


def replace_quantised(module, quantised):
    """A layer with frozen weights of the type of its input, that take 'quantised[2]'
    bytes."""
    weight = torch.empty(quantised[:2], device="meta")
    weight.requires_grad_(False)
    weight.dnnest_bytes = quantised[2]
    bias = module._parameters.get("bias")
    for table in (module._parameters, module._buffers):
        for name, value in list(table.items()):
            if value is not None and value is not bias:
                del table[name]
    module.__dict__.pop("weight", None)
    module._buffers["weight"] = weight
    module.__dict__["forward"] = lambda x: functional.linear(
        x, module._buffers["weight"], module._parameters.get("bias"))


def plain_children(model):
    """Take wrappers, hooks of launchers and checkpointing off the parts of a module."""
    for module in list(model.modules()):
        for name, child in list(module._modules.items()):
            if child is not None and wrapper_of(child):
                module._modules[name] = unwrap(child)
    for module in model.modules():
        own = vars(module)
        own["_compiled_call_impl"] = None
        for name in ("_original_forward", "_old_forward"):
            if "forward" in own and callable(own.get(name)):
                own["forward"] = own[name]
        for name in ("gradient_checkpointing", "layerdrop"):
            if isinstance(own.get(name), (bool, float)):
                own[name] = type(own[name])(0)
        for hooks in (module._forward_hooks, module._forward_pre_hooks):
            for key, hook in list(hooks.items()):
                if (getattr(hook, "__module__", None) or "").startswith(
                        LAUNCHERS + (__name__,)):
                    del hooks[key]


def copies_of(module):
    """The attributes of a module, and the contents of those that are tables."""
    own = vars(module)
    tables = [(value, value.copy()) for value in own.values()
              if type(value) in (dict, list, set, collections.OrderedDict)]
    return own, own.copy(), tables


def put_back(own, attributes, tables):
    own.clear()
    own.update(attributes)
    for table, contents in tables:
        if isinstance(table, list):
            table[:] = contents
        else:
            table.clear()
            table.update(contents)


@contextlib.contextmanager
def left_as_it_was(model, meta, train=True):
    """Prepare the module for a run within the context: in training mode, without
    checkpointing, and with 'meta' without memory. Then restore it and the random
    state."""
    kept = [copies_of(module) for module in model.modules()]
    buffers = [] if meta else [(t, t.clone()) for t in model.buffers()]
    states = torch.get_rng_state(), random.getstate()
    try:
        plain_children(model)
        if train:
            model.train()
        if meta:
            put_on_meta(model)
        yield
    finally:
        for own, attributes, tables in kept:
            put_back(own, attributes, tables)
        with torch.no_grad():
            for tensor, copy in buffers:
                tensor.copy_(copy)
        torch.set_rng_state(states[0])
        random.setstate(states[1])


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


class OnlyOnMeta(ValueError):
    """A module of meta tensors that needs values."""


def both_runs(model, inputs, fused, real):
    """Trace inputs of both sizes on meta tensors, or where that fails on those of the
    module."""
    held = sum(t.numel() * t.element_size() for t in model.parameters())
    why = None
    for meta in (True, False)[real:]:
        try:
            with left_as_it_was(model, meta):
                runs = [trace(model, given, fused, meta) for given in inputs]
            if why:
                warn("computed, since it does not run on meta tensors: " + why)
            return runs
        except Exception as error:
            if "HigherOrderOperator" in str(error):
                raise ValueError("the network chooses operators by values of tensors (%s); "
                                 "describe one whose path is fixed"
                                 % str(error).split("HigherOrderOperator ")[1].split()[0]) from None
            if not meta:
                raise
            why = first_line(error)
            if any(map(on_meta, model.parameters())):
                raise OnlyOnMeta("it does not run on meta tensors (%s)" % why) from None
            if held > REAL_BYTES:
                raise ValueError(
                    "it does not run on meta tensors (%s); its %.1f GB are too many to "
                    "compute; real=True does so" % (why, held / 1e9)) from None
    return None


def first_line(error):
    lines = str(error).strip().split("\n")
    return "%s: %s" % (type(error).__name__, lines[0][:200]) if lines[0] \
        else type(error).__name__


def operators(small, large, loss, merged, steps):
    """The operators of a sidecar from two runs, and the keys that they need."""
    export = Export(small, large, steps)
    ops = export.build()
    keys = {"attention": "plain"} if export.attention else {}
    if loss:
        ops += losses(small, large)
    export.add_rest()
    if export.unknown:
        warn("unknown operators, counted by their elements: "
             + ", ".join(sorted(export.unknown)))
    if small.assumed:
        warn("the network tests values of tensors; assumed that all() holds, and any() "
             "and other tests do not")
    for op in ops:
        for key, value in op.items():
            op[key] = whole(value)
    if merged:
        ops = merge(ops)
    if len(ops) > OPS_MAX:
        raise ValueError("%d operators, a sidecar has at most %d" % (len(ops), OPS_MAX))
    return ops, keys


def describe(model, example_inputs, batch=None, name=None, spec=None, batch_dim=0,
             fused=None, loss=True, merged=True, real=False, optimizer=None,
             dataloader=None, samples=None, steps=False):
    """Describe a training step of 'model' as a sidecar: a dict, to be written as JSON.

    example_inputs: the arguments of the model, a tensor, a tuple of tensors, or a dict
    of keywords. Dimension batch_dim of each tensor is the batch; if 'samples' is given,
    only of tensors with so many samples.
    batch, spec: keys of dnnest.spec(5), which override those that follow from
    'optimizer' and 'dataloader'. fused: attention in one kernel. loss: add a loss of
    the results. merged: equal operators once. real: compute with the module's own
    tensors.
    """
    if isinstance(example_inputs, torch.Tensor):
        example_inputs = (example_inputs,)
    if fused is None:
        fused = hasattr(functional, "scaled_dot_product_attention")
    keys = {"framework": "pytorch", "torch": ".".join(torch.__version__.split(".")[:2])}
    keys.update(keys_of_run(model, optimizer, dataloader))
    model = unwrap(model)
    one, *sizes = [resize(example_inputs, size, batch_dim, samples)
                   for size in (1, SMALL, LARGE)]
    small, large = both_runs(model, sizes, fused, real)
    graph = {"name": (name or type(model).__name__)[:NAME_MAX],
             "source": ("torch " + torch.__version__)[:NAME_MAX],
             "input_bytes": sum(t.numel() * t.element_size() for t in tensors_in(one))}
    graph.update(blocks_of(model, small, large))
    graph["ops"], more = operators(small, large, loss, merged, steps)
    keys.update(more)
    keys.update(spec or {})
    if batch is not None:
        keys["batch"] = batch
    return {"dnnest": 1, "spec": keys, "graph": graph}


# Keys of dnnest.spec(5) from the objects of a run.

# Optimizers by the name of their class without "fused", "distributed" and the like.
OPTIMIZERS = {
    "adam": "adam", "adamw": "adamw", "cpuadam": "adam", "nadam": "adam",
    "radam": "adam", "adamax": "adam", "sgd": "sgd", "lamb": "lamb", "lars": "lars",
    "adafactor": "adafactor", "adagrad": "adagrad", "adadelta": "adadelta",
    "rmsprop": "rmsprop", "novograd": "novograd", "lion": "lion", "muon": "muon",
    "adam8bit": "adam8bit", "adamw8bit": "adam8bit", "pagedadam8bit": "adam8bit",
    "pagedadamw8bit": "adam8bit", "pagedadamw": "adamw", "pagedlion": "lion",
}


def optimizer_key(optimizer):
    """The key 'optimizer' of an optimizer of torch, also within those of launchers."""
    for _ in range(8):
        inner = getattr(optimizer, "optimizer", None)
        if inner is None or not hasattr(inner, "param_groups"):
            break
        optimizer = inner
    name = type(optimizer).__name__
    plain = re.sub("^(fused|deepspeed|distributed|zero)+", "", name.lower())
    key = OPTIMIZERS.get(plain)
    if key == "sgd" and any(group.get("momentum") for group in optimizer.param_groups):
        key = "momentum"
    if key is None:
        warn("optimizer %s is not known; expected in the key 'optimizer'" % name)
    return {"optimizer": key} if key else {}


def loader_keys(loader):
    """Workers, batch and samples of a DataLoader, also within those of launchers."""
    keys = {}
    workers = getattr(loader, "num_workers", None)
    if isinstance(workers, int):
        keys["workers"] = workers
    sampler = getattr(loader, "batch_sampler", None)
    batch = getattr(loader, "batch_size", None) or getattr(sampler, "batch_size", None)
    if isinstance(batch, int) and batch > 0:
        keys["batch"] = batch
    try:
        samples = len(loader.dataset)
        if isinstance(samples, int) and samples > 0:
            keys["samples"] = samples
    except Exception:  # a stream has no length
        pass
    if workers is None:
        warn("a %s has no num_workers, expected a DataLoader" % type(loader).__name__)
    return keys


def layers_of(model):
    """A module and the wrapped ones within."""
    found = [model]
    for _ in range(16):
        place = wrapper_of(found[-1])
        inner = getattr(found[-1], place, None) if place else None
        if not isinstance(inner, torch.nn.Module):
            break
        found.append(inner)
    return found


def model_keys(model):
    """Keys that the wrappers and attributes of a module tell."""
    layers = layers_of(model)
    names = {name for layer in layers for name in class_names(layer)}
    inner = {name for module in layers[-1].modules() for name in class_names(module)}
    keys = {}
    if "OptimizedModule" in names | inner or any(getattr(
            m, "_compiled_call_impl", None) for m in layers[-1].modules()):
        keys["compile"] = 1
    if "CheckpointWrapper" in inner or any(
            vars(m).get("gradient_checkpointing") is True
            for m in layers[-1].modules()):
        keys["checkpointing"] = "full"
    stage = getattr(layers[0], "zero_optimization_stage", None)
    stage = stage() if callable(stage) else 0
    if "FullyShardedDataParallel" in names | inner or "FSDPModule" in names | inner:
        keys["parallel"] = "fsdp"
    elif stage in (1, 2, 3):
        keys["parallel"] = "zero%d" % stage
    elif "AdaptiveDataParallel" in names:
        keys["parallel"] = "adaptdl"
    elif "DataParallel" in names:
        keys["parallel"] = "dataparallel"
    return keys


def keys_of_run(model, optimizer, loader):
    keys = model_keys(model)
    if optimizer is not None:
        keys.update(optimizer_key(optimizer))
    if loader is not None:
        keys.update(loader_keys(loader))
    return keys


# Networks by their configuration.


def hf_inputs(model, seq):
    """Inputs of one sample as keywords, for a network of transformers or diffusers by
    its configuration; ValueError for one that needs others."""
    config = model.config
    names = list(inspect.signature(model.forward).parameters)
    if type(model).__module__.startswith("diffusers"):
        return diffusion_inputs(config, names)
    main = getattr(model, "main_input_name", names[0])
    vision, text, audio = (part_of(config, name) for name in (
        "vision_config", "text_config", "audio_config"))
    given = {}
    if main == "input_ids" or "input_ids" in names and "pixel_values" in names:
        given["input_ids"] = torch.zeros(1, seq, dtype=torch.long)
    if "pixel_values" in names and (main == "pixel_values" or "vision_config" in dir(
            config)) or main == "pixel_values_videos":
        size = pair(number(vision, "image_size", "input_size") or 224)
        shape = [number(vision, "num_channels") or 3] + size
        if "Video" in type(model).__name__ or "Timesformer" in type(model).__name__:
            shape = [number(vision, "num_frames") or 16] + shape
        given[main if main.startswith("pixel") else "pixel_values"] = \
            torch.zeros([1] + shape)
    if main == "input_features":
        bins = number(audio, "num_mel_bins", "feature_size", "input_dim") or 80
        frames = 2 * (number(audio, "max_source_positions") or seq)
        given[main] = torch.zeros((1, bins, frames) if "max_source_positions" in dir(
            audio) and model.config.model_type == "whisper" else (1, seq, bins))
    if main == "input_values":
        given[main] = torch.zeros(1, seq)
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in names:
        given["decoder_input_ids"] = torch.zeros(1, min(seq, 448) if
            main == "input_features" else seq, dtype=torch.long)
    if not given:
        raise ValueError("inputs of %s are not known; give --input NAME=[TYPE:]N,N,..."
                         % type(model).__name__)
    return given


def part_of(config, name):
    part = getattr(config, name, None)
    return config if part is None else part


def number(config, *names):
    """The first of these that the configuration has: a number, or a pair of them."""
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, (int, list, tuple)) and value:
            return value
    return None


def pair(value):
    return list(value) if isinstance(value, (list, tuple)) else [value, value]


def first_of(value):
    return value[0] if isinstance(value, (list, tuple)) else value


def diffusion_inputs(config, names):
    """Inputs of a denoising network or an autoencoder of diffusers: a latent image,
    tokens of a text encoder (77 of CLIP, 256 of T5), a step."""
    size = pair(number(config, "sample_size") or 64)
    image = torch.zeros([1, number(config, "in_channels") or 3] + size)
    width = first_of(number(config, "caption_channels", "cross_attention_dim",
                            "joint_attention_dim") or 0)
    pooled = number(config, "pooled_projection_dim")
    tokens = 256 if number(config, "caption_channels", "joint_attention_dim") else 77
    given = {"sample" if "sample" in names else "hidden_states": image}
    if "img_ids" in names:  # patches in a row, as of Flux
        given["hidden_states"] = torch.zeros(1, 4096, config.in_channels)
        for name, rows in (("img_ids", 4096), ("txt_ids", 512)):
            given[name] = torch.zeros(rows, 3)
            given[name].dnnest_fixed = True
        tokens = 512
    if "timestep" in names:
        given["timestep"] = torch.zeros(1, dtype=torch.long)
    if "encoder_hidden_states" in names and width:
        given["encoder_hidden_states"] = torch.zeros(1, tokens, width)
    if "class_labels" in names and number(config, "num_class_embeds",
                                          "num_embeds_ada_norm"):
        given["class_labels"] = torch.zeros(1, dtype=torch.long)
    if "pooled_projections" in names and pooled:
        given["pooled_projections"] = torch.zeros(1, pooled)
    if "guidance" in names and getattr(config, "guidance_embeds", False):
        given["guidance"] = torch.zeros(1)
    if getattr(config, "addition_embed_type", None) == "text_time":
        inner = config.projection_class_embeddings_input_dim \
            - 6 * config.addition_time_embed_dim
        given["added_cond_kwargs"] = {"text_embeds": torch.zeros(1, inner),
                                      "time_ids": torch.zeros(1, 6)}
    return given


# Lengths of sequences where none is given: at most.
SEQ_DEFAULT = {"input_ids": 2048, "input_values": 160000, "input_features": 1500}


def sequence_of(model, seq):
    """Tokens of a sample, and whether the user has given them."""
    main = getattr(model, "main_input_name", "input_ids")
    config = part_of(model.config, "text_config")
    longest = number(config, "max_position_embeddings", "n_positions", "max_seq_len",
                     "max_sequence_length") if main == "input_ids" else None
    most = SEQ_DEFAULT.get(main, SEQ_DEFAULT["input_ids"])
    if isinstance(longest, int):
        most = min(most, longest)
    return seq or most


def hf_config_file(text):
    """The file of a configuration: given, in a directory, or in the local cache of the
    hub. Nothing is fetched."""
    names = ("config.json", "model_index.json")
    if os.path.isfile(text):
        return text
    folders = [text]
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)?", text):
        home = os.environ.get("HF_HOME") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
            "huggingface")
        hub = os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
        folders += sorted(glob.glob(os.path.join(
            glob.escape(hub), "models--" + text.replace("/", "--"), "snapshots", "*")))
    for folder in folders:
        for name in names:
            if os.path.isfile(os.path.join(folder, name)):
                return os.path.join(folder, name)
    raise ValueError("hf:%s: no such file or directory, and not in the local cache of "
                     "the hub; expected a config.json or its directory: download "
                     "config.json of the model (no weights) and name it" % text)


def read_config(path):
    if os.path.getsize(path) > CONFIG_BYTES:
        raise ValueError("%s: more than %d bytes, expected a configuration" % (
            path, CONFIG_BYTES))
    with open(path, encoding="utf-8") as file:
        try:
            config = json.load(file)
        except (ValueError, RecursionError) as error:
            raise ValueError("%s: no JSON: %s" % (path, error)) from None
    if not isinstance(config, dict):
        raise ValueError("%s: expected an object" % path)
    return config


@contextlib.contextmanager
def parameters_on_meta():
    """Within the context parameters lose their memory as soon as a module has them."""
    old = torch.nn.Module.register_parameter

    def register(module, name, value):
        old(module, name, value)
        if value is not None and not on_meta(value):
            module._parameters[name] = meta_like(value, {})
    torch.nn.Module.register_parameter = register
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = old


def made_on_meta(make):
    """What 'make' makes, on meta, or if it reads values of tensors, only the
    parameters."""
    if hasattr(torch.device, "__enter__"):  # since torch 2.0
        try:
            with torch.device("meta"):
                return make()
        except (NotImplementedError, RuntimeError):
            pass
    with parameters_on_meta():
        return make()


def load_hf(text):
    """A network of transformers, diffusers or timm with random weights on meta, by its
    configuration."""
    path = hf_config_file(text)
    config = read_config(path)
    if os.path.basename(path) == "model_index.json":
        parts = [os.path.join(os.path.dirname(path), name, "config.json")
                 for name in ("transformer", "unet")]
        path = next((part for part in parts if os.path.isfile(part)), None)
        if path is None:
            raise ValueError("hf:%s: a pipeline without unet/ or transformer/" % text)
        config = read_config(path)
    if isinstance(config.get("_class_name"), str):
        return made_on_meta(lambda: diffusers_model(config, path))
    if isinstance(config.get("model_type"), str):
        return made_on_meta(lambda: transformers_model(path, config))
    if isinstance(config.get("architecture"), str):
        return made_on_meta(
            lambda: needed("timm").create_model(config["architecture"]))
    raise ValueError("%s: no model_type, _class_name or architecture, expected a "
                     "configuration of transformers, diffusers or timm" % path)


def needed(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ValueError("this model needs the package %s: %s" % (
            name, error)) from None


def class_of(package, name, path):
    kind = getattr(package, name, None)
    if not isinstance(kind, type) or not issubclass(kind, torch.nn.Module):
        raise ValueError("%s: %s %s has no network %r" % (
            path, package.__name__, package.__version__, name))
    return kind


def diffusers_model(config, path):
    kind = class_of(needed("diffusers"), config["_class_name"], path)
    return kind.from_config(config)


def transformers_model(path, given):
    package = needed("transformers")
    try:
        config = package.AutoConfig.from_pretrained(path, local_files_only=True,
                                                    trust_remote_code=False)
    except Exception as error:
        raise ValueError("%s: transformers %s: %s" % (
            path, package.__version__, first_line(error))) from None
    for part in (config, getattr(config, "text_config", None)):
        if getattr(part, "use_cache", None):
            part.use_cache = False
    names = given.get("architectures")
    name = names[0] if isinstance(names, list) and names else None
    kind = class_of(package, name, path) if isinstance(name, str) \
        else package.AutoModelForCausalLM if type(config) in \
        package.AutoModelForCausalLM._model_mapping else package.AutoModel
    make = kind._from_config if hasattr(kind, "_from_config") else kind.from_config
    wanted = getattr(config, "_attn_implementation", None) or "sdpa"
    for way in dict.fromkeys((wanted, "sdpa", "eager")):
        try:
            model = make(config, attn_implementation=way)
            break
        except (ImportError, ValueError, TypeError) as error:
            refused = error
    else:
        raise ValueError("%s: transformers %s: %s" % (
            path, package.__version__, first_line(refused)))
    return model


def load_thing(text, **arguments):
    """MODULE:NAME, an object or a function that makes one."""
    place, _, name = text.partition(":")
    if not place or not name:
        raise ValueError("%r: expected MODULE:NAME" % text)
    sys.path.insert(0, "")
    thing = importlib.import_module(place)
    for part in name.split("."):
        thing = getattr(thing, part)
    made = isinstance(thing, torch.nn.Module) or not callable(thing)
    return thing if made else thing(**arguments)


def load_model(text, arguments, real):
    """MODULE:NAME, a module or a function that makes one, on meta; or hf:PATH; or
    timm:NAME, as timm.create_model takes it."""
    if text.startswith("hf:"):
        if arguments:
            raise ValueError("--arg: not for hf:, whose arguments are its config.json")
        return load_hf(text[3:])
    if text.startswith("timm:"):
        return made_on_meta(lambda: needed("timm").create_model(text[5:], **arguments))
    if real:
        return load_thing(text, **arguments)
    return made_on_meta(lambda: load_thing(text, **arguments))


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
    """[NAME=][TYPE:]N,N,... without the batch: (name or None, tensor)."""
    name, _, text = text.rpartition("=")
    if name and not name.isidentifier():
        raise argparse.ArgumentTypeError("%r: expected the name of an argument" % name)
    kind, _, sizes = text.rpartition(":")
    try:
        shape = [int(size) for size in sizes.split(",")] if sizes else []
        dtype = getattr(torch, kind or "float32")
    except (ValueError, AttributeError):
        raise argparse.ArgumentTypeError(
            "%r: expected [NAME=][TYPE:]N,N,..." % text) from None
    if not isinstance(dtype, torch.dtype) or min(shape, default=1) < 1 \
            or math.prod(shape) > EXAMPLE_ELEMENTS:
        raise argparse.ArgumentTypeError("%r: expected a type of torch and sizes above "
                                         "0" % text)
    return name or None, torch.zeros([1] + shape, dtype=dtype, device="meta")


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="dnnest_export.py",
        description="Describe a PyTorch module to dnnest, as a sidecar.")
    parser.add_argument("model", metavar="MODULE:NAME",
                        help="a module, or a function that makes one; or hf:PATH, a "
                             "config.json of transformers, diffusers or timm; or "
                             "timm:NAME")
    parser.add_argument("--input", action="append", type=example, default=[],
                        metavar="[NAME=][TYPE:]N,N,...",
                        help="shape of one sample of an input; may be repeated")
    parser.add_argument("--seq", type=int, metavar="N",
                        help="tokens of a sample, for hf:")
    parser.add_argument("--loader", metavar="MODULE:NAME",
                        help="the run's DataLoader, or a function that makes it")
    parser.add_argument("--arg", action="append", type=argument, default=[],
                        metavar="KEY=VALUE", help="argument of the function")
    parser.add_argument("--batch", type=int, metavar="N", help="samples per GPU")
    parser.add_argument("--spec", default="", metavar="KEY=VALUE,...",
                        help="further keys of dnnest.spec(5)")
    parser.add_argument("--name", help="name of the network")
    attention = parser.add_mutually_exclusive_group()
    attention.add_argument("--fused", action="store_const", const=True, default=None,
                           help="attention in one kernel that keeps no probabilities, "
                                "the default since torch 2.0")
    attention.add_argument("--plain", action="store_const", const=False, dest="fused",
                           help="attention as separate kernels")
    parser.add_argument("--real", action="store_true",
                        help="compute with the module's own tensors")
    parser.add_argument("--no-loss", action="store_true",
                        help="the module computes its loss itself")
    parser.add_argument("--no-merge", dest="merge", action="store_false",
                        help="write every operator, in the order in which they run")
    parser.add_argument("--merge", action="store_true", default=True,
                        help="write equal operators once (the default)")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: stdout")
    return parser.parse_args(argv)


def describe_given(given):
    """The sidecar of what the command line names."""
    spec = dict(key_value(part) for part in given.spec.split(",") if part)
    loader = load_thing(given.loader) if given.loader else None
    hub = given.model.startswith(("hf:", "timm:"))
    if given.real and hub:
        raise ValueError("--real: not for hf: and timm:, which have no weights")
    why = None
    for real in (False, True)[given.real:]:
        try:
            model, inputs, more = model_given(given, real)
            sidecar = describe(
                model, inputs, batch=given.batch, spec=dict(more, **spec), real=real,
                name=given.name or re.split("[:/]", given.model.rstrip("/"))[-1],
                fused=given.fused, loss=not given.no_loss, merged=given.merge,
                dataloader=loader)
        except OnlyOnMeta as error:
            if hub:
                raise
            why = str(error)
            continue
        if why:
            warn(why + "; computed instead")
        return sidecar
    return None


def model_given(given, real):
    """The module of the command line, its inputs, and the keys that follow."""
    model = load_model(given.model, dict(given.arg), real)
    if not isinstance(model, torch.nn.Module):
        raise ValueError("%s: a %s, expected a module of torch or a function that "
                         "makes one" % (given.model, type(model).__name__))
    if not given.input and given.model.startswith(("hf:", "timm:")):
        named, more = inputs_of(model, given.seq)
        return model, Call((), named), more
    if not given.input:
        raise ValueError("--input: missing, expected the shape of one sample")
    return model, Call(tuple(tensor for name, tensor in given.input if not name),
                       {name: tensor for name, tensor in given.input if name}), {}


def inputs_of(model, seq):
    """Inputs of a network of transformers or diffusers, and the keys that follow."""
    if not hasattr(model, "forward") or getattr(model, "config", None) is None:
        size = getattr(model, "default_cfg", {}).get("input_size")
        if size is None:
            raise ValueError("inputs of %s are not known; give --input [NAME=][TYPE:]"
                             "N,N,..." % type(model).__name__)
        return {"x": torch.zeros([1] + list(size))}, {}
    tokens = sequence_of(model, seq)
    given = hf_inputs(model, tokens)
    if type(model).__module__.startswith("diffusers"):
        if seq:
            raise ValueError("--seq: not for a network of diffusers")
    elif not any(t.dim() == 2 for t in given.values()):
        tokens = None
    warn("inputs assumed: " + ", ".join("%s %s" % (
        name, "x".join(map(str, t.shape[1:])) or "1") for name, t in given.items()
        if isinstance(t, torch.Tensor)))
    return given, {"seq_len": tokens} if "input_ids" in given and tokens else {}


# What a run says of itself: keys, and sizes of its network.


def precision_of(model):
    """The key 'precision' from DeepSpeed, whose optimizer also keeps weights in single
    precision, from autocast, accelerate, and the type of the weights."""
    engine, model = layers_of(model)[0], unwrap(model)
    for name, enabled in (("bf16", "bfloat16_enabled"), ("fp16", "fp16_enabled")):
        if getattr(engine, enabled, bool)():
            return name
    prepared = "_original_forward" in vars(model)
    state = module_of("accelerate.state") if prepared else None
    mixed = getattr(getattr(state, "AcceleratorState", None), "_shared_state", {}).get(
        "_mixed_precision")
    names = {torch.float16: "fp16", torch.bfloat16: "bf16"}
    types = collections.Counter()
    for p in model.parameters():
        if p.is_floating_point():
            types[p.dtype] += p.numel()
    held = names.get(types.most_common(1)[0][0]) if types else None
    if str(mixed) in ("fp16", "bf16"):
        return str(mixed)
    if torch.is_autocast_enabled():
        return names.get(torch.get_autocast_gpu_dtype(), "fp16")
    if torch.is_autocast_cpu_enabled():
        return names.get(torch.get_autocast_cpu_dtype(), "bf16")
    if held:
        return "half" if held == "fp16" else "bf16_pure"
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "fp32"


def accumulation():
    """Passes per optimizer step as accelerate has them; else {}."""
    state = getattr(module_of("accelerate.state"), "GradientState", None)
    plugin = getattr(state, "_shared_state", {}).get("plugin_kwargs") or {}
    steps = plugin.get("num_steps")
    return {"grad_accum": steps} if isinstance(steps, int) and steps > 1 else {}


def work_of(op):
    """Forward FLOPs of an operator of a sidecar, per sample."""
    ins, out = op.get("in") or [[1]], (op.get("out") or [[1]])[0]
    kind = op["op"]
    if kind == "other":
        return op["flops"]
    if kind in ("linear", "matmul"):
        return 2 * math.prod(out) * ins[0][-1]
    if kind == "attention":
        return 4 * math.prod(ins[0]) * ins[1][-2]
    if kind == "conv_transpose":
        return 2 * math.prod(ins[0]) * out[0] * math.prod(op["kernel"]) / op["groups"]
    if kind.startswith("conv"):
        return 2 * math.prod(out) * ins[0][0] * math.prod(op["kernel"]) / op["groups"]
    if kind == "rnn":
        rows = math.prod(ins[0]) / ins[0][-1]
        return 2 * rows * op["gates"] * out[-1] * (ins[0][-1] + op["hidden"])
    return 0


def total(ops, value):
    return sum(op.get("repeat", 1) * value(op) for op in ops)


def size_keys(ops):
    """A network by its size, for metadata without a sidecar."""
    learned = int(total(ops, lambda op: op.get("params", 0)))
    frozen = int(total(ops, lambda op: op.get("frozen", 0)))
    keys = {"params": learned + frozen, "flops": int(total(ops, work_of)),
            "activations": max(1, int(total(ops, lambda op: op["saved"]
                                            + op["masks"] / 4)))}
    if frozen:
        keys["trainable"] = round(learned / (learned + frozen), 6)
    return keys


def trainer_keys(args, state):
    """Keys from the arguments of a Trainer of transformers."""
    keys = {"gpus": args.world_size * max(1, args.n_gpu),
            "precision": "fp16" if args.fp16 else "bf16" if args.bf16 else "tf32"
            if getattr(args, "tf32", None) else "fp32"}
    if args.gradient_accumulation_steps > 1:
        keys["grad_accum"] = args.gradient_accumulation_steps
    if args.max_steps > 0:
        keys["steps"] = args.max_steps
    else:
        keys["epochs"] = float(args.num_train_epochs)
    if args.gradient_checkpointing:
        keys["checkpointing"] = "full"
    if getattr(args, "torch_compile", False):
        keys["compile"] = 1
    keys.update(parallel_keys(getattr(args, "hf_deepspeed_config", None),
                              getattr(args, "fsdp", None)))
    return keys


def parallel_keys(deepspeed, fsdp):
    """The key 'parallel' by what has a configuration of DeepSpeed, else by FSDP."""
    config = getattr(deepspeed, "config", None) or {}
    stage = config.get("zero_optimization", {}).get("stage")
    if stage in (1, 2, 3):
        return {"parallel": "zero%d" % stage}
    return {"parallel": "fsdp"} if fsdp else {}


# Precisions of Lightning.
LIGHTNING_PRECISIONS = {
    "16-mixed": "fp16", "16": "fp16", "bf16-mixed": "bf16", "bf16": "bf16",
    "16-true": "half", "bf16-true": "bf16_pure", "32-true": "fp32", "32": "fp32",
}


def lightning_keys(trainer, module):
    """Keys of a run of Lightning."""
    keys = {"gpus": trainer.world_size,
            "precision": LIGHTNING_PRECISIONS.get(str(trainer.precision))}
    if keys["precision"] == "fp32" and torch.backends.cuda.matmul.allow_tf32:
        keys["precision"] = "tf32"
    loader = trainer.train_dataloader
    optimizers = trainer.optimizers
    keys.update(keys_of_run(trainer.model or module,
                            optimizers[0] if optimizers else None,
                            loader if hasattr(loader, "dataset") else None))
    if trainer.accumulate_grad_batches > 1:
        keys["grad_accum"] = trainer.accumulate_grad_batches
    if trainer.max_steps and trainer.max_steps > 0:
        keys["steps"] = trainer.max_steps
    elif trainer.max_epochs and trainer.max_epochs > 0:
        keys["epochs"] = trainer.max_epochs
    strategy = type(trainer.strategy).__name__
    keys.update(parallel_keys(trainer.strategy if "DeepSpeed" in strategy else None,
                              "FSDP" in strategy))
    return keys


def main(argv=None):
    given = parse(argv)
    warnings.showwarning = lambda text, *_: print("dnnest_export: warning:", text,
                                                  file=sys.stderr)
    try:
        sidecar = describe_given(given)
    except Exception as error:  # whatever a module raises becomes one line
        plain = isinstance(error, (ValueError, argparse.ArgumentTypeError))
        print("dnnest_export: %s" % (str(error).split("\n")[0] if plain
                                     else first_line(error)), file=sys.stderr)
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
