# SPDX-License-Identifier: Apache-2.0
"""Which of the matrices of a module is a down-projection, by their shapes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

# Of a class or an attribute.
_ATTENTION = re.compile(r"(^|_|\.)w?q(kv)?(_|\d|\.|$)|query|qkv|attn|attention", re.IGNORECASE)
_FEED_FORWARD = re.compile(r"mlp|ffn|feed_?forward|glu|(^|_)ff(_|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Matrix:
    """A linear map by the sizes of what it takes in and gives."""

    name: str
    inputs: int
    outputs: int

    def turned(self) -> "Matrix":
        return Matrix(self.name, self.outputs, self.inputs)


@dataclass(frozen=True)
class Down:
    """A down-projection; what stands beside it has a gate or not."""

    matrix: Matrix
    gated: bool
    packed: bool
    """Gate and up-projection are one matrix."""


def shape_of(module: Any) -> tuple[int, int] | None:
    """Inputs and outputs of a linear map: nn.Linear, GPT-2's Conv1D, an adapter around one."""
    if isinstance(module, nn.Linear):
        return module.in_features, module.out_features
    base = getattr(module, "base_layer", None)  # PEFT
    if isinstance(base, nn.Module):
        return shape_of(base)
    weight = getattr(module, "weight", None)
    if type(module).__name__ == "Conv1D" and isinstance(weight, Tensor) and weight.dim() == 2:
        return weight.shape[0], weight.shape[1]
    inputs, outputs = getattr(module, "in_features", None), getattr(module, "out_features", None)
    if isinstance(inputs, int) and isinstance(outputs, int):
        return inputs, outputs
    return None


def linear_within(module: nn.Module) -> tuple[str, nn.Linear] | None:
    """The name of the linear layer that is the only child of a module and its matrix, and that layer:
    Gemma 4 clips what enters and leaves it."""
    children = list(module.named_children())
    if shape_of(module) is not None or len(children) != 1 or not isinstance(children[0][1], nn.Linear):
        return None
    matrices = [p for p in module._parameters.values() if p is not None and p.dim() > 1]
    return None if matrices else children[0]


def _down_among(matrices: Sequence[Matrix]) -> Down | None:
    """The one that takes in d_ff features and gives d, beside one of d to d_ff (no gate), two of
    these, or one of d to 2 d_ff. Where two could be it, the one with a gate, then the last."""
    best, found = 0, None
    for matrix in matrices:
        ups = [up for up in matrices if up is not matrix and up.inputs == matrix.outputs]
        packed = sum(up.outputs == 2 * matrix.inputs for up in ups)
        single = sum(up.outputs == matrix.inputs for up in ups)
        if packed == 1 and single == 0:
            single = 2
        elif packed or single not in (1, 2) or matrix.inputs == matrix.outputs:
            continue
        if single >= best:
            best, found = single, Down(matrix, single == 2, bool(packed))
    return found


def down_among(
    linear: Sequence[Matrix], parameters: Sequence[Matrix] = (), width: int | None = None
) -> Down | None:
    """Of linear layers, and of parameters, which may multiply from either side; the model's width
    tells these apart where both fit."""
    names = [matrix.name for matrix in (*linear, *parameters)]
    if any(_ATTENTION.search(name) for name in names):
        return None
    ways = [[*linear, *parameters], [*linear, *(matrix.turned() for matrix in parameters)]]
    found = [down for down in map(_down_among, ways) if down is not None]
    return min(found, key=lambda d: (not d.packed, d.matrix.outputs != width), default=None)


def linear_beside(module: nn.Module) -> list[Matrix]:
    """Its linear layers; of one that is called a feed-forward layer, those of its children too,
    where gate and up-projection may stand in one of their own, and a list of modules is not counted."""
    return _linear_in(module, "", 1 if _FEED_FORWARD.search(type(module).__name__) else 0)


def _linear_in(module: nn.Module, prefix: str, levels: int) -> list[Matrix]:
    found = []
    for word, child in module.named_children():
        name, shape = f"{prefix}{word}", shape_of(child)
        if shape is not None:
            found.append(Matrix(name, *shape))
        elif levels > 0:
            is_list = isinstance(child, nn.ModuleList)
            found += _linear_in(child, f"{name}.", levels if is_list else levels - 1)
    return found


def is_feed_forward(name: str, module: nn.Module) -> bool:
    """It has an activation, is called one, or nothing in it holds a linear layer of its own; one
    that mixes tokens, by attention or a convolution, is none. In a sequence the convolution may come
    first, as in ConvNeXt's blocks."""
    called = f"{type(module).__name__} {name.rpartition('.')[2]}"
    linear = [shape_of(child) is not None for child in module.children()]
    others = [child for child in module.children() if shape_of(child) is None]
    mixing = [isinstance(child, nn.modules.conv._ConvNd) for child in module.children()]
    if isinstance(module, nn.Sequential) and any(linear):
        mixing = mixing[linear.index(True) :]
    if _ATTENTION.search(called) or any(mixing):
        return False
    if _FEED_FORWARD.search(called) or any(map(_is_activation, *_attributes(module))):
        return True
    return not any(shape_of(inner) for child in others for inner in child.modules())


def _attributes(module: nn.Module) -> tuple[Iterable[str], Iterable[Any]]:
    found = {**vars(module), **dict(module.named_children())}
    return found.keys(), found.values()


def _is_activation(name: str, value: Any) -> bool:
    return name.startswith("act") or type(value).__module__ == "torch.nn.modules.activation"
