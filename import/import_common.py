"""import_common - what the importers of 'dnnest-dev import' share"""
# SPDX-License-Identifier: GPL-2.0-or-later

import json
import resource
import sys
import warnings

NAME_MAX = 63               # bytes of a name in a sidecar
MEMORY_MAX = 768 << 20      # that a file may take besides its own size
CPU_MAX_S = 600


class Wrong(Exception):
    """What is wrong with a file."""


def as_text(name):
    """A name, which protobuf gives as bytes if it is not valid."""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name


def printable(text, size):
    """Valid in JSON and printable on terminals."""
    return "".join(c if " " <= c <= "~" else "?" for c in as_text(text)[:size])


def limit_memory(more):
    """Refuse what would take much more memory than its file; -1 is no limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as file:
        most = int(file.read().split()[0]) * resource.getpagesize() + MEMORY_MAX + more
    if soft < 0 or most < soft:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_MAX_S, CPU_MAX_S))


def read_file(path, most, memory_times):
    """The content of a file, or of stdin for "-", before what reads it takes memory."""
    pieces = []
    size = 0
    with open(0 if path == "-" else path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            size += len(piece)
            if size > most:
                raise Wrong("larger than %d bytes" % most)
            pieces.append(piece)
    content = b"".join(pieces)
    limit_memory(memory_times * len(content))
    return content


def main(read):
    """read (FILE, ARGUMENT...) returns the summary, a sidecar's graph and its spec."""
    warnings.simplefilter("ignore")
    try:
        summary, graph, spec = read(*sys.argv[1:])
        text = json.dumps(summary) + "\n" + json.dumps({"dnnest": 1, "spec": spec, "graph": graph})
    except OSError as error:
        sys.exit("%s" % error.strerror)
    except (MemoryError, RecursionError):
        sys.exit("it takes too much memory")
    except Wrong as wrong:
        sys.exit(str(wrong))
    except Exception as error:  # pylint: disable=broad-except; one line, whatever the file has
        sys.exit("it cannot be read: %s: %s" % (type(error).__name__, printable(str(error), 100)))
    print(text)
