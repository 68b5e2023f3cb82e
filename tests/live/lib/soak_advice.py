"""soak_advice.py - the job that tests/live/soak expects, compared with the job

A controller without the plugin shows the job without dnnest. The expected job is that
one with the edits of 'dnnest advise' under one of the states that were in force when it
was submitted.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import concurrent.futures
import json
import re
import subprocess
import threading

from soak_cluster import INERT

# Fields of the job that an edit of the same name, or another, sets.
EDITED = {"time_limit": "time_limit", "time_min": "time_min",
          "cpus_per_task": "cpus_per_task", "mem_per_node": "pn_min_memory",
          "tres_per_job": "tres_per_job", "tres_per_node": "tres_per_node",
          "tres_per_socket": "tres_per_socket", "tres_per_task": "tres_per_task",
          "cpus_per_tres": "cpus_per_tres", "partition": "partition",
          "features": "features", "admin_comment": "admin_comment"}
# Slurm computes these from other fields: lower than without dnnest, or the same.
DERIVED = ("num_cpus", "pn_min_cpus")
# Slurm's estimate of the number of nodes; the requested number is in tres_req_str.
GUESSED = ("num_nodes",)
# The rest of an edit is in no field of the job.
UNSEEN = ("environment", "min_cpus", "pn_min_cpus", "prefer")
# Slurm changes the other fields when the job runs.
LASTING = ("admin_comment", "comment", "cpus_per_task", "features", "num_tasks",
           "partition", "pn_min_memory", "time_limit", "tres_per_job", "tres_per_node",
           "user_id")
# Fields that differ between any two jobs.
OWN = ("name", "job_state", "tres_req_str")


def nodes_of(row):
    """The requested number of nodes, in a text like cpu=4,mem=5000M,node=1,billing=4."""
    found = re.search(r"\bnode=(\d+)", row["tres_req_str"])
    return found and found[1]


def gpus_of(row):
    """The requested number of GPUs of any type, in each of the four ways."""
    return [sum(int(n or 1) for n in
                re.findall(r"gpu(?::[a-z]\w*)?(?:[:=](\d+))?(?:,|$)", row["tres_per_" + what]))
            for what in ("job", "node", "socket", "task")]


class Advice:
    """Answers of 'dnnest advise', each requested once."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.answers = {}
        self.lock = threading.Lock()
        self.failures = []
        self.gently = ["nice"]  # during submissions
        self.pool = concurrent.futures.ThreadPoolExecutor(2)

    def ask(self, template, state):
        """A future of (edits, the parts of what the user gets)."""
        key = (template, state)
        with self.lock:
            if key not in self.answers:
                self.answers[key] = self.pool.submit(self.run, template, state)
            return self.answers[key]

    def run(self, template, state):
        if state is INERT or not template.advice:
            return {}, []
        command = [*self.gently, self.cluster.dnnest, "advise", "--json",
                   "--conf=" + self.cluster.frozen_conf(state), "--def-mem-per-cpu=5000",
                   *template.options]
        # slurmctld fills in the default partition before the plugin sees the job.
        if "partition" not in (template.fields or {}):
            command.append("--partition=gpu")
        if template.comment is not None:
            command.append(b"--comment=" + template.comment)
        done = subprocess.run([*command, template.path], capture_output=True)
        if done.returncode == 2:  # an error: job unchanged, its user gets a message
            return {}, [] if state[0] == "observe" else ["; job submitted as written"]
        if done.returncode not in (0, 1):
            self.failures.append("dnnest advise ended with %d: %r: %r"
                                 % (done.returncode, command, done.stderr))
            return {}, []
        answer = json.loads(done.stdout)
        edits = {edit["field"]: "" if edit["new"] is None else str(edit["new"])
                 for edit in answer["edits"]}
        return edits, self.lines(answer, state)

    @staticmethod
    def lines(answer, state):
        """What the user gets of an answer, a part of each line."""
        if state[0] == "observe" or answer["decision"]["verdict"] == "control":
            return []
        message = [answer["message"]] if answer["message"] else []
        return message + ["warning: " + warning["text"] for warning in answer["warnings"]]


class Judge:
    def __init__(self, cluster, advice, baseline):
        self.cluster = cluster
        self.advice = advice
        self.baseline = baseline  # per template: {het offset: fields} or an error

    def without(self, template, offset):
        """The job's fields on a controller without the plugin; None: it was refused."""
        base = self.baseline[(template.like or template).number]
        if isinstance(base, str):
            return None
        fields = dict(base[offset])
        if template.like:
            fields["comment"] = template.comment.decode("latin-1")
        return fields

    def differences(self, template, row, edits):
        """The differences between the job and the expected one, as text; empty: none."""
        offset = row["het_job_offset"]
        fields = self.without(template, offset)
        if fields is None:
            return ["Slurm refuses it without the plugin"]
        for edit, value in edits.items():
            if edit in EDITED:
                fields[EDITED[edit]] = value
            elif edit not in UNSEEN:
                return ["an edit of %s is not known to the soak" % edit]
        names = [name for name in fields if name not in OWN and
                 (template.held or name in LASTING)]
        found = []
        for name in names:
            if edits and name in GUESSED or template.het and name == "admin_comment":
                continue
            if edits and name in DERIVED:
                if int(row[name]) > int(fields[name]):
                    found.append("%s: %s is above %s" % (name, row[name], fields[name]))
            elif row[name] != fields[name]:
                found.append("%s: %s, expected %s" % (name, row[name] or "none",
                                                      fields[name] or "none"))
        asked = self.without(template, offset)
        if gpus_of(row) != gpus_of(asked):
            found.append("GPUs: %s, expected %s" % (gpus_of(row), gpus_of(asked)))
        if template.held and nodes_of(row) != nodes_of(asked):
            found.append("nodes: %s, expected %s" % (nodes_of(row), nodes_of(asked)))
        return found

    @staticmethod
    def wrong_words(job, state, lines):
        """Checks that the user got the expected lines, and no other."""
        said = job.message
        if said is None or state is not INERT and not job.template.advice:
            return []
        if said.count("dnnest: ") != len(lines) or any(line not in said for line in lines):
            return ["its user got '%s', expected '%s'" % (said, "; ".join(lines))]
        return []

    def judge(self, job, row):
        """(state, edits) that explain the job, or None and the reason."""
        states = [INERT] if self.cluster.control else \
            self.cluster.log.in_force(job.begin, job.end)
        if job.template.kind in ("plain", "off"):
            states = [INERT]
        told = []
        for state in states:
            edits, lines = self.advice.ask(job.template, state).result()
            why = self.differences(job.template, row, edits) or \
                self.wrong_words(job, state, lines)
            if not why:
                return (state, edits), told
            told.append("%s: %s" % ("nothing in force" if state is INERT else
                                    "-".join(state), "; ".join(why)))
        return None, told
