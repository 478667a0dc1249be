// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "core/require.h"
#include "kappascope/linalg/lanczos.h"
#include "linalg/krylov.h"
#include "linalg/random_starts.h"

namespace kappascope::linalg {

/// Columns of a basis of order n that cannot be less: a restart needs room for new directions, some
/// to select from; a deflation check needs a dozen, and the wanted pairs kept twice over.
Eigen::Index smallest_basis(const LanczosOptions& options, Eigen::Index n);

namespace detail {

/// Which of m ascending Ritz values are wanted: the first `bottom` and the last `top`, each once.
std::vector<Eigen::Index> wanted_ends(Eigen::Index m, Eigen::Index bottom, Eigen::Index top);

/// Whether deflation checks may end: at every asked end the first Ritz pair behind the wanted ones
/// has converged, or cannot reach in among them. `values` ascending; `residuals` of all pairs, and
/// what they may be at the bottom and at the top.
bool separated(const Eigen::VectorXd& values,
               const Eigen::VectorXd& residuals,
               Eigen::Index bottom,
               Eigen::Index top,
               double low_goal,
               double high_goal);

/// One run of thick-restart Lanczos: expand by a product, look at the Ritz pairs, select the wanted
/// ones; then accept them, check them by deflation, restart, or go on.
template <KrylovBasis Basis>
class ThickRestartLanczos {
 public:
  ThickRestartLanczos(Basis& basis, double product_noise, const LanczosOptions& options)
      : basis_(basis),
        options_(options),
        noise_(product_noise),
        top_(options.which == SpectrumEnd::kSmallest ? 0 : options.top),
        bottom_(options.which == SpectrumEnd::kLargest ? 0 : options.top),
        enough_(std::min<Eigen::Index>(basis.size(), top_ + bottom_)),
        max_basis_(std::min<Eigen::Index>(
            basis.size(),
            std::max<Eigen::Index>(options.max_basis, smallest_basis(options, basis.size())))),
        space_(basis, product_noise, options.seed) {}

  ExtremeEigenvalues run(Eigen::Index starts, const std::function<void(Eigen::Index)>& load) {
    begin(starts, load);
    if (!space_.finite()) return non_finite();
    const auto stopped = [&] { return space_.products() > 0 && options_.stop && options_.stop(); };
    while (space_.products() < options_.max_products && !stopped()) {
      expand();
      if (!space_.finite()) return non_finite();
      if (!check_is_due()) continue;
      compute_ritz();
      if (space_.complete()) return accept(KrylovStatus::kConverged);
      const Selection selection = select();
      if (selection == Selection::kAccepted) return accept(KrylovStatus::kConverged);
      const bool check = selection == Selection::kUnchecked;
      if (selection == Selection::kUnconverged) choose_residual();
      // Each chain of the residual block in its turn: the random one is among them.
      if (selection == Selection::kUncertified) next_ = 0;
      if (is_full() && !nearly_spanned() && !(check && check_.rounds > 0)) thick_restart();
      if (check) check_by_deflation();
    }
    compute_ritz();
    auto result = accept(KrylovStatus::kMaxProducts);
    result.stopped = space_.products() < options_.max_products;
    return result;
  }

 private:
  /// Products that a deflation check grows before it is judged. A copy of an eigenvalue has a share
  /// of 1/sqrt(n) in a random vector, and k steps raise it by T_k(1 + 2γ), Chebyshev's polynomial,
  /// with γ the gap below the copy in units of the rest of the spectrum: T_12 is 900, the root of
  /// n = 10⁶, at γ = 0.1. With a smaller gap the copy is not there yet but has moved the Ritz
  /// values, and separated() keeps the check going.
  static constexpr int kCheckSteps = 12;
  /// A check after the first gives up the residual block. Ten of them, each with residuals below a
  /// tenth of the goal, cannot add up to it.
  static constexpr double kGivenUp = 0.1;
  /// Between a look and the next m grows by a share of 1/24, so at most 4 % of the products are
  /// taken after convergence. A look costs about 10 m³ flops, all looks up to m = 80 3·10⁷: less
  /// than one product with 10⁷ parameters.
  static constexpr Eigen::Index kLookShare = 24;
  /// Two products contradict symmetry by up to 1 + sqrt(m) of their noise, as every v_j · A v_m
  /// meets an older v_m · A v_j: ten at m = 80. Ritz values of two looks agree to no better.
  static constexpr double kContradiction = 10;
  /// Where the tolerance is this many times the noise, the noise moves a residual by 3 % at most,
  /// and the projection tells it as well as a product.
  static constexpr double kTellsResiduals = 30;
  /// |projected residual + noise|² has a mixed term 2 |r| |e| cos(r, e) <= tolerance² cos(r, e).
  /// Vectors of order n that know nothing of each other have |cos| < 2/sqrt(n) in 19 of 20 cases:
  /// 0.2 at n = 100, and sqrt(1.2) = 1.1.
  static constexpr double kMixedTerm = 1.1;
  /// With errors of a tenth of the largest eigenvalue, what was found last says little of the ends.
  static constexpr double kBlind = 0.1;
  /// Rounding of a projection where products are exact: 1e-16 in each step of a sum over n = 10⁶
  /// terms, which add up as their root.
  static constexpr double kProjectionRounding = 1e-13;

