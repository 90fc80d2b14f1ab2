# shellcheck shell=bash
# What ./dev demo shows, on bundled models. Sourced by dev, whose `say` and `with_heartbeat` it uses.

demo_steps() {  # binary, folder for what it writes
  local isthmus=$1 out=$2 models=tests/models/fmnist name file
  mkdir -p "$out"
  say "A trained classifier, and its torch.concat before and after canonicalization: isthmus inspect"
  "$isthmus" inspect "$models/cnn.pt2"
  "$isthmus" inspect "$models/cnn.pt2" --ir | grep -F '%concat ='
  "$isthmus" inspect "$models/cnn.pt2" --ir --stop-after canonicalize | grep -F '%concat ='
  say "Where each operator runs; this needs no data: isthmus check"
  "$isthmus" check "$models/cnn.pt2" --target xnnpack
  for name in cnn vit; do
    say "$name in int8, calibrated on 32 images: isthmus compile"
    "$isthmus" compile "$models/$name.pt2" --target xnnpack --float -q -o "$out/$name.float.pte"
    with_heartbeat "$isthmus" compile "$models/$name.pt2" --target xnnpack --calibrate "$models/calib_32.npz" -o "$out/$name.pte"
    say "Accuracy on 500 test images, in float and in int8: isthmus eval"
    with_heartbeat "$isthmus" eval "$out/$name.pte" --reference "$models/$name.pt2" --data "$models/test_500.npz"
    say "Size and speed, in float and in int8: isthmus bench"
    for file in "$out/$name.float.pte" "$out/$name.pte"; do
      printf '%s: %s bytes\n' "$file" "$(stat -c %s "$file")"
      "$isthmus" bench "$file" --threads 1 --seconds 1 | grep -E '^(latency|delegates|host)'
    done
  done
  say "The same classifier on an NPU, and why its concat runs there: isthmus check, isthmus explain"
  "$isthmus" check "$models/cnn.pt2" --target ethos-u55-128 --require-full-delegation
  "$isthmus" explain "$models/cnn.pt2" --target ethos-u55-128 concat
  say "Size, cycles and SRAM on the NPU: isthmus compile"
  with_heartbeat "$isthmus" compile "$models/cnn.pt2" --target ethos-u55-128 --calibrate "$models/calib_32.npz" -o "$out/cnn.npu.pte"
  say "Next: the binary is $(realpath "$isthmus"); try it on your own model"
  cat <<'EOF'
  isthmus inspect model.pt2
  isthmus check model.pt2 --target xnnpack
  isthmus compile model.pt2 --target xnnpack --calibrate calib.npz -o model.pte
docs/quickstart.md shows how to export a model; isthmus help COMMAND has more examples.
EOF
}
