# SPDX-License-Identifier: Apache-2.0
"""Training on a GPU: the host's numbers, no wait for the device outside of windows, captured graphs.

KAPPASCOPE_DEVICE=cpu rehearses what does not need the device itself.
"""

import os
import unittest
import warnings
from typing import Any

import kappascope
import numpy as np
import torch
from training import Attached, Model, batches, loss_of, undropped

DEVICE = os.environ.get("KAPPASCOPE_DEVICE", "cuda")
LAYERS = ("layers.0.down_proj", "layers.1.down_proj")
SERIES = ("kappa/sigma", "kappa/second_moment", "learning/sigma", "gradvar/measured", "gradvar/published")
NEVER: dict[str, Any] = {"every": 100_000, "window": 1, "budget": 0}


def model_on(device: str) -> Model:
    """Another order of random numbers is no fault."""
    torch.manual_seed(5)
    return undropped(Model()).to(device)


@unittest.skipUnless(DEVICE == "cpu" or torch.cuda.is_available(), "no CUDA device")
class OnDevice(Attached):
    def run_on(
        self,
        device: str,
        name: str,
        dtype: torch.dtype | None = None,
        scaler: Any = None,
        compiling: dict[str, Any] | None = None,
        **options: Any,
    ) -> list[float]:
        """Eight updates of two passes, by default windows at the 4th and the 8th; the losses."""
        model = model_on(device)
        call: Any = model
        if compiling is not None:
            torch._dynamo.reset()
            call = torch.compile(model, **compiling)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        given = {"every": 4, "window": 2, "budget": 0, **options}
        scope = kappascope.attach(model, optimizer, self.run_dir(name), **given)
        losses = []
        for tokens in batches(8, rows=32):
            total = 0.0
            for part in tokens.to(device).chunk(2):
                with torch.autocast(device, dtype or torch.bfloat16, enabled=dtype is not None):
                    loss = loss_of(call(part), part) / 2
                (loss if scaler is None else scaler.scale(loss)).backward()
                total += loss.item()
            losses.append(total)
            if scaler is None:
                optimizer.step()
            else:
                scaler.step(optimizer)
                scaler.update()
            optimizer.zero_grad()
        scope.close()
        return losses

    def compare(self, name: str, other: str, tolerance: float) -> None:
        run, expected = (kappascope.read(self.run_dir(which)) for which in (name, other))
        for series in SERIES:
            for layer in LAYERS:
                found, wanted = (which.series(series, layer)[0] for which in (run, expected))
                self.assertEqual(found.step.tolist(), wanted.step.tolist(), f"{series} of {layer}")
                np.testing.assert_allclose(found.value, wanted.value, rtol=tolerance, err_msg=series)
        found, wanted = (which.series("loss/train")[0] for which in (run, expected))
        np.testing.assert_allclose(found.value, wanted.value, rtol=tolerance)

    def test_the_numbers_are_those_of_the_host(self) -> None:
        there, here = self.run_on(DEVICE, "there"), self.run_on("cpu", "here")
        np.testing.assert_allclose(there, here, rtol=1e-5)
        # Rounding of float products, by condition numbers of some hundreds.
        self.compare("there", "here", 1e-3)

    def test_half_precision_with_a_scaler_gives_gradients_of_the_loss(self) -> None:
        """A wrong scale would be off by 2**10. Features of 8 bits move a κ of 40 by 40 / 256."""
        dtype = torch.bfloat16 if DEVICE == "cpu" else torch.float16
        self.run_on(DEVICE, "plain")
        self.run_on(DEVICE, "scaled", dtype, torch.amp.GradScaler(DEVICE, init_scale=2.0**10))
        self.compare("scaled", "plain", 0.2)

    def check_compiled(self, mode: str, **options: Any) -> None:
        plain = self.run_on(DEVICE, "plain", **options)
        losses = self.run_on(DEVICE, mode, compiling={"mode": mode}, **options)
        np.testing.assert_allclose(losses, plain, rtol=1e-4)
        if not options:
            self.compare(mode, "plain", 1e-2)

    def test_compiled_models_give_the_same(self) -> None:
        self.check_compiled("default")

    def test_captured_graphs_run_outside_of_windows(self) -> None:
        self.check_compiled("reduce-overhead", **NEVER)

    def test_captured_graphs_give_the_same(self) -> None:
        """They cannot hold what we see: it runs between two of them."""
        self.check_compiled("reduce-overhead")

    def test_training_has_the_same_bits(self) -> None:
        weights = []
        for watched in (True, False):
            model = model_on(DEVICE)
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            scope = None
            if watched:
                scope = kappascope.attach(model, optimizer, self.run_dir(), every=2, window=1, budget=0)
            for tokens in batches(5):
                tokens = tokens.to(DEVICE)
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
                optimizer.zero_grad()
            if scope is not None:
                scope.close()
            weights.append([p.detach().cpu() for p in model.parameters()])
        for one, other in zip(*weights, strict=True):
            self.assertTrue(torch.equal(one, other))

    @unittest.skipIf(DEVICE == "cpu", "the host waits for no device")
    def test_nobody_waits_outside_of_windows(self) -> None:
        model = model_on(DEVICE)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
        scope = kappascope.attach(model, optimizer, self.run_dir(), **NEVER)
        tokens = batches(1)[0].to(DEVICE)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for step in range(8):
                torch.cuda.set_sync_debug_mode("warn" if step >= 3 else "default")
                loss_of(model(tokens), tokens).backward()
                optimizer.step()
                optimizer.zero_grad()
            torch.cuda.set_sync_debug_mode("default")
        scope.close()
        waits = [
            f"{w.filename}:{w.lineno}" for w in caught if "called a synchronizing" in str(w.message)
        ]
        self.assertEqual(waits, [])
        self.assertEqual(len(kappascope.read(self.run_dir()).series("loss/train")[0].value), 8)


if __name__ == "__main__":
    unittest.main()
