// SPDX-License-Identifier: Apache-2.0
// What a window of each layer probe costs for one layer, beside what it is presumed to cost before
// one was timed. A table in Markdown:
//
//   layer_probes [PROBE...]        at widths 512, 3,072 and 14,336 (d_model a quarter), 4 x 2,048
//   tokens
#include "kappascope/store/schema/layer_probes.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "probes/layer_probes.h"
#include "tensor/gates.h"

using namespace kappascope;

namespace {

constexpr int64_t kTokens = 2048, kSequence = 128;
constexpr int kSteps = 4;

session::LayerView view_of(int64_t d) {
  const auto scales = torch::arange(1, d + 1).to(torch::kFloat).pow(-0.5);
  session::LayerView view;
  view.name = "layer";
  view.features = torch::randn({kTokens, d}).add_(0.3).mul_(scales);
  view.bias = torch::full({d}, -0.1);
  view.gradient = torch::randn({kTokens, d / 4}).div_(static_cast<double>(kTokens));
  view.weight = torch::randn({d / 4, d});
  view.gate = torch::randn({d, d / 4});
  view.up = torch::randn({d, d / 4});
  view.gate_inputs = tensor::sample_gates(torch::randn({kTokens, d}), {}).values;
  view.rows_per_group = kSequence;
  view.rows_of_step = kTokens;
  return view;
}

template <typename Work>
double seconds_of(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  torch::manual_seed(1);
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) {
    for (const auto& probe : store::layer_probes()) names.emplace_back(probe.name);
  }
  fmt::print(
      "| probe | width | its 4 steps, s | its result, s | presumed, s |\n|---|--:|--:|--:|--:|\n");
  for (const int64_t d : {512, 3072, 14336}) {
    const std::vector<session::LayerView> layers = {view_of(d)};
    for (const auto& name : names) {
      probes::ProbeOptions options;
      options.outputs = false;
      const auto probe = probes::make_layer_probe(name, options);
      const double presumed =
          std::max(0.0, probe->presumed_cost()) * static_cast<double>(d) * static_cast<double>(d);
      if (presumed > 60) continue;  // a run would not begin it
      const double observing = seconds_of([&] {
        for (int step = 0; step < kSteps; ++step) probe->observe({.step = step, .layers = &layers});
      });
      store::Snapshot out;
      const double emitting = seconds_of([&] { probe->emit(out); });
      fmt::print(
          "| {} | {} | {:.3g} | {:.3g} | {:.3g} |\n", name, d, observing, emitting, presumed);
      std::fflush(stdout);
    }
  }
}
