// SPDX-License-Identifier: Apache-2.0
#include "lab/train/plan/plan.h"

#include <torch/nn/module.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "kappascope/store/schema/layer_probes.h"
#include "lab/train/batch_pass.h"
#include "support/catch.h"
#include "tensor/allocations.h"

using namespace kappascope;

namespace {

/// Bytes at the peak of a step's gradient beyond weights and gradients, as they are.
double measured(const train::TrainConfig& config) {
  auto task = train::make_task(config);
  task.model().train();
  const auto rows = torch::arange(config.batch);
  const train::PassOptions options{config.micro_batch, train::low_precision(config.precision)};
  train::add_gradients(*task.problem, rows, options);
  const tensor::Allocations counted;
  train::add_gradients(*task.problem, rows, options);
  return static_cast<double>(counted.peak());
}

double planned(const train::Plan& plan) {
  return plan.memory.activations + std::max(plan.memory.workspace, plan.memory.logits);
}

train::PlanOptions on_device() {
  train::PlanOptions options;
  options.device = "a100";
  return options;
}

}  // namespace

TEST_CASE("a plan's activations are those of the step, for every model and way to save memory") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  std::vector<std::pair<std::string, train::TrainConfig>> configs;
  auto language = testing::language_config(testing::write_text(folder));
  language.width = 32;
  language.hidden = 80;
  language.blocks = 6;
  language.context = 64;
  configs.emplace_back("language", language);
  auto changed = language;
  changed.recompute = true;
  configs.emplace_back("recomputed", changed);
  changed = language;
  changed.logit_rows = 32;
  configs.emplace_back("logits in pieces", changed);
  changed = language;
  changed.micro_batch = 2;
  configs.emplace_back("micro-batches", changed);
  changed = language;
  changed.precision = "bf16";
  configs.emplace_back("bf16", changed);
  changed = language;
  changed.ffn = "asger";
  changed.transformer.layout = "gemma3";
  changed.transformer.window = 16;
  changed.transformer.global_every = 3;
  configs.emplace_back("local", changed);
  changed = language;
  changed.transformer.fused_attention = false;
  configs.emplace_back("written-out attention", changed);
  auto mlp = testing::small_config(folder.path() / "data");
  mlp.hidden = 64;
  configs.emplace_back("mlp", mlp);
  auto vae = mlp;
  vae.kind = "vit-vae";
  vae.width = 16;
  vae.transformer.patch = 3;
  vae.transformer.heads = 2;
  configs.emplace_back("vit-vae", vae);
  for (const auto& [name, config] : configs) {
    CAPTURE(name);
    const auto plan = train::make_plan(config, on_device());
    const auto model = train::make_problem(config);
    int64_t parameters = 0;
    for (const auto& parameter : model->model().parameters()) parameters += parameter.numel();
    CHECK(plan.parameters == parameters);
    CHECK(plan.memory.weights == 4.0 * static_cast<double>(parameters));
    // Masks, positions, ids and what the embedding and the last norm work with are not counted one
    // by one.
    CHECK(planned(plan) == Approx(measured(config)).epsilon(0.25));
  }
}

TEST_CASE("no part of a classifier's memory is less than nothing, whatever its sizes") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  std::mt19937 random(1);
  const auto drawn = [&](double low, double high) {
    return static_cast<int64_t>(
        std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random)));
  };
  for (int draw = 0; draw < 12; ++draw) {
    auto config = testing::small_config(folder.path() / "data");
    config.width = drawn(4, 200);
    config.hidden = drawn(4, 200);
    config.blocks = drawn(1, 5);
    config.batch = drawn(1, 64);
    CAPTURE(draw, config.width, config.hidden, config.blocks, config.batch);
    const auto memory = train::make_plan(config, on_device()).memory;
    for (const double part : {memory.weights,
                              memory.gradients,
                              memory.optimizer,
                              memory.activations,
                              memory.workspace,
                              memory.logits,
                              memory.probes})
      CHECK(part >= 0);
  }
}

TEST_CASE("a plan counts what a window holds for the probes that run") {
  const TemporaryFolder folder;
  auto config = testing::language_config(testing::write_text(folder));
  const auto held = [&](const std::vector<std::string>& on) {
    auto options = on_device();
    for (const auto& probe : store::layer_probes())
      options.probes.layer_probes.set(probe.name, false);
    for (const auto& name : on) options.probes.layer_probes.set(name, true);
    return train::make_plan(config, options).memory.probes;
  };
  config.micro_batch = config.batch / 2;
  CHECK(held({}) == 0);
  // The rows of a step, all of which are features of every layer, in float.
  const double rows = static_cast<double>(config.batch * config.context), hidden = 24, width = 16;
  const double blocks = static_cast<double>(config.blocks);
  REQUIRE(config.hidden == hidden);
  REQUIRE(config.width == width);
  const double features = 4 * blocks * rows * hidden;
  const double sample = 4 * blocks * std::min(4 * rows, 1024.0) * hidden;
  const double moments = 8 * blocks * hidden * hidden, gradients = 4 * blocks * rows * width;
  CHECK(held({"intercept"}) == features);
  CHECK(held({"learning"}) == features + sample);
  CHECK(held({"features"}) == features + moments);
  CHECK(held({"gradient_variance"}) == features + gradients);
  CHECK(held({"learning", "features", "intercept", "gradient_variance"}) ==
        features + sample + moments + gradients);
  config.micro_batch = 0;
  CHECK(held({"intercept"}) == 0);
}

