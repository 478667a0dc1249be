# SPDX-License-Identifier: Apache-2.0
"""What passes the watched layers, given to the session."""

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from . import compiled
from .attention import Attentions
from .gates import Gates
from .hooks import LayerHook, is_transformed
from .layers import Layer, is_frozen
from .._library import Error, one_line
from .measured import Measured
from .products import Part, Products
from .routers import Routers
from .shards import of_block, plain, rows_of, seen_of
from .update import Update
from .watched import Watched
from .weights import weights_of


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
        self._seen: dict[str, list[int]] = {}
        """Passes of a layer in this step that may be recomputed."""
        self._compiled: dict[int, tuple[str, bool, int, Part]] = {}
        """Those in a compiled graph: the layer, whether its gradient is wanted, its rows, and which
        part of the gradient is theirs."""
        self._layers = watched.layers
        self._named = {layer.name: layer for layer in watched.layers}
        self._products = Products(watched, self.are_seen, self._see_product)
        self._attending = self._routing = False
        self._attentions: Attentions | None = None
        self._routers: Routers | None = None
        if not watched.compiled:
            self._attentions = Attentions(session, watched.model, self._is_attending, say)
            self._routers = Routers(session, watched, update, self._is_routing, say)
        self._gates = Gates(watched.layers)
        self._number = compiled.number_of(self)
        self._uncompiled: set[int] = set()
        """Layers whose hooks go outside of windows. A compiler has built in those of the others."""
        self._hooks: dict[int, Any] = {}
        self._hook()

    def handles(self) -> list[Any]:
        parts = (self._products, self._attentions, self._gates, self._routers)
        of_parts = (handle for part in parts if part is not None for handle in part.handles)
        return [*self._hooks.values(), *of_parts]

    def listen(
        self, features: bool, gradients: bool, attention: bool, gates: bool, routers: bool
    ) -> None:
        """What the passes of the next step are wanted for."""
        self.want(features, gradients, attention, routers)
        if self._attentions is not None:
            self._attentions.listen(attention)
        if self._routers is not None:
            self._routers.listen(routers)
        self._gates.listen(gates)
        if features:
            self._hook()
        else:
            for index in self._uncompiled & self._hooks.keys():
                self._hooks.pop(index).remove()

    def want(
        self, features: bool, gradients: bool, attention: bool = False, routers: bool = False
    ) -> None:
        self._attending, self._routing = attention, routers
        if features != self.features:
            compiled.want(self, features)
        self.features, self._gradients = features, gradients

    def _hook(self) -> None:
        for index, layer in enumerate(self._layers):
            if index not in self._hooks:
                hook = LayerHook(self, index, self._number)
                self._hooks[index] = layer.module.register_forward_hook(hook)

    def scale_by(self, scaler: Any) -> None:
        """The gradients to come are multiplied by its scale."""
        self._scaler = scaler

    def next(self) -> None:
        """A step ended."""
        self._seen.clear()
        self._compiled.clear()
        self._gates.clear()
        if self._routers is not None:
            self._routers.clear()
        self.want(False, False)

    def are_seen(self) -> bool:
        return self.features and not self.paused and torch.is_grad_enabled()

    def are_inputs_seen(self) -> bool:
        """Whether what enters the model is looked at: its padding is known by that."""
        return self.are_seen() or self._is_routing()

    def _is_attending(self) -> bool:
        return self._attending and not self.paused and torch.is_grad_enabled()

    def _is_routing(self) -> bool:
        are_any = self._routers is not None and bool(self._routers.handles)
        return are_any and self._routing and not self.paused and torch.is_grad_enabled()

    def see(self, index: int, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        layer = self._layers[index]
        self._products.called(layer.name)
        if not compiled.is_compiled_call():
            self._uncompiled.add(index)
        if not self.are_seen() or is_transformed():
            return
        if not (isinstance(output, Tensor) and inputs and isinstance(inputs[0], Tensor)):
            self.measured.refuse(layer.name, "it does not take and give one tensor each")
            return
        given = self._features_of(layer, inputs[0])
        if given is not None:
            name, features, bias, dropped = given
            trained = not is_frozen(module)
            gates = self._gates.take(index, features)
            self._pass(layer.name, name, features, output, _whole, bias, dropped, trained, gates)

    def see_compiled(self, index: int, features: Tensor, in_graph: bool) -> int:
        """The same in a compiled graph: the number of the pass, -1 where it is not of training."""
        layer = self._layers[index]
        self._products.called(layer.name)
        if self._update.is_hidden:
            self._say(
                "a compiler hides the model's inputs: padding counts as tokens, and sequences as independent"
            )
        given = self._features_of(layer, features) if self.features and not self.paused else None
        if given is None:
            return -1
        name, features, bias, dropped = given
        # The compiler's memory, which it uses again.
        features = features.clone()
        number, is_new, features, part = self._forward(
            layer.name, name, features, bias, dropped, in_graph, _whole
        )
        if is_new:
            wanted = self._gradients and not is_frozen(layer.module)
            self._compiled[number] = layer.name, wanted, rows_of(features), part
        return number

    def see_gradient_compiled(self, number: int, gradient: Tensor) -> None:
        if number in self._compiled:
            found, wanted, count, part = self._compiled.pop(number)
            mine = gradient.clone() if wanted else gradient
            self._backward(found, number, wanted, count, part, mine)

    def _features_of(
        self, layer: Layer, entered: Tensor
    ) -> tuple[str, Tensor, Tensor | None, float] | None:
        """What they are called, they themselves, their bias and the share that dropout takes."""
        features, block = seen_of(entered, self._gather)
        if features is None:
            self.measured.elsewhere(layer.name)
            return None
        bias = getattr(layer.module, "post_gating_bias", None)
        dropped = layer.share_dropped(training=True) or 0.0
        name = layer.name if block is None else block.name(layer.name)
        return name, features, of_block(bias, block), dropped

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
        gates: Tensor | None = None,
    ) -> None:
        """found: what it was found as; name: what is measured of it; trained: whether its weights
        have a gradient of interest; gates: what enters their activation."""
        in_graph = output.requires_grad
        number, is_new, features, part = self._forward(
            found, name, features, bias, dropout, in_graph, part, gates
        )
        if not (is_new and in_graph):
            return
        wanted, count = self._gradients and trained, rows_of(features)
        session, passes = self._session, weakref.ref(self)  # a loss that is kept keeps its graph

        def arrived(gradient: Tensor) -> None:
            watching = passes()
            if watching is None:
                session.backward(number, None)
            else:
                watching._backward(found, number, wanted, count, part, gradient)

        output.register_hook(arrived)

    def _forward(
        self,
        found: str,
        name: str,
        features: Tensor,
        bias: Tensor | None,
        dropout: float,
        in_graph: bool,
        part: Part,
        gates: Tensor | None = None,
    ) -> tuple[int, bool, Tensor, Part]:
        """The number of the pass, whether it is not one that was made before, its rows as they are
        measured, and the same of its gradient."""
        passed = self._seen.setdefault(name, [])
        if passed and torch._C._current_graph_task_id() >= 0:
            # Activation checkpointing runs the forward pass again within the backward pass. The
            # reentrant kind ran it without gradients before, and nothing was seen then.
            return passed.pop(), False, features, part
        mask = self._mask_of(name, features)
        groups = self._update.groups_of(features)
        if groups is not None:
            counts = mask if mask is not None else features.new_ones(features.shape[:-1])
            features, mask = groups.arranged(features), groups.arranged(counts.bool())
            gates = None if gates is None else groups.arranged(gates)
            part = _then(part, groups.arranged)
        try:
            weights = weights_of(self._named[found]) if found in self._named else []
            number = int(
                self._session.forward(
                    name, features, bias, dropout, mask, in_graph, weights, gates
                )
            )
        except RuntimeError as error:
            raise Error(one_line(error)) from None
        passed.append(number)
        self.measured.forward(found, in_graph)
        return number, True, features, part

    def _backward(
        self, found: str, number: int, wanted: bool, count: int, part: Part, gradient: Tensor
    ) -> None:
        if self.paused:  # a pass of somebody else through a graph that training keeps
            return
        self.measured.backward(found)
        if not wanted:
            self._session.backward(number, None)
            return
        scale = 1.0 if self._scaler is None else float(self._scaler.get_scale())
        mine = part(plain(gradient))
        if rows_of(mine) != count:
            self._say(f"{found}: its outputs are sharded by rows: no gradient variance")
            self._session.backward(number, None)
            return
        self._session.backward(number, mine if scale == 1.0 else mine / scale)

    def _mask_of(self, name: str, features: Tensor) -> Tensor | None:
        mask, note = self._update.mask_of(name, features)
        if note:
            self._say(note)
        return mask


def _whole(x: Tensor) -> Tensor:
    return x


def _then(first: Part, second: Part) -> Part:
    return lambda x: second(first(x))
