# dnnest_capture.py - what a training is and how fast, as one JSON object
#
# The observer of dnnest.py. It counts the steps of the training that runs now, and at the
# second to fourth step of PyTorch lets dnnest_record.py look at the network. After the
# warm-up, every ten minutes and at the end it writes JOBID.capture in DNNEST_PROGRESS_DIR.
# After the warm-up a step costs some microseconds. The device is never waited for.
#
# 'dnnest describe' sets DNNEST_JOB_CAPTURE_STEPS: the program ends when it has measured so
# many steps. Then the device is waited for before the first of them and after the last, so
# that the time between is that of the steps, also where launches run ahead of the device.
#
# Needs Python 3.6; what it says of a framework needs that framework.
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""Describe the training of this process."""

import collections
import ctypes
import json
import os
import sys
import time
import weakref

import dnnest_watch

# A file has at most so many bytes; a network that needs more is left out.
BYTES = 256 << 10

# Steps of warm-up, and the seconds after which the first file is written all the same.
WARMUP, FIRST = 10, 60

# Seconds between two files, and between two looks at the clock.
AGAIN, LOOK = 600, 10

# Steps of another optimizer alone that make it another training.
OTHERS = 10

# Steps after which the expected end is told.
SURE = 20


def process_start():
    """The start of this process by the clock of time.monotonic()."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rsplit(b")", 1)[1].split()[19])
        since = time.clock_gettime(7) - ticks / os.sysconf("SC_CLK_TCK")  # CLOCK_BOOTTIME
        return time.monotonic() - max(0, since)
    except Exception:
        return time.monotonic()


def number(text):
    """A variable's whole number, or None."""
    return int(text) if text and text.isdigit() else None


def variable(*names):
    """The first of these variables that is a number."""
    values = (number(os.environ.get(name)) for name in names)
    return next((value for value in values if value is not None), None)


def world_of():
    """(rank, processes) of the training."""
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    state = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    if getattr(state, "client", None) is not None:
        return state.process_id, state.num_processes
    return (variable("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID") or 0,
            variable("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE") or 1)


def share_of(values, share):
    """The value below which that share of sorted values lies."""
    return values[min(len(values) - 1, int(share * len(values)))]


class Training:
    """Steps of one optimizer, model or function."""

    def __init__(self, owner, begin):
        self.owner = weakref.ref(owner)
        self.begin = begin      # when the one before ended, or the process began
        self.first = None       # when its first step ended
        self.steps = 0
        self.others = 0         # steps of other optimizers since its last
        self.last = None        # when its last step ended, as far as that was undisturbed
        self.intervals = collections.deque(maxlen=4096)
        self.measured = 0       # seconds of all intervals
        self.waited = 0         # and of these for data
        self.loaded = 0         # value of the counter at the last step
        self.objects = {}       # what trainers told
        self.network = {}       # what dnnest_record.py found
        self.shapes = []        # of the tensors of a batch
        self.data = {}          # keys of the loader

    def step(self, now, loaded):
        """Count a step that ended now; 'loaded': seconds waited for data so far."""
        self.steps += 1
        self.others = 0
        if self.first is None:
            self.first = now
        elif self.steps > WARMUP and self.last is not None:
            self.intervals.append(now - self.last)
            self.measured += now - self.last
            self.waited += loaded - self.loaded
        self.last = now
        self.loaded = loaded

    def median(self):
        return share_of(sorted(self.intervals), 0.5) if self.intervals else None


