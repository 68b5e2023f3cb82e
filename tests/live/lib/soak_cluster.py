"""soak_cluster.py - the private Slurm of tests/live/soak, its faults and its log

The controller is a child of this process, so that its exit status is known. Its log
shows for every moment which configuration and bundle were in force.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import ctypes
import datetime
import os
import re
import shutil
import signal
import subprocess
import threading
import time

END_S = 90        # for slurmctld to end, or to answer after its start
SETTLE_S = 180    # to find a change on a slow machine; usually four
INSTALL_S = 5     # between the line in the log and its change, on a slow machine
INERT = None      # no configuration is in force

GPU_LINES = """\
EvidenceTime=words StartChanges=0
Gpu Type=a100 Device=a100_sxm4_40gb Cost=4 PerNode=4 Nodes=2 NodeCpus=96 \
NodeMemory=512000 Partitions=gpu ByPartition=gpu-a100 MaxTime=2-0 ByFeature=ampere \
Features=ib
Gpu Type=v100 Device=v100_sxm2_16gb Cost=1 PerNode=4 Nodes=2 NodeCpus=96 \
NodeMemory=512000 Partitions=gpu ByPartition=gpu-v100 MaxTime=2-0 ByFeature=volta \
Features=ib
"""
# Of a configuration the log has its mode and the number of data sets.
CONFS = {
    "enforce": ("enforce", 1, "MaxSlowdown=9 MinConfidence=0"),
    "fast": ("enforce", 2, "Objective=time MinConfidence=0 TimeMargin=2 CpusPerGpuMin=12"),
    "same-type": ("enforce", 3, "GpuType=keep MinConfidence=0 TimeMin=10:00:00"),
    "time-only": ("enforce", 4, "GpuType=keep Cpus=keep MinConfidence=0 Message=always"),
    "advise": ("advise", 1, "MaxSlowdown=9 MinConfidence=0"),
    "observe": ("observe", 1, "MaxSlowdown=9 MinConfidence=0"),
}
BROKEN = {
    "a mode that does not exist": "Mode=sideways\n",
    "a key that does not exist": "Mode=enforce\nColour=red\n",
    "half a line": "Mode=enforce\nMaxSlowdown=9 MinConf",
    "junk": "\x01\x02 = \xff\x00[{\n",
    "a wrong number": "Mode=enforce\nTimeMargin=-1e999\n",
    "a device that does not exist": "Gpu Type=a100 Device=q900\n",
}


class Log:
    """slurmctld.log, as far as it has been read; 'states' are those in force since."""

    TIME = re.compile(r"\[(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})\] (.*)")
    LOADED = re.compile(r"dnnest\.conf: mode (\w+), \d+ GPU types, \d+ devices, "
                        r"(\d+) data sets, model bundle (\S+)")

    def __init__(self, path, cluster):
        self.path = path
        self.cluster = cluster
        self.offset = os.path.getsize(path)
        self.rest = b""
        self.lock = threading.Lock()
        self.states = [(0.0, INERT)]
        self.errors = []
        self.odd = []
        self.infos = 0
        self.slow = 0

    def read(self):
        with self.lock:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                data = file.read()
            self.offset += len(data)
            *lines, self.rest = (self.rest + data).split(b"\n")
            for line in lines:
                self.take(line.decode("utf-8", "replace"))
            return self.states[-1][1]

    def take(self, line):
        match = self.TIME.match(line)
        if not match:
            return
        at = datetime.datetime.fromisoformat(match[1]).timestamp()
        text = match[2]
        if re.search(r"segfault|sigsegv|assert|abort|fatal|corrupt|xfree", text, re.I) \
                and "job_submit/dnnest: uid=" not in text and "JobId=" not in text:
            self.odd.append(line)
        if "job_submit/dnnest" not in text:
            return
        if not text.startswith(("error: job_submit/dnnest: ", "job_submit/dnnest: ")):
            self.odd.append(line)
        if any(not " " <= c <= "~" for c in text):
            self.odd.append(line)
        if text.startswith("error: "):
            self.take_error(text, line)
        else:
            self.infos += 1
        self.follow(at, text)

    def take_error(self, text, line):
        if " a submission took " in text:
            self.slow += 1
        elif re.search(r": (the configuration in use is kept|jobs are not changed|"
                       r"the model bundle in use is kept|going on without a model bundle|"
                       r"not loaded within .*)$", text):
            self.errors.append(line)
        else:
            self.odd.append(line)

    def follow(self, at, text):
        _, state = self.states[-1]
        loaded = self.LOADED.search(text)
        if loaded:
            conf = self.cluster.conf_of(loaded[1], int(loaded[2]))
            bundle = self.cluster.bundle_of(loaded[3])
            self.states.append((at, (conf, bundle)))
        elif text.endswith("the model bundle in use is kept"):
            self.states.append((at, (self.cluster.conf_at(at), state[1])))
        elif text.endswith("going on without a model bundle"):
            self.states.append((at, (self.cluster.conf_at(at), "none")))
        elif " not found: jobs are not changed" in text or \
                re.match(r"error: .*: jobs are not changed", text) or \
                "not loaded within" in text:
            self.states.append((at, INERT))

    def in_force(self, begin, end):
        """All states that were in force between 'begin' and 'end'; a line is logged before
        its state is in force."""
        found = []
        for i, (since, state) in enumerate(self.states):
            until = self.states[i + 1][0] if i + 1 < len(self.states) else end + 1
            if since <= end + 0.01 and until >= begin - INSTALL_S and state not in found:
                found.append(state)
        return found


class Cluster:
    """The controller, its files, and all changes of them."""

    def __init__(self, directory, args, top, build):
        self.dir = directory
        self.top = top
        self.dnnest = os.path.join(directory, "dnnest")
        self.make_bundle = os.path.join(build, "tests/unit/make_bundle")
        self.control = args.control
        self.process = None
        self.lock = threading.RLock()
        self.events = []      # (begin, end, what)
        self.kills = []       # (when, time of the state saved before)
        self.unexpected = []
        self.conf = "enforce"  # the last good one in dnnest.conf
        self.conf_is = "good"
        self.confs = [(0.0, self.conf)]
        self.bundle = None
        self.bundle_is = "good"
        self.deck = []         # the next swaps
        self.names = {}
        self.log = Log(os.path.join(directory, "log/slurmctld.log"), self)
        self.counts = dict.fromkeys(
            ("configurations swapped", "configurations broken", "bundles installed",
             "bundles rolled back", "bundles damaged", "reconfigurations", "restarts",
             "kills", "munge stops"), 0)

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    # --- files -----------------------------------------------------------------------

    def conf_text(self, name, bundle, log=True):
        mode, sets, keys = CONFS[name]
        text = "DataDir=%s\nBundle=%s\nMode=%s\n%s\n%s" % (
            self.path("etc/data-%d" % sets), bundle,
            mode, "\n".join(keys.split()), GPU_LINES)
        if log:
            text += "DecisionLog=%s\nCounters=%s\n" % (
                self.path("trace/decisions.jsonl"), self.path("trace/dnnest.prom"))
        return text

    def conf_of(self, mode, sets):
        for name, conf in CONFS.items():
            if conf[:2] == (mode, sets):
                return name
        raise ValueError("the log speaks of mode %s with %d data sets" % (mode, sets))

    def conf_at(self, at):
        """For lines that do not name it: a damaged bundle has a separate line."""
        return [name for since, name in self.confs if since <= at][-1]

    def bundle_of(self, said):
        if said == "none":
            return "none"
        return next(name for name, text in self.names.items() if text == said)

    def frozen_conf(self, state):
        """dnnest.conf of that state, for 'dnnest advise'."""
        return self.path("frozen", "%s-%s.conf" % state)

    def freeze(self):
        for conf in CONFS:
            for bundle in ("none", "small", "shipped"):
                text = self.conf_text(conf, "none" if bundle == "none" else
                                      self.path("frozen", bundle), log=False)
                with open(self.frozen_conf((conf, bundle)), "w", encoding="ascii") as file:
                    file.write(text)

    def write_conf(self, content, whole):
        path = self.path("etc/dnnest.conf")
        if isinstance(content, str):
            content = content.encode("latin-1")
        name = path + ".new" if whole else path
        if not whole and os.path.exists(path):
            os.chmod(path, 0o644)
        with open(name, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        if whole:
            os.rename(name, path)

    def use(self, name, whole):
        self.conf = name
        self.conf_is = "good"
        self.confs.append((time.time(), name))
        self.write_conf(self.conf_text(name, self.path("site/model")), whole)

    def prepare(self):
        for name in ("frozen", "trace", "site"):
            os.makedirs(self.path(name), exist_ok=True)
        sets = ["imagenet Samples=1281167 SampleBytes=110000 Decode=jpeg"]
        sets += ["other%d Samples=1000 SampleBytes=1000 Decode=none" % i for i in range(3)]
        for i in range(len(sets)):
            data = self.path("etc/data-%d" % (i + 1))
            shutil.copytree(os.path.join(self.top, "etc/hardware"), data + "/hardware",
                            ignore=lambda _, names: [n for n in names
                                                     if not n.endswith(".conf")])
            with open(data + "/datasets.conf", "w") as file:
                file.write("".join("Dataset=%s\n" % text for text in sets[:i + 1]))
        shutil.copytree(os.path.join(self.top, "etc/bundle"), self.path("frozen/shipped"))
        os.mkdir(self.path("frozen/small"))
        subprocess.run([self.make_bundle, self.path("frozen/small")], check=True)
        self.freeze()
        subprocess.run(["chmod", "-R", "go-w", self.path("etc"), self.path("frozen"),
                        self.path("site")], check=True)
        for name in ("shipped", "small"):
            with open(self.path("frozen", name, "manifest.json")) as file:
                self.names[name] = re.search(r'"name": *"([^"]+)"', file.read())[1]
        for name in ("small", "shipped"):
            self.install(name)
        self.use("enforce", True)
        with open(self.path("etc/slurm.conf")) as file:
            text = file.read()
        text = re.sub(r"^(NodeName=v.*)$", r"\1 Feature=volta,ib", text, flags=re.M)
        text = re.sub(r"^(NodeName=a.*)$", r"\1 Feature=ampere,ib,nvme", text, flags=re.M)
        with open(self.path("etc/slurm.conf"), "w") as file:
            file.write(text)

    def exchange(self, other):
        """Exchange the bundle in use with the directory 'other', at once."""
        place = self.path("site/model")
        if not os.path.exists(place):
            os.rename(other, place)
            return
        libc = ctypes.CDLL(None, use_errno=True)
        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        if libc.renameat2(here, other.encode(), here, place.encode(), exchange) != 0:
            self.unexpected.append("renameat2: " + os.strerror(ctypes.get_errno()))

    def install(self, name):
        before = self.path("site/model.1")
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.path("frozen", name), before)
        self.exchange(before)
        self.bundle = name
        self.bundle_is = "good"

    # --- the controller --------------------------------------------------------------

    def use_plugin(self, wanted):
        path = self.path("etc/slurm.conf")
        with open(path) as file:
            text = re.sub(r"^JobSubmitPlugins=.*\n", "", file.read(), flags=re.M)
        with open(path, "w") as file:
            file.write(text + ("JobSubmitPlugins=dnnest\n" if wanted else ""))

    def forget_jobs(self):
        shutil.rmtree(self.path("state"))
        os.mkdir(self.path("state"), 0o700)

    def start(self):
        conf = self.path("etc/slurm.conf")
        with open(self.path("log/slurmctld.out"), "ab") as out:
            self.process = subprocess.Popen(
                ["slurmctld", "-D", "-f", conf], stdin=subprocess.DEVNULL, stdout=out,
                stderr=out, start_new_session=True, env={**os.environ, "SLURM_CONF": conf})
        end = time.time() + END_S
        while time.time() < end:
            answer = subprocess.run(["scontrol", "ping"], capture_output=True, text=True)
            if "is UP" in answer.stdout:
                return True
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        self.unexpected.append("slurmctld does not start")
        return False

    def stop(self):
        self.process.terminate()
        try:
            status = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
            self.unexpected.append("slurmctld does not end within %d s" % END_S)
        if status not in (0, -signal.SIGTERM):
            self.unexpected.append("slurmctld ended with status %d" % status)

    def check_alive(self):
        with self.lock:
            if self.process.poll() is None:
                return
            self.unexpected.append("slurmctld has ended unexpectedly, with status %d"
                                   % self.process.returncode)
            self.start()

    def event(self, what, action):
        with self.lock:
            begin = time.time()
            action()
            self.events.append((begin, time.time(), what))
            if what in self.counts:
                self.counts[what] += 1

    def restart(self):
        self.event("restarts", lambda: (self.stop(), self.start()))

    def saved(self):
        """The time until which all accepted jobs are certainly on disk: the state before
        the last one was written after it."""
        try:
            return os.stat(self.path("state/job_state.old")).st_mtime
        except FileNotFoundError:
            return 0.0

    def kill(self):
        def action():
            self.process.kill()
            self.process.wait()
            self.kills.append((time.time(), self.saved()))
            self.start()
        self.event("kills", action)

    def stop_munge(self, seconds):
        def action():
            with open(self.path("run/munged.pid")) as file:
                pid = int(file.read())
            os.kill(pid, signal.SIGSTOP)
            try:
                time.sleep(seconds)
            finally:
                os.kill(pid, signal.SIGCONT)
        self.event("munge stops", action)

    # --- swaps -----------------------------------------------------------------------

    def swap(self, draw):
        """Swap to a random configuration or bundle."""
        with self.lock:
            if self.bundle_is != "good":  # its line in the log does not name the rules
                self.event("bundles installed",
                           lambda: self.install(draw.choice(["small", "shipped"])))
                return
            if not self.deck:
                self.deck = [self.swap_conf] * 6 + [self.break_conf] * 3 + [
                    self.swap_bundle, self.swap_bundle, self.undo_bundle,
                    self.damage_bundle, self.reconfigure]
                draw.shuffle(self.deck)
            self.deck.pop()(draw)

    def swap_conf(self, draw):
        def action():
            self.use(draw.choice([name for name in CONFS if name != self.conf]),
                     draw.random() < 0.5)
        self.event("configurations swapped", action)

    def break_conf(self, draw):
        def action():
            kind = draw.choice([*BROKEN, "writable", "gone"])
            self.conf_is = "gone" if kind == "gone" else "broken"
            if kind == "gone":
                if os.path.exists(self.path("etc/dnnest.conf")):
                    os.unlink(self.path("etc/dnnest.conf"))
            elif kind == "writable":
                self.write_conf(self.conf_text(self.conf, "none"), True)
                os.chmod(self.path("etc/dnnest.conf"), 0o666)
            else:
                self.write_conf(BROKEN[kind], draw.random() < 0.5)
        self.event("configurations broken", action)

    def swap_bundle(self, _):
        other = "small" if self.bundle == "shipped" else "shipped"
        self.event("bundles installed", lambda: self.install(other))

    def undo_bundle(self, _):
        self.event("bundles rolled back", self.roll_back)

    def damage_bundle(self, draw):
        if self.settled():
            self.event("bundles damaged", self.damage)
        else:
            self.deck.insert(0, self.damage_bundle)
            self.swap_bundle(draw)

    def roll_back(self):
        before = self.path("site/model.1")
        if not os.path.exists(before):
            return
        self.exchange(before)
        with open(self.path("site/model/manifest.json"), "rb") as file:
            manifest = file.read()
        for name in self.names:
            with open(self.path("frozen", name, "manifest.json"), "rb") as file:
                if file.read() == manifest:
                    self.bundle = name

    def damage(self):
        with open(self.path("site/model/step.trees"), "ab") as file:
            file.write(b" ")
        self.bundle_is = "damaged"

    def reconfigure(self, _):
        self.event("reconfigurations", self.tell)

    @staticmethod
    def tell():
        # From 23.11 on it is a restart: a new process, which is no child of this one.
        version = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True).stdout
        major, minor = map(int, re.search(r"(\d+)\.(\d+)", version).groups())
        if (major, minor) < (23, 11):
            subprocess.run(["scontrol", "reconfigure"], capture_output=True)

    # --- state in force --------------------------------------------------------------

    def settled(self):
        """Is the content of the files in force?"""
        if self.control:
            return True
        state = self.log.read()
        if self.conf_is == "gone":
            return state is INERT
        if self.conf_is == "broken":
            return True  # the previous state may be kept, or there was none
        return state is not INERT and state[0] == self.conf and \
            (self.bundle_is != "good" or state[1] == self.bundle)

    def settle(self):
        """Write good files, and wait until they are found."""
        with self.lock:
            self.install("shipped")
            self.use("enforce", True)
        end = time.time() + SETTLE_S
        while not self.settled():
            if time.time() > end:
                self.unexpected.append("a changed configuration was not found within %d s"
                                       % SETTLE_S)
                return
            time.sleep(0.2)

    def disturbed(self, begin, end):
        """Was the controller, or munge, stopped at that time?"""
        return any(b - 1 < end and begin < e + 30 for b, e, what in list(self.events)
                   if what in ("restarts", "kills", "munge stops"))


class Pulse(threading.Thread):
    """Samples the controller's process every second."""

    def __init__(self, cluster, progress):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.progress = progress
        self.samples = []  # (time, pid, bytes, descriptors, threads, jobs submitted)
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(1):
            pid = self.cluster.process.pid
            try:
                with open("/proc/%d/status" % pid) as file:
                    status = file.read()
                files = len(os.listdir("/proc/%d/fd" % pid))
            except OSError:
                continue
            rss = re.search(r"VmRSS:\s+(\d+) kB", status)
            if rss:
                self.samples.append((time.time(), pid, int(rss[1]) * 1024, files,
                                     int(re.search(r"Threads:\s+(\d+)", status)[1]),
                                     self.progress()))