  enum class Selection {
    kUnconverged,  ///< a wanted pair has not reached its residual, or a check is under way
    kUnchecked,    ///< all have, and may hide a copy: to be checked by deflation
    kUncertified,  ///< all have, and may not be the extreme ones: to be certified
    kAccepted,
  };

  /// At one end of the spectrum.
  struct Allowed {
    double error = 0;     ///< of an eigenpair
    double residual = 0;  ///< of the part of it that the projection shows
  };
  /// Deflation checks so far.
  struct DeflationCheck {
    Eigen::VectorXd values;  ///< the wanted Ritz values before the last one
    int rounds = 0;
    int grows_until = 0;  ///< products up to which the last one grows
  };

  void begin(Eigen::Index starts, const std::function<void(Eigen::Index)>& load) {
    for (Eigen::Index i = 0; i < starts && space_.block() < basis_.size(); ++i) {
      load(i);
      // A start that somebody chose says nothing of what it leaves out, a random part does; what
      // was good before loses no more than half of the digits that are asked for.
      if (starts == 1)
        space_.start_near_work(std::sqrt(std::clamp(options_.tolerance, 1e-12, 0.01)));
      else
        space_.start_from_work();
    }
    if (space_.block() == 0 || (starts > 1 && options_.certify)) space_.random_restart();
    starts_left_ = space_.block() - 1;
  }

  /// One product. Start vectors have theirs first, then the newest column of the residual block.
  void expand() {
    space_.expand(next_);
    if (!space_.finite()) return;
    if (space_.invariant()) space_.random_restart();
    next_ = starts_left_ > 0 ? 0 : std::max<Eigen::Index>(0, space_.block() - 1);
    starts_left_ = std::max<Eigen::Index>(0, starts_left_ - 1);
  }

  [[nodiscard]] bool is_full() const { return space_.expanded() >= max_basis_; }
  [[nodiscard]] bool is_growing() const { return space_.products() < check_.grows_until; }
  /// Where the columns are most of the space, a deflation check has little of its own to grow from,
  /// or nothing is left: the last products settle it.
  [[nodiscard]] bool nearly_spanned() const {
    const Eigen::Index n = basis_.size(), columns = space_.expanded() + space_.block();
    return options_.find_repeated && (columns == n || (n <= max_basis_ && 2 * columns > n));
  }
  [[nodiscard]] bool check_is_due() const {
    const Eigen::Index m = space_.expanded();
    // As many Ritz values as are wanted would all be wanted ones, whatever they are.
    return (m > enough_ || space_.complete()) &&
           (m % (1 + m / kLookShare) == 0 || is_full() || space_.complete());
  }

  /// Ritz pairs of the space, the residuals of all of them, and what those of the ends may be.
  void compute_ritz() {
    ritz_ = space_.ritz();
    const auto& values = ritz_.eigen.values;
    wanted_ = wanted_ends(space_.expanded(), bottom_, top_);
    scale_ = values.cwiseAbs().maxCoeff();
    residuals_ = ritz_.coupling.colwise().norm();
    low_ = allowed(options_.one_scale ? scale_ : std::abs(values(0)));
    high_ = allowed(options_.one_scale ? scale_ : std::abs(values(values.size() - 1)));
    if (!options_.progress || space_.expanded() < enough_) return;
    const Eigen::ArrayXd shares =
        residuals_(wanted_).array() /
        each(low_.residual, high_.residual).max(std::numeric_limits<double>::min());
    options_.progress({.products = space_.products(),
                       .converged = static_cast<int>((shares <= 1).count()),
                       .wanted = static_cast<int>(enough_),
                       .residual = options_.tolerance * shares.maxCoeff()});
  }
  /// What is allowed at an end whose outermost value has this magnitude. A measured residual has
  /// two parts that know nothing of each other, that of the projection and the noise of the
  /// product: the first may take what the second leaves of the tolerance.
  [[nodiscard]] Allowed allowed(double magnitude) const {
    const double asked = options_.tolerance * magnitude, noise = noise_ * scale_;
    return {
        .error = std::max(asked, noise),
        .residual = std::max(std::sqrt(std::max(0.0, asked * asked - noise * noise)), noise / 2)};
  }
  /// [wanted pairs] that of their end; where the ends meet, of the upper one.
  [[nodiscard]] Eigen::ArrayXd each(double low, double high) const {
    Eigen::ArrayXd values = Eigen::ArrayXd::Constant(std::ssize(wanted_), high);
    values.head(std::max<Eigen::Index>(0, values.size() - top_)).setConstant(low);
    return values;
  }

