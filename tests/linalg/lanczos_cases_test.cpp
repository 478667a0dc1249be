// SPDX-License-Identifier: Apache-2.0
// lanczos() on a thousand symmetric matrices whose spectra are chosen to be hard: the values found
// are the ends of the spectrum, each as often as it is there, to the stated bound. Every case is a
// function of its seed, so a failure names the seed and comes again.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kappascope/linalg/lanczos.h"
#include "kappascope/linalg/random.h"
#include "support/catch.h"

using namespace kappascope::linalg;

namespace {

using Eigen::Index;

/// Q diag(values) Qᵀ with Q the product of three Householder reflections: O(n) a product.
class Reflected {
 public:
  Reflected(Eigen::VectorXd values, Random& random)
      : values_(std::move(values)), mirrors_(values_.size(), 3) {
    for (auto mirror : mirrors_.colwise()) mirror = random.normal_vector(size()).normalized();
  }
  [[nodiscard]] Index size() const { return values_.size(); }
  [[nodiscard]] Eigen::VectorXd product(const Eigen::VectorXd& x) const {
    Eigen::VectorXd y = x;
    for (Index i = 2; i >= 0; --i) y -= 2 * mirrors_.col(i).dot(y) * mirrors_.col(i);
    return from_diagonal(values_.cwiseProduct(y));
  }
  /// The vector that has coordinates c in the eigenvectors.
  [[nodiscard]] Eigen::VectorXd from_diagonal(Eigen::VectorXd c) const {
    for (Index i = 0; i < 3; ++i) c -= 2 * mirrors_.col(i).dot(c) * mirrors_.col(i);
    return c;
  }
  [[nodiscard]] SymmetricOperator as_operator() const {
    return {.size = size(),
            .apply = [this](const Eigen::VectorXd& x, Eigen::VectorXd& y) { y = product(x); }};
  }

