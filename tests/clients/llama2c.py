# SPDX-License-Identifier: Apache-2.0
"""A training script in the manner of llama2.c: gated layers, the loss as an attribute of the model, float16
under a GradScaler with fused AdamW, estimates of the loss in between, checkpoints to go on from.

llama2c.py DATA STEPS [--resume]. It knows nothing of kappascope: the test puts one line in.
"""

import json
import os
import sys

import torch
from parts import CausalSelfAttention, get_batch
from torch import nn
from torch.nn import functional as F

data_dir, max_iters, resume = sys.argv[1], int(sys.argv[2]), "--resume" in sys.argv
gradient_accumulation_steps, batch_size, max_seq_len = 2, 4, 32
vocab_size, n_layers, n_heads, dim, hidden_dim, dropout = 256, 2, 2, 32, 64, 0.1
eval_interval, grad_clip = 2, 1.0
torch.manual_seed(1337)
draw = torch.Generator().manual_seed(1337)
ctx = torch.amp.autocast(device_type="cpu", dtype=torch.float16)


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim, bias=False)
        self.w2 = nn.Linear(hidden_dim, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden_dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.w2(F.silu(self.w1(x)) * self.w3(x)))


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = CausalSelfAttention(dim, n_heads), FeedForward()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(dim), nn.RMSNorm(dim)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.layers = nn.ModuleList(TransformerBlock() for _ in range(n_layers))
        self.norm = nn.RMSNorm(dim)
        self.output = nn.Linear(dim, vocab_size, bias=False)
        self.tok_embeddings.weight = self.output.weight
        nn.init.normal_(self.output.weight, std=0.02)
        self.last_loss = None

    def forward(self, tokens, targets=None):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h)
        h = self.norm(h)
        if targets is None:
            self.last_loss = None
            return self.output(h[:, [-1], :])
        logits = self.output(h)
        self.last_loss = F.cross_entropy(
            logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1
        )
        return logits


@torch.no_grad()
def estimate_loss():
    model.eval()
    with ctx:
        model(X, Y)
    model.train()
    return model.last_loss.item()


model = Transformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, betas=(0.9, 0.95), fused=True)
scaler = torch.amp.GradScaler("cpu")
iter_num, checkpoint_file = 0, os.path.join(data_dir, "ckpt.pt")
if resume:
    checkpoint = torch.load(checkpoint_file)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    iter_num = checkpoint["iter_num"]

losses = []
X, Y = get_batch(data_dir, batch_size, max_seq_len, draw)
while iter_num < max_iters:
    if iter_num % eval_interval == 0:
        estimate_loss()
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save({**state, "iter_num": iter_num}, checkpoint_file)
    total = 0.0
    for _ in range(gradient_accumulation_steps):
        with ctx:
            logits = model(X, Y)
            loss = model.last_loss
            loss = loss / gradient_accumulation_steps
        X, Y = get_batch(data_dir, batch_size, max_seq_len, draw)
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    losses.append(total)
    iter_num += 1

print(json.dumps(losses))
