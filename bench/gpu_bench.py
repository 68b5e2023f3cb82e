# gpu_bench.py - measures the kernels that rates are fitted to, on a GPU, by PyTorch
#
# usage: python3 gpu_bench.py DEVICE SAMPLES quick|full
#
# Appends rows to a samples file (dnnest-dev(1)): the facts of the device, then the
# kernels that the file does not have, and the all-reduces among all devices: those that
# bench_fit.py uses. What cannot run here is named on stderr. 'dnnest-dev bench gpu' runs it.
#
# A kernel takes its operands from one of several sets that exceed the last-level cache,
# each launch the next, so that none finds them in the cache. They are random numbers,
# because zeros need less power and so raise the clocks. After a warm-up of the clocks,
# bursts of launches are replayed as a CUDA graph, which takes the host's time out of
# small kernels. The median of the bursts is the result, so that one that another process
# disturbs has no effect.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure the kernels that rates of the catalogue are fitted to."""

import itertools
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
# Batch, channels, side, outputs: 3 x 3 convolutions of ResNet-50 and VGG-16, some of them
# with small batches.
CONVS = ((64, 64, 56, 64), (64, 128, 28, 128), (64, 256, 14, 256), (64, 512, 7, 512),
         (8, 64, 56, 64), (8, 256, 14, 256), (1, 64, 56, 64), (1, 512, 7, 512),
         (16, 64, 224, 64), (32, 256, 56, 256), (32, 512, 28, 512))
# Batch, hidden size, steps: the time of a step is the difference over that of the steps.
LSTMS = ((16, 64, 32), (16, 64, 256))
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


def gemm(device, m, n, k):
    """A linear layer of m rows."""
    x, w, y = device.random(m, k), device.random(n, k), device.random(m, n)
    return lambda: torch.mm(x, w.t(), out=y)


def conv(device, batch, inputs, side, outputs):
    """A convolution of 3 x 3. 16-bit floats are channels last, as matrix units want."""
    form = torch.contiguous_format if device.dtype == torch.float32 else torch.channels_last
    x, w = (tensor.contiguous(memory_format=form) for tensor in (
        device.random(batch, inputs, side, side), device.random(outputs, inputs, 3, 3)))
    return lambda: functional.conv2d(x, w, None, 1, 1)


def lstm(device, batch, hidden, steps):
    """One recurrent layer."""
    layer = torch.nn.LSTM(hidden, hidden).to(device.name, device.dtype)
    x = device.random(steps, batch, hidden).requires_grad_()
    return lambda: layer(x)


def add(device, n):
    """The sum of two tensors."""
    a, b, c = (device.random(n) for _ in range(3))
    return lambda: torch.add(a, b, out=c)


def relu(device, n):
    """The rectifier."""
    a, c = device.random(n), device.random(n)
    return lambda: torch.clamp(a, min=0, out=c)


def h2d(device, n):
    """A copy from pinned memory of the host."""
    a = torch.randint(256, (n,), dtype=torch.uint8)
    a = a.pin_memory() if device.name != "cpu" else a
    b = torch.empty(n, device=device.name, dtype=torch.uint8)
    return lambda: b.copy_(a, non_blocking=True)


def nothing(_):
    """An empty kernel."""
    return lambda: torch.cuda._sleep(0)


# --- the set ------------------------------------------------------------------------------


class Task:
    """One kernel of one shape. 'shape' is a format of the dimensions; what moves data between
    host and device has no direction and no precision."""

    def __init__(self, op, make, shape, dimensions, flops, size, quick=False, precision=""):
        self.op, self.make, self.shape = op, make, shape % dimensions
        self.dimensions, self.flops, self.size, self.quick = dimensions, flops, size, quick
        self.precision = precision

    def words(self):
        """What identifies it in a samples file."""
        return self.op, self.precision, "forward" if self.precision else "", self.shape, 1

    def time(self, device):
        """The summary of its seconds."""
        if self.op == "sync":
            return sync()
        if self.op in ("launch", "h2d"):  # what the host does is measured, too
            device = Eager(device)
        # A large part of the operands of a set is about what the kernel moves.
        return measure(device, device.sets(
            int(max(self.size, 1024)), lambda: self.make(device, *self.dimensions)))


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


def kernels(precision, b):
    """Tasks of a precision, whose elements have b bytes."""
    for i, (m, n, k) in enumerate(GEMMS):
        yield Task("gemm", gemm, "m%d n%d k%d", (m, n, k), 2 * m * n * k,
                   b * (m * k + n * k + m * n), i % 2 == 0, precision)
    for i, d in enumerate(CONVS):
        batch, inputs, side, outputs = d
        weights = 9 * inputs * outputs
        yield Task("conv", conv, "n%d c%d i%d o%d k3 s1", d, 2 * weights * batch * side**2,
                   b * (batch * (inputs + outputs) * side**2 + weights), i < 9, precision)
    if precision == "tf32":
        return
    for batch, hidden, steps in LSTMS if precision != "bf16" else ():
        # Eight products of inputs and of states with their weights per step.
        weights = 8 * hidden**2
        yield Task("rnn", lstm, "lstm n%d h%d t%d", (batch, hidden, steps),
                   2 * weights * batch * steps, b * (weights + 2 * batch * steps * hidden),
                   True, precision)
    for power in range(20, 27, 2):
        yield Task("elementwise", add, "add n%d", (1 << power,), 0, 3 * b << power, True, precision)
        yield Task("elementwise", relu, "relu n%d", (1 << power,), 0, 2 * b << power, True, precision)


def others():
    """Tasks of no precision."""
    for power in range(16, 29, 2):
        yield Task("h2d", h2d, "n%d", (1 << power,), 0, 1 << power, True)
    for op in ("launch", "sync"):
        yield Task(op, nothing, "empty", (), 0, 0, True)


def tasks(device, quick):
    """All tasks that the device can run."""
    of_precisions = [kernels(precision, 2 if precision.endswith("16") else 4)
                     for precision in ("fp32", "tf32", "fp16", "bf16") if device.has(precision)]
    return [task for task in itertools.chain(*of_precisions, others()) if task.quick or not quick]


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
    todo = tasks(device, quick)
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
