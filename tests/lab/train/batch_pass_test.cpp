// SPDX-License-Identifier: Apache-2.0
#include "lab/train/batch_pass.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "session/passes.h"
#include "support/catch.h"

using namespace kappascope;
using testing::values;

namespace {

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

std::vector<at::Tensor> gradients(train::Task& task, const at::Tensor& rows, int64_t micro_batch) {
  task.optimizer->zero_grad();
  train::add_gradients(*task.problem, rows, {.micro_batch = micro_batch});
  std::vector<at::Tensor> found;
  for (const auto& parameter : task.model().parameters()) found.push_back(parameter.grad().clone());
  return found;
}

/// Losses and what the probes saw, of a language model in double whose weights were changed by this
/// share at the start.
store::RunReader trained(train::TrainConfig config,
                         const std::filesystem::path& dir,
                         double changed = 0) {
  auto task = train::make_task(config);
  task.model().to(torch::kDouble);
  {
    const torch::NoGradGuard no_grad;
    for (auto& parameter : task.model().parameters())
      parameter.mul_(1 + changed * torch::randn_like(parameter));
  }
  auto options = testing::all_probes(task);
  options.hessian = false;
  probes::TappedSession session(task.model(),
                                store::RunWriter::create(dir, {}),
                                probes::standard_probes(task.model(), options));
  train::train(task, session);
  return store::RunReader(dir);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("gradients of passes of any size add up to those of the batch") {
  const TemporaryFolder folder;
  auto task = train::make_task(testing::language_config(testing::write_text(folder)));
  task.model().to(torch::kDouble);
  task.model().train();
  const auto rows = torch::arange(8);
  // Each entry is a sum over 128 tokens of numbers that are as exact as some hundred operations
  // leave them; where terms cancel, the error is that of the largest entry.
  const double rounding = (128 + 300) * kUnit;
  const auto whole = gradients(task, rows, 0);
  for (const int64_t size : {1, 3, 4, 7}) {
    CAPTURE(size);
    const auto parts = gradients(task, rows, size);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      CHECK((parts[i] - whole[i]).abs().max().item<double>() <=
            rounding * whole[i].abs().max().item<double>());
    }
  }
  // The comparison sees a pass that is weighted as if all were of one size.
  const auto three = gradients(task, rows.narrow(0, 0, 3), 0);
  const auto five = gradients(task, rows.narrow(0, 3, 5), 0);
  CHECK(((three[0] + five[0]) / 2 - whole[0]).abs().max().item<double>() >
        1e6 * rounding * whole[0].abs().max().item<double>());
  CHECK(torch::equal(gradients(task, rows, 8)[0], whole[0]));  // one pass is the same code
}

TEST_CASE("the loss curve and what probes measure are those of the whole batch, to rounding") {
  const TemporaryFolder folder;
  // Letters at random: where few contexts come again and again, features span fewer dimensions than
  // they have, and κ is that of rounding.
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 4000; ++i) text.push_back(static_cast<char>('a' + random() % 26));
  testing::write_bytes(folder.path() / "text.txt", text);
  auto config = testing::language_config(folder.path() / "text.txt");
  config.bias = "post-gating";
  config.learning_rate = 1e-3;
  config.steps = 20;
  config.eval_every = 5;
  const auto whole = trained(config, folder.path() / "whole");
  // How a share by which the weights differ grows in training, from a change that is far above
  // rounding and far below what bends the curve.
  constexpr double kChange = 1e-9;
  const auto shaken = trained(config, folder.path() / "shaken", kChange);
  config.micro_batch = 3;  // 3, 3 and 2 of 8
  const auto parts = trained(config, folder.path() / "parts");
  // Every step's update is off by the rounding of its gradient, as derived above, relative to
  // itself: less than the same share of the weights.
  const double share = (128 + 300) * kUnit * static_cast<double>(config.steps);
  for (const auto& key : whole.series()) {
    if (key.name.rfind("cost/", 0) == 0 || key.name.starts_with("memory/")) continue;
    CAPTURE(key.name, key.layer);
    const auto a = values(whole, key), b = values(parts, key), c = values(shaken, key);
    double scale = 0;
    for (const double value : a) scale = std::max(scale, std::abs(value));
    double tolerance = std::max(largest_difference(a, c) / kChange, scale) * 10 * share;
    // The smallest eigenvalue of sums over 512 rows is off by their rounding of the largest.
    if (key.name.starts_with("kappa/")) tolerance += scale * scale * 512 * kUnit;
    // Learning times rest on (M + λ)⁻¹ from products of float, down to λ of a ten-thousandth of
    // λmax.
    if (key.name.starts_with("learning/")) tolerance += scale * 1e4 * 0x1p-24;
    CHECK(largest_difference(a, b) <= tolerance);
  }
  REQUIRE(values(whole, {"loss/train", ""}).size() == 20);
  // Each token once: a window has four steps of eight windows of sixteen tokens.
  const std::string layer = "model.layers.1.mlp.down_proj";
  const auto rows = parts.scalars({"kappa/sigma", layer});
  REQUIRE_FALSE(rows.empty());
  for (const auto& row : rows) CHECK(*row.scalar.n == 4 * 8 * 16);
  CHECK_FALSE(values(parts, {"gradvar/measured", layer}).empty());
}

TEST_CASE("a run in passes resumes to the same bits, dropout on, and evaluates in passes") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.attack_rows = 50;
  const auto run = [&](const char* name, bool resumed) {
    const auto dir = folder.path() / name;
    auto task = train::make_task(config);
    const auto checkpoint = resumed ? train::newest_checkpoint(dir) : std::nullopt;
    probes::TappedSession session(task.model(),
                                  resumed ? store::RunWriter::resume(dir, checkpoint->step - 1)
                                          : store::RunWriter::create(dir, {}),
                                  probes::standard_probes(task.model(), testing::all_probes(task)));
    if (checkpoint) {
      train::load_checkpoint(*checkpoint, task, session);
      CHECK(checkpoint->step == 21);
    }
    task.config.keep_checkpoints = 0;
    train::train(task, session);
    return testing::weights(task);
  };
  config.micro_batch = 7;
  const auto weights = run("parts", false);
  for (const int64_t step : {28, 35, 40}) {
    std::filesystem::remove(folder.path() / "parts" / "checkpoints" /
                            fmt::format("step-{:08}.safetensors", step));
  }
  CHECK(torch::equal(run("parts", true), weights));

  const auto evaluated = [&](int64_t micro_batch) {
    config.micro_batch = micro_batch;
    return train::make_task(config).problem->evaluate(config.batch);
  };
  const auto whole = evaluated(0), parts = evaluated(7);
  REQUIRE(whole.size() == 5);
  // A mean in double of losses that are exact to the rounding of float.
  CHECK(parts[0].value == Approx(whole[0].value).epsilon(1e-6));
  for (std::size_t i = 1; i < whole.size(); ++i) CHECK(parts[i].value == whole[i].value);
}

TEST_CASE("the gradient's norm is right for a matrix of many millions") {
  // Floats that are summed one after another lose 0.4 % of it.
  constexpr int64_t kMany = 50'000'000;
  torch::manual_seed(1);
  torch::nn::Linear layer(torch::nn::LinearOptions(1, kMany).bias(false));
  layer->weight.mutable_grad() = torch::randn({kMany, 1});
  double sum = 0;
  for (const auto& piece : layer->weight.grad().split(1 << 20))
    sum += piece.to(torch::kDouble).square().sum().item<double>();
  CHECK(train::gradient_norm(*layer) == Approx(std::sqrt(sum)).epsilon(1e-5));
}
