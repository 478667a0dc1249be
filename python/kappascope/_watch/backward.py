# SPDX-License-Identifier: Apache-2.0
"""What backward() is called on: the loss of a loop that does not tell it.

While a run is open, torch.autograd.backward (which Tensor.backward calls too) is a function that
notes its argument. Whether the pass reached the watched model, a hook on the model's outputs says;
where a compiler hides these, or the model is called by its parts, the gradients of some of its parameters do.
"""

import threading
import weakref
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .replaced import Replaced

if TYPE_CHECKING:
    from .update import Update

_MOST_OUTPUTS = 8  # tensors of an output that are hooked
_MOST_PARAMETERS = 32  # whose gradients are looked at


class Roots:
    """The losses of one update: scalars that backward() was called on, and that reached the model."""

    def __init__(self, model: nn.Module, update: "Update | None" = None) -> None:
        self._update = update
        self._reached = False
        roots = weakref.ref(self)  # an output that is kept keeps its hooks

        def reach(_: Tensor) -> None:
            mine = roots()
            if mine is not None:
                mine._reached = True

        self._reach = reach
        trained = [p for p in model.parameters() if p.requires_grad]
        some = trained[:: -(-len(trained) // _MOST_PARAMETERS) or 1]
        self._parameters = [weakref.ref(p) for p in some]
        self._before: list[Any] = []
        self._after: list[Any] = []  # the last pass
        self._thread = threading.get_ident()
        self._kept = False  # gradients stand at the parameters, of passes since the last update
        self.next()

    def next(self) -> None:
        self.found: list[Tensor] = []
        self.unclear = False
        """Whether a pass may have reached the model of which no loss is known."""
        self._kept = False
        self.called = False
        """Whether an output that leads back to the model was seen since the last update."""
        self.passed = False
        """Whether a pass has ended since the last update, or since its gradients' norm was taken."""

    def train_here(self) -> None:
        """This thread trains the model: the gradients of its parameters may be looked at here alone,
        as a pass writes them in the thread that called it."""
        self._thread = threading.get_ident()

    @property
    def is_here(self) -> bool:
        return self._thread == threading.get_ident()

    def see_output(self, output: Any) -> None:
        """Of the model. Where it is called by its parts, its gradients say what reached it."""
        for tensor in _tensors_in(output)[:_MOST_OUTPUTS]:
            self.called = True
            tensor.register_hook(self._reach)  # type: ignore[no-untyped-call]

    def look(self) -> None:
        """Whether zero_grad() threw away, without an update, what the passes gave so far: they count
        for none."""
        if not (self._kept and self.is_here):
            return
        now = self._gradients()
        if not any(now) or (now != self._after and self._are_zero()):
            self._kept, self.found, self.unclear = False, [], False
            if self._update is not None:
                self._update.discard()

    def begin(self) -> None:
        self._reached = False
        self._before = []
        if not self.is_here:
            return
        self.look()
        if not self.called:
            self._before = self._gradients()

    def end(self, root: Tensor | None, alone: bool) -> None:
        if self.is_here:
            gradients = self._gradients()
            if self._before and gradients != self._before:
                self._reached = True
            self._kept, self._after = any(gradients), gradients
            self.passed = True
            if self._update is not None:
                self._update.end_pass()
        self._before = []
        if not alone or (self._reached and root is None):
            self.unclear = True
        elif self._reached and root is not None:
            self.found.append(root.detach().clone())  # the loop may add to its own in place

    def _are_zero(self) -> bool:
        """As zero_grad(set_to_none=False) leaves them. Of shards that takes all processes, which do not
        meet here: they are taken for gradients."""
        held = [p.grad for ref in self._parameters if (p := ref()) is not None]
        return not any(hasattr(g, "device_mesh") or bool(g.any()) for g in held if g is not None)

    def _gradients(self) -> list[Any]:
        """Other numbers once a backward pass has added to them."""
        held = [p.grad for ref in self._parameters if (p := ref()) is not None]
        return [None if grad is None else (id(grad), grad._version) for grad in held]


def _tensors_in(output: Any) -> list[Tensor]:
    if isinstance(output, Tensor):
        return [output] if output.requires_grad else []
    if isinstance(output, dict):
        return [tensor for part in output.values() for tensor in _tensors_in(part)]
    if isinstance(output, tuple | list):
        return [tensor for part in output for tensor in _tensors_in(part)]
    if is_dataclass(output):
        return _tensors_in(vars(output))
    return []


_lock = threading.Lock()
_running = 0  # passes at this moment
_begun = 0  # passes ever; of two at once it is not known which one reached what


def _watched(tensors: Any, grad_tensors: Any = None, *arguments: Any, **options: Any) -> None:
    # Activation checkpointing calls it within the backward pass.
    if torch._C._current_graph_task_id() >= 0:
        backward.original(tensors, grad_tensors, *arguments, **options)
        return
    global _running, _begun
    watching = backward.watchers()
    with _lock:
        _running += 1
        _begun += 1
        alone, number = _running == 1, _begun
        for roots in watching:
            roots.begin()
    root = None
    try:
        backward.original(tensors, grad_tensors, *arguments, **options)
        root = _loss_in(tensors, grad_tensors)
    finally:
        with _lock:
            alone = alone and _begun == number
            _running -= 1
            for roots in watching:
                roots.end(root, alone)


backward: Replaced[Roots] = Replaced(torch.autograd, "backward", _watched)


def _loss_in(tensors: Any, grad_tensors: Any) -> Tensor | None:
    """The one number that is differentiated; None where there are several, or a weighted one."""
    found = tensors if isinstance(tensors, Sequence) else [tensors]
    weights = grad_tensors if isinstance(grad_tensors, Sequence) else [grad_tensors]
    if len(found) != 1 or not isinstance(found[0], Tensor) or found[0].numel() != 1:
        return None
    return found[0] if all(weight is None for weight in weights) else None
