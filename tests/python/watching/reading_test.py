# SPDX-License-Identifier: Apache-2.0
"""A run is read back whole, or with a warning of what it lacks."""

import sqlite3
import unittest
import warnings
from pathlib import Path

import kappascope
from torch import nn
from training import Attached, Mlp, Model


class Damage(Attached):
    def setUp(self) -> None:
        super().setUp()
        self.train("run")

    def change(self, sql: str) -> None:
        with sqlite3.connect(Path(self.run_dir()) / "run.sqlite") as database:
            database.execute(sql)
        database.close()

    def test_a_whole_run_is_read_without_a_word(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = kappascope.read(self.run_dir())
            self.assertTrue(run.series())
            self.assertTrue(run.facts)
            run.events  # noqa: B018
            self.assertEqual(run.damage, [])
            kappascope.report(self.run_dir())
            kappascope.advise(self.run_dir())

    def test_a_run_in_words_says_how_far_it_came_and_what_each_layer_had_last(self) -> None:
        run = kappascope.read(self.run_dir())
        first, *layers = str(run).splitlines()
        steps = len(run.series("loss/train")[0].step)
        self.assertIn(f"{run.facts['state']} after {steps} steps", first)
        measured = run.series("kappa/sigma")
        self.assertEqual(len(layers), len(measured))
        for line, series in zip(layers, measured, strict=True):
            self.assertIn(f"{series.layer}: κ(Σ) {series.value[-1]:.4g} in [", line)
            self.assertIn(f"at step {series.step[-1]}", line)

    def test_a_changed_row_is_left_out_with_a_warning(self) -> None:
        self.change("UPDATE scalars SET value = 7 WHERE name = 'loss/train' AND step = 3")
        run = kappascope.read(self.run_dir())
        with self.assertWarnsRegex(kappascope.DamageWarning, "loss/train, step 3"):
            (loss,) = run.series("loss/train")
        self.assertNotIn(3, loss.step.tolist())
        self.assertEqual(run.damage, ["loss/train, step 3"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run.series("learning_rate")  # as it was written
        for place in (self.run_dir(), self.folder.name):
            with self.assertWarnsRegex(kappascope.DamageWarning, "loss/train, step 3"):
                kappascope.report(place)
        with self.assertWarns(kappascope.DamageWarning):
            kappascope.advise(self.run_dir())

    def test_names_of_a_stranger_are_printed_as_text(self) -> None:
        with sqlite3.connect(Path(self.run_dir()) / "run.sqlite") as database:
            database.execute(
                "UPDATE scalars SET layer = layer || char(27) || '[2J' || char(10) || char(8238) "
                "WHERE name = 'kappa/sigma'"
            )
        database.close()
        with self.assertWarns(kappascope.DamageWarning) as told:
            str(kappascope.read(self.run_dir()))
        self.assertIn("\\x1b[2J\\n\\u202e", str(told.warning))
        self.assertFalse({"\x1b", "\u202e"} & set(str(told.warning)))

    def test_a_layer_is_one_line_of_a_run_in_words_whatever_its_name(self) -> None:
        model = Model()
        model.layers = nn.ModuleList()
        model.layers.add_module("a\x1b[2J\n\u202e", Mlp(6, 8))
        self.train("named", model=model)
        shown = str(kappascope.read(self.run_dir("named")))
        self.assertIn("a\\x1b[2J\\n\\u202e", shown)
        self.assertEqual(len(shown.splitlines()), 2)

    def test_missing_rows_are_told_by_what_reads_them(self) -> None:
        self.change("DELETE FROM scalars WHERE name = 'loss/train' AND step > 2")
        run = kappascope.read(self.run_dir())
        with self.assertWarnsRegex(kappascope.DamageWarning, "loss/train: .* rows missing"):
            run.series("loss/train")
        self.change("DELETE FROM facts WHERE key = 'torch'")
        with self.assertWarnsRegex(kappascope.DamageWarning, "the facts: 1 of"):
            run.facts  # noqa: B018


if __name__ == "__main__":
    unittest.main()
