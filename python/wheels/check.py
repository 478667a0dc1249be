# SPDX-License-Identifier: Apache-2.0
"""What an installed wheel must do, with torch alone beside it: watch, report, read; and a spectrum equal to a dense
Hessian's. Prints a line; an assertion ends it."""

import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import kappascope
import torch
from kappascope import demo


def largest_error_of_a_spectrum() -> float:
    """Of the eigenvalues of a small gated layer's Hessian, relative to the largest; in double."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    x, y = torch.randn(64, 3), torch.randn(64, 2)
    weights = [torch.randn(shape).requires_grad_() for shape in ((3, 4), (3, 4), (4, 2))]

    def loss(gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
        return ((torch.nn.functional.silu(x @ gate) * (x @ up) @ down - y) ** 2).mean()

    blocks = torch.autograd.functional.hessian(loss, tuple(weights))
    dense = torch.cat([torch.cat([b.flatten(a.ndim).flatten(0, a.ndim - 1) for b in row], 1) for a, row in zip(weights, blocks)])
    exact = torch.linalg.eigvalsh(dense).flip(0)[:3]
    found = kappascope.spectrum(lambda: loss(*weights), weights, top=3, tol=1e-8)
    torch.set_default_dtype(torch.float32)
    return float((found.eigenvalues - exact).abs().max() / exact[0])


def main() -> None:
    error = largest_error_of_a_spectrum()
    assert error < 1e-8, error  # the tolerance that was asked for
    with tempfile.TemporaryDirectory() as folder:
        # By the program that pip installed, which starts this Python.
        program = Path(sys.executable).with_name("kappascope")
        out = Path(folder, "demo")
        subprocess.run([program, "demo", "--steps", "60", "--no-browser", "--out", out], check=True, capture_output=True)
        assert "<html" in (out / "report.html").read_text()[:1000]
        watched = {series.layer for series in kappascope.read(out / "none").series("magnitude/largest")}
        assert len(watched) == demo.LAYERS, watched
        listed = subprocess.run([program, "runs", "--json", out], check=True, capture_output=True, text=True).stdout
        assert len(listed.splitlines()) == 2, listed
    print(f"Python {platform.python_version()}, torch {torch.__version__}, kappascope {kappascope.__version__}: "
          f"{demo.LAYERS} layers watched, page written, eigenvalues to {error:.0e}")


if __name__ == "__main__":
    main()
