# SPDX-License-Identifier: Apache-2.0
"""Down-projections are found by how they are built, measured however they are multiplied by, and what
is found and not measured is said."""

import contextlib
import io
import unittest
from pathlib import Path
from typing import Any

import kappascope
import torch
from families_test import MOE, SMALL, inputs_of, reference, tolerance, transformers
from kappascope._watch.experts import find_banks
from kappascope._watch.layers import find_layers
from torch import Tensor, nn
from torch.nn import functional
from training import Attached, batches, undropped
from training import step as update

D, H, TOKENS = 6, 10, 40


class Odd(nn.Module):
    """A gated layer of other names and forms; keeps what enters the down-projection."""

    where = "block.gamma"

    def __init__(self) -> None:
        super().__init__()
        self.entered: list[Tensor] = []
        self.alpha = nn.Linear(D, H)
        self.beta = nn.Linear(D, H)
        self.gamma = nn.Linear(H, D)

    def features(self, x: Tensor) -> Tensor:
        return functional.silu(self.alpha(x)) * self.beta(x)

    def down(self, phi: Tensor) -> Tensor:
        out: Tensor = self.gamma(phi)
        return out

    def forward(self, x: Tensor) -> Tensor:
        phi = self.features(x)
        if torch.is_grad_enabled():
            self.entered.append(phi.detach().flatten(0, -2))
        return self.down(phi)


class Named(nn.Module):
    """A feed-forward layer by the names of timm; `made`: outputs of the first map."""

    def __init__(self, made: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(D, made)
        self.fc2 = nn.Linear(H, D)


class Linear(Odd):
    def down(self, phi: Tensor) -> Tensor:
        return functional.linear(phi, self.gamma.weight, self.gamma.bias)


class MatMul(Odd):
    def down(self, phi: Tensor) -> Tensor:
        return torch.matmul(phi, self.gamma.weight.t()) * 2


class At(Odd):
    def down(self, phi: Tensor) -> Tensor:
        out = phi @ self.gamma.weight.T
        return out.add_(self.gamma.bias)


class AddMm(Odd):
    def down(self, phi: Tensor) -> Tensor:
        flat = phi.flatten(0, -2)
        return torch.addmm(self.gamma.bias, flat, self.gamma.weight.t()).view(*phi.shape[:-1], D)


class FromTheLeft(Odd):
    def down(self, phi: Tensor) -> Tensor:
        return (self.gamma.weight @ phi.flatten(0, -2).t()).t().view(*phi.shape[:-1], D)


class Parameter(Odd):
    """Multiplied from the left or the right, beside linear layers."""

    where = "block.w"

    def __init__(self) -> None:
        super().__init__()
        del self.gamma
        self.w = nn.Parameter(torch.randn(D, H) / 3)

    def down(self, phi: Tensor) -> Tensor:
        return functional.linear(phi, self.w)


class Turned(Parameter):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(H, D) / 3)

    def down(self, phi: Tensor) -> Tensor:
        return phi @ self.w


class AllParameters(Turned):
    def __init__(self) -> None:
        super().__init__()
        del self.alpha, self.beta
        self.u = nn.Parameter(torch.randn(D, 2 * H) / 3)

    def features(self, x: Tensor) -> Tensor:
        a, b = (x @ self.u).chunk(2, dim=-1)
        return functional.silu(a) * b


class Packed(Odd):
    def __init__(self) -> None:
        super().__init__()
        del self.beta
        self.alpha = nn.Linear(D, 2 * H)

    def features(self, x: Tensor) -> Tensor:
        a, b = self.alpha(x).chunk(2, dim=-1)
        return functional.silu(a) * b


