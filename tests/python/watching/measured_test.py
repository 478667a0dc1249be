# SPDX-License-Identifier: Apache-2.0
"""Why a layer that was found is not measured."""

import unittest
import weakref

from kappascope._watch.experts import Bank
from kappascope._watch.measured import Measured
from torch import nn


class LeftOut(unittest.TestCase):
    def setUp(self) -> None:
        self.owner = nn.Linear(2, 2)
        self.bank = Bank("experts.down", weakref.ref(self.owner), "weight", 3, 4, 2)
        self.measured = Measured([], [self.bank])

    def sentences(self) -> list[str]:
        return list(self.measured.left_out())

    def test_experts_that_nothing_multiplied_by_are_told_of_as_that(self) -> None:
        (sentence,) = self.sentences()
        self.assertIn("all 3 experts of experts.down", sentence)
        self.assertIn("no pass of training multiplied by its weight", sentence)
        self.assertEqual(self.sentences(), [])

    def test_where_one_expert_was_seen_the_others_were_given_no_row(self) -> None:
        self.measured.backward(self.bank.expert(1))
        (sentence,) = self.sentences()
        self.assertEqual(
            sentence, "2 of 3 experts of experts.down (0, 2) were found and not measured: no row was given to it"
        )

    def test_a_reason_that_is_known_is_the_one_that_is_told(self) -> None:
        self.measured.refuse(self.bank.expert(0), "it is sharded")
        self.assertEqual(
            self.sentences(),
            [
                "experts.down.0 was found and not measured: it is sharded",
                "2 of 3 experts of experts.down (1, 2) were found and not measured: no row was given to it",
            ],
        )


if __name__ == "__main__":
    unittest.main()
