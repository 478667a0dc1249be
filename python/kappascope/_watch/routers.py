# SPDX-License-Identifier: Apache-2.0
"""What enters the routers of mixtures of experts."""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .compiled import is_compiled, is_compiled_call
from .hooks import Listener, UncompiledHook, is_transformed
from .mixtures import Router, find_routers
from .shards import plain, seen_of
from .update import Update
from .watched import Watched
from .._library import one_line


class Routers(Listener):
    """Gives it to the session, with the weight that it is multiplied by, where it is wanted.

    Of no model that is compiled or has a compiled part: a hook there would have it compiled again.
    """

    def __init__(
        self,
        session: Any,
        watched: Watched,
        update: Update,
        is_seen: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._session = session
        self._model = weakref.ref(watched.model)
        self._layers, self._banks = watched.layers, watched.banks
        self._update = update
        self._is_seen = is_seen
        self._say = say
        self._routers: list[Router] | None = None
        """None: nobody looked for them yet."""
        self._entered: dict[int, tuple[int, ...]] = {}
        """The shape of what entered the block of a router, () where that is no sequence of rows."""
        self._passed: dict[int, int] = {}
        """Passes of this step that may be recomputed."""

    def hooked(self) -> Iterator[Any]:
        model = self._model()
        if model is None or any(map(is_compiled, model.modules())):
            return
        for index, router in enumerate(self._found(model)):
            module, block = router.module(), router.block()
            if module is None or block is None:
                continue
            enter, see = UncompiledHook(self, "enter", index), UncompiledHook(self, "see", index)
            yield block.register_forward_pre_hook(enter, with_kwargs=True)
            # First of all: after it fully_shard takes the weight away.
            yield module.register_forward_hook(see, prepend=True, with_kwargs=True)

    def _found(self, model: nn.Module) -> list[Router]:
        if self._routers is None:
            self._routers, notes = find_routers(model, self._layers, self._banks)
            for note in notes:
                self._say(note)
        return self._routers

    def clear(self) -> None:
        """A step ended."""
        self._entered.clear()
        self._passed.clear()

    def enter(self, index: int, block: nn.Module, inputs: Any, named: dict[str, Any]) -> None:
        rows = next(_tensors_in((inputs, named)), None)
        if rows is not None:
            self._entered[index] = tuple(rows.shape) if rows.is_floating_point() else ()

    def see(
        self, index: int, module: nn.Module, inputs: Any, named: dict[str, Any], output: Any
    ) -> None:
        around = self._entered.pop(index, None)
        if not self._is_seen() or is_transformed() or is_compiled_call():
            return
        if torch._C._current_graph_task_id() < 0:
            self._passed[index] = self._passed.get(index, 0) + 1
        elif self._passed.get(index, 0) > 0:
            # Activation checkpointing runs the pass again. The reentrant kind ran it without
            # gradients before, and nothing was seen then.
            self._passed[index] -= 1
            return
        assert self._routers is not None
        router = self._routers[index]
        try:
            rows = next(_tensors_in((inputs, named)), None)
            if rows is not None:
                self._give(router, module, rows, around, output)
        except (RuntimeError, TypeError) as error:  # of another kind, never of training
            self._say(f"router {router.name}: {one_line(error)}")

    def _give(
        self,
        router: Router,
        module: nn.Module,
        entered: Tensor,
        around: tuple[int, ...] | None,
        output: Any,
    ) -> None:
        rows, block = seen_of(entered, False)
        held = module._parameters.get("weight"), module._parameters.get("bias")
        weight, bias = (None if one is None else plain(one) for one in held)
        if rows is None or block is not None or weight is None:
            return
        # A part of it where it is sharded, and nothing where a part of the model offloads it.
        if tuple(weight.shape) != (router.experts, router.width):
            return
        count = rows.numel() // router.width
        shape = _sequences(tuple(rows.shape), around, router.width)
        if shape is None or rows.shape[-1] != router.width:
            return
        mask = self._update.padding_of(router.name)
        if mask is not None and mask.numel() != count:
            mask = None
        # A mode, as of selective checkpointing, would take what is done here for the model's.
        with torch._C._DisableTorchDispatch():
            if shape:
                rows = rows.reshape(*shape, router.width)
                groups = self._update.groups_of(rows)
                if groups is not None:
                    counts = rows.new_ones(shape) if mask is None else mask.view(shape)
                    rows, mask = groups.arranged(rows), groups.arranged(counts.bool())
                    shape = (len(rows), rows.shape[1])
            carrier = next((x for x in _tensors_in(output) if x.requires_grad), None)
            number = self._session.route(
                router.name,
                rows,
                weight,
                bias,
                router.chosen,
                mask,
                shape[0] if shape else 0,
                carrier is not None,
            )
        if number >= 0 and carrier is not None:
            session = self._session  # a loss that is kept keeps its graph
            carrier.register_hook(lambda _: session.routed(number))  # type: ignore[no-untyped-call]


def _sequences(
    rows: tuple[int, ...], around: tuple[int, ...] | None, width: int
) -> tuple[int, int] | tuple[()] | None:
    """Sequences and tokens of the rows, () where nobody knows; None where what entered the block
    is no row of the router's: that is none of its experts'."""
    count = 1
    for size in rows[:-1]:
        count *= size
    if around is not None and (not around or around[-1] != width):
        return None
    if len(rows) >= 3 and count:
        return count // rows[-2], rows[-2]
    if around is not None and len(around) == 3 and around[0] * around[1] == count:
        return around[0], around[1]
    return ()


def _tensors_in(values: Any) -> Iterator[Tensor]:
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, dict):
        yield from _tensors_in(list(values.values()))
    elif isinstance(values, tuple | list):
        for value in values:
            yield from _tensors_in(value)
