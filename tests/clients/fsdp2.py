# SPDX-License-Identifier: Apache-2.0
"""A training script in the manner of PyTorch's FSDP2 example: made without memory, sharded layer by layer,
prefetched by hand, bf16 with sums in float, a sharded checkpoint to go on from.

torchrun fsdp2.py DATA STEPS [--resume]. It knows nothing of kappascope: the test puts one line in.
"""

import json
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from parts import CausalSelfAttention
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F

data_dir, num_steps, resume = sys.argv[1], int(sys.argv[2]), "--resume" in sys.argv
vocab_size, batch_size, seq_len, n_layers, n_heads, dim = 256, 8, 32, 2, 2, 32


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden_dim)
        self.gelu = nn.GELU()
        self.w2 = nn.Linear(hidden_dim, dim)

    def forward(self, x):
        return self.w2(self.gelu(self.w1(x)))


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = CausalSelfAttention(dim, n_heads)
        self.feed_forward = FeedForward(dim, 2 * dim)

    def forward(self, x):
        h = x + self.attention(self.attention_norm(x))
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab_size, dim)
        self.pos_embeddings = nn.Embedding(seq_len, dim)
        self.layers = nn.ModuleList(TransformerBlock() for _ in range(n_layers))
        self.norm = nn.LayerNorm(dim)
        self.output = nn.Linear(dim, vocab_size, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens) + self.pos_embeddings(torch.arange(tokens.size(1)))
        for layer in self.layers:
            h = layer(h)
        return self.output(self.norm(h)).float()


dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
mesh = dist.init_device_mesh("cpu", (world_size,))
torch.manual_seed(0)
draw = torch.Generator().manual_seed(1 + rank)
with torch.device("meta"):
    model = Transformer()
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
for layer in model.layers:
    fully_shard(layer, mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh, mp_policy=policy)
model.layers[0].set_modules_to_forward_prefetch([model.layers[1]])
model.layers[1].set_modules_to_backward_prefetch([model.layers[0]])
model.to_empty(device="cpu")
for module in model.modules():
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
optim = torch.optim.Adam(model.parameters(), lr=1e-2)
first, checkpoint_dir = 0, os.path.join(data_dir, "dcp")
if resume:
    kept, kept_by_optim = get_state_dict(model, optim)
    state = {"model": kept, "optim": kept_by_optim, "step": torch.tensor(0)}
    dcp.load(state, checkpoint_id=checkpoint_dir)
    set_state_dict(model, optim, model_state_dict=state["model"], optim_state_dict=state["optim"])
    first = int(state["step"])

losses = []
for step in range(first, num_steps):
    model.unshard()
    x = torch.randint(0, vocab_size, (batch_size, seq_len + 1), generator=draw).cumsum(1) % vocab_size
    loss = F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optim.step()
    optim.zero_grad()
    losses.append(loss.item())

of_model, of_optim = get_state_dict(model, optim)
state = {"model": of_model, "optim": of_optim, "step": torch.tensor(num_steps)}
dcp.save(state, checkpoint_id=checkpoint_dir)
if rank == 0:
    print(json.dumps(losses))
dist.destroy_process_group()
