// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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
