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


class CentredLinear(PostGatingLinear):
    """A down-projection of centred features: b is minus their running mean, and no parameter.

    Made by add_centering(). The mean is over all tokens of the passes in training mode. A pass is
    centred by the passes before it, the first one by itself, and no gradient goes through the mean.
    """

    rate: float
    """share of a pass's mean in the running one"""
    passes: Tensor
    """number of passes that the mean is of"""

    def forward(self, input: Tensor) -> Tensor:
        mean = None
        if self.training:
            with torch.no_grad():
                mean = input.flatten(0, -2).float().mean(0)
                if not self.passes:
                    self.post_gating_bias.copy_(-mean)
        centred = input + self.post_gating_bias.to(input.dtype)
        if mean is not None:
            self.post_gating_bias.lerp_(-mean, self.rate)
            self.passes += 1
        return functional.linear(centred, self.weight, self.bias)


def _linear_layers(model: nn.Module, layers: str | list[str] | None) -> list[tuple[str, nn.Linear]]:
    found = []
    watched = find_layers(model, layers)
    if not watched:
        raise nothing_found(model, layers)
    for layer in watched:
        if type(layer.module) not in (nn.Linear, PostGatingLinear, CentredLinear):
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


def add_centering(
    model: nn.Module, layers: str | list[str] | None = None, rate: float = 0.1
) -> list[str]:
    """Centres what enters every down-projection: subtracts a running mean of the features, as batch
    normalisation does, and gives a down-projection without an output bias one, as centred features
    make no constant. Call it before the optimiser is made. fold_post_gating_bias() turns the mean
    into the output bias for inference. In processes that share batches each sees its own tokens, and
    DistributedDataParallel keeps the means of the first.

    Try it against add_output_bias() alone: in the studies of this project centred features ended at
    no lower loss.

    layers: as in attach(). rate: the share of a pass's mean in the running one, in (0, 1].
    Returns the names of the layers. Raises Error where one has a post-gating bias already, or is no
    nn.Linear (nothing is changed then), and for another rate.
    """
    if not 0 < rate <= 1:
        raise Error(f"rate must be in (0, 1], got {rate}")
    found = _linear_layers(model, layers)
    for name, linear in found:
        if isinstance(linear, PostGatingLinear):
            raise Error(f"{name} has a post-gating bias already")
    for _, linear in found:
        if linear.bias is None:
            linear.bias = _zeros(linear, linear.out_features)
        linear.__class__ = CentredLinear
        device = linear.weight.device
        linear.register_buffer("post_gating_bias", torch.zeros(linear.in_features, device=device))
        linear.register_buffer("passes", torch.zeros((), dtype=torch.long, device=device))
        linear.rate = rate  # type: ignore[assignment]
    return [name for name, _ in found]


def fold_post_gating_bias(model: nn.Module, layers: str | list[str] | None = None) -> list[str]:
    """Turns post-gating biases into output biases, which compute the same: bias + W b, in double.
    Of a layer that add_centering() made b is what it is in evaluation mode.

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
        if isinstance(linear, CentredLinear):
            del linear.passes, linear.rate
        linear.__class__ = nn.Linear  # type: ignore[assignment]
        folded.append(name)
    if not folded:
        raise Error("no down-projection has a post-gating bias: add_post_gating_bias() gives one")
    return folded
