"""import_hlo - the layers of an XLA HLO module, for 'dnnest-dev import'

    import_hlo.py FILE PASS BATCH ACTIVATION KEYS

PASS is guess, step or forward. BATCH (0: to be found) and ACTIVATION, bytes of an element
(0: those of most products), are numbers, KEYS the names of keys that are given. Writes a
line with what was counted, and a line with a sidecar (dnnest.sidecar(5)).

The text is what JAX and TensorFlow print of a module, before or after its optimisation. Of
the grammar of XLA's printer one instruction per line is read:
    HloModule name, attribute, ...
    [ENTRY] name [(parameters) -> shape] {
      [ROOT] name = shape opcode(operands), attribute=value, ...
    }
with "%" before names and shapes before operands if the printer was set so. The text is
untrusted: its size and numbers have limits, and a computation may call only those above it,
as XLA prints them, so that no call graph has a cycle.

Operations are counted as XLA's own cost analysis does: one multiply-add is two, a
transcendental function none. Of a convolution, products with padding or dilation do not
count. Unlike in XLA's analysis, a loop counts once per iteration. Products and convolutions
become layers with their shapes per sample, all other kernels the bytes that they move. Work
that all samples share (gradients of weights, the optimizer) is counted at the module's batch
and divided by it. Collectives between devices are left out: the predictor adds the
communication of a job on several devices.
"""
# SPDX-License-Identifier: GPL-2.0-or-later

import functools
import math
import re
import sys

import import_common as common
from import_common import Wrong

TEXT_MAX = 256 << 20    # a step of a network of thousands of layers has some 100 MB
INSTRUCTIONS_MAX = 2000000
DEPTH_MAX = 32          # of tuples
RANK_MAX = 16
DIM_MAX = 1 << 40
SPACE_MAX = 8           # spatial dimensions of a window
WINDOW_MAX = 10 ** 6    # steps for a window; others are counted without regard to padding
FLOPS_MAX = 1e30        # far above any network
NUMBER_MAX = 1e18       # of a sidecar
RUNS_MAX = 1e9
LINKS_MAX = 64          # of the chain of a value, and calls that it is followed through
CALLS_MAX = 8
INSIDE_MAX = 1024       # a fusion of more instructions is assumed to read all parameters
CHAIN_MAX = 16          # values that are computed where they are read
CANDIDATES_MAX = 64     # for the batch
SMALL_TIMES = 16        # from which ratio on an array is much smaller than another

# What an instruction does, as far as its cost depends on it. Other opcodes are themselves,
# or not known: they read their operands and write their result.
OPS = {op: kind for kind, ops in {
    "arithmetic": "abs bitcast-convert ceil clamp complex count-leading-zeros divide floor imag"
                  " is-finite maximum minimum multiply negate not or popcnt real"
                  " reduce-precision remainder round-nearest-afz round-nearest-even select"
                  " shift-left shift-right-arithmetic shift-right-logical sign"
                  " stochastic-convert subtract xor",
    "transcendental": "atan2 cbrt cosine erf exponential exponential-minus-one log log-plus-one"
                      " logistic power rsqrt sine sqrt tan tanh",
    # No work: barriers, half of an asynchronous pair
    "free": "add-dependency after-all all-gather-done all-reduce-done async-done async-update"
            " bitcast collective-permute-done copy-done domain opt-barrier partition-id"
            " replica-id rng-get-and-update-state",
    "collective": "all-gather all-gather-start all-to-all collective-broadcast"
                  " collective-permute collective-permute-start",
    "all-reduce": "all-reduce-start reduce-scatter", "async": "async-start",
    "broadcast": "iota", "copy": "copy-start", "move": "concatenate pad reverse transpose",
    "reshape": "dynamic-reshape", "rng": "rng-bit-generator", "slice": "dynamic-slice",
}.items() for op in (kind + " " + ops).split()}
for known in ("add and call cholesky compare conditional constant convert convolution"
              " custom-call dot dynamic-update-slice fft fusion gather get-tuple-element map"
              " parameter reduce reduce-window scatter select-and-scatter sort"
              " triangular-solve tuple while").split():
    OPS[known] = known

FREE = {"parameter", "constant", "free", "tuple", "get-tuple-element"}
ELEMENTWISE = {"arithmetic", "transcendental", "add", "and", "compare", "convert", "reshape",
               "broadcast"}
# May share a kernel with their users; a reduction only with its operands.
FUSIBLE = ELEMENTWISE | {"copy", "move", "slice", "reduce", "map"}
COUNTED = {"arithmetic", "add", "and", "compare", "convert", "all-reduce"}
# The result is the operand's numbers, in another type, order or place.
PASSES = {"free", "convert", "copy", "reshape", "move", "slice"}

# Half bytes of an element, and what it is
TYPES = {"f32": 8, "bf16": 4, "f16": 4, "s32": 8, "pred": 2, "u32": 8, "s8": 2, "u8": 2,
         "s64": 16, "f64": 16, "token": 0, "u64": 16, "s16": 4, "u16": 4, "c64": 16,
         "c128": 32, "s4": 1, "u4": 1, "s2": 1, "u2": 1, "s1": 1, "u1": 1, "tf32": 8,
         "opaque": 0}
LETTERS = {"token": "t", "opaque": "t", "tf32": "f"}


# --- the text

NAME = r"[A-Za-z0-9_.$:-]+"
HEAD = re.compile(r"\s*(ROOT\s+)?%%?(%s)\s*=\s*" % NAME)
OPENING = re.compile(r"\s*(ENTRY\s+)?%%?(%s)\s*(?=[({])" % NAME)
ARRAY = re.compile(r"([A-Za-z]\w*)\[([^\]]*)\]")
ONE_ARRAY = re.compile(r"[A-Za-z]\w*\[[^\]]*\](?:\{[^{}]*\})?")
LAYOUT = re.compile(r"\{[^{}]*\}")
OPCODE = re.compile(r"\s*([\w-]+)\(")
PLAIN = re.compile(r'[^()"]*\)')
BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[()\[\]{}]')
NAMES = re.compile(NAME)
MARKED_NAMES = re.compile("%%(%s)" % NAME)
NUMBERS = re.compile(r"-?[0-9]+")
METADATA = re.compile(r',\s*metadata=\{(?:[^"{}]|"(?:[^"\\]|\\.)*")*\}')
CALLEES = re.compile(
    r"[,\s](calls|to_apply|body|condition|select|scatter|true_computation|false_computation"
    r"|branch_computations|called_computations)=(\{[^{}]*\}|%%?%s)" % NAME)
TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


class Array:
    """One array; a tuple is a list of them."""
    __slots__ = ("dims", "half", "letter", "elements", "bytes", "sorted", "batched")

    def __init__(self, dims, kind):
        self.dims = dims
        self.half = TYPES.get(kind, 2 if kind[:2] == "f8" else 1 if kind[:2] == "f4" else 8)
        self.letter = LETTERS.get(kind, kind[0] if kind in TYPES else "f")
        self.elements = float(math.prod(dims))
        self.bytes = self.elements * self.half / 2
        self.sorted = tuple(sorted(d for d in dims if d != 1))
        self.batched = None     # see Entry

    @property
    def real(self):
        return self.letter in "fb"


class Computation:
    def __init__(self, name, first):
        self.name = name
        self.first = first
        self.end = self.root = 0
        self.parameters = {}    # by their numbers


def numbers(text, most):
    """Whole numbers in a text, up to one that is too large for a dimension."""
    found = []
    for number in NUMBERS.findall(text or "")[:most]:
        if len(number) > 14 or abs(int(number)) > DIM_MAX:
            break
        found.append(int(number))
    return found


