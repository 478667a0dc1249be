// SPDX-License-Identifier: Apache-2.0
#include "lab/train/trainer.h"

#include <atomic>
#include <cmath>

#include "core/temporary_folder.h"
#include "fixture.h"
#include "lab/data/sampler.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "support/catch.h"

using namespace kappascope;
namespace fs = std::filesystem;
using testing::values;

namespace {

struct Outcome {
  train::TrainResult result;
  at::Tensor weights;
};

// Trains in `dir` from the start and keeps every checkpoint.
Outcome run_once(const train::TrainConfig& config, const fs::path& dir, bool probed) {
  auto task = train::make_task(config);
  auto probes = probed ? probes::standard_probes(task.model(), testing::all_probes(task))
                       : std::vector<session::ScheduledProbe>();
  probes::TappedSession session(task.model(), store::RunWriter::create(dir, {}), std::move(probes));
  task.config.keep_checkpoints = 0;
  const auto result = train::train(task, session);
  return {result, testing::weights(task)};
}

Outcome resume(const train::TrainConfig& config, const fs::path& dir) {
  auto task = train::make_task(config);
  const auto checkpoint = train::newest_checkpoint(dir);
  REQUIRE(checkpoint.has_value());
  auto writer = store::RunWriter::resume(dir, checkpoint->step - 1);
  probes::TappedSession session(task.model(),
                                std::move(writer),
                                probes::standard_probes(task.model(), testing::all_probes(task)));
  train::load_checkpoint(*checkpoint, task.model(), *task.optimizer, session);
  const auto result = train::train(task, session);
  return {result, testing::weights(task)};
}

// Removes the run's directory in the step at which it speaks first, or puts a file in its place as
// soon as its state is taken for a checkpoint.
class Thief final : public session::Probe {
 public:
  explicit Thief(std::filesystem::path dir, bool at_checkpoint = false)
      : dir_(std::move(dir)), at_checkpoint_(at_checkpoint) {}
  [[nodiscard]] std::string_view name() const override { return "thief"; }
  [[nodiscard]] session::Needs needs() const override { return {}; }
  void observe(const session::StepView& view) override { step_ = view.step; }
  void emit(store::Snapshot& /*out*/) override {
    if (step_ > 0 && !at_checkpoint_) std::filesystem::remove_all(dir_);
  }
  [[nodiscard]] tensor::State state() const override {
    if (at_checkpoint_ && fs::is_directory(dir_)) {
      fs::remove_all(dir_);
      testing::write_bytes(dir_, "a file");
    }
    return {};
  }
  void load(const tensor::State& /*state*/) override {}

 private:
  std::filesystem::path dir_;
  bool at_checkpoint_;
  int64_t step_ = 0;
};

}  // namespace

TEST_CASE("training with every probe attached is bit-identical to training without, dropout on") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = testing::small_config(folder.path() / "data");
  const auto with = run_once(config, folder.path() / "with", true);
  const auto without = run_once(config, folder.path() / "without", false);
  CHECK(torch::equal(with.weights, without.weights));
  const store::RunReader a(folder.path() / "with"), b(folder.path() / "without");
  for (const auto* name : {"loss/train", "loss/test"})
    CHECK(values(a, {name, ""}) == values(b, {name, ""}));
  REQUIRE(values(a, {"loss/train", ""}).size() == 40);
  // Memory of training is that of the model, whatever probes keep of the passes of their windows;
  // between these they keep a vector or two.
  CHECK(values(a, {"memory/training", ""}).front() <
        1.1 * values(b, {"memory/training", ""}).front());
  // The comparison sees a difference: another seed gives another curve.
  auto other = config;
  other.seed = 6;
  run_once(other, folder.path() / "other", false);
  CHECK(values(store::RunReader(folder.path() / "other"), {"loss/train", ""}) !=
        values(b, {"loss/train", ""}));
  // And the probes did measure.
  for (const auto* name : {"kappa/sigma",
                           "kappa/second_moment",
                           "kappa/with_bias",
                           "bias/residual",
                           "gradvar/measured"}) {
    CHECK(values(a, {name, "blocks.1.down_proj"}).size() == 5);
  }
  CHECK(values(a, {"hessian/lambda_1", ""}).size() == 4);
  CHECK(a.arrays({"hessian/density", ""}).size() == 4);
}

