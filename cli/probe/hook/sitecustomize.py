# sitecustomize.py - sees the trainings of programs that know nothing of it
#
# Python imports a module of this name at its start, from the first directory of
# PYTHONPATH that has one. Slurm, or 'dnnest probe', puts this file's directory first; the
# next sitecustomize is loaded after it. Where it is put decides what is done.
#
# In a job with DNNEST_PROGRESS_DIR dnnest.py describes the training from the import of
# torch, tensorflow, keras or jax on. DNNEST_CAPTURE=no prevents it.
#
# Under 'dnnest probe' each step of an optimizer appends a line to the file
# DNNEST_PROBE_FILE in a single write, so that processes can share the file:
#
#   H PID VERSION                      torch has been imported
#   D PID cpu|cuda [BYTES NAME]        where the program computes
#   S PID OPTIMIZER TIME LOADER WORKERS
#                                      a step of the OPTIMIZERth has ended at TIME of the
#                                      monotonic clock; LOADER: seconds spent waiting for
#                                      data so far, with so many workers
#   E PID TIME                         a loader is exhausted
#   M PID RESERVED ALLOCATED           peak bytes of the GPU
#
# GPU kernels are launched asynchronously, so the end time of a single step means little.
# The device is synchronised only twice, at the end of the warm-up and of the last step, so
# that the total time between is exact and the steps are not slowed down. After the last
# step the program ends by SystemExit, as if it had called sys.exit().
#
# In a batch job with the metadata probe= (job_submit_dnnest(8)) DNNEST_JOB_PROBE_SPEC is
# set instead. When the program imports torch, it is then restarted under 'dnnest probe'
# with the same arguments. If that is not possible, it continues without a probe.
#
# The hook must never break the program: errors are ignored, and then no steps are seen.
# Needs Python 3.6 and torch 1.13 or later.
#
# SPDX-License-Identifier: GPL-2.0-or-later


