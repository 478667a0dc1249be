// SPDX-License-Identifier: Apache-2.0
#include "kappascope/linalg/lanczos.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/names.h"
#include "core/require.h"
#include "linalg/host_basis.h"
#include "linalg/lanczos_in.h"

namespace kappascope::linalg {

Eigen::Index smallest_basis(const LanczosOptions& options, Eigen::Index n) {
  constexpr Eigen::Index kNewDirections = 8, kToCheck = 16;
  const Eigen::Index ends = options.which == SpectrumEnd::kBoth ? 2 : 1;
  const auto enough = std::min<Eigen::Index>(n, ends * options.top);
  return std::min<Eigen::Index>(
      n, options.find_repeated ? 2 * enough + kToCheck : enough + kNewDirections);
}

SymmetricOperator dense_operator(const Eigen::MatrixXd& matrix) {
  require(matrix.rows() == matrix.cols(),
          "a symmetric operator must be square, got {} x {}",
          matrix.rows(),
          matrix.cols());
  const auto copy = std::make_shared<const Eigen::MatrixXd>(matrix);
  return {.size = matrix.rows(), .apply = [copy](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
            y.noalias() = *copy * x;
          }};
}

const char* to_string(KrylovStatus status) {
  return name_in<KrylovStatus::kInconsistent>(
      std::array{"converged", "max_products", "non_finite", "inconsistent"}, status);
}

const char* to_string(SpectrumEnd end) {
  return name_in<SpectrumEnd::kBoth>(std::array{"largest", "smallest", "both"}, end);
}

SpectrumEnd parse_spectrum_end(const std::string& name, const std::string& option) {
  for (const auto end : {SpectrumEnd::kLargest, SpectrumEnd::kSmallest, SpectrumEnd::kBoth})
    if (name == to_string(end)) return end;
  throw UsageError(fmt::format("{} must be both, largest or smallest, got '{}'", option, name));
}

HostBasis::HostBasis(const SymmetricOperator& op)
    : op_(op), columns_(op.size, 0), product_(op.size) {
  require(static_cast<bool>(op.apply), "an operator needs a product");
}

void HostBasis::multiply(Eigen::Index i) {
  work_ = columns_.col(i);
  op_.apply(work_, product_);
  require(product_.size() == op_.size,
          "an operator of order {} returned a vector of width {}",
          op_.size,
          product_.size());
  work_.swap(product_);
}

Eigen::VectorXd HostBasis::project(Eigen::Index count) const {
  return columns_.leftCols(count).transpose() * work_;
}

double HostBasis::subtract(const Eigen::VectorXd& coefficients) {
  work_.noalias() -= columns_.leftCols(coefficients.size()) * coefficients;
  return work_.norm();
}

void HostBasis::store(Eigen::Index i, double factor) {
  if (i >= columns_.cols()) {
    columns_.conservativeResize(Eigen::NoChange,
                                std::max<Eigen::Index>(i + 1, 2 * columns_.cols()));
  }
  columns_.col(i) = factor * work_;
}

void HostBasis::rotate(const Eigen::MatrixXd& y) {
  columns_.leftCols(y.cols()) = (columns_.leftCols(y.rows()) * y).eval();
}

namespace detail {

std::vector<Eigen::Index> wanted_ends(Eigen::Index m, Eigen::Index bottom, Eigen::Index top) {
  std::vector<Eigen::Index> wanted;
  for (Eigen::Index i = 0; i < m; ++i) {
    if (i < bottom || i >= m - top) wanted.push_back(i);
  }
  return wanted;
}

bool separated(const Eigen::VectorXd& values,
               const Eigen::VectorXd& residuals,
               Eigen::Index bottom,
               Eigen::Index top,
               double low_goal,
               double high_goal) {
  const Eigen::Index m = values.size();
  if (bottom + top >= m) return true;
  const Eigen::Index above = m - top - 1;
  const bool high = top == 0 || residuals(above) <= high_goal ||
                    values(above) + residuals(above) < values(above + 1);
  const bool low = bottom == 0 || residuals(bottom) <= low_goal ||
                   values(bottom) - residuals(bottom) > values(bottom - 1);
  return high && low;
}

}  // namespace detail

double ExtremeEigenvalues::magnitude() const {
  const double found = eigenvalues.size() == 0 ? 0 : eigenvalues.cwiseAbs().maxCoeff();
  return other_end ? std::max(found, std::abs(other_end->value)) : found;
}

bool ExtremeEigenvalues::other_end_dominates() const {
  return other_end && eigenvalues.size() > 0 &&
         std::abs(other_end->value) > eigenvalues.cwiseAbs().maxCoeff();
}

Eigen::VectorXd ExtremeEigenvalues::bounds() const {
  if (eigenvalues.size() == 0) return {};
  return residuals.array() + product_noise * magnitude();
}

namespace {

bool is_of_upper_end(const ExtremeEigenvalues& found, Eigen::Index i) {
  // Where products ran out before all were there, the upper end has one more.
  const Eigen::Index k = found.eigenvalues.size();
  return found.which == SpectrumEnd::kLargest ||
         (found.which == SpectrumEnd::kBoth && i < k - k / 2);
}

}  // namespace

bool ExtremeEigenvalues::ranked(Eigen::Index i) const {
  const bool outermost = i == (is_of_upper_end(*this, i) ? 0 : eigenvalues.size() - 1);
  return certified(i) || (outermost && std::isfinite(reach(i)));
}

std::pair<double, double> ExtremeEigenvalues::interval(Eigen::Index i) const {
  const double bound = bounds()(i), outwards = ranked(i) ? std::max(bound, reach(i)) : bound;
  const bool up = is_of_upper_end(*this, i);
  return {eigenvalues(i) - (up ? bound : outwards), eigenvalues(i) + (up ? outwards : bound)};
}

namespace {

std::string what_values_are_worth(const ExtremeEigenvalues& found, const OptionNames& names) {
  switch (found.status) {
    case KrylovStatus::kConverged:
      return "Each value is within its +- of an eigenvalue: the length of A v - value v and the "
             "rounding of a product.\n";
    case KrylovStatus::kMaxProducts:
      return fmt::format(
          "Not converged: {}. Each value is within its +- of an eigenvalue, but others may lie "
          "beyond it{}.\n",
          found.stopped ? "it was interrupted" : "the products ran out",
          found.stopped ? ""
                        : fmt::format("; raise {} or {}", names.max_products, names.tolerance));
    case KrylovStatus::kNonFinite:
      return "No values: a product was not finite.\n";
    case KrylovStatus::kInconsistent:
      return "Do not trust these: products contradict each other, so the loss differs from call to "
             "call or is noisier than its type allows.\n";
  }
  return {};
}

/// Which values of an end are the extreme ones: [i] the i-th of them from the outside.
std::string what_ranks_are_worth(const ExtremeEigenvalues& found,
                                 const char* end,
                                 const std::vector<Eigen::Index>& outwards,
                                 const OptionNames& names) {
  std::size_t certified = 0;
  while (certified < outwards.size() && found.certified(outwards[certified])) ++certified;
  if (outwards.empty()) return {};
  const double reach = found.reach(outwards.back());
  if (reach == 0) return fmt::format("They are the {} ones for certain.\n", end);
  std::string text;
  if (certified > 0) {
    text = fmt::format(
        "Certified (95 %): the {} {} are that, where values within {:.1e} of each other count as "
        "one.\n",
        certified,
        end,
        found.tolerances(outwards.front()));
  }
  if (certified == outwards.size()) return text;
  const std::string missed =
      std::isfinite(reach)
          ? fmt::format("within {:.1e} of them there may be others that were missed", reach)
          : "others may lie beyond, as too few products have looked";
  return text + fmt::format("{} {} only lie near some eigenvalue: {}; to go on, ask with {}.\n",
                            certified > 0 ? "The rest of the" : "The",
                            end,
                            missed,
                            names.certify);
}

std::string what_ranks_are_worth(const ExtremeEigenvalues& found, const OptionNames& names) {
  if (found.status == KrylovStatus::kInconsistent) return {};
  std::vector<Eigen::Index> largest, smallest;
  for (Eigen::Index i = 0; i < found.eigenvalues.size(); ++i)
    (is_of_upper_end(found, i) ? largest : smallest).push_back(i);
  std::reverse(smallest.begin(), smallest.end());
  return what_ranks_are_worth(found, "largest", largest, names) +
         what_ranks_are_worth(found, "smallest", smallest, names);
}

std::string at_the_other_end(const ExtremeEigenvalues& found, const OptionNames& names) {
  if (!found.other_end) return {};
  const bool low = found.which == SpectrumEnd::kLargest;
  const auto [value, residual] = *found.other_end;
  if (found.other_end_dominates()) {
    return fmt::format(
        "The most {} Ritz value of the same space, {:.6g} (residual {:.1e}), has the larger "
        "magnitude; ask with {}.\n",
        low ? "negative" : "positive",
        value,
        residual,
        names.both_ends);
  }
  return fmt::format(
      "The other end was not asked for: the same space reaches {} to {:.6g} (residual {:.1e}), and "
      "the spectrum at least as far.\n",
      low ? "down" : "up",
      value,
      residual);
}

}  // namespace

std::string certificate(const ExtremeEigenvalues& found, const OptionNames& names) {
  std::string text = what_values_are_worth(found, names);
  if (found.eigenvalues.size() == 0) return text;
  if (!found.multiplicity_checked) {
    text += fmt::format(
        "Multiplicity was not looked for: a repeated eigenvalue comes once; ask with {}.\n",
        names.find_repeated);
  }
  text += what_ranks_are_worth(found, names) + at_the_other_end(found, names);
  if (found.room_for_vectors > 0) {
    text += fmt::format(
        "Memory left room for {} vectors, so the iteration restarted more often and took more "
        "products.\n",
        found.room_for_vectors);
  }
  if (found.packed_vectors) {
    text +=
        "For want of memory the vectors were held in 16 bits a number; the residuals are those of "
        "products in full precision.\n";
  }
  return text;
}

LanczosResult lanczos(const SymmetricOperator& op,
                      const LanczosOptions& options,
                      const Eigen::MatrixXd& start) {
  const Eigen::Index starts = start.size() == 0 ? 0 : start.cols();
  require(starts == 0 || start.rows() == op.size,
          "start vectors of width {} do not fit an operator of order {}",
          start.rows(),
          op.size);
  require(start.allFinite(), "a start vector has NaN or infinity in it");
  HostBasis basis(op);
  LanczosResult result{lanczos_in(
      basis, op.product_noise, options, starts, [&](Eigen::Index i) { basis.load(start.col(i)); })};
  if (options.vectors) result.eigenvectors = basis.columns(result.eigenvalues.size());
  return result;
}

}  // namespace kappascope::linalg
