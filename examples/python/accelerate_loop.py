# SPDX-License-Identifier: Apache-2.0
"""Accelerate's loop by hand, with gradient accumulation: what prepare() wraps is found within."""

import torch
from accelerate import Accelerator
from transformers import LlamaConfig, LlamaForCausalLM

import kappascope

STEPS = 24

torch.manual_seed(0)
accelerator = Accelerator(gradient_accumulation_steps=2, cpu=True)
sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 50}
heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
model = LlamaForCausalLM(LlamaConfig(**sizes, **heads))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
rows = (torch.arange(16) + 7 * torch.arange(16 * 2 * STEPS)[:, None]) % 50
loader = torch.utils.data.DataLoader(rows, batch_size=16)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

scope = kappascope.attach(model, optimizer, run="runs/accelerate", steps=STEPS)
for tokens in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(input_ids=tokens, labels=tokens).loss)
        optimizer.step()
        optimizer.zero_grad()
scope.close()
print(kappascope.read("runs/accelerate"))
