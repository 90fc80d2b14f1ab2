"""What documentation says about the program, against the program: generated pages, JSON Schemas, quant.toml, links."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import jsonschema
import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
ISTHMUS = os.environ["ISTHMUS_COMMAND"]
CNN = SOURCE / "tests/models/fmnist/cnn.pt2"
CALIBRATION = SOURCE / "tests/models/fmnist/calib_32.npz"
TEST = SOURCE / "tests/models/fmnist/test_500.npz"


def isthmus(*words, code=0):
    done = subprocess.run([ISTHMUS, *map(str, words)], capture_output=True, text=True)
    if done.returncode != code:
        raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr}")
    return done


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)


class Generated(Folder):
    def test_pages_are_what_the_tables_say(self):
        subprocess.run([SOURCE / "tools/docs/reference", ISTHMUS, self.folder], check=True)
        self.assertEqual(sorted(page.name for page in self.folder.iterdir()), ["licenses.md", "operators.md", "troubleshooting.md"])
        for page in self.folder.iterdir():
            with self.subTest(page=page.name):
                self.assertEqual((SOURCE / "docs" / page.name).read_text(), page.read_text(), "tools/docs/reference writes it anew")

    def test_pages_have_every_row(self):
        codes = re.findall(r'REASON\(\w+,\s*"([^"]+)"', (SOURCE / "src/base/reasons.def").read_text())
        sections = re.findall(r"^## (.*)$", (SOURCE / "docs/troubleshooting.md").read_text(), re.MULTILINE)
        self.assertEqual(sections, list(dict.fromkeys(codes)))
        rows = json.loads(isthmus("targets", "--ops", "--json").stdout)["ops"]
        self.assertGreater(len(rows), 100)
        self.assertGreaterEqual((SOURCE / "docs/operators.md").read_text().count("\n| "), len(rows))


class Configuration(Folder):
    def keys_of(self, text):
        config = self.folder / "quant.toml"
        config.write_text(text)
        message = isthmus("check", CNN, "--target", "xnnpack", "--config", config, code=1).stderr
        names = re.search(r"there are ([a-z_, ]+)", message)
        self.assertTrue(names, message)
        return names.group(1).split(", ")

    def test_every_key_is_documented(self):
        page = (SOURCE / "docs/quant-toml.md").read_text()
        documented = set()
        for row in re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE):
            documented |= set(re.findall(r"`(\w+)`", row))
        known = set(self.keys_of("qqqqqqqqqqqqqq = 1\n")) | set(self.keys_of("[[rule]]\nqqqqqqqqqqqqqq = 1\n"))
        self.assertGreater(len(known), 15)
        self.assertEqual(documented, known - {"rule"})

    def test_the_file_of_the_page_changes_nothing(self):
        page = (SOURCE / "docs/quant-toml.md").read_text()
        blocks = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
        self.assertEqual(len(blocks), 2)
        config = self.folder / "quant.toml"
        words = ("--target", "xnnpack", "--calibrate", CALIBRATION, "-q")
        config.write_text(blocks[0])
        isthmus("compile", CNN, *words, "-o", self.folder / "plain.pte")
        isthmus("compile", CNN, *words, "--config", config, "-o", self.folder / "same.pte")
        # The files differ in what they say of their configuration, and in nothing that they compute.
        image = self.folder / "x.npy"
        np.save(image, np.load(TEST)["input_0"][:1])
        for name in ("plain", "same"):
            isthmus("run", self.folder / f"{name}.pte", "--input", image, "-q", "-o", self.folder / name)
        outputs = [np.load(self.folder / name / "output_0.npy") for name in ("plain", "same")]
        np.testing.assert_array_equal(*outputs)
        # The rules of the second block are rules of some model: their keys and values must be right.
        config.write_text(blocks[1].replace('"classifier"', '"*"').replace('"conv2d_*"', '"*"'))
        isthmus("check", CNN, "--target", "xnnpack", "--config", config)


class Json(Folder):
    def validate(self, name, words, code=0):
        schema = json.loads((SOURCE / f"docs/schemas/{name}.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        with self.subTest(command=words):
            found = json.loads(isthmus(*words, "--json", code=code).stdout)
            jsonschema.validate(found, schema, jsonschema.Draft202012Validator)

    def test_every_command_keeps_its_schema(self):
        program, statistics = self.folder / "m.pte", self.folder / "m.stats"
        image = self.folder / "x.npy"
        np.save(image, np.load(TEST)["input_0"][:1])
        compile_words = ("compile", CNN, "--target", "xnnpack", "--calibrate", CALIBRATION)
        npu = ("compile", CNN, "--target", "ethos-u85-256", "--calibrate", CALIBRATION, "--layer-errors")
        self.validate("check", ("check", CNN, "--target", "ethos-u55-128"))
        self.validate("check", ("check", CNN, "--target", "xnnpack", "--float"))
        training = SOURCE / "tests/models/hints/dropout_train.pt2"
        self.validate("check", ("check", training, "--target", "xnnpack"), code=1)
        self.validate("compile", (*compile_words, "--io", "int8", "-o", program))
        self.validate("compile", (*compile_words, "-o", program))
        self.validate("compile", (*npu, "--emit-tosa", self.folder / "tosa", "-o", self.folder / "u85.pte"))
        self.validate("compile", ("compile", CNN, "--target", "xnnpack", "--float", "-o", self.folder / "float.pte"))
        self.validate("explain", ("explain", CNN, "--target", "xnnpack"))
        self.validate("explain", ("explain", CNN, "--target", "xnnpack", "concat"))
        self.validate("eval", ("eval", program, "--reference", CNN, "--data", TEST, "--samples", "20"))
        self.validate("verify", ("verify", program, "--reference", CNN, "--data", TEST, "--samples", "4"))
        self.validate("run", ("run", program, "--input", image, "-o", self.folder / "out"))
        self.validate("run", ("run", CNN, "--input", image, "-o", self.folder / "out"))
        self.validate("bench", ("bench", program, "--seconds", "0.05"))
        self.validate("bench", ("bench", program, "--seconds", "0.05", "--profile"))
        self.validate("calibrate", ("calibrate", CNN, "--target", "xnnpack", "--calibrate", CALIBRATION, "-o", statistics))
        self.validate("merge", ("merge", statistics, statistics, "-o", self.folder / "two.stats"))
        shard = ("--shard", "0/2")
        self.validate("calibrate", ("calibrate", CNN, "--target", "xnnpack", "--calibrate", CALIBRATION, *shard, "-o", statistics))
        self.validate("eval", ("eval", program, "--reference", CNN, "--data", TEST, *shard, "-o", self.folder / "m.eval"))
        for part in (self.folder / "m.0-of-2.stats", self.folder / "m.0-of-2.eval"):
            self.validate("inspect", ("inspect", part))
            self.validate("merge", ("merge", part, "--partial", "-o", self.folder / "part"))
        images = self.folder / "images/0"
        images.mkdir(parents=True)
        (images / "0.png").write_bytes((SOURCE / "tests/models/images/pattern/pattern_gray.png").read_bytes())
        self.validate("preprocess", ("preprocess", CNN, "--data", images.parent, "--resize", "28x28", "--show", self.folder / "seen"))
        for file in (CNN, program, statistics, next((self.folder / "tosa").iterdir())):
            self.validate("inspect", ("inspect", file))
        plan = self.folder / "plan.toml"
        plan.write_text(f'''targets = ["xnnpack", "ethos-u55-128"]
[[model]]
file = "{CNN}"
calibrate = "{CALIBRATION}"
test = "{TEST}"
[[configuration]]
name = "int8"
[[configuration]]
name = "wrong"
options = "--batch 0"
targets = ["xnnpack"]
''')
        self.validate("sweep", ("sweep", plan, "--seconds", "0.01"))
        for words in ((), ("xnnpack",), ("ethos-u55-128",), ("--ops",)):
            self.validate("targets", ("targets", *words))
        self.validate("error", ("check", "missing.pt2", "--target", "xnnpack"), code=1)
        self.validate("error", ("check", CNN, "--targt", "xnnpack"), code=2)

    def test_a_wrong_object_is_refused(self):
        schema = json.loads((SOURCE / "docs/schemas/check.schema.json").read_text())
        with self.assertRaises(jsonschema.ValidationError):
            jsonschema.validate({"schema_version": 1, "model": "m"}, schema, jsonschema.Draft202012Validator)


class Links(unittest.TestCase):
    def test_files_that_pages_name_are_there(self):
        for page in [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", *sorted((SOURCE / "docs").glob("*.md"))]:
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name} names {target}")

    def test_functions_that_the_source_page_names_are_there(self):
        steps = re.findall(r"`([A-Za-z_:]+)`\s+\(`([^`]+)`\)", (SOURCE / "src/README.md").read_text())
        self.assertGreater(len(steps), 15)
        for function, file in steps:
            text = (SOURCE / "src" / file).read_text()
            self.assertRegex(text, rf"\b{function.split('::')[-1]}\(", f"src/README.md: {function} in {file}")


if __name__ == "__main__":
    unittest.main()
