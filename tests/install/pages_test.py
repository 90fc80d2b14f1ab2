"""Manual pages and completions say what the command line takes. ISTHMUS_BUILD is the build tree."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

BUILD = Path(os.environ["ISTHMUS_BUILD"])
PAGES = BUILD / "pages"
ISTHMUS = os.environ["ISTHMUS_COMMAND"]


def output(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


def commands():
    text = output(ISTHMUS, "help")
    return re.findall(r"^  ([a-z]+) ", text[text.index("Subcommands:") :].split("Example")[0], re.MULTILINE)


def options_of(command):
    names = [line.split()[0].split(",") for line in output(ISTHMUS, "help", command).splitlines() if line.startswith("  -")]
    return {name for row in names for name in row if name.startswith("--")}


class Bash(unittest.TestCase):
    def completed(self, *words):
        """What bash offers for the last word."""
        script = (
            f"source {PAGES}/isthmus.bash; compopt() {{ COMPREPLY+=(FILES); }}; "
            f"COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _isthmus; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        return output("bash", "-euc", script, "bash", *words).split()

    def test_commands_complete(self):
        self.assertGreater(len(commands()), 8)
        self.assertEqual(sorted(self.completed("isthmus", "")), sorted([*commands(), "help"]))
        self.assertEqual(self.completed("isthmus", "comp"), ["compile"])
        self.assertEqual(self.completed("isthmus", "help", "calib"), ["calibrate"])

    def test_options_of_each_command_complete(self):
        for command in commands():
            with self.subTest(command=command):
                found = set(self.completed("isthmus", command, "model.pt2", "--"))
                self.assertEqual(found, options_of(command))
        self.assertEqual(self.completed("isthmus", "compile", "m.pt2", "--calib"), ["--calibrate"])

    def test_values_complete(self):
        targets = [line.split()[0] for line in output(ISTHMUS, "targets").splitlines()]
        self.assertEqual(self.completed("isthmus", "check", "m.pt2", "--target", ""), targets)
        self.assertEqual(self.completed("isthmus", "check", "m.pt2", "--target", "=", "xnn"), ["xnnpack"])
        self.assertEqual(self.completed("isthmus", "check", "m.pt2", "--stop-after", "canon"), ["canonicalize"])
        self.assertEqual(self.completed("isthmus", "targets", "ethos-u65"), ["ethos-u65-256", "ethos-u65-512"])

    def test_files_complete_where_they_can_stand(self):
        self.assertEqual(self.completed("isthmus", "check", ""), ["FILES"])
        self.assertEqual(self.completed("isthmus", "compile", "m.pt2", "-o", ""), ["FILES"])
        self.assertEqual(self.completed("isthmus", "compile", "m.pt2", "--batch", ""), [])


class OtherShells(unittest.TestCase):
    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_reads_its_file(self):
        output("zsh", "-n", PAGES / "_isthmus")
        text = (PAGES / "_isthmus").read_text()
        for command in commands():
            for option in options_of(command):
                self.assertIn(option, text)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes(self):
        def completed(line):
            rows = output("fish", "--no-config", "-c", f"source {PAGES}/isthmus.fish; complete -C '{line}'").splitlines()
            return {row.split("\t")[0] for row in rows}

        self.assertEqual(completed("isthmus comp"), {"compile"})
        self.assertIn("xnnpack", completed("isthmus check --target "))
        for command in commands():
            self.assertLessEqual(options_of(command) - {"--help"}, completed(f"isthmus {command} --"))


class Manual(unittest.TestCase):
    def test_pages_render_without_warnings(self):
        pages = sorted((PAGES / "man1").iterdir())
        self.assertEqual([page.name for page in pages],
                         sorted(["isthmus.1", *(f"isthmus-{command}.1" for command in commands())]))
        for page in pages:
            with self.subTest(page=page.name):
                done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=80n", page], capture_output=True, text=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("SYNOPSIS", re.sub(".\x08", "", done.stdout))  # bold is a letter upon itself

    def test_pages_have_every_option_and_example(self):
        for command in commands():
            page = (PAGES / f"man1/isthmus-{command}.1").read_text().replace("\\-", "-")
            for option in options_of(command):
                self.assertIn(option, page)
            for example in re.findall(r"^  (isthmus .*)$", output(ISTHMUS, "help", command), re.MULTILINE):
                self.assertIn(example, page)

    def test_pages_have_no_date(self):
        for page in (PAGES / "man1").iterdir():
            self.assertRegex(page.read_text().splitlines()[0], r'^\.TH \S+ 1 "" "isthmus \d+\.\d+\.\d+"')


class Version(unittest.TestCase):
    def test_versions_are_named(self):
        lines = output(ISTHMUS, "--version").splitlines()
        self.assertRegex(lines[0], r"^isthmus \d+\.\d+\.\d+ \(commit ([0-9a-f]{12}(, changed)?|unknown)\)$")
        for name in ("XNNPACK 0.", ".pt2", ".onnx", ".pte", ".tosa"):
            self.assertTrue(any(line.startswith(name) for line in lines), (name, lines))

    def test_formats_page_says_the_same(self):
        page = (Path(__file__).resolve().parents[2] / "docs/formats.md").read_text()
        text = output(ISTHMUS, "--version")
        schema = re.search(r"schema (\d+)", text).group(1)
        first, last = re.search(r"opsets (\d+) to (\d+)", text).groups()
        self.assertIn(f"schema {schema}", page)
        self.assertIn(f"opsets {first} to {last}", page)
        self.assertIn(re.search(r"\.pte of ExecuTorch, (\w+)", text).group(1), page)
        self.assertIn(re.search(r"TOSA (\d+\.\d+)", text).group(0), page)


if __name__ == "__main__":
    unittest.main()
