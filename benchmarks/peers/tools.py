# SPDX-License-Identifier: Apache-2.0
"""One class a tool, each called as its documentation says, on the same weights and batch.

pairs(problem, k, tol, setting, count) -> Pairs. `settings(k, tol)` lists what a user can turn, the
cheapest first; `count` is called once a product. Constructing graph and operator is part of the call.
"""
import dataclasses
import sys
import time

import torch
from torch.nn import functional as F

try:
    import kappascope
except ImportError:
    kappascope = None


class OverBudget(Exception):
    pass


class Count:
    """Counts products, and ends a run that takes too long."""

    def __init__(self, seconds=float("inf")):
        self.products, self.end = 0, time.perf_counter() + seconds

    def __call__(self):
        self.products += 1
        if time.perf_counter() > self.end:
            raise OverBudget

    def wrapped(self, function):
        def counted(*arguments):
            self()
            return function(*arguments)
        return counted


class Criterion(torch.nn.Module):
    """Cross entropy; `seen` is the first loss that a tool computed with it."""

    def __init__(self):
        super().__init__()
        self.seen = None

    def forward(self, outputs, labels):
        loss = F.cross_entropy(outputs, labels)
        if self.seen is None:
            self.seen = loss.detach()
        return loss


@dataclasses.dataclass
class Pairs:
    values: torch.Tensor  # [k]
    vectors: list  # of k flat ones
    loss: float  # as the tool saw it
    claimed: float | None = None  # largest residual / |lambda_1|
    says: str = "no flag"


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors])


class PyHessian:
    name = "PyHessian"
    cheapest_first = True

    def settings(self, k, tol):
        """The change of the eigenvalue at which it stops; the residual goes with its square root."""
        return [{"tol": 10.0**-e} for e in ((5, 6, 7) if tol >= 1e-3 else (8,))]

    def operator(self, problem, criterion):
        import pyhessian
        problem.model.zero_grad(set_to_none=True)
        return pyhessian.hessian(problem.model, criterion, data=(problem.x, problem.y), cuda=problem.x.is_cuda)

    def counted(self, count):
        module = sys.modules["pyhessian.hessian"]
        if not hasattr(module, "plain_product"):
            module.plain_product = module.hessian_vector_product
        module.hessian_vector_product = count.wrapped(module.plain_product)

    def pairs(self, problem, k, tol, setting, count):
        criterion = Criterion()
        operator = self.operator(problem, criterion)
        self.counted(count)
        values, vectors = operator.eigenvalues(maxIter=1000, tol=setting["tol"], top_n=k)
        return Pairs(torch.tensor(values, dtype=torch.float64), [flat(v) for v in vectors],
                     criterion.seen.item())

    def hessian_product(self, problem):
        from pyhessian.utils import hessian_vector_product
        operator = self.operator(problem, Criterion())
        v = [torch.randn_like(p) for p in problem.params]
        return lambda: hessian_vector_product(operator.gradsH, operator.params, v)

    def density(self, problem, steps, count):
        # torch.eig is gone from torch; without it everything computed is lost at the end.
        def eig(a, eigenvectors):
            values, vectors = torch.linalg.eigh(a)
            return torch.stack([values, torch.zeros_like(values)], 1), vectors
        torch.eig = eig
        operator = self.operator(problem, Criterion())
        self.counted(count)
        nodes, _ = operator.density(iter=steps, n_v=1)
        return float(min(nodes[0])), float(max(nodes[0]))

    def trace(self, problem, products, seed, count):
        """Its own rule decides on the products."""
        operator = self.operator(problem, Criterion())
        self.counted(count)
        samples = operator.trace(maxIter=1000, tol=1e-3)
        return sum(samples) / len(samples), None


class Eigenthings:
    name = "hessian-eigenthings (Lanczos)"
    cheapest_first = True

    def settings(self, k, tol):
        """A user doubles the number of steps until the tool says that it has converged; the runs
        before the last are not counted here."""
        return [{"max_iter": max(10, 4 * k) * 2**j} for j in range(4)]

    def operator(self, problem, criterion, count=lambda: None):
        import hessian_eigenthings as he
        operator = he.HessianOperator(problem.model, [(problem.x, problem.y)],
                                      he.supervised_loss(criterion))
        product = operator.matvec

        def matvec(v):
            count()
            return product(v)
        operator.matvec = matvec
        return operator

    def pairs(self, problem, k, tol, setting, count):
        import hessian_eigenthings as he
        criterion = Criterion()
        found = he.lanczos(self.operator(problem, criterion, count), k=k, tol=tol, which="LM",
                           seed=1, reorthogonalize=True, **setting)
        claimed = (found.residuals.max() / found.eigenvalues[0].abs()).item()
        return Pairs(found.eigenvalues.double(), list(found.eigenvectors), criterion.seen.item(),
                     claimed, "converged" if bool(found.converged.all()) else "not converged")

    def hessian_product(self, problem):
        operator = self.operator(problem, Criterion())
        v = torch.randn(operator.size, device=problem.x.device)
        return lambda: operator.matvec(v)

    def gauss_newton_product(self, problem):
        import hessian_eigenthings as he
        operator = he.GGNOperator(problem.model, [(problem.x, problem.y)], he.supervised_forward,
                                  he.supervised_loss_of_output(F.cross_entropy))
        v = torch.randn(operator.size, device=problem.x.device)
        return lambda: operator.matvec(v)

    def density(self, problem, steps, count):
        import hessian_eigenthings as he
        found = he.spectral_density(self.operator(problem, Criterion(), count), num_runs=1,
                                    lanczos_steps=steps, seed=1)
        return found.raw_eigenvalues.min().item(), found.raw_eigenvalues.max().item()

    def trace(self, problem, products, seed, count):
        import hessian_eigenthings as he
        found = he.trace(self.operator(problem, Criterion(), count), num_matvecs=products, seed=seed)
        return found.estimate, found.stderr


