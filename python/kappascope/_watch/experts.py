# SPDX-License-Identifier: Apache-2.0
"""Banks of experts whose down-projections are one tensor [experts, outputs, d_ff]: no module stands
for one of them, so the products with slices of that tensor are watched instead."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from .shards import plain


@dataclass(frozen=True)
class Bank:
    """All experts of one mixture layer."""

    name: str
    module: nn.Module
    weight: nn.Parameter

    def held(self) -> Tensor:
        """The weight of this moment: fully_shard puts another one there for a pass."""
        now = self.module._parameters.get("down_proj")
        return plain(self.weight if now is None else now)

    def expert(self, index: int) -> str:
        return f"{self.name}.down_proj.{index}"


def find_banks(model: nn.Module) -> list[Bank]:
    """Mixtral's and Qwen's layout: parameters down_proj [experts, outputs, d_ff], gate_up_proj."""
    banks = []
    for name, module in model.named_modules():
        weight = module._parameters.get("down_proj")
        if isinstance(weight, nn.Parameter) and weight.dim() == 3:
            if "gate_up_proj" in module._parameters:
                banks.append(Bank(name, module, weight))
    return banks


class Watch(TorchFunctionMode):
    """Shows what enters the slices while it is active: seen(expert, features, outputs, rows), where
    `rows` of the outputs belong to these features."""

    def __init__(self, bank: Bank, seen: Callable[[str, Tensor, Tensor, slice], None]) -> None:
        super().__init__()
        self._bank = bank
        self._seen = seen

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = function(*args, **(kwargs or {}))
        if function is functional.linear:
            self._see_slice(args[0], args[1], out)
        elif getattr(function, "__name__", "") in ("grouped_mm", "_grouped_mm"):
            self._see_groups(args[0], args[1], {**(kwargs or {})}.get("offs"), out)
        return out

    def _is_ours(self, weight: Any) -> bool:
        if not isinstance(weight, Tensor):
            return False
        ours, given = self._bank.held(), plain(weight)
        same = given.untyped_storage().data_ptr() == ours.untyped_storage().data_ptr()
        return same and given.dtype == ours.dtype

    def _see_slice(self, features: Tensor, weight: Tensor, out: Tensor) -> None:
        ours = self._bank.held()
        if not self._is_ours(weight) or weight.shape != ours.shape[1:]:
            return
        index = (weight.storage_offset() - ours.storage_offset()) // ours.stride(0)
        self._seen(self._bank.expert(index), features, out, slice(None))

    def _see_groups(
        self, features: Tensor, weight: Tensor, ends: Tensor | None, out: Tensor
    ) -> None:
        ours = self._bank.held()
        transposed = (ours.shape[0], ours.shape[2], ours.shape[1])
        if ends is None or not self._is_ours(weight) or tuple(weight.shape) != transposed:
            return
        for index, begin, end in _groups(ends):
            rows = slice(begin, end)
            self._seen(self._bank.expert(index), features[rows], out, rows)


def _groups(ends: Tensor) -> Iterator[tuple[int, int, int]]:
    """Expert, first row and end of each that has rows."""
    begin = 0
    for index, end in enumerate(ends.tolist()):
        if end > begin:
            yield index, begin, end
        begin = end
