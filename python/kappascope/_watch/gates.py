# SPDX-License-Identifier: Apache-2.0
"""What enters the activation of the gates of the watched layers."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .hooks import Listener, UncompiledHook, is_transformed
from .layers import Layer


class Gates(Listener):
    """Kept from the pass of a gate's projection to that of its layer, where it is wanted."""

    def __init__(self, layers: list[Layer]) -> None:
        super().__init__()
        self._layers = layers
        self._inputs: dict[int, tuple[Tensor, int]] = {}
        """With the version of their memory, which an activation in place changes."""

    def hooked(self) -> Iterator[Any]:
        """Of the layers whose gate is known by its name."""
        for index, layer in enumerate(self._layers):
            gate = layer.beside[0]() if layer.beside else None
            if gate is not None:
                yield gate.register_forward_hook(UncompiledHook(self, "see", index))

    def see(self, index: int, module: Any, inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and torch.is_grad_enabled() and not is_transformed():
            self._inputs[index] = output.detach(), output._version

    def take(self, index: int, features: Tensor) -> Tensor | None:
        """Of the pass of a layer whose features these are: of their shape, or nothing."""
        found, version = self._inputs.pop(index, (None, 0))
        if found is None or found._version != version or type(found) is not type(features):
            return None
        layer = self._layers[index]
        if len(layer.beside) == 1:  # packed, the gate first; of a part of both nobody can tell
            found = found[..., : features.shape[-1]] if layer.block is None else None
        return found if found is not None and found.shape == features.shape else None

    def clear(self) -> None:
        """A step ended."""
        self._inputs.clear()
