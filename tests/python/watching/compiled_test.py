# SPDX-License-Identifier: Apache-2.0
"""Compiled models: one graph outside of windows, as if nobody watched, and the same numbers in them."""

import unittest
from collections.abc import Callable
from typing import Any

import kappascope
import numpy as np
import torch
from torch import Tensor, nn
from training import Attached, Model, batches, loss_of, undropped

LAYERS = ("layers.0.down_proj", "layers.1.down_proj")
Call = Callable[[Tensor], Tensor]


class Graphs:
    """A backend that runs a graph as it is, and keeps it with whether a window was open."""

    def __init__(self, backend: str = "aot_eager") -> None:
        self.found: list[tuple[bool, list[str]]] = []
        self._compile: Any = torch._dynamo.lookup_backend(backend)

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        from kappascope._watch import compiled

        self.found.append((compiled.in_window, [str(node.target) for node in graph.graph.nodes]))
        return self._compile(graph, inputs)

    def watched(self, in_window: bool) -> list[int]:
        """Of each graph, its operators of ours."""
        return [
            sum("kappascope" in target for target in targets)
            for window, targets in self.found
            if window == in_window
        ]


def wrapped(model: nn.Module, **options: Any) -> Call:
    return torch.compile(model, **options)


def in_place(model: nn.Module, **options: Any) -> Call:
    model.compile(**options)
    return model


def by_blocks(model: Any, **options: Any) -> Call:
    for layer in model.layers:
        layer.compile(**options)
    return model


def a_function(model: nn.Module, **options: Any) -> Call:
    return torch.compile(lambda tokens: model(tokens), **options)


class Compiled(Attached):
    def setUp(self) -> None:
        super().setUp()
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        self.addCleanup(torch._dynamo.reset)

    def run_of(
        self,
        name: str,
        compiling: Callable[..., Call] | None = None,
        before: bool = True,
        recompute: str = "",
        **options: Any,
    ) -> list[float]:
        """Six updates of two passes, a window at the 4th; the losses."""
        torch.manual_seed(5)
        model = undropped(Model(recompute))  # another order of random numbers is no fault
        call: Call = model
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        if compiling is not None and before:
            call = compiling(model, **options)
            with torch.no_grad():
                call(batches(1)[0])
        watched = call if isinstance(call, nn.Module) else model
        scope = kappascope.attach(watched, optimizer, self.run_dir(name), every=4, window=2, budget=0)
        if compiling is not None and not before:
            call = compiling(model, **options)
        losses = []
        for tokens in batches(6, rows=16):
            with torch.no_grad():
                call(tokens)
            for part in tokens.chunk(2):
                loss = loss_of(call(part), part) / 2
                loss.backward()
                losses.append(loss.item())
            optimizer.step()
            optimizer.zero_grad()
        scope.close()
        return losses

    def check(self, name: str, losses: list[float], plain: list[float]) -> None:
        np.testing.assert_allclose(losses, plain, rtol=1e-5)
        run, expected = (kappascope.read(self.run_dir(which)) for which in (name, "plain"))
        self.assertEqual(len(run.series("loss/train")[0].value), 6)
        for series in ("kappa/sigma", "learning/sigma", "gradvar/measured"):
            for layer in LAYERS:
                found, other = (which.series(series, layer) for which in (run, expected))
                self.assertEqual(len(found), 1, f"{name}: {series} of {layer}")
                self.assertEqual(found[0].step.tolist(), other[0].step.tolist())
                np.testing.assert_array_equal(found[0].rows, other[0].rows, err_msg=name)
                np.testing.assert_allclose(found[0].value, other[0].value, rtol=1e-3, err_msg=name)

    def test_a_scope_that_closes_in_a_window_leaves_no_window_open(self) -> None:
        # Other models' graphs would be compiled for one for good.
        from kappascope._watch import compiled

        model = Model()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        scope = kappascope.attach(model, optimizer, self.run_dir(), every=4, window=4, budget=0)
        for tokens in batches(3):
            loss_of(model(tokens), tokens).backward()
            optimizer.step()
        self.assertTrue(compiled.in_window)
        scope.close()
        self.assertFalse(compiled.in_window)

    def test_every_way_to_compile_keeps_one_graph_and_the_numbers(self) -> None:
        plain = self.run_of("plain")
        # attach() cannot know of a function that was compiled before.
        ways = [(wrapped, True), (wrapped, False), (in_place, True), (by_blocks, False), (a_function, False)]
        for compiling, before in ways:
            name = f"{compiling.__name__}, {'before' if before else 'after'}"
            with self.subTest(name):
                torch._dynamo.reset()
                graphs = Graphs()
                losses = self.run_of(name, compiling, before, backend=graphs, fullgraph=True)
                self.check(name, losses, plain)
                self.assertEqual(set(graphs.watched(in_window=False)), {0})
                self.assertGreater(sum(graphs.watched(in_window=True)), 0)

    def test_a_graph_in_pieces_is_measured_too(self) -> None:
        plain = self.run_of("plain")

        def parted(model: Any, **options: Any) -> Call:
            head = model.head.forward
            model.head.forward = torch.compiler.disable(head)
            return torch.compile(model, **options)

        self.check("parted", self.run_of("parted", parted, False, backend="aot_eager"), plain)

    def test_what_a_compiler_writes_over_is_kept(self) -> None:
        plain = self.run_of("plain")
        self.check("inductor", self.run_of("inductor", wrapped, fullgraph=True), plain)

    def test_passes_that_are_recomputed_count_once(self) -> None:
        plain = self.run_of("plain")
        losses = self.run_of("recomputed", wrapped, recompute="other", backend="aot_eager")
        self.check("recomputed", losses, plain)

    def test_an_attention_mask_that_is_hidden_is_said(self) -> None:
        self.run_of("plain")
        self.run_of("wrapped", wrapped, backend="aot_eager")
        self.run_of("in place", in_place, backend="aot_eager")
        self.run_of("a function", a_function, before=False, backend="aot_eager")
        hidden = [
            name
            for name in ("plain", "wrapped", "in place", "a function")
            if any("padding counts as" in str(event) for event in kappascope.read(self.run_dir(name)).events)
        ]
        self.assertEqual(hidden, ["in place", "a function"])

    def test_a_graph_outlives_the_scope_that_it_was_compiled_for(self) -> None:
        torch.manual_seed(5)
        model, other = Model(), Model()
        compiled = torch.compile(model, backend="aot_eager")
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        tokens = batches(1)[0]
        scope = kappascope.attach(model, optimizer, self.run_dir("a"), every=1, window=1, budget=0)
        for _ in range(2):
            loss_of(compiled(tokens), tokens).backward()
            optimizer.step()
        scope.close()
        theirs = torch.optim.SGD(other.parameters(), lr=1e-2)
        scope = kappascope.attach(other, theirs, self.run_dir("b"), every=1, window=1, budget=0)
        loss_of(compiled(tokens), tokens).backward()  # in a window of the other scope
        loss_of(other(tokens), tokens).backward()
        theirs.step()
        scope.close()
        self.assertEqual(self.rows("b"), [40.0])


if __name__ == "__main__":
    unittest.main()
