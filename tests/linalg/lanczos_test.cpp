// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/lanczos.h"

#include <Spectra/MatOp/DenseSymMatProd.h>
#include <Spectra/SymEigsSolver.h>

#include <limits>
#include <type_traits>

#include "kappascope/core/error.h"
#include "linalg/host_basis.h"
#include "support/catch.h"
#include "support/matrices.h"

using namespace kappascope::linalg;
using namespace kappascope::test;

namespace {

/// 1 … n - planted in equal steps inside (-1, 1), and the planted values.
Eigen::VectorXd bulk_and(std::initializer_list<double> planted, Eigen::Index n) {
  Eigen::VectorXd values(n);
  const auto count = static_cast<Eigen::Index>(planted.size());
  std::copy(planted.begin(), planted.end(), values.data());
  values.tail(n - count) = Eigen::VectorXd::LinSpaced(n - count, -1, 1);
  return values;
}

/// What lanczos() has to find: the ends, descending, each eigenvalue once.
Eigen::VectorXd ends_of(Eigen::VectorXd values, Eigen::Index top, Eigen::Index bottom) {
  std::sort(values.begin(), values.end(), std::greater<>());
  const Eigen::Index n = values.size();
  if (top + bottom >= n) return values;
  Eigen::VectorXd ends(top + bottom);
  ends << values.head(top), values.tail(bottom);
  return ends;
}

/// Values, true residuals recomputed from the vectors, orthonormality and status.
LanczosResult check_ends(const Eigen::VectorXd& spectrum, LanczosOptions options) {
  const Eigen::MatrixXd matrix = with_spectrum(spectrum, 17);
  options.vectors = true;
  options.find_repeated = true;
  const LanczosResult result = lanczos(dense_operator(matrix), options);
  CHECK(result.status == KrylovStatus::kConverged);
  CHECK(result.multiplicity_checked);
  const Eigen::Index top = options.which == SpectrumEnd::kSmallest ? 0 : options.top;
  const Eigen::Index bottom = options.which == SpectrumEnd::kLargest ? 0 : options.top;
  const Eigen::VectorXd expected = ends_of(spectrum, top, bottom);
  const double scale = spectrum.cwiseAbs().maxCoeff();
  REQUIRE(result.eigenvalues.size() == expected.size());
  CHECK((result.eigenvalues - expected).cwiseAbs().maxCoeff() <= options.tolerance * scale);
  const Eigen::MatrixXd& v = result.eigenvectors;
  const Eigen::MatrixXd gram = v.transpose() * v;
  CHECK((gram - Eigen::MatrixXd::Identity(v.cols(), v.cols())).norm() < 1e-12);
  for (Eigen::Index i = 0; i < v.cols(); ++i) {
    const double residual = (matrix * v.col(i) - result.eigenvalues(i) * v.col(i)).norm();
    CHECK(residual <= 1.1 * options.tolerance * scale + 1e-14);
    CHECK(result.residuals(i) == Approx(residual).margin(1e-13 * scale + 1e-300));
  }
  return result;
}

constexpr double kSharp = 1e-9;

}  // namespace

TEST_CASE("both ends of an ordinary spectrum agree with Spectra") {
  const Eigen::MatrixXd matrix = with_spectrum(geometric_spectrum(150, 1e3).array() - 20, 5);
  const LanczosResult result =
      lanczos(dense_operator(matrix),
              {.top = 4, .which = SpectrumEnd::kBoth, .tolerance = kSharp, .max_products = 3000});
  Spectra::DenseSymMatProd<double> product(matrix);
  Spectra::SymEigsSolver<Spectra::DenseSymMatProd<double>> solver(product, 8, 60);
  solver.init();
  REQUIRE(solver.compute(Spectra::SortRule::BothEnds, 1000, 1e-12) == 8);
  Eigen::VectorXd oracle = solver.eigenvalues();
  std::sort(oracle.begin(), oracle.end(), std::greater<>());
  REQUIRE(result.status == KrylovStatus::kConverged);
  CHECK((result.eigenvalues - oracle).norm() < 1e-7 * oracle.norm());
}

TEST_CASE("largest means by value: the spectra on which power iteration goes wrong") {
  check_ends(bulk_and({10, -10}, 200),
             {.top = 2, .which = SpectrumEnd::kBoth, .tolerance = kSharp});
  check_ends(bulk_and({-20, 10}, 200),
             {.top = 1, .which = SpectrumEnd::kLargest, .tolerance = kSharp});
  check_ends(bulk_and({10, 9.9}, 200),
             {.top = 2, .which = SpectrumEnd::kBoth, .tolerance = kSharp});
  check_ends(bulk_and({-50, -49.99, 3}, 200),
             {.top = 3, .which = SpectrumEnd::kSmallest, .tolerance = kSharp});
}

