// SPDX-License-Identifier: Apache-2.0
#include "kappascope/curvature/solve.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/names.h"
#include "core/require.h"
#include "kappascope/linalg/random.h"

namespace kappascope::curvature {
namespace {

double inner_product(const at::Tensor& a, const at::Tensor& b) {
  return (a * b).sum(torch::kDouble).item<double>();
}

double norm_of(const at::Tensor& v) {
  return at::linalg_vector_norm(v, 2, at::nullopt, false, torch::kDouble).item<double>();
}

/// n signs, 64 of one draw.
at::Tensor signs(linalg::Random& random, int64_t n) {
  auto out = torch::empty({n}, torch::kFloat);
  auto* values = out.mutable_data_ptr<float>();
  std::uint64_t bits = 0;
  for (int64_t i = 0; i < n; ++i) {
    bits = i % 64 == 0 ? random.next() : bits >> 1;
    values[i] = (bits & 1) != 0 ? 1.0F : -1.0F;
  }
  return out;
}

void require_whole(const CurvatureOperator& op) {
  require(op.shared_with() == nullptr,
          "a system or a diagonal of parameters that are sharded over processes is not computed");
}

/// C + δ, with a count.
class Shifted {
 public:
  Shifted(const CurvatureOperator& op, double damping) : op_(op), damping_(damping) {}

  at::Tensor apply(const at::Tensor& v) {
    ++products_;
    auto out = op_.apply(v);
    return damping_ == 0 ? out : out.add(v, damping_);
  }
  [[nodiscard]] int products() const { return products_; }

 private:
  const CurvatureOperator& op_;
  double damping_;
  int products_ = 0;
};

/// MINRES from x = 0 until what the recurrence takes for the residual is below `tolerance` ‖b‖, or
/// as far as products of that relative `noise` tell no part of what is left lies in the range.
/// `largest`: ‖C v‖ of the unit vectors seen so far, the largest.
at::Tensor minres(Shifted& op,
                  const at::Tensor& b,
                  double tolerance,
                  double noise,
                  int max_products,
                  double& largest) {
  auto x = torch::zeros_like(b), w = torch::zeros_like(b), w_before = torch::zeros_like(b);
  auto before = torch::zeros_like(b), last = b;
  const double start = norm_of(b);
  double beta = start, beta_before = 0, delta_bar = 0, epsilon = 0, phi_bar = start;
  double cosine = -1, sine = 0, phi_before = phi_bar;
  constexpr int kIdle = 5;
  int idle = 0;  // steps in turn that took next to nothing off the residual
  while (op.products() < max_products && phi_bar > tolerance * start) {
    const auto v = last / beta;
    auto next = op.apply(v);
    if (beta_before > 0) next.sub_(before, beta / beta_before);
    const double alpha = inner_product(v, next);
    next.sub_(last, alpha / beta);
    before = last;
    last = next;
    beta_before = beta;
    beta = norm_of(last);
    if (!std::isfinite(beta)) return torch::full_like(b, std::numeric_limits<double>::quiet_NaN());
    // One more column of the tridiagonal matrix's QR decomposition.
    const double epsilon_before = epsilon;
    const double delta = cosine * delta_bar + sine * alpha;
    const double gamma_bar = sine * delta_bar - cosine * alpha;
    epsilon = sine * beta;
    delta_bar = -cosine * beta;
    largest = std::max(largest, std::hypot(alpha, beta));
    // ‖C r‖ / ‖r‖ of the residual r before this step. What no longer shrinks then is in no part of
    // the range, and further steps would divide by what rounding left of it.
    const bool outside = std::hypot(gamma_bar, delta_bar) <= std::sqrt(noise) * largest;
    idle = phi_bar > 0.999 * phi_before ? idle + 1 : 0;
    phi_before = phi_bar;
    if (outside && idle >= kIdle) break;
    const double gamma = std::hypot(gamma_bar, beta);
    cosine = gamma_bar / gamma;
    sine = beta / gamma;
    const double phi = cosine * phi_bar;
    phi_bar *= sine;
    auto w_next = v.sub(w_before, epsilon_before).sub_(w, delta).div_(gamma);
    x.add_(w_next, phi);
    w_before = w;
    w = w_next;
    if (beta <= noise * largest) break;  // the Krylov space is complete
  }
  return x;
}

}  // namespace

const char* to_string(SolveStatus status) {
  return name_in<SolveStatus::kNonFinite>(
      std::array{"converged", "max_products", "stagnated", "non_finite"}, status);
}

Solution solve(const CurvatureOperator& op, const at::Tensor& b, const SolveOptions& options) {
  require_whole(op);
  require(b.dim() == 1 && b.size(0) == op.size(),
          "the right side must be a vector of {} numbers",
          op.size());
  require(std::isfinite(options.damping), "the damping must be finite");
  require(options.tolerance > 0 && options.max_products >= 2,
          "a system needs a positive tolerance and two products at least");
  const torch::NoGradGuard no_grad;
  const auto right = b.detach().to(op.vectors());
  const double size = norm_of(right);
  require(std::isfinite(size), "the right side is not finite");
  Shifted shifted(op, options.damping);
  Solution found{torch::zeros_like(right)};
  if (size == 0) return found;
  auto rest = right;
  found.residual = 1;
  double largest = 0;
  int idle = 0;  // rounds in turn that took nothing off the residual
  while (found.residual > options.tolerance) {
    // The last product of a round measures its residual.
    if (shifted.products() + 2 > options.max_products) {
      found.status = SolveStatus::kMaxProducts;
      break;
    }
    const auto x = found.x + minres(shifted,
                                    rest,
                                    options.tolerance / found.residual,
                                    op.product_noise(),
                                    options.max_products - 1,
                                    largest);
    const auto left = right - shifted.apply(x);
    const double residual = norm_of(left) / size;
    if (!std::isfinite(residual)) {
      found.status = SolveStatus::kNonFinite;
      break;
    }
    idle = residual < 0.5 * found.residual ? 0 : idle + 1;
    if (residual < found.residual) {
      found.x = x;
      found.residual = residual;
      rest = left;
    }
    if (idle >= 2) {
      found.status = SolveStatus::kStagnated;
      break;
    }
  }
  found.products = shifted.products();
  return found;
}

Diagonal diagonal(const CurvatureOperator& op, const DiagonalOptions& options) {
  require_whole(op);
  require(options.max_products >= 2, "a diagonal needs two products at least");
  const torch::NoGradGuard no_grad;
  const auto n = op.size();
  Diagonal found{torch::zeros({n}, op.vectors()), torch::zeros({n}, op.vectors())};
  if (n <= options.max_products) {
    found.exact = true;
    for (int64_t i = 0; i < n; ++i) {
      auto unit = torch::zeros({n}, op.vectors());
      unit[i] = 1;
      found.value[i] = op.apply(unit)[i];
    }
    found.products = static_cast<int>(n);
    return found;
  }
  linalg::Random random(options.seed);
  // Welford's recurrence.
  auto squares = torch::zeros({n}, op.vectors());
  for (int i = 1; i <= options.max_products; ++i) {
    const auto z = signs(random, n).to(op.vectors());
    const auto sample = z * op.apply(z);
    const auto off = sample - found.value;
    found.value.add_(off, 1.0 / i);
    squares.add_(off.mul_(sample - found.value));
  }
  found.products = options.max_products;
  const double count = options.max_products;
  found.standard_error = squares.div_(count * (count - 1)).sqrt_();
  return found;
}

}  // namespace kappascope::curvature
