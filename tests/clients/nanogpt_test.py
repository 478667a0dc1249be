# SPDX-License-Identifier: Apache-2.0
"""nanogpt.py with one line more: the losses stay the same bits (compiled: to rounding), and κ is NumPy's."""

import unittest

import numpy as np
from checked import checked
from scripts import Script


class NanoGPT(Script):
    def setUp(self) -> None:
        super().setUp()
        self.read("nanogpt.py", ["h.0.mlp.c_proj", "h.1.mlp.c_proj"])

    def test_the_same_losses_alone_compiled_and_in_two_processes(self) -> None:
        for name, processes, options in (
            ("nanogpt.py", 1, ()),
            ("nanogpt.py, compiled", 1, ("--compile",)),
            ("nanogpt.py, DDP", 2, ()),
            ("nanogpt.py, DDP and compiled", 2, ("--compile",)),
        ):
            with self.subTest(name):
                run = self.folder / f"run-{name}"
                without = self.losses("plain", self.plain, processes, *options)
                with_it = self.losses("watched", self.watched(run), processes, *options)
                with checked(name, "no alarm"):
                    self.assertEqual(self.said, "")
                if options:  # a hook parts the graph, and other kernels are fused
                    np.testing.assert_allclose(with_it, without, rtol=2**-8)  # of bfloat16
                else:
                    self.assertEqual(with_it, without)
                with checked(name, "loss"):
                    self.check_loss(run, with_it)
                with checked(name, "layers"):
                    self.check_layers(run, rows=2 * 4 * 4 * 32)

    def test_numbers_are_of_what_entered_the_layer(self) -> None:
        self.check_numbers("nanogpt.py", processes=1, passes=4)


if __name__ == "__main__":
    unittest.main()
