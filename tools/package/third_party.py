"""Reads cmake/third_party.txt."""

from collections import namedtuple
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
Row = namedtuple("Row", "name library licence package")


def rows():
    for line in (SOURCE / "cmake/third_party.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield Row(*(cell.strip() for cell in line.split("|")))