TEST_CASE("a repeated eigenvalue comes as often as it is there") {
  check_ends(bulk_and({10, 10, 10, 9}, 200),
             {.top = 5, .which = SpectrumEnd::kLargest, .tolerance = kSharp});
  check_ends(bulk_and({10, 10, -7, -7, -7, -7}, 300),
             {.top = 4, .which = SpectrumEnd::kBoth, .tolerance = 1e-6});
  // I ⊗ S, the Hessian of a linear layer: every eigenvalue ten times.
  Eigen::VectorXd block(200);
  for (Eigen::Index i = 0; i < 200; ++i) block(i) = 1.0 + static_cast<double>(i / 10);
  check_ends(block,
             {.top = 12, .which = SpectrumEnd::kBoth, .tolerance = 1e-6, .max_products = 3000});
}

TEST_CASE("without the search for repeated eigenvalues a copy is missed, and products are saved") {
  const Eigen::MatrixXd matrix = with_spectrum(bulk_and({10, 10, 5}, 200), 3);
  LanczosOptions options{.top = 2, .tolerance = 1e-6};
  const LanczosResult without = lanczos(dense_operator(matrix), options);
  options.find_repeated = true;
  const LanczosResult with = lanczos(dense_operator(matrix), options);
  CHECK(with.eigenvalues(1) == Approx(10));
  CHECK(without.eigenvalues(1) == Approx(5));
  CHECK(without.products < with.products);
  CHECK(with.multiplicity_checked);
  CHECK_FALSE(without.multiplicity_checked);
  CHECK_THAT(certificate(without), Catch::Contains("ask with find_repeated."));
  CHECK_THAT(certificate(with), !Catch::Contains("Multiplicity"));
}

TEST_CASE("the default is the five largest, once each, in twenty products") {
  const Eigen::MatrixXd matrix = with_spectrum(bulk_and({9, 8, 7, 6, 5}, 300), 3);
  const LanczosResult found = lanczos(dense_operator(matrix));
  CHECK(found.which == SpectrumEnd::kLargest);
  REQUIRE(found.eigenvalues.size() == 5);
  CHECK(found.eigenvalues(4) == Approx(5).epsilon(1e-3));
  CHECK(found.products <= 20);
}

TEST_CASE("the other end is told from the same products, and which of the two is larger") {
  const Eigen::VectorXd spectrum = bulk_and({10, -20}, 200);
  const auto op = dense_operator(with_spectrum(spectrum, 3));
  for (const auto which : {SpectrumEnd::kLargest, SpectrumEnd::kSmallest}) {
    const bool low = which == SpectrumEnd::kLargest;
    const LanczosResult found = lanczos(op, {.top = 1, .which = which, .tolerance = 1e-6});
    REQUIRE(found.other_end.has_value());
    const auto [value, residual] = *found.other_end;
    const double truth = low ? -20 : 10;
    CHECK(std::abs(value - truth) <= residual + 1e-13);
    CHECK((low ? value >= truth - 1e-13 : value <= truth + 1e-13));  // inside the spectrum
    CHECK(found.other_end_dominates() == low);
    CHECK(found.magnitude() == Approx(20));
    const std::string words = certificate(found, {.both_ends = "--which both"});
    if (low) {
      CHECK_THAT(words,
                 Catch::Contains("The most negative Ritz value of the same space, -20 ") &&
                     Catch::Contains("has the larger magnitude; ask with --which both."));
    } else {
      CHECK_THAT(words, Catch::Contains("reaches up to 10 "));
    }
  }
  const LanczosResult both = lanczos(op, {.top = 1, .which = SpectrumEnd::kBoth});
  CHECK_FALSE(both.other_end.has_value());
  CHECK_THAT(certificate(both), !Catch::Contains("Ritz") && !Catch::Contains("other end"));
  // Nothing but the wanted pairs is there.
  CHECK_FALSE(lanczos(dense_operator(Eigen::MatrixXd::Identity(2, 2)), {.top = 2}).other_end);
}

TEST_CASE("the other end's residual holds what deflation checks have given up") {
  // Copies at the top make several checks, and each from the second on gives up a residual block.
  Eigen::VectorXd spectrum = bulk_and({10, 10, 10, -3}, 120);
  const Eigen::MatrixXd matrix = with_spectrum(spectrum, 17);
  const LanczosResult found =
      lanczos(dense_operator(matrix), {.top = 4, .tolerance = 1e-6, .find_repeated = true});
  REQUIRE(found.other_end.has_value());
  CHECK((spectrum.array() - found.other_end->value).abs().minCoeff() <=
        found.other_end->residual + 1e-12);
}

