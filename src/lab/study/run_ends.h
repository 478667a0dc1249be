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
  ///   and what is derived from series (derived_metrics).
  /// A quantity that the run did not record is not there; one that cannot be given is NaN.
  std::map<std::string, Value> values;

  [[nodiscard]] std::string fact(const std::string& key) const;
  /// The fact "data" by name, without the folder: "mnist (60000 training, 10000 test images)".
  [[nodiscard]] std::string data() const;
};

/// Reads the runs themselves, or those in the folders that are given, in order of their names.
/// Throws when there is none.
std::vector<RunEnd> read_run_ends(const std::vector<std::filesystem::path>& paths);

}  // namespace kappascope::study
