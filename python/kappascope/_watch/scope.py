# SPDX-License-Identifier: Apache-2.0
"""What attach() gives to the loop that it watches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from torch import Tensor

from .._library import Error
from .layers import Layer
from .loop import Loop


class Scope:
    """What attach() gives. Use it as a context, or call close() at the end. The model keeps what
    watches it until then, so that a loop need not keep the scope.

    record() and flush() may be called from any thread, the rest from that which trains. In a
    process forked from this one a scope sees nothing and closes nothing. One that is left open
    when Python ends says how that was: finished, failed (an exception, sys.exit with a status) or
    interrupted (Ctrl-C).
    """

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    def loss(self, loss: Tensor | float, terms: int | None = None) -> None:
        """The loss of one backward pass; several of them before an update are averaged.

        Needed only where backward() is not called on the loss itself: what it is called on is
        found, and the sum of several passes is the loss of an update.

        terms: how many terms (tokens with a label) the update's loss is the mean over, where the
            forward pass did not say so by labels= and these are not all tokens.
        """
        self._loop.update.add_loss(loss, terms)

    def step(self, learning_rate: float = float("nan")) -> None:
        """What a loop calls just before the update of an optimiser that takes no hooks (one written
        by hand, which is no torch.optim.Optimizer)."""
        if not self._loop.calls_step:
            raise Error("the optimizer's own step() is seen: scope.step() would count it twice")
        self._loop.end_step(learning_rate)
        self._loop.after_update()

    def gradient_norm(self, norm: Tensor | float) -> None:
        """The norm of all gradients of this update.

        Needed only where torch.nn.utils.clip_grad_norm_() is not called on all of the model: that
        which it computes is found. A run with norms is warned of their spikes.
        """
        self._loop.norm.tell(norm)

    def record(self, name: str, value: float, layer: str = "") -> None:
        """A number of your own of the last step: it is called user/NAME.

        Of several processes, what process 0 records is written.
        """
        name = name if name.startswith("user/") else f"user/{name}"
        self._loop.record.call("record", name, layer, value)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Passes with gradients in here are not of training (an attack, an influence function)."""
        with self._loop.pause():
            yield

    @property
    def is_open(self) -> bool:
        return self._loop.is_open

    @property
    def run(self) -> str:
        """The directory of the run."""
        return self._loop.run

    @property
    def layers(self) -> list[Layer]:
        return list(self._loop.layers)

    def describe(self) -> str:
        """A table of the layers that are watched, and what was not understood."""
        return self._loop.describe()

    def latest(self) -> dict[str, Any]:
        """What the probes said last: {"step": …, "kappa/sigma": {layer: value}, …}."""
        return self._loop.record.latest()

    def flush(self) -> None:
        """Writes what is pending; it is written once a second, and with every snapshot, anyway."""
        if self._loop.trains_here:
            self._loop.record.complete(wait=True)
        self._loop.record.call("flush")

    def close(self, state: Literal["finished", "interrupted", "failed"] = "finished") -> None:
        """Takes the hooks away, writes the rest and lets go of the model. A second call does
        nothing; run, layers, latest() and describe() still answer."""
        self._loop.close(state)

    def __enter__(self) -> "Scope":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, *_: object
    ) -> None:
        if kind is None or (isinstance(raised, SystemExit) and not raised.code):
            self.close()
        else:
            self.close("interrupted" if issubclass(kind, KeyboardInterrupt) else "failed")
