# SPDX-License-Identifier: Apache-2.0
"""The cells of examples/pytorch.ipynb, one after the other."""

import json
import os
import unittest
from pathlib import Path
from typing import Any

import matplotlib
import torch

matplotlib.use("Agg")
torch.set_num_threads(1)
NOTEBOOK = Path(__file__).parent.parent.parent / "examples/pytorch.ipynb"


class Notebook(unittest.TestCase):
    def test_every_cell_runs(self) -> None:
        cells = json.loads(NOTEBOOK.read_text())["cells"]
        names: dict[str, Any] = {}
        for i, cell in enumerate(cells):
            self.assertEqual(cell.get("outputs", []), [], "outputs are not kept")
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"cell {i}", "exec"), names)
        self.assertEqual(names["spectrum"].status, "converged")
        self.assertEqual(len(names["advice"].layers), 2)
        self.assertEqual(names["conditioning"].sigma.status, "resolved")
        self.assertIn('data-finding="', Path(names["page"]).read_text())
        statuses = set(names["kappas"].status)
        self.assertTrue(statuses & {"resolved", "biased"}, statuses)
        folder = os.environ.get("KAPPASCOPE_FIGURES")  # to look at them
        if folder:
            for number in matplotlib.pyplot.get_fignums():
                matplotlib.pyplot.figure(number).savefig(f"{folder}/notebook-{number}.png", dpi=110)


if __name__ == "__main__":
    unittest.main()
