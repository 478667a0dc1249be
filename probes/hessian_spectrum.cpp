// SPDX-License-Identifier: Apache-2.0
#include "kappascope/probes/hessian_spectrum.h"

#include <fmt/format.h>
#include <torch/types.h>

#include <utility>

#include "kappascope/core/error.h"
#include "kappascope/curvature/spectrum.h"
#include "kappascope/probes/scalars.h"

namespace kappascope::probes {
namespace {

namespace id = store::id;

// The loss may draw random numbers although it must not depend on them; training must not notice.
class KeepRandomState {
 public:
  KeepRandomState()
      : generator_(at::detail::getDefaultCPUGenerator()), state_(generator_.get_state()) {}
  ~KeepRandomState() { generator_.set_state(state_); }
  KeepRandomState(const KeepRandomState&) = delete;
  KeepRandomState& operator=(const KeepRandomState&) = delete;

 private:
  at::Generator generator_;
  at::Tensor state_;
};

/// Ends a window from within a product.
struct Stopped {
  int products;
};

/// Asks after each product whether to go on.
class Interruptible final : public curvature::CurvatureOperator {
 public:
  Interruptible(const CurvatureOperator& op, const std::function<bool(int)>& go_on)
      : op_(op), go_on_(go_on) {}
  [[nodiscard]] int64_t size() const override { return op_.size(); }
  [[nodiscard]] at::TensorOptions vectors() const override { return op_.vectors(); }
  [[nodiscard]] double product_noise() const override { return op_.product_noise(); }
  [[nodiscard]] at::Tensor apply(const at::Tensor& v) const override {
    auto product = op_.apply(v);
    ++products_;
    if (go_on_ && !go_on_(products_)) throw Stopped{products_};
    return product;
  }

 private:
  const CurvatureOperator& op_;
  const std::function<bool(int)>& go_on_;
  mutable int products_ = 0;
};

}  // namespace

HessianSpectrum::HessianSpectrum(curvature::LossFunction loss,
                                 std::function<curvature::NamedParameters()> parameters,
                                 HessianSpectrumOptions options)
    : loss_(std::move(loss)), parameters_(std::move(parameters)), options_(std::move(options)) {}

void HessianSpectrum::observe(const train::StepView& /*view*/) {}

void HessianSpectrum::emit(store::Snapshot& out) {
  // A probe must not end a training run: a loss without curvature (not finite, no second
  // derivative, out of memory) becomes an event.
  try {
    const KeepRandomState keep;
    measure(out);
  } catch (const Stopped& stopped) {
    out.events.push_back({"hessian_stopped",
                          fmt::format("the Hessian window was stopped after {} products; what it "
                                      "had not finished by then is left out",
                                      stopped.products)});
  } catch (const Error& error) {
    out.events.push_back({"hessian_failed", error.what()});
  } catch (const c10::Error& error) {
    out.events.push_back({"hessian_failed", error.what_without_backtrace()});
  }
}

void HessianSpectrum::measure(store::Snapshot& out) {
  const auto hessian = curvature::hessian(loss_, parameters_());
  const Interruptible op(*hessian, options_.on_product);
  linalg::LanczosOptions lanczos;
  lanczos.top = options_.top;
  lanczos.which = linalg::SpectrumEnd::kBoth;
  lanczos.find_repeated = true;
  lanczos.tolerance = options_.tolerance;
  lanczos.max_products = options_.max_products;
  lanczos.seed = options_.seed;
  lanczos.vectors = true;
  const bool fits = start_.defined() && start_.numel() == op.size();
  const auto pairs = curvature::eigenpairs(op, lanczos, fits ? start_ : at::Tensor());
  start_ = pairs.vectors.defined() ? pairs.vectors.sum(0) : at::Tensor();
  add_spectrum(out, pairs.found, options_.top);
  add_scalar(out, id::kHessianProducts, "", pairs.found.products);
  if (!options_.density) return;
  linalg::DensityOptions density;
  density.steps = options_.density_steps;
  density.starts = options_.density_starts;
  density.seed = options_.seed;
  add_density(out, curvature::spectral_density(op, density));
}

tensor::State HessianSpectrum::state() const {
  tensor::State out;
  if (start_.defined()) out.set("start", start_);
  return out;
}

void HessianSpectrum::load(const tensor::State& state) {
  start_ = state.has("start") ? state.floating_tensor("start", {-1}) : at::Tensor();
}

void add_spectrum(store::Snapshot& out, const linalg::ExtremeEigenvalues& result, int top) {
  const Eigen::VectorXd bounds = result.bounds();
  const auto found = static_cast<int>(result.eigenvalues.size());
  const auto add = [&](const std::string& name, int i) {
    const double value = result.eigenvalues[i], bound = bounds[i];
    add_scalar(out, name, "", value, value - bound, value + bound);
    if (out.scalars.back().status == store::Status::kOk)
      out.scalars.back().status = store::Status::parse(linalg::to_string(result.status));
  };
  for (int i = 0; i < std::min(top, found); ++i) add(id::kHessianLambda.at(i + 1), i);
  for (int i = 0; i < std::min(top, found); ++i)
    add(id::kHessianLambdaMin.at(i + 1), found - 1 - i);
}

void add_density(store::Snapshot& out, const linalg::Density& density) {
  const auto points = density.grid.size();
  store::Array array{id::kHessianDensity, "", {4, points}, {}};
  for (const auto* row : {&density.grid, &density.density, &density.lower, &density.upper}) {
    array.data.insert(array.data.end(), row->data(), row->data() + points);
  }
  if (points > 0) out.arrays.push_back(std::move(array));
  add_scalar(out, id::kHessianTrace, "", density.trace, density.trace_lower, density.trace_upper);
  const auto& negative = density.negative_mass;
  const auto& zero = density.near_zero_mass;
  add_scalar(out, id::kHessianNegativeMass, "", negative.value, negative.lower, negative.upper);
  add_scalar(out, id::kHessianNearZeroMass, "", zero.value, zero.lower, zero.upper);
}

}  // namespace kappascope::probes
