#!/usr/bin/env python3
"""look.py PAGE FOLDER [NAME] - draw the page of a report in Chromium, and say what is wrong

Light, dark and on a phone it makes FOLDER/NAME-light.png, -dark.png and -phone.png. Then
a copy with a script measures: nothing is wider than the window, no label of a chart is
outside of its chart or on another one, all that a chart draws is a link, no link has no
aim, and the four answers are on the first screen.
"""
# SPDX-License-Identifier: GPL-2.0-or-later
import html
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

# What of the page to look at: name, width, height, colours.
LOOKS = [("light", 1280, 800, "light"), ("dark", 1280, 800, "dark"),
         ("phone", 390, 844, "light")]
SCRIPT = r"""
const wrong = [], say = text => wrong.push(text);
const box = e => e.getBoundingClientRect(), words = e => e.textContent.trim().slice(0, 40);
if (document.documentElement.scrollWidth > innerWidth)
    say('the page is wider than the window: ' + document.documentElement.scrollWidth);
for (const e of document.querySelectorAll('.card,.card *,h1,h2,h3,p,figcaption'))
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display != 'inline')
        say('cut: ' + words(e));
for (const svg of document.querySelectorAll('svg')) {
    const labels = [...svg.querySelectorAll('text')], all = box(svg);
    labels.forEach((a, i) => {
        const x = box(a);
        if (x.left < all.left || x.right > all.right || x.top < all.top || x.bottom > all.bottom)
            say('a label is outside of its chart: ' + words(a));
        for (const b of labels.slice(i + 1)) {
            const y = box(b);
            if (x.left < y.right && y.left < x.right && x.top + 2 < y.bottom && y.top + 2 < x.bottom)
                say('labels overlap: ' + words(a) + ' / ' + words(b));
        }
    });
}
for (const mark of document.querySelectorAll('svg rect,svg circle'))
    if (!mark.closest('a')) say('a mark of a chart is no link: ' + mark.className.baseVal);
for (const a of document.querySelectorAll('a'))
    if (!document.getElementById(a.getAttribute('href').slice(1)))
        say('no aim: ' + a.getAttribute('href'));
[...document.querySelectorAll('.card')].slice(0, 4).forEach(e => {
    if (box(e).bottom > innerHeight) say('not on the first screen: ' + words(e));
});
parent.postMessage(wrong.join('\n'), '*');
"""
# Chromium has no window that is as narrow as a phone, but a frame can be.
FRAME = """<body style="margin:0"><iframe src="{page}" style="border:0;display:block;width:{width}px;
height:{height}px"></iframe><script>onmessage = e => document.body.innerHTML =
'<pre>' + e.data.replaceAll('&', '&amp;').replaceAll('<', '&lt;') + '</pre>'</script></body>"""


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    sys.exit(77)


def run(folder, page, look, *more, picture=None):
    """What Chromium prints of a page, or draws in a picture."""
    _, width, height, colours = look
    frame = os.path.join(folder, "frame.html")
    with open(frame, "w", encoding="utf-8") as file:
        file.write(FRAME.format(page="file://" + os.path.abspath(page), width=width, height=height))
    command = [chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               "--disable-dev-shm-usage", f"--user-data-dir={folder}", f"--window-size={width},{height}",
               f"--blink-settings=preferredColorScheme={int(colours == 'light')}",
               *more, "file://" + frame]
    for _ in range(5):  # on a busy machine it gives up at times
        try:
            said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  timeout=120, check=False).stdout
        except subprocess.TimeoutExpired:
            continue
        if b"</pre></body>" in said or (picture and os.path.exists(picture)):
            return said
    sys.exit(f"{page}: Chromium draws nothing")


def brightness(path):
    """Width, height, and the mean of the first byte of each line of a picture: its margin."""
    with open(path, "rb") as file:
        data = file.read()
    at, body = 8, b""
    while at < len(data):
        size = struct.unpack(">I", data[at:at + 4])[0]
        if data[at + 4:at + 8] == b"IDAT":
            body += data[at + 8:at + 8 + size]
        at += size + 12
    width, height, _, kind = struct.unpack(">IIBB", data[16:26])
    line = width * {2: 3, 6: 4}[kind] + 1
    raw, above, total = zlib.decompress(body), 0, 0
    for y in range(height):  # of the first pixel the left one is 0
        how, value = raw[y * line], raw[y * line + 1]
        above = (value + (0, 0, above, above // 2, above)[how]) % 256
        total += above
    return width, height, total / height


def main():
    page, folder = sys.argv[1:3]
    name = sys.argv[3] if len(sys.argv) > 3 else "page"
    os.makedirs(folder, exist_ok=True)
    with open(page, encoding="utf-8") as file:
        text = file.read()
    with tempfile.TemporaryDirectory() as own:
        copy = os.path.join(own, "copy.html")
        with open(copy, "w", encoding="utf-8") as file:
            file.write(re.sub(r'<meta http-equiv[^>]*>', "", text).replace(
                "</body>", f"<script>{SCRIPT}</script></body>"))
        for look in LOOKS:
            picture = os.path.join(folder, f"{name}-{look[0]}.png")
            run(own, page, look, f"--screenshot={picture}", picture=picture)
            seen = brightness(picture)
            if seen[:2] != look[1:3] or (seen[2] > 128) != (look[3] == "light"):
                print(look, "is", *seen)
            if look[0] == "dark":  # which lies as the light one
                continue
            found = re.search(rb"<pre>(.*?)</pre>", run(own, copy, look, "--dump-dom", "--virtual-time-budget=3000"), re.S)
            for line in html.unescape(found[1].decode() if found else "no page").splitlines():
                print(f"{look[0]}: {line}")


main()
