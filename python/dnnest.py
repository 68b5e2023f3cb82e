# dnnest.py - a Python program says what it trains, how fast, and how far it is
#
#   import dnnest                  the training is described to Slurm while it runs
#
#   for epoch in range(90):
#       train(...)
#       dnnest.report(epoch + 1, 90)
#
# or a callback, which reports the steps: Trainer(callbacks=[dnnest.trainer_callback()]) of
# transformers, dnnest.lightning_callback() of Lightning, dnnest.keras_callback() of Keras.
# 'with dnnest.watch():' around a training says, too, if a GPU's memory is exhausted in it,
# and with the name of a file writes the description there as a sidecar, also outside of a
# job.
#
# All goes into two files of DNNEST_PROGRESS_DIR, SLURM_JOB_ID and SLURM_JOB_ID.capture,
# by the first process only. Without these variables nothing is done, and with
# DNNEST_CAPTURE=no nothing is described. Nothing here raises: the first error is a line on
# stderr, later ones are ignored. dnnestd(8) reads the files.
#
# Needs Python 3.6 and nothing else.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Describe a training to Slurm, and say how far it is."""

import atexit
import contextlib
import functools
import os
import sys
import threading
import time

__all__ = ["start", "report", "out_of_memory", "watch", "trainer_callback",
           "lightning_callback", "keras_callback"]

# Limits of the reader.
REPORTS_MAX = 64
COUNT_MAX = 10**15

# Seconds between two writes.
PAUSE = 10

# One of these is 0, or none is set, in the process that reports.
RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")

_told = []


def _never_raises(function):
    """An error of 'function' becomes a line on stderr, once."""
    @functools.wraps(function)
    def guarded(*args, **more):
        try:
            return function(*args, **more)
        except Exception as error:
            if not _told:
                _told.append(True)
                _tell(type(error).__name__, error)
            return None
    return guarded


def _say(text):
    try:
        print("dnnest: " + text, file=sys.stderr, flush=True)
    except Exception:  # no stderr
        pass


def _tell(kind, error, what="progress is not reported"):
    try:
        text = str(error).split("\n")[0][:500]
    except Exception:
        text = "no text"
    _say("%s: %s: %s" % (what, kind, text))


def _file(end=""):
    """The path of the file, or None."""
    folder = os.environ.get("DNNEST_PROGRESS_DIR")
    job = os.environ.get("SLURM_JOB_ID", "")
    ranks = [os.environ[name] for name in RANKS if name in os.environ]
    if not folder or not job.isdigit() or (ranks and ranks[0] != "0"):
        return None
    return os.path.join(folder, job + end)


