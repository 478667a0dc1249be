# SPDX-License-Identifier: Apache-2.0
"""What the model's passes before one update say of it: losses, terms, padding."""

from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from .backward import Roots
from .later import Losses
from .prompts import Groups, groups_of

_IGNORED_LABEL = -100


class Update:
    """Collects it from the model's inputs and outputs, for one update after the other."""

    def __init__(self, model: nn.Module, routed: bool, discard: Callable[[], None]) -> None:
        """discard: called where the gradients of the passes so far were thrown away."""
        self._shifts = "CausalLM" in type(model).__name__  # the labels of the next tokens
        self._routed = routed  # a layer may see some of the tokens only
        # Of two sides each has a mask of its own.
        self._two_sided = bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))
        self.split = 1
        """Processes that num_items_in_batch counts the terms of."""
        self._entered = False
        self._mask: Tensor | None = None  # of the latest pass
        self._groups: Groups | None = None
        self._shape: tuple[int, ...] = ()  # of its tokens
        self._decoder_mask: Tensor | None = None
        self._terms_of_pass = 0.0
        self._discard_passes = discard
        self.roots = Roots(model, self)
        self.next()

    def next(self) -> None:
        self._told: list[Tensor] = []  # by the user
        self._outputs: list[Tensor] = []  # of models whose output has a loss
        self._shares = False  # of a sum over the update's passes, not a mean
        self.terms = 0.0
        """How many terms its loss is the mean over; 0: all rows."""
        self._of_passed = 0.0, 0  # terms and outputs, when the last backward pass ended
        self.roots.next()

    def end_pass(self) -> None:
        """A backward pass ended."""
        self._of_passed = self.terms, len(self._outputs)

    def discard(self) -> None:
        """The gradients that were there when it ended are gone, without an update."""
        terms, outputs = self._of_passed
        self.terms -= terms
        del self._outputs[:outputs]
        self._of_passed = 0.0, 0
        self._discard_passes()

    @property
    def is_hidden(self) -> bool:
        """Whether a compiler hides the model's inputs."""
        return not self._entered

    @property
    def has_loss(self) -> bool:
        found = self.roots.found and not self.roots.unclear
        return bool(self._told or found or self._outputs)

    def add_loss(self, loss: Tensor | float, terms: int | None) -> None:
        self._told.append(loss.detach().clone() if isinstance(loss, Tensor) else torch.tensor(loss))
        if terms is not None:
            self.terms = float(terms)

    def losses(self, scale: float) -> tuple[Losses | None, str]:
        """The losses of the update, None where they are not known, and where they come from.

        scale: by which the loop multiplies them before its backward pass.
        """
        if self._told:
            return Losses(self._told, fmean), "told by scope.loss()"
        if self.roots.found and not self.roots.unclear:
            # Each pass adds its gradient to the others: what is descended is the sum.
            found = Losses(self.roots.found, lambda each: sum(each) / scale)
            return found, "found: backward() was called on it"
        if self._outputs:
            split = self.split
            combine = (lambda each: sum(each) * split) if self._shares else fmean
            return Losses(self._outputs, combine), "found: the model's output has it"
        return None, "unknown"

    def see_inputs(self, inputs: Any, kwargs: Mapping[str, Any]) -> None:
        self._entered = True
        self._mask = _mask_in(kwargs, "attention_mask")
        self._decoder_mask = _mask_in(kwargs, "decoder_attention_mask")
        labels = kwargs.get("labels")
        self._see_prompts(inputs, kwargs, labels)
        count = kwargs.get("num_items_in_batch")
        if count is not None:
            self.terms = float(count) / self.split
            self._terms_of_pass = 0.0
        elif isinstance(labels, Tensor) and labels.dim() == 2:
            shifted = labels[:, 1:] if self._shifts else labels
            self._terms_of_pass = float((shifted != _IGNORED_LABEL).sum())
        elif self._routed:
            # An expert sees some of the tokens that the loss is a mean over.
            self._terms_of_pass = _tokens_of(inputs, kwargs, self._mask)
        else:
            self._terms_of_pass = 0.0

    def see_output(self, kwargs: Mapping[str, Any], output: Any) -> None:
        self.roots.see_output(output)
        terms, self._terms_of_pass = self._terms_of_pass, 0.0
        loss = getattr(output, "loss", None)
        if not (isinstance(loss, Tensor) and loss.requires_grad):
            self.terms += terms
            return
        value = loss.detach().clone()
        shares = kwargs.get("num_items_in_batch") is not None

        def arrived(_: Tensor) -> None:
            # A pass without a backward pass is none of training.
            self._outputs.append(value)
            self._shares = shares
            self.terms += terms

        loss.register_hook(arrived)  # type: ignore[no-untyped-call]

    def _see_prompts(self, inputs: Any, kwargs: Mapping[str, Any], labels: Any) -> None:
        tokens = _tokens_in(inputs, kwargs)
        self._groups, self._shape = None, ()
        if tokens is not None and not self._two_sided and isinstance(labels, Tensor):
            self._shape = tuple(tokens.shape)
            self._groups = groups_of(tokens, labels, self._mask, _IGNORED_LABEL)

    def groups_of(self, features: Tensor) -> Groups | None:
        """The sequences of `features` by their prompt; None where each has its own."""
        return self._groups if tuple(features.shape[:-1]) == self._shape else None

    def padding_of(self, layer: str) -> Tensor | None:
        """The mask of the tokens that a layer sees, as the model was given it."""
        decodes = self._two_sided and "decoder" in layer.split(".")
        return self._decoder_mask if decodes else self._mask

    def mask_of(self, layer: str, features: Tensor) -> tuple[Tensor | None, str]:
        """The rows of `features` that are no padding (None: all), and what was not understood."""
        mask = self.padding_of(layer)
        if mask is None or bool(mask.all()):
            return None, ""
        flattened = features.dim() == 2 and features.shape[0] == mask.numel()
        if flattened or (features.dim() == 3 and features.shape[:2] == mask.shape):
            return mask.to(device=features.device, dtype=torch.bool), ""
        return None, (
            f"the attention mask {tuple(mask.shape)} does not fit features "
            f"{tuple(features.shape)}: padding counts as tokens there"
        )


def _mask_in(kwargs: Mapping[str, Any], name: str) -> Tensor | None:
    """A mask of padding; one of attention has more dimensions."""
    mask = kwargs.get(name)
    return mask if isinstance(mask, Tensor) and mask.dim() == 2 else None


def _tokens_in(inputs: Any, kwargs: Mapping[str, Any]) -> Tensor | None:
    """The first argument that is a table of token numbers."""
    for value in (*inputs, *kwargs.values()):
        if isinstance(value, Tensor) and value.dim() == 2 and not value.is_floating_point():
            return value
    return None


def _tokens_of(inputs: Any, kwargs: Mapping[str, Any], mask: Tensor | None) -> float:
    """How many; 0 where none are found."""
    if mask is not None:
        return float(mask.sum())
    tokens = _tokens_in(inputs, kwargs)
    return 0.0 if tokens is None else float(tokens.numel())
