# SPDX-License-Identifier: Apache-2.0
"""The demo that comes with the package: two watched trainings, their page, and what it refuses."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import kappascope
from kappascope import demo


def run(*words: str) -> tuple[int, str]:
    """The exit status, and what it said on stderr."""
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        return demo.main([*words, "--no-browser"]), said.getvalue()


class Demo(unittest.TestCase):
    def test_two_runs_are_trained_and_shown_on_one_page(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder, "demo")
            status, said = run("--out", str(out), "--steps", "24", "--budget", "0")
            self.assertEqual(status, 0)
            self.assertNotIn("leaves out windows", said)
            for name, label in (("none", "no bias"), ("post-gating", "post-gating bias")):
                facts = kappascope.read(out / name).facts
                self.assertEqual((facts["state"], facts["label"]), ("finished", label))
                self.assertEqual(len(kappascope.read(out / name).series("loss/train")[0].step), 24)
                # Without a limit of the budget every layer has its condition number, however slow the machine.
                self.assertEqual(len(kappascope.read(out / name).series("kappa/sigma")), 3)
            page = (out / "report.html").read_text()
            self.assertIn("post-gating bias", page)
            # A second one changes nothing that is there.
            status, said = run("--out", str(out), "--steps", "24")
            self.assertEqual(status, 1)
            self.assertIn("is there already: name another folder with --out", said)

    def test_a_number_of_steps_that_trains_nothing_is_refused(self) -> None:
        with self.assertRaises(SystemExit) as raised:
            run("--steps", "0")
        self.assertEqual(raised.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
