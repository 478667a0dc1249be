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
from training import Model, batches, loss_of
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

    def train(
        self,
        arguments: dict[str, Any] | None = None,
        resume: str | None = None,
        alarms: list[Any] | None = None,
        **options: Any,
    ) -> tuple[kappascope.Run, Trainer, dict[str, list[Tensor]]]:
        """`arguments`: further ones of the Trainer; `resume`: a checkpoint of it."""
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
        settings: dict[str, Any] = dict(
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
        if alarms is not None:
            options["on_alarm"] = alarms.append
        callback = kappascope.integrations.TrainerCallback(
            run=self.folder / "run", every=2, window=2, budget=0, **options
        )
        rows = rows_of_text()
        trainer = Trainer(
            model=model,
            args=TrainingArguments(**{**settings, **(arguments or {})}),
            train_dataset=rows,  # type: ignore[arg-type]
            eval_dataset=rows[:4],  # type: ignore[arg-type]
            callbacks=[callback],
        )
        trainer.train(resume_from_checkpoint=resume)
        return kappascope.read(self.folder / "run"), trainer, entered

    def check_losses(self, run: kappascope.Run, trainer: Trainer) -> None:
        """They are those that the Trainer logged, which are rounded."""
        losses = run.series("loss/train")[0]
        self.assertEqual(losses.step.tolist(), list(range(STEPS)))
        logged = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        for ours, theirs in zip(losses.value.tolist(), logged, strict=True):
            self.assertAlmostEqual(ours, float(theirs), delta=2e-4)

    def test_losses_that_the_trainer_makes_itself(self) -> None:
        alarms: list[Any] = []
        run, trainer, _ = self.train({"label_smoothing_factor": 0.1}, alarms=alarms)
        self.check_losses(run, trainer)
        self.assertEqual([alarm for alarm in alarms if alarm.name == "non_finite"], [])
        trainer.evaluate()  # the run is closed, and nothing is recorded in it

    def test_a_run_goes_on_where_the_trainer_does(self) -> None:
        whole, trainer, _ = self.train({"save_strategy": "steps", "save_steps": 2})
        before = whole.series("loss/train")[0].value.tolist()
        checkpoint = str(self.folder / "trainer/checkpoint-2")
        run, trainer, _ = self.train(resume=checkpoint)
        self.assertEqual(run.facts["resumed"], "from step 2")
        self.check_losses(run, trainer)
        for a, b in zip(run.series("loss/train")[0].value.tolist(), before, strict=True):
            self.assertAlmostEqual(a, b, places=6)
        with self.assertRaisesRegex(kappascope.Error, 'existing="new-name"'):
            self.train()

    def test_a_loop_of_accelerate(self) -> None:
        from accelerate import Accelerator

        torch.manual_seed(1)
        accelerator = Accelerator(cpu=True, gradient_accumulation_steps=PARTS)
        model, told = Model(), []
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        model, optimizer = accelerator.prepare(model, optimizer)
        with kappascope.attach(model, optimizer, self.folder / "run", budget=0) as scope:
            for i, tokens in enumerate(batches(STEPS * PARTS)):
                with accelerator.accumulate(model):
                    loss = loss_of(model(tokens), tokens)
                    accelerator.backward(loss)
                    optimizer.step()
                    optimizer.zero_grad()
                if i % PARTS == 0:
                    told.append(0.0)
                told[-1] += loss.item() / PARTS
            self.assertEqual(len(scope.layers), 2)
        stored = kappascope.read(self.folder / "run").series("loss/train")[0]
        self.assertEqual(len(stored.value), STEPS)
        for ours, theirs in zip(stored.value.tolist(), told, strict=True):
            self.assertAlmostEqual(ours, theirs, places=5)

    def test_a_run_of_what_the_trainer_did(self) -> None:
        run, trainer, entered = self.train()
        self.assertEqual(run.facts["state"], "finished")
        self.check_losses(run, trainer)
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
            window = torch.stack(features[: 2 * PARTS])
            largest = run.series("magnitude/largest", first.layer)[0].value[0].item()
            self.assertEqual(largest, window.abs().max().item())
        self.assertEqual(len(run.series("gradvar/measured")), 2)
        for name in ("down", "gate", "up"):
            moved = run.series(f"weight/{name}_update")
            self.assertEqual(len(moved), 2)
            self.assertTrue(all(0 < series.value[0].item() < 1 for series in moved))

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
