// SPDX-License-Identifier: Apache-2.0
// The ends of dense covariances on the host: our Lanczos beside Spectra's SymEigsSolver, to the
// same true residual. Spectra gets the better of two basis sizes; both sides run in turn, and what
// is printed is the median of the rounds' ratios.
#include <Spectra/MatOp/DenseSymMatProd.h>
#include <Spectra/SymEigsSolver.h>
#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "kappascope/linalg/lanczos.h"
#include "kappascope/linalg/random.h"

using namespace kappascope;
using Eigen::Index;

namespace {

/// Q diag(values) Qᵀ, Q a product of three random Householder reflections.
Eigen::MatrixXd planted(const Eigen::VectorXd& values) {
  Eigen::MatrixXd matrix = values.asDiagonal();
  linalg::Random random(5);
  for (int i = 0; i < 3; ++i) {
    const Eigen::VectorXd v = random.normal_vector(values.size()).normalized();
    const Eigen::VectorXd product = matrix * v;
    const double quotient = v.dot(product);
    matrix.noalias() -= 2 * v * product.transpose();
    matrix.noalias() -= 2 * (product - 2 * quotient * v) * v.transpose();
  }
  return matrix;
}

struct Spectrum {
  const char* name;
  Eigen::VectorXd (*values)(Index d);
};

const Spectrum kSpectra[] = {
    // Features of a trained layer: a power law.
    {"1/i",
     [](Index d) -> Eigen::VectorXd { return 1 / Eigen::ArrayXd::LinSpaced(d, 1, double(d)); }},
    // Five directions over isotropic noise as a sample of 4 d rows sees it (Marchenko and Pastur).
    {"spiked",
     [](Index d) -> Eigen::VectorXd {
       Eigen::VectorXd values = Eigen::VectorXd::LinSpaced(d, 0.25, 2.25);
       values.tail(5) << 3, 3.5, 4, 6, 10;
       return values;
     }},
};

struct Found {
  int products = 0;
  double residual = 0;  ///< the largest true one, relative to the largest magnitude
  double seconds = std::numeric_limits<double>::infinity();
};

double true_residual(const Eigen::MatrixXd& matrix,
                     const Eigen::VectorXd& values,
                     const Eigen::MatrixXd& vectors) {
  const Eigen::MatrixXd off = matrix * vectors - vectors * values.asDiagonal();
  return off.colwise().norm().maxCoeff() / values.cwiseAbs().maxCoeff();
}

template <typename Body>
double seconds_of(const Body& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Found ours(const Eigen::MatrixXd& matrix, int top, double tolerance) {
  const linalg::SymmetricOperator op{
      .size = matrix.rows(),
      .apply = [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) { y.noalias() = matrix * x; }};
  linalg::LanczosResult pairs;
  Found found;
  found.seconds = seconds_of([&] {
    pairs = linalg::lanczos(
        op, {.top = top, .tolerance = tolerance, .max_products = 5000, .vectors = true});
  });
  found.products = pairs.products;
  found.residual = true_residual(matrix, pairs.eigenvalues, pairs.eigenvectors);
  return found;
}

Found spectra(const Eigen::MatrixXd& matrix, int top, double tolerance, Index basis) {
  Spectra::DenseSymMatProd<double> product(matrix);
  Found found;
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
  found.seconds = seconds_of([&] {
    Spectra::SymEigsSolver<Spectra::DenseSymMatProd<double>> solver(product, top, basis);
    solver.init();
    solver.compute(Spectra::SortRule::LargestAlge, 1000, tolerance);
    values = solver.eigenvalues();
    vectors = solver.eigenvectors();
    found.products = static_cast<int>(solver.num_operations());
  });
  if (values.size() == top) found.residual = true_residual(matrix, values, vectors);
  return found;
}

/// Spectra's loosest tolerance whose true residual is ours, at the better of two basis sizes.
struct Setting {
  double tolerance = 0;
  Index basis = 0;
  int products = std::numeric_limits<int>::max();
};
Setting cheapest(const Eigen::MatrixXd& matrix, int top, double wanted) {
  Setting best;
  for (const Index basis : {std::max<Index>(20, 2 * top + 1), Index{80}}) {
    for (double tolerance = 100 * wanted; tolerance > 1e-3 * wanted; tolerance /= 10) {
      const Found found = spectra(matrix, top, tolerance, basis);
      if (found.residual > wanted || found.residual == 0) continue;
      if (found.products < best.products) best = {tolerance, basis, found.products};
      break;
    }
  }
  return best;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void measure(const Spectrum& spectrum, Index d, int top, double tolerance) {
  const Eigen::MatrixXd matrix = planted(spectrum.values(d));
  const Setting setting = cheapest(matrix, top, tolerance);
  constexpr int kRounds = 7;
  std::vector<double> ratios;
  Found mine, theirs;
  for (int round = 0; round < kRounds && setting.basis > 0; ++round) {
    mine = ours(matrix, top, tolerance);
    theirs = spectra(matrix, top, setting.tolerance, setting.basis);
    ratios.push_back(mine.seconds / theirs.seconds);
  }
  if (ratios.empty()) mine = ours(matrix, top, tolerance);
  fmt::print("| {} | {} | {} | {:.0e} | {} | {:.1e} | {} | {:.1e} | {} | {} |\n",
             spectrum.name,
             d,
             top,
             tolerance,
             mine.products,
             mine.residual,
             setting.basis > 0 ? fmt::format("{} (ncv {})", theirs.products, setting.basis) : "-",
             theirs.residual,
             ratios.empty() ? "-" : fmt::format("{:.2f}", median(ratios)),
             ratios.empty() ? "-" : fmt::format("{:.3g}", 1e3 * mine.seconds));
  std::fflush(stdout);
}

}  // namespace

int main() {
  fmt::print(
      "| spectrum | d | top | tolerance | products | true residual | Spectra's products | true "
      "residual | our time / Spectra's | our ms |\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& spectrum : kSpectra) {
    for (const Index d : {256, 1024, 4096}) {
      for (const int top : {1, 5}) {
        for (const double tolerance : {1e-3, 1e-6, 1e-10}) measure(spectrum, d, top, tolerance);
      }
    }
  }
}
