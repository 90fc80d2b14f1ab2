"""The command `isthmus` of the wheel."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "_lib" / "isthmus"
    os.execv(program, ["isthmus", *sys.argv[1:]])
