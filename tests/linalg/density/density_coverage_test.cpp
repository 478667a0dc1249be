// SPDX-License-Identifier: Apache-2.0
// What the bands of a density promise, over 200 seeds each. Operators are diagonal: a start is as
// likely as each of its rotations. With a true rate of 95 %, fewer than 180 of 200 happen once in
// 600 sets of seeds (binomial).
#include <algorithm>
#include <cmath>
#include <vector>

#include "kappascope/core/error.h"
#include "kappascope/linalg/density.h"
#include "linalg/density/spectra.h"
#include "linalg/density_in.h"
#include "linalg/host_basis.h"
#include "support/catch.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

constexpr int kSeeds = 200;

/// Whether the band holds the true cumulative density at each grid point; `width` scales what it
/// has on either side of the estimate.
Eigen::Array<bool, Eigen::Dynamic, 1> held(const Density& density,
                                           const Eigen::VectorXd& truth,
                                           double width = 1) {
  const Eigen::ArrayXd middle = density.cumulative;
  const Eigen::ArrayXd low = middle - width * (middle - density.cumulative_lower.array());
  const Eigen::ArrayXd high = middle + width * (density.cumulative_upper.array() - middle);
  return low <= truth.array() + 1e-12 && truth.array() <= high + 1e-12;
}

Eigen::VectorXd cumulative(const Eigen::VectorXd& spectrum, const Eigen::VectorXd& grid) {
  return grid.unaryExpr([&](double x) {
    return static_cast<double>((spectrum.array() <= x).count()) /
           static_cast<double>(spectrum.size());
  });
}

struct Rates {
  int held = 0, narrowed = 0, trace = 0, negative = 0, near_zero = 0;
};
Rates rates(const Eigen::VectorXd& spectrum, DensityOptions options) {
  Rates rates;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    options.seed = seed;
    const Density density = spectral_density(diagonal(spectrum), options);
    const Eigen::VectorXd truth = cumulative(spectrum, density.grid);
    rates.held += held(density, truth).all() ? 1 : 0;
    rates.narrowed += held(density, truth, 0.5).all() ? 1 : 0;
    const double trace = spectrum.sum();
    rates.trace += density.trace_lower <= trace && trace <= density.trace_upper ? 1 : 0;
    const auto within = [](const Share& share, double x) {
      return share.lower <= x + 1e-12 && x <= share.upper + 1e-12 ? 1 : 0;
    };
    const double zero = 1e-3 * spectrum.cwiseAbs().maxCoeff();
    rates.negative +=
        within(density.negative_mass, (spectrum.array() < -1e-9).cast<double>().mean());
    rates.near_zero +=
        within(density.near_zero_mass, (spectrum.array().abs() <= zero).cast<double>().mean());
  }
  return rates;
}

}  // namespace

TEST_CASE("the cumulative band holds the whole function, from one start on") {
  // All steps: the quadrature is exact, and the band is nothing but Kolmogorov's.
  for (const int starts : {1, 3}) {
    const Rates exact = rates(Eigen::VectorXd::LinSpaced(60, -1, 3),
                              {.steps = 60, .starts = starts, .points = 200});
    CAPTURE(starts);
    CHECK(exact.held >= 180);
    CHECK(exact.narrowed < 180);
    CHECK(exact.negative >= 180);
    CHECK(exact.near_zero >= 180);
  }
}

TEST_CASE("it holds where few steps leave much open, and where the basis is not kept") {
  for (const int max_vectors : {0, 3}) {
    CAPTURE(max_vectors);
    const Rates few = rates(hessian_like(400),
                            {.steps = 30, .starts = 4, .points = 200, .max_vectors = max_vectors});
    CHECK(few.held >= 180);
    CHECK(few.negative >= 180);
    CHECK(few.near_zero >= 180);
    CHECK(few.trace >= 180);
  }
  // Ghosts: outliers that converge long before the bulk does.
  Eigen::VectorXd outliers = Eigen::VectorXd::LinSpaced(400, -0.5, 1);
  outliers.tail(4) << 33, 21, 12, 9;
  CHECK(rates(outliers, {.steps = 100, .starts = 1, .points = 200, .max_vectors = 3}).held >= 180);
}

TEST_CASE("over batches the band and the trace hold the mean of the distribution, pointwise") {
  // Batches scale one spectrum by s uniform in [0.7, 1.3]: P(s λ <= x) and E s are known.
  const Eigen::Index n = 60;
  const Eigen::VectorXd spectrum = Eigen::VectorXd::LinSpaced(n, -1, 3);
  constexpr int kBatches = 8, kStarts = 2;
  const DensityOptions options{.steps = 60, .starts = kStarts, .points = 50};
  int trace = 0;
  double band = 0, narrowed = 0, alone = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(~seed);
    std::vector<Quadrature> quadratures;
    DensityOptions seeded = options;
    seeded.seed = seed;
    for (int b = 0; b < kBatches; ++b) {
      const SymmetricOperator op = diagonal((0.7 + 0.6 * random.uniform()) * spectrum);
      HostBasis basis(op);
      const auto found = quadratures_in(basis, op.product_noise, seeded, b);
      quadratures.insert(quadratures.end(), found.begin(), found.end());
    }
    const Density density = density_from(quadratures, n, 1e-15, seeded);
    CHECK(density.batches == kBatches);
    CHECK(density.products == kBatches * kStarts * n);
    trace += density.trace_lower <= spectrum.sum() && spectrum.sum() <= density.trace_upper ? 1 : 0;
    const Eigen::VectorXd truth = density.grid.unaryExpr([&](double x) {
      return spectrum
          .unaryExpr([&](double value) {
            const double below = (x / value - 0.7) / 0.6;
            return std::clamp(value > 0 ? below : 1 - below, 0.0, 1.0);
          })
          .mean();
    });
    band += held(density, truth).cast<double>().mean() / kSeeds;
    narrowed += held(density, truth, 0.5).cast<double>().mean() / kSeeds;
    seeded.starts = kBatches * kStarts;  // as if they were starts of one batch
    alone += held(density_from(quadratures, n, 1e-15, seeded), truth).all() ? 1.0 / kSeeds : 0;
  }
  CHECK(trace >= 180);
  CHECK(band >= 0.9);
  CHECK(narrowed < 0.9);
  CHECK(alone < 0.9);
}

TEST_CASE("the error of a trace over batches is split between batches and starts") {
  const Eigen::VectorXd spectrum = Eigen::VectorXd::LinSpaced(60, -1, 3);
  const DensityOptions options{.steps = 20, .starts = 8};
  const std::vector<SymmetricOperator> same(6, diagonal(spectrum));
  const Density starts = spectral_density(same, options);
  std::vector<SymmetricOperator> different;
  for (int b = 0; b < 6; ++b) different.push_back(diagonal((0.5 + 0.2 * b) * spectrum));
  const Density batches = spectral_density(different, options);
  // Without a spread of batches the share is F-distributed with (42, 5) degrees of freedom about 1:
  // below 0.2 once in 10⁴. With one that is ten times that of starts it is about 0.01.
  CHECK(starts.start_share > 0.2);
  CHECK(batches.start_share < 0.2);
  CHECK(batches.trace_stderr > 3 * starts.trace_stderr);
  // Of one batch it is all the starts' own.
  CHECK(spectral_density(same[0], options).start_share == Approx(1));
  CHECK_THROWS_AS(spectral_density(std::span<const SymmetricOperator>()), kappascope::Error);
  CHECK_THROWS_AS(
      spectral_density(std::vector{diagonal(spectrum), diagonal(Eigen::VectorXd::Ones(3))}),
      kappascope::Error);
}
