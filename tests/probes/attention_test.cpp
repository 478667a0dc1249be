// SPDX-License-Identifier: Apache-2.0
#include <torch/types.h>

#include <cmath>

#include "fixture.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;
using testing::emitted;
using testing::value;

namespace {

const std::vector<session::LayerView> kNoLayers;

session::AttentionView view_of(const std::string& name, const at::Tensor& logits) {
  return {name, {.logits = logits}};
}

void observe(session::Probe& probe, const std::vector<session::AttentionView>& attentions) {
  probe.observe({.step = 0, .layers = &kNoLayers, .attentions = &attentions});
}

/// Without random numbers: threads share their generator.
at::Tensor logits_of(double seed, int64_t sequences) {
  return torch::sin(torch::arange(sequences * 2 * 5 * 5, torch::kDouble) * (1.3 + seed))
      .view({sequences, 2, 5, 5});
}

}  // namespace

TEST_CASE("the probe writes the largest logit and the entropies of a window's passes") {
  const auto probe = probes::make_layer_probe("attention");
  const auto a = logits_of(0, 3), b = logits_of(1, 3) * 20;
  observe(*probe, {view_of("attn", a)});
  observe(*probe, {view_of("attn", b)});
  const auto out = emitted(*probe);
  CHECK(value(out, "attention/largest_logit") == torch::maximum(a.max(), b.max()).item<double>());
  const auto entropy = torch::cat({tensor::summarise(tensor::Attention{.logits = a}).entropy,
                                   tensor::summarise(tensor::Attention{.logits = b}).entropy});
  const auto* row = testing::find(out, "attention/entropy");
  CHECK(row->value == Approx(entropy.mean().item<double>()));
  CHECK(row->n == 6);
  CHECK(*row->lower < row->value);
  CHECK(*row->upper > row->value);
  CHECK(value(out, "attention/lowest_entropy") == Approx(entropy.mean(0).min().item<double>()));
  CHECK(emitted(*probe).scalars.empty());
}

TEST_CASE("entropies cover the mean of the sequences in 95 % of draws") {
  // Of 200 draws of 8 sequences fewer than 180 hits have a chance of 0.2 %.
  torch::manual_seed(1);
  const auto draw = [](int64_t sequences) {
    return torch::randn({sequences, 2, 4, 6}) * torch::rand({sequences, 1, 1, 1}).mul(4).exp();
  };
  const double truth =
      tensor::summarise(tensor::Attention{.logits = draw(20000)}).entropy.mean().item<double>();
  int hits = 0;
  for (int i = 0; i < 200; ++i) {
    const auto probe = probes::make_layer_probe("attention");
    observe(*probe, {view_of("attn", draw(8))});
    const auto out = emitted(*probe);
    const auto* row = testing::find(out, "attention/entropy");
    hits += *row->lower <= truth && truth <= *row->upper ? 1 : 0;
  }
  CHECK(hits >= 180);
  CHECK(hits < 200);
}

TEST_CASE("one sequence has no interval, and logits that are NaN say so") {
  const auto probe = probes::make_layer_probe("attention");
  observe(*probe, {view_of("attn", logits_of(0, 1))});
  CHECK_FALSE(testing::find(emitted(*probe), "attention/entropy")->lower);
  observe(*probe, {view_of("attn", logits_of(0, 2) * std::nan(""))});
  const auto out = emitted(*probe);
  CHECK(testing::find(out, "attention/largest_logit")->status == "non_finite");
  CHECK(testing::find(out, "attention/entropy")->status == "non_finite");
}

TEST_CASE("a layer whose heads change is left out with the reason") {
  const auto probe = probes::make_layer_probe("attention");
  observe(*probe, {view_of("attn", logits_of(0, 2)), view_of("other", logits_of(0, 2))});
  observe(*probe, {view_of("attn", logits_of(0, 2).slice(1, 0, 1))});
  const auto out = emitted(*probe);
  CHECK(out.scalars.size() == 3);
  REQUIRE(out.events.size() == 1);
  CHECK(out.events[0].message.find("2 heads has 1") != std::string::npos);
}

TEST_CASE("a restored probe of attention gives the same bits") {
  const auto whole = probes::make_layer_probe("attention");
  const auto second = probes::make_layer_probe("attention");
  {
    const auto first = probes::make_layer_probe("attention");
    observe(*whole, {view_of("attn", logits_of(0, 2))});
    observe(*first, {view_of("attn", logits_of(0, 2))});
    second->load(first->state());
  }
  observe(*whole, {view_of("attn", logits_of(2, 2))});
  observe(*second, {view_of("attn", logits_of(2, 2))});
  const auto a = emitted(*whole), b = emitted(*second);
  REQUIRE(a.scalars.size() == 3);
  for (std::size_t i = 0; i < a.scalars.size(); ++i)
    CHECK(a.scalars[i].value == b.scalars[i].value);
}

TEST_CASE("the sequences of several processes come together") {
  std::vector<store::Snapshot> outs(2);
  testing::in_threads(2, [&](const std::shared_ptr<tensor::Group>& group) {
    const auto probe = probes::make_layer_probe("attention");
    observe(*probe, {view_of("attn", logits_of(group->rank(), 2))});
    probe->emit_with(*group, 1, outs[static_cast<std::size_t>(group->rank())]);
  });
  const auto alone = probes::make_layer_probe("attention");
  observe(*alone, {view_of("attn", logits_of(0, 2)), view_of("attn", logits_of(1, 2))});
  const auto wanted = emitted(*alone);
  REQUIRE(outs[0].scalars.size() + outs[1].scalars.size() == 3);
  const auto& found = outs[0].scalars.empty() ? outs[1] : outs[0];
  for (std::size_t i = 0; i < 3; ++i) CHECK(found.scalars[i].value == wanted.scalars[i].value);
  CHECK(found.scalars[1].n == 4);
}
