# SPDX-License-Identifier: Apache-2.0
"""The three questions: extreme eigenpairs, density, trace."""

import time
from typing import Any, Literal

from torch import Tensor
from torch.optim import Optimizer

from ._ask import ask
from ._losses import Batches, Loss, Operator, Product
from ._optimizers import seen_by
from ._parameters import Parameters
from ._results import Density, RitzValue, Spectrum, Trace

_ENDS = ("largest", "smallest", "both")


def spectrum(
    loss: Loss,
    params: Parameters,
    *,
    batches: Batches | None = None,
    operator: Operator = "hessian",
    product: Product = "automatic",
    optimizer: Optimizer | None = None,
    top: int = 5,
    which: Literal["largest", "smallest", "both"] = "largest",
    tol: float = 1e-3,
    max_products: int = 300,
    max_basis: int = 80,
    find_repeated: bool = False,
    certify: bool = False,
    start: Spectrum | Tensor | None = None,
    vectors: bool = True,
    seed: int = 0,
    only: str | None = None,
    group: Any = None,
    progress: bool = False,
) -> Spectrum:
    """Extreme eigenpairs of a loss's curvature, by Lanczos, each with its residual and bound.

    The default is the five largest, each distinct eigenvalue once. The result also tells, for no
    further product, how far the same Krylov space reaches at the other end.

    loss: a scalar tensor with its graph, or a callable: loss(), or loss(batch) with batches, an
        iterable of batches or a callable that gives one; then it is the mean weighted by the rows
        of each batch's first tensor. A callable is evaluated twice, and refused where the values
        differ by more than rounding. It is evaluated and differentiated without TF32 and without
        autocast's cache of cast weights, whatever is set. For operator "ggn": Outputs(outputs, loss=...); for "fisher" (empirical) and
        "covariance" (of gradients): the losses of the rows, [rows].
    params: a module (those of its parameters that require a gradient), tensors, or (name, tensor).
    product: how products are taken: "graph kept" (fast; memory of one forward and backward pass),
        "recomputed" (slower, small) or "finite difference" (not exact, its error is in the bounds).
        "automatic" keeps the graph, of batches as many as fit into 4 GiB, and takes differences
        where the loss is a callable without a second derivative (fused attention). Differences
        displace the parameters: a loss that uses a copy made before (a cast or quantised weight
        that is kept, parametrize.cached) is refused, with the parameter's name.
    optimizer: one of torch.optim's Adam, AdamW, RMSprop or SGD, after its first step. The spectrum
        is then that of P^(-1/2) A P^(-1/2), with P from its second moments (SGD: of A), and the
        result's stability_limit is the value above which its steps are unstable: for Adam
        (2 + 2β₁)/((1 - β₁)η), 38/η at β₁ = 0.9. Eigenvectors are in the coordinates P^(1/2) θ. Where
        there are second moments, it takes four products more.
    top, which: pairs wanted at each requested end; ends are by value, not by magnitude.
    tol: on ‖A v - value v‖, relative to the outermost value at the same end; where products are
        noisier, on their noise.
    max_products: of the iteration. Within thirty times a product's noise each residual is measured
        by one more.
    max_basis: vectors of the parameters' size that are kept before a restart; fewer where they
        would take more than a third of the memory that is free, and in 16 bits a number where less
        than half of them fit (tol of 5e-4 or more); the result says so.
    find_repeated: list repeated eigenvalues as often as they occur, for a dozen products more and
        a dozen for each copy.
    certify: go on until every value is certified (95 % over a random start) to be the extreme one
        of its rank; without it the result tells which are, from the products that were taken.
    start: the last snapshot's Spectrum, or vectors [n] or [s, n]; with another seed than that had,
        so that a new random part looks for what the last one missed.
    only: a glob of the names of the parameters, where not all of params are meant.
    group: the processes that make this call together, a torch.distributed group (all of them:
        torch.distributed.group.WORLD), each with a loss on data of its own: the curvature is that
        of the mean of their losses, and each gets the result. None: this process alone. Parameters
        that are sharded over the group (fully_shard) have the Hessian by differences of gradients;
        eigenvectors are then this process's shards, and shapes theirs. Of replicas of shards (a mesh
        of two dimensions) the first holds them and the others hold none.
    progress: show the products (with tqdm where it is installed).

    Ctrl-C ends the call after the product that is running; the result is what is there, with status
    "interrupted". Before the first product, and a second time, it ends it at once.
    Raises ValueError for invalid arguments (an optimizer whose limit is not known is one) and Error
    where there is no curvature (a loss that is not finite, not deterministic, or does not depend on
    the parameters). What comes of the iteration is the result's status.
    """
    if which not in _ENDS:
        raise ValueError(f"which must be one of {_ENDS}, got {which!r}")
    if top < 1 or max_products < 1:
        raise ValueError(f"top and max_products must be at least 1, got {top} and {max_products}")
    if isinstance(start, Spectrum):
        if start.eigenvectors is None:
            raise ValueError("start: a Spectrum with vectors is needed, this one has none")
        start = start.eigenvectors.sum(0)
    scale, limit = seen_by(optimizer, params, only)
    began = time.perf_counter()
    numbers, status, products, kind, certificate, shapes = ask(
        "spectrum",
        loss,
        params,
        only,
        group,
        batches,
        operator,
        product,
        progress,
        max_products,
        top=top,
        which=which,
        tolerance=tol,
        max_products=max_products,
        max_basis=max_basis,
        find_repeated=find_repeated,
        certify=certify,
        vectors=vectors,
        seed=seed,
        start=start,
        scale=scale,
    )
    other = numbers.get("other_end")
    return Spectrum(
        eigenvalues=numbers["eigenvalues"],
        eigenvectors=numbers.get("eigenvectors"),
        residuals=numbers["residuals"],
        bounds=numbers["bounds"],
        reach=numbers["reach"],
        tolerances=numbers["tolerances"],
        status=status,
        products=products,
        product_kind=kind,
        seconds=time.perf_counter() - began,
        operator=operator,
        which=which,
        multiplicity_checked=bool(numbers["multiplicity_checked"].item()),
        room_for_vectors=int(numbers["room_for_vectors"].item()),
        packed_vectors=bool(numbers["packed_vectors"].item()),
        other_end=None if other is None else RitzValue(*other.tolist()),
        tolerance=tol,
        product_noise=numbers["product_noise"].item(),
        certificate=certificate,
        stability_limit=limit,
        shapes=shapes,
    )


