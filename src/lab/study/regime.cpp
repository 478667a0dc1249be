// SPDX-License-Identifier: Apache-2.0
#include "lab/study/regime.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "kappascope/core/error.h"
#include "kappascope/core/statistics.h"

namespace kappascope::study {
namespace {

constexpr const char* kForm =
    "'METRIC of ARM between A and B', 'METRIC of ARM at least A' or 'METRIC of ARM at most B'";

std::optional<double> to_number(const std::string& text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && std::isfinite(value) ? std::optional(value)
                                                                     : std::nullopt;
}

/// Empty when the regime is reached under this condition.
std::string why_missed(const std::vector<RunEnd>& runs,
                       const std::string& condition,
                       const Regime& regime) {
  std::vector<double> values;
  for (const auto& run : runs) {
    const auto found = run.values.find(regime.metric);
    if (run.arm == regime.arm && run.condition == condition && run.state != "failed" &&
        found != run.values.end())
      values.push_back(found->second.value);
  }
  const auto where = condition.empty() ? "" : " under " + condition;
  const double middle = median(values);
  if (std::isnan(middle))
    return fmt::format("{} of {} has no usable value{}", regime.metric, regime.arm, where);
  if (regime.lower <= middle && middle <= regime.upper) return "";
  return fmt::format("{} of {} has median {:.4g}{}", regime.metric, regime.arm, middle, where);
}

}  // namespace

Regime parse_regime(const std::string& text, const std::string& where) {
  const auto refuse = [&] {
    return UsageError(fmt::format("{}: a regime is {}; got '{}'", where, kForm, text));
  };
  Regime regime;
  const auto of = text.find(" of ");
  if (of == std::string::npos || of == 0) throw refuse();
  regime.metric = text.substr(0, of);
  const auto rest = text.substr(of + 4);
  const auto take = [&](const std::string& word) -> std::optional<std::string> {
    const auto at = rest.rfind(word);
    if (at == std::string::npos || at == 0) return std::nullopt;
    regime.arm = rest.substr(0, at);
    return rest.substr(at + word.size());
  };
  if (const auto bounds = take(" between ")) {
    const auto both = bounds->find(" and ");
    if (both == std::string::npos) throw refuse();
    const auto lower = to_number(bounds->substr(0, both)),
               upper = to_number(bounds->substr(both + 5));
    if (!lower || !upper || *lower > *upper) throw refuse();
    regime.lower = *lower;
    regime.upper = *upper;
  } else if (const auto least = take(" at least ")) {
    if (!to_number(*least)) throw refuse();
    regime.lower = *to_number(*least);
  } else if (const auto most = take(" at most ")) {
    if (!to_number(*most)) throw refuse();
    regime.upper = *to_number(*most);
  } else {
    throw refuse();
  }
  return regime;
}

std::string to_string(const Regime& regime) {
  const auto head = regime.metric + " of " + regime.arm;
  if (std::isinf(regime.upper)) return fmt::format("{} at least {}", head, regime.lower);
  if (std::isinf(regime.lower)) return fmt::format("{} at most {}", head, regime.upper);
  return fmt::format("{} between {} and {}", head, regime.lower, regime.upper);
}

RegimeRuns in_regime(const std::vector<RunEnd>& runs, const std::vector<Regime>& regimes) {
  RegimeRuns out;
  std::vector<std::string> conditions;
  for (const auto& run : runs) {
    if (std::ranges::find(conditions, run.condition) == conditions.end())
      conditions.push_back(run.condition);
  }
  for (const auto& condition : conditions) {
    std::string missed;
    for (const auto& regime : regimes) {
      if (missed.empty()) missed = why_missed(runs, condition, regime);
    }
    (missed.empty() ? out.reached : out.missed).push_back(missed.empty() ? condition : missed);
  }
  for (const auto& run : runs) {
    if (std::ranges::find(out.reached, run.condition) != out.reached.end()) out.runs.push_back(run);
  }
  return out;
}

}  // namespace kappascope::study
