"""import_onnx - the layers of an ONNX model, for 'dnnest-dev import'

    import_onnx.py FILE BATCH SEQ_LEN [NAME=N]...

Writes a line with what was counted, and a line with a sidecar (dnnest.sidecar(5)). BATCH
and SEQ_LEN are 0 where they are not known; NAME=N gives the size of a symbol.

The onnx package reads the file and infers the shapes, one node at a time, since exporters
compute shapes within the graph: numbers of small arrays are followed too. Shapes are
computed for two and for three samples if the file has a symbol for them; the dimensions
that grow are the batch. The activations kept for the backward pass follow the rules of
graph/verbs.c, each array once.

The file is untrusted: its size, its nodes and values, the numbers that are followed and
the memory of this process have limits, and a node may read only values computed before.
"""
# SPDX-License-Identifier: GPL-2.0-or-later

import json
import math
import resource
import sys
import warnings

try:
    import numpy
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import helper, numpy_helper, shape_inference
except ImportError as missing:
    sys.exit("the Python package onnx is needed: %s" % missing)

NAME_MAX = 63           # bytes of a name in a sidecar
MEMORY_MAX = 768 << 20  # that a file may take besides its own size
CPU_MAX_S = 600
FILE_MAX = 1 << 30      # with its weights; those of larger networks are in other files
NODES_MAX = 200000      # a hundred times the size of a current large transformer
VALUES_MAX = 1000000
RANK_MAX = 8
DIM_MAX = 10 ** 9
ELEMENTS_MAX = 10 ** 15
DATA_MAX = 1024         # elements of arrays whose numbers are followed
KERNEL_MAX = 10 ** 6
LAYER_RANK_MAX = 6
INPUTS_MAX = 3          # inputs whose shapes a sidecar has
SMALL, LARGE = 2, 3     # two batch sizes without a common divisor
STEPS_MAX = 12          # nodes between the products of an attention
VIEWS_MAX = 16          # views in a chain
MASK_MAX = 64           # nodes behind a mask

FLOATS = (1, 10, 11, 16)
NUMBERS = (1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13)

# The kind of layer of each operator; "view" runs no kernel.
KINDS = {op: kind for kind, ops in {
    "elementwise": "Abs Add And Ceil Cos Div Equal Erf Exp Floor Greater GreaterOrEqual IsNaN"
                   " Less LessOrEqual Log Max Min Mod Mul Neg Not Or Pow Reciprocal Round Sign"
                   " Sin Sqrt Sub Sum Where Xor",
    "activation": "Celu Clip Elu Gelu HardSigmoid HardSwish LeakyRelu Mish PRelu Relu Selu"
                  " Sigmoid Softplus Softsign Tanh ThresholdedRelu",
    "reduce": "ArgMax ArgMin GlobalAveragePool GlobalMaxPool ReduceL2 ReduceLogSumExp"
              " ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum",
    "copy": "Cast CastLike CumSum DepthToSpace Gather GatherElements Pad Resize"
            " ScatterElements ScatterND SpaceToDepth Tile Transpose Trilu Upsample",
    "view": "Constant ConstantOfShape Expand Flatten Identity Range Reshape Shape Size Slice"
            " Split Squeeze Unsqueeze",
    "attention": "Attention GroupQueryAttention MultiHeadAttention",
    "layernorm": "LRN LayerNormalization SimplifiedLayerNormalization",
    "groupnorm": "GroupNormalization InstanceNormalization",
    "batchnorm": "BatchNormalization", "concat": "Concat", "conv": "Conv",
    "conv_transpose": "ConvTranspose", "dropout": "Dropout", "linear": "Gemm",
    "matmul": "MatMul", "pool": "AveragePool MaxPool", "rnn": "GRU LSTM RNN",
    "softmax": "LogSoftmax Softmax"}.items() for op in ops.split()}

# Kinds, and other operators, whose result has the shape of their first input: versions of
# the package that do not know one of them need not.
SAME = {op for op, kind in KINDS.items() if op != "PRelu" and kind in (
    "activation", "batchnorm", "dropout", "groupnorm", "layernorm", "softmax")}
SAME |= {"CumSum", "ScatterElements", "ScatterND", "Trilu"}

# The inputs of an operator that are learned if they are numbers in a node Constant: some
# exporters write weights so, and all write factors, masks and sizes so. Of a sum or a
# product only a vector is.
LEARNED = {"Conv": (1, 2), "ConvTranspose": (1, 2), "Gemm": (0, 1, 2), "MatMul": (0, 1),
           "Gather": (0,), "PRelu": (1,), "Attention": (1, 2)}
LEARNED.update({op: (1, 2, 3) for op in ("GRU", "LSTM", "RNN")})
LEARNED.update({op: (1, 2) for op, kind in KINDS.items() if kind.endswith("norm")})
LEARNED_VECTORS = {"Add": (0, 1), "Mul": (0, 1)}
SAME_NUMBERS = {"Cast", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}

# Operators that keep their output instead of their input
KEEP_OUTPUT = {"Relu", "LeakyRelu", "Sigmoid", "Tanh", "Softmax", "LogSoftmax", "Exp", "Sqrt"}


class Wrong(Exception):
    """What is wrong with a file."""


def as_text(name):
    """A name, which protobuf gives as bytes if it is not valid."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def printable(text, size):
    """Valid in JSON and printable on terminals."""
    return "".join(c if " " <= c <= "~" else "?" for c in as_text(text)[:size])


def limit_memory(more):
    """Refuse what would take much more memory than its file; -1 is no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        most = int(file.read().split()[0]) * resource.getpagesize() + MEMORY_MAX + more
    if soft < 0 or most < soft:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_MAX_S, CPU_MAX_S))


