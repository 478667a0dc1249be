// SPDX-License-Identifier: Apache-2.0
#include "lab/train/centring.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <map>
#include <string>

#include "fixture.h"
#include "kappascope/probes/attach.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "support/catch.h"

using namespace kappascope;

namespace {

train::TrainConfig centred_config(const std::filesystem::path& data, const std::string& bias) {
  auto config = testing::small_config(data);
  config.bias = bias;
  config.dropout = 0;
  config.steps = 12;
  return config;
}

probes::TappedSession watch(train::Task& task, const std::filesystem::path& dir) {
  probes::ProbeOptions options;
  options.budget = 0;
  return {task.model(),
          store::RunWriter::create(dir, {}),
          probes::standard_probes(task.model(), options)};
}

/// The mean of φ in each layer over these rows, and b.
struct Layer {
  at::Tensor mean, bias;
};
std::map<std::string, Layer> layers_of(train::Task& task, const at::Tensor& rows) {
  std::map<std::string, Layer> found;
  auto own = nn::find_tapped(task.model());
  for (auto& [name, layer] : own)
    layer->tap.listen([&found, name = name](const nn::TapView& view) {
      found[name] = {view.features.detach().mean(0), view.bias.detach().clone()};
    });
  static_cast<void>(task.problem->mean_loss(data::Split::kTrain, rows));
  for (auto& [name, layer] : own) layer->tap.silence();
  return found;
}

}  // namespace

TEST_CASE("a bias that begins at minus the mean centres each layer, and draws no random number") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  for (const std::string bias : {"both", "centred"}) {
    CAPTURE(bias);
    auto config = centred_config(folder.path() / "data", bias);
    if (bias == "both") config.bias_start = "mean";
    auto task = train::make_task(config);
    task.model().train();
    auto session = watch(task, folder / bias);
    const auto rows = torch::arange(32, torch::kLong);
    const auto state = at::detail::getDefaultCPUGenerator().get_state();
    train::Centring centring(task, session);
    centring.begin(rows);
    CHECK(torch::equal(at::detail::getDefaultCPUGenerator().get_state(), state));
    const auto layers = layers_of(task, rows);
    REQUIRE(layers.size() == 2);
    for (const auto& [name, layer] : layers) {
      CAPTURE(name);
      const auto size = layer.mean.norm().item<double>();
      CHECK(size > 1e-3);
      CHECK((layer.mean + layer.bias).norm().item<double>() <= 1e-5 * size);  // of sums of floats
    }
    session.close();
  }
}

TEST_CASE("centred features follow the running mean, which is no parameter") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto task = train::make_task(centred_config(folder.path() / "data", "centred"));
  auto plain = train::make_task(centred_config(folder.path() / "data", "none"));
  CHECK(task.model().parameters().size() == plain.model().parameters().size());
  task.model().train();
  auto session = watch(task, folder / "run");
  train::Centring centring(task, session);
  const auto rows = torch::arange(32, torch::kLong), other = torch::arange(32, 64, torch::kLong);
  centring.begin(rows);
  const auto loss = [&](const at::Tensor& some) {
    return task.problem->mean_loss(data::Split::kTrain, some).item<double>();
  };
  const auto before = layers_of(task, other);
  CHECK(centring.watching([&] { return loss(other); }) > 0);
  loss(rows);  // does not count
  centring.follow();
  for (const auto& [name, layer] : layers_of(task, rows)) {
    CAPTURE(name);
    const auto& [mean, bias] = before.at(name);
    const auto expected = (1 - train::Centring::kRate) * bias - train::Centring::kRate * mean;
    CHECK(torch::allclose(layer.bias, expected, 1e-5, 1e-6));
    CHECK_FALSE(torch::allclose(layer.bias, bias, 1e-5, 1e-6));
  }
  session.close();
}

TEST_CASE("a checkpoint keeps the running means") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = centred_config(folder.path() / "data", "centred");
  auto task = train::make_task(config);
  auto session = watch(task, folder / "run");
  train::train(task, session);
  auto again = train::make_task(config);
  auto other = watch(again, folder / "again");
  train::load_checkpoint(*train::newest_checkpoint(folder / "run"), again, other);
  const auto trained = nn::find_tapped(task.model()), loaded = nn::find_tapped(again.model());
  for (std::size_t i = 0; i < trained.size(); ++i) {
    CHECK(torch::equal(trained[i].second->post_gating_bias, loaded[i].second->post_gating_bias));
    CHECK(trained[i].second->post_gating_bias.abs().max().item<double>() > 1e-3);
  }
  other.close();
}
