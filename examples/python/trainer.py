# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Trainer, with a callback; started again, it goes on in its run."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

import kappascope

STEPS = 24


class Numbers(torch.utils.data.Dataset):
    """Rows that count upwards from a random number."""

    def __len__(self) -> int:
        return 256

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = (torch.arange(16) + 7 * index) % 50
        return {"input_ids": row, "labels": row}


torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 50}
heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
trainer = Trainer(
    model=LlamaForCausalLM(LlamaConfig(**sizes, **heads)),
    args=TrainingArguments(
        output_dir="checkpoints",
        max_steps=STEPS,
        per_device_train_batch_size=16,
        gradient_accumulation_steps=2,
        logging_steps=4,
        save_steps=12,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    ),
    train_dataset=Numbers(),
    callbacks=[kappascope.integrations.TrainerCallback(run="runs/trainer")],
)
trainer.train()
print(kappascope.read("runs/trainer"))
