#!/usr/bin/env python3
"""guides.py CHECK TOP WORK - what README.md, the guides and their like state, against the tree

CHECK is one of
  links     relative links, and the headings that they name
  pages     manual pages: NAME(N)
  options   subcommands, and options after them
  keys      Key=Value of dnnest.conf and of Slurm
  fences    kinds of code blocks that no test knows
  accuracy  the figures of README.md against doc/accuracy.md
  commands KIND   prints the commands of the blocks of a kind, 'FILE:LINE<TAB>COMMAND'
  blocks KIND     prints the blocks of a kind, each after a line '@ FILE:LINE'
All but the last two print what is wrong, nothing if there is no error. WORK has config.json
('dnnest config --json'), commands.txt and help-COMMAND.txt.

SPDX-License-Identifier: GPL-2.0-or-later
"""
import glob
import json
import os
import re
import sys

KINDS = {
    "sh": "run by tests/lint/readme.t",
    "console": "run, and the output compared, by tests/lint/readme.t",
    "sh cluster": "run by tests/live/readme.t",
    "sh root": "syntax and names, by tests/lint/readme.t",
    "conf dnnest": "checked by 'dnnest config --check'",
    "conf slurm": "keys",
    "text": "not run: messages, pictures",
}
# Manual pages of other programs
FOREIGN = {"install(1)", "mmap(2)", "sbatch(1)", "srun(1)", "logrotate(8)", "stdbuf(1)"}

# Where options that are not those of 'dnnest' are: of Slurm, configure and scripts
PLACES_OF_OPTIONS = ("*/*.scd", "*/*/*.scd", "packaging/*", "packaging/*/*", "configure.ac",
                     "doc/design.md", "tests/live/*", "tests/live/lib/*", "tests/bench/*")
# systemctl, configure, apptainer
OTHER_OPTIONS = {"now", "prefix", "sysconfdir", "localstatedir", "cleanenv"}


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Guide:
    """A file, without its code blocks in 'prose' (lines keep their numbers)."""

    def __init__(self, top, path):
        self.path = path
        self.lines = read(top, path).splitlines()
        self.blocks = []  # (kind, number of its first line, lines)
        self.prose = []
        kind = None
        for number, line in enumerate(self.lines, 1):
            fence = re.match(r"( *)```(.*)$", line)
            if fence and kind is None:
                kind, indent, block = fence[2].strip(), len(fence[1]), []
                self.blocks.append((kind, number + 1, block))
            elif fence:
                kind = None
            elif kind is not None:
                block.append(line[indent:])
            self.prose.append("" if fence or kind is not None else line)

    def headings(self):
        for line in self.prose:
            if line.startswith("#"):
                text = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
                yield text.replace(" ", "-")

    def spans(self):
        """What is between backticks, with the number of its first line."""
        text = "\n".join(self.prose)
        for match in re.finditer(r"`([^`]+)`", text):
            yield text.count("\n", 0, match.start()) + 1, match[1].replace("\n", " ")

    def commands(self, kind):
        """The commands of the blocks of a kind, with continued lines joined."""
        for have, number, block in self.blocks:
            if have != kind:
                continue
            joined = ""
            for offset, line in enumerate(block):
                if line.endswith("\\"):
                    joined += line[:-1]
                    continue
                line, joined = joined + line, ""
                if line.strip() and not line.lstrip().startswith("#"):
                    yield number + offset, line


def guides(top):
    names = ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
    names += sorted(os.path.relpath(x, top) for x in glob.glob(top + "/doc/*.md"))
    return [Guide(top, x) for x in names if os.path.exists(os.path.join(top, x))]


def links(top, _work):
    for guide in guides(top):
        for number, line in enumerate(guide.prose, 1):
            for target in re.findall(r"\]\(([^)]*)\)", line):
                if re.match(r"https?:", target):
                    continue
                path, _, heading = target.partition("#")
                there = os.path.normpath(os.path.join(os.path.dirname(guide.path), path))
                there = guide.path if not path else there
                if not os.path.exists(os.path.join(top, there)):
                    print(f"{guide.path}:{number}: no {target}")
                elif heading and heading not in list(Guide(top, there).headings()):
                    print(f"{guide.path}:{number}: no heading {target}")


