# SPDX-License-Identifier: Apache-2.0
"""Feed-forward layers whose two maps stand where others' do not: they are found by what they are."""

import unittest

import torch
from kappascope._watch.layers import find_layers
from kappascope._watch.shapes import Matrix, down_among
from torch import Tensor, nn

D, WIDE = 6, 10


class Holder(nn.Module):
    """Of children by name."""

    def __init__(self, **children: nn.Module) -> None:
        super().__init__()
        for name, child in children.items():
            setattr(self, name, child)


class Clipped(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear(x.clamp(-1, 1)).clamp(-1, 1)
        return out


class GEGLU(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(D, 2 * WIDE)


class FeedForward(nn.Module):
    def __init__(self, first: nn.Module) -> None:
        super().__init__()
        self.net = nn.ModuleList([first, nn.Dropout(0.0), nn.Linear(WIDE, D)])


class MixerMLP(nn.Module):
    """Has a convolution between its maps."""

    def __init__(self) -> None:
        super().__init__()
        self.before = nn.Linear(D, WIDE)
        self.mix = nn.Conv1d(WIDE, WIDE, 3)
        self.after = nn.Linear(WIDE, D)


def found(model: nn.Module) -> list[tuple[str, str]]:
    return [(layer.name, layer.kind) for layer in find_layers(model)]


class Beside(unittest.TestCase):
    def test_the_maps_of_a_block_that_begins_with_a_convolution(self) -> None:
        first, second = nn.Linear(D, WIDE), nn.Linear(WIDE, D)
        conv = nn.Conv2d(D, D, 7, groups=D)
        for up, down in (("pwconv1", "pwconv2"), ("pointwise_conv1", "pointwise_conv2")):
            block = Holder(dwconv=conv, **{up: first, down: second})
            self.assertEqual(found(Holder(block=block)), [(f"block.{down}", "plain")])
        in_a_row = nn.Sequential(conv, nn.LayerNorm(D), first, nn.GELU(), second)
        self.assertEqual(found(Holder(block=in_a_row)), [("block.4", "plain")])

    def test_a_convolution_between_or_after_the_maps_makes_it_none(self) -> None:
        first, second = nn.Linear(D, WIDE), nn.Linear(WIDE, D)
        conv = nn.Conv1d(WIDE, WIDE, 3)
        self.assertEqual(found(Holder(block=nn.Sequential(first, conv, second))), [])
        self.assertEqual(found(Holder(block=nn.Sequential(first, nn.GELU(), second, conv))), [])
        self.assertEqual(found(MixerMLP()), [])
        # Convolutions under the same names are no linear maps.
        pointwise = {f"pointwise_conv{i}": nn.Conv1d(D, D, 1) for i in (1, 2)}
        self.assertEqual(found(Holder(conv=Holder(**pointwise))), [])

    def test_maps_within_modules_of_their_own(self) -> None:
        maps = {"gate_proj": (D, WIDE), "up_proj": (D, WIDE), "down_proj": (WIDE, D)}
        mlp = Holder(**{name: Clipped(*shape) for name, shape in maps.items()})
        # What is multiplied are the clipped features.
        self.assertEqual(found(Holder(mlp=mlp)), [("mlp.down_proj.linear", "gated")])
        gated, plain = FeedForward(GEGLU()), FeedForward(Holder(proj=nn.Linear(D, WIDE)))
        self.assertEqual(found(Holder(ff=gated)), [("ff.net.2", "gated")])
        self.assertEqual(found(Holder(ff=plain)), [("ff.net.2", "plain")])

    def test_maps_for_queries_beside_those_for_text(self) -> None:
        names = {"intermediate": (D, WIDE), "output": (WIDE, D)}
        apart = {f"{name}{end}": s for end in ("", "_query") for name, s in names.items()}
        block = Holder(**{name: Holder(dense=nn.Linear(*s)) for name, s in apart.items()})
        self.assertEqual(
            found(block), [("output.dense", "plain"), ("output_query.dense", "plain")]
        )

    def test_square_maps_are_told_apart_by_their_names(self) -> None:
        for up, down in (("dense1", "dense2"), ("gate_proj", "down_proj")):
            block = Holder(**{up: nn.Linear(D, D), down: nn.Linear(D, D)})
            self.assertEqual(found(Holder(mlp=block)), [(f"mlp.{down}", "plain")])


class Ambiguous(unittest.TestCase):
    def test_of_two_ways_to_multiply_the_width_of_the_model_tells(self) -> None:
        matrices = [Matrix("a", 4, 6), Matrix("b", 6, 4)]
        for width in (4, 6):
            found = down_among([], matrices, width)
            assert found is not None
            self.assertEqual(found.matrix.outputs, width)


if __name__ == "__main__":
    torch.manual_seed(0)
    unittest.main()
