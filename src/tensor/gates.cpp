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
  const auto d = inputs.values.size(-1);
  const auto rows = inputs.values.reshape({-1, d});
  auto counts = rows.sum(-1, false, torch::kDouble).isfinite();
  if (inputs.mask.defined())
    counts = counts.logical_and(inputs.mask.reshape({-1}).to(rows.device()));
  // Sums of float are exact up to 2^24, which neither rows nor channels reach.
  const auto of_rows = counts.to(torch::kFloat).unsqueeze(1);
  const auto open = (rows > 0).to(torch::kFloat).mul_(of_rows);
  const auto beyond = (rows.abs() > kSaturated).to(torch::kFloat).mul_(of_rows);
  const auto by_row = torch::stack({of_rows.squeeze(1), open.sum(1), beyond.sum(1)}, 1);
  return {.open = open.sum(0).to(torch::kDouble).cpu(),
          .sequences = by_row.to(torch::kDouble)
                           .view({inputs.values.size(0), inputs.values.size(1), 3})
                           .sum(1)
                           .cpu()};
}

}  // namespace kappascope::tensor
