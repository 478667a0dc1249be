# SPDX-License-Identifier: Apache-2.0
"""Several processes, each with its part of the batch: torchrun --nproc-per-node 2 torchrun.py

Together they measure what all of them see; process 0 writes the run.
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM

import kappascope

STEPS = 24

dist.init_process_group("gloo")
torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 50}
heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
model = DistributedDataParallel(LlamaForCausalLM(LlamaConfig(**sizes, **heads)))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scope = kappascope.attach(model, optimizer, run="runs/torchrun", steps=STEPS)
for step in range(STEPS):
    first = 7 * (step * dist.get_world_size() + dist.get_rank())
    tokens = (first + torch.arange(16) + 3 * torch.arange(16)[:, None]) % 50
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
scope.close()
if dist.get_rank() == 0:
    print(kappascope.read("runs/torchrun"))
dist.destroy_process_group()
