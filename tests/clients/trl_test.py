# SPDX-License-Identifier: Apache-2.0
"""TRL's trainers with the callback: their own losses, no alarm, κ of every layer."""

import tempfile
import unittest
from pathlib import Path
from typing import Any

import kappascope
import numpy as np
import torch
from checked import checked
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

STEPS = 3
WORDS = "the model of a gate and its bias learns what every layer needs now".split()


def tokenizer() -> Any:
    known = {word: i for i, word in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    plain = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.Whitespace()
    made = PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    made.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    return made


def model() -> Any:
    torch.manual_seed(1)
    sizes: dict[str, Any] = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, vocab_size=32)
    return LlamaForCausalLM(
        LlamaConfig(
            **sizes, num_attention_heads=2, num_key_value_heads=2, pad_token_id=0, eos_token_id=1, bos_token_id=1
        )
    )


def sentences(count: int, words: int, of: list[str] = WORDS) -> list[str]:
    draw = np.random.default_rng(2)
    return [" ".join(draw.choice(of, words)) for _ in range(count)]


class Trl(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.alarms: list[Any] = []

    def settings(self, **more: Any) -> dict[str, Any]:
        return dict(
            output_dir=str(self.folder / "trl"),
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            max_steps=STEPS,
            logging_steps=1,
            report_to=[],
            use_cpu=True,
            bf16=False,
            save_strategy="no",
            disable_tqdm=True,
            **more,
        )

    def callback(self) -> Any:
        return kappascope.integrations.TrainerCallback(
            run=self.folder / "run", every=2, window=2, budget=0, on_alarm=self.alarms.append
        )

    def check(self, client: str, trainer: Any, adapted: str = "") -> None:
        """adapted: what an adapter puts before the names of the model's layers."""
        trainer.train()
        run = kappascope.read(self.folder / "run")
        with checked(client, "loss"):
            stored = run.series("loss/train")[0]
            self.assertEqual(stored.step.tolist(), list(range(STEPS)))
            logged = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
            np.testing.assert_allclose(stored.value, logged, atol=2e-4)
        self.assertNotIn("non_finite", [alarm.name for alarm in self.alarms])
        with checked(client, "layers"):
            names = [f"{adapted}model.layers.{i}.mlp.down_proj" for i in range(2)]
            self.assertEqual([series.layer for series in run.series("kappa/sigma")], names)

    def check_alarms(self, client: str) -> None:
        with checked(client, "no alarm"):
            self.assertEqual(self.alarms, [])

    def test_sft(self) -> None:
        data = Dataset.from_dict({"text": sentences(64, 12)})
        for name, more in {"plain": {}, "packed": {"packing": True, "max_length": 16}}.items():
            with self.subTest(name):
                self.setUp()
                self.check(
                    f"TRL: SFT, {name}",
                    SFTTrainer(
                        model(),
                        args=SFTConfig(**self.settings(**more)),
                        train_dataset=data,
                        processing_class=tokenizer(),
                        callbacks=[self.callback()],
                    ),
                )
                self.check_alarms(f"TRL: SFT, {name}")

    def test_sft_of_lora_with_checkpointing(self) -> None:
        from peft import LoraConfig

        self.check(
            "TRL: SFT, LoRA and checkpointing",
            SFTTrainer(
                model(),
                args=SFTConfig(**self.settings(gradient_checkpointing=True)),
                train_dataset=Dataset.from_dict({"text": sentences(64, 12)}),
                processing_class=tokenizer(),
                peft_config=LoraConfig(r=2, target_modules=["q_proj", "up_proj"]),
                callbacks=[self.callback()],
            ),
            adapted="base_model.model.",
        )
        self.check_alarms("TRL: SFT, LoRA and checkpointing")

    def test_dpo(self) -> None:
        kinds = {"prompt": WORDS, "chosen": WORDS[:7], "rejected": WORDS[7:]}
        data = {name: sentences(64, 6, words) for name, words in kinds.items()}
        self.check(
            "TRL: DPO",
            DPOTrainer(
                model(),
                ref_model=model(),
                args=DPOConfig(**self.settings()),
                train_dataset=Dataset.from_dict(data),
                processing_class=tokenizer(),
                callbacks=[self.callback()],
            ),
        )
        self.check_alarms("TRL: DPO")

    def test_grpo(self) -> None:
        """Completions of one prompt are alike: taken for independent they raise an alarm."""

        def reward(completions: list[str], **_: Any) -> list[float]:
            return [float(len(set(text.split()))) for text in completions]

        self.check(
            "TRL: GRPO",
            GRPOTrainer(
                model(),
                reward_funcs=reward,
                args=GRPOConfig(**self.settings(num_generations=4, max_completion_length=6)),
                train_dataset=Dataset.from_dict({"prompt": sentences(64, 4)}),
                processing_class=tokenizer(),
                callbacks=[self.callback()],
            ),
        )
        self.check_alarms("TRL: GRPO")


if __name__ == "__main__":
    unittest.main()
