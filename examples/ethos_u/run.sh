#!/usr/bin/env bash
# run.sh MODEL.pt2 CALIBRATION.npz OUT: a model for an Ethos-U55 as a C array, with int8 inputs and outputs.
set -euo pipefail
model=$1 calibration=$2 out=$3
here=$(dirname "${BASH_SOURCE[0]}")
mkdir -p "$out"

isthmus check "$model" --target ethos-u55-128 --require-full-delegation
# Where vela is installed it makes the NPU's commands; without it the file holds TOSA, and a warning says so.
isthmus compile "$model" --target ethos-u55-128 --calibrate "$calibration" --io int8 --json -o "$out/model.pte" >"$out/report.json"
python3 "$here/to_c_array.py" "$out/model.pte" "$out/report.json" model "$out"

# For firmware this is the cross compiler of the board.
cc -std=c11 -Wall -Wextra -Werror -I "$out" "$here/main.c" "$out/model.c" -o "$out/firmware"
"$out/firmware" >"$out/copy.pte"
cmp "$out/model.pte" "$out/copy.pte"
