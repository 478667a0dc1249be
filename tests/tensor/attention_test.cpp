// SPDX-License-Identifier: Apache-2.0
#include "kappascope/tensor/attention.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using tensor::Attention;

namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

/// [b, h, q, k], written out.
at::Tensor written_out(const at::Tensor& q, const at::Tensor& k, bool causal) {
  auto logits = q.matmul(k.transpose(-1, -2)) / std::sqrt(static_cast<double>(q.size(3)));
  if (!causal) return logits;
  const auto allowed = torch::ones({q.size(2), k.size(2)}, torch::kBool).tril();
  return logits.masked_fill(allowed.logical_not(), kMinusInfinity);
}

double largest(const tensor::AttentionSummary& summary) {
  return summary.largest.max().item<double>();
}

/// By its definition, query by query.
at::Tensor entropy_of(const at::Tensor& logits) {
  auto out = torch::zeros({logits.size(0), logits.size(1)}, torch::kDouble);
  for (int64_t b = 0; b < logits.size(0); ++b) {
    for (int64_t h = 0; h < logits.size(1); ++h) {
      double sum = 0;
      int count = 0;
      for (int64_t i = 0; i < logits.size(2); ++i) {
        const auto row = logits[b][h][i];
        const auto seen = row.index({row > kMinusInfinity});
        if (seen.numel() < 2) continue;
        const auto p = seen.softmax(0);
        sum += -(p * p.log()).sum().item<double>() / std::log(static_cast<double>(seen.numel()));
        ++count;
      }
      out[b][h] = sum / count;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("logits and entropies are those of attention that is written out") {
  torch::manual_seed(1);
  const auto q = torch::randn({2, 3, 7, 5}, torch::kDouble),
             k = torch::randn({2, 3, 7, 5}, torch::kDouble);
  for (const bool causal : {false, true}) {
    const auto logits = written_out(q, k, causal);
    const auto fused = tensor::summarise({.queries = q, .keys = k, .causal = causal});
    const auto eager = tensor::summarise({.logits = logits});
    CHECK(torch::allclose(fused.largest, logits.amax({0, 2, 3}), 1e-12, 1e-12));
    CHECK(torch::allclose(fused.entropy, entropy_of(logits), 1e-12, 1e-12));
    CHECK(torch::allclose(eager.largest, fused.largest, 1e-12, 1e-12));
    CHECK(torch::allclose(eager.entropy, fused.entropy, 1e-12, 1e-12));
  }
}

TEST_CASE("a head that looks everywhere has the entropy 1, and one that looks at one token 0") {
  auto q = torch::zeros({1, 2, 4, 2}), k = torch::zeros({1, 2, 4, 2});
  q[0][1].select(1, 0) = 1e4;
  k[0][1][2][0] = 1;
  const auto found = tensor::summarise({.queries = q, .keys = k, .scale = 1});
  CHECK(found.entropy[0][0].item<double>() == Approx(1));
  CHECK(found.entropy[0][1].item<double>() == Approx(0).margin(1e-6));
  CHECK(found.largest[0].item<double>() == 0);
  CHECK(found.largest[1].item<double>() == 1e4);
}

TEST_CASE("masks of either kind leave keys out, and grouped queries share theirs") {
  torch::manual_seed(2);
  const auto q = torch::randn({2, 4, 6, 3}), k = torch::randn({2, 2, 6, 3});
  const auto allowed = torch::rand({2, 1, 6, 6}) < 0.6;
  const auto logits = written_out(q, k.repeat_interleave(2, 1), false)
                          .masked_fill(allowed.logical_not(), kMinusInfinity);
  const auto wanted = tensor::summarise({.logits = logits});
  const auto of_bool = tensor::summarise({.queries = q, .keys = k, .mask = allowed});
  const auto lowest = std::numeric_limits<float>::lowest();
  const auto added = torch::zeros({2, 1, 6, 6}).masked_fill(allowed.logical_not(), lowest);
  const auto of_sum = tensor::summarise({.queries = q, .keys = k, .mask = added});
  for (const auto& found : {of_bool, of_sum}) {
    CHECK(torch::allclose(found.largest, wanted.largest, 1e-5, 1e-5));
    CHECK(torch::allclose(found.entropy, wanted.entropy, 1e-5, 1e-5));
  }
  const auto all = tensor::summarise({.queries = q, .keys = k});
  CHECK_FALSE(torch::allclose(all.entropy, wanted.entropy, 1e-3, 1e-3));
}

TEST_CASE("a sample has the rows of its places, and of few all are taken") {
  torch::manual_seed(3);
  const auto q = torch::randn({10, 2, 300, 4}), k = torch::randn({10, 2, 300, 4});
  const Attention whole{.queries = q, .keys = k, .causal = true};
  const auto some = tensor::sampled(whole);
  CHECK(some.queries.sizes() == at::IntArrayRef({4, 2, 64, 4}));
  CHECK(some.keys.sizes() == at::IntArrayRef({4, 2, 300, 4}));
  CHECK(some.positions[-1].item<int64_t>() == 299);
  const auto logits = written_out(q, k, true).index_select(0, torch::tensor({1, 4, 6, 9}));
  const auto wanted = tensor::summarise({.logits = logits.index_select(2, some.positions)});
  const auto found = tensor::summarise(some);
  CHECK(torch::allclose(found.largest, wanted.largest, 1e-5, 1e-5));
  CHECK(torch::allclose(found.entropy, wanted.entropy, 1e-5, 1e-5));
  // A mask without the dimensions of sequence and head is that of all.
  const auto allowed = torch::ones({300, 300}, torch::kBool).tril();
  const auto masked =
      tensor::summarise(tensor::sampled({.queries = q, .keys = k, .mask = allowed}));
  CHECK(torch::allclose(masked.entropy, wanted.entropy, 1e-5, 1e-5));
  const auto eager = tensor::sampled({.logits = written_out(q, k, true)});
  CHECK(torch::allclose(tensor::summarise(eager).entropy, wanted.entropy, 1e-5, 1e-5));
  CHECK(tensor::sampled({.queries = q.slice(0, 0, 2).slice(2, 0, 5), .keys = k.slice(0, 0, 2)})
            .queries.sizes() == at::IntArrayRef({2, 2, 5, 4}));
}

TEST_CASE("queries that see one key or none say nothing of entropy, and NaN is told") {
  auto logits = torch::full({1, 1, 2, 3}, kMinusInfinity);
  logits[0][0][0][0] = 2;
  const auto found = tensor::summarise({.logits = logits});
  CHECK(largest(found) == 2);
  CHECK(std::isnan(found.entropy.item<double>()));
  CHECK(std::isnan(largest(tensor::summarise({.logits = logits * std::nan("")}))));
  CHECK(largest(tensor::summarise({.logits = torch::full({1, 1, 1, 2}, kMinusInfinity)})) ==
        kMinusInfinity);
}

TEST_CASE("half precision is summed in float, and what does not fit is refused") {
  torch::manual_seed(4);
  const auto q = torch::randn({1, 2, 8, 4}).to(torch::kBFloat16);
  const auto k = torch::randn({1, 2, 8, 4}).to(torch::kBFloat16);
  const auto half = tensor::summarise({.queries = q, .keys = k});
  const auto full =
      tensor::summarise({.queries = q.to(torch::kFloat), .keys = k.to(torch::kFloat)});
  CHECK(torch::equal(half.largest, full.largest));
  CHECK_THROWS_AS(tensor::sampled({.queries = q, .keys = k.slice(3, 0, 2)}), Error);
  CHECK_THROWS_AS(tensor::sampled({.queries = q, .keys = k.slice(1, 0, 0)}), Error);
  CHECK_THROWS_AS(
      tensor::sampled({.queries = torch::ones({1, 3, 2, 2}), .keys = torch::ones({1, 2, 2, 2})}),
      Error);
  CHECK_THROWS_AS(tensor::sampled({.logits = torch::ones({2, 2})}), Error);
  CHECK_THROWS_AS(tensor::summarise({}), Error);
}
