// SPDX-License-Identifier: Apache-2.0
#include "lab/train/step_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "core/time.h"

namespace kappascope::train {
namespace {

std::string mebibytes(std::int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

}  // namespace

StepFigures::StepFigures(const Problem& problem) : problem_(problem) {}

void StepFigures::begin_step(bool watched) {
  is_watched_ = watched;
  counted_.forget_peak();
  read_before_ = problem_.input();
  step_began_ = monotonic_seconds();
}

void StepFigures::count() {
  auto& peak = is_watched_ ? watched_ : alone_;
  peak.all = std::max(peak.all, counted_.peak());
  peak.on_host = std::max(peak.on_host, counted_.peak_on_host());
  peak.on_devices = std::max(peak.on_devices, counted_.peak_on_devices());
}

void StepFigures::begin_probing() {
  count();
}

void StepFigures::end_probing() {
  counted_.forget_peak();
}

void StepFigures::end_step(std::int64_t rows) {
  seconds_ += monotonic_seconds() - step_began_;
  rows_ += rows;
  read_.seconds += problem_.input().seconds - read_before_.seconds;
  read_.rows += problem_.input().rows - read_before_.rows;
  count();
}

void StepFigures::record(session::Session& session, bool whole) const {
  const auto& peak = alone_.all > 0 ? alone_ : watched_;
  store::Scalar scalar;
  scalar.name = store::id::kMemoryTraining;
  scalar.value = static_cast<double>(peak.all);
  if (!whole) scalar.status = store::Status::kResumed;
  session.record(std::move(scalar));
  if (!session.writes() || rows_ == 0) return;

  auto& run = session.run();
  run.set_fact(
      "memory of training",
      fmt::format("{}{} on the host",
                  peak.on_devices > 0 ? mebibytes(peak.on_devices) + " on the device, " : "",
                  mebibytes(peak.on_host)));
  const auto a_second = [](std::int64_t rows, double seconds) {
    const double rate = static_cast<double>(rows) / seconds;
    if (!(seconds > 0)) return std::string("?");
    return rate < 100 ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
  };
  auto* const group = session.group();
  run.set_fact("input",
               fmt::format("{} {} a second read, {} trained{}; steps wait {:.2g} % of their time",
                           a_second(read_.rows, read_.seconds),
                           problem_.unit(),
                           a_second(rows_, seconds_),
                           group == nullptr ? "" : fmt::format(" (process 0 of {})", group->size()),
                           seconds_ > 0 ? 100 * read_.seconds / seconds_ : 0));
}

}  // namespace kappascope::train
