# SPDX-License-Identifier: Apache-2.0
"""What several processes ask together is the curvature of the mean of their losses."""

import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path
from typing import Any

import torch
from kappascope._processes import leads
from together import data_of, model_of
from torch import Tensor
from torch.func import functional_call

sys.path.insert(0, str(Path(__file__).parent.parent / "watching"))
from launch import torchrun  # noqa: E402

SCRIPT = str(Path(__file__).with_name("together.py"))


def exact_hessian(dtype: torch.dtype, processes: int = 2) -> Tensor:
    """Of the mean of the losses of the processes, in double at the values of this type."""
    model = model_of(dtype).double()
    shapes = {name: p.shape for name, p in model.named_parameters()}
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    data = [data_of(rank, dtype) for rank in range(processes)]

    def mean(flat: Tensor) -> Tensor:
        parts = flat.split([shape.numel() for shape in shapes.values()])
        named = {n: p.view(s) for (n, s), p in zip(shapes.items(), parts, strict=True)}

        def loss(x: Tensor, labels: Tensor) -> Tensor:
            out = functional_call(model, named, (x.double(),))
            return torch.nn.functional.cross_entropy(out, labels)

        return torch.stack([loss(*each) for each in data]).mean()

    return torch.autograd.functional.hessian(mean, flat)  # type: ignore[no-untyped-call]


def whole(found: list[dict[str, Any]], dtype: str) -> Tensor:
    """[k, n] of the eigenvectors' shards."""
    shapes = [each[dtype]["shapes"] for each in found]
    parts = [
        each[dtype]["vectors"].split([torch.Size(s).numel() for s in shape.values()], dim=1)
        for each, shape in zip(found, shapes, strict=True)
    ]
    return torch.cat([torch.cat(of_parameter, 1) for of_parameter in zip(*parts, strict=True)], 1)


class Leads(unittest.TestCase):
    def test_of_a_group_the_first_speaks_and_alone_each_for_itself(self) -> None:
        self.assertTrue(leads(None))
        for rank in (0, 1):
            with (
                unittest.mock.patch("torch.distributed.is_initialized", lambda: True),
                unittest.mock.patch("torch.distributed.get_rank", lambda _, rank=rank: rank),
            ):
                self.assertTrue(leads(None))
                self.assertEqual(leads("a group"), rank == 0)


class Together(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.ask(2, "fsdp", "ddp")

    @classmethod
    def ask(cls, processes: int, *how: str) -> None:
        done = torchrun(SCRIPT, cls.folder, *how, processes=processes)
        assert done.returncode == 0, done.stderr[-3000:]

    def asked(self, how: str) -> list[dict[str, Any]]:
        """By each process."""
        paths = [self.folder / f"{how}.{rank}" for rank in range(4)]
        return [torch.load(path, weights_only=False) for path in paths if path.exists()]

    def check(self, found: list[dict[str, Any]], sharded: bool) -> None:
        for dtype in (torch.float64, torch.float32):
            exact = exact_hessian(dtype, len(found))
            values = torch.linalg.eigvalsh(exact).flip(0)[:3]
            name = str(dtype)
            mine = found[0][name]
            self.assertEqual(mine["status"], "converged")
            self.assertEqual(found[1][name]["eigenvalues"], mine["eigenvalues"])
            vectors = whole(found, name) if sharded else mine["vectors"]
            vectors = vectors.double()
            rest = vectors @ exact - torch.tensor(mine["eigenvalues"], dtype=torch.float64).unsqueeze(1) * vectors
            for i in range(3):
                bound = mine["bounds"][i]
                self.assertLess(bound, 2e-3 * values[0])
                self.assertLessEqual(abs(mine["eigenvalues"][i] - values[i]), bound)
                self.assertLessEqual(rest[i].norm().item(), bound)

    def check_other_questions(self, found: list[dict[str, Any]]) -> None:
        batches = found[0]["batches"]
        values = torch.linalg.eigvalsh(exact_hessian(torch.float64)).flip(0)[:3]
        for value, bound, wanted in zip(
            batches["eigenvalues"], batches["bounds"], values, strict=True
        ):
            self.assertLessEqual(abs(value - wanted), bound)
        trace = exact_hessian(torch.float64).trace().item()
        self.assertAlmostEqual(found[0]["trace"], trace, delta=0.3 * trace)
        self.assertEqual(found[0]["trace"], found[1]["trace"])
        self.assertEqual(found[0]["density"], found[1]["density"])

    def test_sharded_parameters_have_the_curvature_of_whole_ones(self) -> None:
        found = self.asked("fsdp")
        self.check(found, sharded=True)
        self.check_other_questions(found)
        self.assertEqual(found[0]["torch.float32"]["product_kind"], "finite difference")
        for said in (each["errors"] for each in found):
            self.assertIn("not finite in every process", said["not finite"])
            self.assertIn("group=torch.distributed.group.WORLD", said["no group"])
            self.assertIn("pass the model", said["tensors"])
            self.assertIn("as a callable", said["value"])
            self.assertIn('operator "fisher" needs whole parameters', said["fisher"])
            self.assertIn("different numbers of batches", said["batches"])

    def test_replicas_of_shards_have_the_curvature_of_whole_ones(self) -> None:
        self.ask(4, "hsdp")
        found = self.asked("hsdp")
        self.check(found, sharded=True)
        for replica in found[2:]:
            self.assertEqual(replica["torch.float64"]["vectors"].numel(), 0)
            self.assertEqual(replica["torch.float64"]["bounds"], found[0]["torch.float64"]["bounds"])

    def test_whole_parameters_have_exact_products_in_every_process(self) -> None:
        found = self.asked("ddp")
        self.check(found, sharded=False)
        self.check_other_questions(found)
        self.assertEqual(found[0]["torch.float32"]["product_kind"], "graph kept")
        self.assertTrue(
            torch.equal(found[0]["torch.float64"]["vectors"], found[1]["torch.float64"]["vectors"])
        )
        self.assertIn("1 of 2 processes", found[0]["errors"]["not finite"])
        self.assertIn("not finite", found[1]["errors"]["not finite"])


if __name__ == "__main__":
    unittest.main()
