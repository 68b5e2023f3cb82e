"""Types lines into an interactive shell and prints the words that it makes of them.

usage: type_line.py PROMPT SHELL [ARGUMENT]... < LINES

A tab in a line completes the word before it. Each line of output has the words of a line
in angle brackets; an X stands where the cursor was. PROMPT is what the shell prints when
it is ready.

SPDX-License-Identifier: GPL-2.0-or-later
"""

import os
import pty
import re
import select
import signal
import sys
import time

# A machine with other tests is slow.
PATIENCE_S = 60


class Terminal:
    """What is typed, and what the shell prints and has not been looked at."""

    def __init__(self, number):
        self.number = number
        self.text = b""

    def type(self, text):
        os.write(self.number, text)

    def find(self, pattern):
        """Wait for 'pattern', and forget what comes up to its end."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if time.monotonic() > end:
                return None
            ready, _, _ = select.select([self.number], [], [], 0.2)
            try:
                self.text += os.read(self.number, 65536) if ready else b""
            except OSError:
                return None


def main():
    prompt = sys.argv[1].encode()
    process, number = pty.fork()
    if process == 0:
        os.environ.update(TERM="xterm", COLUMNS="400", LINES="50")
        os.execvp(sys.argv[2], sys.argv[2:])
    terminal = Terminal(number)
    try:
        for line in sys.stdin.buffer.read().splitlines():
            if not terminal.find(re.escape(prompt)):
                print("no prompt")
                return
            # Ctrl-A goes to the beginning of the line, Ctrl-E to its end.
            terminal.type(line + b"X\x01printf 'words:%s\\n' \"$(printf '<%s>' \x05)\"\n")
            found = terminal.find(rb"\nwords:(<.*>)\r?\n")
            print(found.group(1).decode(errors="replace") if found else "no answer")
    finally:
        os.kill(process, signal.SIGKILL)


main()