TEST_CASE("the facts of a run say how long its steps waited for rows, and where their memory was") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = testing::small_config(folder.path() / "data");
  auto task = train::make_task(config);
  probes::TappedSession session(task.model(), store::RunWriter::create(folder / "run", {}), {});
  train::train(task, session);
  CHECK(task.problem->input().rows == config.batch * config.steps);  // test rows are not counted
  CHECK(task.problem->input().seconds > 0);
  const store::RunReader run(folder / "run");
  CHECK_THAT(run.fact("input"),
             Catch::Contains("images a second read") && Catch::Contains("trained; steps wait"));
  const auto memory = run.fact("memory of training");
  CHECK_THAT(memory, Catch::EndsWith(" MiB on the host"));
  CHECK_THAT(memory, !Catch::Contains("device"));
}

TEST_CASE("every step has the norm of its gradients, the last one the memory of training") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.dropout = 0;
  run_once(config, folder.path() / "run", false);
  const store::RunReader run(folder.path() / "run");
  const auto norms = values(run, {"gradient_norm", ""});
  REQUIRE(norms.size() == 40);
  auto task = train::make_task(config);
  data::EpochSampler sampler(task.problem->rows(data::Split::kTrain), config.batch, config.seed);
  task.problem->losses(data::Split::kTrain, sampler.indices(0)).mean().backward();
  double squares = 0;
  for (const auto& parameter : task.model().parameters())
    squares += parameter.grad().to(torch::kDouble).square().sum().item<double>();
  CHECK(norms.front() == Approx(std::sqrt(squares)).epsilon(1e-5));
  const auto memory = run.scalars({"memory/training", ""});
  REQUIRE(memory.size() == 1);
  CHECK(memory.front().step == 39);
  CHECK(memory.front().scalar.status == "ok");
  // Gradients and two moments of Adam, in float, and what a pass keeps.
  double weights = 0;
  for (const auto& parameter : task.model().parameters())
    weights += 4.0 * static_cast<double>(parameter.numel());
  CHECK(memory.front().scalar.value > 3 * weights);
  CHECK(memory.front().scalar.value < 100 * weights);
  run_once(config, folder.path() / "again", false);
  CHECK(store::RunReader(folder.path() / "again")
            .scalars({"memory/training", ""})
            .front()
            .scalar.value == memory.front().scalar.value);
}

TEST_CASE("the loss falls on data that can be learned") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.steps = 120;
  config.learning_rate = 0.01;
  for (const auto* loss : {"cross-entropy", "squared"}) {
    config.loss = loss;
    run_once(config, folder.path() / loss, false);
    const auto accuracy = values(store::RunReader(folder.path() / loss), {"accuracy/test", ""});
    CHECK(accuracy.back() > 0.9);
  }
}

TEST_CASE("a run killed at any moment and resumed equals one never killed, to the last bit") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = testing::small_config(folder.path() / "data");
  const auto whole = run_once(config, folder.path() / "whole", true);
  // What a kill leaves behind is a database that may be ahead of the newest checkpoint, at every
  // distance: inside a window of the probes, right after a checkpoint, before an emission.
  for (const int64_t kept : {7, 14, 21, 28, 35}) {
    CAPTURE(kept);
    const auto dir = folder.path() / ("killed-" + std::to_string(kept));
    fs::copy(folder.path() / "whole", dir, fs::copy_options::recursive);
    for (const auto& entry : fs::directory_iterator(dir / "checkpoints")) {
      if (train::checkpoint_step(entry.path()) > kept) fs::remove(entry.path());
    }
    const auto resumed = resume(config, dir);
    CHECK(torch::equal(resumed.weights, whole.weights));
    testing::check_equal_runs(store::RunReader(dir), store::RunReader(folder.path() / "whole"));
  }
}

TEST_CASE("a checkpoint that a power cut brought back is removed by the run that goes on") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.keep_checkpoints = 2;
  const auto dir = folder.path() / "run";
  run_once(config, dir, true);
  const auto all = train::checkpoint_files(dir);
  REQUIRE(all.size() == 6);
  resume(config, dir);  // takes no step
  CHECK(train::checkpoint_files(dir) == std::vector<fs::path>(all.end() - 2, all.end()));
}