  [[nodiscard]] Selection select() const {
    const Eigen::ArrayXd residuals = residuals_(wanted_),
                         goals = each(low_.residual, high_.residual);
    if ((residuals > goals).any() || is_growing() || nearly_spanned())
      return Selection::kUnconverged;
    const Selection accepted =
        options_.certify && !certified() ? Selection::kUncertified : Selection::kAccepted;
    if (!options_.find_repeated) return accepted;
    if (confirmed()) {
      return separated(ritz_.eigen.values, residuals_, bottom_, top_, low_.residual, high_.residual)
                 ? accepted
                 : Selection::kUnconverged;
    }
    return check_.rounds == 0 || (residuals <= kGivenUp * goals).all() ? Selection::kUnchecked
                                                                       : Selection::kUnconverged;
  }
  /// The wanted Ritz values of an end from the outside, those of the lower one with the other sign.
  [[nodiscard]] Eigen::VectorXd outwards(bool top) const {
    const auto& values = ritz_.eigen.values;
    return top ? Eigen::VectorXd(values.tail(std::min(top_, values.size())).reverse())
               : Eigen::VectorXd(-values.head(std::min(bottom_, values.size())));
  }
  [[nodiscard]] bool certified() const {
    return (reach().array() <= each(low_.error, high_.error)).all();
  }
  /// [wanted pairs] how far from them a missed eigenvalue may lie.
  [[nodiscard]] Eigen::VectorXd reach() const {
    Eigen::VectorXd reach = Eigen::VectorXd::Zero(std::ssize(wanted_));
    if (space_.complete()) return reach;
    for (const bool top : {false, true}) {
      const auto chance = [&](double value) {
        return space_.random_starts().chance(top ? value : -value, ritz_);
      };
      const Eigen::VectorXd missed =
          reach_of_missed(outwards(top), 2 * scale_, (top ? high_ : low_).error, chance);
      if (top) reach.tail(missed.size()) = missed.reverse();
      if (!top) reach.head(missed.size()) = missed;
    }
    return reach;
  }
  /// The last check has left the wanted values as they were.
  [[nodiscard]] bool confirmed() const {
    const Eigen::ArrayXd same = each(low_.error, high_.error).max(kContradiction * noise_ * scale_);
    return check_.values.size() > 0 &&
           ((ritz_.eigen.values(wanted_) - check_.values).array().abs() <= same).all();
  }

  /// The next product goes to the column of the residual block that the wanted pairs miss most; a
  /// deflation check is left to grow first.
  void choose_residual() {
    if (is_growing() || starts_left_ > 0 || next_ == 0) return;
    ritz_.coupling(Eigen::all, wanted_).rowwise().squaredNorm().maxCoeff(&next_);
  }

  /// Half of the room stays with the wanted ends of the spectrum, shared as the wanted pairs are.
  /// An end that was not asked for and reaches further keeps half of the rest: given up, its pairs
  /// come back after each restart, by products that the wanted ones then wait for.
  void thick_restart() {
    const auto& values = ritz_.eigen.values;
    const double low = std::abs(values(0)), high = std::abs(values(values.size() - 1));
    const Eigen::Index keep = std::max(enough_, max_basis_ / 2);
    const Eigen::Index other = (top_ > 0 ? low > high : high > low) ? (max_basis_ - keep) / 2 : 0;
    const Eigen::Index keep_top = keep * top_ / (top_ + bottom_);
    space_.restart(
        ritz_,
        wanted_ends(
            space_.expanded(), bottom_ > 0 ? keep - keep_top : other, top_ > 0 ? keep_top : other));
  }

  /// A copy may lie in the residual block of an earlier check, where no later column, orthogonal to
  /// it, would see it: from the second check on, all but the wanted pairs is given up.
  void check_by_deflation() {
    check_.values = ritz_.eigen.values(wanted_);
    if (check_.rounds++ > 0) {
      space_.restart(ritz_, wanted_);
      space_.drop_block();
    }
    check_.grows_until = space_.products() + kCheckSteps;
    space_.random_restart();
    next_ = space_.block() - 1;
  }

