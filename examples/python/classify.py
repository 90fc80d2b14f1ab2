#!/usr/bin/env python3
"""classify.py MODEL CALIBRATION TEST OUT: from a model to a program for a phone, and what that costs, in Python.

MODEL is an archive of torch.export or an ONNX model. With torch at hand an ExportedProgram does as well:
isthmus.compile(torch.export.export(module, (example,)), ...).
"""

import sys
from pathlib import Path

import numpy as np

import isthmus


def main(model, calibration, test, out):
    report = isthmus.check(model, target="xnnpack")
    print(f"{report['delegates']} delegate, {len(report['host'])} operators on the CPU beside it")

    # Typical inputs, from anywhere: here the arrays of a file, one after another.
    images = np.load(calibration)["input_0"]
    program = isthmus.compile(model, target="xnnpack", calibrate=(image for image in images))
    program.save(Path(out) / "model.pte")

    data = np.load(test)
    found = isthmus.evaluate(program, model, zip(data["input_0"], data["labels"]))
    print(f"right {found['top1']:.1%}, same class as in float {found['agreement']:.1%}, {found['sqnr_db'][0]:.1f} dB")

    scores = program(data["input_0"][0])
    print(f"the first image is of class {scores.argmax()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