 private:
  Eigen::VectorXd values_;
  Eigen::MatrixXd mirrors_;  // [n, 3] unit columns
};

constexpr std::array<const char*, 10> kFamilies{"clustered top",
                                                "repeated top",
                                                "repeated at both ends",
                                                "largest magnitude negative",
                                                "zero matrix",
                                                "n = 1",
                                                "k = n",
                                                "every value several times",
                                                "low rank",
                                                "outliers over a decaying bulk"};

struct Case {
  std::string family = {};
  Eigen::VectorXd values = {};
  LanczosOptions options = {};
};

/// What lies inside (-1, 1): equal steps, uniform draws, mostly zeros, or crowded about 0.
Eigen::VectorXd bulk(Index n, Random& random) {
  Eigen::VectorXd values(n);
  const auto kind = random.below(4);
  for (Index i = 0; i < n; ++i) {
    const double step = (2.0 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
    const double draw = 2 * random.uniform() - 1;
    if (kind == 0) values(i) = step;
    if (kind == 1) values(i) = draw;
    if (kind == 2) values(i) = random.below(4) == 0 ? draw : 0;
    if (kind == 3) values(i) = step * step * step;
  }
  return values;
}

int from_to(int low, int high, Random& random) {
  return low + static_cast<int>(random.below(static_cast<std::uint64_t>(high - low + 1)));
}

Case draw_case(std::uint64_t seed) {
  Random random(seed);
  const auto family = static_cast<std::size_t>(seed % kFamilies.size());
  // Of ten, six are small and one is large.
  const auto size = (seed / kFamilies.size()) % 10;
  Index n = from_to(12, 60, random);
  if (size >= 6) n = from_to(60, 400, random);
  if (size == 9) n = from_to(400, 2000, random);
  Case c{.family = kFamilies[family]};
  c.options.seed = seed;
  c.options.max_products = 3000;
  c.options.vectors = true;
  c.options.find_repeated = true;
  c.options.top = from_to(1, 6, random);
  c.options.which = std::array{SpectrumEnd::kLargest,
                               SpectrumEnd::kSmallest,
                               SpectrumEnd::kBoth}[static_cast<std::size_t>(random.below(3))];
  c.options.tolerance = std::array{1e-3, 1e-6, 1e-9}[static_cast<std::size_t>(random.below(3))];
  if (random.below(3) == 0) c.options.max_basis = 20;
  c.values = bulk(n, random);
  auto& values = c.values;
  const int copies = from_to(2, 5, random);
  switch (family) {
    case 0: {
      const double spacing = std::pow(10.0, -from_to(2, 8, random));
      for (int i = 0; i < copies; ++i) values(i) = 3 + spacing * i;
      break;
    }
    case 1:
      values.head(copies).setConstant(3);
      break;
    case 2:
      values.head(copies).setConstant(2);
      values.tail(from_to(2, 5, random)).setConstant(-4);
      break;
    case 3:
      values.head(3) << -20, 10, -19.9;
      break;
    case 4:
      values.setZero();
      break;
    case 5:
      values = Eigen::VectorXd::Constant(1, 4 * random.uniform() - 2);
      break;
    case 6:
      values = values.head(std::min<Index>(n, 30)).eval();
      if (random.below(2) == 0) values.head(copies).setConstant(1.5);
      c.options.top = static_cast<int>(values.size());
      break;
    case 7:
      for (Index i = 0; i < n; ++i) values(i) = 1 + static_cast<double>(i / (1 + n / 12));
      c.options.top = from_to(1, static_cast<int>(1 + n / 12) + 2, random);
      c.options.top = std::min(c.options.top, 12);
      break;
    case 8:
      values.tail(n - 6).setZero();
      values.head(6) << 5, 4, 1, -0.5, -2, -8;
      break;
    default:
      for (Index i = 0; i < n; ++i) values(i) *= std::exp(-0.03 * static_cast<double>(i));
      values.head(6) << 50, 40, 22, 21.9, 12, -3;
      c.options.top = std::min(c.options.top, 5);
  }
  return c;
}

/// A start that knows much (the sum of the wanted eigenvectors) or nothing (an eigenvector of
/// another value, which spans an invariant space).
Eigen::VectorXd draw_start(const Reflected& matrix, const Eigen::VectorXd& values, Random& random) {
  const auto kind = random.below(4);
  if (kind > 1) return {};
  Eigen::VectorXd coordinates = Eigen::VectorXd::Zero(values.size());
  if (kind == 0) {
    coordinates(static_cast<Index>(random.below(static_cast<std::uint64_t>(values.size())))) = 1;
  } else {
    coordinates.head(std::min<Index>(4, values.size())).setOnes();
  }
  return matrix.from_diagonal(coordinates);
}

/// The ends that were asked for, descending.
Eigen::VectorXd wanted(Eigen::VectorXd values, const LanczosOptions& options) {
  std::sort(values.begin(), values.end(), std::greater<>());
  const Index n = values.size();
  const Index top = options.which == SpectrumEnd::kSmallest ? 0 : options.top;
  const Index bottom = options.which == SpectrumEnd::kLargest ? 0 : options.top;
  if (top + bottom >= n) return values;
  Eigen::VectorXd ends(top + bottom);
  ends << values.head(top), values.tail(bottom);
  return ends;
}

/// What is wrong with the answer to one case; empty when nothing is.
std::string fault(const Case& c, const Reflected& matrix, const LanczosResult& found) {
  const Eigen::VectorXd truth = wanted(c.values, c.options);
  const double scale = c.values.cwiseAbs().maxCoeff();
  const double rounding = 1e-13 * scale;
  if (found.status != KrylovStatus::kConverged) return to_string(found.status);
  if (found.eigenvalues.size() != truth.size()) return "another number of values";
  const double noise = matrix.as_operator().product_noise;
  const double tolerance = std::max(c.options.tolerance, 10 * noise) * scale;
  if (!(found.residuals.maxCoeff() <= 1.1 * tolerance + rounding)) return "residual";
  const Eigen::MatrixXd& v = found.eigenvectors;
  const Eigen::MatrixXd gram = v.transpose() * v;
  if (!((gram - Eigen::MatrixXd::Identity(v.cols(), v.cols())).norm() < 1e-10)) return "vectors";
  const Eigen::VectorXd bounds = found.bounds();
  for (Index i = 0; i < truth.size(); ++i) {
    const double value = found.eigenvalues(i);
    const double residual = (matrix.product(v.col(i)) - value * v.col(i)).norm();
    if (!(std::abs(found.residuals(i) - residual) <= rounding)) return "stated residual";
    // A ghost is a value where none is; a value found twice or missed shifts all behind it.
    if (!((c.values.array() - value).abs().minCoeff() <= bounds(i) + rounding)) return "ghost";
  }
  // One to one, as k Ritz values lie within the norm of their k residuals (Kahan 1967): what is
  // closer than that the tolerance itself does not tell apart.
  const double together = std::sqrt(static_cast<double>(truth.size())) * tolerance + rounding;
  if (!((found.eigenvalues - truth).cwiseAbs().maxCoeff() <= together)) return "missed";
  return {};
}

}  // namespace

TEST_CASE("a thousand hard spectra: right to the stated bound, no ghost, none missed") {
  std::string faults;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Case c = draw_case(seed);
    Random random(~seed);
    const Reflected matrix(c.values, random);
    const Eigen::MatrixXd start = draw_start(matrix, c.values, random);
    const LanczosResult found = lanczos(matrix.as_operator(), c.options, start);
    const std::string what = fault(c, matrix, found);
    if (what.empty()) continue;
    faults += c.family + ", seed " + std::to_string(seed) + ": " + what + "\n";
  }
  INFO(faults);
  CHECK(faults.empty());
}

TEST_CASE("the planted spectra are those of their matrices, by Eigen's dense solver") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Case c = draw_case(seed);
    const Index n = c.values.size();
    if (n > 60) continue;
    Random random(~seed);
    const Reflected matrix(c.values, random);
    Eigen::MatrixXd dense(n, n);
    for (Index i = 0; i < n; ++i) dense.col(i) = matrix.product(Eigen::VectorXd::Unit(n, i));
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(dense, Eigen::EigenvaluesOnly);
    Eigen::VectorXd sorted = c.values;
    std::sort(sorted.begin(), sorted.end());
    CHECK((dense - dense.transpose()).norm() <= 1e-13 * (1 + dense.norm()));
    CHECK((solver.eigenvalues() - sorted).cwiseAbs().maxCoeff() <= 1e-13 * (1 + dense.norm()));
  }
}