def _load_next():
    """Load the sitecustomize that would have been loaded without this one."""
    import importlib.machinery
    import importlib.util
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [x for x in sys.path if os.path.abspath(x or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _find_modules():
    """Let dnnest.py and its parts be found: beside this directory, as installed, in the
    source tree, or in it."""
    import os
    import sys

    here = os.path.dirname(os.path.abspath(__file__))
    for place in (os.path.join(os.path.dirname(here), "python"), here,
                  os.path.join(here, "..", "..", "..", "python")):
        if os.path.isfile(os.path.join(place, "dnnest_watch.py")):
            sys.path.append(os.path.normpath(place))
            return


def _hook():
    import os

    _find_modules()
    if os.environ.get("DNNEST_PROBE_FILE"):
        _count_steps()
    elif os.environ.get("DNNEST_JOB_PROBE_SPEC") and os.environ.get("SLURM_JOB_ID"):
        _restart_at_torch()
    if not os.environ.get("SLURM_JOB_ID"):
        return
    # PYTHONPATH is inherited by jobs that a job submits; this variable is not.
    wanted = os.environ.get("DNNEST_JOB_CAPTURE") or os.environ.get("DNNEST_PROBE_FILE")
    if wanted and os.environ.get("DNNEST_PROGRESS_DIR"):
        _capture()


def _capture():
    """Describe the training once the program has a framework for one."""
    import dnnest_watch

    def start(_module):
        import dnnest
        dnnest.start()
    dnnest_watch.when_imported(
        dict.fromkeys(("torch", "tensorflow", "keras", "jax"), start))


def _restart_at_torch():
    """Restart under 'dnnest probe' when torch is about to be loaded."""
    import os
    import sys

    import dnnest_watch

    here = os.path.dirname(os.path.abspath(__file__))
    folder = os.getcwd()

    def find_dnnest():
        prefix = os.path.dirname(os.path.dirname(os.path.dirname(here)))
        folders = [os.path.join(prefix, "bin")]
        folders += os.environ.get("PATH", "").split(os.pathsep)
        for place in folders:
            path = os.path.join(place, "dnnest")
            if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
                return path
        return None

    def words():
        """The command line of this program."""
        given = getattr(sys, "orig_argv", None)  # Python 3.10
        if not given:
            with open("/proc/self/cmdline", "rb") as file:
                given = [os.fsdecode(x) for x in file.read().split(b"\0")[:-1]]
        return [sys.executable or given[0]] + given[1:]

    def count_along():
        """In the other tasks of a Slurm step: stop after as many steps as the first."""
        steps = int(os.environ.get("DNNEST_JOB_PROBE_STEPS", "1"))
        warmup = 10  # as in cmd_probe.c
        os.environ["DNNEST_PROBE_FILE"] = os.devnull
        os.environ["DNNEST_PROBE_WARMUP"] = str(warmup)
        os.environ["DNNEST_PROBE_STOP"] = str((30 if steps == 1 else max(steps, 3)) + warmup)
        _count_steps()

    def restart():
        # A program from stdin has been read already, at least in part.
        if not sys.argv or sys.argv[0] in ("", "-"):
            raise RuntimeError("the program does not come from a file")
        dnnest = find_dnnest()
        if dnnest is None:
            raise RuntimeError("dnnest is not found")
        command = [dnnest, "probe", "--within-job", "--hook=" + here, "--"] + words()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.chdir(folder)
        os.execv(dnnest, command)

    def begin():
        try:
            restart()
        except Exception as error:
            os.environ.pop("DNNEST_JOB_PROBE_SPEC", None)
            sys.stderr.write("dnnest: no probe: %s\n" % error)

    if os.environ.get("SLURM_PROCID", "0") != "0":
        count_along()
    else:
        dnnest_watch.when_imported({}, {"torch": begin})


def _count_steps():
    """Report steps to 'dnnest probe', and end the program after the last."""
    import os
    import sys
    import time
    import weakref

    import dnnest_watch

    path = os.environ.get("DNNEST_PROBE_FILE")
    try:
        stop = int(os.environ.get("DNNEST_PROBE_STOP", "0"))
        warmup = int(os.environ.get("DNNEST_PROBE_WARMUP", "0"))
    except ValueError:
        return

    class State:
        """The state of this process; a forked process gets a new one."""

        def __init__(self):
            self.pid = os.getpid()
            self.file = None
            self.optimizers = weakref.WeakKeyDictionary()  # [number, steps]
            self.n_optimizers = 0
            self.loader_s = 0.0
            self.workers = 0
            self.told = False

    state = State()

    def current():
        nonlocal state
        if state.pid != os.getpid():
            state = State()
        return state

    def tell(now, text):
        try:
            if now.file is None:
                flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
                now.file = os.open(path, flags)
            os.write(now.file, (text + "\n").encode("ascii", "replace"))
        except OSError:
            pass

    def cuda():
        """torch.cuda if the program uses it."""
        torch = sys.modules.get("torch")
        try:
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                return torch.cuda
        except Exception:
            pass
        return None

    def tell_device(now):
        device = cuda()
        now.told = True
        if device is None:
            tell(now, "D %d cpu" % now.pid)
            return
        properties = device.get_device_properties(device.current_device())
        tell(now, "D %d cuda %d %s" % (now.pid, properties.total_memory,
                                      " ".join(properties.name.split())))

    def wait():
        device = cuda()
        if device is not None:
            device.synchronize()

    def tell_memory(now):
        device = cuda()
        if device is not None:
            tell(now, "M %d %d %d" % (now.pid, device.max_memory_reserved(),
                                     device.max_memory_allocated()))

    def count(optimizer):
        """Count a step. Return whether it is the last one."""
        now = current()
        entry = now.optimizers.get(optimizer)
        if entry is None:
            entry = now.optimizers[optimizer] = [now.n_optimizers, 0]
            now.n_optimizers += 1
        entry[1] += 1
        last = entry[1] == stop
        if entry[1] == warmup or last:
            wait()
        if not now.told:
            tell_device(now)
        tell(now, "S %d %d %.6f %.6f %d" % (now.pid, entry[0], time.monotonic(),
                                           now.loader_s, now.workers))
        if last:
            tell_memory(now)
        return last

    class Probe(dnnest_watch.Observer):
        def step(self, owner):
            if hasattr(owner, "step"):
                return count(owner)
            return False

        def waited(self, iterator, seconds, batch):
            now = current()
            now.loader_s += seconds
            now.workers = getattr(iterator, "_num_workers", 0)

        def exhausted(self, iterator):
            now = current()
            tell(now, "E %d %.6f" % (now.pid, time.monotonic()))

    def imported(_module):
        torch = sys.modules.get("torch")
        tell(current(), "H %d %s" % (os.getpid(), getattr(torch, "__version__", "?")))

    dnnest_watch.when_imported({"torch": imported})
    dnnest_watch.watch(Probe())


try:
    _hook()
except Exception:
    pass
_load_next()
del _hook, _find_modules, _capture, _count_steps, _restart_at_torch, _load_next
