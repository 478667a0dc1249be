// SPDX-License-Identifier: Apache-2.0
// Runs of a few numbers, for what is read from them.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "reports/sample_run.h"

namespace kappascope::reports {

struct Content {
  std::vector<store::Scalar> scalars{};  ///< of step `measured`, by default the last
  std::vector<double> losses{};          ///< training losses, one a step
  store::Facts facts{};
  std::int64_t steps = 1000;
  std::int64_t measured = -1;
};

/// A finished run of `steps` steps.
inline std::filesystem::path write(const std::filesystem::path& dir, const Content& content) {
  auto facts = content.facts;
  facts.emplace_back("label", dir.filename().string());
  auto run = store::RunWriter::create(dir, facts);
  std::vector<store::Snapshot> losses;
  for (std::size_t i = 0; i < content.losses.size(); ++i) {
    losses.push_back({.step = static_cast<std::int64_t>(i),
                      .scalars = {sample::plain("loss/train", "", content.losses[i])}});
  }
  run.write(losses);
  const auto last = content.steps - 1;
  run.write({.step = content.measured < 0 ? last : content.measured, .scalars = content.scalars});
  if (content.measured >= 0)
    run.write({.step = last, .scalars = {sample::plain("loss/train", "", 1)}});
  run.set_state("finished");
  return dir;
}

/// 300 losses around one, with `height` at step 200.
inline std::vector<double> spiky(double height) {
  std::vector<double> losses;
  for (int i = 0; i < 300; ++i) losses.push_back(1 + 0.01 * std::sin(7.0 * i));
  losses[200] = height;
  return losses;
}

}  // namespace kappascope::reports
