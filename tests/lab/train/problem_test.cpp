// SPDX-License-Identifier: Apache-2.0
#include "lab/train/problems/problem.h"

#include <torch/types.h>

#include <cmath>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "support/catch.h"
#include "support/emitted.h"

using namespace kappascope;
using data::Split;

TEST_CASE("a language model has one loss a token, the cross entropy of its outputs, and learns") {
  const TemporaryFolder folder;
  auto task = train::make_task(testing::language_config(testing::write_text(folder)));
  auto& problem = *task.problem;
  const auto rows = torch::tensor({3, 0});
  task.model().eval();
  const auto losses = problem.losses(Split::kTrain, rows);
  REQUIRE(losses.sizes() == at::IntArrayRef({2, 16}));
  const auto outputs = problem.outputs(Split::kTrain, rows);
  REQUIRE(outputs.sizes() == at::IntArrayRef({32, 256}));
  // Window 3, token 5 predicts the text's byte 3 · 16 + 6.
  const int target = 'a' + 54 * 54 % 7;
  const auto log_p = torch::log_softmax(outputs[16 * 0 + 5], -1);
  CHECK(losses[0][5].item<double>() == Approx(-log_p[target].item<double>()));
  CHECK(problem.unit() == "windows");

  const auto before = problem.evaluate(16).front();
  CHECK(before.name == "loss/test");
  CHECK(before.value == Approx(std::log(256.0)).epsilon(0.1));
  probes::TappedSession session(
      task.model(), store::RunWriter::create(folder.path() / "run", {}), {});
  train::train(task, session);
  CHECK(problem.evaluate(16).front().value < 2.5);
}

TEST_CASE("a language model begins with weights of the configured deviation") {
  const TemporaryFolder folder;
  auto config = testing::language_config(testing::write_text(folder));
  config.transformer.initial_deviation = 0.1;
  const auto deviation = [](const train::TrainConfig& c, const char* name) {
    auto task = train::make_task(c);
    return task.model().named_parameters()[name].std().item<double>();
  };
  // 256 tokens of the width: five standard errors of the deviation are 8 % at most.
  CHECK(deviation(config, "model.embed_tokens.weight") == Approx(0.1).epsilon(0.08));
  config.transformer.initial_deviation = 0;
  CHECK_THROWS_WITH(config.validate(), Catch::Contains("model.initial-deviation must be positive"));
}

TEST_CASE("each layout, bias configuration and feed-forward layer of a configuration is built") {
  const TemporaryFolder folder;
  const auto config = testing::language_config(testing::write_text(folder));
  const auto parameters = [](const train::TrainConfig& c) {
    auto task = train::make_task(c);
    std::map<std::string, std::vector<int64_t>> shapes;
    for (const auto& item : task.model().named_parameters())
      shapes[item.key()] = item.value().sizes().vec();
    // It takes a gradient in every parameter.
    task.problem->losses(Split::kTrain, torch::arange(2)).mean().backward();
    for (const auto& item : task.model().named_parameters()) {
      CAPTURE(item.key());
      CHECK(item.value().grad().defined());
    }
    return shapes;
  };
  const std::string layer = "model.layers.0.";
  auto changed = config;
  changed.transformer.layout = "phi3";
  changed.ffn = "geglu";
  CHECK(parameters(changed).at(layer + "mlp.gate_up_proj.weight")[0] == 48);
  changed = config;
  changed.transformer.layout = "gemma3";
  CHECK(parameters(changed).contains(layer + "pre_feedforward_layernorm.weight"));
  changed = config;
  changed.bias = "post-gating";
  changed.transformer.norm_bias = true;
  const auto biased = parameters(changed);
  CHECK(biased.contains(layer + "mlp.down_proj.post_gating_bias"));
  CHECK(biased.contains(layer + "input_layernorm.bias"));
  CHECK_FALSE(biased.contains(layer + "mlp.down_proj.bias"));
  changed = config;
  changed.ffn = "asger";
  changed.transformer.learn_alpha = changed.transformer.learn_beta = true;
  const auto learnt = parameters(changed);
  CHECK(learnt.contains(layer + "mlp.spatial_gate_proj.weight"));
  CHECK(learnt.contains(layer + "mlp.log_beta"));
  changed.transformer.spatial = false;
  CHECK_FALSE(parameters(changed).contains(layer + "mlp.spatial_gate_proj.weight"));
  changed = config;
  changed.ffn = "isogmlp";
  changed.transformer.branch_width = 6;
  CHECK(parameters(changed).at(layer + "mlp.down_proj.weight")[1] == 30);
  changed = config;
  changed.transformer.attention_bias = "qv";
  changed.transformer.norm_order = "post";
  const auto attention = parameters(changed);
  CHECK(attention.contains(layer + "self_attn.q_proj.bias"));
  CHECK_FALSE(attention.contains(layer + "self_attn.k_proj.bias"));
  CHECK(attention.contains(layer + "post_feedforward_layernorm.weight"));
  const train::TrainConfig plain;
  changed = config;
  changed.transformer = plain.transformer;
  changed.transformer.preset = "qwen3-small";
  changed.width = plain.width;
  changed.hidden = plain.hidden;
  changed.blocks = plain.blocks;
  CHECK(parameters(changed).at("model.embed_tokens.weight") == std::vector<int64_t>{256, 128});
  CHECK(parameters(changed).contains("model.layers.3.mlp.down_proj.weight"));
  changed.transformer.preset_blocks = 2;
  CHECK(parameters(changed).contains("model.layers.1.mlp.down_proj.weight"));
  CHECK_FALSE(parameters(changed).contains("model.layers.2.mlp.down_proj.weight"));
  changed.loss = "squared";
  CHECK_THROWS_AS(train::make_task(changed), UsageError);
}

