// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kappascope/store/record.h"

namespace kappascope::study {

/// What an ended run of a study holds for comparison with others.
struct RunEnd {
  std::filesystem::path dir;
  std::string arm;        ///< its label: what is compared
  std::string condition;  ///< under what; empty without a grid
  std::string seed, state;
  store::Facts facts;

  struct Value {
    double value = 0;       ///< NaN where its status says that it is not to be used
    std::int64_t step = 0;  ///< of the last record that it rests on
  };
  /// By the name of the quantity, of the whole model:
  ///   NAME           the last value of that series; of a series of layers the median over them
  ///   `NAME@median`  the median over all its steps (of layers: of their medians)
  ///   `loss/train@variance`  half the mean squared change of the training loss from step to step,
  ///                  in the second half of the run: its variance where it has no trend
  ///   spikes/        of the training loss (core/spikes): count, first (step at which it began),
  ///                  steps (in spikes, all together), length (mean, of those there are), height
  ///                  (largest peak over the usual value), kappa and effective_rank (of Σ, at the
  ///                  first measurement from the begin of a spike on over the last before it, both
  ///                  within 50 steps of it: median over spikes of the median over layers)
  ///   edge/          of the sharpness that the optimiser sees, over its stability limit: start (at
  ///                  the first measurement), first (step at which it is at least 1), and from
  ///                  there on share (its median) and within (measurements within a fifth of 1)
  ///   explosions/share  steps whose gradient norm is over 3 times the median of the 50 before
  /// A quantity that the run did not record is not there; one that cannot be given is NaN.
  std::map<std::string, Value> values;

  [[nodiscard]] std::string fact(const std::string& key) const;
  /// The fact "data" by name, without the folder: "mnist (60000 training, 10000 test images)".
  [[nodiscard]] std::string data() const;
};

/// Whether a run may hold a quantity of this name in RunEnd::values: a series of the schema or of a
/// user, its median over steps, or one that is derived. It may still not have recorded it.
bool is_metric(const std::string& name);
/// Those that there are, families of series by their pattern; for messages.
std::vector<std::string> metric_names();

/// Reads the runs themselves, or those in the folders that are given, in order of their names.
/// Throws when there is none.
std::vector<RunEnd> read_run_ends(const std::vector<std::filesystem::path>& paths);

}  // namespace kappascope::study
