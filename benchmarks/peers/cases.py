# SPDX-License-Identifier: Apache-2.0
"""Products with the Hessian and the Gauss-Newton matrix on curvlinops' own test cases.

    benchmarks/peers/run cases FOLDER [--rounds 30]

FOLDER is a clone of https://github.com/f-dangel/curvlinops at the tag of the pinned version (python/requirements/peers.in),
whose test/cases.py has models, losses and data in batches. The
truth is the dense matrix in float64, by autograd and without either tool. Errors are those of the product with one random
vector, over its norm (limits: 1e-5 in float32, 1e-10 in float64); times are medians of products in turn (limit 0.8).
"""
import argparse
import statistics
import sys
import time

import curvlinops
import kappascope
import torch
from torch.func import functional_call

PLACES = {torch.float32: 1e-5, torch.float64: 1e-10}


class Case:
    """One of theirs in a number type, as one loss over all batches: their reduction is over all of the data."""

    def __init__(self, case, dtype):
        torch.manual_seed(case["seed"])
        model = case["model_func"]()
        self.module = isinstance(model, torch.nn.Module)
        self.loss = case["loss_func"]()
        batches = list(case["data"]())
        self.model = model.to(dtype) if self.module else model
        params = dict(model.named_parameters()) if self.module else case["params"]()
        self.params = {name: p.detach().to(dtype).requires_grad_() for name, p in params.items()}
        self.batches = [(self.to(x, dtype), self.to(y, dtype)) for x, y in batches]

    @staticmethod
    def to(value, dtype):
        if isinstance(value, torch.Tensor):
            return value.to(dtype) if value.is_floating_point() else value
        return type(value)({name: entry.to(dtype) for name, entry in value.items()})

    def outputs(self, params, x):
        return functional_call(self.model, params, (x,)) if self.module else self.model(params, x)

    def all_outputs(self, params):
        return torch.cat([self.outputs(params, x) for x, _ in self.batches])

    def on_outputs(self, outputs):
        # Both of their batches are part of one mean or sum.
        return self.loss(outputs, torch.cat([y for _, y in self.batches]))

    def name(self):
        kind = type(self.loss).__name__.removesuffix("Loss")
        shape = list(self.all_outputs(self.params).shape)
        return f"{kind} {self.loss.reduction} {shape}, {'dict' if isinstance(self.batches[0][0], dict) else 'tensor'}"

    def flat(self, params):
        return torch.cat([p.flatten() for p in params.values()])

    def unflat(self, vector):
        parts = torch.split(vector, [p.numel() for p in self.params.values()])
        return {name: part.view(p.shape) for (name, p), part in zip(self.params.items(), parts)}

    def truth(self, kind):
        theta = self.flat(self.params).detach()
        if kind == "hessian":
            return torch.autograd.functional.hessian(
                lambda t: self.on_outputs(self.all_outputs(self.unflat(t))), theta)
        jacobian = torch.autograd.functional.jacobian(
            lambda t: self.all_outputs(self.unflat(t)).flatten(), theta)
        z = self.all_outputs(self.params).detach()
        middle = torch.autograd.functional.hessian(
            lambda o: self.on_outputs(o.view_as(z)), z.flatten())
        return jacobian.T @ middle @ jacobian

    def ours(self, kind):
        def outputs():
            return self.all_outputs(self.params)

        if kind == "hessian":
            return kappascope.hessian(lambda: self.on_outputs(outputs()), self.params.items())
        loss = kappascope.Outputs(outputs, self.on_outputs)
        return kappascope.curvature(loss, self.params.items(), operator="ggn")

    def theirs(self, kind):
        name = {"hessian": "HessianLinearOperator", "ggn": "GGNLinearOperator"}[kind]
        params = list(self.model.parameters()) if self.module else self.params
        return getattr(curvlinops, name)(
            self.model, self.loss, params, self.batches, check_deterministic=False,
            batch_size_fn=lambda x: len(x if isinstance(x, torch.Tensor) else x["x"]))


def error(product, truth):
    return float((product.double() - truth).norm() / truth.norm())


def seconds(operators, v, rounds):
    """The median of each, by turns."""
    times = [[] for _ in operators]
    for _ in range(rounds):
        for operator, found in zip(operators, times):
            begin = time.perf_counter()
            operator @ v
            found.append(time.perf_counter() - begin)
    return [statistics.median(found) for found in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    sys.path.insert(0, given.folder)  # before the standard library's package of the same name
    sys.modules.pop("test", None)
    from test.cases import CASES
    failed = False
    print("| case | matrix | type | kappascope's error | curvlinops' error | time / curvlinops' |")
    print("|---|---|---|--:|--:|--:|")
    for case in (one for one in CASES if str(one["device"]) == "cpu"):
        exact = Case(case, torch.float64)
        for kind in ("hessian", "ggn"):
            truth = exact.truth(kind)
            for dtype, limit in PLACES.items():
                here = exact if dtype == torch.float64 else Case(case, dtype)
                torch.manual_seed(1)
                v = torch.randn(len(truth), dtype=dtype)
                wanted = truth @ v.double()
                operators = [here.ours(kind), here.theirs(kind)]
                errors = [error(operator @ v, wanted) for operator in operators]
                ratio = seconds(operators, v, given.rounds)
                failed |= errors[0] > limit
                print(f"| {here.name()} | {kind} | {str(dtype).removeprefix('torch.')} | {errors[0]:.1e} | "
                      f"{errors[1]:.1e} | {ratio[0] / ratio[1]:.2f} |", flush=True)
    sys.exit("an error is above its limit" if failed else 0)


if __name__ == "__main__":
    main()