class Curvlinops:
    name = "curvlinops + scipy eigsh"
    cheapest_first = False  # which of the settings that is shows only in its products

    def settings(self, k, tol):
        return [{}] if k > 1 else [{"ncv": 10}, {}]

    def operator(self, problem, kind="HessianLinearOperator"):
        """Without its check for determinism, which takes some products; its forward-mode derivatives
        need a SiLU that has them."""
        import curvlinops
        return getattr(curvlinops, kind)(problem.plain, torch.nn.CrossEntropyLoss(),
                                         list(problem.plain.parameters()),
                                         [(problem.x, problem.y)], check_deterministic=False)

    def counted(self, operator, count):
        product = operator._matmat

        def matmat(x):
            for _ in range(x[0].shape[-1]):
                count()
            return product(x)
        operator._matmat = matmat
        return operator

    def pairs(self, problem, k, tol, setting, count):
        from scipy.sparse.linalg import eigsh
        operator = self.counted(self.operator(problem), count)
        with torch.no_grad():
            loss = F.cross_entropy(problem.plain(problem.x), problem.y).item()
        start = torch.randn(operator.shape[0], generator=torch.Generator().manual_seed(1)).numpy()
        values, vectors = eigsh(operator.to_scipy(), k=k, which="LM", tol=tol, v0=start, **setting)
        order = abs(values).argsort()[::-1]
        return Pairs(torch.tensor(values[order].astype("float64")),
                     list(torch.tensor(vectors[:, order].T.copy())), loss, None, "converged")

    def hessian_product(self, problem, kind="HessianLinearOperator"):
        operator = self.operator(problem, kind)
        v = torch.randn(operator.shape[0], device=problem.x.device)
        return lambda: operator @ v

    def gauss_newton_product(self, problem):
        return self.hessian_product(problem, "GGNLinearOperator")

    def density(self, problem, steps, count):
        import curvlinops
        operator = self.counted(self.operator(problem), count)
        grid, _ = curvlinops.lanczos_approximate_spectrum(operator, steps)
        return grid.min().item(), grid.max().item()

    def trace(self, problem, products, seed, count):
        import curvlinops
        operator = self.counted(self.operator(problem), count)
        return curvlinops.hutchpp_trace(operator, products).item(), None


class Kappascope:
    cheapest_first = True

    def __init__(self, find_repeated):
        self.find_repeated = find_repeated
        self.name = "kappascope, find_repeated=True" if find_repeated else "kappascope"

    def settings(self, k, tol):
        return [{}]

    def pairs(self, problem, k, tol, setting, count, start=None):
        """The plain call: what differs from the defaults is what the measurement asks for."""
        loss = problem.loss()
        options = {"tol": tol} if tol != 1e-3 else {}
        if self.find_repeated:
            options["find_repeated"] = True
        if start is not None:
            options["start"] = start
        found = kappascope.spectrum(loss, problem.model, top=k, **options)
        count.products = found.products
        largest = found.eigenvalues.abs().max()
        pairs = Pairs(found.eigenvalues, list(found.eigenvectors), loss.item(),
                      (found.residuals.max() / largest).item(), found.status)
        pairs.found = found
        return pairs

    def products(self, problem, number, operator="hessian"):
        """`number` products of Hutchinson's estimator: a product, a random vector and a dot each."""
        outputs = problem.model(problem.x)
        loss = (F.cross_entropy(outputs, problem.y) if operator == "hessian" else
                kappascope.Outputs(outputs, "cross_entropy"))
        return kappascope.trace(loss, problem.model, operator=operator, sketch=0, relative_error=1e-9,
                                max_products=number)

    def density(self, problem, steps, count):
        found = kappascope.density(problem.loss(), problem.model, steps=steps, starts=1, seed=1)
        count.products = found.products
        return found.nodes.min().item(), found.nodes.max().item()

    def trace(self, problem, relative_error, seed, count):
        found = kappascope.trace(problem.loss(), problem.model, relative_error=relative_error,
                                 max_products=300, seed=seed)
        count.products = found.products
        return found


PEERS = [Eigenthings(), Curvlinops(), PyHessian()]
OURS = [Kappascope(False), Kappascope(True)] if kappascope else []


def clean(problem):
    """Gradients with their graph, which PyHessian leaves behind."""
    problem.model.zero_grad(set_to_none=True)
