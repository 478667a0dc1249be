# SPDX-License-Identifier: Apache-2.0
"""A loss's curvature as a matrix to multiply with, to solve, and to give to SciPy."""

import functools
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

from ._library import Error, Raised, one_line
from ._losses import OUTPUT_LOSSES, PRODUCTS, Batches, Loss, Operator, Product, source_of
from ._parameters import Parameters, named_parameters, unchanged
from ._processes import is_sharded
from ._shown import Shown
from ._watch.open_loops import none_watching

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Shown):
    """x of (C + damping) x = b."""

    x: Tensor
    """[n]"""
    residual: float
    """‖b - (C + damping) x‖ / ‖b‖, measured by a product of its own."""
    status: str
    """"converged"; "max_products": tol was not reached; "stagnated": rounding allows no better, or b
    is not in the range of C + damping; "non_finite": x is not to be used."""
    products: int

    def table(self) -> list[dict[str, Any]]:
        return [{"residual": self.residual, "status": self.status, "products": self.products}]

    def _draw(self, ax: Any) -> None:
        ax.plot(self.x.cpu())
        ax.set(xlabel="parameter", ylabel="x", title=self.status)

    def __repr__(self) -> str:
        return f"Solution({self.status}, residual {self.residual:.2g}, {self.products} products)"


@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(Shown):
    """The diagonal, entry by entry."""

    value: Tensor
    """[n]"""
    standard_error: Tensor
    """[n]; 0 where exact."""
    exact: bool
    """Taken by one product an entry."""
    products: int

    def table(self) -> list[dict[str, Any]]:
        rows = zip(self.value.tolist(), self.standard_error.tolist(), strict=True)
        return [{"value": value, "standard_error": error} for value, error in rows]

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"  # a row a parameter tells nobody anything

    def _draw(self, ax: Any) -> None:
        ax.errorbar(
            range(len(self.value)), self.value.cpu(), 2 * self.standard_error.cpu(), fmt="."
        )
        ax.set(xlabel="parameter", ylabel="diagonal, ± 2 standard errors")

    def __repr__(self) -> str:
        how = "exact" if self.exact else f"median error {self.standard_error.median():.2g}"
        return f"Diagonal({len(self.value)} entries, {how}, {self.products} products)"


@dataclass(frozen=True, eq=False, repr=False)
class LogDeterminant(Shown):
    """log det (C + damping)."""

    value: float
    """NaN where the matrix is not positive definite."""
    lower: float
    """95 %; -inf where nothing bounds the eigenvalues away from zero."""
    upper: float
    smallest: float
    """The least Ritz value of C + damping that was seen; the smallest eigenvalue is no larger."""
    status: str
    """"estimated"; "exact": from all eigenvalues; "not_positive_definite"; "non_finite"."""
    products: int

    def table(self) -> list[dict[str, Any]]:
        bounds = {"lower": self.lower, "upper": self.upper}
        return [{"value": self.value, **bounds, "status": self.status}]

    def _draw(self, ax: Any) -> None:
        reach = [[self.value - self.lower], [self.upper - self.value]]
        ax.errorbar([0], [self.value], reach, fmt="o")
        ax.set(xticks=[], ylabel="log determinant, 95 %", title=self.status)

    def __repr__(self) -> str:
        interval = f"[{self.lower:.6g}, {self.upper:.6g}]"
        return f"LogDeterminant({self.value:.6g} in {interval}, {self.status}, {self.products} products)"


