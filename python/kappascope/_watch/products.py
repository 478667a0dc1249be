# SPDX-License-Identifier: Apache-2.0
"""What enters the products with weights that no module stands for."""

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from .experts import Bank, bank_of, holders, owners
from .compiled import is_compiled_call
from .hooks import Hook, UncompiledHook, is_transformed
from .shards import plain
from .watched import Watched

Part: TypeAlias = Callable[[Tensor], Tensor]
"""Of a product, or of its gradient, the rows [..., d_model] that belong to the features."""
Seen: TypeAlias = Callable[[str, Tensor, Any, Part], None]

# Where the factors stand, by position and by name: the product is the first times the second.
_LEFT, _RIGHT = (0, "input", "self"), (1, "other", "mat2", "tensor2")
_PRODUCTS: dict[str, tuple[tuple[int | str, ...], tuple[int | str, ...]]] = {
    "linear": (_LEFT, (1, "weight")),  # the weight is transposed
    **{name: (_LEFT, _RIGHT) for name in ("matmul", "__matmul__", "mm", "bmm")},
    "__rmatmul__": ((1, "other"), (0, "self")),
    "addmm": ((1, "mat1"), (2, "mat2")),
    "baddbmm": ((1, "batch1"), (2, "batch2")),
    "grouped_mm": ((0, "mat_a", "input"), (1, "mat_b", "mat2", "weight")),
}
_PRODUCTS["_grouped_mm"] = _PRODUCTS["grouped_mm_fallback"] = _PRODUCTS["grouped_mm"]
_PICKS = ("__getitem__", "index_select")
WORDS = "linear, matmul, mm, bmm, addmm, baddbmm, grouped_mm"


class Watch(TorchFunctionMode):
    """Calls seen(name, features, product, part) for each of them while it is active."""

    def __init__(self, banks: list[Bank], seen: Seen) -> None:
        super().__init__()
        self.banks = banks
        self.parts_graphs = False
        """Whether products in a compiled graph are looked at too, which parts it there."""
        self._seen = seen
        # A compiler would trace it.
        self._observer = torch.compiler.disable(self._observe)  # type: ignore[no-untyped-call]
        # Copies of experts' weights, one a row, by their storage.
        self._picked: dict[int, tuple[weakref.ref[Tensor], Bank, Tensor]] = {}

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = function(*args, **(kwargs or {}))
        if torch.compiler.is_compiling() and not self.parts_graphs:
            return out
        name = getattr(function, "__name__", "")
        if name in _PRODUCTS or name in _PICKS:
            self._observer(name, args, kwargs or {}, out)
        return out

    def _observe(self, name: str, args: Any, kwargs: Any, out: Any) -> None:
        if not isinstance(out, Tensor) or not torch.is_grad_enabled():
            return
        if name in _PICKS:
            self._see_picked(args[0], args[-1], out)
            return
        given = {**dict(enumerate(args)), **kwargs}
        places = _PRODUCTS[name]
        left, right = (next((given[k] for k in at if k in given), None) for at in places)
        if isinstance(left, Tensor) and isinstance(right, Tensor):
            ends = given.get("offs", given.get(2)) if "grouped" in name else None
            self._see(left, right.mT if name == "linear" else right, out, ends)

    def _see(self, left: Tensor, right: Tensor, out: Tensor, ends: Tensor | None) -> None:
        if self._see_with(left, right, out, _same, ends):
            return
        if left.dim() > 1 and right.dim() > 1:
            self._see_with(right.mT, left.mT, out, _turned, None)

    def _see_with(
        self, features: Tensor, weight: Tensor, out: Tensor, part: Part, ends: Tensor | None
    ) -> bool:
        """Of features times a weight; whether it is one of ours."""
        found = self._whose(weight)
        if found is None:
            return False
        bank, ours, index = found
        if index is not None:
            if features.dim() == 3 and features.shape[1] == 1 and len(features) == len(index):
                self._see_rows(bank, features, index, out, part)
        elif not bank.experts:
            self._seen(bank.name, features, out, part)
        elif weight.dim() == 2 and weight.numel() == ours[0].numel():
            place = (plain(weight).storage_offset() - ours.storage_offset()) // ours.stride(0)
            self._seen(bank.expert(place), features, out, part)
        elif weight.dim() == 3 and ends is not None:
            begin = 0
            for expert, end in enumerate(ends.tolist()):
                if end > begin:
                    self._see_some(bank, expert, features, slice(begin, end), out, part)
                begin = end
        elif weight.dim() == 3 and features.dim() == out.dim() == 3 and len(out) == bank.experts:
            whole = features.expand(bank.experts, -1, -1)
            for expert in range(bank.experts):
                # What was not routed to an expert enters it as zeros, and is no row of its.
                rows = whole[expert].ne(0).any(-1).nonzero()[:, 0]
                if len(rows) > 0:
                    mine: Part = functools.partial(_of_expert, part, expert, rows)
                    self._seen(bank.expert(expert), whole[expert][rows], out, mine)
        return True

    def _see_some(
        self, bank: Bank, expert: int, features: Tensor, rows: Any, out: Tensor, part: Part
    ) -> None:
        self._seen(bank.expert(expert), features[rows], out, lambda x: part(x)[rows])

    def _see_rows(
        self, bank: Bank, features: Tensor, index: Tensor, out: Tensor, part: Part
    ) -> None:
        for expert in index.unique().tolist():
            rows = (index == expert).nonzero()[:, 0]
            self._see_some(bank, expert, features[:, 0], rows, out, lambda x: part(x)[:, 0])

    def _see_picked(self, weights: Any, index: Any, out: Tensor) -> None:
        if not (isinstance(weights, Tensor) and isinstance(index, Tensor) and index.dim() == 1):
            return
        if weights.dim() != 3 or out.dim() != 3 or index.dtype not in (torch.int32, torch.int64):
            return
        found = self._whose(weights)
        if found is not None and found[0].experts:
            key = out.untyped_storage().data_ptr()
            self._picked[key] = (weakref.ref(out), found[0], index)

    def _whose(self, weight: Tensor) -> tuple[Bank, Tensor, Tensor | None] | None:
        """The bank, its whole weight, and the expert of each matrix where these are a copy."""
        if weight.dim() < 2:
            return None
        given = plain(weight)
        storage = given.untyped_storage().data_ptr()
        copy, bank, index = self._picked.get(storage, (None, None, None))
        if copy is not None and copy() is not None and bank is not None:
            ours = bank.held()
            return None if ours is None else (bank, ours, index)
        for i, bank in enumerate(self.banks):
            ours = bank.held()
            if ours is None or ours.dtype != given.dtype or ours.is_meta:
                continue
            if sorted(given.shape[-2:]) == sorted(ours.shape[-2:]):
                if ours.untyped_storage().data_ptr() == storage:
                    # The next product is likely with the same.
                    self.banks.insert(0, self.banks.pop(i))
                    return bank, ours, None
        return None


