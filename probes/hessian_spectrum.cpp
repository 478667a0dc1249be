// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/hessian_spectrum.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/time.h"
#include "curvature/averaged.h"
#include "kappascope/curvature/spectrum.h"
#include "probes/scalars.h"
#include "probes/spectrum_rows.h"
#include "session/failures.h"
#include "tensor/random_states.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

/// Ends a window from within a product.
struct Stopped {
  int products;
};

/// Ends it while the operator is made.
struct OutOfTime {
  double seconds;
  int evaluations;
};

/// Where they are set in the program; in Python the batch is that of the loss that is given.
constexpr const char* kSettings = "probes.budget, probes.hessian-rows";

/// The error of a single start is multiplied by 12.7, that of two by 4.3.
constexpr int kFewestStarts = 2;

int density_products(const HessianSpectrumOptions& options) {
  return options.density ? options.density_steps * options.density_starts : 0;
}

/// A probe must not end a training run: a loss without curvature (not finite, no second derivative,
/// out of memory) becomes an event. The loss may draw random numbers although it must not depend on
/// them; training must not notice.
template <typename Device, typename Work>
void run_guarded(store::Snapshot& out, const Device& device, const Work& work) {
  session::Failures failures;
  failures.attempt("", [&] {
    try {
      const tensor::KeepRandomStates keep(device());
      work();
    } catch (const Stopped& stopped) {
      out.events.push_back(
          {"hessian_stopped",
           fmt::format("the Hessian window was stopped after {} products; what it had not finished "
                       "by then is left out",
                       stopped.products)});
    } catch (const OutOfTime& out_of_time) {
      out.events.push_back(
          {"hessian_budget",
           fmt::format(
               "the budget leaves {:.2g} s for this window, which {} evaluations of the loss "
               "took before the first product: the spectrum is put off; a larger budget or a "
               "smaller batch for its loss ({}) bring it sooner",
               out_of_time.seconds,
               out_of_time.evaluations,
               kSettings)});
    }
  });
  failures.report("hessian", out);
}

/// Where the optimiser scales nothing, the curvature that it sees is the plain one.
void repeat_along(store::Snapshot& out) {
  const auto plain =
      std::ranges::find(out.scalars, id::kAlongGradient.name(), &store::Scalar::name);
  if (plain == out.scalars.end()) return;
  auto seen = *plain;
  seen.name = id::kPreconditionedAlongGradient;
  out.scalars.push_back(std::move(seen));
}

/// The number that process 0 has, so that all decide alike.
double of_process_0(double number, tensor::Group* group) {
  if (group == nullptr) return number;
  auto told = torch::full({1}, number, torch::kDouble);
  group->broadcast(told);
  return told.item<double>();
}

/// Multiplies once, and reads a number back so that a device has done it.
void multiply(const curvature::CurvatureOperator& op) {
  [[maybe_unused]] const auto sum =
      op.apply(at::ones({op.size()}, op.vectors())).sum().item<double>();
}

}  // namespace

HessianSpectrum::HessianSpectrum(curvature::LossFunction loss,
                                 // Copied twice, in no order: it cannot be moved.
                                 // NOLINTNEXTLINE(performance-unnecessary-value-param)
                                 std::function<curvature::NamedParameters()> parameters,
                                 HessianSpectrumOptions options)
    : HessianSpectrum(MakeOperator([loss = std::move(loss), parameters](
                                       tensor::Group*, const curvature::OperatorOptions& how) {
                        return curvature::hessian(loss, parameters(), how);
                      }),
                      parameters,
                      std::move(options)) {}

HessianSpectrum::HessianSpectrum(MakeOperator make,
                                 std::function<curvature::NamedParameters()> parameters,
                                 HessianSpectrumOptions options)
    : make_(std::move(make)), parameters_(std::move(parameters)), options_(std::move(options)) {}

void HessianSpectrum::observe(const session::StepView& /*view*/) {}

void HessianSpectrum::emit(store::Snapshot& out) {
  emit_within(std::numeric_limits<double>::infinity(), out);
}

void HessianSpectrum::emit_within(double seconds, store::Snapshot& out) {
  run_guarded(
      out,
      [this] { return device(); },
      [&] {
        const double begin = now();
        measure(*set_up(nullptr, begin, seconds), begin, seconds, out);
      });
}

