"""What `cmake --install` puts into a folder: a project builds against it, and it is as a release is to be.

ISTHMUS_BUILD is the build tree, ISTHMUS_COMMAND the command of the build tree.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["ISTHMUS_BUILD"])
MODELS = SOURCE / "tests/models/fmnist"


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def only(paths):
    found = list(paths)
    assert len(found) == 1, found
    return found[0]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        first = cls.scratch / "first"
        run("cmake", "--install", BUILD, "--prefix", first)
        cls.prefix = cls.scratch / "moved"  # where it is must not matter
        first.rename(cls.prefix)
        cls.library = only(path for path in cls.prefix.rglob("libisthmus.so.*") if not path.is_symlink())
        cls.lib = cls.library.parent
        cls.command = cls.prefix / "bin/isthmus"


class Layout(Installed):
    def test_library_is_versioned(self):
        version = re.search(r"project\(isthmus VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(self.library.name, f"libisthmus.so.{version}")
        soname = re.search(r"SONAME.*\[(.*)\]", run("readelf", "-d", self.library)).group(1)
        self.assertTrue((self.lib / soname).is_symlink())
        self.assertIn(f'"{soname}"', (self.lib / "cmake/Isthmus/IsthmusConfig.cmake").read_text())
        self.assertEqual((self.lib / "libisthmus.so").resolve(), self.library.resolve())

    def test_nothing_but_the_interface_is_exported(self):
        names = [line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", self.library).splitlines()]
        names = [name for name in names if not name.startswith("ISTHMUS_")]
        header = (SOURCE / "include/isthmus/isthmus_c.h").read_text()
        functions = set(re.findall(r"\b(isthmus_\w+)\(", header))
        self.assertEqual(functions - set(names), set())
        others = [name for name in names if name not in functions]
        shown = run("c++filt", *others).splitlines()
        self.assertGreater(len(shown), 20)
        for name in shown:
            self.assertTrue(name.startswith("isthmus::v1::"), name)
            self.assertNotIn("State", name.split("(")[0])

    def test_run_paths_are_relative(self):
        for file in (self.command, self.library):
            path = re.search(r"RUNPATH.*\[(.*)\]", run("readelf", "-d", file)).group(1)
            self.assertTrue(path.startswith("$ORIGIN"), path)
            self.assertNotIn(str(SOURCE), run("strings", file))
        loaded = run("ldd", self.command)
        self.assertNotIn("not found", loaded)
        self.assertNotIn(str(BUILD), loaded)

    def test_files_are_hardened(self):
        if "CMAKE_BUILD_TYPE:STRING=Release" not in (BUILD / "CMakeCache.txt").read_text():
            self.skipTest("only released builds are")
        for file in (self.command, self.library):
            with self.subTest(file=file.name):
                dynamic = run("readelf", "-d", file)
                self.assertRegex(dynamic, r"FLAGS_1.*NOW")
                self.assertIn("GNU_RELRO", run("readelf", "-lW", file))
                self.assertRegex(run("readelf", "-lW", file), r"GNU_STACK.* RW +0x")
                imported = run("nm", "-D", "--undefined-only", file)
                self.assertIn("__stack_chk_fail", imported)
                self.assertRegex(imported, r"__\w+_chk\b")  # _FORTIFY_SOURCE
                self.assertIn("__glibcxx_assert_fail", imported)
        self.assertRegex(run("readelf", "-d", self.command), r"FLAGS_1.*PIE")
        archive = self.lib / "libisthmus.a"
        if os.uname().machine == "x86_64":
            notes = run("readelf", "-nW", archive)
            members = len(run("ar", "t", archive).splitlines())
            self.assertEqual(len(re.findall("x86 feature: IBT, SHSTK", notes)), members)


class Users(Installed):
    def build(self, kind):
        folder = self.scratch / kind
        run("cmake", "-S", SOURCE / "examples/cmake_project", "-B", folder, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DISTHMUS_KIND={kind}")
        run("cmake", "--build", folder)
        return folder / "classify"

    def check(self, program):
        """The program's file is the command's, byte for byte, and its answer is right."""
        test = np.load(MODELS / "test_500.npz")
        image, ours, theirs = self.scratch / "image.bin", self.scratch / "ours.pte", self.scratch / "theirs.pte"
        image.write_bytes(test["input_0"][0].astype("<f4").tobytes())
        words = (MODELS / "cnn.pt2", MODELS / "calib_32.npz")
        answer = run(program, *words, ours, image)
        self.assertEqual(answer, f"class {test['labels'][0]} of 10\n")
        run(self.command, "compile", words[0], "--target", "xnnpack", "--calibrate", words[1], "-q", "-o", theirs)
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())

    def test_cmake_project_links_the_shared_library(self):
        program = self.build("shared")
        self.assertIn("libisthmus.so", run("readelf", "-d", program))
        self.check(program)

    def test_cmake_project_links_the_archive(self):
        program = self.build("static")
        self.assertNotIn("libisthmus", run("readelf", "-d", program))
        self.check(program)

    def test_cmake_project_finds_the_command(self):
        project = self.scratch / "command"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(command LANGUAGES CXX)\nfind_package(Isthmus REQUIRED)\n"
            'message(STATUS "it is ${ISTHMUS_COMMAND}.")\n')
        self.assertIn(f"it is {self.command}.\n", run("cmake", "-S", project, "-B", project, f"-DCMAKE_PREFIX_PATH={self.prefix}"))

    def test_an_unknown_component_is_named(self):
        with self.assertRaisesRegex(AssertionError, "no qqq"):
            self.build("qqq")

    def test_pkg_config_finds_both(self):
        environment = dict(os.environ, PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))
        main = SOURCE / "examples/compile_model_c/compile_model_c.c"
        for kind in ("shared", "static"):
            flags = ["--cflags", "--libs", *(["--static"] if kind == "static" else [])]
            words = run("pkg-config", *flags, "isthmus", env=environment).split()
            if kind == "static":
                words = [word.replace("-listhmus", "-l:libisthmus.a") for word in words]
            program = self.scratch / f"c_{kind}"
            run("cc", main, "-o", program, *words, f"-Wl,-rpath,{self.lib}", f"-Wl,-rpath,{self.lib / 'isthmus'}")
            self.assertIn("usage", subprocess.run([program], capture_output=True, text=True).stderr)


if __name__ == "__main__":
    unittest.main()