TEST_CASE("no ghosts: a converged top does not come twice, however long the iteration runs on") {
  // The top pair converges at once and the clustered rest keeps the iteration going; without
  // reorthogonalisation copies of 1000 would fill the list.
  Eigen::VectorXd spectrum = Eigen::VectorXd::LinSpaced(300, 0, 1);
  spectrum(0) = 1000;
  check_ends(spectrum,
             {.top = 4, .which = SpectrumEnd::kLargest, .tolerance = 1e-9, .max_products = 3000});
}

TEST_CASE("a clustered top converges through thick restarts of a small basis") {
  Eigen::VectorXd spectrum = Eigen::VectorXd::LinSpaced(250, -1, 1);
  spectrum.head(5) << 1.05, 1.0501, 1.0502, 1.0503, 1.0504;
  const LanczosResult result = check_ends(spectrum,
                                          {.top = 5,
                                           .which = SpectrumEnd::kLargest,
                                           .tolerance = 1e-7,
                                           .max_products = 3000,
                                           .max_basis = 30});
  CHECK(result.products > 60);
}

TEST_CASE("the smallest basis there is finds the largest pairs, by more products") {
  const Eigen::VectorXd spectrum = Eigen::VectorXd::LinSpaced(400, 0, 20).array().exp();
  const LanczosOptions options{.top = 5, .tolerance = 1e-6, .max_products = 3000};
  auto small = options;
  small.max_basis = 1;  // raised to the pairs and a few new directions
  const auto without = check_ends(spectrum, options), with = check_ends(spectrum, small);
  CHECK(with.products > 13);  // it restarted
  CHECK(with.products >= without.products);
}

TEST_CASE("a small basis costs a third more products at most where the other end is far out") {
  constexpr Eigen::Index kOutliers = 100, kBulk = 200;
  Eigen::VectorXd spectrum = Eigen::VectorXd::LinSpaced(2 * kOutliers + kBulk, -1, 1);
  for (Eigen::Index i = 0; i < kOutliers; ++i) {
    spectrum(i) = 700 / static_cast<double>(i + 1);
    spectrum(kOutliers + i) = -5 * spectrum(i);
  }
  const auto op = dense_operator(spectrum.asDiagonal());
  int with = 0, without = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    // 1e-3 of the end that is far out.
    without += lanczos(op, {.top = 5, .tolerance = 5e-3, .seed = seed}).products;
    with += lanczos(op, {.top = 5, .tolerance = 5e-3, .max_basis = 13, .seed = seed}).products;
  }
  CHECK(with > without);
  CHECK(with < 1.35 * without);  // 1.28; a restart that gives the other end up takes 1.51
}

TEST_CASE("a certificate says that memory was short") {
  auto found = lanczos(dense_operator(Eigen::MatrixXd::Identity(3, 3)), {.top = 1});
  CHECK_THAT(certificate(found), !Catch::Contains("Memory"));
  found.room_for_vectors = 12;
  CHECK_THAT(certificate(found), Catch::Contains("Memory left room for 12 vectors"));
  CHECK_THAT(certificate(found), !Catch::Contains("16 bits"));
  found.packed_vectors = true;
  CHECK_THAT(certificate(found), Catch::Contains("held in 16 bits"));
}

TEST_CASE("an iteration that is stopped gives what is there") {
  const auto op = dense_operator(Eigen::VectorXd::LinSpaced(300, -1, 1).asDiagonal());
  int asked = 0;
  const auto found =
      lanczos(op, {.top = 3, .tolerance = 1e-12, .stop = [&] { return ++asked == 20; }});
  CHECK(found.status == KrylovStatus::kMaxProducts);
  CHECK(found.products == 20);
  REQUIRE(found.eigenvalues.size() == 3);
  const Eigen::VectorXd exact = Eigen::VectorXd::LinSpaced(300, -1, 1);
  for (int i = 0; i < 3; ++i)
    CHECK((exact.array() - found.eigenvalues[i]).abs().minCoeff() <= found.bounds()[i]);
  CHECK(lanczos(op, {.top = 3, .stop = [] { return true; }}).products == 1);
}

TEST_CASE("n = 1, all pairs of a small operator, and where both ends meet") {
  check_ends(Eigen::VectorXd::Constant(1, -3),
             {.top = 5, .which = SpectrumEnd::kBoth, .tolerance = kSharp});
  check_ends(Eigen::VectorXd::LinSpaced(7, -2, 5),
             {.top = 7, .which = SpectrumEnd::kLargest, .tolerance = kSharp});
  check_ends(Eigen::VectorXd::LinSpaced(7, -2, 5),
             {.top = 4, .which = SpectrumEnd::kBoth, .tolerance = kSharp});
}

