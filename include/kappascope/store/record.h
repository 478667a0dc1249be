// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kappascope::store {

// Every field has an initializer so that {.name = "x", .value = 1} compiles without a warning.

/// One number at one step, with what is known of its error. `value` = NaN is stored as NULL and
/// means "not available", which `status` explains; ±infinity is stored as it is.
struct Scalar {
  std::string name{};   ///< "kappa/sigma", "loss/train": a slash parts the family from the quantity
  std::string layer{};  ///< "blocks.0.down_proj", empty for the whole model
  double value = 0;
  std::optional<double> lower{}, upper{};    ///< 95 % interval, where one was computed
  std::optional<double> n{}, n_effective{};  ///< samples behind the value; NaN means not known
  std::string status = "ok";  ///< "ok", "resolved", "biased", "not_resolvable", "degenerate", ...
};

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

/// What is written at once, in one transaction.
struct Snapshot {
  std::int64_t step = 0;
  std::vector<Scalar> scalars{};
  std::vector<Array> arrays{};
  std::vector<Event> events{};
};

/// The verdict of one claim, as the run store and programs see it.
struct VerdictRow {
  std::string claim{}, outcome{}, condition{};
  std::string
      json{};  ///< the whole verdict: both sides, margin, cases, seed, witness, route, seconds
};

using Facts = std::vector<std::pair<std::string, std::string>>;  ///< key, value; insertion order

}  // namespace kappascope::store
