# SPDX-License-Identifier: Apache-2.0
"""The post-gating bias as a change that people can make to a model, and the control beside it."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from .layers import find_layers, nothing_found
from .._library import Error


class PostGatingLinear(nn.Linear):
    """A down-projection with a bias b on its input: (φ + b) Wᵀ + bias.

    Made by add_post_gating_bias() of the nn.Linear that stood there, whose parameters it keeps.
    """

    post_gating_bias: nn.Parameter
    """[d_ff], zero at the start"""

    def forward(self, input: Tensor) -> Tensor:
        return functional.linear(input + self.post_gating_bias, self.weight, self.bias)


def _linear_layers(model: nn.Module, layers: str | list[str] | None) -> list[tuple[str, nn.Linear]]:
    found = []
    watched = find_layers(model, layers)
    if not watched:
        raise nothing_found(model, layers)
    for layer in watched:
        if type(layer.module) not in (nn.Linear, PostGatingLinear):
            raise Error(
                f"{layer.name} is a {type(layer.module).__name__}: only a torch.nn.Linear can get "
                "a bias on its input; name the layers that are with layers="
            )
        assert isinstance(layer.module, nn.Linear)
        found.append((layer.name, layer.module))
    return found


def _zeros(linear: nn.Linear, size: int) -> nn.Parameter:
    weight = linear.weight
    return nn.Parameter(torch.zeros(size, device=weight.device, dtype=weight.dtype))


def add_post_gating_bias(model: nn.Module, layers: str | list[str] | None = None) -> list[str]:
    """Gives every down-projection a learnable bias on its input, zero at the start: the model
    computes the same as before. Call it before the optimiser is made.

    layers: as in attach(). Returns the names of the new parameters.
    Raises Error where a layer has one already, or is no nn.Linear (nothing is changed then).
    """
    found = _linear_layers(model, layers)
    for name, linear in found:
        if isinstance(linear, PostGatingLinear):
            raise Error(f"{name} has a post-gating bias already")
    for _, linear in found:
        linear.__class__ = PostGatingLinear
        linear.post_gating_bias = _zeros(linear, linear.in_features)
    return [f"{name}.post_gating_bias" for name, _ in found]


def add_output_bias(model: nn.Module, layers: str | list[str] | None = None) -> list[str]:
    """Gives every down-projection without one a learnable bias on its output, zero at the start:
    the control that a post-gating bias must be compared with, as it can make every function that
    one can. Returns the names of the new parameters."""
    names: list[str] = []
    for name, linear in _linear_layers(model, layers):
        if linear.bias is None:
            linear.bias = _zeros(linear, linear.out_features)
            names.append(f"{name}.bias")
    return names


def fold_post_gating_bias(model: nn.Module, layers: str | list[str] | None = None) -> list[str]:
    """Turns post-gating biases into output biases, which compute the same: bias + W b, in double.

    Returns the names of the layers. Raises Error where there is none.
    """
    folded = []
    for name, linear in _linear_layers(model, layers):
        if not isinstance(linear, PostGatingLinear):
            continue
        with torch.no_grad():
            made = linear.weight.double() @ linear.post_gating_bias.double()
            if linear.bias is not None:
                made += linear.bias.double()
            made = made.to(linear.weight.dtype)
            if linear.bias is None:
                linear.bias = nn.Parameter(made)
            else:
                linear.bias.copy_(made)
        del linear.post_gating_bias
        linear.__class__ = nn.Linear  # type: ignore[assignment]
        folded.append(name)
    if not folded:
        raise Error("no down-projection has a post-gating bias: add_post_gating_bias() gives one")
    return folded
