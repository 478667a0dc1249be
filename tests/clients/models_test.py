# SPDX-License-Identifier: Apache-2.0
"""Models of timm and litgpt, and adapters of PEFT: the layers are found, and κ is NumPy's."""

import sys
import tempfile
import unittest
from pathlib import Path

import kappascope
import litgpt
import peft
import timm
import torch
import transformers
from checked import checked
from litgpt.utils import chunked_cross_entropy
from torch import Tensor, nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).parent.parent / "python/watching"))
from families_test import reference  # noqa: E402

# timm's name -> its feed-forward layer -> what it is.
VISION = {
    "vit_tiny_patch16_224": {
        timm.layers.Mlp: "plain",
        timm.layers.SwiGLU: "gated",
        timm.layers.GluMlp: "gated",  # gate and up in one projection
    },
    "eva02_tiny_patch14_224": {None: "gated"},
}
SMALL = {"img_size": 28, "embed_dim": 16, "num_heads": 2, "depth": 2, "num_classes": 5, "mlp_ratio": 1}


class Models(unittest.TestCase):
    def measured(self, client: str, model: nn.Module, losses: list, names: list[str], kind: str) -> None:
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
        seen: dict[str, list[Tensor]] = {}
        alarms: list[kappascope.Alarm] = []
        computed = []
        with tempfile.TemporaryDirectory() as folder:
            run = Path(folder) / "run"
            scope = kappascope.attach(
                model, optimizer, run, every=2, window=2, budget=0, probes=["features"], on_alarm=alarms.append
            )
            for layer in scope.layers:
                layer.module.register_forward_pre_hook(
                    lambda _, x, kept=seen.setdefault(layer.name, []): kept.append(
                        x[0].detach().flatten(0, -2)
                    )
                )
            for loss_of in losses:
                loss = loss_of(model)
                loss.backward()
                computed.append(loss.item())
                optimizer.step()
                optimizer.zero_grad()
            scope.close()
            found = kappascope.read(run)
            with checked(client, "layers"):
                self.assertEqual([layer.name for layer in scope.layers], names)
                self.assertEqual({layer.kind for layer in scope.layers}, {kind})
                self.assertEqual([series.layer for series in found.series("kappa/sigma")], names)
            with checked(client, "loss"):
                stored = found.series("loss/train")[0].value
                torch.testing.assert_close(stored, torch.tensor(computed).double(), rtol=1e-6, atol=0)
            with checked(client, "no alarm"):
                self.assertEqual(alarms, [])
            with checked(client, "κ"):
                for name, inputs in seen.items():
                    x = torch.cat(inputs)
                    series = found.series("kappa/sigma", name)[0]
                    self.assertEqual(series.rows.tolist(), [len(x)])
                    self.assertLess(reference(x), 1e6)  # double says no more to eight digits
                    self.assertAlmostEqual(series.value[0].item() / reference(x), 1, delta=1e-8)

    def test_models_of_timm(self) -> None:
        for name, layers in VISION.items():
            for layer, kind in layers.items():
                with self.subTest(name, layer=layer):
                    torch.manual_seed(1)
                    settings = {"patch_size": 14, **SMALL, **({"mlp_layer": layer} if layer else {})}
                    model = timm.create_model(name, **settings).double().train()
                    for parameter in model.parameters():  # timm's gates start as constants
                        if parameter.dim() == 2:
                            nn.init.normal_(parameter, std=0.3)
                    batches = [torch.randn(64, 3, 28, 28).double() for _ in range(2)]
                    losses = [
                        lambda m, x=x: functional.cross_entropy(m(x), torch.arange(len(x)) % 5)
                        for x in batches
                    ]
                    of = f", {layer.__name__}" if layer else ""
                    names = [f"blocks.{i}.mlp.fc2" for i in range(2)]
                    self.measured(f"timm: {name}{of}", model, losses, names, kind)

    def test_adapters_around_and_beside_the_down_projection(self) -> None:
        sizes = {"vocab_size": 40, "hidden_size": 12, "intermediate_size": 20}
        heads = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2}
        for adapted in (["down_proj"], ["q_proj", "v_proj"]):
            with self.subTest(adapted):
                torch.manual_seed(1)
                base = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, **heads))
                config = peft.LoraConfig(r=2, target_modules=adapted, lora_dropout=0.1)
                model = peft.get_peft_model(base, config).double().train()
                tokens = [torch.randint(40, (16, 12)) for _ in range(2)]
                losses = [lambda m, t=t: m(input_ids=t, labels=t).loss for t in tokens]
                names = [f"base_model.model.model.layers.{i}.mlp.down_proj" for i in range(2)]
                self.measured(f"PEFT: LoRA of {', '.join(adapted)}", model, losses, names, "gated")

    def test_models_of_litgpt(self) -> None:
        """With the loss of its training loops."""
        for layer, kind in {"LLaMAMLP": "gated", "GemmaMLP": "gated", "GptNeoxMLP": "plain"}.items():
            with self.subTest(layer):
                torch.manual_seed(1)
                sizes = {"n_layer": 2, "n_head": 2, "n_embd": 12, "intermediate_size": 20, "block_size": 12}
                config = litgpt.Config(
                    **sizes, vocab_size=40, padded_vocab_size=40, mlp_class_name=layer, norm_class_name="RMSNorm", bias=False
                )
                model = litgpt.GPT(config).double().train()
                for parameter in model.parameters():
                    if parameter.dim() == 2:
                        nn.init.normal_(parameter, std=0.3)
                tokens = [torch.randint(40, (16, 12)) for _ in range(2)]
                losses = [lambda m, t=t: chunked_cross_entropy(m(t)[..., :-1, :], t[..., 1:]) for t in tokens]
                names = [f"transformer.h.{i}.mlp.proj" for i in range(2)]
                self.measured(f"litgpt: {layer}", model, losses, names, kind)


if __name__ == "__main__":
    unittest.main()
