# SPDX-License-Identifier: Apache-2.0
"""A training script in the manner of nanoGPT: train.bin of 16-bit tokens, micro-batches, bf16, DDP, compile.

nanogpt.py DATA STEPS [--compile]; under torchrun on several processes. It knows nothing of kappascope:
the test puts one line in.
"""

import json
import math
import os
import sys

import torch
import torch.distributed as dist
from parts import CausalSelfAttention, get_batch
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

data_dir, max_iters, compiled = sys.argv[1], int(sys.argv[2]), "--compile" in sys.argv
gradient_accumulation_steps, batch_size, block_size = 4, 4, 32
vocab_size, n_layer, n_head, n_embd = 256, 2, 2, 32
learning_rate, warmup_iters, grad_clip = 1e-3, 2, 1.0

ddp = int(os.environ.get("RANK", -1)) != -1
rank, world_size = 0, 1
if ddp:
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
gradient_accumulation_steps //= world_size
torch.manual_seed(1337)
draw = torch.Generator().manual_seed(1337 + rank)
ctx = torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd, bias=False)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * n_embd, n_embd, bias=False)

    def forward(self, x):
        return self.c_proj(self.gelu(self.c_fc(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn, self.mlp = CausalSelfAttention(n_embd, n_head), MLP()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(Block() for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / (warmup_iters + 1)
    return learning_rate * 0.5 * (1.0 + math.cos(math.pi * it / max_iters))


model = GPT()
decay = [p for p in model.parameters() if p.dim() >= 2]
others = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=learning_rate, betas=(0.9, 0.95))
scaler = torch.amp.GradScaler("cpu", enabled=False)
if compiled:
    model = torch.compile(model)
if ddp:
    model = DDP(model)

losses = []
X, Y = get_batch(data_dir, batch_size, block_size, draw)
for iter_num in range(max_iters):
    for param_group in optimizer.param_groups:
        param_group["lr"] = get_lr(iter_num)
    total = 0.0
    for micro_step in range(gradient_accumulation_steps):
        if ddp:
            model.require_backward_grad_sync = micro_step == gradient_accumulation_steps - 1
        with ctx:
            logits, loss = model(X, Y)
            loss = loss / gradient_accumulation_steps
        total += loss.item()
        X, Y = get_batch(data_dir, batch_size, block_size, draw)
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    losses.append(total)

if rank == 0:
    print(json.dumps(losses))
if ddp:
    dist.destroy_process_group()
