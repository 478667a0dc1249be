# SPDX-License-Identifier: Apache-2.0
"""What a watched loop leaves in a model and an optimiser."""

import contextlib
import sys
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch

from . import compiled
from .._library import Error
from .ending import watch_ending

if TYPE_CHECKING:
    from .loop import Loop


class Hook:
    """A method of a loop, or of a part of one, as a hook. A copy of a watched model, or a pickled
    one, has none."""

    def __init__(self, owner: object, method: str, *arguments: Any) -> None:
        self._owner = weakref.ref(owner)
        self._method = method
        self._arguments = arguments
        # As a decorator it would import the compiler with this package, which takes seconds; where
        # there is an optimiser, it is there.
        self._unseen = torch.compiler.disable(  # type: ignore[no-untyped-call]
            self._call,
            reason="kappascope.attach() looks here: compile without fullgraph=True",
        )

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self._unseen(*arguments, **options)

    def _call(self, *arguments: Any, **options: Any) -> Any:
        owner = self._owner()
        if owner is None:
            return None
        return getattr(owner, self._method)(*self._arguments, *arguments, **options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _NO_HOOK

    def __reduce__(self) -> Any:
        return getattr, (contextlib.nullcontext(), "__exit__")


class UncompiledHook(Hook):
    """One that a compiler leaves out."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return None if torch.compiler.is_compiling() else self._unseen(*arguments, **options)


class Listener:
    """Has hooks on a model where the next step is looked at, and none otherwise."""

    def __init__(self) -> None:
        self._listening = False
        self.handles: list[Any] = []

    def listen(self, wanted: bool) -> None:
        if wanted == self._listening:
            return
        self._listening = wanted
        for handle in self.handles:
            handle.remove()
        self.handles = list(self.hooked()) if wanted else []

    def hooked(self) -> Iterable[Any]:
        """Hooks the model, and gives the handles."""
        raise NotImplementedError


class OwningHook(UncompiledHook):
    """One by which a model keeps what watches it."""

    def __init__(self, owner: object, method: str) -> None:
        super().__init__(owner, method)
        self._owned = owner


class LayerHook(Hook):
    """One on a layer: in a compiled graph nothing outside of windows, and operators within."""

    def __init__(self, passes: object, layer: int, number: int) -> None:
        super().__init__(passes, "see", layer)
        self._layer = layer
        self._number = number

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if not torch.compiler.is_compiling():
            return self._unseen(*arguments, **options)
        if not compiled.in_window:
            return None
        if not compiled.can_be_seen(arguments[1]):
            return self._unseen(*arguments, **options)
        return compiled.seen(self._number, self._layer, arguments[1], arguments[2])


# It takes any arguments and gives None, and is loaded where this package is not installed.
_NO_HOOK = contextlib.nullcontext().__exit__


def is_transformed() -> bool:
    """Whether torch.func or torch.jit.trace passes tensors of its own through the model: no training."""
    return torch.jit.is_tracing() or torch._C._functorch.peek_interpreter_stack() is not None


def has_hooks(optimizer: Any) -> bool:
    """Whether it is a torch.optim.Optimizer that was initialised as one."""
    return hasattr(optimizer, "_optimizer_step_pre_hooks")


def group_of(optimizer: torch.optim.Optimizer, modules: Iterable[torch.nn.Module]) -> int:
    """Place of the first group that trains one of these; 0 where none does."""
    mine = {id(p) for module in modules for p in module.parameters()}
    groups = enumerate(optimizer.param_groups)
    return next((i for i, group in groups if any(id(p) in mine for p in group["params"])), 0)


def rate_of(optimizer: torch.optim.Optimizer, group: int) -> float:
    """NaN where there is none: some make their own (Adafactor of transformers)."""
    rate = optimizer.param_groups[group].get("lr")
    return float("nan") if rate is None else float(rate)


def close_at_exit(loop: "weakref.ref[Loop]") -> None:
    watched = loop()
    if watched is None:
        return
    try:
        watched.close(watch_ending().state())
    except Error as error:  # nobody is left to catch it
        print(f"kappascope: {error}", file=sys.stderr)


def close_deleted(loop: "Loop") -> None:
    """Of a loop that is deleted with its model while it is open: nobody says how training ended."""
    print(
        f"kappascope: the model of {loop.run} is deleted and its run was not closed, which ends it as "
        "interrupted: scope.close() ends it as finished",
        file=sys.stderr,
    )
    try:
        loop.close("interrupted")
    except Error as error:
        print(f"kappascope: {error}", file=sys.stderr)
