"""The package of Python, as it lies in the build tree. ISTHMUS_COMMAND is the command of the same build."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
from html.parser import HTMLParser
from pathlib import Path
from unittest import mock

import isthmus
import numpy as np

SOURCE = Path(__file__).resolve().parents[2]
MODELS = SOURCE / "tests/models"
CNN = MODELS / "fmnist/cnn.pt2"
CALIBRATION = MODELS / "fmnist/calib_32.npz"
TEST = np.load(MODELS / "fmnist/test_500.npz")
IMAGES = np.load(CALIBRATION)["input_0"]


def command(*words):
    done = subprocess.run([os.environ["ISTHMUS_COMMAND"], *map(str, words)], check=True, capture_output=True, text=True)
    return done.stdout


def embedded(page):
    """The object that a page shows."""
    return json.loads(page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0])


class Frame(HTMLParser):
    def __init__(self):
        super().__init__()
        self.frames = []

    def handle_starttag(self, tag, attributes):
        if tag == "iframe":
            self.frames.append(dict(attributes))


class Compile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = isthmus.compile(CNN, target="xnnpack", calibrate=CALIBRATION)

    def test_file_is_the_command_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Path(folder) / "ours.pte", Path(folder) / "theirs.pte"
            self.program.save(ours)
            command("compile", CNN, "--target", "xnnpack", "--calibrate", CALIBRATION, "-q", "-o", theirs)
            self.assertEqual(ours.read_bytes(), theirs.read_bytes())
            self.assertEqual(bytes(self.program), theirs.read_bytes())

    def same(self, data, **options):
        """Whether a program calibrated on these data computes what the one of the file does."""
        program = isthmus.compile(CNN, calibrate=data, **options)
        image = TEST["input_0"][:1]
        return np.array_equal(program(image), self.program(image))

    def test_samples_come_in_many_shapes(self):
        self.assertTrue(self.same(IMAGES))
        self.assertTrue(self.same(image[None] for image in IMAGES))
        self.assertTrue(self.same([(image,) for image in IMAGES]))
        self.assertTrue(self.same([{"x": image} for image in IMAGES]))
        self.assertTrue(self.same([(IMAGES[:20], np.zeros(20)), (IMAGES[20:], np.zeros(12))]))
        self.assertTrue(self.same(IMAGES.astype(np.float64)))
        self.assertFalse(self.same(IMAGES[:4]))
        self.assertTrue(np.array_equal(isthmus.compile(CNN, calibrate=IMAGES, max_samples=4)(TEST["input_0"][:1]),
                                       isthmus.compile(CNN, calibrate=IMAGES[:4])(TEST["input_0"][:1])))

    def test_statistics_serve_as_samples(self):
        statistics = isthmus.calibrate(CNN, data=IMAGES)
        self.assertEqual(statistics.samples, 32)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "all.stats"
            statistics.save(path)
            image = TEST["input_0"][:1]
            self.assertTrue(np.array_equal(isthmus.compile(CNN, calibrate=statistics)(image),
                                           isthmus.compile(CNN, calibrate=path)(image)))

    def test_options_reach_the_compiler(self):
        self.assertGreater(len(bytes(isthmus.compile(CNN, float=True))), len(bytes(self.program)))
        with self.assertRaisesRegex(isthmus.Error, "qqq"):
            isthmus.compile(CNN, calibrate=IMAGES, config="qqq = 1\n")
        with self.assertRaises(TypeError):
            isthmus.compile(CNN, calibrate=IMAGES, qqq=1)
        self.assertIn("ethos-u85-256", isthmus.targets())
        npu = isthmus.compile(CNN, "ethos-u85-256", IMAGES)
        self.assertEqual(npu.report["target"], "ethos-u85-256")

    def test_reports_are_the_command_lines(self):
        found = isthmus.check(CNN, "ethos-u55-128")
        wanted = json.loads(command("check", CNN, "--target", "ethos-u55-128", "--json"))
        self.assertEqual({**found, "seconds": 0}, {**wanted, "seconds": 0})
        self.assertEqual(self.program.report["delegates"], 1)
        self.assertIn("groups", isthmus.check(CNN))
        self.assertIn("concat", json.dumps(isthmus.explain(CNN, "xnnpack", "concat")))
        self.assertGreater(isthmus.Model(CNN).inspect()["nodes"], 10)

    def test_reports_show_the_page_in_a_frame(self):
        found = isthmus.evaluate(self.program, CNN, TEST["input_0"][:4])
        explained = isthmus.explain(CNN, node="concat")
        for report, kind in ((isthmus.check(CNN), "check"), (self.program.report, "compile"), (found, "eval"),
                             (explained, "check")):
            page = report.page()
            self.assertTrue(page.startswith("<!DOCTYPE html>"))
            self.assertEqual(embedded(page)["kind"], kind)
            frame = Frame()
            frame.feed(report._repr_html_())
            self.assertEqual(len(frame.frames), 1)
            self.assertEqual(frame.frames[0]["sandbox"], "allow-scripts")
            self.assertEqual(frame.frames[0]["srcdoc"], page)
        self.assertEqual(embedded(explained.page())["node"], "concat")
        self.assertEqual(self.program._repr_html_(), self.program.report._repr_html_())

    def test_page_is_the_command_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Path(folder) / "ours.html", Path(folder) / "theirs.html"
            self.program.report.save(ours)
            command("compile", CNN, "--target", "xnnpack", "--calibrate", CALIBRATION, "-q", "--report", theirs, "-o",
                    Path(folder) / "m.pte")
            ours, theirs = (embedded(path.read_text(encoding="utf-8")) for path in (ours, theirs))
        for key in ("kind", "graph", "groups", "memory", "verdict"):
            self.assertEqual(ours[key], theirs[key], key)

    def test_reports_without_a_page_are_tables(self):
        html = isthmus.Report({"model": "<b>&", "delegates": 1, "host": [{"op": "a<b", "n": 1.5}, {"op": "c"}]})._repr_html_()
        self.assertIn("&lt;b&gt;&amp;", html)
        self.assertIn("<td>a&lt;b</td><td>1.5</td>", html)
        self.assertIn("delegates", self.program.inspect()._repr_html_())
        for copied in (copy.deepcopy(self.program.report), pickle.loads(pickle.dumps(self.program.report))):
            self.assertEqual(copied, self.program.report)
            self.assertIn("<table>", copied._repr_html_())
            with self.assertRaisesRegex(ValueError, "no page"):
                copied.save("never.html")


class Run(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = isthmus.compile(CNN, calibrate=CALIBRATION)

    def test_outputs_are_the_command_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            image, program = Path(folder) / "x.npy", Path(folder) / "m.pte"
            np.save(image, TEST["input_0"][3:4])
            self.program.save(program)
            command("run", program, "--input", image, "-q", "-o", folder)
            wanted = np.load(Path(folder) / "output_0.npy")
            for given in (self.program, isthmus.Program(program)):
                np.testing.assert_array_equal(given(TEST["input_0"][3:4]), wanted)
                np.testing.assert_array_equal(given(TEST["input_0"][3]), wanted)  # the batch of one is added

    def test_several_inputs_and_outputs(self):
        program = isthmus.compile(MODELS / "emg_cascade.pt2", float=True)
        inputs = [np.load(MODELS / f"emg_cascade_input_{i}.npy") for i in range(2)]
        outputs = program(*inputs)
        self.assertEqual(len(outputs), 2)
        for i, output in enumerate(outputs):
            wanted = np.load(MODELS / f"emg_cascade_output_{i}.npy")
            np.testing.assert_allclose(output, wanted, atol=1e-4 * max(1, np.abs(wanted).max()))
        with self.assertRaisesRegex(isthmus.Error, "1 arrays"):
            program(inputs[0])

    def test_quantized_inputs_are_what_the_program_says(self):
        program = isthmus.compile(CNN, calibrate=CALIBRATION, config='inputs = "int8"\noutputs = "int8"\n')
        self.assertEqual(program.inspect()["inputs"][0]["dtype"], "i8")
        self.assertEqual(program(np.zeros((1, 1, 28, 28), np.int8)).dtype, np.int8)
        with self.assertRaisesRegex(isthmus.Error, "float32 given, int8 expected"):
            program(IMAGES[:1])

    def test_threads_run_one_program_at_once(self):
        wanted = [self.program(image) for image in TEST["input_0"][:40]]
        found = [None] * 40

        def work(start):
            for i in range(start, 40, 4):
                found[i] = self.program(TEST["input_0"][i])

        threads = [threading.Thread(target=work, args=(start,)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_array_equal(found, wanted)

    def test_state_stays_over_calls_until_it_is_reset(self):
        recorded = np.load(MODELS / "state/stream_io.npz")
        program = isthmus.compile(MODELS / "state/stream.pt2", float=True)
        for _ in range(2):
            for i, (sample, wanted) in enumerate(zip(recorded["input_0"], recorded["output_0"])):
                values, calls = program(sample)
                np.testing.assert_allclose(values, wanted, atol=1e-5)
                np.testing.assert_array_equal(calls, recorded["output_1"][i])
            program.reset()
        self.program.reset()  # of a program without state: nothing

    def test_threads_share_the_state_of_one_program(self):
        program = isthmus.compile(MODELS / "state/stream.pt2", float=True)
        sample = np.load(MODELS / "state/stream_io.npz")["input_0"][0]
        counts = []
        threads = [threading.Thread(target=lambda: counts.extend(int(program(sample)[1][0]) for _ in range(10)))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(counts)), 40)  # each call is one step

    def test_evaluation_is_the_command_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.pte"
            self.program.save(path)
            words = ("eval", path, "--reference", CNN, "--data", MODELS / "fmnist/test_500.npz", "--json")
            wanted = json.loads(command(*words))
        for data in (MODELS / "fmnist/test_500.npz", list(zip(TEST["input_0"], TEST["labels"]))):
            found = isthmus.evaluate(self.program, CNN, data)
            for key in ("top1", "agreement", "sqnr_db"):
                self.assertEqual(found[key], wanted[key], key)


class Errors(unittest.TestCase):
    def test_errors_have_kinds(self):
        for call, kind in ((lambda: isthmus.Program("missing.pte"), "environment"),
                           (lambda: isthmus.Model(CALIBRATION), "bad-input"),
                           (lambda: isthmus.check(CNN, "qqq"), "bad-input")):
            with self.assertRaises(isthmus.Error) as raised:
                call()
            self.assertEqual(raised.exception.kind, kind, raised.exception)
        with self.assertRaises(TypeError):
            isthmus.check(object())

    def test_samples_that_do_not_fit_are_named(self):
        for data, message in (([np.zeros((1, 1, 9, 9), np.float32)], "sample 0"), ([], "no samples"),
                              ([(IMAGES[0],) * 3], "3 arrays"), ([{"y": IMAGES[0]}], "lacks the input x"),
                              ([np.zeros((1, 1, 28, 28), complex)], "complex128 given")):
            with self.assertRaisesRegex(isthmus.Error, message):
                isthmus.compile(CNN, calibrate=data)


class Progress(unittest.TestCase):
    def test_callback_sees_stages_and_cancels(self):
        seen = []
        isthmus.compile(CNN, calibrate=IMAGES, progress=lambda stage, fraction: seen.append((stage, fraction)))
        self.assertIn("calibrate", {stage for stage, _ in seen})
        self.assertTrue(all(0 <= fraction <= 1 for _, fraction in seen))
        with self.assertRaises(isthmus.Cancelled):
            isthmus.compile(CNN, calibrate=IMAGES, progress=lambda stage, fraction: stage != "calibrate")

    def test_what_a_callback_raises_comes_out(self):
        def fail(stage, fraction):
            raise KeyError(stage)

        with self.assertRaises(KeyError):
            isthmus.compile(CNN, calibrate=IMAGES, progress=fail)

    def test_tqdm_shows_stages_where_it_is_installed(self):
        bars = []

        class Bar:
            def __init__(self, total, **_):
                self.total, self.n, self.stages, self.is_open = total, 0, set(), True
                bars.append(self)

            def set_description(self, stage, refresh=True):
                self.stages.add(stage)

            def refresh(self):
                assert 0 <= self.n <= self.total

            def close(self):
                self.is_open = False

        auto = types.ModuleType("tqdm.auto")
        auto.tqdm = Bar
        with mock.patch.dict(sys.modules, {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": auto}):
            isthmus.compile(CNN, calibrate=IMAGES, progress=True)
            isthmus.compile(CNN, calibrate=IMAGES)  # no terminal and no notebook: no bar
            with mock.patch.dict(sys.modules, {"ipykernel": types.ModuleType("ipykernel")}):
                isthmus.compile(CNN, calibrate=IMAGES)
        self.assertEqual(len(bars), 2)
        for bar in bars:
            self.assertIn("calibrate", bar.stages)
            self.assertFalse(bar.is_open)
        with mock.patch.dict(sys.modules, {"tqdm": None, "tqdm.auto": None}):
            isthmus.compile(CNN, calibrate=IMAGES, progress=True)  # not installed: no bar, no error

    def test_ctrl_c_ends_a_long_call(self):
        started = threading.Event()

        def interrupt():
            started.wait()
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()

        def show(stage, fraction):
            started.set()
            time.sleep(0.05)  # so that the work lasts until the signal is there

        with self.assertRaises(KeyboardInterrupt):
            isthmus.compile(CNN, calibrate=np.repeat(IMAGES, 8, axis=0), progress=show)
        thread.join()

    def test_other_threads_run_meanwhile(self):
        turns = 0
        done = threading.Event()

        def count():
            nonlocal turns
            while not done.is_set():
                turns += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        try:
            isthmus.compile(CNN, calibrate=np.repeat(IMAGES, 4, axis=0))
        finally:
            done.set()
            thread.join()
        self.assertGreater(turns, 20)


class WithoutTorch(unittest.TestCase):
    def test_the_package_does_without_torch(self):
        script = "import sys; sys.modules['torch'] = None; import isthmus; print(isthmus.check(sys.argv[1])['delegates'])"
        found = subprocess.run([sys.executable, "-c", script, CNN], check=True, capture_output=True, text=True)
        self.assertEqual(found.stdout, "1\n")


if __name__ == "__main__":
    unittest.main()
