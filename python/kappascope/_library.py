# SPDX-License-Identifier: Apache-2.0
"""Loads the operators that C++ registers, and turns what they throw into one clear line."""

import os
from pathlib import Path
from typing import Any

import torch


class Error(RuntimeError):
    """What cannot be computed, and why, in one line. Numerical outcomes are a status instead."""


class Raised(Exception):
    """Carries what a loss in Python raised through C++, for call() to raise it again."""

    def __init__(self, error: RuntimeError) -> None:
        super().__init__(str(error))
        self.error = error


def library(stem: str, variable: str) -> Path:
    """For the torch of this process: LibTorch's C++ interface changes with its minor version.

    variable: of the environment, names a build that is not installed.
    """
    if given := os.environ.get(variable):
        return Path(given)
    minor = ".".join(torch.__version__.split(".")[:2])
    return Path(__file__).with_name(f"{stem}-{minor}.so")


def _load() -> None:
    stem = "libkappascope_python"
    path = library(stem, "KAPPASCOPE_LIBRARY")
    if not path.exists() and path.parent == Path(__file__).parent:
        others = [other.stem.removeprefix(f"{stem}-") for other in path.parent.glob(f"{stem}-*.so")]
        others.sort(key=lambda version: [int(part) for part in version.split(".")])
        raise ImportError(
            f"this kappascope has libraries for torch {', '.join(others) or '(none)'}, and this is torch "
            f"{torch.__version__}: install one of those, or build the package for this torch from its "
            "sources, with pip install --no-build-isolation ./python"
        )
    try:
        torch.ops.load_library(str(path))  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ImportError(
            f"could not load {path} into torch {torch.__version__} ({error}); it fits the torch "
            "that it was built for: install the package again"
        ) from None


_load()


def call(name: str, *arguments: Any, **options: Any) -> Any:
    """torch.ops.kappascope.NAME; what C++ throws becomes an Error without a stack trace."""
    try:
        return getattr(torch.ops.kappascope, name)(*arguments, **options)
    except Raised as raised:
        raise raised.error from None
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise Error(one_line(error)) from None


def one_line(error: Exception) -> str:
    """What C++ said, without its stack trace."""
    return str(error).strip().partition("\n")[0]


def version() -> str:
    return str(call("version"))