def read_file(path):
    """The content of a file, or of stdin for "-", before what reads it takes memory."""
    content = bytearray()
    with open(0 if path == "-" else path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            content += piece
            if len(content) > FILE_MAX:
                raise Wrong("larger than %d bytes" % FILE_MAX)
    limit_memory(4 * len(content))
    return bytes(content)


class Value:
    """An array: its shape, and its numbers if it is small and they are known."""
    __slots__ = ("dim", "type", "data", "constant", "origin")

    def __init__(self, dim, kind, data=None, constant=False, origin=None):
        self.dim = tuple(dim)
        self.type = kind
        self.data = data
        self.constant = constant    # it does not depend on the sample
        self.origin = origin        # the learned array that it is made of

    @property
    def floating(self):
        return self.type in FLOATS

    @property
    def elements(self):
        return math.prod(self.dim)


class Node:
    """A node, and what fusion made of it."""

    def __init__(self, proto):
        self.proto = proto
        self.op = proto.op_type
        self.ins = list(proto.input)
        self.outs = list(proto.output)
        self.attributes = {a.name: a for a in proto.attribute}
        for a in proto.attribute:
            if not a.type:  # of the first version of the format
                a.type = next((kind for kind, there in (
                    (4, a.HasField("t")), (7, len(a.ints)), (3, a.s), (1, a.f))
                    if there), 2)
        self.kind = None        # the kind that it represents, if not its own
        self.hidden = False     # it is a part of another node
        self.source = None      # the value that is read instead of its inputs
        self.constants = []     # learned, from hidden nodes
        self.more = 0           # elements of copies that count with this one
        self.narrow = False     # all its inputs come from one array: counted once
        self.scores = None      # attention: the product of query and key
        self.causal = self.dropout = self.moved = False

    @property
    def out(self):
        return self.outs[0] if self.outs else ""

    def input(self, i):
        return self.ins[i] if i < len(self.ins) else ""

    def int(self, name, otherwise):
        attribute = self.attributes.get(name)
        return attribute.i if attribute is not None and attribute.type == 2 else otherwise

    def wrong(self, text):
        return Wrong("node '%s' (%s): %s" % (printable(self.proto.name, 40),
                                             printable(self.op, 40), text))


# --- shapes

def check_shape(dim):
    if len(dim) > RANK_MAX:
        raise Wrong("%d dimensions, expected at most %d" % (len(dim), RANK_MAX))
    for i, size in enumerate(dim):
        if not 0 <= size <= DIM_MAX:
            raise Wrong("dimension %d: %.6g out of range 0..%g" % (i, size, DIM_MAX))
    if math.prod(dim) > ELEMENTS_MAX:
        raise Wrong("%g elements, expected at most %g" % (math.prod(dim), ELEMENTS_MAX))
    return tuple(dim)


def numbers_of(tensor):
    """The numbers of a small array that the file has, or None."""
    if math.prod(tensor.dims) > DATA_MAX or tensor.data_type not in NUMBERS \
            or tensor.data_location == onnx.TensorProto.EXTERNAL:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError):
        return None


def shape_attention(node, ins):
    """Attention as one node. Query (batch, tokens, features), in ONNX also (batch, heads,
    tokens, size); that of ONNX Runtime named Attention has its layer of query, key and value
    inside, MultiHeadAttention and GroupQueryAttention may have them in one array."""
    query, weights, value = (ins + [None] * 3)[:3]
    heads = node.int("num_heads", node.int("q_num_heads", 0))
    kv_heads = node.int("kv_num_heads", heads)
    joined = node.op == "Attention" and "num_heads" in node.attributes
    rank = [len(v.dim) if v else 0 for v in (query, weights, value)]
    dim = list(query.dim)
    if joined and rank[:2] == [3, 2]:
        dim[2] = weights.dim[1] // 3
    elif not joined and rank[0] == 4 and rank[2] == 4:
        dim[3] = value.dim[3]
    elif not joined and rank[0] == 3 and rank[2] == 3 and kv_heads >= 1:
        dim[2] = value.dim[2] * heads // kv_heads
    else:
        raise Wrong("expected query, key and value of three dimensions")
    if rank[0] == 3 and (heads < 1 or kv_heads < 1 or dim[2] % heads or (not joined and (
            rank[1] != 3 or weights.dim[2] % kv_heads or value.dim[2] % kv_heads))):
        raise Wrong("its heads do not divide its features")
    return dim


def shape_reduce(node, ins):
    """Axes are an attribute, or an input in later versions."""
    rank = len(ins[0].dim)
    axes = node.attributes["axes"].ints if "axes" in node.attributes else \
        [node.int("axis", 0)] if node.op.startswith("Arg") else \
        ins[1].data.flatten() if len(ins) > 1 and ins[1] and ins[1].data is not None else ()
    if any(not -rank <= axis < rank for axis in axes):
        raise Wrong("an axis out of range")
    away = {int(axis) % rank for axis in axes} or set(range(rank))
    keep = node.int("keepdims", 1)
    return [1 if i in away else size for i, size in enumerate(ins[0].dim)
            if keep or i not in away]


