// SPDX-License-Identifier: Apache-2.0
// Several processes that share each batch, with threads in their place.
#include <torch/types.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "fixture.h"
#include "kappascope/core/error.h"
#include "lab/train/checkpoint/checkpoint.h"
#include "lab/train/share.h"
#include "support/catch.h"
#include "support/thread_group.h"

using namespace kappascope;
namespace fs = std::filesystem;
using testing::values;

namespace {

using Group = std::shared_ptr<tensor::Group>;

/// Without random masks, and with an optimiser that does not divide by the size of a gradient that
/// is next to none: what differs is the order of sums.
train::TrainConfig shared_config(const fs::path& data) {
  auto config = testing::small_config(data);
  config.dropout = 0;
  config.optimizer = "sgd";
  config.momentum = 0.9;
  config.learning_rate = 0.05;
  config.steps = 24;
  return config;
}

probes::ProbeOptions own_probes(train::Task& task, const Group& group) {
  auto options = testing::all_probes(task);
  const int64_t each = 48 / (group ? group->size() : 1), first = group ? group->rank() * each : 0;
  options.curvature_loss = [&task, each, first] {
    task.model().eval();
    const auto losses =
        task.problem->losses(data::Split::kTrain, torch::arange(first, first + each, torch::kLong));
    task.model().train();
    return losses.mean();
  };
  return options;
}

/// One process of the group. `one_step`: it is asked to stop after the first.
at::Tensor take_part(train::Task& task,
                     const fs::path& dir,
                     const Group& group,
                     bool one_step = false,
                     bool resuming = false) {
  const bool leads = !group || group->leads();
  std::optional<train::Checkpoint> checkpoint;
  if (resuming) checkpoint = train::newest_checkpoint(dir);
  std::optional<store::RunWriter> run;
  if (leads && resuming) run = store::RunWriter::resume(dir, checkpoint->step - 1);
  if (leads && !resuming) run = store::RunWriter::create(dir, {});
  session::SessionOptions watching;
  watching.group = group;
  probes::TappedSession session(task.model(),
                                std::move(run),
                                probes::standard_probes(task.model(), own_probes(task, group)),
                                watching);
  if (checkpoint) train::load_checkpoint(*checkpoint, task, session);
  std::atomic<bool> stop{false};
  train::TrainOptions options;
  options.stop = &stop;
  task.config.keep_checkpoints = 0;
  // Asked of one process, the last one.
  if (one_step && (!group || group->rank() + 1 == group->size())) stop = true;
  train::train(task, session, options);
  return testing::weights(task);
}

/// All of them; the weights of each.
std::vector<at::Tensor> train_in(int size,
                                 const train::TrainConfig& config,
                                 const fs::path& dir,
                                 bool one_step = false,
                                 bool resuming = false) {
  std::vector<train::Task> tasks;
  for (int i = 0; i < size; ++i) tasks.push_back(train::make_task(config));
  std::vector<at::Tensor> weights(static_cast<std::size_t>(size));
  testing::in_threads(size, [&](const Group& group) {
    const auto rank = static_cast<std::size_t>(group->rank());
    weights[rank] = take_part(tasks[rank], dir, group, one_step, resuming);
  });
  return weights;
}

void check_near(const std::vector<double>& a, const std::vector<double>& b, double relative) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(relative));
}

}  // namespace

TEST_CASE("several processes that share each batch train and measure as one does") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = shared_config(folder.path() / "data");
  config.bias = GENERATE("both", "centred");
  CAPTURE(config.bias);
  auto alone = train::make_task(config);
  const auto whole = take_part(alone, folder / "alone", nullptr);
  const store::RunReader one(folder / "alone");
  for (const auto& [size, micro_batch] : {std::pair{2, 0}, {3, 0}, {4, 3}}) {
    CAPTURE(size, micro_batch);
    config.micro_batch = micro_batch;
    const auto dir = folder / ("of-" + std::to_string(size));
    const auto weights = train_in(size, config, dir);
    for (const auto& own : weights) CHECK(torch::equal(own, weights.front()));
    CHECK(torch::allclose(weights.front(), whole, 1e-4, 1e-5));
    const store::RunReader run(dir);
    CHECK(run.state() == "finished");
    for (const auto* name : {"loss/train", "gradient_norm", "loss/test"})
      check_near(values(run, {name, ""}), values(one, {name, ""}), 1e-4);
    // The weights differ by the rounding of some steps. gradvar/ is of each process's own rows.
    for (const auto* name : {"kappa/sigma", "kappa/second_moment", "bias/residual"}) {
      const store::SeriesKey key{name, "blocks.1.down_proj"};
      check_near(values(run, key), values(one, key), 1e-3);
    }
    check_near(values(run, {"hessian/lambda_1", ""}), values(one, {"hessian/lambda_1", ""}), 1e-2);
  }
}

TEST_CASE("a stop that one process is asked for stops all, and as many go on to the same bits") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  auto config = shared_config(folder.path() / "data");
  config.bias = GENERATE("both", "centred");
  CAPTURE(config.bias);
  const auto whole = train_in(2, config, folder / "whole");
  // Stops after each step at which it is started again.
  const auto dir = folder / "stopped";
  train_in(2, config, dir, true);
  for (int again = 0; again < 11; ++again) train_in(2, config, dir, true, true);
  CHECK(store::RunReader(dir).state() == "interrupted");
  CHECK(train::newest_checkpoint(dir)->step == 12);
  const auto resumed = train_in(2, config, dir, false, true);
  CHECK(torch::equal(resumed[0], whole[0]));
  CHECK(torch::equal(resumed[1], whole[0]));
  testing::check_equal_runs(store::RunReader(dir), store::RunReader(folder / "whole"));
}

TEST_CASE("another number of processes goes on, and measures from its next window on") {
  const TemporaryFolder folder;
  testing::write_image_set(folder.path() / "data");
  const auto config = shared_config(folder.path() / "data");
  auto task = train::make_task(config);
  take_part(task, folder / "one", nullptr);
  const store::RunReader want(folder / "one");
  train_in(2, config, folder / "two", true);
  train_in(3, config, folder / "two", false, true);
  const store::RunReader got(folder / "two");
  CHECK(got.state() == "finished");
  check_near(values(got, {"loss/train", ""}), values(want, {"loss/train", ""}), 1e-4);
  const store::SeriesKey kappa{"kappa/sigma", "blocks.1.down_proj"};
  // The window that was open had seen another part of the data.
  const auto windows = values(want, kappa);
  check_near(values(got, kappa), {windows.begin() + 1, windows.end()}, 1e-3);
}

TEST_CASE("a batch is parted among the processes without a gap") {
  const auto rows = torch::arange(100, 110, torch::kLong);
  testing::ThreadGroup::Mail mail;
  std::vector<at::Tensor> parts;
  double sum = 0;
  for (int rank = 0; rank < 4; ++rank) {
    testing::ThreadGroup group(rank, 4, mail);
    const train::Share share(rows, &group);
    parts.push_back(share.rows());
    sum += share.of_all();
    CHECK(share.of_all() == Approx(static_cast<double>(share.rows().numel()) / 10));
  }
  CHECK(torch::equal(torch::cat(parts), rows));
  CHECK(sum == Approx(1));
}