def _same(x: Tensor) -> Tensor:
    return x


def _turned(x: Tensor) -> Tensor:
    return x.mT


def _of_expert(part: Part, expert: int, rows: Tensor, x: Tensor) -> Tensor:
    return part(x)[expert][rows]


class Later:
    """An output whose hook may come when the output has been changed in place."""

    def __init__(self, output: Tensor) -> None:
        self.requires_grad = output.requires_grad
        self._hook: Callable[[Tensor], None] | None = None
        if self.requires_grad:
            output.register_hook(self._arrived)  # type: ignore[no-untyped-call]

    def register_hook(self, hook: Callable[[Tensor], None]) -> None:
        self._hook = hook

    def _arrived(self, gradient: Tensor) -> None:
        if self._hook is not None:
            self._hook(gradient)


class Products:
    """When they are watched: within the modules that hold a bank, and within the model as long as
    the forward of a linear layer has not been called, as its weight alone may be used."""

    def __init__(self, watched: Watched, is_seen: Callable[[], bool], see: Seen) -> None:
        self._model = weakref.ref(watched.model)
        self._is_seen = is_seen
        self._see = see
        self._uncalled: dict[str, Bank] = {}
        for layer in watched.layers:
            bank = bank_of(layer.name, layer.module)
            # A mode around it would have a compiler compile the model once more.
            if bank is not None and layer.block is None and not watched.compiled:
                self._uncalled[layer.name] = bank
        self._held: dict[str, list[tuple[Tensor, Later, Part]]] = {}
        self._watch = Watch([*watched.banks, *self._uncalled.values()], self._product)
        self._depth = 0
        self._within: set[int] = set()
        self.handles: list[Any] = []
        self._compiled = watched.compiled
        self._hook(watched.model, watched.banks)

    def called(self, layer: str) -> None:
        """Its hook shows it."""
        bank = self._uncalled.pop(layer, None)
        if bank is not None:
            self._watch.banks.remove(bank)
            self._held.pop(layer, None)

    def enter(self, *_: Any) -> None:
        if self._depth == 0 and (not (self._watch.banks and self._is_seen()) or is_transformed()):
            return
        # A mode around all of a compiled model would be traced.
        if self._depth == 0 and not self._watch.parts_graphs and is_compiled_call():
            return
        self._depth += 1
        if self._depth == 1:
            self._watch.__enter__()  # type: ignore[no-untyped-call]

    def leave(self, *_: Any) -> None:
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._watch.__exit__(None, None, None)  # type: ignore[no-untyped-call]
            self._give_held()

    def _hook(self, model: nn.Module, banks: list[Bank]) -> None:
        self._watch.parts_graphs |= bool(banks)
        kind = Hook if banks else UncompiledHook
        for module in owners(banks) if self._compiled else holders(model, banks):
            if id(module) not in self._within:
                self._within.add(id(module))
                self.handles += [
                    module.register_forward_pre_hook(kind(self, "enter")),
                    module.register_forward_hook(kind(self, "leave"), always_call=True),
                ]

    def _product(self, name: str, features: Tensor, output: Tensor, part: Part) -> None:
        if name in self._uncalled:
            self._held.setdefault(name, []).append((features, Later(output), part))
        else:
            self._see(name, features, output, part)

    def _give_held(self) -> None:
        """Of the layers whose forward was not called, which are banks from now on."""
        held, self._held = self._held, {}
        banks = [self._uncalled.pop(name) for name in held]
        model = self._model()
        if banks and model is not None:
            self._hook(model, banks)
        for name, products in held.items():
            for features, output, part in products:
                self._see(name, features, output, part)
