# bench_fit.py - rates fitted to measured kernels, as lines of dnnest's files
#
# usage: python3 bench_fit.py entry|conf KEY=VALUE... -- SAMPLES...
#
# 'entry' makes the file of the catalogue (dnnest.hardware(5)) for a device, 'conf' the
# lines of dnnest.conf(5) for a host. 'dnnest-dev bench' runs it, and states by KEY=VALUE
# what the catalogue and the white box know: the device, its generation and its data
# sheet, and which share of a data sheet's rates kernels reach.
#
# The efficiency of a kernel saturates with its work W: the rate is proportional to
# W / (W + half), so the time is (W + half) / rate, a straight line. The fit minimises the
# sum of |ln (predicted / measured)|, so that kernels of all sizes count equally and one
# outlier from a busy machine has little effect. For a given half the best rate is a
# median, so only half is searched for.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Fit rates to samples."""

import collections
import math
import os
import re
import statistics
import sys
import tempfile

from samples import Failure, fact, printable, program, read, tidy

# The minimum number of samples for a curve.
CURVE_MIN = 4

# Kernels that move fewer bytes may find their operands in a cache. Smaller messages use
# another protocol, and no gradient bucket is that small.
STREAM_BYTES_MIN, RING_BYTES_MIN = 32e6, 1e6

# No step of a recurrent layer takes less than a few clock cycles.
RECURRENCE_MIN = 1e-8

FORMATS = ("fp32", "tf32", "fp16", "bf16")

# seconds = (work + half) / rate; rate 0: too few samples. spread: median |ln (predicted /
# measured)|.
Fit = collections.namedtuple("Fit", "rate half spread n")


def fit_curve(points):
    """Fit the curve to pairs of work and seconds."""
    if len(points) < CURVE_MIN:
        return Fit(0, 0, 0, len(points))

    def attempt(half):
        logs = [math.log((work + half) / seconds) for work, seconds in points]
        rate = statistics.median(logs)
        return sum(abs(log - rate) for log in logs), rate, logs

    most = max(work for work, _ in points)
    half = max(min(work for work, _ in points), most * 1e-9) / 100
    best, error = 0, attempt(0)[0]
    while half < most:
        now = attempt(half)[0]
        if now < error:
            best, error = half, now
        half *= 1.05
    _, rate, logs = attempt(best)
    return Fit(math.exp(rate), best, statistics.median(abs(log - rate) for log in logs),
               len(points))


def number_of(row, letter):
    """The number after the letter in "n32 c64 k3 s1", or 0."""
    found = re.search(r"(?:^| )%s(\d+)" % letter, row.shape)
    return int(found[1]) if found else 0


def is_reference(row, kind):
    """Is this a kernel of the kind that rates are defined by: a forward product, or a
    forward 3 x 3 convolution with stride 1?"""
    if row.direction != "forward" or row.flops <= 0:
        return False
    if kind == "Linear":
        return row.op == "gemm"
    return row.op == "conv" and number_of(row, "k") == 3 and number_of(row, "s") == 1


def recurrence(rows):
    """Time per step of a recurrent layer; of the layer with the shortest steps."""
    layers = [row for row in rows if row.op == "rnn" and row.direction == "forward"]
    steps = [(b.seconds - a.seconds) / (number_of(b, "t") - number_of(a, "t"))
             for a in layers for b in layers
             if a.precision == b.precision and number_of(a, "t") < number_of(b, "t")
             and all(number_of(a, letter) == number_of(b, letter) for letter in "hn")]
    return min((step for step in steps if step > RECURRENCE_MIN), default=0)


class Result:
    """What the samples of a device say."""

    def __init__(self, rows, known):
        self.stream = fit_curve([(row.bytes, row.seconds) for row in rows
                                 if row.op == "elementwise" and row.bytes >= STREAM_BYTES_MIN])
        self.pcie = fit_curve([(row.bytes, row.seconds) for row in rows
                               if row.op == "h2d" and row.bytes > 0])
        # Products that are mostly bound by memory do not count.
        self.curves = {
            (kind, form): fit_curve([
                (row.flops, row.seconds) for row in rows
                if is_reference(row, kind) and row.precision == form
                and (self.stream.rate <= 0
                     or row.bytes / self.stream.rate < 0.5 * row.seconds)])
            for kind in ("Linear", "Conv") for form in FORMATS}
        n = self.ring_devices = max((row.devices for row in rows if row.op == "allreduce"),
                                    default=0)
        # What each of n devices sends around the ring
        self.ring = fit_curve([(2 * (n - 1) / n * row.bytes, row.seconds) for row in rows
                               if row.op == "allreduce" and row.devices == n > 1
                               and row.bytes >= RING_BYTES_MIN])
        self.ring_start = self.ring.rate and max(
            self.ring.half / self.ring.rate - 2 * (n - 1) * float(known["hop_s"]), 1e-6)
        self.recurrence = recurrence(rows)
        self.launch, self.sync = (min((row.seconds for row in rows if row.op == op), default=0)
                                  for op in ("launch", "sync"))

    def fits(self):
        """All curves."""
        return [*self.curves.values(), self.stream, self.pcie, self.ring]


def comment(fit, more=""):
    """Where a value is from."""
    return "# %d samples, median error of the fit %.0f %%%s" % (fit.n, 100 * fit.spread, more)


