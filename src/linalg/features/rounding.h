// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>
#include <functional>

#include "kappascope/linalg/features/moments.h"

namespace kappascope::linalg {

/// What rounding may have done to a variance vᵀCv: Moments::row_rounding and sum_rounding along v.
struct Rounding {
  double rows = 0;  ///< vᵀRv
  double sums = 0;  ///< vᵀPv
};

/// The largest and the smallest variance that rows may have had before they were rounded.
double at_most(double variance, const Rounding& rounding);
double at_least(double variance, const Rounding& rounding);

/// Along one direction v.
Rounding rounding_along(const Moments& moments, const Eigen::VectorXd& v);
/// Along any direction of length 1, of the features multiplied by `scale`.
Rounding largest_rounding(const Moments& moments, const Eigen::VectorXd& scale);
/// The largest share of its own variance vᵀΣv along any direction in the range of Σ, so that
/// columns of different scale are judged each by its own: the largest eigenvalue of R^½ Σ⁺ R^½, by
/// Lanczos where the largest rounding over the smallest eigenvalue does not say that it is small.
/// It bounds the shares of every Σ + vvᵀ and every diagonal scaling of it, too. `inverse` is x ->
/// Σ⁺x.
Rounding rounding_share(const Moments& moments,
                        double smallest,
                        const std::function<Eigen::VectorXd(const Eigen::VectorXd&)>& inverse);

/// Null directions of Σ + vvᵀ that features of variance zero make.
Eigen::Index constant_directions(const Eigen::VectorXd& variances, const Eigen::VectorXd& v);

}  // namespace kappascope::linalg
