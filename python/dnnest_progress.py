# dnnest_progress.py - a Python program says how far it is, as 'dnnest progress' does
#
#   import dnnest_progress
#   for epoch in range(90):
#       train(...)
#       dnnest_progress.report(epoch + 1, 90)
#
# or a callback: Trainer(callbacks=[dnnest_progress.trainer_callback()]) of transformers,
# Trainer(callbacks=[dnnest_progress.lightning_callback()]) of Lightning. Both report
# steps, and that a GPU's memory was exhausted; so does watch_memory() for other programs.
#
# Reports go into the file DNNEST_PROGRESS_DIR/SLURM_JOB_ID, at most one each ten seconds,
# by the first process only. Without these variables nothing is written. Nothing here
# raises: the first error is a line on stderr, later ones are ignored. dnnestd(8) reads
# the file.
#
# Needs Python 3.6 and nothing else; may be copied.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Say how far a job is."""

import functools
import os
import sys
import threading
import time

__all__ = ["report", "out_of_memory", "watch_memory", "trainer_callback",
           "lightning_callback"]

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


def _tell(kind, error):
    try:
        text = str(error).split("\n")[0][:500]
    except Exception:
        text = "no text"
    try:
        print("dnnest: progress is not reported: %s: %s" % (kind, text), file=sys.stderr,
              flush=True)
    except Exception:  # no stderr
        pass


def _file():
    """The path of the file, or None."""
    folder = os.environ.get("DNNEST_PROGRESS_DIR")
    job = os.environ.get("SLURM_JOB_ID", "")
    ranks = [os.environ[name] for name in RANKS if name in os.environ]
    if not folder or not job.isdigit() or (ranks and ranks[0] != "0"):
        return None
    return os.path.join(folder, job)


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
        """Replace the file, whole."""
        self.failed = failed
        lines = ["dnnest-progress 1"]
        lines += ["report %d %d %d" % r for r in self.reports]
        if failed:
            lines.append("out_of_memory %d" % time.time())
        beside = "%s.new-%d" % (path, os.getpid())
        if os.path.lexists(beside):  # of a run that was killed, with this number
            os.unlink(beside)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        fd = os.open(beside, flags, 0o644)
        try:
            with os.fdopen(fd, "w") as file:
                os.fchmod(file.fileno(), 0o644)
                file.write("\n".join(lines) + "\n")
            os.rename(beside, path)
        except BaseException:
            os.unlink(beside)
            raise
        self.written = time.monotonic()


_reports = _Reports()


@_never_raises
def report(done, total):
    """Say that 'done' of 'total' units are done: epochs, steps, or any other."""
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


def watch_memory():
    """Report lack of GPU memory when the program ends by an exception for it."""
    before = sys.excepthook

    def hook(kind, error, traceback):
        _look_at(error)
        before(kind, error, traceback)
    sys.excepthook = hook


@_never_raises
def trainer_callback():
    """A callback for the Trainer of transformers."""
    from transformers import TrainerCallback

    watch_memory()

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

    watch_memory()

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
