# SPDX-License-Identifier: Apache-2.0
"""Sequences that go on from one prompt (completions of GRPO, an answer that is kept beside one that is
not): they are alike, and intervals must not take them for independent."""

from dataclasses import dataclass

import torch
from torch import Tensor


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
    if labels is None or labels.shape != tokens.shape or len(tokens) < 2:
        return None
    is_prompt = (labels != ignored).cumsum(1) == 0
    if mask is not None and mask.shape == tokens.shape:
        is_prompt = is_prompt & mask.bool()
    prompts = tokens.masked_fill(~is_prompt, -1)
    _, of_sequence, sizes = prompts.unique(dim=0, return_inverse=True, return_counts=True)
    alone = ~is_prompt.any(1)
    members: list[list[int]] = [[] for _ in sizes]
    groups = []
    for number, (group, single) in enumerate(zip(of_sequence.tolist(), alone.tolist(), strict=True)):
        if single:
            groups.append([number])
        else:
            members[group].append(number)
    groups += [group for group in members if group]
    most = max(map(len, groups))
    if most == 1:
        return None
    rows = [group + [-1] * (most - len(group)) for group in groups]
    return Groups(torch.tensor(rows, device=tokens.device))
