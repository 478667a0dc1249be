// SPDX-License-Identifier: Apache-2.0
// Runs of a study without training: a falling loss that ends where a test wants it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/own_files.h"
#include "core/temporary_folder.h"
#include "kappascope/store/run.h"
#include "lab/study/result.h"

namespace kappascope::reports {

struct StudyRunOptions {
  std::string arm = "control";
  std::string condition{};
  int seed = 1;
  double loss = 1;                       ///< last loss/test; the curves are multiples of it
  std::map<std::string, double> more{};  ///< further quantities, constant over the steps
  bool failed = false;                   ///< the loss stopped being a number half-way
  std::int64_t steps = 60;
  std::int64_t spike_at = -1;  ///< from there on ten steps of five times the loss
};

/// Into a folder of its own in `root`: loss/train at every step, loss/test, kappa/sigma of one
/// layer and `more` at every 20th and the last.
inline std::filesystem::path write_study_run(const std::filesystem::path& root,
                                             const StudyRunOptions& options = {}) {
  const auto dir = root / (folder_name(options.arm) + "_" + options.condition + "_seed-" +
                           std::to_string(options.seed));
  auto run = store::RunWriter::create(
      dir,
      {{"label", options.arm},
       {"condition", options.condition},
       {"seed", std::to_string(options.seed)},
       {"data", "Fashion-MNIST, 60000 images"},
       {"config", "[model]\nbias = " + options.arm + "\n[train]\nbatch = 128\n"}});
  std::vector<store::Snapshot> all;
  const std::int64_t last = options.steps - 1;
  for (std::int64_t step = 0; step <= last; ++step) {
    const double t = static_cast<double>(step) / static_cast<double>(last);
    const bool spike =
        options.spike_at >= 0 && step >= options.spike_at && step < options.spike_at + 10;
    const double loss = options.loss * (3 - 2 * t) * (spike ? 5 : 1);
    const bool broken = options.failed && 2 * step > last;
    auto& now = all.emplace_back();
    now.step = step;
    now.scalars.push_back({.name = "loss/train",
                           .value = broken ? std::numeric_limits<double>::quiet_NaN() : loss,
                           .status = broken ? store::Status::kNonFinite : store::Status::kOk});
    now.scalars.push_back({.name = "learning_rate", .value = 0.1});
    if (broken) break;
    if (step % 20 != 0 && step != last) continue;
    now.scalars.push_back({.name = "loss/test", .value = loss});
    now.scalars.push_back(
        {.name = "kappa/sigma", .layer = "down_proj", .value = 10 * loss, .status = "resolved"});
    for (const auto& [name, value] : options.more)
      now.scalars.push_back({.name = name, .value = value});
  }
  run.write(all);
  run.set_state(options.failed ? "failed" : "finished");
  return dir;
}

/// An arm that ends `difference` above the control in each seed, give or take `spread`, which
/// alternates between the seeds; both under each condition.
inline void write_study(const std::filesystem::path& root,
                        double difference,
                        double spread,
                        const std::vector<std::string>& conditions = {""},
                        int seeds = 4) {
  for (const auto& condition : conditions) {
    for (int seed = 1; seed <= seeds; ++seed) {
      const double base = 1 + 0.1 * seed;
      const double sign = seed % 2 == 0 ? 1 : -1;
      write_study_run(root, {.condition = condition, .seed = seed, .loss = base});
      write_study_run(root,
                      {.arm = "biased",
                       .condition = condition,
                       .seed = seed,
                       .loss = base + difference + sign * spread});
    }
  }
}

/// The runs in a folder, summarised against the arm "control", with the verdicts of its result.
struct SampleStudy {
  std::vector<study::RunEnd> runs{};
  study::StudyResult result{};
};

inline SampleStudy read_sample(const std::filesystem::path& root,
                               const std::string& control = "control",
                               const std::vector<std::string>& metrics = {"loss/test"}) {
  SampleStudy sample{.runs = study::read_run_ends({root})};
  sample.result = study::summarise(sample.runs, {control}, metrics);
  if (study::has_result(root)) sample.result.verdicts = study::read_result(root).verdicts;
  return sample;
}

}  // namespace kappascope::reports
