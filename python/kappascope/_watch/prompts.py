# SPDX-License-Identifier: Apache-2.0
"""Sequences that go on from one prompt (completions of GRPO, an answer that is kept beside one that is
not): they are alike, and intervals must not take them for independent."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

# What is shared counts from so many tokens on, or from so large a part of a sequence: the first token of
# all sequences is no prompt.
_TOKENS = 8
_PART = 0.1
_MOST = 2  # times as many sequences as there are, with those that fill up


@dataclass(frozen=True)
class Groups:
    """Sequences by their prompt."""

    index: Tensor
    """[groups, most sequences of one]: numbers of sequences, -1 where a group has fewer."""

    def arranged(self, x: Tensor) -> Tensor:
        """[sequences, tokens, ...] -> [groups, most * tokens, ...], sequences of a group one after the
        other; zeros where it has fewer."""
        index = self.index.to(x.device)
        absent = (index < 0).view(*index.shape, *[1] * (x.dim() - 1))
        return x[index.clamp(min=0)].masked_fill(absent, 0).flatten(1, 2)


def groups_of(tokens: Tensor, labels: Tensor | None, mask: Tensor | None, ignored: int) -> Groups | None:
    """None where each sequence has a prompt of its own, or none.

    tokens: [sequences, tokens]. A prompt is what stands before the first token with a label, without
    padding (mask 0).
    """
    if labels is None or labels.shape != tokens.shape or len(tokens) < 2 or hasattr(tokens, "device_mesh"):
        return None
    is_prompt = (labels != ignored).cumsum(1) == 0
    counts = torch.ones_like(is_prompt)
    if mask is not None and mask.shape == tokens.shape:
        counts = mask.bool()
    is_prompt = is_prompt & counts
    long, all_of_it = is_prompt.sum(1), counts.sum(1)
    shares = (long >= _TOKENS) | (long > _PART * all_of_it)
    _, prompts = tokens.masked_fill(~is_prompt, -1).unique(dim=0, return_inverse=True)
    members: dict[Any, list[int]] = {}
    for number, (prompt, its) in enumerate(zip(prompts.tolist(), shares.tolist(), strict=True)):
        members.setdefault(prompt if its else ("alone", number), []).append(number)
    groups = sorted(members.values(), key=len, reverse=True)
    most = len(groups[0])
    if most == 1:
        return None
    if len(groups) * most > _MOST * len(tokens):
        groups = _packed(groups, most)
    rows = [group + [-1] * (most - len(group)) for group in groups]
    return Groups(torch.tensor(rows, device=tokens.device))


def _packed(groups: list[list[int]], most: int) -> list[list[int]]:
    """Small ones together, the largest first: fewer groups than there are is the safe side."""
    packed: list[list[int]] = []
    for group in groups:
        fitting = next((one for one in packed if len(one) + len(group) <= most), None)
        if fitting is None:
            packed.append(list(group))
        else:
            fitting += group
    return packed
