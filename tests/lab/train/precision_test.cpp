// SPDX-License-Identifier: Apache-2.0
#include "lab/train/precision.h"

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/nn/tapped_linear.h"
#include "lab/train/batch_pass.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "support/catch.h"
#include "tensor/autocast.h"

using namespace kappascope;
using testing::values;

namespace {

train::TrainConfig config_in(const TemporaryFolder& folder, const char* precision) {
  auto config = testing::language_config(testing::write_text(folder));
  config.precision = precision;
  config.steps = 30;
  config.checkpoint_every = 10;
  return config;
}

struct Outcome {
  at::Tensor weights;
  double scale = 1;
};

Outcome run(const train::TrainConfig& config, const std::filesystem::path& dir, bool resumed) {
  auto task = train::make_task(config);
  const auto checkpoint = resumed ? train::newest_checkpoint(dir) : std::nullopt;
  auto options = testing::all_probes(task);
  probes::TappedSession session(task.model(),
                                resumed ? store::RunWriter::resume(dir, checkpoint->step - 1)
                                        : store::RunWriter::create(dir, {}),
                                probes::standard_probes(task.model(), options));
  if (checkpoint) train::load_checkpoint(*checkpoint, task, session);
  task.config.keep_checkpoints = 0;
  train::train(task, session);
  return {testing::weights(task), task.loss_scale.value()};
}

}  // namespace

TEST_CASE("training in 16 bits learns as in 32, keeps its weights in float, and resumes its bits") {
  const TemporaryFolder folder;
  run(config_in(folder, "float32"), folder.path() / "float32", false);
  const auto want = values(store::RunReader(folder.path() / "float32"), {"loss/train", ""});
  for (const auto* precision : {"bf16", "fp16"}) {
    CAPTURE(precision);
    const auto config = config_in(folder, precision);
    const auto dir = folder.path() / precision;
    const auto whole = run(config, dir, false);
    CHECK(whole.weights.scalar_type() == torch::kFloat);
    const auto found = values(store::RunReader(dir), {"loss/train", ""});
    REQUIRE(found.size() == want.size());
    CHECK(found.front() != want.front());
    // A logit, a sum over 16 products below 1, is rounded by a 256th of itself.
    CHECK(found.front() == Approx(want.front()).epsilon(0.01));
    CHECK(found.back() == Approx(want.back()).epsilon(0.1));
    CHECK_FALSE(
        values(store::RunReader(dir), {"kappa/sigma", "model.layers.0.mlp.down_proj"}).empty());
    std::filesystem::remove(dir / "checkpoints/step-00000030.safetensors");
    std::filesystem::remove(dir / "checkpoints/step-00000020.safetensors");
    const auto again = run(config, dir, true);
    CHECK(torch::equal(again.weights, whole.weights));
    CHECK(again.scale == whole.scale);
  }
}

TEST_CASE("in 16 bits the layers see 16 bits, and a recomputed block the same ones") {
  const TemporaryFolder folder;
  auto config = config_in(folder, "bf16");
  config.dropout = 0.1;
  const auto gradients = [&](bool recompute) {
    config.recompute = recompute;
    auto task = train::make_task(config);
    std::vector<at::ScalarType> seen;
    for (const auto& [name, layer] : nn::find_tapped(task.model()))
      layer->tap.listen([&](const auto& view) { seen.push_back(view.features.scalar_type()); });
    task.model().train();
    train::add_gradients(*task.problem, torch::arange(8), {.autocast = torch::kBFloat16});
    CHECK(seen == std::vector<at::ScalarType>(recompute ? 4 : 2, torch::kBFloat16));
    std::vector<at::Tensor> found;
    for (const auto& parameter : task.model().parameters()) found.push_back(parameter.grad());
    return found;
  };
  const auto kept = gradients(false), again = gradients(true);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    REQUIRE(again[i].defined());
    CHECK(torch::equal(kept[i], again[i]));
  }
  CHECK_FALSE(tensor::Autocast::now(torch::kCPU).has_value());
}

TEST_CASE("a step that overflows is taken again at half the factor, and probes see its own scale") {
  const TemporaryFolder folder;
  const auto config = config_in(folder, "fp16");
  // The gradients at the first factor, and what is left after overflows at a far larger one.
  const auto taken = [&](double scale, const char* name) {
    auto task = train::make_task(config);
    tensor::State state;
    state.set("value", scale);
    state.set("since", std::int64_t{0});
    task.loss_scale.load(state);
    auto options = testing::all_probes(task);
    options.every = options.window = 1;
    options.hessian = false;
    probes::TappedSession session(task.model(),
                                  store::RunWriter::create(folder.path() / name, {}),
                                  probes::standard_probes(task.model(), options));
    task.model().train();
    const auto loss = train::take_gradient(task, torch::arange(8), session);
    double squares = 0;
    for (const auto& parameter : task.model().parameters())
      squares += parameter.grad().to(torch::kDouble).square().sum().item<double>();
    session.step(loss, 0.1);
    session.close();
    const auto variance = values(store::RunReader(folder.path() / name),
                                 {"gradvar/measured", "model.layers.0.mlp.down_proj"});
    REQUIRE(variance.size() == 1);
    return std::tuple(std::sqrt(squares), task.loss_scale.value(), variance.front());
  };
  const auto [norm, scale, variance] = taken(256, "usual");
  const auto [norm_after, scale_after, variance_after] = taken(16777216, "overflow");
  CHECK(scale == 256);
  CHECK(scale_after < 16777216);
  CHECK(norm_after == Approx(norm).epsilon(0.02));
  CHECK(variance_after == Approx(variance).epsilon(0.05));
}

TEST_CASE("the factor of the loss rises after steps without an overflow, and is never below 1") {
  train::LossScale scale("fp16");
  CHECK(scale.value() == 65536);
  for (int step = 0; step < 1999; ++step) scale.taken();
  CHECK(scale.value() == 65536);
  scale.taken();
  CHECK(scale.value() == 131072);
  while (scale.lower()) {
  }
  CHECK(scale.value() == 1);
  train::LossScale constant("bf16");
  CHECK(constant.value() == 1);
  CHECK_FALSE(constant.lower());
  tensor::State state = scale.state();
  state.set("value", 0.5);
  CHECK_THROWS_WITH(scale.load(state), Catch::Contains("factor of the loss is 0.5"));
  CHECK_THROWS_AS(train::low_precision("int8"), UsageError);
  CHECK_THAT(train::precision_in_words("bf16"), Catch::Contains("8e+05"));
  CHECK(train::precision_in_words("float32") == "float32");
}

TEST_CASE("a squared loss of outputs in 16 bits is taken in float") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.loss = "squared";
  for (const auto* precision : {"bf16", "fp16"}) {
    CAPTURE(precision);
    config.precision = precision;
    auto task = train::make_task(config);
    const tensor::Autocast cast(torch::kCPU, train::low_precision(precision));
    const auto rows = torch::arange(16);
    REQUIRE(
        at::isReducedFloatingType(task.problem->outputs(data::Split::kTrain, rows).scalar_type()));
    const auto losses = task.problem->losses(data::Split::kTrain, rows).detach();
    CHECK(losses.scalar_type() == torch::kFloat);
    // None of sixteen is a number of 16 bits, but by chance.
    CHECK(
        losses.to(*train::low_precision(precision)).to(torch::kFloat).ne(losses).sum().item<int>() >
        12);
  }
}
