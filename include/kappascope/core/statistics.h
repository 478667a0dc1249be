// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

/// @file
/// The statistics of every layer; quantiles and tails are Boost.Math's.
namespace kappascope {

/// The x at or below which a variable lies with `probability`, of the standard normal.
/// normal_quantile(0.975) = 1.96: half the width of a 95 % interval, in standard errors. All
/// quantiles throw for a probability outside (0, 1).
double normal_quantile(double probability);
/// Of Student's t. NaN for freedom <= 0 (one value says nothing of its error).
double student_quantile(double probability, double freedom);
/// Of chi-squared. NaN for freedom that is not positive and finite.
double chi_squared_quantile(double probability, double freedom);

struct Interval {
  double lower = 0, upper = 0;
};

/// Where a measurement stands to a limit.
enum class Side : std::uint8_t { kBelow, kUndecided, kAbove };
/// By its whole interval: undecided where that holds the limit, or the end in question is NaN.
constexpr Side side_of(double lower, double upper, double limit) {
  return lower > limit ? Side::kAbove : upper < limit ? Side::kBelow : Side::kUndecided;
}

/// The 95 % score interval of a share seen in n independent observations (Wilson 1927); n need not
/// be whole. It stays inside [0, 1] and is not empty at a share of 0 or 1. n = 0 gives [0, 1].
Interval wilson(double share, double n);

/// The share of observations with a property, where observations of one cluster are dependent.
struct ClusteredShare {
  double share = 0;            ///< NaN without observations
  double n_effective = 0;      ///< independent observations that would know the share as well
  Interval interval = {0, 1};  ///< 95 %: wilson() of n_effective
};

/// hits[i] of of[i] observations of cluster i have it. The error is that of a ratio of totals over
/// independent clusters, widened by Student's t for their number (Korn and Graubard 1998); where
/// all or none have it, n_effective is the number of clusters. One cluster says nothing: [0, 1].
ClusteredShare clustered_share(std::span<const double> hits, std::span<const double> of);

/// What n differences between two arms of a study, paired by seed, say of their mean.
struct PairedDifference {
  std::int64_t pairs = 0;     ///< with both values finite
  std::int64_t left_out = 0;  ///< with a value that is not (a run that diverged, say)
  double mean = 0;            ///< NaN without pairs
  /// 95 % interval of the mean by Student's t: right where the differences are normal, near it for
  /// a dozen of any shape. NaN below two pairs, and where all differences are equal: what does not
  /// spread says nothing about how far off it may be.
  double lower = 0, upper = 0;
  /// Two-sided, of no difference in the mean; NaN below two pairs or where all differences are
  /// equal and not zero, 1 where all are zero.
  double p = 0;
  /// mean over the standard deviation of the differences (Cohen's d for pairs); NaN as p is.
  double effect = 0;
  /// The smallest mean that as many pairs of this spread would find significant in about four of
  /// five studies (0.73 of them for two pairs): below it nothing can be said to be absent. At 5 %,
  /// or, of one of several comparisons, at the level that it was judged at. NaN where the interval
  /// is.
  double detectable = 0;

  /// The same difference, to rounding, in each of several pairs.
  [[nodiscard]] bool is_same_in_all() const;
  /// The chance that a mean of `value` or less gives differences as high as these (one-sided, by
  /// Student's t); NaN where `lower` is.
  [[nodiscard]] double p_above(double value) const;
  /// Likewise of `value` or more, as low as these.
  [[nodiscard]] double p_below(double value) const;
  /// What would be `detectable` at this level, in (0, 1).
  [[nodiscard]] double detectable_at(double level) const;
};

/// Of a - b; both in the order of their pairs. Throws when their lengths differ.
PairedDifference paired_difference(std::span<const double> a, std::span<const double> b);

/// How much more the values of one arm spread than those of another.
struct VarianceRatio {
  double ratio = 0;  ///< of the variances (n - 1), a over b; NaN below two values of each
  double lower = 0, upper = 0;  ///< 95 % interval by F, for normal values
  double p = 0;  ///< two-sided, of equal variances; NaN where the ratio is not finite
};

/// Not paired. The ratio is infinite when only b's values are all equal, NaN when both are.
VarianceRatio variance_ratio(std::span<const double> a, std::span<const double> b);

/// p-values corrected for their number (Holm 1979): the chance of any false finding among them
/// stays below the level at which one is read. NaNs stay and do not count.
std::vector<double> holm(std::span<const double> p);

/// p-values adjusted so that, of those read as findings at a level, at most that share is expected
/// to be false (Benjamini and Hochberg 1995), for tests that are independent or positively
/// dependent. NaNs stay and do not count.
std::vector<double> benjamini_hochberg(std::span<const double> p);

/// The middle of the finite values, or the mean of the two middle ones. NaN when there is none.
double median(std::vector<double> values);

}  // namespace kappascope
