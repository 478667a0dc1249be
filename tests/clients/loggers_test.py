# SPDX-License-Identifier: Apache-2.0
"""Weights & Biases and MLflow, offline: what they wrote is what was measured."""

import json
import os
import struct
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kappascope
import torch
from checked import checked

sys.path.insert(0, str(Path(__file__).parent.parent / "python/watching"))
from training import Model, batches, step  # noqa: E402

LAYER = "layers.0.down_proj"
NAME = f"kappa/sigma/{LAYER}"


def records(file: Path) -> Iterator[bytes]:
    """Of a .wandb file: blocks of 32 KiB, in which a record is whole (1) or in parts (2, 3, 4)."""
    data = file.read_bytes()
    block, at, whole = 32768, 7, b""
    while at < len(data):
        if block - at % block < 7:
            at += block - at % block
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):
            yield whole
            whole = b""


class Loggers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(self, log: Callable[[dict[str, Any]], None]) -> list[tuple[int, float]]:
        """What the run says of one layer."""
        torch.manual_seed(5)
        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        run = str(self.folder / "run")
        with kappascope.attach(
            model, optimizer, run, every=2, window=2, budget=0, on_snapshot=log
        ) as scope:
            for tokens in batches(6):
                step(model, optimizer, scope, tokens)
                optimizer.zero_grad()
        series = kappascope.read(run).series("kappa/sigma", LAYER)[0]
        self.assertGreater(len(series.step), 2)
        return list(zip(series.step.tolist(), series.value.tolist(), strict=True))

    def test_weights_and_biases(self) -> None:
        import wandb
        from wandb.proto import wandb_internal_pb2

        os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true")
        run = wandb.init(project="test", dir=self.folder)
        want = self.train(kappascope.integrations.to_wandb(run))
        run.finish()
        (file,) = (self.folder / "wandb").glob("offline-run-*/*.wandb")
        parsed: list[Any] = []
        end = time.monotonic() + 60  # another process writes it, and may be behind
        while time.monotonic() < end and not (parsed and parsed[-1].HasField("exit")):
            parsed = [wandb_internal_pb2.Record.FromString(data) for data in records(file)]
        got = []
        for record in parsed:
            items = {
                item.key or "/".join(item.nested_key): json.loads(item.value_json)
                for item in record.history.item
            }
            if NAME in items:
                got.append((items["kappascope/step"], items[NAME]))
        with checked("Weights & Biases", "logged"):
            self.assertEqual(got, want)

    def test_mlflow(self) -> None:
        import mlflow

        mlflow.set_tracking_uri(f"sqlite:///{self.folder}/mlflow.db")
        with mlflow.start_run() as run:
            want = self.train(kappascope.integrations.to_mlflow())
        client = mlflow.tracking.MlflowClient()
        history = client.get_metric_history(run.info.run_id, NAME)
        with checked("MLflow", "logged"):
            self.assertEqual([(metric.step, metric.value) for metric in history], want)


if __name__ == "__main__":
    # wandb wants the exit status as a number.
    sys.exit(0 if unittest.main(exit=False).result.wasSuccessful() else 1)
