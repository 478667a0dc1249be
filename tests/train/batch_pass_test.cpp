// SPDX-License-Identifier: Apache-2.0
#include "kappascope/train/batch_pass.h"

#include <fmt/format.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <utility>

#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/core/temporary_folder.h"
#include "kappascope/session/passes.h"
#include "kappascope/train/checkpoint.h"
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
  train::TappedSession session(task.model(),
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

/// A problem for whose passes there is memory up to a number of rows.
class Tight final : public train::Problem {
 public:
  Tight(std::unique_ptr<train::Problem> inner, int64_t most, bool on_host)
      : inner_(std::move(inner)), most_(most), on_host_(on_host) {}
  [[nodiscard]] torch::nn::Module& model() override { return inner_->model(); }
  [[nodiscard]] int64_t rows(data::Split split) const override { return inner_->rows(split); }
  [[nodiscard]] std::string unit() const override { return inner_->unit(); }
  [[nodiscard]] at::Tensor losses(data::Split split, const at::Tensor& rows) override {
    if (rows.numel() > most_) {
      if (!on_host_) throw std::bad_alloc();
      return torch::empty({int64_t{1} << 50}, torch::kByte);  // LibTorch's own refusal
    }
    return inner_->losses(split, rows);
  }
  [[nodiscard]] at::Tensor outputs(data::Split split, const at::Tensor& rows) override {
    return inner_->outputs(split, rows);
  }
  [[nodiscard]] std::vector<store::Scalar> evaluate(int64_t share) override {
    return inner_->evaluate(share);
  }

 private:
  std::unique_ptr<train::Problem> inner_;
  int64_t most_;
  bool on_host_;
};

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
    if (key.name.rfind("cost/", 0) == 0 || key.name == "memory/training") continue;
    CAPTURE(key.name, key.layer);
    const auto a = values(whole, key), b = values(parts, key), c = values(shaken, key);
    double scale = 0;
    for (const double value : a) scale = std::max(scale, std::abs(value));
    double tolerance = std::max(largest_difference(a, c) / kChange, scale) * 10 * share;
    // The smallest eigenvalue of sums over 512 rows is off by their rounding of the largest.
    if (key.name.starts_with("kappa/")) tolerance += scale * scale * 512 * kUnit;
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
    train::TappedSession session(task.model(),
                                 resumed ? store::RunWriter::resume(dir, checkpoint->step - 1)
                                         : store::RunWriter::create(dir, {}),
                                 probes::standard_probes(task.model(), testing::all_probes(task)));
    if (checkpoint) {
      train::load_checkpoint(*checkpoint, task, session);
      CHECK(checkpoint->step == 21);
    }
    train::TrainOptions options;
    options.keep_checkpoints = 99;
    train::train(task, session, options);
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

TEST_CASE("a batch that does not fit is named with the size that does") {
  const TemporaryFolder folder;
  auto config = testing::language_config(testing::write_text(folder));
  const auto rows = torch::arange(8);
  int runs = 0;
  const auto take = [&](int64_t most, int64_t micro_batch, bool on_host) {
    auto task = train::make_task(config);
    task.config.micro_batch = micro_batch;
    task.problem = std::make_unique<Tight>(std::move(task.problem), most, on_host);
    train::TappedSession session(
        task.model(),
        store::RunWriter::create(folder.path() / std::to_string(++runs), {}),
        probes::standard_probes(task.model(), testing::all_probes(task)));
    try {
      return train::take_gradient(task, rows, session);
    } catch (const Error&) {
      CHECK(session.passes()->empty());
      throw;
    }
  };
  for (const bool on_host : {true, false}) {
    CHECK_THROWS_WITH(take(3, 0, on_host),
                      Catch::Contains("a pass of 8 windows does not fit") &&
                          Catch::Contains("train.micro-batch = 2"));
    CHECK_THROWS_WITH(take(3, 4, on_host), Catch::Contains("a pass of 4 windows"));
    CHECK(std::isfinite(take(3, 3, on_host)));
    CHECK_THROWS_WITH(take(0, 0, on_host),
                      Catch::Contains("not even one of the windows does: train.recompute = true, "
                                      "train.logit-rows = 256, or a smaller model takes less"));
  }
  // A batch without parts is not tried in parts, though some would fit.
  config.transformer.norm = "batch";
  CHECK_THROWS_WITH(take(3, 0, true),
                    Catch::Contains("; train.logit-rows = 256, a smaller train.batch, or a smaller "
                                    "model takes less"));
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

TEST_CASE("what cannot be parted is shared by no processes") {
  train::TrainConfig config;
  config.batch = 8;
  REQUIRE_NOTHROW(config.require_shared_by(8));
  CHECK_THROWS_WITH(config.require_shared_by(11),
                    Catch::Contains("a batch of 8 does not reach for 11 processes"));
  config.kind = "vit-vae";
  REQUIRE_NOTHROW(config.require_shared_by(1));
  CHECK_THROWS_WITH(config.require_shared_by(2),
                    Catch::Contains("several processes needs a loss that is a mean over rows"));
  config.kind = "language";
  config.transformer.norm = "batch";
  CHECK_THROWS_WITH(config.require_shared_by(2), Catch::Contains("model.norm = batch"));
  // What is advised is what is accepted.
  CHECK_FALSE(config.can_recompute());
  config.recompute = true;
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("train.recompute does not go"));
}

TEST_CASE("micro-batches are refused where their gradients do not add up") {
  train::TrainConfig config;
  config.micro_batch = 64;
  REQUIRE_NOTHROW(config.validate());
  config.micro_batch = config.batch + 1;
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("0 to train.batch"));
  config.micro_batch = 64;
  config.kind = "vit-vae";
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("mean over rows"));
  config.kind = "language";
  config.transformer.norm = "batch";
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("model.norm = batch"));
}

