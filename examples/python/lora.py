# SPDX-License-Identifier: Apache-2.0
"""LoRA with PEFT: the frozen down-projections are watched inside their adapters."""

import peft
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import kappascope

STEPS = 24

torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 50}
heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
adapters = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj", "down_proj"], task_type="CAUSAL_LM")
model = peft.get_peft_model(LlamaForCausalLM(LlamaConfig(**sizes, **heads)), adapters)
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
scope = kappascope.attach(model, optimizer, run="runs/lora", steps=STEPS)
print(scope.describe())
for step in range(STEPS):
    tokens = (step + torch.arange(16) + 3 * torch.arange(32)[:, None]) % 50
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
scope.close()
print(kappascope.read("runs/lora"))
