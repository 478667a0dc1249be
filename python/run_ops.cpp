// SPDX-License-Identifier: Apache-2.0
// What reads a run back. Python's side of it is kappascope/_watch/runs.py.
#include <torch/library.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <limits>

#include "core/atomic_file.h"
#include "kappascope/reports/report.h"
#include "python/rows.h"
#include "reports/advice.h"
#include "store/check.h"

namespace kappascope {

Rows rows_of(const std::vector<store::StepValue>& points) {
  Rows rows;
  auto& [names, layers, statuses, numbers] = rows;
  numbers = torch::empty({static_cast<int64_t>(points.size()), 6}, torch::kDouble);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double* next = numbers.mutable_data_ptr<double>();
  for (const auto& [step, scalar] : points) {
    names.push_back(scalar.name);
    layers.push_back(scalar.layer);
    statuses.emplace_back(scalar.status.text());
    for (const double number : {static_cast<double>(step),
                                scalar.value,
                                scalar.lower.value_or(kNone),
                                scalar.upper.value_or(kNone),
                                scalar.n.value_or(kNone),
                                scalar.n_effective.value_or(kNone)})
      *next++ = number;
  }
  return rows;
}

namespace {

namespace fs = std::filesystem;
using Texts = c10::Dict<std::string, std::string>;

/// Names, layers, statuses and numbers, and what was left out as damaged.
std::tuple<Names, Names, Names, at::Tensor, Names> run_scalars(const std::string& dir,
                                                               const std::string& name,
                                                               const std::string& layer) {
  const store::RunReader run(dir);
  std::vector<store::StepValue> all;
  for (const auto& key : run.series()) {
    if ((!name.empty() && key.name != name) || (!layer.empty() && key.layer != layer)) continue;
    const auto points = run.scalars(key);
    all.insert(all.end(), points.begin(), points.end());
  }
  return std::tuple_cat(rows_of(all), std::tuple(run.damaged()));
}

/// The facts with the state, and what was left out as damaged.
std::tuple<Texts, Names> run_facts(const std::string& dir) {
  const store::RunReader run(dir);
  Texts texts;
  for (const auto& [key, value] : run.facts()) texts.insert(key, value);
  texts.insert("state", run.state());
  return {texts, run.damaged()};
}

/// Step, kind and message of each, and what was left out as damaged.
std::tuple<std::vector<int64_t>, Names, Names, Names> run_events(const std::string& dir) {
  const store::RunReader run(dir);
  std::vector<int64_t> steps;
  Names kinds, messages;
  for (const auto& [step, time, event] : run.events()) {
    steps.push_back(step);
    kinds.push_back(event.kind);
    messages.push_back(event.message);
  }
  return {steps, kinds, messages, run.damaged()};
}

/// Writes the page; returns what is damaged in the runs that it is about.
Names report(const std::vector<std::string>& runs, const std::string& out, bool force) {
  const std::vector<fs::path> paths(runs.begin(), runs.end());
  require_replaceable(out, reports::kPageMark, force);
  write_text_atomically(out, reports::html_report(paths));
  Names damaged;
  for (const auto& run : store::runs_at(paths)) {
    for (const auto& what : store::check_store(run).damage)
      damaged.push_back(run.string() + ": " + what);
  }
  return damaged;
}

}  // namespace
}  // namespace kappascope

TORCH_LIBRARY_FRAGMENT(kappascope, library) {
  library.def("run_scalars(str dir, str name, str layer) -> (str[], str[], str[], Tensor, str[])",
              &kappascope::run_scalars);
  library.def("run_facts(str dir) -> (Dict(str, str), str[])", &kappascope::run_facts);
  library.def("run_events(str dir) -> (int[], str[], str[], str[])", &kappascope::run_events);
  library.def("run_damage(str dir) -> str[]",
              [](const std::string& dir) { return kappascope::store::check_store(dir).damage; });
  library.def("advice_text(str dir) -> str", [](const std::string& dir) {
    return kappascope::reports::to_text(kappascope::reports::advice(dir));
  });
  library.def("advice_json(str dir) -> str", [](const std::string& dir) {
    return kappascope::reports::to_json(kappascope::reports::advice(dir));
  });
  library.def("report(str[] runs, str out, bool force) -> str[]", &kappascope::report);
}
