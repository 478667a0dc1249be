// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reports/runs/arms.h"
#include "store/run_stamp.h"

namespace kappascope::reports {

/// Runs that may still be written, kept as arms that are up to date. Between two calls of update()
/// no file is open: nothing of a run is held, whatever becomes of it or of its writer.
class FollowedRuns {
 public:
  /// A place is a run, or a folder in which runs are looked for two levels deep, now and later.
  /// Throws where there is neither.
  explicit FollowedRuns(std::vector<std::filesystem::path> places);

  /// Reads what was stored since the last call; false where nothing was. Cost of the latter: a few
  /// system calls a run, and a search of the folders every two seconds.
  bool update();

  /// In the order in which they were found, those found together by path. One that is removed stays
  /// as it was read last.
  [[nodiscard]] const std::vector<Arm>& arms() const { return arms_; }
  /// What cannot be read at the moment, a sentence each that begins with the path.
  [[nodiscard]] std::vector<std::string> problems() const;
  [[nodiscard]] const std::vector<std::filesystem::path>& places() const { return places_; }

 private:
  struct Followed {
    std::filesystem::path dir;
    std::optional<std::size_t> arm{};  ///< its place in arms_, once it could be read
    store::RunStamp seen{};
    std::string problem{};
  };

  void search();
  bool refresh(Followed& run);
  void read(Followed& run, bool anew);

  std::vector<std::filesystem::path> places_;
  std::vector<Followed> runs_;
  std::vector<Arm> arms_;
  double searched_ = 0;
};

}  // namespace kappascope::reports
