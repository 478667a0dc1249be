// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace kappascope {

struct SpikeOptions {
  std::size_t window = 50;  ///< calm values before a point that say what is usual there
  double threshold = 8;     ///< spreads above the usual value at which a spike begins
  double end = 4;           ///< spreads above it below which the spike is over
};

/// A stretch of a series that stands out upwards.
struct Spike {
  std::size_t begin = 0;   ///< index of its first value
  std::size_t length = 0;  ///< values in it
  double usual = 0;        ///< median of the calm values before it
  double peak = 0;         ///< its largest value; infinite where a value is no number
  bool over = false;       ///< false: the series ended before it did
};

/// Finds spikes while a series grows, a value at a time; find_spikes() says what one is.
class SpikeDetector {
 public:
  enum class Place : std::uint8_t {
    kCalm,    ///< outside spikes, or before there are enough values
    kBegin,   ///< the first value of a spike
    kInside,  ///< still above its end
    kBelow,   ///< below its end, perhaps for a moment
    kOver,    ///< so many in a row lay below it that it is over
  };

  explicit SpikeDetector(const SpikeOptions& options = {});
  /// Where the next value stands.
  Place add(double value);
  /// Median of the calm values: before the spike that is on, or before the next value; NaN where
  /// they are not enough yet.
  [[nodiscard]] double usual() const;
  /// Everything that it goes by, as numbers.
  [[nodiscard]] std::vector<double> state() const;
  /// Takes them over. Throws Error where they are not those of such a detector.
  void load(std::span<const double> state);

 private:
  struct Usual {
    double value = 0, spread = 0;
    [[nodiscard]] double above(double spreads) const;
  };
  [[nodiscard]] Usual usual_now() const;
  void keep(double calm);

  SpikeOptions options_;
  std::deque<double> calm_;     // the last ones, in the order in which they came
  std::vector<double> sorted_;  // the same in theirs
  bool in_spike_ = false;
  Usual before_;              // of the spike that is on
  std::size_t calm_run_ = 0;  // values below its end so far, in a row
};

/// The spikes of a series of equal steps, such as the loss of every training step. What is usual
/// is the median of the last `window` values outside spikes, its spread 1.4826 times the median of
/// their distances from it (the standard deviation of normal noise); a spike lasts until `window`/5
/// values in a row, which are not part of it, lie below its end. The usual value stays as it was
/// before the spike, so a level that does not come back is a spike that is not over. A falling
/// series lies below what was usual and has no spikes; with normal noise a value is taken for one
/// less often than once in 1e5 (the test draws so many), with heavier tails more often. A spread of
/// zero (a series that stands still) takes any rise beyond rounding for a spike.
std::vector<Spike> find_spikes(std::span<const double> values, const SpikeOptions& options = {});

/// Which share of the values is above `factor` times the median of the `window` values before it;
/// those before the first whole window are not counted. NaN below window + 1 values. A value that
/// is not a number counts as above.
double share_above_median(std::span<const double> values, double factor, std::size_t window = 50);

}  // namespace kappascope
