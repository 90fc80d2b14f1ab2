#!/usr/bin/env python3
"""run_docs.py [--torch] SOURCE BIN PAGE...: runs the commands of documentation pages, page by page, in a folder of their own.

Blocks of `sh` run with bash, with BIN first on the PATH, and stop at the first failure; others are no commands. The folder has
model.pt2, model.onnx, quantized_qdq.onnx, calib.npz, test.npz, image.npy, and images/ with a folder for each class. With
--torch, blocks of `python` run as well, and the folder is empty but for images/.
"""

import importlib.util
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

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def png_of(gray):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    height, width = gray.shape
    rows = b"".join(b"\0" + row.tobytes() for row in gray)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def prepare(folder, source, has_torch):
    models = source / "tests/models/fmnist"
    test = np.load(models / "test_500.npz")
    if not has_torch:
        for name, file in {"model.pt2": "cnn.pt2", "calib.npz": "calib_32.npz", "test.npz": "test_500.npz"}.items():
            shutil.copy(models / file, folder / name)
        np.save(folder / "image.npy", test["input_0"][:1])
        onnx = source / "tests/fuzz/onnx/seeds"
        shutil.copy(onnx / "quantized.onnx", folder / "quantized_qdq.onnx")
        # Its images are of 4 by 4 pixels: here they are of 28 by 28.
        pixels = (onnx / "cnn.onnx").read_bytes()
        (folder / "model.onnx").write_bytes(pixels.replace(b"\x0a\x02\x08\x04", b"\x0a\x02\x08\x1c"))
    for i, (image, label) in enumerate(zip(test["input_0"][:IMAGES, 0], test["labels"])):
        path = folder / f"images/{label}/{i:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png_of(np.rint((image * DEVIATION + MEAN) * 255).astype(np.uint8)))


def main():
    words = sys.argv[1:]
    has_torch = words[0] == "--torch"
    if has_torch:
        words = words[1:]
        if not importlib.util.find_spec("torch"):
            print("[  SKIPPED ] 1 test: torch is not installed")
            return
    source, programs_folder, *pages = words
    source = Path(source).resolve()
    programs = tempfile.TemporaryDirectory()  # this Python, which has NumPy, is the python3 of the pages
    Path(programs.name, "python3").symlink_to(sys.executable)
    environment = dict(os.environ, PATH=f"{programs.name}:{Path(programs_folder).resolve()}:{os.environ['PATH']}")
    failed = count = 0
    for name in pages:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), source, has_torch)
            for language, text in BLOCK.findall((source / name).read_text(encoding="utf-8")):
                if language == "python" and not has_torch:
                    continue
                count += 1
                command = ["bash", "-euo", "pipefail", "-c", text]
                if language == "python":
                    Path(folder, "export.py").write_text(text)
                    command = ["python3", "export.py"]
                done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
                if done.returncode != 0:
                    failed += 1
                    print(f"{name}: exit {done.returncode} of\n{text}{done.stdout[-2000:]}{done.stderr[-2000:]}")
    print(f"{count} blocks, {failed} failed")
    sys.exit(1 if failed or not count else 0)


main()