def sheet(rows, result, known):
    """The data sheet of a device that reaches these rates."""
    def given(key):
        try:
            return min(max(float(fact(rows, key) or 0), 0), 1e15)
        except ValueError:
            return 0

    if result.curves["Linear", "fp32"].rate <= 0 or result.stream.rate <= 0 \
            or given("memory") < 1e6 or given("tdp_w") < 1:
        raise Failure("'%s' is not in the catalogue, and the samples lack what its entry needs: "
                      "matrix products in fp32, element-wise kernels, and the facts memory and "
                      "tdp_w" % known["device"])
    yield "# Not in the catalogue: peaks as a data sheet would state them for a device that"
    yield "# reaches the measured rates."
    yield "Vendor=nvidia\nArch=%s" % known["arch"]
    yield "Memory=%.0f\nTdp=%.0f" % (given("memory"), given("tdp_w"))
    if given("sms") >= 1:
        yield "Sms=%d" % given("sms")
    if given("idle_w") > 0:
        yield "Idle=%.0f" % given("idle_w")
    yield "Bandwidth=%.4g" % (result.stream.rate / float(known["seen_stream"]))
    for form in FORMATS:
        rate = result.curves["Linear", form].rate
        share = known["seen_linear_fp32" if form == "fp32" else "seen_linear_tensor"]
        if rate > 0:
            yield "%s=%.4g" % (form.capitalize(), rate / float(share))


def rates(result, known):
    """The lines of measured rates. A device without a unit for a precision runs it at the
    rate of another one; a separate rate would claim that it has the unit."""
    for (kind, form), fit in result.curves.items():
        peak = float(known.get(form, 0))
        if fit.rate <= 0 or (known["known"] == "1" and peak <= 0):
            continue
        share = "; %.0f %% of the data sheet" % (100 * fit.rate / peak) if peak > 0 else ""
        yield comment(fit, "%s; half of it at %.2g FLOP" % (share, fit.half))
        yield "%s%s=%.4g" % (kind, form.capitalize(), fit.rate)
    for key, fit in (("Stream", result.stream), ("PcieBandwidth", result.pcie)):
        if fit.rate > 0:
            yield comment(fit)
            yield "%s=%.4g" % (key, fit.rate)
    if result.ring.rate > 0:
        yield comment(result.ring, "; all-reduce of %d devices" % result.ring_devices)
        yield "PerNode=%d\nRing=%.4g\nRingStart=%.3g" % (
            result.ring_devices, result.ring.rate, result.ring_start)


def entry(rows, file, known):
    """The lines of an entry."""
    result = Result(rows, known)
    if not result.recurrence and all(fit.rate <= 0 for fit in result.fits()):
        raise Failure("no kernel of a device was measured often enough")
    yield "# Measured by dnnest-bench: %d samples of %s" % (len(rows), printable(tidy(file)))
    yield "# Device: %s, driver %s" % tuple(
        printable(fact(rows, key) or "") for key in ("gpu", "driver"))
    yield "Device=%s" % known["device"]
    if known["known"] != "1":
        yield from sheet(rows, result, known)
    yield from rates(result, known)
    if result.recurrence > 0:
        yield "Recurrence=%.3g" % result.recurrence
    if result.launch > 0:
        yield "# An empty kernel takes %.3g us after others, %.3g us with the host waiting for it" \
            % (1e6 * result.launch, 1e6 * result.sync)


def conf(rows):
    """The lines of dnnest.conf: what one core of a host delivers per second."""
    lines = []
    for key, op in (("CoreJpeg", "jpeg"), ("CoreTokens", "text"), ("CoreBytes", "array")):
        of_op = [(1 if op == "jpeg" else row.bytes) / row.seconds for row in rows if row.op == op]
        if of_op and statistics.median(of_op) > 0:
            lines.append("%s=%.4g" % (key, statistics.median(of_op)))
    if not lines:
        raise Failure("no loader was measured")
    return lines


def read_all(paths):
    """The rows of files, all of one type of device: those of one, and those of a node."""
    rows = []
    for path in paths:
        more = read(path)
        known, gpu = fact(rows, "gpu"), fact(more, "gpu")
        if known and gpu and known != gpu:
            raise Failure("%s: samples of '%s', others are of '%s'"
                          % (path, printable(gpu), printable(known)))
        rows += more
    return rows


def write(text, out, device):
    """Write a file completely or not at all, and name it."""
    path = os.path.realpath(os.path.join(out, device + ".conf") if os.path.isdir(out) else out)
    try:
        with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(path), delete=False) as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        os.replace(file.name, path)
    except OSError as error:
        raise Failure("%s: %s" % (path, error.strerror)) from None
    print(path)


def main():
    """Return the exit status of dnnest."""
    at = sys.argv.index("--")
    known = dict(word.split("=", 1) for word in sys.argv[2:at])
    files = sys.argv[at + 1:]
    rows = read_all(files)
    lines = list(entry(rows, files[0], known) if sys.argv[1] == "entry" else conf(rows))
    text = "\n".join(lines) + "\n"
    if known.get("out"):
        write(text, known["out"], known["device"])
    else:
        sys.stdout.write(text)
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    program(main)
