# SPDX-License-Identifier: Apache-2.0
"""Attention in a watched loop: largest logits and entropies, against what the test computes itself."""

import math
import unittest
from typing import Any

import kappascope
import torch
from kappascope._watch.attention import _attention_layers
from torch import Tensor, nn
from torch.nn import functional
from training import Attached, Mlp, batches, loss_of
from transformers import LlamaConfig, LlamaForCausalLM

WIDTH, HEADS = 6, 2


class SelfAttention(nn.Module):
    """Causal; `fused` or written out."""

    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.fused = fused
        self.logits: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            m(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for m in (self.q, self.k, self.v)
        )
        logits = q @ k.mT / math.sqrt(WIDTH // HEADS)
        forbidden = torch.ones(logits.shape[-2:], dtype=torch.bool).triu(1)
        logits = logits.masked_fill(forbidden, -torch.inf)
        self.logits.append(logits.detach())
        if self.fused:
            out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            out = functional.softmax(logits, dim=-1) @ v
        return out.transpose(1, 2).flatten(2)


class Model(nn.Module):
    def __init__(self, fused: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, WIDTH)
        self.attention = SelfAttention(fused)
        self.mlp = Mlp(WIDTH, 8)
        self.head = nn.Linear(WIDTH, 20)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        x = x + self.attention(x)
        return self.head(x + self.mlp(x))


class AttentionBlock(nn.Module):
    """Called attention too, of which the first child is."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = SelfAttention(True)
        self.norm = nn.LayerNorm(WIDTH)


def entropies(logits: Tensor) -> Tensor:
    """[sequences, heads] of [sequences, heads, queries, keys]; query 0 sees one key."""
    p = logits.softmax(-1)[:, :, 1:]
    keys = torch.arange(2, logits.shape[-1] + 1)
    return (-torch.xlogy(p, p).sum(-1) / keys.log()).mean(-1)


class Seen(Attached):
    def attach(self, model: nn.Module, **options: Any) -> tuple[torch.optim.Optimizer, Any]:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        given: dict[str, Any] = {"every": 3, "window": 2, "budget": 0, "probes": ["attention"]}
        return optimizer, kappascope.attach(model, optimizer, self.run_dir(), **given, **options)

    def test_of_attention_within_attention_the_innermost_is_watched(self) -> None:
        model = nn.Sequential(AttentionBlock())
        self.assertEqual([name for name, _ in _attention_layers(model)], ["0.inner"])

    def test_logits_and_entropies_of_either_kind(self) -> None:
        for fused in (True, False):
            with self.subTest(fused=fused):
                torch.manual_seed(1)
                model = Model(fused)
                hooks = len(model._forward_pre_hooks), len(model.attention._forward_pre_hooks)
                optimizer, scope = self.attach(model, existing="new-name")
                for tokens in batches(4, rows=4):
                    loss_of(model(tokens), tokens).backward()
                    optimizer.step()
                    optimizer.zero_grad()
                after = len(model._forward_pre_hooks), len(model.attention._forward_pre_hooks)
                run = kappascope.read(scope.run)
                scope.close()
                window = torch.cat(model.attention.logits[2:4])
                (largest,) = run.series("attention/largest_logit", "attention")
                self.assertEqual(largest.step.tolist(), [1, 3])
                self.assertAlmostEqual(largest.value[-1].item(), window.max().item(), 5)
                found = entropies(window)
                (entropy,) = run.series("attention/entropy", "attention")
                self.assertAlmostEqual(entropy.value[-1].item(), found.mean().item(), 5)
                self.assertLess(entropy.lower[-1].item(), found.mean().item())
                (lowest,) = run.series("attention/lowest_entropy", "attention")
                self.assertAlmostEqual(lowest.value[-1].item(), found.mean(0).min().item(), 5)
                # Nothing is left of the window but the scope's own hooks.
                self.assertEqual(after[1], hooks[1])

    def test_a_pass_without_a_backward_pass_is_none_of_training(self) -> None:
        torch.manual_seed(1)
        model = Model(True)
        optimizer, scope = self.attach(model)
        for tokens in batches(2, rows=4):
            with torch.no_grad():
                model.attention.q.weight.mul_(100)
            model(tokens)
            with torch.no_grad():
                model(tokens)
                model.attention.q.weight.div_(100)
            loss_of(model(tokens), tokens).backward()
            optimizer.step()
        run = kappascope.read(scope.run)
        scope.close()
        (largest,) = run.series("attention/largest_logit", "attention")
        window = torch.cat(model.attention.logits[2::3])
        self.assertAlmostEqual(largest.value[-1].item(), window.max().item(), 5)

    def test_llama_is_the_same_fused_and_written_out(self) -> None:
        found = []
        for kind in ("sdpa", "eager"):
            torch.manual_seed(1)
            sizes = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, vocab_size=20)
            config = LlamaConfig(
                **sizes,  # type: ignore[arg-type]
                num_attention_heads=4,
                num_key_value_heads=2,
                attn_implementation=kind,
            )
            model = LlamaForCausalLM(config)
            optimizer, scope = self.attach(model, existing="new-name")
            for tokens in batches(2):
                mask = torch.ones_like(tokens)
                mask[0, 3:] = 0  # padding
                model(input_ids=tokens, attention_mask=mask, labels=tokens).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            run = kappascope.read(scope.run)
            scope.close()
            layers = [s.layer for s in run.series("attention/entropy")]
            self.assertEqual(layers, [f"model.layers.{i}.self_attn" for i in range(2)])
            names = ("largest_logit", "entropy", "lowest_entropy")
            numbers = [[s.value[-1].item() for s in run.series(f"attention/{n}")] for n in names]
            found.append(torch.tensor(numbers))
        torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)
        self.assertTrue((found[0][1] > found[0][2]).all())

    def test_attention_of_another_shape_stops_no_training(self) -> None:
        class Odd(Model):
            def forward(self, tokens: Tensor) -> Tensor:
                x = self.embedding(tokens)
                q = x.unsqueeze(1)  # [b, 1, l, d] with keys of two heads: no multiple
                k = x.unsqueeze(1).expand(-1, 2, -1, -1)
                x = x + functional.scaled_dot_product_attention(q, k, k).mean(1)
                return self.head(x + self.mlp(x))

        model = Odd(True)
        optimizer, scope = self.attach(model)
        for tokens in batches(2):
            loss_of(model(tokens), tokens).backward()
            optimizer.step()
        scope.close()
        run = kappascope.read(scope.run)
        self.assertEqual(run.series("attention/entropy"), [])
        self.assertTrue(any("do not fit" in message for _, _, message in run.events))


if __name__ == "__main__":
    unittest.main()