class Shapes:
    """The shapes of all values for one size of the batch."""
    known = {}      # results of the package, for nodes that are alike

    def __init__(self, file, symbol, batch):
        self.file = file
        self.symbol = symbol
        self.batch = batch
        self.values = {}
        for tensor in file.graph.initializer:
            try:
                self.set_tensor(tensor.name, tensor)
            except Wrong as wrong:
                raise Wrong("initializer '%s': %s" % (printable(tensor.name, 40), wrong))
        for given in file.graph.input:
            try:
                if given.name not in self.values:   # older files list weights too
                    self.values[given.name] = self.declared(given)
            except Wrong as wrong:
                raise Wrong("input '%s': %s" % (printable(given.name, 40), wrong))
        for node in file.nodes:
            try:
                self.infer(node)
            except Wrong as wrong:
                raise node.wrong(wrong)

    def set_tensor(self, name, tensor):
        dim = check_shape(tensor.dims)
        learned = name if tensor.data_type in FLOATS else None
        self.values[name] = Value(dim, tensor.data_type, numbers_of(tensor), True, learned)

    def size_of(self, given, name, axis):
        """Of a symbol; a size without one is INPUT.AXIS, the first axis is the batch."""
        own = name or "%s.%d" % (as_text(given.name), axis)
        if own in self.file.symbols:
            return self.file.symbols[own]
        if self.symbol is not None and (name == self.symbol if name else axis == 0):
            return self.batch
        size = self.file.seq_len if "seq" in name or "len" in name else 0
        if size == 0:
            raise Wrong("the size of %s is not known, expected --dim %s=N"
                        % ("'%s'" % printable(name, 40) if name else
                           "axis %d, which has no name," % axis, printable(own, 40)))
        return size

    def declared(self, given):
        kind = given.type.tensor_type
        if not kind.HasField("shape"):
            raise Wrong("no shape")
        dim = [d.dim_value if d.dim_value > 0 else
               self.size_of(given, as_text(d.dim_param), i)
               for i, d in enumerate(kind.shape.dim)]
        return Value(check_shape(dim), kind.elem_type)

    def infer(self, node):
        ins = [self.values.get(name) if name else None for name in node.ins]
        for i, name in enumerate(node.ins):
            if name and ins[i] is None:
                raise Wrong("input %d is not computed before it" % i if name in self.file.names
                            else "input '%s' is not computed by any node"
                            % printable(name, 40))
        for i, name in enumerate(node.outs):
            if name in self.values:
                raise Wrong("output %d is computed twice" % i)
        constant = all(v is None or v.constant for v in ins)
        origin = next((v.origin for v in ins if v and v.origin), None) if constant else None
        tensor = node.attributes.get("value")
        if node.op == "Constant" and tensor is not None and node.out:
            self.set_tensor(node.out, tensor.t)
            if node.out not in self.file.learned:
                self.values[node.out].origin = None
            return
        if node.op in KINDS and node.op != "Constant" and (not ins or ins[0] is None):
            raise Wrong("input 0 is missing")
        if node.op in SAME:
            results = [(ins[0].dim, ins[0].type)]
        elif KINDS.get(node.op) == "attention":
            results = [(shape_attention(node, ins), ins[0].type)]
        elif KINDS.get(node.op) == "reduce" and not node.op.startswith("Global"):
            results = [(shape_reduce(node, ins), ins[0].type)]
        else:
            results = self.ask(node, ins)
        data = fold(node, ins, results)
        if node.op in ("Shape", "Size"):
            constant, origin = True, None
        for i, name in enumerate(node.outs):
            found = results[i] if i < len(results) else None
            if not name or (found is None and (i > 0 and node.op in KINDS)):
                continue    # statistics and similar, which no node reads
            if found is None:
                value = self.file.value_info.get(name)
                if value is None or node.op in KINDS:
                    raise Wrong("its shape is not known" if node.op in KINDS else
                                "the operator is not known, and '%s' has no shape"
                                % printable(name, 40))
                value = self.declared(value)
            else:
                value = Value(check_shape(found[0]), found[1])
            value.constant, value.origin = constant, origin
            value.data = data if i == 0 else None
            self.values[name] = value

    def ask(self, node, ins):
        """(shape, type) of each output by the package; None where it does not know."""
        if node.op not in KINDS:
            return []
        for name in ("strides", "dilations", "kernel_shape", "group", "blocksize"):
            attribute = node.attributes.get(name)
            if attribute is not None and (attribute.i < 0 or min(attribute.ints, default=1) < 1):
                raise Wrong("%s out of range" % name)   # the package divides by them
        key = (node.op, len(node.outs), tuple(a.SerializeToString() for a in node.proto.attribute),
               tuple(v and (v.dim, v.type, None if v.data is None else v.data.tobytes())
                     for v in ins))
        if key in self.known:
            return self.known[key]
        proto = onnx.NodeProto(
            op_type=node.op, attribute=node.proto.attribute, domain=node.proto.domain,
            input=["i%d" % i if v else "" for i, v in enumerate(ins)],
            output=["o%d" % i for i in range(len(node.outs))])
        graph = onnx.GraphProto(name="g", node=[proto])
        for i, v in enumerate(ins):
            if v:
                graph.input.append(helper.make_tensor_value_info("i%d" % i, v.type, v.dim))
            if v and v.data is not None:
                graph.initializer.append(numpy_helper.from_array(v.data, "i%d" % i))
        opsets = self.file.opsets
        if {"axes", "split"} & node.attributes.keys():  # later an input
            opsets = [helper.make_opsetid(node.proto.domain, 11)]
        model = onnx.ModelProto(ir_version=8, graph=graph, opset_import=opsets)
        try:
            model = shape_inference.infer_shapes(model, strict_mode=True)
        except Exception as error:  # pylint: disable=broad-except; its own has no base
            text = str(error).strip().rsplit("] ", 1)[-1]
            raise Wrong(printable(text.splitlines()[0] if text else "it is not valid", 120))
        found = {v.name: v.type.tensor_type for v in model.graph.value_info}
        results = []
        for name in proto.output:
            kind = found.get(name)
            whole = kind is not None and kind.HasField("shape") \
                and all(d.HasField("dim_value") for d in kind.shape.dim)
            results.append((tuple(d.dim_value for d in kind.shape.dim), kind.elem_type)
                           if whole else None)
        self.known[key] = results
        return results


