"""The GitHub Action: its script gets its inputs in their order, and ends as the checks do."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
SCRIPT = SOURCE / "tools/ci/check_models"


def check(*words):
    return subprocess.run([SCRIPT, *words], capture_output=True, text=True, cwd=SOURCE / "tests/models")


class Action(unittest.TestCase):
    def test_inputs_are_the_arguments(self):
        text = (SOURCE / "action.yml").read_text()
        inputs = re.findall(r"^  (\w+):$", text.split("runs:")[0], re.MULTILINE)
        self.assertEqual(re.findall(r"- \$\{\{ inputs\.(\w+) \}\}", text), inputs)
        usage = re.search(r"check_models ([A-Z\[\] ]+):", SCRIPT.read_text()).group(1)
        self.assertEqual(re.findall(r"[A-Z]+", usage), [name.upper() for name in inputs])
        entry = re.search(r"entrypoint: (\S+)", text).group(1)
        self.assertIn(f"COPY tools/ci/check_models /usr/bin/{entry}\n", (SOURCE / "Dockerfile").read_text())

    def test_models_pass(self):
        with tempfile.TemporaryDirectory() as folder:
            models = sorted(path.stem for path in (SOURCE / "tests/models/fmnist").glob("*.pt2"))
            done = check("fmnist/*.pt2 deit_micro.pt2", "xnnpack", "--require-full-delegation", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(os.listdir(folder)), sorted(f"{name}.sarif" for name in [*models, "deit_micro"]))

    def test_a_broken_gate_and_a_missing_file_are_seen(self):
        self.assertEqual(check("fmnist/cnn.pt2 deit_micro.pt2", "xnnpack", "--max-delegates 0").returncode, 3)
        done = check("fmnist/*.qqq", "xnnpack")
        self.assertEqual(done.returncode, 1)
        self.assertIn("fmnist/*.qqq", done.stderr)


if __name__ == "__main__":
    unittest.main()
