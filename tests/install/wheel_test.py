"""The wheel: the same bytes each time, and whole by itself. ISTHMUS_BUILD is the build tree."""

import base64
import csv
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tools/package"))
import third_party

BUILD = Path(os.environ["ISTHMUS_BUILD"])
MODELS = SOURCE / "tests/models/fmnist"


def make(folder):
    prefix = folder / "prefix"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    words = [SOURCE / "tools/package/wheel", prefix, folder]
    return Path(subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip())


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.wheel = make(cls.folder / "first")
        cls.site = cls.folder / "site"
        with zipfile.ZipFile(cls.wheel) as archive:
            archive.extractall(cls.site)
        cls.own = cls.site / "isthmus/_lib"
        for file in cls.own.iterdir():
            file.chmod(0o755)

    def test_same_files_give_same_bytes(self):
        self.assertEqual(make(self.folder / "second").read_bytes(), self.wheel.read_bytes())

    def test_name_and_record_are_right(self):
        self.assertRegex(self.wheel.name, r"^isthmus-\d+\.\d+\.\d+-py3-none-manylinux_2_\d+_\w+\.whl$")
        info = next(self.site.glob("*.dist-info"))
        rows = list(csv.reader((info / "RECORD").read_text().splitlines()))
        files = {str(file.relative_to(self.site)) for file in self.site.rglob("*") if file.is_file()}
        self.assertEqual({row[0] for row in rows}, files)
        for name, digest, size in rows:
            if digest:
                content = (self.site / name).read_bytes()
                found = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={found}", str(len(content))))

    def test_libraries_are_its_own(self):
        for file in self.own.iterdir():
            text = subprocess.run(["ldd", file], check=True, capture_output=True, text=True).stdout
            for name, path in re.findall(r"^\s*(\S+) => (\S+)", text, re.MULTILINE):
                if not re.match(r"lib(c|m|stdc\+\+|gcc_s)\.so", name):
                    self.assertEqual(Path(path).parent.resolve(), self.own.resolve(), (file.name, name))

    def test_libraries_have_their_names(self):
        for file in self.own.glob("*.so*"):
            text = subprocess.run(["readelf", "-d", file], check=True, capture_output=True, text=True).stdout
            self.assertEqual(re.search(r"SONAME.*\[(.*)\]", text).group(1), file.name)

    def test_every_library_has_a_licence(self):
        libraries = {row.library.lstrip("-") for row in third_party.rows()} - {""}
        names = [re.match(r"libisthmus_(\w+)\.so", file.name) for file in self.own.iterdir()]
        names = [name.group(1) for name in names if name]
        self.assertIn("XNNPACK", names)
        for name in names:
            self.assertTrue(any(name.startswith(library) for library in libraries), name)

    def test_it_compiles_and_carries_the_command(self):
        environment = {key: value for key, value in os.environ.items() if key != "ISTHMUS_LIBRARY"}
        environment["PYTHONPATH"] = str(self.site)
        script = (f"import isthmus; program = isthmus.compile('{MODELS}/cnn.pt2', calibrate='{MODELS}/calib_32.npz'); "
                  "print(program.report['delegates'], isthmus.__file__)")
        found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment)
        self.assertEqual(found.stdout, f"1 {self.site}/isthmus/__init__.py\n")
        main = "import sys; sys.argv = ['isthmus', '--version']; import isthmus._command; isthmus._command.main()"
        found = subprocess.run([sys.executable, "-c", main], check=True, capture_output=True, text=True, env=environment)
        self.assertRegex(found.stdout, r"^isthmus \d")


if __name__ == "__main__":
    unittest.main()
