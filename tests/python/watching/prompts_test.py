# SPDX-License-Identifier: Apache-2.0
"""Sequences that go on from one prompt are one group to the intervals, and the same rows to the rest."""

import unittest
import unittest.mock
from typing import Any

import kappascope
import numpy as np
import torch
from kappascope._watch import update
from kappascope._watch.prompts import groups_of
from torch import Tensor, nn
from training import Attached, Model, undropped

IGNORED = -100
LAYER = "layers.0.down_proj"


class Prompted(Model):
    """As a model of transformers is called."""

    def forward(  # type: ignore[override]
        self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None
    ) -> Tensor:
        return super().forward(input_ids)


def batch(prompts: list[int], seed: int, padded: int = 1) -> dict[str, Tensor]:
    """Sequences of a prompt of 4 tokens (of which the first are padding) and 3 that follow, in the order of
    `prompts`; 0 is one of padding alone."""
    generator = torch.Generator().manual_seed(seed)
    beginnings = torch.randint(1, 20, (max(prompts) + 1, 4), generator=generator)
    tokens = torch.cat([beginnings[prompts], torch.randint(1, 20, (len(prompts), 3), generator=generator)], 1)
    mask = torch.ones_like(tokens)
    mask[:, :padded] = 0
    mask[torch.tensor(prompts) == 0, :4] = 0
    labels = tokens.clone()
    labels[:, :4] = IGNORED
    return {"input_ids": tokens, "attention_mask": mask, "labels": labels}


def index_of(of: dict[str, Tensor]) -> Any:
    found = groups_of(of["input_ids"], of["labels"], of["attention_mask"], IGNORED)
    return None if found is None else sorted(sorted(row) for row in found.index.tolist())


class Groups(unittest.TestCase):
    def test_completions_of_one_prompt_are_one_group_in_any_order(self) -> None:
        self.assertEqual(index_of(batch([1, 2, 1, 3, 1], 1)), [[-1, -1, 1], [-1, -1, 3], [0, 2, 4]])

    def test_prompts_of_their_own_are_no_groups(self) -> None:
        self.assertIsNone(index_of(batch([1, 2, 3], 1)))

    def test_padding_is_no_prompt(self) -> None:
        self.assertIsNone(index_of(batch([0, 0, 0], 1)))

    def test_the_first_token_of_all_sequences_is_no_prompt(self) -> None:
        tokens = torch.randint(2, 20, (6, 30))
        tokens[:, 0] = 1
        labels = tokens.clone()
        labels[:, 0] = IGNORED
        mask = torch.ones_like(tokens)
        self.assertIsNone(groups_of(tokens, labels, mask, IGNORED))
        labels[:, :9] = IGNORED
        tokens[:, :9] = 1
        self.assertIsNotNone(groups_of(tokens, labels, mask, IGNORED))

    def test_a_large_group_among_single_ones_takes_no_more_than_twice_the_memory(self) -> None:
        of = batch([1] * 16 + list(range(2, 18)), 1)
        index = groups_of(of["input_ids"], of["labels"], of["attention_mask"], IGNORED).index  # type: ignore
        self.assertEqual(index.shape, (2, 16))  # the single ones together are as many as the group
        self.assertEqual(sorted(index[index >= 0].tolist()), list(range(32)))
        together = [set(row) & set(range(16)) for row in index.tolist()]
        self.assertIn(set(range(16)), together)

    def test_without_labels_nothing_is_known(self) -> None:
        tokens = batch([1, 1], 1)["input_ids"]
        self.assertIsNone(groups_of(tokens, None, None, IGNORED))
        self.assertIsNone(groups_of(tokens, tokens, None, IGNORED))  # every token has a label
        self.assertIsNone(groups_of(tokens, tokens[:, 1:], None, IGNORED))  # whose label is whose?

    def test_what_is_absent_is_zero(self) -> None:
        found = groups_of(*(batch([1, 2, 1], 1)[k] for k in ("input_ids", "labels", "attention_mask")), IGNORED)
        assert found is not None
        x = torch.arange(1.0, 1 + 3 * 7 * 2).view(3, 7, 2)
        arranged = found.arranged(x)
        self.assertEqual(arranged.shape, (2, 14, 2))
        self.assertEqual(arranged.sum(), x.sum())


class Watched(Attached):
    def run_of(self, name: str, compiling: bool = False) -> Any:
        torch.manual_seed(5)
        model = undropped(Prompted())
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        call: Any = torch.compile(model, backend="aot_eager") if compiling else model
        with kappascope.attach(call, optimizer, self.run_dir(name), every=4, window=4, budget=0):
            for step in range(4):
                for half in range(2):
                    given = batch([1, 2, 1, 3, 2, 1], 2 * step + half)
                    logits = call(**given)
                    loss = nn.functional.cross_entropy(
                        logits[:, :-1].flatten(0, 1), given["labels"][:, 1:].flatten(), ignore_index=IGNORED
                    )
                    (loss / 2).backward()
                optimizer.step()
                optimizer.zero_grad()
        return kappascope.read(self.run_dir(name))

    def test_the_numbers_stay_and_fewer_groups_are_independent(self) -> None:
        counts = []
        for compiling in (False, True):
            with self.subTest(compiling=compiling):
                torch._dynamo.reset()
                grouped = self.run_of(f"grouped {compiling}", compiling)
                with unittest.mock.patch.object(update, "groups_of", lambda *_: None):
                    torch._dynamo.reset()
                    apart = self.run_of(f"apart {compiling}", compiling)
                for series in ("kappa/sigma", "features/largest_variance", "gradvar/measured", "gradvar/published"):
                    one, other = (run.series(series, LAYER)[0] for run in (grouped, apart))
                    np.testing.assert_allclose(one.value, other.value, rtol=1e-5, err_msg=series)
                one, other = (run.series("kappa/sigma", LAYER)[0] for run in (grouped, apart))
                self.assertEqual(one.rows.tolist(), other.rows.tolist())
                counts.append(one.rows.item())
                self.assertLess(one.effective_rows.item(), other.effective_rows.item())
                one, other = (run.series("learning/sigma", LAYER)[0] for run in (grouped, apart))
                self.assertEqual(2 * one.effective_rows.item(), other.effective_rows.item())
        self.assertEqual(counts, [4 * 2 * 6 * 6] * 2)  # a seventh of the tokens is padding


if __name__ == "__main__":
    unittest.main()
