# SPDX-License-Identifier: Apache-2.0
"""The same model on the same data, trained by the program and by PyTorch: the same κ."""

import math
import os
import struct
import subprocess
import unittest
from pathlib import Path

import kappascope
import torch
from torch import Tensor, nn
from torch.nn import functional
from training import Attached, Mlp

PIXELS, WIDTH, HIDDEN, CLASSES, ROWS, STEPS, RATE = 64, 16, 12, 10, 400, 4, 0.1


class Stack(nn.Module):
    """As `model.kind = mlp` of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(PIXELS, WIDTH)
        self.blocks = nn.ModuleList(Mlp(WIDTH, HIDDEN) for _ in range(2))
        for block in self.blocks:
            block.dropout.p = 0.0
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = x + block(x)
        out: Tensor = self.head(x)
        return out


def write_idx(file: Path, values: Tensor) -> None:
    shape = values.shape
    head = struct.pack(f">HBB{len(shape)}I", 0, 8, len(shape), *shape)
    file.write_bytes(head + values.to(torch.uint8).numpy().tobytes())


class Loops(Attached):
    def test_the_program_and_pytorch_agree_on_kappa(self) -> None:
        from safetensors.torch import save_file

        torch.manual_seed(3)
        images, labels = torch.randint(256, (ROWS, 8, 8)), torch.randint(CLASSES, (ROWS,))
        data = Path(self.folder.name) / "data"
        data.mkdir()
        for part in ("train", "t10k"):
            write_idx(data / f"{part}-images-idx3-ubyte", images)
            write_idx(data / f"{part}-labels-idx1-ubyte", labels)
        model = Stack()
        weights = data.parent / "weights.safetensors"
        save_file(model.state_dict(), weights)
        settings = {
            "data.path": data,
            "model.init": weights,
            "model.width": WIDTH,
            "model.hidden": HIDDEN,
            "model.blocks": 2,
            "train.steps": STEPS,
            "train.batch": ROWS,
            "train.optimizer": "sgd",
            "train.learning-rate": RATE,
            "train.schedule": "constant",
            "probes.every": 1,
            "probes.window": 1,
            "probes.budget": 0,
            "probes.hessian": "false",
        }
        program = self.run_dir("program")
        options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
        subprocess.run(
            [os.environ["KAPPASCOPE_PROGRAM"], "train", "--out", program, *options],
            check=True,
            stdout=subprocess.DEVNULL,
        )

        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        scope = kappascope.attach(
            model, optimizer, self.run_dir("python"), every=1, window=1, budget=0
        )
        for _ in range(STEPS):
            loss = functional.cross_entropy(model(images.flatten(1) / 255), labels)
            loss.backward()
            scope.loss(loss)
            optimizer.step()
            optimizer.zero_grad()
        scope.close()

        # Rounding of a row's features in float32, which enters the smallest singular value at once.
        rounding = (PIXELS + WIDTH) * 2**-24
        for series in ("kappa/sigma", "kappa/second_moment"):
            for layer in ("blocks.0.down_proj", "blocks.1.down_proj"):
                mine = kappascope.read(self.run_dir("python")).series(series, layer)[0]
                its = kappascope.read(program).series(series, layer)[0]
                self.assertEqual(mine.step.tolist(), list(range(STEPS)))
                self.assertEqual(its.step.tolist(), mine.step.tolist())
                self.assertEqual(its.rows.tolist(), mine.rows.tolist())
                for a, b in zip(mine.value.tolist(), its.value.tolist(), strict=True):
                    self.assertLess(abs(math.log(a / b)), 4 * rounding * math.sqrt(HIDDEN * a))


if __name__ == "__main__":
    unittest.main()
