#!/usr/bin/env python3
"""run_docs.py SOURCE BUILD PAGE...: runs the commands of documentation pages, page by page, in a folder of their own.

Blocks of `sh` run with bash and stop at the first failure; others are no commands. The folder has model.pt2, calib.npz,
test.npz, image.npy, and images/ with a folder for each class.
"""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

# Of the images that test.npz holds, normalised.
MEAN, DEVIATION, IMAGES = 0.286, 0.353, 100

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def png_of(gray):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = gray.shape
    rows = b"".join(b"\0" + row.tobytes() for row in gray)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def prepare(folder, source):
    models = source / "tests/models/fmnist"
    for name, file in {"model.pt2": "cnn.pt2", "calib.npz": "calib_32.npz", "test.npz": "test_500.npz"}.items():
        shutil.copy(models / file, folder / name)
    test = np.load(models / "test_500.npz")
    np.save(folder / "image.npy", test["input_0"][:1])
    for i, (image, label) in enumerate(zip(test["input_0"][:IMAGES, 0], test["labels"])):
        path = folder / f"images/{label}/{i:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png_of(np.rint((image * DEVIATION + MEAN) * 255).astype(np.uint8)))


def main():
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    programs = tempfile.TemporaryDirectory()  # this Python, which has NumPy, is the python3 of the pages
    Path(programs.name, "python3").symlink_to(sys.executable)
    environment = dict(os.environ, PATH=f"{build}:{programs.name}:{os.environ['PATH']}")
    failed = count = 0
    for name in sys.argv[3:]:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), source)
            for text in BLOCK.findall((source / name).read_text(encoding="utf-8")):
                count += 1
                command = ["bash", "-euo", "pipefail", "-c", text]
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
                if done.returncode != 0:
                    failed += 1
                    print(f"{name}: exit {done.returncode} of\n{text}{done.stdout[-2000:]}{done.stderr[-2000:]}")
    print(f"{count} blocks, {failed} failed")
    sys.exit(1 if failed or not count else 0)


main()
