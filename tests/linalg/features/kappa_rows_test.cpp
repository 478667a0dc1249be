// SPDX-License-Identifier: Apache-2.0
// Does the stated 95 % interval hold the kappa of the population where rows depend on one another,
// repeat, or are rarely large? Each kind of rows is drawn with a width, a number of rows, a
// spectrum, a rotation and parameters of its own, by fixed seeds.
//
// Of D draws, and of those that are called resolved, as many may miss as 95 % coverage exceeds once
// in a thousand sets of draws: over the 13 kinds, twice each, a false alarm of 2.6 %.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kappascope/linalg/features/kappa.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

#ifdef NDEBUG
constexpr int kDraws = 60;
#else
constexpr int kDraws = 6;  // Eigen's assertions are what a debug build is for, not the statistics
#endif

/// Rows of independent columns before they are mixed, and what the population has.
struct Latent {
  RowMatrixD rows;                    ///< [n, d]
  std::vector<Eigen::Index> lengths;  ///< of sequences; none: single rows
  Eigen::VectorXd variances;          ///< [d] of the population
  bool mixed = true;                  ///< may be rotated
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {
    d_ = std::vector<Eigen::Index>{4, 8, 16, 32}[below(4)];
    n_ = std::vector<Eigen::Index>{500, 2000, 8000}[below(3)];
  }

  std::size_t below(std::size_t end) { return engine_() % end; }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  double normal() { return normal_(engine_); }
  bool chance(double p) { return uniform(0, 1) < p; }

  Latent gaussian() {
    return {RowMatrixD::NullaryExpr(n_, d_, [&] { return normal(); }), {}, spectrum(), true};
  }

  Latent sequences() {
    std::vector<Eigen::Index> lengths;
    const auto equal = static_cast<Eigen::Index>(std::size_t{8} << below(5));
    const bool same = chance(0.5);
    for (Eigen::Index left = n_; left > 0; left -= lengths.back())
      lengths.push_back(same ? equal : std::min<Eigen::Index>(left, 4 + below(120)));
    Eigen::Index n = 0;
    for (const auto length : lengths) n += length;
    n_ = n;
    Latent latent = gaussian();
    latent.lengths = lengths;
    return latent;
  }

  /// `rho` gives the autocorrelation of a column.
  Latent autoregressive(const std::function<double()>& rho) {
    Latent latent = sequences();
    for (Eigen::Index j = 0; j < d_; ++j) {
      const double r = rho(), fresh = std::sqrt(1 - r * r);
      Eigen::Index i = 0;
      for (const auto length : latent.lengths) {
        for (Eigen::Index t = 1; t < length; ++t)
          latent.rows(i + t, j) = r * latent.rows(i + t - 1, j) + fresh * latent.rows(i + t, j);
        i += length;
      }
    }
    return latent;
  }

  /// Sequences with lognormal scales, one for all columns or one for each.
  Latent scaled_sequences(bool one_for_all) {
    const double rho = chance(0.5) ? 0 : uniform(-0.9, 0.9), spread = uniform(0.2, 1);
    Latent latent = autoregressive([&] { return rho; });
    const auto scale = [&] { return std::exp(spread * normal() - spread * spread); };
    Eigen::Index i = 0;
    for (const auto length : latent.lengths) {
      const double shared = scale();
      for (Eigen::Index j = 0; j < d_; ++j)
        latent.rows.col(j).segment(i, length) *= one_for_all ? shared : scale();
      i += length;
    }
    return latent;
  }

  Latent repeated(bool in_sequences) {
    const auto times = static_cast<Eigen::Index>(2 + below(chance(0.5) ? 6 : 60));
    const Eigen::Index distinct = n_ / times;
    n_ = distinct;
    Latent once = gaussian(), latent = once;
    n_ = distinct * times;
    const bool whole = !in_sequences && chance(0.5);  // the set again and again
    latent.rows.resize(n_, d_);
    for (Eigen::Index i = 0; i < n_; ++i)
      latent.rows.row(i) = once.rows.row(whole ? i % distinct : i / times);
    if (in_sequences) latent.lengths.assign(static_cast<std::size_t>(distinct), times);
    return latent;
  }

