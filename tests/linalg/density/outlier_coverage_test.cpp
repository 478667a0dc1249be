// SPDX-License-Identifier: Apache-2.0
// What the intervals promise where a few eigenvalues stand apart, over draws from the whole class.
// Operators are diagonal: a start is as likely as each of its rotations. With a true rate of 95 %,
// fewer than 365 of 400 happen once in 1,700 sets of seeds (binomial).
#include <cmath>
#include <numbers>

#include "kappascope/core/error.h"
#include "kappascope/linalg/density.h"
#include "kappascope/linalg/lanczos.h"
#include "kappascope/linalg/random.h"
#include "kappascope/linalg/trace.h"
#include "linalg/density/spectra.h"
#include "support/catch.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

constexpr int kDraws = 400, kFewest = 365;

/// One of four bulks of size 1, with `outliers` of either sign 10 to 10⁶ times as large, all of one
/// size or each of its own.
Eigen::VectorXd spectrum(Random& random, Eigen::Index n, Eigen::Index outliers) {
  Eigen::VectorXd values(n);
  const auto kind = random.below(4);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double u = random.uniform();
    values(i) = kind == 0   ? -0.5 + 1.5 * u
                : kind == 1 ? random.normal() / 3
                : kind == 2 ? (u < 0.5 ? 0 : u)
                            : (u < 0.25 ? -1 : 1) * std::exp(-0.05 * static_cast<double>(i));
  }
  const auto size = [&] { return std::pow(10, 1 + 5 * random.uniform()); };
  const double common = size();
  const bool own = random.below(2) == 0;
  const auto signs = random.below(3);  // both, positive, negative
  for (Eigen::Index i = 0; i < outliers; ++i) {
    const bool negative = signs == 2 || (signs == 0 && random.below(2) == 0);
    values(i) = (negative ? -1 : 1) * (own ? size() : common * (1 + random.uniform()));
  }
  return values;
}
Eigen::Index order(Random& random) {
  return static_cast<Eigen::Index>(50 * std::pow(40, random.uniform()));
}

/// Whether a density's trace and one point of its band hold, and how far the first reaches as a
/// share of the largest eigenvalue.
struct Held {
  bool trace = false, point = false;
  double reach = 0;
};
bool holds(const Density& density, const Eigen::VectorXd& values, Eigen::Index i) {
  const double sigma = 0.01 * (density.nodes.maxCoeff() - density.nodes.minCoeff());
  const Eigen::ArrayXd z = (values.array() - density.grid(i)) / sigma;
  const double truth = (-0.5 * z.square()).exp().mean() / (sigma * std::sqrt(2 * std::numbers::pi));
  const double tail = 1e-6 * density.density.maxCoeff();  // where nothing is
  return density.lower(i) - tail <= truth && truth <= density.upper(i) + tail;
}
Held held(const Density& density, const Eigen::VectorXd& values, Random& random) {
  Held held;
  const double rounding = 1e-12 * values.cwiseAbs().sum(), trace = values.sum();
  held.trace = density.trace_lower - rounding <= trace && trace <= density.trace_upper + rounding;
  held.reach = (density.trace_upper - density.trace) / values.cwiseAbs().maxCoeff();
  // At an eigenvalue, the outliers as often as the rest, or anywhere.
  const auto n = static_cast<std::uint64_t>(values.size()), where = random.below(3);
  double at = values(static_cast<Eigen::Index>(random.below(where == 0 ? 10 : n)));
  if (where == 2) at = density.grid(static_cast<Eigen::Index>(random.below(density.grid.size())));
  Eigen::Index i = 0;
  (density.grid.array() - at).abs().minCoeff(&i);
  held.point = holds(density, values, i);
  return held;
}

}  // namespace

TEST_CASE("of an operator of which nothing is known, trace and band hold at their rate") {
  int trace = 0, point = 0;
  Random random(1);
  for (int seed = 0; seed < kDraws; ++seed) {
    const Eigen::VectorXd values =
        spectrum(random, order(random), static_cast<Eigen::Index>(random.below(11)));
    const DensityOptions options{.steps = 40,
                                 .starts = 1 + static_cast<int>(random.below(16)),
                                 .points = 100,
                                 .seed = static_cast<std::uint64_t>(seed)};
    const Held now = held(spectral_density(diagonal(values), options), values, random);
    trace += now.trace ? 1 : 0;
    point += now.point ? 1 : 0;
  }
  CHECK(trace >= kFewest);
  CHECK(point >= kFewest);
}

TEST_CASE("one outlier over a small bulk is where few starts know least of the trace") {
  // Student's t of the starts' own spread covers 83 % of 4.
  for (const int starts : {1, 2, 4, 8}) {
    CAPTURE(starts);
    int trace = 0, point = 0;
    Random random(2);
    for (int seed = 0; seed < kDraws; ++seed) {
      Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(order(random), -1, 1);
      values(0) = (random.below(2) == 0 ? -1 : 1) * std::pow(10, 3 + 3 * random.uniform());
      const DensityOptions options{
          .steps = 6, .starts = starts, .points = 50, .seed = static_cast<std::uint64_t>(seed)};
      const Held now = held(spectral_density(diagonal(values), options), values, random);
      trace += now.trace ? 1 : 0;
      point += now.point ? 1 : 0;
    }
    CHECK(trace >= kFewest);
    CHECK(point >= kFewest);
  }
}

