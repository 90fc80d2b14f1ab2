#!/usr/bin/env python3
"""to_c_array.py MODEL.pte REPORT.json NAME OUT: a program file as OUT/NAME.c and OUT/NAME.h.

REPORT.json is what `isthmus compile --json` printed: the header has the shapes of inputs and outputs and how they are
quantized. The array is aligned as ExecuTorch's runtime wants it, and in a section of its own (.NAME), so that a linker
script can put it into flash. Needs nothing but Python's own library.
"""

import json
import sys
from pathlib import Path


def tensor_lines(kind, rows, name):
    lines = []
    for number, row in enumerate(rows):
        prefix = f"{name}_{kind}_{number}".upper()
        count = 1
        for size in row["shape"]:
            count *= size
        lines.append(f"/* {row['name']}: {row['dtype']}{row['shape']} */")
        lines.append(f"#define {prefix}_ELEMENTS {count}")
        if "scale" in row:
            lines.append(f"#define {prefix}_SCALE {row['scale']!r}f")
            lines.append(f"#define {prefix}_ZERO_POINT ({row['zero_point']})")
    return lines


def main():
    model, report, name, out = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), sys.argv[3], Path(sys.argv[4])
    data = model.read_bytes()
    guard = f"{name.upper()}_H"
    header = [
        f"/* {report['model']} for {report['target']}, by Isthmus. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stddef.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"#define {name.upper()}_BYTES {len(data)}",
        *tensor_lines("input", report["inputs"], name),
        *tensor_lines("output", report["outputs"], name),
        f"extern const unsigned char {name}[{name.upper()}_BYTES];",
        f"extern const size_t {name}_bytes;",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "",
        f"#endif /* {guard} */",
        "",
    ]
    rows = [", ".join(f"0x{byte:02x}" for byte in data[i : i + 16]) for i in range(0, len(data), 16)]
    source = [
        f'#include "{name}.h"',
        "",
        f'__attribute__((aligned(16), section(".{name}"))) const unsigned char {name}[{name.upper()}_BYTES] = {{',
        *(f"    {row}," for row in rows),
        "};",
        f"const size_t {name}_bytes = {name.upper()}_BYTES;",
        "",
    ]
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.h").write_text("\n".join(header))
    (out / f"{name}.c").write_text("\n".join(source))


main()
