"""examples.py - runs the examples of a manual page

usage: examples.py [--show] PAGE.scd FOLDER

The examples are the literal blocks of the page. They are run in FOLDER, one after the
other. What is wrong is printed; then, as the last line, how many blocks of each kind the
page has. With --show the commands are printed with all of their output.

A block is a session of the shell: lines that begin with "$ " or, for root, "# " are
commands, which go on in the next line after a backslash or a bar; lines below a command are
its output. A command must succeed, unless the page shows its error: a line "dnnest: ...".
In output "..." stands for any text, and alone on a line for any lines. Without such lines
the output may be anything. A comment in the source before the block makes it something else:

  ; file NAME     the text of a file, which later blocks of the page find in FOLDER; one
                  whose name ends in .conf, .sh, .json, .py or .snapshot is checked
  ; conf          lines for dnnest.conf, which are checked; without Gpu lines together with
                  those of the site
  ; hardware NAME an entry of the catalogue, for its folder site/
  ; spec          a description of a run in each line, which is checked
  ; elsewhere TEST  a session that needs a cluster or a server, and is run by the named test
                  of the tree; here its options are checked, and that the test has the command
  ; form          the form of something, neither a command nor a file
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import os
import re
import shlex
import shutil
import subprocess
import sys

KINDS = ("session", "file", "conf", "hardware", "spec", "elsewhere", "form")
TOP = os.environ["abs_top_srcdir"]


def blocks(text):
    """Kind, argument and lines of each block."""
    for match in re.finditer(r"^(?:; (\w+)(?: ([^\n]*))?\n)?```\n(.*?)^```$", text, re.M | re.S):
        lines = [re.sub(r"\\(.)", r"\1", line.removeprefix("\t"))
                 for line in match.group(3).splitlines()]
        yield match.group(1) or "session", match.group(2), lines


def commands(lines):
    """Each command, and the lines of output below it."""
    found = []
    goes_on = False
    for line in lines:
        if goes_on:
            found[-1][0] += "\n" + line
        elif re.match(r"[$#] ", line):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
        else:
            print("no command, and no comment that says what it is:", line)
        if found and not found[-1][1]:
            goes_on = line.rstrip().endswith(("\\", "|", "&&"))
    return found


def run(command, folder):
    done = subprocess.run(["bash", "-c", command], cwd=folder, text=True, timeout=120,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def agrees(want, have):
    """Does the output 'have' look like the lines 'want'?"""
    if not want:
        return True
    pattern = ""
    for line in want:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += "[^\n]*".join(map(re.escape, line.rstrip().split("..."))) + r"[ \t]*\n"
    if want[-1].strip() == "...":
        pattern += r"(?:.*\n)*"
    return re.fullmatch(pattern, have) is not None


def session(lines, folder, show):
    for command, want in commands(lines):
        status, output = run(command, folder)
        if show:
            print("$", command)
            print(output, end="" if output.endswith("\n") else "\n")
            continue
        shown = any(line.startswith("dnnest: ") for line in want)
        if status != 0 and not shown:
            print("status %d: %s\n%s" % (status, command, output))
        elif "sbatch: error:" in output and not want:
            print("an error of sbatch: %s\n%s" % (command, output))
        elif not agrees(want, output.rstrip("\n") + "\n"):
            print("another output: %s\n%s" % (command, output))


def elsewhere(test, lines, folder):
    path = os.path.join(TOP, test or "")
    if not os.path.isfile(path):
        print("no such test:", test)
        return
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for command, _ in commands(lines):
        status, output = run("bash -n -c " + shlex.quote(command), folder)
        words = shlex.split(command, comments=True)
        name = words[1] if words[0] in ("dnnest", "dnnest-dev") else os.path.basename(words[0])
        if status == 0 and words[0] in ("dnnest", "dnnest-dev"):
            status, output = run(shlex.join(words + ["--help"]), folder)
        if status != 0:
            print("status %d: %s\n%s" % (status, command, output))
        if not re.search(r"\b%s\b" % re.escape(name), text):
            print(test, "has no", name)


def check(name, lines, folder):
    """Check a file or what is like one."""
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    command = {".conf": "dnnest config --check=", ".sh": "dnnest check ./",
               ".json": "dnnest check @", ".py": "python3 -m py_compile ./",
               ".snapshot": "dnnest config --discover="}
    ending = os.path.splitext(name)[1]
    if ending in command:
        path = os.path.join(folder, name) if ending == ".conf" else name
        status, output = run(command[ending] + path, folder)
        if status != 0:
            print("status %d: %s\n%s" % (status, name, output))


def conf(lines, folder):
    site = []
    if not any("Gpu " in line for line in lines):
        with open(os.path.join(os.environ["SITE"], "dnnest.conf"), encoding="utf-8") as file:
            site = file.read().splitlines()
    check("block.conf", site + lines, folder)


def hardware(name, lines, folder):
    catalogue = os.path.join(folder, "hardware")
    shutil.copytree(os.path.join(TOP, "etc", "hardware"), catalogue)
    os.makedirs(os.path.join(catalogue, "site"), exist_ok=True)
    with open(os.path.join(catalogue, "site", name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    run("chmod -R u+rwX,go-w hardware", folder)
    device = name.removesuffix(".conf")
    status, output = run("dnnest-dev hardware --hardware=hardware --sources " + device, folder)
    if status != 0 or "site/" + name not in output:
        print("status %d: %s\n%s" % (status, name, output))


def main(page, folder, show):
    counts = dict.fromkeys(KINDS, 0)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    for kind, argument, lines in blocks(text):
        if kind not in KINDS:
            print("unknown kind of block:", kind)
            continue
        counts[kind] += 1
        if kind == "session":
            session(lines, folder, show)
        elif kind == "elsewhere":
            elsewhere(argument, lines, folder)
        elif kind == "file":
            check(argument, lines, folder)
        elif kind == "conf":
            conf(lines, folder)
        elif kind == "hardware":
            hardware(argument, lines, folder)
        elif kind == "spec":
            for line in lines:
                status, output = run("dnnest check " + shlex.quote(line), folder)
                if status != 0:
                    print("status %d: %s\n%s" % (status, line, output))
    print(" ".join("%s=%d" % item for item in counts.items()))


show = sys.argv[1] == "--show"
main(sys.argv[1 + show], sys.argv[2 + show], show)
