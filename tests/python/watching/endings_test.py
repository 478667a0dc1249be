# SPDX-License-Identifier: Apache-2.0
"""A run says how its program ended; other processes and threads do not."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kappascope
import torch
from training import Attached, Model, batches, step

_PROGRAM = """
import os, sys, time
import kappascope, torch
import training

model = training.Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scope = kappascope.attach(model, optimizer, sys.argv[1])

def step():
    training.step(model, optimizer, scope, *training.batches(1))

step()
"""


class Programs(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def start(self, name: str, end: str) -> subprocess.Popen[str]:
        program = Path(self.folder.name) / f"{name}.py"
        program.write_text(_PROGRAM + textwrap.dedent(end))
        return subprocess.Popen(
            [sys.executable, "-B", str(program), str(Path(self.folder.name) / name)],
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def state(self, name: str) -> str:
        return kappascope.read(Path(self.folder.name) / name).facts["state"]

    def test_the_state_is_how_the_program_ended(self) -> None:
        ends = {
            "returned": ("pass", "finished"),
            "left": ("sys.exit()", "finished"),
            "left_with_zero": ("sys.exit(0)", "finished"),
            "left_with_status": ("sys.exit(3)", "failed"),
            "left_with_words": ("sys.exit('no data')", "failed"),
            "raised": ("1 / 0", "failed"),
            "stopped": ("raise KeyboardInterrupt", "interrupted"),
            "raised_by_hand": ("raise SystemExit(3)", "interrupted"),
            "left_in_vain": (
                "try:\n    sys.exit(3)\nexcept SystemExit:\n    pass\n",
                "finished",
            ),
            "left_within": ("with scope:\n    sys.exit(0)\n", "finished"),
            "failed_within": ("with scope:\n    sys.exit(2)\n", "failed"),
            "gone": ("scope.flush()\nos._exit(0)", "dead"),
        }

        def end(name: str) -> None:
            self.start(name, ends[name][0]).communicate()

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(end, ends))
        self.assertEqual(
            {name: self.state(name) for name in ends},
            {name: state for name, (_, state) in ends.items()},
        )

    def test_a_forked_process_ends_no_run_and_adds_nothing(self) -> None:
        for how in ("sys.exit(0)", "sys.exit(1)", "1 / 0", "step(); scope.close(); sys.exit(0)"):
            with self.subTest(how):
                name = f"forked{abs(hash(how))}"
                program = self.start(
                    name,
                    f"""
                    if os.fork() == 0:
                        {how}
                    os.wait()
                    scope.flush()
                    print("state", kappascope.read(sys.argv[1]).facts["state"])
                    step()
                    """,
                )
                out, err = program.communicate()
                self.assertIn("state running", out, err)
                self.assertEqual(self.state(name), "finished", err)
                run = kappascope.read(Path(self.folder.name) / name)
                (loss,) = run.series("loss/train")
                self.assertEqual(loss.step.tolist(), [0, 1])
                self.assertEqual(run.damage, [])

    def test_recording_in_a_forked_process_is_an_error_that_says_so(self) -> None:
        program = self.start(
            "child",
            """
            if os.fork() == 0:
                try:
                    scope.record("x", 1.0)
                except kappascope.Error as error:
                    print("told:", error, flush=True)
                os._exit(0)
            os.wait()
            """,
        )
        out, _ = program.communicate()
        self.assertRegex(out, "told: .*forked")

    def test_a_worker_that_outlives_its_parent_does_not_keep_the_run_open(self) -> None:
        program = self.start(
            "orphan",
            """
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            print(child, flush=True)
            time.sleep(60)
            """,
        )
        assert program.stdout is not None
        child = int(program.stdout.readline())
        try:
            self.assertEqual(self.state("orphan"), "running")
            program.kill()
            program.wait()
            self.assertEqual(self.state("orphan"), "dead")
        finally:
            os.kill(child, signal.SIGKILL)
            program.communicate()


class Threads(Attached):
    def test_other_threads_record_and_flush_while_the_loop_steps(self) -> None:
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scope = kappascope.attach(model, optimizer, self.run_dir())
        stop = threading.Event()
        failed: list[BaseException] = []
        counts = [0, 0]

        def work(i: int) -> None:
            try:
                while not stop.is_set():
                    scope.record(f"thread{i}", counts[i])
                    counts[i] += 1
                    if counts[i] % 10 == 0:
                        scope.flush()
            except BaseException as error:  # noqa: BLE001 - told below
                failed.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        begin, steps = time.monotonic(), 0
        while time.monotonic() - begin < 4 or steps < 30:
            step(model, optimizer, scope, *batches(1))
            steps += 1
        stop.set()
        for thread in threads:
            thread.join()
        scope.close()
        self.assertEqual(failed, [])
        self.assertGreater(min(counts), 20)
        run = kappascope.read(self.run_dir())
        self.assertEqual(run.damage, [])
        (loss_series,) = run.series("loss/train")
        self.assertEqual(loss_series.step.tolist(), list(range(steps)))
        for i in range(2):
            self.assertTrue(run.series(f"user/thread{i}"))


if __name__ == "__main__":
    unittest.main()
