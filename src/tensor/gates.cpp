// SPDX-License-Identifier: Apache-2.0
#include "tensor/gates.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

#include "core/require.h"

namespace kappascope::tensor {
namespace {

constexpr std::int64_t kSequences = 16;

/// Every so-manieth place of a dimension, so that at most `most` are left.
at::Tensor thinned(const at::Tensor& of, std::int64_t dimension, std::int64_t most) {
  const auto size = of.size(dimension);
  const auto stride = (size + most - 1) / std::max<std::int64_t>(most, 1);
  return of.slice(dimension, 0, size, std::max<std::int64_t>(stride, 1));
}

}  // namespace

GateInputs sample_gates(const at::Tensor& g, const at::Tensor& mask) {
  const torch::NoGradGuard no_grad;
  const auto d = g.size(-1);
  const bool in_sequences = g.dim() >= 3;
  const auto tokens = in_sequences ? g.size(-2) : 1;
  require(d > 0 && tokens > 0, "a gate of {} features and {} tokens has no input", d, tokens);
  const auto all = g.detach().reshape({-1, tokens, d});
  require(!mask.defined() || mask.numel() == all.size(0) * tokens,
          "a mask of {} rows does not fit {} sequences of {} tokens",
          mask.defined() ? mask.numel() : 0,
          all.size(0),
          tokens);
  const auto sequences = thinned(all, 0, in_sequences ? kSequences : kGateRows);
  const auto most = kGateRows / std::max<std::int64_t>(sequences.size(0), 1);
  GateInputs sample{.values = thinned(sequences, 1, most).clone(), .mask = {}};
  if (mask.defined()) {
    const auto rows = mask.detach().reshape({-1, tokens});
    sample.mask =
        thinned(thinned(rows, 0, in_sequences ? kSequences : kGateRows), 1, most).to(torch::kBool);
  }
  return sample;
}

GateCounts count_gates(const GateInputs& inputs) {
  const torch::NoGradGuard no_grad;
  const auto& values = inputs.values;
  auto counts = values.isfinite().all(-1);
  if (inputs.mask.defined()) counts = counts.logical_and(inputs.mask.to(values.device()));
  const auto rows = counts.unsqueeze(-1);
  const auto open = (values > 0).logical_and(rows);
  const auto beyond = (values.abs() > kSaturated).logical_and(rows);
  const auto sum = [](const at::Tensor& of, at::IntArrayRef over) {
    return of.sum(over, false, torch::kLong).to(torch::kDouble).cpu();
  };
  return {.open = sum(open, {0, 1}),
          .sequences = torch::stack({sum(counts, {1}), sum(open, {1, 2}), sum(beyond, {1, 2})}, 1)};
}

}  // namespace kappascope::tensor
