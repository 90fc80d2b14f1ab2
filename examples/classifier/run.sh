#!/usr/bin/env bash
# run.sh MODEL.pt2 CALIBRATION.npz TEST.npz OUT: int8 on XNNPACK, and what it costs in accuracy.
set -euo pipefail
model=$1 calibration=$2 test=$3 out=$4
mkdir -p "$out"

# Everything in one delegate, or an exit code of 3 and the reason.
isthmus check "$model" --target xnnpack --require-full-delegation

isthmus compile "$model" --target xnnpack --float -q -o "$out/float.pte"
isthmus compile "$model" --target xnnpack --calibrate "$calibration" -o "$out/int8.pte"

isthmus eval "$out/int8.pte" --reference "$model" --data "$test"
for kind in float int8; do
  echo "$kind: $(stat -c %s "$out/$kind.pte") bytes"
  isthmus bench "$out/$kind.pte" --threads 1 --seconds 0.2 | grep -E '^latency'
done

# A gate: at least 98 of 100 answers are those of the model in float.
isthmus eval "$out/int8.pte" --reference "$model" --data "$test" --json |
  python3 -c 'import json, sys; agreement = json.load(sys.stdin)["agreement"]; sys.exit(f"agreement {agreement}" if agreement < 0.98 else 0)'