TEST_CASE("a plan counts operations, steps and bytes as the model has them") {
  const TemporaryFolder folder;
  auto config = testing::language_config(testing::write_text(folder));
  config.transformer.layout = "llama";
  const auto plan = train::make_plan(config, on_device());
  // Products of matrices: 4 of 16 x 16 and 3 of 16 x 24 a block, the head of 16 x 256; queries with
  // keys and weights with values over 8.5 tokens on average; three times, forward and backward.
  const double a_token = 2 * (2 * (4 * 16 * 16 + 3 * 16 * 24) + 16 * 256) + 2 * 4 * 8.5 * 16;
  CHECK(plan.tokens_per_step == 8 * 16);
  CHECK(plan.flop_per_step == Approx(3 * a_token * 8 * 16));
  CHECK(plan.steps == 60);
  CHECK(plan.memory.optimizer == 2 * plan.memory.weights);
  CHECK(plan.checkpoint_bytes == 3 * 3 * plan.memory.weights);
  CHECK(plan.checkpoint_peak == 4 * 3 * plan.memory.weights);
  // A device that is not here is not timed.
  CHECK(plan.seconds_per_step == 0);
  CHECK_THAT(plan.basis, Catch::Contains("a100"));
  CHECK(plan.room == 80e9);
  // Epochs are steps by the rows of the data.
  config.steps = 0;
  config.epochs = 2;
  CHECK(train::make_plan(config, on_device()).steps == 2 * (224 / 8));
  // Here, three passes are timed.
  const auto here = train::make_plan(config);
  CHECK(here.seconds_per_step > 0);
  CHECK_THAT(here.basis, Catch::Contains("three passes"));
}

TEST_CASE("a plan of a model that is too large to be measured takes no memory") {
  const tensor::Allocations counted;
  train::TrainConfig config;
  config.data = "/nowhere/images";
  config.steps = 10;
  config.width = 1'000'000;
  config.hidden = 256;
  CHECK_THROWS_WITH(train::make_plan(config, {}),
                    Catch::Contains("measures the model") && Catch::Contains("smaller width") &&
                        Catch::Contains("up to 2.68e+08"));
  config.kind = "language";
  config.width = 100'000;
  config.hidden = 400'000;
  CHECK_THROWS_WITH(train::make_plan(config, {}), Catch::Contains("measures one block"));
  CHECK(counted.peak() < 1 << 20);
}

TEST_CASE("a plan warns of what cannot work, with the size that would") {
  train::TrainConfig config;
  config.kind = "language";
  config.data = "/nowhere/fineweb";
  config.vocabulary = 27008;
  config.context = 1024;
  config.width = 64;
  config.hidden = 128;
  config.batch = 2048;
  config.steps = 10;
  const auto plan = train::make_plan(config, on_device());
  const auto said = [](const train::Plan& of) {
    std::string all;
    for (const auto& warning : of.warnings) all += warning + "\n";
    return all;
  };
  CHECK_THAT(said(plan), Catch::Contains("the data (/nowhere/fineweb) are not here"));
  CHECK_THAT(said(plan), Catch::Contains("train.logit-rows"));
  REQUIRE(plan.rows_that_fit > 0);
  CHECK_THAT(said(plan),
             Catch::Contains(fmt::format("train.micro-batch = {} fits", plan.rows_that_fit)));
  config.micro_batch = plan.rows_that_fit;
  auto options = on_device();
  CHECK(train::make_plan(config, options).memory.total() <= 80e9);
  ++config.micro_batch;
  CHECK(train::make_plan(config, options).memory.total() > 80e9);
  CHECK_THAT(train::to_text(plan), Catch::Contains("logits") && Catch::Contains("warning"));
  CHECK_THAT(said(plan), !Catch::Contains("a Hessian window"));
  options.hessian_rows = 512;
  options.hessian_vectors = 80;
  CHECK_THAT(said(train::make_plan(config, options)),
             Catch::Contains("the graph of 512 rows, and up to 80 vectors of"));
  // Pieces of logits help no pass that is shorter than they are, nor a few rows of a wide
  // vocabulary.
  auto few = config;
  few.batch = 1;
  few.micro_batch = 0;
  few.context = 512;
  CHECK_THAT(said(train::make_plan(few, on_device())), !Catch::Contains("train.logit-rows"));
  // The first devices have one row more.
  few.batch = 9;
  auto two = on_device();
  two.devices = 2;
  auto five = few;
  five.batch = 5;
  CHECK(train::make_plan(few, two).memory.activations ==
        train::make_plan(five, on_device()).memory.activations);
  few.batch = 1;
  CHECK_THROWS_WITH(train::make_plan(few, two), Catch::Contains("for 2 processes"));
  config.steps = 0;
  CHECK_THROWS_WITH(train::make_plan(config, on_device()), Catch::Contains("--plan-rows"));
  options.rows = 1000;
  CHECK_THROWS_WITH(train::make_plan(config, options), Catch::Contains("only 1000"));
  options.rows = 4096;
  CHECK(train::make_plan(config, options).steps == 2);
  options.device = "abacus";
  CHECK_THROWS_WITH(train::make_plan(config, options), Catch::Contains("h200, h100, a100"));
}

TEST_CASE("a plan has the rows that training has") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.steps = 0;
  config.epochs = 3;
  for (const int64_t rows : {int64_t{0}, 2 * config.batch}) {
    config.rows = rows;
    CHECK(train::make_plan(config, on_device()).steps == train::make_task(config).steps);
  }
  config.rows = config.batch - 1;
  CHECK_THROWS_WITH(train::make_plan(config, on_device()), Catch::Contains("training rows"));
  config.rows = 0;
  config.device = "cuda";
  CHECK(train::make_plan(config, on_device()).warnings.empty());
  const auto warnings = train::make_plan(config).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("--plan-device"));
}