def pages(top, _work):
    have = {os.path.basename(x)[:-len(".scd")]
            for x in glob.glob(top + "/*/*.scd") + glob.glob(top + "/*/*/*.scd")}
    have = {"%s(%s)" % tuple(x.rsplit(".", 1)) for x in have} | FOREIGN
    for guide in guides(top):
        for number, line in enumerate(guide.lines, 1):
            for page in re.findall(r"\b[a-z][\w.-]*\([1-8]\)", line):
                if page not in have:
                    print(f"{guide.path}:{number}: no page {page}")


def load_help(work):
    names = [x.split()[0] for x in read(work, "commands.txt").splitlines()]
    return {x: set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", read(work, f"help-{x}.txt"), re.M))
            for x in names}


def all_text(top, pattern):
    return "".join(read(x) for x in sorted(glob.glob(top + "/" + pattern)) if os.path.isfile(x))


def options(top, work):
    own = load_help(work)
    every = set().union(*own.values())
    own["advise"] = known = every.union(OTHER_OPTIONS, *(
        re.findall(r"--([a-z][a-z-]+)", all_text(top, x)) for x in PLACES_OF_OPTIONS))
    for guide in guides(top):
        texts = list(guide.spans())
        for kind, first, block in guide.blocks:
            texts += [(first + i, x) for i, x in enumerate(block)]
        for number, text in texts:
            text = re.sub(r" #.*| -- .*", "", text)
            for option in re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text):
                if option not in known:
                    print(f"{guide.path}:{number}: no option --{option}")
            for part in re.split(r"[|;]|&&", text):
                match = re.match(r"(?:\$ |.* )?dnnest ([a-z]+)(?= |$)(.*)", part.strip())
                if not match or re.search(r"\bapt\b|lua", part):
                    continue
                if match[1] not in own:
                    print(f"{guide.path}:{number}: no command dnnest {match[1]}")
                    continue
                for option in re.findall(r" --([a-z][a-z-]+)", match[2]):
                    if option not in own[match[1]]:
                        print(f"{guide.path}:{number}: dnnest {match[1]} has no --{option}")


def keys(top, work):
    config = json.loads(read(work, "config.json"))
    known = {x["key"] for name in ("rules", "site", "gpu_keys", "policy_keys")
             for x in config[name]}
    slurm = set(re.findall(r"\b[A-Z]\w+", all_text(top, "doc/design.md")
                           + all_text(top, "plugin/*/*.scd") + all_text(top, "daemon/*.scd")
                           + all_text(top, "packaging/systemd/*")))
    for guide in guides(top):
        texts = list(guide.spans())
        for kind, first, block in guide.blocks:
            if kind.startswith("conf"):
                texts += [(first + i, x) for i, x in enumerate(block)]
        for number, text in texts:
            for key in re.findall(r"(?<![\w/.$-])([A-Z][a-z]+(?:[A-Za-z]+)?)=", text):
                if key not in known and key not in slurm:
                    print(f"{guide.path}:{number}: no key {key}=")


def fences(top, _work):
    for guide in guides(top):
        for kind, number, _ in guide.blocks:
            if kind not in KINDS:
                print(f"{guide.path}:{number}: a block of kind '{kind}'")


def accuracy(top, _work):
    number_of = r"(?<![\w.])\d+(?:\.\d+)?"
    report = read(top, "doc/accuracy.md")
    chapter = re.search(r"^## How accurate it is$(.*?)^## ", read(top, "README.md"), re.M | re.S)[1]
    rows = [x for x in chapter.splitlines() if x.startswith("|")][2:]
    if len(rows) < 3:
        print("README.md: %d rows" % len(rows))
    for row in rows:
        if row not in report.splitlines():
            print("README.md: not in doc/accuracy.md: " + row)
    prose = re.sub(r"^\|.*$|\]\(.*?\)", "", chapter, flags=re.M)
    for number in sorted(set(re.findall(number_of, prose)) - set(re.findall(number_of, report))):
        print("README.md: %s is not in doc/accuracy.md" % number)


def commands(top, _work, kind):
    for guide in guides(top):
        for number, command in guide.commands(kind):
            print(f"{guide.path}:{number}\t{command}")


def blocks(top, _work, kind):
    for guide in guides(top):
        for have, number, block in guide.blocks:
            if have == kind:
                print(f"@ {guide.path}:{number}", *block, sep="\n")


globals()[sys.argv[1]](*sys.argv[2:])
