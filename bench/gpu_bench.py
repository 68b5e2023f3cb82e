# gpu_bench.py - measures the kernels of a training step on a GPU, by PyTorch
#
# usage: python3 gpu_bench.py DEVICE SAMPLES quick|full
#
# Appends rows to a samples file (dnnest-dev(1)): the facts of the device, then the
# kernels that the file does not have, and the all-reduces among all devices. What cannot
# run here is named on stderr. 'dnnest-dev bench gpu' runs it.
#
# A kernel takes its operands from one of several sets that exceed the last-level cache,
# each launch the next, so that none finds them in the cache. They are random numbers,
# because zeros need less power and so raise the clocks. After a warm-up of the clocks,
# bursts of launches are replayed as a CUDA graph, which takes the host's time out of
# small kernels. The median of the bursts is the result, so that one that another process
# disturbs has no effect.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure the kernels of a training step on a GPU."""

import math
import os
import statistics
import subprocess
import sys
import time

from samples import Failure, Recorder, program

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

# Seconds of the warm-up, of a burst, and of all bursts; the number of bursts and launches.
WARM_S, BURST_S, TOTAL_S = 0.015, 0.002, 0.3
BURSTS_MIN, BURSTS_MAX, LAUNCHES_MAX = 5, 15, 256

# Bytes of all sets of a kernel, of those that a cache of unknown size may need, and the
# number of sets.
POOL_MAX, CACHE_UNKNOWN, SETS_MAX = 3 << 30, 64 << 20, 512