TEST_CASE("a ViT-VAE trains on images without labels, and says why it has no Gauss-Newton") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path());
  train::TrainConfig config;
  config.kind = "vit-vae";
  config.data = folder.path().string();
  config.width = 8;
  config.hidden = 12;
  config.blocks = 1;
  config.transformer.heads = 2;
  config.transformer.patch = 3;
  config.transformer.latent = 4;
  config.batch = 20;
  config.steps = 80;
  config.learning_rate = 3e-3;
  config.eval_rows = 40;
  config.threads = 1;
  auto task = train::make_task(config);
  const auto before = task.problem->evaluate(16).front().value;
  CHECK(task.problem->losses(Split::kTrain, torch::arange(5)).numel() == 1);
  CHECK_THROWS_WITH(task.problem->outputs(Split::kTrain, torch::arange(5)),
                    Catch::Contains("--operator hessian"));
  probes::TappedSession session(
      task.model(), store::RunWriter::create(folder.path() / "run", {}), {});
  train::train(task, session);
  CHECK(task.problem->evaluate(16).front().value < 0.8 * before);
}

TEST_CASE("attacks are part of a classifier's evaluation and leave training as it is") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  const auto run = [&](int64_t attacked, const char* name) {
    config.attack_rows = attacked;
    auto task = train::make_task(config);
    probes::TappedSession session(task.model(),
                                  store::RunWriter::create(folder.path() / name, {}),
                                  probes::standard_probes(task.model(), testing::all_probes(task)));
    train::train(task, session);
    return testing::weights(task);
  };
  config.eval_every = 10;  // as often as the probes look, who must not see the attacks' passes
  CHECK(torch::equal(run(30, "attacked"), run(0, "plain")));
  const store::RunReader attacked(folder.path() / "attacked");
  testing::check_equal_runs(attacked, store::RunReader(folder.path() / "plain"));
  const auto last = [&](const char* name) { return testing::values(attacked, {name, ""}).back(); };
  // With attacks and every probe a run holds all of the schema that training writes; the writer has
  // seen to it that it holds nothing else.
  using store::Emitter;
  auto missing = testing::not_emitted(
      attacked,
      {Emitter::kTraining, Emitter::kClassification, Emitter::kLayerProbe, Emitter::kHessian});
  // Not every system says what a process holds, and not every device.
  std::erase_if(missing, [](const auto& name) { return store::id::kMemory.contains(name); });
  // Of layers that see different rows: of experts.
  std::erase(missing, store::id::kLayerRows.name());
  // Of a layer with a branch, which a classifier has not.
  std::erase(missing, store::id::kBranchIsotropy.name());
  std::erase(missing, store::id::kBranchMeanCosine.name());
  // Of attention and routers, which the front end of C++ does not show.
  std::erase_if(missing, [](const std::string& name) {
    return name.starts_with("attention/") || name.starts_with("router/");
  });
  CHECK(missing.empty());
  for (const auto& [step, scalar] : attacked.scalars({"cost/hessian", ""}))
    CHECK(scalar.attributes == store::Attributes{{"budget", "0"}});
  CHECK(last("accuracy/test") > last("accuracy/pgd"));
  for (const auto* name : {"accuracy/document_attack", "accuracy/fgsm", "accuracy/pgd"}) {
    CHECK(testing::values(attacked, {name, ""}).size() ==
          testing::values(attacked, {"loss/test", ""}).size());
  }
}

TEST_CASE("a classifier sees normalised inputs, and an attack in their units is a weaker one") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.dropout = 0;
  config.width = 36;
  // An embedding that is the identity, layers that add nothing, and a head that takes the mean.
  const auto mean_seen = [&](bool normalise) {
    config.normalise = normalise;
    auto task = train::make_task(config);
    const torch::NoGradGuard no_grad;
    for (auto& item : task.model().named_parameters()) {
      if (item.key() == "embed.weight")
        item.value().copy_(torch::eye(36));
      else
        item.value().fill_(item.key() == "head.weight" ? 1.0 / 36 : 0);
    }
    return task.problem->outputs(Split::kTrain, torch::arange(600)).select(1, 0);
  };
  const auto images = data::open_images(config.data, Split::kTrain)->images(torch::arange(600));
  const auto want = (images.mean({1, 2, 3}) - images.mean()) / images.std(/*unbiased=*/false);
  CHECK(torch::allclose(mean_seen(true), want, 1e-4, 1e-5));
  CHECK(torch::allclose(mean_seen(false), images.mean({1, 2, 3}), 1e-4, 1e-5));

  config.normalise = true;
  config.attack_rows = 90;
  const auto attacked = [&](const char* units) {
    config.units = units;
    auto task = train::make_task(config);
    probes::TappedSession session(
        task.model(), store::RunWriter::create(folder.path() / units, {}), {});
    train::train(task, session);
    const store::RunReader run(folder.path() / units);
    return testing::values(run, {"accuracy/document_attack", ""}).back();
  };
  CHECK(attacked("inputs") > attacked("pixels"));
}
