# write.py - small ONNX files, right and wrong, without the onnx package
#
#   write.py DIR    NAME.onnx for every name in NETS
#
# SPDX-License-Identifier: GPL-2.0-or-later
import struct
import sys


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(number, values):
    return b"".join(field(number, value) for value in values)


def attribute(name, value):
    if isinstance(value, int):
        return field(1, name) + field(3, value)
    if isinstance(value, bytes):
        return field(1, name) + field(5, value)
    return field(1, name) + fields(8, value)


def node(op, ins, outs, **attributes):
    return fields(1, ins) + fields(2, outs) + field(3, outs[0] if outs else op) \
        + field(4, op) + fields(5, [attribute(k, v) for k, v in attributes.items()])


def tensor(name, dims, kind=1, numbers=()):
    raw = b"".join(struct.pack("<q", n) for n in numbers)
    return fields(1, dims) + field(2, kind) + field(8, name) \
        + (field(9, raw) if numbers else b"")


def value(name, dims, kind=1):
    shape = b"".join(field(1, field(1 if isinstance(d, int) else 2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def constant(name, dims):
    """Numbers in a node."""
    value = field(1, "value") + field(5, tensor("", dims)) + field(20, 4)
    return fields(2, [name]) + field(3, name) + field(4, "Constant") + field(5, value)


def model(nodes, weights=(), inputs=(), outputs=()):
    graph = fields(1, nodes) + field(2, "net") + fields(5, weights) \
        + fields(11, inputs) + fields(12, outputs)
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


X = [value("x", ["batch", 8])]
Y = [value("y", ["batch", 4])]
W = [tensor("w", [8, 4])]


def linear(ins=X, weights=W):
    return model([node("MatMul", ["x", "w"], ["y"])], weights, ins, Y)


def attention(op, features=32, **attributes):
    ins = [value("q", ["batch", 16, 32]), value("k", ["batch", 24, features]),
           value("v", ["batch", 24, features])]
    return model([node(op, ["q", "k", "v"], ["y"], **attributes)], (), ins,
                 [value("y", ["batch", 16, 32])])


def spelled(masks, weights=()):
    """softmax (q k) v of 4 heads, 16 tokens and 8 features, node by node."""
    shape = ["batch", 4, 16, 8]
    return model(
        [node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
         node("MatMul", ["q", "t"], ["s0"]),
         node("Mul", ["s0", "half"], ["s1"]),
         node("Trilu", ["ones"], ["m"]),
         node("Add", ["s1", masks[0]], ["s2"]),
         node("Softmax", ["s2"], ["p0"], axis=-1),
         node("IsNaN", ["p0"], ["bad"]),
         node("Where", ["bad", "half", "p0"], ["p1"]),
         node("Dropout", ["p1"], ["p2"]),
         node("MatMul", ["p2", "v"], ["y"])],
        [tensor("half", []), tensor("ones", [16, 16]), *weights],
        [value("q", shape), value("k", shape), value("v", shape)], [value("y", shape)])


NETS = {
    "linear": linear(),
    # A fixed number of samples, of which four are in the file
    "fixed": linear([value("x", [4, 8])]),
    "symbol": model([node("MatMul", ["x", "w"], ["y"])], W,
                    [value("x", ["batch", "time", 8])], Y),
    "unnamed": linear([value("x", ["", 8])]),
    # Sizes without a name: the batch and another one
    "nameless": model([node("MatMul", ["x", "w"], ["y"])], W, [value("x", ["", "", 8])], Y),
    # Weights in nodes, one behind a view, and what is no weight: a factor and a mask
    "inside": model(
        [constant("w", [8, 4]), constant("b0", [4]), constant("k", [4, 4]),
         constant("half", []), constant("mask", [4, 4]),
         node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "b0"], ["q"]),
         node("Mul", ["q", "half"], ["r"]), node("Add", ["r", "mask"], ["s"]),
         node("Identity", ["k"], ["k1"]), node("MatMul", ["s", "k1"], ["y"])], (),
        [value("x", ["batch", 4, 8])], Y),
    # Set 9: the shape of a reshape computed from that of the input
    "reshape": model(
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["b"], axis=0),
         node("Unsqueeze", ["b"], ["b1"], axes=[0]),
         node("Concat", ["b1", "rest"], ["s2"], axis=0),
         node("Reshape", ["x", "s2"], ["z"]), node("MatMul", ["z", "w"], ["y"])],
        W + [tensor("zero", [], 7, [0]), tensor("rest", [2], 7, [2, 8])],
        [value("x", ["n", 16])], Y),
    "grouped": model(
        [node("Conv", ["x", "k"], ["y"], group=4, pads=[1, 1, 1, 1], strides=[2, 2])],
        [tensor("k", [8, 1, 3, 3])], [value("x", ["n", 4, 9, 9])], Y),
    "unknown": model([node("Whatever", ["x"], ["y"])], (), X, Y),
    "shapeless": model([node("Whatever", ["x"], ["z"]), node("Relu", ["z"], ["y"])],
                       (), X, Y),
    "cycle": model([node("Add", ["x", "b"], ["a"]), node("Add", ["x", "a"], ["b"])],
                   (), X, Y),
    "nowhere": model([node("Add", ["x", "q"], ["y"])], (), X, Y),
    "twice": model([node("Relu", ["x"], ["y"]), node("Relu", ["x"], ["y"])], (), X, Y),
    "negative": linear(weights=[tensor("w", [-8, 4])]),
    "huge": linear(weights=[tensor("w", [8, 2000000000])]),
    "product": linear(weights=[tensor("w", [900000000, 900000000])]),
    "rank": linear(weights=[tensor("w", [1] * 9)]),
    "misfit": linear(weights=[tensor("w", [7, 4])]),
    "window": model([node("Conv", ["x", "k"], ["y"])], [tensor("k", [8, 4, 99, 99])],
                    [value("x", ["n", 4, 9, 9])], Y),
    "axis": model([node("Concat", ["x", "x"], ["y"], axis=7)], (), X, Y),
    "index": model([node("Shape", ["x"], ["s"]), node("Gather", ["s", "i"], ["y"])],
                   [tensor("i", [], 7, [1 << 40])], X, Y),
    "range": model([node("Range", ["a", "b", "c"], ["r"]), node("Add", ["x", "r"],
                                                                ["y"])],
                   [tensor(n, [], 7, [v]) for n, v in (("a", 0), ("b", 1 << 60),
                                                       ("c", 1))], X, Y),
    "constant": model([node("Add", ["w", "w"], ["y"])], W, X, Y),
    # Attention as nodes of ONNX Runtime and of ONNX
    "runtime": model([node("Attention", ["x", "w", "b"], ["y"], num_heads=4,
                           unidirectional=1)],
                     [tensor("w", [32, 96]), tensor("b", [96])],
                     [value("x", ["batch", 16, 32])], [value("y", ["batch", 16, 32])]),
    "heads": attention("MultiHeadAttention", num_heads=4),
    "groups": attention("GroupQueryAttention", 16, num_heads=4, kv_num_heads=2,
                        local_window_size=8),
    "standard": model([node("Attention", ["q", "k", "v"], ["y"], is_causal=1)], (),
                      [value("q", ["batch", 4, 16, 8]), value("k", ["batch", 2, 24, 8]),
                       value("v", ["batch", 2, 24, 4])],
                      [value("y", ["batch", 4, 16, 4])]),
    "five": attention("MultiHeadAttention", num_heads=5),
    "keyless": model([node("MultiHeadAttention", ["x"], ["y"], num_heads=4)], (),
                     [value("x", ["batch", 16, 32])], Y),
    # Scores, scaled, masked by a triangle, guarded against what is not a number
    "spelled": spelled(["m"]),
    # The same with learned positions added to the scores
    "relative": spelled(["r"], [tensor("r", [16, 16])]),
    "empty": model([]),
    "nothing": b"",
    "text": b"not a model at all, and longer than a field",
    # A submessage that claims 2 GiB
    "claim": varint(7 << 3 | 2) + varint((1 << 31) - 1) + b"x" * 64,
    "truncated": linear()[:-20],
    "many": field(7, field(1, b"") * 300000),
}
# Graphs in attributes of nodes in graphs, ten thousand deep.
nested = field(4, "If")
for _ in range(10000):
    nested = field(4, "If") + field(2, "y") \
        + field(5, field(1, "then_branch") + field(6, field(1, nested)))
NETS["nested"] = model([nested], (), X, [value("q", ["batch"])])
# A chain of views that stands for one weight.
NETS["chain"] = model(
    [node("Identity", ["w" if i == 0 else "c%d" % i], ["c%d" % (i + 1)])
     for i in range(50000)] + [node("MatMul", ["x", "c50000"], ["y"])], W, X, Y)

if __name__ == "__main__":
    for name, content in NETS.items():
        with open("%s/%s.onnx" % (sys.argv[1], name), "wb") as file:
            file.write(content)
