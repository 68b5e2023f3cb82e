"""soak_jobs.py - the jobs of tests/live/soak: drawn from a seed, good, unusual and hostile

A template is a request in one of the forms that users have, with one carrier of a
description. It is submitted by the client of libslurm (crowd), as fields, or by sbatch,
as options; 'options' are those of 'dnnest advise' for the same job.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import json
import os

GOOD, ODD, HOSTILE, PLAIN, OFF = "good", "odd", "hostile", "plain", "off"
DAY = {"time_limit": "1440"}
ONE = {"min_nodes": "1", "max_nodes": "1", "num_tasks": "1", "min_cpus": "1"}
ESCAPE = b"\x1b]0;gone\x07\x1b[31m\nslurmctld: error: forged \"},\\ \x9b31m\xc3"
# Slurm accepts comments below this length.
COMMENT_MAX = 1024


def cpus(n, tasks=1):
    return {"cpus_per_task": str(n), "min_cpus": str(n * tasks), "pn_min_cpus": str(n)}


# Options of sbatch and the fields that they fill. Fields that are not the same in all
# versions of Slurm are left to sbatch.
FORMS = [
    (["--gres=gpu:a100:4", "-c80", "-N1", "-n1", "-t1-0"],
     {**ONE, **cpus(80), **DAY, "tres_per_node": "gres:gpu:a100:4"}),
    (["--gres=gpu:a100:2", "-c40", "-N1", "-n1", "-t12:00:00", "--mem=100000"],
     {**ONE, **cpus(40), "time_limit": "720", "pn_min_memory": "100000",
      "tres_per_node": "gres:gpu:a100:2"}),
    (["--gpus=a100:4", "-c60", "-N1", "-n1", "-t2-0", "--mem=256000"],
     {**ONE, **cpus(60), "time_limit": "2880", "pn_min_memory": "256000",
      "tres_per_job": "gres:gpu:a100:4"}),
    (["--gpus=v100:1", "-c24", "-N1", "-n1", "-t20:00:00", "--mem-per-cpu=2000"],
     {**ONE, **cpus(24), "time_limit": "1200", "tres_per_job": "gres:gpu:v100:1",
      "pn_min_memory": str(2000 | 1 << 63)}),
    (["--gres=gpu:4", "-c80", "-N1", "-n1", "-t1-0"],
     {**ONE, **cpus(80), **DAY, "tres_per_node": "gres:gpu:4"}),
    (["--gpus-per-node=a100:2", "-N2", "-n2", "-c20", "-t1-0", "--mem=64000"],
     {**cpus(20, 2), **DAY, "min_nodes": "2", "max_nodes": "2", "num_tasks": "2",
      "pn_min_memory": "64000", "tres_per_node": "gres:gpu:a100:2"}),
    (["--gpus-per-node=a100:4", "--cpus-per-gpu=20", "-N1", "-n1", "-t1-0",
      "--mem=64000"],
     {**ONE, **DAY, "pn_min_memory": "64000", "tres_per_node": "gres:gpu:a100:4",
      "cpus_per_tres": "gres:gpu:20"}),
    (["--gres=gpu:4", "-pgpu-a100", "-c80", "-N1", "-n1", "-t1-0", "--mem=64000"],
     {**ONE, **cpus(80), **DAY, "pn_min_memory": "64000", "partition": "gpu-a100",
      "tres_per_node": "gres:gpu:4"}),
    (["--gres=gpu:4", "-Campere", "-N1", "-n1", "-t1-0", "--mem=64000"],
     {**ONE, **DAY, "pn_min_memory": "64000", "features": "ampere",
      "tres_per_node": "gres:gpu:4"}),
    (["--gres=gpu:a100:4", "-wa1", "-c80", "-N1", "-n1", "-t1-0"],
     {**ONE, **cpus(80), **DAY, "req_nodes": "a1", "tres_per_node": "gres:gpu:a100:4"}),
    (["--gres=gpu:a100:4", "-c80", "-N1", "-n1", "-t1-0", "--array=1-3"],
     {**ONE, **cpus(80), **DAY, "array_inx": "1-3",
      "tres_per_node": "gres:gpu:a100:4"}),
    (["--gres=gpu:a100:1", "-c8", "-N1", "-n1", "-t1-0", "--time-min=13:00:00"],
     {**ONE, **cpus(8), **DAY, "time_min": "780", "tres_per_node": "gres:gpu:a100:1"}),
    (["--gres=gpu:a100:4", "-c80", "-N1", "-n1", "-tUNLIMITED"],
     {**ONE, **cpus(80), "time_limit": str(0xFFFFFFFF),
      "tres_per_node": "gres:gpu:a100:4"}),
    (["--gres=gpu:a100:4", "-c80", "-N1", "-n1"],
     {**ONE, **cpus(80), "tres_per_node": "gres:gpu:a100:4"}),
    (["-c4", "-N1", "-n1", "-t60"], {**ONE, **cpus(4), "time_limit": "60"}),
    # Resources that no node has.
    (["--gres=gpu:h900:4", "-N1", "-n1", "-t60"],
     {**ONE, "time_limit": "60", "tres_per_node": "gres:gpu:h900:4"}),
    (["--gres=gpu:a100:4", "-c80", "-N1", "-n1", "-t1-0", "-pdebug"],
     {**ONE, **cpus(80), **DAY, "partition": "debug",
      "tres_per_node": "gres:gpu:a100:4"}),
    (["--gres=gpu:a100:4", "-c80", "-N1", "-n1", "-t1-0", "-Cquantum"],
     {**ONE, **cpus(80), **DAY, "features": "quantum",
      "tres_per_node": "gres:gpu:a100:4"}),
]

# Forms that only sbatch creates.
SBATCH_FORMS = [
    "--gres=gpu:a100:4 -t 1-0 --mem=256000",
    "--gres=gpu:a100:1,gpu:v100:1 -t 1-0",
    "--gpus-per-task=a100:1 -N 1 -n 4 -c 20 -t 1-0 --mem=64000",
    "--gpus-per-socket=a100:2 --sockets-per-node=2 -c 80 -t 1-0 --mem=64000",
    "--gpus=a100:4 --gpus-per-node=a100:2 -t 1-0 --mem=64000",
    "--gpus=a100:4 --cpus-per-gpu=20 -N 1 -t 1-0 --mem=64000",
    "--gres=gpu:a100:4 -c 80 -t 1-0 --mem-per-gpu=60000",
    "--gres=gpu:a100:4 -c 80 -t 1-0 --mem=0",
    "--gres=gpu:a100:4 -N 2 --ntasks-per-node=4 -c 20 -t 1-0 --mem=64000",
    "--gpus=a100:4 --ntasks-per-gpu=1 -N 1 -c 20 -t 1-0 --mem=64000",
    "--gres=gpu:a100:1 -N 1-2 -t 1-0 --mem=64000",
    "--gres=gpu:a100:4 -c 80 --mincpus=90 -t 1-0 --mem=64000",
    "--gres=gpu:a100:4 -c 80 --exclusive -t 1-0 --mem=64000",
    "--gres=gpu:a100:4 -p gpu,gpu-a100 -t 1-0 --mem=64000",
    "--gres=gpu:a100:4 -C ib&ampere -p gpu-a100 -t 1-0 --mem=64000",
    "--gres=gpu:4 -C ampere|volta -t 1-0 --mem=64000",
    "--gres=gpu:a100:4 -c 80 -t 1-0 --array=1-4%2 --mem=64000",
]
HET = ["--gres=gpu:a100:4", "-t1-0", "--mem=64000", ":", "--gres=gpu:a100:2", "-c40",
       "--mem=64000"]
# Small, and end immediately; they write their number.
RUNNING = (["--gres=gpu:1", "-c2", "-N1", "-n1", "-t90", "--mem=1000"],
           {**ONE, **cpus(2), "time_limit": "90", "pn_min_memory": "1000",
            "tres_per_node": "gres:gpu:1", "priority": None})

NETWORKS = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "densenet121", "unet",
            "vit_b_16", "bert_base", "gpt2", "t5_small", "dcgan", "efficientnet_b0"]
WRONG = ["colour=red", "batch=-4", "batch=0", "batch=99999999999999999999",
         "epochs=nan", "epochs=1e999", "steps=0x7fffffff", "precision=fp7",
         "model=nosuchnet", "gpus=0", "gpus=1000000", "layers=-1", "=", "batch",
         "batch=64,batch=32", "tp=3,pp=7", "deadline=yesterday", "image=0x0x0x0",
         "seq_len=1e18", "optimizer=", "dataset=imagenot", "samples=-1", "app=" + "x" * 70,
         "objective=fame", "power_limit=1", "workers=99999", "classes=4294967297"]


class Template:
    """One thing to submit; 'advice': 'dnnest advise' can predict its result."""

    def __init__(self, kind, options, fields=None):
        self.kind = kind
        self.options = list(options)
        self.fields = None if fields is None else dict(fields)
        self.entries = []
        self.script = b"#!/bin/sh\ntrue\n"
        self.comment = None
        self.advice = True
        self.het = False
        self.held = True
        self.number = None
        self.path = None
        self.like = None  # template with the same fields, for one that is drawn once

    def carry_comment(self, text):
        self.comment = text


def keys_of(draw):
    """A valid description."""
    keys = {"model": draw.choice(NETWORKS), "batch": draw.choice([1, 8, 32, 64, 128]),
            "precision": draw.choice(["fp32", "fp16", "bf16"])}
    if draw.random() < 0.5:
        keys["dataset"] = "imagenet"
        keys["epochs"] = draw.choice([1, 5, 20, 90])
    else:
        keys["steps"] = draw.choice([100, 20000, 500000])
    for key, values in (("optimizer", ["adam", "momentum"]), ("workers", [2, 8]),
                        ("input", ["synthetic"]), ("checkpointing", ["full"])):
        if draw.random() < 0.2:
            keys[key] = draw.choice(values)
    return keys


def text_of(keys, separator=","):
    return separator.join("%s=%s" % item for item in keys.items())


def sidecar_of(keys):
    return json.dumps({"dnnest": 1, "spec": keys}, separators=(",", ":"))


def junk(draw, length):
    return bytes(draw.choice([draw.randrange(1, 256), draw.randrange(32, 127)])
                 for _ in range(length))


def mutated(draw, text):
    """A description with some bytes changed."""
    text = bytearray(text)
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(text))
        how = draw.randrange(4)
        if how == 0:
            text[at] = draw.randrange(1, 256)
        elif how == 1:
            del text[at]
        elif how == 2:
            text[at:at] = junk(draw, draw.randrange(1, 5))
        else:
            text[at:at] = text[at:at + draw.randrange(1, 30)]
    return bytes(text)


class Maker:
    """Draws templates, and writes the files that they need into 'home'."""

    def __init__(self, draw, home, owner):
        self.draw = draw
        self.home = home
        self.owner = owner
        self.files = 0

    def write(self, content, suffix):
        self.files += 1
        path = os.path.join(self.home, "f%d.%s" % (self.files, suffix))
        with open(path, "wb") as file:
            file.write(content)
        os.chown(path, self.owner, -1)
        return path

    def carry(self, template, keys):
        """Describe 'template' by 'keys', with one of the carriers."""
        how = self.draw.choice(["comment", "comment", "script", "option", "sidecar",
                                "both"])
        text = text_of(keys)
        if how in ("comment", "both"):
            around = self.draw.choice(["%s", "ticket:4711 %s", "%s;later", "x y  %s  z"])
            template.carry_comment((around % ("dnnest:" + text)).encode())
        if how in ("script", "both"):
            template.script = ("#!/bin/sh\n#DNNEST %s\ntrue\n"
                               % text_of(keys, " ")).encode()
        if how == "option":
            self.set_option(template, text, "DNNEST_OPTION=" + text)
        if how == "sidecar":
            content = sidecar_of(keys)
            path = self.write(content.encode(), "json")
            self.set_option(template, path, "DNNEST_SIDECAR=" + content)

    @staticmethod
    def set_option(template, option, entry):
        template.options.append("--dnnest=" + option)
        template.entries.append(entry.encode())

    def good(self, options, fields):
        template = Template(GOOD, options, fields)
        self.carry(template, keys_of(self.draw))
        return template

    def odd(self, options, fields):
        template = Template(ODD, options, fields)
        text = text_of(keys_of(self.draw)) + "," + self.draw.choice(WRONG)
        if self.draw.random() < 0.3:
            template.script = b"#!/bin/sh\n#DNNEST %s\ntrue\n" % text.encode()
        else:
            template.carry_comment(b"dnnest:" + text.encode())
        return template

    def hostile(self, options, fields):
        template = Template(HOSTILE, options, fields)
        text = text_of(keys_of(self.draw)).encode()
        getattr(self, self.draw.choice(
            ["escapes", "long_values", "long_comment", "junk_comment", "forged_option",
             "forged_sidecar", "many_entries", "many_lines", "odd_script"]))(template, text)
        return template

    def escapes(self, template, text):
        template.carry_comment(b"dnnest:" + text + b",model=" + ESCAPE + b" " + ESCAPE)

    def long_values(self, template, text):
        template.carry_comment(b"dnnest:" + text + b",app=" + b"x" * 900)

    def long_comment(self, template, text):
        template.carry_comment(b"x" * self.draw.choice([1100, 100000]) + b" dnnest:" + text)

    def junk_comment(self, template, _):
        template.carry_comment(b"dnnest:" + junk(self.draw, 200))

    def forged_option(self, template, text):
        template.entries.append(b"DNNEST_OPTION=" + self.draw.choice(
            [b"/etc/shadow", b"", ESCAPE, text + b"," + ESCAPE, b"@" + b"x" * 5000,
             text * 100]))
        template.advice = False

    def forged_sidecar(self, template, _):
        template.entries.append(b"DNNEST_SIDECAR=" + self.draw.choice(
            [b"[" * 16000, b"{" * 100, ESCAPE, b'{"dnnest":1}', b'{"dnnest":2,"spec":{}}',
             b'{"dnnest":1,"spec":{"batch":1e999}}', b"[" * 100000,
             b'{"dnnest":1,"graph":{"ops":[{"op":"linear","in":[[8]],'
             b'"out":[[99999999999]]}]}}',
             b'{"dnnest":1,"spec":{"\\u001b[31m\\n":1}}', b"null"]))
        template.advice = False

    def many_entries(self, template, text):
        template.entries += [b"DNNEST_OPTION"] * 3000
        template.entries.append(b"DNNEST_OPTION=" + text)
        template.options.append("--dnnest=" + text.decode())

    def many_lines(self, template, text):
        template.script = (b"#!/bin/sh\n#DNNEST " + text.replace(b",", b" ") + b"\n"
                           + b"#DNNEST\n" * 20000 + b"true\n")

    def odd_script(self, template, text):
        template.script = self.draw.choice(
            [b"#!/bin/sh\n#DNNEST " + ESCAPE.replace(b"\n", b"") + b"\n",
             b"#!/bin/sh\n#DNNEST " + text + b"\nsrun --gres=gpu:a100:1 -c 80 true\n",
             b"#!/bin/sh\r\n#DNNEST " + text + b"\r\ntrue\r\n",
             b"#!/bin/sh\n#DNNEST batch=64 batch=32\n"])

    def plain(self, options, fields):
        template = Template(PLAIN, options, fields)
        if self.draw.random() < 0.5:
            template.carry_comment(self.draw.choice(
                [b"ticket:4711", b"model=resnet50,batch=64", b"xdnnest:model=resnet50",
                 b"see https://example.org/dnnest", ESCAPE.replace(b"\n", b"")]))
        return template

    def off(self, options, fields):
        template = Template(OFF, options, fields)
        text = text_of(keys_of(self.draw))
        template.script = b"#!/bin/sh\n#DNNEST %s\ntrue\n" % text.encode()
        if self.draw.random() < 0.5:
            template.carry_comment(b"dnnest:off")
        else:
            self.set_option(template, "off", "DNNEST_OPTION=off")
        return template

    def one(self):
        """A template of any kind, for the client."""
        make = self.draw.choices([self.good, self.odd, self.hostile, self.plain, self.off],
                                 [55, 14, 14, 12, 5])[0]
        return make(*self.draw.choice(FORMS))

    def for_sbatch(self):
        make = self.draw.choices([self.good, self.odd, self.plain, self.off],
                                 [70, 10, 15, 5])[0]
        if self.draw.random() < 0.1:
            template = make(HET, None)
            template.het = True
            template.advice = False  # its components are not changed, recorded or not
        else:
            template = make(self.draw.choice(SBATCH_FORMS).split(), None)
        return template

    def running(self):
        options, fields = RUNNING
        template = self.good(options, fields) if self.draw.random() < 0.7 else \
            self.plain(options, fields)
        lines = template.script.decode().splitlines()
        lines[-1:] = ['echo "$SLURM_JOB_ID" >>%s/ran' % self.home]
        template.script = ("\n".join(lines) + "\n").encode()
        template.held = False
        return template

    def all(self, count):
        """The templates of a run, numbered; forms without any description first."""
        templates = [Template(PLAIN, *form) for form in FORMS]
        while len(templates) < count:
            kind = self.draw.random()
            templates.append(self.running() if kind < 0.04 else
                             self.for_sbatch() if kind < 0.24 else self.one())
        for number, template in enumerate(templates):
            template.number = number
            template.path = self.write(template.script, "sh")
        return templates

    def once(self, templates):
        """A unique template: a description with some bytes changed."""
        like = templates[self.draw.randrange(len(FORMS))]
        template = Template(HOSTILE, like.options, like.fields)
        template.carry_comment(b"dnnest:" + mutated(
            self.draw, text_of(keys_of(self.draw)).encode())[:COMMENT_MAX - 100])
        template.path = like.path
        template.like = like
        return template
