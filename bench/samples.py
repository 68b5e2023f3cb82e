# samples.py - the measurements of dnnest-dev bench, a row per kernel
#
# A samples file (dnnest-dev(1)) is only appended to, so that a run that was stopped
# continues. It has the samples of one device, or of one kind of node.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Read samples files and append to them."""

import collections
import csv
import fcntl
import io
import math
import os
import re
import stat
import sys

HEAD = "op,precision,pass,shape,devices,flops,bytes,seconds,spread,runs\n"
SIZE_MAX, ROWS_MAX, SHAPE_MAX = 1 << 20, 5000, 95

WORDS = {
    # The last eight are in files of earlier versions.
    "op": "fact gemm conv rnn elementwise h2d launch sync allreduce jpeg text array"
          " bmm depthwise attention norm softmax embedding optimizer copy",
    "precision": "fp32 tf32 fp16 bf16",
    "pass": "forward backward_data backward_weight backward",
}
NUMBERS = {"devices": 1e9, "flops": 1e18, "bytes": 1e15, "seconds": 1e5, "spread": 1e6,
           "runs": 1e9}

# 'pass' is a word of Python's.
Row = collections.namedtuple("Row", HEAD.strip().replace("pass", "direction").split(","))


class Failure(Exception):
    """What ends the program; its text is the message."""


def printable(text):
    """A text of a file for a message."""
    return re.sub("[^ -~]", "?", text[:80])


def tidy(text):
    """A text without what a cell cannot hold: it also becomes a comment of other files."""
    return re.sub('[\x00-\x1f,"]', " ", text)


def read_number(cells, name):
    """The number of a column, 0 where it is empty."""
    text = cells[name]
    try:
        value = float(text or "0")
        if math.isnan(value):
            raise ValueError
    except ValueError:
        raise Failure("%s: '%s' is not a number" % (name, printable(text))) from None
    if not 0 <= value <= NUMBERS[name]:
        raise Failure("%s: %s out of range 0..%g" % (name, printable(text), NUMBERS[name]))
    return value


def read_row(cells):
    """A row from its cells by name."""
    for name in HEAD.strip().split(","):
        if name not in cells:
            raise Failure("column '%s' is missing" % name)
    for name, words in WORDS.items():
        if cells[name] and cells[name] not in words.split():
            raise Failure("%s: '%s' is unknown, expected one of %s"
                          % (name, printable(cells[name]), words))
    shape = tidy(cells["shape"])
    numbers = [read_number(cells, name) for name in NUMBERS]
    row = Row(cells["op"], cells["precision"], cells["pass"], shape, int(numbers[0]),
              *numbers[1:])
    if not row.op:
        raise Failure("op is empty")
    if len(shape) > SHAPE_MAX:
        raise Failure("shape: longer than %d characters" % SHAPE_MAX)
    if row.op == "fact" and "=" not in shape:
        raise Failure("shape: '%s' is not a fact of the form key=value" % printable(shape))
    if row.op != "fact" and row.seconds < 1e-9:
        raise Failure("seconds: %g is not the time of a kernel" % row.seconds)
    return row


def parse(path, data):
    """The rows of a file, and the bytes of its whole lines: what follows was cut off
    during a write."""
    if len(data) > SIZE_MAX:
        raise Failure("%s: larger than %d bytes" % (path, SIZE_MAX))
    whole = data.rfind(b"\n") + 1
    reader = csv.reader(io.StringIO(data[:whole].decode("latin-1"), newline=""), strict=True)
    rows = []
    try:
        names = next(reader, [])
        for cells in reader:
            if len(cells) > len(names):
                raise Failure("more cells than columns")
            if cells:
                cells += [""] * (len(names) - len(cells))
                rows.append(read_row(dict(zip(names, cells))))
            if len(rows) > ROWS_MAX:
                raise Failure("more than %d samples" % ROWS_MAX)
    except (csv.Error, Failure) as error:
        raise Failure("%s: line %d: %s" % (path, reader.line_num, error)) from None
    return rows, whole


def read(path):
    """The rows of a file."""
    try:
        with open(path, "rb") as file:
            return parse(path, file.read(SIZE_MAX + 1))[0]
    except OSError as error:
        raise Failure("%s: %s" % (path, error.strerror)) from None


def fact(rows, key):
    """What the rows say of the device or the node; None: nothing."""
    for row in rows:
        name, _, value = row.shape.partition("=")
        if row.op == "fact" and name == key:
            return value
    return None


class Recorder:
    """A samples file that is open, and locked against others."""

    def __init__(self, path):
        self.path = path
        self.new = 0
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK
        try:
            self.fd = os.open(path, flags, 0o666)
            if not stat.S_ISREG(os.fstat(self.fd).st_mode):
                raise Failure("%s: not a regular file" % path)
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            data = os.pread(self.fd, SIZE_MAX + 1, 0)
            if not data:
                os.write(self.fd, HEAD.encode())
            elif not data.startswith(HEAD.encode()):
                raise Failure("%s: not a samples file of dnnest-bench" % path)
            self.rows, whole = parse(path, data)
            os.ftruncate(self.fd, whole or len(HEAD))
        except BlockingIOError:
            raise Failure("%s: another dnnest-bench writes to it" % path) from None
        except OSError as error:
            raise Failure("%s: cannot be opened: %s" % (path, error.strerror)) from None

    def write(self, line):
        """Append a line, which is read as it will be later."""
        rows, _ = parse(self.path, (HEAD + line + "\n").encode("latin-1", "replace"))
        os.write(self.fd, (line + "\n").encode("latin-1", "replace"))
        self.rows += rows

    def fact(self, key, value, identity=False):
        """Write a fact that the file does not have. One that identifies the device must
        be that of the file."""
        value = tidy(str(value))[:SHAPE_MAX - len(key) - 1]
        known = fact(self.rows, key)
        if known is None:
            self.write("fact,,,%s=%s,,,,,," % (key, value))
        elif identity and known != value:
            raise Failure("%s: has samples of %s '%s', this is '%s'"
                          % (self.path, key, printable(known), printable(value)))

    def has(self, *words):
        """Has this operator been measured: op, precision, pass, shape, devices?"""
        return any(row[:5] == words for row in self.rows)

    def put(self, words, flops, size, timed):
        """Write a sample: the words of has (), and the median of the seconds, their spread
        and number."""
        self.write("%s,%s,%s,%s,%d,%.6g,%.6g,%.6g,%.3g,%d" % (*words, flops, size, *timed))
        self.new += 1

    def finish(self):
        """Say what there is."""
        print("%s: %d samples in all, %d new" % (self.path, len(self.rows), self.new),
              file=sys.stderr)


def program(main):
    """Run it as a program of dnnest-dev."""
    try:
        sys.exit(main())
    except Failure as failure:
        print("dnnest-dev: %s" % failure, file=sys.stderr)
        sys.exit(4)
    except KeyboardInterrupt:
        print("stopped, run the same command to continue", file=sys.stderr)
        sys.exit(130)
