# SPDX-License-Identifier: Apache-2.0
"""The three trained problems: a model, one batch, cross entropy (mean), float32."""
import copy
import functools
import gzip
import math
import os
import subprocess

import torch
from torch import nn
from torch.nn import functional as F

IMAGES = os.environ.get("KAPPASCOPE_DATA", "/usr/share/datasets/fashion-mnist")
NAMES = ("mlp-100k", "mlp-1.4m", "lm-3.6m")
STEPS = 200


def plain_silu(x):
    """SiLU by operations that have a forward-mode derivative; aten::silu_backward has none."""
    return x * torch.sigmoid(x)


class GatedMlp(nn.Module):
    """down(silu(gate x) * (up x) + b)"""

    def __init__(self, width, hidden):
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.b = nn.Parameter(torch.zeros(hidden))
        self.silu = F.silu

    def forward(self, x):
        return self.down(self.silu(self.gate(x)) * self.up(x) + self.b)


class MlpStack(nn.Module):
    """[n, 784] -> [n, 10]"""

    def __init__(self, width, hidden, blocks):
        super().__init__()
        self.embed = nn.Linear(784, width)
        self.blocks = nn.ModuleList(GatedMlp(width, hidden) for _ in range(blocks))
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        h = self.embed(x)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class Block(nn.Module):
    """Attention written out with matrix products, as fused attention has no second derivative."""

    def __init__(self, width, hidden, heads, tokens):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = GatedMlp(width, hidden)
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.register_buffer("mask", torch.ones(tokens, tokens, dtype=torch.bool).triu(1))

    def forward(self, h):
        n, tokens, width = h.shape
        q, k, v = self.qkv(self.norm1(h)).view(n, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)
        mixed = torch.softmax(scores.masked_fill(self.mask, -1e9), -1) @ v
        h = h + self.out(mixed.transpose(1, 2).reshape(n, tokens, width))
        return h + self.mlp(self.norm2(h))


class LmStack(nn.Module):
    """[n, 128] bytes -> [n * 128, 256] logits of the next byte"""

    def __init__(self, width=256, hidden=768, heads=4, layers=4, tokens=128):
        super().__init__()
        self.embed = nn.Embedding(256, width)
        self.positions = nn.Parameter(torch.randn(tokens, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, hidden, heads, tokens) for _ in range(layers))
        self.norm = Norm(width)
        self.head = nn.Linear(width, 256, bias=False)

    def forward(self, x):
        h = self.embed(x) + self.positions
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h)).flatten(0, 1)


class Problem:
    """`loss()` is a fresh graph of the batch (x, y); `draw` gives the examples of an index."""

    def __init__(self, name, batch=None, device="cpu"):
        """Without `batch` (x, y), the data's first examples."""
        self.name = name
        torch.manual_seed(1)
        if name == "lm-3.6m":
            self.model, self.size = LmStack(), 8
        else:
            self.model, self.size = MlpStack(64, 128, 2) if name == "mlp-100k" else MlpStack(256, 512, 3), 1024
        self.model.to(device)
        self.x, self.y = (part.to(device) for part in batch or self.draw(torch.arange(self.size)))
        self.generator = torch.Generator().manual_seed(2)

    @functools.cached_property
    def draw(self):
        return text() if self.name == "lm-3.6m" else images()

    @property
    def params(self):
        return list(self.model.parameters())

    def loss(self):
        return F.cross_entropy(self.model(self.x), self.y)

    def train(self, steps, each=None):
        """Adam; `each(step)` is called after each step."""
        adam = torch.optim.Adam(self.params, lr=1e-3)
        for step in range(steps):
            drawn = self.draw(torch.randint(self.draw.count, (self.size,), generator=self.generator))
            x, y = (part.to(self.x.device) for part in drawn)
            adam.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            adam.step()
            if each:
                each(step)
        self.model.zero_grad(set_to_none=True)

    @functools.cached_property
    def plain(self):
        """The model with SiLU by operations that have a forward-mode derivative; shares the weights."""
        model = copy.deepcopy(self.model, {id(p): p for p in self.params})
        for module in model.modules():
            if isinstance(module, GatedMlp):
                module.silu = plain_silu
        return model


def images():
    """Fashion-MNIST's training set, pixels in [0, 1]."""
    def read(name, header):
        with gzip.open(os.path.join(IMAGES, name)) as file:
            return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)
    x = read("train-images-idx3-ubyte.gz", 16).view(-1, 784)
    y = read("train-labels-idx1-ubyte.gz", 8).long()

    def draw(index):
        return x[index].float() / 255, y[index]
    draw.count = len(x)
    return draw


def text(tokens=128):
    """The King James Bible as bytes, in sequences that follow one another."""
    raw = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True, stdout=subprocess.PIPE,
                         stdin=subprocess.DEVNULL).stdout
    sequences = torch.frombuffer(bytearray(raw), dtype=torch.uint8).long().unfold(0, tokens + 1, tokens)

    def draw(index):
        rows = sequences[index]
        return rows[:, :-1].contiguous(), rows[:, 1:].reshape(-1)
    draw.count = len(sequences)
    return draw


def load(name, folder, device="cpu"):
    """The trained problem; `folder` keeps its weights and its batch, so that a second run finds the same,
    without the data too."""
    path = os.path.join(folder, f"{name}.pt")
    if os.path.exists(path):
        kept = torch.load(path)
        problem = Problem(name, (kept["x"], kept["y"]), device)
        problem.model.load_state_dict(kept["weights"])
    else:
        problem = Problem(name, device=device)
        problem.train(STEPS)
        os.makedirs(folder, exist_ok=True)
        torch.save({"weights": problem.model.state_dict(), "x": problem.x, "y": problem.y}, path)
    return problem
