# SPDX-License-Identifier: Apache-2.0
"""Processes that do not agree or are not in step: none waits for ever, none mixes steps, and a run
that was stopped goes on."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import kappascope
import torch
from steps import HOW, STEPS
from training import Attached, Model, batches
from training import step as update

SCRIPT = str(Path(__file__).with_name("steps.py"))
LAYERS = ["layers.0.down_proj", "layers.1.down_proj"]


class Together(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.launch(*(how for how in HOW if how != "restarted"))
        with cls.assertRaisesRegex(cls(), AssertionError, "exitcode  : 9"):
            cls.launch("restarted")
        cls.launch("restarted")

    @classmethod
    def launch(cls, *how: str) -> None:
        words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        # A group of its own, so that a process that hangs is ended with the launcher.
        running = subprocess.Popen(
            [sys.executable, *words, SCRIPT, str(cls.folder), *how],
            env={**os.environ, "OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            said = running.communicate(timeout=900)[1]
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise AssertionError(f"one of {how} hangs") from None
        assert running.returncode == 0, said[-3000:]

    def run_of(self, how: str) -> kappascope.Run:
        return kappascope.read(str(self.folder / how))

    def noted(self, how: str) -> list[str]:
        return [(self.folder / f"{how}.{rank}").read_text() for rank in (0, 1)]

    def kappa_steps(self, how: str) -> list[int]:
        return self.run_of(how).series("kappa/sigma", LAYERS[0])[0].step.tolist()

    def events(self, how: str) -> str:
        return "\n".join(text for _, _, text in self.run_of(how).events)

    def test_a_process_may_have_no_down_projection(self) -> None:
        for how in ("first", "second"):
            self.assertEqual([s.layer for s in self.run_of(how).series("kappa/sigma")], LAYERS)
            self.assertEqual(self.kappa_steps(how), [1, 2, 4, 5])
            self.assertEqual(self.run_of(how).facts["state"], "finished")

    def test_what_one_refuses_all_refuse(self) -> None:
        for how, words, kinds in (
            ("none", "no down-projection was found", ("Error", "Error")),
            ("pattern", "no linear layer is called x", ("Error", "Error")),
            ("probes", "got ['nothing']", ("Error: process 1", "ValueError")),
            ("type", "could not convert", ("ValueError", "Error: process 0")),
            ("differs", "with the same probes, windows and budget", ("Error", "Error")),
        ):
            for text, kind in zip(self.noted(how), kinds, strict=True):
                self.assertIn(words, text)
                self.assertTrue(text.startswith(kind), text)
            self.assertFalse((self.folder / how / "run.sqlite").exists())

    def test_a_process_that_made_fewer_updates_is_not_waited_for(self) -> None:
        for how in ("skips", "ends"):
            self.assertIn("process 1 ended its run at step", self.events(how))
            self.assertIn("nothing is measured together from here on", self.noted(how)[0])
            self.assertEqual(self.run_of(how).series("loss/train")[0].step.tolist(), [*range(STEPS)])
        self.assertEqual(self.kappa_steps("skips"), [1, 2, 4])
        self.assertEqual(self.kappa_steps("ends"), [1, 2])

    def test_an_update_without_a_backward_pass_has_no_rows(self) -> None:
        self.assertEqual(self.kappa_steps("empty"), [1, 2, 4, 5])
        rows = self.run_of("empty").series("kappa/sigma", LAYERS[0])[0].rows.tolist()
        self.assertEqual(rows, [80.0, 20.0, 80.0, 40.0])

    def test_steps_that_differ_are_not_merged(self) -> None:
        self.assertEqual(self.kappa_steps("overflows"), [1])
        for where in ("process 1 is at step 2 of 3 updates", "process 0 is at step 2 of 2 updates"):
            self.assertIn(where, self.events("overflows"))
        self.assertEqual(self.run_of("in_step").series("kappa/sigma"), [])
        self.assertIn("process 1 did not come in 3 s", self.events("in_step"))
        for how in ("overflows", "in_step"):
            for text in self.noted(how):
                self.assertIn("nothing is measured together from here on", text)
            self.assertEqual(self.run_of(how).facts["state"], "finished")

    def test_a_restarted_launch_goes_on_in_its_run(self) -> None:
        run = self.run_of("restarted")
        self.assertEqual(run.facts["resumed"], "from step 4")
        self.assertEqual((run.facts["state"], run.facts["processes"]), ("finished", "2"))
        self.assertEqual(run.series("loss/train")[0].step.tolist(), [*range(STEPS)])
        self.assertEqual(sum(kind == "resumed" for _, kind, _ in run.events), 1)
        self.assertEqual(self.kappa_steps("restarted")[:2], [1, 2])


class Resumed(Attached):
    def part(self, steps: range, **options: Any) -> Any:
        """Updates of these numbers, and the scope, not closed."""
        torch.manual_seed(5)
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        given: dict[str, Any] = {"every": 1, "window": 1, "budget": 0, **options}
        scope = kappascope.attach(model, optimizer, self.run_dir(), **given)
        for step in steps:
            update(model, optimizer, scope, batches(12)[step])
            scope.record("number", float(step))
        return scope

    def steps(self, name: str = "loss/train") -> list[int]:
        return kappascope.read(self.run_dir()).series(name)[0].step.tolist()

    def test_a_run_goes_on_at_the_next_step(self) -> None:
        self.part(range(3), existing="resume").close("interrupted")
        self.part(range(3, 6), existing="resume").close()
        run = kappascope.read(self.run_dir())
        self.assertEqual(self.steps(), [*range(6)])
        self.assertEqual(run.series("user/number")[0].value.tolist(), [*map(float, range(6))])
        self.assertEqual((run.facts["resumed"], run.facts["state"]), ("from step 3", "finished"))
        self.assertIn((2, "resumed", "resumed after 3 steps"), run.events)
        self.assertEqual(self.steps("kappa/sigma"), [0, 1, 2, 4, 5])

    def test_steps_that_are_repeated_replace_what_was_there(self) -> None:
        self.part(range(5)).close()
        for first, told in ((3, "from step 3"), (2, "from step 3, from step 2")):
            self.part(range(first, 6), existing="resume", step=first).close()
            self.assertEqual(self.steps(), [*range(6)])
            self.assertEqual(kappascope.read(self.run_dir()).facts["resumed"], told)
        kappas = kappascope.read(self.run_dir()).series("kappa/sigma", LAYERS[0])[0].step.tolist()
        self.assertEqual(kappas, [0, 1, 3, 4, 5])

    def test_a_checkpoint_may_be_ahead_of_what_was_written(self) -> None:
        self.part(range(3)).close()
        self.part(range(8, 10), existing="resume", step=8).close()
        self.assertEqual(self.steps(), [0, 1, 2, 8, 9])

    def test_a_new_run_may_begin_at_a_later_step(self) -> None:
        self.part(range(4, 6), step=4).close()
        self.assertEqual(self.steps(), [4, 5])
        self.assertNotIn("resumed", kappascope.read(self.run_dir()).facts)

    def test_a_run_that_was_killed_goes_on(self) -> None:
        script = (
            f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            "import os, steps_test\n"
            "test = steps_test.Resumed(); test.run_dir = lambda: sys.argv[1]\n"
            "test.part(range(4), existing='resume').flush(); os._exit(9)\n"
        )
        done = subprocess.run([sys.executable, "-c", script, self.run_dir()], capture_output=True)
        self.assertEqual(done.returncode, 9, done.stderr.decode())
        self.assertEqual(kappascope.read(self.run_dir()).facts["state"], "dead")
        self.part(range(4, 6), existing="resume").close()
        self.assertEqual(self.steps(), [*range(6)])

    def test_a_run_that_is_being_written_is_not_taken(self) -> None:
        scope = self.part(range(2))
        with self.assertRaisesRegex(kappascope.Error, "writ"):
            self.part(range(0), existing="resume")
        scope.close()
        with self.assertRaisesRegex(kappascope.Error, 'existing="resume"'):
            self.part(range(0))
        with self.assertRaisesRegex(ValueError, "existing must be"):
            self.part(range(0), existing="refuse")
        with self.assertRaisesRegex(ValueError, "must not be negative, got -2"):
            self.part(range(0), existing="resume", step=-2)


if __name__ == "__main__":
    unittest.main()
