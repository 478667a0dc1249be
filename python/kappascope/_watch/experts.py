# SPDX-License-Identifier: Apache-2.0
"""Down-projections that no module stands for: a parameter that is one, or a bank of experts with one
matrix each. The products with them are watched instead."""

import weakref
from dataclasses import dataclass

from torch import Tensor, nn

from .shapes import Matrix, down_among, is_feed_forward, linear_beside, shape_of
from .shards import plain


@dataclass(frozen=True)
class Bank:
    """All experts of one mixture layer, or a single matrix."""

    name: str
    """Of the parameter; an expert is NAME.INDEX"""
    owner: "weakref.ref[nn.Module]"
    attribute: str
    experts: int
    """0: a single matrix."""
    width: int
    """d_ff"""
    outputs: int

    def held(self) -> Tensor | None:
        """The weight of this moment: fully_shard puts another one there for a pass."""
        owner = self.owner()
        now = None if owner is None else owner._parameters.get(self.attribute)
        return None if now is None else plain(now)

    def expert(self, index: int) -> str:
        return f"{self.name}.{index}"

    def names(self) -> list[str]:
        return [self.expert(i) for i in range(self.experts)] or [self.name]


def find_banks(model: nn.Module) -> list[Bank]:
    """By the shapes of the parameters of a module, and of its children that have a single one."""
    embeddings = (m.embedding_dim for m in model.modules() if isinstance(m, nn.Embedding))
    width = next(embeddings, None)
    banks: dict[int, Bank] = {}
    for prefix, parent in model.named_modules():
        if shape_of(parent) is not None:
            continue
        places = _parameters_beside(parent)
        for dimensions in (2, 3):
            beside = {n: (o, p) for n, o, p in places if p.dim() == dimensions}
            linear = linear_beside(parent) if dimensions == 2 else []
            matrices = [Matrix(n, p.shape[-1], p.shape[-2]) for n, (_, p) in beside.items()]
            found = down_among(linear, matrices, width)
            if found is None or found.matrix.name not in beside:
                continue
            if dimensions == 3 or is_feed_forward(prefix, parent):
                down = found.matrix
                owner, parameter = beside[down.name]
                experts = len(parameter) if dimensions == 3 else 0
                name = f"{prefix}.{down.name}" if prefix else down.name
                attribute = down.name.rpartition(".")[2]
                bank = Bank(name, weakref.ref(owner), attribute, experts, down.inputs, down.outputs)
                banks.setdefault(id(parameter), bank)
    return list(banks.values())


def matrices_of(parent: nn.Module) -> list[Matrix]:
    """Of its own parameters."""
    own = [(n, o, p) for n, o, p in _parameters_beside(parent) if p.dim() == 2]
    return [Matrix(name, p.shape[1], p.shape[0]) for name, _, p in own]


def _parameters_beside(parent: nn.Module) -> list[tuple[str, nn.Module, Tensor]]:
    """Name, owner and value of the matrices, and the banks of them, that are no linear layer's."""
    places = [(name, parent, p) for name, p in parent._parameters.items() if p is not None]
    for child_name, child in parent.named_children():
        own = [(name, p) for name, p in child._parameters.items() if p is not None]
        if len(own) == 1 and own[0][1].dim() == 3 and shape_of(child) is None:
            places.append((f"{child_name}.{own[0][0]}", child, own[0][1]))
    return [(n, o, p) for n, o, p in places if p.dim() in (2, 3) and "bias" not in n]


def bank_of(name: str, module: nn.Module) -> Bank | None:
    """A linear layer as its weight, for one whose forward is not called."""
    weight = module._parameters.get("weight")
    if not isinstance(module, nn.Linear) or weight is None or weight.dim() != 2:
        return None
    return Bank(name, weakref.ref(module), "weight", 0, module.in_features, module.out_features)


def owners(banks: list[Bank]) -> list[nn.Module]:
    return [owner for bank in banks if (owner := bank.owner()) is not None]


def holders(model: nn.Module, banks: list[Bank]) -> list[nn.Module]:
    """The model, and the modules on the way from it to each bank."""
    modules = dict(model.named_modules())
    wanted = set(map(id, owners(banks)))
    found = {"": model}
    for name, module in modules.items():
        if id(module) in wanted:
            words = name.split(".")
            for end in range(1, len(words) + 1):
                found[".".join(words[:end])] = modules[".".join(words[:end])]
    return list(found.values())
