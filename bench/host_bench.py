# host_bench.py - measures the loaders of a training on this machine's cores
#
# usage: python3 host_bench.py CORES SAMPLES quick|full [IMAGES]
#
# Appends rows to a samples file (dnnest-dev(1)): the processor, then the loaders that the
# file does not have. 'dnnest-dev bench host' runs it. CORES=0: all that the process may
# use. All work at the same time, as in training, because they share memory
# bandwidth and clocks; each is a process, as the workers of PyTorch's loaders are.
#
# Pictures and arrays are in memory, so that storage is not measured.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Measure loaders of pictures, text and arrays."""

import bisect
import io
import itertools
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time

from samples import Failure, Recorder, program

try:
    import numpy
    from PIL import Image
except ImportError:
    Image = None

# Time slices after one that warms up, and seconds of a slice.
SLICES, SLICE_S, QUICK_S = 9, 0.3, 0.05

# Pictures: how many are kept, bytes and pixels of the largest; ImageNet's mean size, and a
# quality that gives about the mean size of its files, 110 kB.
PICTURES_MAX, FILE_MAX, PIXELS_MAX = 64, 16 << 20, 64 * 1000 * 1000
OWN_PICTURES, OWN_SIZE, OWN_QUALITY, SIDE = 4, (500, 375), 93, 224

# Text: the size of BERT's vocabulary, the longest piece, letters, and tokens of a sample.
PIECES, PIECE_MAX, LETTERS, TOKENS = 30000, 12, 1 << 20, 512

# Arrays: records of a picture's size, and how many make a batch.
RECORD, RECORDS, BATCH = SIDE * SIDE * 3, 512, 64


def own_picture(seed):
    """Noise in octaves, each half as coarse and weaker than the one before, which is about
    the spectrum of natural pictures."""
    draw = random.Random(seed)
    picture = Image.new("RGB", OWN_SIZE, (128, 128, 128))
    for scale in (128, 64, 32, 16, 8, 4, 2, 1):
        size = tuple(side // scale + 1 for side in OWN_SIZE)
        noise = Image.frombytes("RGB", size, draw.getrandbits(24 * size[0] * size[1]).to_bytes(
            3 * size[0] * size[1], "little"))
        picture = Image.blend(picture, noise.resize(OWN_SIZE, Image.BILINEAR), 0.2)
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=OWN_QUALITY)
    return data.getvalue()


def read_pictures(folder):
    """The first files of a folder that end in .jpg or .jpeg."""
    names = sorted(entry.path for entry in os.scandir(folder)
                   if entry.name.lower().endswith((".jpg", ".jpeg"))
                   and entry.is_file() and entry.stat().st_size <= FILE_MAX)
    if not names:
        raise Failure("%s: has no file that ends in .jpg or .jpeg" % folder)
    pictures = []
    for name in names[:PICTURES_MAX]:
        with open(name, "rb") as file:
            pictures.append(file.read())
    return pictures


def jpeg(folder):
    """Pictures: decoded, and a random part of 8 to 100 % resized and normalised, as loaders
    of ImageNet do."""
    pictures = read_pictures(folder) if folder else [own_picture(i) for i in range(OWN_PICTURES)]
    Image.MAX_IMAGE_PIXELS = PIXELS_MAX

    def load(i):
        draw = random.Random(i)
        picture = Image.open(io.BytesIO(pictures[i % len(pictures)])).convert("RGB")
        side = draw.uniform(0.08, 1)**0.5
        width, height = picture.width * side, picture.height * side
        x, y = draw.uniform(0, picture.width - width), draw.uniform(0, picture.height - height)
        picture = picture.resize((SIDE, SIDE), Image.BILINEAR, (x, y, x + width, y + height))
        planes = numpy.asarray(picture, numpy.float32).transpose(2, 0, 1)
        return (planes - 115) / (255 * 0.225)

    return load