TEST_CASE("the zero operator and multiples of the identity are ordinary") {
  const LanczosResult zero = check_ends(
      Eigen::VectorXd::Zero(50), {.top = 3, .which = SpectrumEnd::kBoth, .tolerance = kSharp});
  CHECK(zero.residuals.isZero(0));
  check_ends(Eigen::VectorXd::Constant(50, 2.5),
             {.top = 3, .which = SpectrumEnd::kBoth, .tolerance = kSharp});
}

TEST_CASE("an operator that returns NaN or infinity is named, and no pair is invented") {
  for (double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    int calls = 0;
    const SymmetricOperator op{.size = 20, .apply = [&](const auto& x, auto& y) {
                                 y = x;
                                 y(0) = 2 * x(0);
                                 if (++calls > 2) y(3) = bad;
                               }};
    const LanczosResult result = lanczos(op, {.top = 2, .which = SpectrumEnd::kBoth});
    CHECK(result.status == KrylovStatus::kNonFinite);
    CHECK(result.eigenvalues.size() == 0);
    CHECK(result.products == 3);
  }
}

TEST_CASE("a budget that ends first is said, with residuals that tell how far each pair came") {
  const Eigen::MatrixXd matrix = with_spectrum(Eigen::VectorXd::LinSpaced(300, 0, 1), 2);
  const LanczosResult result =
      lanczos(dense_operator(matrix),
              {.top = 3, .which = SpectrumEnd::kBoth, .tolerance = kSharp, .max_products = 20});
  CHECK(result.status == KrylovStatus::kMaxProducts);
  CHECK(result.products == 20);
  CHECK(result.residuals.maxCoeff() > kSharp);
  CHECK(lanczos(dense_operator(matrix), {.top = 3, .which = SpectrumEnd::kBoth, .max_products = 1})
            .eigenvalues.size() == 1);
}

TEST_CASE("an operator that is not symmetric is not called converged") {
  Eigen::MatrixXd matrix = with_spectrum(Eigen::VectorXd::LinSpaced(60, 0, 1), 2);
  matrix(3, 40) += 0.5;
  CHECK(lanczos(dense_operator(matrix), {.top = 2, .which = SpectrumEnd::kBoth, .tolerance = 1e-6})
            .status == KrylovStatus::kInconsistent);
}

TEST_CASE("products with the noise of float32 stop at that noise") {
  const Eigen::MatrixXf matrix = with_spectrum(bulk_and({10, 9, -5}, 300), 8).cast<float>();
  const SymmetricOperator op{
      .size = 300,
      .apply = [&](const Eigen::VectorXd& x,
                   Eigen::VectorXd& y) { y = (matrix * x.cast<float>()).cast<double>(); },
      .product_noise = 1e-6};
  const LanczosResult result =
      lanczos(op, {.top = 2, .which = SpectrumEnd::kLargest, .tolerance = 1e-15});
  CHECK(result.status == KrylovStatus::kConverged);
  CHECK(result.products < 100);
  CHECK(result.residuals.maxCoeff() < 1e-4);
}

TEST_CASE("a start near the answer saves products, and the same seed gives the same bits") {
  const Eigen::MatrixXd matrix = with_spectrum(geometric_spectrum(400, 1e2), 4);
  LanczosOptions options{
      .top = 2, .which = SpectrumEnd::kLargest, .tolerance = 1e-8, .vectors = true};
  const LanczosResult cold = lanczos(dense_operator(matrix), options);
  CHECK(lanczos(dense_operator(matrix), options).eigenvalues == cold.eigenvalues);
  const LanczosResult warm =
      lanczos(dense_operator(matrix), options, cold.eigenvectors.rowwise().sum());
  CHECK(warm.products < cold.products / 2);
  CHECK((warm.eigenvalues - cold.eigenvalues).norm() < 1e-8 * cold.eigenvalues.norm());
}

TEST_CASE("the caller's mistakes are refused") {
  CHECK_THROWS_AS(lanczos(dense_operator(Eigen::MatrixXd(0, 0))), kappascope::Error);
  CHECK_THROWS_AS(dense_operator(Eigen::MatrixXd::Zero(2, 3)), kappascope::Error);
  const auto op = dense_operator(Eigen::MatrixXd::Identity(4, 4));
  CHECK_THROWS_AS(lanczos(op, {.top = 0}), kappascope::Error);
  CHECK_THROWS_AS(lanczos(op, {.max_products = 0}), kappascope::Error);
  CHECK_THROWS_AS(lanczos(op, {.tolerance = std::nan("")}), kappascope::Error);
  CHECK_THROWS_AS(lanczos(op, {}, Eigen::VectorXd::Ones(3)), kappascope::Error);
  CHECK_THROWS_AS(lanczos(SymmetricOperator{.size = 3}), kappascope::Error);
  // A basis refers to its operator, so a temporary one does not compile.
  STATIC_REQUIRE(std::is_constructible_v<HostBasis, const SymmetricOperator&>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<HostBasis, SymmetricOperator>);
}
