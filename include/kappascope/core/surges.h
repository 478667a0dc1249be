// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace kappascope {

struct SurgeOptions {
  std::size_t window = 50;  ///< values before the first that can be a surge
  double factor = 3;        ///< above the usual value; less is of no consequence
  /// The chance that a series without surges has one told, each time that its length grows by a
  /// factor of e: 0.9 % of 5,000 values, as 50 are not judged.
  double false_alarms = 0.002;
};

/// Finds values of a positive, noisy series that are far above everything before them, such as the
/// norm of the gradient where training breaks. A height is the logarithm of a value over the median
/// of the 20 before it, so that a trend does not count. Where the values scatter as a power law
/// (their heights as an exponential one) or less, the height after n others is beyond the highest
/// by m means of the 20 highest's excess over the 21st with a chance of (1 + m/20)^−20 / n at most;
/// dependence makes the first such height rarer. A surge is a height beyond that m, and beyond the
/// factor: of a single value, or of the median of the last 5, whose scatter is less, so that a
/// lower one that lasts is found too. It lasts until 10 values in a row lie below half of that
/// height; what is usual stays as it was, so a level that does not come back is a surge that is not
/// over.
class SurgeDetector {
 public:
  explicit SurgeDetector(const SurgeOptions& options = {});
  /// Whether a surge begins with this value. One that is not positive, or no number, is no part of
  /// the series.
  bool add(double value);
  /// The median that the surge was held against.
  [[nodiscard]] double usual() const;
  /// Everything that it goes by, as numbers.
  [[nodiscard]] std::vector<double> state() const;
  /// Takes them over. Throws Error where they are not those of such a detector.
  void load(std::span<const double> state);

 private:
  /// The series itself, or its running medians; logarithms.
  struct Track {
    std::deque<double> recent;
    std::vector<double> highest;  // the largest heights, from the highest on
  };
  bool rises(Track& track, double log);

  SurgeOptions options_;
  double reach_;             // m above
  std::size_t seen_ = 0;     // values that are part of no surge
  std::deque<double> last_;  // of which the median is taken
  Track single_, lasting_;
  double usual_, end_;  // of the surge that is on, or the last one: the median, and where it ends
  bool in_surge_ = false;
  std::size_t below_ = 0;  // values below its end so far, in a row
};

/// The places of the surges' first values.
std::vector<std::size_t> find_surges(std::span<const double> values,
                                     const SurgeOptions& options = {});

}  // namespace kappascope
