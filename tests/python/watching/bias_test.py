# SPDX-License-Identifier: Apache-2.0
"""A post-gating bias is added, trained, watched and folded, and the model computes what it must."""

import unittest

import kappascope
import torch
from torch import nn
from training import Attached, Model, batches, loss_of


class Bias(Attached):
    def test_a_new_bias_changes_nothing_and_a_folded_one_neither(self) -> None:
        tokens = batches(1)[0]
        model = Model().eval()
        before = model(tokens)
        names = kappascope.add_post_gating_bias(model)
        self.assertEqual(names, [f"layers.{i}.down_proj.post_gating_bias" for i in range(2)])
        self.assertTrue(set(names) <= set(dict(model.named_parameters())))
        self.assertTrue(torch.equal(model(tokens), before))
        with torch.no_grad():
            for name in names:
                model.get_parameter(name).normal_()
        changed = model(tokens)
        self.assertGreater((changed - before).abs().max().item(), 0.1)
        self.assertEqual(
            kappascope.fold_post_gating_bias(model), ["layers.0.down_proj", "layers.1.down_proj"]
        )
        self.assertTrue(torch.allclose(model(tokens), changed, atol=1e-5))
        self.assertFalse(set(names) & set(dict(model.named_parameters())))
        self.assertIs(type(model.layers[0].down_proj), nn.Linear)
        with self.assertRaisesRegex(kappascope.Error, "no down-projection has a post-gating bias"):
            kappascope.fold_post_gating_bias(model)

    def test_folding_adds_to_the_bias_that_is_there(self) -> None:
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        kappascope.add_post_gating_bias(model, layers="2")
        with torch.no_grad():
            model[2].post_gating_bias.normal_()
        x = torch.randn(5, 3)
        want = model(x)
        kappascope.fold_post_gating_bias(model, layers="2")
        self.assertTrue(torch.allclose(model(x), want, atol=1e-6))

    def test_what_cannot_have_one_is_named_and_left_alone(self) -> None:
        model = Model()
        kappascope.add_post_gating_bias(model, layers="layers.1.down_proj")
        with self.assertRaisesRegex(kappascope.Error, "layers.1.down_proj has a post-gating bias"):
            kappascope.add_post_gating_bias(model)
        self.assertIs(type(model.layers[0].down_proj), nn.Linear)

    def test_the_control_is_a_bias_on_the_output(self) -> None:
        model = Model().eval()
        tokens = batches(1)[0]
        before = model(tokens)
        self.assertEqual(
            kappascope.add_output_bias(model), ["layers.0.down_proj.bias", "layers.1.down_proj.bias"]
        )
        self.assertTrue(torch.equal(model(tokens), before))
        self.assertEqual(kappascope.add_output_bias(model), [])

    def test_centred_features_have_the_running_mean_taken_away(self) -> None:
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.assertEqual(kappascope.add_centering(model, layers="2", rate=0.25), ["2"])
        names = dict(model.named_parameters())
        self.assertIn("2.bias", names)
        self.assertNotIn("2.post_gating_bias", names)
        first, second = torch.randn(2, 5, 7, 3)
        features = [model[:2](x).detach() for x in (first, second)]
        means = [f.flatten(0, 1).mean(0) for f in features]
        down = model[2]
        want = [(f - means[0]) @ down.weight.T for f in features]
        found = [model(x) for x in (first, second)]
        for a, b in zip(found, want):
            self.assertTrue(torch.allclose(a, b, atol=1e-6))
        running = means[0] + 0.25 * (means[1] - means[0])
        self.assertTrue(torch.allclose(down.post_gating_bias, -running, atol=1e-6))
        # No gradient goes through the mean: that of W is of the features less a constant.
        model.zero_grad()
        found[1].sum().backward()
        centred = (features[1] - means[0]).flatten(0, 1)
        self.assertTrue(torch.allclose(down.weight.grad[0], centred.sum(0), atol=1e-4))
        model.eval()
        before = model(second)
        self.assertTrue(torch.allclose(down.post_gating_bias, -running, atol=1e-6))
        # Kept with the weights, and folded into the output bias for inference.
        again = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2, bias=False))
        kappascope.add_centering(again, layers="2")
        again.load_state_dict(model.state_dict())
        self.assertTrue(torch.equal(again.eval()(second), before))
        self.assertEqual(kappascope.fold_post_gating_bias(model, layers="2"), ["2"])
        self.assertTrue(torch.allclose(model(second), before, atol=1e-6))
        self.assertIs(type(model[2]), nn.Linear)
        self.assertEqual([n for n, _ in model.named_buffers()], [])

    def test_centring_is_refused_where_there_is_a_bias_to_learn(self) -> None:
        model = Model()
        with self.assertRaisesRegex(kappascope.Error, r"rate must be in \(0, 1\], got 0"):
            kappascope.add_centering(model, rate=0)
        kappascope.add_post_gating_bias(model)
        with self.assertRaisesRegex(kappascope.Error, "has a post-gating bias already"):
            kappascope.add_centering(model)

    def test_a_centred_layer_is_watched_with_its_mean_as_the_bias(self) -> None:
        model = Model()
        kappascope.add_centering(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        with kappascope.attach(model, optimizer, self.run_dir(), every=1, window=1, budget=0) as scope:
            for tokens in batches(3):
                optimizer.zero_grad()
                loss = loss_of(model(tokens), tokens)
                loss.backward()
                scope.loss(loss)
                optimizer.step()
        # At fixed weights little of the mean is left: that of one batch less those before it.
        self.assertLess(self.value("run", "bias/residual", "layers.0.down_proj"), 0.5)

    def test_a_watched_bias_is_measured_beside_the_features_without_it(self) -> None:
        model = Model()
        kappascope.add_post_gating_bias(model)
        with torch.no_grad():
            for layer in model.layers:
                layer.down_proj.post_gating_bias.normal_()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        scope = kappascope.attach(model, optimizer, self.run_dir(), every=1, window=1, budget=0)
        entered = []
        model.layers[0].down_proj.register_forward_pre_hook(
            lambda _, inputs: entered.append(inputs[0].detach().flatten(0, 1))
        )
        tokens = batches(1)[0]
        loss = loss_of(model(tokens), tokens)
        loss.backward()
        scope.loss(loss)
        optimizer.step()
        scope.close()
        want = kappascope.kappa(entered[0], model.layers[0].down_proj.post_gating_bias.detach())
        for series in ("sigma", "second_moment", "with_bias"):
            found = self.value("run", f"kappa/{series}", "layers.0.down_proj")
            self.assertAlmostEqual(found / getattr(want, series).value, 1, delta=1e-5)
        cosine = self.value("run", "bias/cos", "layers.0.down_proj")
        mean = entered[0].double().mean(0)
        bias = model.layers[0].down_proj.post_gating_bias.detach().double()
        self.assertAlmostEqual(
            cosine, torch.cosine_similarity(bias, -mean, dim=0).item(), delta=1e-5
        )


if __name__ == "__main__":
    unittest.main()