def text(_):
    """Text cut greedily into the longest pieces of a vocabulary with single letters, as by
    word-piece tokenizers. Its random words have frequencies by Zipf's law."""
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    # Ten times as many words as pieces.
    words = ["".join(draw.choices(letters, k=draw.randint(2, PIECE_MAX - 2)))
             for _ in range(10 * PIECES)]
    ids = {piece: i for i, piece in enumerate(itertools.chain(letters, words[:PIECES - 26]))}
    sums = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
    written = []
    while len(written) < LETTERS // 8:
        written.append(words[bisect.bisect(sums, draw.random() * sums[-1])])

    def load(i):
        at = random.Random(i).randrange(len(written) // 2)
        tokens = []
        while len(tokens) < TOKENS:
            word = written[at]
            begin, at = 0, at + 1
            while begin < len(word):
                end = len(word)
                while word[begin:end] not in ids:
                    end -= 1
                tokens.append(ids[word[begin:end]])
                begin = end
        return tokens

    return load


def array(_):
    """Records read at random offsets of a file in the page cache, and copied into a batch."""
    file = tempfile.TemporaryFile()  # open until the process ends
    for _ in range(RECORDS):
        file.write(os.urandom(RECORD))
    file.flush()
    batch = bytearray(BATCH * RECORD)

    def load(i):
        place = random.Random(i).randrange(RECORDS) * RECORD
        record = os.pread(file.fileno(), RECORD, place)
        if len(record) != RECORD:
            raise OSError("a record is too short")
        begin = i % BATCH * RECORD
        batch[begin:begin + RECORD] = record

    return load


LOADERS = (("jpeg", jpeg, "decode and resize to 224", 0),
           ("text", text, "pieces v30000 t512", TOKENS),
           ("array", array, "records of %d bytes" % RECORD, RECORD))


def work(load, number, cores, slice_s, start, told):
    """One worker: the seconds and the samples of each slice."""
    try:
        slices = []
        i = number
        start.wait()
        for _ in range(SLICES + 1):
            begun, n = time.perf_counter(), 0
            while n == 0 or time.perf_counter() - begun < slice_s:
                load(i)
                i += cores
                n += 1
            slices.append((time.perf_counter() - begun, n))
        told.send(slices)
    except Exception as error:  # of any library
        told.send(str(error) or type(error).__name__)


def measure(load, cores, slice_s):
    """The median of the seconds of one core per sample, half the interquartile range over
    it, and the number of slices."""
    start = multiprocessing.Barrier(cores)
    pipes = []
    for number in range(cores):
        told, tell = multiprocessing.Pipe(False)
        multiprocessing.Process(target=work, daemon=True, args=(
            load, number, cores, slice_s, start, tell)).start()
        tell.close()
        pipes.append(told)
    try:
        results = [told.recv() for told in pipes]
    except EOFError:
        raise Failure("a worker has ended") from None
    for result in results:
        if isinstance(result, str):
            raise Failure(result)
    values = sorted(sum(result[i][0] for result in results) / sum(result[i][1] for result in results)
                    for i in range(1, SLICES + 1))
    median = statistics.median(values)
    return median, (values[3 * SLICES // 4] - values[SLICES // 4]) / 2 / median, SLICES


def processor():
    """The model of the first processor."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return "unknown"


def main():
    """Return the exit status of dnnest."""
    cores = int(sys.argv[1]) or len(os.sched_getaffinity(0))
    recorder, quick = Recorder(sys.argv[2]), sys.argv[3] == "quick"
    folder = sys.argv[4] if len(sys.argv) > 4 else None
    multiprocessing.set_start_method("fork")  # workers share what was made
    recorder.fact("processor", processor(), True)
    for op, make, shape, size in LOADERS:
        if make is jpeg and folder:
            shape += "; pictures of the site"
        words = op, "", "", shape, cores
        if recorder.has(*words):
            continue
        if make is jpeg and not Image:
            print("jpeg is left out: python3 has no numpy, or no Pillow (package python3-pil)",
                  file=sys.stderr)
            continue
        try:
            recorder.put(words, 0, size, measure(make(folder), cores, QUICK_S if quick else SLICE_S))
        except (Failure, OSError) as error:
            raise Failure("%s: a sample cannot be loaded: %s" % (op, error)) from None
    recorder.finish()
    return 0


if __name__ == "__main__":
    program(main)
