// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/attention.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

#include "core/require.h"
#include "tensor/full_float.h"

namespace kappascope::tensor {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr double kForbids = -65504;  // of float16, the smallest number that a mask adds

/// At most `count` of `size` places, evenly, the last among them.
at::Tensor spread(int64_t size, int64_t count, at::Device device) {
  const auto options = torch::dtype(torch::kLong).device(device);
  if (size <= count) return torch::arange(size, options);
  return (torch::arange(1, count + 1, options) * size).div(count, "floor") - 1;
}

at::Tensor in_float(const at::Tensor& tensor) {
  return tensor.scalar_type() == torch::kDouble ? tensor : tensor.to(torch::kFloat);
}

void require_fits(const Attention& attention) {
  if (attention.logits.defined()) {
    require(attention.logits.dim() == 4 && attention.logits.numel() > 0,
            "the logits of an attention layer have four dimensions");
    return;
  }
  const auto &q = attention.queries, &k = attention.keys;
  require(q.defined() && k.defined() && q.dim() == 4 && k.dim() == 4 && q.size(0) == k.size(0) &&
              q.size(3) == k.size(3) && q.numel() > 0 && k.numel() > 0 &&
              q.size(1) % k.size(1) == 0,
          "queries and keys of an attention layer do not fit each other");
}

/// [sequences, heads, queries, keys], -∞ where a key may not be attended to.
at::Tensor logits_of(const Attention& attention) {
  const auto& [q, k, mask, scale, causal, positions, logits] = attention;
  if (logits.defined()) {
    const auto all = in_float(logits.detach());
    return all.masked_fill(all <= kForbids, kMinusInfinity);
  }
  const auto keys = in_float(k.detach()).repeat_interleave(q.size(1) / k.size(1), 1);
  const double factor = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.size(3)));
  auto out = in_float(q.detach()).matmul(keys.transpose(-1, -2)) * factor;
  if (causal) {
    const auto places = torch::arange(k.size(2), torch::dtype(torch::kLong).device(k.device()));
    const auto own = positions.defined() ? positions : places.slice(0, 0, q.size(2));
    out = out.masked_fill(places.unsqueeze(0) > own.unsqueeze(1), kMinusInfinity);
  }
  if (!mask.defined()) return out;
  if (mask.scalar_type() == torch::kBool)
    return out.masked_fill(mask.logical_not(), kMinusInfinity);
  return (out + mask.detach().to(out.options())).masked_fill(mask <= kForbids, kMinusInfinity);
}

}  // namespace

Attention sampled(const Attention& attention) {
  require_fits(attention);
  const torch::NoGradGuard no_grad;
  const auto& whole = attention.logits.defined() ? attention.logits : attention.queries;
  const auto sequences = spread(whole.size(0), kAttentionSequences, whole.device());
  const auto queries = spread(whole.size(2), kAttentionQueries, whole.device());
  const auto some = [&](const at::Tensor& tensor) {
    return tensor.detach().index_select(0, sequences).index_select(2, queries);
  };
  if (attention.logits.defined()) return {.logits = some(attention.logits)};
  Attention out = attention;
  out.queries = some(attention.queries);
  out.keys = attention.keys.detach().index_select(0, sequences);
  out.positions =
      attention.positions.defined() ? attention.positions.index_select(0, queries) : queries;
  if (attention.mask.defined()) {
    const auto& q = attention.queries;
    auto mask = attention.mask;
    while (mask.dim() < 4) mask = mask.unsqueeze(0);
    out.mask = some(mask.expand({q.size(0), -1, q.size(2), attention.keys.size(2)}));
  }
  return out;
}

AttentionSummary summarise(const Attention& attention) {
  require_fits(attention);
  const torch::NoGradGuard no_grad;
  const FullFloat full_float;
  const auto logits = logits_of(attention);
  const auto keys = (logits > kMinusInfinity).sum(-1).to(logits.options());
  const auto log_p = logits.log_softmax(-1);
  const auto entropy =
      -torch::where(log_p > kMinusInfinity, log_p.exp() * log_p, torch::zeros_like(log_p)).sum(-1);
  const auto share =
      (entropy / keys.log()).masked_fill(keys <= 1, std::numeric_limits<double>::quiet_NaN());
  return {logits.amax({0, 2, 3}).to(torch::kDouble), share.to(torch::kDouble).nanmean(-1)};
}

}  // namespace kappascope::tensor
