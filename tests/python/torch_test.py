"""What needs torch: programs in memory. Skipped where torch is not installed."""

import importlib.util
import os
import signal
import sys
import threading
import time
import unittest

import isthmus
import numpy as np

if not importlib.util.find_spec("torch"):
    print("[  SKIPPED ] 1 test: torch is not installed")
    sys.exit(0)
import torch


class Classifier(torch.nn.Module):
    """Two branches that a concat joins."""

    def __init__(self):
        super().__init__()
        self.left = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.right = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 1), torch.nn.BatchNorm2d(8))
        self.head = torch.nn.Linear(16, 4)

    def forward(self, image):
        both = torch.concat([torch.relu(self.left(image)), torch.sigmoid(self.right(image))], dim=1)
        return self.head(both.mean((2, 3)))


class Counter(torch.nn.Module):
    """Sums what it has seen."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 4))

    def forward(self, values):
        self.seen.add_(values)
        return self.seen * 2


class ExportedProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.manual_seed(0)
        cls.module = Classifier().eval()
        cls.samples = [torch.randn(1, 3, 8, 8) for _ in range(64)]
        cls.exported = torch.export.export(cls.module, (cls.samples[0],))

    def test_check_and_explain_take_it(self):
        self.assertEqual(isthmus.check(self.exported)["delegates"], 1)
        self.assertEqual(isthmus.explain(self.exported, node="concat")["op"], "cat")
        self.assertIn("torch_test.py", isthmus.explain(self.exported, node="concat")["origin"])

    def test_float_computes_what_the_module_does(self):
        program = isthmus.compile(self.exported, float=True)
        wanted = self.module(self.samples[1]).detach().numpy()
        np.testing.assert_allclose(program(self.samples[1]), wanted, atol=1e-5)

    def test_int8_of_an_iterable_is_near_the_module(self):
        for data in (self.samples, (sample for sample in self.samples), torch.cat(self.samples),
                     torch.utils.data.DataLoader(torch.cat(self.samples), batch_size=16)):
            program = isthmus.compile(self.exported, calibrate=data)
            self.assertEqual(program.report["delegates"], 1)
            self.assertGreater(program.report["outputs"][0]["sqnr_db"], 20)
            self.assertGreater(isthmus.evaluate(program, self.exported, self.samples)["sqnr_db"][0], 20)
            wanted = np.concatenate([self.module(sample).detach().numpy() for sample in self.samples])
            found = np.concatenate([program(sample) for sample in self.samples])
            noise = np.sum((found - wanted) ** 2)
            self.assertGreater(10 * np.log10(np.sum(wanted ** 2) / noise), 20)

    def test_batches_have_labels(self):
        labels = [int(self.module(sample).argmax()) for sample in self.samples]
        loader = torch.utils.data.DataLoader(list(zip(torch.cat(self.samples), labels)), batch_size=16)
        program = isthmus.compile(self.exported, calibrate=loader)
        self.assertGreater(isthmus.evaluate(program, self.exported, loader)["top1"], 0.8)

    def test_progress_is_told_and_ends_the_work(self):
        stages = []
        program = isthmus.compile(self.exported, calibrate=self.samples, progress=lambda stage, share: stages.append(stage))
        self.assertIn("calibrate", stages)
        self.assertIn("<iframe", program._repr_html_())
        self.assertIn("<iframe", isthmus.check(self.exported)._repr_html_())
        with self.assertRaises(isthmus.Error):
            isthmus.compile(self.exported, calibrate=self.samples, progress=lambda stage, share: False)

    def test_interrupt_ends_a_compile(self):
        started = threading.Event()
        stages = []

        def interrupt():
            started.wait()
            os.kill(os.getpid(), signal.SIGINT)

        def show(stage, share):
            stages.append(stage)
            started.set()
            time.sleep(0.05)  # so that the work lasts until the signal is there

        thread = threading.Thread(target=interrupt)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            isthmus.compile(self.exported, calibrate=self.samples, progress=show)
        thread.join()
        self.assertNotEqual(stages, [])

    def test_dynamic_batches_run_at_any_size(self):
        sizes = ({0: torch.export.Dim("batch", min=1, max=32)},)
        exported = torch.export.export(self.module, (torch.cat(self.samples[:4]),), dynamic_shapes=sizes)
        program = isthmus.compile(exported, float=True)
        for count in (1, 3, 32):
            batch = torch.cat(self.samples[:count])
            np.testing.assert_allclose(program(batch), self.module(batch).detach().numpy(), atol=1e-5)

    def test_npu_program_runs(self):
        program = isthmus.compile(self.exported, "ethos-u55-128", self.samples)
        wanted = self.module(self.samples[0]).detach().numpy()
        np.testing.assert_allclose(program(self.samples[0]), wanted, atol=0.2 * np.abs(wanted).max())

    def test_buffers_are_state(self):
        program = isthmus.compile(torch.export.export(Counter().eval(), (torch.ones(1, 4),)), float=True)
        step = torch.full((1, 4), 0.5)
        for _ in range(2):
            self.assertEqual([float(program(step)[0, 0]) for _ in range(3)], [1, 2, 3])
            program.reset()


if __name__ == "__main__":
    unittest.main()
