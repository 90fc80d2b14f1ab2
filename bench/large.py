#!/usr/bin/env python3
"""large.py ISTHMUS FOLDER [--nodes N...] [--gigabytes G] [--samples N]: what large models cost.

Writes ONNX models (no library is needed for that) and takes each through `check`, `calibrate` and `compile`: of more and more nodes,
with the seconds of every stage, which should grow like the nodes; one of many weights, with the most anonymous memory, which should be
no more than 1.5 times the program and the largest layer; and one small model over many samples, whose memory should not grow.
"""

import argparse
import array
import json
import math
import random
import struct
import subprocess
import time
import zipfile
from pathlib import Path

FLOAT = 1
BLOCKS_A_JOIN = 8  # of the deep model
WIDTH = 4096  # of the wide one: layers of 64 MB


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def normal(count, scale):
    """That many numbers, as bytes in blocks; many of them repeat."""
    block = array.array("f", (random.gauss(0, scale) for _ in range(min(count, 1 << 16)))).tobytes()
    for begin in range(0, 4 * count, len(block)):
        yield block[:4 * count - begin]


class Graph:
    """The message of a graph; weights go to a file of their own."""

    def __init__(self, path, shape):
        self.path, self.parts, self.values, self.count = path, [], 0, 0
        self.weights_file = open(f"{path}.data", "wb")
        self.value = "x"
        sizes = b"".join(data(1, number(1, size)) for size in shape)
        kind = data(1, number(1, FLOAT) + data(2, sizes))
        self.parts.append(data(11, data(1, "x") + data(2, kind)))

    def weights(self, shape, scale):
        name = f"w{self.values}"
        self.values += 1
        offset = self.weights_file.tell()
        for block in normal(math.prod(shape), scale):
            self.weights_file.write(block)
        where = {"location": Path(f"{self.path}.data").name, "offset": str(offset), "length": str(4 * math.prod(shape))}
        entries = b"".join(data(13, data(1, key) + data(2, text)) for key, text in where.items())
        sizes = b"".join(number(1, size) for size in shape)
        self.parts.append(data(5, sizes + number(2, FLOAT) + data(8, name) + entries + number(14, 1)))
        return name

    def node(self, op, inputs, attributes=b""):
        name = f"v{self.values}"
        self.values += 1
        self.count += 1
        self.parts.append(data(1, b"".join(data(1, one) for one in inputs) + data(2, name) + data(4, op) + attributes))
        return name

    def conv(self, value, inputs, outputs):
        return self.node("Conv", [value, self.weights([outputs, inputs, 1, 1], inputs**-0.5), self.weights([outputs], 0.1)])

    def write(self, output):
        self.weights_file.close()
        self.parts.append(data(12, data(1, output)))
        opset = data(8, data(1, "") + number(2, 17))
        self.path.write_bytes(number(1, 8) + data(7, b"".join(self.parts)) + opset)


def deep_model(path, nodes):
    """Residual blocks, joined and moved about every now and then."""
    graph = Graph(path, [1, 8, 4, 4])
    value = "x"
    blocks = 0
    while graph.count < nodes - 2:
        inner = graph.conv(graph.node("Relu", [graph.conv(value, 8, 8)]), 8, 8)
        value = graph.node("Relu", [graph.node("Add", [value, inner])])
        blocks += 1
        if blocks % BLOCKS_A_JOIN == 0:
            joined = graph.node("Concat", [value, inner], data(5, data(1, "axis") + number(3, 1) + number(20, 2)))
            turned = graph.node("Transpose", [joined], data(5, data(1, "perm") + b"".join(number(8, axis) for axis in (0, 1, 3, 2)) + number(20, 7)))
            value = graph.conv(turned, 16, 8)
    graph.write(value)
    return graph.count


def wide_model(path, gigabytes):
    """Returns the bytes of a layer."""
    graph = Graph(path, [1, WIDTH])
    value = "x"
    layer = 4 * WIDTH * WIDTH
    for _ in range(round(gigabytes * (1 << 30) / layer)):
        value = graph.node("Relu", [graph.node("MatMul", [value, graph.weights([WIDTH, WIDTH], WIDTH**-0.5)])])
    graph.write(value)
    return layer


def samples(path, shape):
    """An .npz of normal numbers for the input x."""
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    with zipfile.ZipFile(path, "w") as archive, archive.open("x.npy", "w", force_zip64=True) as file:
        file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode())
        for block in normal(math.prod(shape), 1):
            file.write(block)


def run(isthmus, *words):
    """What it prints, the seconds, and the most anonymous memory, looked at every few milliseconds."""
    start = time.monotonic()
    child = subprocess.Popen([isthmus, *map(str, words), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = 0
    status = Path(f"/proc/{child.pid}/status")
    while child.poll() is None:
        for line in status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                peak = max(peak, int(line.split()[1]) * 1024)
        time.sleep(0.005)
    out, err = child.communicate()
    if child.returncode != 0:
        raise SystemExit(f"{words}: {err}{out}")
    return json.loads(out), time.monotonic() - start, peak


def commands(isthmus, model, calibration, folder):
    target = ("--target", "xnnpack")
    yield "check", run(isthmus, "check", model, *target)
    yield "calibrate", run(isthmus, "calibrate", model, *target, "--calibrate", calibration, "-o", folder / "model.stats")
    yield "compile", run(isthmus, "compile", model, *target, "--calibrate", calibration, "-o", folder / "model.pte")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("isthmus", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, nargs="*", default=[])
    parser.add_argument("--gigabytes", type=float)
    parser.add_argument("--samples", type=int)
    options = parser.parse_args()
    folder, isthmus = options.folder, options.isthmus.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    random.seed(1)
    model, data_file = folder / "model.onnx", folder / "samples.npz"

    for nodes in options.nodes:
        count = deep_model(model, nodes)
        samples(data_file, [4, 8, 4, 4])
        for name, (found, seconds, peak) in commands(isthmus, model, data_file, folder):
            print(f"{count} nodes, {name}: {seconds:.1f} s, {peak / 1e6:.0f} MB anonymous", flush=True)
            for stage, spent in found["seconds"].items():
                print(f"    {stage:20} {spent:9.3f} s  {1e6 * spent / count:9.1f} us a node", flush=True)
    if options.gigabytes:
        layer = wide_model(model, options.gigabytes)
        samples(data_file, [4, WIDTH])
        for name, (_, seconds, peak) in commands(isthmus, model, data_file, folder):
            text = f"{options.gigabytes} GB of weights, {name}: {seconds:.1f} s, {peak / 1e6:.0f} MB anonymous"
            if name == "compile":
                size = (folder / "model.pte").stat().st_size
                text += f"; program {size / 1e6:.0f} MB, largest layer {layer / 1e6:.0f} MB"
            print(text, flush=True)
    if options.samples:
        deep_model(model, 100)
        for count in (options.samples // 100, options.samples):
            samples(data_file, [count, 8, 4, 4])
            words = ("calibrate", model, "--target", "xnnpack", "--calibrate", data_file, "-o", folder / "model.stats")
            _, seconds, peak = run(isthmus, *words)
            print(f"{count} samples, calibrate: {seconds:.1f} s, {peak / 1e6:.1f} MB anonymous", flush=True)


if __name__ == "__main__":
    main()
