// SPDX-License-Identifier: Apache-2.0
#include "lab/train/config.h"

#include <limits>

#include "kappascope/core/error.h"
#include "support/catch.h"

using namespace kappascope;
using train::TrainConfig;

namespace {

std::string refusal_of(const TrainConfig& config) {
  try {
    config.validate();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the defaults are valid, and each wrong option is named") {
  REQUIRE_NOTHROW(TrainConfig().validate());
  const auto broken = [](auto change) {
    TrainConfig config;
    change(config);
    return refusal_of(config);
  };
  CHECK_THAT(broken([](auto& c) { c.width = 0; }), Catch::Contains("model.width"));
  CHECK_THAT(broken([](auto& c) { c.hidden = -1; }), Catch::Contains("model.hidden"));
  CHECK_THAT(broken([](auto& c) { c.learning_rate = -0.1; }),
             Catch::Contains("train.learning-rate"));
  CHECK_THAT(broken([](auto& c) { c.learning_rate = std::numeric_limits<double>::quiet_NaN(); }),
             Catch::Contains("positive"));
  CHECK_THAT(broken([](auto& c) { c.dropout = 1; }), Catch::Contains("model.dropout"));
  CHECK_THAT(broken([](auto& c) { c.bias = "pgb"; }), Catch::Contains("post-gating"));
  CHECK_THAT(broken([](auto& c) { c.bias_start = "far"; }), Catch::Contains("model.bias-start"));
  CHECK_THAT(broken([](auto& c) {
               c.bias = "output";
               c.bias_start = "mean";
             }),
             Catch::Contains("model.bias is output"));
  CHECK_THAT(broken([](auto& c) { c.loss = "mse"; }), Catch::Contains("cross-entropy, squared"));
  CHECK_THAT(broken([](auto& c) { c.momentum = 0.9; }), Catch::Contains("sgd"));
  CHECK_THAT(broken([](auto& c) { c.batch = 0; }), Catch::Contains("train.batch"));
  CHECK_THAT(broken([](auto& c) { c.epochs = 0; }), Catch::Contains("train.epochs"));
  CHECK_THAT(broken([](auto& c) { c.kind = "cnn"; }), Catch::Contains("model.kind"));
  CHECK_THAT(broken([](auto& c) { c.transformer.layout = "gpt"; }),
             Catch::Contains("model.layout"));
  CHECK_THAT(broken([](auto& c) { c.transformer.attention_bias = "x"; }), Catch::Contains("'x'"));
  CHECK_THAT(broken([](auto& c) { c.attack_rows = -1; }), Catch::Contains("attack.rows"));
  CHECK_THAT(broken([](auto& c) { c.ball = "sphere"; }), Catch::Contains("'sphere'"));
  CHECK_THAT(broken([](auto& c) { c.units = "metres"; }), Catch::Contains("pixels, inputs"));
}

TEST_CASE("a setting that the configuration does not read is refused") {
  const auto told = [](const char* kind, const char* ffn, auto change) {
    TrainConfig config;
    config.kind = kind;
    config.ffn = ffn;
    change(config);
    return refusal_of(config);
  };
  const auto alpha = [](auto& c) { c.transformer.alpha = 1; };
  CHECK_THAT(told("language", "swiglu", alpha), Catch::Contains("model.alpha has no effect"));
  CHECK(told("language", "asger", alpha) == "accepted");
  const auto norm = [](auto& c) { c.transformer.norm = "layer"; };
  CHECK_THAT(told("mlp", "", norm), Catch::Contains("model.norm has no effect"));
  CHECK(told("language", "", norm) == "accepted");
  const auto preset = [](auto& c) {
    c.transformer.preset = "qwen3-small";
    c.width = 96;
  };
  CHECK_THAT(told("language", "", preset), Catch::Contains("model.width has no effect"));
  const auto cut = [](auto& c) { c.transformer.preset_blocks = 2; };
  CHECK_THAT(told("language", "", cut), Catch::Contains("model.preset-blocks has no effect"));
  const auto cut_preset = [](auto& c) {
    c.transformer.preset = "qwen3-small";
    c.transformer.preset_blocks = 2;
  };
  CHECK(told("language", "", cut_preset) == "accepted");
  const auto too_many = [](auto& c) {
    c.transformer.preset = "qwen3-small";
    c.transformer.preset_blocks = 5;
  };
  CHECK_THAT(told("language", "", too_many),
             Catch::Contains("0 (all) to 4, which qwen3-small has"));
  const auto squared = [](auto& c) { c.loss = "squared"; };
  CHECK_THAT(told("vit-vae", "", squared), Catch::Contains("train.loss has no effect"));
  CHECK(told("mlp", "", squared) == "accepted");
  const auto normalised = [](auto& c) { c.normalise = true; };
  CHECK_THAT(told("vit-vae", "", normalised), Catch::Contains("data.normalise has no effect"));
  CHECK(told("mlp", "", normalised) == "accepted");
  const auto units = [](auto& c) { c.units = "inputs"; };
  CHECK_THAT(told("mlp", "", units), Catch::Contains("attack.units has no effect"));
  CHECK(told("mlp", "", [&](auto& c) {
          c.attack_rows = 10;
          c.normalise = true;
          units(c);
        }) == "accepted");
}

TEST_CASE("the learning rate warms up linearly, then falls along half a cosine to its floor") {
  TrainConfig config;
  config.learning_rate = 2;
  config.final_learning_rate = 0.1;
  config.warmup = 4;
  CHECK(learning_rate_at(config, 0, 105) == Approx(0.5));
  CHECK(learning_rate_at(config, 3, 105) == Approx(2));
  CHECK(learning_rate_at(config, 4, 105) == Approx(2));
  CHECK(learning_rate_at(config, 54, 105) == Approx(1.1));
  CHECK(learning_rate_at(config, 104, 105) == Approx(0.2));
  config.schedule = "constant";
  CHECK(learning_rate_at(config, 104, 105) == 2);
}

TEST_CASE("the model and the optimiser are told in a few words") {
  TrainConfig config;
  CHECK(train::model_in_words(config) == "gated MLP, swiglu, 2 blocks of 64 to 128");
  CHECK(train::optimizer_in_words(config) == "adam");
  config.kind = "language";
  config.optimizer = "sgd";
  CHECK(train::model_in_words(config) == "language model (qwen3), 2 blocks of 64 to 128");
  CHECK(train::optimizer_in_words(config) == "sgd");  // by this word the report knows its limit
  config.momentum = 0.9;
  config.transformer.preset = "qwen3-134m";
  CHECK(train::model_in_words(config) == "qwen3-134m");
  config.transformer.preset_blocks = 2;
  CHECK(train::model_in_words(config) == "qwen3-134m, the first 2 blocks");
  CHECK(train::optimizer_in_words(config) == "sgd, momentum 0.9");
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
