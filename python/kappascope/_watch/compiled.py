# SPDX-License-Identifier: Apache-2.0
"""Passes of layers whose model is compiled.

A compiler inlines the hooks of layers. Outside of windows they are nothing there, and the graph is that of
the model alone. In a window they are operators that the graph keeps: it stays one graph, and the first
window compiles the model once more.
"""

import itertools
import sys
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .passes import Passes

in_window = False
"""Whether a scope wants features. A compiled graph holds for one value of it."""
_passes: "weakref.WeakValueDictionary[int, Passes]" = weakref.WeakValueDictionary()
_numbers = itertools.count()  # a graph that was compiled for one may outlive it
_wanting: "weakref.WeakSet[Passes]" = weakref.WeakSet()
# What an operator does here is not replayed by a CUDA graph.
_TAGS = (torch._C.Tag.cudagraph_unsafe,)


def number_of(passes: "Passes") -> int:
    """By which an operator finds it."""
    number = next(_numbers)
    _passes[number] = passes
    return number


def want(passes: "Passes", features: bool) -> None:
    global in_window
    (_wanting.add if features else _wanting.discard)(passes)
    in_window = bool(_wanting)


def is_compiled_call() -> bool:
    """Whether this is called by a model that torch.compile() wraps, outside of its graph."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    is_within = getattr(frames, "_is_in_optimized_module", None)
    return is_within is not None and bool(is_within())


def is_compiled(module: torch.nn.Module) -> bool:
    """Whether it is one that a compiler wraps, or has its own call compiled."""
    return hasattr(module, "_orig_mod") or module._compiled_call_impl is not None


def can_be_seen(inputs: tuple[Any, ...]) -> bool:
    """No operator takes a tensor that is placed on several processes."""
    return not (inputs and hasattr(inputs[0], "device_mesh"))


def seen(number: int, layer: int, inputs: tuple[Any, ...], output: Any) -> Any:
    """What a layer gives in a window, in a graph: its output, on whose way it is seen."""
    if not (isinstance(output, Tensor) and inputs and isinstance(inputs[0], Tensor)):
        return None
    if not torch.is_grad_enabled():
        return None
    features = inputs[0].detach()
    return torch.ops.kappascope.see(features, output, number, layer, output.requires_grad)[0]


@torch.library.custom_op("kappascope::see", mutates_args=(), tags=_TAGS)
def see(
    features: Tensor, output: Tensor, number: int, layer: int, in_graph: bool
) -> tuple[Tensor, Tensor]:
    """A copy of the output, and the number of the pass; -1 where nobody wants it."""
    passes = _passes.get(number)
    given = -1 if passes is None else passes.see_compiled(layer, features, in_graph)
    return output.clone(), torch.tensor([given])


@see.register_fake
def _(features: Tensor, output: Tensor, number: int, layer: int, in_graph: bool) -> Any:
    return torch.empty_like(output), torch.empty(1, dtype=torch.long)


@torch.library.custom_op("kappascope::see_gradient", mutates_args=(), tags=_TAGS)
def see_gradient(gradient: Tensor, given: Tensor, number: int) -> Tensor:
    passes = _passes.get(number)
    if passes is not None:
        passes.see_gradient_compiled(int(given), gradient)
    return gradient.clone()


@see_gradient.register_fake
def _(gradient: Tensor, given: Tensor, number: int) -> Tensor:
    return torch.empty_like(gradient)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])
    ctx.number = inputs[2]


def _differentiate(ctx: Any, gradient: Tensor, _: Any) -> tuple[Any, ...]:
    (given,) = ctx.saved_tensors
    return None, torch.ops.kappascope.see_gradient(gradient, given, ctx.number), None, None, None


see.register_autograd(_differentiate, setup_context=_keep)
