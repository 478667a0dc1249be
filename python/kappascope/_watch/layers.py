# SPDX-License-Identifier: Apache-2.0
"""Finds the down-projections of a model: by what stands beside them, not by the model's name."""

import fnmatch
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

from torch import nn

from .._library import Error
from .experts import Bank, matrices_of
from .shapes import down_among, is_feed_forward, linear_beside, linear_within, shape_of
from .shards import Block, block_of

# Names come first, as shapes leave some layers open (as many features as outputs).
# Siblings of a gated feed-forward layer: its down-projection, and what must stand beside it.
_GATED = (
    ("down_proj", ("gate_proj", "up_proj")),  # Llama, Qwen, Gemma, Mistral
    ("down_proj", ("gate_up_proj",)),  # Phi-3
    ("wo", ("wi_0", "wi_1")),  # T5 v1.1
    ("w2", ("w1", "w3")),  # Mixtral's experts, the original Llama
    ("fc2", ("fc1_g", "fc1_x")),  # timm's SwiGLU
)
# Siblings of a layer of two projections without a gate: the second is watched.
_PLAIN = (
    ("fc2", ("fc1",)),  # ViT, OPT, timm
    ("c_proj", ("c_fc",)),  # GPT-2, nanoGPT
    ("dense_4h_to_h", ("dense_h_to_4h",)),  # GPT-NeoX, Falcon
    ("wo", ("wi",)),  # T5
    ("lin2", ("lin1",)),  # DistilBERT
    ("linear2", ("linear1",)),  # torch.nn.TransformerEncoderLayer
    ("down_proj", ("up_proj",)),
    ("down_proj", ("gate_proj",)),  # TimesFM
    ("dense2", ("dense1",)),  # Perceiver
    ("pwconv2", ("pwconv1",)),  # ConvNeXt
    ("pointwise_conv2", ("pointwise_conv1",)),  # DINOv3's ConvNeXt, SAM 2's fuser
)
# The second projection of BERT and its kin stands in a module of its own: output.dense beside
# intermediate.dense; BLIP-2 has these for its queries alone.
_APART = (("output", "intermediate"), ("output_query", "intermediate_query"))


@dataclass(frozen=True)
class Layer:
    """A down-projection that is watched. It keeps no model alive."""

    name: str
    reference: "weakref.ref[nn.Module]"
    kind: str
    """"gated", "plain" (two projections without a gate), or "named" (asked for by a pattern)."""
    width: int
    """d_ff: of the features that enter it."""
    outputs: int
    dropout: "weakref.ref[nn.Dropout] | None"
    """What zeroes the features right before it."""
    block: Block | None = None
    """Of the features, where this process holds a part of the weight."""
    frozen: bool = False
    """Whether its weights were not trained when it was found."""
    beside: "tuple[weakref.ref[nn.Module], ...]" = ()
    """What makes the gate and its factor, or both in one, where that is known by their names."""

    @property
    def module(self) -> nn.Module:
        """Raises Error once the model is gone."""
        module = self.reference()
        if module is None:
            raise Error(f"the model that {self.name} belongs to is gone")
        return module

    def share_dropped(self, training: bool = False) -> float | None:
        """By the dropout before it (`training`: 0 where that is off); None without one."""
        dropout = None if self.dropout is None else self.dropout()
        if dropout is None:
            return None
        return 0.0 if training and not dropout.training else dropout.p

    def seen_width(self) -> str:
        held = "" if self.block is None else f"{self.block.end - self.block.begin}/"
        return f"{held}{self.width}"


def _dropout_before(parent: nn.Module, down: str) -> nn.Dropout | None:
    """T5 and ModernBERT drop features between the gate and `wo`; elsewhere dropout comes after the
    projection."""
    dropout = getattr(parent, "dropout", getattr(parent, "drop", None))
    return dropout if down.lower() == "wo" and isinstance(dropout, nn.Dropout) else None


def _is_packed(first: nn.Module, down: nn.Module) -> bool:
    """Gate and up-projection are one linear map: timm's GluMlp and SwiGLUPacked."""
    before, after = shape_of(first), shape_of(down)
    return before is not None and after is not None and before[1] == 2 * after[0]


