#!/usr/bin/env python3
# replay_trace.py - jobs of a trace, scaled to a small cluster and submitted at their times
#
# SPDX-License-Identifier: GPL-2.0-or-later
"""usage: replay_trace.py draw TRACE JOBS SPAN LOAD SEED GPUS START PER_STEP_V100 PER_STEP_A100
       replay_trace.py submit COMMAND...

draw   takes JOBS consecutive jobs of a table submit_s,duration_s,gpus and prints a line for
       each: time of submission, GPU type that is requested, number of GPUs, steps, and the
       seconds that it runs on v100 and on a100, of which START are no steps. Times between
       submissions and run times are scaled, each by one factor: the submissions take SPAN
       seconds, and the jobs need LOAD of the GPUs in that time, on the types that they
       request. Run times of a trace have five decades, too many for a small cluster: their
       square roots are taken, and what is scaled is cut to START + 5 s .. START * 5. GPUs are
       cut to 1, 2 or 4. Six in ten jobs request a100.
submit reads such lines on stdin and runs COMMAND with the other columns at each time.
"""
import csv
import random
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


def draw(trace, jobs, span, need, seed, start, per_step):
    with open(trace, encoding="ascii") as file:
        table = [(float(r["submit_s"]), float(r["duration_s"]) ** 0.5, int(r["gpus"]))
                 for r in csv.DictReader(file)]
    chance = random.Random(seed)
    first = chance.randrange(len(table) - jobs)
    rows = [(s, d, whole_nodes(g)) for s, d, g in table[first:first + jobs]]
    begin, end = rows[0][0], rows[-1][0]
    factor = scale_of(rows, start, need)
    for submit, duration, gpus in rows:
        asked = "a100" if chance.random() < 0.6 else "v100"
        steps = max(1, round((cut(duration * factor, start) - start) / per_step[asked]))
        print(f"{(submit - begin) * span / (end - begin):.2f} {asked} {gpus} {steps} "
              f"{start + steps * per_step['v100']:.1f} {start + steps * per_step['a100']:.1f}")


def submit(command):
    begin = time.monotonic()
    for line in sys.stdin:
        at, *columns = line.split()
        time.sleep(max(0, begin + float(at) - time.monotonic()))
        subprocess.run([*command, *columns], check=True)


def main(arguments):
    if arguments[:1] == ["draw"] and len(arguments) == 10:
        trace, jobs, span, load, seed, gpus, start, v100, a100 = arguments[1:]
        draw(trace, int(jobs), float(span), float(load) * int(gpus) * float(span), int(seed),
             float(start), {"v100": float(v100), "a100": float(a100)})
    elif arguments[:1] == ["submit"] and len(arguments) > 1:
        submit(arguments[1:])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
