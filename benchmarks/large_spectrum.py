#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Hessian's five largest eigenvalues of GPT-2's layout of 124 million parameters: products, time,
and the most memory that the process held.

    large_spectrum.py [--max-basis M] [--steps 5] [--tokens 128]
"""

import argparse
import random
import resource
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

import kappascope


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-basis", type=int, default=80)
    parser.add_argument("--steps", type=int, default=5, help="of Adam, before")
    parser.add_argument("--tokens", type=int, default=128)
    asked = parser.parse_args()
    torch.manual_seed(0)
    options = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager", **options))
    text = torch.tensor(list(open(torch.__file__, "rb").read()))
    draw = random.Random(0)

    def batch() -> torch.Tensor:
        starts = [draw.randrange(len(text) - asked.tokens) for _ in range(2)]
        return torch.stack([text[start : start + asked.tokens] for start in starts])

    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for _ in range(asked.steps):
        tokens = batch()
        model(tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    tokens = batch()
    before = _peak()
    began = time.perf_counter()
    found = kappascope.spectrum(
        lambda: model(tokens, labels=tokens).loss, model, max_basis=asked.max_basis
    )
    print(found)
    print(f"{found.products} products, {time.perf_counter() - began:.0f} s")
    print(f"peak memory {_peak():.1f} GiB, before the call {before:.1f} GiB")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