  [[nodiscard]] ExtremeEigenvalues non_finite(int more_products = 0) const {
    return {.status = KrylovStatus::kNonFinite,
            .products = space_.products() + more_products,
            .product_noise = noise_,
            .which = options_.which};
  }

  /// The wanted pairs of the last look as the result.
  ExtremeEigenvalues accept(KrylovStatus status) {
    ExtremeEigenvalues result{.status = status,
                              .products = space_.products(),
                              .product_noise = noise_,
                              .which = options_.which,
                              .other_end = other_end()};
    const bool measured =
        options_.measure_residuals || space_.dropped() > 0 ||
        each(low_.error, high_.error).minCoeff() < kTellsResiduals * noise_ * scale_;
    result.reach = reach().reverse();
    result.tolerances = each(low_.error, high_.error).reverse();
    std::reverse(wanted_.begin(), wanted_.end());
    if (options_.vectors || measured) basis_.rotate(ritz_.eigen.vectors(Eigen::all, wanted_));
    result.eigenvalues = ritz_.eigen.values(wanted_);
    result.residuals = residuals_(wanted_);
    if (measured) measure(result);
    if (!result.residuals.allFinite()) return non_finite(result.products - space_.products());
    if (status == KrylovStatus::kConverged && contradicts(result, measured)) {
      result.status = KrylovStatus::kInconsistent;
      result.reach.setConstant(std::numeric_limits<double>::infinity());
    }
    result.multiplicity_checked =
        space_.complete() || (options_.find_repeated && result.status == KrylovStatus::kConverged);
    return result;
  }

  [[nodiscard]] std::optional<RitzValue> other_end() const {
    const Eigen::Index m = ritz_.eigen.values.size();
    if (top_ > 0 && bottom_ > 0) return {};
    const Eigen::Index i = top_ > 0 ? 0 : m - 1;
    if (i == (top_ > 0 ? wanted_.front() : wanted_.back())) return {};
    return RitzValue{ritz_.eigen.values(i), residuals_(i) + space_.dropped()};
  }

  /// Rayleigh quotients and residuals of the basis' first columns by a product each.
  void measure(ExtremeEigenvalues& result) {
    for (Eigen::Index i = 0; i < result.eigenvalues.size(); ++i) {
      basis_.multiply(i);
      ++result.products;
      result.eigenvalues(i) = basis_.dot(i);
      basis_.axpy(-result.eigenvalues(i), i);
      result.residuals(i) = basis_.norm();
    }
  }

  /// Whether the products contradict each other by more than their noise, or it hides all else.
  [[nodiscard]] bool contradicts(const ExtremeEigenvalues& result, bool measured) const {
    if (noise_ > kBlind) return true;
    const double noise = kContradiction * std::max(noise_, kProjectionRounding) * scale_;
    return space_.asymmetry() > noise ||
           (measured &&
            (result.residuals.array() > kMixedTerm * result.tolerances.array() + noise).any());
  }

  Basis& basis_;
  const LanczosOptions& options_;
  double noise_;               // of a product, relative
  Eigen::Index top_, bottom_;  // pairs wanted at each end
  Eigen::Index enough_;        // all of them, at most n
  Eigen::Index max_basis_;     // columns before a restart
  KrylovSpace<Basis> space_;
  Eigen::Index next_ = 0;         // column of the residual block whose product comes next
  Eigen::Index starts_left_ = 0;  // start vectors behind it that have had no product
  // The last look:
  RitzPairs ritz_;
  std::vector<Eigen::Index> wanted_;  // of them
  Eigen::VectorXd residuals_;         // of all
  double scale_ = 0;                  // the largest magnitude
  Allowed low_, high_;                // at each end
  DeflationCheck check_;
};

}  // namespace detail

/// The algorithm, for a basis anywhere; `load(i)` makes w the start vector i of `starts`. Where the
/// eigenvectors are asked for, they are left in the first columns of the basis, in the order of the
/// result.
template <KrylovBasis Basis>
ExtremeEigenvalues lanczos_in(Basis& basis,
                              double product_noise,
                              const LanczosOptions& options,
                              Eigen::Index starts = 0,
                              const std::function<void(Eigen::Index)>& load = {}) {
  require(basis.size() >= 1, "Lanczos needs an operator of order 1 at least, got {}", basis.size());
  require(options.top >= 1, "Lanczos needs one wanted pair at least, got {}", options.top);
  require(options.max_products >= 1, "Lanczos needs one product at least");
  require(options.tolerance >= 0, "a tolerance of {} is none", options.tolerance);
  return detail::ThickRestartLanczos<Basis>(basis, product_noise, options).run(starts, load);
}

}  // namespace kappascope::linalg
