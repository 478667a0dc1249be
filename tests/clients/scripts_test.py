# SPDX-License-Identifier: Apache-2.0
"""llama2c.py, nanochat.py and fsdp2.py with one line more: losses, layers, κ, and a run that goes on."""

import unittest

import kappascope
from checked import checked
from scripts import STEPS, Script


class Scripts(Script):
    def check(self, script: str, layers: list[str], passes: int, rows: int, processes: int = 1) -> None:
        """passes: of an update, in each process; rows: of a pass."""
        self.read(script, layers)
        run = self.folder / "run"
        without = self.losses("plain", self.plain, processes)
        with_it = self.losses("watched", self.watched(run), processes)
        self.assertEqual(with_it, without)
        with checked(script, "no alarm"):
            self.assertEqual(self.said, "")
        with checked(script, "loss"):
            self.check_loss(run, with_it)
        with checked(script, "layers"):
            self.check_layers(run, 2 * processes * passes * rows)
        self.check_numbers(script, processes, passes)

    def check_resumed(self, script: str, number: str, kept: int, processes: int = 1) -> None:
        """number: what the script calls that of its next update; kept: of those that its checkpoint has."""
        run = self.folder / "resumed-run"
        watched = self.watched(run, more=f"existing='resume', step={number}")
        begun = self.losses("watched", watched, processes)
        resumed = self.losses("watched", watched, processes, "--resume", steps=STEPS + 2)
        with checked(script, "resume"):
            self.check_loss(run, begun[:kept] + resumed)
            facts = kappascope.read(run).facts
            self.assertEqual((facts["resumed"], facts["state"]), (f"from step {kept}", "finished"))

    def test_llama2c(self) -> None:
        self.attached = "model, optimizer, scaler=scaler"
        self.check("llama2c.py", [f"layers.{i}.feed_forward.w2" for i in range(2)], passes=2, rows=4 * 32)
        self.check_resumed("llama2c.py", "iter_num", kept=4)

    def test_nanochat(self) -> None:
        self.attached = "model, optimizers[0]"
        self.check("nanochat.py", [f"h.{i}.mlp.c_proj" for i in range(2)], passes=2, rows=4 * 32)

    def test_fsdp2(self) -> None:
        self.attached = "model, optim"
        layers = [f"layers.{i}.feed_forward.w2" for i in range(2)]
        self.check("fsdp2.py", layers, passes=1, rows=8 * 32, processes=2)
        self.check_resumed("fsdp2.py", "first", kept=STEPS, processes=2)


if __name__ == "__main__":
    unittest.main()