class Gate(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(D, H), nn.Linear(D, H)

    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(self.one(x)) * self.two(x)


class NestedFFN(Odd):
    def __init__(self) -> None:
        super().__init__()
        del self.alpha, self.beta
        self.inner = Gate()

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        return out


LINEAR = (Odd, Linear, MatMul, At, AddMm, FromTheLeft, Packed, NestedFFN)
FORMS = (*LINEAR, Parameter, Turned, AllParameters)


class Tokens(nn.Module):
    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, D)
        self.block = block
        self.head = nn.Linear(D, 20)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        out: Tensor = self.head(x + self.block(x))
        return out


class Experts(nn.Module):
    """A bank; each token goes to one of three experts, and none to the fourth."""

    def __init__(self, turned: bool) -> None:
        super().__init__()
        self.turned = turned
        self.entered: dict[int, list[Tensor]] = {}
        up, down = (4, 2 * H, D), (4, D, H)
        self.first = nn.Parameter(torch.randn(up if not turned else (4, D, 2 * H)) / 3)
        self.second = nn.Parameter(torch.randn(down if not turned else (4, H, D)) / 3)

    def weights(self) -> tuple[Tensor, Tensor]:
        pair = (self.first, self.second)
        return pair if self.turned else (pair[0].mT, pair[1].mT)

    def gated(self, expert: int, x: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=-1)
        return functional.silu(a) * b

    def keep(self, expert: int, phi: Tensor) -> None:
        self.entered.setdefault(expert, []).append(phi.detach())

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(0, -2)
        route = torch.arange(len(flat)) % 3
        return self.routed(flat, route).view_as(x)


class Looped(Experts):
    def routed(self, flat: Tensor, route: Tensor) -> Tensor:
        up, down = self.weights()
        out = torch.zeros_like(flat)
        for expert in range(3):
            rows = (route == expert).nonzero()[:, 0]
            phi = self.gated(expert, flat[rows] @ up[expert])
            self.keep(expert, phi)
            out = out.index_add(0, rows, phi @ down[expert])
        return out


class Together(Experts):
    """As Llama 4: every expert is given all tokens, those of others as zeros."""

    def routed(self, flat: Tensor, route: Tensor) -> Tensor:
        up, down = self.weights()
        mine = (route == torch.arange(4)[:, None])[..., None]
        phi = self.gated(0, torch.bmm(flat * mine, up))
        for expert in range(3):
            self.keep(expert, phi[expert][route == expert])
        return torch.bmm(phi, down).sum(0)


class Copies(Experts):
    """As transformers' batched_mm: a copy of the weights for each row."""

    def routed(self, flat: Tensor, route: Tensor) -> Tensor:
        up, _ = self.weights()
        phi = self.gated(0, (flat[:, None] @ up[route])[:, 0])
        for expert in range(3):
            self.keep(expert, phi[route == expert])
        if self.turned:
            return torch.bmm(phi[:, None], self.second[route]).squeeze(1)
        return torch.bmm(self.second[route], phi[..., None]).squeeze(-1)


class Einsum(Experts):
    """A product that is not understood."""

    def routed(self, flat: Tensor, route: Tensor) -> Tensor:
        up, down = self.weights()
        phi = self.gated(0, torch.einsum("nd,edh->enh", flat, up))
        return torch.einsum("enh,ehd->nd", phi, down)


