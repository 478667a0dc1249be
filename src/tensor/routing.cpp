// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/routing.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <optional>
#include <tuple>
#include <vector>

#include "core/require.h"
#include "tensor/autocast.h"
#include "tensor/full_float.h"
#include "tensor/gates.h"

namespace kappascope::tensor {
namespace {

void require_router_fits(const RouterPass& pass) {
  const auto& [rows, weight, bias, mask, chosen, sequences] = pass;
  require(weight.defined() && weight.dim() == 2 && weight.size(0) > 1 &&
              weight.is_floating_point() &&
              (!bias.defined() || (bias.dim() == 1 && bias.size(0) == weight.size(0))),
          "a router has a matrix of a row for each of its experts, of which there are several");
  require(rows.defined() && rows.dim() > 0 && rows.numel() > 0 && rows.size(-1) == weight.size(1),
          "what enters a router does not fit its {} inputs",
          weight.size(1));
  const auto count = rows.numel() / weight.size(1);
  require(sequences >= 0 && (sequences == 0 || count % sequences == 0),
          "{} rows of a router are not {} sequences",
          count,
          sequences);
  require(!mask.defined() || mask.numel() == count,
          "a mask of {} rows does not fit {} rows of a router",
          mask.defined() ? mask.numel() : 0,
          count);
  require(chosen >= 0, "a router cannot send a token to {} experts", chosen);
}

}  // namespace

Routing sample_routing(const RouterPass& pass) {
  static_assert(kRouterRows == kGateRows, "the rows are sampled as those of gates are");
  require_router_fits(pass);
  const torch::NoGradGuard no_grad;
  const FullFloat full_float;
  const Autocast no_autocast(pass.rows.device().type(), std::nullopt);
  const auto sequences = pass.sequences > 0 ? pass.sequences : 1;
  const auto rows = pass.rows.detach().reshape({sequences, -1, pass.weight.size(1)});
  const auto some = sample_gates(rows, pass.mask);
  const bool is_double =
      rows.scalar_type() == torch::kDouble || pass.weight.scalar_type() == torch::kDouble;
  const auto type = is_double ? torch::kDouble : torch::kFloat;
  auto logits = some.values.to(type).matmul(pass.weight.detach().to(type).t());
  if (pass.bias.defined()) logits = logits + pass.bias.detach().to(type);
  return {.logits = logits, .mask = some.mask, .chosen = pass.chosen};
}

at::Tensor summarise(const Routing& routing) {
  const torch::NoGradGuard no_grad;
  require(routing.logits.defined() && routing.logits.dim() == 3 && routing.logits.size(2) > 1,
          "the logits of a router have three dimensions");
  const auto experts = routing.logits.size(2);
  const auto all = routing.logits.detach().to(torch::kDouble).reshape({-1, experts});
  auto counts = all.isfinite().all(-1);
  if (routing.mask.defined())
    counts = counts.logical_and(routing.mask.reshape({-1}).to(all.device()));
  const auto logits = all.masked_fill(counts.logical_not().unsqueeze(1), 0);
  const auto p = logits.softmax(-1);
  const auto entropy = -torch::xlogy(p, p).sum(-1) / std::log(static_cast<double>(experts));
  auto margin = torch::zeros_like(entropy), close = torch::zeros_like(entropy);
  if (routing.chooses()) {
    const auto largest = std::get<0>(logits.topk(routing.chosen + 1, -1));
    const auto last = largest.select(1, routing.chosen - 1),
               next = largest.select(1, routing.chosen);
    margin = last - next;
    close = (margin <= (last.abs() + next.abs()) * kRoundsBfloat16).to(torch::kDouble);
  }
  const auto by_row =
      torch::stack({torch::ones_like(entropy), entropy, margin, close}, 1) * counts.unsqueeze(1);
  return by_row.view({routing.logits.size(0), routing.logits.size(1), 4}).sum(1).cpu();
}

}  // namespace kappascope::tensor