TEST_CASE("a loss that becomes NaN stops the run before the update, with its state saved") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = testing::small_config(folder.path() / "data");
  config.optimizer = "sgd";
  config.learning_rate = 1e18;
  config.dropout = 0;
  const auto outcome = run_once(config, folder.path() / "run", true);
  CHECK(outcome.result.state == "failed");
  CHECK_THAT(outcome.result.message, Catch::StartsWith("the loss became NaN at step"));
  const store::RunReader run(folder.path() / "run");
  CHECK(run.state() == "failed");
  const auto losses = values(run, {"loss/train", ""});
  REQUIRE(losses.size() >= 2);
  CHECK(std::isfinite(losses.front()));
  CHECK(std::isnan(losses.back()));
  const auto events = run.events();
  CHECK(std::any_of(
      events.begin(), events.end(), [](const auto& e) { return e.event.kind == "nan_loss"; }));
  CHECK(train::newest_checkpoint(folder.path() / "run").has_value());
}

TEST_CASE("a stop request ends after the step with a checkpoint, and the run can go on") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = testing::small_config(folder.path() / "data");
  const auto whole = run_once(config, folder.path() / "whole", true);
  const auto dir = folder.path() / "stopped";
  {
    auto task = train::make_task(config);
    probes::TappedSession session(task.model(),
                                  store::RunWriter::create(dir, {}),
                                  probes::standard_probes(task.model(), testing::all_probes(task)));
    const std::atomic<bool> stop{true};
    train::TrainOptions options;
    options.stop = &stop;
    const auto result = train::train(task, session, options);
    CHECK(result.state == "interrupted");
    CHECK(result.steps == 1);
  }
  CHECK(store::RunReader(dir).state() == "interrupted");
  CHECK(torch::equal(resume(config, dir).weights, whole.weights));
}

TEST_CASE("a run that is taken away while it trains goes on from a copy to the same bits") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = testing::small_config(folder.path() / "data");
  const auto whole = run_once(config, folder.path() / "whole", true);
  for (const int64_t step : {int64_t{9}, int64_t{20}, int64_t{38}}) {
    CAPTURE(step);
    const auto dir = folder.path() / ("run" + std::to_string(step));
    const auto copy = dir.string() + "-rescued";
    {
      auto task = train::make_task(config);
      auto probes = probes::standard_probes(task.model(), testing::all_probes(task));
      probes.push_back({std::make_unique<Thief>(dir), {step, 1}});
      probes::TappedSession session(
          task.model(), store::RunWriter::create(dir, {{"label", "x"}}), std::move(probes));
      const auto said = "the weights after " + std::to_string(step + 1) + " steps";
      REQUIRE_THROWS_WITH(train::train(task, session, {}),
                          Catch::Contains("removed or replaced") && Catch::Contains(said) &&
                              Catch::Contains("--resume '" + copy));
    }
    CHECK_FALSE(std::filesystem::exists(dir));
    CHECK(store::RunReader(copy).state() == "interrupted");
    CHECK(store::RunReader(copy).last_step() == step);
    CHECK(torch::equal(resume(config, copy).weights, whole.weights));
    CHECK(values(store::RunReader(copy), {"loss/train", ""}) ==
          values(store::RunReader(folder.path() / "whole"), {"loss/train", ""}));
    CHECK(values(store::RunReader(copy), {"kappa/sigma", "blocks.0.ffn.down_proj"}) ==
          values(store::RunReader(folder.path() / "whole"),
                 {"kappa/sigma", "blocks.0.ffn.down_proj"}));
  }
}

TEST_CASE("a run that is taken away while its checkpoint is written loses no weights either") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = testing::small_config(folder.path() / "data");
  const auto whole = run_once(config, folder.path() / "whole", true);
  const auto dir = folder.path() / "run", copy = folder.path() / "run-rescued";
  {
    auto task = train::make_task(config);
    auto probes = probes::standard_probes(task.model(), testing::all_probes(task));
    probes.push_back({std::make_unique<Thief>(dir, true), {}});
    probes::TappedSession session(
        task.model(), store::RunWriter::create(dir, {}), std::move(probes));
    REQUIRE_THROWS_WITH(
        train::train(task, session, {}),
        Catch::Contains("removed or replaced") && Catch::Contains("--resume '" + copy.string()));
  }
  CHECK(torch::equal(resume(config, copy).weights, whole.weights));
}