class Found(Attached):
    def twice(self, model: nn.Module, **options: Any) -> tuple[kappascope.Run, str, str]:
        """Two updates in one window: the run, what is on stderr, and the description."""
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        name = self.run_dir(f"run{len(list(Path(self.folder.name).iterdir()))}")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            given = {"every": 2, "window": 2, "budget": 0, **options}
            scope = kappascope.attach(model, optimizer, name, **given)
            for tokens in batches(2):
                update(model, optimizer, scope, tokens)
                optimizer.zero_grad()
            scope.close()
        return kappascope.read(name), said.getvalue(), scope.describe()

    def check(self, run: kappascope.Run, layer: str, entered: list[Tensor]) -> None:
        (series,) = run.series("kappa/sigma", layer)
        x = torch.cat(entered)
        self.assertEqual(series.rows[0].item(), x.shape[0], layer)
        ratio = series.value[0].item() / reference(x)
        self.assertAlmostEqual(ratio, 1, delta=max(1e-4, tolerance(x)), msg=layer)

    def test_a_layer_of_any_name_and_form(self) -> None:
        variance = {}
        for form in FORMS:
            with self.subTest(form.__name__):
                torch.manual_seed(2)
                block = form()
                run, said, described = self.twice(Tokens(block))
                self.check(run, form.where, block.entered)
                self.assertEqual((said, "note" in described), ("", False))
                (series,) = run.series("gradvar/measured", form.where)
                variance[form.__name__] = series.value[0].item()
        for name in ("Linear", "At", "AddMm"):  # the same function as the module's
            self.assertAlmostEqual(variance[name] / variance["Odd"], 1, delta=1e-4, msg=name)

    def test_one_map_to_twice_the_features_is_a_gate(self) -> None:
        kinds = [find_layers(nn.ModuleList([Named(made)]))[0].kind for made in (2 * H, H, 2 * H + 1, H // 2)]
        self.assertEqual(kinds, ["gated", "plain", "plain", "plain"])

    def test_experts_in_any_form(self) -> None:
        for form in (Looped, Together, Copies):
            for turned in (False, True):
                with self.subTest(form.__name__, turned=turned):
                    torch.manual_seed(2)
                    bank = form(turned)
                    run, said, described = self.twice(Tokens(bank))
                    for expert in range(3):
                        self.check(run, f"block.second.{expert}", bank.entered[expert])
                        self.assertTrue(run.series("gradvar/measured", f"block.second.{expert}"))
                    why = "block.second.3 was found and not measured: no row was given to it"
                    self.assertIn(f"kappascope: {why}\n", said)
                    self.assertIn(f"note: {why}", described)
                    self.assertIn((1, "note", why), run.events)

    def test_what_is_not_measured_is_said_with_the_reason(self) -> None:
        class Unused(Odd):
            def down(self, phi: Tensor) -> Tensor:
                return phi[..., :D]

        class Detached(Odd):
            def down(self, phi: Tensor) -> Tensor:
                return phi[..., :D] + self.gamma(phi).detach()

        class Pair(nn.Linear):
            def forward(self, x: Tensor) -> Any:  # type: ignore[override]
                return super().forward(x), None

        class Tupled(Odd):
            def __init__(self) -> None:
                super().__init__()
                self.gamma = Pair(H, D)

            def down(self, phi: Tensor) -> Tensor:
                return self.gamma(phi)[0]  # type: ignore[no-any-return]

        class Graphless(Odd):
            def down(self, phi: Tensor) -> Tensor:
                with torch.no_grad():
                    out: Tensor = self.gamma(phi)
                return phi[..., :D] + out

        for block, layer, reason in (
            (Unused(), "block.gamma was", "no pass of training called its module"),
            (Graphless(), "block.gamma was", "no pass of training called its module"),
            (Detached(), "block.gamma was", "no backward pass came to its output"),
            (Tupled(), "block.gamma was", "it does not take and give one tensor each"),
            (Einsum(False), "all 4 experts of block.second were", "by its weight by one of"),
        ):
            with self.subTest(type(block).__name__):
                run, said, _ = self.twice(nn.Sequential(Tokens(block)))
                lines = [line for line in said.splitlines() if "found and" in line]
                self.assertEqual(len(lines), 1, said)
                self.assertIn(f"kappascope: {layer}", lines[0].replace("0.block", "block"))
                self.assertIn(reason, lines[0])
                self.assertEqual(sum("found and" in text for _, _, text in run.events), 1)

    def test_what_mixes_tokens_is_no_feed_forward_layer(self) -> None:
        def holder(**children: nn.Module) -> nn.Module:
            made = nn.Module()
            for name, child in children.items():
                made.add_module(name, child)
            return nn.ModuleDict({"block": made, "embedding": nn.Embedding(3, 6)})

        line = nn.Linear
        for model in (
            holder(q_proj=line(6, 8), k_proj=line(6, 4), out=line(8, 6)),
            holder(to_q=line(6, 8), to_out=line(8, 6)),
            holder(qkv=line(6, 16), proj=line(8, 6)),
            holder(in_proj=line(6, 16), conv1d=nn.Conv1d(8, 8, 1), out_proj=line(8, 6)),
            holder(project_out=line(6, 4), project_in=line(4, 6), layers=nn.Sequential(line(3, 5))),
            holder(head=line(6, 50), dense=line(6, 6)),
        ):
            self.assertEqual((find_layers(model), find_banks(model)), ([], []), model)


EXPERTS = ("eager", "grouped_mm", "batched_mm")


@unittest.skipIf(transformers is None, "transformers is not installed here")
class Families(Attached):
    # Model, configuration, its settings, down-projections.
    MORE: tuple[tuple[str, str, dict[str, Any], int, tuple[str, ...]], ...] = (
        (
            "ModernBertDecoderForCausalLM",
            "ModernBertDecoderConfig",
            {**SMALL, "intermediate_size": 12, "pad_token_id": 0},
            2,
            ("",),
        ),
        (
            "GPTJForCausalLM",
            "GPTJConfig",
            {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 12, "vocab_size": 50, "rotary_dim": 4},
            2,
            ("",),
        ),
        ("GptOssForCausalLM", "GptOssConfig", {**MOE, "num_local_experts": 4}, 8, EXPERTS),
        (
            "Llama4ForCausalLM",
            "Llama4TextConfig",
            {**MOE, "num_local_experts": 4, "intermediate_size_mlp": 12, "pad_token_id": 0},
            10,
            ("",),
        ),
        ("GraniteMoeForCausalLM", "GraniteMoeConfig", {**MOE, "num_local_experts": 4}, 8, EXPERTS),
        (
            "JetMoeForCausalLM",
            "JetMoeConfig",
            {**MOE, "num_local_experts": 4, "kv_channels": 8},
            8,
            ("",),
        ),
        ("OlmoeForCausalLM", "OlmoeConfig", {**MOE, "num_experts": 4}, 8, EXPERTS),
    )

    def test_families_are_found_and_measured_by_every_implementation(self) -> None:
        for family, config, settings, count, implementations in self.MORE:
            numbers: dict[str, dict[str, list[float]]] = {}
            for implementation in implementations:
                with self.subTest(family, experts=implementation):
                    torch.manual_seed(1)
                    made = getattr(transformers, config)(**settings)
                    if implementation:
                        made._experts_implementation = implementation
                    model = undropped(getattr(transformers, family)(made).train())
                    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
                    where = self.run_dir(family + implementation)
                    options = {"every": 1, "window": 1, "budget": 0}
                    scope = kappascope.attach(model, optimizer, where, **options)
                    model(**next(inputs_of(family))).loss.backward()
                    optimizer.step()
                    scope.close()
                    run = kappascope.read(where)
                    series = run.series("kappa/sigma")
                    self.assertEqual(len(series), count, scope.describe())
                    self.assertNotIn("note", scope.describe())
                    self.assertEqual(len(run.series("gradvar/measured")), count)
                    numbers[implementation] = {
                        x.layer: [x.rows[0].item(), x.value[0].item()] for x in series
                    }
            for implementation, found in numbers.items():
                for layer, (rows, value) in numbers[implementations[0]].items():
                    self.assertEqual(found[layer][0], rows, (family, implementation, layer))
                    if value < 1e5:
                        self.assertAlmostEqual(found[layer][1] / value, 1, delta=1e-2, msg=layer)


if __name__ == "__main__":
    unittest.main()