  enum class Spike { kAlone, kGaussian, kUnit, kBesideNoise };
  /// One to four columns that are zero but for an amplitude, in a row of 100 to 10,000. A spike
  /// beside noise that no row shows is beyond any interval: then eight are expected.
  Latent spiked(Spike kind) {
    Latent latent = gaussian();
    latent.mixed = false;
    double p = std::pow(10, uniform(-4, -2)), amplitude = std::pow(10, uniform(0, 3));
    if (kind == Spike::kBesideNoise) p = std::max(p, 8 / static_cast<double>(n_));
    if (kind == Spike::kUnit) amplitude = 1 / std::sqrt(p * (1 - p));
    latent.rows *= latent.variances.cwiseSqrt().asDiagonal();
    const auto columns = static_cast<Eigen::Index>(1 + below(4));
    for (Eigen::Index j = 0; j < columns; ++j) {
      const bool gaussian = kind == Spike::kGaussian, noisy = kind == Spike::kBesideNoise;
      for (Eigen::Index i = 0; i < n_; ++i) {
        const double noise = noisy || gaussian ? normal() : 0;
        const double height = gaussian ? amplitude * noise : amplitude;
        latent.rows(i, j) = (noisy ? noise : 0) + (chance(p) ? height : 0);
      }
      latent.variances(j) = (gaussian ? p : p * (1 - p)) * amplitude * amplitude + (noisy ? 1 : 0);
    }
    return latent;
  }

  /// Whole rows, or single entries, of Student's t with 3 to 5 degrees of freedom.
  Latent student(bool whole_rows) {
    Latent latent = gaussian();
    const double freedom = uniform(3, 5);
    std::chi_squared_distribution<double> chi_squared(freedom);
    const auto scale = [&] { return std::sqrt((freedom - 2) / chi_squared(engine_)); };
    for (Eigen::Index i = 0; i < n_; ++i) {
      const double row = scale();
      for (Eigen::Index j = 0; j < d_; ++j) latent.rows(i, j) *= whole_rows ? row : scale();
    }
    return latent;
  }

  Latent outlying_rows() {
    Latent latent = gaussian();
    const double p = std::max(5 / static_cast<double>(n_), std::pow(10, uniform(-4, -1.3)));
    const double scale = std::pow(10, uniform(0, 2));
    for (Eigen::Index i = 0; i < n_; ++i)
      latent.rows.row(i) *= (chance(p) ? scale : 1) / std::sqrt(1 - p + p * scale * scale);
    return latent;
  }

 private:
  Eigen::VectorXd spectrum() {
    return geometric_spectrum(d_, std::vector<double>{1, 10, 1000}[below(3)]);
  }

  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
  Eigen::Index d_ = 0, n_ = 0;
};

Moments moments_of(const Latent& latent, std::uint64_t seed) {
  RowMatrixD rows = latent.rows;
  if (latent.mixed) {
    rows *= latent.variances.cwiseSqrt().asDiagonal();
    if (seed % 2 == 0) rows *= random_orthogonal(rows.cols(), seed);
    rows.array() += 2;
  }
  MomentAccumulator accumulator(rows.cols());
  if (latent.lengths.empty()) accumulator.update(rows);
  Eigen::Index i = 0;
  for (const auto length : latent.lengths) {
    accumulator.update(rows.middleRows(i, length), {}, length);
    i += length;
  }
  return accumulator.result();
}

/// The misses that exceed 95 % coverage in one of a thousand sets of draws.
int allowed_misses(int draws) {
  double term = std::pow(0.95, draws), sum = term;
  int misses = 0;
  for (; sum < 0.999; ++misses) {
    term *= static_cast<double>(draws - misses) / (misses + 1) / 19;
    sum += term;
  }
  return misses;
}