# Rows, outputs, inputs: squares, and layers of BERT, GPT and Llama.
GEMMS = ((128, 128, 128), (256, 256, 256), (512, 512, 512), (1024, 1024, 1024),
         (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (32, 1024, 1024),
         (128, 4096, 1024), (512, 1024, 4096), (2048, 768, 768), (2048, 3072, 768),
         (4096, 1024, 4096), (8192, 4096, 1024), (16384, 1024, 1024),
         (1024, 30522, 768), (4096, 11008, 4096))
BMMS = ((192, 128, 128, 64), (768, 128, 64, 128), (96, 512, 512, 64),
        (384, 512, 64, 512), (32, 2048, 2048, 64), (128, 1024, 1024, 64),
        (512, 64, 64, 64))
ATTENTIONS = ((32, 12, 128, 64), (8, 16, 512, 64), (4, 16, 1024, 64), (1, 32, 2048, 128))
# Batch, channels, side, outputs, side of the kernel, stride: layers of ResNet-50 and
# VGG-16, and some of them with small batches; of MobileNet and EfficientNet.
CONVS = ((64, 64, 56, 64, 3, 1), (64, 128, 28, 128, 3, 1), (64, 256, 14, 256, 3, 1),
         (64, 512, 7, 512, 3, 1), (8, 64, 56, 64, 3, 1), (8, 256, 14, 256, 3, 1),
         (1, 64, 56, 64, 3, 1), (1, 512, 7, 512, 3, 1), (16, 64, 224, 64, 3, 1),
         (32, 256, 56, 256, 3, 1), (32, 512, 28, 512, 3, 1), (64, 3, 224, 64, 7, 2),
         (64, 64, 56, 256, 1, 1), (64, 256, 56, 64, 1, 1), (64, 512, 28, 128, 1, 1),
         (64, 1024, 14, 256, 1, 1), (64, 128, 56, 128, 3, 2))
DEPTHWISES = ((64, 32, 112, 32, 3, 1), (64, 192, 28, 192, 3, 1), (64, 576, 14, 576, 3, 1),
              (64, 960, 7, 960, 3, 1), (64, 240, 28, 240, 5, 1))
NORMS = ((64, 64, 112), (64, 256, 56), (64, 512, 28), (64, 1024, 14), (64, 2048, 7))
LAYER_NORMS = ((4096, 768), (16384, 1024), (8192, 4096))
SOFTMAXES = ((6144, 128), (49152, 128), (65536, 512), (16384, 2048))
LSTMS = ((16, 64, 32), (16, 64, 256), (64, 512, 64), (64, 1024, 64))
TABLES = ((4096, 768, 30522), (32768, 1024, 50257), (65536, 128, 1000000))
RINGS = tuple(1 << power for power in (20, 21, 22, 24, 26, 28))


class Device:
    """Where kernels run, and how long they take."""

    def __init__(self, index):
        self.name = "cuda:%d" % index
        torch.cuda.set_device(index)
        self.properties = torch.cuda.get_device_properties(index)
        self.cache = getattr(self.properties, "L2_cache_size", 0)
        self.stream = torch.cuda.Stream()
        self.dtype = self.double = None
        torch.backends.cudnn.benchmark = True

    def has(self, precision):
        """Does the device support the precision? 6.1 has fp16 at a 64th of the rate."""
        capability = 10 * self.properties.major + self.properties.minor
        if precision == "fp16":
            return capability >= 60 and capability != 61
        return precision == "fp32" or capability >= 80

    def use(self, precision):
        """Take operands of that precision from now on."""
        self.dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(
            precision, torch.float32)
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"

    def random(self, *shape):
        """Random numbers in -1..1."""
        return torch.rand(*shape, device=self.name, dtype=self.dtype) * 2 - 1

    def sets(self, size, make):
        """Launches of a kernel, each with operands of its own, which have 'size' bytes."""
        free = torch.cuda.mem_get_info()[0] if self.name != "cpu" else POOL_MAX
        n = max(2, 3 * (self.cache or CACHE_UNKNOWN) // size + 1)
        return [make() for _ in range(max(1, min(n, SETS_MAX, min(POOL_MAX, free // 2) // size)))]

    def seconds(self, call):
        """Seconds that the device takes for a call."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3

    def burst(self, launches, n):
        """A call that replays n launches, in turn; what no graph can hold is launched."""
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, stream=self.stream):
                run(launches, n)
        except RuntimeError:
            torch.cuda.synchronize()
            return lambda: run(launches, n)
        return graph.replay

    def facts(self):
        """What the device is, by key. The name is first: a file has samples of one device."""
        own = self.properties
        yield "gpu", own.name
        yield "driver", "CUDA %s" % torch.version.cuda
        yield "capability", "%d.%d" % (own.major, own.minor)
        yield "memory", own.total_memory
        yield "sms", own.multi_processor_count
        if self.cache:
            yield "l2", self.cache
        yield from zip(("tdp_w", "idle_w"), powers(int(self.name[5:])))


def powers(index):
    """The power limit and the present power of a visible device, as far as it tells them."""
    visible = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    try:
        told = subprocess.run(
            ["nvidia-smi", "--query-gpu=power.limit,power.draw", "--format=csv,noheader,nounits",
             "--id=%s" % (visible[index] if index < len(visible) else index)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=30, check=True)
        return ["%.0f" % float(watts) for watts in told.stdout.decode().split(",")]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []


def run(launches, n):
    """Launch n times, with the operands of each set in turn."""
    for turn in range(n):
        launches[turn % len(launches)]()


def summary(values):
    """The median, half the interquartile range over it, and the number of values."""
    values = sorted(values)
    last = len(values) - 1
    median = statistics.median(values)
    if not median > 0:
        raise RuntimeError("no time has passed")
    return median, (values[(3 * last + 2) // 4] - values[last // 4]) / 2 / median, len(values)


def measure(device, launches):
    """The summary of the seconds of a kernel."""
    # The first launch also loads code and chooses algorithms: its time is not used.
    device.seconds(lambda: run(launches, len(launches)))
    n, warm, times = 1, 0, []
    while True:
        seconds = device.seconds(lambda: run(launches, n))
        warm += seconds
        if warm >= WARM_S or 2 * n > LAUNCHES_MAX:
            break
        n *= 2
    n = max(1, min(math.ceil(BURST_S * n / max(seconds, 1e-6)), LAUNCHES_MAX))
    burst = device.burst(launches, n)
    burst()
    while len(times) < BURSTS_MAX and (len(times) < BURSTS_MIN or sum(times) < TOTAL_S):
        times.append(device.seconds(burst))
    return summary([seconds / n for seconds in times])


# --- kernels: each function gives a launch with operands of its own ---------------------


def gemm(device, direction, m, n, k):
    """A linear layer of m rows, and its gradients."""
    x, w, y = device.random(m, k), device.random(n, k), device.random(m, n)
    if direction == "backward_data":
        return lambda: torch.mm(y, w, out=x)
    if direction == "backward_weight":
        return lambda: torch.mm(y.t(), x, out=w)
    return lambda: torch.mm(x, w.t(), out=y)


def bmm(device, _, batch, m, n, k):
    """A batch of products."""
    a, b = device.random(batch, m, k), device.random(batch, k, n)
    c = device.random(batch, m, n)
    return lambda: torch.bmm(a, b, out=c)


def attention(device, direction, batch, heads, length, width):
    """Scores, softmax and weighted values, as in frameworks without fusion."""
    q, k, v, o = (device.random(batch * heads, length, width) for _ in range(4))
    p = torch.softmax(device.random(batch * heads, length, length), -1)

    def forward():
        return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1), v)

    def backward():
        torch.bmm(p.transpose(1, 2), o)
        dp = torch.bmm(o, v.transpose(1, 2))
        ds = torch.ops.aten._softmax_backward_data(dp, p, -1, p.dtype)
        torch.bmm(ds, k)
        torch.bmm(ds.transpose(1, 2), q)

    return forward if direction == "forward" else backward


def side_of(side, kernel, stride):
    """The side of what a convolution gives."""
    return (side + 2 * (kernel // 2) - kernel) // stride + 1


def conv(device, direction, batch, inputs, side, outputs, kernel, stride, groups=1):
    """A convolution in one direction. 16-bit floats are channels last, as matrix units want."""
    out = side_of(side, kernel, stride)
    form = torch.contiguous_format if device.dtype == torch.float32 else torch.channels_last
    x, w, y = (tensor.contiguous(memory_format=form) for tensor in (
        device.random(batch, inputs, side, side),
        device.random(outputs, inputs // groups, kernel, kernel),
        device.random(batch, outputs, out, out)))
    strides, pads = [stride, stride], [kernel // 2, kernel // 2]
    if direction == "forward":
        return lambda: functional.conv2d(x, w, None, strides, pads, 1, groups)
    wanted = [direction == "backward_data", direction == "backward_weight", False]
    return lambda: torch.ops.aten.convolution_backward(
        y, x, w, None, strides, pads, [1, 1], False, [0, 0], groups, wanted)


def depthwise(device, direction, *dimensions):
    """A convolution of each channel alone."""
    return conv(device, direction, *dimensions, groups=dimensions[1])


def passes(direction, forward, operands):
    """The forward pass, or the backward pass after it, which is done once."""
    if direction == "forward":
        return forward
    y = forward()
    dy = torch.rand_like(y)
    return lambda: torch.autograd.grad(y, operands, dy, retain_graph=True)


def norm(device, direction, batch, channels, side):
    """Batch normalisation; running averages are left out, only evaluation needs them."""
    x = device.random(batch, channels, side, side).requires_grad_()
    weight, bias = (torch.rand(channels, device=device.name).requires_grad_() for _ in range(2))
    return passes(direction, lambda: functional.batch_norm(
        x, None, None, weight, bias, training=True), (x, weight, bias))


def layer_norm(device, _, rows, width):
    """Layer normalisation without weights."""
    x = device.random(rows, width)
    return lambda: functional.layer_norm(x, (width,))


def softmax(device, _, rows, width):
    """Softmax of rows."""
    x = device.random(rows, width)
    return lambda: torch.softmax(x, -1)


def lstm(device, direction, batch, hidden, steps):
    """One recurrent layer."""
    layer = torch.nn.LSTM(hidden, hidden).to(device.name, device.dtype)
    x = device.random(steps, batch, hidden).requires_grad_()
    return passes(direction, lambda: layer(x)[0], (x, *layer.parameters()))


def add(device, _, n):
    """The sum of two tensors."""
    a, b, c = (device.random(n) for _ in range(3))
    return lambda: torch.add(a, b, out=c)


def relu(device, _, n):
    """The rectifier."""
    a, c = device.random(n), device.random(n)
    return lambda: torch.clamp(a, min=0, out=c)


def embedding(device, _, n, width, rows):
    """n rows of a table, which all launches share."""
    if getattr(device, "table", None) is None or device.table.shape != (rows, width):
        device.table = device.random(rows, width)
    table, ids = device.table, torch.randint(rows, (n,), device=device.name)
    return lambda: functional.embedding(ids, table)


def fused(kind, parameters, **options):
    """An optimizer of one kernel where PyTorch has one, else of the fewest."""
    try:
        return kind(parameters, fused=True, **options)
    except (TypeError, RuntimeError):
        return kind(parameters, foreach=True, **options)


def optimizer(device, kind, n, **options):
    """A step of an optimizer."""
    weight = device.random(n)
    weight.grad = device.random(n)
    made = fused(kind, [weight], lr=1e-3, **options)
    return made.step


def adam(device, _, n):
    """Adam (Kingma and Ba 2015)."""
    return optimizer(device, torch.optim.Adam, n, capturable=device.name != "cpu")


def momentum(device, _, n):
    """Gradient descent with momentum."""
    return optimizer(device, torch.optim.SGD, n, momentum=0.9)


def copy(device, _, n):
    """A copy within the device."""
    a, b = (torch.randint(256, (n,), device=device.name, dtype=torch.uint8) for _ in range(2))
    return lambda: b.copy_(a)


def h2d(device, _, n):
    """A copy from pinned memory of the host."""
    a = torch.randint(256, (n,), dtype=torch.uint8)
    a = a.pin_memory() if device.name != "cpu" else a
    b = torch.empty(n, device=device.name, dtype=torch.uint8)
    return lambda: b.copy_(a, non_blocking=True)


def nothing(*_):
    """An empty kernel."""
    return lambda: torch.cuda._sleep(0)


# --- the set ------------------------------------------------------------------------------


class Task:
    """One kernel of one shape."""

    def __init__(self, op, make, direction, letters, dimensions, flops, size, quick=False):
        self.op, self.make, self.direction = op, make, direction
        self.dimensions, self.flops, self.size, self.quick = dimensions, flops, size, quick
        self.precision = ""
        # "lstm n d": the word stays, a letter is followed by its dimension.
        words = letters.split()
        values = iter(dimensions)
        self.shape = " ".join(word if len(word) > 1 else "%s%d" % (word, next(values))
                              for word in words)

    def words(self):
        """What identifies it in a samples file."""
        return self.op, self.precision, self.direction, self.shape, 1

    def time(self, device):
        """The summary of its seconds."""
        if self.op == "sync":
            return sync()
        direction, dimensions = self.direction, self.dimensions
        if self.op in ("launch", "h2d"):  # what the host does is measured, too
            device = Eager(device)
        # A large part of the operands of a set is about what the kernel moves.
        return measure(device, device.sets(
            int(max(self.size, 1024)), lambda: self.make(device, direction, *dimensions)))


class Eager:
    """A device whose bursts the host launches one by one."""

    def __init__(self, device):
        self.device = device

    def __getattr__(self, name):
        return getattr(self.device, name)

    def burst(self, launches, n):
        """A call that launches n times."""
        return lambda: run(launches, n)


def sync():
    """An empty kernel that the host waits for, by the clock of the host."""
    times = []
    for _ in range(220):
        begun = time.perf_counter()
        torch.cuda._sleep(0)
        torch.cuda.current_stream().synchronize()
        times.append(time.perf_counter() - begun)
    return summary(times[20:])


def products(precision, b):
    """Tasks of matrix products; an element has b bytes."""
    for i, (m, n, k) in enumerate(GEMMS):
        moved = b * (m * k + n * k + m * n)
        for direction in ("forward", "backward_data", "backward_weight"):
            if direction == "forward" or i % 3 == 0:
                yield Task("gemm", gemm, direction, "m n k", (m, n, k), 2 * m * n * k, moved,
                           direction == "forward" and i % 2 == 0)
    for batch, m, n, k in BMMS:
        yield Task("bmm", bmm, "forward", "b m n k", (batch, m, n, k), 2 * batch * m * n * k,
                   b * batch * (m * k + n * k + m * n))
    for d in ATTENTIONS if precision != "tf32" else ():
        rows, length, width = d[0] * d[1] * d[2], d[2], d[3]
        for direction, n in (("forward", 2), ("backward", 4)):
            yield Task("attention", attention, direction, "b h s d", d,
                       2 * n * rows * length * width, 2 * n * b * rows * (width + length))


def convolutions(precision, b):
    """Tasks of convolutions."""
    kinds = [("conv", conv, CONVS)] + [("depthwise", depthwise, DEPTHWISES)] * (precision != "tf32")
    for op, make, all_dimensions in kinds:
        for i, d in enumerate(all_dimensions):
            batch, inputs, side, outputs, kernel, stride = d
            out = side_of(side, kernel, stride)
            weights = (inputs if op == "conv" else 1) * outputs * kernel**2
            moved = b * (batch * inputs * side**2 + weights + batch * outputs * out**2)
            for direction in ("forward", "backward_data", "backward_weight"):
                if direction == "forward" or op == "depthwise" or i % 2 == 0:
                    yield Task(op, make, direction, "n c i o k s", d,
                               2 * weights * batch * out**2, moved,
                               direction == "forward" and op == "conv" and i < 9)


def layers(precision, b):
    """Tasks of other layers, and of what only moves memory."""
    for d in NORMS:
        moved = b * d[0] * d[1] * d[2]**2
        yield Task("norm", norm, "forward", "batch n c i", d, 0, 3 * moved)
        yield Task("norm", norm, "backward", "batch n c i", d, 0, 5 * moved)
    for d in SOFTMAXES:
        yield Task("softmax", softmax, "forward", "r w", d, 0, 2 * b * d[0] * d[1])
    for i, d in enumerate(LSTMS if precision != "bf16" else ()):
        batch, hidden, steps = d
        # Eight products of inputs and of states with their weights per step.
        weights = 8 * hidden**2
        for direction, n in (("forward", 2), ("backward", 4)):
            yield Task("rnn", lstm, direction, "lstm n h t", d, n * weights * batch * steps,
                       b * (weights + 2 * batch * steps * hidden), direction == "forward" and i < 2)
    for power in range(16, 27, 2):
        yield Task("elementwise", add, "forward", "add n", (1 << power,), 0, 3 * b << power, True)
        yield Task("elementwise", relu, "forward", "relu n", (1 << power,), 0, 2 * b << power, True)
    for d in LAYER_NORMS:
        yield Task("norm", layer_norm, "forward", "layer r w", d, 0, 2 * b * d[0] * d[1])


def others():
    """Tasks of no precision, or of fp32 alone."""
    for d in TABLES:
        yield "fp32", Task("embedding", embedding, "forward", "n d v", d, 0, 8 * d[0] * d[1])
    for power in range(18, 25, 2):
        n = 1 << power
        yield "fp32", Task("optimizer", adam, "forward", "adam n", (n,), 0, 28 * n)
        yield "fp32", Task("optimizer", momentum, "forward", "momentum n", (n,), 0, 20 * n)
    for power in range(16, 29, 2):
        n = 1 << power
        yield "", Task("copy", copy, "", "n", (n,), 0, 2 * n, power % 4 == 0)
        yield "", Task("h2d", h2d, "", "n", (n,), 0, n, True)
    for op in ("launch", "sync"):
        yield "", Task(op, nothing, "", "empty", (), 0, 0, True)


def tasks(device, quick):
    """All tasks that the device can run."""
    for kind in (products, convolutions, layers):
        for precision in ("fp32", "tf32", "fp16", "bf16"):
            if device.has(precision) and not (kind is layers and precision == "tf32"):
                for task in kind(precision, 2 if precision.endswith("16") else 4):
                    task.precision = precision
                    if task.quick or not quick:
                        yield task
    for precision, task in others():
        task.precision = precision
        if task.quick or not quick:
            yield task


# --- all-reduces --------------------------------------------------------------------------


def ring_seconds(tensors, n):
    """Seconds of n all-reduces, which have ended when the last device has."""
    events = []
    for tensor in tensors:
        with torch.cuda.device(tensor.device):
            events.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
            events[-1][0].record()
    for _ in range(n):
        torch.cuda.nccl.all_reduce(tensors)
    for tensor, (_, end) in zip(tensors, events):
        with torch.cuda.device(tensor.device):
            end.record()
    for _, end in events:
        end.synchronize()
    return max(begin.elapsed_time(end) for begin, end in events) * 1e-3


def ring(n_devices, size):
    """The summary of an all-reduce of 'size' bytes. A link's rate does not depend on what
    it carries."""
    tensors = [torch.zeros(size // 4, device="cuda:%d" % i) for i in range(n_devices)]
    seconds = [ring_seconds(tensors, 2) for _ in range(3)][-1]
    n = int(min(max(2 * 0.005 / max(seconds, 1e-6), 1), 100))
    return summary([ring_seconds(tensors, n) / n for _ in range(9)])


def rings(n_devices, quick):
    """The first 2, 4, 8 ... and all visible devices, and the sizes."""
    numbers = [n for n in (2, 4, 8, 16, 32, 64) if n < n_devices] + [n_devices]
    for n in (numbers[-1:] if quick else numbers) if n_devices > 1 else ():
        for size in RINGS:
            yield n, size


# --- the whole ----------------------------------------------------------------------------


def attempt(recorder, words, flops, size, call):
    """Measure and write what the file does not have; what fails is named and left out."""
    if recorder.has(*words):
        return
    try:
        recorder.put(words, flops, size, call())
    except RuntimeError as error:
        why = str(error).strip().split("\n")[0]
        print("%s is left out: %s" % (" ".join(filter(None, words[:4])), why), file=sys.stderr)
        torch.cuda.synchronize()  # an error of the device itself ends the measuring here
    torch.cuda.empty_cache()


def measure_all(device, recorder, quick):
    """Write the facts, and all rows that are missing."""
    for key, value in device.facts():
        recorder.fact(key, value, key == "gpu")
    todo = list(tasks(device, quick))
    for i, task in enumerate(todo):
        if sys.stderr.isatty():
            print("\r%d of %d kernels\033[K\r" % (i, len(todo)), end="", file=sys.stderr, flush=True)
        device.use(task.precision or "fp32")
        attempt(recorder, task.words(), task.flops, task.size, lambda: task.time(device))
    for n, size in rings(torch.cuda.device_count(), quick):
        attempt(recorder, ("allreduce", "fp32", "", "n%d" % size, n), 0, size,
                lambda: ring(n, size))


def main():
    """Return the exit status of dnnest."""
    index, quick = int(sys.argv[1]), sys.argv[3] == "quick"
    if not torch:
        print("PyTorch is not installed for python3, which measures the GPU", file=sys.stderr)
        return 1
    if not torch.cuda.is_available():
        raise Failure("device %d: PyTorch finds no GPU" % index)
    if index >= torch.cuda.device_count():
        raise Failure("device %d: there are %d, counted from 0"
                      % (index, torch.cuda.device_count()))
    recorder = Recorder(sys.argv[2])
    device = Device(index)
    with torch.cuda.stream(device.stream):
        measure_all(device, recorder, quick)
    recorder.finish()
    return 0


if __name__ == "__main__":
    program(main)
