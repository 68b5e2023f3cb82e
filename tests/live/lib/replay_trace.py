#!/usr/bin/env python3
# replay_trace.py - jobs of a trace, scaled to a small cluster and submitted at their times
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: replay_trace.py draw TRACE JOBS SPAN LOAD SEED GPUS START PER_STEP_V100 PER_STEP_A100 SHARE
       replay_trace.py submit COMMAND...
       replay_trace.py compare FILE...

draw   takes JOBS consecutive jobs of a table submit_s,duration_s,gpus and prints a line for
       each: time of submission, GPU type that is requested, number of GPUs, steps, and the
       seconds that it runs on v100 and on a100, of which START are no steps. Times between
       submissions and run times are scaled, each by one factor: the submissions take SPAN
       seconds, and the jobs need LOAD of the GPUs in that time, on the types that they
       request. Run times of a trace have five decades, too many for a small cluster: their
       square roots are taken, and what is scaled is cut to START + 5 s .. START * 5. GPUs are
       cut to 1, 2 or 4. A share of the jobs, SHARE, requests a100.
compare reads what sacct prints of each cluster, the first without dnnest, and prints the
       means in seconds, by the type that jobs asked for, and last the time from submission
       to end per thousand of the first one.
submit reads such lines on stdin and runs COMMAND with the other columns at each time.
"""
import csv
import datetime
import os
import random
import statistics
import subprocess
import sys
import time

def cut(seconds, start):
    return min(max(seconds, start + 5), start * 5)


def whole_nodes(gpus):
    return 1 if gpus <= 1 else 2 if gpus == 2 else 4


def scale_of(rows, start, target):
    """The factor of the run times with which the jobs need 'target' GPU seconds."""
    low, high = 0.0, 100.0
    for _ in range(60):
        middle = (low + high) / 2
        need = sum(cut(d * middle, start) * g for _, d, g in rows)
        low, high = (middle, high) if need < target else (low, middle)
    return low


def draw(trace, jobs, span, need, seed, start, per_step, share):
    with open(trace, encoding="ascii") as file:
        table = [(float(r["submit_s"]), float(r["duration_s"]) ** 0.5, int(r["gpus"]))
                 for r in csv.DictReader(file)]
    chance = random.Random(seed)
    first = chance.randrange(len(table) - jobs)
    rows = [(s, d, whole_nodes(g)) for s, d, g in table[first:first + jobs]]
    begin, end = rows[0][0], rows[-1][0]
    factor = scale_of(rows, start, need)
    for submit, duration, gpus in rows:
        asked = "a100" if chance.random() < share else "v100"
        steps = max(1, round((cut(duration * factor, start) - start) / per_step[asked]))
        print(f"{(submit - begin) * span / (end - begin):.2f} {asked} {gpus} {steps} "
              f"{start + steps * per_step['v100']:.1f} {start + steps * per_step['a100']:.1f}")


def submit(command):
    begin = time.monotonic()
    for line in sys.stdin:
        at, *columns = line.split()
        time.sleep(max(0, begin + float(at) - time.monotonic()))
        subprocess.run([*command, *columns], check=True)


def seconds(text):
    return datetime.datetime.fromisoformat(text).timestamp()


def compare(files):
    first = {}
    for name in files:
        with open(name, encoding="ascii") as file:
            rows = [line.split("|") for line in file]
        for asked in ("all", "a100", "v100"):
            mine = [r for r in rows if r[1] == "COMPLETED" and asked in ("all", r[0].split("/")[0])]
            waits = [seconds(r[3]) - seconds(r[2]) for r in mine]
            ends = statistics.mean([seconds(r[4]) - seconds(r[2]) for r in mine])
            on_v100 = sum(r[5].startswith("v") for r in mine) / len(mine)
            last = max(seconds(r[4]) for r in mine) - min(seconds(r[2]) for r in mine)
            print(f"{os.path.basename(name).split('.')[0]} {asked} jobs {len(mine)} "
                  f"wait {statistics.mean(waits):.1f} median {statistics.median(waits):.1f} "
                  f"end {ends:.1f} on_v100 {on_v100:.2f} all_after {last:.0f} "
                  f"per_mille {1000 * ends / first.setdefault(asked, ends):.0f}")


def main(arguments):
    if arguments[:1] == ["draw"] and len(arguments) == 11:
        trace, jobs, span, load, seed, gpus, start, v100, a100, share = arguments[1:]
        draw(trace, int(jobs), float(span), float(load) * int(gpus) * float(span), int(seed),
             float(start), {"v100": float(v100), "a100": float(a100)}, float(share))
    elif arguments[:1] == ["compare"] and len(arguments) > 1:
        compare(arguments[1:])
    elif arguments[:1] == ["submit"] and len(arguments) > 1:
        submit(arguments[1:])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
