#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes random tiny models of the transformers package for parity_test.cpp.

    parity_models.py FOLDER

For each layout FOLDER/LAYOUT/model.safetensors with the weights, and FOLDER/LAYOUT/seen.safetensors
with ids, logits, and for each layer what enters its down-projection. Exits with 77 where the package
is not installed. The sizes stand in parity_test.cpp too.
"""
import os
import sys

try:
    import torch
    import transformers
    from safetensors.torch import save_file
except ImportError as error:
    print(f"no transformers package ({error}): ./quickstart test installs it into .venv")
    sys.exit(77)

SIZES = {
    "vocab_size": 50,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "attn_implementation": "eager",
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def rope(theta):
    return {"rope_type": "default", "rope_theta": theta}


def models():
    yield "llama", transformers.LlamaForCausalLM(
        transformers.LlamaConfig(**SIZES, rms_norm_eps=1e-6, rope_parameters=rope(1e4))
    )
    yield "phi3", transformers.Phi3ForCausalLM(
        transformers.Phi3Config(**SIZES, rms_norm_eps=1e-5, rope_parameters=rope(1e4), sliding_window=None)
    )
    yield "qwen3", transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(
            **SIZES, head_dim=16, rms_norm_eps=1e-6, rope_parameters=rope(1e6), tie_word_embeddings=True
        )
    )
    yield "gemma3", transformers.Gemma3ForCausalLM(
        transformers.Gemma3TextConfig(
            **SIZES,
            head_dim=16,
            query_pre_attn_scalar=16,
            rms_norm_eps=1e-6,
            sliding_window=4,
            layer_types=["sliding_attention", "sliding_attention", "full_attention"],
            rope_parameters={"sliding_attention": rope(1e4), "full_attention": rope(1e6)},
            tie_word_embeddings=True,
        )
    )


def write(folder, model):
    model.eval()
    with torch.no_grad():
        for parameter in model.parameters():
            # Large enough that no branch hides behind the residual stream.
            parameter.add_(torch.randn_like(parameter) * 0.2)
    seen = {"ids": torch.randint(3, SIZES["vocab_size"], (2, 12))}

    def listen(name):
        def hook(module, inputs):
            seen[name] = inputs[0].detach().clone()

        return hook

    for i, layer in enumerate(model.model.layers):
        layer.mlp.down_proj.register_forward_pre_hook(listen(f"features.{i}"))
    with torch.no_grad():
        seen["logits"] = model(input_ids=seen["ids"]).logits.clone()
    os.makedirs(folder)
    weights = dict(model.named_parameters())  # a tied matrix once
    save_file({k: v.detach().contiguous() for k, v in weights.items()}, os.path.join(folder, "model.safetensors"))
    save_file({k: v.contiguous() for k, v in seen.items()}, os.path.join(folder, "seen.safetensors"))


def main(folder):
    torch.manual_seed(1)
    for name, model in models():
        write(os.path.join(folder, name), model)


if __name__ == "__main__":
    main(sys.argv[1])