def _replace(path, text):
    """Replace the file, whole."""
    beside = "%s.new-%d" % (path, os.getpid())
    if os.path.lexists(beside):  # of a run that was killed, with this number
        os.unlink(beside)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fd = os.open(beside, flags, 0o644)
    try:
        with os.fdopen(fd, "w") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(text)
        os.rename(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


class _Reports:
    """What was reported; one per process."""

    def __init__(self):
        self.lock = threading.Lock()
        self.reports = []
        self.written = None
        self.failed = False

    def add(self, done, total):
        """Keep a report; return whether it is to be written now."""
        now = int(time.time())
        last = self.reports[-1] if self.reports else None
        if last and (total != last[2] or done < last[1] or now < last[0]):
            self.reports = []
        elif last and done == last[1]:
            return False
        elif len(self.reports) > 1 and now == last[0]:
            self.reports.pop()
        elif len(self.reports) == REPORTS_MAX:
            self.reports = [r for i, r in enumerate(self.reports)
                            if i % 2 == 0 or i == REPORTS_MAX - 1]
        self.reports.append((now, done, total))
        return (self.written is None or done == total
                or time.monotonic() - self.written >= PAUSE)

    def write(self, path, failed=False):
        self.failed = failed
        lines = ["dnnest-progress 1"]
        lines += ["report %d %d %d" % r for r in self.reports]
        if failed:
            lines.append("out_of_memory %d" % time.time())
        _replace(path, "\n".join(lines) + "\n")
        self.written = time.monotonic()


_reports = _Reports()


@_never_raises
def _report(done, total):
    path = _file()
    if not path:
        return
    done, total = int(done), int(total)
    if not 0 <= done <= total <= COUNT_MAX or total < 1:
        raise ValueError("%d/%d, expected DONE/TOTAL" % (done, total))
    with _reports.lock:
        if _reports.add(done, total):
            _reports.write(path)


@_never_raises
def report(done, total):
    """Say that 'done' of 'total' units are done: epochs, steps, or any other."""
    _report(done, total)
    if _capture:
        _capture.manual = True


@_never_raises
def out_of_memory():
    """Say that the program fails for lack of GPU memory."""
    path = _file()
    if path:
        with _reports.lock:
            _reports.write(path, failed=True)


def is_out_of_memory(error):
    """Is it the exception of PyTorch, TensorFlow or JAX for that?"""
    if type(error).__name__ in ("OutOfMemoryError", "ResourceExhaustedError"):
        return True
    text = str(error)
    return "out of memory" in text and ("CUDA" in text or "HIP" in text) \
        or "RESOURCE_EXHAUSTED: " in text


@_never_raises
def _look_at(error):
    if is_out_of_memory(error):
        out_of_memory()


# The description.

_capture = None
_begun = []


@_never_raises
def start(always=False):
    """Describe this process from now on. Importing this module does so. always: outside
    of a job, too."""
    global _capture
    # All processes end together (dnnest_capture.py).
    if not (_file() or always or os.environ.get("DNNEST_JOB_CAPTURE_STEPS")):
        return
    if not _begun:
        _begun.append(True)
        before = sys.excepthook

        def hook(kind, error, traceback):
            _look_at(error)
            before(kind, error, traceback)
        sys.excepthook = hook
    if _capture is None and os.environ.get("DNNEST_CAPTURE") != "no":
        import dnnest_capture
        import dnnest_watch
        _capture = dnnest_capture.Capture(_save, _report, _say)
        dnnest_watch.watch(_capture)
        atexit.register(_finish)


def _save(text, idle):
    """Write the description. One of a process that trained nothing replaces none."""
    path = _file(".capture")
    if path and not (idle and os.path.lexists(path)):
        _replace(path, text)


def _finish():
    try:
        _capture.write(at_end=True)
    except Exception:  # the program has ended well
        pass


@contextlib.contextmanager
def watch(path=None):
    """Around a training: describe it, and report if a GPU's memory is exhausted. path: a
    file that gets the description as a sidecar."""
    start(path is not None)
    try:
        yield
    except Exception as error:
        _look_at(error)
        raise
    finally:
        if _capture:
            _finish()
            if path is not None:
                _write_sidecar(path)


def _write_sidecar(path):
    try:
        import json
        sidecar = _capture.sidecar()
        if sidecar:
            with open(path, "w") as file:
                file.write(json.dumps(sidecar, separators=(",", ":")) + "\n")
            _say("this run is described in %s: sbatch --dnnest=%s" % (path, path))
    except Exception as error:
        _tell(type(error).__name__, error, "the description is not written")


# Callbacks.


@_never_raises
def trainer_callback():
    """A callback for the Trainer of transformers."""
    from transformers import TrainerCallback

    class Progress(TrainerCallback):
        @_never_raises
        def on_train_begin(self, args, state, control, **more):
            report(state.global_step, state.max_steps)

        @_never_raises
        def on_step_end(self, args, state, control, **more):
            report(state.global_step, state.max_steps)
    return Progress()


@_never_raises
def lightning_callback():
    """A callback for the Trainer of Lightning."""
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback

    class Progress(Callback):
        def on_train_start(self, trainer, pl_module):
            self.on_train_batch_end(trainer)

        @_never_raises
        def on_train_batch_end(self, trainer, *more):
            total = trainer.estimated_stepping_batches
            if total != float("inf"):
                report(trainer.global_step, total)

        def on_exception(self, trainer, pl_module, exception):
            _look_at(exception)
    return Progress()


@_never_raises
def keras_callback():
    """A callback for fit () of Keras."""
    from keras.callbacks import Callback

    class Progress(Callback):
        _supports_tf_logs = True  # which are not read
        done = 0

        @_never_raises
        def on_train_batch_end(self, batch, logs=None):
            self.done += 1
            if self.params.get("steps") and self.params.get("epochs"):
                report(self.done, self.params["epochs"] * self.params["steps"])
    return Progress()


start()
