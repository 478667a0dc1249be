# SPDX-License-Identifier: Apache-2.0
"""The features that enter each down-projection of a trained model, and their condition numbers.

Nothing is attached: a hook keeps what a few batches let pass, and `kappascope.kappa` does the rest.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

import kappascope

torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 50}
heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
model = LlamaForCausalLM(LlamaConfig(**sizes, **heads)).eval()

features: dict[str, list[torch.Tensor]] = {}
for name, module in model.named_modules():
    if name.endswith("down_proj"):
        kept = features.setdefault(name, [])
        module.register_forward_pre_hook(lambda _, inputs, kept=kept: kept.append(inputs[0]))
with torch.no_grad():
    for _ in range(4):
        model(torch.randint(50, (32, 16)))

for name, kept in features.items():
    x = torch.cat(kept)  # [sequences, tokens, d_ff]: tokens of a sequence count as dependent
    found = kappascope.kappa(x)
    print(f"{name}: κ(Σ) {found.sigma}, with the mean {found.second_moment}")
    print(f"  effective rank {found.effective_rank} of {x.shape[-1]}")