TEST_CASE("a band holds where the steps do not resolve the bandwidth") {
  // 50 nodes, their own distance apart three bandwidths: starts are many and agree on what is
  // wrong. The rate of a seed is 0.98 with a deviation of 0.02 (from 12 others): the mean of eight
  // falls below 0.95 once in 10⁴.
  const Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(1000, -1, 1);
  double share = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const DensityOptions options{.steps = 50, .starts = 16, .points = 200, .seed = seed};
    const Density density = spectral_density(diagonal(values), options);
    for (Eigen::Index i = 0; i < options.points; ++i) share += holds(density, values, i) / 1600.0;
  }
  CHECK(share >= 0.95);
}

TEST_CASE("pairs that were found are taken exactly: the interval holds, and is that of the rest") {
  int trace = 0, point = 0, narrow = 0, well_known = 0;
  Random random(3);
  const LanczosOptions both{.which = SpectrumEnd::kBoth, .vectors = true, .find_repeated = true};
  for (int seed = 0; seed < kDraws; ++seed) {
    const auto outliers = static_cast<Eigen::Index>(random.below(11));
    const Eigen::VectorXd values = spectrum(random, order(random), outliers);
    const auto op = diagonal(values);
    DensityOptions options{.steps = 40,
                           .starts = 2 + static_cast<int>(random.below(15)),
                           .points = 100,
                           .seed = static_cast<std::uint64_t>(seed)};
    const LanczosResult known = lanczos(op, both);
    const Density density = spectral_density(op, options, known);
    const Held now = held(density, values, random);
    trace += now.trace ? 1 : 0;
    point += now.point ? 1 : 0;
    // What lies more than a tenth of the range from the rest, five at each end at most, is known.
    if (outliers == 0 || outliers > 5) continue;
    ++well_known;
    const double rest = std::sqrt(2 * values.tail(values.size() - outliers).squaredNorm());
    const double largest = values.cwiseAbs().maxCoeff();
    // Of the rest: at most 4.3 of its standard errors (two starts). And the least that a pair may
    // be known to.
    narrow += now.reach * largest <= 5 * rest + 0.01 * largest ? 1 : 0;
  }
  CHECK(trace >= kFewest);
  CHECK(point >= kFewest);
  CHECK(narrow == well_known);
}

TEST_CASE("Hutch++ holds at its rate with more outliers than its sketch has directions") {
  int drawn = 0, seven = 0;
  Random random(4);
  for (int seed = 0; seed < kDraws; ++seed) {
    const auto covered = [&](const Eigen::VectorXd& values) {
      const auto found =
          trace(diagonal(values), {.max_products = 300, .seed = static_cast<std::uint64_t>(seed)});
      const double rounding = 1e-12 * values.cwiseAbs().sum();
      return found.lower - rounding <= values.sum() && values.sum() <= found.upper + rounding;
    };
    drawn += covered(spectrum(random, order(random), static_cast<Eigen::Index>(random.below(11))))
                 ? 1
                 : 0;
    Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(300, -0.01, 0.01);
    values.head(6 + seed % 2).setLinSpaced(1, 2);
    seven += covered(values) ? 1 : 0;
  }
  CHECK(drawn >= kFewest);
  CHECK(seven >= kFewest);
}

TEST_CASE("a pair that is known badly, or without its vector, is not taken out") {
  Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(100, -1, 1);
  values.head(2) << 50, 40;
  const auto op = diagonal(values);
  LanczosResult known = lanczos(op, {.top = 3, .tolerance = 1e-8, .vectors = true});
  CHECK(spectral_density(op, {}, known).known == 3);
  CHECK(spectral_density(op, {}, known).outliers.size() == 2);
  CHECK(spectral_density(op, {}, known).outlier_count == Approx(2));
  known.residuals(1) = 1;
  CHECK(spectral_density(op, {}, known).known == 2);
  known.packed_vectors = true;
  CHECK(spectral_density(op, {}, known).known == 0);
  known.packed_vectors = false;
  known.status = KrylovStatus::kInconsistent;
  CHECK(spectral_density(op, {}, known).known == 0);
  known.eigenvectors.resize(100, 0);
  CHECK_THROWS_AS(spectral_density(op, {}, known), kappascope::Error);
  // All but one direction known: that one is left, and with it the answer is exact.
  const auto small = diagonal(Eigen::Vector4d(4, 3, 2, -1));
  const auto all = lanczos(small, {.top = 4, .vectors = true});
  const Density exact = spectral_density(small, {.steps = 3, .starts = 2}, all);
  CHECK(exact.known == 3);
  CHECK(exact.trace == Approx(8));
  CHECK(exact.trace_stderr < 1e-12);
  CHECK(exact.weights.sum() == Approx(1));
}
