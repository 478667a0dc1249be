# SPDX-License-Identifier: Apache-2.0
"""Routers in a watched loop: how evenly and surely they choose, against what the test computes itself."""

import functools
import math
import sqlite3
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kappascope
import torch
from kappascope._watch.experts import find_banks
from kappascope._watch.layers import find_layers
from kappascope._watch.mixtures import find_routers
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
from training import Attached, Mlp, Model, batches, loss_of

try:
    import transformers
except ImportError:
    transformers = None  # type: ignore[assignment]

GIVEN: dict[str, Any] = {"every": 3, "window": 2, "budget": 0, "probes": ["routers"], "existing": "new-name"}
SERIES = ("router/entropy", "router/margin", "router/close")
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 50, "num_attention_heads": 2}
MOE = {**SMALL, "intermediate_size": 12, "moe_intermediate_size": 12, "num_key_value_heads": 2}
MOE = {**MOE, "head_dim": 8, "num_experts_per_tok": 2}
FAMILIES = (("Mixtral", "num_local_experts"), ("Qwen3Moe", "num_experts"), ("GptOss", "num_local_experts"))


class Mixture(nn.Module):
    """Three experts, two of a token. flat: without its sequences; called: the number of these two."""

    def __init__(self, flat: bool = False, called: str = "top_k") -> None:
        super().__init__()
        self.router = nn.Linear(6, 3)
        self.experts = nn.ModuleList(Mlp(6, 8) for _ in range(3))
        self.flat, self.called = flat, called
        setattr(self, called, 2)
        for expert in self.experts:
            expert.dropout.p = 0.0

    def forward(self, x: Tensor) -> Tensor:
        p = self.router(x.flatten(0, -2) if self.flat else x).softmax(-1)
        weights, chosen = p.topk(getattr(self, self.called), -1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            share = (weights * (chosen == number)).sum(-1).view(*x.shape[:-1], 1)
            out = out + share * expert(x)
        return out


def model_of(make: Callable[[], nn.Module] = Mixture) -> Model:
    torch.manual_seed(1)
    model = Model()
    model.layers = nn.ModuleList(make() for _ in range(2))
    return model


def hooks_of(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def by_hand(logits: Tensor, chosen: int) -> dict[str, Tensor]:
    """Of each token: [..., experts] -> [...]."""
    logits = logits.double()
    p = logits.softmax(-1)
    ordered = logits.sort(-1, descending=True).values
    last, following = ordered[..., chosen - 1], ordered[..., chosen]
    return {
        "router/entropy": -torch.xlogy(p, p).sum(-1) / math.log(logits.shape[-1]),
        "router/margin": last - following,
        "router/close": (last - following <= (last.abs() + following.abs()) / 256).double(),
    }


def tokens_of(run: Any, layer: str) -> int:
    """That the last window looked at."""
    with sqlite3.connect(Path(run.directory) / "run.sqlite") as store:
        (rows,) = store.execute(
            "SELECT n FROM scalars WHERE name = 'router/entropy' AND layer = ? ORDER BY step DESC", [layer]
        ).fetchone()
    return int(rows)


class Seen(Attached):
    def watch(
        self, model: nn.Module, router: str, mask: Tensor | None = None, parts: int = 1
    ) -> tuple[Any, list[Tensor]]:
        """The run, and the logits of that router, [tokens, experts] of each pass that a loop made."""
        module, logits = model.get_submodule(router), []
        weight, bias = module.weight, getattr(module, "bias", None)

        def keep(_: nn.Module, inputs: Any) -> None:
            if torch._C._current_graph_task_id() < 0:
                x = inputs[0].detach().flatten(0, -2).double()
                logits.append(x @ weight.detach().double().T)
                if bias is not None:
                    logits[-1] += bias.detach().double()

        handle = module.register_forward_pre_hook(keep)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        before = hooks_of(model)
        scope = kappascope.attach(model, optimizer, self.run_dir(), **GIVEN)
        listening = hooks_of(model)
        for tokens in batches(4, rows=4):
            for part in tokens.chunk(parts):
                inputs = {} if mask is None else {"attention_mask": mask}
                loss_of(model(part, **inputs), part).backward()
            optimizer.step()
            optimizer.zero_grad()
        run = kappascope.read(scope.run)
        if run.series("router/entropy"):  # after a window none is left on a router
            self.assertLess(hooks_of(model), listening)
        scope.close()
        self.assertEqual(hooks_of(model), before)
        handle.remove()
        return run, logits

    def check(self, run: Any, name: str, logits: Tensor, chosen: int = 2) -> None:
        """logits: [sequences, tokens, experts] of the last window."""
        self.assertEqual(tokens_of(run, name), logits.shape[0] * logits.shape[1])
        for series, values in by_hand(logits, chosen).items():
            (found,) = run.series(series, name)
            self.assertAlmostEqual(found.value[-1].item(), values.mean().item(), 4, series)
            self.assertLessEqual(found.lower[-1].item(), found.value[-1].item())
            self.assertGreaterEqual(found.upper[-1].item(), found.value[-1].item())
        entropy = by_hand(logits, chosen)["router/entropy"].mean(1)
        (found,) = run.series("router/entropy", name)
        # Student's t of 7 degrees of freedom.
        error = 2.364624 * entropy.std().item() / math.sqrt(len(entropy))
        self.assertEqual(len(entropy), 8)
        self.assertAlmostEqual(found.lower[-1].item(), entropy.mean().item() - error, 5)

    def test_of_either_shape_as_computed_here(self) -> None:
        for flat in (False, True):
            with self.subTest(flat=flat):
                run, logits = self.watch(model_of(lambda: Mixture(flat)), "layers.0.router")
                names = [s.layer for s in run.series("router/entropy")]
                self.assertEqual(names, ["layers.0.router", "layers.1.router"])
                self.check(run, "layers.0.router", torch.cat(logits[2:4]).view(8, 5, 3))

    @unittest.skipIf(transformers is None, "transformers is not installed here")
    def test_families_of_transformers(self) -> None:
        for family, experts in FAMILIES:
            with self.subTest(family):
                torch.manual_seed(1)
                config = getattr(transformers, f"{family}Config")(**MOE, **{experts: 4})
                model = getattr(transformers, f"{family}ForCausalLM")(config)
                routers, notes = find_routers(model, find_layers(model), find_banks(model))
                self.assertEqual([router.chosen for router in routers], [2, 2])
                self.assertEqual(notes, [])
                name = routers[0].name
                with torch.no_grad():
                    model.get_submodule(name).weight.normal_()
                mask = torch.ones(4, 5, dtype=torch.long)
                run, logits = self.watch(Logits(model), f"model.{name}", mask)
                self.check(run, f"model.{name}", torch.cat(logits[2:4]).view(8, 5, 4))

    def test_padding_is_left_out(self) -> None:
        mask = torch.ones(4, 5, dtype=torch.long)
        mask[1, 3:] = 0
        run, logits = self.watch(model_of(), "layers.0.router", mask)
        self.assertEqual(tokens_of(run, "layers.0.router"), 2 * int(mask.sum()))
        of_tokens = by_hand(torch.cat(logits[2:4]).view(8, 5, 3), 2)
        kept = mask.bool().repeat(2, 1)
        for series in SERIES[:2]:
            (found,) = run.series(series, "layers.0.router")
            means = (of_tokens[series] * kept).sum(1) / kept.sum(1)
            self.assertAlmostEqual(found.value[-1].item(), means.mean().item(), 5, series)
        (close,) = run.series("router/close", "layers.0.router")
        self.assertAlmostEqual(close.value[-1].item(), of_tokens["router/close"][kept].mean().item(), 12)

    def test_of_accumulated_passes_the_first_two_are_seen(self) -> None:
        run, logits = self.watch(model_of(), "layers.0.router", parts=4)
        self.assertEqual(len(logits), 16)
        window = torch.stack([*logits[8:10], *logits[12:14]])
        self.assertEqual(tokens_of(run, "layers.0.router"), 4 * 5)
        (entropy,) = run.series("router/entropy", "layers.0.router")
        found = by_hand(window, 2)["router/entropy"].mean().item()
        self.assertAlmostEqual(entropy.value[-1].item(), found, 5)

    def test_recomputed_passes_count_once(self) -> None:
        for how in ("reentrant", "other"):
            with self.subTest(how=how):
                model = model_of()
                model.recompute = how
                run, logits = self.watch(model, "layers.0.router")
                self.check(run, "layers.0.router", torch.cat(logits[2:4]).view(8, 5, 3))

    def test_selective_checkpointing_trains_as_if_nobody_watched(self) -> None:
        def policy(context: Any, op: Any, *_: Any, **__: Any) -> Any:
            saved = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.view.default)
            return op in saved

        contexts = functools.partial(create_selective_checkpoint_contexts, policy)

        class Selective(Mixture):
            def forward(self, x: Tensor) -> Tensor:
                return checkpoint(super().forward, x, use_reentrant=False, context_fn=contexts)

        weights = []
        for watched in (False, True):
            model = model_of(Selective)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            scope = kappascope.attach(model, optimizer, self.run_dir(), **GIVEN) if watched else None
            for tokens in batches(4, rows=4):
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
                optimizer.zero_grad()
            weights.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
        scope.close()
        self.assertEqual(len(kappascope.read(scope.run).series("router/entropy")), 2)
        self.assertTrue(torch.equal(*weights))

    def test_a_number_that_is_not_known_leaves_the_entropy(self) -> None:
        model = model_of(lambda: Mixture(called="several"))
        run, _ = self.watch(model, "layers.0.router")
        self.assertEqual([len(run.series(name)) for name in SERIES], [2, 0, 0])

    @unittest.skipIf(transformers is None, "transformers is not installed here")
    def test_a_choice_that_is_not_of_the_logits_alone_is_said(self) -> None:
        config = transformers.DeepseekV3Config(
            **SMALL, intermediate_size=12, moe_intermediate_size=12, n_routed_experts=4, num_experts_per_tok=2,
            n_group=2, topk_group=1, first_k_dense_replace=0, q_lora_rank=8, kv_lora_rank=8,
            qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8,
        )  # fmt: skip
        torch.manual_seed(1)
        model = Logits(transformers.DeepseekV3ForCausalLM(config))
        run, _ = self.watch(model, "model.model.layers.0.mlp.gate")
        self.assertEqual(run.series("router/entropy"), [])
        notes = [message for _, kind, message in run.events if "e_score_correction_bias" in message]
        self.assertEqual(len(notes), 1, run.events)
        self.assertIn("model.model.layers.0.mlp.gate and 1 more", notes[0])

    def test_a_dense_model_has_none(self) -> None:
        torch.manual_seed(1)
        model = Model()
        model.head = nn.Linear(6, 20)
        model.layers = nn.ModuleList(Mlp(6, 8) for _ in range(20))  # as many as the head has tokens
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with kappascope.attach(model, optimizer, self.run_dir(), **GIVEN) as scope:
            for tokens in batches(4, rows=4):
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
        self.assertEqual(kappascope.read(scope.run).series("router/entropy"), [])

    def test_a_router_of_another_kind_stops_no_training(self) -> None:
        class Odd(nn.Linear):
            """Its weight is no number of the kind that is multiplied."""

            def forward(self, x: Tensor) -> Tensor:
                return x @ self.weight.real.T

        def make() -> Mixture:
            mixture = Mixture()
            mixture.router = Odd(6, 3, bias=False, dtype=torch.complex64)
            return mixture

        model = model_of(make)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        with kappascope.attach(model, optimizer, self.run_dir(), **GIVEN) as scope:
            for tokens in batches(4, rows=4):
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
        run = kappascope.read(scope.run)
        self.assertEqual(run.series("router/entropy"), [])
        self.assertTrue(any("router layers.0.router: " in message for _, _, message in run.events))

    def test_a_compiled_model_is_left_alone(self) -> None:
        # A probe that asks for nothing more of a compiled model.
        for part in ("", "layers.0"):
            wanted, _ = self.graphs_of(model_of(), {**GIVEN, "probes": ["attention"]}, part)
            graphs, run = self.graphs_of(model_of(), {**GIVEN, "probes": ["routers"]}, part)
            self.assertEqual(graphs, wanted)
            self.assertEqual(run.series("router/entropy"), [])


class Found(unittest.TestCase):
    def names(self, model: nn.Module) -> list[str]:
        return [r.name for r in find_routers(model, find_layers(model), find_banks(model))[0]]

    def test_a_second_candidate_leaves_it_open(self) -> None:
        model = model_of()
        self.assertEqual(self.names(model), ["layers.0.router", "layers.1.router"])
        model.layers[0].second = nn.Linear(6, 3)
        self.assertEqual(self.names(model), ["layers.1.router"])

    def test_a_shared_expert_as_wide_as_there_are_experts_is_no_router(self) -> None:
        model = model_of()
        model.layers[0].shared = Mlp(6, 3)
        self.assertEqual(self.names(model), ["layers.0.router", "layers.1.router"])

    def test_experts_that_differ_are_no_mixture(self) -> None:
        model = model_of()
        model.layers[0].experts[1] = Mlp(6, 9)
        self.assertEqual(self.names(model), ["layers.1.router"])

    def test_groups_and_corrections_choose_too(self) -> None:
        for name, value in (("n_group", 2), ("expert_bias", nn.Parameter(torch.zeros(3)))):
            model = model_of()
            setattr(model.layers[0], name, value)
            routers, notes = find_routers(model, find_layers(model), [])
            self.assertEqual([router.name for router in routers], ["layers.1.router"])
            self.assertEqual(len(notes), 1)
            self.assertIn(f"layers.0.router: {name} chooses", notes[0])


class Logits(nn.Module):
    """What a causal model gives of them, and no more."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        return self.model(input_ids=tokens, attention_mask=attention_mask).logits


if __name__ == "__main__":
    unittest.main()
