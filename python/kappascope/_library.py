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


def _load() -> None:
    # For a build that is not installed, and the tests of one.
    path = os.environ.get("KAPPASCOPE_LIBRARY", "")
    path = path or str(Path(__file__).with_name("libkappascope_python.so"))
    try:
        torch.ops.load_library(path)  # type: ignore[no-untyped-call]
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
