"""Isthmus: quantizes and compiles models that torch.export or ONNX wrote for edge devices, and runs them.

    import isthmus

    program = isthmus.compile("model.pt2", target="xnnpack", calibrate=images)
    program.save("model.pte")
    scores = program(image)

A model is a path (.pt2, .onnx) or, where torch is installed, the ExportedProgram itself. Reports are dicts, the same
objects that the command line prints with --json, and show themselves as tables in a notebook.
"""

from ._api import Model, Program, Statistics, calibrate, check, compile, evaluate, explain, targets
from ._library import Cancelled, Error, version
from ._report import Report

__version__ = version()
__all__ = [
    "Cancelled",
    "Error",
    "Model",
    "Program",
    "Report",
    "Statistics",
    "calibrate",
    "check",
    "compile",
    "evaluate",
    "explain",
    "targets",
]
