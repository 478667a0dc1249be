#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Hessian's five largest eigenvalues, to 1e-3 of the largest, of GPT-2's layout with 124 million
parameters: products, time, the most memory that the process held, and residuals computed anew.

    large_spectrum.py [--tool kappascope|eigenthings|curvlinops|pyhessian] [--max-basis M] [--tokens 128]

One tool a process, as peak memory is a process's. The tools besides kappascope need the environment
of peers/ (build/peers-env/bin/python); each is called as peers/tools.py says, with the cheapest
setting of those listed there that says it has converged (--setting I: only that one).
"""

import argparse
import pathlib
import random
import resource
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import kappascope

TOP, TOLERANCE = 5, 1e-3


class Logits(torch.nn.Module):
    """[rows, tokens] -> [rows (tokens - 1), vocabulary]: what predicts each next token."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens).logits[:, :-1].flatten(0, 1)


class Problem:
    """As peers/problems.py has them."""

    def __init__(self, model: torch.nn.Module, tokens: torch.Tensor) -> None:
        self.model = self.plain = Logits(model)
        self.x, self.y = tokens, tokens[:, 1:].flatten()

    def loss(self) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.model(self.x), self.y)


def trained(steps: int, tokens: int) -> Problem:
    torch.manual_seed(0)
    options = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager", **options))
    text = torch.tensor(list(open(torch.__file__, "rb").read()))
    draw = random.Random(0)

    def batch() -> torch.Tensor:
        starts = [draw.randrange(len(text) - tokens) for _ in range(2)]
        return torch.stack([text[start : start + tokens] for start in starts])

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(steps):
        problem = Problem(model, batch())
        problem.loss().backward()
        optimizer.step()
        optimizer.zero_grad()
    return Problem(model, batch())


def residual(problem: Problem, value: float, vector: torch.Tensor) -> float:
    """‖Hv − λv‖ / ‖v‖ by a product in float32 and sums in double."""
    parameters = list(problem.model.parameters())
    parts = [v.view_as(p) for v, p in zip(vector.split([p.numel() for p in parameters]), parameters)]
    gradients = torch.autograd.grad(problem.loss(), parameters, create_graph=True)
    products = torch.autograd.grad(gradients, parameters, grad_outputs=parts)
    square = sum((h.double() - value * v).square().sum() for h, v in zip(products, parts))
    return float((square / vector.double().square().sum()).sqrt())


def of_peer(name: str, problem: Problem, only: int | None):
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
    import tools

    tool = {"eigenthings": tools.Eigenthings, "curvlinops": tools.Curvlinops, "pyhessian": tools.PyHessian}[name]()
    for index, setting in enumerate(tool.settings(TOP, TOLERANCE)):
        if only is not None and index != only:
            continue
        began, count = time.perf_counter(), tools.Count()
        found = tool.pairs(problem, TOP, TOLERANCE, setting, count)
        print(f"{tool.name} {setting}: {found.says}", flush=True)
        yield found.values, found.vectors, count.products, time.perf_counter() - began
        if found.says != "not converged":
            return


def of_kappascope(problem: Problem, max_basis: int | None):
    began = time.perf_counter()
    options = {} if max_basis is None else {"max_basis": max_basis}
    found = kappascope.spectrum(problem.loss, problem.model, top=TOP, tol=TOLERANCE, **options)
    print(found)
    yield found.eigenvalues, list(found.eigenvectors), found.products, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tool", default="kappascope", choices=("kappascope", "eigenthings", "curvlinops", "pyhessian"))
    parser.add_argument("--max-basis", type=int, help="of kappascope")
    parser.add_argument("--setting", type=int, help="which of the peer's settings")
    parser.add_argument("--steps", type=int, default=5, help="of Adam, before")
    parser.add_argument("--tokens", type=int, default=128)
    asked = parser.parse_args()
    problem = trained(asked.steps, asked.tokens)
    print(f"{asked.tool}: peak memory before the call {_peak():.1f} GiB", flush=True)
    ran = (of_kappascope(problem, asked.max_basis) if asked.tool == "kappascope"
           else of_peer(asked.tool, problem, asked.setting))
    for values, vectors, products, seconds in ran:
        print(f"{products} products, {seconds:.0f} s, peak memory {_peak():.1f} GiB", flush=True)
        for value, vector in zip(values.tolist(), vectors):
            print(f"  {value:.5f}, residual {residual(problem, value, vector) / abs(values[0].item()):.1e} of the largest")
        del values, vectors


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