class Capture(dnnest_watch.Observer):
    """The description of this process. save(text) writes the file, report(done, total)
    the progress, and say(text) a line of the job's output."""

    def __init__(self, save, report, say):
        self.save, self.report, self.say = save, report, say
        self.pid = os.getpid()
        self.begin = process_start()
        self.started = int(time.time() - (time.monotonic() - self.begin))
        self.due = self.begin + FIRST
        self.next_look = 0
        self.trainings = 0
        self.now = None          # the Training
        self.loaded = 0.0
        self.told = {}           # what trainers told before the first step
        self.batch = []          # shapes of the last batch
        self.loader = None
        self.look = None         # of dnnest_record.py, in steps 2 to 4
        self.warned = False
        self.manual = False      # does the program report its progress?
        self.stop = number(os.environ.get("DNNEST_JOB_CAPTURE_STEPS"))

    # What dnnest_watch tells.

    def training(self, kind, *objects):
        self.told = {kind: objects}
        if kind == "keras" and self.now and self.now.owner() is objects[0]:
            self.now.objects, self.now.last = self.told, None  # fit () once more

    def waited(self, iterator, seconds, batch):
        self.loaded += seconds
        if self.loader is None or self.loader() is not iterator:
            self.loader = weakref.ref(iterator)
        if batch is not None and (self.now is None or self.now.steps < WARMUP):
            self.batch = shapes_of(batch)

    def step(self, owner):
        if self.pid != os.getpid() or not self.is_main(owner):
            return False
        training = self.now
        if self.stop and training.steps + 1 in (WARMUP, WARMUP + self.stop):
            dnnest_watch.quietly(wait_for_device)
        now = time.monotonic()
        training.step(now, self.loaded)
        if training.steps <= WARMUP or now >= self.next_look:
            dnnest_watch.quietly(self.act, training, owner, now)
            training.last = time.monotonic()
            training.loaded = self.loaded
        if not self.stop or training.steps != WARMUP + self.stop:
            return False
        dnnest_watch.quietly(self.write)
        return True

    def is_main(self, owner):
        """Is it the optimizer whose steps count? Another one is, once the first is gone
        or has long been at rest."""
        training = self.now
        if training is not None:
            main = training.owner()
            if main is owner:
                return True
            training.others += 1
            if main is not None and training.others < OTHERS:
                return False
        last = training.last if training else None
        self.trainings += 1
        self.now = Training(owner, last or self.begin)
        self.now.objects, self.told = self.told, {}
        self.look = None
        return True

    def act(self, training, owner, now):
        """What is not done at every step."""
        self.next_look = now + LOOK
        if training.steps <= WARMUP:
            if hasattr(owner, "param_groups"):
                self.watch_network(training, owner)
            if training.steps == WARMUP:
                self.due = now
        if now >= self.due:
            self.due = now + (LOOK if self.stop else AGAIN)
            self.write()
        done, total = training.steps, self.total_steps()
        if world_of()[0]:
            return
        if total and done <= total and not self.manual:
            self.report(done, total)
        self.warn(training, done, total, now)

    def watch_network(self, training, optimizer):
        """The stages of dnnest_record.py."""
        if training.steps == 2:
            import dnnest_record
            self.look = dnnest_record.Look(optimizer, self.batch)
            training.shapes = self.batch
            iterator = self.loader() if self.loader else None
            if iterator is not None:
                training.data = dnnest_record.keys_of_iterator(iterator)
        elif training.steps in (3, 4) and self.look:
            training.network = self.look.on() or training.network
        if training.steps == 4:
            self.look = None

    # Progress.

    def total_steps(self):
        """Steps of the training, or None."""
        try:
            return self.steps_told() or None
        except Exception:
            return None

    def steps_told(self):
        told = self.now.objects if self.now else {}
        if "transformers" in told:
            return told["transformers"][1].max_steps
        if "lightning" in told:
            total = told["lightning"][0].estimated_stepping_batches
            return int(total) if total != float("inf") else None
        params = told["keras"][1] if "keras" in told else {}
        return (params.get("epochs") or 0) * (params.get("steps") or 0)

    def warn(self, training, done, total, now):
        """In the first ten minutes, say once that the time limit comes before the end."""
        end = variable("SLURM_JOB_END_TIME")
        if self.warned or not (end and total) or now - self.begin > AGAIN \
                or len(training.intervals) < SURE:
            return
        needed = (total - done) * training.median()
        left = end - time.time()
        if needed > 1.02 * max(left, 0):
            self.warned = True
            self.say("%d of %d steps, %.3g s each: the rest takes %s, and the time limit is in "
                     "%s" % (done, total, training.median(), duration(needed),
                             duration(left)))

    # The file.

    def write(self, at_end=False):
        """Write what is known, in the first process of the training."""
        if self.pid != os.getpid() or world_of()[0]:
            return
        made = self.object()
        text = json.dumps(made, separators=(",", ":"), allow_nan=False)
        if len(text) > BYTES:
            made.pop("sidecar", None)
            text = json.dumps(made, separators=(",", ":"), allow_nan=False)
        self.save(text + "\n", at_end and self.now is None)

    def sidecar(self):
        """The sidecar; None if nothing was trained, or in another process."""
        if self.pid != os.getpid() or world_of()[0]:
            return None
        return self.object().get("sidecar")

    def object(self):
        quietly = dnnest_watch.quietly
        training = self.now
        made = {"dnnest_capture": 1, "time": int(time.time()), "started": self.started,
                "software": quietly(software, self.now) or {}}
        devices = quietly(devices_of)
        if devices:
            made["devices"] = devices
        if training:
            made["run"] = quietly(self.run, training) or {}
            network = quietly(self.network, training) or {}
            made.update({name: network[name] for name in ("sidecar", "network")
                         if network.get(name)})
        made["measured"] = measured = quietly(memory) or {}
        if training:
            measured.update(quietly(self.times, training) or {})
        return made

    def run(self, training):
        """How it runs."""
        _, world = world_of()
        told = training.objects.get("keras")
        steps = told[1].get("steps") if told else None
        if training.data.get("batches"):
            steps = -(-training.data["batches"] // training.network.get("passes", 1))
        run = {"world": world, "parallel": training.network.get("parallel") or
               ("ddp" if world > 1 else "single"), "trainings": self.trainings,
               "step": training.steps, "steps": self.total_steps(),
               "steps_per_epoch": steps,
               "epochs": dnnest_watch.quietly(self.epochs, training)}
        if "workers" in training.data:
            run["workers"] = training.data["workers"]
        if training.measured:
            run["loader_share"] = round(min(1, training.waited / training.measured), 4)
        return run

    @staticmethod
    def epochs(training):
        told = training.objects
        if "keras" in told:
            return told["keras"][1].get("epochs")
        if "transformers" in told:
            return told["transformers"][1].num_train_epochs
        epochs = told["lightning"][0].max_epochs if "lightning" in told else None
        return epochs if epochs and epochs > 0 else None

    def network(self, training):
        """The members "sidecar" and "network"."""
        if "keras" in training.objects:
            return keras_network(training)
        if not training.network:
            return {}
        import dnnest_record
        return dnnest_record.described(training, world_of()[1])

    def times(self, training):
        values = sorted(training.intervals)
        made = {"steps": len(values)}
        if training.first is not None:
            first = training.first - training.begin
            each = share_of(values, 0.5) if values else 0
            made["start_s"] = round(max(0, first - each), 3)
        if values:
            each = share_of(values, 0.5)
            if self.stop and cuda():  # its ends were waited for, and nothing between
                each = training.measured / (training.steps - WARMUP)
            made["step_ms"] = round(1000 * each, 4)
            made["step_p95_ms"] = round(1000 * share_of(values, 0.95), 4)
        return made


def duration(seconds):
    """As Slurm writes it."""
    seconds = max(0, int(seconds))
    days, rest = divmod(seconds, 86400)
    text = "%02d:%02d:%02d" % (rest // 3600, rest // 60 % 60, rest % 60)
    return "%d-%s" % (days, text) if days else text


def shapes_of(batch, depth=0):
    """Shapes of the tensors of a batch."""
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return [tuple(shape)]
    values = batch.values() if hasattr(batch, "values") else batch \
        if isinstance(batch, (list, tuple)) else ()
    return [shape for value in list(values)[:16] if depth < 3
            for shape in shapes_of(value, depth + 1)]


# Facts of frameworks.


def software(training):
    made = {"python": "%d.%d.%d" % sys.version_info[:3]}
    name = framework_of(training)
    if name:
        made.update(framework=name, version=sys.modules[MODULES[name]].__version__,
                    cuda=None)
    if name == "pytorch":
        torch = sys.modules["torch"]
        made["cuda"], found = torch.version.cuda, torch.cuda.get_arch_list()
        if found:
            made["arch"] = found
    elif name == "tensorflow":
        build = sys.modules["tensorflow"].sysconfig.get_build_info()
        made["cuda"] = build.get("cuda_version")
        if build.get("cuda_compute_capabilities"):
            made["arch"] = list(build["cuda_compute_capabilities"])
    return made


MODULES = {"pytorch": "torch", "tensorflow": "tensorflow", "jax": "jax"}


def framework_of(training):
    """The framework that trains, or the first that is loaded; or None."""
    owner = training.owner() if training else None
    if hasattr(owner, "param_groups"):
        return "pytorch"
    if training and "keras" in training.objects:
        backend = getattr(sys.modules.get("keras"), "backend", None)
        used = dnnest_watch.quietly(backend.backend) if backend else None
        return {"torch": "pytorch", "jax": "jax"}.get(used, "tensorflow")
    names = ["jax"] if owner is not None else list(MODULES)
    return next((name for name in names if MODULES[name] in sys.modules), None)


def cuda():
    """torch.cuda if this process computes there."""
    torch = sys.modules.get("torch")
    module = getattr(torch, "cuda", None)
    return module if module and module.is_initialized() else None


def wait_for_device():
    if cuda():
        cuda().synchronize()


def jax_devices():
    """The GPUs of this process in JAX; none where it has not begun to use devices."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is None or not getattr(bridge, "_backends", None):
        return []
    return [d for d in sys.modules["jax"].local_devices() if d.platform != "cpu"]


def flow_devices():
    """The GPUs of this process in TensorFlow, which uses all that it sees."""
    flow = sys.modules.get("tensorflow")
    context = flow and dnnest_watch.quietly(
        lambda: sys.modules["tensorflow.python.eager.context"].context())
    return flow.config.list_logical_devices("GPU") \
        if context and getattr(context, "_initialized", False) else []


def devices_of():
    """GPUs of the job, as this process sees them, and those that it uses."""
    _, world = world_of()
    nodes = variable("SLURM_JOB_NUM_NODES", "SLURM_NNODES") or 1
    given = variable("SLURM_GPUS_ON_NODE") or 0
    name, here, own, more = None, given, 0, {}
    if cuda():
        here = max(given, cuda().device_count())
        name = cuda().get_device_name()
        capability = dnnest_watch.quietly(lambda: cuda().get_device_capability())
        more = {"capability": "%d.%d" % capability} if capability else {}
        own = sum(cuda().memory_allocated(i) > 0 for i in range(cuda().device_count()))
    elif jax_devices():
        own = len(jax_devices())
        name = jax_devices()[0].device_kind
    else:
        own = len(flow_devices())
    if not here and not own:
        return None
    seen = max(here * nodes, own * world)
    used = own * world
    busy = min(dnnest_watch.quietly(busy_devices) or 0, here)
    return dict(more, seen=seen, used=min(seen, max(used, busy)), name=name)


def busy_devices():
    """GPUs of this node, as far as visible, that some process computes on."""
    library = ctypes.CDLL("libnvidia-ml.so.1")
    if library.nvmlInit_v2():
        return 0
    count, busy = ctypes.c_uint(), 0
    library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for i in range(count.value):
        device, processes = ctypes.c_void_p(), ctypes.c_uint()
        if not library.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(device)):
            library.nvmlDeviceGetComputeRunningProcesses(
                device, ctypes.byref(processes), None)
            busy += processes.value > 0
    library.nvmlShutdown()
    return busy


def memory():
    """Bytes of the GPU: at most allocated and reserved by this process, and now in use."""
    if cuda():
        made = {"gpu_allocated": cuda().max_memory_allocated(),
                "gpu_reserved": cuda().max_memory_reserved()}
        free, total = cuda().mem_get_info()
        made["gpu_device"] = total - free
        return made
    if jax_devices():
        found = jax_devices()[0].memory_stats() or {}
        return {"gpu_allocated": found["peak_bytes_in_use"]} \
            if "peak_bytes_in_use" in found else {}
    if flow_devices():
        found = sys.modules["tensorflow"].config.experimental.get_memory_info("GPU:0")
        return {"gpu_allocated": found["peak"]}
    return {}


# Keras.

KERAS_OPTIMIZERS = {"adam": "adam", "adamw": "adamw", "sgd": "sgd", "rmsprop": "rmsprop",
                    "adagrad": "adagrad", "adadelta": "adadelta", "adafactor": "adafactor",
                    "lamb": "lamb", "lion": "lion", "nadam": "adam", "adamax": "adam"}
KERAS_PRECISIONS = {"mixed_float16": "fp16", "mixed_bfloat16": "bf16", "float32": "fp32",
                    "float16": "half", "bfloat16": "bf16_pure"}


def keras_network(training):
    """What a model of Keras says of itself."""
    model, params = training.objects["keras"]
    batch, shape = params.get("data") or (None, None)
    total = model.count_params()
    learned = sum(int(w.shape.num_elements() if hasattr(w.shape, "num_elements") else
                      prod(w.shape)) for w in model.trainable_weights)
    optimizer = model.optimizer
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    kind = KERAS_OPTIMIZERS.get(type(optimizer).__name__.lower())
    if kind == "sgd" and getattr(optimizer, "momentum", 0):
        kind = "momentum"
    policy = getattr(model, "dtype_policy", None) or getattr(model, "_dtype_policy", None)
    spec = {"framework": framework_of(training), "optimizer": kind, "batch": batch,
            "precision": KERAS_PRECISIONS.get(getattr(policy, "name", "")),
            "params": total, "epochs": params.get("epochs")}
    if learned < total:
        spec["trainable"] = round(learned / total, 6)
    spec = {key: value for key, value in spec.items() if value is not None}
    return {"sidecar": {"dnnest": 1, "spec": spec},
            "network": {"name": type(model).__name__, "parameters": total,
                        "trainable": learned, "shapes": [shape] if shape else []}}


def prod(sizes):
    result = 1
    for size in sizes:
        result *= size or 1
    return result