void check_coverage(const std::string& kind, const std::function<Latent(Draw&)>& rows_of) {
  int missed = 0, resolved = 0, resolved_and_missed = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto seed = static_cast<std::uint64_t>(1000 + draw);
    Draw random(seed);
    const Latent latent = rows_of(random);
    const double truth = latent.variances.maxCoeff() / latent.variances.minCoeff();
    const KappaEstimate sigma = kappa(moments_of(latent, seed)).sigma;
    const bool miss = sigma.resolution != Resolution::kNotResolvable &&
                      (sigma.lower > truth * (1 + 1e-9) || sigma.upper < truth * (1 - 1e-9));
    missed += miss;
    if (sigma.resolution != Resolution::kResolved) continue;
    ++resolved;
    resolved_and_missed += miss;
  }
  INFO(kind << ": missed " << missed << " of " << kDraws << ", " << resolved_and_missed << " of "
            << resolved << " that are resolved");
  CHECK(missed <= allowed_misses(kDraws));
  CHECK(resolved_and_missed <= allowed_misses(resolved));
}

}  // namespace

TEST_CASE("the interval covers where the rows of a sequence depend on one another") {
  check_coverage("one autocorrelation", [](Draw& draw) {
    const double rho = draw.uniform(-0.99, 0.99);
    return draw.autoregressive([rho] { return rho; });
  });
  check_coverage("alternating signs",
                 [](Draw& draw) { return draw.autoregressive([] { return -0.95; }); });
  check_coverage("an autocorrelation a column", [](Draw& draw) {
    return draw.autoregressive([&] { return draw.uniform(-0.99, 0.99); });
  });
  check_coverage("a scale a sequence", [](Draw& draw) { return draw.scaled_sequences(true); });
  check_coverage("a covariance a sequence",
                 [](Draw& draw) { return draw.scaled_sequences(false); });
  check_coverage("a row a sequence", [](Draw& draw) { return draw.repeated(true); });
}

TEST_CASE("the interval covers where single rows were repeated") {
  check_coverage("repeated rows", [](Draw& draw) { return draw.repeated(false); });
}

TEST_CASE("the interval covers where a feature or a row is rarely large") {
  using Spike = Draw::Spike;
  check_coverage("spikes", [](Draw& draw) { return draw.spiked(Spike::kAlone); });
  check_coverage("spikes of unit variance", [](Draw& draw) { return draw.spiked(Spike::kUnit); });
  check_coverage("Gaussian spikes", [](Draw& draw) { return draw.spiked(Spike::kGaussian); });
  check_coverage("spikes and noise", [](Draw& draw) { return draw.spiked(Spike::kBesideNoise); });
  check_coverage("outlying rows", [](Draw& draw) { return draw.outlying_rows(); });
  check_coverage("Student rows", [](Draw& draw) { return draw.student(draw.chance(0.5)); });
}

TEST_CASE("Gaussian rows keep their interval, singly and nearly so in sequences") {
  // What the sums over all rows add is nothing but in 2.5 of a thousand draws. Two of 60 do with
  // probability 1 %.
  int changed = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const auto seed = static_cast<std::uint64_t>(2000 + draw);
    Draw random(seed), again(seed);
    const Moments single = moments_of(random.gaussian(), seed);
    CHECK(single.n_effective == static_cast<double>(single.n));
    Moments kept_rows_only = single;
    kept_rows_only.fourth = {};
    const KappaEstimate all = kappa(single).sigma, kept = kappa(kept_rows_only).sigma;
    changed += all.upper != kept.upper || all.lower != kept.lower;
    // An average of 64 squares or more: five of its standard errors.
    const Latent sequences = again.sequences();
    if (sequences.lengths.size() < 64) continue;
    const Moments grouped = moments_of(sequences, seed);
    CHECK(grouped.n_effective > static_cast<double>(grouped.n) / 1.9);
  }
  CHECK(changed <= 1);
}