def _candidates(name: str, parent: nn.Module) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The names of the down-projections among the children of a module, their kinds, and the names
    of what makes their gate and its factor."""
    children = dict(parent.named_children())
    for kind, table in (("gated", _GATED), ("plain", _PLAIN)):
        for down, beside in table:
            if down in children and all(name in children for name in beside):
                packed = kind == "plain" and _is_packed(children[beside[0]], children[down])
                yield down, "gated" if packed else kind, beside if kind == "gated" else ()
                return
    apart = [
        (f"{down}.dense", "plain", ())
        for down, up in _APART
        if all(isinstance(getattr(children.get(x), "dense", None), nn.Module) for x in (down, up))
    ]
    yield from apart or _by_shape(name, parent)


def _by_shape(name: str, parent: nn.Module) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    linear = linear_beside(parent)
    found = down_among(linear, matrices_of(parent))
    if found is not None and found.matrix in linear and is_feed_forward(name, parent):
        yield found.matrix.name, "gated" if found.gated else "plain", ()


def find_layers(model: nn.Module, patterns: str | list[str] | None = None) -> list[Layer]:
    """The down-projections of `model`, or the linear layers whose names fit the patterns.

    patterns: globs of dotted module names, e.g. "layers.*.mlp.down".
    """
    found: dict[int, Layer] = {}

    def add(
        name: str,
        module: nn.Module,
        kind: str,
        dropout: nn.Dropout | None,
        beside: tuple[nn.Module, ...] = (),
    ) -> None:
        shape = shape_of(module)
        if shape is not None and id(module) not in found:
            dropped = None if dropout is None else weakref.ref(dropout)
            found[id(module)] = Layer(
                name,
                weakref.ref(module),
                kind,
                *shape,
                dropped,
                block_of(module),
                is_frozen(module),
                tuple(map(weakref.ref, beside)),
            )

    if patterns is not None:
        globs = [patterns] if isinstance(patterns, str) else list(patterns)
        for name, module in model.named_modules():
            if any(fnmatch.fnmatchcase(name, glob) for glob in globs):
                add(name, module, "named", None)
        return list(found.values())
    for prefix, parent in model.named_modules():
        for down, kind, names in _candidates(prefix, parent):
            name, module = f"{prefix}.{down}" if prefix else down, parent.get_submodule(down)
            dropout = _dropout_before(parent, down)
            if wrapped := linear_within(module):
                name, module = f"{name}.{wrapped[0]}", wrapped[1]
            beside = tuple(parent.get_submodule(word) for word in names)
            add(name, module, kind, dropout, beside)
    return list(found.values())


def is_frozen(module: nn.Module) -> bool:
    """Whether it has parameters of its own and none is trained."""
    own = list(module.parameters())
    return bool(own) and not any(parameter.requires_grad for parameter in own)


def nothing_found(model: nn.Module, patterns: str | list[str] | None) -> Error:
    """What could be meant instead."""
    if patterns is None:
        what = (
            "no down-projection was found: pass layers=, a glob of module names, e.g. "
            'layers="*.down"'
        )
    else:
        globs = [patterns] if isinstance(patterns, str) else list(patterns)
        what = f"no linear layer is called {' or '.join(globs)}"
    return Error(f"{what}; the linear layers are: {_linear_names(model)}")


def _linear_names(model: nn.Module) -> str:
    names = [name for name, module in model.named_modules() if shape_of(module) is not None]
    if not names:
        return "none"
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def notes_on(layers: list[Layer], gather: bool) -> list[str]:
    """What is said of layers that this process holds a block of."""
    notes = []
    for layer in layers:
        if layer.block is None:
            continue
        sharded = f"{layer.name}: its {layer.width} features are sharded over processes"
        notes.append(
            f"{sharded}, and gathered"
            if gather
            else f"{sharded}; each measures the block of the covariance that it holds, this one "
            f"{layer.block.name(layer.name)}; attach(gather=True) measures all of it"
        )
    return notes


def table_of(layers: list[Layer], banks: list[Bank], gather: bool, notes: list[str]) -> str:
    """What is watched, a line each."""
    width = max((len(layer.name) for layer in layers), default=5)
    kinds = {"gated": "gated", "plain": "no gate", "named": "as named"}
    lines = [f"{'layer':<{width}}  {'kind':<8}  {'d_ff':>6}  {'out':>6}  dropout before it"]
    for layer in layers:
        dropped = layer.share_dropped()
        dropout = "-" if dropped is None else f"{dropped:g}"
        seen = str(layer.width) if gather else layer.seen_width()
        lines.append(
            f"{layer.name:<{width}}  {kinds[layer.kind]:<8}  {seen:>6}  {layer.outputs:>6}  {dropout}"
            + ("  frozen" if layer.frozen else "")
        )
    for bank in banks:
        what = f"{bank.name}.*  {bank.experts} experts" if bank.experts else f"{bank.name}  a parameter"
        lines.append(f"{what}  {bank.width:>6}  {bank.outputs:>6}  -")
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])
