# SPDX-License-Identifier: Apache-2.0
"""A small gated network, and its curvature as a dense matrix by another route."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

torch.set_num_threads(1)


class Gated(nn.Module):
    """x -> (dropout(x U) ⊙ silu(x G) + b) D"""

    def __init__(self, inputs: int = 5, hidden: int = 6, classes: int = 3, dropout: float = 0.0):
        super().__init__()
        self.up = nn.Linear(inputs, hidden, bias=False)
        self.gate = nn.Linear(inputs, hidden, bias=False)
        self.bias = nn.Parameter(0.1 * torch.randn(hidden))
        self.down = nn.Linear(hidden, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.dropout(self.up(x)) * functional.silu(self.gate(x)) + self.bias)


class Problem:
    """A model in eval mode, 24 rows and labels."""

    def __init__(self, dtype: torch.dtype = torch.float64, dropout: float = 0.0, rows: int = 24):
        torch.manual_seed(7)
        self.model = Gated(dropout=dropout).to(dtype).eval()
        self.x = torch.randn(rows, 5, dtype=torch.float64).to(dtype)
        self.y = torch.randint(3, (rows,))

    def loss(self) -> Tensor:
        return functional.cross_entropy(self.model(self.x), self.y)

    def losses(self) -> Tensor:
        return functional.cross_entropy(self.model(self.x), self.y, reduction="none")

    def dense(self) -> Tensor:
        """The Hessian over all parameters, forward mode over reverse."""

        def loss(outputs: Tensor) -> Tensor:
            return functional.cross_entropy(outputs, self.y)

        return dense_hessian(self.model, self.x, loss)

    def jacobian(self) -> Tensor:
        """Of the outputs, [rows, classes, n]."""
        values = {name: p.detach() for name, p in self.model.named_parameters()}
        whole = torch.func.jacrev(lambda p: torch.func.functional_call(self.model, p, (self.x,)))(
            values
        )
        return torch.cat([whole[name].flatten(2) for name in values], dim=2)


def dense_hessian(model: nn.Module, x: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
    values = {name: p.detach() for name, p in model.named_parameters()}
    blocks = torch.func.hessian(lambda p: loss(torch.func.functional_call(model, p, (x,))))(values)
    sizes = {name: p.numel() for name, p in values.items()}
    return torch.cat(
        [
            torch.cat([blocks[i][j].reshape(sizes[i], sizes[j]) for j in values], dim=1)
            for i in values
        ]
    )


def both_ends(matrix: Tensor, top: int) -> Tensor:
    """The largest and the smallest eigenvalues, descending."""
    values = torch.linalg.eigvalsh(matrix).flip(0)
    return torch.cat([values[:top], values[-top:]])
