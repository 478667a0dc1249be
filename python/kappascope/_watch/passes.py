# SPDX-License-Identifier: Apache-2.0
"""What passes the watched layers, given to the session."""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .hooks import Hook
from .layers import Layer, is_frozen
from .._library import Error, one_line
from .measured import Measured
from .products import Part, Products
from .shards import of_block, plain, rows_of, seen_of
from .update import Update
from .watched import Watched


class Passes:
    """Hooks on the layers, and on what holds the other down-projections."""

    def __init__(
        self,
        session: Any,
        watched: Watched,
        update: Update,
        scaler: Any,
        gather: bool,
        say: Callable[[str], None],
    ) -> None:
        self._session = session
        self._update = update
        self._scaler = scaler
        self._gather = gather
        self._say = say
        self.measured = Measured(watched.layers, watched.banks)
        self.features = False
        """Whether a probe wants to see them."""
        self._gradients = False
        self.paused = 0
        self._seen: dict[str, int] = {}  # passes of a layer in this step that may be recomputed
        self._products = Products(watched, self.are_seen, self._see_product)
        self._hooks = [
            layer.module.register_forward_hook(Hook(self, "see", layer)) for layer in watched.layers
        ]

    def handles(self) -> list[Any]:
        return [*self._hooks, *self._products.handles]

    def want(self, features: bool, gradients: bool) -> None:
        self.features, self._gradients = features, gradients

    def scale_by(self, scaler: Any) -> None:
        """The gradients to come are multiplied by its scale."""
        self._scaler = scaler

    def next(self) -> None:
        """A step ended."""
        self._seen.clear()
        self.want(False, False)

    def are_seen(self) -> bool:
        return self.features and not self.paused and torch.is_grad_enabled()

    def see(self, layer: Layer, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        self._products.called(layer.name)
        if not (self._update.roots.called or self.paused):
            self._update.roots.see_output(output)
        if not self.are_seen():
            return
        if not (isinstance(output, Tensor) and inputs and isinstance(inputs[0], Tensor)):
            self.measured.refuse(layer.name, "it does not take and give one tensor each")
            return
        bias = getattr(module, "post_gating_bias", None)
        features, block = seen_of(inputs[0], self._gather)
        if features is None:
            self.measured.elsewhere(layer.name)
            return
        name = layer.name if block is None else block.name(layer.name)
        dropped = layer.share_dropped(training=True) or 0.0
        self._pass(
            layer.name,
            name,
            features,
            output,
            _whole,
            of_block(bias, block),
            dropped,
            trained=not is_frozen(module),
        )

    def _see_product(self, name: str, features: Tensor, output: Any, part: Part) -> None:
        if self.are_seen():
            self._pass(name, name, features, output, part)

    def _pass(
        self,
        found: str,
        name: str,
        features: Tensor,
        output: Any,  # a Tensor, or Later
        part: Part,
        bias: Tensor | None = None,
        dropout: float = 0.0,
        trained: bool = True,
    ) -> None:
        """found: what it was found as; name: what is measured of it; trained: whether its weights
        have a gradient of interest."""
        if torch._C._current_graph_task_id() >= 0 and self._seen.get(name, 0) > 0:
            # Activation checkpointing runs the forward pass again within the backward pass. The
            # reentrant kind ran it without gradients before, and nothing was seen then.
            self._seen[name] -= 1
            return
        self._seen[name] = self._seen.get(name, 0) + 1
        mask = self._mask_of(name, features)
        try:
            number = self._session.forward(
                name, features, bias, dropout, mask, output.requires_grad
            )
        except RuntimeError as error:
            raise Error(one_line(error)) from None
        self.measured.forward(found, output.requires_grad)
        if not output.requires_grad:
            return
        session, wanted, scaler, measured = (
            self._session,
            self._gradients and trained,
            self._scaler,
            self.measured,
        )
        count = rows_of(features)
        passes = weakref.ref(self)  # a loss that is kept keeps its graph

        def arrived(gradient: Tensor) -> None:
            measured.backward(found)
            if not wanted:
                session.backward(number, None)
                return
            scale = 1.0 if scaler is None else float(scaler.get_scale())
            mine = part(plain(gradient))
            if rows_of(mine) != count:
                watching = passes()
                if watching is not None:
                    watching._say(f"{name}: its outputs are sharded by rows: no gradient variance")
                session.backward(number, None)
                return
            session.backward(number, mine if scale == 1.0 else mine / scale)

        output.register_hook(arrived)

    def _mask_of(self, name: str, features: Tensor) -> Tensor | None:
        mask, note = self._update.mask_of(name, features)
        if note:
            self._say(note)
        return mask


def _whole(x: Tensor) -> Tensor:
    return x
