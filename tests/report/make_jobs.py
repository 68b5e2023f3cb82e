#!/usr/bin/env python3
"""make_jobs.py N [SEED [harm]] - a CSV table of N made-up finished jobs, for tests of reports

Users describe themselves honestly or not, ask for limits of several times the run time,
and repeat the applications that they have. One job in ten is of the control group. With
"harm" there are 66 more jobs, of which seven were harmed.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import csv
import math
import random
import sys

TYPES = [("a100", 8), ("v100", 4), ("h100", 8)]
MODELS = ["resnet50", "bert_large", "gpt2", "unet3d", "vit_b_16", "dlrm"]
COLUMNS = """cluster raw_id submit_s start_s job user user_name account partition name
eligible_s end_s state outcome nodes host cpus gpu gpus limit_s mode verdict why
asked_limit_s asked_gpu asked_cpus set_limit_s extensions rescued spec app work_unit likely_s
bound_s bound_bp p95_s history_runs cpu_s gpu_utilisation power_w
asked_gpus asked_mem_gb mem_gb set_gpu set_mem_gb said_slow""".split()
START = 1767571200  # 2026-01-05


def job_of(draw, number, total, app, seen):
    end = START + 26 * 604800 * number // total + draw.randrange(3600)
    ran = max(30, int(app["time"] * draw.lognormvariate(0, 0.12)))
    kind = draw.random()
    history = seen if seen >= 2 else 0
    spread = 0.14 if history else 0.45
    bias = 0 if history else app["hidden"]
    likely = app["time"] * math.exp(bias + draw.gauss(0, 0.05))
    bound, p95 = likely * math.exp(1.9 * spread), likely * math.exp(1.75 * spread)
    asked = app["asked"]
    row = {"cluster": "alpha", "raw_id": number + 1, "job": number + 1, "nodes": 1,
           "user": 1000 + app["user"], "user_name": f"user{app['user']:02d}",
           "account": f"group{app['user'] % 5}", "partition": "gpu", "name": app["name"],
           "gpu": app["gpu"], "gpus": app["gpus"], "cpus": app["gpus"] * 16,
           "asked_cpus": app["gpus"] * 16, "host": f"n{number % 40:02d}",
           "state": "COMPLETED", "outcome": "completed", "extensions": 0, "rescued": 0,
           "cpu_s": ran * app["gpus"] * app["busy"], "limit_s": asked}
    wait = draw.expovariate(1 / (60 + asked / 12))
    if kind < 0.62:
        row.update(mode="enforce", verdict="change", asked_limit_s=asked)
        limit = min(asked, max(1800, int(bound * 1.1 / 60 + 1) * 60))
        row.update(set_limit_s=limit)
        if ran > limit * 0.95:
            row["extensions"] = 1
            limit = min(asked, int(ran * 1.2))
        row["limit_s"] = limit
        wait = draw.expovariate(1 / (60 + limit / 12))
    elif kind < 0.70:
        row.update(mode="enforce", verdict="control", asked_limit_s=asked,
                   set_limit_s=int(bound * 1.1))
    elif kind < 0.78:
        row.update(mode="enforce", verdict="keep", asked_limit_s=asked)
    elif kind < 0.82:
        row.update(mode="enforce", verdict="abstain", asked_limit_s=asked,
                   why=f"confidence 0.{draw.randrange(10, 30)} is below MinConfidence 0.30")
    if "verdict" in row and row["verdict"] != "abstain":
        row.update(likely_s=f"{likely:.0f}", bound_s=f"{bound:.0f}", p95_s=f"{p95:.0f}",
                   bound_bp=9700, history_runs=history, app=app["name"], work_unit="run",
                   spec=f"model={app['model']},batch=64,epochs=3")
    if ran > row["limit_s"]:
        ran = row["limit_s"]
        row.update(state="TIMEOUT", outcome="limit_user")
    elif draw.random() < 0.05:
        ran = max(5, int(ran * draw.random() * 0.5))
        row.update(state="FAILED", outcome="failed" if ran >= 300 else "failed_early")
    if draw.random() < 0.5:
        row.update(gpu_utilisation=f"{app['work']:.2f}", power_w=200 + 150 * app["work"])
    row["start_s"], row["end_s"] = end - ran, end
    row["eligible_s"] = row["submit_s"] = int(row["start_s"] - wait)
    return row


def harmed(day=86400, hour=3600):
    """Runs of two applications as requested, then changed ones, and two jobs beside one."""
    rows = []

    def add(number, at, ran, **more):
        row = {"cluster": "alpha", "raw_id": number, "job": number, "user": 1050,
               "user_name": "user50", "account": "group1", "partition": "gpu", "nodes": 1,
               "app": "hurt", "name": "hurt", "gpu": "a100", "gpus": 4, "cpus": 32,
               "asked_cpus": 32, "asked_gpu": "a100", "asked_gpus": 4, "host": f"h{number}",
               "submit_s": START + at, "eligible_s": START + at, "start_s": START + at,
               "end_s": START + at + ran, "limit_s": 10 * hour, "asked_limit_s": 10 * hour,
               "mode": "enforce", "verdict": "keep", "state": "COMPLETED",
               "outcome": "completed", "extensions": 0, "rescued": 0, "work_unit": "run"}
        row.update(more)
        row["start_s"] += row.pop("wait", 0)
        row["end_s"] = row["start_s"] + ran
        rows.append(row)

    moved = {"verdict": "change", "gpu": "v100", "set_gpu": "v100", "said_slow": 1.5}
    for i in range(24):
        add(8000 + i, i * day, 2 * hour + i)
        add(8100 + i, i * day, hour, app="breaks", name="breaks")
    add(9001, 30 * day, 4 * hour, verdict="change", limit_s=4 * hour, set_limit_s=4 * hour,
        state="TIMEOUT", outcome="limit_ours")
    add(9002, 32 * day, hour, verdict="change", set_mem_gb=20, mem_gb=20, asked_mem_gb=64,
        state="OUT_OF_MEMORY", outcome="out_of_memory")
    add(9003, 50 * day, 4 * hour, **moved)
    add(9004, 52 * day, 3 * hour - 60, **moved)  # as was said
    add(9005, 70 * day, 2 * hour, wait=3 * hour, **moved)
    add(8200, 70 * day + hour, 3 * hour, wait=60, app="later")  # came later, started before
    add(9006, 90 * day, 5 * hour, wait=3 * hour, **moved)
    add(8201, 90 * day + hour, 3 * hour, wait=60, app="later")
    for i in (7, 8):
        add(9000 + i, (100 + i) * day, 600, verdict="change", set_limit_s=hour,
            limit_s=hour, app="breaks", name="breaks", state="FAILED", outcome="failed")
    # 2 GPUs and 112 of 128 CPUs were requested, 16 are left: of those with 32 CPUs none
    # fits beside, of those with 8 both.
    beside = {"host": "h1", "gpus": 2, "asked_gpus": 2, "app": "beside"}
    add(8300, 120 * day, 10 * hour, **beside, verdict="change", cpus=16, asked_cpus=112)
    for i in (1, 2):
        add(8300 + i, 120 * day + hour, 4 * hour, **beside)
    for i in (3, 4):
        add(8300 + i, 120 * day + hour, 4 * hour, **{**beside, "gpus": 1, "cpus": 8})
    return rows


def main():
    total = int(sys.argv[1])
    draw = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    apps = []
    for i in range(60):
        gpu, most = draw.choice(TYPES)
        time = draw.lognormvariate(math.log(2.5 * 3600), 1.0)
        ask = min(7 * 86400, time * draw.choice([1.2, 2, 3, 5, 8, 12]))
        apps.append({"name": f"train-{i}", "user": int(abs(draw.gauss(0, 6))) % 20,
                     "gpu": gpu, "gpus": draw.choice([g for g in (1, 1, 2, 4, 8) if g <= most]),
                     "time": time, "asked": int(ask / 3600 + 1) * 3600, "hidden": draw.gauss(0, 0.35),
                     "busy": draw.uniform(0.8, 9), "work": draw.uniform(0.2, 0.95),
                     "model": draw.choice(MODELS)})
    seen = [0] * len(apps)
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for number in range(total):
        i = min(len(apps) - 1, int(draw.paretovariate(0.7) - 1))
        row = job_of(draw, number, total, apps[i], seen[i] if number > total // 3 else 0)
        seen[i] += 1
        out.writerow([row.get(name, "") for name in COLUMNS])
    for row in harmed() if sys.argv[3:] == ["harm"] else []:
        out.writerow([row.get(name, "") for name in COLUMNS])


main()