class Curvature:
    """A symmetric matrix [n, n] that is never formed: `curvature @ v`. Made by hessian() and
    curvature(); it holds the loss, and its graph where that is kept, until close()."""

    def __init__(
        self,
        loss: Loss,
        params: Parameters,
        operator: Operator,
        batches: Batches | None,
        product: Product,
        only: str | None,
    ) -> None:
        if product not in PRODUCTS:
            raise ValueError(f"product must be one of {PRODUCTS}, got {product!r}")
        self._named = named_parameters(params, only)
        if any(map(is_sharded, self._named.values())):
            raise ValueError(
                "the parameters are sharded over processes: spectrum(group=) has their curvature, "
                "and a matrix to multiply with is not offered"
            )
        self._params = params
        self._held = ExitStack()
        self._matrix: Any = None
        self._closed = False
        source = self._held.enter_context(source_of(loss, batches, operator))

        def make() -> Any:
            return torch.classes.kappascope.Curvature(
                source.value,
                source.number,
                source.rows,
                list(self._named.values()),
                list(self._named),
                operator,
                source.output_loss,
                product,
            )

        try:
            self._matrix = self._call(make)
        except BaseException:
            self._held.close()
            raise
        like = self._matrix.like()
        n = sum(p.numel() for p in self._named.values())
        self.operator = operator
        # A Gauss-Newton matrix of another loss may have negative eigenvalues.
        self._semidefinite = operator in ("fisher", "covariance") or (
            source.output_loss in OUTPUT_LOSSES
        )
        self.shape = (n, n)
        self.shapes = {name: p.shape for name, p in self._named.items()}
        """Of the parameters whose entries make up a vector, in their order."""
        self.dtype: torch.dtype = like.dtype
        """Of products: the parameters', float32 for half precision."""
        self.device: torch.device = like.device
        self.product_kind, self.product_reason = self._matrix.kind()
        """How products are taken, and why not exactly ("": they are)."""
        self.product_noise: float = self._matrix.noise()
        """Relative error of a product."""

    def __matmul__(self, v: Any) -> Any:
        """Products with vectors [n] or the columns of [n, k]: a tensor of a tensor, and a NumPy
        array (of the matrix's type) of anything else."""
        tensor = v if isinstance(v, Tensor) else torch.as_tensor(v)
        if tensor.dim() not in (1, 2) or len(tensor) != self.shape[1]:
            n = self.shape[1]
            raise ValueError(f"expected [{n}] or [{n}, k], got {list(tensor.shape)}")
        if tensor.is_complex() or not tensor.numel():
            raise ValueError(f"expected real numbers, got {tensor.dtype} {list(tensor.shape)}")
        columns = tensor.detach().to(self.device, self.dtype).reshape(len(tensor), -1).unbind(1)
        products = [self._call(functools.partial(self._product, one)) for one in columns]
        found = torch.stack(products, 1).reshape(tensor.shape)
        return found if isinstance(v, Tensor) else found.cpu().numpy()

    def solve(
        self, b: Tensor, *, damping: float = 0.0, tol: float = 1e-6, max_products: int = 500
    ) -> Solution:
        """x of (C + damping) x = b by MINRES, which takes eigenvalues of either sign; refined until
        the measured residual is at most tol ‖b‖."""
        right = torch.as_tensor(b)
        x, residual, products, status = self._call(
            lambda: self._matrix.solve(right, damping, tol, max_products)
        )
        return Solution(x, residual, status, products)

    def diagonal(self, max_products: int = 100, seed: int = 0) -> Diagonal:
        """C's diagonal with standard errors, by random signs (Bekas, Kokiopoulou and Saad 2007);
        exact where n products are enough."""
        return Diagonal(*self._diagonal(max_products, seed))

    def logdet(
        self, *, damping: float = 0.0, starts: int = 10, steps: int = 40, seed: int = 0
    ) -> LogDeterminant:
        """log det (C + damping) by stochastic Lanczos quadrature with certified quadrature bounds
        (Ubaru, Chen and Saad 2017; Golub and Meurant 1994), for evidence and Laplace approximations.

        damping: what is added to each eigenvalue; it must make the matrix positive definite.
        starts: random vectors; steps: of Lanczos from each, a product a step. Where n products are
            no more than that, the value is exact. Memory: `steps` vectors.
        """
        value, lower, upper, smallest, products, status = self._call(
            lambda: self._matrix.log_determinant(
                damping, self._semidefinite, starts, steps, seed
            )
        )
        return LogDeterminant(value, lower, upper, smallest, status, products)

    def gradient(self) -> Tensor | None:
        """[n] The loss's gradient, of a Hessian; None for other operators."""
        found: Tensor | None = self._call(lambda: self._matrix.gradient())
        return found

    def along(self, v: Tensor) -> float:
        """v^T C v / v^T v, the curvature along v [n]: one product, off by product_noise times C's
        norm at most. NaN for v = 0."""
        direction = torch.as_tensor(v).detach().to(self.device, self.dtype)
        direction = direction / direction.abs().max()
        product = self @ direction
        squares = (direction * direction).sum(dtype=torch.float64)
        return float((direction * product).sum(dtype=torch.float64) / squares)

    def to_scipy(self) -> Any:
        """The same as a scipy.sparse.linalg.LinearOperator, for its solvers and eigensolvers."""
        from scipy.sparse.linalg import LinearOperator  # type: ignore[import-untyped]

        multiply: Callable[[Any], Any] = self.__matmul__
        dtype = torch.empty(0, dtype=self.dtype).numpy().dtype
        return LinearOperator(
            self.shape, matvec=multiply, rmatvec=multiply, matmat=multiply, dtype=dtype
        )

    def split(self, v: Tensor) -> dict[str, Tensor]:
        """A vector [n] as the tensors of the parameters, by name."""
        parts = torch.split(v, [shape.numel() for shape in self.shapes.values()])
        return {
            name: part.view(shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def close(self) -> None:
        """Lets go of the loss and its graph."""
        self._closed = True
        self._matrix = None
        self._held.close()

    def __enter__(self) -> "Curvature":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        n = self.shape[0]
        return f"Curvature({self.operator}, {n} x {n}, {self.dtype}, {self.product_kind})"

    def _diagonal(self, max_products: int, seed: int) -> tuple[Tensor, Tensor, bool, int]:
        value, error, products, exact = self._call(
            lambda: self._matrix.diagonal(max_products, seed)
        )
        return value, error, exact, products

    def _product(self, column: Tensor) -> Tensor:
        found: Tensor = self._matrix.apply(column)
        return found

    def _call(self, function: Callable[[], _T]) -> _T:
        """What C++ throws becomes an Error; the model stays as it was."""
        if self._closed:
            raise Error(f"the {self.operator} was closed: it has let go of its loss")
        try:
            with none_watching(), unchanged(self._params, self._named):
                return function()
        except Raised as raised:
            raise raised.error from None
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise Error(one_line(error)) from None


def curvature(
    loss: Loss,
    params: Parameters,
    *,
    operator: Operator = "hessian",
    batches: Batches | None = None,
    product: Product = "automatic",
    only: str | None = None,
) -> Curvature:
    """A loss's curvature as a matrix; the arguments are those of spectrum().

        C = kappascope.curvature(Outputs(model(x)), model, operator="ggn")
        step = C.solve(gradient, damping=1e-3).x      # C @ v, C.diagonal(), C.to_scipy()

    A vector's entries are those of the parameters in their order (`shapes`, `split()`). Raises as
    spectrum() does.
    """
    return Curvature(loss, params, operator, batches, product, only)


def hessian(
    loss: Loss,
    params: Parameters,
    *,
    batches: Batches | None = None,
    product: Product = "automatic",
    only: str | None = None,
) -> Curvature:
    """The Hessian of a loss as a matrix: `hessian(loss, model) @ v`. See curvature()."""
    return Curvature(loss, params, "hessian", batches, product, only)
