// SPDX-License-Identifier: Apache-2.0
#include "lab/train/device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "kappascope/core/error.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "support/catch.h"
#include "tensor/cuda_devices.h"

using namespace kappascope;

TEST_CASE("a device is known by its name, and one that is not there is said to be missing") {
  CHECK(train::device_named("cpu").is_cpu());
  for (const auto* name : {"gpu", "cuda:", "cuda:x", "cuda:123", "CPU", ""})
    CHECK_THROWS_WITH(train::device_named(name), Catch::Contains("cpu, cuda, cuda:N or auto"));
  const auto count = tensor::cuda_devices().count;
  CHECK(train::device_named("auto").is_cuda() == (count > 0));
  CHECK_THROWS_WITH(
      train::device_named("cuda:99"),
      Catch::Contains("train.device is cuda:99") && Catch::Contains("use --device cpu, or auto"));
  train::TrainConfig config;
  config.device = "tpu";
  CHECK_THROWS_AS(config.validate(), UsageError);
}

TEST_CASE("a process can be shown one of the devices that this one sees") {
  using Names = std::vector<std::string>;
  CHECK(train::single_devices(3, nullptr) == Names{"0", "1", "2"});
  CHECK(train::single_devices(2, "5,GPU-8932f937,7") == Names{"5", "GPU-8932f937"});
  CHECK(train::single_devices(2, "3") == Names{"3"});
  CHECK(train::single_devices(0, "").empty());
  CHECK(train::single_devices(0, nullptr).empty());
}

TEST_CASE("LibTorch's CUDA half is loaded where a device is asked for") {
  const auto& devices = tensor::cuda_devices();
  INFO(devices.missing);
  CHECK(at::detail::getCUDAHooks().hasCUDART() == devices.missing.empty());
}

TEST_CASE("data, noise and tables follow every model to another device", "[cuda]") {
  if (tensor::cuda_devices().count == 0) {
    WARN("not tried: no CUDA device is there");
    return;
  }
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto check = [](train::TrainConfig config) {
    config.device = "cuda";
    config.dropout = 0;
    const auto there = train::make_task(config);
    config.device = "cpu";
    const auto here = train::make_task(config);
    const auto rows = torch::arange(3);
    for (const auto* task : {&there, &here}) {
      task->model().eval();
      task->problem->mean_loss(data::Split::kTrain, rows).backward();
    }
    const auto a = there.model().parameters(), b = here.model().parameters();
    for (std::size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].is_cuda());
      CHECK(torch::allclose(a[i].grad().cpu(), b[i].grad(), 1e-3, 1e-5));
    }
    CHECK(there.problem->evaluate(16).front().value ==
          Approx(here.problem->evaluate(16).front().value).epsilon(1e-3));
  };
  auto images = testing::small_config(folder.path() / "data");
  images.normalise = true;
  images.attack_rows = 20;
  check(images);
  auto vae = testing::small_config(folder.path() / "data");
  vae.kind = "vit-vae";
  vae.transformer.patch = 3;
  vae.transformer.heads = 2;
  check(vae);
  auto language = testing::language_config(testing::write_text(folder));
  check(language);
  language.transformer.layout = "gemma3";
  language.transformer.kv_heads = 1;
  language.transformer.window = 4;
  language.recompute = true;
  language.logit_rows = 10;
  check(language);
}

TEST_CASE("a checkpoint goes on from one device to another", "[cuda]") {
  if (tensor::cuda_devices().count == 0) {
    WARN("not tried: no CUDA device is there");
    return;
  }
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.dropout = 0;  // masks are of the device
  const auto run = folder.path() / "run";
  const auto trained = [&](const char* device, int64_t steps, bool resumed) {
    config.device = device;
    config.steps = steps;
    auto task = train::make_task(config);
    const auto checkpoint = resumed ? train::newest_checkpoint(run) : std::nullopt;
    probes::TappedSession session(task.model(),
                                  resumed ? store::RunWriter::resume(run, checkpoint->step - 1)
                                          : store::RunWriter::create(run, {}),
                                  {});
    if (checkpoint) train::load_checkpoint(*checkpoint, task, session);
    return train::train(task, session).loss;
  };
  const auto first = trained("cuda", 20, false);
  CHECK(train::newest_checkpoint(run)->state.has("random_state_device"));
  const auto moved = trained("cpu", 30, true);
  std::filesystem::remove_all(run);
  CHECK(trained("cpu", 20, false) == Approx(first).epsilon(1e-2));
  CHECK(trained("cpu", 30, true) == Approx(moved).epsilon(1e-2));
}