def density(
    loss: Loss,
    params: Parameters,
    *,
    batches: Batches | None = None,
    operator: Operator = "hessian",
    product: Product = "automatic",
    steps: int = 60,
    starts: int = 4,
    points: int = 512,
    bandwidth: float = 0.01,
    max_vectors: int = 0,
    seed: int = 0,
    only: str | None = None,
    group: Any = None,
    progress: bool = False,
) -> Density:
    """Spectral density of a loss's curvature; loss to product as in spectrum().

    steps: Lanczos steps from each start vector; starts: random start vectors, the more, the
    narrower the band; points: of the grid; bandwidth: standard deviation of the smoothing, as a
    share of the range; max_vectors: held at once, of the parameters' size (0: one a step); with
    fewer than steps the basis is not kept.
    Cost: steps · starts products.
    """
    began = time.perf_counter()
    numbers, status, products, kind, _, _ = ask(
        "density",
        loss,
        params,
        only,
        group,
        batches,
        operator,
        product,
        progress,
        steps * starts,
        steps=steps,
        starts=starts,
        points=points,
        bandwidth=bandwidth,
        max_vectors=max_vectors,
        seed=seed,
    )
    return Density(
        **{name: x if x.dim() else x.item() for name, x in numbers.items()},
        status=status,
        products=products,
        product_kind=kind,
        seconds=time.perf_counter() - began,
    )


def trace(
    loss: Loss,
    params: Parameters,
    *,
    batches: Batches | None = None,
    operator: Operator = "hessian",
    product: Product = "automatic",
    relative_error: float = 0.05,
    max_products: int = 100,
    sketch: int = 7,
    max_vectors: int = 0,
    seed: int = 0,
    only: str | None = None,
    group: Any = None,
    progress: bool = False,
) -> Trace:
    """Trace of a loss's curvature by Hutch++; loss to product as in spectrum().

    relative_error: the standard error, as a share of the value, at which to stop; sketch:
    directions whose part is taken exactly, two products each (0: Hutchinson's own estimator);
    max_vectors: held at once (0: sketch + 2); fewer make a smaller sketch.
    """
    began = time.perf_counter()
    numbers, status, products, kind, _, _ = ask(
        "trace",
        loss,
        params,
        only,
        group,
        batches,
        operator,
        product,
        progress,
        max_products,
        relative_error=relative_error,
        max_products=max_products,
        sketch=sketch,
        max_vectors=max_vectors,
        seed=seed,
    )
    vectors = int(numbers.pop("vectors").item())
    return Trace(
        **{name: x.item() for name, x in numbers.items()},
        vectors=vectors,
        status=status,
        products=products,
        product_kind=kind,
        seconds=time.perf_counter() - began,
    )
