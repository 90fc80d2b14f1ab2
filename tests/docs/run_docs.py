#!/usr/bin/env python3
"""run_docs.py SOURCE BUILD PAGE...: runs the commands of documentation pages, page by page, in a folder of their own.

Blocks of `sh` run with bash and stop at the first failure; others are no commands. The folder has model.pt2, calib.npz,
test.npz and image.npy.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def prepare(folder, source):
    models = source / "tests/models/fmnist"
    for name, file in {"model.pt2": "cnn.pt2", "calib.npz": "calib_32.npz", "test.npz": "test_500.npz"}.items():
        shutil.copy(models / file, folder / name)
    test = np.load(models / "test_500.npz")
    np.save(folder / "image.npy", test["input_0"][:1])


def main():
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    environment = dict(os.environ, PATH=f"{build}:{os.environ['PATH']}")
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
