# SPDX-License-Identifier: Apache-2.0
"""A training script in the manner of nanochat: the model gives its loss where it gets targets, squared
ReLU, matrices that begin as zeros, Muon for the matrices beside AdamW for the rest.

nanochat.py DATA STEPS. It knows nothing of kappascope: the test puts one line in.
"""

import json
import sys

import torch
from parts import CausalSelfAttention, get_batch
from torch import nn
from torch.nn import functional as F

data_dir, num_iterations = sys.argv[1], int(sys.argv[2])
grad_accum_steps, device_batch_size, max_seq_len = 2, 4, 32
vocab_size, n_layer, n_head, n_embd = 256, 2, 2, 32
torch.manual_seed(42)
draw = torch.Generator().manual_seed(42)
autocast_ctx = torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16)


def norm(x):
    return F.rms_norm(x, (x.size(-1),))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd, bias=False)
        self.c_proj = nn.Linear(4 * n_embd, n_embd, bias=False)

    def forward(self, x):
        return self.c_proj(F.relu(self.c_fc(x)).square())


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.mlp = CausalSelfAttention(n_embd, n_head), MLP()

    def forward(self, x):
        x = x + self.attn(norm(x))
        return x + self.mlp(norm(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.h = nn.ModuleList(Block() for _ in range(n_layer))
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        for block in self.h:
            nn.init.zeros_(block.attn.c_proj.weight)
            nn.init.zeros_(block.mlp.c_proj.weight)
        nn.init.zeros_(self.lm_head.weight)

    def setup_optimizers(self):
        others = [
            {"params": self.lm_head.parameters(), "lr": 0.004},
            {"params": self.wte.parameters(), "lr": 0.2},
        ]
        adamw = torch.optim.AdamW(others, betas=(0.8, 0.95), weight_decay=0.0, fused=True)
        muon = torch.optim.Muon(self.h.parameters(), lr=0.02, momentum=0.95, weight_decay=0.0)
        for opt in (adamw, muon):
            for group in opt.param_groups:
                group["initial_lr"] = group["lr"]
        return [adamw, muon]

    def forward(self, idx, targets=None, loss_reduction="mean"):
        x = norm(self.wte(idx))
        for block in self.h:
            x = block(x)
        logits = 15 * torch.tanh(self.lm_head(norm(x)).float() / 15)
        if targets is None:
            return logits
        return F.cross_entropy(
            logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1, reduction=loss_reduction
        )


model = GPT()
optimizers = model.setup_optimizers()

losses = []
x, y = get_batch(data_dir, device_batch_size, max_seq_len, draw)
for step in range(num_iterations):
    model.eval()
    with torch.no_grad(), autocast_ctx:
        bits = model(x, y, loss_reduction="none").mean()
    model.train()
    total = 0.0
    for _ in range(grad_accum_steps):
        with autocast_ctx:
            loss = model(x, y)
        train_loss = loss.detach()
        loss = loss / grad_accum_steps
        loss.backward()
        total += train_loss.item() / grad_accum_steps
        x, y = get_batch(data_dir, device_batch_size, max_seq_len, draw)
    for opt in optimizers:
        for group in opt.param_groups:
            group["lr"] = group["initial_lr"] * (1 - step / num_iterations)
    for opt in optimizers:
        opt.step()
    model.zero_grad(set_to_none=True)
    losses.append(total)

print(json.dumps(losses))
