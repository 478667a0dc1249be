# SPDX-License-Identifier: Apache-2.0
"""Models of Hugging Face's transformers, random and tiny: every down-projection is found, and its
condition number is that of what NumPy makes of the inputs."""

import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kappascope
import numpy as np
import torch
from kappascope._watch.layers import find_layers
from torch import Tensor, nn

try:
    import transformers
except ImportError:
    transformers = None  # type: ignore[assignment]

torch.set_num_threads(1)

SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 50, "num_attention_heads": 2}
GATED = {**SMALL, "intermediate_size": 12, "num_key_value_heads": 2, "head_dim": 8}
MOE = {**GATED, "num_experts_per_tok": 2, "moe_intermediate_size": 12}
MOE_QWEN = {**MOE, "num_experts": 4, "shared_expert_intermediate_size": 12}
T5 = {"d_model": 16, "d_ff": 12, "num_layers": 2, "num_heads": 2, "d_kv": 8}
T5 = {**T5, "vocab_size": 50, "decoder_start_token_id": 0}
T5_GATED = {**T5, "feed_forward_proj": "gated-gelu"}
OPT = {**SMALL, "ffn_dim": 12, "word_embed_proj_dim": 16}
GPT2 = {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 12, "vocab_size": 50}
VIT = {**SMALL, "intermediate_size": 12, "image_size": 8, "patch_size": 2, "num_channels": 1}
DISTIL = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 12, "vocab_size": 50}

# Model, configuration, its settings, how many down-projections, of which kind.
FAMILIES: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("LlamaForCausalLM", "LlamaConfig", GATED, 2, "gated"),
    ("Qwen2ForCausalLM", "Qwen2Config", GATED, 2, "gated"),
    ("Qwen3ForCausalLM", "Qwen3Config", GATED, 2, "gated"),
    ("GemmaForCausalLM", "GemmaConfig", GATED, 2, "gated"),
    ("Gemma2ForCausalLM", "Gemma2Config", GATED, 2, "gated"),
    ("Gemma3ForCausalLM", "Gemma3TextConfig", GATED, 2, "gated"),
    ("MistralForCausalLM", "MistralConfig", GATED, 2, "gated"),
    ("Phi3ForCausalLM", "Phi3Config", {**GATED, "pad_token_id": 0}, 2, "gated"),
    ("T5ForConditionalGeneration", "T5Config", T5_GATED, 4, "gated"),
    ("T5ForConditionalGeneration", "T5Config", T5, 4, "plain"),
    ("MixtralForCausalLM", "MixtralConfig", {**MOE, "num_local_experts": 4}, 8, "experts"),
    ("Qwen2MoeForCausalLM", "Qwen2MoeConfig", MOE_QWEN, 10, "experts"),
    ("Qwen3MoeForCausalLM", "Qwen3MoeConfig", MOE_QWEN, 8, "experts"),
    ("BertForMaskedLM", "BertConfig", {**SMALL, "intermediate_size": 12}, 2, "plain"),
    ("GPT2LMHeadModel", "GPT2Config", GPT2, 2, "plain"),
    ("OPTForCausalLM", "OPTConfig", OPT, 2, "plain"),
    ("GPTNeoXForCausalLM", "GPTNeoXConfig", {**SMALL, "intermediate_size": 12}, 2, "plain"),
    ("DistilBertForMaskedLM", "DistilBertConfig", DISTIL, 2, "plain"),
    ("ViTForImageClassification", "ViTConfig", VIT, 2, "plain"),
]


def inputs_of(name: str) -> Iterator[dict[str, Tensor]]:
    generator = torch.Generator().manual_seed(4)
    for _ in range(2):
        if name.startswith("ViT"):
            yield {
                "pixel_values": torch.randn(16, 1, 8, 8, generator=generator),
                "labels": torch.randint(2, (16,), generator=generator),
            }
        else:
            tokens = torch.randint(1, 50, (16, 12), generator=generator)
            yield {"input_ids": tokens, "labels": tokens}


def reference(x: Tensor) -> float:
    ends = np.linalg.eigvalsh(np.cov(x.double().numpy(), rowvar=False, ddof=0))
    return float(ends[-1] / ends[0])


def tolerance(x: Tensor) -> float:
    """Relative, of κ from rows of float or less: sums of √n times the rounding of float
    (tensor/moments.h), beside the smallest eigenvalue."""
    covariance = np.cov(x.double().numpy(), rowvar=False, ddof=0)
    smallest = np.linalg.eigvalsh(covariance)[0]
    return float(np.sqrt(x.shape[0]) * 2**-24 * np.trace(covariance) / smallest)