void HessianSpectrum::emit_with(tensor::Group& group, double seconds, store::Snapshot& out) {
  const double begin = now();
  std::unique_ptr<curvature::CurvatureOperator> mine;
  run_guarded(
      out, [this] { return device(); }, [&] { mine = set_up(&group, begin, seconds); });
  run_guarded(
      out,
      [&] { return mine ? device() : at::Device(torch::kCPU); },
      [&] {
        auto failed = torch::full({1}, mine ? 0 : 1, torch::kLong);
        group.add_up(failed);
        if (const auto count = failed.item<int64_t>(); count > 0) {
          if (group.leads() && mine) {
            out.events.push_back(
                {"hessian_failed",
                 fmt::format(
                     "{} of {} processes have no curvature of their loss", count, group.size())});
          }
        } else if (mine->shared_with() != nullptr) {
          store::Snapshot unsaid;  // all find the same, and process 0 says it
          measure(*mine,
                  of_process_0(begin, &group),
                  of_process_0(seconds, &group),
                  group.leads() ? out : unsaid);
        } else if (group.leads()) {
          measure(*curvature::averaged(*mine, group), begin, seconds, out);
        } else {
          curvature::serve(*mine, group);
        }
      });
}

at::Device HessianSpectrum::device() const {
  const auto parameters = parameters_();
  return parameters.empty() ? at::Device(torch::kCPU) : parameters.front().second.device();
}

double HessianSpectrum::now() const {
  return options_.clock ? options_.clock() : monotonic_seconds();
}

std::unique_ptr<curvature::CurvatureOperator> HessianSpectrum::set_up(tensor::Group* group,
                                                                      double begin,
                                                                      double seconds) {
  const auto evaluations = std::make_shared<int>(0);
  const auto made = std::make_shared<bool>(false);
  curvature::OperatorOptions how;
  how.before_evaluation = [this, evaluations, made, begin, seconds] {
    if (*made) return;
    const double spent = now() - begin;
    if (spent >= seconds) {
      // It is not known what a product takes: more than what this has taken.
      least_seconds_ = std::max(least_seconds_, 2 * spent);
      throw OutOfTime{seconds, *evaluations};
    }
    if (options_.on_set_up && !options_.on_set_up(*evaluations)) throw Stopped{0};
    ++*evaluations;
  };
  auto op = make_(group, how);
  *made = true;
  return op;
}

void HessianSpectrum::measure(const curvature::CurvatureOperator& hessian,
                              double begin,
                              double seconds,
                              store::Snapshot& out) {
  auto* group = hessian.shared_with();
  const auto now = [&] { return of_process_0(this->now(), group); };
  const auto op = curvature::watched(hessian, [&](int products) {
    if (options_.on_product && !options_.on_product(products)) throw Stopped{products};
  });
  constexpr int kAlong = 2;  // the gradient, and the optimiser's step
  const int wanted = options_.max_products + density_products(options_) + kAlong;
  int affordable = wanted;
  if (std::isfinite(seconds)) {
    const double set_up = now() - begin;
    multiply(*op);
    double product = now() - begin - set_up;
    const auto fits = [&] { return (seconds - (now() - begin)) / product; };
    // The first product of a process also starts threads and fills caches.
    if (fits() >= 1 && fits() < wanted) {
      const double before = now();
      multiply(*op);
      product = std::min(product, now() - before);
    }
    affordable = static_cast<int>(std::clamp(fits(), 0.0, static_cast<double>(wanted)));
    least_seconds_ = set_up + (kFewestProducts + 2) * product;
    if (affordable < kFewestProducts) {
      out.events.push_back(
          {"hessian_budget",
           fmt::format("a Hessian product takes {:.2g} s and the budget leaves {:.2g} s for this "
                       "window: the spectrum is put off until {} products fit; a larger budget or "
                       "a smaller batch for its loss ({}) bring it sooner",
                       product,
                       seconds,
                       int{kFewestProducts},
                       kSettings)});
      return;
    }
  }
  linalg::LanczosOptions lanczos;
  lanczos.top = options_.top;
  lanczos.which = linalg::SpectrumEnd::kBoth;
  lanczos.find_repeated = true;
  lanczos.one_scale = true;  // a window is not to cost more for the smaller end
  lanczos.tolerance = options_.tolerance;
  lanczos.max_products = std::min(options_.max_products, affordable);
  lanczos.seed = options_.seed;
  lanczos.vectors = true;
  // Other programs may slow down what was timed.
  lanczos.stop = [&] { return now() - begin >= seconds; };
  const bool fits = start_.defined() && start_.numel() == op->size();
  // What the random vector of one window missed, that of the next is to find.
  if (fits) lanczos.seed += static_cast<std::uint64_t>(out.step);
  const double started = now();
  const auto pairs = curvature::eigenpairs(*op, lanczos, fits ? start_ : at::Tensor());
  start_ = pairs.vectors.defined() ? pairs.vectors.sum(0) : at::Tensor();
  add_spectrum(out, pairs.found, options_.top);
  add_scalar(out, id::kHessianProducts, "", pairs.found.products);
  const auto pace_of = [&](int products) { return (now() - started) / std::max(1, products); };
  int left = std::max(0, affordable - pairs.found.products);
  const auto gradient = op->gradient();
  const bool has_time = now() - begin + pace_of(pairs.found.products) <= seconds;
  if (left > 0 && has_time && gradient.defined()) {
    add_along(out,
              id::kAlongGradient,
              curvature::curvature_along(*op, gradient),
              pairs.found,
              op->product_noise());
    --left;
  }
  left -= measure_preconditioned(*op, pairs.found, left, begin + seconds, out);
  int starts = options_.density ? options_.density_starts : 0;
  const double pace = pace_of(affordable - left);
  if (std::isfinite(seconds) && pace > 0) {
    left = static_cast<int>(
        std::clamp((seconds - (now() - begin)) / pace, 0.0, static_cast<double>(left)));
  }
  if (left < starts * options_.density_steps) {
    starts = left / options_.density_steps;
    if (starts < kFewestStarts) starts = 0;
  }
  const bool ended_early = pairs.found.status == linalg::KrylovStatus::kMaxProducts &&
                           pairs.found.products < options_.max_products;
  if (ended_early || (options_.density && starts < options_.density_starts)) {
    auto message =
        fmt::format("the budget allows {} Hessian products in this window: {} for the eigenvalues",
                    affordable,
                    pairs.found.products);
    if (options_.density) {
      message +=
          fmt::format(", and {} of {} starts of the density", starts, options_.density_starts);
    }
    out.events.push_back({"hessian_budget", std::move(message)});
  }
  if (starts == 0) return;
  linalg::DensityOptions density;
  density.steps = options_.density_steps;
  density.starts = starts;
  density.seed = options_.seed;
  add_density(out, curvature::spectral_density(*op, density, pairs));
}

