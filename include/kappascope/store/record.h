// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kappascope/core/statistics.h"
#include "kappascope/store/schema/series.h"
#include "kappascope/store/schema/status.h"

namespace kappascope::store {

// Every field has an initializer so that {.name = "x", .value = 1} compiles without a warning.

/// What belongs to a number and is a text: the route that computed it, say. Keys of
/// schema/series.h.
using Attributes = std::map<std::string, std::string>;

/// Bytes that the name of a series or of a layer may have; what is longer is refused, also in a run
/// that is read. Labels, conditions and kinds of events are cut to a thousand when they are read,
/// messages to 64 KiB.
inline constexpr std::size_t kLongestName = 1'000;

/// One number at one step, with its error where it is known. `value` = NaN is stored as NULL and
/// means "not available", which `status` explains; ±infinity is stored as it is.
struct Scalar {
  std::string name{};  ///< of the schema (schema/series.h), or "user/..." for a series of one's own
  std::string layer{};  ///< "blocks.0.down_proj", empty for the whole model
  double value = 0;
  std::optional<double> lower{}, upper{};    ///< 95 % interval, where one was computed
  std::optional<double> n{}, n_effective{};  ///< samples behind the value; NaN means not known
  Status status{};  ///< kOk; the schema lists which others a series may have
  Attributes attributes{};
};

/// Whether the number stands for what its name says; drawn hollow where it does not.
inline bool is_resolved(const Scalar& scalar) {
  return is_resolved(scalar.status);
}

/// Where a number stands to a limit, by its whole interval: without one it is taken as exact, and
/// where it is not resolved it decides nothing.
inline Side side_of(const Scalar& scalar, double limit) {
  if (!is_resolved(scalar)) return Side::kUndecided;
  return kappascope::side_of(
      scalar.lower.value_or(scalar.value), scalar.upper.value_or(scalar.value), limit);
}

/// Whether there is a number that may be compared with the same estimate of another run, layer or
/// step. The only rule of what a comparison, a median over seeds or a measured claim may use.
inline bool usable(const Scalar& scalar) {
  return !std::isnan(scalar.value) && is_comparable(scalar.status);
}

/// A vector or a small table at one step; row-major doubles, as many as `shape` multiplies to.
struct Array {
  std::string name{}, layer{};
  std::vector<std::int64_t> shape{};  ///< empty: one number
  std::vector<double> data{};
};

/// Something that happened: "nan_loss", "interrupted", "resumed", "probe_skipped".
struct Event {
  std::string kind{}, message{};
};

/// What is written in one transaction.
struct Snapshot {
  std::int64_t step = 0;
  std::vector<Scalar> scalars{};
  std::vector<Array> arrays{};
  std::vector<Event> events{};
};

/// Moves what one snapshot holds to the end of another; the step stays behind.
inline void append(Snapshot&& from, Snapshot& to) {
  const auto move = [](auto& source, auto& target) {
    target.insert(target.end(),
                  std::make_move_iterator(source.begin()),
                  std::make_move_iterator(source.end()));
  };
  move(from.scalars, to.scalars);
  move(from.arrays, to.arrays);
  move(from.events, to.events);
}

/// The verdict of one claim, as the run store and programs see it.
struct VerdictRow {
  std::string claim{}, outcome{}, condition{};
  std::string
      json{};  ///< the whole verdict: both sides, margin, cases, seed, witness, route, seconds
};

using Facts = std::vector<std::pair<std::string, std::string>>;  ///< key, value; insertion order

}  // namespace kappascope::store