@unittest.skipIf(transformers is None, "transformers is not installed here")
class Families(unittest.TestCase):
    def test_every_family_is_found_and_measured(self) -> None:
        for family, config, settings, count, kind in FAMILIES:
            with self.subTest(family, kind=kind), tempfile.TemporaryDirectory() as folder:
                torch.manual_seed(1)
                model = getattr(transformers, family)(getattr(transformers, config)(**settings))
                model.train()
                self.check(family, model, count, kind, Path(folder) / "run")

    def check(self, family: str, model: nn.Module, count: int, kind: str, run: Path) -> None:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        scope = kappascope.attach(model, optimizer, run, every=2, window=2, budget=0)
        told: list[float] = []
        entered: dict[str, list[Tensor]] = {}
        for layer in scope.layers:
            kept = entered.setdefault(layer.name, [])
            layer.module.register_forward_pre_hook(
                lambda _, inputs, kept=kept: kept.append(inputs[0].detach().flatten(0, -2))
            )
        for batch in inputs_of(family):
            loss = model(**batch).loss
            loss.backward()
            told.append(loss.item())
            optimizer.step()
            optimizer.zero_grad()
        scope.close()
        found = kappascope.read(run)
        losses = found.series("loss/train")[0].value
        self.assertTrue(torch.allclose(losses, torch.tensor(told, dtype=torch.float64)))
        layers = [series.layer for series in found.series("kappa/sigma")]
        self.assertEqual(len(layers), count, scope.describe())
        if kind != "experts":
            self.assertEqual({layer.kind for layer in scope.layers}, {kind})
        self.assertNotIn("note", scope.describe())
        for name, parts in entered.items():
            series = found.series("kappa/sigma", name)[0]
            x = torch.cat(parts)
            self.assertEqual(series.rows[0].item(), x.shape[0])
            want = reference(x)
            if want < 1e7:  # float32 features say no more
                self.assertAlmostEqual(series.value[0].item() / want, 1, delta=1e-4, msg=name)
        for series in found.series("gradvar/measured"):
            self.assertTrue(series.value.isfinite().all() and (series.value > 0).all())

    def test_a_gate_in_the_same_projection_is_seen_by_its_width(self) -> None:
        for width, kind in ((16, "gated"), (8, "plain")):
            model = nn.ModuleDict({"fc1": nn.Linear(4, width), "fc2": nn.Linear(8, 4)})
            self.assertEqual([layer.kind for layer in find_layers(model)], [kind])

    def test_tokens_without_a_label_are_no_terms_of_the_loss(self) -> None:
        """The mean over the labelled tokens and their sum give the same gradients of a token."""
        found = []
        for summed in (False, True):
            torch.manual_seed(1)
            model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**GATED))
            tokens = next(inputs_of("Llama"))["input_ids"]
            labels = tokens.clone()
            labels[:, :5] = -100
            with tempfile.TemporaryDirectory() as folder:
                optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
                options = {"every": 1, "window": 1, "budget": 0, "sum_reduced": summed}
                scope = kappascope.attach(model, optimizer, Path(folder) / "run", **options)
                out = model(input_ids=tokens, labels=labels)
                count = int((labels[:, 1:] != -100).sum())
                (out.loss * count if summed else out.loss).backward()
                optimizer.step()
                scope.close()
                series = kappascope.read(Path(folder) / "run").series("gradvar/measured")
                found.append([one.value[0].item() for one in series])
        for mean, total in zip(*found, strict=True):
            self.assertAlmostEqual(mean / total, 1, delta=1e-4)

    def test_experts_are_told_apart_by_either_implementation(self) -> None:
        runs = {}
        for implementation in ("eager", "grouped_mm"):
            torch.manual_seed(1)
            settings = {**MOE, "num_local_experts": 4}
            config = transformers.MixtralConfig(**settings)
            config._experts_implementation = implementation
            model = transformers.MixtralForCausalLM(config)
            with tempfile.TemporaryDirectory() as folder:
                optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
                run = Path(folder) / "run"
                scope = kappascope.attach(model, optimizer, run, every=1, window=1, budget=0)
                batch = next(inputs_of("Mixtral"))
                loss = model(**batch).loss
                loss.backward()
                scope.loss(loss)
                optimizer.step()
                scope.close()
                read = kappascope.read(run)
                runs[implementation] = {
                    (series.name, series.layer): series.value[0].item()
                    for name in ("kappa/sigma", "gradvar/measured")
                    for series in read.series(name)
                }
                first = [s for s in read.series("kappa/sigma") if ".0.mlp" in s.layer]
                rows = sum(int(series.rows[0]) for series in first)
                self.assertEqual(rows, 2 * batch["input_ids"].numel())
        self.assertEqual(set(runs["eager"]), set(runs["grouped_mm"]))
        self.assertEqual(len(runs["eager"]), 16)
        for key, value in runs["eager"].items():
            self.assertAlmostEqual(runs["grouped_mm"][key] / value, 1, delta=1e-3, msg=key)


if __name__ == "__main__":
    unittest.main()
