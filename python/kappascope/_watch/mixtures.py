# SPDX-License-Identifier: Apache-2.0
"""Finds the routers of mixtures of experts: by the experts and the shape of a weight beside them."""

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from .experts import Bank
from .layers import Layer

_CHOSEN = ("top_k", "num_experts_per_tok", "topk", "k", "moe_top_k", "num_selected_experts")
# A configuration's top_k may be one of generation.
_CHOSEN_OF_CONFIG = ("num_experts_per_tok", "moe_top_k", "num_selected_experts")
_GROUPS = ("n_group", "num_group", "num_expert_group", "topk_group")
_DRAWN = "router_jitter_noise"  # Phi-3.5-MoE draws the experts in training


@dataclass(frozen=True)
class Router:
    """It keeps no model alive."""

    name: str
    module: "weakref.ref[nn.Module]"
    """That owns the weight, [experts, width]."""
    block: "weakref.ref[nn.Module]"
    """That holds it and its experts."""
    experts: int
    width: int
    chosen: int
    """Experts that a token is sent to; 0: not known."""


@dataclass(frozen=True)
class _Mixture:
    block: str
    """The name of a module that may hold the router beside the experts."""
    held: str
    """The name of what holds the experts alone; that of the block where it owns them itself."""
    experts: int
    width: int


def find_routers(
    model: nn.Module, layers: list[Layer], banks: list[Bank]
) -> tuple[list[Router], list[str]]:
    """Those whose choice is the top of their logits, and a note on the others."""
    modules = dict(model.named_modules())
    # What stands beside a watched down-projection belongs to an expert, which all tokens may share.
    dense = {layer.name.rpartition(".")[0] for layer in layers}
    found: dict[str, Router] = {}
    others: dict[str, list[str]] = {}
    for mixture in _mixtures(modules, layers, banks):
        name = _router_in(mixture, modules, dense)
        if name is None or name in found:
            continue
        way = _way(modules, mixture.block, name)
        if why := _why_not(mixture, modules, way):
            others.setdefault(why, []).append(name)
            continue
        references = weakref.ref(modules[name]), weakref.ref(modules[mixture.block])
        chosen = _chosen(way, getattr(model, "config", None))
        found[name] = Router(name, *references, mixture.experts, mixture.width, chosen)
    return list(found.values()), [_note(why, names) for why, names in others.items()]


def _mixtures(
    modules: dict[str, nn.Module], layers: list[Layer], banks: list[Bank]
) -> Iterator[_Mixture]:
    names = {id(module): name for name, module in modules.items()}
    for bank in banks:
        owner = names.get(id(bank.owner()))
        if bank.experts > 1 and owner is not None:
            yield _Mixture(owner, owner, bank.experts, bank.outputs)
            if owner:
                yield _Mixture(owner.rpartition(".")[0], owner, bank.experts, bank.outputs)
    lists: dict[str, dict[str, int]] = {}  # of modules: those with a watched layer, and its outputs
    for layer in layers:
        words = layer.name.split(".")
        for end in range(len(words) - 1, 0, -1):
            held = ".".join(words[:end])
            if isinstance(modules.get(held), nn.ModuleList | nn.ModuleDict):
                lists.setdefault(held, {})[words[end]] = layer.outputs
                break
    for held, outputs in lists.items():
        children = list(modules[held].children())
        if 1 < len(children) == len(outputs) and len(set(map(_kind, children))) == 1:
            yield _Mixture(held.rpartition(".")[0], held, len(children), max(outputs.values()))


def _kind(module: nn.Module) -> Any:
    return type(module), tuple((name, p.shape) for name, p in module.named_parameters())


def _router_in(mixture: _Mixture, modules: dict[str, nn.Module], dense: set[str]) -> str | None:
    """The one module in the block, beside the experts, whose weight has a row for each of these."""
    apart = [name for name in dense if name and _is_in(name, mixture.block)]
    found = []
    for name, module in modules.items():
        if not _is_in(name, mixture.block) or isinstance(module, nn.Embedding):
            continue
        if mixture.held != mixture.block and _is_at(name, mixture.held):
            continue
        weight = module._parameters.get("weight")
        if weight is None or tuple(weight.shape) != (mixture.experts, mixture.width):
            continue
        # What an adapter adds to its base is not seen.
        if not any(_is_at(name, one) for one in apart) and not name.endswith("base_layer"):
            found.append(name)
    return found[0] if len(found) == 1 else None


def _is_in(name: str, block: str) -> bool:
    return name.startswith(f"{block}.") if block else bool(name)


def _is_at(name: str, place: str) -> bool:
    return name == place or _is_in(name, place)


def _way(modules: dict[str, nn.Module], block: str, name: str) -> list[nn.Module]:
    """The modules from a router up to its block."""
    way = []
    while True:
        way.append(modules[name])
        if name == block:
            return way
        name = name.rpartition(".")[0]


def _why_not(mixture: _Mixture, modules: dict[str, nn.Module], way: list[nn.Module]) -> str:
    """What chooses beside the logits; "" where nothing does."""
    for name, module in modules.items():
        is_beside = _is_in(name, mixture.block) and not _is_at(name, mixture.held)
        if not (is_beside or name == mixture.block):
            continue
        for word, value in (*module._parameters.items(), *module._buffers.items()):
            is_own = module is way[0] and word == "bias"
            if value is not None and "bias" in word and value.numel() == mixture.experts and not is_own:
                return word
    for word in _GROUPS:
        if any(_integer(module, word) > 1 for module in way):
            return word
    return _DRAWN if any(getattr(module, _DRAWN, None) for module in way) else ""


def _note(why: str, names: list[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}: {why} chooses experts too, so that nothing is measured of these routers"


def _chosen(way: list[nn.Module], config: Any) -> int:
    found = [_integer(module, word) for module in way for word in _CHOSEN]
    found += [_integer(config, word) for word in _CHOSEN_OF_CONFIG]
    return next((number for number in found if number > 0), 0)


def _integer(owner: Any, word: str) -> int:
    value = getattr(owner, word, None)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
