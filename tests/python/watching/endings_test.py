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
from pathlib import Path

import kappascope
import torch
from kappascope._watch import ending as _ending
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


class Endings(unittest.TestCase):
    """Of programs that load what looks at their end, and nothing that takes seconds."""

    def state(self, end: str, *options: str) -> str:
        program = f"""
import atexit, importlib.util, os, sys
spec = importlib.util.spec_from_file_location("ending", {_ending.__file__!r})
ending = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ending)
atexit.register(lambda: print("state", ending.watch_ending().state()))
ending.watch_ending()
{end}
"""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "program.py").write_text(program)
            words = options or (str(Path(folder) / "program.py"),)
            done = subprocess.run(
                [sys.executable, "-B", *words], capture_output=True, text=True, cwd=folder
            )
        return done.stdout.split("state ")[-1].strip()

    def test_a_run_that_is_gone_when_python_ends_is_told_without_a_trace(self) -> None:
        gone = (
            "import shutil, sys, torch, kappascope\n"
            f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "from training import Model\n"
            "model = Model()\n"
            "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
            "scope = kappascope.attach(model, optimizer, sys.argv[1])\n"
            "shutil.rmtree(sys.argv[1])\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-B", "-c", gone, folder + "/run"]
            done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("was removed or replaced", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_the_state_is_how_the_program_ended(self) -> None:
        for end, state in (
            ("pass", "finished"),
            ("sys.exit()", "finished"),
            ("sys.exit(0)", "finished"),
            ("sys.exit(3)", "failed"),
            ("sys.exit('no data')", "failed"),
            ("1 / 0", "failed"),
            ("raise KeyboardInterrupt", "interrupted"),
            ("raise SystemExit(3)", "interrupted"),
            ("try:\n    sys.exit(3)\nexcept SystemExit:\n    pass\n", "finished"),
            ("def main():\n    return None\nsys.exit(main())", "finished"),
            ("import argparse\nargparse.ArgumentParser().parse_args(['--no'])", "failed"),
        ):
            with self.subTest(end):
                self.assertEqual(self.state(end), state)
        self.assertEqual(self.state("sys.exit(3)", "-m", "program"), "failed")
        self.assertEqual(self.state("pass", "-m", "program"), "finished")


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

    def test_a_program_that_leaves_with_a_status_has_failed(self) -> None:
        self.start("left", "sys.exit(3)").communicate()
        self.assertEqual(self.state("left"), "failed")

    def test_forked_processes_end_no_run_and_add_nothing(self) -> None:
        program = self.start(
            "forked",
            """
            def child(end):
                if os.fork() == 0:
                    end()
                    sys.exit(0)
                os.wait()
                scope.flush()
                print("state", kappascope.read(sys.argv[1]).facts["state"], flush=True)

            def leave(): sys.exit(1)
            def fail(): 1 / 0
            def go_on(): step(); scope.close("failed")
            def record():
                try:
                    scope.record("x", 1.0)
                except kappascope.Error as error:
                    print("told:", error, flush=True)

            for end in (leave, fail, go_on, record):
                child(end)
            step()
            """,
        )
        out, err = program.communicate()
        self.assertEqual(out.count("state running"), 4, err)
        self.assertRegex(out, "told: .*forked")
        self.assertEqual(self.state("forked"), "finished", err)
        run = kappascope.read(Path(self.folder.name) / "forked")
        (loss,) = run.series("loss/train")
        self.assertEqual(loss.step.tolist(), [0, 1])
        self.assertEqual(run.series("user/x"), [])
        self.assertEqual(run.damage, [])

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


class Contexts(Attached):
    def test_a_status_within_with_is_the_state(self) -> None:
        for status, state in ((0, "finished"), (None, "finished"), (2, "failed")):
            model = Model()
            optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
            folder = self.run_dir(f"left{status}")
            with self.assertRaises(SystemExit), kappascope.attach(model, optimizer, folder):
                sys.exit(status)
            self.assertEqual(kappascope.read(folder).facts["state"], state)


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
