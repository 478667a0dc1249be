// SPDX-License-Identifier: Apache-2.0
#include "tensor/magnitudes.h"

#include <torch/types.h>

#include "fixture.h"
#include "support/catch.h"

using namespace kappascope;
using testing::emitted;
using testing::value;

namespace {

/// Sequences of 8 tokens.
session::LayerView view_of(int64_t sequences, int64_t d) {
  auto view = testing::view_of(torch::randn({8 * sequences, d}, torch::kDouble));
  view.rows_per_group = 8;
  return view;
}

}  // namespace

TEST_CASE("the probe writes the sizes of its window's rows, and the largest of all of them") {
  torch::manual_seed(1);
  const auto first = view_of(20, 40), second = view_of(20, 40);
  const auto probe = probes::make_layer_probe("magnitudes");
  testing::observe(*probe, first);
  testing::observe(*probe, second);
  const auto out = emitted(*probe);
  const auto rows = torch::cat({first.features, second.features});
  const double largest = rows.abs().max().item<double>();
  const auto found = tensor::magnitudes(rows, std::vector<int64_t>(40, 8), largest);
  CHECK(value(out, "magnitude/largest") == largest);
  CHECK(value(out, "magnitude/median") == found.median.value);
  CHECK(value(out, "magnitude/p99") == found.p99.value);
  CHECK(value(out, "magnitude/channel_kurtosis") == found.channel_kurtosis.value);
  CHECK(value(out, "magnitude/zeros") == found.zeros.value);
  CHECK(value(out, "magnitude/lost_e4m3") == found.lost_e4m3.value);
  CHECK(value(out, "magnitude/lost_e5m2") == found.lost_e5m2.value);
  CHECK(value(out, "magnitude/lost_mxfp8") == found.lost_mxfp8.value);
  const auto* p99 = testing::find(out, "magnitude/p99");
  CHECK(*p99->lower == found.p99.lower);
  CHECK(*p99->upper == found.p99.upper);
  CHECK(*p99->n == 320);
  CHECK(*p99->n_effective == 40);
  CHECK(emitted(*probe).scalars.empty());
}

TEST_CASE("of many rows a sample is kept, but the largest value is of all") {
  torch::manual_seed(2);
  auto view = view_of(4000, 4);
  view.features[17][2] = -1000;
  const auto probe = probes::make_layer_probe("magnitudes");
  testing::observe(*probe, view);
  const auto out = emitted(*probe);
  CHECK(value(out, "magnitude/largest") == 1000);
  CHECK(*testing::find(out, "magnitude/median")->n <= 4096);
}

TEST_CASE("a channel is dead that is zero in all rows of the window, in a sample or not") {
  torch::manual_seed(4);
  auto first = view_of(2000, 5), second = view_of(2000, 5);
  for (auto* view : {&first, &second})
    for (const int64_t channel : {0, 3}) view->features.select(1, channel).zero_();
  const auto probe = probes::make_layer_probe("magnitudes");
  testing::observe(*probe, first);
  testing::observe(*probe, second);
  CHECK(value(emitted(*probe), "features/dead") == 2);
  testing::observe(*probe, first);
  second.features[15'999][3] = -1e-30;
  testing::observe(*probe, second);
  CHECK(value(emitted(*probe), "features/dead") == 1);
}

TEST_CASE("rows that a mask leaves out count for nothing") {
  torch::manual_seed(3);
  auto view = view_of(10, 4);
  view.mask = torch::ones({80}, torch::kBool);
  view.mask[5] = false;
  view.features[5][0] = 1000;
  const auto probe = probes::make_layer_probe("magnitudes");
  testing::observe(*probe, view);
  CHECK(value(emitted(*probe), "magnitude/largest") < 10);
}

TEST_CASE("a layer of zeros has no shares, and one of NaN says so") {
  const auto probe = probes::make_layer_probe("magnitudes");
  auto view = testing::view_of(torch::zeros({20, 4}));
  testing::observe(*probe, view);
  auto out = emitted(*probe);
  CHECK(value(out, "magnitude/zeros") == 1);
  CHECK(value(out, "features/dead") == 4);
  CHECK(testing::find(out, "magnitude/lost_e4m3")->status == "undefined");
  CHECK(testing::find(out, "magnitude/channel_kurtosis")->status == "undefined");
  view.features[3][1] = NAN;
  testing::observe(*probe, view);
  out = emitted(*probe);
  CHECK(testing::find(out, "magnitude/largest")->status == "non_finite");
  CHECK(value(out, "features/dead") == 3);  // what is no number is not zero
  CHECK(*testing::find(out, "magnitude/zeros")->n == 19);
}

TEST_CASE("a restored probe of sizes gives the same bits") {
  torch::manual_seed(5);
  const auto first = view_of(300, 6), second = view_of(300, 6);
  const auto whole = probes::make_layer_probe("magnitudes");
  const auto begun = probes::make_layer_probe("magnitudes");
  const auto restored = probes::make_layer_probe("magnitudes");
  for (auto* probe : {whole.get(), begun.get()}) testing::observe(*probe, first);
  testing::carry_over(*begun, *restored);
  for (auto* probe : {whole.get(), restored.get()}) testing::observe(*probe, second);
  const auto expected = emitted(*whole), found = emitted(*restored);
  REQUIRE(expected.scalars.size() == 9);
  for (const auto& scalar : expected.scalars) CHECK(value(found, scalar.name) == scalar.value);
}
