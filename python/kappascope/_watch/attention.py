# SPDX-License-Identifier: Apache-2.0
"""What enters the softmax of attention layers, whichever way they compute it."""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from .compiled import is_compiled, is_compiled_call
from .hooks import Listener, UncompiledHook, is_transformed
from .shards import plain
from .._library import one_line


class Attentions(Listener, TorchFunctionMode):
    """Gives them to the session while the model's forward pass runs, where they are wanted.

    Seen are torch.nn.functional.scaled_dot_product_attention, and a softmax over the last of the four
    dimensions of logits. A kernel of another package (flash-attn, flex attention) is not, and no
    model that is compiled or has a compiled part: a mode around that would have it compiled again.
    """

    def __init__(
        self,
        session: Any,
        model: nn.Module,
        is_seen: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        Listener.__init__(self)
        TorchFunctionMode.__init__(self)
        self._session = session
        self._model = weakref.ref(model)
        self._is_seen = is_seen
        self._say = say
        self._inside = False
        self._name = ""
        """Of the attention layer whose forward pass runs."""

    def hooked(self) -> Iterator[Any]:
        model = self._model()
        if model is None:
            return
        yield model.register_forward_pre_hook(UncompiledHook(self, "enter"))
        yield model.register_forward_hook(UncompiledHook(self, "leave"), always_call=True)
        for name, module in _attention_layers(model):
            yield module.register_forward_pre_hook(UncompiledHook(self, "named", name))

    def enter(self, *_: Any) -> None:
        recomputed = torch._C._current_graph_task_id() >= 0
        if self._inside or recomputed or is_compiled_call() or not self._is_seen():
            return
        model = self._model()
        if model is None or any(map(is_compiled, model.modules())):
            return
        self._inside = True
        self._name = ""
        self.__enter__()  # type: ignore[no-untyped-call]

    def leave(self, *_: Any) -> None:
        if self._inside:
            self._inside = False
            self.__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def named(self, name: str, *_: Any) -> None:
        self._name = name

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        out = function(*args, **(kwargs or {}))
        if torch.compiler.is_compiling() or is_transformed() or not isinstance(out, Tensor):
            return out
        name = getattr(function, "__name__", "")
        watched: dict[str, Callable[..., None]] = {
            "scaled_dot_product_attention": self._see_fused,
            "softmax": self._see_softmax,
        }
        if (see := watched.get(name)) is not None:
            try:
                see(out, *args, **(kwargs or {}))
            except (RuntimeError, TypeError) as error:  # a layer of another kind, never of training
                self._say(f"attention of {self._name or 'the model'}: {one_line(error)}")
        return out

    def _see_fused(
        self,
        out: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> None:
        if query.dim() != 4 or key.dim() != 4:
            return
        q, k = plain(query), plain(key)
        number = self._session.attend(
            self._name or "attention", q, k, attn_mask, scale or 0.0, is_causal, out.requires_grad
        )
        self._completes(number, out)

    def _see_softmax(self, out: Tensor, logits: Tensor, *given: Any, **named: Any) -> None:
        dim = named.get("dim", given[0] if given else None)
        if not self._name or logits.dim() != 4 or dim not in (-1, 3):
            return
        number = self._session.attend_logits(self._name, plain(logits), out.requires_grad)
        self._completes(number, out)

    def _completes(self, number: int, out: Tensor) -> None:
        if number < 0 or not out.requires_grad:
            return
        session = self._session  # a loss that is kept keeps its graph
        out.register_hook(lambda _: session.attended(number))  # type: ignore[no-untyped-call]


def _attention_layers(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """By the names of their classes; of several within each other the innermost."""
    found = [(n, m) for n, m in model.named_modules() if _is_attention(m)]
    return [(n, m) for n, m in found if not any(_is_attention(c) for c in list(m.modules())[1:])]


def _is_attention(module: nn.Module) -> bool:
    name = type(module).__name__.lower()
    return "attention" in name or "attn" in name
