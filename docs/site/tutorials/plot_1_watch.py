# SPDX-License-Identifier: Apache-2.0
"""
Watch a Llama
=============

Two lines watch a training loop. Here a small Llama of the package transformers learns the text of Python's own help.
"""

# sphinx_gallery_thumbnail_path = '_generated/figures/overview.svg'
from pathlib import Path
from pydoc_data.topics import topics
from tempfile import mkdtemp

import kappascope
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
text = torch.tensor([ord(c) for c in "\n".join(topics.values()) if ord(c) < 128])
configuration = LlamaConfig(
    vocab_size=128, hidden_size=64, intermediate_size=172,
    num_hidden_layers=2, num_attention_heads=4,
)
model = LlamaForCausalLM(configuration)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
run = Path(mkdtemp()) / "run"

# %%
# ``attach`` finds the down-projections and says what it will measure. The budget is 1 % of the training time by default;
# this training takes seconds, so it is raised for the windows to fit.
scope = kappascope.attach(model, optimizer, run, every=40, budget=0.3, label="tutorial")
print(scope.describe())

# %%
# The loop is as it was.
for step in range(120):
    rows = text[torch.randint(len(text) - 64, (16, 1)) + torch.arange(64)]
    loss = model(input_ids=rows, labels=rows).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
scope.close()

# %%
# What the numbers ask for, in words; ``kappascope.report(run)`` writes the page.
print(kappascope.advise(run))

# %%
# The numbers themselves, as a pandas frame.
frame = kappascope.read(run).frame()
found = frame[frame.name == "learning/second_moment"]
found[["step", "layer", "value", "lower", "upper", "status"]]