def close(text, start):
    """The position after the bracket that closes the one at 'start'; 0 if none does."""
    depth = 0
    for match in BRACKETS.finditer(text, start):
        bracket = match.group()
        if bracket[0] != '"':
            depth += 1 if bracket in "([{" else -1
            if depth == 0:
                return match.end()
    return 0


class Module:
    """Computations, and lists with an item per instruction."""

    def __init__(self, text):
        self.op, self.names, self.arrays, self.flat = [], [], [], []
        self.operands, self.callees = [], []
        self.attributes, self.argument = {}, {}     # where there are any
        self.computations = []
        self.entry = -1
        self.line = 1
        self.shapes = {}        # equal ones are one
        self.places = {}        # of the open computation's instructions
        self.of = {}            # of the computations
        self.lines = text.replace("\r", "").split("\n")
        self.read()
        self.bytes = [sum(a.bytes for a in arrays) if len(arrays) != 1 else arrays[0].bytes
                      for arrays in self.arrays]

    def wrong(self, what, found):
        return Wrong("line %d: %s, found '%s'" % (
            self.line, what, common.printable(found.strip(), 40)))

    def read(self):
        while self.line <= len(self.lines) and not self.lines[self.line - 1].strip():
            self.line += 1
        head = self.lines[min(self.line, len(self.lines)) - 1]
        if head.split(maxsplit=1)[:1] != ["HloModule"]:
            raise self.wrong("expected 'HloModule'", head)
        match = NAMES.search(head, head.index("HloModule") + len("HloModule"))
        self.name = match.group() if match else ""
        self.optimised = "is_scheduled=true" in head
        open_one = None
        while self.line < len(self.lines):
            self.line += 1
            line = self.lines[self.line - 1]
            text = line.lstrip()
            if not text:
                continue
            if open_one is None:
                if not text[0].isdigit() and text.split()[0] not in TABLES:
                    open_one = self.open(line)
            elif text[0] == "}":
                self.shut(open_one)
                open_one = None
            else:
                self.read_instruction(line, open_one)
        if open_one is not None:
            raise self.wrong("expected an instruction or '}'", "")
        if not self.computations:
            raise self.wrong("expected computations", "")
        if self.entry < 0:
            self.entry = len(self.computations) - 1

    def open(self, line):
        match = OPENING.match(line)
        if not match:
            raise self.wrong("expected a computation", line)
        at = match.end()
        if line[at] == "(":
            if "->" not in line or line.rstrip()[-1] != "{":
                raise self.wrong("expected '->' after parameters, and '{' of a computation",
                                 line[at:])
            at = len(line)
        computation = Computation(match.group(2), len(self.op))
        if match.group(1):
            self.entry = len(self.computations)
        if computation.name in self.of:
            raise self.wrong("expected a unique name", computation.name)
        computation.root = -1
        self.places = {}
        if line[at + 1:].strip():
            self.read_instruction(line[at + 1:], computation)
        return computation

    def shut(self, computation):
        computation.end = len(self.op)
        if computation.end == computation.first:
            raise self.wrong("expected instructions", computation.name)
        if computation.root < 0:
            computation.root = computation.end - 1
        self.of[computation.name] = len(self.computations)
        self.computations.append(computation)

    def more_of(self, line):
        """A long constant goes on in the next lines."""
        parts = [line]
        while self.line < len(self.lines):
            after = self.lines[self.line]
            if HEAD.match(after) or after.strip().split(",")[0] == "}":
                break
            parts.append(after)
            self.line += 1
        return "\n".join(parts)

    def read_shape(self, text):
        found = self.shapes.get(text)
        if found:
            return found
        bare = LAYOUT.sub("", text)
        depth = deepest = 0
        for c in bare if bare[0] == "(" else "":
            depth += (c == "(") - (c == ")")
            deepest = max(depth, deepest)
        if deepest > DEPTH_MAX:
            raise self.wrong("expected a tuple at most %d deep" % DEPTH_MAX, text)
        if ARRAY.sub("", bare).strip("(), \n"):
            raise self.wrong("expected a shape", text)
        arrays = []
        for kind, dims in ARRAY.findall(bare):
            dims = [d.replace("<=", "").strip() for d in dims.split(",")] if dims.strip() else []
            if not all(d.isdecimal() and len(d) < 14 and int(d) <= DIM_MAX for d in dims):
                raise self.wrong("expected a dimension up to 2^40", text)
            if len(dims) > RANK_MAX:
                raise self.wrong("expected at most %d dimensions" % RANK_MAX, text)
            arrays.append(Array(tuple(map(int, dims)), kind))
        self.shapes[text] = found = (tuple(arrays), deepest <= 1)
        return found

    def read_instruction(self, line, computation):
        match = HEAD.match(line)
        if not match:
            raise self.wrong("expected an instruction or '}'", line)
        root, name = match.groups()
        at = match.end()
        shape = ONE_ARRAY.match(line, at)
        end = shape.end() if shape else close(line, at) if line[at:at + 1] == "(" else 0
        if not end:
            raise self.wrong("expected a shape", line[at:at + 40])
        arrays, flat = self.read_shape(line[at:end])
        opcode = OPCODE.match(line, end)
        if not opcode:
            raise self.wrong("expected an opcode and '('", line[end:end + 40])
        op = OPS.get(opcode.group(1), "other")
        start = opcode.end()
        plain = PLAIN.match(line, start)
        end = plain.end() if plain else close(line, start - 1)
        if not end:
            line = self.more_of(line)
            end = close(line, start - 1)
        if not end:
            raise self.wrong("expected ')' after operands", line[start:start + 40])
        index = len(self.op)
        if index == INSTRUCTIONS_MAX:
            raise Wrong("more than %d instructions" % INSTRUCTIONS_MAX)
        if op in ("constant", "parameter"):
            self.argument[index] = line[start:min(end - 1, start + 64)]
            self.operands.append(())
            number = numbers(self.argument[index], 1)
            if op == "parameter" and number:
                computation.parameters[number[0]] = index
        else:
            self.operands.append(self.read_operands(line[start:end - 1]))
        self.callees.append(self.read_attributes(line[end:], index, op))
        self.op.append(op)
        self.names.append(name)
        self.arrays.append(arrays)
        self.flat.append(flat)
        if root:
            computation.root = index
        if op == "fusion":
            self.optimised = True
        if name in self.places:
            raise self.wrong("expected a unique name", name)
        self.places[name] = index

    def read_operands(self, text):
        if "%" in text:
            found = MARKED_NAMES.findall(text)
        else:
            found = NAMES.findall(LAYOUT.sub("", ARRAY.sub("", text)) if "[" in text else text)
        try:
            return tuple([self.places[name] for name in found])
        except KeyError as missing:
            raise self.wrong("expected an operand defined above", missing.args[0])

    def read_attributes(self, text, index, op):
        text = METADATA.sub("", text) if "metadata" in text else text
        if "=" not in text:
            return ()
        self.attributes[index] = text
        found = {} if op == "while" else None
        callees = []
        for key, value in CALLEES.findall(text):
            for name in NAMES.findall(value):
                if name not in self.of:
                    raise self.wrong("expected a computation above (no cycles of calls)", name)
                callees.append(self.of[name])
                if found is not None:
                    found[key] = self.of[name]
        if found and found.keys() == {"body", "condition"}:
            return (found["body"], found["condition"])
        return tuple(callees)

    def attribute(self, i, key):
        """The text of an attribute's value, or None."""
        text = self.attributes.get(i, "")
        match = re.search(r"[,\s]%s=" % key, text)
        if not match:
            return None
        at = match.end()
        if text[at:at + 1] in ("{", "["):
            return text[at:close(text, at) or len(text)]
        return re.compile(r'"(?:[^"\\]|\\.)*"?|[^,]*').match(text, at).group()

    def operand_array(self, i, k):
        if k >= len(self.operands[i]):
            return None
        arrays = self.arrays[self.operands[i][k]]
        return arrays[0] if arrays else None

    def elements(self, i):
        """Of a result that is one array."""
        return self.arrays[i][0].elements if len(self.arrays[i]) == 1 else 0.0