def fold(node, ins, results):
    """The numbers of a small first output, if those of all inputs are known; or None."""
    found = results[0] if results else None
    if found is None or node.op not in FOLDS or math.prod(found[0]) > DATA_MAX \
            or (node.op not in ("Shape", "Size")
                and any(v is not None and v.data is None for v in ins)):
        return None
    try:
        with numpy.errstate(all="ignore"):
            data = FOLDS[node.op](node, ins, found[0], *[v.data for v in ins if v])
        kind = helper.tensor_dtype_to_np_dtype(found[1]) \
            if hasattr(helper, "tensor_dtype_to_np_dtype") \
            else onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[found[1]]
        return numpy.asarray(data).astype(kind).reshape(found[0])
    except IndexError:
        raise Wrong("an index out of range")
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def folds():
    """How the numbers of small arrays are computed."""
    def divide(a, b):
        return numpy.where(b == 0, 0, a / numpy.where(b == 0, 1, b))

    def shape(node, ins, _, *data):
        return ins[0].dim[node.int("start", 0):node.int("end", len(ins[0].dim))]

    def cut(node, ins, dim, x, *rest):
        rest = [node.attributes[name].ints for name in ("starts", "ends", "axes")
                if name in node.attributes] or [r.tolist() for r in rest]
        starts, ends = rest[:2]
        axes = rest[2] if len(rest) > 2 else range(len(starts))
        steps = rest[3] if len(rest) > 3 else [1] * len(starts)
        index = [slice(None)] * x.ndim
        for start, end, axis, step in zip(starts, ends, axes, steps):
            index[axis] = slice(start, None if step < 0 and end < -x.shape[axis] else end, step)
        return x[tuple(index)]

    def fill(node, ins, dim, _):
        value = node.attributes.get("value")
        return numpy.full(dim, 0 if value is None else numpy_helper.to_array(value.t).flatten()[0])

    def plain(function):
        return lambda node, ins, dim, *data: function(*data)

    found = {op: plain(function) for op, function in {
        "Add": numpy.add, "Sub": numpy.subtract, "Mul": numpy.multiply, "Div": divide,
        "Mod": numpy.mod, "Max": numpy.maximum, "Min": numpy.minimum, "Equal": numpy.equal,
        "Where": numpy.where, "Floor": numpy.floor, "Ceil": numpy.ceil, "Round": numpy.round,
        "Range": lambda a, b, c: numpy.arange(a, b, c)}.items()}
    for op in ("Cast", "CastLike", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"):
        found[op] = lambda node, ins, dim, x, *_: x
    found.update({
        "Shape": shape, "Slice": cut, "ConstantOfShape": fill,
        "Size": lambda node, ins, *_: ins[0].elements,
        "Expand": lambda node, ins, dim, x, *_: numpy.broadcast_to(x, dim),
        "Gather": lambda node, ins, dim, x, i: numpy.take(x, i, axis=node.int("axis", 0)),
        "Concat": lambda node, ins, dim, *x: numpy.concatenate(x, axis=node.int("axis", 1)),
        "ReduceProd": lambda node, ins, dim, x, *_: numpy.prod(x) * numpy.ones(dim),
        "Transpose": lambda node, ins, dim, x: numpy.transpose(
            x, node.attributes["perm"].ints if "perm" in node.attributes else None),
        "Constant": lambda node, ins, dim: next(
            (helper.get_attribute_value(a) for a in node.proto.attribute), 0)})
    return found


# --- the graph

class File:
    def __init__(self, path, batch, seq_len, symbols):
        content = read_file(path)
        model = onnx.ModelProto()
        try:
            if model.ParseFromString(content) < len(content):
                raise DecodeError
            self.prepare(model)
        except (DecodeError, UnicodeDecodeError):
            raise Wrong("not a complete ONNX model, or too large")
        self.samples = batch
        self.seq_len = seq_len
        self.symbols = symbols
        self.infer()

    def prepare(self, model):
        graph = self.graph = model.graph
        if not graph.node:
            raise Wrong("an ONNX model without nodes")
        if len(graph.node) > NODES_MAX:
            raise Wrong("%d nodes, expected at most %d" % (len(graph.node), NODES_MAX))
        n = sum(len(node.input) + len(node.output) for node in graph.node)
        if max(n + len(graph.input) + len(graph.initializer),
               len(graph.value_info) + len(graph.output)) > VALUES_MAX:
            raise Wrong("more than %d values" % VALUES_MAX)
        self.opsets = list(model.opset_import) or [helper.make_opsetid("", 17)]
        self.nodes = [Node(node) for node in graph.node]
        self.names = {name for node in self.nodes for name in node.outs}
        self.value_info = {v.name: v for v in (*graph.output, *graph.value_info)}
        self.results = [v.name for v in graph.output]
        self.maker = {name: node for node in self.nodes for name in node.outs if name}
        self.learned = {node.out for node in self.nodes if node.op == "Constant"
                        and "value" in node.attributes
                        and math.prod(node.attributes["value"].t.dims) > 1}
        self.learned = self.find_learned() if self.learned else set()

    def find_learned(self):
        """The nodes Constant that are weights, by the nodes that read them."""
        readers = {}
        for node in self.nodes:
            for i, name in enumerate(node.ins):
                readers.setdefault(name, []).append((node, i))
        found = set()
        for constant in sorted(self.learned):
            dims = self.maker[constant].attributes["value"].t.dims
            slots = dict(LEARNED, **LEARNED_VECTORS) if max(dims) == math.prod(dims) \
                else LEARNED
            waiting = [constant]
            for name in waiting:
                for node, i in readers.get(name, ()):
                    if i in slots.get(node.op, ()):
                        found.add(constant)
                    elif node.op in SAME_NUMBERS and i == 0 and len(waiting) < VIEWS_MAX:
                        waiting.append(node.out)
        return found

    def find_batch(self):
        """The symbol of the batch, or None and its size."""
        for given in self.graph.input:
            for i, d in enumerate(given.type.tensor_type.shape.dim):
                name = as_text(d.dim_param)
                if (d.dim_value <= 0 or name) and (
                        i == 0 or name.lower().startswith("batch")):
                    return name, 0
        dims = self.graph.input[0].type.tensor_type.shape.dim if self.graph.input else ()
        if not self.samples and len(dims) > 1 and dims[0].dim_value > 0:
            return None, dims[0].dim_value
        return None, self.samples or 1

    def infer(self):
        symbol, self.batch = self.find_batch()
        self.fixed = symbol is None
        shapes = Shapes(self, symbol, self.batch if self.fixed else SMALL)
        self.batch = shapes.batch
        self.values = shapes.values
        self.large = self.values if self.fixed else Shapes(self, symbol, LARGE).values
        for name, value in self.values.items():
            if len(value.dim) != len(self.large[name].dim):
                raise Wrong("a rank that depends on the number of samples")

    def readers(self, without=()):
        """Of each value: how many read it, and the last node that does."""
        uses, user = {}, {}
        for node in self.nodes:
            for name in node.ins if node.op not in without else ():
                uses[name] = uses.get(name, 0) + 1
                user[name] = node
        for name in self.results:
            uses[name] = uses.get(name, 0) + 1
        return uses, user

    # Of one sample

    def sample_dim(self, name, i):
        """One dimension; None if it was only the batch."""
        a, b = self.values[name].dim[i], self.large[name].dim[i]
        if self.fixed:
            if i > 0 or a % self.batch:
                return a
            return None if a == self.batch else a // self.batch
        if a == b:
            return a
        if (a, b) == (SMALL, LARGE):
            return None
        return a // SMALL if a * LARGE == b * SMALL else max(1, b - a)

    def sample(self, name, whole=False):
        """The shape; 'whole' keeps the dimensions that were only the batch."""
        dims = [self.sample_dim(name, i) for i in range(len(self.values[name].dim))]
        rank = len(dims)
        front = 1
        shape = []
        for i, size in enumerate(dims):
            if size is None and not whole:
                continue
            if rank - i > LAYER_RANK_MAX - 1:   # more dimensions than a layer has
                front *= size or 1
            else:
                shape.append(1 if size is None else size)
        return ([front] if front > 1 else []) + shape or [1]

    def elements(self, name):
        return math.prod(self.sample(name))

    def image(self, name):
        """(channels, positions ...) of (batch, channels, positions ...): a batch of several
        per sample multiplies the positions."""
        more, *shape = self.sample(name, True)
        if len(shape) > 1:
            shape[1] *= more
        return shape

    def factor(self, name):
        """A product's factor, with two dimensions at least."""
        shape = self.sample(name, True)
        while len(shape) > 2 and shape[0] == 1:
            shape = shape[1:]
        return shape if len(shape) > 1 else [1, *shape]

    def heads(self, name):
        """(heads, rows, columns)"""
        *heads, rows, columns = self.factor(name)
        return [math.prod(heads), rows, columns]


# --- nodes that form one operator of a framework
#
# Exporters split layers: normalisation before opset 17 into nine nodes, GELU before opset
# 20 into five, a linear layer into product and sum. Each runs as one kernel.

class Fuser:
    def __init__(self, file):
        self.file = file
        self.values = file.values
        self.uses, self.user = file.readers()
        looks = {"Div": self.norm, "Erf": self.gelu, "Sigmoid": self.swish,
                 "HardSigmoid": self.swish, "MatMul": self.bias}
        for node in file.nodes:
            if node.op in looks and not node.hidden and not node.kind:
                looks[node.op](node)

    def made_by(self, node, i, op):
        maker = self.file.maker.get(node.input(i)) if node else None
        return maker if maker and maker.op == op else None

    def only_user(self, node, op):
        """The only reader of a node's output, if it is that operator."""
        user = self.user.get(node.out) if node and self.uses.get(node.out) == 1 else None
        return user if user and user.op == op else None

    @staticmethod
    def other_input(node, name):
        """The other input of a node with two."""
        if len(node.ins) != 2 or name not in node.ins:
            return None
        return node.ins[1] if node.ins[0] == name else node.ins[0]

    def take_constant(self, node, op):
        """The scale or shift that follows a node, with its constant."""
        after = self.only_user(node, op)
        other = self.other_input(after, node.out) if after else None
        return (after, other) if other and self.values[other].constant else (None, None)

    def norm(self, div):
        """(x - mean) / sqrt (mean ((x - mean)^2) + eps), scaled and shifted."""
        sub = self.made_by(div, 0, "Sub")
        root = self.made_by(div, 1, "Sqrt")
        add = self.made_by(root, 0, "Add")
        mean = self.made_by(add, 0, "ReduceMean")
        power = self.made_by(mean, 0, "Pow")
        centre = self.made_by(sub, 1, "ReduceMean")
        again = self.made_by(power, 0, "Sub")
        if not again or not centre or not sub.input(0) or centre.input(0) != sub.input(0):
            return
        end, constants = div, []
        for op in ("Mul", "Add"):
            after, constant = self.take_constant(end, op)
            if not after:
                break
            end.hidden = True
            end = after
            constants.append(constant)
        for node in (centre, sub, again, power, mean, add, root):
            node.hidden = True
        end.kind, end.source, end.constants = "layernorm", sub.input(0), constants

    def gelu(self, erf):
        """x (1 + erf (x / sqrt (2))) / 2, from the node Erf on"""
        scale = self.made_by(erf, 0, "Div") or self.made_by(erf, 0, "Mul")
        add = self.only_user(erf, "Add")
        product = self.only_user(add, "Mul")
        half = self.only_user(product, "Mul")
        if not scale or not half or not scale.input(0) \
                or self.other_input(product, add.out) != scale.input(0):
            return
        for node in (scale, erf, add, product):
            node.hidden = True
        half.kind, half.source = "activation", scale.input(0)

    def swish(self, gate):
        """x sigmoid (x): SiLU; with the hard sigmoid, hard-swish."""
        product = self.only_user(gate, "Mul")
        if not product or not gate.input(0) \
                or self.other_input(product, gate.out) != gate.input(0):
            return
        gate.hidden = True
        product.kind, product.source = "activation", gate.input(0)

    def bias(self, product):
        """A product with weights, and the sum with its bias."""
        weights = product.input(1)
        add, bias = self.take_constant(product, "Add")
        if not weights or not self.values[weights].constant or not add \
                or len(self.values[bias].dim) > 1:
            return
        product.constants.append(bias)
        add.hidden = True


# Exporters write attention as a product, a scale, a mask, a softmax and a product, with
# casts, dropout and guards between them. Whatever the spelling, the second product becomes
# the operator, and the others are hidden. Where something learned is added to the scores,
# such as relative positions, no fused kernel computes them, and the nodes stay.

class Attention:
    BEFORE = {"Add", "Sub", "Mul", "Div", "Where", "Cast", "Identity", "Reshape"}
    AFTER = {"Dropout", "Cast", "Identity", "Where", "Reshape"}

    def __init__(self, file):
        self.file = file
        self.values = file.values
        self.uses, self.user = file.readers(("Shape", "Size"))
        for node in file.nodes:
            if node.op == "Softmax" and not node.hidden:
                self.attend(node)

    def look_at_mask(self, name):
        """What is added to the scores, or chooses among them."""
        value = self.values[name]
        waiting = [name]
        triangle = learned = False
        for behind in waiting:
            node = self.file.maker.get(behind)
            if node is None:
                v = self.values.get(behind)
                learned |= v is not None and v.origin == behind and v.elements > 1
            elif node.op == "Trilu":
                triangle = True
            elif node.op not in ("Shape", "Size"):
                waiting += node.ins[:MASK_MAX - len(waiting)]
        self.learned |= learned and value.constant
        self.causal |= triangle or (
            value.constant and not value.floating and value.elements > 1)

    def scores_of(self, node):
        """The scores among the inputs of a node after their product."""
        if not node.out or node.op not in self.BEFORE:
            return None
        n = self.values[node.out].elements
        scores = next((name for name in node.ins if name and not self.values[name].constant
                       and self.values[name].floating and self.uses[name] == 1
                       and self.values[name].elements == n), None)
        for name in node.ins if node.op != "Reshape" else ():
            if name and name != scores:
                self.look_at_mask(name)
        return scores

    def find_scores(self, name):
        """The product that a softmax's scores come from."""
        for _ in range(STEPS_MAX):
            node = self.file.maker.get(name) if name and self.uses.get(name) == 1 else None
            if node is None or node.op == "MatMul":
                return node
            self.path.append(node)
            name = self.scores_of(node)
        return None

    def reader_of(self, name):
        """The only reader of a value, or that behind a guard against what is not a number,
        Where (IsNaN (x), 0, x)."""
        user, uses = self.user.get(name), self.uses.get(name)
        guarded = uses == 2 and user and user.op == "Where" and user.input(2) == name
        return user if uses == 1 or guarded else None

    def find_values(self, name):
        """The product with values after a softmax."""
        for _ in range(STEPS_MAX):
            node = self.reader_of(name) if name else None
            if node is None:
                return None
            if node.op == "MatMul":
                return node if node.input(0) == name else None
            if node.op not in self.AFTER:
                return None
            guard = self.file.maker.get(node.input(0)) if node.op == "Where" else None
            if guard is not None and guard.op == "IsNaN":
                self.path.append(guard)
            self.dropout |= node.op == "Dropout"
            self.path.append(node)
            name = node.out
        return None

    def fit(self, *names):
        """Are they query, key and value of the same heads?"""
        if any(not name or self.values[name].constant for name in names):
            return False
        q, k, v = (self.values[name].dim for name in names)
        return len(q) >= 3 and len(q) == len(k) == len(v) and q[-1] == k[-2] \
            and k[-1] == v[-2] and q[:-2] == k[:-2] == v[:-2]

    def attend(self, softmax):
        self.path = []
        self.causal = self.learned = self.dropout = False
        name = softmax.input(0)
        if not name or softmax.int("axis", -1) not in (-1, len(self.values[name].dim) - 1):
            return
        scores = self.find_scores(name)
        values = self.find_values(softmax.out) if scores else None
        if not values or self.learned or scores.kind or values.kind or scores.constants \
                or not self.fit(scores.input(0), scores.input(1), values.input(1)):
            return
        for node in (*self.path, scores, softmax):
            node.hidden = True
        values.kind, values.scores = "attention", scores
        values.causal, values.dropout = self.causal, self.dropout


# An exporter writes every change of order as a node; a framework runs few of them. A node
# that only moves the batch, pads by zero or casts between floating-point types is no kernel
# (the specification states the precision). A copy of a copy that has no other reader is
# part of the first, such as a shift that is then cut into windows. The transposes of an
# attention's query, key and value count as one, as in graph/attention.c.

class Joiner:
    def __init__(self, file):
        self.file = file
        self.values = file.values
        self.uses, self.user = file.readers()
        self.source = {}
        for node in file.nodes:
            self.find_source(node)
        for node in file.nodes:
            if not node.hidden and not node.kind:
                node.hidden = self.is_idle(node)
            if not node.hidden and (node.op == "Transpose" or self.is_roll(node)) \
                    and self.copied_before(node):
                node.hidden = True
        self.join_products()

    def join_products(self):
        scores, softmax = None, False
        for node in self.file.nodes:
            if node.op == "Softmax":
                softmax = scores is not None
            if node.op != "MatMul" or any(
                    not node.input(i) or self.values[node.input(i)].constant for i in (0, 1)):
                continue
            if softmax:
                self.join_factors(scores, node)
            scores = None if softmax else node
            softmax = False

    def elements(self, name):
        return self.values[name].elements if name else 0

    def only_input(self, node):
        """The input that depends on the sample, if it is the only one."""
        found = [name for name in node.ins if name and not self.values[name].constant]
        return found[0] if len(found) == 1 else None

    def is_batch(self, name, i):
        size, batch = self.values[name].dim[i], self.file.batch
        if self.file.fixed:
            return i == 0 and size == batch
        return size == batch and self.file.large[name].dim[i] == LARGE

    def moves_batch(self, node):
        """Is it a transpose that does not change a single sample?"""
        perm = node.attributes.get("perm")
        name = self.only_input(node)
        if perm is None or not name or len(perm.ints) != len(self.values[name].dim) \
                or not all(0 <= i < len(perm.ints) for i in perm.ints):
            return False
        rest = [i for i in perm.ints if not self.is_batch(name, i)]
        return rest == sorted(rest)

    def is_idle(self, node):
        """Is it a node that exporters write and that no framework runs?"""
        name = self.only_input(node)
        if not name or not node.out:
            return False
        if node.op == "Transpose":
            return self.moves_batch(node)
        if node.op == "Pad":
            return self.elements(name) == self.elements(node.out)
        return node.op == "Cast" and self.values[name].floating \
            and self.values[node.out].floating

    def behind(self, name):
        """The node that computes a value, followed back through views, or None; and whether
        nothing on the way is only a part, or has another reader."""
        whole = True
        for _ in range(VIEWS_MAX):
            if not name:
                break
            node = self.file.maker.get(name)
            scalar = node and node.op == "Gather" and node.input(1) \
                and not self.values[node.input(1)].dim
            whole &= self.uses.get(name) == 1
            if not node or not (scalar or self.is_idle(node) or KINDS.get(node.op) == "view"):
                return node, whole
            name = node.input(0)
            whole &= self.elements(name) == self.elements(node.out)
        return None, whole

    def is_roll(self, node):
        """Is it a shift: the concatenation of all parts of one value, which has no other
        reader?"""
        if node.op != "Concat" or not node.out:
            return False
        makers = [self.file.maker.get(name) for name in node.ins]
        found = {m.input(0) if m and m.op == "Slice" else "" for m in makers}
        source = found.pop() if len(found) == 1 else ""
        return bool(source) and self.uses.get(source) == len(node.ins) \
            and self.elements(source) == self.elements(node.out)

    def copied_before(self, node):
        """Does a copy read an earlier copy, as its only reader?"""
        roll = self.is_roll(node)
        name = self.file.maker[node.input(0)].input(0) if roll else self.only_input(node)
        before, whole = self.behind(name)
        return before and (before.op == "Transpose" or self.is_roll(before)) \
            and (whole or roll)     # each part of a shift is a reader

    def transpose_of(self, name):
        """The transpose that a factor of a product comes from, also through a scale."""
        node, _ = self.behind(name)
        if node and node.op in ("Mul", "Div"):
            node, _ = self.behind(self.only_input(node))
        return node if node and node.op == "Transpose" else None

    def join_factors(self, scores, values):
        """Count the transposes of query, key and value together, in the first. What reads
        part of another is read in place."""
        first = None
        for name in (scores.input(0), scores.input(1), values.input(1)):
            node = self.transpose_of(name)
            if node and node.hidden:    # part of another
                node, _ = self.behind(node.input(0))
            if not node or node.op != "Transpose" or node is first or node.hidden:
                continue
            before, _ = self.behind(node.input(0))
            cut_out = before and before.op == "Transpose"
            node.hidden = bool(first or cut_out)
            if first and not cut_out:
                first.more += self.sample_elements(node.out)
            elif not cut_out:
                first = node
        if values.kind != "attention" or not first:
            return
        first.hidden = values.moved = True  # part of its separate kernels
        after = self.user.get(values.out) if self.uses.get(values.out) == 1 else None
        if after and after.op == "Transpose":
            after.hidden = True

    def sample_elements(self, name):
        if self.file.fixed:
            return self.elements(name) // self.file.batch
        return self.file.large[name].elements - self.elements(name)

    def find_source(self, node):
        """The source of an element-wise node: that of all its inputs, else its own output.
        Where it reads several that have one source, it is part of an activation function,
        and the zoo counts one array read for each such part."""
        if not node.out or KINDS.get(node.op) not in ("activation", "elementwise"):
            return
        names = [name for name in node.ins if name and not self.values[name].constant]
        sources = {self.source.get(name, name) for name in names}
        n = self.elements(node.out)
        if len(sources) == 1 and all(self.elements(name) == n for name in names):
            self.source[node.out] = sources.pop()
            node.narrow = len(names) > 1


# --- layers

class Maker:
    def __init__(self, file):
        self.file = file
        self.values = file.values
        self.root = {}          # of a value: the one whose memory it shares
        self.kept = set()       # values already kept for the backward pass
        self.single = set()     # in single precision under torch.amp
        self.read = set()       # read by a product with weights
        self.counted = set()    # whose parameters are counted
        self.samples = {v.name for v in file.graph.input}
        self.ops = []
        self.params = 0
        self.unknown = []
        for node in file.nodes:
            try:
                self.add(node)
            except Wrong as wrong:
                raise node.wrong(wrong)
        if not self.ops:
            raise Wrong("no operator that depends on a sample")
        self.add_losses()

    def root_of(self, name):
        return self.root.get(name, name)

    def keep(self, name):
        """Elements of a value that are kept: all of the memory that it shares, or none if
        that is already kept."""
        root = self.root_of(name)
        if root in self.kept or self.values[root].constant or not self.values[root].floating:
            return 0
        self.kept.add(root)
        return self.file.elements(root)

    def charge(self, op, name):
        """Charge a layer with the learned arrays that a constant is computed from."""
        waiting = [name]
        while waiting:
            name = waiting.pop()
            value = self.values.get(name)
            if value is None or not value.constant or not value.floating \
                    or name in self.counted:
                continue
            self.counted.add(name)
            maker = self.file.maker.get(name)
            if maker and maker.op != "Constant":
                waiting += maker.ins
            elif value.origin == name and value.elements > 1:   # no factor or exponent
                op["params"] = op.get("params", 0) + value.elements
                op["tensors"] = op.get("tensors", 0) + 1

    def charge_all(self, op, node):
        if op["op"] == "batchnorm":     # not its mean and variance
            names = node.ins[1:3]
        else:
            names = node.ins + node.constants
        for name in names:
            self.charge(op, name)
        if op["op"] == "rnn":
            op["tensors"] = 4 * op["out"][0][1] // op["hidden"] if op.get("params") else 0

    def add_shapes(self, op, node):
        """All inputs that depend on the sample, and the first output."""
        names = [name for name in node.ins if name] if node.source is None \
            else [node.source]
        names = [name for name in names if not self.values[name].constant]
        op["in"] = [self.file.sample(name) for name in names[:1 if node.narrow else None]]
        op["out"] = [self.file.sample(node.out)]

    def make_conv(self, op, node):
        weights = self.values[node.ins[1]].dim
        if op["op"] == "conv":
            op["op"] = {3: "conv1d", 5: "conv3d"}.get(len(weights), "conv2d")
        kernel, groups = math.prod(weights[2:]), node.int("group", 1)
        if not 1 <= kernel <= KERNEL_MAX or not 1 <= groups <= DIM_MAX:
            raise Wrong("a window of %g positions, %g groups" % (kernel, groups))
        op.update({"kernel": [kernel], "groups": groups, "in": [self.file.image(node.ins[0])],
                   "out": [self.file.image(node.out)],
                   "first": self.root_of(node.ins[0]) in self.samples,
                   "saved": self.keep(node.ins[0])})

    def is_single(self, name):
        return bool(name) and self.root_of(name) in self.single

    def copied_again(self, name):
        """Under torch.amp each product that reads an array in single precision keeps a copy
        of 16 bits."""
        root = self.root_of(name)
        again = root in self.read and self.is_single(name)
        self.read.add(root)
        return self.file.elements(root) if again else 0

    def make_product(self, op, node):
        """With weights, or of two activations."""
        a, b = node.ins[:2]
        if self.values[a].constant or self.values[b].constant:
            x = b if self.values[a].constant else a
            op.update({"op": "linear", "in": [self.file.sample(x)],
                       "out": [self.file.sample(node.out)],
                       "first": self.root_of(x) in self.samples,
                       "saved": self.keep(x), "amp_saved": self.copied_again(x)})
            return
        op.update({"op": "matmul", "in": [self.file.factor(a), self.file.factor(b)],
                   "out": [self.file.factor(node.out)],
                   "saved": self.keep(a) + self.keep(b)})

    make_linear = make_matmul = make_product

    def keep_attention(self, op, names):
        """It keeps what it reads and writes."""
        for name in names:
            self.keep(name)
        op["saved"] = sum(math.prod(shape) for shape in op["in"] + op["out"])

    def add_projection(self, node):
        """The layer of query, key and value within ONNX Runtime's Attention."""
        shape = self.file.sample(node.ins[0])
        op = self.new("linear", node)
        op.update({"in": [shape], "out": [shape[:-1] + [self.values[node.ins[1]].dim[1]]],
                   "first": self.root_of(node.ins[0]) in self.samples,
                   "saved": self.keep(node.ins[0])})
        self.charge_all(op, node)
        self.put(op)

    def split_heads(self, name, heads):
        """(heads, tokens, size), of an array with heads or with all features."""
        if len(self.values[name].dim) > 3:
            return self.file.heads(name)
        tokens, features = self.file.factor(name)[-2:]
        return [heads, tokens, features // max(1, heads)]

    def make_whole_attention(self, op, node):
        joined = node.op == "Attention" and "num_heads" in node.attributes
        heads = node.int("num_heads", node.int("q_num_heads", 1))
        kv_heads = node.int("kv_num_heads", heads)
        names = [*node.ins[:3], node.out]
        op["out"] = [self.split_heads(node.out, heads)]
        op["in"] = op["out"] * 3 if joined else [
            self.split_heads(name, kv_heads if i else heads) for i, name in enumerate(names[:3])]
        op["causal"] = node.op == "GroupQueryAttention" \
            or node.int("is_causal", node.int("unidirectional", 0)) != 0
        op["window"] = max(node.int("local_window_size", 0), 0)
        op["moved"] = True
        if joined:
            self.add_projection(node)
        self.keep_attention(op, names[3:] if joined else names)

    def make_attention(self, op, node):
        if not node.kind:
            return self.make_whole_attention(op, node)
        names = [*node.scores.ins[:2], node.ins[1], node.out]
        heads, size, tokens = self.file.heads(names[1])
        op["in"] = [self.file.heads(names[0]), [heads, tokens, size], self.file.heads(names[2])]
        op["out"] = [self.file.heads(node.out)]
        op["causal"], op["moved"] = node.causal, node.moved
        self.keep_attention(op, names)
        if node.dropout:
            op["masks"] = op["out"][0][0] * op["out"][0][1] * tokens
        return None

    def make_rnn(self, op, node):
        tokens, features = (self.values[node.ins[0]].dim[i] for i in (0, 2))
        directions, hidden = (self.values[node.ins[2]].dim[i] for i in (0, 2))
        gates = {"LSTM": 4, "GRU": 3}.get(node.op, 1)
        if min(hidden, tokens, directions) < 1 or directions * hidden > DIM_MAX:
            raise Wrong("no tokens or no hidden size")
        out = [tokens, directions * hidden]
        op.update({"hidden": hidden, "gates": gates, "in": [[tokens, features]], "out": [out],
                   "saved": self.keep(node.ins[0])
                   + math.prod(out) * (gates + (2 if gates == 4 else 1))})
        self.kept.update(node.outs)

    def keep_factors(self, op, node):
        """The backward pass of a product needs both factors, but not the one whose other
        factor is a constant number. That of a power needs its base."""
        op["amp_saved"] = 0
        for i, name in enumerate(node.ins):
            other = node.ins[1 - i] if len(node.ins) == 2 else ""
            if not name or (node.op != "Pow" and other and self.values[other].constant
                            and self.values[other].origin is None):
                continue
            kept = self.keep(name)
            op["saved"] += kept
            if node.op == "Pow" or self.is_single(name):
                op["amp_saved"] += kept

    def make_light(self, op, node):
        kind = op["op"]
        table = self.values[node.ins[0]]
        self.add_shapes(op, node)
        if node.op == "Gather":     # rows of a table, or a selection of its input
            if table.constant and len(table.dim) == 2:
                op["op"] = "embedding"
                del op["masks"]
            return
        name = node.source or node.ins[0]
        if node.source is None and node.op in KEEP_OUTPUT:
            op["saved"] = self.keep(node.out)
        elif kind == "dropout":
            op["masks"] = math.prod(op["out"][0])
        elif kind == "elementwise" and node.op in ("Mul", "Div", "Pow"):
            self.keep_factors(op, node)
        elif name and kind in ("activation", "pool", "batchnorm", "layernorm", "groupnorm"):
            op["saved"] = self.keep(name)
        if kind == "activation" and self.is_single(name):
            op["amp_saved"] = op["saved"]
        if node.op == "MaxPool":
            op["masks"] = 8 * math.prod(op["out"][0])
        if node.more:
            op["more"] = node.more

    def make_other(self, op, node):
        """An operator that is not known: only its bytes are."""
        self.add_shapes(op, node)
        op["flops"] = 0
        op["bytes"] = 4 * sum(math.prod(shape) for shape in op["in"] + op["out"])
        self.unknown.append(node.op)

    def find_single(self, op, node):
        """Under torch.amp norms and powers are computed in single precision, and so is what
        follows them up to the next product."""
        kind = op["op"]
        follows = kind in ("activation", "elementwise", "dropout", "copy") and any(
            self.is_single(name) for name in ([node.source] if node.source else node.ins))
        if follows or kind in ("layernorm", "groupnorm") or node.op == "Pow":
            self.single.add(node.out)

    def is_view(self, node):
        """Is it a view of its input? Also dropout of ratio 0, or not in training."""
        if KINDS.get(node.op) == "view":
            return True
        if node.op == "Dropout":
            values = [self.values.get(node.input(i)) for i in (1, 2)]
            return ("ratio" in node.attributes and node.attributes["ratio"].f <= 0) or any(
                v and v.data is not None and v.data.size == 1 and not v.data.any()
                for v in values)
        return node.op == "Gather" and bool(node.input(1)) \
            and not self.values[node.ins[0]].constant and not self.values[node.ins[1]].dim

    def share(self, node):
        """The outputs of a view share the memory of the first input that depends on the
        sample. A part of it counts separately: query, key and value of one product are kept
        as separate copies."""
        source = next((self.root_of(name) for name in node.ins
                       if name and not self.values[name].constant), None)
        if node.op == "Concat" or source is None:   # of several inputs
            return
        for name in node.outs:
            if name in self.values and self.file.elements(name) >= self.file.elements(source):
                self.root[name] = source

    @staticmethod
    def new(kind, node):
        return {"op": kind, "name": printable(node.proto.name, NAME_MAX),
                "saved": 0, "masks": 0}

    def add(self, node):
        if not node.out:
            return
        if self.is_view(node) or node.hidden:
            self.share(node)
            return
        value = self.values[node.out]
        if value.constant or value.elements == 0:
            return
        op = self.new(node.kind or KINDS.get(node.op, "other"), node)
        make = {"conv_transpose": self.make_conv}.get(
            op["op"], getattr(self, "make_" + op["op"], self.make_light))
        make(op, node)
        self.find_single(op, node)
        self.charge_all(op, node)
        self.put(op)

    def put(self, op):
        shapes = op["in"][:INPUTS_MAX] + op["out"]
        if any(not 1 <= size <= DIM_MAX for shape in shapes for size in shape):
            raise Wrong("sizes out of range 1..%g" % DIM_MAX)
        more = op.pop("more", 0)
        rest = sum(math.prod(shape) for shape in op["in"][INPUTS_MAX:]) + more
        op["in"] = op["in"][:INPUTS_MAX]
        if rest:
            op["in"].append([rest])
        if more:
            op["out"] = op["out"] + [[more]]
        if rest > DIM_MAX:
            raise Wrong("sizes out of range 1..%g" % DIM_MAX)
        self.params += op.get("params", 0)
        self.ops.append({key: value for key, value in op.items() if value is not False})

    def add_losses(self):
        """A loss for each result that depends on the sample."""
        for name in self.file.results:
            value = self.values.get(name)
            if value is None or not value.dim or value.constant or not value.floating:
                continue
            shape = self.file.sample(name)
            if any(not 1 <= size <= DIM_MAX for size in shape):
                continue
            n = math.prod(shape)
            self.ops.append({"op": "loss", "in": [shape], "out": [shape], "saved": n,
                             "masks": 8 * n / shape[0 if len(shape) > 2 else -1]})


def read(path, batch, seq_len, *symbols):
    symbols = {name: int(size) for name, _, size in (s.rpartition("=") for s in symbols)}
    file = File(path, int(batch), int(seq_len), symbols)
    Fuser(file)
    Attention(file)
    Joiner(file)
    made = Maker(file)
    used = [v.name for v in file.graph.input if not file.values[v.name].constant]
    size = sum(file.elements(name) * (4 if file.values[name].floating else 8) for name in used)
    return ({"params": made.params, "instructions": len(file.nodes), "unknown": len(made.unknown),
             "such_as": printable(made.unknown[0], 40) if made.unknown else ""},
            {"name": printable(file.graph.name or "onnx", 40),
             "input_bytes": min(size, ELEMENTS_MAX), "ops": made.ops})


def main():
    warnings.simplefilter("ignore")
    try:
        summary, graph = read(*sys.argv[1:])
    except OSError as error:
        sys.exit("%s" % error.strerror)
    except (MemoryError, RecursionError):
        sys.exit("it takes too much memory")
    except Wrong as wrong:
        sys.exit(str(wrong))
    except Exception as error:  # pylint: disable=broad-except; one line, whatever the file has
        sys.exit("it cannot be read: %s: %s" % (type(error).__name__, printable(str(error), 100)))
    print(json.dumps(summary))
    print(json.dumps({"dnnest": 1, "graph": graph}))


FOLDS = folds()

if __name__ == "__main__":
    main()
