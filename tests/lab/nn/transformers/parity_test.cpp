// SPDX-License-Identifier: Apache-2.0
// Beside the transformers package: its weights load by name, its logits come out, and the taps see
// what its down-projections see.
#include <sys/wait.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <cstdlib>
#include <iostream>
#include <optional>

#include "core/temporary_folder.h"
#include "kappascope/core/error.h"
#include "lab/data/module_tensors.h"
#include "lab/nn/transformers/language_models.h"
#include "support/catch.h"
#include "tensor/safetensors/safetensors.h"

using namespace kappascope;

namespace {

// As in parity_models.py.
nn::LmSize size(int64_t head_width) {
  return {.vocabulary = 50,
          .layers = 3,
          .width = 32,
          .heads = 4,
          .kv_heads = 2,
          .head_width = head_width,
          .hidden = 48};
}

/// Fills `folder`; false, with the reason on the output, where the package is not installed.
bool make_models(const std::filesystem::path& folder) {
  const char* python = std::getenv("KAPPASCOPE_PYTHON");
  const char* script = std::getenv("KAPPASCOPE_PARITY_MODELS");
  if (python == nullptr || script == nullptr) {
    std::cout << "no transformers package asked for: run it through ctest\n";
    return false;
  }
  const auto command = std::string(python) + " -B '" + script + "' '" + folder.string() + "' 2>&1";
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return false;
  REQUIRE(status == 0);
  return true;
}

/// The largest difference against the largest entry, or against 1 if that is smaller.
double gap(const at::Tensor& a, const at::Tensor& b) {
  return ((a - b).abs().max() / b.abs().max().clamp_min(1)).item<double>();
}

}  // namespace

TEST_CASE("weights of transformers give its logits, and the taps see its features") {
  const TemporaryFolder folder;
  if (!make_models(folder.path())) return;
  const std::vector<std::pair<const char*, nn::CausalLmOptions>> layouts = {
      {"llama", nn::llama(size(8))},
      {"phi3", nn::phi3(size(8))},
      {"qwen3", nn::qwen3(size(16))},
      {"gemma3", nn::gemma3(size(16), /*window=*/4).global_every(3)}};
  for (const auto& [name, options] : layouts) {
    nn::CausalLm model(options);
    data::load_safetensors(*model, folder / name / "model.safetensors");
    const tensor::SafetensorsFile seen(folder / name / "seen.safetensors");
    model->eval();
    const torch::NoGradGuard no_grad;
    std::vector<at::Tensor> features;
    for (const auto& [layer, tapped] : nn::find_tapped(*model)) {
      tapped->tap.listen([&](const nn::TapView& view) { features.push_back(view.features); });
    }
    for (const bool fused : {false, true}) {
      CAPTURE(name, fused);
      nn::set_fused_attention(*model, fused);
      features.clear();
      const auto logits = model->forward(seen.mapped("ids"));
      CHECK(gap(logits, seen.mapped("logits")) < 1e-5);
      REQUIRE(features.size() == 3);
      for (std::size_t i = 0; i < features.size(); ++i) {
        CHECK(gap(features[i], seen.mapped("features." + std::to_string(i))) < 1e-5);
      }
    }
  }
}
