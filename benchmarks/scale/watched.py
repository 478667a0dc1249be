#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Llama of 134 million parameters trained on a text and watched by the two-line attach() at its defaults.

    .venv/bin/python benchmarks/scale/watched.py TEXT [--steps 200] [--run runs/watched] [--threads 2]

12 layers, width 768, d_ff 3,072, steps of 8 x 256 tokens by a tokeniser of 27,008 tokens that is made of the text; an hour
or more on two cores. Prints which layers have a learning time and what their means cost, and what probing took.
"""

import argparse
import gzip
import pathlib
import time

import kappascope
import numpy as np
import tokenizers
import torch
import transformers

VOCABULARY, ROWS, CONTEXT = 27_008, 8, 256
WARMUP, RATE = 20, 3e-4
PIECE = 100_000  # characters that the tokeniser takes at once


def tokens_of(file: pathlib.Path) -> torch.Tensor:
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as text_file:
        text = text_file.read()
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    by_bytes = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = by_bytes
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<|endoftext|>"], initial_alphabet=by_bytes.alphabet()
    )
    made.train_from_iterator(pieces, trainer)
    ids = [made.encode(piece).ids for piece in pieces]
    return torch.from_numpy(np.concatenate(ids).astype(np.int64))


def train(tokens: torch.Tensor, run: str, steps: int) -> None:
    torch.manual_seed(1)
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=768,
        intermediate_size=3072,
        num_hidden_layers=12,
        num_attention_heads=12,
        num_key_value_heads=12,
        max_position_embeddings=2 * CONTEXT,
        tie_word_embeddings=True,
    )
    model = transformers.LlamaForCausalLM(config)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(tokens):,} tokens", flush=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.1)
    scope = kappascope.attach(model, optimizer, run)
    draw = torch.Generator().manual_seed(2)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP)
        begin = time.perf_counter()
        starts = torch.randint(len(tokens) - CONTEXT - 1, (ROWS,), generator=draw)
        batch = torch.stack([tokens[at : at + CONTEXT] for at in starts.tolist()])
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}  loss {loss.item():.3f}  {time.perf_counter() - begin:.1f} s", flush=True)
    scope.close()


def table(run: str) -> None:
    found = kappascope.read(run)
    print("| layer | step | steps to 90 % | 95 % | | the mean costs | 95 % |\n|---|--:|--:|---|---|--:|---|")
    costs = {series.layer: series for series in found.series("learning/mean_costs")}
    for steps in found.series("learning/second_moment"):
        cost = costs[steps.layer]
        print(
            f"| {steps.layer} | {steps.step[-1]} | {steps.value[-1]:.4g} | {steps.lower[-1]:.3g} to {steps.upper[-1]:.3g} "
            f"| {steps.status[-1]} | {cost.value[-1]:.3g} | {cost.lower[-1]:.3g} to {cost.upper[-1]:.3g} |"
        )
    print(f"probing took {100 * found.series('cost/total')[0].value[-1]:.2f} % of the training time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=pathlib.Path, help="UTF-8, plain or gzip")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--run", default="runs/watched")
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    train(tokens_of(chosen.text), chosen.run, chosen.steps)
    table(chosen.run)


if __name__ == "__main__":
    main()