# --- products

class Product:
    """A matrix product, or a convolution as one: (m, k) x (k, n), 'batches' times."""
    kernel = 0.0        # positions of a convolution's window
    groups = 1.0


def dims_of(array, text):
    """The product of the dimensions that a list names, -1 if one is out of range."""
    places = numbers(text, RANK_MAX)
    if any(not 0 <= place < len(array.dims) for place in places):
        return -1.0
    return float(math.prod(array.dims[place] for place in places))


def read_dot(module, i, p):
    p.k = dims_of(p.lhs, module.attribute(i, "lhs_contracting_dims"))
    p.batches = dims_of(p.lhs, module.attribute(i, "lhs_batch_dims"))
    if p.k <= 0 or p.batches <= 0:
        return None
    p.m = p.lhs.elements / (p.k * p.batches)
    p.n = p.rhs.elements / (p.k * p.batches)
    p.flops = 2 * p.out.elements * p.k
    return p


def read_library_dot(p):
    """A matrix product by a library: lhs (b, m, k), rhs (b, k, n) and out (b, m, n) give all
    sizes, whichever of them is transposed."""
    p.batches = float(math.prod(p.out.dims[:-2]))
    lhs, rhs, out = p.lhs.elements, p.rhs.elements, p.out.elements
    if min(lhs, rhs, out, p.batches) <= 0:
        return None
    if len(p.out.dims) > 2 and len(p.rhs.dims) == 2:    # weights, for all of the batch
        p.batches = 1.0
    p.k = max(1.0, math.floor(math.sqrt(lhs * rhs / (out * p.batches)) + 0.5))
    p.m = lhs / (p.k * p.batches)
    p.n = rhs / (p.k * p.batches)
    p.flops = 2 * out * p.k
    return p


def read_window(text):
    """Of each dimension: size, stride, low and high padding, dilations of both sides."""
    def sizes(key, otherwise, n):
        match = re.search(key + r"=([^ }]*)", text or "")
        found = [number[0] for number in (
            numbers(part, 1) for part in re.split("[x_]", match.group(1) if match else ""))
            if number][:n]
        return found + [otherwise] * (n - len(found))
    pad = sizes("pad", 0, 2 * SPACE_MAX)
    columns = [sizes(key, 1, SPACE_MAX) for key in ("size", "stride", "lhs_dilate", "rhs_dilate")]
    return [tuple(max(1, n) for n in row) + (low,)
            for row, low in zip(zip(*columns), pad[::2])]