int HessianSpectrum::measure_preconditioned(const curvature::CurvatureOperator& op,
                                            const linalg::ExtremeEigenvalues& plain,
                                            int affordable,
                                            double end,
                                            store::Snapshot& out) {
  if (!options_.preconditioner) return 0;
  const auto seen = options_.preconditioner(parameters_());
  // Shards of the parameters have no scale of the optimiser beside them.
  if (!seen || (seen->scale.defined() && op.shared_with() != nullptr)) return 0;
  int products = 0;
  if (!seen->scale.defined()) {
    add_preconditioned(out, plain);
    repeat_along(out);
  } else if (affordable < curvature::kScalingProducts + kFewestProducts) {
    out.events.push_back(
        {"hessian_budget",
         fmt::format("the budget leaves {} Hessian products for the preconditioned "
                     "Hessian, which needs {}: it is left out of this window",
                     affordable,
                     curvature::kScalingProducts + kFewestProducts)});
    return 0;
  } else {
    const auto scaled = curvature::scaled(op, seen->scale);
    linalg::LanczosOptions lanczos;
    lanczos.top = 1;
    lanczos.tolerance = options_.tolerance;
    lanczos.max_products =
        std::min(options_.max_products, affordable - curvature::kScalingProducts);
    lanczos.seed = options_.seed;
    lanczos.stop = [&] { return now() >= end; };
    const auto found = curvature::eigenpairs(*scaled, lanczos).found;
    add_preconditioned(out, found);
    products = curvature::kScalingProducts + found.products;
    if (const auto gradient = op.gradient();
        gradient.defined() && products < affordable && now() < end) {
      const auto step = seen->scale.to(gradient.options()) * gradient;
      add_along(out,
                id::kPreconditionedAlongGradient,
                curvature::curvature_along(*scaled, step),
                found,
                scaled->product_noise());
      ++products;
    }
  }
  add_scalar(out, id::kStabilityLimit, "", seen->limit);
  return products;
}

tensor::State HessianSpectrum::state() const {
  tensor::State out;
  if (start_.defined()) out.set("start", start_);
  return out;
}

void HessianSpectrum::load(const tensor::State& state) {
  start_ = state.has("start") ? state.floating_tensor("start", {-1}) : at::Tensor();
}

}  // namespace kappascope::probes
