"""soak_run.py - the run of tests/live/soak: clients, faults, audit, verdict

usage: soak_run.py DIR TOP BUILD USER OPTION...

DIR is that of a private Slurm whose controller is not running. Prints a table; the status
is 1 if a check failed.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import argparse
import collections
import os
import pwd
import random
import re
import subprocess
import sys
import threading
import time

from soak_advice import OWN, Advice, Judge
from soak_cluster import INERT, Cluster, Pulse
from soak_jobs import Maker

QUEUE = 400          # held jobs that are kept; older ones are cancelled
AUDIT_S = 1.5
ONCE = 0.05          # share of submissions that are drawn only once
SHOWN = 20           # violations that are printed in full
# Growth of slurmctld that does not count as a leak; without the plugin it was 403
# (--control, 14000 jobs), and the record of a decision has up to a kilobyte.
GROWTH_MAX = 600     # bytes per submission
GROWTH_JOBS = 10000  # a process with fewer jobs is not judged, it still fills caches
PENDING = 0

# Answers that do not concern the job: the controller, or munge, was stopped.
AWAY = re.compile(
    r"Unable to contact slurm controller|Zero Bytes were transmitted|Socket timed out|"
    r"authentication|Authentication|Message receive failure|Connection|Unexpected message|"
    r"temporarily|standby|Transport endpoint|Communication|Header lengths|"
    r"send failure|Slurmd could not connect|Socket|munge", re.I)


def say(text):
    print(text, flush=True)


def encoded(text):
    if isinstance(text, str):
        text = text.encode()
    return "".join(chr(c) if 32 < c < 127 and c != 37 else "%%%02X" % c for c in text)


def decoded(text):
    return re.sub("%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), text)


class Job:
    """One submission and its results."""

    def __init__(self, number, template):
        self.number = number
        self.template = template
        self.begin = self.end = None
        self.id = None
        self.error = None
        self.message = None
        self.rows = {}
        self.cancelled = False
        self.lost = False
        self.seen = 0


class Client:
    """The program tests/live/crowd, as the user."""

    def __init__(self, run):
        self.process = subprocess.Popen(
            [run.crowd], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, encoding="latin-1", cwd=run.home,
            **run.as_user)

    def say(self, *words):
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError("crowd has ended")
        return line.rstrip("\n").split("\t")

    def submit(self, name, template):
        fields = {"name": name, "work_dir": "/tmp", "priority": "0", **template.fields}
        words = ["%s=%s" % item for item in fields.items() if item[1] is not None]
        words.append("script=" + encoded(template.script))
        if template.comment is not None:
            words.append("comment=" + encoded(template.comment))
        self.say("submit", name, *words, *(encoded(entry) for entry in template.entries))
        _, kind, number, text = self.hear()
        if kind == "error":
            return None, decoded(text), None
        return int(number), None, decoded(text)

    def jobs(self):
        """All rows, or None when the controller does not answer."""
        self.say("jobs")
        rows = []
        while True:
            kind, *words = self.hear()
            if kind == "end":
                return rows
            if kind == "failed":
                return None
            row = dict(word.split("=", 1) for word in words)
            rows.append({name: decoded(value) for name, value in row.items()})


class Run:
    def __init__(self, args):
        self.args = args
        self.crowd = os.path.join(args.dir, "crowd")
        self.home = os.path.join(args.dir, "home")
        user = pwd.getpwnam(args.user)
        self.as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [],
                        "env": {"PATH": os.environ["PATH"], "HOME": self.home,
                                "USER": args.user, "LOGNAME": args.user,
                                "SLURM_CONF": os.path.join(args.dir, "etc/slurm.conf")}}
        self.cluster = Cluster(args.dir, args, args.top, args.build)
        self.draw = random.Random(args.seed)
        self.maker = Maker(self.draw, self.home, user.pw_uid)
        self.templates = self.maker.all(max(80, min(400, args.jobs // 10)))
        self.planned = self.plan()
        self.jobs = []
        self.by_name = {}
        self.lock = threading.Lock()
        self.violations = []
        self.returned = 0
        self.audits = 0
        self.over = False

    def violation(self, text, job=None):
        self.violations.append(text)
        if len(self.violations) > SHOWN:
            return
        say("VIOLATION: %.3000s" % text)
        if job:
            template = job.template
            say("  job s%d, id %s, %s, template %s, submitted %.3f to %.3f"
                % (job.number, job.id, template.kind, template.number, job.begin, job.end))
            say("  options %s" % " ".join(template.options))
            say("  comment %.300r" % template.comment)
            say("  entries %.300r" % template.entries)
            say("  script %.300r" % template.script)
            say("  answer %.300r" % (job.message if job.error is None else job.error))

    # --- submitting ------------------------------------------------------------------

    def sbatch(self, name, template):
        options = ["sbatch", "--parsable", "-J", name]
        options += ["-H"] if template.held else []
        if template.comment is not None:
            options.append(b"--comment=" + template.comment)
        done = subprocess.run([*options, *template.options, template.path],
                              capture_output=True, cwd=self.home, **self.as_user)
        said = done.stderr.decode("latin-1")
        number = done.stdout.decode("latin-1").strip()
        if done.returncode == 0 and number.isdigit():
            return int(number), None, said
        failed = re.search(r"submission failed: (.*)", said)
        return None, failed[1] if failed else said.strip(), None

    def submit(self, client, name, template):
        if template.fields is None:
            return self.sbatch(name, template)
        return client.submit(name, template)

    def baseline(self):
        """The result of every template without the plugin."""
        client = Client(self)
        found = {}
        for template in self.templates:
            held, template.held = template.held, True
            fields = template.fields
            if fields is not None:
                template.fields = {**fields, "priority": "0"}
            number, error, _ = self.submit(client, "b%d" % template.number, template)
            template.held, template.fields = held, fields
            found[template.number] = error if number is None else {}
        for row in client.jobs() or []:
            found[int(row["name"][1:])][row["het_job_offset"]] = row
        for number, rows in found.items():
            if rows == {}:
                self.violation("template %d is not there without the plugin" % number)
            elif isinstance(rows, str) and AWAY.search(rows):
                self.violation("template %d: %s" % (number, rows))
        return found

    def next_job(self):
        with self.lock:
            number = len(self.jobs)
            if number >= self.args.jobs:
                return None
            template = self.maker.once(self.templates) if self.draw.random() < ONCE else \
                self.draw.choice(self.templates)
            job = Job(number, template)
            self.jobs.append(job)
            self.by_name["s%d" % number] = job
            return job

    def work(self):
        client = Client(self)
        while True:
            job = self.next_job()
            if job is None:
                return
            due = self.started + job.number * self.args.minutes * 60 / self.args.jobs
            time.sleep(max(0, due - time.time()))
            job.begin = time.time()
            job.id, job.error, job.message = self.submit(client, "s%d" % job.number,
                                                         job.template)
            job.end = time.time()
            with self.lock:
                self.returned += 1

    # --- faults ----------------------------------------------------------------------

    def plan(self):
        """The faults after so many submissions. The second half is for measuring
        memory: nothing ends the process there."""
        args = self.args
        ends = ["restart"] * args.restarts + ["kill"] * args.kills
        self.draw.shuffle(ends)
        plan = [(0.5 * (i + 1) / (len(ends) + 1), what) for i, what in enumerate(ends)]
        plan += [((i + 0.7) / args.munge_stops, "munge") for i in range(args.munge_stops)]
        return sorted(plan)

    def weather(self):
        draw = random.Random(self.args.seed + 1)
        plan = self.planned
        pause = min(6.0, self.args.minutes * 60 / 12)
        swap_at = 0
        while not self.over:
            time.sleep(0.2)
            self.cluster.check_alive()
            if plan and self.returned >= plan[0][0] * self.args.jobs:
                what = plan.pop(0)[1]
                say("%5.0f s, %d submitted: %s"
                    % (time.time() - self.started, self.returned, what))
                if what == "restart":
                    self.cluster.restart()
                elif what == "kill":
                    self.cluster.kill()
                else:
                    self.cluster.stop_munge(draw.uniform(2, 6))
            elif time.time() >= swap_at and not self.args.control:
                self.cluster.swap(draw)
                swap_at = time.time() + draw.uniform(0.2, 2) * pause

    # --- audit -----------------------------------------------------------------------

    def has_run(self):
        try:
            with open(os.path.join(self.home, "ran")) as file:
                return set(file.read().split())
        except FileNotFoundError:
            return set()

    def may_be_lost(self, job):
        """Slurm saves its jobs every few seconds; later ones are lost by a kill."""
        return any(job.begin < killed and job.end >= saved
                   for killed, saved in self.cluster.kills)

    def take_row(self, row, counts):
        job = self.by_name.get(row["name"])
        if job is None:
            self.violation("a job that was not submitted: %s" % row["name"])
            return
        key = row["het_job_offset"]
        counts[row["name"], key] += 1
        job.seen = self.audits
        if job.lost:
            self.violation("a job that was lost is back", job)
        if key not in job.rows:
            job.rows[key] = row
            if not self.args.control:  # it is needed later; there is time now
                self.advice.ask(job.template, self.cluster.log.states[-1][1])
            return
        before = job.rows[key]
        if int(row["job_state"]) & 0xFF == PENDING and job.template.held:
            changed = ["%s: %s -> %s" % (name, before[name], row[name])
                       for name in row if name not in OWN and row[name] != before[name]]
            if changed:
                self.violation("a job has changed later: " + "; ".join(changed), job)
                job.rows[key] = row

    def audit(self, client):
        """Does every expected job exist, once, and unchanged?"""
        self.cluster.log.read()
        with self.lock:
            due = [job for job in self.jobs if job.id is not None and job.end is not None
                   and not job.cancelled and not job.lost]
        rows = client.jobs()
        if rows is None:
            return False
        self.audits += 1
        counts = collections.Counter()
        for row in rows:
            self.take_row(row, counts)
        for (name, _), count in counts.items():
            if count > 1 and self.by_name[name].template.held:
                self.violation("%d jobs of one submission" % count, self.by_name[name])
        ran = None
        for job in due:
            if job.seen == self.audits:
                continue
            if not job.template.held:
                ran = ran if ran is not None else self.has_run()
                if str(job.id) in ran:
                    job.cancelled = True  # it has ended
                    continue
            job.lost = True
            if not self.may_be_lost(job):
                self.violation("an accepted job is lost", job)
        self.cancel(due)
        return True

    def check_ids(self):
        """Checks that the number that a client got is that of its job."""
        out = subprocess.run(["squeue", "-h", "-a", "-t", "all", "-o", "%A %i %j"],
                             capture_output=True, text=True)
        if out.returncode != 0:
            return
        for line in out.stdout.splitlines():
            number, full, name = line.split(None, 2)
            job = self.by_name.get(name)
            if job and job.id is not None and not job.lost and job.template.held and \
                    int(number) != job.id and not full.startswith("%d+" % job.id):
                self.violation("the job of this submission is %s" % full, job)

    def cancel(self, due):
        """Keep the queue short: cancel the oldest jobs after their check."""
        held = [job for job in due if job.rows and not job.lost]
        old = held[:max(0, len(held) - QUEUE)]
        if not old:
            return
        subprocess.run(["scancel", "-Q", *(str(job.id) for job in old)],
                       capture_output=True)
        for job in old:
            job.cancelled = True

    def watch(self):
        client = Client(self)
        while not self.over:
            time.sleep(AUDIT_S)
            if self.audit(client) and self.audits % 10 == 0:
                self.check_ids()
        for _ in range(200):
            if self.audit(client):
                self.check_ids()
                return
            time.sleep(0.5)
        self.violation("the controller does not answer at the end")

    # --- verdict ---------------------------------------------------------------------

    def check_answer(self, job):
        """Is the answer the same as without the plugin?"""
        base = self.base[(job.template.like or job.template).number]
        refused = isinstance(base, str)
        if job.error is None and refused:
            self.violation("accepted, but without the plugin: " + base, job)
        elif job.error is not None and job.error != base:
            if not AWAY.search(job.error):
                self.violation("refused: %s, but without the plugin %s"
                               % (job.error, base if refused else "it is not"), job)
                return "refused otherwise"
            calm = not self.cluster.disturbed(job.begin, job.end)
            return "unanswered in calm" if calm else "unanswered"
        return "accepted" if job.error is None else "refused"

    def check_rows(self, job):
        changed = False
        for row in job.rows.values():
            verdict, why = self.judge.judge(job, row)
            if verdict is None:
                self.violation("not what dnnest advises: " + " | ".join(why), job)
            elif any(name != "admin_comment" for name in verdict[1]):
                changed = True
        return changed

    def memory(self):
        """Of each process: its memory and descriptors, at the start and in tenths of its
        life. Only the second half of a long one shows whether they grow: before, the
        queue, jobs that Slurm has not purged yet and the allocator's arenas fill up."""
        by_pid = collections.defaultdict(list)
        for sample in self.pulse.samples:
            by_pid[sample[1]].append(sample)
        lines = []
        for samples in by_pid.values():
            jobs = samples[-1][5] - samples[0][5]
            if len(samples) < 20:
                continue
            tenths = [samples[len(samples) * i // 10:len(samples) * (i + 1) // 10]
                      for i in range(10)]
            size = [sorted(s[2] for s in part)[len(part) // 2] for part in tenths]
            files = [min(s[3] for s in part) for part in tenths]
            each = (size[9] - size[5]) / max(1, jobs * 0.4)
            lines.append("RSS %.1f MiB, then %s; %d to %d files; %d jobs, at last %.0f "
                         "bytes a job" % (samples[0][2] / 2**20,
                                          " ".join("%.1f" % (n / 2**20) for n in size),
                                          files[0], files[9], jobs, each))
            if jobs < GROWTH_JOBS:
                continue
            if files[9] > files[5] + 2:
                self.violation("descriptors of slurmctld grow: " + lines[-1])
            if each > GROWTH_MAX and not self.args.control:
                self.violation("slurmctld grows: " + lines[-1])
        return lines

    def check_decisions(self):
        """Checks that every line of the decision log is valid."""
        path = os.path.join(self.args.dir, "trace/decisions.jsonl")
        count = 0
        if os.path.exists(path):
            with open(path, "rb") as file:
                for line in file:
                    count += 1
                    if not re.fullmatch(rb'\{"time":[ -~]*\}\n', line) and \
                            not self.cluster.kills:
                        self.violation("a line of the decision log: %r" % line)
        return count

    def verdict(self):
        answers = collections.Counter()
        refusals = collections.Counter()
        kinds = collections.Counter()
        changed = 0
        log = self.cluster.log
        for text in self.cluster.unexpected + self.advice.failures + log.odd:
            self.violation(text)
        for job in self.jobs:
            answer = self.check_answer(job)
            answers[answer] += 1
            kinds[job.template.kind] += 1
            if job.error is not None:
                refusals[job.error] += 1
            changed += self.check_rows(job)
        seen = sum(1 for job in self.jobs if job.rows)
        unseen = sum(1 for job in self.jobs
                     if not job.rows and job.id is not None and not job.lost)
        made = sum(1 for job in self.jobs if job.rows and job.id is None)
        lost = sum(1 for job in self.jobs if job.lost)
        breaks = sum(self.cluster.counts[name] for name in
                     ("configurations broken", "bundles damaged", "restarts", "kills",
                      "reconfigurations", "bundles installed", "bundles rolled back"))
        if len(log.errors) > 2 * breaks + 2:
            self.violation("%d errors in the log for %d faults" % (len(log.errors), breaks))
        if not self.args.control and self.args.jobs >= 200 and changed < seen / 40:
            self.violation("only %d of %d jobs were changed: the soak sees nothing"
                           % (changed, seen))
        self.table(answers, refusals, kinds, changed, seen, unseen, made, lost)

    def table(self, answers, refusals, kinds, changed, seen, unseen, made, lost):
        log = self.cluster.log
        memory = self.memory()
        decisions = self.check_decisions()
        states = {state for _, state in log.states if state is not INERT}
        rows = [("submissions", "%d (%s)" % (len(self.jobs), ", ".join(
                    "%d %s" % (n, kind) for kind, n in kinds.most_common()))),
                ("accepted", answers["accepted"]),
                ("refused, as without the plugin", answers["refused"])]
        rows += [("unanswered, controller away", answers["unanswered"]),
                 ("... in calm weather", answers["unanswered in calm"]),
                 ("... and made nevertheless", made)]
        rows += [("  %s" % text, n) for text, n in refusals.most_common()]
        rows += [("checked against advise", seen), ("  changed", changed),
                 ("  as written", seen - changed),
                 ("ended before they were seen", unseen),
                 ("lost by the kill, not saved yet", lost),
                 ("advice asked for", len(self.advice.answers))]
        rows += list(self.cluster.counts.items())
        rows += [("states that were in force", len(states)),
                 ("times that another was", len(log.states) - 1),
                 ("decisions logged", decisions),
                 ("log lines of dnnest", "%d, %d errors, %d slow"
                  % (log.infos, len(log.errors), log.slow))]
        rows += [("process %d" % (i + 1), text) for i, text in enumerate(memory)]
        rows += [("audits of the queue", self.audits),
                 ("took", "%.0f s" % (time.time() - self.begun)),
                 ("unexpected", len(self.violations))]
        for name, value in rows:
            say("%-46s %s" % (name, value))

    def main(self):
        args = self.args
        self.begun = time.time()
        cluster = self.cluster
        cluster.prepare()
        cluster.use_plugin(False)
        cluster.start()
        self.base = self.baseline()
        say("%d templates on a controller without the plugin, %d of them refused"
            % (len(self.base), sum(isinstance(b, str) for b in self.base.values())))
        cluster.stop()
        cluster.forget_jobs()
        cluster.use_plugin(not args.control)
        cluster.start()
        self.advice = Advice(cluster)
        self.judge = Judge(cluster, self.advice, self.base)
        self.pulse = Pulse(cluster, lambda: self.returned)
        self.pulse.start()
        self.started = time.time()
        workers = [threading.Thread(target=self.work) for _ in range(args.clients)]
        others = [threading.Thread(target=work) for work in (self.weather, self.watch)]
        for thread in workers + others:
            thread.start()
        for thread in workers:
            thread.join()
        say("%5.0f s: all are submitted" % (time.time() - self.started))
        self.over = True
        others[0].join()
        if not args.control:
            cluster.settle()
        others[1].join()
        self.pulse.over.set()
        cluster.check_alive()
        cluster.log.read()
        cluster.stop()
        self.advice.gently = []
        self.verdict()
        return 1 if self.violations else 0


def arguments():
    parser = argparse.ArgumentParser(prog="soak", add_help=False)
    for name in ("dir", "top", "build", "user"):
        parser.add_argument(name)
    for name, number in (("jobs", 20000), ("clients", 4), ("seed", 1), ("restarts", 2),
                         ("kills", 1), ("munge-stops", 4)):
        parser.add_argument("--" + name, type=int, default=number)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--control", action="store_true")
    args = parser.parse_args()
    if args.minutes is None:
        args.minutes = max(0.4, args.jobs / 2000)
    if min(args.jobs, args.clients) < 1 or args.minutes <= 0:
        parser.error("expected at least one job, one client and some time")
    return args


if __name__ == "__main__":
    sys.exit(Run(arguments()).main())