def count_outputs(stride, dilate, offset, inputs, outputs):
    """Outputs o in [0, outputs) whose input position o * stride + offset is a multiple of
    'dilate' and among 'inputs' undilated ones."""
    period = dilate // math.gcd(stride, dilate)
    first = next((o for o in range(period) if (o * stride + offset) % dilate == 0), None)
    if first is None:
        return 0
    low = max(0, (-offset + stride - 1) // stride)
    high = min(outputs - 1, ((inputs - 1) * dilate - offset) // stride)
    if low > first:
        first += -(-(low - first) // period) * period
    return max(0, (high - first) // period + 1)


@functools.lru_cache(4096)
def count_pairs(window, kernel, inputs, outputs):
    """Pairs of a window position and an output that read an input."""
    _, stride, lhs_dilate, rhs_dilate, low = window
    if kernel * (1 + lhs_dilate) > WINDOW_MAX:
        return float(kernel * outputs)
    return float(sum(count_outputs(stride, lhs_dilate, k * rhs_dilate - low, inputs, outputs)
                     for k in range(kernel)))


def read_label(text, a, b, rank):
    """The places of two letters, and of the spatial dimensions in their order."""
    space = [text.find(str(d)) for d in range(rank - 2)]
    if len(text) != rank or a not in text or b not in text or min(space, default=0) < 0:
        return None
    return text.rindex(a), text.rindex(b), space


def read_conv(module, i, p):
    """As a product: m output positions, n output features of a group, k positions of the
    window times input features of a group."""
    match = re.match(r"\s*(\w+)_(\w+)->(\w+)", module.attribute(i, "dim_labels") or "")
    if not match or len(p.lhs.dims) > SPACE_MAX + 2:
        return None
    labels = [read_label(text, *ab, len(array.dims)) for text, ab, array in zip(
        match.groups(), ("bf", "io", "bf"), (p.lhs, p.rhs, p.out))]
    if None in labels or len({len(label[2]) for label in labels}) > 1:
        return None
    (lhs_batch, lhs_feature, lhs_space), (_, _, rhs_space), (_, out_feature, out_space) = labels
    groups, batch_groups = (
        float(max((numbers(module.attribute(i, key), 1) or [1])[0], 0) or 1)
        for key in ("feature_group_count", "batch_group_count"))
    windows = read_window(module.attribute(i, "window"))
    pairs = p.kernel = p.out_space = 1.0
    for window, a, b, c in zip(windows, lhs_space, rhs_space, out_space):
        pairs *= count_pairs(window, p.rhs.dims[b], p.lhs.dims[a], p.out.dims[c])
        p.kernel *= p.rhs.dims[b]
        p.out_space *= p.out.dims[c]
    p.lhs_batch, p.groups, p.batch_groups = float(p.lhs.dims[lhs_batch]), groups, batch_groups
    p.batches = groups
    p.n = p.out.dims[out_feature] / groups
    p.m = p.out.elements / max(1, p.n * groups)
    p.k = p.kernel * p.lhs.dims[lhs_feature] / groups
    p.flops = 2 * pairs * p.lhs.dims[lhs_feature] / groups * p.out.dims[out_feature] \
        * p.lhs_batch / batch_groups
    return p if p.flops > 0 else None


def find_product(module, i):
    """The product that an instruction is, or None. Custom calls of libraries count too."""
    op = module.op[i]
    p = Product()
    p.lhs, p.rhs = module.operand_array(i, 0), module.operand_array(i, 1)
    if p.lhs is None or p.rhs is None or not module.arrays[i]:
        return None
    p.out = module.arrays[i][0]
    if op == "dot":
        return read_dot(module, i, p)
    if op == "convolution":
        return read_conv(module, i, p)
    target = module.attribute(i, "custom_call_target") or ""
    if "$convBackwardInput" in target:
        p.lhs, p.out = p.out, p.lhs
    elif "$convBackwardFilter" in target:
        p.rhs, p.out = p.out, p.rhs
    if "$conv" in target:
        return read_conv(module, i, p)
    return read_library_dot(p) if "gemm" in target or "matmul" in target else None


class Attention:
    """XLA writes attention that one kernel of cuDNN computes as a custom call, forward
    "__cudnn$fmha..." and backward "__cudnn$fmha...Backward". Operands are query, key and
    value, in whatever order of dimensions; the size of the scores, which are never written,
    is in its backend_config."""


def find_attention(module, i):
    target = module.attribute(i, "custom_call_target") or ""
    if module.op[i] != "custom-call" or len(module.operands[i]) < 3 \
            or "__cudnn$fmha" not in target:
        return None
    config = module.attribute(i, "backend_config") or ""

    def after(key, text, end):
        return text.partition(key)[2].partition(end)[0]

    sizes = numbers(after("dimensions", config.partition("intermediate_tensor_shape")[2], "]"), 4)
    if len(sizes) != 4 or min(sizes) < 1:
        return None
    a = Attention()
    a.batch, a.heads, a.tokens, a.keys = sizes
    query, key, value = (int(module.elements(k)) for k in module.operands[i][:3])
    a.size, rest = divmod(query, a.batch * a.heads * a.tokens)
    if not a.size or rest:
        return None
    a.kv_heads, rest = divmod(key, a.batch * a.keys * a.size)
    if not a.kv_heads or rest or a.heads % a.kv_heads:
        return None
    a.value_size, rest = divmod(value, a.batch * a.keys * a.kv_heads)
    if not a.value_size or rest:
        return None
    a.query = module.operand_array(i, 0)
    a.times = 2.5 if "Backward" in target else 1    # five products backward, two forward
    a.dropout = "Dropout" in target
    a.causal = "CAUSAL" in after("mask_type", config, ",")
    a.window = max(0, (numbers(after("sliding_window_length", config, ","), 1) or [0])[0])
    a.flops = 2.0 * a.batch * a.heads * a.tokens * a.keys * (a.size + a.value_size) * a.times
    return a


# --- loops

class Loops:
    """How often loops run: those that count from a constant to another."""

    def __init__(self, module):
        self.module = module

    def follow(self, at, element, calls):
        """One link towards the origin of a value: (more, place); more is None if the origin
        is not known."""
        m = self.module
        op, operands = m.op[at], m.operands[at]
        if op == "get-tuple-element":
            number = numbers(m.attribute(at, "index"), 1)
            if element >= 0 or len(operands) != 1 or not number or number[0] < 0:
                return None, None
            return True, (operands[0], number[0], calls)
        if op == "tuple":
            if not 0 <= element < len(operands):
                return None, None
            return True, (operands[element], -1, calls)
        if op in ("call", "fusion"):
            if len(m.callees[at]) != 1 or len(calls) == CALLS_MAX:
                return None, None
            return True, (m.computations[m.callees[at][0]].root, element, calls + (at,))
        if op == "parameter" and calls:
            number = numbers(m.argument[at], 1)
            given = m.operands[calls[-1]]
            if not number or not 0 <= number[0] < len(given):
                return None, None
            return True, (given[number[0]], element, calls[:-1])
        if op in ("copy", "reshape", "convert", "free") and operands:
            return True, (operands[0], element, calls)
        return False, (at, element, calls)

    def origin(self, place):
        for _ in range(LINKS_MAX):
            more, place = self.follow(*place)
            if more is None:
                return None
            if not more:
                return place
        return None

    def operand(self, place, k):
        return self.module.operands[place[0]][k], -1, place[2]

    def constant(self, place):
        place = self.origin(place)
        m = self.module
        if not place or m.op[place[0]] != "constant" or len(m.arrays[place[0]]) != 1 \
                or m.arrays[place[0]][0].dims:
            return None
        return (numbers(m.argument[place[0]], 1) or [None])[0]

    def state(self, place):
        """The index of a value in the loop's state, or -1."""
        place = self.origin(place)
        return place[1] if place and self.module.op[place[0]] == "parameter" else -1

    def counted(self, loop, state, end):
        """The iterations of a state that begins with a constant and grows by another."""
        m = self.module
        begin = self.constant((m.operands[loop][0], state, ()))
        sum_ = self.origin((m.computations[m.callees[loop][0]].root, state, ()))
        if not sum_ or m.op[sum_[0]] != "add" or len(m.operands[sum_[0]]) != 2 or begin is None:
            return -1
        for k in range(2):
            step = self.constant(self.operand(sum_, 1 - k))
            if self.state(self.operand(sum_, k)) == state and step is not None and step > 0:
                return max(0, -((begin - end) // step))
        return -1

    def tested(self, loop, place, depth):
        """Iterations until 'i < n' fails, or the first of two such tests."""
        m = self.module
        place = self.origin(place)
        if not place or len(m.operands[place[0]]) != 2:
            return -1
        if m.op[place[0]] == "compare":
            state = self.state(self.operand(place, 0))
            end = self.constant(self.operand(place, 1))
            if state < 0 or end is None or m.attribute(place[0], "direction") != "LT":
                return -1
            return self.counted(loop, state, end)
        if m.op[place[0]] != "and" or depth == 0:
            return -1
        trips = [self.tested(loop, self.operand(place, k), depth - 1) for k in range(2)]
        return min((t for t in trips if t >= 0), default=-1)

    def trips(self, loop):
        """-1 if they are not known."""
        m = self.module
        config = m.attribute(loop, "backend_config") or ""
        number = numbers(config.partition("known_trip_count")[2], 1)
        if number and number[0] >= 0:
            return number[0]
        if len(m.callees[loop]) != 2 or len(m.operands[loop]) != 1:
            return -1
        return self.tested(loop, (m.computations[m.callees[loop][1]].root, -1, ()), 2)


# --- costs

class Costs:
    """Operations of every computation; callees come first in the text."""

    def __init__(self, module):
        self.module = module
        self.products, self.attentions, self.trips = {}, {}, {}
        self.unknown_trips = self.unknown_calls = 0
        self.flops, self.of_products = [], []
        loops = Loops(module)
        for i, op in enumerate(module.op):
            if op in ("dot", "convolution", "custom-call"):
                product = find_product(module, i)
                attention = None if product else find_attention(module, i)
                if product:
                    self.products[i] = product
                elif attention:
                    self.attentions[i] = attention
            elif op == "while":
                self.trips[i] = loops.trips(i)
        for computation in module.computations:
            flops = products = 0.0
            for i in range(computation.first, computation.end):
                a, b = self.of_instruction(i)
                flops += a
                products += b
            if not flops <= FLOPS_MAX:
                raise Wrong("computation '%s': more than %g operations"
                            % (common.printable(computation.name, 40), FLOPS_MAX))
            self.flops.append(flops)
            self.of_products.append(products)

    def branch(self, i):
        """The most expensive branch of a conditional."""
        return max(self.module.callees[i], key=lambda c: self.flops[c], default=None)

    def of_instruction(self, i):
        m = self.module
        op, arrays = m.op[i], m.arrays[i]
        if op in COUNTED:
            return (arrays[0].elements if arrays else 0.0), 0.0
        if op in FREE or op in ("transcendental", "reshape", "broadcast", "move", "slice"):
            return 0.0, 0.0
        known = self.products.get(i) or self.attentions.get(i)
        if known:
            return known.flops, known.flops
        if op in ("while", "call", "fusion", "async", "conditional"):
            times, callees = 1, m.callees[i]
            if op == "while":
                times = self.trips[i]
                self.unknown_trips += times < 0
                times = abs(times)
            if op == "conditional":
                callees = (self.branch(i),) if callees else ()
            return (sum(times * self.flops[c] for c in callees),
                    sum(times * self.of_products[c] for c in callees))
        self.unknown_calls += op == "custom-call"
        return self.of_function(i, op), 0.0

    def of_function(self, i, op):
        """Reductions and similar, the cost of their function times its calls; solvers."""
        m = self.module
        each = [self.flops[c] for c in m.callees[i][:2]] + [0.0, 0.0]
        a, b = m.operand_array(i, 0), m.operand_array(i, 1)
        n = a.elements if a else 0.0
        source = b.elements if b else 0.0
        out = m.arrays[i][0].elements if m.arrays[i] else 0.0
        last = float(a.dims[-1]) if a and a.dims else 1.0
        if op == "reduce":
            return max(0, n - out) * each[0]
        if op == "map":
            return out * each[0]
        if op in ("reduce-window", "select-and-scatter"):
            positions = math.prod(row[0] for row in read_window(m.attribute(i, "window"))) - 1
            return positions * out * each[0] if op == "reduce-window" \
                else source * (positions * each[0] + each[1])
        if op == "scatter":
            updates = m.operand_array(i, len(m.operands[i]) - 1) if m.operands[i] else None
            return (updates.elements if updates else 0.0) * each[0]
        if op == "cholesky":
            return n * last / 3
        if op == "triangular-solve":
            return last * source
        if op == "sort":
            return n * math.ceil(math.log2(max(n, 1)))
        return 4 * n * math.log2(max(last, 2)) if op == "fft" else 0.0


# --- the parameters of the entry

class Given:
    """A parameter of the entry, one per array."""

    def __init__(self, array, updated, used):
        self.array = array
        self.updated = updated      # the results have one of its shape
        self.used = used            # a product or a gather reads it, unchanged in between
        self.data = False


class Entry:
    """Weights, data and batch. HLO states none of this, so it is inferred from shapes. A step
    returns arrays that have the shapes of its weights; the other parameters are data."""

    def __init__(self, module, pass_, batch):
        self.module = module
        entry = module.computations[module.entry]
        self.results = module.arrays[entry.root]
        keys = {array.dims for array in self.results}
        used = self.find_used()
        self.given = [Given(array, array.dims in keys, (i, k) in used)
                      for i in range(entry.first, entry.end) if module.op[i] == "parameter"
                      for k, array in enumerate(module.arrays[i])]
        self.step = self.is_step() if pass_ == "guess" else pass_ == "step"
        self.batch = batch or self.find_batch(self.step)
        if not self.batch and pass_ == "guess" and self.step:
            # A function that returns an array of its parameter's shape is no step.
            self.step = False
            self.batch = self.find_batch(False)
        if not self.batch:
            raise Wrong("batch: not found in the parameters of the entry, expected --batch=N")
        self.mark_data()
        self.count_weights()

    def find_used(self):
        """(instruction, array) of what products read, directly or through later ones."""
        m = self.module
        used = set()
        passing = []

        def use(i, k):
            if k < len(m.operands[i]) and m.arrays[m.operands[i][k]]:
                used.add((m.operands[i][k], 0))

        def use_callee(i, c, first, n):
            parameters = m.computations[c].parameters
            for k in range(min(n, len(m.operands[i]) - first)):
                if k in parameters:
                    source, target = parameters[k], m.operands[i][first + k]
                    used.update((target, a) for a in range(min(
                        len(m.arrays[source]), len(m.arrays[target]))) if (source, a) in used)

        def look(i):
            op, callees = m.op[i], m.callees[i]
            if op in ("dot", "convolution", "custom-call", "gather"):
                use(i, 0)
                if op != "gather":
                    use(i, 1)
            elif op in ("call", "fusion", "async"):
                if len(callees) == 1:
                    use_callee(i, callees[0], 0, len(m.operands[i]))
                    if passing[callees[0]] and (i, 0) in used:
                        use(i, 0)
            elif op == "while":
                if len(callees) == 2:
                    use_callee(i, callees[0], 0, 1)
            elif op == "conditional":
                for k, c in enumerate(callees):
                    use_callee(i, c, k + 1, 1)
            elif op == "tuple":
                if m.flat[i]:
                    for k in range(min(len(m.operands[i]), len(m.arrays[i]))):
                        if (i, k) in used:
                            use(i, k)
            elif (i, 0) not in used:
                pass
            elif op == "get-tuple-element":
                place = numbers(m.attribute(i, "index"), 1)
                if len(m.operands[i]) == len(m.arrays[i]) == 1 and place:
                    whole = m.operands[i][0]
                    if m.flat[whole] and 0 <= place[0] < len(m.arrays[whole]):
                        used.add((whole, place[0]))
            elif op in PASSES:
                use(i, 0)

        quick = ELEMENTWISE - PASSES | {"parameter", "constant"}
        for computation in m.computations:
            passing.append(all(m.op[i] in PASSES or m.op[i] in ("parameter", "constant")
                               for i in range(computation.first, computation.end)))
            for i in range(computation.end - 1, computation.first - 1, -1):
                if m.op[i] not in quick:
                    look(i)
        return used

    def is_step(self):
        """A training step returns the arrays that it updates: at least half of the arrays
        that products read (the others are data)."""
        used = [g.updated for g in self.given if g.array.real and g.array.dims and g.used]
        return bool(used) and 2 * sum(used) >= len(used)

    @staticmethod
    def is_seed(array):
        """Keys of random generators are not data."""
        return array.letter == "u" and array.elements <= 4

    def data_score(self, given, step):
        """How likely a parameter is data."""
        array = given.array
        if not array.dims or self.is_seed(array) or (step and given.updated):
            return 0
        score = 0 if array.real else 4
        if step or any(result.dims[:1] == array.dims[:1] for result in self.results[:64]):
            score += 3
        return score + (1 if score > 0 and given.used else 0)

    def find_batch(self, step):
        """The most likely leading dimension of the data; 0 if there is no data."""
        scores = {}
        best = 0
        for given in self.given:
            score = self.data_score(given, step)
            size = given.array.dims[0] if score > 0 else 0
            if size < 1 or (size not in scores and len(scores) == CANDIDATES_MAX):
                continue
            scores[size] = scores.get(size, 0) + score
            if scores[size] > scores.get(best, 0):
                best = size
        return best

    def mark_data(self):
        self.data_elements = self.data_bytes = 0.0
        for given in self.given:
            array = given.array
            given.data = bool(array.dims) and not (self.step and given.updated) \
                and not self.is_seed(array) and (array.dims[0] == self.batch or not array.real)
            if given.data:
                self.data_elements += array.elements
                self.data_bytes += array.bytes

    def count_weights(self):
        """Learned arrays and those of an optimizer have the same shapes. The arrays that
        products read are the learned ones, which gives the number of copies per learned
        array."""
        weights = [g for g in self.given if not g.data and g.array.real and g.array.dims]
        same, used = {}, {}
        for g in weights:
            same[g.array.dims] = same.get(g.array.dims, 0) + g.array.elements
            used[g.array.dims] = used.get(g.array.dims, 0) + g.used * g.array.elements
        read = sum(used.values())
        like = sum(same[dims] for dims, n in used.items() if n > 0)
        states = math.floor(like / read + 0.5) - 1 if self.step and read > 0 else 0
        self.states = states
        self.params = math.floor(sum(same.values()) / (states + 1))
        self.tensors = len(weights) // (states + 1)
        self.weights = {g.array.sorted for g in weights}
        # Weights of equal layers, stacked for a loop over the layers.
        self.weights |= {tuple(sorted(d for d in g.array.dims[1:] if d != 1))
                         for g in weights if len(g.array.dims) > 2}

    def is_batched(self, array):
        """Is it an array per sample: not a weight, with a dimension that is a multiple of
        the batch?"""
        if array.batched is None:
            array.batched = (self.batch == 1 or any(d > 0 and d % self.batch == 0
                                                    for d in array.dims)) \
                and array.sorted not in self.weights
        return array.batched


# --- kernels
#
# An optimised module states its fusions. In another, chains of element-wise operations are
# fused as XLA would: a value that only one kernel uses is never written, broadcasts are
# computed where they are read, and reductions of the same array share a pass.

NOWHERE = -1                        # an instruction that is not in a kernel
UNUSED, APART, WRITTEN = -1, -2, -3  # how a value is used, where not by one kernel
NOTHING = -1                        # the source of what is computed from constants


class Kernels:
    def __init__(self, module, costs, entry):
        self.module, self.costs, self.entry = module, costs, entry
        n = len(module.op)
        self.home = [NOWHERE] * n       # the last instruction of its kernel
        self.bytes = [0.0] * n          # of the kernel that ends there
        self.runs = [0.0] * len(module.computations)
        self.peaks = [0.0] * len(module.computations)
        self.inside = {}
        self.find_kinds()
        self.count_runs()
        for c, computation in enumerate(module.computations):
            if self.runs[c] <= 0:
                continue
            if module.optimised:
                self.find_single(computation)
            else:
                self.find_fused(computation)
            self.peaks[c] = self.find_peak(computation)
        self.peak = self.peaks[module.entry]

    def find_kinds(self):
        """Of each instruction: may it share a kernel, and does it call computations with
        separate kernels?"""
        m = self.module
        self.free = [op in FREE for op in m.op]
        self.fusible = [op in FUSIBLE for op in m.op]
        light = []      # computations of only element-wise operations
        self.calls = [False] * len(m.op)
        for computation in m.computations:
            simple = True
            for i in range(computation.first, computation.end):
                op = m.op[i]
                if op == "call":
                    self.fusible[i] = len(m.callees[i]) == 1 and light[m.callees[i][0]]
                self.calls[i] = bool(m.callees[i]) and (
                    op in ("while", "conditional", "async")
                    or (op == "call" and (m.optimised or not self.fusible[i])))
                simple = simple and op != "reduce" and (self.free[i] or self.fusible[i])
            light.append(simple)

    def count_runs(self):
        """The callers of a computation come after it in the text."""
        m = self.module
        self.runs[m.entry] = 1.0
        for c in range(len(m.computations) - 1, -1, -1):
            if self.runs[c] > RUNS_MAX:
                raise Wrong("computation '%s': runs %g times, expected at most %g" % (
                    common.printable(m.computations[c].name, 40), self.runs[c], RUNS_MAX))
            if self.runs[c] <= 0:
                continue
            for i in range(m.computations[c].first, m.computations[c].end):
                if not self.calls[i]:
                    continue
                callees = (self.costs.branch(i),) if m.op[i] == "conditional" else m.callees[i]
                for callee in callees:
                    self.runs[callee] += self.runs[c] * abs(self.costs.trips.get(i, 1))

    # Of an optimised module, one per instruction

    def read_of_parameter(self, inside, parameter):
        """Bytes that are read of a fusion's parameter: of one that is only sliced, the
        slices."""
        m = self.module
        whole = m.bytes[parameter]
        pieces = 0.0
        for i in range(parameter + 1, inside.end):
            if pieces >= whole:
                break
            for k, operand in enumerate(m.operands[i]):
                if operand != parameter:
                    continue
                if k == 0 and m.op[i] in ("slice", "gather"):
                    pieces += m.bytes[i]
                elif k > 0 or m.op[i] != "dynamic-update-slice":
                    return whole
        return min(pieces, whole)

    def written(self, i):
        """Bytes that an instruction writes; an update in place writes only its slice."""
        m = self.module
        root = i
        if m.op[i] == "fusion" and m.callees[i]:
            root = m.computations[m.callees[i][0]].root
            if m.op[root] == "free" and len(m.operands[root]) == 1:     # a bitcast of it
                root = m.operands[root][0]
        if m.op[root] == "dynamic-update-slice" and len(m.operands[root]) > 1:
            return m.bytes[m.operands[root][1]]
        return m.bytes[i]

    def inside_bytes(self, c):
        """Bytes that a fused computation reads; many fusions may call it."""
        if c not in self.inside:
            m = self.module
            inside = m.computations[c]
            large = inside.end - inside.first > INSIDE_MAX
            self.inside[c] = sum(
                m.bytes[i] if large else self.read_of_parameter(inside, i)
                for i in range(inside.first, inside.end) if m.op[i] == "parameter")
        return self.inside[c]

    def single_bytes(self, i):
        """Bytes of an instruction that is a kernel on its own."""
        m = self.module
        op, operands = m.op[i], m.operands[i]
        out = self.written(i)
        if op in ("slice", "gather", "dynamic-update-slice"):
            return 2 * out
        if op in ("broadcast", "rng"):
            return out
        if op == "scatter":     # the elements that it updates are read and written
            return out + (2 * m.bytes[operands[-1]] if len(operands) > 2 else 0)
        if op == "fusion" and len(m.callees[i]) == 1:
            return out + self.inside_bytes(m.callees[i][0])
        for operand in operands:
            out += m.bytes[operand]
        return out

    def find_single(self, computation):
        for i in range(computation.first, computation.end):
            if not self.free[i] and not self.calls[i]:
                self.home[i] = i
                self.bytes[i] = self.single_bytes(i)

    # Of a module before optimisation

    def find_fused(self, computation):
        first, end = computation.first, computation.end
        self.root = computation.root
        self.level, self.source, self.want, self.last_read = {}, {}, {}, {}
        for i in range(first, end):
            self.level[i] = max([self.level[k] for k in self.module.operands[i]], default=0) + (
                self.module.op[i] == "reduce" or not (self.free[i] or self.fusible[i]))
            self.source[i] = self.source_of(i)
            self.want[i] = UNUSED
        for i in range(end - 1, first - 1, -1):
            self.settle_home(i)
            self.want_operands(i)
        for i in range(first, end):
            if self.home[i] != NOWHERE:
                self.add_bytes(i)

    def source_of(self, i):
        """The one array that an element-wise operation is computed from, not counting much
        smaller ones; itself if there are more."""
        m = self.module
        if m.op[i] == "constant":
            return NOTHING
        if len(m.arrays[i]) != 1 or m.op[i] not in ELEMENTWISE:
            return i
        source = NOTHING
        for k in m.operands[i]:
            below = self.source[k]
            if below in (NOTHING, source) \
                    or m.elements(below) * SMALL_TIMES <= m.arrays[i][0].elements:
                continue
            if source != NOTHING:
                return i
            source = below
        return source

    def follow(self, kernel):
        """The kernel that another kernel was merged into."""
        home = self.home
        while kernel >= 0 and home[kernel] != kernel:
            if home[kernel] >= 0:   # shortens the next search
                home[kernel] = home[home[kernel]]
            kernel = home[kernel]
        return kernel

    def are_siblings(self, a, b):
        """Do two kernels that end in reductions read the same, so that XLA merges them? Equal
        levels mean that neither depends on the other."""
        m = self.module
        return m.op[a] == m.op[b] == "reduce" and m.operands[a] and m.operands[b] \
            and self.level[a] == self.level[b] \
            and m.bytes[m.operands[a][0]] == m.bytes[m.operands[b][0]]

    def is_remade(self, i):
        """Is the value cheaper to compute again in each reader than to write? So is a cast,
        or a value computed from an array that is no larger, such as a normalised
        activation."""
        m = self.module
        source = self.source[i]
        return m.op[i] in ("constant", "broadcast", "reshape", "convert") or source == NOTHING \
            or (source != i and m.bytes[source] <= m.bytes[i])

    def settle_home(self, i):
        wanted = self.want[i]
        wanted = self.follow(wanted) if wanted >= 0 else wanted
        root = i == self.root
        self.home[i] = NOWHERE
        if self.free[i] or self.calls[i] or (wanted == UNUSED and not root):
            return
        self.home[i] = i
        if not self.fusible[i] or root:
            return
        if wanted == APART and self.is_remade(i):
            self.home[i] = NOWHERE
        elif wanted >= 0 and self.module.op[i] != "reduce":
            self.home[i] = wanted

    def want_operands(self, i):
        """Record that a kernel uses an operand, or that it is WRITTEN."""
        want = self.want
        if want[i] == UNUSED and i != self.root:
            return
        if self.module.op[i] == "tuple":
            kernel = WRITTEN
        elif self.free[i] or (self.home[i] == NOWHERE and self.fusible[i]):
            kernel = want[i]
        else:
            kernel = self.follow(self.home[i]) if self.fusible[i] else WRITTEN
        if kernel == UNUSED:
            return
        for operand in self.module.operands[i]:
            wanted = want[operand]
            if kernel == APART:
                want[operand] = WRITTEN if wanted == WRITTEN else APART
                continue
            if wanted >= 0:
                wanted = want[operand] = self.follow(wanted)
            if wanted == UNUSED or kernel == WRITTEN:
                want[operand] = kernel
            elif wanted >= 0 and wanted != kernel:
                if self.are_siblings(wanted, kernel):
                    self.home[kernel] = wanted
                else:
                    want[operand] = APART

    def made_of(self, i):
        """The operand that is read for a value that its readers compute; else the value
        itself."""
        operands = self.module.operands[i]
        if self.home[i] != NOWHERE or not self.fusible[i] or self.calls[i] or not operands:
            return i
        return next((k for k in operands if self.source[k] == self.source[i]), operands[0])

    def read_operand(self, operand, kernel):
        """A kernel reads an operand, or the array that the operand is computed from."""
        for _ in range(CHAIN_MAX):
            below = self.made_of(operand)
            if below == operand:
                break
            operand = below
        op = self.module.op[operand]
        if op == "constant" or self.last_read.get(operand) == kernel or (
                self.home[operand] < 0 and (self.source[operand] == NOTHING
                                            or op == "broadcast")):
            return
        self.last_read[operand] = kernel
        self.bytes[kernel] += self.module.bytes[operand]

    def add_bytes(self, i):
        m = self.module
        if not self.fusible[i]:
            self.bytes[i] = self.single_bytes(i)
            return
        kernel = self.follow(self.home[i])
        if kernel == i or i == self.root or m.op[i] == "reduce":
            self.bytes[kernel] += m.bytes[i]
        if m.op[i] == "slice":      # reads no more than it returns
            self.bytes[kernel] += m.bytes[i]
            return
        for operand in m.operands[i]:
            home = self.home[operand]
            if home == NOWHERE or self.follow(home) != kernel or m.op[operand] == "reduce":
                self.read_operand(operand, kernel)

    # Memory that is alive, without weights and optimizer states

    def own_bytes(self, i):
        return sum(array.bytes for array in self.module.arrays[i]
                   if array.dims and array.sorted not in self.entry.weights)

    def find_peak(self, computation):
        m = self.module
        first, end = computation.first, computation.end
        last = list(range(first, end))      # the last instruction during which it is alive
        borrowed = []       # it is passed on, or takes the memory of an operand
        for i in range(first, end):
            op = m.op[i]
            borrowed.append(
                self.free[i] or (self.home[i] != i and not self.calls[i])
                or op in ("while", "dynamic-update-slice")
                or (op == "fusion" and self.written(i) < m.bytes[i]))
        for i in range(end - 1, first - 1, -1):
            until = last[i - first] if borrowed[i - first] else i
            if not self.free[i] and self.home[i] >= 0:
                until = self.follow(self.home[i])
            for operand in m.operands[i]:
                if until > last[operand - first]:
                    last[operand - first] = until
        ending = {}         # bytes that are freed after an instruction
        alive = peak = 0.0
        for i in range(first, end):
            if not borrowed[i - first]:
                own = self.own_bytes(i)
                alive += own
                ending[last[i - first]] = ending.get(last[i - first], 0.0) + own
            below = max(self.peaks[c] for c in m.callees[i]) if self.calls[i] else 0.0
            peak = max(peak, alive + below)
            alive -= ending.pop(i, 0.0)
        return peak


# --- layers

def is_whole(*sizes):
    return all(1 <= size <= 1e9 and size == math.floor(size) for size in sizes)


class Layers:
    def __init__(self, module, costs, entry, kernels, activation):
        self.module, self.costs, self.entry, self.kernels = module, costs, entry, kernels
        self.merged = {}        # layers by what they have in common
        self.before = None
        self.moved = self.n_kernels = 0.0
        self.replicas = 1
        self.precision = self.find_types()
        self.activation = activation or {"fp32": 4}.get(self.precision, 2)
        self.add_input()
        for c in range(len(module.computations) - 1, -1, -1):
            runs = kernels.runs[c]
            if runs > 0:
                for i in range(module.computations[c].first, module.computations[c].end):
                    if kernels.home[i] == i:
                        self.add_kernel(i, runs)

    def find_types(self):
        """Precision: that of most operations of products."""
        m = self.module
        by_type = {"fp32": 0.0, "fp16": 0.0, "bf16": 0.0}
        for c, computation in enumerate(m.computations):
            runs = max(1, self.kernels.runs[c])
            for i in range(computation.first, computation.end):
                op = m.op[i]
                if op in ("dot", "convolution", "custom-call"):
                    p, a = self.costs.products.get(i), self.costs.attentions.get(i)
                    factor = p.lhs if p else a.query if a else None
                    if factor is not None:
                        kind = "bf16" if factor.letter == "b" else \
                            "fp16" if factor.half == 4 else "fp32"
                        by_type[kind] += runs * (p or a).flops
                elif op in ("all-reduce", "collective"):
                    self.count_replicas(m.attribute(i, "replica_groups") or "")
        if by_type["bf16"] > max(by_type["fp16"], by_type["fp32"]):
            return "bf16"
        return "fp16" if by_type["fp16"] > by_type["fp32"] else "fp32"

    def count_replicas(self, groups):
        """Devices of one group: "{{0,1},{2,3}}" or "[2,4]<=[8]", groups times members."""
        sizes = numbers(groups, 2)
        members = 1
        if groups[:1] == "{":
            members += groups.partition("}")[0].count(",")
        elif len(sizes) == 2:
            members = sizes[1]
        self.replicas = max(self.replicas, members)

    def add(self, op, name, runs):
        """Equal layers are merged."""
        if max(op.get("flops", 0), op.get("bytes", 0)) > NUMBER_MAX:
            self.too_much(name)
        self.n_kernels += runs
        shapes = op.get("in", [])
        n = sum(math.prod(shape) for shape in shapes)
        if self.entry.step:     # memory is counted once, for all
            op["saved"] = op["masks"] = 0
        else:                   # as graph/layer.c
            kept = self.before and self.before["op"] == "attention" \
                and math.prod(self.before["out"][0]) == n
            op["saved"] = 0 if kept or op["op"] in ("embedding", "other") else n
        op["amp_saved"] = 0
        self.before = op
        key = repr(op)
        if key in self.merged:
            self.merged[key]["repeat"] += runs
        else:
            self.merged[key] = {**op, "name": name[:common.NAME_MAX], "repeat": runs}

    @staticmethod
    def too_much(name):
        raise Wrong("instruction '%s': more than %g operations, bytes or elements"
                    % (common.printable(name, common.NAME_MAX), NUMBER_MAX))

    def add_other(self, i, flops, size, runs):
        """A kernel without a kind of layer: the bytes that it moves. The predictor assumes
        elements of one size."""
        self.moved += size * runs
        self.add({"op": "other", "flops": flops / self.entry.batch,
                  "bytes": size / self.activation * 4 / self.entry.batch, "in": [], "out": [[]]},
                 self.module.names[i], runs)

    @staticmethod
    def linear(rows, before, after):
        """(m, k) x (k, n) as a layer over m rows of the batch; None if they are not a
        multiple of the batch."""
        if not is_whole(rows, before, after):
            return None
        return {"op": "linear", "in": [[int(rows), int(before)]],
                "out": [[int(rows), int(after)]]}

    def matmul(self, p):
        """Which of the three arrays have samples determines the product: forward or the
        gradient of its input, the gradient of its weights, or a product of two
        activations."""
        lhs, rhs, out = map(self.entry.is_batched, (p.lhs, p.rhs, p.out))
        batches = p.batches / self.entry.batch
        if lhs and rhs and out and is_whole(batches, p.m, p.n, p.k):
            b, m, n, k = map(int, (batches, p.m, p.n, p.k))
            return {"op": "matmul", "in": [[b, m, k], [b, k, n]], "out": [[b, m, n]]}
        if p.batches != 1:
            return None
        if lhs and rhs and not out:
            return self.linear(p.k / self.entry.batch, p.m, p.n)
        if rhs and out and not lhs:
            return self.linear(p.n / self.entry.batch, p.k, p.m)
        return self.linear(p.m / self.entry.batch, p.k, p.n) if out else None

    def conv(self, p):
        """Channels and positions of a convolution's input and output, per sample, for the
        forward pass and both gradients. A transposed one is counted at its input's
        positions."""
        batch = self.entry.batch
        space = len(p.out.dims) - 2
        before, after = p.k / p.kernel * p.groups, p.n * p.groups
        kernel, groups, out = p.kernel, p.groups, p.out.elements
        if not self.entry.is_batched(p.out):
            # The gradient of a kernel: its output is the window, its window the output.
            before, kernel, groups, out = p.lhs_batch, p.out_space, p.batch_groups, p.rhs.elements
        in_space, out_space = p.lhs.elements / before / batch, out / after / batch
        if not 0 <= space <= 3 or not is_whole(kernel, groups, before / groups, after / groups,
                                               in_space, out_space):
            return None
        each = 2 * batch * after * before / groups * kernel
        transposed = abs(each * out_space - p.flops) > abs(each * in_space - p.flops)
        rest = [1] * max(0, space - 1) if transposed else []    # shapes give its dimensions
        return {"op": "conv_transpose" if transposed else "conv%dd" % max(1, space),
                "kernel": [kernel], "groups": groups,
                "in": [[int(before), int(in_space), *rest]],
                "out": [[int(after), int(out_space), *rest]]}

    def add_product(self, i, p, runs):
        size = p.lhs.bytes + p.rhs.bytes + p.out.bytes
        op = self.conv(p) if p.kernel > 0 else self.matmul(p)
        if op is None:
            self.add_other(i, p.flops, size, runs)
            return size
        self.moved += size * runs
        self.add(op, self.module.names[i], runs)
        return size

    def add_attention(self, i, a, runs):
        """One kernel of cuDNN. Backward it does as much as two and a half times forward."""
        self.moved += self.kernels.bytes[i] * runs
        op = {"op": "attention", "in": [[a.heads, a.tokens, a.size],
                                        [a.kv_heads, a.keys, a.size],
                                        [a.kv_heads, a.keys, a.value_size]],
              "out": [[a.heads, a.tokens, a.value_size]], "window": a.window,
              "causal": a.causal, "fused": True,
              "masks": a.heads * a.tokens * a.keys if a.dropout else 0}
        self.add(op, self.module.names[i], runs * (a.batch / self.entry.batch) * a.times)

    def embedding(self, i):
        """One row of a table per index."""
        out = self.module.arrays[i][0]
        width = out.dims[-1] if len(out.dims) > 1 else 0
        rows = out.elements / max(width, 1) / self.entry.batch
        if not is_whole(width, rows) or not self.entry.is_batched(out):
            return None
        return {"op": "embedding", "in": [[int(rows)]], "out": [[int(rows), width]]}

    def add_kernel(self, i, runs):
        m = self.module
        op, size = m.op[i], self.kernels.bytes[i]
        attention = self.costs.attentions.get(i)
        product = self.costs.products.get(i)
        flops = 0.0
        if attention and attention.batch >= self.entry.batch:
            self.add_attention(i, attention, runs)
            return
        if product:
            self.add_product(i, product, runs)
            return
        if op in ("all-reduce", "collective"):
            return
        if op == "fusion" and len(m.callees[i]) == 1 \
                and self.costs.of_products[m.callees[i][0]] > 0:
            # Its products are its work; other bytes that it moves are a second layer.
            inside = m.computations[m.callees[i][0]]
            for k in range(inside.first, inside.end):
                if k in self.costs.products:
                    size -= self.add_product(k, self.costs.products[k], runs)
        elif op == "gather" and len(m.arrays[i]) == 1:
            rows = self.embedding(i)
            if rows:
                self.moved += size * runs
                self.add(rows, m.names[i], runs)
                return
        if size > 0:
            self.add_other(i, flops, size, runs)

    def add_input(self):
        """The data of a sample, and what belongs to the whole network."""
        entry = self.entry
        self.input_bytes = math.floor(entry.data_bytes / entry.batch)
        elements = entry.data_elements / entry.batch
        op = {"op": "other", "name": "input", "flops": 0, "bytes": 0, "saved": 0, "amp_saved": 0,
              "params": entry.params, "tensors": entry.tensors, "out": [[]],
              "in": [[int(elements)]] if is_whole(elements) else [],
              "masks": math.floor(self.kernels.peak / entry.batch) if entry.step else 0}
        if max(op["params"], op["masks"], self.input_bytes) > NUMBER_MAX:
            self.too_much("input")
        self.merged["input"] = op


def read(path, pass_, batch, activation, keys):
    content = common.read_file(path, TEXT_MAX, 24)
    if b"\0" in content:
        raise Wrong("has a NUL byte, expected HLO as text")
    text = content.decode("utf-8", "replace")
    module = Module(re.sub(r"/\*index=\d+\*/", "", text))
    costs = Costs(module)
    entry = Entry(module, pass_, int(batch))
    kernels = Kernels(module, costs, entry)
    layers = Layers(module, costs, entry, kernels, int(activation))
    summary = {
        "step": entry.step, "optimised": module.optimised, "batch": entry.batch,
        "replicas": layers.replicas, "params": entry.params, "flops": costs.flops[module.entry],
        "product_flops": costs.of_products[module.entry], "bytes": layers.moved,
        "kernels": layers.n_kernels, "instructions": len(module.op),
        "computations": len(module.computations), "unknown_loops": costs.unknown_trips,
        "unknown_calls": costs.unknown_calls}
    # TensorFlow names modules after its functions or its clusters.
    tensorflow = "inference_" in module.name or "cluster_" in module.name
    spec = {"batch": entry.batch, "precision": layers.precision,
            "framework": "tensorflow" if tensorflow else "jax", "compile": 1}
    if entry.step and 0 <= entry.states < 3:
        spec["optimizer"] = ("sgd", "momentum", "adam")[entry.states]
    spec = {key: value for key, value in spec.items() if key not in keys.split(",")}
    graph = {"name": module.name[:common.NAME_MAX] or "hlo", "input_bytes": layers.input_bytes,
             "step": entry.step, "ops": list(layers.merged.values())}
    return summary, graph, spec


if __name__ == "__main__":
    common.main(read)
