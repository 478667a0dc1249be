# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer with the callback, and the loggers that a snapshot goes to."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import kappascope
import numpy as np
import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

STEPS, BATCH, PARTS, LENGTH = 4, 4, 2, 12


def rows_of_text() -> list[dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(2)
    rows = torch.randint(50, (STEPS * BATCH * PARTS, LENGTH), generator=generator)
    return [{"input_ids": row, "labels": row.clone()} for row in rows]


class InTrainer(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(self, **options: Any) -> tuple[kappascope.Run, Trainer, dict[str, list[Tensor]]]:
        torch.manual_seed(1)
        sizes = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, vocab_size=50)
        model = LlamaForCausalLM(
            LlamaConfig(**sizes, num_attention_heads=2, num_key_value_heads=2)  # type: ignore
        )
        entered: dict[str, list[Tensor]] = {}
        for name, module in model.named_modules():
            if name.endswith("down_proj"):
                kept = entered.setdefault(name, [])
                module.register_forward_pre_hook(
                    lambda _, inputs, kept=kept: (
                        kept.append(inputs[0].detach().clone()) if torch.is_grad_enabled() else None
                    )
                )
        arguments = TrainingArguments(
            output_dir=str(self.folder / "trainer"),
            per_device_train_batch_size=BATCH,
            gradient_accumulation_steps=PARTS,
            max_steps=STEPS,
            logging_steps=1,
            eval_strategy="steps",
            eval_steps=2,
            report_to=[],
            use_cpu=True,
            save_strategy="no",
            disable_tqdm=True,
        )
        callback = kappascope.integrations.TrainerCallback(
            run=self.folder / "run", every=2, window=2, budget=0, **options
        )
        rows = rows_of_text()
        trainer = Trainer(
            model=model,
            args=arguments,
            train_dataset=rows,  # type: ignore[arg-type]
            eval_dataset=rows[:4],  # type: ignore[arg-type]
            callbacks=[callback],
        )
        trainer.train()
        return kappascope.read(self.folder / "run"), trainer, entered

    def test_a_run_of_what_the_trainer_did(self) -> None:
        run, trainer, entered = self.train()
        self.assertEqual(run.facts["state"], "finished")
        losses = run.series("loss/train")[0]
        self.assertEqual(losses.step.tolist(), list(range(STEPS)))
        logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        for ours, theirs in zip(losses.value.tolist(), logged, strict=True):
            self.assertAlmostEqual(ours, float(theirs), delta=2e-4)  # theirs is rounded
        history = trainer.state.log_history
        evaluated = [entry["eval_loss"] for entry in history if "eval_loss" in entry]
        self.assertEqual(len(evaluated), 2)
        for ours, theirs in zip(run.series("user/eval_loss")[0].value, evaluated, strict=True):
            self.assertAlmostEqual(ours.item(), theirs, places=6)
        for layer, features in entered.items():
            kappas = run.series("kappa/sigma", layer.removeprefix("model."))
            kappas = kappas or run.series("kappa/sigma", layer)
            first = kappas[0]
            self.assertEqual(first.rows[0].item(), 2 * BATCH * PARTS * LENGTH)
            x = torch.cat(features[: 2 * PARTS]).flatten(0, 1).double().numpy()
            ends = np.linalg.eigvalsh(np.cov(x, rowvar=False, ddof=0))
            self.assertAlmostEqual(first.value[0].item() / (ends[-1] / ends[0]), 1, delta=1e-4)
        self.assertEqual(len(run.series("gradvar/measured")), 2)

    def test_snapshots_go_to_tensorboard(self) -> None:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(self.folder / "board") as writer:  # type: ignore[no-untyped-call]
            run, _, _ = self.train(on_snapshot=kappascope.integrations.to_tensorboard(writer))
        board = EventAccumulator(str(self.folder / "board"))  # type: ignore[no-untyped-call]
        board.Reload()  # type: ignore[no-untyped-call]
        compared = 0
        for series in run.series():
            if not series.name.startswith("kappa/"):
                continue
            events = board.Scalars(f"{series.name}/{series.layer}")  # type: ignore
            self.assertEqual([event.step for event in events], series.step.tolist())
            for event, value in zip(events, series.value.tolist(), strict=True):
                self.assertAlmostEqual(event.value / value, 1, delta=1e-6)
            compared += 1
        self.assertGreater(compared, 8)


if __name__ == "__main__":
    unittest.main()
