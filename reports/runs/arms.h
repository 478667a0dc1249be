// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/spikes.h"
#include "kappascope/store/run.h"
#include "reports/runs/points.h"

namespace kappascope::reports {

namespace attribute = store::attribute;
namespace id = store::id;
namespace part = store::part;
using store::is_resolved;

/// Attribute of a median over seeds that has fewer than all, or some that are not resolved.
inline constexpr const char* kSeedsNote = "seeds";
/// Attribute of a median with bounds: of how many seeds they are (range_over_seeds).
inline constexpr const char* kSeedsRange = "range";

/// One of what a report compares, read once: a run, or the median over the seeds of a study's arm.
struct Arm {
  using Arrays = std::vector<std::pair<std::int64_t, store::Array>>;

  std::string label;  ///< unique among the arms of one report
  std::string state;
  /// Not 0: the median over so many runs of one arm (runs/median_arm); its bounds are then
  /// those of range_over_seeds().
  std::size_t seeds = 0;
  /// What it stands for, where a report shows runs of several seeds as one (runs/groups); they are
  /// held elsewhere.
  std::vector<const Arm*> runs{};
  std::filesystem::path dir;
  std::int64_t last_step = -1;
  std::string last_written;  ///< when that step was stored, UTC, ISO 8601; empty before the first
  store::Facts facts;
  std::map<store::SeriesKey, Points> scalars;
  std::map<store::SeriesKey, Arrays> arrays;
  std::vector<store::StepEvent> events;
  /// Of the training loss, by the places of its points, where the run was read whole. One in which
  /// the loss is no number is none: the run diverged.
  std::vector<Spike> spikes;
  std::vector<store::VerdictRow> verdicts;
  std::vector<std::string> damaged;  ///< what was left out: RunReader::damaged()

  /// The points of a series by step; empty when the run has none.
  [[nodiscard]] const Points& series(const std::string& name, const std::string& layer = "") const;
  /// The last point with a number in it (infinity counts).
  [[nodiscard]] std::optional<store::StepValue> last(const std::string& name,
                                                     const std::string& layer = "") const;
  /// The last point, also one without a number.
  [[nodiscard]] std::optional<store::StepValue> newest(const std::string& name,
                                                       const std::string& layer = "") const;
  [[nodiscard]] std::string fact(const std::string& key) const;
  /// Does any series begin with `prefix`?
  [[nodiscard]] bool has(const std::string& prefix) const;
};

/// Reads the runs in the given order. Labels come from the fact `label`, else from the folder; two
/// arms of one label get their condition, then their folder (and then a number) added. Throws when
/// `runs` is empty or one cannot be read.
std::vector<Arm> read_arms(const std::vector<std::filesystem::path>& runs);

/// Names the arms as read_arms() does.
void label_arms(std::vector<Arm>& arms);

/// Reads the points of one series since the arm's last one, which may have been replaced.
void read_on(const store::RunReader& run, const store::SeriesKey& key, Arm& arm);

/// Reads what the run has stored since: the points of every series from the arm's last one on. An
/// arm without a point gets all. What was removed meanwhile stays; the label stays as it is.
void read_on(const store::RunReader& run, Arm& arm);

/// Those among its spikes that say something of the learning rate: batches differ, their losses
/// have a heavy tail, and a spike is the rate's only where the loss is far above all before it
/// (core/surges.h). Where losses are not all positive, there is no factor between two: all.
std::vector<Spike> telling_spikes(const Arm& arm);

/// Whether the losses of the two may be compared: same data, same loss, as far as they say.
bool same_problem(const Arm& a, const Arm& b);

/// Natural order of names: "blocks.2" before "blocks.10".
bool natural_less(const std::string& a, const std::string& b);

/// The status as the page prints it; of a median over seeds, how many of them it is of.
std::string status_text(const store::Scalar& scalar);

/// Layers that have a series beginning with `prefix` in any arm, in natural order.
std::vector<std::string> layers_of(std::span<const Arm> arms, const std::string& prefix);
/// Layers whose features were measured, by their condition numbers or their learning times.
std::vector<std::string> measured_layers(std::span<const Arm> arms);
/// Of one arm, without a copy of it.
std::vector<std::string> layers_of(const Arm& arm, const std::string& prefix);

}  // namespace kappascope::reports
