"""./dev demo, without its set-up and build: it shows every main command and ends with what to do next."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
ISTHMUS = os.environ["ISTHMUS_COMMAND"]
STEPS = """
set -euo pipefail
say() { echo "==> $*"; }
with_heartbeat() { "$@"; }
source tools/setup/demo.sh
demo_steps "$1" "$2"
"""


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(["bash", "-c", STEPS, "demo", ISTHMUS, folder], cwd=SOURCE, capture_output=True, text=True)
            cls.files = sorted(os.listdir(folder))
        assert done.returncode == 0, done.stdout + done.stderr
        cls.text = done.stdout
        cls.titles = re.findall(r"^==> (.*)$", cls.text, re.MULTILINE)

    def test_shows_the_main_commands_and_an_npu(self):
        named = {name for title in self.titles for name in re.findall(r"isthmus ([a-z]+)", title)}
        self.assertLessEqual({"inspect", "check", "compile", "eval", "bench", "explain"}, named)
        self.assertIn("run on Ethos-U55, in one delegate", self.text)
        self.assertRegex(self.text, r"estimate: [\d,]+ cycles|vela")
        self.assertIn("agreement with float", self.text)
        self.assertIn("cnn.npu.pte", self.files)

    def test_ends_with_the_binary_and_commands_that_exist(self):
        end = self.text[self.text.index("==> Next: ") :]
        self.assertIn(str(Path(ISTHMUS).resolve()), end.splitlines()[0])
        commands = re.findall(r"^  isthmus ([a-z]+) ", end, re.MULTILINE)
        self.assertEqual(len(commands), 3)
        for command in commands:
            subprocess.run([ISTHMUS, "help", command], check=True, capture_output=True)
        page = re.search(r"^(docs/\S+)", end, re.MULTILINE).group(1)
        self.assertTrue((SOURCE / page).is_file(), page)


if __name__ == "__main__":
    unittest.main()