TEST_CASE("recomputed blocks and logits in pieces train as the whole does") {
  const TemporaryFolder folder;
  auto config = testing::language_config(testing::write_text(folder));
  config.bias = "post-gating";
  config.dropout = 0.1;
  config.steps = 12;
  config.eval_every = 4;
  const auto run = [&](const char* name) {
    auto task = train::make_task(config);
    auto options = testing::all_probes(task);
    options.every = 4;
    train::TappedSession session(task.model(),
                                 store::RunWriter::create(folder.path() / name, {}),
                                 probes::standard_probes(task.model(), options));
    train::train(task, session);
    return testing::weights(task);
  };
  const auto weights = run("whole");
  config.recompute = true;
  CHECK(torch::equal(run("recomputed"), weights));
  config.recompute = false;
  config.logit_rows = 50;
  run("pieces");
  const auto gradients = [&] {
    auto task = train::make_task(config);
    train::add_gradients(*task.problem, torch::arange(8));
    std::vector<at::Tensor> all;
    for (const auto& parameter : task.model().parameters()) all.push_back(parameter.grad());
    return all;
  };
  const auto in_pieces = gradients();
  config.logit_rows = 0;
  const auto at_once = gradients();
  // Float sums over 128 tokens and 256 words in another order.
  for (std::size_t i = 0; i < at_once.size(); ++i) {
    CHECK((in_pieces[i] - at_once[i]).abs().max().item<double>() <
          1e-5 * at_once[i].abs().max().item<double>());
  }
  const store::RunReader whole(folder.path() / "whole"), again(folder.path() / "recomputed"),
      pieces(folder.path() / "pieces");
  for (const auto& key : whole.series()) {
    if (key.name.rfind("cost/", 0) == 0 || key.name == "memory/training") continue;
    CAPTURE(key.name, key.layer);
    CHECK(values(again, key) == values(whole, key));
  }
  const auto first = [](const store::RunReader& of, const char* name) {
    return values(of, {name, ""}).front();
  };
  CHECK(first(pieces, "loss/train") == Approx(first(whole, "loss/train")).epsilon(1e-6));
  CHECK(first(pieces, "gradient_norm") == Approx(first(whole, "gradient_norm")).epsilon(1e-5));
  CHECK(values(pieces, {"loss/test", ""}).back() ==
        Approx(values(whole, {"loss/test", ""}).back()).epsilon(1e-3));
}

TEST_CASE("settings that save memory are refused where they do not apply") {
  train::TrainConfig config;
  config.recompute = true;
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("train.recompute has no effect"));
  config.kind = "language";
  REQUIRE_NOTHROW(config.validate());
  config.transformer.norm = "batch";
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("model.norm = batch"));
  config = {};
  config.logit_rows = 10;
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("train.logit-rows has no effect"));
}
